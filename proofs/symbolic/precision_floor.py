"""`precision_floor`: a weight of p significant bits that decays by less than 2^-(p+1) is rounded back to itself."""

from .framework.derivation import Derivation, Line, at_most, equal
from .framework.rules import Assume, Combine, Term
from .framework.strict import DefinePositive
from .lines import rounding
from .lines.rounding import SIZES as SIZES
from .lines.rounding import b, delta, h, positive, r, room, span, w

HYPOTHESES = ("positive", "spacing", "small", "representable", "nearest")


def derive() -> Derivation:
    """Between w and its neighbour there is nothing to round to, and the neighbour is too far."""
    lines = [
        *rounding.hypotheses(strict="small", says=h - 2 * delta, kept=w),
        Line(
            "spacing",
            at_most(h * w, w - b),
            Assume(),
            "Hypothesis: the next number of the format is at least $hw$ below.",
        ),
        Line(
            "span_least",
            at_most(positive * room, w - b - 2 * delta * w),
            Combine((Term(1, ("spacing",)),), unfold=("positive", "small")),
            "So half the way to it is more than $\\delta w$:",
        ),
        Line(
            "span",
            equal(span, w - b - 2 * delta * w),
            DefinePositive("span_least"),
            "a name for what is left.",
        ),
        Line(
            "along",
            at_most(0, (r - w) * span),
            Combine(
                (Term(1, ("representable",)), Term(1, ("nearest",))),
                unfold=("span",),
            ),
            "The sum of the last two hypotheses.",
        ),
        Line(
            "precision_floor",
            at_most(w, r),
            Combine((Term(1 / span, ("along",)),)),
            "Divide: the weight has not shrunk.",
        ),
    ]
    return rounding.derivation("precision_floor", lines, HYPOTHESES)
