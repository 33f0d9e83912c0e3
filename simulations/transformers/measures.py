"""How far apart rows are, and what the theory says of a step of training, measured on the model's own features.

Notation of the claims: rows w_k of the output matrix, D = w_u - w_v of two unseen symbols, features x_i at the positions
that are trained on, equal weights a_i, L_i the logarithmic mean of p_u and p_v at x_i, M = sum a_i L_i x_i x_i^T. One step
of gradient descent with its gradient scaled by s (clipping) is ``D+ = (1 - eta lam) D - eta s M D``.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

__all__ = ["curvature", "heads_facts", "pair_distances", "rows_facts"]


def rows_facts(rows: Tensor, centre: Tensor) -> dict[str, float]:
    """Of rows [k, n]: root mean square distance of pairs, the largest one, mean cosines, raw and about ``centre`` [n], norm.

    All pairs are in the means, by the sums over rows: ``sum_{u != v} <a_u, a_v> = |sum a|^2 - sum |a|^2``.
    """
    rows, centre = rows.double(), centre.double()
    count = len(rows)
    pairs = count * (count - 1)
    centred = rows - rows.mean(0)
    about = rows - centre
    return {
        "distance": math.sqrt(2 * count * float(centred.square().sum()) / pairs),
        "farthest": float(torch.cdist(rows, rows).max()),
        "cosine": _mean_cosine(rows, pairs),
        "centred_cosine": _mean_cosine(about, pairs),
        "norm": float(torch.linalg.vector_norm(rows, dim=1).mean()),
    }


def _mean_cosine(rows: Tensor, pairs: int) -> float:
    units = torch.nn.functional.normalize(rows, dim=1)
    return float(units.sum(0).square().sum() - units.square().sum()) / pairs


def heads_facts(features: Tensor, logits: Tensor, unseen: Tensor) -> dict[str, float]:
    """Of features [N, n] and logits [N, K]: r = max |x_i|; the largest p of an unseen symbol, which bounds every L_i of a
    pair of them (pbar); the mean probability of all of them together."""
    shares = logits.double().softmax(-1)[:, unseen]
    return {
        "r": float(torch.linalg.vector_norm(features.double(), dim=1).max()),
        "pbar": float(shares.max()),
        "unseen_mass": float(shares.sum(1).mean()),
    }


def pair_distances(rows: Tensor, pairs: Tensor) -> Tensor:
    """|D| [P] of rows [K, n] for pairs [P, 2], in float64."""
    first, second = pairs.T
    return torch.linalg.vector_norm((rows[first] - rows[second]).double(), dim=1)


def curvature(rows: Tensor, features: Tensor, pairs: Tensor, loss: float) -> dict[str, Any]:
    """Bounds T on the largest eigenvalue of M, from sharp to crude.

    Args:
        rows, features: [K, n] and [N, n], the features with equal weights.
        pairs: [P, 2].
        loss: the mean cross-entropy on these features.

    Returns:
        "trace": tr M of each pair [P]; "from_loss": ``r^2 (1 - exp(-CE))/2`` (claim curvature_from_loss).
    """
    rows, features = rows.double(), features.double()
    first, second = pairs.T
    logits = features @ rows.T
    logs = logits - logits.logsumexp(1, keepdim=True)
    gap = (logs[:, first] - logs[:, second]).abs()
    phi = torch.where(gap > 0, -torch.expm1(-gap) / gap, 1.0)
    means = torch.maximum(logs[:, first], logs[:, second]).exp() * phi  # L_i [N, P]
    squares = features.square().sum(1)
    return {
        "trace": squares @ means / len(features),
        "from_loss": float(squares.max()) * -math.expm1(-loss) / 2,
    }
