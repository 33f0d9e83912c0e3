"""SymPy derivations, one module per claim: `proofs/symbolic/<claim id>.py` has `derive() -> Derivation`.

`Derivation.check()` gives a verdict on every line; `python -m proofs.symbolic` prints them. `framework`
is what a derivation is made of, `lines` are those that several share.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .framework.derivation import Derivation

__all__ = ["derivations", "derive"]


def derivations() -> tuple[str, ...]:
    """Ids of the claims that have a derivation, in alphabetical order."""
    return tuple(
        sorted(
            module.name
            for module in pkgutil.iter_modules(__path__)
            if module.name[0] != "_" and not module.ispkg
        )
    )


def derive(claim: str) -> Derivation:
    """The derivation of a claim: the lines on a path to its goals. Raises `KeyError` if there is none."""
    if claim not in derivations():
        raise KeyError(claim)
    return importlib.import_module(f"{__name__}.{claim}").derive().on_path()
