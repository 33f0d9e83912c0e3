"""The distance of rows u and v over the steps of a short run, with the claim's bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._style import AFTER, GREY, top_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..instances import ResetRun, Run

MANY = 8
"""Steps that are all named at the axis; of more, every second, third and so on."""


def distances_of_run(ax: Axes, run: Run) -> None:
    """``|D_t|`` against the products of the decay factors and of the lower factors."""
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
    _axes_of_steps(ax, steps)
    top_legend(ax, columns=1)


def distances_of_reset(ax: Axes, run: ResetRun, *, late: bool) -> None:
    """``|D_t|`` over a run in which rows are redrawn, v half a period after u if ``late``; fresh rows make it jump. The
    black line is ``q^S d``, below which it should not fall."""
    steps = run.one_at_a_time if late else run.together
    distance = np.asarray(run.distances(steps), dtype=float)[0].reshape(-1, 2)
    times = np.arange(len(steps) + 1)
    bound = float(run.power()[0] * run.distance[0])
    ax.axhline(bound, color="black", label="$q^S d$")
    for t, ends in enumerate(distance):
        label = "$|D_t|$" if t == 0 else None
        ax.plot([t, t + 1], ends, color=AFTER, marker="o", linewidth=0.9, label=label, zorder=3)
    for t in times[:-1]:
        drawn = [name for k, name in enumerate("uv") if run.is_drawn(int(t), k, int(late))[0]]
        if drawn:
            ax.axvline(float(t), color=GREY, linestyle=":", linewidth=0.8, zorder=1)
            names = ", ".join(f"${name}$" for name in drawn)
            ax.annotate(
                f"new {names}",
                (float(t), 1.0),
                (2, -1),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                va="top",
                fontsize=8,
            )
    _axes_of_steps(ax, times)
    ax.set_ylim(bottom=0 if bound >= 0 else None)
    ax.margins(y=0.2)
    top_legend(ax)


def _axes_of_steps(ax: Axes, steps: np.ndarray) -> None:
    ax.set_xticks(steps if len(steps) <= MANY else steps[:: -(-len(steps) // MANY)])
    ax.set_xlabel("step $t$")
    ax.set_ylabel("distance $|D_t|$")
    ax.margins(x=0.08)
