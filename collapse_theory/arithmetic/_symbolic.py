"""SymPy expressions."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ._ops import Array


class SymbolArray(np.ndarray):
    """An array of SymPy expressions in which an array without axes stays an array: NumPy would return the expression."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return symbols(array)


def symbols(x: Any) -> SymbolArray:
    """``x`` as an array of expressions."""
    return np.asarray(x, dtype=object).view(SymbolArray)


LONG = 60
"""SymPy takes minutes to look for the sign of expressions with more operations than this; then it is not asked to."""


def _is_short(x: Any) -> bool:
    return not hasattr(x, "count_ops") or bool(x.count_ops() <= LONG)


class SymbolicOps:
    """SymPy expressions in NumPy object arrays."""

    name = "symbolic"

    def _map(self, function: Callable[..., Any], *arrays: Any) -> np.ndarray:
        return symbols(np.frompyfunc(function, len(arrays), 1)(*arrays))

    def asarray(self, x: Any) -> np.ndarray:
        import sympy

        def exact(v: Any) -> Any:
            # The float itself, 3602879701896397/2^55 for 0.1, as on balls; not the decimal it was written as.
            return (
                sympy.Rational(v) if isinstance(v, float) and np.isfinite(v) else sympy.sympify(v)
            )

        return self._map(exact, np.asarray(x, dtype=object))

    def exp(self, x: Array) -> np.ndarray:
        import sympy

        return self._map(sympy.exp, x)

    def expm1(self, x: Array) -> np.ndarray:
        return self.exp(x) - 1

    def log(self, x: Array) -> np.ndarray:
        import sympy

        return self._map(sympy.log, x)

    def log1p(self, x: Array) -> np.ndarray:
        return self.log(1 + x)

    def tanh(self, x: Array) -> np.ndarray:
        import sympy

        return self._map(sympy.tanh, x)

    def sqrt(self, x: Array) -> np.ndarray:
        import sympy

        return self._map(sympy.sqrt, x)

    def root_of_squares(self, x: Array) -> np.ndarray:
        return self.sqrt(x)

    def abs(self, x: Array) -> np.ndarray:
        import sympy

        return self._map(lambda v: sympy.Abs(v, evaluate=_is_short(v)), x)

    def sum(self, x: Array, axis: int = -1) -> np.ndarray:
        return symbols(np.sum(x, axis=axis))

    def prod(self, x: Array, axis: int = -1) -> np.ndarray:
        return symbols(np.prod(x, axis=axis))

    def max(self, x: Array, axis: int = -1) -> np.ndarray:
        return symbols(reduce(self.maximum, np.moveaxis(x, axis, 0)))

    def maximum(self, x: Array, y: Array) -> np.ndarray:
        import sympy

        return self._map(lambda v, w: sympy.Max(v, w, evaluate=_is_short(v) and _is_short(w)), x, y)

    def stack(self, parts: list[Array], axis: int = -1) -> np.ndarray:
        return symbols(np.stack(np.broadcast_arrays(*parts), axis=axis))

    def norm(self, x: Array, axis: int = -1) -> np.ndarray:
        return self.sqrt(self.sum(x * x, axis=axis))

    def logsumexp(self, x: Array, axis: int = -1) -> np.ndarray:
        return self.log(self.sum(self.exp(x), axis=axis))

    def logarithmic_mean(self, log_a: Array, log_b: Array, d: Array) -> np.ndarray:
        return (self.exp(log_a) - self.exp(log_b)) / d

    def _decide(self, x: Array, positive: str, negative: str) -> np.ndarray:
        def decide(v: Any) -> int:
            return int(getattr(v, positive) is True) - int(getattr(v, negative) is True)

        return np.asarray(np.frompyfunc(decide, 1, 1)(x)).astype(np.int8)

    def sign(self, x: Array) -> np.ndarray:
        return self._decide(x, "is_positive", "is_negative")

    def nonnegative(self, x: Array) -> np.ndarray:
        return self._decide(x, "is_nonnegative", "is_negative")
