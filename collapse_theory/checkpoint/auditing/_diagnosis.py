"""What has happened to a set of unused rows, and the evidence for it.

Every rule reads several measures; none judges by a norm alone or by a cosine alone. The limits were set between what real
models show: sets that have collapsed lie at 0 to 0.18 of the used rows' median distance, families of similar trained
rows (digits, months, weekdays, years, function words) at 0.39 and above, at centred cosines up to 0.87.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._measures import Measures

__all__ = ["DIAGNOSES", "Diagnosis", "diagnose"]

DIAGNOSES = {
    "collapse": "collapse: the rows share one vector and lie far closer together than used rows do",
    "hidden": "the rows are the same up to rounding: collapse or copies, the number format hides which",
    "duplicates": "duplicates: rows are copies of one another, bit for bit",
    "mean_resized": "mean-resized: the rows lie at the mean of the other rows, as resizing a vocabulary puts them",
    "initialisation": "untouched initialisation: independent directions at the scale of fresh rows",
    "decay": "pure weight decay: independent directions as at initialisation, only shorter",
    "zero": "zero rows",
    "trained": "trained: the rows lie among one another as used rows do",
    "undecided": "undecided",
}
"""Names of diagnoses, and what they mean."""

CLOSE = 0.25
"""Median distance of a collapsed set, at most, relative to that of used rows."""
ALIGNED = 0.7
"""Mean cosine of a collapsed set, at least, after the mean of the used rows is taken off."""
SHARED = 0.5
"""Mean raw cosine of a collapsed set, at least: half of a row is the shared vector, else rows shrank but stand apart."""
AT_MEAN = 0.02
"""Of the used rows' spread: how near to their mean, and to one another, mean-resized rows lie."""
MOSTLY = 0.9
"""Share of a set that must be copies for the set to be called so."""
USUAL_SCALES = (0.02, 0.01, 0.006, 0.05, 1.0)
"""Standard deviations of fresh rows in common code; ``1/sqrt(n)`` is another."""


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What has happened to a set of rows.

    Attributes:
        name: one of ``DIAGNOSES``.
        summary: a line in words.
        evidence: the measures that it rests on, a line each.
        decay_sum: ``sum eta_t lam`` that would explain the norms, where the start is known and decay is the diagnosis.
    """

    name: str
    summary: str
    evidence: tuple[str, ...]
    decay_sum: float | None = None


def diagnose(
    measures: Measures,
    used: Measures,
    *,
    dim: int,
    centre: NDArray[np.float64],
    used_mean: NDArray[np.float64],
    copies: float,
    within_rounding: float,
    full_precision: bool,
    initial_scale: float | None,
) -> Diagnosis:
    """Name what has happened to a set of nonzero rows.

    ``measures`` are of the rows that lie together (see ``core_of``), ``used`` of the sample of used rows, ``centre`` and
    ``used_mean`` [n] the means of both; ``copies`` is the share of rows that are bit for bit another's, ``within_rounding``
    the share in the largest cluster of rows that differ by rounding alone; ``initial_scale`` the standard deviation of an
    entry of fresh rows, if known.
    """
    m = measures
    closeness = m.distance.median / (used.distance.median or math.inf)
    offset = float(np.linalg.norm(centre - used_mean))
    lines = [
        f"mean cosine {m.cosine:.3f} raw, {m.cosine_off_used:.3f} less the used rows' mean "
        f"(used rows: {used.cosine:.3f} and {used.cosine_off_used:.3f})",
        f"median distance {m.distance.median:.3g}, {closeness:.2g} of the used rows' {used.distance.median:.3g}",
        f"median norm {m.norm.median:.3g} (used rows: {used.norm.median:.3g})",
    ]

    def found(name: str, *more: str, decay_sum: float | None = None) -> Diagnosis:
        return Diagnosis(
            name=name,
            summary=DIAGNOSES[name],
            evidence=(*more, *lines),
            decay_sum=decay_sum,
        )

    if not used.distance.median:
        return found("undecided", "most used rows are equal: there is nothing to compare with")
    at_mean = max(offset, m.spread) <= AT_MEAN * used.spread and m.cosine >= 0.99
    if at_mean:
        return found(
            "mean_resized",
            f"their centre is {offset / used.spread:.2g} and their spread {m.spread / used.spread:.2g} of the used "
            "rows' spread away from the mean of the used rows; not collapse by training",
        )
    if _independent(m, dim):
        return _fresh_or_decayed(m, used, dim, initial_scale, found)
    gathered = closeness <= CLOSE and m.cosine_off_used >= ALIGNED and m.cosine >= SHARED
    if copies >= MOSTLY and (full_precision or not gathered):
        return found(
            "duplicates",
            f"{copies:.0%} of the rows are bit for bit the same as another; training hardly ever makes them so",
        )
    if gathered and within_rounding >= MOSTLY and not full_precision:
        return found(
            "hidden",
            f"{within_rounding:.0%} of the rows differ by no more than one step of the number format",
        )
    if gathered:
        return found(
            "collapse",
            f"they share a vector of norm {m.centre_norm:.3g}; what differs is {m.entry_std:.3g} an entry",
        )
    if closeness <= CLOSE and m.cosine < SHARED:
        return found(
            "undecided",
            "the rows are short, and share a part of their direction: decay, with some pull together or some training",
        )
    return found("trained", "they are as far apart as similar used rows are")


def _independent(m: Measures, dim: int) -> bool:
    """Whether rows look drawn independently, in even directions and at one scale.

    The limits allow five standard deviations of what such rows show in a sample of this size, and a little more.
    """
    pairs = m.sampled * (m.sampled - 1) / 2
    cosine = abs(m.cosine) <= 0.01 + 5 / math.sqrt(dim * pairs)
    evenness = abs(m.evenness - 1) <= max(0.2, 5 * math.sqrt(2 / pairs))
    # 0.63 for uniform entries, 1 for Gaussian ones; a sample's standard deviation is off by 1/sqrt(2k).
    slack = 5 / math.sqrt(2 * m.rows)
    return cosine and evenness and 0.5 - slack <= m.norm_variation <= 1.4 + slack


def _fresh_or_decayed(
    m: Measures,
    used: Measures,
    dim: int,
    initial_scale: float | None,
    found: Callable[..., Diagnosis],
) -> Diagnosis:
    scale = math.sqrt((m.centre_norm**2 + m.spread**2) / dim)  # about zero, not about their mean
    slack = 5 / math.sqrt(2 * m.sampled * dim)
    about = f"independent directions: {dim} times their mean squared cosine is {m.evenness:.2f} (1 for fresh rows)"
    if initial_scale is not None:
        ratio = scale / initial_scale
        start = f"standard deviation of an entry {scale:.3g}, {ratio:.3g} of the initial {initial_scale:g}"
        if abs(ratio - 1) <= max(0.1, slack):
            return found("initialisation", about, start)
        if ratio < 1:
            total = -math.log(ratio)
            return found(
                "decay",
                about,
                start,
                f"decay sum ln({1 / ratio:.4g}) = {total:.4g}",
                decay_sum=total,
            )
        return found("undecided", about, start, "longer than fresh rows: was it another scale?")
    for usual in (*USUAL_SCALES, 1 / math.sqrt(dim)):
        if abs(scale / usual - 1) <= max(0.02, slack):
            return found(
                "initialisation",
                about,
                f"standard deviation of an entry {scale:.3g}, a usual start",
            )
    per_entry = used.spread / math.sqrt(dim)
    shown = f"standard deviation of an entry {scale:.3g}, {scale / per_entry:.2g} of the used rows'"
    if scale < per_entry / 2:
        return found(
            "decay", about, shown, "the initial scale is not known: give it for the decay sum"
        )
    return found("undecided", about, shown, "fresh or decayed: the initial scale is not known")
