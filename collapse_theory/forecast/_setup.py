"""What a forecast is made from: the hyperparameters of a training run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..checks import integer, numbers
from ..errors import InputError

__all__ = ["TrainingSetup", "choice", "flag", "real"]

OPTIMIZERS = ("sgd", "adam", "adamw")
SCHEDULES = ("constant", "constant_with_warmup", "linear", "cosine", "wsd")
DTYPES = ("float32", "bfloat16", "float16")
ROUNDINGS = ("nearest", "stochastic")
GRADIENTS = ("softmax", "zero", "missing", "sparse")
LONGEST = 10_000_000
"""Most steps of a run: every step's learning rate is kept in memory."""


@dataclass(frozen=True, kw_only=True)
class TrainingSetup:
    """The hyperparameters of a run, as far as they matter to rows whose labels never occur as targets.

    Attributes:
        optimizer: "sgd", "adam" (weight decay taken into the gradient) or "adamw" (decoupled), as in ``torch.optim``.
        learning_rate: the schedule's peak eta, >= 0.
        steps: optimiser steps, 1 to 10,000,000. Batches of an accumulated gradient, and steps that a gradient scaler
            skips, do not count.
        weight_decay: lam, >= 0, of the rows in question.
        schedule: "constant", "constant_with_warmup", "linear", "cosine" or "wsd" (warm-up, stable, decay), each with the
            factors of the schedule of that name in Hugging Face transformers: the first step of a warm-up has rate 0.
        warmup_steps: linear warm-up, of every schedule but "constant".
        decay_steps: length of the last stretch of "wsd"; None for a tenth of the steps.
        min_lr_ratio: where "linear", "cosine" and "wsd" end, as a share of the peak, 0 to 1.
        momentum: of "sgd", 0 <= beta < 1.
        nesterov: Nesterov's form of the momentum, as in ``torch.optim.SGD``.
        betas: of "adam" and "adamw".
        epsilon: of "adam" and "adamw", > 0.
        dtype: of the weights: "float32", "bfloat16" or "float16". Autocast ("mixed precision") leaves them in float32.
        master_weights: the optimiser updates a float32 copy of weights in bfloat16 or float16.
        rounding: "nearest" or "stochastic", of the weights.
        radius: r, a bound on the norm of the features that the softmax layer is given.
        norm_gamma: max|gamma| of a final LayerNorm or RMSNorm, which with ``hidden_size`` and ``norm_beta``, the norm of
            beta, gives ``r = sqrt(n) max|gamma| + |beta|``. :func:`collapse_theory.feature_radius` gives a sharper one.
        norm_beta: see ``norm_gamma``.
        loss: a bound on the mean cross-entropy of every batch, nats; None if unknown. It can lower the curvature T.
        initial_scale: standard deviation of the entries of fresh rows.
        hidden_size: n, the entries of a row.
        gradient_bound: a bound on every entry of the rows' gradients during the run; ``max p_u max|x_ij|`` serves.
        wanted_distance: the distance that two unseen rows are to keep, for the period of a reset.
        tied: the rows are the input embeddings too.
        gradient: what unseen rows are given. "softmax": the gradient of the cross-entropy, which is not 0. "zero": a
            zeroed gradient, masked logits, or rows of an embedding that is not looked up. "missing": none at all, as with
            ``requires_grad=False``. "sparse": a sparse gradient without these rows.

    Raises :class:`InputError` for a value of the wrong kind or out of range.
    """

    optimizer: str
    learning_rate: float
    steps: int
    weight_decay: float = 0.0
    schedule: str = "constant"
    warmup_steps: int = 0
    decay_steps: int | None = None
    min_lr_ratio: float = 0.0
    momentum: float = 0.0
    nesterov: bool = False
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    dtype: str = "float32"
    master_weights: bool = False
    rounding: str = "nearest"
    radius: float | None = None
    norm_gamma: float | None = None
    norm_beta: float = 0.0
    loss: float | None = None
    initial_scale: float | None = None
    hidden_size: int | None = None
    gradient_bound: float | None = None
    wanted_distance: float | None = None
    tied: bool = False
    gradient: str = "softmax"

    def __post_init__(self) -> None:
        for name, known in (
            ("optimizer", OPTIMIZERS),
            ("schedule", SCHEDULES),
            ("dtype", DTYPES),
            ("rounding", ROUNDINGS),
            ("gradient", GRADIENTS),
        ):
            choice(name, getattr(self, name), known)
        for name in ("nesterov", "master_weights", "tied"):
            flag(name, getattr(self, name))
        for name, least in (
            ("steps", 1),
            ("warmup_steps", 0),
            ("decay_steps", 0),
            ("hidden_size", 1),
        ):
            if name in ("steps", "warmup_steps") or getattr(self, name) is not None:
                integer(name, getattr(self, name), least=least)
        if self.steps > LONGEST:
            raise InputError(
                f"steps: got {self.steps:,}, at most {LONGEST:,}; forecast a part of the run"
            )
        for name in ("learning_rate", "weight_decay", "norm_beta"):
            real(name, getattr(self, name))
        for name in ("radius", "norm_gamma", "loss"):
            if getattr(self, name) is not None:
                real(name, getattr(self, name))
        for name in ("initial_scale", "gradient_bound", "wanted_distance"):
            if getattr(self, name) is not None:
                real(name, getattr(self, name), positive=True)
        real("epsilon", self.epsilon, positive=True)
        real("min_lr_ratio", self.min_lr_ratio, most=1)
        real("momentum", self.momentum, below=1)
        if not isinstance(self.betas, tuple | list) or len(self.betas) != 2:
            raise InputError(
                f"betas: got {self.betas!r:.60}, expected two numbers, such as (0.9, 0.999)"
            )
        object.__setattr__(
            self, "betas", tuple(real("betas", beta, below=1) for beta in self.betas)
        )
        self._check_together()

    def _check_together(self) -> None:
        """What goes with what."""
        if self.schedule == "constant" and self.warmup_steps:
            raise InputError(
                f"warmup_steps: got {self.warmup_steps} with schedule 'constant', which has no warm-up; "
                "give 'constant_with_warmup'"
            )
        if self.optimizer != "sgd" and (self.momentum or self.nesterov):
            raise InputError(f"momentum: is SGD's; {self.optimizer} has betas instead")
        if self.nesterov and not self.momentum:
            raise InputError("nesterov: needs momentum above 0")
        if self.radius is not None and self.norm_gamma is not None:
            raise InputError("radius, norm_gamma: two radii; give one of them")
        if self.optimizer != "adam" and self.learning_rate * self.weight_decay > 2:
            product = self.learning_rate * self.weight_decay
            raise InputError(
                f"learning_rate, weight_decay: their product is {product:g}; forecasts go up to 2, lower one of them"
            )
        if self.norm_gamma is not None and self.hidden_size is None:
            raise InputError("norm_gamma: the radius of a normalised feature needs hidden_size too")

    @property
    def feature_radius(self) -> float | None:
        """r, given or from the final norm's parameters; None if unknown."""
        if self.norm_gamma is None or self.hidden_size is None:
            return self.radius
        return math.sqrt(self.hidden_size) * self.norm_gamma + self.norm_beta

    @property
    def curvature(self) -> float | None:
        """T, a bound on the largest eigenvalue of M: ``r^2/2``, or ``r^2 (1 - exp(-loss))/2`` where the loss is bounded; 0
        where the rows get no gradient; None if the radius is unknown."""
        if self.gradient != "softmax":
            return 0.0
        r = self.feature_radius
        if r is None:
            return None
        return r * r / 2 * (1.0 if self.loss is None else -math.expm1(-self.loss))

    @property
    def initial_distance(self) -> float | None:
        """``sqrt(2 n) std``, about which the distance of two fresh rows lies (its root mean square); None if unknown."""
        if self.initial_scale is None or self.hidden_size is None:
            return None
        return math.sqrt(2 * self.hidden_size) * self.initial_scale

    @property
    def constant_rate(self) -> bool:
        """Whether all steps have the same learning rate."""
        return self.schedule == "constant" or (
            self.schedule == "constant_with_warmup" and not self.warmup_steps
        )


def choice(name: str, value: Any, known: tuple[str, ...]) -> str:
    """``value`` if it is one of ``known``."""
    if not isinstance(value, str) or value not in known:
        raise InputError(f"{name}: got {value!r:.60}; give one of {', '.join(known)}")
    return value


def flag(name: str, value: Any) -> bool:
    """``value`` if it is a bool."""
    if not isinstance(value, bool):
        raise InputError(f"{name}: got {value!r:.60}; give True or False")
    return value


def real(
    name: str,
    value: Any,
    *,
    positive: bool = False,
    most: float | None = None,
    below: float | None = None,
) -> float:
    """``value`` as a float >= 0, within the range."""
    array = numbers(name, value)
    if array.ndim:
        raise InputError(f"{name}: got {value!r:.60}, expected one number")
    number = float(array)
    wanted = "a number > 0" if positive else "a number >= 0"
    wanted += "" if most is None else f" and <= {most:g}"
    wanted += "" if below is None else f" and < {below:g}"
    inside = number > 0 if positive else number >= 0
    if (
        not inside
        or (most is not None and number > most)
        or (below is not None and number >= below)
    ):
        raise InputError(f"{name}: got {number:g}, expected {wanted}")
    return number
