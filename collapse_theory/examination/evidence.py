"""Pieces of evidence, and the one rule that turns them into a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NoReturn

from ..claims import Claim

COLUMNS = ("formal", "symbolic", "enclosed", "searched", "tight", "necessary", "observed")
"""The ledger's columns. None stands in for another."""


class Status(StrEnum):
    """What a piece of evidence, or a claim as a whole, amounts to."""

    PROVED = "PROVED"
    """A machine-checked proof (column *formal*)."""
    DERIVED = "DERIVED"
    """Every line of a symbolic derivation was checked (column *symbolic*)."""
    ENCLOSED = "ENCLOSED"
    """No sampled instance violates the claim in ball arithmetic, and some are enclosed (column *enclosed*)."""
    NOT_FALSIFIED = "NOT_FALSIFIED"
    """A search found no confirmed counterexample (column *searched*). Never to be read as "proved"."""
    REFUTED = "REFUTED"
    """A witness is confirmed in ball arithmetic, or the negation is proved."""
    TIGHT = "TIGHT"
    """Some admissible instance reaches 0.999 of the bound."""
    LOOSE = "LOOSE"
    """The best instance found stays below 0.999 of the bound."""
    NECESSARY = "NECESSARY"
    """Every hypothesis is needed: without it the claim is refuted by a stored witness."""
    PARTLY_NECESSARY = "PARTLY_NECESSARY"
    """Some hypotheses have a witness; the others are not known to be necessary."""
    OBSERVED = "OBSERVED"
    """Met at every recorded step of a real training run."""
    UNDECIDED = "UNDECIDED"
    """Not settled, for the reason given."""
    NOT_APPLICABLE = "NOT_APPLICABLE"
    """The column does not apply to this claim, for the reason given."""


def no_bool(self: object) -> NoReturn:
    """The ``__bool__`` of what is not true or false."""
    raise TypeError(
        "this is not true or false; compare a status, as in verdict.status is Status.REFUTED"
    )


@dataclass(frozen=True)
class Evidence:
    """One column of a claim's row: a status, the reason in words, and the figures behind it (JSON-ready)."""

    column: str
    status: Status
    reason: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)

    __bool__ = no_bool

    def to_dict(self) -> dict[str, Any]:
        return {"verdict": str(self.status), "reason": self.reason, **self.figures}


@dataclass(frozen=True)
class Verdict:
    """What the evidence says of the claim: REFUTED, PROVED, NOT_FALSIFIED or UNDECIDED, with the reason."""

    status: Status
    reason: str

    __bool__ = no_bool

    def __str__(self) -> str:
        return f"{self.status}({self.reason})" if self.reason else str(self.status)


def conclude(claim: Claim, evidence: Mapping[str, Evidence]) -> Verdict:
    """The only rule from evidence to verdict.

    REFUTED if a confirmed witness or a proved negation exists; else PROVED if formal; else NOT_FALSIFIED with the number
    of instances and the worst ratio; else UNDECIDED with a reason. Enclosures of sampled points raise no verdict.
    """
    for column in ("formal", "searched", "enclosed", "observed"):
        piece = evidence.get(column)
        if piece is not None and piece.status is Status.REFUTED:
            return Verdict(Status.REFUTED, piece.reason or f"by the column {column}")
    formal = evidence.get("formal")
    if formal is not None and formal.status is Status.PROVED:
        return Verdict(Status.PROVED, str(formal.figures.get("theorem", "")))
    searched = evidence.get("searched")
    if searched is not None and searched.status is Status.NOT_FALSIFIED:
        instances, ratio = searched.figures["instances"], float(searched.figures["worst_ratio"])
        return Verdict(Status.NOT_FALSIFIED, f"{instances:,} instances, worst ratio {ratio:.6g}")
    reason = searched.reason if searched is not None else "the claim was not searched"
    return Verdict(Status.UNDECIDED, reason)


def expectations(claim: Claim, evidence: Mapping[str, Evidence], verdict: Verdict) -> list[str]:
    """What is not as the claim's file says it should be; empty when all expectations hold.

    Evidence that could not be gathered (no checkout, no ``coqc``) is not a failed expectation.
    """
    failed = []
    if claim.expected == "refuted":
        if verdict.status is not Status.REFUTED:
            failed.append(f"expected to be refuted, but the verdict is {verdict.status}")
    elif verdict.status not in (Status.PROVED, Status.NOT_FALSIFIED):
        failed.append(f"expected to hold, but the verdict is {verdict.status}")
    tight = evidence.get("tight")
    if claim.tight and tight is not None and tight.status is not Status.TIGHT:
        failed.append(f"called tight, but {tight.reason}")
    for piece in evidence.values():
        if piece.figures.get("failed"):
            failed.append(f"{piece.column}: {piece.reason}")
    return failed
