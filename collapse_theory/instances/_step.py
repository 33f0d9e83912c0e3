"""One gradient step of a linear softmax head, and what the theory derives from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from .. import softmax
from ..arithmetic import FLOAT, Array
from ..checks import numbers
from ..errors import InputError
from ..optimizers import gradient_descent
from ._batch import Batch, check_head

STEP_AXES = {
    "weights": ("K", "n"),
    "features": ("N", "n"),
    "labels": ("N",),
    "example_weights": ("N",),
    "step_size": (),
    "weight_decay": (),
    "radius": (),
    "pbar": (),
    "curvature": (),
}

STEP_SYMBOLS = {
    "weights": "w",
    "features": "x",
    "example_weights": "a",
    "step_size": "eta",
    "weight_decay": "lam",
    "radius": "r",
    "pbar": "pbar",
    "curvature": "T",
}


@dataclass(frozen=True, eq=False)
class Step(Batch):
    """A batch of steps of gradient descent on ``sum_i a_i (-log p_{y_i}(x_i)) + (lam/2)|W|^2``.

    The pair (u, v) that claims speak of is always labels 0 and 1; permute the rows to speak of others. ``radius``,
    ``pbar`` and ``curvature`` are data of the instance, tied to it by hypotheses only (``r >= |x_i|``,
    ``pbar >= L_i``, ``T >= tr M``): they are what a user of a bound would plug in.

    Shapes (after any batch axes): weights [K, n], features [N, n], labels [N] (integers), example_weights [N] (sum 1),
    and scalars step_size eta, weight_decay lam, radius r, pbar, curvature T.
    """

    AXES: ClassVar[dict[str, tuple[str, ...]]] = STEP_AXES
    INTEGERS: ClassVar[frozenset[str]] = frozenset({"labels"})
    SYMBOLS: ClassVar[dict[str, str]] = STEP_SYMBOLS
    domain: ClassVar[str] = "step"

    weights: Array
    features: Array
    labels: np.ndarray
    example_weights: Array
    step_size: Array
    weight_decay: Array
    radius: Array
    pbar: Array
    curvature: Array

    @classmethod
    def create(cls, **values: Any) -> Self:
        """One step from plain numbers. ``example_weights`` default to uniform, ``radius`` to ``max |x_i|``,
        ``pbar`` to 1/2 and ``curvature`` to ``radius^2/2``, the values that need no knowledge of the probabilities.

        Raises :class:`~collapse_theory.errors.InputError` naming the value and the fix.
        """
        features = numbers("features", values.get("features", []))
        if features.ndim == 2 and features.size:
            values.setdefault("example_weights", np.full(len(features), 1 / len(features)))
            with np.errstate(over="ignore"):
                values.setdefault("radius", FLOAT.norm(features).max())
        values.setdefault("pbar", 0.5)
        if "radius" in values and "curvature" not in values:
            radius = numbers("radius", values["radius"])
            with np.errstate(over="ignore"):
                values["curvature"] = radius * radius / 2
            if not np.all(np.isfinite(values["curvature"])):
                raise InputError(
                    f"radius: {radius} squared overflows; scale the features down or give curvature"
                )
        return super().create(**values)

    def check(self) -> None:
        check_head(self.labels, np.asarray(self.example_weights), self.weights.shape[-2])

    @classmethod
    def with_difference(cls, difference: Array, **values: Any) -> Self:
        """A step whose ``D`` is given, not recomputed from rows that may agree in all but their last digits."""
        step = cls(**values)
        step.__dict__["difference"] = difference
        return step

    @property
    def decay(self) -> Array:
        """``c = 1 - eta lam``."""
        return 1 - self.step_size * self.weight_decay

    @cached_property
    def difference(self) -> Array:
        """``D = w_u - w_v`` [..., n]."""
        return self.weights[..., 0, :] - self.weights[..., 1, :]

    @cached_property
    def _pair(self) -> tuple[Array, Array]:
        return softmax.pair_means(self.ops, self.weights, self.features, self.difference)

    @property
    def logit_differences(self) -> Array:
        """``d_i = <D, x_i>`` [..., N]."""
        return self._pair[0]

    @property
    def means(self) -> Array:
        """``L_i``, the logarithmic mean of ``p_u(x_i)`` and ``p_v(x_i)`` [..., N]."""
        return self._pair[1]

    @cached_property
    def trace(self) -> Array:
        """``tr M = sum_i a_i L_i |x_i|^2``."""
        return softmax.operator_trace(self.ops, self.features, self.example_weights, self.means)

    @cached_property
    def operator(self) -> Array:
        """``M`` [..., n, n]."""
        return softmax.operator(self.ops, self.features, self.example_weights, self.means)

    @cached_property
    def feature_norms(self) -> Array:
        """``|x_i|`` [..., N]."""
        return self.ops.norm(self.features)

    @property
    def target_mass(self) -> Array:
        """``sum_i a_i ([y_i = u] + [y_i = v])``: 0 exactly when u and v are unseen in this batch."""
        hot = softmax.one_hot(self.labels, 2)
        return self.ops.sum(self.example_weights * (hot[..., 0] + hot[..., 1]))

    @cached_property
    def pair_gradient(self) -> Array:
        """``g_u - g_v`` [..., n], the difference of the loss's gradients in rows u and v, without the decay; ``M D`` if u
        and v are unseen. Computed from ``L_i d_i``, without the cancellation of ``p_u - p_v``."""
        d, means = self._pair
        return softmax.pair_gradient(
            self.ops, self.features, self.labels, self.example_weights, means, d
        )

    @cached_property
    def operator_on_difference(self) -> Array:
        """``M D`` [..., n], whether u and v are unseen or not."""
        d, means = self._pair
        weighted = self.example_weights * means * d
        return self.ops.sum(weighted[..., None] * self.features, axis=-2)

    @cached_property
    def next_difference(self) -> Array:
        """``D+`` [..., n], the difference of rows u and v after the step.

        The rule is linear, so it is applied to the difference of the rows and of their gradients: the same vector as
        the difference of :attr:`next_weights`' rows, without its cancellation. Decoupled decay is the same map and
        keeps the digits of ``c`` where eta lam is near 1.
        """
        return gradient_descent(
            self.difference,
            self.pair_gradient,
            step_size=self.step_size[..., None],
            weight_decay=self.weight_decay[..., None],
            decoupled=True,
        )

    @property
    def cross_entropy(self) -> Array:
        """``sum_i a_i (-log p_{y_i}(x_i))``, the loss without the decay."""
        return softmax.loss(
            self.ops, self.weights, self.features, self.labels, self.example_weights
        )

    @property
    def nontrivial(self) -> np.ndarray:
        """Float steps that move ``D``: not those with eta = 0 or equal rows, which meet any bound on |D+|/|D| idly."""
        return np.any(self.next_difference != self.difference, axis=-1)

    @cached_property
    def next_weights(self) -> Array:
        """All rows after the step [..., K, n]."""
        return self._after(
            softmax.gradient(
                self.ops, self.weights, self.features, self.labels, self.example_weights
            )
        )

    def _after(self, gradient: Array) -> Array:
        """The rows after a step with this gradient of the loss [..., K, n]."""
        return gradient_descent(
            self.weights,
            gradient,
            step_size=self.step_size[..., None, None],
            weight_decay=self.weight_decay[..., None, None],
        )
