"""`gradient_flow`: lam |D|^2 <= -1/2 d/dt |D|^2 <= (lam + T)|D|^2 for rows that follow the negative gradient."""

from . import _bounds, _one_step
from ._conclude import conclude_step
from ._derivation import Derivation, Goal, Line, at_most
from ._rules import Combine, Term
from ._symbols import LATEX, RANGES, Step, j


def derive() -> Derivation:
    """The derivation, from the loss to the claim: the rate is `D.g`, g the difference of the gradients."""
    q = Step()
    rate, square = q.over_j(q.name("D", j) * q.name("g", j)), q.over_j(q.name("D", j) ** 2)
    norm = q.name("norm", nonnegative=True)
    lines = (
        *_one_step.setting(q),
        _one_step.curvature(q),
        _bounds.form_bound(q),
        *_one_step.pull(q),
        Line(
            "slowest",
            at_most(q.lam * square, rate),
            Combine((Term(-1, ("D.g",)), Term(1, ("quad_sign",))), unfold=("norm",)),
            "Along the flow $D' = -g$, so $-\\frac12 \\frac{d}{dt}|D|^2 = D \\cdot g$: at least the decay,",
        ),
        Line(
            "fastest",
            at_most(rate, (q.lam + q.T) * square),
            Combine(
                (
                    Term(1, ("D.g",)),
                    Term(1, ("quad_bound",)),
                    Term(norm**2, ("curvature",)),
                ),
                unfold=("norm",),
            ),
            "and at most decay and $T$ together.",
        ),
    )
    return Derivation(
        claim="gradient_flow",
        lines=lines,
        goals=(Goal("slowest", "slowest", ()), Goal("fastest", "fastest", ("curvature",))),
        sizes=_one_step.SIZES,
        ranges=RANGES,
        conclude=conclude_step(dim=2, examples=2),
        names=LATEX,
    )
