"""The grid of a sweep: which heads there are, and which of them are trained together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import Any

import numpy as np

from collapse_theory.checks import integer, numbers
from collapse_theory.errors import InputError
from collapse_theory.optimizers import OPTIMIZERS
from collapse_theory.schedules import SCHEDULES, factors
from collapse_theory.trajectories import LinearConfig

__all__ = ["AXES", "Head", "Part", "Sweep"]

PART = 64
"""Heads of a part at most. The parts do not depend on the number of workers, nor then does the result: a head's last bits
may depend on those it is trained with."""
AXES = {
    "optimizers": "optimizer",
    "momenta": "momentum",
    "schedules": "schedule",
    "batch_sizes": "batch_size",
    "learning_rates": "learning_rate",
    "weight_decays": "weight_decay",
    "seeds": "seed",
}
OWN: dict[str, tuple[str, ...]] = {
    "sgd": ("momentum", "dampening", "nesterov", "decoupled"),
    "adam": ("betas", "epsilon", "amsgrad"),
}


@dataclass(frozen=True, kw_only=True)
class Head:
    """The settings of one head, and its place in the grid."""

    index: int
    optimizer: str
    momentum: float
    schedule: str
    batch_size: int | None
    learning_rate: float
    weight_decay: float
    seed: int


@dataclass(frozen=True)
class Part:
    """Heads that are trained as one batched computation."""

    index: int
    heads: tuple[Head, ...]


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A grid of settings.

    Attributes:
        steps: gradient steps of every head.
        optimizers, momenta, schedules, batch_sizes, learning_rates, weight_decays, seeds: the axes. A
            momentum is of "sgd" alone; other optimisers are taken once, without. A batch size of None is
            all examples. A seed fixes a head's initial rows and the order of its examples, so that heads
            of one seed start alike under all settings.
        scale: standard deviation of the initial rows.
        warmup, decay_steps, cycles: of the schedules; see :func:`collapse_theory.schedules.factors`.
        decoupled, dampening, nesterov, betas, epsilon, amsgrad, dtype, masked: see `LinearConfig`; those
            of one optimiser go to it alone.
        record_every: steps between records; None for a hundredth of the steps.

    Raises:
        InputError: an axis is empty or names a setting twice, or a value is of the wrong kind or out of range.
    """

    steps: int
    optimizers: Sequence[str] = ("sgd",)
    momenta: Sequence[float] = (0.0,)
    schedules: Sequence[str] = ("constant",)
    batch_sizes: Sequence[int | None] = (None,)
    learning_rates: Sequence[float] = (0.1,)
    weight_decays: Sequence[float] = (0.01,)
    seeds: Sequence[int] = (0,)
    scale: float = 0.3
    warmup: int = 0
    decay_steps: int | None = None
    cycles: int | None = None
    decoupled: bool = False
    dampening: float = 0.0
    nesterov: bool = False
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    amsgrad: bool = False
    record_every: int | None = None
    dtype: str = "float64"
    masked: bool = False

    def __post_init__(self) -> None:
        for name in AXES:
            given = getattr(self, name)
            if isinstance(given, str) or np.ndim(given) != 1 or not len(given):
                raise InputError(f"{name} are {given!r:.60}: give a list of at least one")
            values = tuple(v.item() if isinstance(v, np.generic) else v for v in given)
            object.__setattr__(self, name, values)
            twice = [v for i, v in enumerate(values) if v in values[:i]]
            if twice:
                raise InputError(f"{name} hold {twice[0]!r:.60} twice: give each once")
        object.__setattr__(self, "betas", tuple(self.betas))
        integer("steps", self.steps, least=0)
        for seed in self.seeds:
            integer("seeds", seed, least=0)
        for name in ("momenta", "learning_rates", "weight_decays", "scale"):
            if (numbers(name, getattr(self, name)) < 0).any() and name in ("momenta", "scale"):
                raise InputError(f"{name}: got {getattr(self, name)!r:.60}, expected numbers >= 0")
        for name, known in (("optimizers", OPTIMIZERS), ("schedules", tuple(SCHEDULES))):
            for value in getattr(self, name):
                if value not in known:
                    raise InputError(f"{name} hold {value!r:.60}: give {', '.join(known)}")
        for name, owner in (("decay_steps", "wsd"), ("cycles", "restarts")):
            value = getattr(self, name)
            if value is not None and owner not in self.schedules:
                raise InputError(f"{name} is {value!r:.60}: schedule {owner} alone has it")
            if value is not None:
                integer(name, value, least=1)
        for part in self.parts():  # what is wrong is said before the first step
            self.config(part)

    def heads(self) -> list[Head]:
        """All heads, in the order of the grid."""
        found: list[Head] = []
        for optimizer in self.optimizers:
            for momentum in self.momenta if optimizer == "sgd" else (0.0,):
                axes = (self.schedules, self.batch_sizes, self.learning_rates)
                for setting in product(*axes, self.weight_decays, self.seeds):
                    values: dict[str, Any] = dict(
                        zip(list(AXES.values())[2:], setting, strict=True)
                    )
                    found.append(
                        Head(index=len(found), optimizer=optimizer, momentum=momentum, **values)
                    )
        return found

    def parts(self) -> list[Part]:
        """The heads in parts: of one optimiser and batch size, however many workers there are."""
        groups: dict[tuple[Any, ...], list[Head]] = {}
        for head in self.heads():
            key = head.optimizer, head.momentum, head.batch_size
            groups.setdefault(key, []).append(head)
        pieces = [
            tuple(group[i : i + PART])
            for group in groups.values()
            for i in range(0, len(group), PART)
        ]
        return [Part(index, heads) for index, heads in enumerate(pieces)]

    def config(self, part: Part) -> LinearConfig:
        """How the heads of a part are trained."""
        first = part.heads[0]
        options: dict[str, Any] = {"momentum": first.momentum}
        for owner, names in OWN.items():
            anywhere = any(name.startswith(owner) for name in self.optimizers)
            if (
                first.optimizer.startswith(owner) or not anywhere
            ):  # else LinearConfig says whose it is
                options.update({n: getattr(self, n) for n in names if n != "momentum"})
        made = {
            name: factors(
                name,
                self.steps,
                warmup=self.warmup,
                decay_steps=self.decay_steps,
                cycles=self.cycles,
            )
            for name in {head.schedule for head in part.heads}
        }
        width = max(len(factor) for factor in made.values())
        rates = [
            head.learning_rate * np.broadcast_to(made[head.schedule], width) for head in part.heads
        ]
        return LinearConfig(
            steps=self.steps,
            step_size=np.stack(rates),
            weight_decay=np.array([[head.weight_decay] for head in part.heads]),
            optimizer=first.optimizer,  # type: ignore[arg-type]
            batch_size=first.batch_size,
            seeds=[head.seed for head in part.heads],
            record_every=self.record_every or max(1, self.steps // 100),
            dtype=self.dtype,  # type: ignore[arg-type]
            masked=self.masked,
            **options,
        )

    def to_dict(self) -> dict[str, Any]:
        """All settings, as JSON has them."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
