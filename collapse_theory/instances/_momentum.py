"""Runs with momentum, from a zero buffer, with the same step size, decay and momentum at every step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import softmax
from ..arithmetic import FLOAT, Array
from ..errors import InputError
from ..optimizers import heavy_ball
from . import _sampling as sampling
from ._batch import Batch, check_head
from ._run import Run
from ._sampling import HAIR, Free, RunDomain, Shape, magnitude, some
from ._steady import crude_curvature


class Trained(NamedTuple):
    """What a run leaves: ``traces`` ``tr M_t`` [..., T] at the rows of each step, ``first`` and ``last`` difference
    ``D_0`` and ``D_T`` [..., n]."""

    traces: Array
    first: Array
    last: Array


@dataclass(frozen=True, eq=False)
class MomentumRun(Batch):
    """A batch of runs of T steps of SGD with momentum beta on ``sum_i a_i (-log p_{y_i}(x_i)) + (lam/2)|W|^2``.

    One instance is trained in three ways, each from a zero buffer: ``coupled`` (torch's SGD, decay in the gradient),
    ``decoupled`` (SGDW, decay beside it) and ``nesterov`` (torch's, coupled). A claim speaks of one of them.

    Shapes (after any batch axes): weights [K, n], features [T, N, n], labels and example_weights [T, N], and scalars
    step_size eta, weight_decay lam, momentum beta, curvature T (a bound on ``tr M`` at every step).
    """

    AXES: ClassVar[dict[str, tuple[str, ...]]] = {
        "weights": ("K", "n"),
        "features": ("T", "N", "n"),
        "labels": ("T", "N"),
        "example_weights": ("T", "N"),
        "step_size": (),
        "weight_decay": (),
        "momentum": (),
        "curvature": (),
    }
    INTEGERS: ClassVar[frozenset[str]] = frozenset({"labels"})
    SYMBOLS: ClassVar[dict[str, str]] = Run.SYMBOLS | {"momentum": "beta"}
    domain: ClassVar[str] = "momentum_run"

    weights: Array
    features: Array
    labels: np.ndarray
    example_weights: Array
    step_size: Array
    weight_decay: Array
    momentum: Array
    curvature: Array

    def check(self) -> None:
        check_head(self.labels, np.asarray(self.example_weights), self.weights.shape[-2])
        if np.any(self.momentum < 0):
            raise InputError(f"momentum: {self.momentum[0]} is negative; momentum is >= 0")

    @property
    def decay(self) -> Array:
        """``c = 1 - eta lam``."""
        return 1 - self.step_size * self.weight_decay

    @property
    def target_mass(self) -> Array:
        """``sum_i a_i ([y_i = u] + [y_i = v])`` of each step [..., T]."""
        hot = softmax.one_hot(self.labels, 2)
        return self.ops.sum(self.example_weights * (hot[..., 0] + hot[..., 1]))

    @cached_property
    def coupled(self) -> Trained:
        """The run of ``torch.optim.SGD(momentum=beta, weight_decay=lam)``."""
        return self._train()

    @cached_property
    def decoupled(self) -> Trained:
        """The run of SGDW."""
        return self._train(decoupled=True)

    @cached_property
    def nesterov(self) -> Trained:
        """The run of ``torch.optim.SGD(momentum=beta, weight_decay=lam, nesterov=True)``."""
        return self._train(nesterov=True)

    def _train(self, **kind: bool) -> Trained:
        ops, rows = self.ops, self.weights
        first = gap = rows[..., 0, :] - rows[..., 1, :]
        buffer, gap_buffer = 0 * rows, 0 * gap
        settings = {"step_size": self.step_size, "weight_decay": self.weight_decay}
        settings["momentum"] = self.momentum
        by_row = {name: x[..., None, None] for name, x in settings.items()}
        by_entry = {name: x[..., None] for name, x in settings.items()}
        traces = []
        for t in range(self.features.shape[-3]):
            x, y, a = (
                self.features[..., t, :, :],
                self.labels[..., t, :],
                self.example_weights[..., t, :],
            )
            d, means = softmax.pair_means(ops, rows, x, gap)
            traces.append(softmax.operator_trace(ops, x, a, means))
            gradient = softmax.gradient(ops, rows, x, y, a)
            pull = softmax.pair_gradient(ops, x, y, a, means, d)
            rows, buffer = heavy_ball(rows, gradient, buffer, **by_row, **kind)
            # The rule is linear: applied to the difference itself it keeps its digits. Row u is carried as w_v + D.
            gap, gap_buffer = heavy_ball(gap, pull, gap_buffer, **by_entry, **kind)
            others = [rows[..., k, :] for k in range(1, rows.shape[-2])]
            rows = ops.stack([others[0] + gap, *others], axis=-2)
        return Trained(ops.stack(traces), first, gap)

    @property
    def nontrivial(self) -> np.ndarray:
        """Float runs that move ``D``."""
        return np.any(self.coupled.last != self.coupled.first, axis=-1)


LIMITS = ("coupled", "decoupled", "nesterov")


def longest(kind: str, drift: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """The largest ``eta T`` that the step-size condition about this kind of run allows [B], for ``drift`` eta lam; 0 where
    it allows none, some number where it allows any."""
    c = 1 - drift
    if kind == "decoupled":
        return np.where(c + beta > 0, 2 * (c - beta) ** 2 / np.maximum(c + beta, 1e-300), 1.0)
    if kind == "coupled":
        a = 1 + beta - drift
        spread = a * a - 4 * beta
        return np.where(spread > 0, 2 * spread / np.maximum(np.abs(a), 1e-300), 0.0)
    s = (1 + beta) * c
    gap = np.sqrt(np.maximum(s * s - 4 * beta * c, 0.0))
    large, small = (s + gap) / 2, (s - gap) / 2
    ahead, behind = (1 + beta) * large - beta, (1 + beta) * small - beta
    room = ahead * gap + 2 * large * behind
    good = (gap > 0) & (room > 0)
    return np.where(good, 2 * large * gap * gap / np.where(good, room, 1.0), (gap > 0) * 1.0)


class MomentumDomain(RunDomain):
    """Runs with momentum: beta 0, the usual values, and up to 1 - 1e-4; eta lam mostly within what keeps roots real."""

    name = "momentum_run"
    batch_type = MomentumRun

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        lead = (size, shape.steps)
        rows = sampling.draw_rows(rng, shape, size)
        features, labels, weights = sampling.draw_examples(rng, rows, lead, shape)
        sampling.tilt(rng, rows, features)
        seen = some(rng, size, 0.02)
        labels[seen, 0] = rng.integers(0, 2, labels[seen, 0].shape)
        beta = rng.uniform(0, 1, size)
        usual = some(rng, size, 0.4)
        beta[usual] = rng.choice([0.0, 0.5, 0.9, 0.95, 0.99], len(usual))
        ends = some(rng, size, 0.3)
        beta[ends] = magnitude(rng, len(ends), -6, -1)
        near = some(rng, size, 0.1)
        beta[near] = 1 - magnitude(rng, len(near), -4, -1)
        drift = rng.uniform(0, 1, size)  # of the largest eta lam with real roots
        small = some(rng, size, 0.5)
        drift[small] = magnitude(rng, len(small), -6, 0)
        for share, low, high in ((0.04, -1.0, 0.0), (0.05, 0.0, 0.0)):
            chosen = some(rng, size, share)
            drift[chosen] = rng.uniform(low, high, len(chosen))
        beyond = np.zeros(size)  # where the roots are not what the claims ask for
        chosen = some(rng, size, 0.05)
        beyond[chosen] = rng.uniform(0, 1, len(chosen))
        fraction = rng.uniform(0, 1, size)
        for share, low, high in ((0.2, -6, 0), (0.12, 0, 3)):
            chosen = some(rng, size, share)
            fraction[chosen] = magnitude(rng, len(chosen), low, high)
        fraction[some(rng, size, 0.12)] = 1.0
        fraction[some(rng, size, 0.04)] *= -1
        slack = 1 + magnitude(rng, size, -6, 2)
        slack[rng.random(size) < 0.6] = 1.0
        below = some(rng, size, 0.06)
        slack[below] = rng.uniform(0, 1, len(below))
        return {
            "weights": rows,
            "features": features,
            "labels": labels,
            "example_weights": weights,
            "beta": beta,
            "drift": drift,
            "beyond": beyond,
            "fraction": fraction,
            "slack_curvature": slack,
            "by": rng.integers(0, len(LIMITS), size).astype(float),
            "measured": rng.choice([1.0, 0.0], size),
        }

    def build(self, free: Free) -> Any:
        beta = np.abs(free["beta"])
        by = np.clip(np.round(free["by"]), 0, len(LIMITS) - 1).astype(int)
        # The drift is a share of what the kind allows: 1 - beta decoupled, (1 - sqrt beta)^2 coupled, and for Nesterov's
        # 1 - 4 beta/(1 + beta)^2.
        most = [1 - beta, (1 - np.sqrt(beta)) ** 2, ((1 - beta) / (1 + beta)) ** 2]
        order = (most[1], most[0], most[2])
        drift = free["drift"] * np.choose(by, order) * (1 - HAIR)
        # Beyond them: c below beta, both roots negative, c below 0.
        far = [
            (1 + np.sqrt(beta)) ** 2 * (1 + free["beyond"]),
            1 - beta * (1 - free["beyond"]),
            1 + free["beyond"],
        ]
        drift = np.where(free["beyond"] > 0, np.choose(by, far), drift)
        allowed = np.choose(by, [longest(kind, drift, beta) for kind in LIMITS])
        crude = crude_curvature(free["features"], free["example_weights"]) * (1 + HAIR)
        # Where the declared T is to be too small, the step size believes it.
        bound = crude * np.minimum(free["slack_curvature"], 1.0)
        step = free["fraction"] * np.where(
            bound > 0, allowed / np.where(bound > 0, bound, 1.0), 1.0
        )
        step = np.clip(step * (1 - HAIR), -1e60, 1e60)
        decay = np.clip(drift / np.where(step == 0, 1.0, step), -1e60, 1e60)
        names = ("weights", "features", "labels", "example_weights")
        run = MomentumRun(
            ops=FLOAT,
            **{name: free[name] for name in names},
            step_size=step,
            weight_decay=decay,
            momentum=beta,
            curvature=crude,
        )
        traces = [getattr(run, kind).traces.max(axis=-1) for kind in LIMITS]
        measured = np.choose(by, traces) * (1 + HAIR)
        bound = np.where(free["measured"] > 0.5, measured, crude) * free["slack_curvature"]
        settled = MomentumRun(**run.values | {"curvature": bound}, ops=FLOAT)
        kept = {name: run.__dict__[name] for name in LIMITS}
        settled.__dict__.update(kept)
        return settled
