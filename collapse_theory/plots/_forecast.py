"""The figure of a forecast: what is proved of the distance of unseen rows over the steps, and what is not a bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._style import COLOURS, GREY, logarithmic, top_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..forecast import Forecast

DEEPEST = 1e-12
"""Curves are drawn down to this share of the distance at the start."""


def forecast(ax: Axes, forecast: Forecast) -> None:
    """The distance of two unseen rows relative to its start against the number of steps.

    Black lines: the proved bounds, in exact arithmetic, and the area between them shaded. Dashed grey: the decay product
    where it is no bound. Dotted: the share of their size below which rounding lets decay take no weight. Curves end at
    1e-12.
    """
    states, upper, lower = forecast.states, forecast.upper, forecast.lower
    decay = forecast.decay_product
    if upper is not None:
        same = lower is not None and np.array_equal(upper, lower)
        ax.plot(
            states,
            _shown(upper),
            color="black",
            label="exact" if same else "upper bound",
            zorder=3,
        )
        if lower is not None and not same:
            ax.plot(
                states,
                _shown(lower),
                color="black",
                linestyle="--",
                linewidth=0.9,
                label="lower bound",
                zorder=3,
            )
            ax.fill_between(
                states,
                np.maximum(lower, DEEPEST),
                np.maximum(upper, DEEPEST),
                color=COLOURS[5],
                alpha=0.2,
                linewidth=0,
            )
    if upper is None or not np.array_equal(upper, decay):
        ax.plot(
            states,
            _shown(decay),
            color=GREY,
            linestyle="--",
            label="decay product, not a bound",
            zorder=2,
        )
    if forecast.floor.kept:
        ax.axhline(
            forecast.floor.kept,
            color=COLOURS[1],
            linestyle=":",
            label=f"{forecast.floor.dtype}: decay stops",
            zorder=2,
        )
    logarithmic(ax)
    ax.set_xlabel("step $t$")
    ax.set_ylabel(r"distance $|D_t|\,/\,|D_0|$")
    top_legend(ax, columns=1)


def _shown(curve: np.ndarray) -> np.ndarray:
    """The curve where it is above the deepest value, not drawn elsewhere."""
    return np.where(curve > DEEPEST, curve, np.nan)
