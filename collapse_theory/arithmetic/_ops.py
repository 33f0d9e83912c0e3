"""The operations themselves, as a protocol."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

Array = Any
"""An array of one of the three arithmetics: ``np.ndarray`` (floats or symbols) or :class:`BallArray`."""


class Ops(Protocol):
    """What a claim may call. ``axis`` counts from the end (negative), since leading axes are batch axes.

    A formula written with these alone runs in every arithmetic; :func:`logarithmic_mean` of
    :mod:`collapse_theory.softmax` is an example.
    """

    name: str

    def asarray(self, x: Any) -> Array:
        """``x`` in this arithmetic. Floats convert exactly."""
        ...

    def exp(self, x: Array, /) -> Array: ...
    def expm1(self, x: Array, /) -> Array: ...
    def log(self, x: Array, /) -> Array: ...
    def log1p(self, x: Array, /) -> Array: ...
    def tanh(self, x: Array, /) -> Array: ...
    def sqrt(self, x: Array, /) -> Array: ...
    def root_of_squares(self, x: Array, /) -> Array:
        """Square root of a weighted sum of squares: of a ball that reaches below 0, the root of the part that does not."""
        ...

    def abs(self, x: Array, /) -> Array: ...
    def sum(self, x: Array, axis: int = -1) -> Array: ...
    def prod(self, x: Array, axis: int = -1) -> Array: ...
    def max(self, x: Array, axis: int = -1) -> Array: ...
    def maximum(self, x: Array, y: Array, /) -> Array:
        """Elementwise maximum; on balls an enclosure of it, whichever is larger."""
        ...

    def stack(self, parts: list[Array], axis: int = -1) -> Array:
        """Join arrays along a new axis, broadcasting them first."""
        ...

    def norm(self, x: Array, axis: int = -1) -> Array:
        """Euclidean norm; no overflow or underflow on floats, no spurious NaN on balls around 0."""
        ...

    def logsumexp(self, x: Array, axis: int = -1) -> Array: ...
    def logarithmic_mean(self, log_a: Array, log_b: Array, d: Array) -> Array:
        """``L(a, b) = (a - b)/d`` for ``a = exp(log_a)``, ``b = exp(log_b)``, ``d = log_a - log_b``; ``L(a, a) = a``.

        ``d`` is given apart because the caller knows it more accurately than the difference of the logarithms.
        """
        ...

    def sign(self, x: Array) -> np.ndarray:
        """+1, -1, or 0 where the sign is undecided; an exact zero has sign 0 and is told apart by ``nonnegative``."""
        ...

    def nonnegative(self, x: Array) -> np.ndarray:
        """+1 where ``x >= 0`` for certain, -1 where ``x < 0`` for certain, 0 where undecided."""
        ...
