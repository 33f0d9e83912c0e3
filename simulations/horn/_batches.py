"""Problems with names: symbols drawn afresh, token batches, and what stays the same under renaming."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collapse_theory.checks import whole_numbers
from collapse_theory.errors import InputError

from ._language import WORDS, Vocabulary
from ._masks import Bools, Ints, mixed
from ._structures import Structures

UNSEEN = ("none", "query", "all")


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Token texts of ``B`` problems, padded with PAD on the right to the longest, ``L``.

    Attributes:
        tokens: ``[B, L]`` int64.
        answer_mask: ``[B, L]``, which positions hold answer tokens: all after ``:``, the verdict and EOS included.
        prompt_length: ``[B]``, tokens up to and with ``:``.
        lengths: ``[B]``, tokens in all.
        query: ``[B]``, the token of the query.
        verdict: ``[B]``.
        symbols: ``[B, m]``, the token of each local variable, -1 where a problem has fewer.
        vocabulary: the words.
    """

    tokens: NDArray[np.int64]
    answer_mask: Bools
    prompt_length: Ints
    lengths: Ints
    query: NDArray[np.int64]
    verdict: Bools
    symbols: NDArray[np.int64]
    vocabulary: Vocabulary

    def __len__(self) -> int:
        return len(self.tokens)


def rename(
    structures: Structures,
    source: np.random.Generator | Any,
    vocabulary: Vocabulary,
    *,
    unseen: str = "none",
) -> Batch:
    """Give every problem's variables symbols.

    Args:
        structures: ``B`` problems.
        source: a generator that draws distinct symbols for each problem, or the symbols themselves, ``[B, m]`` token
            ids (-1 or any number beyond a problem's variables).
        vocabulary: the words.
        unseen: with a generator: ``"none"`` draws seen symbols alone, ``"query"`` an unseen one for the query alone,
            ``"all"`` unseen ones alone. Given symbols are taken as they are.

    Raises:
        InputError: when the vocabulary has too few symbols, or given symbols have the wrong shape, repeat within a
            problem or are no symbols.
    """
    if unseen not in UNSEEN:
        raise InputError(f"unseen: got {unseen!r:.60}, expected one of {', '.join(UNSEEN)}")
    if isinstance(source, np.random.Generator):
        symbols = _draw(structures, source, vocabulary, unseen)
    else:
        symbols = _given(structures, source, vocabulary)
    return _batch(structures, symbols, vocabulary)


def _batch(structures: Structures, symbols: NDArray[np.int64], vocabulary: Vocabulary) -> Batch:
    count = len(structures)
    lengths = structures.lengths
    longest = int(lengths.max(initial=0))
    words = np.empty((count, len(WORDS) + symbols.shape[1]), np.int64)
    words[:, : len(WORDS)] = np.arange(len(WORDS))
    words[:, len(WORDS) :] = symbols
    each = np.arange(count)[:, None]
    place = np.arange(longest)
    answer = (place >= structures.prompt_length[:, None]) & (place < lengths[:, None])
    return Batch(
        tokens=words[each, structures.template[:, :longest]],
        answer_mask=answer,
        prompt_length=structures.prompt_length,
        lengths=lengths,
        query=symbols[each[:, 0], structures.query],
        verdict=structures.verdict,
        symbols=symbols,
        vocabulary=vocabulary,
    )


def _draw(
    structures: Structures, rng: np.random.Generator, vocabulary: Vocabulary, unseen: str
) -> NDArray[np.int64]:
    count, width = len(structures), structures.width
    seen, reserved = vocabulary.seen_symbols, vocabulary.unseen_symbols
    first_unseen = len(WORDS) + seen
    if unseen == "all":
        symbols = _distinct(rng, count, width, reserved, "unseen") + first_unseen
    else:
        symbols = _distinct(rng, count, width, seen, "seen") + len(WORDS)
    if unseen == "query":
        if not reserved:
            raise InputError("vocabulary: has no unseen symbols; give unseen of at least 1")
        fresh = rng.integers(first_unseen, first_unseen + reserved, count)
        symbols[np.arange(count), structures.query] = fresh
    symbols[np.arange(width) >= structures.variables[:, None]] = -1
    return symbols


def _distinct(
    rng: np.random.Generator, count: int, width: int, available: int, kind: str
) -> NDArray[np.int64]:
    """``[count, width]`` uniform among rows of distinct numbers below ``available``."""
    if available < width:
        raise InputError(
            f"vocabulary: {available} {kind} symbols for problems of {width} variables; give at least {width}"
        )
    if available < 2 * width * width:
        # Rejection would seldom succeed.
        keys = rng.random((count, available))
        return np.argsort(keys, axis=1)[:, :width].astype(np.int64)
    drawn = rng.integers(0, available, (count, width))
    while True:
        ordered = np.sort(drawn, axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]).any(1)
        if not twice.any():
            return drawn
        drawn[twice] = rng.integers(0, available, (int(twice.sum()), width))


def _given(structures: Structures, symbols: Any, vocabulary: Vocabulary) -> NDArray[np.int64]:
    array = whole_numbers("symbols", symbols)
    shape = (len(structures), structures.width)
    if array.shape != shape:
        raise InputError(f"symbols: got shape {array.shape}, expected {shape}")
    used = np.arange(shape[1]) < structures.variables[:, None]
    wrong = used & ((array < len(WORDS)) | (array >= vocabulary.size))
    if wrong.any():
        raise InputError(
            f"symbols: {array[wrong][0]} is no symbol; ids run from {len(WORDS)} to {vocabulary.size - 1}"
        )
    array = np.where(used, array, -1)
    # Unused places get distinct negative numbers, so that only used ones can clash.
    ordered = np.sort(np.where(used, array, -2 - np.arange(shape[1])), axis=1)
    clash = (ordered[:, 1:] == ordered[:, :-1]).any(1)
    if clash.any():
        raise InputError(
            f"symbols: a symbol repeats in row {int(np.flatnonzero(clash)[0])}; give distinct ones"
        )
    return array


def fingerprints(structures: Structures) -> NDArray[np.uint64]:
    """``[N]`` uint64 hashes of the prompts up to renaming: equal for problems that differ only in their variables' names.

    Variables count in the order of their first place in the text (query included), the order of rules, premises and
    facts matters, and padding does not. Two problems that differ share one of 2^64 values by accident alone.
    """
    first = len(WORDS)
    longest = int(structures.prompt_length.max(initial=0))
    text = structures.template[:, :longest].astype(np.int64)
    text[np.arange(longest) >= structures.prompt_length[:, None]] = 0
    each = np.arange(len(text))
    number = np.full((len(text), structures.width), -1, np.int64)
    known = np.zeros(len(text), np.int64)
    for place in range(longest):
        variable = text[:, place] - first
        some = variable >= 0
        row, v = each[some], variable[some]
        fresh = number[row, v] < 0
        number[row[fresh], v[fresh]] = known[row[fresh]]
        known[row[fresh]] += 1
        text[row, place] = number[row, v] + first
    state = np.zeros(len(text), np.uint64)
    for place in range(longest):
        some = text[:, place] > 0
        state[some] = mixed(np.stack([state[some], text[some, place].astype(np.uint64)], axis=1))
    return state


def apart(structures: Structures, *others: Structures) -> Structures:
    """The problems of ``structures`` that, up to renaming, occur in none of ``others`` and not before among themselves.

    For test sets. Of the verdict that is left in excess the last ones are dropped: half of the result is TRUE.
    """
    marks = fingerprints(structures)
    known = [fingerprints(other) for other in others]
    fresh = np.zeros(len(marks), bool)
    fresh[np.unique(marks, return_index=True)[1]] = True
    fresh &= ~np.isin(marks, np.concatenate([marks[:0], *known]))
    true, false = (np.flatnonzero(fresh & (structures.verdict == v)) for v in (True, False))
    count = min(len(true), len(false))
    return structures.take(np.sort(np.concatenate([true[:count], false[:count]])))
