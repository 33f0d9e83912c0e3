"""Vectors as arrows from the origin, lengths side by side, and the probabilities of a head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ._rows import plane_of
from ._style import AFTER, BEFORE, COLOURS, GREY, top_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..instances import Head

MOST_LABELS = 8
"""Labels of a head that get a bar each; the rest share one."""

Arrow = tuple[str, np.ndarray, str, str]
"""An arrow's name, vector [n], colour and line style."""


def arrows(ax: Axes, drawn: Sequence[Arrow]) -> None:
    """Arrows from the origin: in the plane of the first two, on a line above one another if n = 1."""
    vectors = [np.asarray(vector, dtype=float) for _, vector, _, _ in drawn]
    flat = len(vectors[0]) == 1
    if flat:
        heights = np.arange(len(vectors))[::-1]
        starts = [np.array([0.0, h]) for h in heights]
        ends = [np.array([v[0], h]) for v, h in zip(vectors, heights, strict=True)]
    else:
        basis = np.eye(2) if len(vectors[0]) == 2 else plane_of(*vectors)
        starts = [np.zeros(2) for _ in vectors]
        ends = [v @ basis for v in vectors]
    for k, ((name, _, colour, look), start, end) in enumerate(
        zip(drawn, starts, ends, strict=True)
    ):
        # Invisible points, for an annotation does not widen the axes.
        ax.plot(*np.stack([start, end]).T, linestyle="none")
        ax.plot([], [], color=colour, linestyle=look, label=name)
        if np.any(end != start):
            arrow = {
                "arrowstyle": "-|>",
                "color": colour,
                "linestyle": look,
                "linewidth": 1.4,
                "shrinkA": 0,
                "shrinkB": 0,
            }
            ax.annotate(
                "", (end[0], end[1]), (start[0], start[1]), arrowprops=arrow, zorder=4 - 0.1 * k
            )  # the first on top
        else:
            ax.plot(*end, marker="o", color=colour, zorder=3)
    top_legend(ax, columns=len(drawn))
    ax.margins(0.15)
    if flat:
        ax.axvline(0, color="black", linewidth=0.6, zorder=1)
        ax.set_ylim(-0.7, len(drawn) - 0.3)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        return
    ax.plot(0, 0, marker="+", color="black", zorder=5)
    ax.set_aspect("equal", adjustable="datalim")


def pair_of_vectors(ax: Axes, first: np.ndarray, second: np.ndarray) -> None:
    """Vectors a and b."""
    arrows(ax, (("$a$", first, BEFORE, "-"), ("$b$", second, AFTER, "-")))


def two_pairs(ax: Axes, before: np.ndarray, after: np.ndarray) -> None:
    """Rows u and v [2, n] before a run and after it, in the plane of the latter: the angle between them is the true one."""
    looks = (("T", after, AFTER), ("0", before, BEFORE))
    arrows(
        ax,
        [
            (f"${letter}_{when}$", row, colour, look)
            for when, rows, colour in looks
            for letter, row, look in zip("uv", rows, ("-", "--"), strict=True)
        ],
    )


def sides_as_vectors(ax: Axes, difference: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """``D`` before, and both sides of an identity between vectors."""
    arrows(
        ax,
        (
            ("$D$", difference, BEFORE, "-"),
            ("lhs", left, AFTER, "-"),
            ("rhs", right, "black", "--"),
        ),
    )


def sides_as_lengths(ax: Axes, difference: np.ndarray, left: float, right: float) -> None:
    """``|D|`` before and both sides, as lengths below one another."""
    length = float(np.linalg.norm(difference))
    rows = (
        ("$|D|$", length, BEFORE, "-"),
        ("lhs", left, AFTER, "-"),
        ("rhs", right, "black", "--"),
    )
    arrows(ax, tuple((name, np.array([x]), colour, look) for name, x, colour, look in rows))
    ax.set_xlabel("length")


def probabilities(ax: Axes, head: Head) -> None:
    """The probabilities of u, v, the further unseen labels (hatched) and the seen ones; many share a bar."""
    p, unseen = np.asarray(head.probabilities, dtype=float)[0], int(head.unseen[0])
    names = ["$u$", "$v$", *(f"$w_{{{k + 1}}}$" for k in range(2, len(p)))]
    if len(p) > MOST_LABELS:
        groups = [("$u$", p[:1]), ("$v$", p[1:2]), ("unseen", p[2:unseen]), ("seen", p[unseen:])]
        groups = [(name, share) for name, share in groups if len(share)]
        names, p = [name for name, _ in groups], np.array([share.sum() for _, share in groups])
        unseen = len(p) - 1
    colours = [COLOURS[0], COLOURS[1], *[GREY] * (len(p) - 2)]
    hatches = ["" if k < 2 or k >= unseen else "////" for k in range(len(p))]
    ax.bar(names, p, color=colours, edgecolor="black", linewidth=0.6, hatch=hatches)
    for k, x in enumerate(p):
        ax.annotate(f"{x:.3g}", (k, x), (0, 2), textcoords="offset points", ha="center", fontsize=8)
    ax.set_ylim(0, 1.15 * max(p.max(), 1e-300))
    ax.set_ylabel("probability")
    ax.tick_params(axis="x", length=0)
