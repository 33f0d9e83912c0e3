"""How a set of rows lies: cosines, distances, norms, spread."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Measures", "Range", "core_of", "mean_cosine", "measure"]


@dataclass(frozen=True, kw_only=True)
class Range:
    """The smallest, the median and the largest of some numbers."""

    min: float
    median: float
    max: float

    @classmethod
    def of(cls, values: NDArray[np.floating]) -> Range:
        """Of one number or more."""
        return cls(
            min=float(values.min()), median=float(np.median(values)), max=float(values.max())
        )


@dataclass(frozen=True, kw_only=True)
class Measures:
    """A set of rows in numbers. Zero rows do not count.

    Attributes:
        rows: in the set.
        sampled: rows that distances, spread and moments were measured on: all, or a fixed sample.
        cosine: mean cosine of all pairs.
        cosine_centred: the same after the mean of all rows of the matrix is taken off.
        cosine_off_used: the same after the mean of the used rows is taken off.
        norm: of the rows.
        mean_norm: their mean.
        distance: of pairs.
        centre_norm: norm of the mean row.
        spread: root mean square distance of a row to the mean row.
        entry_std: the same for one entry, ``spread / sqrt(n)``.
        norm_variation: standard deviation of the norms, relative to their mean, times ``sqrt(2 n)``: 1 for Gaussian rows
            of one scale.
        evenness: ``n`` times the mean squared cosine: 1 where rows favour no direction.
    """

    rows: int
    sampled: int
    cosine: float
    cosine_centred: float
    cosine_off_used: float
    norm: Range
    mean_norm: float
    distance: Range
    centre_norm: float
    spread: float
    entry_std: float
    norm_variation: float
    evenness: float

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return asdict(self)


def mean_cosine(unit_sum: NDArray[np.float64], count: int) -> float:
    """Mean cosine of all pairs of ``count`` rows from the sum of their unit rows [n]: ``(|s|^2 - k) / (k (k - 1))``.

    The identity is exact, so no pair is ever looked at.
    """
    return float((unit_sum @ unit_sum - count) / (count * (count - 1)))


def unit_sum(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of rows, each brought to norm 1; zero rows stay."""
    norms = np.linalg.norm(rows, axis=1)
    return np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0) @ rows


def core_of(sample: NDArray[np.float64], tolerance: float) -> tuple[NDArray, NDArray[np.bool_]]:
    """The centre [n] of the rows [k, n] that lie together, and which these are.

    A row belongs if it is within three times the median distance from the median row (entry by entry), or within rounding
    of it: a few rows that have moved off do not move the centre.
    """
    middle = np.median(sample, axis=0)
    apart = np.linalg.norm(sample - middle, axis=1)
    core = apart <= max(3 * float(np.median(apart)), tolerance * float(np.linalg.norm(middle)))
    return sample[core].mean(axis=0), core


def measure(
    sample: NDArray[np.float64],
    *,
    norms: NDArray[np.float64],
    unit_sums: tuple[NDArray, NDArray] | None,
    mean: NDArray[np.float64],
    used_mean: NDArray[np.float64],
) -> Measures:
    """The measures of a set of two rows or more: ``sample`` [k, n] of it, the ``norms`` of all its rows, its sums of unit
    rows (raw and centred by ``mean`` [n], the mean of all rows of the matrix; from the sample if None)."""
    from scipy.spatial.distance import pdist

    count, (sampled, dim) = len(norms), sample.shape
    raw, centred = unit_sums or (unit_sum(sample), unit_sum(sample - mean))
    whole = count if unit_sums else sampled
    middle = sample.mean(axis=0)
    off = sample - middle
    spread = float(np.sqrt(np.einsum("ij,ij->", off, off) / (sampled - 1)))
    units = sample / np.linalg.norm(sample, axis=1, keepdims=True)
    gram = units.T @ units if dim < sampled else units @ units.T
    squares = (float(np.einsum("ij,ij->", gram, gram)) - sampled) / (sampled * (sampled - 1))
    variation = float(norms.std(ddof=1) / norms.mean() * np.sqrt(2 * dim))
    return Measures(
        rows=count,
        sampled=sampled,
        cosine=mean_cosine(raw, whole),
        cosine_centred=mean_cosine(centred, whole),
        cosine_off_used=mean_cosine(unit_sum(sample - used_mean), sampled),
        norm=Range.of(norms),
        mean_norm=float(norms.mean()),
        distance=Range.of(pdist(sample)),
        centre_norm=float(np.linalg.norm(middle)),
        spread=spread,
        entry_std=spread / np.sqrt(dim).item(),
        norm_variation=variation,
        evenness=squares * dim,
    )
