"""Figure of a ledger's entry: how close a million instances came to the bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ._style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def ratio_histogram(ax: Axes, entry: Mapping[str, Any]) -> None:
    """The ratios lhs/rhs of the admissible instances of a ledger's entry, from its column *searched*.

    Bins are even on [0, 1]; the last one also holds what lies above 1. The worst ratio is marked, at the edge if it is
    above 1. Raises :class:`InputError` if the entry has no histogram.
    """
    searched = entry.get("evidence", {}).get("searched", {})
    counts = searched.get("histogram")
    whole = (
        isinstance(counts, list) and counts and all(isinstance(x, int) and x >= 0 for x in counts)
    )
    if not whole or not isinstance(counts, list):
        raise InputError(
            f"claim {entry.get('id')}: its entry has no histogram of ratios; run: collapse-theory verify"
        )
    worst = _worst(searched)
    edges = np.linspace(0, 1, len(counts) + 1)
    ax.stairs(np.maximum(counts, 0), edges, baseline=0.5, fill=True, color=COLOURS[0], alpha=0.85)
    ax.set_yscale("log")
    ax.set_ylim(0.5, 3 * max(*counts, 1))
    ax.axvline(1, color="black", linewidth=1.2)
    ax.set_xlim(0, 1.12)
    ax.set_xticks(np.linspace(0, 1, 6))
    ax.set_xlabel("ratio lhs / rhs (bound at 1)")
    ax.set_ylabel("instances")
    if worst is None:
        return
    over = worst > 1
    place = min(worst, 1.06)
    ax.plot(place, 0.96, marker=">" if over else "v", color=COLOURS[1], markersize=6, clip_on=False,
            markeredgewidth=0, transform=ax.get_xaxis_transform(), zorder=4)  # fmt: skip
    shown = r"$\infty$" if np.isinf(worst) else f"{worst:.6g}"
    ax.set_title(f"worst ratio {shown}" + (", refuted" if over else ""), loc="right")


def _worst(searched: Mapping[str, Any]) -> float | None:
    """The worst ratio; the ledger writes infinity as text, since JSON has none."""
    try:
        return float(searched["worst_ratio"])
    except (KeyError, TypeError, ValueError):
        return None
