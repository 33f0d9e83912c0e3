"""How the toolkit's figures look, and how they are written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputError
from ..files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN = 3.4
"""Width of a column of text, inches."""
PAGE = 7.0
"""Width of a page of text, inches."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's colours, told apart under every common colour blindness; grey values differ too."""
MARKERS = ("o", "s", "^", "D", "v", "P")
"""One for each colour, so that colour alone never carries a meaning."""
BEFORE, AFTER = COLOURS[0], COLOURS[1]
"""Of rows before and after a step."""
GREY = "#777777"
"""What is drawn for comparison only, such as a printed bound that fails."""

SUFFIXES = (".pdf", ".svg", ".png")
"""Formats by file name; the first two are vectors."""

STYLE: dict[str, Any] = {
    # The fonts that come with matplotlib: the same figure on every machine.
    "font.family": "STIXGeneral",
    "mathtext.fontset": "stix",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "legend.borderaxespad": 0.3,
    "legend.handlelength": 1.8,
    "legend.labelspacing": 0.3,
    "figure.dpi": 150,
    "savefig.dpi": 300,
    "svg.fonttype": "path",
    "svg.hashsalt": "collapse_theory",
    "pdf.fonttype": 42,
}


@contextmanager
def style() -> Iterator[None]:
    """The toolkit's look for all figures drawn inside, whatever the user's own settings are."""
    import matplotlib.style

    with matplotlib.style.context(["default", STYLE]):
        yield


class _Layout(NamedTuple):
    """Panels of a figure: how many, side by side or stacked, their sizes, the height as a share of the width."""

    panels: int
    aspect: float
    stacked: bool = True
    sizes: tuple[float, ...] = (1.0,)


LAYOUTS = {
    "shrinkage": _Layout(2, 0.85, sizes=(2.6, 1)),
    "one_step": _Layout(2, 1.0, sizes=(2.2, 1)),
    "counterexample": _Layout(2, 0.6, stacked=False, sizes=(2, 1)),
    "histogram": _Layout(1, 0.55),
    "curvatures": _Layout(1, 0.65),
    "forecast": _Layout(1, 0.75),
}
"""Of the kinds that are drawn from files, see ``KINDS``."""
AUDIT_LAYOUTS = {
    "distances": _Layout(1, 0.65),
    "cosines": _Layout(1, 0.85),
    "plane": _Layout(1, 0.85),
    "training": _Layout(1, 0.8),
}
"""Of the figures of audits, which are drawn from the checkpoints themselves."""


def canvas(kind: str, *, width: float = COLUMN) -> tuple[Figure, tuple[Axes, ...]]:
    """An empty figure with the axes that the drawing function of ``kind`` takes, ``width`` inches wide.

    Raises :class:`InputError` for an unknown kind or a width outside 2 to 20 inches.
    """
    from matplotlib.figure import Figure

    layouts = LAYOUTS | AUDIT_LAYOUTS
    if kind not in layouts:
        raise InputError(f"figure kind {kind!r} is unknown; kinds are {', '.join(layouts)}")
    number = isinstance(width, (int, float)) and not isinstance(width, bool)
    if not number or not 2 <= width <= 20:
        raise InputError(
            f"width {width!r} is not a number of inches from 2 to 20; try {COLUMN} or {PAGE}"
        )
    layout = layouts[kind]
    # A figure across the page is not as tall for its width as one in a column.
    height = width * layout.aspect * (COLUMN / width) ** 0.35
    figure = Figure(figsize=(width, height), layout="constrained")
    grid: dict[str, Any] = (
        {"nrows": layout.panels, "sharex": True, "height_ratios": layout.sizes}
        if layout.stacked
        else {"ncols": layout.panels, "width_ratios": layout.sizes}
    )
    axes = figure.subplots(squeeze=False, **grid).ravel()
    return figure, tuple(axes)


def suffix_of(path: str | Path) -> str:
    """The figure's format from its file name. Raises :class:`InputError` for an unknown one."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        shown = f"suffix {suffix!r} is unknown" if suffix else "has no suffix"
        raise InputError(f"{path}: {shown}; name the figure {', '.join('*' + s for s in SUFFIXES)}")
    return suffix


def write(figure: Figure, path: str | Path) -> Path:
    """Write a figure as .pdf, .svg or .png by its suffix, whole or not at all, the same bytes each time.

    Call it inside ``style()``. Raises :class:`InputError` for another suffix or a place that cannot be written.
    """
    suffix = suffix_of(path)
    dates = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}, ".png": {}}[suffix]
    return write_whole(path, lambda out: figure.savefig(out, format=suffix[1:], metadata=dates))


def unity(ratio_ax: Axes) -> None:
    """Mark 1, the bound, in a ratio panel."""
    ratio_ax.axhline(1, color="black", linewidth=0.8, zorder=1)


def top_legend(ax: Axes, *, columns: int = 2) -> None:
    """A legend above the axes, where it can hide nothing."""
    handles, _ = ax.get_legend_handles_labels()
    if handles:
        ax.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1.01),
            ncols=min(columns, len(handles)),
            borderaxespad=0,
            columnspacing=1.2,
        )


def logarithmic(ax: Axes) -> None:
    """A logarithmic y axis whose ticks are plain numbers where it spans little, else powers of ten."""
    from matplotlib.ticker import AutoLocator, NullLocator, ScalarFormatter

    ax.set_yscale("log")
    low, high = ax.get_ylim()
    if high < 8 * low:
        ax.yaxis.set_major_locator(AutoLocator())
        ax.yaxis.set_major_formatter(ScalarFormatter(useOffset=False))
        ax.yaxis.set_minor_locator(NullLocator())
