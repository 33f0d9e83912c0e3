"""What torch's optimisers accept and the rules here refuse, in one line each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["OPTIMIZERS", "PATHS", "check_adam", "check_sgd", "check_tensors", "refuse_options"]

OPTIMIZERS = ("sgd", "adam", "adamw", "signsgd")
PATHS = ("loop", "foreach", "fused")
"""Code paths of torch.optim: ``foreach=False, fused=False``; ``foreach=True``; ``fused=True``."""

_WIDE = ("torch.float64", "torch.float32")
_TYPES = (*_WIDE, "torch.bfloat16", "torch.float16")
_FLAGS = ("maximize", "capturable", "differentiable")


def refuse_options(options: dict[str, Any]) -> None:
    """Refuse what no rule here has: flags of torch that are set, and unknown names."""
    for name, value in options.items():
        if name not in _FLAGS:
            raise InputError(f"option {name!r} is unknown: leave it out")
        if value is not False:
            raise InputError(f"{name} is {value!r:.60}, but only False is supported: leave it out")


def check_tensors(weights: Any, gradient: Any, path: str) -> None:
    """Real, dense CPU tensors of one shape and of a type that the path knows."""
    if path not in PATHS:
        raise InputError(f"path is {path!r:.60}: give one of {', '.join(PATHS)}")
    for name, value in (("weights", weights), ("gradient", gradient)):
        if not hasattr(value, "layout"):
            raise InputError(f"{name} are {type(value).__name__}: give a torch tensor")
        if str(value.layout) != "torch.strided":
            raise InputError(f"{name} are sparse ({value.layout}): give .to_dense()")
        if str(value.dtype) not in _TYPES:
            raise InputError(f"{name} are {value.dtype}: give one of {', '.join(_TYPES)}")
        if value.device.type != "cpu":
            raise InputError(f"{name} are on {value.device}, where roundings differ: give .cpu()")
    if weights.shape != gradient.shape or weights.dtype != gradient.dtype:
        raise InputError(
            f"gradient is {gradient.dtype} {list(gradient.shape)}, weights {weights.dtype} "
            f"{list(weights.shape)}: give one type and shape"
        )


def check_sgd(options: dict[str, Any], *, nesterov: bool, dtype: Any, path: str) -> None:
    """Ranges of SGD's numbers, as torch has them."""
    _check_numbers(options, dtype=dtype, path=path)
    if nesterov and (options["momentum"] == 0 or options["dampening"] != 0):
        raise InputError(
            f"nesterov with momentum {options['momentum']} and dampening {options['dampening']}: "
            "give a momentum above 0 and no dampening"
        )
    if path == "fused" and str(dtype) not in _WIDE:
        # github.com/pytorch/pytorch/issues/191763: whole vectors of weights are left as they are.
        raise InputError(
            f"path 'fused' of SGD in {dtype}: torch up to 2.13 skips most weights there "
            "(pytorch issue 191763); take 'loop' or 'foreach'"
        )


def check_adam(
    options: dict[str, Any], betas: tuple[float, float], *, dtype: Any, path: str
) -> None:
    """Ranges of Adam's numbers, as torch has them."""
    _check_numbers(options, dtype=dtype, path=path)
    if len(betas) != 2 or not all(
        isinstance(b, float | int) and not isinstance(b, bool) and 0 <= b < 1 for b in betas
    ):
        raise InputError(f"betas are {betas!r:.60}: give two numbers from 0 up to below 1")


def _check_numbers(options: dict[str, Any], *, dtype: Any, path: str) -> None:
    for name, value in options.items():
        if hasattr(value, "layout"):
            if name not in ("step_size", "weight_decay"):
                raise InputError(f"{name} is a tensor: give one number")
            if path != "loop" or str(dtype) not in _WIDE:
                raise InputError(
                    f"{name} is a tensor: path 'loop' in float64 or float32 takes one, "
                    f"not {path!r} in {dtype}; give one number"
                )
            _check_tensor(name, value)
        elif isinstance(value, bool) or not isinstance(value, float | int):
            raise InputError(f"{name} is {value!r:.60}: give a number")
        elif not 0 <= value < math.inf:
            raise InputError(f"{name} is {value}: give a finite number, 0 or more")


def _check_tensor(name: str, value: Tensor) -> None:
    if value.is_complex() or not bool(((value >= 0) & value.isfinite()).all()):
        raise InputError(f"{name} holds numbers out of range: give finite ones, 0 or more")
