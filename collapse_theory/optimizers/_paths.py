"""The operations of the paths ``loop`` and ``foreach``, each on a list of tensors and out of place.

In float64 and float32 ATen rounds every number of a tensor alike, so parameters stacked into one tensor are taken at
once. In half types its vectors and the few elements left at the end of a tensor are rounded differently (``add`` rounds
``alpha`` to the type in one and every product in the other), and ``_foreach_mul_`` differs from ``mul_``: each parameter is
a tensor of its own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["PARAMETER_AXES", "Foreach", "Loop", "path_operations"]

PARAMETER_AXES = 2
"""Trailing axes of one parameter: axes before them stack parameters."""

Tensors = list["Tensor"]


class Loop:
    """One call of ATen for each tensor. Factors are numbers, or tensors where the type is float64 or float32."""

    def __init__(self, weights: Tensor) -> None:
        self.shape = weights.shape
        self.stacked = weights.element_size() >= 4

    def split(self, tensor: Tensor) -> Tensors:
        """The tensors to be taken one by one."""
        if self.stacked or len(self.shape) <= PARAMETER_AXES:
            return [tensor.contiguous()]
        return list(tensor.reshape(-1, *self.shape[-PARAMETER_AXES:]).unbind())

    def join(self, tensors: Tensors) -> Tensor:
        """The reverse of `split`."""
        import torch

        return tensors[0] if len(tensors) == 1 else torch.stack(tensors).reshape(self.shape)

    def add(self, x: Tensors, y: Tensors, factor: Any) -> Tensors:
        """``x + factor y``, rounded once where the processor can."""
        if hasattr(factor, "layout"):
            return [a.addcmul(factor.to(a.dtype), b) for a, b in zip(x, y, strict=True)]
        return [a.add(b, alpha=factor) for a, b in zip(x, y, strict=True)]

    def scale(self, x: Tensors, factor: Any) -> Tensors:
        return [a * (factor.to(a.dtype) if hasattr(factor, "layout") else factor) for a in x]

    def lerp(self, x: Tensors, y: Tensors, weight: float) -> Tensors:
        return [a.lerp(b, weight) for a, b in zip(x, y, strict=True)]

    def add_squares(self, x: Tensors, y: Tensors, factor: float) -> Tensors:
        """``x + factor y y``."""
        return [a.addcmul(b, b, value=factor) for a, b in zip(x, y, strict=True)]

    def maximum(self, x: Tensors, y: Tensors) -> Tensors:
        return [a.maximum(b) for a, b in zip(x, y, strict=True)]

    def divisor(self, x: Tensors, correction: float, epsilon: float) -> Tensors:
        """``sqrt(x)/correction + epsilon``; ATen's root is its vector library's, not always the nearest number."""
        return [a.sqrt().div(correction).add(epsilon) for a in x]

    def add_quotients(self, x: Tensors, y: Tensors, z: Tensors, factor: Any) -> Tensors:
        """``x + (factor y)/z``."""
        three = zip(x, y, z, strict=True)
        if hasattr(factor, "layout"):
            return [a + factor.to(a.dtype) * b / c for a, b, c in three]
        return [a.addcdiv(b, c, value=factor) for a, b, c in three]


class Foreach(Loop):
    """One call of ATen for the whole list, in place where torch does it in place. Factors are numbers."""

    def __init__(self, weights: Tensor) -> None:
        super().__init__(weights)
        self.stacked = False

    def add(self, x: Tensors, y: Tensors, factor: Any) -> Tensors:
        return list(_foreach("add", x, y, alpha=factor))

    def scale(self, x: Tensors, factor: Any) -> Tensors:
        result = [a.clone() for a in x]
        _foreach("mul_", result, factor)
        return result

    def lerp(self, x: Tensors, y: Tensors, weight: float) -> Tensors:
        return list(_foreach("lerp", x, y, weight))

    def add_squares(self, x: Tensors, y: Tensors, factor: float) -> Tensors:
        return list(_foreach("addcmul", x, y, y, factor))

    def maximum(self, x: Tensors, y: Tensors) -> Tensors:
        return list(_foreach("maximum", x, y))

    def divisor(self, x: Tensors, correction: float, epsilon: float) -> Tensors:
        result = list(_foreach("sqrt", x))
        _foreach("div_", result, [correction] * len(x))
        _foreach("add_", result, epsilon)
        return result

    def add_quotients(self, x: Tensors, y: Tensors, z: Tensors, factor: Any) -> Tensors:
        return list(_foreach("addcdiv", x, y, z, [factor] * len(x)))


def _foreach(name: str, *arguments: Any, **options: Any) -> Any:
    """``torch._foreach_NAME``, which torch does not export though its optimisers rest on it."""
    import torch

    return getattr(torch, f"_foreach_{name}")(*arguments, **options)


def path_operations(path: str, weights: Tensor) -> Loop:
    """The operations of ``path`` for parameters of that type and shape."""
    return Foreach(weights) if path == "foreach" and math.prod(weights.shape) else Loop(weights)
