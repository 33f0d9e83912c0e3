"""Rounding to nearest: below half a spacing decay moves no weight, above it the smallest mantissas move."""

from typing import Any

from ..arithmetic import Array
from ._claim import Claim, Hypothesis


def _error(s: Any, number: Array) -> Array:
    """Squared distance of a number from ``w (1 - delta)``."""
    return (number - s.product) * (number - s.product)


POSITIVE = Hypothesis("positive", r"w > 0", lambda s: s.weight, strict=True)
REPRESENTABLE = Hypothesis(
    "representable",
    r"(r - w)(r - b) \ge 0: \text{ no number of the format lies between } b \text{ and } w",
    lambda s: (s.rounded - s.weight) * (s.rounded - s.below),
)

FLOOR = Claim(
    id="precision_floor",
    title="Decay by less than half a spacing moves no weight",
    statement="w <= r,  r the rounded w (1 - delta), if delta < 2^-(p+1)",
    latex=r"w \le r, \qquad r \text{ the number of } p \text{ bits nearest to } w(1-\delta), \quad \delta < 2^{-(p+1)}",
    source="The next number below w is at least 2^-p w away, and rounding goes to the nearest.",
    domain="rounding",
    hypotheses=(
        POSITIVE,
        Hypothesis(
            "spacing",
            r"w - b \ge h w, \quad h = 2^{-p}",
            lambda s: s.weight - s.below - s.unit * s.weight,
        ),
        Hypothesis("small", r"\delta < h/2", lambda s: s.unit - 2 * s.shrinkage, strict=True),
        REPRESENTABLE,
        Hypothesis(
            "nearest",
            r"|r - w(1-\delta)| \le |w - w(1-\delta)|",
            lambda s: _error(s, s.weight) - _error(s, s.rounded),
        ),
    ),
    lhs=lambda s: s.weight,
    rhs=lambda s: s.rounded,
    tight=True,
    corollary=(
        "p is 8 for bfloat16, 11 for float16, 24 for float32: bfloat16 weights do not decay for eta lam below 0.00195. At"
        " 2^-(p+1) exactly ties go to even, and still none moves. Stochastic rounding has no floor in the mean."
    ),
)

MOVES = Claim(
    id="precision_moves",
    title="Decay by more than half a spacing moves every power of two",
    statement="r <= (1 - 2^-p) w  at a power of two w, if delta > 2^-(p+1)",
    latex=r"r \le (1 - 2^{-p})\,w \quad\text{at a power of two } w, \quad \delta > 2^{-(p+1)}",
    source="Just below a power of two the numbers of the format lie 2^-p w apart.",
    domain="rounding",
    hypotheses=(
        POSITIVE,
        Hypothesis(
            "power_of_two",
            r"b = (1 - h)\,w, \quad h = 2^{-p}",
            lambda s: -s.ops.abs(s.weight - s.below - s.unit * s.weight),
        ),
        Hypothesis("large", r"\delta > h/2", lambda s: 2 * s.shrinkage - s.unit, strict=True),
        REPRESENTABLE,
        Hypothesis(
            "nearest",
            r"|r - w(1-\delta)| \le |b - w(1-\delta)|",
            lambda s: _error(s, s.below) - _error(s, s.rounded),
        ),
    ),
    lhs=lambda s: s.rounded,
    rhs=lambda s: (1 - s.unit) * s.weight,
    tight=True,
    corollary=(
        "So every weight of a format stands still if and only if delta is at most 2^-(p+1). In between, a weight stops where"
        " its mantissa has fallen to about 2^-p/delta."
    ),
)

CLAIMS = (FLOOR, MOVES)
