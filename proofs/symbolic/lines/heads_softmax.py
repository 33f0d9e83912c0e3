"""The softmax of one feature in a head, and how its lines are written out in the symbols of the domain `head`."""

from collections.abc import Iterable

from ..framework.conclude_others import Written
from ..framework.derivation import Derivation, Goal, Line, Part
from ..framework.small import Table, real
from ..framework.symbols import LATEX, RANGES, Step, i
from . import losses

LABELS, DIM = 3, 2
PAIR: Table = {
    "w_u": lambda j: real(f"w_0_{j - 1}"),
    "w_v": lambda j: real(f"w_1_{j - 1}"),
    "w": lambda k, j: real(f"w_{k - 1}_{j - 1}"),
    "x": lambda i, j: real(f"x_{j - 1}"),
}
"""Entries of a head with one feature; labels count from 1."""


def softmax(q: Step) -> list[Line]:
    """Logits, the normaliser, and the probabilities of u and v."""
    return [line for line in losses.softmax(q) if line.name != "p_y"]


def derivation(claim: str, lines: Iterable[Line], goals: Iterable[str], sizes: str) -> Derivation:
    """The lines; each goal holds without any hypothesis."""
    return Derivation(
        claim=claim,
        lines=tuple(lines),
        goals=tuple(Goal(goal, goal, ()) for goal in goals),
        sizes=sizes,
        ranges=RANGES,
        conclude=conclude,
        names=LATEX,
    )


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """The goals for 3 labels, 2 coordinates and one feature, the first; all start from the normaliser of the softmax."""
    written = Written(
        derivation,
        table=PAIR,
        dim=DIM,
        sizes={"K": LABELS, "n": DIM, "unseen": 2},
        labels=LABELS,
        forms=("logratio=d",),
    )
    start = derivation["Z"].statement.rhs.xreplace({i: 1})
    return tuple(written.part(goal, {}, start=start, at={i: 1}) for goal in derivation.goals)
