"""Recorded digits runs seen as instances of the other domains: heads, pairs of vectors, spectra, steady and probed runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from collapse_theory.arithmetic import FLOAT
from collapse_theory.instances import (
    Batch,
    Equilibrium,
    Head,
    ProbeRun,
    SpectralStep,
    SteadyRun,
    Vectors,
)
from collapse_theory.trajectories import LinearRuns, as_run, as_steps

from .observed_tricks import UP

Seen = Iterator[tuple[str, Batch, dict[str, Any]]]


def heads(runs: LinearRuns, *, images: int = 8) -> Seen:
    """Every tenth recorded state of every head on some images; labels 0, 1, 2 are unseen."""
    rows = _states(runs)
    x = np.asarray(runs.features, dtype=float)[:images]
    weights = np.repeat(rows, len(x), axis=0)
    feature = np.tile(x, (len(rows), 1))
    unseen = np.full(len(weights), len(runs.unseen))
    zero = np.zeros(len(weights))
    bare = Head(FLOAT, weights, feature, zero, zero, unseen)
    radius = np.full(len(weights), np.linalg.norm(runs.features, axis=-1).max() * UP)
    distance = bare.distances.max(axis=-1) * UP
    yield "digits, heads", Head(FLOAT, weights, feature, radius, distance, unseen), {}


def vectors(runs: LinearRuns) -> Seen:
    """Unseen rows and seen rows in pairs, through training."""
    rows = _states(runs)
    first = np.concatenate([rows[:, 0], rows[:, 1], rows[:, 3]])
    second = np.concatenate([rows[:, 1], rows[:, 2], rows[:, 4]])
    yield "digits, rows in pairs", Vectors(FLOAT, first, second), {}


def _states(runs: LinearRuns) -> np.ndarray:
    """Rows [B, K, n] at every tenth recorded state of every head."""
    rows = np.asarray(runs.weights, dtype=float)[:, ::10]
    return rows.reshape(-1, *rows.shape[2:])


def spectra(runs: LinearRuns) -> Seen:
    """Recorded steps with the extreme eigenvalues of M as bounds, loosened by a millionth of the largest."""
    step = as_steps(runs, at=slice(0, None, 10))
    eigenvalues = np.linalg.eigvalsh(step.operator)
    room = 1e-6 * eigenvalues[:, -1]
    lowest, highest = eigenvalues[:, 0] - room, eigenvalues[:, -1] + room
    values = step.values | {"lowest": lowest, "highest": highest}
    yield "digits, spectrum of M", SpectralStep(ops=FLOAT, **values), {}


def steady(runs: LinearRuns) -> Seen:
    """Whole runs with the largest measured bounds; eps is the distance that is left, or that decay alone would leave."""
    run = as_run(runs)
    steps = range(run.step_size.shape[1])
    values = {name: run.values[name] for name in ("weights", "features", "labels", "step_size")}
    values["example_weights"] = run.example_weights
    values["weight_decay"] = run.weight_decay[:, 0]
    values |= {name: run.values[name].max(axis=1) for name in ("radius", "pbar", "curvature")}
    left = FLOAT.norm(run.last_difference)
    by_decay = np.prod(run.decay, axis=1) * FLOAT.norm(run.first_difference)
    zero = np.zeros_like(left)
    bare = SteadyRun(ops=FLOAT, distance=zero, floor=zero, **values)
    floor = np.min([FLOAT.norm(row) for row in bare.last_pair], axis=0) / UP
    for name, distance in (("the distance left", left), ("the distance by decay", by_decay)):
        batch = SteadyRun(ops=FLOAT, distance=distance * UP, floor=floor, **values)
        yield f"digits, whole runs with {name}", batch, {"steps": len(steps)}


def probes(runs: LinearRuns) -> Seen:
    """Pixels that are 0 in every image: their coordinates are orthogonal to all features."""
    run = as_run(runs)
    blank = np.flatnonzero(np.all(np.asarray(runs.features) == 0, axis=0))
    probe = np.eye(run.weights.shape[-1])[blank[0]]
    size = len(run.weights)
    batch = ProbeRun(ops=FLOAT, probe=np.tile(probe, (size, 1)), **run.values)
    yield "digits, blank pixels", batch, {"blank_pixels": blank.tolist()}


def resting(features: np.ndarray, *, seed: int, steps: int = 4000) -> Seen:
    """One image as the only feature: unseen rows trained beside given seen rows until they rest."""
    rng = np.random.default_rng([seed, 11])
    x, lam = features[0] / np.linalg.norm(features[0]), 0.05
    seen = rng.standard_normal((4, len(x)))
    rows = rng.standard_normal((3, len(x)))
    total = np.exp(seen @ x).sum()
    for _ in range(steps):
        p = np.exp(rows @ x)
        p /= total + p.sum()
        rows = rows - 1.0 * (p[:, None] * x + lam * rows)
    level = float(-(rows @ x)[0])
    around = level * np.array([0.5, 0.8, 1.0, 1.25, 2.0])
    many = len(around)
    batch = Equilibrium(
        ops=FLOAT,
        seen=np.tile(seen, (many, 1, 1)),
        feature=np.tile(x, (many, 1)),
        weight_decay=np.full(many, lam),
        level=around,
        unseen=np.full(many, 3),
    )
    pulls = batch.pull([batch.seen[:, s] for s in range(4)], batch.unseen_row, batch.unseen)
    # At rest both sides of the identity are rounding: that the pull vanishes there is a fact, not an instance.
    batch = batch.take(np.flatnonzero(around != level))
    facts = {
        "rows_apart": float(np.abs(rows - rows[0]).max()),
        "level": level,
        "pull_at_rest": float(pulls[2]),
        "pulls_around": [float(pull) for pull in pulls],
    }
    yield "one digit, trained to rest", batch, facts
