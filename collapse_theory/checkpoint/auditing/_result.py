"""What an audit found, as it prints and as JSON has it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._version import __version__
from ..reading._model import Model
from ._clusters import Clusters
from ._diagnosis import Diagnosis
from ._groups import Group, Neighbours
from ._mass import Mass
from ._measures import Measures
from ._theory import Theory

__all__ = ["SCHEMA", "Audit", "Suspect"]

SCHEMA = 1
"""Of the JSON; grows when a key changes its meaning or goes."""


@dataclass(frozen=True, kw_only=True)
class Suspect:
    """A row that nothing names unused, but that lies with rows that are.

    id: its row; text: of its token; reason: why it is here; distance: to the centre of the set it lies with, or None.
    """

    id: int
    text: str
    reason: str
    distance: float | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Audit:
    """What an audit found. It prints as a summary.

    Attributes:
        path: of the checkpoint.
        matrix: name of the audited tensor.
        shape: V and n.
        dtype: as stored.
        kind: of the checkpoint, see :class:`Model`.
        tied: whether input and output are one matrix; None if nothing says.
        tokens: where the texts come from, or None.
        groups: sets of unused rows, one for each reason; before them all together where there are several reasons.
        used: measures of the sample of used rows, cleaned of suspects; None where fewer than two rows are used.
        used_near: the nearest neighbours of a few of them.
        zero_rows: ids.
        suspects: rows that lie with the unused ones although nothing names them, the nearest first.
        moved_off: ids of unused rows that lie apart from their set.
        clusters: of rows that are the same up to rounding, the largest first.
        notes: what a reader should know.
        initial_scale: standard deviation of fresh rows, from the configuration or given.
        theory: what the training settings promise, where they were given.
        mass: the probability that unused rows take on given features.
        reasons: of each row, its place in ``REASONS`` or -1 [V].
        norms: of each row [V].
        distances, cosines: of each row to the centre of the first set of unused rows, the cosine less the mean of all
            rows [V]; None where no set has one.
        unused_rows, used_rows: samples for figures [k, n].
        mean: of all rows [n].
    """

    path: str
    matrix: str
    shape: tuple[int, int]
    dtype: str
    kind: str
    tied: bool | None
    tokens: str | None
    groups: tuple[Group, ...]
    used: Measures | None
    used_near: Neighbours | None
    zero_rows: tuple[int, ...]
    suspects: tuple[Suspect, ...]
    moved_off: tuple[int, ...]
    clusters: Clusters
    notes: tuple[str, ...]
    initial_scale: float | None
    theory: Theory | None
    mass: Mass | None
    reasons: NDArray[np.int8] = field(repr=False)
    norms: NDArray[np.float64] = field(repr=False)
    distances: NDArray[np.float64] | None = field(repr=False)
    cosines: NDArray[np.float64] | None = field(repr=False)
    unused_rows: NDArray[np.float64] = field(repr=False)
    used_rows: NDArray[np.float64] = field(repr=False)
    mean: NDArray[np.float64] = field(repr=False)
    model: Model = field(repr=False)

    @property
    def diagnoses(self) -> tuple[str, ...]:
        """Names of what was found, of the sets by reason, each once; see ``DIAGNOSES``."""
        names = [g.diagnosis.name for g in self.groups if g.diagnosis is not None]
        return tuple(dict.fromkeys(names))

    @property
    def unused(self) -> NDArray[np.int64]:
        """Ids of all unused rows."""
        return np.flatnonzero(self.reasons >= 0)

    def text(self, index: int) -> str:
        """The token's text, for people; empty where there is none."""
        tokens = self.model.tokenizer
        return "" if tokens is None else tokens.text(index)

    def __str__(self) -> str:
        from ._text import text

        return text(self)

    def to_dict(self) -> dict[str, Any]:
        """The audit as JSON would have it; ``schema`` numbers the layout."""
        from ._text import spans

        sizes = self.clusters.sizes
        rows_of = [np.flatnonzero(self.clusters.labels == c) for c in range(min(len(sizes), 100))]
        return {
            "kind": "audit",
            "schema": SCHEMA,
            "version": __version__,
            "path": self.path,
            "matrix": {
                "name": self.matrix,
                "rows": self.shape[0],
                "dim": self.shape[1],
                "dtype": self.dtype,
                "kind": self.kind,
                "tied": self.tied,
            },
            "tokens": self.tokens,
            "diagnoses": list(self.diagnoses),
            "groups": [
                {
                    "reason": group.reason,
                    "ids": spans(group.ids),
                    "rows": len(group.ids),
                    "zero_rows": group.zeros,
                    "measures": None if group.measures is None else group.measures.to_dict(),
                    "near": None if group.near is None else asdict(group.near),
                    "moved_off": [int(i) for i in group.moved_off],
                    "diagnosis": None if group.diagnosis is None else _plain(group.diagnosis),
                }
                for group in self.groups
            ],
            "used": None if self.used is None else self.used.to_dict(),
            "used_near": None if self.used_near is None else asdict(self.used_near),
            "zero_rows": spans(self.zero_rows),
            "suspects": [asdict(suspect) for suspect in self.suspects],
            "clusters": {
                "tolerance": self.clusters.tolerance,
                "count": len(sizes),
                "rows": int(sizes.sum()),
                "exact_rows": int(self.clusters.exact.sum()),
                "largest": [
                    {"rows": len(ids), "ids": spans(ids), "text": self.text(int(ids[0]))}
                    for ids in rows_of
                ],
            },
            "initial_scale": self.initial_scale,
            "theory": None if self.theory is None else self.theory.to_dict(),
            "mass": None if self.mass is None else self.mass.to_dict(),
            "notes": list(self.notes),
        }


def _plain(diagnosis: Diagnosis) -> dict[str, Any]:
    return asdict(diagnosis) | {"evidence": list(diagnosis.evidence)}
