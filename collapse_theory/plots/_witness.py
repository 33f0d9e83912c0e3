"""Figure of a counterexample: the two rows before and after, and the two sides of the claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ._style import COLOURS, top_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..examination import Witness
    from ..instances import Run, Step

BEFORE, AFTER = COLOURS[0], COLOURS[1]


def counterexample(ax: Axes, bar_ax: Axes, witness: Witness) -> None:
    """A witness, so that one sees why it refutes its claim: lhs is above rhs in some part.

    A step: rows u (circles) and v (squares) before (open) and after (filled), ``D`` and ``D+`` as arrows from v to u; on a
    line for n = 1, else in the plane of D and D+, where both arrows have their true length. If lhs is ``|D+|``, the dashed
    mark (a circle in the plane) shows how far from v the bound lets u be. A run: ``|D_t|`` at each step against
    the product of the decay factors. Another domain: the bars alone. Bars: lhs and rhs of every part.
    """
    from ..instances import Run, Step

    claim, instance = witness.claim, witness.instance
    with np.errstate(all="ignore"):
        left = np.ravel(np.asarray(claim.lhs(instance), dtype=float))
        right = np.ravel(np.asarray(claim.rhs(instance), dtype=float))
    _bars(bar_ax, left, right, claim.parts)
    if isinstance(instance, Step):
        length = float(instance.ops.norm(instance.next_difference)[0])
        is_length = len(left) == 1 and np.isclose(left[0], length, rtol=1e-9, atol=0)
        _rows(ax, instance, float(right[0]) if is_length and right[0] >= 0 else None)
    elif isinstance(instance, Run):
        _run(ax, instance)
    else:
        ax.set_axis_off()


def _bars(ax: Axes, left: np.ndarray, right: np.ndarray, parts: tuple[str, ...]) -> None:
    """A pair of horizontal bars for each part, the first on top."""
    place = np.arange(len(left)) * 3.2
    looks = (
        (left, {"color": AFTER, "edgecolor": "black", "linewidth": 0.6}),
        (right, {"color": "none", "edgecolor": "black", "linewidth": 0.9, "hatch": "////"}),
    )
    for k, (side, look) in enumerate(looks):
        drawn = np.where(np.isfinite(side), side, 0.0)
        ax.barh(place + k, drawn, height=0.8, **look)
        for y, x, value in zip(place + k, drawn, side, strict=True):
            ax.annotate(
                f"{value:.3g}",
                (max(x, 0.0), y),
                (3, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
    ax.set_yticks(np.stack([place, place + 1], -1).ravel(), ["lhs", "rhs"] * len(left))
    for y, part in zip(place, parts, strict=False):
        ax.annotate(
            part,
            (0, y - 0.62),
            (3, 0),
            textcoords="offset points",
            va="bottom",
            fontsize=8,
            fontstyle="italic",
        )
    ax.axvline(0, color="black", linewidth=0.6)
    ax.set_ylim(place[-1] + 1.7, -1.6 if parts else -0.7)
    # Room for the numbers at the bars' ends.
    ax.set_xlim(
        right=1.75
        * max(
            left[np.isfinite(left)].max(initial=0), right[np.isfinite(right)].max(initial=0), 1e-300
        )
    )
    ax.tick_params(axis="y", length=0)
    ax.set_xticks([])
    for side_name in ("left", "bottom"):
        ax.spines[side_name].set_visible(False)


def _rows(ax: Axes, step: Step, bound: float | None) -> None:
    """Rows u, v before and after, as points, with their differences as arrows."""
    before = np.stack([step.weights[0, 0], step.weights[0, 1]])
    after = np.stack([step.next_weights[0, 0], step.next_weights[0, 1]])
    if not (np.isfinite(before).all() and np.isfinite(after).all()):
        raise InputError("the witness's rows are too large to draw; shrink it first")
    moved = _own_frame(before, after)
    if moved:
        before, after = before - before[1], after - after[1]
    if before.shape[1] == 1:
        _line(ax, before[:, 0], after[:, 0], bound, moved=moved)
    else:
        _plane(ax, before, after, bound, moved=moved)


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
    ax: Axes, before: np.ndarray, after: np.ndarray, bound: float | None, *, moved: bool
) -> None:
    if before.shape[1] == 2:
        labels = ("$w_1$", "$w_2$")
    else:
        basis = _basis(before[0] - before[1], after[0] - after[1], after[1] - before[1])
        before, after = before @ basis, after @ basis
        labels = ("along $D$", "across $D$")
    for rows, others, colour, name in (
        (before, after, BEFORE, "$D$"),
        (after, before, AFTER, "$D^{+}$"),
    ):
        _pair(ax, rows, colour, name, filled=rows is after, away=others.mean(axis=0))
    if bound is not None:
        turn = np.linspace(0, 2 * np.pi, 181)
        ax.plot(after[1, 0] + bound * np.cos(turn), after[1, 1] + bound * np.sin(turn), color="black",
                linestyle="--", linewidth=0.9, label="bound for $u^{+}$")  # fmt: skip
        top_legend(ax)
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.2)
    ax.set_xlabel(labels[0] + (" (relative to $v$)" if moved else ""))
    ax.set_ylabel(labels[1])


def _basis(first: np.ndarray, second: np.ndarray, third: np.ndarray) -> np.ndarray:
    """Two orthonormal columns [n, 2] that span the first two vectors; if these are parallel, the third or an axis helps."""
    columns: list[np.ndarray] = []
    for vector in (first, second, third, *np.eye(len(first))):
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
) -> None:
    """Rows u and v [2, 2] and the arrow from v to u, named on the side ``away`` from a point (None: a line, below)."""
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
        _name(
            ax,
            f"${letter}{plus}$",
            row,
            np.array([0.0, 10.0]) if away is None else 10 * sign * along,
            fontsize=8,
        )


def _name(ax: Axes, text: str, place: np.ndarray, offset: np.ndarray, **look: Any) -> None:
    where, shift = (float(place[0]), float(place[1])), (float(offset[0]), float(offset[1]))
    ax.annotate(text, where, shift, textcoords="offset points", ha="center", va="center", **look)


def _run(ax: Axes, run: Run) -> None:
    differences = [step.difference[0] for step in run.steps] + [run.last_difference[0]]
    distance = np.array([float(run.ops.norm(d)) for d in differences])
    upper = np.concatenate([[1.0], np.cumprod(run.decay[0])]) * distance[0]
    factor = 1 - run.step_size[0] * (run.weight_decay[0] + run.curvature[0])
    lower = np.concatenate([[1.0], np.cumprod(np.maximum(factor, 0))]) * distance[0]
    steps = np.arange(len(distance))
    ax.plot(steps, upper, color="black", label=r"$\prod(1-\eta\lambda)|D_0|$")
    ax.plot(
        steps,
        lower,
        color="black",
        linestyle="--",
        linewidth=0.9,
        label=r"$\prod\max(0,1-\eta(\lambda+T))|D_0|$",
    )
    ax.plot(steps, distance, linestyle="none", color=AFTER, marker="o", label="$|D_t|$", zorder=3)
    ax.set_xticks(steps if len(steps) <= 8 else steps[:: -(-len(steps) // 8)])
    ax.set_xlabel("step $t$")
    ax.set_ylabel("distance $|D_t|$")
    ax.margins(x=0.08)
    top_legend(ax, columns=1)
