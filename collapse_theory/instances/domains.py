"""The domains that claims can speak of, by name."""

from __future__ import annotations

import difflib

import numpy as np

from ..errors import InputError
from . import _sampling as sampling
from ._batch import Batch
from ._run import Run
from ._sampling import Domain, Free, Shape
from ._step import Step


class StepDomain:
    """Single gradient steps: K, n, N <= 8, or one in twenty up to 32 x 24 x 16."""

    name = "step"
    batch_type: type[Batch] = Step

    def shape(self, rng: np.random.Generator, *, large: bool = False, small: bool = False) -> Shape:
        if small:
            return Shape(3, int(rng.integers(1, 3)), int(rng.integers(1, 3)))
        if large:
            return Shape(
                int(rng.integers(9, 33)), int(rng.integers(9, 25)), int(rng.integers(9, 17))
            )
        return Shape(int(rng.integers(3, 9)), int(rng.integers(1, 9)), int(rng.integers(1, 9)))

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        return sampling.draw(rng, shape, size, (size,))

    def build(self, free: Free) -> Batch:
        return sampling.build_step(free)


class RunDomain:
    """Short runs: up to 8 steps (large: up to 64) of heads with K, n, N <= 5 (large: 8)."""

    name = "run"
    batch_type: type[Batch] = Run

    def shape(self, rng: np.random.Generator, *, large: bool = False, small: bool = False) -> Shape:
        if small:
            return Shape(3, int(rng.integers(1, 3)), 1, 2)
        top, steps = (9, (9, 65)) if large else (6, (1, 9))
        return Shape(
            int(rng.integers(3, top)),
            int(rng.integers(1, top)),
            int(rng.integers(1, top)),
            int(rng.integers(*steps)),
        )

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        return sampling.draw(rng, shape, size, (size, shape.steps))

    def build(self, free: Free) -> Batch:
        return sampling.build_run(free)


DOMAINS: dict[str, Domain] = {"step": StepDomain(), "run": RunDomain()}


def domain(name: str) -> Domain:
    """The domain called ``name``. Raises :class:`InputError` for an unknown one."""
    if name not in DOMAINS:
        near = difflib.get_close_matches(str(name), DOMAINS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(f"domain {name!r} is unknown; domains are {', '.join(DOMAINS)}{hint}")
    return DOMAINS[name]
