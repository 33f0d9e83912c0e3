"""A weight of few digits, multiplied by 1 - delta and rounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..arithmetic import FLOAT, Array
from ._batch import Batch
from ._sampling import Domain, Free, Shape, magnitude, some


@dataclass(frozen=True, eq=False)
class Rounding(Batch):
    """A batch of weights w that decay: ``rounded`` is what a number format makes of ``w (1 - delta)``.

    All are data of the instance: ``below`` is the next number of the format towards 0, ``unit`` the relative spacing 2^-p
    just below a power of two in a format of p significant bits. That ``rounded`` is a number of the format and the nearest
    one is said by hypotheses. All fields are scalars.
    """

    AXES: ClassVar[dict[str, tuple[str, ...]]] = {
        "weight": (),
        "below": (),
        "rounded": (),
        "shrinkage": (),
        "unit": (),
    }
    SYMBOLS: ClassVar[dict[str, str]] = {
        "weight": "w",
        "below": "b",
        "rounded": "r",
        "shrinkage": "delta",
        "unit": "h",
    }
    domain: ClassVar[str] = "rounding"

    weight: Array
    below: Array
    rounded: Array
    shrinkage: Array
    unit: Array

    @property
    def product(self) -> Array:
        """``w (1 - delta)``, before rounding."""
        return self.weight * (1 - self.shrinkage)


def neighbour(weight: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """The next number of ``bits`` significant bits towards 0, of positive numbers of that format."""
    fraction, exponent = np.frexp(weight)
    step = np.ldexp(1.0, exponent - bits)
    return weight - np.where(fraction == 0.5, step / 2, step)


def nearest(value: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """The nearest number of ``bits`` significant bits, ties to even. Exact where ``value`` is."""
    _, exponent = np.frexp(value)
    step = np.ldexp(1.0, exponent - bits)
    return np.rint(value / step) * step


class RoundingDomain(Domain):
    """Formats of 4 to 24 significant bits (bfloat16 8, float16 11, float32 24); delta around the half spacing.

    delta has few digits, so that the product is exact in float64 and rounded once.
    """

    name = "rounding"
    batch_type = Rounding
    arrays = frozenset()
    fixed = frozenset({"bits", "mantissa", "exponent", "numerator", "digits", "error", "unrounded"})

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        bits = rng.integers(4, 25, size)
        usual = some(rng, size, 0.5)
        bits[usual] = rng.choice([8, 11, 24], len(usual))
        mantissa = rng.uniform(0, 1, size)
        mantissa[some(rng, size, 0.4)] = 0.0  # powers of two, where the spacing below is the least
        sign = np.ones(size)
        sign[some(rng, size, 0.06)] = -1.0
        # delta = numerator 2^-(bits + digits): 2^digits is a whole spacing, 2^(digits - 1) half of it.
        digits = rng.integers(1, 9, size)
        numerator = np.floor(2.0**digits * magnitude(rng, size, -2, 1))
        near = some(rng, size, 0.4)
        half = 2.0 ** (digits[near] - 1)
        numerator[near] = half + rng.integers(-1, 2, len(near))
        numerator[some(rng, size, 0.05)] *= -1
        error = np.zeros(size)
        wrong = some(rng, size, 0.1)  # results that are not nearest, or no number of the format
        error[wrong] = rng.choice([1.0, -1.0, 0.5, -0.5, 2.0], len(wrong))
        unrounded = np.zeros(size)
        unrounded[some(rng, size, 0.1)] = 1.0
        return {
            "bits": bits.astype(float),
            "unrounded": unrounded,
            "mantissa": mantissa,
            "exponent": rng.integers(-30, 31, size).astype(float),
            "sign": sign,
            "digits": digits.astype(float),
            "numerator": numerator,
            "error": error,
            "slack_unit": np.where(rng.random(size) < 0.05, 2.0, 1.0),
        }

    def build(self, free: Free) -> Any:
        bits, digits = (np.round(free[name]).astype(int) for name in ("bits", "digits"))
        exponent = np.round(free["exponent"]).astype(int)
        count = np.floor(np.clip(free["mantissa"], 0, 1) * (2.0 ** (bits - 1) - 1))
        weight = np.ldexp(2.0 ** (bits - 1) + count, exponent - bits + 1)
        unit = np.ldexp(1.0, -bits)
        delta = np.round(free["numerator"]) * np.ldexp(1.0, -(bits + digits))
        below = neighbour(weight, bits)
        product = weight * (1 - delta)
        rounded = nearest(product, bits) + free["error"] * (weight - below)
        rounded = np.where(free["unrounded"] > 0.5, product, rounded)
        sign = np.where(free["sign"] < 0, -1.0, 1.0)
        return Rounding(
            ops=FLOAT,
            weight=sign * weight,
            below=sign * below,
            rounded=sign * rounded,
            shrinkage=delta,
            unit=unit * np.where(free["slack_unit"] > 1.5, 2.0, 1.0),
        )
