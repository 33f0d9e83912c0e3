"""Recorded steps as instances, so that claims can be evaluated on a real run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from collapse_theory.errors import InputError
from collapse_theory.trajectories._runs import Curvature, LinearRuns

if TYPE_CHECKING:
    from collapse_theory.instances import Run, Step

__all__ = ["as_run", "as_steps"]

ROUNDING = 1e-12
"""Relative slack on measured bounds r, pbar, T, which else would be met only up to rounding."""

Index = slice | Sequence[int]


def as_steps(
    runs: LinearRuns,
    pair: tuple[int, int] = (0, 1),
    *,
    heads: Index = slice(None),
    at: Index = slice(None),
    curvature: Curvature = "measured",
) -> Step:
    """Recorded steps as a batch of instances, ordered by head, then step.

    Rows are permuted so that the pair comes first. pbar is the measured maximum of L_i; it, r and T
    are taken up by 1e-12 of themselves.

    Args:
        runs: a record with snapshots.
        pair: a recorded pair of unseen labels.
        heads: which heads.
        at: which recorded steps, as indices into `runs.recorded`. Select few of a large full batch:
            an array [instances, N, n] may be made of them.
        curvature: which T, of `CURVATURES`.

    Raises:
        InputError: no snapshots, a pair that was not recorded, or nothing selected.
    """
    from collapse_theory.arithmetic import FLOAT
    from collapse_theory.instances import Step

    head, step = _grid(runs, heads, at)
    return Step(ops=FLOAT, **_fields(runs, pair, head.ravel(), step.ravel(), curvature))


def as_run(
    runs: LinearRuns,
    pair: tuple[int, int] = (0, 1),
    *,
    heads: Index = slice(None),
    at: slice = slice(None),
    curvature: Curvature = "measured",
) -> Run:
    """Heads as a batch of runs over consecutive recorded steps; otherwise as `as_steps`.

    Raises:
        InputError: as `as_steps`, or steps that do not follow one another.
    """
    from collapse_theory.arithmetic import FLOAT
    from collapse_theory.instances import Run

    head, step = _grid(runs, heads, at)
    taken = runs.recorded[step[0]]
    if (np.diff(taken) != 1).any():
        raise InputError(
            f"recorded steps {taken.tolist()!s:.60} are not consecutive: record with record_every=1"
        )
    fields = _fields(runs, pair, head, step, curvature)
    return Run(ops=FLOAT, **{**fields, "weights": fields["weights"][:, 0]})


def _grid(runs: LinearRuns, heads: Index, at: Index) -> tuple[NDArray[np.int64], ...]:
    """Indices of head and recorded step, each [heads, steps]."""
    chosen = np.arange(runs.heads)[heads], np.arange(len(runs.recorded))[at]
    if not all(len(index) for index in chosen):
        raise InputError(
            f"no step is selected: choose from {runs.heads} heads and "
            f"{len(runs.recorded)} recorded steps"
        )
    return tuple(np.meshgrid(*chosen, indexing="ij"))


def _fields(
    runs: LinearRuns,
    pair: tuple[int, int],
    head: NDArray[np.int64],
    step: NDArray[np.int64],
    curvature: Curvature,
) -> dict[str, NDArray[Any]]:
    """The fields of a Step with the leading axes of `head` and `step`."""
    if not runs.config.plain:
        raise InputError(
            f"runs were trained by {runs.config.optimizer} with momentum {runs.config.momentum}: an "
            "instance is a step of gradient descent; train with optimizer='sgd' and no momentum"
        )
    if runs.config.masked:
        raise InputError(
            "runs were trained with masked logits, which no instance has; train with masked=False"
        )
    if runs.weights is None:
        raise InputError("runs hold no snapshots: record them with snapshots=True")
    found = np.flatnonzero((runs.pairs == np.array(pair)).all(-1))
    if not len(found):
        raise InputError(f"pair {pair} was not recorded: give one of {runs.pairs.tolist()}")
    order = np.array([*pair, *(k for k in range(runs.weights.shape[2]) if k not in pair)])
    labels = _examples(runs, runs.labels, 1, head, step)
    if runs.example_weights is None:
        share = np.broadcast_to(1.0 / labels.shape[-1], labels.shape)
    else:
        share = _examples(runs, runs.example_weights, 1, head, step).astype(np.float64)
        share = share / share.sum(-1, keepdims=True)
    up = 1.0 + ROUNDING
    share = share * (1.0 - 2.0**-45)  # the exact sum must not exceed 1
    return {
        "weights": runs.weights[head, step][..., order, :].astype(np.float64),
        "features": _examples(runs, runs.features, 2, head, step).astype(np.float64, copy=False),
        "labels": np.argsort(order)[labels],
        "example_weights": share,
        "step_size": runs.step_size[head, step],
        "weight_decay": runs.weight_decay[head, step],
        "radius": up * runs.radius[head],
        "pbar": up * runs.largest_logmean[head, step, found[0]],
        "curvature": up * runs.curvature(curvature)[head, step, found[0]],
    }


def _examples(
    runs: LinearRuns,
    values: NDArray[Any],
    axes: int,
    head: NDArray[np.int64],
    step: NDArray[np.int64],
) -> NDArray[Any]:
    """Entries of `values` (`axes` axes, or one more for the head) of each step's batch."""
    if runs.indices is None and values.ndim == axes:
        return np.broadcast_to(values, (*head.shape, *values.shape))  # a view: no copies
    if runs.indices is None:
        return values[head]
    shared = len(runs.indices) == 1
    index = runs.indices[np.zeros_like(head) if shared else head, step]
    return values[index] if values.ndim == axes else values[head[..., None], index]
