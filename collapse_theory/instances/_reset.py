"""Runs in which rows u and v are redrawn every few steps, together or one at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..arithmetic import FLOAT, Array
from ..errors import InputError
from . import _sampling as sampling
from ._batch import Batch, check_head
from ._run import Run, advance
from ._sampling import HAIR, Free, RunDomain, Shape, magnitude
from ._steady import crude_curvature, decay_and_steps, draw_steady
from ._step import Step


@dataclass(frozen=True, eq=False)
class ResetRun(Batch):
    """A batch of runs with constant step size, decay and T, and with ``fresh`` rows for u and v.

    Resetting every ``period`` = S steps, ``together``: before the steps S, 2S, ... both rows are replaced by the fresh ones
    of that step; ``one_at_a_time``: v instead half a period (rounded up) later. ``distance`` d is meant as a bound from
    below on the distance of rows drawn one after the other. Shapes (after any batch axes): weights [K, n], features
    [T, N, n], labels and example_weights [T, N], fresh [T, 2, n], the integer period and all others scalars.
    """

    AXES: ClassVar[dict[str, tuple[str, ...]]] = {
        "weights": ("K", "n"),
        "features": ("T", "N", "n"),
        "labels": ("T", "N"),
        "example_weights": ("T", "N"),
        "fresh": ("T", "pair", "n"),
        "step_size": (),
        "weight_decay": (),
        "curvature": (),
        "distance": (),
        "period": (),
    }
    INTEGERS: ClassVar[frozenset[str]] = frozenset({"labels", "period"})
    SYMBOLS: ClassVar[dict[str, str]] = Run.SYMBOLS | {"distance": "d", "period": "S"}
    domain: ClassVar[str] = "reset_run"

    weights: Array
    features: Array
    labels: np.ndarray
    example_weights: Array
    fresh: Array
    step_size: Array
    weight_decay: Array
    curvature: Array
    distance: Array
    period: np.ndarray

    def check(self) -> None:
        check_head(self.labels, np.asarray(self.example_weights), self.weights.shape[-2])
        if self.fresh.shape[-2] != 2:
            raise InputError(f"fresh: got shape {self.fresh.shape[1:]}, expected [T, 2, n]")
        if np.any(self.period < 1):
            raise InputError(f"period: got {self.period[0]}, expected at least 1 step")

    @property
    def factor(self) -> Array:
        """``q = 1 - eta (lam + T)``."""
        return 1 - self.step_size * (self.weight_decay + self.curvature)

    def power(self) -> Array:
        """``q^S``; periods may differ between instances of a batch."""
        longest = int(np.max(self.period))
        done = self.ops.asarray(np.ones(self.lead))
        for s in range(longest):
            inside = (s < self.period).astype(np.int8)
            done = done * (self.factor * inside + (1 - inside))
        return done

    @cached_property
    def together(self) -> list[Step]:
        """The steps of the run in which both rows are redrawn at once."""
        return self._steps(0)

    @cached_property
    def one_at_a_time(self) -> list[Step]:
        """The steps of the run in which v is redrawn half a period after u."""
        return self._steps(1)

    def _steps(self, late: int) -> list[Step]:
        rows, steps = self.weights, []
        difference = rows[..., 0, :] - rows[..., 1, :]
        for t in range(self.labels.shape[-2]):
            drawn = [self.is_drawn(t, k, late)[..., None] for k in (0, 1)]
            u, v = (
                self.fresh[..., t, k, :] * drawn[k] + rows[..., k, :] * (1 - drawn[k])
                for k in (0, 1)
            )
            # Without a fresh row D is carried, which keeps its digits.
            kept = (1 - drawn[0]) * (1 - drawn[1])
            difference = difference * kept + (u - v) * (1 - kept)
            others = [rows[..., k, :] for k in range(2, rows.shape[-2])]
            step = Step.with_difference(
                difference,
                ops=self.ops,
                weights=self.ops.stack([v + difference, v, *others], axis=-2),
                features=self.features[..., t, :, :],
                labels=self.labels[..., t, :],
                example_weights=self.example_weights[..., t, :],
                step_size=self.step_size,
                weight_decay=self.weight_decay,
                radius=self.curvature,  # not used
                pbar=self.curvature,  # not used
                curvature=self.curvature,
            )
            steps.append(step)
            rows, difference = advance(step)
        return steps

    def drawn_distances(self, late: int) -> Array:
        """At every step the distance between the values that rows u and v were given last [..., T]."""
        last = [self.weights[..., k, :] for k in (0, 1)]
        lengths = []
        for t in range(self.labels.shape[-2]):
            for k in (0, 1):
                drawn = self.is_drawn(t, k, late)[..., None]
                last[k] = self.fresh[..., t, k, :] * drawn + last[k] * (1 - drawn)
            lengths.append(self.ops.norm(last[0] - last[1]))
        return self.ops.stack(lengths)

    def is_drawn(self, t: int, k: int, late: int) -> np.ndarray:
        """1 where row k (0 is u, 1 is v) is redrawn before step t, else 0; v comes half a period later if ``late``."""
        shift = ((self.period + 1) // 2) * (late * k)
        return ((t > shift) & ((t - shift) % self.period == 0) & (t > 0)).astype(np.int8)

    def distances(self, steps: list[Step]) -> Array:
        """``|D|`` before and after every step of a run, fresh rows included [..., 2T]."""
        lengths = [self.ops.norm(x) for s in steps for x in (s.difference, s.next_difference)]
        return self.ops.stack(lengths)

    @property
    def nontrivial(self) -> np.ndarray:
        """Float runs in which every step moves ``D``."""
        return np.all([step.nontrivial for step in self.together], axis=0)


class ResetDomain(RunDomain):
    """Runs with up to 8 steps (large: 64) and a period of up to their length."""

    name = "reset_run"
    batch_type = ResetRun
    arrays = frozenset({"weights", "features", "fresh"})
    fixed = frozenset({"labels", "example_weights", "period"})

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        free = draw_steady(rng, shape, size, rare=0.04)
        scale = np.sqrt(np.mean(free["weights"] ** 2, axis=(1, 2)))[:, None, None, None]
        fresh = scale * rng.standard_normal((size, shape.steps, 2, shape.dim))
        free["fresh"] = fresh
        free["period"] = rng.integers(1, max(2, shape.steps) + 1, size)
        free["step_fraction"] = free["step_fraction"][:, 0] * rng.uniform(0, 1, size)
        slack = 1 + magnitude(rng, size, -6, 1)
        slack[rng.random(size) < 0.5] = 1.0
        below = rng.random(size) < 0.05
        slack[below] = rng.uniform(0, 1, int(below.sum()))
        free["slack_distance"] = slack
        free["by_pair"] = rng.choice([1.0, 0.0], size)  # whether d bounds draws at one time only
        return free

    def build(self, free: Free) -> Any:
        up = 1 + HAIR
        crude = crude_curvature(free["features"], free["example_weights"]) * up
        decay, step_size = decay_and_steps(
            {**free, "step_fraction": free["step_fraction"][:, None]}, crude
        )
        names = ("weights", "features", "labels", "example_weights", "fresh", "period")
        draft = ResetRun(
            ops=FLOAT,
            **{name: free[name] for name in names},
            step_size=step_size[:, 0],
            weight_decay=decay,
            curvature=crude,
            distance=crude,
        )
        nearest = draft.drawn_distances(0).min(axis=-1)
        any_order = np.minimum(nearest, draft.drawn_distances(1).min(axis=-1))
        nearest = np.where(free["by_pair"] > 0.5, nearest, any_order)
        distance = nearest / (free["slack_distance"] * up)
        both = [*draft.together, *draft.one_at_a_time]
        trace = np.max([step.trace for step in both], axis=0) * up
        curvature = np.where(free["measured"] > 0.5, trace, crude) * free["slack_curvature"]
        settled = {"curvature": curvature, "distance": distance}
        run = ResetRun(ops=FLOAT, **draft.values | settled)
        for name in ("together", "one_at_a_time"):
            steps = [sampling.changed(s, curvature=curvature) for s in getattr(draft, name)]
            run.__dict__[name] = steps
        return run
