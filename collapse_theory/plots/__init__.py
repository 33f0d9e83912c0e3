"""Figures: theory as a black line, measurements as coloured dots, a ratio panel underneath.

The drawing functions are pure: they draw on the axes they are given and change nothing else. Draw inside ``style()`` for
the look of the toolkit's own figures; :func:`plot` goes from a file to a file. Importing this package loads no matplotlib.

    from collapse_theory import plots
    with plots.style():
        figure, (upper, lower) = plots.canvas("shrinkage")
        plots.shrinkage(upper, lower, runs)
        plots.write(figure, "shrinkage.pdf")
"""

from ._audit import audit_cosines, audit_distances, audit_plane, audits_over_training
from ._files import KINDS, Kind, plot
from ._forecast import forecast
from ._ledger import ratio_histogram
from ._runs import check_head, curvatures, shrinkage
from ._steps import one_step
from ._style import COLOURS, COLUMN, MARKERS, PAGE, SUFFIXES, canvas, style, write
from ._witness import counterexample

__all__ = [
    "COLOURS",
    "COLUMN",
    "KINDS",
    "MARKERS",
    "PAGE",
    "SUFFIXES",
    "Kind",
    "audit_cosines",
    "audit_distances",
    "audit_plane",
    "audits_over_training",
    "canvas",
    "check_head",
    "counterexample",
    "curvatures",
    "forecast",
    "one_step",
    "plot",
    "ratio_histogram",
    "shrinkage",
    "style",
    "write",
]
