"""The path ``fused=True`` of ``torch.optim`` on the CPU, operation by operation.

One pass over memory in C++ (ATen's FusedSGDKernel and FusedAdamKernel), compiled with contraction: where the processor has
fused multiply-adds, ``a b + c`` rounds once. Whole vectors of a parameter and the few elements left at its end are two
pieces of code, in which the compiler fuses different products. Half types are computed in float32 and rounded when stored.

A multiply-add here is ``torch.addcmul``, which is fused in exactly those builds and on those processors in which ATen's
kernels are: so what is said holds with AVX2 and AVX512, and without either, where every product is rounded.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ._paths import PARAMETER_AXES

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["fused_adam", "fused_sgd"]

VECTOR_BYTES = 32
"""One vector of ATen's fused kernels, also where it calls its capability AVX512: they have no code for more."""


def fused_sgd(
    weights: Tensor,
    gradient: Tensor,
    buffer: Tensor | None,
    *,
    step_size: float,
    weight_decay: float,
    momentum: float,
    dampening: float,
    nesterov: bool,
) -> tuple[Tensor, Tensor | None]:
    """New weights and buffer, float64 or float32."""

    def part(tail: bool, w: Tensor, g: Tensor, b: Tensor | None) -> list[Tensor | None]:
        if weight_decay != 0:
            g = g.addcmul(w, _number(w, weight_decay))
        if momentum != 0:
            keep, take = _number(w, momentum), _number(w, 1 - dampening)
            if b is None:
                b = g
            elif tail:
                b = (g * take).addcmul(b, keep)
            else:
                b = (b * keep).addcmul(g, take)
            g = g.addcmul(b, keep) if nesterov else b
        else:
            b = None
        return [w.addcmul(g, _number(w, -step_size)), b]

    after, kept = _in_parts(part, weights, gradient, buffer)
    assert after is not None
    return after, kept


def fused_adam(
    weights: Tensor,
    gradient: Tensor,
    first: Tensor,
    second: Tensor,
    most: Tensor | None,
    *,
    step_size: float,
    weight_decay: float,
    betas: tuple[float, float],
    epsilon: float,
    count: int,
    decoupled: bool,
) -> list[Any]:
    """New weights, first and second moments, and the largest second moment (or None)."""
    import torch

    beta1, beta2 = betas
    length = -(step_size / (1 - beta1**count))
    root2 = math.sqrt(1 - beta2**count)
    # 1 - eta lam is a multiply-add too, of doubles whatever the type of the weights.
    eta, lam = (torch.tensor(x, dtype=torch.float64) for x in (step_size, weight_decay))
    kept = float(torch.ones_like(eta).addcmul(-eta, lam))

    def part(
        tail: bool, w: Tensor, g: Tensor, m: Tensor, v: Tensor, x: Tensor | None
    ) -> list[Tensor | None]:
        if weight_decay != 0:
            if decoupled:
                w = w * _number(w, kept)
            else:
                g = g.addcmul(w, _number(w, weight_decay))
        mix, gap = _number(w, 1 - beta1), g - m
        m = m.addcmul(gap, mix) if abs(float(mix)) < 0.5 else g.addcmul(gap, mix - 1)
        keep, take = _number(w, beta2), _number(w, 1 - beta2)
        v = (take * g * g).addcmul(v, keep) if tail else (v * keep).addcmul(take * g, g)
        x = None if x is None else x.maximum(v)
        divisor = _root(v if x is None else x) / _number(w, root2) + _number(w, epsilon)
        return [w + _number(w, length) * m / divisor, m, v, x]

    return _in_parts(part, weights, gradient, first, second, most)


def _in_parts(part: Any, weights: Tensor, *others: Tensor | None) -> list[Tensor | None]:
    """Apply ``part(tail, weights, *others)`` to whole vectors and to what is left, and put the results together."""
    import torch

    shape, dtype = weights.shape, weights.dtype
    start = max(0, weights.ndim - PARAMETER_AXES)
    size = math.prod(shape[start:])
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    flat = [t if t is None else t.reshape(*shape[:start], size) for t in (weights, *others)]
    whole = size - size % (VECTOR_BYTES // weights.element_size())
    pieces = []
    for tail, place in ((False, slice(0, whole)), (True, slice(whole, size))):
        if place.start < place.stop:
            taken = [t if t is None else t[..., place].to(wide) for t in flat]
            pieces.append(part(tail, *taken))
    if not pieces:
        pieces.append(part(False, *[t if t is None else t.to(wide) for t in flat]))
    results = []
    for columns in zip(*pieces, strict=True):
        missing = columns[0] is None
        results.append(None if missing else torch.cat(columns, -1).to(dtype).reshape(shape))
    return results


def _number(like: Tensor, value: float) -> Tensor:
    return like.new_tensor(value)


def _root(tensor: Tensor) -> Tensor:
    """The square root rounded to nearest: the kernel's is the processor's, ATen's ``sqrt`` is not always."""
    import torch

    return torch.from_numpy(np.sqrt(tensor.contiguous().numpy()))
