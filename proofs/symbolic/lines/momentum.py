"""SGD with momentum: a function of differences of rows and of buffers that shrinks by rho^2 at every step.

With D and B the differences of the rows u, v and of their buffers, E and F are combinations of them for which
`E+ = rho E - eta MD`, `F+ = rho2 F - eta MD` and `(rho - rho2) D = N1 E - N2 F`, and the function is `N1|E|^2 + N2|F|^2`.
What E, F, N1, N2 are depends on the kind of momentum; all that follows from these three equations is here.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sympy import S as Numbers
from sympy import Symbol

from ..framework.derivation import Line, at_most, equal
from ..framework.inference import Induction, Root
from ..framework.rules import Assume, Combine, Define, Term
from ..framework.strict import Nonnegative
from ..framework.symbols import LATEX, Step, j, m
from ..framework.symbols import i as i_
from ..framework.types import Expr
from . import bounds, logmean, runs, step

q = Step(time=runs.age)
later = Step(time=runs.age + 1)
start = Step(time=Numbers.Zero)

eta, lam, T = (runs.constant(name) for name in ("eta", "lam", "T"))
b = Symbol("mom", nonnegative=True)
gap, rho = Symbol("gap", positive=True), Symbol("rho", positive=True)
rho2 = Symbol("rho2", nonnegative=True)

NAMES = LATEX | {
    "mom": r"\beta",
    "beta": r"\beta",
    "rho": r"\rho_{1}",
    "rho2": r"\rho_{2}",
    "gap": r"\delta",
    "slack": r"\sigma",
    "buf_u": "b^{u}",
    "buf_v": "b^{v}",
    "bufnext_u": "b^{u+}",
    "bufnext_v": "b^{v+}",
    "lyap": "V",
    "ahead": "N_{1}",
    "behind": "N_{2}",
}


@dataclass(frozen=True)
class Kind:
    """A kind of momentum: `coupled` decay or not; `push` is what a row is moved by, of its new buffer and its gradient;
    N1, N2 >= 0, and the coefficients of D and B in E and F. `facts` and `unfold` are the equations about the roots by which
    a line about them stands."""

    coupled: bool
    push: Callable[[Expr, Expr], Expr]
    N1: Expr
    N2: Expr
    E: tuple[Expr, Expr]
    F: tuple[Expr, Expr]
    facts: Callable[[str], tuple[Term, ...]] = lambda line: ()
    unfold: Callable[[str], tuple[str, ...]] = lambda line: ()


def setting() -> list[Line]:
    """The loss and its gradients, the logarithmic mean, the operator M and what is known of it."""
    loss = [line for line in step.loss(q) if not line.name.startswith("next_")]
    kept = {"MD"}
    operator = [line for line in step.recursion(q) if line.name in kept]
    left_out = {"nextnorm", "next_square"}
    quadratic = [line for line in step.quadratic(q) if line.name not in left_out]
    return [
        *loss,
        *logmean.logmean(q),
        *operator,
        *quadratic,
        bounds.operator_bound(q),
        *runs.steady(q, ("lam",)),
        Line(
            "momentum",
            equal(b, Symbol("beta", real=True)),
            Nonnegative("setting"),
            "The momentum is not negative.",
        ),
    ]


def hypotheses() -> list[Line]:
    """`eta >= 0` and `T >= tr M` at every step."""
    return [
        Line("nonnegative_step", at_most(0, eta), Assume(), "Hypothesis: $\\eta \\ge 0$."),
        Line(
            "curvature",
            at_most(q.name("tau"), T),
            Assume(),
            "Hypothesis: $T$ bounds the trace of $M$ at every step.",
        ),
    ]


def rule(kind: Kind) -> list[Line]:
    """One step on both rows, from a zero buffer, and the same for the differences D of the rows and B of the buffers."""
    lines = []
    for row, w in (("u", q.w_u), ("v", q.w_v)):
        old, new = q.name(f"buf_{row}", m), q.name(f"bufnext_{row}", m)
        gradient = q.name(f"grad_{row}", m)
        slope = gradient if kind.coupled else gradient - q.lam * w(m)
        kept = w(m) if kind.coupled else (1 - eta * lam) * w(m)
        lines += [
            Line(
                f"bufnext_{row}",
                equal(new, b * old + slope),
                Define((f"grad_{row}",)),
                f"The buffer of row ${row}$ after the step,",
            ),
            Line(
                f"next_{row}",
                equal(q.name(f"next_{row}", m), kept - eta * kind.push(new, slope)),
                Define((f"bufnext_{row}", f"grad_{row}")),
                "and the row.",
            ),
        ]
    for row, moved in (("u", later.w_u), ("v", later.w_v)):
        lines += [
            Line(
                f"run_{row}",
                equal(moved(j), q.name(f"next_{row}", j)),
                Assume("setting", relation="=="),
                f"A run: step $t + 1$ starts with the row ${row}$ that step $t$ ends with,",
            ),
            Line(
                f"run_buf_{row}",
                equal(later.name(f"buf_{row}", j), q.name(f"bufnext_{row}", j)),
                Assume("setting", relation="=="),
                "and with its buffer;",
            ),
            Line(
                f"zero_{row}",
                equal(start.name(f"buf_{row}", j), 0),
                Assume("setting", relation="=="),
                "before the first step the buffer is zero.",
            ),
        ]
    D, B, y = q.name("D", m), q.name("B", m), q.name("MD", m)
    slope = y + lam * D if kind.coupled else y
    kept = D if kind.coupled else (1 - eta * lam) * D
    fold = ("bufnext_u", "bufnext_v", "grad_u", "grad_v", "MD", "B", "D", "steady_lam")
    new = later.name("B", m)
    factor = q.a(i_) * q.x(i_, m)
    gained = kind.push(Numbers.One, Numbers.One) if kind.coupled else Numbers.One
    return [
        *lines,
        Line(
            "B",
            equal(q.name("B", m), q.name("buf_u", m) - q.name("buf_v", m)),
            Define(),
            "The difference of the buffers;",
        ),
        Line(
            "B_next",
            equal(new, b * B + slope),
            Combine(
                (Term(factor, ("mean_value",), over=(i_,)),),
                unfold=("B", "run_buf_u", "run_buf_v", *fold),
            ),
            "by the logarithmic mean it gains $MD$ at every step"
            + (", and the decay." if kind.coupled else "."),
        ),
        Line(
            "D_next",
            equal(later.name("D", m), kept - eta * kind.push(b * B + slope, slope)),
            Combine(
                (Term(-eta * gained * factor, ("mean_value",), over=(i_,)),),
                unfold=("D", "run_u", "run_v", "next_u", "next_v", *fold),
            ),
            "The difference of the rows after the step.",
        ),
    ]


def function(kind: Kind) -> list[Line]:
    """E and F, their recursions and what they say of D, and the function V."""
    D, B, y = q.name("D", m), q.name("B", m), q.name("MD", m)
    lines = []
    for name, (of_D, of_B), root in (("E", kind.E, rho), ("F", kind.F, rho2)):
        here = q.name(name, m)
        lines += [
            Line(
                name,
                equal(here, of_D * D + of_B * B),
                Define(("B", "D")),
                "A combination of the two differences," if name == "E" else "another one,",
            ),
            Line(
                f"{name}_next",
                equal(later.name(name, m), root * here - eta * y),
                Combine(
                    kind.facts(f"{name}_next"),
                    unfold=(name, "D_next", "B_next", *kind.unfold(f"{name}_next")),
                ),
                "which a step multiplies by a root, up to $\\eta MD$;",
            ),
        ]
    return [
        *lines,
        Line(
            "output",
            equal(gap * D, kind.N1 * q.name("E", m) - kind.N2 * q.name("F", m)),
            Combine(kind.facts("output"), unfold=("E", "F", *kind.unfold("output"))),
            "together they give $D$.",
        ),
        Line(
            "lyap",
            equal(
                q.name("lyap", nonnegative=True),
                q.over_j(kind.N1 * q.name("E", j) ** 2 + kind.N2 * q.name("F", j) ** 2),
            ),
            Define(("E", "F")),
            "The function $V$.",
        ),
    ]


def descent(kind: Kind) -> list[Line]:
    """`V+ <= rho^2 V`, where `room` says `eta T (N1 gap + 2 rho N2) <= 2 rho gap^2`, and `apart` that the roots differ by
    gap."""
    y, F = q.name("MD", j), q.name("F", j)
    V, norm = q.name("lyap", nonnegative=True), q.name("norm", nonnegative=True)
    both = rho + rho2
    weight = kind.N1 + kind.N2 + kind.N2 * both / gap
    of_D = ("output", {m: j})
    return [
        Line(
            "descent",
            at_most(later.name("lyap", nonnegative=True), rho**2 * V),
            Combine(
                (
                    Term(kind.N2 * both * gap * q.over_j((F + eta * y / gap) ** 2)),
                    Term(eta**2 * weight, ("MD_square",)),
                    Term(eta**2 * weight, ("curvature", "quad_sign")),
                    Term(1 / gap, ("nonnegative_step", "room", "quad_sign")),
                    Term(2 * eta * rho * y, (of_D,), over=(j,)),
                    Term(-2 * eta * rho * gap, ("quad=D.MD",)),
                ),
                unfold=("lyap", "E_next", "F_next", "apart"),
            ),
            "One step: the terms are a square, $|MD|^2 \\le T\\,D \\cdot MD$, and the step size.",
        ),
        Line(
            "length",
            at_most(gap**2 * norm**2, (kind.N1 + kind.N2) * V),
            Combine(
                (
                    Term(kind.N1 * kind.N2 * q.over_j((q.name("E", j) + q.name("F", j)) ** 2)),
                    Term(
                        kind.N1 * q.name("E", j) - kind.N2 * q.name("F", j) + gap * q.name("D", j),
                        (of_D,),
                        over=(j,),
                    ),
                ),
                unfold=("lyap", "norm"),
            ),
            "The length of $D$ is bounded by $V$ (Cauchy-Schwarz).",
        ),
    ]


def bound(kind: Kind, claim: str, first: Expr, factor: Expr) -> list[Line]:
    """Induction over the steps from `V_0 = first |D_0|^2`, then the claim with the factor for which
    `(N1 + N2) first = factor^2 gap^2`."""

    def V(time: Expr) -> Expr:
        return Step(time=time).name("lyap", nonnegative=True)

    def claimed(time: Expr) -> tuple[Expr, Expr]:
        return V(time), rho ** (2 * time) * V(Numbers.Zero)

    age = runs.age
    norm, norm0 = (s.name("norm", nonnegative=True) for s in (q, start))
    return [
        Line(
            "start",
            equal(V(Numbers.Zero), first * norm0**2),
            Combine(unfold=("lyap", "E", "F", "B", "zero_u", "zero_v", "norm")),
            "At the start, with zero buffers, it is a multiple of $|D_0|^2$.",
        ),
        Line(
            "above_0",
            at_most(*claimed(Numbers.Zero)),
            Combine(),
            "Before the first step: equality.",
        ),
        Line(
            "above_t",
            at_most(*claimed(age)),
            Assume("induction"),
            "Induction hypothesis: it holds at step $t$.",
        ),
        Line(
            "above_next",
            at_most(*claimed(age + 1)),
            Combine((Term(1, ("descent",)), Term(rho**2, ("above_t",)))),
            "One more step multiplies by $\\rho_1^2$.",
        ),
        Line(
            "above_all",
            at_most(*claimed(age)),
            Induction(age, "above_0", "above_t", "above_next"),
            "By induction it holds at every step.",
        ),
        Line(
            "boost",
            equal((kind.N1 + kind.N2) * first, (factor * gap) ** 2),
            Combine(kind.facts("boost"), unfold=kind.unfold("boost")),
            "What the first and the last step cost together.",
        ),
        Line(
            "squares",
            at_most(norm**2, (rho**age * factor * norm0) ** 2),
            Combine(
                (
                    Term(1 / gap**2, ("length",)),
                    Term((kind.N1 + kind.N2) / gap**2, ("above_all",)),
                    Term((kind.N1 + kind.N2) * rho ** (2 * age) / gap**2, ("start",)),
                    Term(rho ** (2 * age) * norm0**2 / gap**2, ("boost",)),
                ),
            ),
            "The squares;",
        ),
        Line(
            claim,
            at_most(norm, rho**age * factor * norm0),
            Root("squares"),
            "take square roots: the claim.",
        ),
    ]
