"""One step in which u or v is a target now and then: `|D+| <= c|D| + eta r f`, f the batch mass of u and v."""

from collections.abc import Iterable
from dataclasses import replace

from sympy import Sum, sqrt

from ..framework.derivation import Line, at_most, equal
from ..framework.inference import Root
from ..framework.rules import Assume, Combine, Define, Term
from ..framework.symbols import Step, i, j, l, m, n
from ..framework.types import Expr
from .any_targets import hot
from .bounds import half


def length(q: Step) -> Expr:
    """`|D+|`, the length after the step."""
    return q.name("seennorm", nonnegative=True)


def without_targets(lines: Iterable[Line]) -> list[Line]:
    """Lines about `Dnext`, which is here what a step would make of D without the targets u and v."""
    return [replace(line, sentence=line.sentence.replace("D^+", "\\hat D")) for line in lines]


def recursion(q: Step) -> list[Line]:
    """`D+ = (cD - eta M D) + eta g`, with g what the targets u and v add."""
    p_u, p_v = (q.name(s, i, positive=True) for s in ("p_u", "p_v"))
    rest, new = q.name("Dnext", m), q.name("Dseen", m)
    push = q.name("push", m)
    return [
        Line("c", equal(q.name("c"), 1 - q.eta * q.lam), Define(), "The decay of one step."),
        Line(
            "MD",
            equal(q.name("MD", m), q.over_i(q.a(i) * q.name("L", i) * q.name("d", i) * q.x(i, m))),
            Define(("L", "d")),
            "The operator $M = \\sum_i a_i L_i x_i x_i^T$ applied to $D$,",
        ),
        Line(
            "Dnext",
            equal(rest, q.name("c") * q.name("D", m) - q.eta * q.name("MD", m)),
            Define(("c", "D", "MD")),
            "what a step makes of $D$ when neither $u$ nor $v$ is a target,",
        ),
        Line(
            "recursion",
            equal(rest, q.name("c") * q.name("D", m) - q.eta * q.name("MD", m)),
            Combine(unfold=("Dnext",)),
            "that is, $cD - \\eta M D$,",
        ),
        Line(
            "push",
            equal(push, q.over_i(q.a(i) * (hot(q, "u") - hot(q, "v")) * q.x(i, m))),
            Define(),
            "and what these targets add.",
        ),
        Line(
            "Dseen",
            equal(new, q.name("next_u", m) - q.name("next_v", m)),
            Define(("next_u", "next_v")),
            "The difference of the two rows after the step",
        ),
        Line(
            "difference",
            equal(
                new,
                q.name("c") * q.name("D", m)
                - q.eta * q.over_i(q.a(i) * (p_u - hot(q, "u") - p_v + hot(q, "v")) * q.x(i, m)),
            ),
            Combine(unfold=("Dseen", "next_u", "next_v", "grad_u", "grad_v", "c", "D")),
            "in terms of the probabilities,",
        ),
        Line(
            "seen_recursion",
            equal(new, rest + q.eta * push),
            Combine(
                (Term(-q.eta * q.a(i) * q.x(i, m), ("mean_value",), over=(i,)),),
                unfold=("difference", "Dnext", "MD", "push"),
            ),
            "is the sum of the two.",
        ),
    ]


def mass(q: Step) -> list[Line]:
    """`|g| <= r f`."""
    f, size = q.name("mass"), q.name("pushnorm", nonnegative=True)
    rho = q.name("xnorm", i, nonnegative=True)
    inner = q.over_j(q.x(i, j) * q.x(l, j))
    lines = [
        Line(
            f"hot_{row}",
            at_most(0, hot(q, row)),
            Assume("setting"),
            f"Whether ${row}$ is the target is $0$ or $1$, so not negative,",
        )
        for row in ("u", "v")
    ]
    lines += [
        Line(
            f"hit_{row}",
            at_most(0, q.a(i) * hot(q, row)),
            Combine((Term(1, ("weights", f"hot_{row}")),)),
            f"nor is the weight of an example with target ${row}$.",
        )
        for row in ("u", "v")
    ]
    lines += [
        Line(
            "mass",
            equal(f, q.over_i(q.a(i) * (hot(q, "u") + hot(q, "v")))),
            Define(),
            "The batch mass of $u$ and $v$",
        ),
        Line(
            "mass_sign",
            at_most(0, f),
            Combine(
                (Term(1, ("hit_u",), over=(i,)), Term(1, ("hit_v",), over=(i,))), unfold=("mass",)
            ),
            "is not negative.",
        ),
        Line("xnorm", equal(rho, sqrt(q.over_j(q.x(i, j) ** 2))), Define(), "Lengths of features;"),
        Line("radius", at_most(rho, q.r), Assume(), "hypothesis: $r$ bounds them."),
        Line(
            "r_sign",
            at_most(0, q.r),
            Combine((Term(1, ("radius",)), Term(rho))),
            "So $r$ is not negative,",
        ),
        Line(
            "radius_square",
            at_most(rho**2, q.r**2),
            Combine((Term((q.r - rho) ** 2), Term(2 * rho, ("radius",)))),
            "and squares:",
        ),
    ]
    for name, sign in (("near", 1), ("far", -1)):
        square = q.over_j((q.x(i, j) - sign * q.x(l, j)) ** 2)
        lines.append(
            Line(
                name,
                at_most(sign * inner, q.r**2),
                Combine(
                    (
                        Term(half, ("radius_square",)),
                        Term(half, (("radius_square", {i: l}),)),
                        Term(half * square),
                    ),
                    unfold=("xnorm",),
                ),
                "Inner products of features are at most $r^2$ in absolute value.",
            )
        )
    return [
        *lines,
        Line(
            "pushnorm",
            equal(size, sqrt(q.over_j(q.name("push", j) ** 2))),
            Define(("push",)),
            "The length of what the targets add",
        ),
        Line(
            "push_square",
            at_most(size**2, (q.r * f) ** 2),
            Combine(
                (
                    Term(1, ("hit_u", ("hit_u", {i: l}), "near"), over=(i, l)),
                    Term(1, ("hit_v", ("hit_v", {i: l}), "near"), over=(i, l)),
                    Term(2, ("hit_u", ("hit_v", {i: l}), "far"), over=(i, l)),
                ),
                unfold=("pushnorm", "push", "mass"),
            ),
            "has a square that is a double sum over examples, term by term at most that of $(r f)^2$;",
        ),
        Line("rf_sign", at_most(0, q.r * f), Combine((Term(1, ("r_sign", "mass_sign")),)), "so"),
        Line(
            "push_bound",
            at_most(size, q.r * f),
            Root("push_square", "rf_sign"),
            "it is at most $r f$.",
        ),
    ]


def step(q: Step) -> list[Line]:
    """`|D+| <= c|D| + eta r f`."""
    norm, kept = q.name("norm", nonnegative=True), q.name("nextnorm", nonnegative=True)
    size, f, new = q.name("pushnorm", nonnegative=True), q.name("mass"), length(q)
    rest, rest_m = q.name("Dnext", j), q.name("Dnext", m)
    push, push_m = q.name("push", j), q.name("push", m)
    inner = q.over_j(rest * push)
    square = Sum((rest * push_m - rest_m * push) ** 2, (j, 1, n), (m, 1, n))
    return [
        Line(
            "seennorm",
            equal(new, sqrt(q.over_j(q.name("Dseen", j) ** 2))),
            Define(("Dseen",)),
            "The length after the step.",
        ),
        Line(
            "push_inner_square",
            at_most(inner**2, (kept * size) ** 2),
            Combine((Term(half * square),), unfold=("nextnorm", "pushnorm")),
            "Cauchy-Schwarz (Lagrange's identity)",
        ),
        Line(
            "push_inner",
            at_most(inner, kept * size),
            Root("push_inner_square"),
            "bounds the inner product of the two parts;",
        ),
        Line(
            "triangle_square",
            at_most(new**2, (kept + q.eta * size) ** 2),
            Combine(
                (Term(2, ("nonnegative_step", "push_inner")),),
                unfold=("seennorm", "seen_recursion", "nextnorm", "pushnorm"),
            ),
            "this is the triangle inequality, squared,",
        ),
        Line(
            "triangle_sign",
            at_most(0, kept + q.eta * size),
            Combine((Term(kept), Term(size, ("nonnegative_step",)))),
            "where",
        ),
        Line(
            "triangle",
            at_most(new, kept + q.eta * size),
            Root("triangle_square", "triangle_sign"),
            "and as it stands.",
        ),
        Line(
            "rare_step",
            at_most(new, q.name("c") * norm + q.eta * q.r * f),
            Combine(
                (
                    Term(1, ("triangle",)),
                    Term(1, ("root",)),
                    Term(1, ("nonnegative_step", "push_bound")),
                )
            ),
            "One step: $|D^+| \\le c|D| + \\eta r f$.",
        ),
    ]
