"""Learning rates of every step, and what weight decay alone makes of a row."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._setup import TrainingSetup

__all__ = ["Decay", "decay_of", "learning_rates"]

Floats = NDArray[np.float64]

SMALL = 1e-3
"""The share of a distance that counts as gone."""
DRAWN = 200
"""States of a run kept for figures."""


def learning_rates(setup: TrainingSetup) -> Floats:
    """``eta_t`` of every step [steps]."""
    return setup.learning_rate * _factors(setup)


def _factors(setup: TrainingSetup) -> Floats:
    """Share of the peak at every step, with the formulas of ``transformers.get_scheduler``."""
    steps, warm = setup.steps, setup.warmup_steps
    t = np.arange(steps, dtype=np.float64)
    if setup.constant_rate:
        return np.ones(steps)
    if setup.schedule == "constant_with_warmup":
        after = np.ones(steps)
    elif setup.schedule == "wsd":
        last = math.ceil(steps / 10) if setup.decay_steps is None else setup.decay_steps
        stable = max(steps - warm - last, 0)
        after = _ends_at(_cosine((t - warm - stable) / max(1, last)), setup.min_lr_ratio)
    else:
        done = (t - warm) / max(1, steps - warm)
        shape = _cosine(done) if setup.schedule == "cosine" else 1 - np.clip(done, 0, 1)
        after = _ends_at(shape, setup.min_lr_ratio)
    return np.where(t < warm, t / max(1, warm), after)


def _cosine(done: Floats) -> Floats:
    """From 1 at 0 to 0 at 1, level outside."""
    return (1 + np.cos(np.pi * np.clip(done, 0, 1))) / 2


def _ends_at(shape: Floats, share: float) -> Floats:
    return share + (1 - share) * shape


@dataclass(frozen=True, eq=False)
class Decay:
    """The decay factors ``c_t = 1 - eta_t lam`` of a run and their product.

    Attributes:
        eta: learning rates [steps].
        delta: ``eta_t lam`` [steps]; 0 for Adam, whose weight decay is no factor.
        states: numbers of steps taken, 0 to steps, about 200 of them [S].
        product: ``prod |c_t|`` at those states [S].
        half_life: steps after which the largest factor alone would leave a half; infinite without decay.
        thousandth: the first step count at which the product is at most 1/1000; None if the run ends before.
    """

    eta: Floats
    delta: Floats
    states: NDArray[np.int64]
    product: Floats
    half_life: float
    thousandth: int | None

    @property
    def total(self) -> float:
        """The product over the whole run."""
        return float(self.product[-1])


def decay_of(setup: TrainingSetup) -> Decay:
    """What weight decay alone does over the run."""
    eta = learning_rates(setup)
    # Adam takes weight decay into its normalised gradient, where it is no factor.
    delta = eta * (0.0 if setup.optimizer == "adam" else setup.weight_decay)
    logs = log_product(delta)
    states = states_of(setup.steps)
    gone = int(np.searchsorted(-logs, -math.log(SMALL))) if (delta <= 1).all() else len(logs)
    return Decay(
        eta,
        delta,
        states,
        np.exp(logs[states]),
        steps_to(0.5, float(delta.max())),
        gone if gone < len(logs) else None,
    )


def states_of(steps: int) -> NDArray[np.int64]:
    """0, the last, and states between, about :data:`DRAWN` in all."""
    return np.unique(np.linspace(0, steps, min(steps, DRAWN) + 1).round().astype(np.int64))


def log_product(gaps: Floats) -> Floats:
    """``log prod_(s<t) |1 - gap_s|`` at every state [steps + 1]; more exact than the product of rounded factors."""
    with np.errstate(divide="ignore"):
        logs = np.log1p(-np.minimum(gaps, 0.5))
        large = gaps > 0.5  # 1 - gap is exact there, and may be 0 or negative
        logs[large] = np.log(np.abs(1 - gaps[large]))
    return np.concatenate([[0.0], np.cumsum(logs)])


def steps_to(share: float, gap: float) -> float:
    """``ln(1/share)/(-ln(1 - gap))``: steps at which the factor ``1 - gap`` leaves ``share``; infinite for gap 0."""
    if gap <= 0:
        return math.inf
    return 0.0 if gap >= 1 else math.log(share) / math.log1p(-gap)
