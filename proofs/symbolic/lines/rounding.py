"""A weight w of a number format, w (1 - delta), and what rounding makes of it."""

from collections.abc import Sequence

from sympy import Integer, Symbol

from ..framework.conclude_others import Written
from ..framework.derivation import Derivation, Goal, Line, Part, at_most, equal
from ..framework.rules import Assume
from ..framework.small import real
from ..framework.strict import Positive
from ..framework.symbols import RANGES
from ..framework.types import Expr

SIZES = (
    "One weight and any number format: w, its neighbour b towards 0, the rounded number r, delta and h = 2^-p are real "
    "numbers. The claim speaks of a single number, so it starts from it and not from a loss."
)
w, b, r, delta, h = (real(name) for name in ("w", "b", "r", "delta", "h"))
product = w * (1 - delta)
positive, room, span = (Symbol(name, positive=True) for name in ("positive", "room", "span"))
NAMES = {
    "delta": r"\delta",
    "positive": "w_{+}",
    "room": r"\sigma",
    "span": r"\rho",
}


def hypotheses(*, strict: str, says: Expr, kept: Expr) -> list[Line]:
    """`w > 0`, the strict hypothesis on delta, that r is a number of the format, and nearer than the number `kept`."""
    return [
        Line("positive", equal(positive, w), Positive(), "Hypothesis: the weight is positive."),
        Line(
            strict, equal(room, says), Positive(), "Hypothesis: how delta lies to half a spacing."
        ),
        Line(
            "representable",
            at_most(0, (r - w) * (r - b)),
            Assume(),
            "Hypothesis: no number of the format lies between $b$ and $w$,",
        ),
        Line(
            "nearest",
            at_most((r - product) ** 2, (kept - product) ** 2),
            Assume(),
            "and $r$ is no farther from $w (1 - \\delta)$ than the other candidate.",
        ),
    ]


def derivation(claim: str, lines: Sequence[Line], hypotheses: tuple[str, ...]) -> Derivation:
    """The derivation of a claim about rounding; its last line is called as the claim."""
    return Derivation(
        claim=claim,
        lines=tuple(lines),
        goals=(Goal(claim, claim, hypotheses),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude,
        names=NAMES,
    )


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """The goal as it stands: there is nothing to write out."""
    table = {name: (lambda s=name: real(s)) for name in ("w", "b", "r", "delta", "h")}
    written = Written(derivation, table=table, dim=1, sizes={})
    (goal,) = derivation.goals

    def margin(name: str) -> tuple[Expr, ...]:
        line = derivation[name]
        strict = isinstance(line.rule, Positive)
        return (written.small(line.statement.rhs if strict else line.statement.margin),)

    # The claim's set-up has no loss.
    return (written.part(goal, {name: margin(name) for name in goal.hypotheses}, start=Integer(0)),)
