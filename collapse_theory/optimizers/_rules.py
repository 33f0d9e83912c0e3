"""The rules in exact form, the same in every arithmetic."""

from __future__ import annotations

from typing import Any

from ..arithmetic import Array


def gradient_descent(
    weights: Array,
    gradient: Array,
    *,
    step_size: Array,
    weight_decay: Array,
    decoupled: bool = False,
) -> Array:
    """One step of gradient descent or SGD on ``loss + (lam/2)|W|^2``.

    ``weights`` and ``gradient`` (of the loss alone) have one shape; ``step_size`` eta and ``weight_decay`` lam
    broadcast against it.

    Coupled (``torch.optim.SGD(weight_decay=lam)``): ``w - eta (g + lam w)``.
    Decoupled (the decay of ``torch.optim.AdamW``): ``(1 - eta lam) w - eta g``.
    Without momentum both are the same map in exact arithmetic and differ only in rounding.
    """
    if decoupled:
        return weights * (1 - step_size * weight_decay) - step_size * gradient
    return weights - step_size * (gradient + weight_decay * weights)


def heavy_ball(
    weights: Array,
    gradient: Array,
    buffer: Array,
    *,
    step_size: Array,
    weight_decay: Array,
    momentum: Array,
    nesterov: bool = False,
    decoupled: bool = False,
) -> tuple[Array, Array]:
    """One step of SGD with momentum beta, without dampening: new weights and new buffer.

    The rule is linear in weights, gradient and buffer together; a zero ``buffer`` is how torch begins.

    Coupled (``torch.optim.SGD``): ``h = g + lam w``, ``b+ = beta b + h``, ``w+ = w - eta b+``, and with ``nesterov``
    ``w+ = w - eta (h + beta b+)``.
    Decoupled (SGDW, Loshchilov and Hutter 2019): ``b+ = beta b + g``, ``w+ = (1 - eta lam) w - eta b+``.
    """
    slope = gradient if decoupled else gradient + weight_decay * weights
    kept = weights * (1 - step_size * weight_decay) if decoupled else weights
    after = momentum * buffer + slope
    push = slope + momentum * after if nesterov else after
    return kept - step_size * push, after


def adam_update(
    ops: Any, first: Array, second: Array, *, beta1: Array, beta2: Array, epsilon: Array, count: Any
) -> Array:
    """``m_hat/(sqrt(v_hat) + eps)`` after ``count`` >= 1 steps, with ``m_hat = m/(1 - beta1^count)`` and
    ``v_hat = v/(1 - beta2^count)``. ``ops`` (or any module) provides ``sqrt``."""
    mean = first / (1 - beta1**count)
    return mean / (ops.sqrt(second / (1 - beta2**count)) + epsilon)


def adam(
    ops: Any,
    weights: Array,
    gradient: Array,
    first: Array,
    second: Array,
    *,
    step_size: Array,
    weight_decay: Array,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
    count: Any,
    decoupled: bool = True,
) -> tuple[Array, Array, Array]:
    """One step of AdamW, or of Adam where ``decoupled`` is False: new weights, first and second moments.

    ``count`` is the number of this step, from 1. AdamW: ``w+ = (1 - eta lam) w - eta m_hat/(sqrt(v_hat) + eps)``; Adam
    takes ``lam w`` into the gradient. Both moments start at 0.
    """
    slope = gradient if decoupled else gradient + weight_decay * weights
    kept = weights * (1 - step_size * weight_decay) if decoupled else weights
    first = beta1 * first + (1 - beta1) * slope
    second = beta2 * second + (1 - beta2) * (slope * slope)
    update = adam_update(ops, first, second, beta1=beta1, beta2=beta2, epsilon=epsilon, count=count)
    return kept - step_size * update, first, second
