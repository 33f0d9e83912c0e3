"""Rows u and v before and after a step, as points with their difference as an arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ._style import AFTER, BEFORE, top_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def before_and_after(
    ax: Axes,
    before: np.ndarray,
    after: np.ndarray,
    bound: float | None,
    *,
    names: tuple[str, ...] = (),
) -> None:
    """Rows u, v before and after [2, n]; ``bound``, if given, is how far from v+ the claim lets u+ be. ``names`` are those
    of the coordinates, if two of them are drawn as they stand."""
    if not (np.isfinite(before).all() and np.isfinite(after).all()):
        raise InputError("the witness's rows are too large to draw; shrink it first")
    moved = _own_frame(before, after)
    if moved:
        before, after = before - before[1], after - after[1]
    if before.shape[1] == 1:
        _line(ax, before[:, 0], after[:, 0], bound, moved=moved)
    else:
        _plane(ax, before, after, bound, names or ("$w_1$", "$w_2$"), moved=moved)


def _own_frame(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether rows lie so far out that their differences would not be seen; then each pair is drawn relative to its v."""
    points = np.concatenate([before, after])
    span = np.ptp(points, axis=0).max()
    longest = max(np.linalg.norm(before[0] - before[1]), np.linalg.norm(after[0] - after[1]))
    return bool(span > 8 * longest)


def _line(
    ax: Axes, before: np.ndarray, after: np.ndarray, bound: float | None, *, moved: bool
) -> None:
    for height, rows, colour, name in (
        (1.0, before, BEFORE, "$D$"),
        (0.0, after, AFTER, "$D^{+}$"),
    ):
        ax.axhline(height, color="black", linewidth=0.4, zorder=0)
        _pair(
            ax, np.array([[rows[0], height], [rows[1], height]]), colour, name, filled=height == 0
        )
    if bound is not None:
        ends = after[1] + bound * np.array([-1, 1])
        ax.plot(
            ends,
            [-0.45, -0.45],
            color="black",
            linestyle="--",
            linewidth=0.9,
            marker="|",
            markersize=7,
        )
        ax.annotate("bound for $u^{+}$", (ends.mean(), -0.45), (0, -4), textcoords="offset points",
                    ha="center", va="top", fontsize=8)  # fmt: skip
    ax.set_yticks([1, 0], ["before", "after"])
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_ylim(-0.95, 1.5)
    ax.margins(x=0.12)
    ax.set_xlabel("row relative to $v$" if moved else "row $w$")


def _plane(
    ax: Axes,
    before: np.ndarray,
    after: np.ndarray,
    bound: float | None,
    labels: tuple[str, ...],
    *,
    moved: bool,
) -> None:
    if before.shape[1] != 2:
        basis = plane_of(before[0] - before[1], after[0] - after[1], after[1] - before[1])
        before, after = before @ basis, after @ basis
        labels = ("along $D$", "across $D$")
    middle, later = before.mean(axis=0), after.mean(axis=0)
    length = np.linalg.norm(before[0] - before[1])
    apart = np.linalg.norm(middle - later) > 0.1 * length
    sides = (later, middle)
    if not apart:  # names on either side of arrows that lie on one another
        across = np.array([before[0, 1] - before[1, 1], before[1, 0] - before[0, 0]])
        sides = (middle + across, middle - across)
    for rows, away, colour, name in (
        (before, sides[0], BEFORE, "$D$"),
        (after, sides[1], AFTER, "$D^{+}$"),
    ):
        _pair(ax, rows, colour, name, filled=rows is after, away=away, beside=not apart)
    if bound is not None:
        turn = np.linspace(0, 2 * np.pi, 181)
        ax.plot(after[1, 0] + bound * np.cos(turn), after[1, 1] + bound * np.sin(turn), color="black",
                linestyle="--", linewidth=0.9, label="bound for $u^{+}$")  # fmt: skip
        top_legend(ax)
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.2)
    ax.set_xlabel(labels[0] + (" (relative to $v$)" if moved else ""))
    ax.set_ylabel(labels[1])


def plane_of(*vectors: np.ndarray) -> np.ndarray:
    """Two orthonormal columns [n, 2] that span the first two of the vectors; if these are parallel, a later one or an axis
    helps."""
    columns: list[np.ndarray] = []
    for vector in (*vectors, *np.eye(len(vectors[0]))):
        rest = vector.astype(float)
        for column in columns:
            rest = rest - (rest @ column) * column
        size = np.linalg.norm(rest)
        if size > 1e-9 * max(np.linalg.norm(vector), 1e-300):
            columns.append(rest / size)
        if len(columns) == 2:
            break
    return np.stack(columns, axis=-1)


def _pair(
    ax: Axes,
    rows: np.ndarray,
    colour: str,
    name: str,
    *,
    filled: bool,
    away: np.ndarray | None = None,
    beside: bool = False,
) -> None:
    """Rows u and v [2, 2] and the arrow from v to u, named on the side ``away`` from a point (None: a line, below); u and v
    are named beyond the arrow's ends, or, if ``beside``, on the arrow's side."""
    face = colour if filled else "white"
    point: dict[str, Any] = {
        "linestyle": "none",
        "color": colour,
        "markerfacecolor": face,
        "markersize": 5.5,
    }
    ax.plot(*rows[0], marker="o", zorder=4, **point)
    ax.plot(*rows[1], marker="s", zorder=4, **point)
    plus = "^{+}" if filled else ""
    length = float(np.linalg.norm(rows[0] - rows[1]))
    along = (rows[0] - rows[1]) / length if length > 0 else np.array([1.0, 0.0])
    across = np.array([0.0, -1.0])
    if away is not None:
        across = np.array([along[1], -along[0]])
        across *= 1 if across @ (rows.mean(axis=0) - away) >= 0 else -1
    if length > 0:
        arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.4, "shrinkA": 3, "shrinkB": 3}
        ax.annotate("", tuple(rows[0]), tuple(rows[1]), arrowprops=arrow, zorder=3)
        _name(ax, name, rows.mean(axis=0), 9 * across, color=colour)
    for row, letter, sign in zip(rows, "uv", (1, -1), strict=True):
        offset = 10 * sign * along + (9 * across if beside else 0.0)
        if away is None:
            offset = np.array([0.0, 10.0])
        _name(ax, f"${letter}{plus}$", row, offset, fontsize=8)


def _name(ax: Axes, text: str, place: np.ndarray, offset: np.ndarray, **look: Any) -> None:
    where, shift = (float(place[0]), float(place[1])), (float(offset[0]), float(offset[1]))
    ax.annotate(text, where, shift, textcoords="offset points", ha="center", va="center", **look)
