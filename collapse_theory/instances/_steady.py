"""Runs with one decay and one set of bounds for all steps: for claims about collapse times, rare labels and norms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..arithmetic import FLOAT, Array
from . import _sampling as sampling
from ._batch import Batch, check_head
from ._run import Run, advance
from ._sampling import HAIR, Free, RunDomain, Shape, magnitude, some
from ._step import Step


@dataclass(frozen=True, eq=False)
class SteadyRun(Batch):
    """A batch of runs whose decay lam and bounds r, pbar, T are the same at every step; step sizes may vary.

    ``distance`` eps and ``floor`` m are data of the instance: a distance to be reached, and a bound from below on the norms
    of rows u and v. Shapes (after any batch axes): weights [K, n], features [T, N, n], labels and example_weights [T, N],
    step_size [T], all others scalars.
    """

    AXES: ClassVar[dict[str, tuple[str, ...]]] = {
        "weights": ("K", "n"),
        "features": ("T", "N", "n"),
        "labels": ("T", "N"),
        "example_weights": ("T", "N"),
        "step_size": ("T",),
        "weight_decay": (),
        "radius": (),
        "pbar": (),
        "curvature": (),
        "distance": (),
        "floor": (),
    }
    INTEGERS: ClassVar[frozenset[str]] = frozenset({"labels"})
    SYMBOLS: ClassVar[dict[str, str]] = Run.SYMBOLS | {"distance": "eps", "floor": "m"}
    domain: ClassVar[str] = "steady_run"

    weights: Array
    features: Array
    labels: np.ndarray
    example_weights: Array
    step_size: Array
    weight_decay: Array
    radius: Array
    pbar: Array
    curvature: Array
    distance: Array
    floor: Array

    def check(self) -> None:
        check_head(self.labels, np.asarray(self.example_weights), self.weights.shape[-2])

    @cached_property
    def run(self) -> Run:
        """The same as a :class:`Run`, the scalars repeated at every step."""
        scalars = ("weight_decay", "radius", "pbar", "curvature")
        count = self.step_size.shape[-1]
        return Run(
            ops=self.ops,
            weights=self.weights,
            features=self.features,
            labels=self.labels,
            example_weights=self.example_weights,
            step_size=self.step_size,
            **{name: self.ops.stack([getattr(self, name)] * count) for name in scalars},
        )

    @property
    def steps(self) -> list[Step]:
        """The steps in order, each a :class:`Step` with this batch's axes."""
        return self.run.steps

    @property
    def decay(self) -> Array:
        """``1 - eta_t lam`` [..., T]."""
        return self.run.decay

    @property
    def lower_factor(self) -> Array:
        """``1 - eta_t (lam + T)`` [..., T]."""
        return 1 - self.step_size * (self.weight_decay + self.curvature)[..., None]

    @property
    def first_difference(self) -> Array:
        """``D_0`` [..., n]."""
        return self.run.first_difference

    @property
    def last_difference(self) -> Array:
        """``D_T`` [..., n]."""
        return self.run.last_difference

    @cached_property
    def last_pair(self) -> tuple[Array, Array]:
        """Rows u and v after the run, each [..., n]."""
        rows, _ = advance(self.steps[-1])
        return rows[..., 0, :], rows[..., 1, :]

    @property
    def feature_norms(self) -> Array:
        """``|x_i|`` of every step [..., T, N]."""
        return self.ops.norm(self.features)

    @property
    def target_mass(self) -> Array:
        """``f_t``, the batch mass of the labels u and v as targets [..., T]."""
        return self.ops.stack([step.target_mass for step in self.steps])

    @property
    def nontrivial(self) -> np.ndarray:
        """Float runs in which every step moves ``D``."""
        return self.run.nontrivial


def draw_steady(rng: np.random.Generator, shape: Shape, size: int, *, rare: float) -> Free:
    """Free variables of runs with constant scalars; in a share ``rare`` of them u or v is sometimes a target."""
    lead = (size, shape.steps)
    rows = sampling.draw_rows(rng, shape, size)
    features, labels, weights = sampling.draw_examples(rng, rows, lead, shape)
    sampling.tilt(rng, rows, features)
    seen = some(rng, size, rare)
    hit = rng.random((len(seen), *lead[1:], shape.examples)) < 0.3
    labels[seen] = np.where(hit, rng.integers(0, 2, hit.shape), labels[seen])
    knobs = sampling.draw_knobs(rng, (size,))
    fraction = np.repeat(knobs.pop("step_fraction")[:, None], shape.steps, axis=1)
    varied = some(rng, size, 0.5)
    fraction[varied] *= rng.uniform(0, 1, (len(varied), shape.steps))
    blank = np.flatnonzero(np.all(features == 0, axis=(1, 2, 3)))
    fraction[blank[rng.random(len(blank)) < 0.3]] = 1.0  # where eta lam = 1 is allowed
    return {
        "weights": rows,
        "features": features,
        "labels": labels,
        "example_weights": weights,
        "step_fraction": fraction,
        **{
            name: x
            for name, x in knobs.items()
            if name not in ("step_inverse_decay", "step_by_radius")
        },
        # Whether T is measured in the run or needs no knowledge of the probabilities.
        "measured": rng.choice([1.0, 0.0], size),
    }


def crude_curvature(features: np.ndarray, example_weights: np.ndarray) -> np.ndarray:
    """``max_t sum_i a_i |x_i|^2 / 2`` [B], which no trace of M exceeds."""
    square = np.sum(features * features, axis=-1)
    return np.max(np.sum(example_weights * square, axis=-1), axis=-1) / 2


def decay_and_steps(free: Free, bound: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``lam`` [B] and ``eta_t`` [B, T] within ``eta (2 lam + bound) <= 2`` for fractions up to 1.

    Where the declared T is to be too small, the step size believes it. Without features eta lam = 1 is met exactly: lam is
    a power of two then.
    """
    decay = free["decay_absolute"] + free["decay_relative"] * bound
    decay = np.clip(decay, -1e60, 1e60)
    power = np.ldexp(1.0, np.frexp(decay)[1]) * np.sign(decay)
    decay = np.where(bound == 0, power, decay)
    both = np.abs(2 * decay + bound * np.minimum(free["slack_curvature"], 1.0))
    down = np.where(bound == 0, 1.0, 1 - HAIR)
    longest = 2 * down / np.where(both == 0, 1.0, both)
    return decay, np.clip(free["step_fraction"] * longest[:, None], -1e60, 1e60)


class SteadyDomain(RunDomain):
    """Runs with constant decay and bounds; the pair is a target in a third of them."""

    name = "steady_run"
    batch_type = SteadyRun

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        free = draw_steady(rng, shape, size, rare=0.3)
        for name in ("distance", "floor"):
            slack = 1 + magnitude(rng, size, -6, 1)
            slack[rng.random(size) < 0.4] = 1.0
            below = rng.random(size) < 0.05
            slack[below] = rng.uniform(-0.3, 1, int(below.sum()))
            free[f"slack_{name}"] = slack
        # What eps is measured by: the distance that decay alone leaves, or the distance that is left.
        free["by_decay"] = rng.choice([1.0, 0.0], size)
        return free

    def build(self, free: Free) -> Any:
        up = 1 + HAIR
        crude = crude_curvature(free["features"], free["example_weights"]) * up
        decay, step_size = decay_and_steps(free, crude)
        names = ("weights", "features", "labels", "example_weights")
        zero = np.zeros(len(crude))
        draft = SteadyRun(
            ops=FLOAT,
            **{name: free[name] for name in names},
            step_size=step_size,
            weight_decay=decay,
            radius=draft_radius(free),
            pbar=zero,
            curvature=zero,
            distance=zero,
            floor=zero,
        )
        steps = draft.steps
        trace = np.max([step.trace for step in steps], axis=0) * up
        means = np.max([step.means for step in steps], axis=(0, 2))
        left = np.prod(draft.decay, axis=-1) * FLOAT.norm(draft.first_difference)
        reached = FLOAT.norm(draft.last_difference)
        distance = np.where(free["by_decay"] > 0.5, np.abs(left), reached)
        distance = np.where(distance == 0, 1.0, distance)  # some distance, where the rows are equal
        u, v = draft.last_pair
        run = SteadyRun(
            **draft.values
            | {
                "curvature": np.where(free["measured"] > 0.5, trace, crude)
                * free["slack_curvature"],
                "pbar": np.minimum(means * free["slack_pbar"] * up, 1.0),
                "distance": distance * free["slack_distance"] * up,
                "floor": np.minimum(FLOAT.norm(u), FLOAT.norm(v))
                * floor_share(free["slack_floor"]),
            },
            ops=FLOAT,
        )
        keep_steps(draft.run, run.run)
        return run


def floor_share(slack: np.ndarray) -> np.ndarray:
    """What share of the least norm is called its floor: at most 1 for a slack from 1 on, else above 1, or below 0."""
    share = (1 - HAIR) / np.where(slack == 0, 1.0, slack)
    return np.where(slack < 0, 100 * slack, share)


def draft_radius(free: Free) -> np.ndarray:
    """``r = max |x_i|`` over the run, times its slack [B]."""
    longest = FLOAT.norm(free["features"]).max(axis=(1, 2))
    return longest * free["slack_radius"] * (1 + HAIR)


def keep_steps(draft: Run, run: Run) -> None:
    """Let ``run``, which differs from ``draft`` in its bounds alone, keep the steps that were computed."""
    bounds = ("radius", "pbar", "curvature")
    run.__dict__["steps"] = [
        sampling.changed(step, **{name: getattr(run, name)[:, t] for name in bounds})
        for t, step in enumerate(draft.steps)
    ]
