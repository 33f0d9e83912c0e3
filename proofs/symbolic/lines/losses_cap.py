"""Soft-capped logits `phi(z) = cap tanh(z/cap)`: the loss, the step, and the operator M of the gradient of both rows.

With `e(z) = exp(phi(z))` and `g = e phi'`, row u has the gradient `sum_i a_i g(z_u)/Z x_i`. What a difference of two values
of g is, `losses_cap_shape` says; here it becomes `0 <= L_i <= (1 + 1/(2 cap^2)) (p_u + p_v)/2`.
"""

from sympy import Abs, Ne, Piecewise, Symbol, exp, log, tanh

from ..framework.derivation import Line, Statement, at_most, equal
from ..framework.extremes import AbsCases
from ..framework.monotone import DifferentiateOpaque
from ..framework.rules import Assume, Branches, Combine, Define, Term
from ..framework.small import Table, real
from ..framework.symbols import Step, i, j, k, m
from ..framework.types import Expr
from . import logmean, losses, step
from .losses import DIFFERENCE

TABLE: Table = {"cap": lambda: real("cap")}
given = Symbol("cap", real=True, nonzero=True)
cap = Symbol("kappa", positive=True)
steep = 1 + 1 / (2 * cap**2)


def logits(q: Step) -> tuple[Expr, Expr]:
    """The logits of u and v, not capped."""
    return q.name("z_u", i), q.name("z_v", i)


def exponential(z: Expr) -> Expr:
    """`exp(phi(z))`."""
    return exp(cap * tanh(z / cap))


def slope(z: Expr) -> Expr:
    """`phi'(z)`."""
    return 1 - tanh(z / cap) ** 2


def gradient(z: Expr) -> Expr:
    """`exp(phi(z)) phi'(z)`."""
    return exponential(z) * slope(z)


def capped(z: Expr) -> Expr:
    """`phi(z)` as the loss has it."""
    return given * tanh(z / given)


def loss(q: Step) -> list[Line]:
    """Softmax of the capped logits, the loss, its gradient in rows u and v, and one step."""
    z_u, z_v = logits(q)
    lines = losses.without(losses.softmax(q), "p_y")
    S, Z = q.name("S", i, nonnegative=True), q.name("Z", i, positive=True)
    (p_u, p_v), p_y = losses.pair(q), q.name("p_y", i, positive=True)
    y_u, y_v, z_y = q.name("phi_u", i), q.name("phi_v", i), q.name("z_y", i)
    s_u, s_v = q.name("slope_u", i), q.name("slope_v", i)
    others = q.over_k(exp(capped(q.over_j(q.w(k, j) * q.x(i, j)))))
    by_name = {line.name: line for line in lines}

    def line(name: str, left: Expr, right: Expr, uses: tuple[str, ...], sentence: str) -> Line:
        return Line(name, equal(left, right), Define(uses), sentence)

    value = -q.over_i(q.a(i) * log(p_y)) + losses.decay(q)
    linear = -q.over_i(q.a(i) * (capped(z_y) - log(Z))) + losses.decay(q)
    return [
        by_name["z_u"],
        by_name["z_v"],
        line("phi_u", y_u, capped(z_u), ("z_u",), "The capped logits of $u$"),
        line("phi_v", y_v, capped(z_v), ("z_v",), "and $v$,"),
        line("S", S, others, (), "the exponentials of all other capped logits,"),
        line("Z", Z, exp(y_u) + exp(y_v) + S, ("phi_u", "phi_v", "S"), "the normaliser."),
        line("p_u", p_u, exp(y_u) / Z, ("phi_u", "Z"), "Softmax probability of $u$,"),
        line("p_v", p_v, exp(y_v) / Z, ("phi_v", "Z"), "of $v$,"),
        losses.target_logit(q),
        line(
            "p_y",
            p_y,
            exp(capped(z_y)) / Z,
            ("z_y", "Z"),
            "and of the target $y_i$, which is neither $u$ nor $v$: both are unseen.",
        ),
        losses.loss(value, "The loss: weighted cross-entropy and weight decay.", ("p_y",), q),
        Line(
            "log_p_y",
            equal(log(p_y), capped(z_y) - log(Z)),
            Combine(unfold=("p_y",)),
            "The logarithm of $p_y$ is the capped logit minus $\\log Z$,",
        ),
        Line(
            "loss_form",
            equal(q.name("loss"), linear),
            Combine((Term(-q.a(i), ("log_p_y",), over=(i,)),), unfold=("loss",)),
            "so that the loss is",
        ),
        line("slope_u", s_u, 1 - tanh(z_u / given) ** 2, ("z_u",), "The slope of the cap at $u$"),
        line("slope_v", s_v, 1 - tanh(z_v / given) ** 2, ("z_v",), "and at $v$."),
        *losses.descent(
            q, (p_u * s_u, p_v * s_v), of="loss_form", differentiate=DifferentiateOpaque
        ),
    ]


def even(q: Step) -> list[Line]:
    """The sign of the cap does not matter: from here on it is positive. And the slope as the library computes it."""
    lines = [
        Line(
            "kappa",
            equal(cap, Abs(given)),
            Define(),
            "The cap may be taken to be positive: both $\\phi$ and its slope are even in it.",
        )
    ]
    for row, z in zip(("u", "v"), logits(q), strict=True):
        y, s, size = q.name(f"phi_{row}", i), q.name(f"slope_{row}", i), Abs(z / given)
        lines += [
            Line(
                f"phi_{row}_even",
                equal(y, cap * tanh(z / cap)),
                AbsCases(given, unfold=(f"phi_{row}", "kappa")),
                f"So for the capped logit of ${row}$",
            ),
            Line(
                f"slope_{row}_even",
                equal(s, slope(z)),
                AbsCases(given, unfold=(f"slope_{row}", "kappa")),
                "and its slope,",
            ),
            Line(
                f"slope_{row}_form",
                equal(s, 4 * exp(-2 * size) / (1 + exp(-2 * size)) ** 2),
                AbsCases(z / given, unfold=(f"slope_{row}",)),
                "which in exponentials is",
            ),
        ]
    return lines


def halves(q: Step) -> list[Line]:
    """D, its logit d = 2 h, and the two logits around their mean."""
    names = ("D", "d", "h", "d=2h", "s", "z_u=s+h", "z_v=s-h")
    return losses.named(logmean.logmean(q), *names)


INSIDE = ("p_u", "p_v", "phi_u_even", "phi_v_even", "slope_u_even", "slope_v_even")
AROUND = ("z_u=s+h", "z_v=s-h")


def quotient(q: Step) -> list[Line]:
    """L_i, the difference of the two gradients over that of the logits, and its two bounds."""
    (p_u, p_v), h, Z = losses.pair(q), q.name("h", i), q.name("Z", i, positive=True)
    s_u, s_v = q.name("slope_u", i), q.name("slope_v", i)
    L, d, gap = q.name("L", i), q.name("d", i), p_u * s_u - p_v * s_v
    unfold = ("L", "d=2h", *INSIDE, *AROUND)
    scale = 1 / (4 * h**2 * Z)
    top = steep * (p_u + p_v) / 2
    return [
        Line(
            "L",
            equal(L, Piecewise((gap / d, Ne(d, 0)), (0, True))),
            Define(("p_u", "p_v", "slope_u", "slope_v", "d", "h")),
            "The difference of the gradients over that of the logits.",
        ),
        Line(
            "mean_value",
            equal(gap, L * d),
            Branches(h, unfold=unfold),
            "Equal logits have equal gradients, so with $d_i$ it gives the difference in every case.",
        ),
        Line(
            "L_sign",
            at_most(0, L),
            Branches(h, away=(Term(scale, ("order",)),), unfold=unfold),
            "It is not negative,",
        ),
        Line(
            "L_top",
            at_most(L, top),
            Branches(h, away=(Term(scale, ("chord",)),), at=(Term(top),), unfold=unfold),
            "and at most $(1 + \\frac{1}{2\\kappa^2})$ times the mean of $p_u$ and $p_v$.",
        ),
    ]


def recursion(q: Step) -> list[Line]:
    """D+ = c D - eta M D with these L_i in M."""
    p_u, p_v = losses.pair(q)
    gap = p_u * q.name("slope_u", i) - p_v * q.name("slope_v", i)
    value = q.name("c") * q.name("D", m) - q.eta * q.over_i(q.a(i) * gap * q.x(i, m))
    return losses.changed(
        step.recursion(q),
        "difference",
        statement=equal(q.name("Dnext", m), value),
        rule=Combine(unfold=DIFFERENCE),
        sentence="in terms of the probabilities and slopes,",
    )


def bound(q: Step) -> Line:
    """What T must exceed, as a name."""
    p_u, p_v = losses.pair(q)
    mean = q.a(i) * (p_u + p_v) / 2 * q.over_j(q.x(i, j) ** 2)
    return Line(
        "tau_cap",
        equal(q.name("tau_cap"), steep * q.over_i(mean)),
        Define(("p_u", "p_v", "kappa")),
        "The bound on the trace of $M$ that these give.",
    )


def curvature(q: Step) -> list[Line]:
    """T bounds tr M, because it bounds what bounds L_i."""
    stated: Statement = at_most(q.name("tau_cap"), q.T)
    return [
        Line("curvature_bound", stated, Assume(), "Hypothesis: $T$ is at least that."),
        Line(
            "curvature",
            at_most(q.name("tau"), q.T),
            Combine(
                (
                    Term(1, ("curvature_bound",)),
                    Term(q.over_j(q.x(i, j) ** 2), ("weights", "L_top"), over=(i,)),
                ),
                unfold=("tau", "b", "tau_cap"),
            ),
            "So $T$ bounds the trace of $M$.",
        ),
    ]
