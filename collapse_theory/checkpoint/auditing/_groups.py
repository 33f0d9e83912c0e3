"""Sets of unused rows, and who their neighbours are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..reading._tensors import Matrix
from ._clusters import Clusters
from ._diagnosis import DIAGNOSES, Diagnosis, diagnose
from ._measures import Measures, measure

__all__ = ["Group", "Neighbours", "group_of", "neighbours_of", "used_measures"]

FULL_PRECISION = ("float64", "float32", "F32", "F64")


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """The nearest rows of a few rows of a set.

    rows: asked; distance: median distance to the nearest row; unused_share: share of them whose nearest row is unused.
    """

    rows: int
    distance: float
    unused_share: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Group:
    """Unused rows with one reason.

    Attributes:
        reason: why they appear unused.
        ids: of the rows.
        zeros: how many of them are zero; the measures leave these out.
        measures: of the others, None for fewer than two.
        core: measures of those that lie together, on which the diagnosis rests.
        moved_off: ids of those that lie apart from the rest, by three times the median distance to the centre.
        radius: within which 99% of those that lie together are.
        near: nearest neighbours of a few.
        diagnosis: what happened to them; None for several reasons taken together.
    """

    reason: str
    ids: NDArray[np.int64]
    zeros: int
    measures: Measures | None
    core: Measures | None
    moved_off: NDArray[np.int64]
    radius: float | None
    near: Neighbours | None
    diagnosis: Diagnosis | None

    def with_near(self, near: Neighbours) -> Group:
        return replace(self, near=near)


def used_measures(
    rows: NDArray[np.float64], mean: NDArray[np.float64], used_mean: NDArray[np.float64]
) -> Measures | None:
    """Measures of the sample of used rows [k, n]; None for fewer than two rows."""
    if len(rows) < 2:
        return None
    norms = np.linalg.norm(rows, axis=1)
    return measure(rows, norms=norms, unit_sums=None, mean=mean, used_mean=used_mean)


def group_of(
    reason: str,
    ids: NDArray[np.int64],
    *,
    matrix: Matrix,
    zero: NDArray[np.bool_],
    norms: NDArray[np.float64],
    sample: NDArray[np.float64],
    core: tuple[NDArray, NDArray[np.bool_]] | None,
    sums: tuple[NDArray, NDArray] | None,
    distances: NDArray[np.float64] | None,
    radius: tuple[float, float] | None,
    mean: NDArray[np.float64],
    used_mean: NDArray[np.float64],
    used: Measures | None,
    clusters: Clusters,
    initial_scale: float | None,
    together: bool,
) -> Group:
    """Measure and diagnose one set; ``together`` for several reasons at once, which get no diagnosis."""
    live = ids[~zero[ids]]
    zeros = len(ids) - len(live)
    nothing = np.zeros(0, np.int64)
    if core is None or distances is None or radius is None:
        diagnosis = _few(len(live), zeros)
        return Group(
            reason=reason,
            ids=ids,
            zeros=zeros,
            measures=None,
            core=None,
            moved_off=nothing,
            radius=None,
            near=None,
            diagnosis=None if together else diagnosis,
        )
    whole = measure(sample, norms=norms[live], unit_sums=sums, mean=mean, used_mean=used_mean)
    stayed = live[distances[live] <= radius[1]]
    kept = sample[core[1]] if core[1].sum() >= 2 else sample
    main = (
        whole
        if len(stayed) == len(live)
        else measure(kept, norms=norms[stayed], unit_sums=None, mean=mean, used_mean=used_mean)
    )
    labels = clusters.labels[stayed]
    largest = np.bincount(labels[labels >= 0]).max() if (labels >= 0).any() else 0
    diagnosis = None
    if not together and used is None:
        line = "fewer than two used rows are left to compare them with"
        diagnosis = Diagnosis(name="undecided", summary=DIAGNOSES["undecided"], evidence=(line,))
    if not together and used is not None:
        diagnosis = diagnose(
            main,
            used,
            dim=matrix.dim,
            centre=core[0],
            used_mean=used_mean,
            copies=float(clusters.exact[stayed].mean()),
            within_rounding=float(largest / len(stayed)),
            full_precision=matrix.dtype in FULL_PRECISION,
            initial_scale=initial_scale,
        )
    return Group(
        reason=reason,
        ids=ids,
        zeros=zeros,
        measures=whole,
        core=main,
        moved_off=live[distances[live] > radius[1]],
        radius=radius[0],
        near=None,
        diagnosis=diagnosis,
    )


def _few(live: int, zeros: int) -> Diagnosis:
    if zeros and not live:
        line = f"every number of these {zeros:,} rows is zero"
        return Diagnosis(name="zero", summary=DIAGNOSES["zero"], evidence=(line,))
    line = "one row alone tells nothing: two are needed"
    return Diagnosis(name="undecided", summary=DIAGNOSES["undecided"], evidence=(line,))


def neighbours_of(
    matrix: Matrix,
    asked: NDArray[np.int64],
    near: NDArray[np.int64],
    is_unused: NDArray[np.bool_],
) -> Neighbours:
    """The nearest of the candidates ``near`` [Q, c] of rows ``asked`` [Q], measured on the rows themselves."""
    rows = matrix.take(asked).astype(np.float64)
    others = matrix.take(np.maximum(near, 0).ravel()).astype(np.float64).reshape(*near.shape, -1)
    apart = np.linalg.norm(others - rows[:, None], axis=2)
    apart[near < 0] = np.inf
    best = apart.argmin(axis=1)
    nearest = near[np.arange(len(near)), best]
    return Neighbours(
        rows=len(asked),
        distance=float(np.median(apart.min(axis=1))),
        unused_share=float(is_unused[nearest].mean()),
    )
