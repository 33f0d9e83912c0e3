"""``simulate``: recorded trainings of linear heads."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import _sweep
from ._common import check_file, command, progress, whole
from ._linear_data import examples
from ._linear_options import add_data, add_training, check_schedules


def add(commands: Any) -> None:
    """Add the command to the parser."""
    about, example = (
        "train linear heads and record the unseen rows",
        "collapse-theory simulate linear --help",
    )
    parser = commands.add_parser(
        "simulate",
        help=about,
        description=about,
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    linear = command(
        kinds,
        "linear",
        _simulate_linear,
        "train linear softmax heads, many at once, and record what happens to the unseen rows",
        "collapse-theory simulate linear --steps 500 --learning-rate 0.5 1.0 --weight-decay 0.01 --out run.npz",
    )
    add = linear.add_argument
    add_data(add)
    add_training(add, grid=False)
    add(
        "--repeats", type=whole(1), default=1, metavar="R",
        help="heads of each setting, with own initial rows",
    )  # fmt: skip
    add(
        "--record-every", type=whole(1), default=1, metavar="S",
        help="steps between records (default 1)",
    )  # fmt: skip
    add(
        "--checkpoint-every", type=whole(1), default=None, metavar="S",
        help="save the state every S steps as FILE.checkpoint beside --out; the same command goes on from it",
    )  # fmt: skip
    add(
        "--out", default="results/linear.npz", metavar="FILE",
        help="the run (default results/linear.npz)",
    )  # fmt: skip
    _sweep.add(kinds)


def _simulate_linear(options: argparse.Namespace) -> int:
    import numpy as np

    from ..schedules import factors
    from ..trajectories import Checkpoint, LinearConfig, train_linear_heads

    check_file(options.out)
    check_file(options.json)
    check_schedules(options, [options.schedule])
    rng = np.random.default_rng(options.seed)
    data = examples(options, rng)
    settings = [
        (rate, decay)
        for rate in options.learning_rate
        for decay in options.weight_decay
        for _ in range(options.repeats)
    ]
    rates, decays = map(np.array, zip(*settings, strict=True))
    factor = factors(
        options.schedule,
        options.steps,
        warmup=options.warmup,
        decay_steps=options.decay_steps,
        cycles=options.cycles,
    )
    start = rng.normal(
        scale=options.scale, size=(len(settings), data.count, data.features.shape[1])
    )
    config = LinearConfig(
        steps=options.steps,
        step_size=rates[:, None] * factor,
        weight_decay=decays[:, None],
        decoupled=options.decoupled,
        optimizer=options.optimizer,
        momentum=options.momentum,
        dampening=options.dampening,
        nesterov=options.nesterov,
        betas=tuple(options.betas),
        epsilon=options.epsilon,
        amsgrad=options.amsgrad,
        batch_size=options.batch_size,
        seeds=[options.seed + k for k in range(len(settings))],
        record_every=options.record_every,
        dtype=options.dtype,
        masked=options.masked,
    )
    saved = Path(f"{options.out}.checkpoint")
    checkpoint = None
    if options.checkpoint_every is not None:
        check_file(saved)
        checkpoint = Checkpoint(path=saved, every=options.checkpoint_every)
        if saved.exists() and not options.quiet:
            print(f"going on from {saved}", file=sys.stderr)
    try:
        with progress(options.quiet) as bar:
            runs = train_linear_heads(
                start,
                data.features,
                data.labels,
                config=config,
                pairs=data.pairs,
                progress=lambda done, total: bar("training", done, total),
                checkpoint=checkpoint,
            )
    except KeyboardInterrupt:
        if checkpoint is None or not saved.exists():
            raise
        raise KeyboardInterrupt(f"the same command goes on from {saved}") from None
    runs.save(options.out)
    rows = _run_summary(runs, settings)
    if options.json:
        from ..files import write_json

        write_json(options.json, {"run": str(options.out), "heads": rows})
    if checkpoint is not None:
        saved.unlink(missing_ok=True)
    for row in rows:
        print(json.dumps(row))
    print(f"run       {options.out}")
    if runs.bounded:
        print(f"figure    collapse-theory plot shrinkage {options.out} -o FIGURE.pdf")
    return 0


def _run_summary(runs: Any, settings: Sequence[tuple[float, float]]) -> list[dict[str, Any]]:
    """One line for each head: the shrinkage of the unseen pairs, measured and by the decay product."""
    rows = []
    for head, (rate, decay) in enumerate(settings):
        first, last = runs.distance[head, 0], runs.distance[head, -1]
        apart = first > 0
        rows.append(
            {
                "head": head,
                "learning_rate": float(rate),
                "weight_decay": float(decay),
                "distance_first": float(first.max()),
                "distance_last": float(last.max()),
                # None where all rows are equal from the start: no factor is defined then.
                "largest_factor": float((last[apart] / first[apart]).max())
                if apart.any()
                else None,
                # None where it bounds no distance: under other optimisers, and of rare labels.
                "decay_product": float(runs.decay_product[head, -1]) if runs.bounded else None,
            }
        )
    return rows
