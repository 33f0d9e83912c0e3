"""The rules on torch tensors, with the roundings that ``torch.optim`` makes on the CPU.

Each function maps weights, gradient and state to new weights and state, out of place. A tensor may be one parameter or many
of one shape, stacked along leading axes. The operations are those of ``torch/optim/sgd.py`` and ``adam.py`` (2.13), in their
order: one call of ATen rounds once where two round twice (``add`` with ``alpha``, ``lerp``, ``addcmul`` and ``addcdiv`` use
fused multiply-adds where the processor has them), so the result is torch's to the last bit. ``loop`` and ``foreach`` make
the same operations by calls of different names, which in half types round differently; ``fused`` is a kernel of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ._fused import fused_adam, fused_sgd
from ._options import OPTIMIZERS, check_adam, check_sgd, check_tensors, refuse_options
from ._paths import Loop, path_operations
from ._state import OptimizerState

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["adam_step", "optimizer_step", "sgd_step", "sign_step"]

Scalar = Any
"""A number; for ``step_size`` and ``weight_decay`` on the path ``loop`` also a tensor of one number for each
parameter, such as [H, 1, 1]."""


def sgd_step(
    weights: Tensor,
    gradient: Tensor,
    state: OptimizerState,
    *,
    step_size: Scalar,
    weight_decay: Scalar = 0.0,
    momentum: float = 0.0,
    dampening: float = 0.0,
    nesterov: bool = False,
    decoupled: bool = False,
    path: str = "loop",
    **options: Any,
) -> tuple[Tensor, OptimizerState]:
    """One step of ``torch.optim.SGD``, or of SGDW where ``decoupled`` (``loop`` and ``foreach`` alone).

    SGDW shrinks the weights by ``1 - eta lam`` first, as ``torch.optim.AdamW`` does, and leaves the gradient as it is.
    Raises :class:`InputError` for what the rules do not have; see the package's text.
    """
    refuse_options(options)
    check_tensors(weights, gradient, path)
    numbers = {
        "step_size": step_size,
        "weight_decay": weight_decay,
        "momentum": momentum,
        "dampening": dampening,
    }
    check_sgd(numbers, nesterov=nesterov, dtype=weights.dtype, path=path)
    w, g = weights.detach().contiguous(), gradient.detach().contiguous()
    if path == "fused":
        if decoupled:
            raise InputError("decoupled SGD has no path 'fused': take 'loop' or 'foreach'")
        after, buffer = fused_sgd(w, g, state.buffer, nesterov=nesterov, **numbers)
        return after, OptimizerState(count=state.count + 1, buffer=buffer)
    ops = path_operations(path, w)
    ws, gs = _decayed(ops, ops.split(w), ops.split(g), step_size, weight_decay, decoupled)
    buffer = None
    if momentum != 0:
        if state.buffer is None:
            bs = [grad.clone() for grad in gs]
        else:
            bs = ops.add(ops.scale(ops.split(state.buffer), momentum), gs, 1 - dampening)
        gs = ops.add(gs, bs, momentum) if nesterov else bs
        buffer = ops.join(bs)
    after = ops.join(ops.add(ws, gs, -step_size))
    return after, OptimizerState(count=state.count + 1, buffer=buffer)


def adam_step(
    weights: Tensor,
    gradient: Tensor,
    state: OptimizerState,
    *,
    step_size: Scalar,
    weight_decay: Scalar = 0.0,
    betas: tuple[float, float] = (0.9, 0.999),
    epsilon: float = 1e-8,
    amsgrad: bool = False,
    decoupled: bool = False,
    path: str = "loop",
    **options: Any,
) -> tuple[Tensor, OptimizerState]:
    """One step of ``torch.optim.Adam``, or of ``AdamW`` where ``decoupled``.

    ``state.count`` is the number of steps taken before this one. Raises :class:`InputError` as :func:`sgd_step`.
    """
    refuse_options(options)
    check_tensors(weights, gradient, path)
    numbers = {"step_size": step_size, "weight_decay": weight_decay, "epsilon": epsilon}
    check_adam(numbers, betas, dtype=weights.dtype, path=path)
    w, g = weights.detach().contiguous(), gradient.detach().contiguous()
    first, second = (_or_zeros(moment, w) for moment in (state.first, state.second))
    most = _or_zeros(state.max_second, w) if amsgrad else None
    count = state.count + 1
    if path == "fused":
        after, first, second, most = fused_adam(
            w, g, first, second, most, betas=betas, count=count, decoupled=decoupled, **numbers
        )
    else:
        ops = path_operations(path, w)
        ws, gs = _decayed(ops, ops.split(w), ops.split(g), step_size, weight_decay, decoupled)
        beta1, beta2 = betas
        ms = ops.lerp(ops.split(first), gs, 1 - beta1)
        vs = ops.add_squares(ops.scale(ops.split(second), beta2), gs, 1 - beta2)
        first, second, under = ops.join(ms), ops.join(vs), vs
        if most is not None:
            under = ops.maximum(ops.split(most), vs)
            most = ops.join(under)
        divisor = ops.divisor(under, (1 - beta2**count) ** 0.5, epsilon)
        length = -(step_size / (1 - beta1**count))
        after = ops.join(ops.add_quotients(ws, ms, divisor, length))
    return after, OptimizerState(count=count, first=first, second=second, max_second=most)


def sign_step(
    weights: Tensor,
    gradient: Tensor,
    state: OptimizerState,
    *,
    step_size: Scalar,
    weight_decay: Scalar = 0.0,
    path: str = "loop",
    **options: Any,
) -> tuple[Tensor, OptimizerState]:
    """One step of signSGD, ``w+ = (1 - eta lam) w - eta sign(g)``, with ``sign(0) = 0``.

    torch has no such optimiser; the operations are AdamW's ``mul_`` and SGD's ``add_``. On the path ``loop`` alone.
    """
    refuse_options(options)
    check_tensors(weights, gradient, path)
    if path != "loop":
        raise InputError(f"path {path!r} of signSGD: torch has none; take 'loop'")
    numbers = {"step_size": step_size, "weight_decay": weight_decay}
    check_sgd({**numbers, "momentum": 0.0}, nesterov=False, dtype=weights.dtype, path=path)
    ops = path_operations(path, weights)
    ws, gs = ops.split(weights.detach()), ops.split(gradient.detach().sign())
    ws, gs = _decayed(ops, ws, gs, step_size, weight_decay, decoupled=True)
    return ops.join(ops.add(ws, gs, -step_size)), OptimizerState(count=state.count + 1)


def optimizer_step(
    name: str, weights: Tensor, gradient: Tensor, state: OptimizerState, **options: Any
) -> tuple[Tensor, OptimizerState]:
    """One step of the optimiser of that name, of :data:`OPTIMIZERS`, with the options of its own function."""
    if name == "sgd":
        return sgd_step(weights, gradient, state, **options)
    if name == "signsgd":
        return sign_step(weights, gradient, state, **options)
    if name in ("adam", "adamw"):
        if "decoupled" in options:
            raise InputError(f"option 'decoupled' of {name}: its name says it; leave it out")
        return adam_step(weights, gradient, state, decoupled=name == "adamw", **options)
    raise InputError(f"optimizer is {name!r:.60}: give one of {', '.join(OPTIMIZERS)}")


def _decayed(
    ops: Loop,
    weights: list[Tensor],
    gradient: list[Tensor],
    step_size: Scalar,
    weight_decay: Scalar,
    decoupled: bool,
) -> tuple[list[Tensor], list[Tensor]]:
    """Weights times ``1 - eta lam``, or ``lam w`` in the gradient; as they are where lam is the number 0."""
    if not hasattr(weight_decay, "layout") and weight_decay == 0:
        return weights, gradient
    if decoupled:
        return ops.scale(weights, 1 - step_size * weight_decay), gradient
    return weights, ops.add(gradient, weights, weight_decay)


def _or_zeros(moment: Tensor | None, like: Tensor) -> Tensor:
    return like.new_zeros(like.shape) if moment is None else moment.contiguous()
