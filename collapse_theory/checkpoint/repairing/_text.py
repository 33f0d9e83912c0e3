"""A repair for reading: what was done first, then the numbers, then what to know."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ...errors import printable
from ._measures import RowMeasures

if TYPE_CHECKING:
    from ._result import Repair, RepairedMatrix

__all__ = ["ranges", "text"]

WIDTH = 100
LISTED = 12
"""Ranges of ids, or names of files, that are shown; more are counted."""


def text(repair: Repair) -> str:
    """The whole summary, at most 100 columns wide."""
    return "\n".join(_lines(repair))


def _lines(repair: Repair) -> Iterator[str]:
    count, matrices = len(repair.rows), repair.matrices
    where = matrices[0].name if len(matrices) == 1 else f"{len(matrices)} matrices"
    rows = f"{count:,} of {matrices[0].rows:,} rows of {where}"
    if repair.dry_run:
        yield from _folded("", f"Would replace {rows}. Dry run: nothing was written.")
    else:
        yield from _folded(
            "", f"Replaced {rows}; read back, nothing else differs. New: {repair.out}"
        )
    yield ""
    yield from _folded("  rows      ", ranges(row.id for row in repair.rows))
    reasons = Counter(row.reason for row in repair.rows).most_common()
    for reason, number in reasons[:LISTED]:
        yield from _folded("  because   ", f"{reason} ({number:,})")
    for matrix in matrices:
        yield ""
        yield from _table(matrix)
    yield ""
    options = repair.options
    said = f"{options['direction']}, norm {options['norm']}"
    if options["tokens"]:
        said += ", from " + " ".join(repr(token) for token in options["tokens"])
    if options["spread"] is not None:
        said += f", spread {options['spread']:g}"
    yield from _folded("  drawn     ", f"{said}, seed {repair.seed}")
    for label, names in (
        ("changed", [file.name for file in repair.changed]),
        ("linked", repair.linked),
        ("copied", repair.copied),
        ("left out", repair.left_out),
    ):
        if names:
            yield from _folded(f"  {label:<9} ", _listed(names))
    for note in repair.notes:
        yield from _folded("  note      ", note)
    for warning in repair.warnings:
        yield from _folded("  warning   ", warning)


def _table(matrix: RepairedMatrix) -> Iterator[str]:
    title = f"{matrix.name} ({matrix.role}), {matrix.rows:,} x {matrix.dim:,} {matrix.dtype}"
    yield f"  {printable(title)}"
    if matrix.copies:
        yield from _folded("    ", f"and its copies {', '.join(matrix.copies)}")
    heads = (
        "rows",
        "zero",
        "equal",
        "norm: least, most",
        "cosine",
        "centred",
        "distance: least, median",
    )
    yield (
        "    "
        + f"{'':<9}"
        + "".join(f"{head:>{width}}" for head, width in zip(heads, WIDTHS, strict=True))
    )
    for label, measures in (
        ("trained", matrix.trained),
        ("before", matrix.before),
        ("after", matrix.after),
    ):
        cells = "".join(f"{c:>{w}}" for c, w in zip(_cells(measures), WIDTHS, strict=True))
        yield f"    {label:<9}{cells}"


WIDTHS = (7, 7, 7, 20, 8, 9, 25)


def _cells(m: RowMeasures) -> tuple[str, ...]:
    norms = _span(m.norm_min, m.norm_max)
    distances = _span(m.distance_min, m.distance_median)
    return (
        *(f"{m.rows:,}", f"{m.zeros:,}", f"{m.equal:,}", norms),
        *(_number(m.cosine, 3), _number(m.cosine_centred, 3), distances),
    )


def _number(value: float | None, places: int) -> str:
    return "-" if value is None else f"{round(value, places) + 0.0:.{places}f}"


def _span(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{low:.3g}, {high:.3g}"


def ranges(ids: Iterable[int]) -> str:
    """``3, 7-16``: ascending ids with neighbours drawn together; the rest counted when they are many."""
    runs: list[list[int]] = []
    for i in ids:
        if runs and runs[-1][1] == i - 1:
            runs[-1][1] = i
        else:
            runs.append([i, i])
    return _listed([str(a) if a == b else f"{a}-{b}" for a, b in runs])


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = f", ... ({len(names) - LISTED:,} more)" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def _folded(start: str, words: str) -> list[str]:
    return textwrap.wrap(
        printable(words),
        WIDTH,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )
