"""The ledger: every claim, every kind of evidence, one file."""

from __future__ import annotations

import importlib.metadata
import platform
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import files
from .._version import __version__
from ..claims import Claim
from ..errors import InputError
from . import checkout
from .effort import Effort
from .effort import effort as effort_named
from .evidence import COLUMNS
from .procedure import Progress, _silent, examine_all
from .result import Result
from .workers import Workers

SCHEMA = 1
PACKAGES = ("numpy", "scipy", "sympy", "torch", "python-flint", "hypothesis", "matplotlib")


def verify(
    claims: Sequence[Claim],
    *,
    seed: int = 0,
    effort: str | Effort = "default",
    workers: int = 1,
    progress: Progress = _silent,
) -> tuple[list[Result], Any]:
    """Examine claims and add the evidence that a checkout holds: derivations, proofs, observed runs.

    Returns a result for each claim, and the observed run that the report draws (None without one).
    """
    amount = effort_named(effort)
    results = examine_all(claims, seed=seed, effort=amount, workers=workers, progress=progress)
    with Workers(workers) as pool:
        # The observed runs are the longest piece of work, so they come first; derivations are checked beside them.
        work = [(tuple(claims), seed, amount.name != "quick"), *((claim,) for claim in claims)]
        pieces = []
        for piece in pool.map(_from_checkout, work):
            pieces.append(piece)
            progress("observing real runs, checking derivations", len(pieces), len(work))
    (observed, runs), symbolic = pieces[0], pieces[1:]
    rows = [
        result.adding(checkout.formal(result.claim), piece, observed[result.claim.id])
        for result, piece in zip(results, symbolic, strict=True)
    ]
    return rows, runs


def _from_checkout(what: Claim | tuple[Claim, ...], *options: Any) -> Any:
    """The observed columns of several claims, or the derivation of one."""
    if isinstance(what, Claim):
        return checkout.symbolic(what)
    seed, thorough = options
    return checkout.observed(what, seed=seed, thorough=thorough)


def ledger(results: Sequence[Result], *, seed: int, effort: str, seconds: float) -> dict[str, Any]:
    """The ledger as JSON-ready data. Only ``environment`` depends on the machine and the time."""
    versions = {"collapse_theory": __version__}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "schema": SCHEMA,
        "kind": "ledger",
        "seed": seed,
        "effort": effort,
        "environment": {
            "python": platform.python_version(),
            "platform": platform.platform(),
            "versions": versions,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(seconds, 1),
        },
        "claims": [result.to_dict() for result in results],
    }


def write_ledger(path: str | Path, data: Mapping[str, Any]) -> Path:
    """Write a ledger as JSON, whole or not at all."""
    return files.write_json(path, data)


def read_ledger(path: str | Path) -> dict[str, Any]:
    """A ledger from its file. Raises :class:`InputError` on a damaged or foreign file."""
    data = files.read_json(path)
    if not isinstance(data, dict) or data.get("kind") != "ledger":
        raise InputError(f"{path}: not a ledger file; expected an object with kind 'ledger'")
    if data.get("schema") != SCHEMA:
        raise InputError(
            f"{path}: schema {data.get('schema')!r} is not understood; this version reads {SCHEMA}"
        )
    claims = data.get("claims")
    if not isinstance(claims, list):
        raise InputError(f"{path}: damaged, 'claims' is not a list; run: collapse-theory verify")
    for entry in claims:
        evidence = entry.get("evidence") if isinstance(entry, dict) else None
        complete = isinstance(evidence, dict) and all(
            isinstance(evidence.get(column), dict) and "verdict" in evidence[column]
            for column in COLUMNS
        )
        if not complete or not {"id", "statement", "expected", "verdict"} <= set(entry):
            raise InputError(f"{path}: damaged, an entry of 'claims' lacks evidence or its verdict")
    return data


def timed(function: Any, *arguments: Any, **options: Any) -> tuple[Any, float]:
    """A call's result and how long it took, for the ledger's environment."""
    start = time.perf_counter()
    return function(*arguments, **options), time.perf_counter() - start
