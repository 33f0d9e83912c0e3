"""Figure of one gradient step: its factor against the step size, between the bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ._style import COLOURS, GREY, MARKERS, top_legend, unity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..instances import Step

FINE = 401
"""Step sizes at which bounds are drawn."""
DOTS = 41
"""Step sizes at which the factor is measured."""
RATIO_TOP = 1.6
"""The ratio panel ends here; what lies above is drawn at its edge, as a triangle."""


def one_step(ax: Axes, ratio_ax: Axes, step: Step, *, largest: float | None = None) -> None:
    """The one-step factor ``|D+|/|D|`` of a step instance (a float batch of one) against the step size eta.

    Dots: the step taken anew at each eta. Black: ``1 - eta lam`` as far as ``contraction``'s condition
    ``eta (2 lam + T) <= 2`` goes (vertical line), and beyond it ``max(|c|, |c - eta T|)`` (claim ``step_factor``);
    dashed: ``1 - eta (lam + T)``, a lower bound. Grey: ``1 - eta (lam - r^2 pbar)`` as printed
    (claim ``paper_lemma_4_1``), the step sizes at which the step refutes it shaded. r, pbar and T are the instance's own.
    Ratio panel: the factor over the general bound, and over the printed one.

    ``largest`` is the largest eta, by default a little beyond the condition's end and the printed bound's failure.
    Raises :class:`InputError` for a batch of several, for equal rows u and v, or where no range of eta can be chosen.
    """
    if len(step) != 1:
        raise InputError(
            f"one_step takes one instance, not {len(step)}; choose one with step.take(i)"
        )
    distance = float(step.ops.norm(step.difference)[0])
    if distance == 0:
        raise InputError(
            "rows u and v are equal: the factor |D+|/|D| is not defined; choose another step"
        )
    lam, curvature = float(step.weight_decay[0]), float(step.curvature[0])
    square = float(step.radius[0]) ** 2 * float(step.pbar[0])  # r^2 pbar
    end = 2 / (2 * lam + curvature) if 2 * lam + curvature > 0 else np.inf
    top = _largest(lam, end, square, float(step.trace[0])) if largest is None else float(largest)
    if not 0 < top < np.inf:
        raise InputError(
            f"largest step size {top!r} cannot be drawn; give largest=, a positive number"
        )

    def factor(eta: np.ndarray) -> np.ndarray:
        # M does not depend on eta: one instance, broadcast against many step sizes.
        return step.ops.norm(replace(step, step_size=eta).next_difference) / distance

    def general(eta: np.ndarray) -> np.ndarray:
        c = 1 - eta * lam
        return np.maximum(np.abs(c), np.abs(c - eta * curvature))

    def printed(eta: np.ndarray) -> np.ndarray:
        return 1 - eta * (lam - square)

    fine, eta = np.linspace(0, top, FINE), np.linspace(0, top, DOTS)
    inside, beyond = fine[fine <= end], fine[fine >= end]
    ax.plot(inside, 1 - inside * lam, color="black", label=r"$1-\eta\lambda$")
    if len(beyond):
        ax.plot(beyond, general(beyond), color="black", linestyle="-.", linewidth=0.9,
                label=r"$\max(|c|,|c-\eta T|)$")  # fmt: skip
        for panel in (ax, ratio_ax):
            panel.axvline(end, color="black", linestyle=":", linewidth=0.8, zorder=1)
    lower = 1 - fine * (lam + curvature)
    ax.plot(fine[lower >= 0], lower[lower >= 0], color="black", linestyle="--", linewidth=0.9,
            label=r"$1-\eta(\lambda+T)$")  # fmt: skip
    ax.plot(
        fine,
        printed(fine),
        color=GREY,
        linestyle=(0, (5, 2)),
        label=r"printed $1-\eta(\lambda-r^2\bar p)$",
    )
    measured = factor(eta)
    ax.plot(eta, measured, linestyle="none", color=COLOURS[0], marker=MARKERS[0], markeredgewidth=0,
            label="measured", zorder=3)  # fmt: skip
    _shade_failure(ax, ratio_ax, fine, factor(fine) > printed(fine) * (1 + 1e-9))

    unity(ratio_ax)
    _ratios(ratio_ax, eta, measured, printed(eta), 1, "over the printed bound")
    _ratios(ratio_ax, eta, measured, general(eta), 0, "over the general bound")
    ratio_ax.set_ylim(0, RATIO_TOP)
    ratio_ax.set_yticks([0, 0.5, 1, 1.5])
    top_legend(ratio_ax)
    highest = max(measured.max(), general(fine).max(), 1.0)
    ax.set_ylim(min(0.0, max(printed(fine).min(), -0.5 * highest)), 1.05 * highest)
    ax.set_xlim(-0.01 * top, 1.01 * top)
    ax.set_ylabel(r"one-step factor $|D^{+}|\,/\,|D|$")
    ratio_ax.set_ylabel("ratio")
    ratio_ax.set_xlabel(r"step size $\eta$")
    top_legend(ax)


def _largest(lam: float, end: float, square: float, trace: float) -> float:
    """Where the picture ends: past the condition, and past where the printed bound may fail, if that is not far."""
    # |c - eta tr M| = eta (lam + tr M) - 1 passes 1 - eta (lam - r^2 pbar) at 2/(2 lam + tr M - r^2 pbar).
    slope = 2 * lam + trace - square
    failure = 2 / slope if slope > 0 else np.inf
    ends = [x for x in (end, failure) if x < np.inf]
    if not ends:
        return 1 / max(abs(lam), square, 1.0)
    return 1.4 * max(x for x in ends if x <= 4 * min(ends))


def _shade_failure(ax: Axes, ratio_ax: Axes, fine: np.ndarray, fails: np.ndarray) -> None:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], fails, [False]]).astype(int)))
    for k, (start, stop) in enumerate(edges.reshape(-1, 2)):
        label = "printed fails" if k == 0 else None
        left, right = float(fine[start]), float(fine[stop - 1])
        ax.axvspan(left, right, color=GREY, alpha=0.22, linewidth=0, label=label)
        ratio_ax.axvspan(left, right, color=GREY, alpha=0.22, linewidth=0)


def _ratios(
    ax: Axes, eta: np.ndarray, measured: np.ndarray, bound: np.ndarray, k: int, label: str
) -> None:
    """Measured over bound; a ratio that is off the panel (or a bound <= 0) becomes a triangle at its edge."""
    positive = bound > 0
    ratio = np.divide(measured, bound, out=np.full_like(measured, np.inf), where=positive)
    ratio[(bound == 0) & (measured == 0)] = np.nan
    off = ratio > RATIO_TOP
    look: dict[str, Any] = {"linestyle": "none", "color": COLOURS[k]}
    ax.plot(
        eta[~off],
        ratio[~off],
        marker=MARKERS[k],
        markersize=2.6,
        markeredgewidth=0,
        label=label,
        **look,
    )
    ax.plot(eta[off], np.full(off.sum(), 0.95 * RATIO_TOP), marker="^", fillstyle="none", **look)
