"""``forecast``: what optimiser settings do to rows whose labels never occur as targets."""

from __future__ import annotations

import argparse
from typing import Any

from ..errors import InputError
from ._common import check_file, command, nonnegative, whole

NAMES = (
    *(
        "optimizer",
        "learning_rate",
        "steps",
        "weight_decay",
        "schedule",
        "warmup_steps",
        "warmup_ratio",
    ),
    *(
        "decay_steps",
        "min_lr_ratio",
        "momentum",
        "nesterov",
        "betas",
        "epsilon",
        "dtype",
        "master_weights",
    ),
    *("rounding", "radius", "norm_gamma", "norm_beta", "hidden_size", "loss", "initial_scale"),
    *("gradient_bound", "wanted_distance", "tied", "gradient", "frozen"),
)


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        "forecast",
        _forecast,
        "say what optimiser settings do to output rows whose labels never occur as targets",
        "collapse-theory forecast training_args.json\n"
        "  collapse-theory forecast --optimizer sgd --learning-rate 0.1 --weight-decay 1e-3 --steps 20000 --radius 4\n"
        "  collapse-theory forecast --optim adamw_torch --learning-rate 6e-4 --weight-decay 0.1 --max-steps 60000 "
        "--schedule cosine --warmup-steps 2000 --dtype bfloat16 --figure forecast.svg",
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="JSON or YAML with these names or those of Hugging Face's TrainingArguments; options win over it",
    )
    run = parser.add_argument_group("the run")
    run.add_argument("--optimizer", "--optim", metavar="NAME", help="sgd, adam or adamw")
    run.add_argument("--learning-rate", "--lr", type=nonnegative, metavar="ETA", help="the peak")
    run.add_argument("--weight-decay", type=nonnegative, metavar="LAM")
    run.add_argument("--steps", "--max-steps", type=whole(1), metavar="N", help="optimiser steps")
    run.add_argument(
        "--schedule",
        "--lr-scheduler-type",
        metavar="NAME",
        help="constant (default), constant_with_warmup, linear, cosine or wsd",
    )
    run.add_argument("--warmup-steps", type=whole(0), metavar="N")
    run.add_argument("--warmup-ratio", type=nonnegative, metavar="SHARE", help="of the steps")
    run.add_argument("--decay-steps", type=whole(0), metavar="N", help="of wsd (default: a tenth)")
    run.add_argument("--min-lr-ratio", type=nonnegative, metavar="SHARE", help="where it ends")
    run.add_argument("--momentum", type=nonnegative, metavar="BETA", help="of sgd")
    run.add_argument("--nesterov", action="store_true", default=None)
    run.add_argument("--betas", nargs=2, type=nonnegative, metavar=("B1", "B2"), help="of adam(w)")
    run.add_argument("--epsilon", "--adam-epsilon", type=nonnegative, metavar="EPS")
    weights = parser.add_argument_group("the weights")
    weights.add_argument("--dtype", metavar="NAME", help="float32 (default), bfloat16 or float16")
    weights.add_argument("--master-weights", action="store_true", default=None, help="in float32")
    weights.add_argument("--rounding", metavar="NAME", help="nearest (default) or stochastic")
    weights.add_argument("--hidden-size", type=whole(1), metavar="N", help="entries of a row")
    weights.add_argument("--initial-scale", type=nonnegative, metavar="STD", help="of fresh rows")
    weights.add_argument(
        "--wanted-distance", type=nonnegative, metavar="D", help="gives the period of a reset"
    )
    weights.add_argument("--tied", action="store_true", default=None, help="to input embeddings")
    weights.add_argument(
        "--gradient",
        metavar="KIND",
        help="of unseen rows: softmax (default), zero, missing, sparse",
    )
    weights.add_argument(
        "--frozen", action="store_true", default=None, help="the same as --gradient missing"
    )
    features = parser.add_argument_group("the features (they give the bound T on the curvature)")
    features.add_argument("--radius", type=nonnegative, metavar="R", help="no feature is longer")
    features.add_argument(
        "--norm-gamma", type=nonnegative, metavar="G", help="max|gamma| of the final norm instead"
    )
    features.add_argument("--norm-beta", type=nonnegative, metavar="B", help="|beta| of it")
    features.add_argument(
        "--loss", type=nonnegative, metavar="NATS", help="no batch's mean loss is higher"
    )
    features.add_argument(
        "--gradient-bound", type=nonnegative, metavar="G", help="of every entry (adam, adamw)"
    )
    parser.add_argument("--figure", metavar="FILE", help="also draw the bounds: .pdf, .svg or .png")


def _forecast(options: argparse.Namespace) -> int:
    from ..files import write_json
    from ..forecast import forecast, read_config

    for path in (options.json, options.figure):
        check_file(path)
    given = {name: getattr(options, name) for name in NAMES}
    changes = {name: value for name, value in given.items() if value is not None}
    if options.file is None and not changes:
        raise InputError(
            "forecast: give a FILE of hyperparameters, or options (see: forecast --help)"
        )
    if "betas" in changes:
        changes["betas"] = tuple(changes["betas"])
    result = forecast(read_config(options.file) if options.file else {}, **changes)
    if options.figure:
        from .. import plots

        with plots.style():
            figure, (ax,) = plots.canvas("forecast")
            plots.forecast(ax, result)
            plots.write(figure, options.figure)
    if options.json:
        write_json(options.json, result.to_dict())
    print(result)
    if options.figure:
        print(f"\nfigure    {options.figure}")
    return 0
