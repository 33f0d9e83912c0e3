"""What is measured of a step, in float64 and apart from the hot path.

Notation of the claims: D = w_u - w_v for unseen u, v; d_i = <D, x_i>; L_i the logarithmic mean of
p_u(x_i) and p_v(x_i); M = sum a_i L_i x_i x_i^T; c = 1 - eta lam.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from collapse_theory.trajectories._batches import Batch

__all__ = ["Before", "cosines", "differences", "measure_before"]


@dataclass(frozen=True)
class Before:
    """Measured at the weights before a step, on its batch.

    Attributes:
        loss: mean cross-entropy [H].
        unseen_mass: mean probability of all labels that are unseen in a head together [H].
        trace: tr M = sum a_i L_i |x_i|^2 [H, P].
        largest_logmean: max L_i over examples with a_i > 0 [H, P].
        target_mass: f = sum a_i ([y_i = u] + [y_i = v]) [H, P]; 0 of unseen pairs.
        pull: M D - sum a_i ([y_i = u] - [y_i = v]) x_i [H, P, n]; M D of unseen pairs.
    """

    loss: Tensor
    unseen_mass: Tensor
    trace: Tensor
    largest_logmean: Tensor
    target_mass: Tensor
    pull: Tensor


def differences(weights: Tensor, pairs: Tensor) -> Tensor:
    """D [H, P, n] of weights [H, K, n] for pairs [P, 2]."""
    first, second = pairs.T
    return weights.index_select(1, first) - weights.index_select(1, second)


def measure_before(
    weights: Tensor, batch: Batch, pairs: Tensor, unseen: Tensor, *, masked: bool = False
) -> Before:
    """Measure a step at its start.

    Args:
        weights: [H, K, n], float64.
        batch: the examples of the step.
        pairs: [P, 2].
        unseen: whether a label is nobody's target in a head, [H, K], bool.
        masked: whether the logits of those are left out: then p = 0 and L = 0.
    """
    heads = len(weights)
    features = batch.features().double()
    size = features.shape[-2]
    if batch.weighting is None:
        mean = features.new_full((1, 1), 1.0 / size).expand(heads, size)
    else:
        mean = batch.weighting.double().expand(heads, size)
        # Back to sum 1 in float64, when the training ran in float32.
        mean = mean / mean.sum(-1, keepdim=True)

    logits = _apply(weights, features)  # [H, K, B]
    if masked:
        logits = logits.masked_fill(unseen[:, :, None], -torch.inf)
    normaliser = torch.logsumexp(logits, 1)  # [H, B]
    targets = batch.labels.expand(heads, size)
    losses = normaliser - logits.gather(1, targets[:, None])[:, 0]
    anywhere = unseen.any(0).nonzero()[:, 0]
    mass = torch.exp(logits.index_select(1, anywhere) - normaliser[:, None])
    mass = (mass * unseen.index_select(1, anywhere)[:, :, None]).sum(1)

    # L = max(p_u, p_v) phi(|d|), phi(t) = (1 - exp(-t))/t: no cancellation near p_u = p_v, and no
    # logarithm of an underflowed probability.
    inner = _apply(differences(weights, pairs), features)  # d_i [H, P, B]
    first, second = pairs.T
    larger = torch.maximum(logits.index_select(1, first), logits.index_select(1, second))
    gap = inner.abs()
    phi = torch.where(gap > 0, -torch.expm1(-gap) / gap, 1.0)
    logmean = torch.exp(larger - normaliser[:, None]) * phi
    weighted = mean[:, None] * logmean
    first_hit, second_hit = (targets[:, None] == labels[:, None] for labels in (first, second))
    push = mean[:, None] * (first_hit.double() - second_hit.double())  # [H, P, B]
    squares = features.square().sum(-1, keepdim=True)  # |x_i|^2 [B, 1] or [H, B, 1]
    return Before(
        loss=(mean * losses).sum(-1),
        unseen_mass=(mean * mass).sum(-1),
        trace=torch.matmul(weighted, squares)[:, :, 0],
        largest_logmean=torch.where(mean[:, None] > 0, logmean, 0.0).amax(2),
        target_mass=(mean[:, None] * (first_hit.double() + second_hit.double())).sum(-1),
        pull=torch.matmul(weighted * inner - push, features),
    )


def _apply(rows: Tensor, features: Tensor) -> Tensor:
    """Inner products [H, R, B] of rows [H, R, n] and features [B, n] or [H, B, n]."""
    return torch.matmul(rows, features.transpose(-1, -2))


def cosines(weights: Tensor, pairs: Tensor) -> Tensor:
    """Cosine [H, P] of the rows of each pair; NaN where a row is zero."""
    u, v = (weights.index_select(1, labels) for labels in pairs.T)
    norms = torch.linalg.vector_norm(u, dim=-1) * torch.linalg.vector_norm(v, dim=-1)
    return torch.where(norms > 0, (u * v).sum(-1) / norms, torch.nan)
