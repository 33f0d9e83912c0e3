"""Batches of examples: all of them, or drawn in a seeded order of its own for each head."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Batch", "Data", "batches"]


@dataclass(frozen=True)
class Batch:
    """The examples of one step.

    Attributes:
        features: [B, n] where all heads share the batch, else [H, B, n].
        labels: [B] or [H, B].
        weighting: a_i [B] or [H, B] with sum 1, or None for 1/B.
        indices: [S, B] with S = 1 or H, the examples drawn; None for all examples.
    """

    features: Tensor
    labels: Tensor
    weighting: Tensor | None
    indices: Tensor | None


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
        return Batch(self.features, labels, weighting, None)

    def at(self, indices: Tensor) -> Batch:
        """The examples at `indices` [S, B]; a shared batch if S is 1 and features are shared."""
        if self.features.ndim == 2 and len(indices) == 1:
            features = self.features[indices[0]]
        elif self.features.ndim == 2:
            features = self.features.index_select(0, indices.reshape(-1))
            features = features.view(*indices.shape, -1)
        else:
            heads, examples, dim = self.features.shape
            flat = indices + examples * torch.arange(heads)[:, None]
            features = self.features.reshape(-1, dim).index_select(0, flat.reshape(-1))
            features = features.view(heads, -1, dim)
        shared = features.ndim == 2
        weighting = None
        if self.weighting is not None:
            weighting = _pick(self.weighting, indices, shared)
            weighting = weighting / weighting.sum(-1, keepdim=True)
        return Batch(features, _pick(self.labels, indices, shared), weighting, indices)


def _pick(values: Tensor, indices: Tensor, shared: bool) -> Tensor:
    """Entries of `values` [N] or [H, N] at `indices` [S, B]: [B] or [H, B]."""
    if values.ndim == 1:
        return values[indices[0]] if shared else values[indices]
    return values.gather(1, indices.expand(len(values), -1))


def batches(data: Data, *, size: int, seeds: list[int]) -> Iterator[Batch]:
    """Endless batches of `size` examples, without replacement inside an epoch.

    The order of a head depends on its seed alone: one generator for each distinct seed.
    """
    examples = data.features.shape[-2]
    distinct = sorted(set(seeds))
    generators = [torch.Generator().manual_seed(seed) for seed in distinct]
    place = torch.tensor([distinct.index(seed) for seed in seeds])
    if len(distinct) == 1 and data.features.ndim == 2:
        place = place[:1]
    while True:
        orders = torch.stack([torch.randperm(examples, generator=g) for g in generators])[place]
        for start in range(0, examples - size + 1, size):
            yield data.at(orders[:, start : start + size].contiguous())
