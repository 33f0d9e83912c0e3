"""The hot path: one step of many softmax heads, in place, in two matrix products.

`W <- (1 - eta lam) W - eta (P - Y)^T diag(a) X` with P the probabilities, Y the one-hot targets and
a the batch weights. Each engine keeps the weights in the layout in which its products are fastest
(benchmarks/linear_heads.py measures them) and takes as many heads at a time as stay in the
processor's cache; the large arrays are allocated once. Other optimisers take the gradient's product
through `_updates.Update`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from collapse_theory.trajectories._updates import Update

__all__ = ["Engine", "SharedEngine"]

FEW_LABELS = 512
"""Below this torch's softmax over the last axis is slower than its passes done one by one, with powers of 2: torch's
`exp2` in float64 is up to three times as fast as its `exp`."""
LOG2E = math.log2(math.e)
"""exp(z) = 2^(z LOG2E), a factor that rides on the logits' product."""
LARGEST_POWER = 1000.0
"""2^1000 times `FEW_LABELS` and 2^-1000 are normal numbers of float64."""
BLOCK_BYTES = 2**21
"""What is taken at a time: larger blocks leave the cache, smaller ones pay for more calls."""


class Engine(ABC):
    """Weights of H heads and one step of them.

    Args:
        weights: [H, K, n]; copied.
        batch: B, the examples of a step.
        row: numbers for each example and head that a block should keep in the cache.
        update: an optimiser with a state; None for plain gradient descent.
        masked: [H, K], labels of each head whose logits are left out; None for no mask.
    """

    def __init__(
        self,
        weights: Tensor,
        batch: int,
        row: int,
        update: Update | None,
        masked: Tensor | None,
    ) -> None:
        heads, labels, dim = weights.shape
        self._labels, self._batch = labels, batch
        self._update, self._taken, self._masked = update, 0, masked
        if update is not None:  # weights, gradient, two moments
            row += -(-4 * labels * dim // batch)
        self._scale = LOG2E
        size = BLOCK_BYTES // (batch * row * weights.element_size())
        size = min(max(size, 1), heads)
        size = math.ceil(heads / math.ceil(heads / size))  # blocks of equal size
        self._blocks = [slice(i, min(i + size, heads)) for i in range(0, heads, size)]
        self._room = weights.new_empty(size * batch * labels)  # logits of one block

    @property
    @abstractmethod
    def weights(self) -> Tensor:
        """A view of the weights as [H, K, n]."""

    @abstractmethod
    def _load(self, weights: Tensor) -> None:
        """Take the weights [H, K, n]."""

    def arrays(self) -> dict[str, Any]:
        """Weights and the optimiser's state: what a checkpoint keeps."""
        state = {} if self._update is None else self._update.arrays()
        return {"weights": self.weights.contiguous().numpy(), **state}

    def restore(self, taken: int, arrays: dict[str, Any]) -> None:
        """Go on after `taken` steps from what `arrays` returned."""
        self._taken = taken
        self._load(torch.from_numpy(arrays.pop("weights")))
        if self._update is not None:
            self._update.restore(arrays)

    @abstractmethod
    def _positions(self, labels: Tensor) -> Tensor:
        """Flat positions of targets [B] or [h, B] in the logits of one block of h heads."""

    @abstractmethod
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
        """`step` for one block of heads."""

    def targets(self, labels: Tensor) -> list[Tensor]:
        """Where the targets, [B] or [H, B], lie in each block's logits: what `step` wants."""
        if labels.ndim == 1:
            labels = labels.expand(self._blocks[-1].stop, -1)
        return [self._positions(labels[block]) for block in self._blocks]

    def step(
        self,
        features: Callable[[slice], Tensor],
        targets: list[Tensor],
        weighting: Tensor | None,
        step_size: float | Tensor,
        decay: float | Tensor,
    ) -> None:
        """One step.

        Args:
            features: of a block of heads: [B, n] of a shared batch, else [h, B, n].
            targets: what `targets` returned.
            weighting: a_i [B] or [H, B] with sum 1, or None for 1/B.
            step_size: eta, a number or [H].
            decay: 1 - eta lam, a number or [H]; with an optimiser lam alone.
        """
        for index, (block, positions) in enumerate(zip(self._blocks, targets, strict=True)):
            self._step(
                index,
                block,
                features(block),
                positions,
                weighting if weighting is None or weighting.ndim == 1 else weighting[block],
                step_size[block] if isinstance(step_size, Tensor) else step_size,
                decay[block] if isinstance(decay, Tensor) else decay,
            )
        self._taken += 1

    def _gradient_(
        self,
        logits: Tensor,
        axis: int,
        targets: Tensor,
        weighting: Tensor | None,
        step_size: float | Tensor,
        small: bool = False,
    ) -> float:
        """Turn logits times `_scale` into their gradient up to the factor returned, for the product to come.

        Equal batch weights and one step size for all heads ride on that factor at no cost; anything
        else is one more pass. `weighting` and `step_size` broadcast against the logits; `small`
        logits need no maximum taken off.
        """
        if self._scale == 1.0:
            torch.softmax(logits, axis, out=logits)
        else:
            if not small:
                logits.sub_(torch.amax(logits, axis, keepdim=True))
            logits.exp2_()
            logits.mul_(
                logits.sum(axis, keepdim=True).reciprocal_()
            )  # a third of a division's time
        flat = logits.view(-1)
        if weighting is None and isinstance(step_size, float):
            flat.scatter_add_(0, targets, flat.new_full((1,), -1.0).expand_as(targets))
            return -step_size / self._batch
        scale = step_size / self._batch if weighting is None else step_size * weighting
        logits.mul_(scale)
        shape = [1 if a == axis else size for a, size in enumerate(logits.shape)]
        flat.scatter_add_(0, targets, -torch.as_tensor(scale).expand(shape).reshape(-1))
        return -1.0


class SharedEngine(Engine):
    """All heads see the same batch: two plain matrix products for a block of heads.

    Weights lie as [n, H, K], so that logits [B, h, K] = X [B, n] times weights [n, h K]; with an
    optimiser, whose passes want them in one piece, a block at a time.
    """

    def __init__(
        self,
        weights: Tensor,
        batch: int,
        update: Update | None = None,
        masked: Tensor | None = None,
    ) -> None:
        super().__init__(weights, batch, weights.shape[1], update, masked)
        if weights.shape[1] >= FEW_LABELS:
            self._scale = 1.0
        self._longest: tuple[Tensor | None, float] = (None, 0.0)  # features, their largest norm
        self._load(weights)

    def _load(self, weights: Tensor) -> None:
        self._weights = weights.permute(2, 0, 1).contiguous()
        self._flat = self._weights.view(weights.shape[2], -1)
        self._parts: list[Tensor] = []
        if self._update is not None:
            self._parts = [self._weights[:, block].contiguous() for block in self._blocks]

    @property
    def weights(self) -> Tensor:
        if self._parts:
            return torch.cat(self._parts, 1).permute(1, 2, 0)
        return self._weights.permute(1, 2, 0)

    def _positions(self, labels: Tensor) -> Tensor:
        starts = torch.arange(labels.numel()).view(self._batch, -1) * self._labels
        return (starts + labels.T).reshape(-1)

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
        if self._parts:
            weights = self._parts[index].flatten(1)
        else:
            weights = self._flat[:, block.start * self._labels : block.stop * self._labels]
        flat_logits = self._room[: self._batch * weights.shape[1]].view(self._batch, -1)
        logits = flat_logits.view(self._batch, -1, self._labels)
        flat_logits.addmm_(features, weights, beta=0, alpha=self._scale)
        if self._masked is not None:
            logits.masked_fill_(self._masked[block], -math.inf)
        if weighting is not None:
            weighting = weighting[:, None, None] if weighting.ndim == 1 else weighting.T[:, :, None]
        if isinstance(step_size, Tensor):
            step_size = step_size[None, :, None]
        if self._update is not None:
            small = self._small(features, self._parts[index].view(-1))
            alpha = self._gradient_(logits, 2, targets, weighting, 1.0, small)

            def product(out: Tensor, keep: float, take: float) -> None:
                out.flatten(1).addmm_(features.T, flat_logits, beta=keep, alpha=-alpha * take)

            decay = decay[None, :, None] if isinstance(decay, Tensor) else decay
            self._update(index, self._parts[index], product, step_size, decay, self._taken)
            return
        alpha = self._gradient_(logits, 2, targets, weighting, step_size)
        if isinstance(decay, Tensor):
            self._weights[:, block].mul_(decay[None, :, None])
            decay = 1.0
        weights.addmm_(features.T, flat_logits, beta=decay, alpha=alpha)

    def _small(self, features: Tensor, weights: Tensor) -> bool:
        """Whether powers of 2 of the logits and their sums are normal numbers, by Cauchy-Schwarz."""
        if weights.dtype != torch.float64:
            return False
        if self._longest[0] is not features:
            norms = torch.linalg.vector_norm(features, dim=-1)
            self._longest = features, float(norms.max())
        # The norm of the whole block is far above that of a row, but one fast product gives it.
        norm = math.sqrt(float(torch.dot(weights, weights)))
        return LOG2E * self._longest[1] * norm < LARGEST_POWER
