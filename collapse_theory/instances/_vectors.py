"""A pair of vectors, for claims of plain geometry."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..arithmetic import FLOAT, Array, Ops
from ._batch import Batch
from ._sampling import Domain, Free, Shape, magnitude, some


@dataclass(frozen=True, eq=False)
class Vectors(Batch):
    """A batch of pairs of vectors a, b. Shapes (after any batch axes): first [n], second [n]."""

    AXES: ClassVar[dict[str, tuple[str, ...]]] = {"first": ("n",), "second": ("n",)}
    SYMBOLS: ClassVar[dict[str, str]] = {"first": "a", "second": "b"}
    domain: ClassVar[str] = "vectors"

    first: Array
    second: Array

    @cached_property
    def difference(self) -> Array:
        """``a - b`` [..., n]."""
        return self.first - self.second

    @cached_property
    def norms(self) -> tuple[Array, Array]:
        """``|a|`` and ``|b|``."""
        return self.ops.norm(self.first), self.ops.norm(self.second)

    @cached_property
    def cosine_distance(self) -> Array:
        """``1 - cos(a, b)``."""
        return cosine_distance(self.ops, self.first, self.second, self.difference)

    @property
    def nontrivial(self) -> np.ndarray:
        """Float pairs that differ."""
        return np.any(self.difference != 0, axis=-1)


def cosine_distance(ops: Ops, a: Array, b: Array, difference: Array) -> Array:
    """``1 - cos(a, b)`` for vectors [..., n] with the given difference ``a - b``, without cancellation near cos = 1.

    It is ``|a/|a| - b/|b||^2 / 2``, and ``a|b| - b|a| = D|b| - b <D, a + b>/(|a| + |b|)``.
    """
    norm_a, norm_b = ops.norm(a), ops.norm(b)
    # |a| - |b|; NumPy turns an array of one symbol into the symbol, asarray turns it back.
    longer = ops.asarray(ops.sum(difference * (a + b)) / (norm_a + norm_b))
    apart = difference * norm_b[..., None] - b * longer[..., None]
    return ops.sum(apart * apart) / (2 * (norm_a * norm_a) * (norm_b * norm_b))


class VectorsDomain(Domain):
    """Pairs of vectors with n <= 8, or one in twenty up to 24: near, far, parallel, opposite, of equal length, zero."""

    name = "vectors"
    batch_type = Vectors
    arrays = frozenset({"first", "second"})
    fixed = frozenset()

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        dim = shape.dim
        scale = magnitude(rng, (size, 1), -3, 3)
        first = scale * rng.standard_normal((size, dim))
        second = scale * magnitude(rng, (size, 1), -2, 2) * rng.standard_normal((size, dim))
        near = some(rng, size, 0.4)
        offset = magnitude(rng, (len(near), 1), -8, 0) * rng.standard_normal((len(near), dim))
        second[near] = first[near] + scale[near] * offset
        equal = some(rng, size, 0.2)
        length = FLOAT.norm(second[equal])[:, None]
        second[equal] *= np.where(length > 0, FLOAT.norm(first[equal])[:, None] / length, 1.0)
        parallel = some(rng, size, 0.05)
        second[parallel] = first[parallel] * rng.uniform(-2, 2, (len(parallel), 1))
        first[some(rng, size, 0.01)] = 0.0
        second[some(rng, size, 0.01)] = 0.0
        return {"first": first, "second": second}

    def build(self, free: Free) -> Any:
        return Vectors(ops=FLOAT, **free)
