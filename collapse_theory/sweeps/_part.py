"""One part of a sweep: its heads trained together, and a row for each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collapse_theory.sweeps._grid import AXES, Part, Sweep
from collapse_theory.trajectories import LinearRuns, train_linear_heads

__all__ = ["COLUMNS", "train_part"]

MEASURED = (
    "distance_first",
    "distance_last",
    "ratio",
    "decay_product",
    "largest_factor",
    "cosine",
    "centred_cosine",
    "norm",
    "loss",
)
COLUMNS = ("head", *AXES.values(), "diverged", *MEASURED)
"""Columns of a row. Of the pairs that are followed:

`distance_first`, `distance_last`: the largest |D| before the first step and after the last; `ratio`: the largest |D| at the
end over |D| at the start; `decay_product`: prod (1 - eta_t lam), which by `trajectory` bounds it, of gradient descent and
unseen pairs alone; `largest_factor`: the largest |D+|/|D| of a recorded step; `cosine`, `centred_cosine`, `norm`: means at
the end, the norm of the rows in the pairs; `loss`: mean cross-entropy of all examples at the end. None where a number is
not defined or not finite. `diverged`: whether weights became infinite."""


def train_part(
    sweep: Sweep,
    part: Part,
    features: NDArray[np.float64],
    labels: NDArray[np.int64],
    count: int,
    pairs: list[tuple[int, int]] | None,
    keep: bool,
) -> tuple[int, list[dict[str, Any]], LinearRuns | None]:
    """The part's place, its rows, and the record if it is to be kept."""
    import torch

    shape = (count, features.shape[1])
    made = {
        seed: np.random.default_rng(seed).normal(scale=sweep.scale, size=shape)
        for seed in {head.seed for head in part.heads}
    }
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the same sums in the same order, wherever this runs
    try:
        runs = train_linear_heads(
            np.stack([made[head.seed] for head in part.heads]),
            features,
            labels,
            config=sweep.config(part),
            pairs=pairs,
            keep_infinite=True,
        )
    finally:
        torch.set_num_threads(threads)
    rows = [_row(runs, place, part) for place in range(len(part.heads))]
    return part.index, rows, runs if keep else None


def _row(runs: LinearRuns, place: int, part: Part) -> dict[str, Any]:
    head = part.heads[place]
    row: dict[str, Any] = {"head": head.index}
    row.update({name: getattr(head, name) for name in AXES.values()})
    row["diverged"] = not bool(np.isfinite(runs.final_weights[place]).all())
    row.update(dict.fromkeys(MEASURED))
    first, last = runs.distance[place, 0], runs.distance[place, -1]
    with np.errstate(all="ignore"):
        steps, apart = runs.ratio[place], first > 0
        steps = steps[~np.isnan(steps)]
        measured = {
            "distance_first": first.max(),
            "distance_last": last.max(),
            "ratio": (last[apart] / first[apart]).max() if apart.any() else math.nan,
            "decay_product": runs.decay_product[place, -1] if runs.bounded else math.nan,
            "largest_factor": steps.max() if steps.size else math.nan,
            "cosine": runs.cosine[place, -1].mean(),
            "centred_cosine": runs.centred_cosine[place, -1].mean(),
            "norm": runs.norms[place, -1, np.unique(runs.pairs)].mean(),
            "loss": math.nan if row["diverged"] else _loss(runs, place),
        }
    row.update({k: float(v) if math.isfinite(v) else None for k, v in measured.items()})
    return row


def _loss(runs: LinearRuns, place: int) -> float:
    """Mean cross-entropy of all examples at the last weights, in float64."""
    logits = runs.features.astype(np.float64) @ runs.final_weights[place].astype(np.float64).T
    if runs.config.masked:
        logits[:, runs.unseen] = -np.inf
    top = logits.max(-1)
    normaliser = top + np.log(np.exp(logits - top[:, None]).sum(-1))
    return float((normaliser - logits[np.arange(len(logits)), runs.labels]).mean())
