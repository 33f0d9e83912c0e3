"""Runs of AdamW from zero moments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import softmax
from ..arithmetic import FLOAT, Array
from ..errors import InputError
from ..optimizers import adam, adam_update
from . import _sampling as sampling
from ._batch import Batch, check_head
from ._losses import check_positive
from ._run import Run
from ._sampling import Free, RunDomain, Shape, magnitude, some


class Trained(NamedTuple):
    """What a run leaves of rows u and v: ``rows`` before the first and after every step, ``gradients`` and ``updates`` of
    every step, all [..., 2, n]; ``logits`` ``<D_t, x_i>`` of every step [..., N]; lists over the steps."""

    rows: list[Array]
    gradients: list[Array]
    updates: list[Array]
    logits: list[Array]


@dataclass(frozen=True, eq=False)
class AdamRun(Batch):
    """A batch of runs of T steps of AdamW (``torch.optim.AdamW``) on ``sum_i a_i (-log p_{y_i}(x_i))``, from zero moments.

    ``gradient_bound`` g is data of the instance, tied to the run by a hypothesis only.

    Shapes (after any batch axes): weights [K, n], features [T, N, n], labels and example_weights [T, N], step_size eta [T],
    and scalars weight_decay lam, beta1, beta2, epsilon, gradient_bound.
    """

    AXES: ClassVar[dict[str, tuple[str, ...]]] = {
        "weights": ("K", "n"),
        "features": ("T", "N", "n"),
        "labels": ("T", "N"),
        "example_weights": ("T", "N"),
        "step_size": ("T",),
        "weight_decay": (),
        "beta1": (),
        "beta2": (),
        "epsilon": (),
        "gradient_bound": (),
    }
    INTEGERS: ClassVar[frozenset[str]] = frozenset({"labels"})
    SYMBOLS: ClassVar[dict[str, str]] = Run.SYMBOLS | {
        "beta1": "b1",
        "beta2": "b2",
        "epsilon": "eps",
        "gradient_bound": "g",
    }
    domain: ClassVar[str] = "adam_run"

    weights: Array
    features: Array
    labels: np.ndarray
    example_weights: Array
    step_size: Array
    weight_decay: Array
    beta1: Array
    beta2: Array
    epsilon: Array
    gradient_bound: Array

    def check(self) -> None:
        check_head(self.labels, np.asarray(self.example_weights), self.weights.shape[-2])
        if np.any((self.beta1 < 0) | (self.beta1 >= 1)):
            raise InputError(f"beta1: got {self.beta1[0]}, expected a number >= 0 and < 1")
        if np.any((self.beta2 <= 0) | (self.beta2 >= 1)):
            raise InputError(f"beta2: got {self.beta2[0]}, expected a number > 0 and < 1")
        check_positive("epsilon", self.epsilon, "torch's default is 1e-8")

    @property
    def count(self) -> int:
        """T, the number of steps."""
        return int(self.step_size.shape[-1])

    @property
    def decay(self) -> Array:
        """``1 - eta_t lam`` [..., T]."""
        return 1 - self.step_size * self.weight_decay[..., None]

    @property
    def target_mass(self) -> Array:
        """``sum_i a_i ([y_i = u] + [y_i = v])`` of each step [..., T]."""
        hot = softmax.one_hot(self.labels, 2)
        return self.ops.sum(self.example_weights * (hot[..., 0] + hot[..., 1]))

    @cached_property
    def trained(self) -> Trained:
        """The run."""
        ops, rows = self.ops, self.weights
        first, second = 0 * rows, 0 * rows
        names = ("weight_decay", "beta1", "beta2", "epsilon")
        by_row = {name: getattr(self, name)[..., None, None] for name in names}
        moments = {name: by_row[name] for name in ("beta1", "beta2", "epsilon")}
        left = Trained([rows[..., :2, :]], [], [], [])
        for t in range(self.count):
            x, y, a = (
                self.features[..., t, :, :],
                self.labels[..., t, :],
                self.example_weights[..., t, :],
            )
            gap = rows[..., 0, :] - rows[..., 1, :]
            left.logits.append(ops.sum(gap[..., None, :] * x))
            gradient = softmax.gradient(ops, rows, x, y, a)
            eta = self.step_size[..., t, None, None]
            rows, first, second = adam(
                ops, rows, gradient, first, second, step_size=eta, count=t + 1, **by_row
            )
            update = adam_update(ops, first, second, count=t + 1, **moments)
            left.gradients.append(gradient[..., :2, :])
            left.updates.append(update[..., :2, :])
            left.rows.append(rows[..., :2, :])
        return left

    def difference(self, t: int) -> Array:
        """``D_t`` [..., n]."""
        rows = self.trained.rows[t]
        return rows[..., 0, :] - rows[..., 1, :]

    @property
    def last_update(self) -> Array:
        """The last step's update of rows u and v [..., 2, n]."""
        return self.trained.updates[-1]

    @property
    def largest_update(self) -> Array:
        """``C_T``, what no update of step T exceeds in any entry: ``sqrt((1 - s^T)(1 - b2^T)/((1 - s)(1 - b2)))`` times
        ``(1 - b1)/(1 - b1^T)``, with ``s = b1^2/b2``."""
        b1, b2, t = self.beta1, self.beta2, self.count
        share = b1 * b1 / b2
        up = (1 - share**t) * (1 - b2**t) / ((1 - share) * (1 - b2))
        return (1 - b1) / (1 - b1**t) * self.ops.sqrt(up)

    @property
    def any_update(self) -> Array:
        """``C = (1 - b1)/sqrt((1 - b2)(1 - s))``, what no update of any step exceeds."""
        b1, b2 = self.beta1, self.beta2
        return (1 - b1) / self.ops.sqrt((1 - b2) * (1 - b1 * b1 / b2))

    @property
    def nontrivial(self) -> np.ndarray:
        """Float runs whose last step moves the first entries of rows u and v differently."""
        return self.last_update[..., 0, 0] != self.last_update[..., 1, 0]


class AdamRunDomain(RunDomain):
    """Runs of AdamW: betas as usual, small, or near 1; eta lam mostly within 1; features of one sign in a third of them."""

    name = "adam_run"
    batch_type = AdamRun

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        lead = (size, shape.steps)
        rows = sampling.draw_rows(rng, shape, size)
        rows[some(rng, size, 0.02), rng.integers(0, 2)] = 0.0
        features, labels, weights = sampling.draw_examples(rng, rows, lead, shape)
        sampling.tilt(rng, rows, features)
        same = some(rng, size, 0.4)
        features[same] = np.abs(features[same])
        constant = some(rng, size, 0.3)  # one batch all the time, as in full-batch training
        for array in (features, labels, weights):
            array[constant] = array[constant, :1]
        seen = some(rng, size, 0.03)
        labels[seen, 0] = rng.integers(0, 2, labels[seen, 0].shape)
        b2 = rng.uniform(0, 1, size)
        share = rng.uniform(0, 1, size)  # sqrt(b1^2/b2)
        tiny = some(rng, size, 0.2)
        b2[tiny] = magnitude(rng, len(tiny), -9, -2)
        share[tiny] = magnitude(rng, len(tiny), -6, 0)
        beyond = some(rng, size, 0.05)
        share[beyond] = rng.uniform(1, 1.2, len(beyond))
        b1 = np.minimum(share * np.sqrt(b2), 0.999)
        usual = some(rng, size, 0.4)
        b1[usual] = rng.choice([0.0, 0.9, 0.9, 0.95], len(usual))
        b2[usual] = rng.choice([0.95, 0.98, 0.999], len(usual))
        drift = rng.uniform(0, 1, lead)
        small = some(rng, size, 0.5)
        drift[small] = magnitude(rng, (len(small), 1), -6, 0) * drift[small]
        over = some(rng, size, 0.05)
        drift[over] = rng.uniform(1, 3, (len(over), shape.steps))
        back = some(rng, size, 0.04)
        drift[back] *= -1
        slack = 1 + magnitude(rng, size, -6, 1)
        slack[rng.random(size) < 0.5] = 1.0
        below = some(rng, size, 0.06)
        slack[below] = rng.uniform(0, 1, len(below))
        decay = magnitude(rng, size, -4, 2)
        none = some(rng, size, 0.1)
        decay[none] = rng.choice([0.0, -0.1], len(none))
        return {
            "weights": rows,
            "features": features,
            "labels": labels,
            "example_weights": weights,
            "beta1": b1,
            "beta2": b2,
            "drift": drift,
            "decay": decay,
            "epsilon_relative": magnitude(rng, size, -8, 1),
            "slack_bound": slack,
        }

    def build(self, free: Free) -> Any:
        rows = free["weights"]
        size = np.sqrt(np.mean(rows**2, axis=(1, 2)))
        size = np.where(size > 0, size, 1.0)
        # Decay is relative to 1/|w|, so that the ball 2C/lam is neither far beyond the rows nor far within them.
        lam = free["decay"] / size
        eta = free["drift"] / np.where(lam == 0, 1 / size, np.abs(lam))[:, None]
        start = softmax.gradient(
            FLOAT, rows, free["features"][:, 0], free["labels"][:, 0], free["example_weights"][:, 0]
        )
        largest = np.abs(start).max(axis=(-1, -2))
        largest = np.where(np.isfinite(largest) & (largest > 0), largest, 1.0)
        names = ("weights", "features", "labels", "example_weights")
        values: dict[str, Any] = {
            **{name: free[name] for name in names},
            "step_size": np.clip(eta, -1e60, 1e60),
            "weight_decay": np.clip(lam, -1e60, 1e60),
            "beta1": np.clip(np.abs(free["beta1"]), 0, 0.9999),
            "beta2": np.clip(np.abs(free["beta2"]), 1e-12, 0.9999),
            "epsilon": np.maximum(largest * np.abs(free["epsilon_relative"]), 1e-60),
        }
        run = AdamRun(ops=FLOAT, **values, gradient_bound=np.zeros(len(rows)))
        met = np.max([np.abs(g).max(axis=(-1, -2)) for g in run.trained.gradients], axis=0)
        bound = np.where(np.isfinite(met), met, 1.0) * free["slack_bound"] * (1 + sampling.HAIR)
        settled = AdamRun(ops=FLOAT, **values, gradient_bound=bound)
        settled.__dict__["trained"] = run.trained
        return settled
