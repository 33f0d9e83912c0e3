"""`precision_moves`: a power of two that decays by more than 2^-(p+1) is rounded to the number below, or further."""

from sympy import Abs

from .framework.derivation import Derivation, Line, at_most, equal
from .framework.inference import Root
from .framework.rules import Assume, Combine, Term
from .framework.strict import DefinePositive
from .lines import rounding
from .lines.rounding import SIZES as SIZES
from .lines.rounding import b, delta, h, positive, r, room, span, w

HYPOTHESES = ("positive", "power_of_two", "large", "representable", "nearest")
off = w - b - h * w


def derive() -> Derivation:
    """The number below is nearer than w, and nothing lies between."""
    lines = [
        *rounding.hypotheses(strict="large", says=2 * delta - h, kept=b),
        Line(
            "power_of_two",
            at_most(Abs(off), 0),
            Assume(),
            "Hypothesis: the next number of the format is just $hw$ below, as at a power of two.",
        ),
        Line("off_square", at_most(off**2, Abs(off) ** 2), Combine(), "That is,"),
        Line("off_up", at_most(off, Abs(off)), Root("off_square"), "no more than that"),
        Line("off_down", at_most(-off, Abs(off)), Root("off_square"), "and no less."),
        Line(
            "span_least",
            at_most(positive * room, 2 * delta * w - (w - b)),
            Combine(
                (Term(1, ("off_up",)), Term(1, ("power_of_two",))),
                unfold=("positive", "large"),
            ),
            "So half the way to it is less than $\\delta w$:",
        ),
        Line(
            "span",
            equal(span, 2 * delta * w - (w - b)),
            DefinePositive("span_least"),
            "a name for how much less, twice.",
        ),
        Line(
            "along",
            at_most(0, (b - r) * span),
            Combine(
                (Term(1, ("representable",)), Term(1, ("nearest",))),
                unfold=("span",),
            ),
            "The sum of the last two hypotheses.",
        ),
        Line(
            "precision_moves",
            at_most(r, (1 - h) * w),
            Combine(
                (Term(1 / span, ("along",)), Term(1, ("off_down",)), Term(1, ("power_of_two",)))
            ),
            "Divide, and put in where the number below is: the weight has moved.",
        ),
    ]
    return rounding.derivation("precision_moves", lines, HYPOTHESES)
