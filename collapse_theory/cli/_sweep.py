"""``simulate sweep``: linear heads over a grid of settings."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ._common import check_file, check_folder, command, console, progress, whole
from ._linear_data import examples
from ._linear_options import add_data, add_training, check_schedules

EXAMPLE = """\
collapse-theory simulate sweep --learning-rate 0.1 0.3 --weight-decay 1e-3 1e-2 --seeds 0 1 2 --workers 2
  collapse-theory simulate sweep --optimizer sgd adamw --momentum 0 0.9 --schedule constant cosine --warmup 50 --out sweep
  collapse-theory simulate sweep --batch-size 16 64 --scheduler tcp://host:8786 --runs --out sweep"""


def add(kinds: Any) -> None:
    """Add the command to the kinds of ``simulate``."""
    parser = command(
        kinds,
        "sweep",
        run,
        "train linear heads over a grid: every optimiser with every momentum (of sgd), schedule, batch size, "
        "learning rate, decay and seed; a row for each head in DIR/heads.csv. The same command again goes on "
        "with what is not finished",
        EXAMPLE,
    )
    add = parser.add_argument
    add_training(add, grid=True)
    add(
        "--seeds", type=whole(0), nargs="+", default=[0], metavar="S",
        help="of the initial rows and the batches (default 0); --seed is that of the data",
    )  # fmt: skip
    add_data(add)
    add(
        "--record-every", type=whole(1), default=None, metavar="S",
        help="steps between records (default: a hundredth of all)",
    )  # fmt: skip
    add("--runs", action="store_true", help="also keep the recorded runs, in DIR/runs")
    add(
        "--workers", type=whole(1), default=1, metavar="N",
        help="processes (default 1); the result is the same on any number",
    )  # fmt: skip
    add("--scheduler", metavar="tcp://HOST:PORT", help="use the workers of this Dask scheduler")
    add(
        "--out", default="results/sweep", metavar="DIR", help="the folder (default results/sweep)"
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    import numpy as np

    from ..sweeps import Sweep, run_sweep

    out = Path(options.out)
    check_folder(out)
    check_file(options.json)
    check_schedules(options, options.schedule)
    data = examples(options, np.random.default_rng(options.seed))
    sweep = Sweep(
        steps=options.steps,
        optimizers=options.optimizer,
        momenta=options.momentum,
        schedules=options.schedule,
        batch_sizes=options.batch_size,
        learning_rates=options.learning_rate,
        weight_decays=options.weight_decay,
        seeds=options.seeds,
        **{
            name: getattr(options, name)
            for name in (
                *("scale", "warmup", "decay_steps", "cycles", "decoupled", "dampening", "nesterov"),
                *("betas", "epsilon", "amsgrad", "record_every", "dtype", "masked"),
            )
        },
    )
    try:
        with progress(options.quiet) as bar:
            rows = run_sweep(
                sweep,
                data.features,
                data.labels,
                count=data.count,
                pairs=data.pairs,
                folder=out,
                workers=options.workers,
                scheduler=options.scheduler,
                keep_runs=options.runs,
                progress=lambda done, total: bar("heads", done, total),
            )
    except KeyboardInterrupt:
        if not (out / "sweep.json").exists():
            raise
        raise KeyboardInterrupt(f"the same command goes on from {out}") from None
    if options.json:
        from ..files import write_json

        write_json(options.json, {"heads": rows})
    _show(rows, options.optimizer)
    print(f"rows      {out / 'heads.csv'}")
    if options.runs:
        print(f"runs      {out / 'runs'}")
    return 0


def _show(rows: list[dict[str, Any]], optimizers: list[str]) -> None:
    """A line for each optimiser: how far the pairs came together under it."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("optimizer", "heads", "diverged", "smallest ratio", "median", "largest"):
        table.add_column(heading, justify="left" if heading == "optimizer" else "right")
    for name in optimizers:
        own = [row for row in rows if row["optimizer"] == name]
        ratios = sorted(r["ratio"] for r in own if r["ratio"] is not None and not r["diverged"])
        shown = ["-"] * 3
        if ratios:
            shown = [f"{ratios[i]:.4g}" for i in (0, len(ratios) // 2, -1)]
        table.add_row(name, str(len(own)), str(sum(r["diverged"] for r in own)), *shown)
    console().print(table)
