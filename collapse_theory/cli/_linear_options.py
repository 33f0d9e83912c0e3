"""The options of ``simulate linear`` and ``simulate sweep``: the data, the optimiser, its schedule."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from ..errors import InputError
from ._common import nonnegative, real, whole


def share(text: str) -> float:
    value = nonnegative(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a share above 0 and at most 1")
    return value


def add_data(add: Callable[..., Any]) -> None:
    """Labels, features and what is left out."""
    add(
        "--labels", type=whole(3), default=None, metavar="K",
        help="labels in all (default 10, or as many as --data needs)",
    )  # fmt: skip
    add(
        "--unseen", type=whole(2), default=3, metavar="M",
        help="labels 0..M-1 are never targets (default 3)",
    )  # fmt: skip
    add(
        "--rare", type=share, default=None, metavar="F",
        help="labels 0 and 1 are the targets in a share F of the examples, and the pair that is followed",
    )  # fmt: skip
    add("--masked", action="store_true", help="leave the logits of unseen labels out: pure decay")
    add(
        "--dim", type=whole(1), default=16, metavar="n", help="dimension of the features (default 16)"
    )  # fmt: skip
    add(
        "--examples", type=whole(1), default=256, metavar="N",
        help="training examples (default 256)",
    )  # fmt: skip
    add(
        "--data", metavar="FILE.npz", help="own data instead: arrays features [N, n] and labels [N]"
    )
    add(
        "--scale", type=nonnegative, default=0.3,
        help="standard deviation of the initial rows (default 0.3)",
    )  # fmt: skip


def add_training(add: Callable[..., Any], *, grid: bool) -> None:
    """Steps, optimiser and schedule; with ``grid`` those that span a sweep take several values."""
    many: dict[str, Any] = {"nargs": "+"} if grid else {}

    def default(value: Any) -> Any:
        return [value] if grid else value

    add("--steps", type=whole(0), default=500, help="gradient steps (default 500)")
    add(
        "--learning-rate", type=real, nargs="+", default=[0.1], metavar="ETA",
        help="one or more (default 0.1)",
    )  # fmt: skip
    add(
        "--weight-decay", type=real, nargs="+", default=[0.01], metavar="LAM",
        help="one or more (default 0.01)",
    )  # fmt: skip
    add("--decoupled", action="store_true", help="decay beside the gradient (SGDW), not in it")
    add("--optimizer", default=default("sgd"), help="sgd (default), adam, adamw or signsgd", **many)
    add(
        "--momentum", type=nonnegative, default=default(0.0), metavar="B",
        help="of sgd (default 0)", **many,
    )  # fmt: skip
    add("--dampening", type=nonnegative, default=0.0, metavar="D", help="of sgd (default 0)")
    add("--nesterov", action="store_true", help="Nesterov's momentum, of sgd")
    add(
        "--betas", type=nonnegative, nargs=2, default=[0.9, 0.999], metavar=("B1", "B2"),
        help="of adam and adamw (default 0.9 0.999)",
    )  # fmt: skip
    add("--epsilon", type=nonnegative, default=1e-8, help="of adam and adamw (default 1e-8)")
    add("--amsgrad", action="store_true", help="of adam and adamw")
    add(
        "--schedule", default=default("constant"),
        help="of the learning rate: constant (default), linear, cosine, wsd or restarts", **many,
    )  # fmt: skip
    add(
        "--warmup", type=whole(0), default=0, metavar="W",
        help="steps in which the learning rate rises from 0 (default 0)",
    )  # fmt: skip
    add(
        "--decay-steps", type=whole(1), default=None, metavar="S",
        help="last steps in which wsd goes down (default: a fifth of all, at least 1)",
    )  # fmt: skip
    add(
        "--cycles", type=whole(1), default=None, metavar="C",
        help="falls of the cosine in restarts (default 2)",
    )  # fmt: skip
    add(
        "--batch-size", type=whole(1), default=[None] if grid else None, metavar="B",
        help="default: the full batch", **many,
    )  # fmt: skip
    add("--dtype", default="float64", help="float64 (default) or float32")


def check_schedules(options: argparse.Namespace, names: list[str]) -> None:
    """Raises :class:`InputError` on an option of a schedule that is not asked for."""
    own = {
        "--decay-steps": (options.decay_steps, "wsd"),
        "--cycles": (options.cycles, "restarts"),
    }
    for flag, (value, owner) in own.items():
        if value is not None and owner not in names:
            raise InputError(f"{flag} {value}: --schedule {owner} alone has it; leave it out")
