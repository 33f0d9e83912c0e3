"""How close a sample came to a bound, as bars in the page; drawn by hand, since a page may hold dozens."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ._facts import shown
from ._markup import Markup, tag
from ._words import ratio

WIDTH, HEIGHT, FOOT, HEAD = 300, 84, 16, 14
"""The size of the field of bars, and the room for words below and above it."""


def histogram(entry: Mapping[str, Any]) -> Markup | None:
    """The ratios lhs/rhs of an entry's sample as a <figure>, on a logarithmic scale; None if there are none, or if all are
    alike, as those of an identity are."""
    searched = entry.get("evidence", {}).get("searched", {})
    counts = searched.get("histogram")
    if not isinstance(counts, list) or not all(type(n) is int and n >= 0 for n in counts):
        return None
    if sum(n > 0 for n in counts) < 2:
        return None
    step, top = WIDTH / len(counts), math.log10(2 * max(counts))
    bars = []
    for k, n in enumerate(counts):
        height = HEIGHT * math.log10(2 * n) / top if n else 0.0
        if n:
            bars.append(f"M{k * step:.2f} {HEIGHT}v-{height:.2f}h{step:.2f}v{height:.2f}z")
    title = f"Histogram of lhs/rhs for {entry['id']}"
    words = [
        tag("text", f"{x:g}", x=f"{x * WIDTH:g}", y=str(HEIGHT + FOOT - 3), text_anchor=anchor)
        for x, anchor in ((0, "start"), (0.5, "middle"), (1, "end"))
    ]
    worst = tag(
        "text",
        f"worst {ratio(searched.get('worst_ratio'))}",
        x=str(WIDTH),
        y="-4",
        text_anchor="end",
    )
    most = tag("text", f"log scale, most {max(counts):,}", x="0", y="-4")
    picture = tag(
        "svg",
        tag("title", title),
        tag("path", d="".join(bars), fill="#0072B2", fill_opacity="0.85"),
        tag("path", d=f"M0 {HEIGHT}h{WIDTH}M{WIDTH} {HEIGHT}v-{HEIGHT}", stroke="currentColor"),
        words,
        most,
        worst,
        role="img",
        aria_label=title,
        viewBox=f"0 -{HEAD} {WIDTH} {HEIGHT + HEAD + FOOT}",
        fill="currentColor",
        font_size="12",
        style="width:23em",
    )
    caption = (
        f"How close {shown(searched.get('instances', 0))} admissible instances came to the bound, lhs/rhs = 1. "
        "The last bar holds ratios above 1 too."
    )
    return tag("figure", picture, tag("figcaption", caption))
