"""Unseen rows at a common point on the line of a single feature: candidates for where they come to rest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .. import softmax
from ..arithmetic import FLOAT, Array
from ..errors import InputError
from ._batch import Batch
from ._sampling import Domain, Free, Shape, magnitude, some


@dataclass(frozen=True, eq=False)
class Equilibrium(Batch):
    """A batch of heads with one feature x of norm r, seen rows w_1..w_S, and ``unseen`` = k further rows that all lie at
    ``-(z/r^2) x``: their logit is -z, the ``level``. Which z is at rest is what claims say.

    Shapes (after any batch axes): seen [S, n], feature [n], weight_decay, level and the integer unseen scalars.
    """

    AXES: ClassVar[dict[str, tuple[str, ...]]] = {
        "seen": ("S", "n"),
        "feature": ("n",),
        "weight_decay": (),
        "level": (),
        "unseen": (),
    }
    INTEGERS: ClassVar[frozenset[str]] = frozenset({"unseen"})
    SYMBOLS: ClassVar[dict[str, str]] = {
        "seen": "w",
        "feature": "x",
        "weight_decay": "lam",
        "level": "z",
        "unseen": "k",
    }
    LEAST: ClassVar[dict[str, tuple[int, int]]] = {"S": (0, 1), "n": (0, 1)}
    BOUNDS: ClassVar[frozenset[str]] = frozenset()
    domain: ClassVar[str] = "equilibrium"

    seen: Array
    feature: Array
    weight_decay: Array
    level: Array
    unseen: np.ndarray

    def check(self) -> None:
        if np.any(self.unseen < 1):
            raise InputError(f"unseen: got {self.unseen[0]}, expected at least 1 unseen row")

    @cached_property
    def square(self) -> Array:
        """``r^2 = |x|^2``."""
        return self.ops.sum(self.feature * self.feature)

    @cached_property
    def exponential_sum(self) -> Array:
        """``S = sum_s exp<w_s, x>`` over the seen rows."""
        return self.ops.sum(self.ops.exp(self.ops.sum(self.seen * self.feature[..., None, :])))

    @property
    def normaliser(self) -> Array:
        """``Z = S + k exp(-z)``, all rows."""
        return self.exponential_sum + self.unseen * self.ops.exp(-self.level)

    @cached_property
    def unseen_row(self) -> Array:
        """``-(z/r^2) x`` [..., n]."""
        return -(self.level / self.square)[..., None] * self.feature

    def pull(self, seen: list[Array], row: Array, copies: np.ndarray) -> Array:
        """``<x, grad_u>`` for the loss with its decay, where rows ``seen`` and ``copies`` equal rows ``row`` make up the
        head; from the softmax gradient itself. Targets are seen."""
        largest = int(np.max(copies))
        rows = self.ops.stack([row, *seen, *[row] * (largest - 1)], axis=-2)
        z = softmax.logits(rows, self.feature[..., None, :])[..., 0, :]
        place = np.arange(largest + len(seen))
        counted = (place < (copies + len(seen))[..., None]).astype(np.int8)
        total = self.ops.sum(self.ops.exp(z * counted) * counted)
        p_u = self.ops.exp(z[..., 0]) / total
        gradient = p_u[..., None] * self.feature + self.weight_decay[..., None] * row
        return self.ops.sum(self.feature * gradient)

    @property
    def nontrivial(self) -> np.ndarray:
        """Float instances with a logit at all."""
        return self.level != 0


class EquilibriumDomain(Domain):
    """Up to 6 seen and 8 unseen rows in up to 8 dimensions (large: 24); z of either sign, up to about 20."""

    name = "equilibrium"
    batch_type = Equilibrium
    arrays = frozenset({"seen", "feature"})
    fixed = frozenset({"unseen"})

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        scale = magnitude(rng, (size, 1), -3, 3)
        feature = scale * rng.standard_normal((size, shape.dim))
        feature[some(rng, size, 0.01)] = 0.0
        spread = magnitude(rng, (size, 1, 1), -3, 1) / (scale[..., None] * np.sqrt(shape.dim))
        seen = spread * rng.standard_normal((size, max(1, shape.labels - 2), shape.dim))
        level = magnitude(rng, size, -6, 1.3) * rng.choice([1.0, 1.0, 1.0, -1.0], size)
        level[some(rng, size, 0.02)] = 0.0
        return {
            "seen": seen,
            "feature": feature,
            "unseen": rng.integers(1, 9, size),
            "level": level,
            "decay": magnitude(rng, size, -6, 6) * rng.choice([1.0, 1.0, 1.0, -1.0, 0.0], size),
        }

    def build(self, free: Free) -> Any:
        names = ("seen", "feature", "unseen", "level")
        return Equilibrium(
            ops=FLOAT, weight_decay=free["decay"], **{name: free[name] for name in names}
        )
