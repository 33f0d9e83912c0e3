"""Exact match and verdicts by greedy generation, with the kind of each first error.

Conditions: "none" (all symbols seen in training), "query" (only the query is not), "all" (no symbol is). Diagnostics: the
output restricted to tokens of the problem and special ones; the rows of unseen symbols restored to what they were at the
start, which is how published code evaluates and which never tests the rows that training has moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simulations.horn import Batch, Structures, Vocabulary, check_answers, rename
from simulations.transformers.interventions import matrices
from simulations.transformers.model import Cache, Transformer

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CONDITIONS", "evaluate", "generate", "restored", "teacher_forced"]

CONDITIONS = ("none", "query", "all")
"""Which symbols are unseen ones."""


@torch.no_grad()
def generate(
    model: Transformer, batch: Batch, vocabulary: Vocabulary, *, restricted: bool = False
) -> NDArray[np.int64]:
    """What the model writes after each prompt, greedily: tokens [B, L], prompts as they were, PAD after EOS.

    Prompts of one length are decoded together, one token at a time with cached keys and values. A row ends at EOS, or at
    the width of ``batch.tokens``. ``restricted``: only special tokens and those of the prompt may be written.
    """
    out = np.full_like(batch.tokens, vocabulary.specials["PAD"])
    for length in np.unique(batch.prompt_length):
        rows = np.flatnonzero(batch.prompt_length == length)
        out[rows] = _decode(model, batch.tokens[rows], int(length), vocabulary, restricted)
    return out


def _decode(
    model: Transformer,
    tokens: NDArray[np.int64],
    length: int,
    vocabulary: Vocabulary,
    restricted: bool,
) -> NDArray[np.int64]:
    device = model.embedding.device
    end, pad = vocabulary.specials["EOS"], vocabulary.specials["PAD"]
    written = torch.full(tokens.shape, pad, device=device)
    written[:, :length] = torch.as_tensor(tokens[:, :length])
    forbidden = None
    if restricted:
        forbidden = torch.ones(len(tokens), vocabulary.size, dtype=torch.bool, device=device)
        forbidden[:, list(vocabulary.specials.values())] = False
        forbidden.scatter_(1, written[:, :length], False)
    cache, new = Cache(), written[:, :length]
    going = torch.ones(len(tokens), dtype=torch.bool, device=device)
    for place in range(length, tokens.shape[1]):
        x, shares = model(new, cache)
        last = None if shares is None else shares[:, -1]
        scores = model.log_probabilities(x[:, -1], last, written[:, :place])
        if forbidden is not None:
            scores = scores.masked_fill(forbidden, -torch.inf)
        chosen = torch.where(going, scores.argmax(-1), pad)
        written[:, place] = chosen
        going &= chosen != end
        if not going.any():
            break
        new = chosen[:, None]
    return written.cpu().numpy()


@torch.no_grad()
def teacher_forced(model: Transformer, batch: Batch) -> NDArray[np.bool_]:
    """Whether the most likely token is the right one everywhere in the answer, given the right ones before it [B].

    The same problems as those in which greedy generation writes the whole answer.
    """
    tokens = torch.as_tensor(batch.tokens).to(model.embedding.device)
    x, shares = model(tokens[:, :-1])
    context = tokens[:, None, :-1].expand(-1, tokens.shape[1] - 1, -1)
    scores = model.log_probabilities(x, shares, context)
    right = (scores.argmax(-1) == tokens[:, 1:]).cpu().numpy()
    return np.all(right | ~batch.answer_mask[:, 1:], axis=1)


@contextmanager
def restored(model: Transformer, start_rows: Sequence[Tensor], ids: Tensor) -> Iterator[None]:
    """The rows ``ids`` as they were at the start, inside the block."""
    with torch.no_grad():
        kept = [matrix[ids].clone() for matrix in matrices(model)]
        for matrix, start in zip(matrices(model), start_rows, strict=True):
            matrix[ids] = start[ids]
        try:
            yield
        finally:
            for matrix, rows in zip(matrices(model), kept, strict=True):
                matrix[ids] = rows


def evaluate(
    model: Transformer,
    structures: Structures,
    vocabulary: Vocabulary,
    *,
    seed: int,
    unseen: str,
    restricted: bool = False,
) -> dict[str, Any]:
    """Names drawn anew for the problems, answers generated and graded.

    Returns:
        "problems", "exact" and "verdict" (counts of right ones), "teacher" (counts of exact ones with the right tokens
        given), and one count for each kind of first error.
    """
    rng = np.random.default_rng((seed, 3, CONDITIONS.index(unseen)))
    batch = rename(structures, rng, vocabulary, unseen=unseen)
    grades = check_answers(batch, generate(model, batch, vocabulary, restricted=restricted))
    return {
        "problems": len(structures),
        "exact": int(grades.exact.sum()),
        "verdict": int(grades.verdict_right.sum()),
        "teacher": int(teacher_forced(model, batch).sum()),
        **{kind: count for kind, count in grades.kinds().items() if kind != "none"},
    }
