"""Gradient steps on variants of the loss: what claims about training tricks speak of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .. import losses, softmax
from ..arithmetic import Array, Ops
from ..errors import InputError
from . import _sampling as sampling
from ._sampling import Domain, Free, Shape, magnitude, some
from ._step import STEP_AXES, STEP_SYMBOLS, Step


def check_positive(name: str, value: np.ndarray, fix: str) -> None:
    """Raises :class:`InputError` unless the number is above 0."""
    if np.any(value <= 0):
        raise InputError(f"{name}: got {value[0]}, expected a number > 0; {fix}")


@dataclass(frozen=True, eq=False)
class LossStep(Step):
    """A batch of steps with the settings of several tricks beside a step's data; a claim uses the setting of its own trick.

    ``smoothing`` s of the labels, ``temperature`` tau of the logits, ``scale`` by which the loss is multiplied, ``clip``
    limit of the gradient, ``mask`` [N] (1 where the logits of u and v take part, 0 where they are left out), and
    ``pair_targets`` [N, 2], the target mass of u and v on each example, the rest being the label's (for twins).
    """

    AXES: ClassVar[dict[str, tuple[str, ...]]] = STEP_AXES | {
        "pair_targets": ("N", "pair"),
        "mask": ("N",),
        "smoothing": (),
        "temperature": (),
        "scale": (),
        "clip": (),
    }
    INTEGERS: ClassVar[frozenset[str]] = frozenset({"labels", "mask"})
    SYMBOLS: ClassVar[dict[str, str]] = STEP_SYMBOLS | {
        "pair_targets": "q",
        "smoothing": "s",
        "temperature": "tau",
        "scale": "b",
        "clip": "C",
    }
    domain: ClassVar[str] = "loss_step"

    pair_targets: Array
    mask: np.ndarray
    smoothing: Array
    temperature: Array
    scale: Array
    clip: Array

    def check(self) -> None:
        super().check()
        if np.any((self.mask != 0) & (self.mask != 1)):
            raise InputError(f"mask: got {self.mask[0]}, expected 0 or 1 for each example")
        if self.pair_targets.shape[-1] != 2:
            raise InputError(f"pair_targets: shape {self.pair_targets.shape[1:]}, expected [N, 2]")
        if np.any(self.pair_targets < 0):
            least = self.pair_targets.min()
            raise InputError(f"pair_targets: {least} is negative; target masses are >= 0")
        with np.errstate(over="ignore"):
            both = self.pair_targets.sum(axis=-1)
        if np.any(both > 1 + 1e-9):
            raise InputError(
                f"pair_targets: sum {both.max():.6g} on an example; u and v share at most the mass 1"
            )
        if np.any((self.smoothing < 0) | (self.smoothing > 1)):
            raise InputError(f"smoothing: got {self.smoothing[0]}, expected a number from 0 to 1")
        check_positive("temperature", self.temperature, "give 1 to leave the logits as they are")
        check_positive("scale", self.scale, "give 1 to leave the loss as it is")
        check_positive("clip", self.clip, "give a large one to clip nothing")

    @property
    def _head(self) -> tuple[Ops, Array, Array, np.ndarray, Array]:
        return self.ops, self.weights, self.features, self.labels, self.example_weights

    @cached_property
    def gradient(self) -> Array:
        """Gradient of the plain loss [..., K, n], without decay."""
        return softmax.gradient(*self._head)

    @property
    def smoothed(self) -> Array:
        """Gradient with smoothed labels [..., K, n]."""
        return losses.smoothed_gradient(*self._head, self.smoothing)

    @property
    def tempered(self) -> Array:
        """Gradient [..., K, n] of the loss on the logits divided by tau, times ``scale``."""
        gradient = losses.tempered_gradient(*self._head, self.temperature)
        return gradient * self.scale[..., None, None]

    @property
    def masked(self) -> Array:
        """Gradient with the pair's logits left out where the mask is 0 [..., K, n]."""
        return losses.masked_gradient(*self._head, self.mask)

    @property
    def clipped_by_norm(self) -> tuple[Array, Array]:
        """Gradient clipped by its global norm [..., K, n], and the factor s."""
        return losses.clip_norm(self.ops, self.gradient, self.clip)

    @property
    def twin_gradient(self) -> Array:
        """``g_u - g_v`` [..., n] for the targets ``pair_targets``."""
        excess = self.pair_targets[..., 0] - self.pair_targets[..., 1]
        residual = self.means * self.logit_differences - excess
        return self.ops.sum((self.example_weights * residual)[..., None] * self.features, axis=-2)

    @cached_property
    def cooled(self) -> Step:
        """The step on features divided by tau, whose probabilities are those of the logits divided by tau."""
        return Step.with_difference(
            self.difference,
            ops=self.ops,
            weights=self.weights,
            features=self.features / self.temperature[..., None, None],
            **{
                name: getattr(self, name)
                for name in STEP_AXES
                if name not in ("weights", "features")
            },
        )

    def pair_after(self, gradient: Array) -> Array:
        """``w_u - w_v`` after a step with the given gradient [..., K, n] and the decay [..., n]."""
        pushed = gradient[..., 0, :] - gradient[..., 1, :]
        return self.decay[..., None] * self.difference - self.step_size[..., None] * pushed


class LossDomain(Domain):
    """Steps as in the domain ``step`` with settings of every trick."""

    name = "loss_step"
    batch_type = LossStep
    fixed = frozenset({"labels", "example_weights", "mask", "pair_targets"})

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        free = sampling.draw(rng, shape, size, (size,))
        mass = rng.integers(0, 129, (size, shape.examples, 1)) / 256.0
        mass[some(rng, size, 0.3)] = 0.0
        targets = np.repeat(mass, 2, axis=-1)
        uneven = some(rng, size, 0.1)
        targets[uneven] = rng.integers(0, 129, (len(uneven), shape.examples, 2)) / 256.0
        smoothing = rng.uniform(0, 1, size)
        smoothing[some(rng, size, 0.1)] = 0.0
        temperature = magnitude(rng, size, -2, 2)
        plain = some(rng, size, 0.1)
        temperature[plain] = 1.0
        scale = magnitude(rng, size, -2, 2)
        squared = some(rng, size, 0.3)
        scale[squared] = temperature[squared] ** 2
        free |= {
            "pair_targets": targets,
            "mask": rng.integers(0, 2, (size, shape.examples)),
            "smoothing": smoothing,
            "temperature": temperature,
            "scale": scale,
            "clip_relative": magnitude(rng, size, -2, 1),
        }
        free["mask"][some(rng, size, 0.1)] = 0
        return free

    def build(self, free: Free) -> Any:
        names = ("pair_targets", "mask", "smoothing", "temperature", "scale")
        more = {name: free[name] for name in names}
        more["smoothing"] = np.minimum(more["smoothing"], 1.0)  # a search may have moved it beyond
        zero = np.zeros(len(free["weights"]))
        step = sampling.build_step(free, LossStep, clip=zero, **more)
        largest = np.abs(step.gradient).max(axis=(-1, -2))
        largest = np.where(np.isfinite(largest) & (largest > 0), largest, 1.0)
        return sampling.changed(step, clip=largest * free["clip_relative"])


@dataclass(frozen=True, eq=False)
class ZLossStep(Step):
    """A batch of steps on cross-entropy plus ``zeta (log Z)^2``; the means ``L_i`` carry the factor
    ``1 + 2 zeta log Z_i``."""

    AXES: ClassVar[dict[str, tuple[str, ...]]] = STEP_AXES | {"zeta": ()}
    SYMBOLS: ClassVar[dict[str, str]] = STEP_SYMBOLS | {"zeta": "zeta"}
    domain: ClassVar[str] = "z_loss_step"

    zeta: Array

    @cached_property
    def factor(self) -> Array:
        """``1 + 2 zeta log Z_i`` [..., N]."""
        log_z = losses.log_normalisers(self.ops, self.weights, self.features)
        return 1 + 2 * self.zeta[..., None] * log_z

    @cached_property
    def _pair(self) -> tuple[Array, Array]:
        d, means = softmax.pair_means(self.ops, self.weights, self.features, self.difference)
        return d, means * self.factor

    @cached_property
    def next_weights(self) -> Array:
        """All rows after the step [..., K, n]."""
        gradient = losses.z_loss_gradient(
            self.ops, self.weights, self.features, self.labels, self.example_weights, self.zeta
        )
        return self._after(gradient)


class ZLossDomain(Domain):
    """Steps as in the domain ``step``; zeta of the size that makes the factor's second part tiny to large."""

    name = "z_loss_step"
    batch_type = ZLossStep

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        free = sampling.draw(rng, shape, size, (size,))
        free["zeta_relative"] = magnitude(rng, size, -5, 1) * rng.choice([1.0, 1.0, -1.0], size)
        return free

    def build(self, free: Free) -> Any:
        z = free["weights"] @ free["features"].swapaxes(-1, -2)
        zeta = free["zeta_relative"] / (1 + np.abs(z).max(axis=(-1, -2)))
        return sampling.build_step(free, ZLossStep, zeta=zeta)


@dataclass(frozen=True, eq=False)
class CappedStep(Step):
    """A batch of steps on soft-capped logits ``cap tanh(<w_k, x_i>/cap)``.

    Probabilities, and the gradient, are those of the capped logits. ``trace`` is a bound that serves for ``tr M`` where
    the gradient is monotone: ``(1 + 1/(2 cap^2)) sum_i a_i (p_u + p_v)/2 |x_i|^2``.
    """

    AXES: ClassVar[dict[str, tuple[str, ...]]] = STEP_AXES | {"cap": ()}
    SYMBOLS: ClassVar[dict[str, str]] = STEP_SYMBOLS | {"cap": "cap"}
    domain: ClassVar[str] = "capped_step"

    cap: Array

    def check(self) -> None:
        super().check()
        check_positive("cap", self.cap, "give a large one to cap nothing")

    @cached_property
    def capped(self) -> tuple[Array, Array]:
        """Capped logits and the cap's slope there, both [..., N, K]."""
        return losses.soft_cap(self.ops, softmax.logits(self.weights, self.features), self.cap)

    @cached_property
    def pair_probabilities(self) -> Array:
        """``p_u, p_v`` of the capped logits [..., N, 2]."""
        z, _ = self.capped
        return self.ops.exp(z[..., :2] - self.ops.logsumexp(z, axis=-1)[..., None])

    @cached_property
    def trace(self) -> Array:
        p, steepness = self.pair_probabilities, 1 + 1 / (2 * self.cap * self.cap)
        square = self.ops.sum(self.features * self.features)
        both = self.ops.sum(self.example_weights * (p[..., 0] + p[..., 1]) / 2 * square)
        return steepness * both

    @cached_property
    def pair_gradient(self) -> Array:
        residual = (self.pair_probabilities - softmax.one_hot(self.labels, 2)) * self.capped[1][
            ..., :2
        ]
        weighted = self.example_weights * (residual[..., 0] - residual[..., 1])
        return self.ops.sum(weighted[..., None] * self.features, axis=-2)

    @cached_property
    def next_weights(self) -> Array:
        """All rows after the step [..., K, n]."""
        gradient = losses.soft_capped_gradient(
            self.ops, self.weights, self.features, self.labels, self.example_weights, self.cap
        )
        return self._after(gradient)


class CappedDomain(Domain):
    """Steps as in the domain ``step``; the cap lies between a hundredth and a hundred times the largest logit."""

    name = "capped_step"
    batch_type = CappedStep

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        free = sampling.draw(rng, shape, size, (size,))
        free["cap_relative"] = magnitude(rng, size, -1, 2)
        plain = some(rng, size, 0.3)  # caps of everyday size, whatever the logits
        free["cap_relative"][plain] = 0.0
        free["cap_absolute"] = magnitude(rng, size, -1, 2)
        return free

    def build(self, free: Free) -> Any:
        z = free["weights"] @ free["features"].swapaxes(-1, -2)
        relative = free["cap_relative"] * np.abs(z).max(axis=(-1, -2))
        cap = np.where(relative > 0, relative, free["cap_absolute"])
        return sampling.build_step(free, CappedStep, cap=cap)


@dataclass(frozen=True, eq=False)
class BiasedStep(Step):
    """A batch of steps of a head with biases [K]: logits ``<w_k, x_i> + b_k``.

    ``augmented`` is the same head without biases: one more coordinate, which is 1 in every feature.
    """

    AXES: ClassVar[dict[str, tuple[str, ...]]] = STEP_AXES | {"biases": ("K",)}
    SYMBOLS: ClassVar[dict[str, str]] = STEP_SYMBOLS | {"biases": "b"}
    domain: ClassVar[str] = "biased_step"

    biases: Array

    @cached_property
    def augmented(self) -> Step:
        """The step with the bias as a last coordinate: weights [..., K, n + 1], features [..., N, n + 1]."""
        same = {name: getattr(self, name) for name in STEP_AXES}
        one = self.ops.asarray(1.0)
        rows = [self.weights[..., j] for j in range(self.weights.shape[-1])]
        columns = [self.features[..., j] for j in range(self.features.shape[-1])]
        same["weights"] = self.ops.stack([*rows, self.biases])
        same["features"] = self.ops.stack([*columns, one])
        gap = [self.difference[..., j] for j in range(self.difference.shape[-1])]
        difference = self.ops.stack([*gap, self.biases[..., 0] - self.biases[..., 1]])
        return Step.with_difference(difference, ops=self.ops, **same)

    @cached_property
    def _pair(self) -> tuple[Array, Array]:
        # With the biases in the logits; so the pair's gradient and the next difference are those of the rows w_u, w_v.
        return self.augmented.logit_differences, self.augmented.means

    @cached_property
    def trace(self) -> Array:
        """``tr M`` with the bias's coordinate."""
        return self.augmented.trace

    @property
    def cross_entropy(self) -> Array:
        return self.augmented.cross_entropy

    @cached_property
    def next_weights(self) -> Array:
        """All rows after the step, without the biases [..., K, n]."""
        return self.augmented.next_weights[..., :-1]

    @property
    def nontrivial(self) -> np.ndarray:
        return self.augmented.nontrivial


class BiasedDomain(Domain):
    """Steps as in the domain ``step``; biases from a thousandth to ten, those of u and v often close."""

    name = "biased_step"
    batch_type = BiasedStep
    arrays = frozenset({"weights", "features", "biases"})

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        free = sampling.draw(rng, shape, size, (size,))
        biases = magnitude(rng, (size, 1), -3, 1) * rng.standard_normal((size, shape.labels))
        close = some(rng, size, 0.4)
        biases[close, 0] = biases[close, 1] * (1 + magnitude(rng, len(close), -6, 0))
        free["biases"] = biases
        return free

    def build(self, free: Free) -> Any:
        return sampling.build_step(free, BiasedStep, biases=free["biases"])
