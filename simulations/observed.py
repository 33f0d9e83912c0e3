"""Recorded runs on real data as instances of the claims' domains: what the ledger's column *observed* is measured on.

Softmax regression on the digits, three classes never shown, full batch and minibatches, by the library and, for tricks, by
torch. Every claim is evaluated on the recorded instances of its domain; a claim needs nothing here to be observed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from collapse_theory.instances import Batch
from collapse_theory.trajectories import CURVATURES, LinearRuns, as_run, as_steps

from . import observed_views as views
from .digits import digits_runs, load_digits
from .observed_optimizers import observed_optimizers
from .observed_rounding import observed_rounding
from .observed_tricks import observed_tricks, rare_labels


@dataclass(frozen=True)
class Observation:
    """``batch`` are instances from ``runs`` (None where torch did the training), the record called ``name``; ``facts``
    describes all of it, JSON-ready."""

    name: str
    batch: Batch
    runs: LinearRuns | None
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
    """Instances from a full-batch and a minibatch run, from the same seen in other ways, from runs in which a label of the
    pair is rare, and from torch's runs with tricks; fewer steps and heads unless ``thorough``.

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
    yield from _others(seed, thorough)


def _others(seed: int, thorough: bool) -> Iterator[Observation]:
    """The observations of all domains but plain steps and runs, and rare labels."""
    few: dict[str, Any] = {"edges": (0.1, 0.5, 0.999), "repeats": 1, "batch_size": 32}
    short = digits_runs(seed=seed, steps=40, **few)
    decays: dict[str, Any] = {"weight_decays": (0.0, 1e-2)}
    free = digits_runs(seed=seed, steps=20, **few, **decays)
    digits = load_digits()
    for name, batch, shown in (*views.steady(short), *rare_labels(seed=seed)):
        yield Observation(name, batch, short, shown)
    for view in (views.heads, views.vectors, views.spectra):
        for name, batch, shown in view(short):
            yield Observation(name, batch, short, shown)
    for name, batch, shown in views.probes(free):
        yield Observation(name, batch, free, shown)
    for name, batch, shown in views.resting(digits.features, seed=seed):
        yield Observation(name, batch, None, shown)
    steps = 60 if thorough else 20
    with_tricks = observed_tricks(
        digits.features, digits.labels, classes=digits.classes, seed=seed, steps=steps
    )
    by_others = observed_optimizers(
        digits.features, digits.labels, classes=digits.classes, seed=seed, steps=steps
    )
    for name, batch, shown in (*with_tricks, *by_others, *observed_rounding(seed=seed)):
        yield Observation(name, batch, None, shown)
