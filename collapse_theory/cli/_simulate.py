"""``simulate``: recorded trainings of linear heads."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from ..errors import InputError
from ._common import check_file, command, nonnegative, progress, real, whole


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
    add(
        "--labels",
        type=whole(3),
        default=None,
        metavar="K",
        help="labels in all (default 10, or as many as --data needs)",
    )
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
    add("--optimizer", default="sgd", help="sgd (default), adam, adamw or signsgd")
    add("--momentum", type=nonnegative, default=0.0, metavar="B", help="of sgd (default 0)")
    add("--dampening", type=nonnegative, default=0.0, metavar="D", help="of sgd (default 0)")
    add("--nesterov", action="store_true", help="Nesterov's momentum, of sgd")
    add(
        "--betas",
        type=nonnegative,
        nargs=2,
        default=[0.9, 0.999],
        metavar=("B1", "B2"),
        help="of adam and adamw (default 0.9 0.999)",
    )
    add("--epsilon", type=nonnegative, default=1e-8, help="of adam and adamw (default 1e-8)")
    add("--amsgrad", action="store_true", help="of adam and adamw")
    add(
        "--schedule",
        default="constant",
        help="of the learning rate: constant (default), linear, cosine, wsd or restarts",
    )
    add(
        "--warmup",
        type=whole(0),
        default=0,
        metavar="W",
        help="steps in which the learning rate rises from 0 (default 0)",
    )
    add(
        "--decay-steps", type=whole(1), default=None, metavar="S",
        help="last steps in which wsd goes down (default: a fifth of all, at least 1)",
    )  # fmt: skip
    add(
        "--cycles", type=whole(1), default=None, metavar="C",
        help="falls of the cosine in restarts (default 2)",
    )  # fmt: skip
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
        type=nonnegative,
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

    check_file(options.out)
    check_file(options.json)
    rng = np.random.default_rng(options.seed)
    features, labels, count = _data(options, rng)
    settings = [
        (rate, decay)
        for rate in options.learning_rate
        for decay in options.weight_decay
        for _ in range(options.repeats)
    ]
    rates, decays = map(np.array, zip(*settings, strict=True))
    start = rng.normal(scale=options.scale, size=(len(settings), count, features.shape[1]))
    config = LinearConfig(
        steps=options.steps,
        step_size=_rates(options, rates),
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
    print(f"run       {options.out}")
    if config.plain:
        print(f"figure    collapse-theory plot shrinkage {options.out} -o FIGURE.pdf")
    return 0


def _rates(options: argparse.Namespace, peaks: Any) -> Any:
    """The learning rates [H, 1], or [H, steps] under a schedule. Raises :class:`InputError`."""
    import numpy as np

    from ..schedules import schedule

    own = {"decay": (options.decay_steps, "wsd"), "cycles": (options.cycles, "restarts")}
    for name, (value, owner) in own.items():
        if value is not None and options.schedule != owner:
            flag = "--decay-steps" if name == "decay" else "--cycles"
            raise InputError(f"{flag} {value}: --schedule {owner} alone has it; leave it out")
    if options.schedule == "constant" and not options.warmup:
        return peaks[:, None]
    more: dict[str, Any] = {"warmup": options.warmup}
    if options.schedule == "wsd":
        fifth = min(max(1, options.steps // 5), options.steps - options.warmup)
        more["decay"] = options.decay_steps or max(0, fifth)
    if options.schedule == "restarts":
        more["cycles"] = options.cycles or 2
    factor = schedule(options.schedule, 1.0, options.steps, **more)
    return peaks[:, None] * (factor if options.steps else np.ones(1))


def _data(options: argparse.Namespace, rng: Any) -> tuple[Any, Any, int]:
    """Features [N, n], labels [N] and K: from ``--data``, or Gaussian features labelled by a random linear teacher."""
    import numpy as np

    if options.data:
        features, labels = _own_data(options.data)
        count = max(3, int(labels.max()) + 1) if options.labels is None else options.labels
        outside = labels[(labels < 0) | (labels >= count)]
        if len(outside):
            raise InputError(
                f"{options.data}: label {outside[0]} is out of range; labels run from 0 to K - 1, "
                f"and --labels K is {count}"
            )
        return features, labels, count
    count = 10 if options.labels is None else options.labels
    seen = count - options.unseen
    if seen < 1:
        raise InputError(
            f"--unseen {options.unseen} leaves no target among --labels {count}; lower it"
        )
    features = rng.standard_normal((options.examples, options.dim))
    teacher = rng.standard_normal((seen, options.dim))
    return features, options.unseen + np.argmax(features @ teacher.T, axis=1), count


def _own_data(path: str) -> tuple[Any, Any]:
    """Features [N, n] and labels [N] of the user's file. Raises :class:`InputError`."""
    import numpy as np

    wanted = "give an .npz with features [N, n] (numbers) and labels [N] (whole numbers)"
    try:
        # Opened here: NumPy leaves a damaged archive open.
        with open(path, "rb") as stream:
            archive = np.load(stream, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise InputError(f"{path}: holds one array only; {wanted}")
            features, labels = archive["features"], archive["labels"]
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; check the path") from error
    except Exception as error:  # a damaged zip or array raises half a dozen types
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: not usable ({reason}); {wanted}") from error
    for name, array, kinds, axes in (("features", features, "fiu", 2), ("labels", labels, "iu", 1)):
        if array.dtype.kind not in kinds or array.ndim != axes or array.size == 0:
            raise InputError(
                f"{path}: {name} are {array.dtype} of shape {list(array.shape)}; {wanted}"
            )
    return features.astype(np.float64), labels.astype(np.int64)


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
                # None for other optimisers than gradient descent, whose distances it does not bound.
                "decay_product": float(runs.decay_product[head, -1]) if runs.config.plain else None,
            }
        )
    return rows
