"""What an examination of one claim returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from ..claims import Claim
from .evidence import COLUMNS, Evidence, Verdict, conclude, expectations, no_bool
from .witness import Witness


@dataclass(frozen=True)
class Result:
    """A claim's row: evidence by column, in the ledger's order. Prints as a table."""

    claim: Claim
    evidence: Mapping[str, Evidence]
    witness: Witness | None = None

    __bool__ = no_bool

    @property
    def verdict(self) -> Verdict:
        """REFUTED, PROVED, NOT_FALSIFIED or UNDECIDED, by :func:`~collapse_theory.examination.evidence.conclude`."""
        return conclude(self.claim, self.evidence)

    @property
    def worst_ratio(self) -> float:
        """The largest lhs/rhs found on admissible instances; above 1 only if confirmed in balls."""
        value = self.evidence["searched"].figures["worst_ratio"]
        return math.inf if value == "inf" else float(value)

    @property
    def unmet(self) -> list[str]:
        """What is not as the claim says it should be."""
        return expectations(self.claim, self.evidence, self.verdict)

    def adding(self, *pieces: Evidence) -> Self:
        """The row with further columns."""
        merged = {**self.evidence, **{p.column: p for p in pieces}}
        return replace(self, evidence={c: merged[c] for c in COLUMNS if c in merged})

    def to_dict(self) -> dict[str, Any]:
        """The claim's entry in the ledger, JSON-ready."""
        return {
            "id": self.claim.id,
            "revision": self.claim.revision,
            "title": self.claim.title,
            "statement": self.claim.statement,
            "latex": self.claim.latex,
            "domain": self.claim.domain,
            "hypotheses": {h.id: h.latex for h in self.claim.hypotheses},
            "expected": self.claim.expected,
            "evidence": {column: piece.to_dict() for column, piece in self.evidence.items()},
            "verdict": {"status": str(self.verdict.status), "reason": self.verdict.reason},
            "unmet": self.unmet,
        }

    def __str__(self) -> str:
        claim, width = self.claim, max(map(len, COLUMNS))
        lines = [f"{claim.id}: {claim.statement or 'lhs ' + claim.relation + ' rhs'}"]
        lines.append(f"  {'hypotheses':<{width}}  {', '.join(h.id for h in claim.hypotheses)}")
        for column, piece in self.evidence.items():
            lines.append(f"  {column:<{width}}  {piece.status} {summary(piece)}".rstrip())
        lines.append(f"  {'verdict':<{width}}  {self.verdict}")
        return "\n".join(lines)


def summary(piece: Evidence) -> str:
    """One column in a few words."""
    figures = piece.figures
    if piece.column == "searched" and "worst_ratio" in figures and not piece.reason:
        ratio = figures["worst_ratio"]
        shown = ratio if isinstance(ratio, str) else f"{ratio:.6g}"
        return f"{figures['instances']:,} instances, worst ratio {shown}"
    return piece.reason
