"""What comes from outside: a clean array, or one line with the value and the fix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collapse_theory.checks import numbers
from collapse_theory.errors import InputError

__all__ = [
    "check_features",
    "check_labels",
    "check_pairs",
    "check_weighting",
    "unseen_in_head",
    "unseen_labels",
]

MOST_DEFAULT_PAIRS = 10_000
"""More pairs than this are recorded only when they are named."""


def check_features(array: NDArray[np.float64], *, heads: int, dim: int) -> NDArray[np.float64]:
    """Features [N, n] or [H, N, n] of at least one example."""
    good = array.ndim in (2, 3) and array.shape[-1] == dim and array.shape[:-2] in ((), (heads,))
    if not good:
        raise InputError(
            f"features have shape {array.shape}, weights {heads} heads of {dim} features: "
            f"give [N, n] = (N, {dim}) or [H, N, n] = ({heads}, N, {dim})"
        )
    if not array.shape[-2]:
        raise InputError("features hold no example (N = 0): give at least one")
    return array


def check_labels(labels: Any, *, heads: int, examples: int, classes: int) -> NDArray[np.int64]:
    """Targets [N] or [H, N], integers in 0..K-1."""
    array = np.asarray(labels)
    if array.dtype.kind not in "iu":
        raise InputError(f"labels are of type {array.dtype}: give integers from 0 to {classes - 1}")
    if array.shape not in ((examples,), (heads, examples)):
        raise InputError(
            f"labels have shape {array.shape}: give [N] = ({examples},) "
            f"or [H, N] = {heads, examples}"
        )
    outside = (array < 0) | (array >= classes)
    if outside.any():
        raise InputError(
            f"labels hold {array[outside][0]}, but weights have {classes} rows: "
            f"give labels from 0 to {classes - 1}"
        )
    return array.astype(np.int64)


def check_weighting(
    value: Any, *, heads: int, examples: int, batch_size: int | None
) -> NDArray[np.float64]:
    """Example weights [N] or [H, N]: none negative, and no possible batch of total weight zero."""
    array = numbers("example_weights", value)
    if array.shape not in ((examples,), (heads, examples)):
        raise InputError(
            f"example_weights have shape {array.shape}: give [N] = ({examples},) "
            f"or [H, N] = {heads, examples}"
        )
    if (array < 0).any():
        raise InputError(f"example_weights hold {array[array < 0][0]}: none may be negative")
    zeros = int((array == 0).sum(axis=-1).max())
    if zeros >= (batch_size or examples):
        raise InputError(
            f"example_weights hold {zeros} zeros, which can fill a whole batch: "
            "leave those examples out or take a larger batch_size"
        )
    return array


def unseen_labels(labels: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """The labels that are nobody's target, in any head, in increasing order."""
    return np.setdiff1d(np.arange(classes), labels)


def unseen_in_head(labels: NDArray[np.int64], heads: int, classes: int) -> NDArray[np.bool_]:
    """Whether a label is nobody's target in a head, [H, K]."""
    every = np.arange(classes)
    if labels.ndim == 1:
        return np.broadcast_to(np.isin(every, labels, invert=True), (heads, classes))
    return np.stack([np.isin(every, row, invert=True) for row in labels])


def check_pairs(
    pairs: Any,
    unseen: NDArray[np.int64],
    classes: int,
    *,
    masked: NDArray[np.bool_] | None = None,
) -> NDArray[np.int64]:
    """Pairs [P, 2] of distinct labels; all pairs of unseen ones where `pairs` is None.

    `masked` [H, K] says which logits are left out.
    """
    if pairs is None:
        count = len(unseen) * (len(unseen) - 1) // 2
        if len(unseen) < 2 or classes < 3:
            raise InputError(
                f"{len(unseen)} of {classes} labels are unseen, a pair needs 2 of at least 3: "
                "leave targets out, add rows, or record nothing (record_every=None)"
            )
        if count > MOST_DEFAULT_PAIRS:
            raise InputError(
                f"{len(unseen)} unseen labels make {count:,} pairs: name those to follow (pairs=)"
            )
        first, second = np.triu_indices(len(unseen), k=1)
        return np.stack([unseen[first], unseen[second]], axis=1)
    array = np.asarray(pairs)
    if array.dtype.kind not in "iu" or array.ndim != 2 or array.shape[1] != 2 or not len(array):
        raise InputError(f"pairs are {pairs!r:.60}: give [P, 2] integers, such as [(0, 1)]")
    if classes < 3:
        raise InputError(f"weights have {classes} rows: a pair of unseen labels needs at least 3")
    for u, v in array.tolist():
        if u == v or not (0 <= u < classes and 0 <= v < classes):
            raise InputError(
                f"pairs hold ({u}, {v}): give two distinct labels from 0 to {classes - 1}"
            )
        # Of a pair with one logit left out no logarithmic mean is defined, and the claim is silent.
        if masked is not None and (masked[:, u] != masked[:, v]).any():
            raise InputError(
                f"pairs hold ({u}, {v}), one of them masked: give two unseen labels, "
                f"out of {unseen.tolist()}, or two others"
            )
    return array.astype(np.int64)
