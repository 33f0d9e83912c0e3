"""SGD without momentum: both bounds, the time of collapse and the period of a reset."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._finding import Bounds, Finding, count, finite, not_known, observed, plain, proved, share
from ._schedule import SMALL, Decay, log_product, steps_to
from ._setup import TrainingSetup

__all__ = ["descent", "largest_rate"]


def largest_rate(weight_decay: float, curvature: float) -> float:
    """The largest eta with ``eta (2 lam + T) <= 2``; infinite if both are 0."""
    stiffness = 2 * weight_decay + curvature
    return 2 / stiffness if stiffness > 0 else math.inf


def descent(setup: TrainingSetup, decay: Decay) -> Bounds:
    """What is proved of SGD without momentum (claims ``contraction``, ``trajectory``, ``collapse_time``, ``reset``)."""
    curvature, lam = setup.curvature, setup.weight_decay
    peak = float(decay.eta.max())
    if curvature is None:
        return _radius_unknown(setup, peak)
    if setup.gradient == "zero":
        return _zero_gradient(decay)
    most = largest_rate(lam, curvature)
    met = peak <= most
    lower = np.exp(log_product(np.minimum(decay.eta * (lam + curvature), 1.0)))[decay.states]
    numbers = {
        "curvature": curvature,
        "condition_met": met,
        "largest_learning_rate": finite(most),
        "upper": decay.total if met else None,
        "lower": float(lower[-1]),
    }
    findings = [
        _upper(setup, decay, most) if met else _violated(setup, most),
        _lower(float(lower[-1]), curvature),
    ]
    findings += _time(setup, decay, met, numbers) + _reset(setup, curvature, peak, numbers)
    verdict = _verdict(setup, decay, most)
    return Bounds(verdict, tuple(findings), numbers, decay.product if met else None, lower)


def _zero_gradient(decay: Decay) -> Bounds:
    """Rows whose gradient is 0, as with masked logits: one common factor."""
    kept = share(decay.total)
    text = f"rows decay to {kept}, all by the same factor: cosines do not change"
    verdict = f"Unseen rows shrink to {kept} by weight decay alone; their directions stay as they are: no collapse."
    numbers = {"upper": decay.total, "lower": decay.total}
    found = (proved("decay", text, "masked_logits"),)
    return Bounds(verdict, found, numbers, decay.product, decay.product)


def _radius_unknown(setup: TrainingSetup, peak: float) -> Bounds:
    room = 2 / peak - 2 * setup.weight_decay if peak > 0 else math.inf
    numbers: dict[str, Any] = {
        "curvature": None,
        "condition_met": None,
        "upper": None,
        "lower": None,
    }
    if room < 0:
        text = f"eta lam above 1 at learning rate {plain(peak)}: contraction's condition fails for every radius"
        verdict = "Nothing is proved: learning rate times weight decay is above 1."
        return Bounds(verdict, (not_known("upper bound", text),), numbers)
    allowed = math.sqrt(2 * room)
    numbers["largest_radius"] = finite(allowed)
    return Bounds(
        f"Unseen rows come together at least as fast as weight decay, provided no feature is longer than "
        f"{plain(allowed)}. Give the features' radius for a firm answer.",
        (
            not_known(
                "upper bound",
                f"the radius of the features is not given: the decay product bounds the distance if it is at most "
                f"{plain(allowed)} (contraction, with T = r^2/2)",
            ),
        ),
        numbers,
    )


def _upper(setup: TrainingSetup, decay: Decay, most: float) -> Finding:
    if setup.weight_decay == 0:
        return proved(
            "upper bound",
            f"the distance never grows (learning rate at most 2/T = {plain(most)})",
            "no_decay_nonexpansive",
        )
    return proved(
        "upper bound",
        f"the distance of two unseen rows falls to {share(decay.total)} of its start or lower "
        f"(learning rate at most 2/(2 lam + T) = {plain(most)})",
        "contraction",
        "trajectory",
    )


def _lower(kept: float, curvature: float) -> Finding:
    kind = f"factors 1 - eta (lam + T), T = {plain(curvature)}"
    text = (
        f"it keeps at least {share(kept)} of it ({kind})"
        if kept >= 1e-9
        else f"practically none ({kind})"
    )
    return proved("lower bound", text, "lower_bound", "trajectory")


def _violated(setup: TrainingSetup, most: float) -> Finding:
    return not_known(
        "upper bound",
        f"the learning rate {plain(setup.learning_rate)} is above 2/(2 lam + T) = {plain(most)}, which would satisfy "
        "contraction's condition; above it a step can drive rows apart",
    )


def _verdict(setup: TrainingSetup, decay: Decay, most: float) -> str:
    if decay.eta.max() > most:
        return (
            f"No bound from above is proved: the learning rate {plain(setup.learning_rate)} is too large for features of "
            f"this length. At {plain(most)} or below unseen rows come together at least as fast as weight decay."
        )
    if setup.weight_decay == 0:
        return (
            "Unseen rows never move apart, and without weight decay nothing proved makes them meet: "
            "they may come together slowly or not at all."
        )
    if decay.total <= SMALL:
        return (
            f"Unseen rows collapse: the distance of any two falls to {share(decay.total)} of its start or lower. "
            f"Weight decay alone halves it in {count(decay.half_life)}."
        )
    return (
        f"Unseen rows come together: the distance of any two falls to {share(decay.total)} of its start or lower by "
        f"step {setup.steps:,}. By decay alone it halves in {count(decay.half_life)}."
    )


def _time(setup: TrainingSetup, decay: Decay, met: bool, numbers: dict) -> list[Finding]:
    """Steps that bring rows within a factor 1/1000, or within the wanted distance."""
    goal, what = _goal(setup)
    curvature = setup.curvature or 0.0
    found: list[Finding] = []
    if goal is None:
        return found
    enough = steps_to(goal, float(decay.delta.max())) if met else math.inf
    gap = setup.learning_rate * (setup.weight_decay + curvature)
    needed = steps_to(goal, gap)
    numbers["steps_enough"], numbers["steps_needed"] = finite(enough), finite(needed)
    rate = "" if setup.constant_rate else " at the peak learning rate"
    if math.isfinite(enough):
        text = f"{count(max(1.0, enough))}{rate} are enough to come within {what}"
        found.append(proved("time", text, "collapse_time"))
    if 1 < needed < math.inf and gap < 1:
        text = f"at least {count(needed)}{rate} are needed to come within {what}"
        found.append(proved("time", text, "collapse_time_needed"))
    return found


def _goal(setup: TrainingSetup) -> tuple[float | None, str]:
    start, wanted = setup.initial_distance, setup.wanted_distance
    if wanted is not None and start is not None:
        known = wanted / start if wanted < start else None
        return known, f"{plain(wanted)} (fresh rows: about {plain(start)})"
    return SMALL, "a thousandth of the distance at the start"


def _reset(setup: TrainingSetup, curvature: float, peak: float, numbers: dict) -> list[Finding]:
    """The longest period S with ``q^S d`` at least the wanted distance."""
    start, wanted = setup.initial_distance, setup.wanted_distance
    if wanted is None:
        return []
    if start is None:
        return [
            not_known(
                "reset",
                "the wanted distance needs initial_scale and hidden_size, the fresh rows' distance",
            )
        ]
    if wanted >= start:
        text = f"fresh rows are about {plain(start)} apart, less than the wanted {plain(wanted)}: no period keeps it"
        return [not_known("reset", text)]
    gap = peak * (setup.weight_decay + curvature)
    if gap > 1:
        text = "eta (lam + T) is above 1: no lower bound on the distance, so no period is known"
        return [not_known("reset", text)]
    period = math.inf if gap == 0 else math.floor(steps_to(wanted / start, gap) if gap < 1 else 0)
    numbers["reset_period"] = finite(period)
    if period < 1:
        return [
            not_known(
                "reset",
                "one step may already come nearer than the wanted distance: no period is known",
            )
        ]
    often = "once" if math.isinf(period) else f"every {count(period).removeprefix('1 ')}"
    return [
        proved(
            "reset",
            f"rows redrawn {often}, all together and at least {plain(start)} apart, stay {plain(wanted)} or more apart",
            "reset",
        )
    ]


def slow_without_decay() -> Finding:
    """What trained heads show at weight decay 0."""
    return observed(
        "no decay",
        "with one repeated feature, one seen and k unseen labels, the distance falls like t^(-1/(k+1)): very slowly",
    )
