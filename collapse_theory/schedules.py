"""Learning-rate schedules: the step size of each step, as an array.

Each function gives ``peak`` times the factor that torch's ``LambdaLR`` would use: step k, from 0, has the factor
``lambda(k)``. The warm-up takes steps 0 to ``warmup - 1`` with the factor ``k/warmup``, so that step 0 does not move, as in
Hugging Face's ``get_*_schedule_with_warmup``, whose formulas these are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .checks import integer, numbers
from .errors import InputError

__all__ = ["SCHEDULES", "constant", "cosine", "factors", "linear", "restarts", "schedule", "wsd"]


def constant(peak: float, steps: int, *, warmup: int = 0) -> np.ndarray:
    """``peak`` after the warm-up (Hugging Face's ``constant_with_warmup``)."""
    rate, k = _start(peak, steps, warmup)
    return rate * _warmed(k, warmup, np.ones(steps))


def linear(peak: float, steps: int, *, warmup: int = 0) -> np.ndarray:
    """Down in a line from ``peak``, to 0 at step ``steps``, the first that is not taken."""
    rate, k = _start(peak, steps, warmup)
    return rate * _warmed(k, warmup, np.maximum(0.0, (steps - k) / max(1, steps - warmup)))


def cosine(peak: float, steps: int, *, warmup: int = 0) -> np.ndarray:
    """Half a period of a cosine from ``peak`` to 0; without a warm-up torch's ``CosineAnnealingLR(T_max=steps)``."""
    rate, k = _start(peak, steps, warmup)
    progress = (k - warmup) / max(1, steps - warmup)
    return rate * _warmed(k, warmup, _half_wave(progress))


def wsd(
    peak: float, steps: int, *, warmup: int = 0, decay: int = 0, least: float = 0.0
) -> np.ndarray:
    """Warm-up, stable, decay: the last ``decay`` steps go down in a line from ``peak`` towards ``least`` times ``peak``.

    The factor of the j-th step of the decay, from 0, is ``least + (1 - least)(1 - j/decay)``, with ``least`` in [0, 1]
    (Hugging Face's ``wsd`` with ``decay_type="linear"``).
    """
    rate, k = _start(peak, steps, warmup)
    integer("decay", decay, least=0)
    if warmup + decay > steps:
        raise InputError(
            f"warmup {warmup} and decay {decay} are more than steps {steps}: take less"
        )
    floor = float(numbers("least", least))
    if not 0 <= floor <= 1:
        raise InputError(f"least is {least}: give a share of the peak, from 0 to 1")
    done = np.maximum(0, k - (steps - decay)) / max(1, decay)
    return rate * _warmed(k, warmup, floor + (1 - floor) * (1 - done))


def restarts(peak: float, steps: int, *, warmup: int = 0, cycles: int = 1) -> np.ndarray:
    """A cosine that falls to 0 and jumps back to ``peak``, ``cycles`` times after the warm-up.

    Hugging Face's ``cosine_with_hard_restarts``; without a warm-up, and with ``cycles`` a divisor of ``steps``, torch's
    ``CosineAnnealingWarmRestarts(T_0=steps // cycles)``.
    """
    rate, k = _start(peak, steps, warmup)
    integer("cycles", cycles, least=1)
    # Whole numbers up to one division: a restart must not fall a step late for rounding.
    span = max(1, steps - warmup)
    progress = (cycles * (k - warmup) % span) / span
    return rate * _warmed(k, warmup, _half_wave(progress))


SCHEDULES = {
    "constant": constant,
    "linear": linear,
    "cosine": cosine,
    "wsd": wsd,
    "restarts": restarts,
}


def schedule(name: str, peak: float, steps: int, **options: Any) -> np.ndarray:
    """The schedule of that name in :data:`SCHEDULES`."""
    if name not in SCHEDULES:
        raise InputError(f"schedule is {name!r:.60}: give one of {', '.join(SCHEDULES)}")
    return SCHEDULES[name](peak, steps, **options)


def factors(
    name: str,
    steps: int,
    *,
    warmup: int = 0,
    decay_steps: int | None = None,
    cycles: int | None = None,
) -> np.ndarray:
    """What the schedule of that name makes of a peak of 1: [steps], or [1] where no step differs from another.

    ``decay_steps`` of ``wsd`` is a fifth of the steps unless given, and at least one where the warm-up leaves one;
    ``cycles`` of ``restarts`` are 2. The other schedules have neither and ignore them.
    """
    if name == "constant" and not warmup:
        return np.ones(1)
    more: dict[str, Any] = {"warmup": warmup}
    if name == "wsd":
        more["decay"] = decay_steps or max(0, min(max(1, steps // 5), steps - warmup))
    if name == "restarts":
        more["cycles"] = cycles or 2
    made = schedule(name, 1.0, steps, **more)
    return made if steps else np.ones(1)


def _start(peak: Any, steps: Any, warmup: Any) -> tuple[float, np.ndarray]:
    """The peak as a float and the numbers of the steps. Raises :class:`InputError`."""
    integer("steps", steps, least=0)
    integer("warmup", warmup, least=0)
    if warmup > steps:
        raise InputError(f"warmup is {warmup}, steps {steps}: warm up for at most as many")
    rate = numbers("peak", peak)
    if rate.ndim:
        raise InputError(f"peak has shape {list(rate.shape)}: give one number")
    return float(rate), np.arange(steps)


def _warmed(k: np.ndarray, warmup: int, factor: np.ndarray) -> np.ndarray:
    return np.where(k < warmup, k / max(1, warmup), factor)


def _half_wave(progress: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.cos(np.pi * progress))
