"""From hyperparameters to a forecast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._version import __version__
from ..errors import InputError
from ._adam import adam
from ._advice import DIAGNOSIS, Remedy, circumstances, remedies, still
from ._descent import descent, slow_without_decay
from ._files import Reading, setup_from
from ._finding import Bounds, Finding, count, finite, observed, plain, share
from ._momentum import momentum
from ._precision import Floor, floor_of
from ._schedule import Decay, decay_of
from ._setup import TrainingSetup

__all__ = ["NUMBERS", "SCHEMA", "Forecast", "forecast"]

SCHEMA = 1
"""Of the JSON; grows when a key changes its meaning or goes."""


NUMBERS = {
    "decay_product": "prod |1 - eta_t lam| over the run",
    "largest_eta_lambda": "the largest eta_t lam",
    "half_life_steps": "steps in which decay at the largest rate halves a row",
    "thousandth_step": "the first step at which the decay product is 1/1000 or less",
    "feature_radius": "r",
    "initial_distance": "about how far apart two fresh rows are",
    "curvature": "T",
    "condition_met": "whether the learning rate is within the claim's condition",
    "upper": "the proved bound from above at the end, relative to the start",
    "lower": "the same from below",
    "largest_learning_rate": "2/(2 lam + T): up to it contraction holds",
    "largest_radius": "the radius up to which the learning rate is within the condition, where r is not given",
    "fitting_learning_rate": "a learning rate within momentum's condition",
    "rate": "with momentum: the factor of a step",
    "constant": "with momentum: the factor before the rates",
    "steps_enough": "steps that are enough for the wanted distance, or a thousandth",
    "steps_needed": "steps that are needed for it",
    "reset_period": "the longest period of resets that keeps the wanted distance",
    "update_bound": "C, the largest update of Adam in learning rates",
    "ball_kept": "the share of the largest entry at the start that the ball adds to its radius",
    "ball_radius": "the radius of the ball, for every entry of the difference",
    "late_drift": "how far one late gradient moves a row, in learning rates",
    "precision": "where rounding stops decay",
}
"""The names in :attr:`Forecast.numbers`; None where a number does not apply, is infinite or not known."""


@dataclass(frozen=True, eq=False)
class Forecast:
    """What the theory says of rows whose labels never occur as targets, under one training setup.

    Distances are those of any two unseen rows, relative to the start; S states from step 0 to the last.

    Attributes:
        setup: the hyperparameters.
        verdict: the main thing in plain words.
        findings: statements, each PROVED (with the claims' ids), OBSERVED or NOT KNOWN.
        diagnosis: how to tell decay from collapse in a run.
        remedies: what keeps rows apart, and the price of each.
        states: numbers of steps taken [S].
        decay_product: ``prod |1 - eta_t lam|`` [S], 1 for Adam, whose weight decay is no factor.
            Whether it bounds the distance is for ``upper`` to say.
        upper: a proved bound from above [S], in exact arithmetic; None where there is none. For Adam and AdamW it takes the
            distance at the start to be ``sqrt(2 n)`` times ``initial_scale``.
        lower: the same from below.
        floor: where the rounding of the weights stops decay.
        numbers: what the statements rest on, by the names of ``collapse_theory.forecast.NUMBERS``; None where a number does
            not apply or is not known.
        ignored: keys of the file that play no part, a line each.
        assumed: what the file left open, a line each.
    """

    setup: TrainingSetup
    verdict: str
    findings: tuple[Finding, ...]
    diagnosis: tuple[Finding, ...]
    remedies: tuple[Remedy, ...]
    states: NDArray[np.int64]
    decay_product: NDArray[np.float64]
    upper: NDArray[np.float64] | None
    lower: NDArray[np.float64] | None
    floor: Floor
    numbers: dict[str, Any]
    ignored: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()

    def __str__(self) -> str:
        from ._text import text

        return text(self)

    def to_dict(self) -> dict[str, Any]:
        """The forecast as JSON would have it; ``schema`` numbers the layout."""
        curves = {"decay_product": self.decay_product, "upper": self.upper, "lower": self.lower}
        return {
            "kind": "forecast",
            "schema": SCHEMA,
            "version": __version__,
            "verdict": self.verdict,
            "setup": asdict(self.setup) | {"betas": list(self.setup.betas)},
            "numbers": self.numbers,
            "findings": [asdict(f) | {"claims": list(f.claims)} for f in self.findings],
            "diagnosis": [asdict(f) | {"claims": list(f.claims)} for f in self.diagnosis],
            "remedies": [asdict(r) | {"claims": list(r.claims)} for r in self.remedies],
            "curves": {"states": self.states.tolist()}
            | {name: None if c is None else c.tolist() for name, c in curves.items()},
            "ignored": list(self.ignored),
            "assumed": list(self.assumed),
        }


def forecast(config: TrainingSetup | Mapping[str, Any], **changes: Any) -> Forecast:
    """What training with this setup does to rows whose labels never occur as targets.

    ``config`` is a :class:`TrainingSetup`, or a mapping with its names or those of Hugging Face's ``TrainingArguments``
    (``max_steps``, ``adam_beta1``, ``lr_scheduler_type``, ...); ``changes`` replace fields of the setup.

    Raises :class:`InputError` for a value of the wrong kind or out of range, or what is missing.
    """
    if isinstance(config, TrainingSetup):
        try:
            reading = Reading(replace(config, **changes))
        except TypeError as error:
            raise InputError(f"forecast: {error}; give fields of TrainingSetup") from None
    elif isinstance(config, Mapping):
        reading = setup_from(config, **changes)
    else:
        raise InputError(f"config: got {config!r:.60}; give a TrainingSetup or a mapping")
    setup = reading.setup
    decay = decay_of(setup)
    bounds, floor = _bounds(setup, decay), floor_of(setup, decay)
    findings = [*bounds.findings, *circumstances(setup)]
    if setup.weight_decay == 0 and setup.optimizer == "sgd" and setup.gradient == "softmax":
        findings += [] if setup.momentum else [slow_without_decay()]
    verdict = bounds.verdict
    if setup.tied and setup.gradient == "softmax":
        verdict += " This is for tokens that do not occur in the input either."
    moved = setup.gradient in ("softmax", "zero")
    if moved:
        findings += floor.findings
        if floor.kept:
            verdict = _rounded(setup, floor)
            findings.append(_exact())
    return Forecast(
        setup,
        verdict,
        tuple(findings),
        DIAGNOSIS,
        remedies(setup),
        decay.states,
        decay.product,
        bounds.upper,
        bounds.lower,
        floor,
        dict.fromkeys(NUMBERS) | _numbers(setup, decay, floor) | bounds.numbers,
        reading.ignored,
        reading.assumed,
    )


def _bounds(setup: TrainingSetup, decay: Decay) -> Bounds:
    unmoved = still(setup, decay)
    if unmoved is not None:
        return unmoved
    if setup.optimizer != "sgd":
        return adam(setup, decay)
    return momentum(setup, decay) if setup.momentum else descent(setup, decay)


def _rounded(setup: TrainingSetup, floor: Floor) -> str:
    left = "moves no weight" if floor.kept == 1 else "stops within a power of two"
    rest = (
        "Unseen rows stay as they are."
        if setup.gradient == "zero" and floor.kept == 1
        else "They keep at least half of their size."
        if setup.gradient == "zero"
        else "What still moves unseen rows is their gradient."
    )
    return f"Rounding to {floor.dtype} undoes weight decay: it {left}. {rest}"


def _exact() -> Finding:
    return observed(
        "exactness",
        "the proved bounds are for exact arithmetic; here rounding takes their decay away",
    )


def _numbers(setup: TrainingSetup, decay: Decay, floor: Floor) -> dict[str, Any]:
    return {
        "decay_product": decay.total,
        "largest_eta_lambda": float(decay.delta.max()),
        "half_life_steps": finite(decay.half_life),
        "thousandth_step": decay.thousandth,
        "feature_radius": setup.feature_radius,
        "curvature": setup.curvature,
        "initial_distance": setup.initial_distance,
        "precision": {
            "dtype": floor.dtype,
            "stalls_at_eta_lambda": floor.stalls,
            "partly_below_eta_lambda": floor.partly,
            "stalled_share": floor.stalled,
            "kept": floor.kept,
            "visible_steps": list(floor.visible) if floor.visible else None,
        },
    }


def decay_line(forecast: Forecast) -> str:
    """The decay product and its half-life in words."""
    setup, half = forecast.setup, forecast.numbers["half_life_steps"]
    if setup.optimizer == "adam" and setup.weight_decay:
        return "no decay by a factor: Adam takes weight decay into the gradient that it normalises"
    if half is None:
        return "no weight decay: the decay product is 1"
    peak = "" if setup.constant_rate else " at the peak learning rate"
    if setup.momentum:
        delta, times = forecast.numbers["largest_eta_lambda"], 1 / (1 - setup.momentum)
        return f"eta lam = {plain(delta)}{peak}; with momentum decay is about {plain(times)} times that a step"
    words = (
        f"decay product {share(forecast.numbers['decay_product'])}; half-life {count(half)}{peak}"
    )
    thousandth = forecast.numbers["thousandth_step"]
    if thousandth is not None:
        words += f"; a thousandth after {count(thousandth)}"
    return words
