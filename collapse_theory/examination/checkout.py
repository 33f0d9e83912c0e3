"""Evidence that lives beside the library in a checkout: derivations, machine-checked proofs, observed training runs.

The library imports none of it; it looks for a checkout's root and loads by claim id what is there:

* ``proofs/symbolic`` with ``<claim id>.py`` and ``derive(claim id)``, whose result has ``sizes`` and ``check()`` (a result
  for each line, with ``name``, ``ok``, ``reason``), and ``framework.agreement.disagreements``, which compares it with the
  claim as it stands;
* ``proofs/rocq`` with ``proofs()``, the compiled theorems by claim id, and ``problems(claim, theorems)``;
* ``simulations/observed.py`` with ``observations(seed=, thorough=)``, yielding objects with ``name``, ``batch``
  (instances of one domain from a recorded run), ``runs`` (that run) and ``facts`` (JSON-ready figures of it).
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..claims import Claim, all_claims
from ..errors import InputError
from ..instances import domain
from .columns import number
from .evaluation import evaluate
from .evidence import Evidence, Status
from .witness import confirm

ROUNDING = 1e-10
"""A measured float step counts as above its bound only beyond this; below it, rounding of the run decides."""
IDENTITY = 1 + 1e-6
"""The same for identities, whose sides may cancel."""


@lru_cache(maxsize=1)
def root() -> Path | None:
    """The checkout that this library runs from, or that contains the working folder; None outside of one."""
    here = Path(__file__).resolve().parents[2]
    for candidate in (here, Path.cwd(), *Path.cwd().parents):
        if (candidate / "proofs" / "symbolic").is_dir() and (
            candidate / "pyproject.toml"
        ).is_file():
            return candidate
    return None


def _load(name: str) -> Any:
    """A module of the checkout, by its dotted name from the root."""
    base = root()
    if base is None:
        raise ModuleNotFoundError(name)
    if str(base) not in sys.path:
        sys.path.insert(0, str(base))
    return importlib.import_module(name)


def formal(claim: Claim) -> Evidence:
    """The column *formal*: the compiled theorem of the claim's name, if it has the claim's hypotheses."""

    def undecided(reason: str, **figures: Any) -> Evidence:
        return Evidence("formal", Status.UNDECIDED, reason, figures)

    base = root()
    if base is None:
        return undecided("proofs are in the source checkout only")
    if not (base / "proofs" / "rocq" / "_CoqProject").is_file():
        return undecided("no machine-checked proofs in this checkout")
    rocq = _load("proofs.rocq")
    try:
        theorems = _theorems()
    except rocq.MissingCoq as error:
        return undecided(str(error))
    except rocq.BuildError as error:
        return undecided(f"the proofs fail: {error}", failed=True)
    except OSError as error:
        return undecided(f"the proofs cannot be compiled here: {error}")
    theorem = theorems.get(claim.id)
    if theorem is None:
        return undecided("no machine-checked proof yet")
    figures = {"theorem": theorem.name, "file": theorem.file, "axioms": list(theorem.axioms)}
    if all_claims().get(claim.id) is not claim:
        return undecided("the theorem is about the library's claim of this id", **figures)
    unlike = rocq.problems(claim, theorems)
    if unlike:
        return undecided("; ".join(unlike), **figures, failed=True)
    status = Status.REFUTED if theorem.negated else Status.PROVED
    return Evidence("formal", status, f"theorem {theorem.name} in {theorem.file}", figures)


@lru_cache(maxsize=1)
def _theorems() -> Any:
    """The compiled theorems, by name; built where they are not up to date."""
    return _load("proofs.rocq").proofs()


def derivation(claim: Claim) -> Any:
    """The claim's derivation (with ``sizes``, ``check()`` and ``formulas()``), or None outside a checkout or without one."""
    base = root()
    if base is None or not (base / "proofs" / "symbolic" / f"{claim.id}.py").is_file():
        return None
    return _load("proofs.symbolic").derive(claim.id)


def symbolic(claim: Claim) -> Evidence:
    """The column *symbolic*: the claim's derivation, every line checked anew."""
    base = root()
    if base is None:
        reason = "derivations are in the source checkout only"
        return Evidence("symbolic", Status.UNDECIDED, reason)
    if not (base / "proofs" / "symbolic" / f"{claim.id}.py").is_file():
        return Evidence("symbolic", Status.UNDECIDED, "no derivation in this checkout")
    try:
        derivation = _load("proofs.symbolic").derive(claim.id)
        lines = derivation.check()
        refused = [
            f"line {line.name!r} is refused: {line.reason}" for line in lines if line.ok is not True
        ]
        refused += _load("proofs.symbolic.framework.agreement").disagreements(derivation, claim)
    except Exception as error:  # whatever a derivation does, it derives nothing then
        reason = f"the derivation fails: {type(error).__name__}: {error}"
        return Evidence("symbolic", Status.UNDECIDED, reason, {"failed": True})
    figures = {"lines": len(lines), "sizes": derivation.sizes}
    if refused:
        reason = "; ".join(refused[:3])
        return Evidence("symbolic", Status.UNDECIDED, reason, figures | {"failed": True})
    what = "of its refutation checked" if claim.expected == "refuted" else "checked"
    return Evidence("symbolic", Status.DERIVED, f"{len(lines)} lines {what}", figures)


def observed(
    claims: Sequence[Claim], *, seed: int, thorough: bool
) -> tuple[dict[str, Evidence], Any]:
    """The column *observed* of each claim: its sides on the steps of recorded training runs on real data; and the first of
    these runs (None if there is none), for the figures of the report."""
    base = root()
    if base is None or not (base / "simulations" / "observed.py").is_file():
        return _all(claims, "the observed runs are in the source checkout only"), None
    try:
        observations = list(
            _load("simulations.observed").observations(seed=seed, thorough=thorough)
        )
    except InputError as error:  # the data's package is not installed
        return _all(claims, str(error)), None
    evidence = {claim.id: observe(claim, observations) for claim in claims}
    return evidence, observations[0].runs if observations else None


def _all(claims: Iterable[Claim], reason: str) -> dict[str, Evidence]:
    return {claim.id: Evidence("observed", Status.UNDECIDED, reason) for claim in claims}


def observe(claim: Claim, observations: Sequence[Any]) -> Evidence:
    """One claim on recorded instances of its domain. A step above its bound by more than rounding is put to the balls."""
    instances = met = above = 0
    worst = 0.0
    confirmed: dict[str, Any] | None = None
    names: dict[str, Any] = {}
    for observation in observations:
        if observation.batch.domain != claim.domain:
            continue
        evaluation = evaluate(claim, observation.batch)
        inside = evaluation.admissible
        instances += len(inside)
        met += int(inside.sum())
        if not inside.any():
            continue
        names[observation.name] = observation.facts
        worst = max(worst, float(evaluation.worst[inside].max()))
        limit = IDENTITY if claim.relation == "==" else 1 + ROUNDING
        over = np.flatnonzero(inside & (evaluation.worst > limit))
        above += len(over)
        for i in over[:1]:
            one = observation.batch.take(int(i))
            if confirmed is None and confirm(claim, one) is not None:
                confirmed = {"run": observation.name, "index": int(i)}
    figures: dict[str, Any] = {
        "instances": instances,
        "hypotheses_met": met,
        "above_bound": above,
        "worst_ratio": number(worst),
        "runs": names,
    }
    if met == 0:
        return Evidence(
            "observed", Status.UNDECIDED, "no recorded step meets the hypotheses", figures
        )
    what = "steps" if claim.domain.endswith("step") else "instances"
    what = "runs" if domain(claim.domain).runs else what
    if above:
        reason = f"{above} of {met} recorded {what} are above the bound"
        figures |= {"confirmed": confirmed, "failed": claim.expected == "holds"}
        status = Status.REFUTED if confirmed else Status.UNDECIDED
        return Evidence("observed", status, reason, figures)
    reason = f"{met:,} recorded {what}, worst ratio {worst:.6g}"
    return Evidence("observed", Status.OBSERVED, reason, figures)
