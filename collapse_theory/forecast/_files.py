"""Training setups from files and mappings, with this package's names or Hugging Face's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ..checks import integer
from ..errors import InputError
from ..files import read_json
from ._setup import SCHEDULES, TrainingSetup, flag, real

__all__ = ["Reading", "read_config", "read_setup", "setup_from"]

OWN = tuple(field.name for field in fields(TrainingSetup))

RENAMED = {
    "lr": "learning_rate",
    "max_steps": "steps",
    "adam_epsilon": "epsilon",
    "tie_word_embeddings": "tied",
    "initializer_range": "initial_scale",
    "torch_dtype": "dtype",
}
"""Other names of fields, from ``TrainingArguments`` and from a model's config.json."""

TRAINER = ("max_steps", "lr_scheduler_type", "optim", "adam_beta1", "adam_beta2", "adam_epsilon")
"""Names that only Hugging Face's ``TrainingArguments`` has: where one is given, its defaults count."""
TRAINER_DEFAULTS = (
    ("optim", "optimizer", "adamw_torch"),
    ("lr_scheduler_type", "schedule", "linear"),
    ("learning_rate", "learning_rate", 5e-5),
)

ADAMW = ("adamw_torch", "adamw_torch_fused", "adamw_torch_xla", "adamw_hf", "adamw_apex_fused")
SCHEDULE_NAMES = {"warmup_stable_decay": "wsd", "cosine_with_min_lr": "cosine"}

WHY_IGNORED = {
    "bf16": "autocast leaves the weights as they were loaded; dtype says how that is",
    "fp16": "autocast leaves the weights as they were loaded; dtype says how that is",
    "gradient_accumulation_steps": "steps are optimiser steps already",
    "max_grad_norm": "clipping by norm lowers the curvature T and does not touch decay",
    "num_train_epochs": "steps count instead",
}


@dataclass(frozen=True)
class Reading:
    """A setup, and a line for every key that was ignored or value that was assumed."""

    setup: TrainingSetup
    ignored: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()


def read_setup(path: str | Path, **changes: Any) -> Reading:
    """The setup in a JSON or YAML file; ``changes`` replace what it says.

    Raises :class:`InputError` for a file that cannot be read, a bad value, or YAML where PyYAML is not installed.
    """
    return setup_from(read_config(path), **changes)


def read_config(path: str | Path) -> Mapping[str, Any]:
    """The keys of a JSON or YAML file, by its suffix."""
    path = Path(path)
    data = _yaml(path) if path.suffix.lower() in (".yaml", ".yml") else read_json(path)
    if not isinstance(data, Mapping):
        raise InputError(f"{path}: holds no keys; give learning_rate, steps and the like")
    # What `collapse-theory forecast --json` wrote can be read again.
    kept = data.get("setup") if data.get("kind") == "forecast" else None
    return kept if isinstance(kept, Mapping) else data


def _yaml(path: Path) -> Any:
    try:
        import yaml  # pyright: ignore[reportMissingModuleSource]
    except ImportError:
        raise InputError(f"{path}: YAML needs PyYAML (pip install pyyaml); or give JSON") from None
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; check the path") from error
    except (OSError, ValueError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path}: not readable YAML ({reason}); make it again") from error


def setup_from(config: Mapping[str, Any], **changes: Any) -> Reading:
    """The setup in a mapping; ``changes`` have the same names and win."""
    values, ignored = _translated(config)
    wanted, unknown = _translated(changes)
    if unknown:
        raise InputError(f"forecast: {unknown[0].partition(':')[0]!r} is no field of TrainingSetup")
    if "warmup_steps" in wanted:
        values.pop("warmup_ratio", None)
    elif "warmup_ratio" in wanted:
        values.pop("warmup_steps", None)
    values.update(wanted)
    assumed = []
    if set(TRAINER) & set(config):
        for name, own, value in TRAINER_DEFAULTS:
            if own not in values:
                values.update(_translated({name: value})[0])
                assumed.append(f"{name}: {value}, the Trainer's default")
    if {"adam_beta1", "adam_beta2"} & set(values):
        values["betas"] = (values.pop("adam_beta1", 0.9), values.pop("adam_beta2", 0.999))
    for name in ("optimizer", "learning_rate", "steps"):
        if name not in values:
            also = {"optimizer": " (or optim)", "steps": " (or max_steps above 0)"}.get(name, "")
            raise InputError(f"{name}: not given; add it{also}")
    _warmup(values, ignored)
    return Reading(TrainingSetup(**values), tuple(ignored), tuple(assumed))


def _translated(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Fields of a setup (and the three names that become fields together with others), and the ignored keys."""
    values: dict[str, Any] = {}
    ignored: list[str] = []
    for key, value in given.items():
        name = RENAMED.get(key, key)
        if value is None or (key == "max_steps" and value == -1):  # -1 stands for "by epochs"
            continue
        if key in SPECIAL:
            SPECIAL[key](values, value, ignored)
        elif name in OWN or name in ("adam_beta1", "adam_beta2", "warmup_ratio"):
            values[name] = _number(value)
        else:
            ignored.append(f"{key}: {WHY_IGNORED[key]}" if key in WHY_IGNORED else str(key))
    return values, ignored


def _warmup(values: dict[str, Any], ignored: list[str]) -> None:
    """Warm-up steps, from a ratio where that is how they are given; the Trainer's "constant" has none."""
    warm, ratio = values.pop("warmup_steps", 0), values.pop("warmup_ratio", None)
    if isinstance(warm, float) and 0 < warm < 1:  # newer versions of the Trainer take a ratio here
        ratio, warm = warm, 0
    if isinstance(warm, float) and warm == int(warm):
        warm = int(warm)
    if not warm and ratio:
        ratio = real("warmup_ratio", ratio, most=1)
        warm = math.ceil(integer("steps", values["steps"], least=1) * ratio)
    if warm and values.get("schedule", "constant") == "constant":
        ignored.append("warm-up: the schedule 'constant' has none; 'constant_with_warmup' has")
        warm = 0
    values["warmup_steps"] = warm


def _number(value: Any) -> Any:
    """Text that is a number as one: YAML reads 1e-4 as text."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value


def _optimizer(values: dict[str, Any], value: Any, ignored: list[str]) -> None:
    name = str(value).lower()
    values["optimizer"] = "adamw" if name in ADAMW else name


def _schedule(values: dict[str, Any], value: Any, ignored: list[str]) -> None:
    name = str(value).lower()
    values["schedule"] = SCHEDULE_NAMES.get(name, name)
    if values["schedule"] not in SCHEDULES:
        known = ", ".join((*SCHEDULES, *SCHEDULE_NAMES))
        raise InputError(f"lr_scheduler_type: {value!r:.60} is not forecast; known are {known}")


def _schedule_options(values: dict[str, Any], value: Any, ignored: list[str]) -> None:
    if not isinstance(value, Mapping):
        raise InputError(f"lr_scheduler_kwargs: got {value!r:.60}, expected names and values")
    known = {
        "num_decay_steps": "decay_steps",
        "min_lr_rate": "min_lr_ratio",
        "min_lr_ratio": "min_lr_ratio",
    }
    for key, option in value.items():
        if key in known:
            values[known[key]] = _number(option)
        else:
            ignored.append(f"lr_scheduler_kwargs.{key}")


def _dtype(values: dict[str, Any], value: Any, ignored: list[str]) -> None:
    name = str(value).removeprefix("torch.")
    values["dtype"] = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}.get(name, name)


def _frozen(values: dict[str, Any], value: Any, ignored: list[str]) -> None:
    if flag("frozen", value):
        values["gradient"] = "missing"


SPECIAL: dict[str, Callable[[dict[str, Any], Any, list[str]], None]] = {
    "optim": _optimizer,
    "optimizer": _optimizer,
    "lr_scheduler_type": _schedule,
    "schedule": _schedule,
    "lr_scheduler_kwargs": _schedule_options,
    "dtype": _dtype,
    "torch_dtype": _dtype,
    "frozen": _frozen,
}
"""Keys whose values are not taken as they stand."""
