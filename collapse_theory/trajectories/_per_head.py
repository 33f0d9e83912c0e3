"""The step of heads that see batches of their own."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from collapse_theory.trajectories._engine import Engine
from collapse_theory.trajectories._updates import Update

__all__ = ["PerHeadEngine"]


class PerHeadEngine(Engine):
    """Each head sees a batch of its own: batched products. Weights lie as [H, K, n]."""

    def __init__(
        self,
        weights: Tensor,
        batch: int,
        update: Update | None = None,
        masked: Tensor | None = None,
    ) -> None:
        super().__init__(weights, batch, weights.shape[1] + weights.shape[2], update, masked)
        self._load(weights)

    def _load(self, weights: Tensor) -> None:
        self._weights = weights.clone(memory_format=torch.contiguous_format)

    @property
    def weights(self) -> Tensor:
        return self._weights

    def _positions(self, labels: Tensor) -> Tensor:
        starts = torch.arange(len(labels))[:, None] * (self._labels * self._batch)
        return (starts + torch.arange(self._batch) + labels * self._batch).reshape(-1)

    def _step(
        self,
        index: int,
        block: slice,
        features: Tensor,
        targets: Tensor,
        weighting: Tensor | None,
        step_size: float | Tensor,
        decay: float | Tensor,
    ) -> None:
        weights = self._weights[block]
        logits = self._room[: len(weights) * self._labels * self._batch]
        logits = logits.view(-1, self._labels, self._batch)
        logits.baddbmm_(weights, features.transpose(1, 2), beta=0, alpha=self._scale)
        if self._masked is not None:
            logits.masked_fill_(self._masked[block][:, :, None], -math.inf)
        if weighting is not None:
            weighting = weighting[..., None, :]
        if isinstance(step_size, Tensor):
            step_size = step_size[:, None, None]
        if self._update is not None:
            alpha = self._gradient_(logits, 1, targets, weighting, 1.0)

            def product(out: Tensor, keep: float, take: float) -> None:
                out.baddbmm_(logits, features, beta=keep, alpha=-alpha * take)

            decay = decay[:, None, None] if isinstance(decay, Tensor) else decay
            self._update(index, weights, product, step_size, decay, self._taken)
            return
        alpha = self._gradient_(logits, 1, targets, weighting, step_size)
        if isinstance(decay, Tensor):
            weights.mul_(decay[:, None, None])
            decay = 1.0
        weights.baddbmm_(logits, features, beta=decay, alpha=alpha)
