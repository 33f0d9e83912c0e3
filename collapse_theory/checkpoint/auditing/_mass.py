"""What unused rows take of the probability."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import integer, numbers
from ...errors import InputError
from ..reading._tensors import Matrix

__all__ = ["Mass", "extra_rows_loss", "masses", "zero_row_probability"]

MOST_FEATURES = 65_536


def zero_row_probability(rows: int, beta: float) -> float:
    """Probability of one row of logit 0 against ``rows`` rows of logit ``-beta``: ``1 / (1 + V exp(-beta))``.

    A fresh row of zeros takes nearly everything from a model whose logits are all well below zero. Raises
    :class:`InputError` for ``rows`` below 1 or a ``beta`` that is not finite.
    """
    count, gap = integer("rows", rows, least=1), float(numbers("beta", beta))
    return 1 / (1 + math.exp(min(math.log(count) - gap, 700.0)))


def extra_rows_loss(count: int, logit: ArrayLike, logsumexp: ArrayLike) -> NDArray[np.float64]:
    """By how much ``count`` further rows at ``logit`` raise the cross-entropy: ``log(1 + k exp(z - lse))``.

    ``logsumexp`` is that of the logits before. Arrays broadcast. Raises :class:`InputError` for a ``count`` below 0 or
    numbers that are not finite.
    """
    k = integer("count", count, least=0)
    gap = numbers("logit", logit) - numbers("logsumexp", logsumexp)
    return np.logaddexp(0, gap + math.log(k)) if k else np.zeros_like(gap)


@dataclass(frozen=True, kw_only=True)
class Mass:
    """The probability that sets of rows have on a set of features, means over the features.

    Attributes:
        features: how many.
        groups: of each set of unused rows, by its reason.
        clusters: of each cluster of rows that are the same up to rounding: rows k, the mean mass, and ``k p`` with p the
            mean probability of its first row. The last two agree where the rows are identical.
    """

    features: int
    groups: Mapping[str, float]
    clusters: tuple[Mapping[str, Any], ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        clusters = [dict(cluster) for cluster in self.clusters]
        return {"features": self.features, "groups": dict(self.groups), "clusters": clusters}


def masses(
    matrix: Matrix,
    features: ArrayLike,
    groups: Mapping[str, NDArray[np.int64]],
    clusters: list[NDArray[np.int64]],
) -> Mass:
    """Softmax masses of sets of row ids on ``features`` [N, n]; logits are products with the rows, no bias.

    Raises :class:`InputError` for features of another shape.
    """
    given = numbers("features", features)
    if given.ndim != 2 or given.shape[1] != matrix.dim or not len(given):
        raise InputError(
            f"features: shape {list(given.shape)} does not fit {matrix.name}; give [N, {matrix.dim}]"
        )
    if len(given) > MOST_FEATURES:
        raise InputError(f"features: {len(given):,} are too many; give at most {MOST_FEATURES:,}")
    out_groups = dict.fromkeys(groups, 0.0)
    sums = np.zeros((len(clusters), 2))
    for part in range(0, len(given), 256):  # all logits of 256 features at once stay small
        some = given[part : part + 256]
        lse = np.full(len(some), -np.inf)
        for _, block in matrix.blocks():
            logits = block.astype(np.float64) @ some.T
            lse = np.logaddexp(lse, _logsumexp(logits))
        for name, ids in groups.items():
            out_groups[name] += float(_mass(matrix, ids, some, lse).sum())
        for c, ids in enumerate(clusters):
            sums[c] += _mass(matrix, ids, some, lse).sum(), _mass(matrix, ids[:1], some, lse).sum()
    count = len(given)
    return Mass(
        features=count,
        groups={name: total / count for name, total in out_groups.items()},
        clusters=tuple(
            {
                "rows": len(ids),
                "first": int(ids[0]),
                "mass": s[0] / count,
                "k_p": len(ids) * s[1] / count,
            }
            for ids, s in zip(clusters, sums.tolist(), strict=True)
        ),
    )


def _logsumexp(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    top = logits.max(axis=0)
    return top + np.log(np.exp(logits - top).sum(axis=0))


def _mass(
    matrix: Matrix, ids: NDArray[np.int64], features: NDArray, lse: NDArray
) -> NDArray[np.float64]:
    total = np.zeros(len(features))
    for part in range(0, len(ids), 4096):
        logits = matrix.take(ids[part : part + 4096]).astype(np.float64) @ features.T
        total += np.exp(logits - lse).sum(axis=0)
    return total
