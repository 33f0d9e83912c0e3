"""What is said of rows before and after a repair: norms, mean cosines, distances. Sums in float64."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..auditing._measures import mean_cosine as of_unit_sum
from ._encode import decode, first_of_equals, row_keys

__all__ = ["PAIRS_AMONG", "RowMeasures", "mean_cosine", "measure"]

PAIRS_AMONG = 1024
"""Pairwise distances are taken among this many rows at most, evenly chosen; all else is of all rows."""
BLOCK = 1024

Rows = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class RowMeasures:
    """Numbers about rows as they are stored; None where there is nothing to measure.

    Attributes:
        rows: how many.
        not_finite: rows with NaN or infinities, which are left out of all below.
        zeros: rows of zeros; they have no cosine and are left out of both means.
        equal: rows that equal an earlier one.
        norm_min: the smallest norm; likewise ``norm_median`` and ``norm_max``.
        cosine: mean cosine over all pairs of rows.
        cosine_centred: the same once the mean of the trained rows is taken off.
        distance_min: the smallest distance of two rows; likewise ``distance_median``.
    """

    rows: int
    not_finite: int
    zeros: int
    equal: int
    norm_min: float | None
    norm_median: float | None
    norm_max: float | None
    cosine: float | None
    cosine_centred: float | None
    distance_min: float | None
    distance_median: float | None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def measure(data: NDArray[np.uint8], dtype: str, centre: Rows) -> RowMeasures:
    """Measures of stored rows ``[k, n * size]``; ``centre`` ``[n]`` is the mean of the trained rows."""
    rows = decode(data, dtype)
    finite = np.isfinite(rows).all(axis=1)
    clean = rows if finite.all() else rows[finite]
    norms = np.linalg.norm(clean, axis=1)
    distances = _distances(clean)

    def number(statistic: Any, values: Rows) -> float | None:
        return float(statistic(values)) if values.size else None

    return RowMeasures(
        rows=len(rows),
        not_finite=int((~finite).sum()),
        zeros=int((norms == 0).sum()),
        equal=int((~first_of_equals(row_keys(data[finite], dtype))).sum()),
        norm_min=number(np.min, norms),
        norm_median=number(np.median, norms),
        norm_max=number(np.max, norms),
        cosine=mean_cosine(clean),
        cosine_centred=mean_cosine(clean, centre),
        distance_min=number(np.min, distances),
        distance_median=number(np.median, distances),
    )


def mean_cosine(rows: Rows, centre: Rows | None = None) -> float | None:
    """Mean cosine over all pairs of rows, less ``centre`` if given; None for fewer than two that are not zero."""
    total, count = np.zeros(rows.shape[1]), 0
    for start in range(0, len(rows), BLOCK):
        part = rows[start : start + BLOCK]
        part = part if centre is None else part - centre
        norms = np.linalg.norm(part, axis=1)
        total += (1 / norms[norms > 0]) @ part[norms > 0]
        count += int((norms > 0).sum())
    if count < 2:
        return None
    return of_unit_sum(total, count)


def _distances(rows: Rows) -> Rows:
    """Distances ``[pairs]``. By differences: a Gram matrix has no digits left for rows that are nearly equal."""
    count = len(rows)
    if count > PAIRS_AMONG:
        rows = rows[np.linspace(0, count - 1, PAIRS_AMONG).round().astype(np.int64)]
    parts = [np.linalg.norm(rows[i + 1 :] - rows[i], axis=1) for i in range(len(rows) - 1)]
    return np.concatenate(parts) if parts else np.empty(0)
