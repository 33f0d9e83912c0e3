"""Floats."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._ops import Array


class FloatOps:
    """NumPy float64."""

    name = "float64"

    def asarray(self, x: Any) -> np.ndarray:
        return np.asarray(x, dtype=np.float64)

    exp = staticmethod(np.exp)
    expm1 = staticmethod(np.expm1)
    log = staticmethod(np.log)
    log1p = staticmethod(np.log1p)
    tanh = staticmethod(np.tanh)
    sqrt = root_of_squares = staticmethod(np.sqrt)
    abs = staticmethod(np.abs)
    maximum = staticmethod(np.maximum)

    def sum(self, x: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.sum(x, axis=axis)

    def prod(self, x: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.prod(x, axis=axis)

    def max(self, x: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.max(x, axis=axis)

    def stack(self, parts: list[Array], axis: int = -1) -> np.ndarray:
        return np.stack(np.broadcast_arrays(*parts), axis=axis)

    def norm(self, x: np.ndarray, axis: int = -1) -> np.ndarray:
        # Dividing by a power of two near the largest entry is exact, so scaling costs no accuracy.
        largest = np.max(np.abs(x), axis=axis, keepdims=True)
        scale = np.ldexp(1.0, np.frexp(largest)[1].clip(-1000, 1000))
        scaled = x / scale
        return np.sqrt(np.sum(scaled * scaled, axis=axis)) * np.squeeze(scale, axis=axis)

    def logsumexp(self, x: np.ndarray, axis: int = -1) -> np.ndarray:
        largest = np.max(x, axis=axis, keepdims=True)
        return np.log(np.sum(np.exp(x - largest), axis=axis)) + np.squeeze(largest, axis=axis)

    def logarithmic_mean(self, log_a: np.ndarray, log_b: np.ndarray, d: np.ndarray) -> np.ndarray:
        # max(a, b) phi(|d|) with phi(t) = (1 - e^-t)/t in (0, 1]: nothing cancels and nothing overflows.
        t = np.abs(d)
        safe = np.where(t == 0, 1.0, t)
        phi = np.where(t == 0, 1.0, -np.expm1(-safe) / safe)
        return np.exp(np.maximum(log_a, log_b)) * phi

    def sign(self, x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, 1, np.where(x < 0, -1, 0)).astype(np.int8)  # NaN is undecided

    def nonnegative(self, x: np.ndarray) -> np.ndarray:
        return np.where(x >= 0, 1, np.where(x < 0, -1, 0)).astype(np.int8)
