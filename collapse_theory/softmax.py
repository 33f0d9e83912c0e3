"""Softmax heads: probabilities, gradients, the logarithmic mean and the operator ``M``.

Shapes: ``weights`` [..., K, n], ``features`` [..., N, n], ``labels`` [..., N] (integers), ``example_weights`` [..., N];
``...`` are batch axes. Every function takes the arithmetic ``ops`` first and runs on floats, balls and symbols.

The loss is ``sum_i a_i (-log p_{y_i}(x_i))``; weight decay belongs to the optimiser (:mod:`collapse_theory.optimizers`).
"""

from __future__ import annotations

import numpy as np

from .arithmetic import Array, Ops
from .checks import labels_below


def logits(weights: Array, features: Array) -> Array:
    """``<w_k, x_i>``, shape [..., N, K]."""
    return features @ weights.swapaxes(-1, -2)


def log_probabilities(ops: Ops, weights: Array, features: Array) -> Array:
    """``log p_k(x_i)``, shape [..., N, K]; accurate for probabilities far below the smallest float."""
    z = logits(weights, features)
    return z - ops.logsumexp(z, axis=-1)[..., None]


def probabilities(ops: Ops, weights: Array, features: Array) -> Array:
    """``p_k(x_i) = exp<w_k, x_i> / sum_j exp<w_j, x_i>``, shape [..., N, K]."""
    return ops.exp(log_probabilities(ops, weights, features))


def one_hot(labels: np.ndarray, count: int) -> np.ndarray:
    """0/1 integers (exact in every arithmetic), shape [..., N, count]."""
    return (labels[..., None] == np.arange(count)).astype(np.int8)


def targets(labels: np.ndarray, count: int) -> np.ndarray:
    """:func:`one_hot` of labels; raises :class:`~collapse_theory.errors.InputError` on one that is out of range."""
    labels_below(count, labels)
    return one_hot(labels, count)


def loss(
    ops: Ops, weights: Array, features: Array, labels: np.ndarray, example_weights: Array
) -> Array:
    """``sum_i a_i (-log p_{y_i}(x_i))``, shape [...]; without the decay term. Labels out of range raise
    :class:`~collapse_theory.errors.InputError`, here and in :func:`gradient`."""
    log_p = log_probabilities(ops, weights, features)
    hot = targets(labels, weights.shape[-2])
    return -ops.sum(example_weights * ops.sum(log_p * hot, axis=-1), axis=-1)


def gradient(
    ops: Ops, weights: Array, features: Array, labels: np.ndarray, example_weights: Array
) -> Array:
    """Gradient of :func:`loss` by the weights, shape [..., K, n]: row k is ``sum_i a_i (p_k - [y_i = k]) x_i``."""
    p = probabilities(ops, weights, features)
    residual = (p - targets(labels, weights.shape[-2])) * example_weights[..., None]
    return residual.swapaxes(-1, -2) @ features


def logarithmic_mean(ops: Ops, log_a: Array, log_b: Array) -> Array:
    """``L(a, b) = (a - b)/(ln a - ln b)``, ``L(a, a) = a``, from the logarithms (claim ``logmean_identity``).

    Accurate to a few units in the last place for a near b and for a, b = 1e-300.
    """
    return ops.logarithmic_mean(log_a, log_b, log_a - log_b)


def pair_means(ops: Ops, weights: Array, features: Array, difference: Array) -> tuple[Array, Array]:
    """For the pair of labels (0, 1): ``d_i = <D, x_i>`` and ``L_i = L(p_0(x_i), p_1(x_i))``, both [..., N].

    ``difference`` is ``D = w_0 - w_1`` [..., n]; given apart since a run carries it more accurately than the rows.
    """
    d = ops.sum(features * difference[..., None, :], axis=-1)
    log_p = log_probabilities(ops, weights, features)
    return d, ops.logarithmic_mean(log_p[..., 0], log_p[..., 1], d)


def pair_gradient(
    ops: Ops,
    features: Array,
    labels: np.ndarray,
    example_weights: Array,
    means: Array,
    d: Array,
) -> Array:
    """Difference of rows 0 and 1 of :func:`gradient`, shape [..., n], without cancellation.

    ``p_0 - p_1 = L d`` exactly (claim ``logmean_identity``); subtracting the probabilities would lose every digit once
    the rows are close. For labels that are never targets this is ``M D``.
    """
    hot = one_hot(labels, 2)
    residual = means * d - (hot[..., 0] - hot[..., 1])
    return ops.sum((example_weights * residual)[..., None] * features, axis=-2)


def operator(ops: Ops, features: Array, example_weights: Array, means: Array) -> Array:
    """``M = sum_i a_i L_i x_i x_i^T``, shape [..., n, n]; symmetric, positive semidefinite."""
    scaled = (example_weights * means)[..., None] * features
    return scaled.swapaxes(-1, -2) @ features


def operator_trace(ops: Ops, features: Array, example_weights: Array, means: Array) -> Array:
    """``tr M = sum_i a_i L_i |x_i|^2``, shape [...]; bounds the largest eigenvalue of ``M``."""
    return ops.sum(example_weights * means * ops.sum(features * features, axis=-1), axis=-1)
