"""A softmax head and one feature: what claims about probabilities alone speak of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from .. import softmax
from ..arithmetic import FLOAT, Array
from ..errors import InputError
from ._batch import Batch
from ._sampling import HAIR, Domain, Free, Shape, draw_examples, draw_rows, magnitude, some, tilt


@dataclass(frozen=True, eq=False)
class Head(Batch):
    """A batch of softmax heads, each with one feature x. The first ``unseen`` = k rows are unseen labels, u and v the first
    two; ``radius`` r and ``distance`` delta are data, tied to the head by hypotheses only (``r >= |x|``,
    ``delta >= |w_u - w_k|``).

    Shapes (after any batch axes): weights [K, n], feature [n], radius, distance and the integer unseen scalars.
    """

    AXES: ClassVar[dict[str, tuple[str, ...]]] = {
        "weights": ("K", "n"),
        "feature": ("n",),
        "radius": (),
        "distance": (),
        "unseen": (),
    }
    INTEGERS: ClassVar[frozenset[str]] = frozenset({"unseen"})
    SYMBOLS: ClassVar[dict[str, str]] = {
        "weights": "w",
        "feature": "x",
        "radius": "r",
        "distance": "delta",
        "unseen": "k",
    }
    BOUNDS: ClassVar[frozenset[str]] = frozenset({"radius", "distance"})
    domain: ClassVar[str] = "head"

    weights: Array
    feature: Array
    radius: Array
    distance: Array
    unseen: np.ndarray

    def check(self) -> None:
        count = self.weights.shape[-2]
        if count < 3:
            raise InputError(f"weights: K = {count} labels; a pair of unseen labels needs K >= 3")
        if np.any(self.unseen < 2) or np.any(self.unseen >= count):
            raise InputError(
                f"unseen: got {self.unseen[0]}, expected 2 to {count - 1} unseen labels"
            )

    def without(self, axis: str, index: int) -> Self | None:
        smaller = super().without(axis, index)
        if axis != "K" or smaller is None:
            return smaller
        fewer = np.where(index < self.unseen, self.unseen - 1, self.unseen)
        if np.any(fewer >= smaller.sizes["K"]):
            return None  # the only seen row
        return replace(smaller, unseen=fewer)

    @cached_property
    def difference(self) -> Array:
        """``D = w_u - w_v`` [..., n]."""
        return self.weights[..., 0, :] - self.weights[..., 1, :]

    @cached_property
    def logit_difference(self) -> Array:
        """``d = <D, x>``."""
        return self.ops.sum(self.difference * self.feature)

    @cached_property
    def log_probabilities(self) -> Array:
        """``log p_k(x)`` [..., K]."""
        features = self.feature[..., None, :]
        return softmax.log_probabilities(self.ops, self.weights, features)[..., 0, :]

    @cached_property
    def probabilities(self) -> Array:
        """``p_k(x)`` [..., K]."""
        return self.ops.exp(self.log_probabilities)

    @cached_property
    def mean(self) -> Array:
        """``L(p_u(x), p_v(x))``, the logarithmic mean."""
        log_p = self.log_probabilities
        return self.ops.logarithmic_mean(log_p[..., 0], log_p[..., 1], self.logit_difference)

    @cached_property
    def is_unseen(self) -> np.ndarray:
        """1 for unseen rows, 0 for seen ones [..., K]."""
        return (np.arange(self.weights.shape[-2]) < self.unseen[..., None]).astype(np.int8)

    @property
    def unseen_mass(self) -> Array:
        """``1 - p_seen(x)``, the probability of all unseen labels together."""
        return self.ops.sum(self.probabilities * self.is_unseen)

    @cached_property
    def unseen_center(self) -> Array:
        """The mean of the unseen rows [..., n]."""
        total = self.ops.sum(self.weights * self.is_unseen[..., None], axis=-2)
        return total / self.unseen[..., None]

    @cached_property
    def distances(self) -> Array:
        """``|w_u - w_k|`` for unseen k, 0 for seen ones [..., K]."""
        apart = self.weights[..., :1, :] - self.weights
        return self.ops.norm(apart) * self.is_unseen

    @property
    def nontrivial(self) -> np.ndarray:
        """Float heads whose probabilities of u and v differ."""
        return self.logit_difference != 0


class HeadDomain(Domain):
    """Heads with K, n <= 8, or one in twenty up to 32 x 24; half of the unseen rows lie close together."""

    name = "head"
    batch_type = Head
    arrays = frozenset({"weights", "feature"})
    fixed = frozenset({"unseen"})

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        rows = draw_rows(rng, shape, size)
        unseen = rng.integers(2, shape.labels, size)
        together = some(rng, size, 0.5)
        offset = rng.standard_normal((len(together), shape.labels, shape.dim))
        size_of = np.abs(rows[together]).mean(axis=(1, 2), keepdims=True)
        offset *= magnitude(rng, (len(together), 1, 1), -8, 0) * size_of
        hidden = np.arange(shape.labels) < unseen[together, None]
        near = rows[together, :1] + offset
        rows[together] = np.where(hidden[..., None], near, rows[together])
        features, _, _ = draw_examples(rng, rows, (size,), shape._replace(examples=1))
        tilt(rng, rows, features)
        slack = 1 + magnitude(rng, (2, size), -6, 2)
        slack[rng.random((2, size)) < 0.6] = 1.0
        below = rng.random((2, size)) < 0.03
        slack[below] = rng.uniform(0, 1, int(below.sum()))
        return {
            "weights": rows,
            "feature": features[:, 0],
            "unseen": unseen,
            "slack_radius": slack[0],
            "slack_distance": slack[1],
        }

    def build(self, free: Free) -> Any:
        zero = np.zeros(len(free["weights"]))
        values = {name: free[name] for name in ("weights", "feature", "unseen")}
        bare = Head(ops=FLOAT, radius=zero, distance=zero, **values)
        radius = FLOAT.norm(bare.feature) * free["slack_radius"] * (1 + HAIR)
        distance = bare.distances.max(axis=-1) * free["slack_distance"] * (1 + HAIR)
        return replace(bare, radius=radius, distance=distance)
