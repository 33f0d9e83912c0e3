"""``plot``: figures from runs, witnesses and ledgers."""

from __future__ import annotations

import argparse
from typing import Any

from ._common import check_file, command, whole


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        "plot",
        _plot,
        "draw a figure from a run, a witness, a ledger or a training setup",
        "collapse-theory plot shrinkage results/linear.npz -o shrinkage.pdf",
    )
    parser.add_argument(
        "kind",
        metavar="KIND",
        help="shrinkage, curvatures, counterexample, one_step, histogram, forecast",
    )
    parser.add_argument(
        "source", metavar="FILE", help="a run (.npz), a witness, a ledger or a setup (.json)"
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="FIGURE", help=".pdf, .svg or .png"
    )
    parser.add_argument("--claim", metavar="ID", help="which claim of a ledger")
    parser.add_argument("--head", type=whole(0), default=None, help="which head of a run")


def _plot(options: argparse.Namespace) -> int:
    from .. import plots

    check_file(options.json)
    chosen = {"claim": options.claim, "head": options.head}
    plots.plot(
        options.kind,
        options.source,
        options.output,
        **{name: value for name, value in chosen.items() if value is not None},
    )
    if options.json:
        from ..files import write_json

        write_json(options.json, {"kind": options.kind, "figure": str(options.output)})
    print(f"figure    {options.output}")
    return 0
