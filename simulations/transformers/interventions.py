"""What is done to the embeddings during training: nothing, freezing, resets, no decay of unseen rows.

A tied model has one matrix; with an untied head both are treated alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.optim import Optimizer

from collapse_theory.checks import choice, integer, numbers
from collapse_theory.errors import InputError
from simulations.horn import Vocabulary
from simulations.transformers.model import Transformer

__all__ = ["ROWS", "Intervention", "matrices", "redraw"]

ROWS = ("variables", "unseen", "all")


@dataclass(frozen=True, kw_only=True)
class Intervention:
    """What happens to the embeddings.

    Attributes:
        freeze: they are not trained: no gradient, and so no decay either.
        period: steps between resets, in which ``rows`` are drawn afresh (active forgetting, Chen et al. 2023); 0 for none.
        stop: the step from which there are no more resets (a temporary reset); None for the end.
        rows: "variables" (seen and unseen), "unseen", or "all" rows of the vocabulary.
        scale: of the fresh rows, in units of the model's own start. Published code that starts at .02 and resets to
            N(0, 1) has 50 here.
        moments: whether the optimiser's moments of the fresh rows are set to 0.
        bias_correction: whether its count of steps is too, for the whole matrix (it has one count).
        replay: whether the learning rate of the embeddings goes through its whole schedule in each period.
        decay_unseen: whether rows of unseen symbols decay.
    """

    freeze: bool = False
    period: int = 0
    stop: int | None = None
    rows: str = "variables"
    scale: float = 1.0
    moments: bool = True
    bias_correction: bool = False
    replay: bool = False
    decay_unseen: bool = True

    def __post_init__(self) -> None:
        integer("period", self.period, least=0)
        if self.stop is not None:
            integer("stop", self.stop, least=0)
        choice("rows", self.rows, ROWS)
        if float(numbers("scale", self.scale)) <= 0:
            raise InputError(f"scale is {self.scale}: give a number above 0")
        if self.freeze and self.period:
            raise InputError("frozen embeddings with resets: choose freeze, or a period")
        if self.replay and not self.period:
            raise InputError("replay without resets: give a period")

    def due(self, step: int) -> bool:
        """Whether rows are redrawn before step ``step``, counted from 0."""
        ends = self.stop is not None and step >= self.stop
        return bool(self.period) and step > 0 and step % self.period == 0 and not ends

    def chosen(self, vocabulary: Vocabulary) -> Tensor:
        """Ids of the rows that are redrawn."""
        ids = torch.arange(vocabulary.size)
        first = {
            "all": 0,
            "variables": int(vocabulary.seen[0]),
            "unseen": int(vocabulary.unseen[0]),
        }
        return ids[first[self.rows] :]


def matrices(model: Transformer) -> list[torch.nn.Parameter]:
    """The embedding, and the output matrix where it is another."""
    return [model.embedding] + ([] if model.unembedding is None else [model.unembedding])


@torch.no_grad()
def redraw(
    model: Transformer,
    optimizer: Optimizer,
    intervention: Intervention,
    ids: Tensor,
    generator: torch.Generator,
) -> None:
    """Draw the rows ``ids`` as at the start, and clear what the optimiser remembers of them."""
    for matrix in matrices(model):
        fresh = torch.empty(len(ids), matrix.shape[1], dtype=matrix.dtype)
        fresh.normal_(0, intervention.scale * model.start_scale, generator=generator)
        matrix[ids] = fresh.to(matrix.device)
        state = optimizer.state.get(matrix, {})
        if intervention.moments:
            for name in ("exp_avg", "exp_avg_sq", "momentum_buffer"):
                if state.get(name) is not None:
                    state[name][ids] = 0
        if intervention.bias_correction and "step" in state:
            state["step"].zero_()
