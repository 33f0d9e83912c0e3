"""One-step update rules as pure functions, with the semantics of ``torch.optim``.

A rule uses ``+ - *`` alone, so it runs on floats, torch tensors, balls and symbols, on whole matrices or on a difference
of rows (every rule here is linear in weights and gradient together).
"""

from __future__ import annotations

from .arithmetic import Array


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
