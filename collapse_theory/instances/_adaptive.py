"""Steps of adaptive optimisers: AdamW's first step, and steps with one preconditioner for both rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .. import softmax
from ..arithmetic import Array
from ..errors import InputError
from . import _sampling as sampling
from ._losses import check_positive
from ._sampling import Domain, Free, Shape, magnitude, some
from ._step import STEP_AXES, STEP_SYMBOLS, Step


@dataclass(frozen=True, eq=False)
class AdamStep(Step):
    """A batch of first steps of AdamW: ``w+ = (1 - eta lam) w - eta g/(|g| + eps)``, entry by entry.

    From zero moments the first step's update is ``g/(|g| + eps)`` whatever the betas; so is the update of settled moments,
    at a point where gradients stay the same.
    """

    AXES: ClassVar[dict[str, tuple[str, ...]]] = STEP_AXES | {"epsilon": ()}
    SYMBOLS: ClassVar[dict[str, str]] = STEP_SYMBOLS | {"epsilon": "eps"}
    domain: ClassVar[str] = "adam_step"

    epsilon: Array

    def check(self) -> None:
        super().check()
        check_positive("epsilon", self.epsilon, "torch's default is 1e-8")

    @cached_property
    def gradient(self) -> Array:
        """Gradient of the loss, without decay [..., K, n]."""
        return softmax.gradient(
            self.ops, self.weights, self.features, self.labels, self.example_weights
        )

    @cached_property
    def update(self) -> Array:
        """``g/(|g| + eps)`` of all rows [..., K, n]."""
        g = self.gradient
        return g / (self.ops.abs(g) + self.epsilon[..., None, None])

    @property
    def pair_update(self) -> Array:
        """The difference of the updates of rows u and v [..., n]."""
        return self.update[..., 0, :] - self.update[..., 1, :]

    @cached_property
    def next_difference(self) -> Array:
        """``D+ = (1 - eta lam) D`` minus eta times the difference of the updates [..., n]."""
        return self.decay[..., None] * self.difference - self.step_size[..., None] * (
            self.pair_update
        )

    @property
    def residual(self) -> Array:
        """``lam D`` plus the difference of the updates [..., n]: zero where rows u and v are at rest."""
        return self.weight_decay[..., None] * self.difference + self.pair_update

    @cached_property
    def velocity(self) -> Array:
        """``-lam w - g/(|g| + eps)`` of all rows [..., K, n], AdamW's flow with settled moments."""
        return -self.weight_decay[..., None, None] * self.weights - self.update

    @cached_property
    def next_weights(self) -> Array:
        """All rows after the step [..., K, n]."""
        return self.weights + self.step_size[..., None, None] * self.velocity


class AdamDomain(Domain):
    """Steps as in the domain ``step``, slower by eps and with a decay larger by 1/eps, so that eta (2 lam + T/eps) is what
    eta (2 lam + T) is there. In half of them lam is below 1/max|w|. eps lies between a millionth and a hundred times the
    largest gradient."""

    name = "adam_step"
    batch_type = AdamStep

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        free = sampling.draw(rng, shape, size, (size,))
        free["epsilon_relative"] = magnitude(rng, size, -6, 2)
        like = some(rng, size, 0.4)
        free["epsilon_relative"][like] = magnitude(rng, len(like), -1, 0.5)
        ball = np.zeros(size)
        within = some(rng, size, 0.5)
        ball[within] = rng.choice([1.0, -1.0], len(within), p=[0.9, 0.1]) * rng.uniform(
            0, 1, len(within)
        )
        beyond = some(rng, size, 0.03)
        ball[beyond] = rng.uniform(1, 3, len(beyond))
        free["ball"] = ball
        return free

    def build(self, free: Free) -> Any:
        one = np.ones(len(free["weights"]))
        step = sampling.build_step(free, AdamStep, epsilon=one)
        largest = np.abs(step.gradient).max(axis=(-1, -2))
        largest = np.where(np.isfinite(largest) & (largest > 0), largest, 1.0)
        epsilon = np.maximum(largest * np.abs(free["epsilon_relative"]), 1e-60)
        lam = np.clip(step.weight_decay / epsilon, -1e60, 1e60)
        size = np.abs(step.weights).max(axis=(-1, -2))
        inside = (free["ball"] != 0) & (size > 0)
        lam = np.where(inside, free["ball"] / np.where(size > 0, size, 1.0), lam)
        both = np.abs(2 * lam + step.curvature / epsilon)
        fraction = step.step_size * np.abs(2 * step.weight_decay + step.curvature)
        eta = np.where(inside, fraction / np.where(both > 0, both, 1.0), step.step_size * epsilon)
        return sampling.changed(
            step, epsilon=epsilon, weight_decay=lam, step_size=np.clip(eta, -1e60, 1e60)
        )


@dataclass(frozen=True, eq=False)
class PreconditionedStep(Step):
    """A batch of steps with one positive diagonal preconditioner P [n] for both rows: ``w+ = (1 - eta lam) w - eta g/P``.

    ``trace`` is that of ``P^-1 M``; Adam's with the second moment averaged over the rows is of this kind.
    """

    AXES: ClassVar[dict[str, tuple[str, ...]]] = STEP_AXES | {"preconditioner": ("n",)}
    SYMBOLS: ClassVar[dict[str, str]] = STEP_SYMBOLS | {"preconditioner": "P"}
    domain: ClassVar[str] = "preconditioned_step"

    preconditioner: Array

    def check(self) -> None:
        super().check()
        if np.any(self.preconditioner <= 0):
            least = self.preconditioner.min()
            raise InputError(f"preconditioner: {least} is not positive; entries are > 0")

    @cached_property
    def trace(self) -> Array:
        """``tr P^-1 M = sum_i a_i L_i sum_j x_ij^2/P_j``."""
        scaled = self.features * self.features / self.preconditioner[..., None, :]
        weighted = self.example_weights * self.means
        return self.ops.sum(weighted * self.ops.sum(scaled))

    @cached_property
    def next_difference(self) -> Array:
        """``D+ = c D - eta P^-1 (g_u - g_v)`` [..., n]."""
        push = self.pair_gradient / self.preconditioner
        return self.decay[..., None] * self.difference - self.step_size[..., None] * push

    def length(self, vector: Array) -> Array:
        """``|z|_P = sqrt(sum_j P_j z_j^2)`` of a vector [..., n]."""
        return self.ops.norm(vector * self.ops.sqrt(self.preconditioner))

    @cached_property
    def next_weights(self) -> Array:
        """All rows after the step [..., K, n]."""
        gradient = softmax.gradient(
            self.ops, self.weights, self.features, self.labels, self.example_weights
        )
        return self._after(gradient / self.preconditioner[..., None, :])


class PreconditionedDomain(Domain):
    """Steps as in the domain ``step``; entries of P within four decades of one another."""

    name = "preconditioned_step"
    batch_type = PreconditionedStep
    arrays = frozenset({"weights", "features"})

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        free = sampling.draw(rng, shape, size, (size,))
        spread = rng.uniform(0, 2, (size, 1))
        spread[some(rng, size, 0.2)] = 0.0
        level = magnitude(rng, (size, 1), -3, 3)
        free["preconditioner"] = level * 10.0 ** (spread * rng.uniform(-1, 1, (size, shape.dim)))
        return free

    def build(self, free: Free) -> Any:
        return sampling.build_step(
            free, PreconditionedStep, preconditioner=np.abs(free["preconditioner"])
        )
