"""A gradient step with bounds on the eigenvalues of M from both sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..arithmetic import Array
from . import _sampling as sampling
from ._sampling import Domain, Free, Shape, magnitude
from ._step import STEP_AXES, STEP_SYMBOLS, Step

SLACK = 2.0**-20
"""How much a bound on an eigenvalue is loosened, so that rounding of the eigenvalues cannot break it."""


@dataclass(frozen=True, eq=False)
class SpectralStep(Step):
    """A batch of steps with two more data: ``lowest`` and ``highest``, meant as bounds on the eigenvalues of M."""

    AXES: ClassVar[dict[str, tuple[str, ...]]] = STEP_AXES | {"lowest": (), "highest": ()}
    SYMBOLS: ClassVar[dict[str, str]] = STEP_SYMBOLS | {"lowest": "m", "highest": "mm"}
    BOUNDS: ClassVar[frozenset[str]] = Step.BOUNDS | {"highest"}
    domain: ClassVar[str] = "spectral_step"

    lowest: Array
    highest: Array


class SpectralDomain(Domain):
    """Steps as in the domain ``step``; the bounds lie at M's extreme eigenvalues or some way off."""

    name = "spectral_step"
    batch_type = SpectralStep

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        free = sampling.draw(rng, shape, size, (size,))
        for name in ("lowest", "highest"):
            slack = 1 + magnitude(rng, size, -6, 1)
            slack[rng.random(size) < 0.6] = 1.0
            below = rng.random(size) < 0.03
            slack[below] = rng.uniform(0.3, 1, int(below.sum()))
            free[f"slack_{name}"] = slack
        free["swapped"] = rng.choice([1.0, 0.0], size, p=[0.03, 0.97])
        return free

    def build(self, free: Free) -> Any:
        zero = np.zeros(len(free["weights"]))
        step = sampling.build_step(free, SpectralStep, lowest=zero, highest=zero)
        operator = np.nan_to_num(step.operator, posinf=0.0, neginf=0.0)
        with np.errstate(all="ignore"):
            eigenvalues = np.linalg.eigvalsh(operator)
        least, most = np.maximum(eigenvalues[:, 0], 0.0), eigenvalues[:, -1]
        lowest = least / free["slack_lowest"] - SLACK * most
        highest = most * free["slack_highest"] * (1 + SLACK)
        swapped = free["swapped"] > 0.5
        lowest, highest = np.where(swapped, highest, lowest), np.where(swapped, lowest, highest)
        both = 2 * step.weight_decay + lowest + highest
        size = 2 / np.where(both == 0, 1.0, np.abs(both)) * free["step_fraction"]
        decay = 1 / np.where(step.weight_decay == 0, 1.0, np.abs(step.weight_decay))
        step_size = (1 - sampling.HAIR) * (size + free["step_inverse_decay"] * decay)
        return sampling.changed(
            step, step_size=np.clip(step_size, -1e60, 1e60), lowest=lowest, highest=highest
        )
