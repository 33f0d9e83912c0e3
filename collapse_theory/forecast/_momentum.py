"""SGD with momentum at a constant learning rate (claims ``momentum_coupled`` and ``nesterov``)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..optimizers import heavy_ball
from ._descent import slow_without_decay
from ._finding import Bounds, finite, not_known, observed, plain, proved, share
from ._schedule import Decay
from ._setup import TrainingSetup

__all__ = ["MomentumBound", "momentum", "momentum_bound"]


@dataclass(frozen=True)
class MomentumBound:
    """``|D_t| <= rate^t constant |D_0|`` from a zero buffer, if ``eta T <= most``.

    Attributes:
        rate: the larger root rho1, what decay and momentum alone leave per step in the long run.
        constant: above 1; what a bound for all curvatures pays at the start.
        most: how large eta T may be.
    """

    rate: float
    constant: float
    most: float


def momentum_bound(
    learning_rate: float, weight_decay: float, momentum: float, *, nesterov: bool = False
) -> MomentumBound | None:
    """The bound for torch's SGD (decay inside the gradient); None where the roots are not real and distinct."""
    beta, decayed = momentum, learning_rate * weight_decay
    # total^2 - 4 q, in factors: the difference itself would cancel.
    if nesterov:
        c = 1 - decayed
        total, q = (1 + beta) * c, beta * c
        squared = c * ((1 - beta) ** 2 - (1 + beta) ** 2 * decayed)
    else:
        total, q = 1 + beta - decayed, beta
        near, far = (1 - math.sqrt(beta)) ** 2, (1 + math.sqrt(beta)) ** 2
        squared = (near - decayed) * (far - decayed)
    # Beyond the larger root of the coupled form, total < 0, the roots are real again, and negative.
    if squared <= 0 or total <= 0:
        return None
    root = math.sqrt(squared)
    high = min((total + root) / 2, 1.0)
    low = q / high
    if not nesterov:
        square = total * (total * (1 + beta) - 4 * beta) / (root * root)
        return MomentumBound(high, math.sqrt(square), 2 * root * root / total)
    c = 1 - decayed
    square = (total * (1 + beta) - 2 * beta) * (c * (1 + beta**2) - 2 * beta)
    square /= root * root
    n_high, n_low = (1 + beta) * high - beta, (1 + beta) * low - beta
    most = 2 * high * root**2 / (n_high * root + 2 * high * n_low)
    return MomentumBound(high, math.sqrt(square), most)


def momentum(setup: TrainingSetup, decay: Decay) -> Bounds:
    """What is proved of SGD with momentum."""
    form = "Nesterov momentum" if setup.nesterov else "momentum"
    claim = "nesterov" if setup.nesterov else "momentum_coupled"
    curvature = setup.curvature
    if setup.gradient == "zero":
        return _zero_gradient(setup, decay)
    if not setup.constant_rate:
        text = f"{form} is proved for a constant learning rate only"
        verdict = f"Nothing is proved for {form} under a learning rate that varies."
        return Bounds(verdict, (not_known("upper bound", text),), {"condition_met": None})
    if curvature is None:
        text = f"the radius of the features is not given, and {claim} asks for it"
        verdict = f"Nothing is proved for {form} before the features' radius is given."
        return Bounds(verdict, (not_known("upper bound", text),), {"condition_met": None})
    bound = momentum_bound(
        setup.learning_rate, setup.weight_decay, setup.momentum, nesterov=setup.nesterov
    )
    met = bound is not None and setup.learning_rate * curvature <= bound.most
    fitting = learning_rate_within(setup, curvature)
    numbers = {
        "curvature": curvature,
        "condition_met": met,
        "fitting_learning_rate": finite(fitting),
        "rate": bound.rate if bound else None,
        "constant": bound.constant if bound else None,
    }
    lower = not_known("lower bound", f"none is proved with {form}")
    if bound is None or not met:
        needs = f"a learning rate of {plain(fitting)} satisfies {claim}"
        text = f"{claim}'s condition is violated at learning rate {plain(setup.learning_rate)}; {needs}"
        verdict = (
            f"No bound is proved: the learning rate {plain(setup.learning_rate)} is too large for {form} "
            f"{plain(setup.momentum)} and features of this length ({plain(fitting)} would do)."
        )
        return Bounds(verdict, (not_known("upper bound", text), lower), numbers)
    upper = bound.constant * np.exp(decay.states * math.log(bound.rate))
    numbers["upper"] = float(upper[-1])
    text = (
        f"after t steps the distance is at most {bound.constant:.4g} * {bound.rate:.8g}^t of its start: "
        f"{share(float(upper[-1]))} at the end (zero buffer at the start, eta T at most {plain(bound.most)})"
    )
    found = [proved("upper bound", text, claim), lower]
    if setup.weight_decay == 0:
        found.append(slow_without_decay())
    return Bounds(_verdict(setup, bound, float(upper[-1])), tuple(found), numbers, upper)


def _verdict(setup: TrainingSetup, bound: MomentumBound, last: float) -> str:
    if setup.weight_decay == 0:
        return "Without weight decay unseen rows need not come together; they stay within a fixed multiple of their start."
    if last >= 1:
        return f"The run is too short: no shrinking is proved by step {setup.steps:,} (the bound is {plain(last)} times)."
    half = math.log(2) / -math.log(bound.rate)
    return (
        f"Unseen rows come together: the distance of any two falls to {share(last)} of its start or lower by step "
        f"{setup.steps:,}, halving every {math.ceil(half):,} steps in the long run."
    )


def learning_rate_within(setup: TrainingSetup, curvature: float) -> float:
    """A learning rate at most the setup's at which the condition holds, the largest that bisection finds."""

    def holds(rate: float) -> bool:
        bound = momentum_bound(rate, setup.weight_decay, setup.momentum, nesterov=setup.nesterov)
        return bound is not None and rate * curvature <= bound.most

    low, high = 0.0, setup.learning_rate
    if holds(high):
        return high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _zero_gradient(setup: TrainingSetup, decay: Decay) -> Bounds:
    """Rows whose gradient is 0 all shrink by one factor, which the rule itself gives at any schedule."""
    path = zero_gradient_path(setup, decay.eta.tolist())
    at = np.abs(np.array(path)[decay.states])
    last = float(at[-1])
    text = f"rows with gradient 0 shrink by decay through the buffer to {share(last)}, each by the same factor"
    numbers = {"upper": last, "lower": last}
    return Bounds(
        f"Unseen rows shrink to {share(last)} by weight decay alone; their directions stay as they are: no collapse.",
        (observed("decay", text),),
        numbers,
        at,
        at,
    )


def zero_gradient_path(setup: TrainingSetup, rates: list[float]) -> list[float]:
    """The factor of a row with gradient 0 at every state [steps + 1], from a zero buffer."""
    step: Callable = heavy_ball
    weight, buffer, path = 1.0, 0.0, [1.0]
    for eta in rates:
        weight, buffer = step(
            weight,
            0.0,
            buffer,
            step_size=eta,
            weight_decay=setup.weight_decay,
            momentum=setup.momentum,
            nesterov=setup.nesterov,
        )
        path.append(weight)
    return path
