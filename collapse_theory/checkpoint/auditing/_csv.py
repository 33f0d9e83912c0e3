"""A line for each token."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from ...files import write_text
from ._unused import REASONS

if TYPE_CHECKING:
    from ._result import Audit

__all__ = ["COLUMNS", "write_csv"]

COLUMNS = ("id", "text", "reason", "suspect", "norm", "cosine", "distance", "cluster")
"""Distance to the centre of the first set of unused rows; cosine with it, both less the mean of all rows; the number of the
row's cluster of rows that are the same up to rounding. Empty where there is none."""


def write_csv(audit: Audit, path: str | Path) -> Path:
    """Write the audit's rows as CSV, whole or not at all. Raises :class:`InputError` when it cannot be written."""
    out = StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(COLUMNS)
    suspects = {s.id: s.reason for s in audit.suspects}
    for i in range(audit.shape[0]):
        place, label = int(audit.reasons[i]), int(audit.clusters.labels[i])
        lines.writerow(
            [
                i,
                audit.text(i),
                REASONS[place] if place >= 0 else "",
                suspects.get(i, ""),
                f"{audit.norms[i]:.9g}",
                "" if audit.cosines is None else f"{audit.cosines[i]:.6f}",
                "" if audit.distances is None else f"{audit.distances[i]:.9g}",
                "" if label < 0 else label,
            ]
        )
    return write_text(path, out.getvalue())
