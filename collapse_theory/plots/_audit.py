"""Figures of audits: how unused rows of a checkpoint lie among used ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ._style import COLOURS, GREY, logarithmic, top_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..checkpoint import Audit

SHOWN = 40
"""Rows of each kind in the heat map."""


def _has_rows(audit: Audit) -> None:
    if len(audit.unused_rows) < 2 or len(audit.used_rows) < 2:
        raise InputError(
            f"{audit.path}: fewer than two unused or used rows; there is nothing to draw"
        )


def audit_distances(ax: Axes, audit: Audit) -> None:
    """Histogram of the distances of pairs: of unused rows, and of used rows in a sample; shares of the pairs.

    Raises :class:`InputError` where either has fewer than two rows.
    """
    from scipy.spatial.distance import pdist

    _has_rows(audit)
    unused, used = pdist(audit.unused_rows), pdist(audit.used_rows)
    edges = np.linspace(0, max(unused.max(), used.max()) or 1, 61)
    for values, colour, hatch, name in (
        (used, COLOURS[5], None, "pairs of used rows"),
        (unused, COLOURS[1], "////", "pairs of unused rows"),
    ):
        counts = np.histogram(values, edges)[0] / len(values)
        ax.stairs(
            counts, edges, fill=True, color=colour, alpha=0.65, hatch=hatch, label=name, zorder=2
        )
        ax.axvline(float(np.median(values)), color="black", linewidth=0.8, linestyle=":", zorder=3)
    ax.set_xlabel("distance (dotted: medians)")
    ax.set_ylabel("share of pairs")
    ax.set_ylim(bottom=0)
    top_legend(ax)


def audit_cosines(ax: Axes, audit: Audit) -> None:
    """Heat map of cosines, less the mean of all rows: some unused rows first, then some used ones.

    Raises :class:`InputError` where either has fewer than two rows.
    """
    _has_rows(audit)
    unused, used = _some(audit.unused_rows), _some(audit.used_rows)
    rows = np.concatenate([unused, used]) - audit.mean
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    units = rows / np.where(norms > 0, norms, 1)
    image = ax.imshow(units @ units.T, vmin=-1, vmax=1, cmap="PuOr_r", interpolation="nearest")
    edge = len(unused) - 0.5
    ax.axhline(edge, color="black", linewidth=0.8)
    ax.axvline(edge, color="black", linewidth=0.8)
    middles = [(len(unused) - 1) / 2, len(unused) + (len(used) - 1) / 2]
    names = [f"{len(unused)} unused", f"{len(used)} used"]
    ax.set_xticks(middles, names)
    ax.set_yticks(middles, names, rotation=90, va="center")
    ax.tick_params(length=0)
    ax.figure.colorbar(image, ax=ax, shrink=0.85, label="cosine, centred")


def audit_plane(ax: Axes, audit: Audit) -> None:
    """Unused and used rows in the plane of the first two principal components of the used sample.

    Raises :class:`InputError` where either has fewer than two rows.
    """
    _has_rows(audit)
    used = audit.used_rows - audit.mean
    centred = used - used.mean(axis=0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    if len(axes) < 2:  # rows of one number: they lie on a line
        sizes, axes = np.append(sizes, 0), np.concatenate([axes, np.zeros_like(axes)])
    plane = axes[:2] * np.sign(axes[:2].sum(axis=1, keepdims=True))  # one sign on every machine
    shares = sizes[:2] ** 2 / (np.sum(sizes**2) or 1)
    for rows, colour, marker, name in (
        (used, COLOURS[5], "o", "used rows"),
        (audit.unused_rows - audit.mean, COLOURS[1], "s", "unused rows"),
    ):
        at = rows @ plane.T
        ax.plot(
            *at.T,
            linestyle="none",
            marker=marker,
            color=colour,
            markersize=2.6,
            alpha=0.7,
            label=name,
        )
    ax.set_xlabel(f"first component of used rows ({shares[0]:.0%})")
    ax.set_ylabel(f"second ({shares[1]:.0%})")
    ax.set_aspect("equal", adjustable="datalim")
    top_legend(ax)


def audits_over_training(ax: Axes, steps: Sequence[float], audits: Sequence[Audit]) -> None:
    """Median distance and norm of unused rows over several checkpoints, relative to the first, against used rows.

    ``steps`` are the checkpoints' places on the x axis. Raises :class:`InputError` for fewer than two, or where one has no
    measured unused rows.
    """
    if len(audits) < 2 or len(steps) != len(audits):
        raise InputError("over training: give two checkpoints or more, and a step for each")
    curves: dict[str, list[float]] = {}
    for audit in audits:
        measures = audit.groups[0].measures if audit.groups else None
        if measures is None or audit.used is None:
            raise InputError(f"{audit.path}: has no measured unused rows to draw over training")
        for name, value in (
            ("distance of unused rows", measures.distance.median),
            ("norm of unused rows", measures.norm.median),
            ("distance of used rows", audit.used.distance.median),
        ):
            curves.setdefault(name, []).append(value)
    for (name, values), colour, marker in zip(
        curves.items(), (COLOURS[1], COLOURS[0], GREY), ("s", "o", "^"), strict=True
    ):
        relative = np.array(values) / values[0] if values[0] else np.full(len(values), np.nan)
        shown = np.where(relative > 0, relative, np.nan)
        ax.plot(steps, shown, color=colour, marker=marker, label=name)
    logarithmic(ax)
    ax.set_xlabel("step")
    ax.set_ylabel("median, relative to the first")
    top_legend(ax, columns=1)


def _some(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return rows[np.linspace(0, len(rows) - 1, min(SHOWN, len(rows))).astype(int)]
