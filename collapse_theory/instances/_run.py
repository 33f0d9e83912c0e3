"""A short training of a linear softmax head, as a claim sees it: the data of every step and the initial rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from ..arithmetic import Array
from ._batch import Batch, check_head
from ._step import STEP_AXES, STEP_SYMBOLS, Step


@dataclass(frozen=True, eq=False)
class Run(Batch):
    """A batch of runs of T steps: initial ``weights`` [..., K, n] and, for every step t, the data of a :class:`Step`
    (features [..., T, N, n], labels and example_weights [..., T, N], step_size, weight_decay, radius, pbar and
    curvature [..., T]). The rows of later steps follow from these, in whatever arithmetic the batch is in.
    """

    AXES: ClassVar[dict[str, tuple[str, ...]]] = {
        name: axes if name == "weights" else ("T", *axes) for name, axes in STEP_AXES.items()
    }
    INTEGERS: ClassVar[frozenset[str]] = frozenset({"labels"})
    SYMBOLS: ClassVar[dict[str, str]] = STEP_SYMBOLS
    domain: ClassVar[str] = "run"

    weights: Array
    features: Array
    labels: np.ndarray
    example_weights: Array
    step_size: Array
    weight_decay: Array
    radius: Array
    pbar: Array
    curvature: Array

    @classmethod
    def create(cls, **values: Any) -> Self:
        """One run from plain numbers; every field is required. Raises
        :class:`~collapse_theory.errors.InputError` naming the value and the fix."""
        return super().create(**values)

    def check(self) -> None:
        check_head(self.labels, np.asarray(self.example_weights), self.weights.shape[-2])

    @property
    def decay(self) -> Array:
        """``1 - eta_t lam_t`` [..., T]."""
        return 1 - self.step_size * self.weight_decay

    @cached_property
    def steps(self) -> list[Step]:
        """The steps in order, each a :class:`Step` with this batch's axes."""
        steps = []
        weights, difference = self.weights, self.weights[..., 0, :] - self.weights[..., 1, :]
        for t in range(self.step_size.shape[-1]):
            step = self.step_at(t, weights, difference)
            steps.append(step)
            weights, difference = advance(step)
        return steps

    def step_at(self, t: int, weights: Array, difference: Array) -> Step:
        """Step t from the given rows."""
        return Step.with_difference(
            difference,
            ops=self.ops,
            weights=weights,
            features=self.features[..., t, :, :],
            labels=self.labels[..., t, :],
            example_weights=self.example_weights[..., t, :],
            step_size=self.step_size[..., t],
            weight_decay=self.weight_decay[..., t],
            radius=self.radius[..., t],
            pbar=self.pbar[..., t],
            curvature=self.curvature[..., t],
        )

    @property
    def first_difference(self) -> Array:
        """``D_0`` [..., n]."""
        return self.steps[0].difference

    @property
    def last_difference(self) -> Array:
        """``D_T`` [..., n]."""
        return self.steps[-1].next_difference

    @property
    def nontrivial(self) -> np.ndarray:
        """Float runs in which every step moves ``D``."""
        return np.all([step.nontrivial for step in self.steps], axis=0)


def advance(step: Step) -> tuple[Array, Array]:
    """The rows and their difference after a step, with row u carried as ``w_v + D`` so that ``D`` keeps its digits."""
    difference = step.next_difference
    rows = step.next_weights
    others = [rows[..., k, :] for k in range(1, rows.shape[-2])]
    return step.ops.stack([others[0] + difference, *others], axis=-2), difference
