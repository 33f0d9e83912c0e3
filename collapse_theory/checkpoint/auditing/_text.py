"""An audit for reading: the finding first, then sets, suspects and notes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...errors import printable
from ._groups import Group
from ._measures import Measures

if TYPE_CHECKING:
    from ._result import Audit

__all__ = ["spans", "text"]

WIDTH = 100
LISTED = 8
SHOWN_CLUSTERS = 4


def spans(ids: ArrayLike) -> list[list[int]]:
    """Ascending ids as ranges ``[first, last]``."""
    given = np.asarray(ids, dtype=np.int64).reshape(-1)
    if not given.size:
        return []
    breaks = np.flatnonzero(np.diff(given) != 1)
    first = given[np.concatenate([[0], breaks + 1])]
    last = given[np.concatenate([breaks, [len(given) - 1]])]
    return [[int(a), int(b)] for a, b in zip(first, last, strict=True)]


def ranges(ids: ArrayLike, most: int = LISTED) -> str:
    """Ids for people: ``3-16, 20``, shortened where there are many ranges."""
    found = spans(ids)
    words = [str(a) if a == b else f"{a}-{b}" for a, b in found[:most]]
    return ", ".join(words) + (
        f" and {len(found) - most:,} more ranges" if len(found) > most else ""
    )


def text(audit: Audit) -> str:
    """The whole audit, at most 100 columns wide."""
    rows, dim = audit.shape
    lines = [*_folded("", finding(audit)), ""]
    tied = {True: ", tied", False: ", untied", None: ""}[audit.tied]
    lines += _folded(
        "  ", f"{audit.path}: {audit.matrix}, {rows:,} x {dim:,} {audit.dtype}{tied}", 4
    )
    lines += [f"  texts from {audit.tokens}"] if audit.tokens else []
    for group in audit.groups:
        lines += ["", *_group(audit, group)]
    if audit.used is not None and audit.groups:
        near = audit.used_near
        lines += [
            "",
            f"USED ROWS: a sample of {audit.used.rows:,}, cleaned of rows that lie with unused ones",
        ]
        lines += _measures(audit.used)
        lines += [f"  nearest    {near.distance:.3g} away (median)"] if near else []
    lines += _suspects(audit)
    lines += _clusters(audit)
    if audit.theory is not None:
        lines += ["", "THEORY", *_folded("  ", audit.theory.verdict)]
        lines += [line for said in audit.theory.lines for line in _folded("  ", said, 4)]
    if audit.mass is not None:
        lines += ["", f"PROBABILITY on {audit.mass.features:,} features (no bias), means"]
        lines += [f"  {_share(mass)}  {name}" for name, mass in audit.mass.groups.items()]
        lines += [
            f"  {_share(c['mass'])}  {c['rows']} rows the same up to rounding, from id {c['first']}: "
            f"k p = {c['rows']} x {c['k_p'] / c['rows']:.3g} = {_share(c['k_p']).strip()}"
            for c in audit.mass.clusters
        ]
    if audit.notes:
        lines += ["", *(line for note in audit.notes for line in _folded("note  ", note, 6))]
    return "\n".join(lines)


def finding(audit: Audit) -> str:
    """The main thing in one or two sentences."""
    sets = [g for g in audit.groups if g.diagnosis is not None]
    if not sets:
        extra = (
            f" {len(audit.suspects):,} rows are the same up to rounding." if audit.suspects else ""
        )
        return f"No row is known to be unused: nothing was diagnosed.{extra}"
    said = [
        f"{_counted(len(g.ids))} ({g.reason}): {g.diagnosis.summary}" for g in sets if g.diagnosis
    ]
    return "; ".join(said) + "."


def _counted(rows: int) -> str:
    return f"{rows:,} row" + ("" if rows == 1 else "s")


def _group(audit: Audit, group: Group) -> Iterator[str]:
    yield f"UNUSED: {_counted(len(group.ids))}, {group.reason}"
    shown = [repr(audit.text(int(i))) for i in group.ids[:LISTED] if audit.text(int(i))]
    yield from _folded("  ids        ", ranges(group.ids), 13)
    if shown:
        more = ", ..." if len(group.ids) > LISTED else ""
        yield from _folded("  texts      ", ", ".join(shown) + more, 13)
    if group.zeros and group.measures is not None:
        yield f"  zero       {group.zeros:,} of them are zero rows, not measured"
    if group.measures is not None:
        yield from _measures(group.measures)
    if group.near is not None:
        yield (
            f"  nearest    {group.near.distance:.3g} away (median); "
            f"for {group.near.unused_share:.0%} it is another unused row"
        )
    if len(group.moved_off):
        names = [f"{i} {audit.text(int(i))!r}" for i in group.moved_off[:LISTED]]
        more = (
            f" and {len(group.moved_off) - LISTED:,} more" if len(group.moved_off) > LISTED else ""
        )
        yield from _folded("  moved off  ", ", ".join(names) + more, 13)
    if group.diagnosis is not None:
        yield from _folded("  diagnosis  ", group.diagnosis.summary, 13)
        for line in group.diagnosis.evidence:
            yield from _folded("             ", line, 15)


def _measures(m: Measures) -> Iterator[str]:
    yield f"  cosine     {m.cosine:.3f} raw, {m.cosine_centred:.3f} centred (mean of pairs)"
    d, n = m.distance, m.norm
    yield f"  distance   {d.min:.3g} to {d.max:.3g}, median {d.median:.3g}"
    yield f"  norm       {n.min:.3g} to {n.max:.3g}, median {n.median:.3g}, mean {m.mean_norm:.3g}"
    yield f"  spread     {m.spread:.3g} around a centre of norm {m.centre_norm:.3g}"


def _suspects(audit: Audit) -> Iterator[str]:
    if not audit.suspects:
        return
    yield ""
    yield f"SUSPECTS: {len(audit.suspects):,} rows that nothing names unused"
    by_reason: dict[str, list] = {}
    for suspect in audit.suspects:
        by_reason.setdefault(suspect.reason, []).append(suspect)
    for reason, found in list(by_reason.items())[:LISTED]:
        names = ", ".join(f"{s.id} {s.text!r}" if s.text else str(s.id) for s in found[:LISTED])
        more = f" and {len(found) - LISTED:,} more" if len(found) > LISTED else ""
        yield from _folded("  ", f"{reason} ({len(found):,}): {names}{more}", 4)


def _clusters(audit: Audit) -> Iterator[str]:
    sizes = audit.clusters.sizes
    if not len(sizes):
        return
    yield ""
    yield (
        f"THE SAME UP TO ROUNDING: {int(sizes.sum()):,} rows in {len(sizes):,} sets, "
        f"{int(audit.clusters.exact.sum()):,} of them bit for bit"
    )
    for c in range(min(SHOWN_CLUSTERS, len(sizes))):
        ids = np.flatnonzero(audit.clusters.labels == c)
        yield from _folded("  ", f"{len(ids):,} rows: {ranges(ids)}", 4)


def _share(value: float) -> str:
    return f"{value:9.3g}"


def _folded(start: str, words: str, indent: int | None = None) -> Iterable[str]:
    after = " " * (len(start) if indent is None else indent)
    return textwrap.wrap(
        printable(words),
        WIDTH,
        initial_indent=start,
        subsequent_indent=after,
        break_long_words=False,
        break_on_hyphens=False,
    )
