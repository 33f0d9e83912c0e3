"""``simulate``: recorded trainings of linear heads."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ._common import check_writable, command, progress, real, whole


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("simulate", help="train linear heads and record the unseen rows")
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    linear = command(
        kinds,
        "linear",
        _simulate_linear,
        "train linear softmax heads by SGD, many at once, and record what happens to the unseen rows",
        "collapse-theory simulate linear --steps 500 --learning-rate 0.5 1.0 --weight-decay 0.01 --out run.npz",
    )
    add = linear.add_argument
    add("--labels", type=whole(3), default=10, metavar="K", help="labels in all (default 10)")
    add(
        "--unseen",
        type=whole(2),
        default=3,
        metavar="M",
        help="labels 0..M-1 are never targets (default 3)",
    )
    add(
        "--dim",
        type=whole(1),
        default=16,
        metavar="n",
        help="dimension of the features (default 16)",
    )
    add(
        "--examples",
        type=whole(1),
        default=256,
        metavar="N",
        help="training examples (default 256)",
    )
    add(
        "--data", metavar="FILE.npz", help="own data instead: arrays features [N, n] and labels [N]"
    )
    add("--steps", type=whole(0), default=500, help="gradient steps (default 500)")
    add(
        "--learning-rate",
        type=real,
        nargs="+",
        default=[0.1],
        metavar="ETA",
        help="one or more (default 0.1)",
    )
    add(
        "--weight-decay",
        type=real,
        nargs="+",
        default=[0.01],
        metavar="LAM",
        help="one or more (default 0.01)",
    )
    add("--decoupled", action="store_true", help="decay beside the gradient (SGDW), not in it")
    add("--batch-size", type=whole(1), default=None, metavar="B", help="default: the full batch")
    add(
        "--repeats",
        type=whole(1),
        default=1,
        metavar="R",
        help="heads of each setting, with own initial rows",
    )
    add(
        "--scale",
        type=real,
        default=0.3,
        help="standard deviation of the initial rows (default 0.3)",
    )
    add(
        "--record-every",
        type=whole(1),
        default=1,
        metavar="S",
        help="steps between records (default 1)",
    )
    add("--dtype", default="float64", help="float64 (default) or float32")
    add(
        "--out",
        default="results/linear.npz",
        metavar="FILE",
        help="the run (default results/linear.npz)",
    )


def _simulate_linear(options: argparse.Namespace) -> int:
    import numpy as np

    from ..trajectories import LinearConfig, train_linear_heads

    rng = np.random.default_rng(options.seed)
    features, labels = _data(options, rng)
    settings = [
        (rate, decay)
        for rate in options.learning_rate
        for decay in options.weight_decay
        for _ in range(options.repeats)
    ]
    rates, decays = map(np.array, zip(*settings, strict=True))
    count, dim = max(options.labels, int(labels.max()) + 1), features.shape[1]
    start = rng.normal(scale=options.scale, size=(len(settings), count, dim))
    check_writable(Path(options.out).parent)
    config = LinearConfig(
        steps=options.steps,
        step_size=rates[:, None],
        weight_decay=decays[:, None],
        decoupled=options.decoupled,
        batch_size=options.batch_size,
        seeds=[options.seed + k for k in range(len(settings))],
        record_every=options.record_every,
        dtype=options.dtype,
    )
    with progress(options.quiet) as bar:
        runs = train_linear_heads(
            start,
            features,
            labels,
            config=config,
            progress=lambda done, total: bar("training", done, total),
        )
    runs.save(options.out)
    rows = _run_summary(runs, settings)
    if options.json:
        from ..files import write_json

        write_json(options.json, {"run": str(options.out), "heads": rows})
    for row in rows:
        print(json.dumps(row))
    print(
        f"run       {options.out}\nfigure    collapse-theory plot shrinkage {options.out} -o FIGURE.pdf"
    )
    return 0


def _data(options: argparse.Namespace, rng: Any) -> tuple[Any, Any]:
    """Features and labels: from ``--data``, or Gaussian features labelled by a random linear teacher."""
    import numpy as np

    if options.data:
        try:
            with np.load(options.data, allow_pickle=False) as file:
                return np.asarray(file["features"], dtype=np.float64), np.asarray(file["labels"])
        except FileNotFoundError as error:
            raise InputError(f"{options.data}: no such file; check the path") from error
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise InputError(
                f"{options.data}: not usable ({reason}); give an .npz with features [N, n] and labels [N]"
            ) from error
    seen = options.labels - options.unseen
    if seen < 1:
        raise InputError(
            f"--unseen {options.unseen} leaves no target among --labels {options.labels}; lower it"
        )
    features = rng.standard_normal((options.examples, options.dim))
    teacher = rng.standard_normal((seen, options.dim))
    return features, options.unseen + np.argmax(features @ teacher.T, axis=1)


def _run_summary(runs: Any, settings: Sequence[tuple[float, float]]) -> list[dict[str, Any]]:
    """One line for each head: the shrinkage of the unseen pairs, measured and by the decay product."""
    rows = []
    for head, (rate, decay) in enumerate(settings):
        first, last = runs.distance[head, 0], runs.distance[head, -1]
        rows.append(
            {
                "head": head,
                "learning_rate": float(rate),
                "weight_decay": float(decay),
                "distance_first": float(first.max()),
                "distance_last": float(last.max()),
                "largest_factor": float((last / first).max()),
                "decay_product": float(runs.decay_product[head, -1]),
            }
        )
    return rows
