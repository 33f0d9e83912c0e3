"""Figures of a study, and everything that is written of one: CSV, figures, a Markdown page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from collapse_theory.files import write_text
from collapse_theory.plots import COLOURS, MARKERS, PAGE, style, write
from simulations.transformers import tables
from simulations.transformers.studies import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "accuracy",
    "bounds",
    "ceiling",
    "collapse",
    "draw",
    "draw_remaining",
    "publish",
    "remaining",
]

Row = dict[str, Any]
Done = Mapping[str, Mapping[str, Any]]


def accuracy(ax: Axes, rows: Sequence[Row]) -> None:
    """Exact answers of each variant under each condition: a dot for each seed, a bar for the mean's 95 % interval."""
    names = list(dict.fromkeys(row["variant"] for row in rows))
    for i, (unseen, words) in enumerate(tables.CONDITION_WORDS.items()):
        for j, name in enumerate(names):
            values = tables.shares(rows, name, unseen)
            place = -j + 0.24 * (1 - i)
            found = tables.mean(values)
            if found.seeds > 1:
                ax.plot([found.low, found.high], [place, place], color=COLOURS[i], linewidth=1)
            ax.plot(
                values,
                [place] * len(values),
                linestyle="none",
                color=COLOURS[i],
                marker=MARKERS[i],
                markeredgewidth=0,
                alpha=0.7,
                label=words if not j else None,
                clip_on=False,
            )
    ax.set_yticks([-j for j in range(len(names))], names)
    ax.set(xlim=(0, 1), xlabel="exact answers")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3)


LOOKS: dict[str, tuple[str, str]] = {
    "unseen_distance": ("distance over the first", "log"),
    "unseen_cosine": ("mean cosine", "linear"),
    "unseen_centred_cosine": ("mean centred cosine", "linear"),
    "unseen_norm": ("mean norm", "linear"),
}


def collapse(axes: Sequence[Axes], rows: Sequence[Row], names: Sequence[str]) -> None:
    """Through training, for the rows of unseen symbols: distance with its decay product, cosines, norm; medians over seeds
    as lines, dotted the seen symbols' rows."""
    for i, name in enumerate(names):
        own = [row for row in rows if row["variant"] == name]
        steps = sorted({row["step"] for row in own})

        def track(key: str, own: list[Row] = own, steps: list[int] = steps) -> np.ndarray:
            seeds = sorted({row["seed"] for row in own})
            table = np.array([[r[key] for r in own if r["seed"] == s] for s in seeds])
            assert table.shape[1] == len(steps)
            return table / table[:, :1] if key.endswith("distance") else table

        for ax, key in zip(axes, LOOKS, strict=True):
            values = track(key)
            ax.plot(steps, np.median(values, 0), color=COLOURS[i], label=name)
            ax.fill_between(
                steps, values.min(0), values.max(0), color=COLOURS[i], alpha=0.2, linewidth=0
            )
            seen = np.median(track(key.replace("unseen", "seen")), 0)
            ax.plot(steps, seen, ":", color=COLOURS[i], linewidth=0.8)
        if not i:
            product = np.median(track("decay_product"), 0)
            axes[0].plot(
                steps, product, color="black", label="decay product, not a bound for AdamW"
            )
    for ax, (words, scale) in zip(axes, LOOKS.values(), strict=True):
        ax.set(ylabel=words, yscale=scale, xlabel="step")


def periods(ax: Axes, rows: Sequence[Row], watches: Sequence[Row]) -> None:
    """Exact answers against the period of resets; dashed, in how many steps gradient descent could lose half a distance."""
    for i, (unseen, words) in enumerate(tables.CONDITION_WORDS.items()):
        for name in dict.fromkeys(row["variant"] for row in rows):
            values = tables.shares(rows, name, unseen)
            ax.plot(
                [int(name.split()[-1]) * 1.06 ** (i - 1)] * len(values),
                values,
                linestyle="none",
                marker=MARKERS[i],
                color=COLOURS[i],
                label=words if name == rows[0]["variant"] else None,
            )
    halves = [row["half_period"] for row in watches if row["half_period"]]
    if halves:
        ax.axvline(
            float(np.median(halves)),
            color="black",
            linestyle="--",
            label="lower bound of SGD at 1/2",
        )
    ax.set(xscale="log", ylim=(0, 1), xlabel="steps between resets", ylabel="exact answers")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=4)


def bounds(ax: Axes, rows: Sequence[Row]) -> None:
    """Distances of watched pairs over their start, the largest and the least of all seeds, between the two bounds of
    `trajectory`: one variant trained by gradient descent."""
    steps = sorted({row["step"] for row in rows})

    def across(key: str, pick: Callable[[list[float]], float]) -> list[float]:
        return [pick([row[key] for row in rows if row["step"] == step]) for step in steps]

    ax.plot(
        steps,
        across("decay_product", min),
        color="black",
        label=r"$\prod(1-\eta\lambda)$, upper bound",
    )
    ax.plot(steps, across("pair_most", max), "o", color=COLOURS[0], label="largest distance")
    ax.plot(steps, across("pair_least", min), "s", color=COLOURS[1], label="least distance")
    lower = np.array(across("lower_product", max))
    ax.plot(steps, lower, "--", color="black", label=r"$\prod(1-\eta(\lambda+sT))$, lower bound")
    ax.set(xlabel="step", ylabel=r"$|D_t|\,/\,|D_0|$", yscale="log")


def ceiling(reach: np.ndarray, count: int) -> np.ndarray:
    """The most that sampling can give to one of ``count`` unseen symbols (claim indistinguishable), no mass elsewhere:
    ``1/(1 + (count - 1) exp(-r delta))`` at reach ``r delta``."""
    return 1 / (1 + (count - 1) * np.exp(-reach))


def remaining(ax: Axes, last: Sequence[Row], results: Sequence[Row], count: int) -> None:
    """Exact answers with all symbols unseen against the reach r delta of the unseen rows, all runs; the ceiling in black.

    Colours are interventions (or what else a study varies), filled with copy attention, open without.
    """
    names = list(dict.fromkeys(row["variant"] for row in last))
    kinds = list(dict.fromkeys(kind_of(name) for name in names))
    few = len(names) <= min(11, 2 * len(kinds))  # then each has a line in the legend
    for name in names:
        own = [row for row in last if row["variant"] == name]
        place = kinds.index(kind_of(name)) % len(COLOURS)
        ax.plot(
            [row["r"] * row["unseen_farthest"] for row in own],
            tables.shares(results, name, "all"),
            linestyle="none",
            marker=MARKERS[place],
            color=COLOURS[place],
            markerfacecolor=COLOURS[place] if name.startswith("copy") else "none",
            label=name if few else None,
            clip_on=False,
        )
    if not few:
        for place, kind in enumerate(kinds):
            at = place % len(COLOURS)
            ax.plot(
                [],
                [],
                MARKERS[at],
                color=COLOURS[at],
                label=f"{kind} (open: no copy attention)" if not place else kind,
            )
    line = np.linspace(0, max(row["r"] * row["unseen_farthest"] for row in last) * 1.05, 200)
    ax.plot(line, ceiling(line, count), color="black", label="ceiling for one sampled token")
    ax.set(ylim=(0, 1), xlabel=r"reach $r\,\delta$ of the unseen rows", ylabel="exact, all unseen")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, fontsize=6.5)


def kind_of(variant: str) -> str:
    """What a variant is, its model left out: the intervention, "more or fewer symbols", "SGD"."""
    rest = variant.partition(", ")[2]
    if rest.endswith("symbols"):
        return "trainable, other numbers of symbols"
    return "reset, other periods" if rest.startswith("reset every") else rest


def diversity(ax: Axes, rows: Sequence[Row]) -> None:
    """Exact answers against the number of symbols in training: means over seeds, filled where all symbols are unseen."""
    names = list(dict.fromkeys(row["variant"] for row in rows))
    models = list(dict.fromkeys(name.split(",")[0] for name in names))
    ticks = sorted({int(name.split()[1]) for name in names})
    for i, model in enumerate(models):
        own = [name for name in names if name.startswith(f"{model},")]
        counts = [int(name.split()[1]) for name in own]
        for unseen, dash, fill in (("none", ":", "none"), ("all", "-", COLOURS[i])):
            found = [tables.mean(tables.shares(rows, name, unseen)) for name in own]
            values = [m.value for m in found]
            ax.plot(
                counts,
                values,
                dash,
                color=COLOURS[i],
                marker=MARKERS[i],
                markerfacecolor=fill,
                label=f"{model}, {tables.CONDITION_WORDS[unseen]}",
            )
            for name, count in zip(own, counts, strict=True):
                seeds = tables.shares(rows, name, unseen)
                ax.plot([count] * len(seeds), seeds, ".", color=COLOURS[i], markersize=2)
    ax.set(xscale="log", ylim=(0, 1), xlabel="symbols in training", ylabel="exact answers")
    ax.set_xticks(ticks, [str(count) for count in ticks])
    ax.minorticks_off()
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2)


def _table_figure(figure: Figure, study: Study, done: Done) -> None:
    rows = tables.results(study, done)
    accuracy(figure.subplots(), rows)


def _collapse_figure(figure: Figure, study: Study, done: Done) -> None:
    rows = tables.records(study, done)
    names = list(dict.fromkeys(row["variant"] for row in rows))[: len(COLOURS)]
    if study.name == "table":
        names = ["standard, trainable", "copy, trainable", "copy, reset", "copy, temporary reset"]
        names = [name for name in names if any(row["variant"] == name for row in rows)]
    axes = figure.subplots(2, 2).ravel()
    collapse(axes, rows, names)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=3)


def _bounds_figure(figure: Figure, study: Study, done: Done) -> None:
    rows = tables.records(study, done)
    names = list(dict.fromkeys(row["variant"] for row in rows))
    axes = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    for ax, name in zip(axes, names, strict=True):
        bounds(ax, [row for row in rows if row["variant"] == name])
        ax.set_title(name)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=4)


def _periods_figure(figure: Figure, study: Study, done: Done) -> None:
    periods(figure.subplots(), tables.results(study, done), tables.watches(study, done))


def _remaining_figure(figure: Figure, study: Study, done: Done) -> None:
    last, results = tables.last_records(study, done), tables.results(study, done)
    remaining(figure.subplots(), last, results, study.runs[0].unseen)


def _diversity_figure(figure: Figure, study: Study, done: Done) -> None:
    diversity(figure.subplots(), tables.results(study, done))


FIGURES: dict[str, tuple[float, Callable[[Figure, Study, Done], None]]] = {
    "accuracy": (3.6, _table_figure),
    "collapse": (4.6, _collapse_figure),
    "remaining": (3.6, _remaining_figure),
    "diversity": (3.4, _diversity_figure),
    "bounds": (3.0, _bounds_figure),
    "periods": (3.2, _periods_figure),
}


def draw(kind: str, study: Study, done: Done, path: str | Path) -> Path:
    """One of `FIGURES`, written as .svg, .pdf or .png."""
    from matplotlib.figure import Figure

    height, fill = FIGURES[kind]
    with style():
        figure = Figure(figsize=(PAGE, height), layout="constrained")
        fill(figure, study, done)
        return write(figure, path)


def draw_remaining(pairs: Sequence[tuple[Study, Done]], path: str | Path) -> Path:
    """`remaining` for the runs of several studies."""
    from matplotlib.figure import Figure

    last = [row for study, done in pairs for row in tables.last_records(study, done)]
    results = [row for study, done in pairs for row in tables.results(study, done)]
    with style():
        figure = Figure(figsize=(PAGE, FIGURES["remaining"][0]), layout="constrained")
        remaining(figure.subplots(), last, results, pairs[0][0].runs[0].unseen)
        return write(figure, path)


def kinds(study: Study) -> tuple[str, ...]:
    """Which figures a study has."""
    if study.name == "diversity":
        return ("diversity", "remaining")
    if study.name == "reset_period":
        return ("periods", "collapse", "remaining")
    watched = any(run.train.watched for run in study.runs)
    return ("accuracy", "collapse", "remaining", *(["bounds"] if watched else []))


def publish(study: Study, done: Done, folder: str | Path) -> str:
    """Write CSV, figures and page of the runs that are finished; what is to be printed."""
    folder = Path(folder)
    if not done:
        return f"{study.name}: no run is finished yet"
    text = tables.table(study, done)
    mistakes = tables.errors(study, done)
    written = [
        write_text(folder / "results.csv", tables.csv_text(tables.results(study, done))),
        write_text(folder / "records.csv", tables.csv_text(tables.records(study, done))),
    ]
    if watched := tables.watches(study, done):
        written.append(write_text(folder / "watch.csv", tables.csv_text(watched)))
    written += [draw(kind, study, done, folder / f"{kind}.svg") for kind in kinds(study)]
    page = f"# {study.name}\n\n{study.reason}\n\n{len(done)} of {len(study.runs)} runs.\n\n{text}\n\n{mistakes}\n"
    page += "".join(f"\n![{kind}]({kind}.svg)\n" for kind in kinds(study))
    written.append(write_text(folder / "page.md", page))
    return "\n".join([text, "", mistakes, "", *(f"written: {path}" for path in written)])
