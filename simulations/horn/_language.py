"""Words of the problems' text: one token for a word."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collapse_theory.checks import integer
from collapse_theory.errors import InputError

Ints = NDArray[np.int64]

WORDS = ("PAD", "BOS", "EOS", ">", "&", ";", "FACTS", "QUERY", ":", ".", "TRUE", "FALSE")
"""Special tokens in the order of their ids, from 0."""

PAD, BOS, EOS, ARROW, AND, NEXT, FACTS, QUERY, COLON, STOP, TRUE, FALSE = range(len(WORDS))


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """Special tokens, then ``seen`` symbols, then ``unseen`` symbols that training never shows.

    A symbol is one token and names a propositional variable: ``s0``, ``s1``, ... and ``u0``, ``u1``, ...

    Raises:
        InputError: when ``seen`` is not at least 1 or ``unseen`` not at least 0.
    """

    seen_symbols: int = 512
    unseen_symbols: int = 64

    def __init__(self, seen: int = 512, unseen: int = 64) -> None:
        object.__setattr__(self, "seen_symbols", integer("seen", seen, least=1))
        object.__setattr__(self, "unseen_symbols", integer("unseen", unseen, least=0))

    @property
    def size(self) -> int:
        """Tokens in all: specials, seen and unseen symbols."""
        return len(WORDS) + self.seen_symbols + self.unseen_symbols

    @property
    def specials(self) -> dict[str, int]:
        """Names of the special tokens and their ids."""
        return {word: token for token, word in enumerate(WORDS)}

    @property
    def seen(self) -> Ints:
        """Ids of the seen symbols, ``[seen]``."""
        return np.arange(len(WORDS), len(WORDS) + self.seen_symbols)

    @property
    def unseen(self) -> Ints:
        """Ids of the unseen symbols, ``[unseen]``."""
        return np.arange(len(WORDS) + self.seen_symbols, self.size)

    def name(self, token: int) -> str:
        """The word of one token id. Raises :class:`InputError` when it is out of range."""
        token = integer("token", token, least=0)
        if token >= self.size:
            raise InputError(f"token: {token} is out of range; ids run from 0 to {self.size - 1}")
        if token < len(WORDS):
            return WORDS[token]
        symbol = token - len(WORDS)
        if symbol < self.seen_symbols:
            return f"s{symbol}"
        return f"u{symbol - self.seen_symbols}"

    def text(self, tokens: Iterable[Any]) -> str:
        """Words of token ids, joined by blanks; PAD is left out."""
        return " ".join(self.name(int(token)) for token in tokens if token != PAD)
