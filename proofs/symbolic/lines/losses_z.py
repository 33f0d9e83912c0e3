"""The loss with the z-loss `zeta (log Z)^2` on every example, and its recursion."""

from sympy import log

from ..framework.derivation import Line, at_most, equal
from ..framework.rules import Assume, Combine, Define, Term
from ..framework.small import real
from ..framework.symbols import Step, i, m
from ..framework.types import Expr
from . import logmean, losses, step
from .losses import DIFFERENCE

TABLE = {"zeta": lambda: real("zeta")}


def factor(q: Step) -> Expr:
    """The factor `1 + 2 zeta log Z_i`."""
    return q.name("f", i)


def loss(q: Step) -> list[Line]:
    """Cross-entropy with the z-loss, and its gradient in rows u and v."""
    p_u, p_v = losses.pair(q)
    zeta, log_z = q.name("zeta"), log(q.name("Z", i, positive=True))
    p_y = q.name("p_y", i, positive=True)
    value = q.over_i(q.a(i) * (zeta * log_z**2 - log(p_y))) + losses.decay(q)
    return [
        *losses.softmax(q),
        losses.loss(
            value,
            "The loss: weighted cross-entropy, the z-loss $\\zeta (\\log Z_i)^2$, and weight decay.",
            ("p_y", "Z"),
            q,
        ),
        *losses.linear_form(q, value, -q.a(i)),
        Line(
            "f",
            equal(factor(q), 1 + 2 * zeta * log_z),
            Define(("Z",)),
            "The factor that the z-loss brings in.",
        ),
        *losses.descent(q, (factor(q) * p_u, factor(q) * p_v), of="loss_form"),
    ]


def recursion(q: Step) -> list[Line]:
    """The factor multiplies the logarithmic means."""
    p_u, p_v = losses.pair(q)
    L, d, f = q.name("L", i), q.name("d", i), factor(q)
    return [
        *losses.start(q),
        Line(
            "difference",
            equal(
                q.name("Dnext", m),
                q.name("c") * q.name("D", m)
                - q.eta * q.over_i(q.a(i) * f * (p_u - p_v) * q.x(i, m)),
            ),
            Combine(unfold=DIFFERENCE),
            "in terms of the probabilities.",
        ),
        losses.pushed(
            q,
            "MD",
            q.a(i) * f * L * d,
            ("f", "L", "d"),
            "With the operator $M = \\sum_i a_i f_i L_i x_i x_i^T$ applied to $D$,",
        ),
        losses.recursion(
            q,
            q.eta,
            "MD",
            Term(-q.eta * q.a(i) * f * q.x(i, m), ("mean_value",), over=(i,)),
            sentence="exactly $D^+ = cD - \\eta M D$.",
        ),
    ]


def nonnegative_factor(q: Step) -> Line:
    """`f_i >= 0`."""
    return Line(
        "nonnegative_factor",
        at_most(0, factor(q)),
        Assume(),
        "Hypothesis: no factor is negative.",
    )


def quadratic(q: Step) -> list[Line]:
    """The scalars of a plain step, with the factor in the weights of M."""
    L, f = q.name("L", i), factor(q)
    weights = Line(
        "b",
        equal(q.name("b", i), q.a(i) * f * L),
        Define(("f", "L")),
        "Weights of the operator $M$:",
    )
    sign = Line(
        "b_sign",
        at_most(0, q.name("b", i)),
        Combine((Term(1, ("weights", "nonnegative_factor", "L_sign")),), unfold=("b",)),
        "none is negative, so $M$ is positive semidefinite.",
    )
    return [nonnegative_factor(q), *losses.swapped(step.quadratic(q), weights, sign)]


def lines(q: Step) -> list[Line]:
    """From the loss to the scalars."""
    return [*loss(q), *logmean.logmean(q), *recursion(q), *quadratic(q)]
