"""Figures of recorded training runs: how far apart unseen rows are, and the bounds on the operator's eigenvalues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ._style import COLOURS, MARKERS, logarithmic, top_legend, unity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..trajectories import LinearRuns
    from ..trajectories._runs import Curvature

DOTS = 40
"""Dots drawn of one series; more would run together."""
NAMED = 4
"""Pairs with a colour and an entry in the legend each; more are drawn alike."""


def shrinkage(ax: Axes, ratio_ax: Axes, runs: LinearRuns, *, head: int = 0) -> None:
    """The distance of every unseen pair, relative to its start, against the number of steps (claim ``trajectory``).

    Black line: the product of the decay factors ``prod (1 - eta_t lam_t)``, an upper bound for all pairs at once since
    distances are relative. Dashed: the lower bound ``prod (1 - eta_t (lam_t + T_t))`` with T the largest measured
    ``tr M`` of the pairs; drawn as far as every step was recorded and every factor is >= 0. Ratio panel: the distance
    over the upper product, of each stretch of steps the largest, so that no step above the bound is left out.

    Pairs that start at distance 0 are left out. Raises :class:`InputError` if ``head`` is not a recorded head, or
    nothing was recorded.
    """
    index = check_head(runs, head)
    if not runs.config.plain:
        raise InputError(
            f"the run was trained by {runs.config.optimizer} with momentum {runs.config.momentum}: its "
            "bounds are those of gradient descent; simulate with optimizer sgd and no momentum"
        )
    if not runs.bounded:
        raise InputError(
            "the run follows labels that are targets: its bounds are those of unseen labels; "
            "simulate without --rare"
        )
    states, product = runs.states, runs.decay_product[index]
    start = runs.distance[index, 0]
    if not (start > 0).any():
        raise InputError(f"head {head}: the unseen rows start equal; there is no distance to draw")
    relative = np.divide(
        runs.distance[index], start, out=np.full_like(runs.distance[index], np.nan), where=start > 0
    )
    ax.plot(states, product, color="black", label=r"upper bound $\prod(1-\eta\lambda)$", zorder=3)
    lower = _lower_product(runs, index)
    if lower is not None and len(lower) > 1:
        ax.plot(
            states[: len(lower)],
            lower,
            color="black",
            linestyle="--",
            linewidth=0.9,
            label=r"lower bound $\prod(1-\eta(\lambda+T))$",
            zorder=3,
        )
    pairs = [p for p in range(len(runs.pairs)) if start[p] > 0]
    for p in pairs:
        look = _look(p, len(pairs))
        u, v = runs.pairs[p]
        named = len(pairs) <= NAMED
        label = f"labels {u}, {v}" if named else f"{len(pairs)} pairs" if p == pairs[0] else None
        shown = _evenly(len(states))
        ax.plot(states[shown], relative[shown, p], label=label, **look)
        ratio = np.divide(
            relative[:, p], product, out=np.full(len(states), np.nan), where=product > 0
        )
        worst = _largest_of_stretches(ratio)
        ratio_ax.plot(states[worst], ratio[worst], **look)
    # A lower bound far below what is measured leaves the picture, rather than flattening the rest.
    bottom = np.nanmin(relative) / 3
    if lower is not None and bottom > 0 and lower[-1] < bottom:
        ax.set_ylim(bottom=bottom)
    logarithmic(ax)
    ax.set_ylabel(r"distance $|D_t|\,/\,|D_0|$")
    unity(ratio_ax)
    ratio_ax.set_ylabel("ratio to\nupper bound")
    ratio_ax.set_xlabel("step $t$")
    top_legend(ax)


def curvatures(ax: Axes, runs: LinearRuns, *, head: int = 0) -> None:
    """The three bounds T on M's largest eigenvalue against the step, from sharp to crude.

    Measured: ``tr M`` from the probabilities, the largest of the pairs; from the loss alone: ``r^2 (1 - exp(-CE))/2``;
    from the norm alone: ``r^2/2``, black. Dashed: the largest T that ``contraction``'s condition
    ``eta (2 lam + T) <= 2`` allows, where that is positive.

    Raises :class:`InputError` if ``head`` is not a recorded head, or nothing was recorded.
    """
    index = check_head(runs, head)
    steps = runs.recorded
    eta, lam = runs.step_size[index], runs.weight_decay[index]
    allowed = np.divide(2, eta, out=np.full_like(eta, np.nan), where=eta > 0) - 2 * lam
    if (allowed > 0).any():
        allowed = np.where(allowed > 0, allowed, np.nan)
        ax.plot(
            steps, allowed, color="black", linestyle="--", linewidth=0.9,
            label=r"most allowed $2/\eta-2\lambda$",
        )  # fmt: skip
    norm = runs.curvature("norm")[index].max(-1)
    ax.plot(steps, norm, color="black", label=r"norm $r^2/2$")
    shown = _evenly(len(steps))
    series: tuple[tuple[Curvature, str], ...] = (
        ("loss", r"loss $r^2(1-e^{-\mathrm{CE}})/2$"),
        ("measured", r"measured $\mathrm{tr}\,M$"),
    )
    for k, (kind, label) in enumerate(series):
        values = runs.curvature(kind)[index].max(-1)
        ax.plot(steps[shown], values[shown], label=label, **_dots(k))
    logarithmic(ax)
    ax.set_ylabel("curvature bound $T$")
    ax.set_xlabel("step $t$")
    top_legend(ax)


def check_head(runs: LinearRuns, head: Any) -> int:
    """``head`` if it is the number of a recorded head. Raises :class:`InputError`."""
    if (
        isinstance(head, bool)
        or not isinstance(head, (int, np.integer))
        or not 0 <= head < runs.heads
    ):
        raise InputError(f"head {head!r} is not recorded; heads run from 0 to {runs.heads - 1}")
    if not len(runs.recorded) or not len(runs.pairs):
        raise InputError("the run has no recorded steps; simulate again with record_every=1")
    return int(head)


def _lower_product(runs: LinearRuns, head: int) -> np.ndarray | None:
    """The lower product at the states, up to the first negative factor; None if steps between records are unknown."""
    if not np.array_equal(runs.states, np.arange(len(runs.recorded) + 1)):
        return None
    factor = runs.lower_factor("measured")[head].min(-1)
    negative = np.flatnonzero(factor < 0)
    length = negative[0] if len(negative) else len(factor)
    product = np.concatenate([[1.0], np.cumprod(factor[:length])])
    return product[product > 0]


def _evenly(count: int) -> np.ndarray:
    """Indices of at most DOTS of ``count`` entries, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, DOTS)).round().astype(int))


def _largest_of_stretches(ratio: np.ndarray) -> np.ndarray:
    """Of each of at most DOTS stretches of entries the index of the largest, and the last index."""
    stretches = np.array_split(np.arange(len(ratio)), min(len(ratio), DOTS))
    known = [s[np.isfinite(ratio[s])] for s in stretches]
    largest = [s[np.argmax(ratio[s])] for s in known if len(s)]
    return np.array(sorted({*largest, *known[-1][-1:]}), dtype=int)


def _dots(k: int) -> dict[str, Any]:
    """The look of the k-th series of measurements."""
    return {
        "linestyle": "none",
        "color": COLOURS[k % len(COLOURS)],
        "marker": MARKERS[k % len(MARKERS)],
        "markeredgewidth": 0,
    }


def _look(pair: int, pairs: int) -> dict[str, Any]:
    return _dots(pair) if pairs <= NAMED else {**_dots(0), "alpha": 0.5, "markersize": 2.5}
