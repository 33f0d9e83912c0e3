"""The CSV of `plateau`, and tables and figure from it."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from collapse_theory.errors import InputError
from collapse_theory.plots import COLOURS, MARKERS, PAGE, style, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["csv_text", "draw", "rates", "read", "table", "tracks"]

Row = dict[str, Any]
WHOLE = ("batch", "steps", "left_step", "floor_step")


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as CSV with four digits; an empty cell is a None: no minibatch, below the floor, not within the run."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0])
    for row in rows:
        writer.writerow([f"{v:.4g}" if isinstance(v, float) else v for v in row.values()])
    return out.getvalue()


def read(text: str) -> list[Row]:
    """The rows of `csv_text`: numbers, None for an empty cell, ``varied`` as text.

    Raises :class:`InputError` where a cell is no number.
    """

    def cell(name: str, value: str) -> Any:
        if name == "varied":
            return value
        return None if value == "" else int(value) if name in WHOLE else float(value)

    try:
        return [
            {name: cell(name, value) for name, value in row.items()}
            for row in csv.DictReader(io.StringIO(text))
        ]
    except (TypeError, ValueError) as error:
        raise InputError(f"plateau.csv: damaged ({error}); make it again") from error


def table(rows: Sequence[Row]) -> str:
    """Markdown: one row for each single variation, then the grids."""
    lines = [
        "| varied | batch | distance / product after 3, 12, 24 folds | level (seeds) "
        "| level of $\\lvert D\\rvert$ / $\\eta$ | below half of it | rate | per memory |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        if row["varied"] != "grid":
            ratios = ", ".join(_short(row[f"ratio_{fold}"]) for fold in (3, 12, 24))
            lines.append(
                f"| {_name(row)} | {row['batch'] or 'all'} | {ratios} | {_level(row)} "
                f"| {_short(row['level_over_eta'])} | {_left(row)} | {row['rate']:.2f} | {row['rate_memory']:.2f} |"
            )
    for batch in dict.fromkeys(row["batch"] for row in rows if row["varied"] == "grid"):
        chosen = [row for row in rows if row["varied"] == "grid" and row["batch"] == batch]
        decays = sorted({row["lam"] for row in chosen})
        heading = (
            f"Level of $\\lvert D\\rvert$ / $\\eta$; rate; per memory (batches of {batch or 'all'})"
        )
        lines += [
            "",
            f"| {heading} | " + " | ".join(f"$\\lambda$ = {lam:g}" for lam in decays) + " |",
        ]
        lines.append("| --- " * (1 + len(decays)) + "|")
        for eta in sorted({row["eta"] for row in chosen}):
            cells = [
                f"{_short(row['level_over_eta'])}; {row['rate']:.2f}; {row['rate_memory']:.2f}"
                for lam in decays
                for row in chosen
                if row["eta"] == eta and row["lam"] == lam
            ]
            lines.append(f"| $\\eta$ = {eta:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _name(row: Row) -> str:
    """What is varied and to which value."""
    values = {"eps": f"{row['eps']:g}", "betas": f"{row['beta1']:g}, {row['beta2']:g}"}
    shown = {**values, "batch": str(row["batch"])}.get(row["varied"])
    return row["varied"] if shown is None else f"{row['varied']} {shown}"


def _short(value: float | None) -> str:
    return "rounding" if value is None else f"{value:.2g}"


def _level(row: Row) -> str:
    if row["level"] is None:
        return "rounding"
    return f"{row['level']:.1e} ({row['level_least']:.1e} to {row['level_most']:.1e})"


def _left(row: Row) -> str:
    if row["level"] is None:
        return f"rounding from step {row['floor_step']:,}"
    if row["left_step"] is None:
        return f"not within {row['steps']:,} steps"
    return f"step {row['left_step']:,} of {row['steps']:,}"


def tracks(ax: Axes, rows: Sequence[Row]) -> None:
    """Distances over their start against folds, of single variations that differ most; dotted the decay product."""
    named = {_name(row): row for row in reversed(rows) if row["varied"] != "grid"}
    wanted = {
        "base": "all examples",
        "batch 32": "batches of 32",
        "eps 1e-06": r"$\varepsilon=10^{-6}$",
        "eps 0.0001": r"$\varepsilon=10^{-4}$",
        "betas 0.9, 0.9999": r"$\beta_2=0.9999$",
        "betas 0, 0": r"$\beta_1=\beta_2=0$",
    }
    # A smaller sweep has few settings: it shows them all.
    chosen = (
        {k: v for k, v in wanted.items() if k in named}
        if len(named) > 6
        else dict(zip(named, named, strict=True))
    )
    columns = [name for name in rows[0] if name.startswith("distance_")]
    folds = np.array([float(name.removeprefix("distance_")) for name in columns])
    whole = np.concatenate([[0.0], folds])
    ax.plot(whole, np.exp(-whole), ":", color="black", label="decay product, not a bound")
    for i, (name, label) in enumerate(chosen.items()):
        values = [named[name][column] for column in columns]
        shown = np.array([np.nan if value is None else value for value in values], dtype=float)
        ax.plot(folds, shown, color=COLOURS[i], marker=MARKERS[i], linewidth=0.6, label=label)
    ax.set(yscale="log", xlabel=r"folds $t\,\eta\lambda$", ylabel=r"distance $|D_t|\,/\,|D_0|$")


def rates(ax: Axes, rows: Sequence[Row]) -> None:
    """Late decay rates per step against the decay's own, both in units of 1 - beta2; eps as in the base."""
    eps = rows[0]["eps"]
    series = (("all examples", True, 0), ("minibatches", False, 1))
    own = np.geomspace(0.05, 40, 100)
    ax.plot(own, own, ":", color="black", label="decay product, not a bound")
    for label, whole, i in series:
        chosen = [row for row in rows if row["eps"] == eps and (row["batch"] is None) == whole]
        ax.plot(
            [row["eta"] * row["lam"] / (1 - row["beta2"]) for row in chosen],
            [row["rate_memory"] for row in chosen],
            color=COLOURS[i],
            marker=MARKERS[i],
            linestyle="none",
            markeredgewidth=0,
            label=label,
        )
    ax.axhline(1, color="black", linewidth=0.6, zorder=1)
    ax.set(xscale="log", ylim=(-0.5, 2.5), xlabel=r"$\eta\lambda\,/\,(1-\beta_2)$")
    ax.set_ylabel(r"rate per step $/\,(1-\beta_2)$")


def draw(rows: Sequence[Row], path: str | Path) -> Path:
    """`tracks` and `rates` side by side."""
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=(PAGE, 3.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        tracks(left, rows)
        rates(right, rows)
        for ax in (left, right):
            if ax.get_legend_handles_labels()[0]:
                ax.legend(loc="lower left", bbox_to_anchor=(0, 1.01), ncols=3, fontsize=6.5, columnspacing=1.0)  # fmt: skip
        return write(figure, path)
