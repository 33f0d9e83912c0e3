"""The few operations that claims need, for floats, Arb balls and SymPy symbols.

A formula written with ``+ - * / @``, indexing and the functions of an :class:`Ops` runs unchanged on

* ``FLOAT``: NumPy float64 arrays, batched and vectorised;
* ``ball(bits)``: :class:`BallArray`, rigorous enclosures (python-flint's ``arb``) of the exact value;
* ``SYMBOLIC``: NumPy object arrays of SymPy expressions.

Balls cannot be compared like numbers: an order may be undecided. NumPy's ``maximum``, ``max``, ``sort``, ``where`` and
``<`` on object arrays of balls silently pick one or treat "undecided" as false, and ``bool(arb(0, 1))`` is true. Hence
the wrapper: every comparison, truth value, float conversion or NumPy function on a :class:`BallArray` raises
``TypeError``, and a formula asks :meth:`Ops.sign` instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, reduce
from typing import Any, NoReturn, Protocol

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
    sqrt = staticmethod(np.sqrt)
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
        # A square of a ball around 0 reaches below 0, where sqrt would be NaN; a sum of squares does not.
        squares = self.sum(x * x, axis=axis)
        return self._map(lambda v: v.nonnegative_part().sqrt(), squares.balls)

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


class SymbolArray(np.ndarray):
    """An array of SymPy expressions in which an array without axes stays an array: NumPy would return the expression."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return symbols(array)


def symbols(x: Any) -> SymbolArray:
    """``x`` as an array of expressions."""
    return np.asarray(x, dtype=object).view(SymbolArray)


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

    def abs(self, x: Array) -> np.ndarray:
        import sympy

        return self._map(sympy.Abs, x)

    def sum(self, x: Array, axis: int = -1) -> np.ndarray:
        return symbols(np.sum(x, axis=axis))

    def prod(self, x: Array, axis: int = -1) -> np.ndarray:
        return symbols(np.prod(x, axis=axis))

    def max(self, x: Array, axis: int = -1) -> np.ndarray:
        return symbols(reduce(self.maximum, np.moveaxis(x, axis, 0)))

    def maximum(self, x: Array, y: Array) -> np.ndarray:
        import sympy

        return self._map(sympy.Max, x, y)

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


FLOAT: Ops = FloatOps()
SYMBOLIC: Ops = SymbolicOps()


@cache
def ball(bits: int = 128) -> BallOps:
    """Ball arithmetic with ``bits`` bits of working precision."""
    return BallOps(bits)
