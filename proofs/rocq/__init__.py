"""Rocq proofs of the claims: what they prove is read from the compiled theorems, never from their names alone.

`proofs()` builds the development where `coqc` is installed and says, for each claim that has a theorem, which hypotheses
the theorem has and on which axioms it rests. `python -m proofs.rocq` prints that.
"""

from __future__ import annotations

from .compiler import MissingCoq, build
from .source import BuildError, hypotheses_of, stated
from .theorems import ALLOWED, Theorem, problems, read

__all__ = [
    "ALLOWED",
    "BuildError",
    "MissingCoq",
    "Theorem",
    "build",
    "hypotheses_of",
    "problems",
    "proofs",
    "stated",
]


def proofs() -> dict[str, Theorem]:
    """By claim id, the compiled theorem of each claim that has one.

    Raises :class:`MissingCoq` without `coqc` or Coquelicot, :class:`BuildError` where a file does not compile or may not
    be trusted.
    """
    return read(build())
