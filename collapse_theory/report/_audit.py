"""An audit as one HTML page: the finding, the evidence, the figures, the suspects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._markup import Content, Figures, Markup, document, table, tag

if TYPE_CHECKING:
    from ..checkpoint import Audit, Measures

LISTED = 100


def audit_page(audits: Sequence[Audit]) -> str:
    """One self-contained HTML file about one checkpoint or more: no scripts, nothing loaded from elsewhere."""
    figures = Figures()
    return document(
        "collapse_theory: audit",
        [
            tag("header", tag("h1", "Audit of unused rows")),
            tag("main", [_section(audit, figures) for audit in audits]),
        ],
    )


def _section(audit: Audit, figures: Figures) -> Markup:
    from ..checkpoint.auditing._text import finding, ranges

    rows, dim = audit.shape
    parts: list[Content] = [
        tag("h2", audit.path),
        tag("p", f"{audit.matrix}, {rows:,} x {dim:,}, {audit.dtype}", class_="name"),
        tag("p", finding(audit), class_="verdict"),
    ]
    measured: list[list[Content]] = []
    for group in audit.groups:
        if group.measures is not None:
            measured.append([f"unused: {group.reason}", *_cells(group.measures)])
    if audit.used is not None:
        measured.append(["used, a sample", *_cells(audit.used)])
    head = ["rows", "count", "cosine", "centred", "distance", "norm", "spread"]
    parts.append(table(head, measured, caption="How the rows lie (medians; distances with range)"))
    for group in audit.groups:
        if group.diagnosis is not None:
            lines = [tag("li", line) for line in group.diagnosis.evidence]
            about = f"{len(group.ids):,} rows, {group.reason} (ids {ranges(group.ids)}): "
            parts.append(tag("p", about, tag("strong", group.diagnosis.summary)))
            parts.append(tag("ul", lines))
    if len(audit.unused_rows) >= 2 and len(audit.used_rows) >= 2:
        parts.append(tag("div", _pictures(audit, figures), class_="figures"))
    if audit.suspects:
        listed: list[list[Content]] = [
            [str(s.id), s.text, s.reason, "" if s.distance is None else f"{s.distance:.3g}"]
            for s in audit.suspects[:LISTED]
        ]
        caption = f"Suspects: {len(audit.suspects):,} rows that nothing names unused"
        if len(audit.suspects) > LISTED:
            caption += f", the nearest {LISTED} of them"
        parts.append(table(["id", "text", "reason", "distance"], listed, caption=caption))
    parts += [tag("p", note) for note in audit.notes]
    return tag("section", parts)


def _cells(m: Measures) -> list[Content]:
    d = m.distance
    return [
        f"{m.rows:,}",
        f"{m.cosine:.3f}",
        f"{m.cosine_centred:.3f}",
        f"{d.median:.3g} ({d.min:.3g} to {d.max:.3g})",
        f"{m.norm.median:.3g}",
        f"{m.spread:.3g}",
    ]


def _pictures(audit: Audit, figures: Figures) -> list[Markup]:
    from ..plots import audit_cosines, audit_distances, audit_plane

    return [
        figures.draw(kind, draw, audit, title=title, caption=title + ".")
        for kind, draw, title in (
            ("distances", audit_distances, "Distances of pairs of rows"),
            ("cosines", audit_cosines, "Cosines of rows, less the mean of all rows"),
            ("plane", audit_plane, "Rows in the plane of the used rows' first two components"),
        )
    ]
