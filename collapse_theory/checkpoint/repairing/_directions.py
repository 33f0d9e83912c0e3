"""Where new rows point and how long they are: draws ``[k, n]`` of float64 rows."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ._encode import decode, encode, first_of_equals, row_keys

__all__ = ["DIRECTIONS", "Norm", "Recipe", "draw", "fresh_rows", "norm_from"]

DIRECTIONS = ("mean", "random", "orthogonal", "tokens")
ATTEMPTS = 50
Rows = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Norm:
    """The length that every new row gets: a number, or a quantile of the norms of trained rows."""

    value: float | None = None
    quantile: float | None = None

    def length(self, trained: Rows) -> float:
        """The norm, given those of trained rows ``[m]``."""
        if self.value is not None:
            return self.value
        return float(np.quantile(trained, self.quantile or 0.0))

    def __str__(self) -> str:
        if self.value is not None:
            return f"{self.value:g}"
        return "trained" if self.quantile == 0.5 else f"q{self.quantile:g}"


def norm_from(text: str | float) -> Norm:
    """``trained`` (the median of trained rows), ``qX`` (their quantile X, as ``q0.25``), or a length.

    Raises :class:`InputError` for anything else.
    """
    fix = "give 'trained', a quantile of trained rows as q0.25, or a length above 0"
    said = str(text).strip()
    if said == "trained":
        return Norm(quantile=0.5)
    try:
        quantile = said.startswith("q")
        number = float(said[1:] if quantile else said)
    except ValueError:
        raise InputError(f"norm: got {said!r:.60}; {fix}") from None
    good = 0 <= number <= 1 if quantile else math.isfinite(number) and number > 0
    if isinstance(text, bool) or not good or not re.fullmatch(r"q?[-+.\deE]+", said):
        raise InputError(f"norm: got {said!r:.60}; {fix}")
    return Norm(quantile=number) if quantile else Norm(value=number)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How the rows of one matrix are drawn.

    Attributes:
        direction: one of :data:`DIRECTIONS`.
        length: the norm of every new row.
        trained: rows ``[m, n]`` of trained tokens; what ``mean`` follows.
        anchor: the rows ``[a, n]`` of the tokens given, for ``tokens``.
        spread: size of the scatter, as a share of the scatter of trained rows around their mean.
    """

    direction: str
    length: float
    trained: Rows
    anchor: Rows | None = None
    spread: float = 1.0


def draw(recipe: Recipe, count: int, dim: int, rng: np.random.Generator) -> Rows:
    """``count`` rows ``[count, dim]`` of the recipe's norm.

    ``random`` is uniform on the sphere. ``orthogonal`` gives bases drawn by the Haar measure, ``dim`` rows a basis: rows of
    one basis are orthogonal, rows of different ones as random rows are. ``mean`` and ``tokens`` scatter around the mean of
    the trained rows, or of the tokens given, by a Gaussian with the covariance of the trained rows times ``spread**2``.
    """
    if recipe.direction == "random":
        rows = rng.standard_normal((count, dim))
    elif recipe.direction == "orthogonal":
        bases = [_basis(min(dim, count - start), dim, rng) for start in range(0, count, dim)]
        rows = np.concatenate(bases)
    else:
        around = recipe.trained if recipe.direction == "mean" else recipe.anchor
        assert around is not None
        rows = around.mean(axis=0) + recipe.spread * _scatter(recipe.trained, count, rng)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not norms.all():
        raise InputError(
            f"direction {recipe.direction}: gives a row of zeros, which has no direction; "
            "choose random or orthogonal"
        )
    return rows * (recipe.length / norms)


def _basis(count: int, dim: int, rng: np.random.Generator) -> Rows:
    """``count <= dim`` orthonormal rows. QR of a Gaussian matrix is Haar only once the signs of R are taken out."""
    q, r = np.linalg.qr(rng.standard_normal((dim, count)))
    return (q * np.where(np.diagonal(r) < 0, -1.0, 1.0)).T


def _scatter(trained: Rows, count: int, rng: np.random.Generator) -> Rows:
    """Gaussian vectors ``[count, n]`` with the covariance of the trained rows, which is never formed."""
    centred = trained - trained.mean(axis=0)
    return rng.standard_normal((count, len(centred))) @ centred / math.sqrt(len(centred))


def fresh_rows(
    recipe: Recipe, count: int, dim: int, dtype: str, rng: np.random.Generator
) -> NDArray[np.uint8]:
    """New rows as bytes of ``dtype`` ``[count, dim * size]``: pairwise distinct and not zero, after rounding.

    Rows that rounding makes equal are drawn again. Raises :class:`InputError` when that does not help.
    """
    data = encode(draw(recipe, count, dim, rng), dtype)
    bad = np.ones(count, dtype=bool)
    for _ in range(ATTEMPTS):
        bad = ~first_of_equals(row_keys(data, dtype))
        bad |= ~decode(data, dtype).any(axis=1)
        if not bad.any():
            return data
        data[bad] = encode(draw(recipe, int(bad.sum()), dim, rng), dtype)
    cure = "a larger spread" if recipe.direction in ("mean", "tokens") else "fewer rows"
    raise InputError(
        f"rows: {int(bad.sum())} of {count} new rows are zero or equal to others after rounding to {dtype}; "
        f"choose a larger norm or {cure}"
    )
