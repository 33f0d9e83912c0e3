"""Figure of a counterexample: what happens to the two rows, and the two sides of the claim."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from ._distances import distances_of_reset, distances_of_run
from ._rows import before_and_after
from ._style import AFTER
from ._vectors import (
    pair_of_vectors,
    probabilities,
    sides_as_lengths,
    sides_as_vectors,
    two_pairs,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..examination import Witness


def counterexample(ax: Axes, bar_ax: Axes, witness: Witness) -> None:
    """A witness, so that one sees why it refutes its claim: lhs is above rhs in some part. Bars: lhs and rhs of every part.

    A step: rows u (circles) and v (squares) before (open) and after (filled), ``D`` and ``D+`` as arrows from v to u; on a
    line for n = 1, else in the plane of D and D+, where both arrows have their true length. If lhs is ``|D+|``, the dashed
    mark (a circle in the plane) shows how far from v the bound lets u be. Rows after the step are those of the variant that
    the claim speaks of; where none fits, ``D`` and both sides are drawn, as vectors or as lengths.

    A run: ``|D_t|`` at each step against the product of the decay factors, or with the redraws of rows against ``q^S d``;
    if lhs is the distance of a cosine from 1, the rows before and after. Vectors: two arrows. A head: its probabilities.
    Another domain: the bars alone.
    """
    claim, instance = witness.claim, witness.instance
    with np.errstate(all="ignore"):
        left = np.ravel(np.asarray(claim.lhs(instance), dtype=float))
        right = np.ravel(np.asarray(claim.rhs(instance), dtype=float))
    _bars(bar_ax, left, right, claim.parts)
    with np.errstate(all="ignore"):
        _drawers()(instance, ax, left, right)


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
    shown = np.concatenate([left, right])
    shown = shown[np.isfinite(shown)]
    longest, lowest = shown.max(initial=0.0), shown.min(initial=0.0)
    ax.set_xlim(right=max(1.75 * longest, -0.75 * lowest, 1e-300))
    ax.tick_params(axis="y", length=0)
    ax.set_xticks([])
    for side_name in ("left", "bottom"):
        ax.spines[side_name].set_visible(False)


def _step(step: Any, ax: Axes, left: np.ndarray, right: np.ndarray) -> None:
    """Rows before and after the step; after it as the first of its variants has them whose ``|D+|`` is the left side."""
    variants = list(_variants(step))
    before, after, names = variants[0]
    bound = None
    for rows, moved, called in variants:
        if len(left) == 1 and _same(left[0], float(np.linalg.norm(moved[0] - moved[1]))):
            before, after, names = rows, moved, called
            bound = float(right[0]) if right[0] >= 0 else None
            break
    else:
        difference = before[0] - before[1]
        if len(variants) > 1 and left.shape == difference.shape and len(left) > 1:
            sides_as_vectors(ax, difference, left, right)
            return
        if len(variants) > 1 and len(left) == 1:
            sides_as_lengths(ax, difference, float(left[0]), float(right[0]))
            return
    before_and_after(ax, before, after, bound, names=names)


def _same(a: float, b: float) -> bool:
    return bool(np.isclose(a, b, rtol=1e-9, atol=0))


Variant = tuple[np.ndarray, np.ndarray, tuple[str, ...]]
"""Rows u, v before a step and after it [2, n], and the names of their coordinates if two need their own."""


def _variants(step: Any) -> Iterator[Variant]:
    """The ways that rows u and v may go in a step: several where the instance holds the settings of several tricks."""
    from .. import losses
    from ..instances import BiasedStep, LossStep

    def moved(rows: Any, of: Any = step) -> Variant:
        return np.asarray(of.weights)[0, :2], np.asarray(rows)[0, :2], ()

    if isinstance(step, BiasedStep):
        whole = step.augmented
        before, after, _ = moved(whole.next_weights, whole)
        names = ("$w$", "$b$")
        yield before, after, names
        decayed = float(step.step_size[0] * step.weight_decay[0]) * before[:, -1]
        undecayed = after.copy()
        undecayed[:, -1] += decayed
        yield before, undecayed, names
        return
    yield moved(step.next_weights)
    if isinstance(step, LossStep):
        scale = step.step_size[..., None, None]
        kept = step.weights * step.decay[..., None, None]
        for gradient in (
            losses.clip_values(step.ops, step.gradient, step.clip),
            losses.clip_rows(step.ops, step.gradient, step.clip),
            step.clipped_by_norm[0],
            step.smoothed,
            step.tempered,
            step.masked,
        ):
            yield moved(kept - scale * gradient)


def _reset(run: Any, ax: Axes, left: np.ndarray, right: np.ndarray) -> None:
    """The run of the two that the right side speaks of."""
    least = float(np.min(np.asarray(run.distances(run.one_at_a_time), dtype=float)))
    distances_of_reset(ax, run, late=len(right) == 1 and _same(float(right[0]), least))


def _steady(steady: Any, ax: Axes, left: np.ndarray, right: np.ndarray) -> None:
    """Distances over the run; of a claim about the cosine the rows, whose angle is what it speaks of."""
    from ..instances import cosine_distance

    u, v = steady.last_pair
    angle = float(cosine_distance(steady.ops, u, v, steady.last_difference)[0])
    if len(left) == 1 and _same(left[0], angle):
        two_pairs(ax, steady.weights[0, :2], np.stack([u[0], v[0]]))
    else:
        distances_of_run(ax, steady.run)


def _drawers() -> Any:
    """The function that draws an instance beside the bars, by the instance's type."""
    from ..instances import Head, ResetRun, Run, SteadyRun, Step, Vectors

    @singledispatch
    def draw(instance: Any, ax: Axes, left: np.ndarray, right: np.ndarray) -> None:
        ax.set_axis_off()

    draw.register(Step, _step)
    draw.register(ResetRun, _reset)
    draw.register(Run, lambda run, ax, _l, _r: distances_of_run(ax, run))
    draw.register(SteadyRun, _steady)
    draw.register(Vectors, lambda two, ax, _l, _r: pair_of_vectors(ax, two.first[0], two.second[0]))
    draw.register(Head, lambda head, ax, _l, _r: probabilities(ax, head))
    return draw
