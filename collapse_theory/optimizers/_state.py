"""What an optimiser carries from step to step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["OptimizerState"]

_NAMES = {
    "momentum_buffer": "buffer",
    "exp_avg": "first",
    "exp_avg_sq": "second",
    "max_exp_avg_sq": "max_second",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class OptimizerState:
    """The state of one parameter, or of many stacked along leading axes.

    Attributes:
        count: steps taken, 0 or more.
        buffer: of SGD with momentum. None before the first step, which sets it to the gradient
            whatever the dampening, as torch does.
        first: Adam's average of gradients (``exp_avg``); None stands for zeros.
        second: Adam's average of squared gradients (``exp_avg_sq``); None stands for zeros.
        max_second: the largest ``second`` so far, with amsgrad; None stands for zeros.
    """

    count: int = 0
    buffer: Tensor | None = None
    first: Tensor | None = None
    second: Tensor | None = None
    max_second: Tensor | None = None

    @classmethod
    def zero(cls) -> OptimizerState:
        """The state before the first step, of every optimiser."""
        return cls()

    @classmethod
    def of_torch(cls, state: Any) -> OptimizerState:
        """A copy of ``optimizer.state[parameter]`` of torch's SGD, Adam or AdamW.

        torch's SGD counts no steps; its count is 1 here once there is a buffer.

        Raises:
            InputError: an entry that none of the three has.
        """
        unknown = sorted(set(state) - {"step", *_NAMES})
        if unknown:
            raise InputError(
                f"state holds {unknown[0]!r:.60}: give the state of torch.optim.SGD, Adam or AdamW"
            )
        kept = {
            name: state[key].detach().clone()
            for key, name in _NAMES.items()
            if state.get(key) is not None
        }
        step = state.get("step", 1 if "buffer" in kept else 0)
        return cls(count=int(step), **kept)
