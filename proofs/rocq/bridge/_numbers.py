"""What the library says of an instance: margins and sides, in balls, arranged as the Rocq statements are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from collapse_theory import Claim
from collapse_theory.arithmetic import ball
from collapse_theory.claims import Hypothesis
from collapse_theory.instances import Batch

from ._terms import real

BITS = 160
PAIRED = {"norms", "nonzero_rows", "nonzero", "factor", "factor_at_most_one", "monotone"}
PAIRED |= {"nothing_clipped", "gradient_bound"}
"""Hypotheses that end in two inequalities at each place: the last axis of their margins."""
TURNED = {"gradient_bound", "inside_ball", "radius"}
"""Hypotheses whose margins have the axes of the Rocq statement from last to first."""
TRUTHS = {
    "unseen",
    "twins",
    "orthogonal",
    "power_of_two",
    "nearest",
    "small",
    "large",
    "some_decay",
}
"""Hypotheses that Rocq writes otherwise than as margins: their truth alone is compared."""


@dataclass(frozen=True)
class Evaluated:
    """An instance, and the same in balls, which keeps what it has computed."""

    instance: Batch
    balls: Batch = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "balls", self.instance.to(ball(BITS)))

    def of(self, function: Callable[[Any], Any]) -> np.ndarray | None:
        """The function's balls at the instance; None where one is not finite."""
        found = np.asarray(function(self.balls).balls, dtype=object)[0, ...]
        return found if all(b.is_finite() for b in found.ravel()) else None


def fraction(b: Any) -> Fraction:
    """The middle of a ball, exactly."""
    mantissa, exponent = b.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def is_exact(array: np.ndarray) -> bool:
    """Whether all balls are single numbers."""
    return all(b.is_exact() for b in array.ravel())


def number(b: Any, exact: bool) -> str:
    """A number of the Rocq statement; rounded to 2^-80 where it is only enclosed."""
    middle = fraction(b)
    if exact:
        return f"(Is {real(middle)})"
    return f"(Near {real(Fraction(round(middle * 2**60), 2**60))})"


def truth(hypothesis: Hypothesis, margins: np.ndarray) -> bool | None:
    """Whether the hypothesis holds; None where balls do not say."""
    signs = [(b > 0, b < 0, b.is_zero()) for b in margins.ravel()]
    good = [up or (zero and not hypothesis.strict) for up, _, zero in signs]
    bad = [down or (zero and hypothesis.strict) for _, down, zero in signs]
    return True if all(good) else False if any(bad) else None


def _each(parts: Iterator[str] | list[str]) -> str:
    return "(Each [" + "; ".join(parts) + "])"


def _tree(array: np.ndarray, paired: bool, leaf: Callable[[Any], str]) -> str:
    if array.ndim == 0:
        return leaf(array.item())
    parts = [_tree(array[i, ...], paired, leaf) for i in range(len(array))]
    if paired and array.ndim == 1:
        return f"(Both {parts[0]} {parts[1]})"
    return _each(parts)


def arranged(hypothesis: Hypothesis, margins: np.ndarray, instance: Batch) -> np.ndarray:
    """Margins with the axes in the order of the Rocq statement."""
    if hypothesis.id in TURNED:
        margins = margins.T
    if hypothesis.id == "within":
        margins = margins[: int(np.asarray(instance.values["unseen"])[0])]
    return margins


def margins_tree(hypothesis: Hypothesis, margins: np.ndarray, exact: bool) -> str:
    """The values of a hypothesis."""
    paired = hypothesis.id in PAIRED and margins.shape[-1:] == (2,)
    return _tree(margins, paired, lambda b: f"(Margin {number(b, exact)})")


def sides_tree(claim: Claim, sides: tuple[np.ndarray, np.ndarray], exact: tuple[bool, bool]) -> str:
    """The values of a conclusion."""
    left, right = sides
    pairs = [
        f"(Sides {number(a, exact[0])} {number(b, exact[1])})"
        for a, b in zip(left.ravel(), right.ravel(), strict=True)
    ]
    if left.ndim == 0:
        return pairs[0]
    if not claim.parts:
        return _each(pairs)
    tree = pairs[-1]
    for pair in reversed(pairs[:-1]):
        tree = f"(Both {pair} {tree})"
    return tree
