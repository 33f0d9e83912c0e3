"""The numbers, the table and the figure of `stdlib_bytes`."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from collapse_theory.plots import COLOURS, MARKERS, PAGE, style, write
from simulations.stdlib_bytes import (
    BYTES,
    INVALID,
    KINDS,
    OPTIMIZERS,
    Floats,
    Study,
    ball,
    lower,
    product,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw", "facts", "panel", "table"]

TITLES = {"sgd": "SGD", "adamw": "AdamW"}


def facts(found: Study) -> dict[str, Any]:
    """The study in numbers, JSON-ready; medians are over pairs and seeds."""
    config = found.config
    present = np.unique(found.runs["sgd"].labels)
    sgd, adamw = found.runs["sgd"], found.runs["adamw"]
    slack = 4 * sgd.rounding
    start = float(sgd.distance[:, 0].max())  # no entry of a D_0 is larger
    out: dict[str, Any] = {
        "status": "observed; the bounds beside it are proved",
        "python": platform.python_version(),
        "text": {"bytes": config.size, "files": found.files, "sha256": found.sha256},
        "labels": {
            "targets": len(present),
            "never in UTF-8": len(INVALID),
            "not in this text": BYTES - len(present) - len(INVALID),
        },
        "dim": config.dim,
        "context": config.context,
        "radius": found.radius,
        "longest_feature": float(sgd.radius.max()),
        "steps": config.steps,
        "batch_size": config.batch_size,
        "seeds": list(config.seeds),
        "sgd_bounds": {
            "least_margin": float((2 - sgd.step_size * (2 * sgd.weight_decay + found.radius**2 / 2)).min()),
            "steps_of_pairs": int(sgd.ratio.size),
            "above_decay": int((sgd.ratio > sgd.decay[:, :, None] + slack).sum()),
            "below_lower": int((sgd.ratio < sgd.lower_factor("measured") - slack).sum()),
            "lower_at_end": float(np.median(lower(sgd)[:, -1])),
        },
        "adamw_ball_at_end": float(ball(adamw, config.dim, start)[-1]),
        "runs": [],
    }  # fmt: skip
    for name, runs in found.runs.items():
        for kind in KINDS:
            chosen = found.pairs(kind)
            distance = runs.distance[:, :, chosen]
            norms = runs.norms[:, :, np.unique(runs.pairs[chosen])]
            relative = float(np.median(distance[:, -1] / distance[:, 0]))
            out["runs"].append(
                {
                    "optimizer": name,
                    "kind": kind,
                    "pairs": int(chosen.sum()),
                    "step_size": float(runs.step_size[0, 0]),
                    "weight_decay": float(runs.weight_decay[0, 0]),
                    "decay_product": float(product(runs)[-1]),
                    "distance": relative,
                    "over_product": relative / float(product(runs)[-1]),
                    "largest_over_product": float(
                        (distance / distance[:, :1] / product(runs)[None, :, None]).max()
                    ),
                    "norm": [float(np.median(norms[:, at])) for at in (0, -1)],
                    "cosine": _ends(runs.cosine[:, :, chosen]),
                    "centred_cosine": _ends(runs.centred_cosine[:, :, chosen]),
                    "loss": [float(runs.loss[:, 0].mean()), float(runs.loss[:, -20:].mean())],
                }
            )
    return out


def _ends(values: Floats) -> list[float]:
    """The median at the first and at the last state."""
    return [float(np.median(values[:, at])) for at in (0, -1)]


def table(data: Mapping[str, Any]) -> str:
    """`facts` as Markdown: what was run, and one row for each optimiser and kind of pair."""
    text, labels, bounds = data["text"], data["labels"], data["sgd_bounds"]
    rows = [
        f"Text: {text['bytes']:,} bytes, the first {text['files']} modules of Python {data['python']}; "
        f"{labels['targets']} bytes occur, {labels['never in UTF-8']} cannot, {labels['not in this text']} merely do not. "
        f"n = {data['dim']}, r = {data['radius']:.2f}, {data['steps']:,} steps of {data['batch_size']} examples, "
        f"seeds {', '.join(map(str, data['seeds']))}; medians over pairs and seeds, start and end.",
        "",
        "| optimiser | pairs | decay product | distance | distance / product | norm | cosine | centred cosine | loss |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in data["runs"]:
        spans = (
            " to ".join(f"{value:.3g}" for value in row[name])
            for name in ("norm", "cosine", "centred_cosine", "loss")
        )
        rows.append(
            f"| {row['optimizer']} ($\\eta$ = {row['step_size']:.3g}, $\\lambda$ = {row['weight_decay']:.3g}) "
            f"| {row['pairs']}, {row['kind']} | {row['decay_product']:.3g} | {row['distance']:.3g} "
            f"| {row['over_product']:.3g} | {' | '.join(spans)} |"
        )
    rows += [
        "",
        f"SGD: of {bounds['steps_of_pairs']:,} steps of pairs {bounds['above_decay']} were above the bound "
        f"$1 - \\eta\\lambda$ and {bounds['below_lower']} below $1 - \\eta(\\lambda + T)$; the product of the lower "
        f"bounds ends at {bounds['lower_at_end']:.3g} (median). AdamW: the proved ball allows a distance of "
        f"{data['adamw_ball_at_end']:,.0f} at the end.",
    ]
    return "\n".join(rows)


def panel(ax: Axes, ratio_ax: Axes, found: Study, optimizer: str) -> None:
    """Distances over their start against the step, beside the theory; below, over the decay product.

    Lines are medians over pairs and seeds of each kind, bands their least and most. SGD: both bounds are proved.
    """
    runs = found.runs[optimizer]
    shown = np.unique(np.linspace(0, len(runs.states) - 1, 31).round().astype(int))
    steps, left = runs.states[shown], product(runs)[shown]
    proved = optimizer == "sgd"
    name = r"$\prod(1-\eta\lambda)$" + (", upper bound" if proved else ", not a bound")
    ax.plot(steps, left, "-" if proved else ":", color="black", label=name, zorder=3)
    ratio_ax.axhline(1, color="black", linewidth=0.8, linestyle="-" if proved else ":", zorder=3)
    if proved:
        below = np.median(lower(runs)[:, shown], axis=(0, 2))
        ax.plot(steps, below, "--", color="black", linewidth=0.9, label="lower bound", zorder=3)
    for i, kind in enumerate(KINDS):
        distance = runs.distance[:, :, found.pairs(kind)]
        relative = (distance / distance[:, :1])[:, shown]
        middle = np.median(relative, axis=(0, 2))
        look: dict[str, Any] = {
            "color": COLOURS[i], "marker": MARKERS[i], "linestyle": "none", "markeredgewidth": 0,
        }  # fmt: skip
        ax.plot(steps, middle, label=kind, **look)
        ratio_ax.plot(steps, middle / left, **look)
        for axes, scale in ((ax, np.ones_like(left)), (ratio_ax, left)):
            least, most = relative.min((0, 2)) / scale, relative.max((0, 2)) / scale
            axes.fill_between(steps, least, most, color=COLOURS[i], alpha=0.2, linewidth=0)
    ax.set(yscale="log", ylabel=r"distance $|D_t|\,/\,|D_0|$", title=TITLES[optimizer])
    ratio_ax.set(xlabel="step $t$", ylabel="ratio to\ndecay product")


def draw(found: Study, path: str | Path) -> Path:
    """Both optimisers side by side."""
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=(PAGE, 3.4), layout="constrained")
        upper, under = figure.subplots(2, 2, sharex="col", height_ratios=(2.2, 1))
        for k, name in enumerate(OPTIMIZERS):
            panel(upper[k], under[k], found, name)
            upper[k].legend(loc="best", fontsize=7)
        return write(figure, path)
