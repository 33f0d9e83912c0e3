"""The domains that claims can speak of, by name."""

from __future__ import annotations

import difflib

import numpy as np

from ..errors import InputError
from . import _sampling as sampling
from ._adam_run import AdamRunDomain
from ._adaptive import AdamDomain, PreconditionedDomain
from ._batch import Batch
from ._equilibrium import EquilibriumDomain
from ._head import HeadDomain
from ._losses import BiasedDomain, CappedDomain, LossDomain, ZLossDomain
from ._momentum import MomentumDomain
from ._probe import ProbeDomain
from ._reset import ResetDomain
from ._rounding import RoundingDomain
from ._run import Run
from ._sampling import Domain, Free, RunDomain, Shape
from ._spectral import SpectralDomain
from ._steady import SteadyDomain
from ._step import Step
from ._vectors import VectorsDomain


class Steps(Domain):
    """Single gradient steps."""

    name = "step"
    batch_type = Step

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        return sampling.draw(rng, shape, size, (size,))

    def build(self, free: Free) -> Batch:
        return sampling.build_step(free)


class Runs(RunDomain):
    """Short runs."""

    name = "run"
    batch_type = Run

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        return sampling.draw(rng, shape, size, (size, shape.steps))

    def build(self, free: Free) -> Batch:
        return sampling.build_run(free)


DOMAINS: dict[str, Domain] = {
    where.name: where
    for where in (
        Steps(),
        Runs(),
        HeadDomain(),
        VectorsDomain(),
        SpectralDomain(),
        EquilibriumDomain(),
        SteadyDomain(),
        ProbeDomain(),
        ResetDomain(),
        MomentumDomain(),
        AdamDomain(),
        AdamRunDomain(),
        PreconditionedDomain(),
        RoundingDomain(),
        LossDomain(),
        ZLossDomain(),
        CappedDomain(),
        BiasedDomain(),
    )
}


def domain(name: str) -> Domain:
    """The domain called ``name``. Raises :class:`InputError` for an unknown one."""
    if name not in DOMAINS:
        near = difflib.get_close_matches(str(name), DOMAINS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(f"domain {name!r} is unknown; domains are {', '.join(DOMAINS)}{hint}")
    return DOMAINS[name]
