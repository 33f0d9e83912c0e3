"""Batches of concrete values that claims speak of, and how they are sampled.

``Step`` is a batch of gradient steps, ``Run`` a batch of short trainings. A witness is a batch of one.
``DOMAINS`` maps each domain's name to the object that samples and builds its instances.
"""

from ._adam_run import AdamRun
from ._adaptive import AdamStep, PreconditionedStep
from ._batch import Batch
from ._equilibrium import Equilibrium
from ._head import Head
from ._losses import BiasedStep, CappedStep, LossStep, ZLossStep
from ._momentum import MomentumRun
from ._probe import ProbeRun
from ._reset import ResetRun
from ._rounding import Rounding
from ._run import Run
from ._sampling import Domain, Free, Shape
from ._spectral import SpectralStep
from ._steady import SteadyRun
from ._step import Step
from ._symbolic import symbolic, symbolic_run, symbolic_step
from ._vectors import Vectors, cosine_distance
from .domains import DOMAINS, domain

__all__ = [
    "DOMAINS",
    "AdamRun",
    "AdamStep",
    "Batch",
    "BiasedStep",
    "CappedStep",
    "Domain",
    "Equilibrium",
    "Free",
    "Head",
    "LossStep",
    "MomentumRun",
    "PreconditionedStep",
    "ProbeRun",
    "ResetRun",
    "Rounding",
    "Run",
    "Shape",
    "SpectralStep",
    "SteadyRun",
    "Step",
    "Vectors",
    "ZLossStep",
    "cosine_distance",
    "domain",
    "symbolic",
    "symbolic_run",
    "symbolic_step",
]
