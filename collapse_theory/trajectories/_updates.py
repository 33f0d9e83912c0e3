"""Optimisers beside plain gradient descent, in place, on one block of heads at a time.

The rules of `collapse_theory.optimizers` up to rounding; momentum takes the gradient's product straight into its buffer, and
Adam is one pass of torch's fused kernel, so that few passes over memory are made while the block is in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collapse_theory.trajectories._config import LinearConfig

__all__ = ["Update"]

Product = Callable[[Tensor, float, float], None]
"""`product(out, keep, take)` is `out <- keep out + take gradient`, in place; `out` is not read where `keep` is 0."""
Scalar = float | Tensor
"""A number, or a tensor that broadcasts against the weights of a block."""


class Update:
    """State of all blocks, and one step of one block."""

    def __init__(self, config: LinearConfig) -> None:
        self._config = config
        self._state: dict[int, list[Tensor]] = {}
        self._room: Tensor | None = None

    def __call__(
        self,
        index: int,
        weights: Tensor,
        product: Product,
        step_size: Scalar,
        weight_decay: Scalar,
        step: int,
    ) -> None:
        """Step `step` (from 0) of block `index`, whose weights are contiguous."""
        name = self._config.optimizer
        if name == "sgd":
            self._sgd(
                self._slots(index, weights, 1)[0], weights, product, step_size, weight_decay, step
            )
        elif name == "signsgd":
            gradient = self._scratch(weights, 0)
            product(gradient, 0.0, 1.0)
            _shrink(weights, step_size, weight_decay)
            _add(weights, gradient.sign_(), step_size, -1.0)
        else:
            slots = self._slots(index, weights, 3 if self._config.amsgrad else 2)
            self._adam(slots, weights, product, step_size, weight_decay, step)

    def arrays(self) -> dict[str, Any]:
        """The state of every block: what a checkpoint keeps."""
        return {
            f"{index}.{place}": slot.numpy()
            for index, slots in self._state.items()
            for place, slot in enumerate(slots)
        }

    def restore(self, arrays: dict[str, Any]) -> None:
        """Go on from what `arrays` returned, whose places come in order."""
        self._state = {}
        for name, array in arrays.items():
            slots = self._state.setdefault(int(name.partition(".")[0]), [])
            slots.append(torch.from_numpy(array).clone())  # aligned as torch does it

    def _slots(self, index: int, weights: Tensor, count: int) -> list[Tensor]:
        if index not in self._state:
            self._state[index] = [torch.zeros_like(weights) for _ in range(count)]
        return self._state[index]

    def _scratch(self, weights: Tensor, place: int) -> Tensor:
        """One of two tensors like `weights`, the same memory for every block."""
        if self._room is None or self._room.shape[1] < weights.numel():
            self._room = weights.new_empty(2, weights.numel())
        return self._room[place, : weights.numel()].view(weights.shape)

    def _sgd(
        self, buffer: Tensor, weights: Tensor, product: Product, eta: Scalar, lam: Scalar, step: int
    ) -> None:
        config = self._config
        keep = config.momentum if step else 0.0
        take = 1.0 - config.dampening if step else 1.0
        if config.nesterov:
            slope = self._scratch(weights, 0)
            product(slope, 0.0, 1.0)
            if not config.decoupled:
                _add(slope, weights, lam)
            buffer.mul_(keep).add_(slope)
            push = slope.add_(buffer, alpha=config.momentum)
        else:
            product(buffer, keep, take)
            if not config.decoupled:
                _add(buffer, weights, lam, take)
            push = buffer
        if config.decoupled:
            _shrink(weights, eta, lam)
        _add(weights, push, eta, -1.0)

    def _adam(
        self,
        slots: list[Tensor],
        weights: Tensor,
        product: Product,
        eta: Scalar,
        lam: Scalar,
        step: int,
    ) -> None:
        gradient = self._scratch(weights, 0)
        product(gradient, 0.0, 1.0)
        decoupled = self._config.optimizer == "adamw"
        if not isinstance(eta, Tensor) and not isinstance(lam, Tensor):
            self._kernel(weights, gradient, slots, step, decoupled, lr=eta, weight_decay=lam)
            return
        # The kernel takes one rate for all: its move with rate 1 is made of zeros, and scaled.
        if not decoupled:
            _add(gradient, weights, lam)
        move = self._scratch(weights, 1).zero_()
        self._kernel(move, gradient, slots, step, decoupled, lr=1.0, weight_decay=0.0)
        if decoupled:
            _shrink(weights, eta, lam)
        _add(weights, move, eta)

    def _kernel(
        self,
        weights: Tensor,
        gradient: Tensor,
        slots: list[Tensor],
        step: int,
        decoupled: bool,
        **rates: float,
    ) -> None:
        config = self._config
        name = "_fused_adamw_" if decoupled else "_fused_adam_"
        kernel: Any = getattr(torch, name)
        kernel(
            [weights], [gradient], [slots[0]], [slots[1]], slots[2:],
            [torch.tensor(float(step + 1))],
            beta1=config.betas[0], beta2=config.betas[1], eps=config.epsilon,
            amsgrad=config.amsgrad, maximize=False, **rates,
        )  # fmt: skip


def _add(tensor: Tensor, other: Tensor, factor: Scalar, sign: float = 1.0) -> None:
    """`tensor <- tensor + sign factor other`."""
    if isinstance(factor, Tensor):
        tensor.addcmul_(other, factor, value=sign)
    elif factor != 0:
        tensor.add_(other, alpha=sign * factor)


def _shrink(weights: Tensor, eta: Scalar, lam: Scalar) -> None:
    factor = 1.0 - eta * lam
    if isinstance(factor, Tensor) or factor != 1:
        weights.mul_(factor)
