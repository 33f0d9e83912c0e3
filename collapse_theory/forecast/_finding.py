"""The pieces of a forecast: statements with their status, and bounds over the run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["NOT_KNOWN", "OBSERVED", "PROVED", "Bounds", "Finding", "count", "plain", "share"]

PROVED, OBSERVED, NOT_KNOWN = "PROVED", "OBSERVED", "NOT KNOWN"


@dataclass(frozen=True)
class Finding:
    """One statement about the run.

    Attributes:
        status: "PROVED", "OBSERVED" (measured on torch, in the project's tests) or "NOT KNOWN".
        topic: a word or two.
        text: the statement.
        claims: ids of the claims that it rests on; some if and only if it is proved.
    """

    status: str
    topic: str
    text: str
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Bounds:
    """What an optimizer's theory says of the distance of two unseen rows.

    Attributes:
        verdict: the main thing, in plain words, one or two sentences.
        findings: all statements.
        numbers: the same as numbers, for JSON.
        upper: a proved bound on the distance relative to its start at the states of the run [S]; None if there is none.
        lower: the same from below.
    """

    verdict: str
    findings: tuple[Finding, ...] = ()
    numbers: dict[str, Any] = field(default_factory=dict)
    upper: NDArray[np.float64] | None = None
    lower: NDArray[np.float64] | None = None


def proved(topic: str, text: str, *claims: str) -> Finding:
    return Finding(PROVED, topic, text, claims)


def observed(topic: str, text: str) -> Finding:
    return Finding(OBSERVED, topic, text)


def not_known(topic: str, text: str) -> Finding:
    return Finding(NOT_KNOWN, topic, text)


def plain(value: float) -> str:
    """Three digits, or all digits before the point."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


def share(value: float) -> str:
    """A share of 1 as a percentage, or as a power of ten where that says more."""
    if value == 0:
        return "0%"
    if value < 1e-4:
        return f"{value:.1e}"
    near = abs(1 - value)
    digits = max(1, -math.floor(math.log10(near)) - 1) if 0 < near < 1e-2 else 1
    return f"{100 * value:.{min(digits, 8)}f}%"


def count(steps: float) -> str:
    """A number of steps, rounded up; "never" if infinite."""
    if math.isinf(steps):
        return "never"
    number = math.ceil(steps)
    return (
        "1 step" if number == 1 else f"{number:,} steps" if number < 10**9 else f"{steps:.1e} steps"
    )


def finite(value: float | None) -> float | None:
    """None in place of an infinity, which JSON does not have."""
    return None if value is None or not math.isfinite(value) else float(value)
