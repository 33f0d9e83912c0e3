"""The claims: one small file each. A file here that defines ``CLAIM`` (or ``CLAIMS``) is a claim; nothing else registers it.

Ids are public: the same word names the claim in the ledger, its file here, its derivation, its theorem and its page.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from functools import lru_cache

from ..errors import InputError
from ._claim import Claim, Hypothesis

__all__ = ["Claim", "Hypothesis", "all_claims", "get_claim"]


@lru_cache(maxsize=1)
def all_claims() -> dict[str, Claim]:
    """Every claim of the toolkit by id, in alphabetical order of the files."""
    found: dict[str, Claim] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name.startswith("_"):
            continue
        loaded = importlib.import_module(f"{__name__}.{module.name}")
        for claim in getattr(loaded, "CLAIMS", None) or (loaded.CLAIM,):
            if claim.id in found:
                raise RuntimeError(f"two claims are called {claim.id!r}")
            found[claim.id] = claim
    return found


def get_claim(claim_id: str) -> Claim:
    """The claim with this id. Raises :class:`InputError` for an unknown one, naming the nearest."""
    claims = all_claims()
    if claim_id not in claims:
        near = difflib.get_close_matches(str(claim_id), claims, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise InputError(f"claim {claim_id!r} is unknown; {hint}claims are {', '.join(claims)}")
    return claims[claim_id]
