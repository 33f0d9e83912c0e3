"""How long a feature can be after a final LayerNorm or RMSNorm: the radius r that the bounds on rows ask for.

Both layers return ``x = gamma * z + beta``. RMSNorm has ``z = h / sqrt(mean(h^2) + eps)``, LayerNorm
``z = (h - mean h) / sqrt(var h + eps)``; so ``|z|^2 <= n`` for either, and ``sum z = 0`` for LayerNorm, whatever h is.

- crude: ``r <= sqrt(n) max|gamma| + |beta|``;
- sharp: the largest ``|gamma * z + beta|`` over that ball. A convex quadratic is maximised over a sphere: a trust-region
  problem, solved exactly in O(n) operations per step of a root search.

Source of the method: Moré and Sorensen 1983 (secular equation, hard case); Golub 1973 (the constraint ``sum z = 0``).
Importing this module loads no SciPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .checks import numbers
from .errors import InputError

__all__ = ["Radius", "feature_radius"]

Vector = NDArray[np.float64]

KINDS = ("layer_norm", "rms_norm")

CLOSEST = 4 * float(np.finfo(float).eps)
"""How near the multiplier comes to the top eigenvalue, relative to ``max gamma^2``: about one rounding."""


@dataclass(frozen=True, eq=False)
class Radius:
    """Bounds on the norm of ``x = gamma * z + beta``, in the units of x.

    Attributes:
        sharp: the largest norm. The value of the Lagrangian dual, which no feasible z exceeds whatever the multiplier is;
            rounding alone can put it below the true maximum, by less than 1e-13 of it.
        crude: ``sqrt(n) max|gamma| + |beta|``.
        maximiser: a z [n] that reaches ``sharp`` (relative difference below 1e-9), with ``|z|^2 = n``, and ``sum z = 0``
            for LayerNorm.
    """

    sharp: float
    crude: float
    maximiser: Vector


def feature_radius(
    weight: Any, bias: Any = None, *, kind: Literal["layer_norm", "rms_norm"]
) -> Radius:
    """The sharp and the crude radius of a normalised feature, in float64.

    ``weight`` is gamma [n] as it multiplies z (for layers that store gamma - 1, add the 1), ``bias`` is beta [n] or None
    for 0; arrays, lists and torch tensors are taken. The layer's eps plays no part: it only shortens z. A layer that
    runs in float32 or less can exceed the radius by its own rounding.

    Raises :class:`InputError` for another kind, a shape other than [n], bools, NaN, infinities, or a radius beyond the
    largest float.
    """
    if kind not in KINDS:
        raise InputError(f"kind: got {kind!r:.60}; give 'layer_norm' or 'rms_norm'")
    gamma = numbers("weight", weight)
    if gamma.ndim != 1 or not len(gamma):
        raise InputError(f"weight: has shape {gamma.shape}; give gamma as [n], n at least 1")
    beta = np.zeros_like(gamma) if bias is None else numbers("bias", bias)
    if beta.shape != gamma.shape:
        raise InputError(f"bias: has shape {beta.shape}; give [n] = {gamma.shape}, as weight has")
    # A power of two scales without rounding; squares then neither overflow nor lose the largest entries.
    shift = _exponent(gamma, beta)
    gamma, beta = np.ldexp(gamma, -shift), np.ldexp(beta, -shift)
    sharp, z = _largest(gamma, beta, centred=kind == "layer_norm")
    crude = math.sqrt(len(gamma)) * float(np.abs(gamma).max()) + _norm(beta)
    try:
        return Radius(math.ldexp(sharp, shift), math.ldexp(crude, shift), z)
    except OverflowError:
        raise InputError("weight, bias: the radius exceeds the largest float; scale them") from None


def _exponent(*arrays: Vector) -> int:
    """The power of two just above the largest entry."""
    return math.frexp(max(float(np.abs(a).max()) for a in arrays))[1]


def _norm(v: Vector) -> float:
    return math.sqrt(float(np.sum(v * v)))


def _largest(gamma: Vector, beta: Vector, *, centred: bool) -> tuple[float, Vector]:
    """The maximum of ``|gamma z + beta|`` over ``|z|^2 <= n``, with ``sum z = 0`` if centred; and where it is reached."""
    n = len(gamma)
    if centred and n == 1:
        return _norm(beta), np.zeros(1)
    largest, offset = float(np.abs(gamma).max()), _norm(beta)
    if offset >= 1e17 * math.sqrt(n) * largest:
        # gamma z is lost in the rounding of beta, and the crude bound equals |beta|; gamma = 0 too.
        z = _onto_sphere(np.sign(gamma) * beta * (np.abs(gamma) / (largest or 1)), centred)
        return offset + math.sqrt(n) * largest, _any_point(n, centred) if z is None else z
    shift = _exponent(gamma)
    problem = _Problem.of(np.ldexp(gamma, -shift), np.ldexp(beta, -shift), centred=centred)
    delta = problem.multiplier()
    return math.ldexp(math.sqrt(problem.dual(delta)), shift), problem.primal(delta)


def _onto_sphere(v: Vector, centred: bool) -> Vector | None:
    """v, without its mean if centred, scaled to ``|z|^2 = n``; None where nothing is left of it."""
    size = float(np.abs(v).max())
    if centred:
        v = v - v.mean()
    left = float(np.abs(v).max())
    if left <= 1e-14 * size:
        return None
    v = v / left
    if centred:
        v = v - v.mean()  # a second time: the first left a rounding of what was large
    return v * (math.sqrt(len(v)) / _norm(v))


def _any_point(n: int, centred: bool) -> Vector:
    """A point of the sphere, with sum 0 if centred."""
    z = np.zeros(n)
    z[0] = 1.0
    if centred:
        z[1] = -1.0
    return z * (math.sqrt(n) / _norm(z))


@dataclass(frozen=True, eq=False)
class _Problem:
    """Maximise ``f(z) = |gamma z + beta|^2``, that is ``sum a_i z_i^2 + 2 c_i z_i + |beta|^2`` with ``a = gamma^2``.

    The multiplier is written ``mu = max a + delta``, since ``mu - a_i = gaps_i + delta`` then has no cancellation: the
    top eigenvalue on the hyperplane ``sum z = 0`` lies nearer to the largest ``a_i`` than to the second largest.
    ``linear`` is c; if centred, less its entry at ``k``, which changes nothing where ``sum z = 0``. ``pole`` is the delta
    of the top eigenvalue: 0, or if centred and the largest ``a_i`` is simple, the root of ``sum 1/(mu - a_i) = 0``.
    """

    gamma: Vector
    beta: Vector
    centred: bool
    k: int
    gaps: Vector
    linear: Vector
    pole: float

    @classmethod
    def of(cls, gamma: Vector, beta: Vector, *, centred: bool) -> _Problem:
        size = np.abs(gamma)
        k = int(np.argmax(size))
        gaps = (size[k] - size) * (size[k] + size)  # more accurate than a difference of squares
        linear = gamma * beta
        pole = 0.0
        if centred:
            linear = linear - linear[k]
            pole = _pole(np.delete(gaps, k))
        return cls(gamma, beta, centred, k, gaps, linear, pole)

    @property
    def top(self) -> float:
        """``max a``."""
        return float(self.gamma[self.k] ** 2)

    def stationary(self, delta: float) -> tuple[Vector, float]:
        """z with ``(mu - A) z = c`` (if centred, up to multiples of 1, and sum 0), and ``c.z``, a sum of positive terms.

        If centred, with ``q = sum' c_i/d_i``, ``S = sum' 1/d_i`` over ``i != k``, ``d = mu - a``: the multiplier of
        ``sum z = 0`` is ``nu = delta q/(1 + delta S)`` and ``z_k = -q/(1 + delta S)``. A negative ``1 + delta S`` says
        that mu lies below the top eigenvalue; z is then infinite.
        """
        d = self.gaps + delta
        if not self.centred:
            z = self.linear / d
            return z, float(np.sum(self.linear * z))
        d[self.k] = 1.0  # linear is 0 there
        q = float(np.sum(self.linear / d))
        h = 1.0 + delta * (float(np.sum(1 / d)) - 1.0)
        if h <= 0:
            return np.full_like(d, np.inf), math.inf
        nu = delta * q / h
        z = (self.linear - nu) / d
        z[self.k] = -q / h
        if delta < 0:
            return z, float(np.sum(self.linear**2 / d)) - delta * q * q / h
        at_k = delta * (q / h) ** 2
        z_others = np.delete(z, self.k)
        return z, float(np.sum(np.delete(self.linear - nu, self.k) * z_others)) + at_k

    def multiplier(self) -> float:
        """delta >= pole at which the stationary z has ``|z|^2 = n``; next to the pole in the hard case."""
        n = len(self.gamma)
        least = CLOSEST * self.top
        c = self.linear - self.linear.mean() if self.centred else self.linear
        most = max(2 * least, 1.001 * _norm(c) / math.sqrt(n))  # |z| <= |c|/(mu - top eigenvalue)

        def excess(log_t: float) -> float:
            z, value = self.stationary(self.pole + math.exp(log_t))
            if math.isinf(value):
                return 1e3
            square = float(np.sum(z * z))
            return math.log(square / n) if square > 0 else -1e3

        low, high = math.log(least), math.log(most)
        if excess(low) <= 0:
            return self.pole + least
        if excess(high) >= 0:
            return self.pole + most
        return self.pole + math.exp(_root(excess, low, high, within=1e-15))

    def dual(self, delta: float) -> float:
        """``max over z of f(z) + mu (n - |z|^2)``: bounds f from above for every ``delta > pole``."""
        _, value = self.stationary(delta)
        return float(np.sum(self.beta**2)) + (self.top + delta) * len(self.gamma) + value

    def primal(self, delta: float) -> Vector:
        """A maximiser: the stationary z, moved along the top eigenvector to the sphere (this settles the hard case)."""
        z, _ = self.stationary(delta)
        if self.centred:
            z = z - z.mean()
        v = self.top_vector()
        along, n = float(np.sum(z * v)), len(z)
        across = z - along * v
        room = n - float(np.sum(across * across))
        starts = [across + sign * math.sqrt(max(room, 0.0)) * v for sign in (1, -1)]
        best = _onto_sphere(max(starts, key=self.square), self.centred)
        assert best is not None
        for _ in range(3):
            # f is convex, so this step never lowers it; it takes off what rounding left.
            step = _onto_sphere(
                self.gamma * (self.gamma * best) + self.gamma * self.beta, self.centred
            )
            if step is None or self.square(step) <= self.square(best):
                break
            best = step
        return best

    def square(self, z: Vector) -> float:
        """``f(z)``."""
        return float(np.sum((self.gamma * z + self.beta) ** 2))

    def top_vector(self) -> Vector:
        """A unit vector of the top eigenspace."""
        tops = np.flatnonzero(self.gaps == 0)
        v = np.zeros_like(self.gaps)
        if not self.centred:
            v[self.k] = 1.0
        elif len(tops) > 1:
            v[tops[0]], v[tops[1]] = 1.0, -1.0
        else:
            v = 1 / (self.gaps + self.pole)
            v = v - v.mean()
        return v / _norm(v)


def _pole(gaps: Vector) -> float:
    """The root of ``1 + delta sum 1/(gaps + delta)`` in ``[-min gaps / 2, 0]``; 0 where the top is multiple.

    The gaps [n - 1] are those of the other coordinates. At the left end the nearest of them alone makes the sum
    ``>= 2 / min gaps``, so the function is <= 0 there; it is 1 at 0.
    """
    nearest = float(gaps.min())
    if nearest == 0:
        return 0.0

    def h(delta: float) -> float:
        return 1.0 + delta * float(np.sum(1 / (gaps + delta)))

    if h(-nearest / 2) >= 0:
        return -nearest / 2
    return _root(h, -nearest / 2, 0.0, within=1e-300)


def _root(f: Callable[[float], float], low: float, high: float, *, within: float) -> float:
    """A root of f between two points where its signs differ, to ``within`` or one rounding of it."""
    from scipy import optimize

    brentq: Any = optimize.brentq
    return float(brentq(f, low, high, xtol=within, rtol=CLOSEST))
