"""Recorded runs on real data as instances of the claims' domains: what the ledger's column *observed* is measured on.

Softmax regression on the digits, three classes never shown, full batch and minibatches. Every claim about a step or a run is
evaluated on these; a claim needs nothing here to be observed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from collapse_theory.instances import Batch
from collapse_theory.trajectories import CURVATURES, LinearRuns, as_run, as_steps

from .digits import digits_runs


@dataclass(frozen=True)
class Observation:
    """``batch`` are instances from ``runs``, the record called ``name``; ``facts`` describes all of it, JSON-ready."""

    name: str
    batch: Batch
    runs: LinearRuns
    facts: dict[str, Any]


def facts(runs: LinearRuns) -> dict[str, Any]:
    """What one recorded run shows, over all heads, pairs and steps: the bounds with each T, and the recursion for D."""
    measured, slack = runs.ratio, 4 * runs.rounding
    shown: dict[str, Any] = {
        "heads": runs.heads,
        "steps": len(runs.recorded),
        "pairs": len(runs.pairs),
        "recursion_residual": float(np.nanmax(runs.relative_residual)),
    }
    for kind in CURVATURES:
        met = runs.margin(kind) >= 0
        above = met & (measured > runs.decay[:, :, None] + slack)
        below = measured < runs.lower_factor(kind) - slack
        shown[f"T_{kind}"] = {
            "condition_met": int(met.sum()),
            "above_upper_bound": int(above.sum()),
            "below_lower_bound": int(below.sum()),
        }
    return shown


def observations(*, seed: int = 0, thorough: bool = True) -> Iterator[Observation]:
    """Instances from a full-batch and a minibatch run; fewer steps and heads unless ``thorough``.

    Raises :class:`~collapse_theory.errors.InputError` when scikit-learn is not installed.
    """
    length = 200 if thorough else 40
    for name, batch_size in (("digits, full batch", None), ("digits, minibatches of 64", 64)):
        runs = digits_runs(seed=seed, steps=length, batch_size=batch_size)
        shown = facts(runs)
        for head in range(0, runs.heads, 1 if thorough and batch_size else 4):
            # A full batch is 1,257 images a step: every tenth step of every fourth head shows as much.
            at = slice(0, None, 10) if batch_size is None else slice(None)
            for pair in runs.pairs.tolist() if batch_size else runs.pairs.tolist()[:1]:
                yield Observation(
                    name, as_steps(runs, tuple(pair), heads=[head], at=at), runs, shown
                )
            yield Observation(name, as_run(runs, (0, 1), heads=[head]), runs, shown)
