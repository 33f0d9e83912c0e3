"""Gradients of variants of the softmax loss, and clipping: label smoothing, temperature, z-loss, soft-capping, masks.

Shapes as in :mod:`collapse_theory.softmax`: ``weights`` [..., K, n], ``features`` [..., N, n], ``labels`` [..., N],
``example_weights`` [..., N]; scalars have the batch's axes. Every function takes the arithmetic ``ops`` first and runs on
floats, balls and symbols. Gradients are [..., K, n], without weight decay; ``logit_gradient`` [..., N, K] is the derivative
of an example's loss by the numbers <w_k, x_i>.
"""

from __future__ import annotations

import numpy as np

from .arithmetic import Array, Ops
from .softmax import logits, probabilities, targets


def rows_gradient(logit_gradient: Array, features: Array, example_weights: Array) -> Array:
    """``sum_i a_i logit_gradient[i, k] x_i`` [..., K, n]."""
    return (logit_gradient * example_weights[..., None]).swapaxes(-1, -2) @ features


def smoothed_targets(ops: Ops, labels: np.ndarray, count: int, smoothing: Array) -> Array:
    """``(1 - s) [y_i = k] + s/K`` [..., N, K], the targets of ``cross_entropy(label_smoothing=s)``."""
    share = smoothing[..., None, None]
    return targets(labels, count) * (1 - share) + share / ops.asarray(float(count))


def smoothed_gradient(
    ops: Ops,
    weights: Array,
    features: Array,
    labels: np.ndarray,
    example_weights: Array,
    smoothing: Array,
) -> Array:
    """Gradient of cross-entropy with smoothed targets (claim ``label_smoothing``)."""
    targets = smoothed_targets(ops, labels, weights.shape[-2], smoothing)
    residual = probabilities(ops, weights, features) - targets
    return rows_gradient(residual, features, example_weights)


def tempered_gradient(
    ops: Ops,
    weights: Array,
    features: Array,
    labels: np.ndarray,
    example_weights: Array,
    temperature: Array,
) -> Array:
    """Gradient of cross-entropy on the logits divided by ``temperature`` tau (claim ``temperature``)."""
    cooled = features / temperature[..., None, None]
    residual = probabilities(ops, weights, cooled) - targets(labels, weights.shape[-2])
    return rows_gradient(residual, cooled, example_weights)


def log_normalisers(ops: Ops, weights: Array, features: Array) -> Array:
    """``log Z_i = log sum_k exp<w_k, x_i>`` [..., N]."""
    return ops.logsumexp(logits(weights, features), axis=-1)


def z_loss_gradient(
    ops: Ops,
    weights: Array,
    features: Array,
    labels: np.ndarray,
    example_weights: Array,
    zeta: Array,
) -> Array:
    """Gradient of cross-entropy plus ``zeta (log Z_i)^2`` on each example (claim ``z_loss``)."""
    factor = 1 + 2 * zeta[..., None] * log_normalisers(ops, weights, features)
    residual = probabilities(ops, weights, features) * factor[..., None]
    residual = residual - targets(labels, weights.shape[-2])
    return rows_gradient(residual, features, example_weights)


def masked_gradient(
    ops: Ops,
    weights: Array,
    features: Array,
    labels: np.ndarray,
    example_weights: Array,
    mask: np.ndarray,
) -> Array:
    """Gradient of cross-entropy with the logits of labels 0 and 1 left out where ``mask`` [..., N] is 0, as if they were
    minus infinity (claim ``masked_logits``)."""
    p = probabilities(ops, weights, features)
    # Not p restricted and divided by its sum: that is 0/0 where the pair has all of the probability.
    rest = probabilities(ops, weights[..., 2:, :], features)
    nothing = 0 * rest[..., 0]
    others = ops.stack([nothing, nothing, *[rest[..., k] for k in range(rest.shape[-1])]])
    part = mask[..., None]
    residual = p * part + others * (1 - part) - targets(labels, weights.shape[-2])
    return rows_gradient(residual, features, example_weights)


def soft_cap(ops: Ops, z: Array, cap: Array) -> tuple[Array, Array]:
    """``phi(z) = cap tanh(z/cap)`` and its derivative ``1/cosh(z/cap)^2``, for logits z [..., N, K] and cap [...]."""
    scaled = z / cap[..., None, None]
    # 1 - tanh^2 would cancel where the cap is nearly reached.
    e = ops.exp(-2 * ops.abs(scaled))
    return cap[..., None, None] * ops.tanh(scaled), 4 * e / ((1 + e) * (1 + e))


def soft_capped_gradient(
    ops: Ops,
    weights: Array,
    features: Array,
    labels: np.ndarray,
    example_weights: Array,
    cap: Array,
) -> Array:
    """Gradient of cross-entropy on soft-capped logits (claim ``soft_capping``)."""
    z, slope = soft_cap(ops, logits(weights, features), cap)
    p = ops.exp(z - ops.logsumexp(z, axis=-1)[..., None])
    residual = (p - targets(labels, weights.shape[-2])) * slope
    return rows_gradient(residual, features, example_weights)


def clip_norm(ops: Ops, gradient: Array, limit: Array) -> tuple[Array, Array]:
    """The gradient [..., K, n] times ``s = limit/max(limit, |gradient|)``, and s: clipping by the global norm."""
    total = ops.norm(ops.norm(gradient))
    share = limit / ops.maximum(limit, total)
    return gradient * share[..., None, None], share


def clip_rows(ops: Ops, gradient: Array, limit: Array) -> Array:
    """Every row of the gradient [..., K, n] scaled down to the norm ``limit`` where it is longer."""
    longest = limit[..., None]
    return gradient * (longest / ops.maximum(longest, ops.norm(gradient)))[..., None]


def clip_values(ops: Ops, gradient: Array, limit: Array) -> Array:
    """Every entry of the gradient [..., K, n] cut to [-limit, limit]."""
    edge = limit[..., None, None]
    return -ops.maximum(-ops.maximum(gradient, -edge), -edge)
