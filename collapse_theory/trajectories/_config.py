"""How heads are trained, and what is recorded of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from collapse_theory.checks import integer, numbers
from collapse_theory.errors import InputError
from collapse_theory.optimizers import OPTIMIZERS

__all__ = ["LinearConfig", "Scalars"]

TYPES = ("float64", "float32")

Scalars = float | Sequence[float] | Sequence[Sequence[float]] | NDArray[np.floating[Any]]
"""One number; one for each head [H]; one for each step [steps]; or both [H, steps]."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearConfig:
    """How H linear heads are trained: by SGD without momentum, or by another optimiser.

    Attributes:
        steps: number of gradient steps, 0 or more.
        step_size: eta. A number, [H], [steps] or [H, steps]; where H equals steps, [H, 1] and
            [1, steps] say which is meant.
        weight_decay: lam, of the same shapes.
        decoupled: False takes lam * w into the gradient, as `torch.optim.SGD` does; True shrinks
            the weights by 1 - eta lam beside the gradient step, as SGDW does. Without momentum the
            two are the same map, written `W <- (1 - eta lam) W - eta grad`; the flag is kept so
            that a record says what was meant.
        optimizer: "sgd", "adam", "adamw" or "signsgd", with the semantics of `torch.optim`. signSGD is
            `w <- (1 - eta lam) w - eta sign(g)`; `decoupled` is SGD's alone.
        momentum, dampening, nesterov: of SGD; with `decoupled`, SGDW.
        betas, epsilon, amsgrad: of Adam and AdamW.
        batch_size: examples in a batch, drawn without replacement in an order of its own for each
            head and epoch; what remains at the end of an epoch is left out. None: all examples.
        seeds: of the orders of the examples. An int gives all heads the same order (the fastest);
            a sequence [H] gives each head its own, which depends on its seed alone.
        record_every: record the steps 0, k, 2k, ...; None records the last weights alone.
        snapshots: keep the weights and the batch of each recorded step, for another look at it.
        dtype: "float64" or "float32", of the training. Records are measured in float64.
        masked: leave the logits of a head's unseen labels out of the softmax: their rows only decay
            (claim `masked_logits`).

    Raises:
        InputError: a value is of the wrong kind or out of range. Shapes that depend on H are
            checked by `train_linear_heads`.
    """

    steps: int
    step_size: Scalars
    weight_decay: Scalars = 0.0
    decoupled: bool = False
    batch_size: int | None = None
    seeds: int | Sequence[int] = 0
    record_every: int | None = 1
    snapshots: bool = False
    dtype: Literal["float64", "float32"] = "float64"
    optimizer: Literal["sgd", "adam", "adamw", "signsgd"] = "sgd"
    momentum: float = 0.0
    dampening: float = 0.0
    nesterov: bool = False
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    amsgrad: bool = False
    masked: bool = False

    def __post_init__(self) -> None:
        integer("steps", self.steps, least=0)
        for name in ("step_size", "weight_decay"):
            if numbers(name, getattr(self, name)).ndim > 2:
                raise InputError(f"{name} has more than 2 axes: give [H, steps] at most")
        for name in ("batch_size", "record_every"):
            if getattr(self, name) is not None:
                integer(name, getattr(self, name), least=1)
        for name in ("decoupled", "snapshots", "nesterov", "amsgrad", "masked"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} is {getattr(self, name)!r:.60}: give True or False")
        if self.dtype not in TYPES:
            # In half precision the softmax's sums alone would be wrong in the second digit.
            raise InputError(
                f"dtype is {self.dtype!r:.60}: heads are trained in 'float64' or 'float32'; for "
                "half precision step with collapse_theory.optimizers"
            )
        self._check_optimizer()
        seeds = self.seeds
        if isinstance(seeds, (str, bytes)) or np.ndim(seeds) > 1:
            raise InputError(f"seeds are {seeds!r:.60}: give an integer, or one for each head")
        for seed in [seeds] if np.ndim(seeds) == 0 else list(seeds):  # type: ignore[arg-type]
            integer("seeds", seed, least=0)

    @property
    def plain(self) -> bool:
        """Whether the steps are those of gradient descent, `W <- (1 - eta lam) W - eta grad`."""
        return self.optimizer == "sgd" and self.momentum == 0

    def _check_optimizer(self) -> None:
        if self.optimizer not in OPTIMIZERS:
            raise InputError(
                f"optimizer is {self.optimizer!r:.60}: give one of {', '.join(OPTIMIZERS)}"
            )
        for name in ("momentum", "dampening", "epsilon"):
            value = numbers(name, getattr(self, name))
            if value.ndim or value < 0:
                raise InputError(f"{name} is {getattr(self, name)!r:.60}: give a number >= 0")
        betas = numbers("betas", self.betas)
        if betas.shape != (2,) or (betas < 0).any() or (betas >= 1).any():
            raise InputError(f"betas are {self.betas!r:.60}: give two numbers from 0 to below 1")
        if self.nesterov and (self.momentum == 0 or self.dampening != 0):
            raise InputError(
                f"nesterov with momentum {self.momentum} and dampening {self.dampening}: "
                "give a momentum above 0 and no dampening"
            )
        belongs = {
            "sgd": ("momentum", "dampening", "nesterov", "decoupled"),
            "adam": ("betas", "epsilon", "amsgrad"),
        }
        for owner, names in belongs.items():
            if self.optimizer.startswith(owner):
                continue
            for name in names:
                if getattr(self, name) != getattr(type(self), name):
                    raise InputError(
                        f"{name} is {getattr(self, name)!r:.60}, but optimizer {self.optimizer!r} "
                        "has none: leave it out"
                    )

    def head_seeds(self, heads: int) -> list[int]:
        """The seed of each of `heads` heads."""
        if np.ndim(self.seeds) == 0:
            return [int(self.seeds)] * heads  # type: ignore[arg-type]
        seeds = [int(seed) for seed in self.seeds]  # type: ignore[union-attr]
        if len(seeds) != heads:
            raise InputError(f"seeds are {len(seeds)}, heads {heads}: give one integer or {heads}")
        return seeds

    def schedule(
        self, name: Literal["step_size", "weight_decay"], heads: int
    ) -> NDArray[np.float64]:
        """`step_size` or `weight_decay` as an array [H or 1, steps or 1]."""
        array = numbers(name, getattr(self, name))
        if array.ndim == 0:
            return array.reshape(1, 1)
        if array.ndim == 1:
            per_head, per_step = len(array) == heads, len(array) == self.steps
            if per_head and per_step and heads > 1:
                raise InputError(
                    f"{name} has {heads} entries, as many as heads and as steps: "
                    "give [H, 1] or [1, steps]"
                )
            if per_head or per_step:
                return array.reshape((-1, 1) if per_head else (1, -1))
        elif array.shape[0] in (1, heads) and array.shape[1] in (1, self.steps):
            return array
        raise InputError(
            f"{name} has shape {array.shape}: give a number, [H] = ({heads},), "
            f"[steps] = ({self.steps},) or [H, steps] = {heads, self.steps}"
        )
