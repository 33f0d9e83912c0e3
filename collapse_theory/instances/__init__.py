"""Batches of concrete values that claims speak of, and how they are sampled.

``Step`` is a batch of gradient steps, ``Run`` a batch of short trainings. A witness is a batch of one.
``DOMAINS`` maps each domain's name to the object that samples and builds its instances.
"""

from ._batch import Batch
from ._run import Run
from ._sampling import Domain, Free, Shape
from ._step import Step
from ._symbolic import symbolic, symbolic_run, symbolic_step
from .domains import DOMAINS, domain

__all__ = [
    "DOMAINS",
    "Batch",
    "Domain",
    "Free",
    "Run",
    "Shape",
    "Step",
    "domain",
    "symbolic",
    "symbolic_run",
    "symbolic_step",
]
