"""Arb balls: arrays that refuse to decide an order, and the operations on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, reduce
from typing import Any, NoReturn

import numpy as np


def _refuse(what: str) -> Callable[..., NoReturn]:
    def raising(self: object, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError(
            f"{what} is not defined for balls: the answer may be undecided. "
            "Use the functions of the batch's `ops` (sign, nonnegative, maximum, norm, ...)."
        )

    return raising


class BallArray:
    """An array of Arb balls that supports ``+ - * / @``, indexing and nothing that would decide an order."""

    __slots__ = ("balls", "bits")
    __array_ufunc__ = (
        None  # so that ndarray + BallArray calls our __radd__, and np.maximum(ball, ...) raises
    )

    def __init__(self, balls: np.ndarray, bits: int) -> None:
        self.balls = balls
        self.bits = bits

    @property
    def shape(self) -> tuple[int, ...]:
        return self.balls.shape

    @property
    def ndim(self) -> int:
        return self.balls.ndim

    def __len__(self) -> int:
        return len(self.balls)

    def __iter__(self) -> Iterator[BallArray]:
        # len() refuses a single ball; iterating by indices alone would call it an empty sequence.
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"BallArray(shape={self.shape}, bits={self.bits}, {self.balls!r})"

    def __getitem__(self, index: Any) -> BallArray:
        part = self.balls[index]
        if not isinstance(part, np.ndarray):
            part = _object_array(part)
        return BallArray(part, self.bits)

    def swapaxes(self, a: int, b: int) -> BallArray:
        return BallArray(self.balls.swapaxes(a, b), self.bits)

    def reshape(self, *shape: int) -> BallArray:
        return BallArray(self.balls.reshape(*shape), self.bits)

    def _apply(self, function: Callable[[Any], Any]) -> BallArray:
        return ball(self.bits)._map(function, self.balls)

    def _binary(self, other: Any, operation: Callable[[Any, Any], Any]) -> BallArray:
        right = _to_balls(other)
        with _precision(self.bits):
            return BallArray(_object_array(operation(self.balls, right)), self.bits)

    def __add__(self, other: Any) -> BallArray:
        return self._binary(other, lambda a, b: a + b)

    def __radd__(self, other: Any) -> BallArray:
        return self._binary(other, lambda a, b: b + a)

    def __sub__(self, other: Any) -> BallArray:
        return self._binary(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> BallArray:
        return self._binary(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> BallArray:
        return self._binary(other, lambda a, b: a * b)

    def __rmul__(self, other: Any) -> BallArray:
        return self._binary(other, lambda a, b: b * a)

    def __truediv__(self, other: Any) -> BallArray:
        return self._binary(other, lambda a, b: a / b)

    def __rtruediv__(self, other: Any) -> BallArray:
        return self._binary(other, lambda a, b: b / a)

    def __matmul__(self, other: Any) -> BallArray:
        return self._binary(other, np.matmul)

    def __rmatmul__(self, other: Any) -> BallArray:
        return self._binary(other, lambda a, b: np.matmul(b, a))

    def __pow__(self, exponent: int) -> BallArray:
        if not isinstance(exponent, int) or exponent < 1:
            raise TypeError(f"balls are raised to positive integer powers only, got {exponent!r}")
        return reduce(lambda a, b: a * b, [self] * exponent)

    def __neg__(self) -> BallArray:
        return self._binary(-1.0, lambda a, b: a * b)

    def _raw_comparison(self, _other: object) -> NoReturn:
        _refuse("a comparison")(self)

    __lt__ = __le__ = __gt__ = __ge__ = _raw_comparison
    __eq__ = __ne__ = _raw_comparison  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]
    __bool__ = _refuse("a truth value")
    __contains__ = _refuse("membership")
    __float__ = _refuse("a conversion to float")
    __int__ = _refuse("a conversion to int")
    __index__ = _refuse("a conversion to int")
    __array__ = _refuse("a conversion to a NumPy array")
    __array_function__ = _refuse("a NumPy function")
    __abs__ = _refuse("the built-in abs")
    __round__ = _refuse("rounding")

    def midpoints(self) -> np.ndarray:
        """The balls' midpoints as float64, for display; the radius is dropped knowingly."""
        return np.asarray(np.frompyfunc(lambda b: float(b.mid()), 1, 1)(self.balls), np.float64)

    def radii(self) -> np.ndarray:
        """The balls' radii as float64, rounded to nearest: for display and relative-size checks only."""
        return np.asarray(np.frompyfunc(lambda b: float(b.rad()), 1, 1)(self.balls), np.float64)


def _object_array(x: Any) -> np.ndarray:
    if isinstance(x, np.ndarray):
        return x
    out = np.empty((), dtype=object)
    out[()] = x
    return out


def _to_balls(x: Any) -> Any:
    if isinstance(x, BallArray):
        return x.balls
    from flint import arb

    array = np.asarray(x)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        # Anything else (text, complex, long doubles, expressions) would be rounded or cut on the way.
        raise TypeError(
            f"cannot turn {array.dtype} values into balls exactly; give floats or integers"
        )
    numbers = array.astype(np.int8) if array.dtype.kind == "b" else array
    return _object_array(np.frompyfunc(arb, 1, 1)(numbers.astype(object)))


def _precision(bits: int) -> Any:
    from flint import ctx

    return ctx.workprec(bits)


class BallOps:
    """Arb balls of a given precision. The result always contains the exact value for the given inputs."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.name = f"ball{bits}"

    def _map(self, function: Callable[..., Any], *arrays: np.ndarray) -> BallArray:
        with _precision(self.bits):
            return BallArray(
                _object_array(np.frompyfunc(function, len(arrays), 1)(*arrays)), self.bits
            )

    def _fold(self, function: Callable[[Any, Any], Any], x: BallArray, axis: int) -> BallArray:
        moved = np.moveaxis(x.balls, axis, 0)
        if len(moved) == 0:
            raise ValueError("cannot reduce an empty axis")
        with _precision(self.bits):
            return BallArray(_object_array(reduce(function, moved)), self.bits)

    def asarray(self, x: Any) -> BallArray:
        return BallArray(_to_balls(x), self.bits)

    def exp(self, x: BallArray) -> BallArray:
        return self._map(lambda v: v.exp(), x.balls)

    def expm1(self, x: BallArray) -> BallArray:
        return self._map(lambda v: v.expm1(), x.balls)

    def log(self, x: BallArray) -> BallArray:
        return self._map(lambda v: v.log(), x.balls)

    def log1p(self, x: BallArray) -> BallArray:
        return self._map(lambda v: v.log1p(), x.balls)

    def tanh(self, x: BallArray) -> BallArray:
        return self._map(lambda v: v.tanh(), x.balls)

    def sqrt(self, x: BallArray) -> BallArray:
        return self._map(lambda v: v.sqrt(), x.balls)

    def root_of_squares(self, x: BallArray) -> BallArray:
        # A square of a ball around 0 reaches below 0, where sqrt would be NaN; a sum of squares does not.
        return self._map(lambda v: v.nonnegative_part().sqrt(), x.balls)

    def abs(self, x: BallArray) -> BallArray:
        return self._map(abs, x.balls)

    def sum(self, x: BallArray, axis: int = -1) -> BallArray:
        return self._fold(np.add, x, axis)

    def prod(self, x: BallArray, axis: int = -1) -> BallArray:
        return self._fold(np.multiply, x, axis)

    def max(self, x: BallArray, axis: int = -1) -> BallArray:
        return self._fold(np.frompyfunc(lambda a, b: a.max(b), 2, 1), x, axis)

    def maximum(self, x: Any, y: Any) -> BallArray:
        return self._map(lambda a, b: a.max(b), _to_balls(x), _to_balls(y))

    def stack(self, parts: list[Any], axis: int = -1) -> BallArray:
        arrays = np.broadcast_arrays(*[_to_balls(p) for p in parts])
        return BallArray(np.stack(arrays, axis=axis), self.bits)

    def norm(self, x: BallArray, axis: int = -1) -> BallArray:
        return self.root_of_squares(self.sum(x * x, axis=axis))

    def logsumexp(self, x: BallArray, axis: int = -1) -> BallArray:
        # Arb's exponents are unbounded, so no shift is needed against overflow.
        return self.log(self.sum(self.exp(x), axis=axis))

    def logarithmic_mean(self, log_a: BallArray, log_b: BallArray, d: BallArray) -> BallArray:
        from flint import arb

        def phi(v: Any) -> Any:
            t = abs(v)
            if not t.contains(0):
                return -(-t).expm1() / t
            upper = arb(t.upper())
            # phi decreases from phi(0) = 1, so [phi(upper), 1] encloses it on [0, upper].
            return arb(1) if upper.is_zero() else arb(1).union(-(-upper).expm1() / upper)

        largest = self.maximum(log_a, log_b)
        return self.exp(largest) * self._map(phi, d.balls)

    def sign(self, x: BallArray) -> np.ndarray:
        return np.asarray(np.frompyfunc(lambda v: int(v > 0) - int(v < 0), 1, 1)(x.balls), np.int8)

    def nonnegative(self, x: BallArray) -> np.ndarray:
        return np.asarray(np.frompyfunc(lambda v: int(v >= 0) - int(v < 0), 1, 1)(x.balls), np.int8)


@cache
def ball(bits: int = 128) -> BallOps:
    """Ball arithmetic with ``bits`` bits of working precision."""
    return BallOps(bits)
