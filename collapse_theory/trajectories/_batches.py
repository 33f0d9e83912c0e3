"""Batches of examples: all of them, or drawn in a seeded order of its own for each head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

__all__ = ["Batch", "Data", "Draws"]


@dataclass(frozen=True)
class Batch:
    """The examples of one step.

    Attributes:
        source: features as they are, [B, n] of a batch that all heads share or [H, B, n]; or, where
            there are `rows`, the features [..., n] from which they are taken.
        rows: [H, B], rows of `source` flattened to two axes; taken on demand, for some heads at a
            time, because a copy for all of them leaves the cache.
        labels: [B] or [H, B].
        weighting: a_i [B] or [H, B] with sum 1, or None for 1/B.
        indices: [S, B] with S = 1 or H, the examples drawn; None for all examples.
    """

    source: Tensor
    rows: Tensor | None
    labels: Tensor
    weighting: Tensor | None
    indices: Tensor | None

    def features(self, heads: slice = slice(None)) -> Tensor:
        """[B, n] where all heads share the batch, else [h, B, n] of the heads asked for."""
        if self.rows is None:
            return self.source if self.source.ndim == 2 else self.source[heads]
        rows = self.rows[heads]
        dim = self.source.shape[-1]
        return self.source.view(-1, dim).index_select(0, rows.reshape(-1)).view(*rows.shape, dim)


@dataclass(frozen=True)
class Data:
    """All examples: features [N, n] or [H, N, n], labels [N] or [H, N], weighting alike or None."""

    features: Tensor
    labels: Tensor
    weighting: Tensor | None

    def whole(self, heads: int) -> Batch:
        """All examples as a batch."""
        weighting = self.weighting
        if weighting is not None:
            weighting = weighting / weighting.sum(-1, keepdim=True)
        labels = self.labels
        if self.features.ndim == 3 and labels.ndim == 1:
            labels = labels.expand(heads, -1)
        return Batch(self.features, None, labels, weighting, None)

    def at(self, indices: Tensor) -> Batch:
        """The examples at `indices` [S, B]; a shared batch if S is 1 and features are shared."""
        shared = self.features.ndim == 2 and len(indices) == 1
        source, rows = self.features, None
        if shared:
            source = source[indices[0]]
        elif source.ndim == 2:
            rows = indices
        else:
            heads, examples, _ = source.shape
            rows = indices + examples * torch.arange(heads)[:, None]
        weighting = None
        if self.weighting is not None:
            weighting = _pick(self.weighting, indices, shared)
            weighting = weighting / weighting.sum(-1, keepdim=True)
        return Batch(source, rows, _pick(self.labels, indices, shared), weighting, indices)


def _pick(values: Tensor, indices: Tensor, shared: bool) -> Tensor:
    """Entries of `values` [N] or [H, N] at `indices` [S, B]: [B] or [H, B]."""
    if values.ndim == 1:
        return values[indices[0]] if shared else values[indices]
    return values.gather(1, indices.expand(len(values), -1))


class Draws:
    """Endless batches of `size` examples, without replacement inside an epoch.

    The order of a head depends on its seed alone: one generator for each distinct seed.
    """

    def __init__(self, data: Data, *, size: int, seeds: list[int]) -> None:
        self._data, self._size = data, size
        self._examples = data.features.shape[-2]
        distinct = sorted(set(seeds))
        self._generators = [torch.Generator().manual_seed(seed) for seed in distinct]
        place = torch.tensor([distinct.index(seed) for seed in seeds])
        if len(distinct) == 1 and data.features.ndim == 2:
            place = place[:1]
        self._place = place
        self._orders = torch.empty((len(place), 0), dtype=torch.int64)
        self._next = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Batch:
        if self._next + self._size > self._orders.shape[1]:
            drawn = [torch.randperm(self._examples, generator=g) for g in self._generators]
            self._orders, self._next = torch.stack(drawn)[self._place], 0
        start, self._next = self._next, self._next + self._size
        return self._data.at(self._orders[:, start : self._next].contiguous())

    def arrays(self) -> dict[str, Any]:
        """The orders and the place in them: what a checkpoint keeps."""
        states = torch.stack([generator.get_state() for generator in self._generators])
        return {
            "generators": states.numpy(),
            "orders": self._orders.numpy(),
            "next": torch.tensor(self._next).numpy(),
        }

    def restore(self, arrays: dict[str, Any]) -> None:
        """Go on from what `arrays` returned."""
        states = torch.from_numpy(arrays["generators"])
        for generator, state in zip(self._generators, states, strict=True):
            generator.set_state(state.clone())  # torch crashes on a row of a larger tensor
        self._orders, self._next = torch.from_numpy(arrays["orders"]), int(arrays["next"])
