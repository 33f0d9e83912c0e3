"""What comes from outside: a clean array or number, or one line that names the value and the fix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import InputError


def numbers(name: str, value: Any) -> np.ndarray:
    """``value`` as a float64 array of finite numbers; numbers, nested lists, arrays and torch tensors are taken.

    Raises :class:`InputError` on text, bools, ragged rows, NaN and infinities.
    """
    array = _array(name, value)
    with np.errstate(over="ignore"):
        array = array.astype(np.float64)
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        at = f" at {list(place)}" if place else ""
        raise InputError(f"{name}: contains {array[place]}{at}; every number must be finite")
    return array


def whole_numbers(name: str, value: Any) -> np.ndarray:
    """``value`` as an int64 array. Raises :class:`InputError` on anything else, floats included."""
    array = _array(name, value)
    if array.dtype.kind == "f" and array.size > 0:
        raise InputError(f"{name}: got {array.flat[0]}, expected whole numbers")
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise InputError(f"{name}: {array.max()} is out of range; give a label's index")
    return array.astype(np.int64)


def integer(name: str, value: Any, *, least: int) -> int:
    """``value`` as an int of at least ``least``. Raises :class:`InputError` on bools, floats and text."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise InputError(f"{name}: got {value!r:.60}, expected a whole number >= {least}")
    if value < least:
        raise InputError(f"{name}: got {value}, expected a whole number >= {least}")
    return int(value)


def choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """``value``, one of ``choices``. Raises :class:`InputError` on anything else."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name}: got {value!r:.60}; choices are {', '.join(choices)}")
    return value


def labels_below(count: int, labels: np.ndarray) -> None:
    """Raises :class:`InputError` on a label that is not one of 0 to ``count - 1``."""
    if labels.size and (labels.min() < 0 or labels.max() >= count):
        bad = labels[(labels < 0) | (labels >= count)].flat[0]
        raise InputError(f"labels: {bad} is out of range; labels run from 0 to {count - 1}")


def _array(name: str, value: Any) -> np.ndarray:
    if hasattr(value, "balls"):
        raise InputError(f"{name}: give floats; convert the batch with .to(ball(bits)) afterwards")
    try:
        if hasattr(value, "detach"):  # a torch tensor, without importing torch
            value = value.detach().cpu()
            value = (value.double() if value.is_floating_point() else value).numpy()
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as error:
        raise InputError(
            f"{name}: not a rectangular array of numbers; give rows of equal lengths"
        ) from error
    if array.dtype.kind not in "iuf":
        sample = array.flat[0] if array.size else value
        sample = sample.item() if isinstance(sample, np.generic) else sample
        raise InputError(f"{name}: got {sample!r:.60} ({array.dtype}), expected numbers")
    if _has_bool(value):
        raise InputError(f"{name}: contains a bool; give numbers, not True or False")
    return array


def _has_bool(value: Any) -> bool:
    """Whether a bool hides among numbers, where NumPy would make it 0 or 1."""
    if isinstance(value, (list, tuple)):
        return any(map(_has_bool, value))
    return isinstance(value, (bool, np.bool_)) or (
        isinstance(value, np.ndarray) and value.dtype.kind == "b"
    )
