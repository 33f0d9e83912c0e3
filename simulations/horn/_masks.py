"""Sets of variables as bit masks: forward chaining of many problems at once, and hashes of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[Any]
Bools = NDArray[np.bool_]

NEVER = 127
"""The round of a variable that is never derived."""


@dataclass(frozen=True)
class Masks:
    """Sets of variables as int64 bit masks; a padded rule has no premises and no head."""

    premises: Ints  # [N, R]
    heads: Ints  # [N, R]
    facts: Ints  # [N]

    @classmethod
    def of(cls, premises: Ints, heads: Ints, facts: Ints) -> Masks:
        """Masks of padded arrays of local numbers."""
        return cls(union(bits(premises)), bits(heads), union(bits(facts)))

    @property
    def concluded(self) -> Ints:
        """Variables that some rule concludes, ``[N]``."""
        return union(self.heads)


def bits(variables: Ints) -> Ints:
    """``1 << v``, and 0 for the padding -1."""
    return np.where(variables >= 0, np.int64(1) << np.maximum(variables, 0).astype(np.int64), 0)


def union(masks: Ints) -> Ints:
    """The union along the last axis: column by column, many times faster than reducing short rows."""
    out = masks[..., 0].copy()
    for column in range(1, masks.shape[-1]):
        out |= masks[..., column]
    return out


def all_of(variables: Ints) -> Ints:
    """The set of the first ``variables`` variables."""
    return (np.int64(1) << variables.astype(np.int64)) - 1


def derivation_rounds(rules: Masks, start: Ints, width: int) -> Ints:
    """``[N, width]``: the round of forward chaining from ``start`` that derives each variable, :data:`NEVER` if none."""
    rounds = np.full((len(start), width), NEVER, np.int8)
    place = np.int64(1) << np.arange(width)
    rounds[(start[:, None] & place) != 0] = 0
    live, known = np.arange(len(start)), start.copy()
    premises, heads = rules.premises, rules.heads
    for now in range(1, width + 1):
        ready = (known[:, None] & premises) == premises
        new = union(np.where(ready, heads, 0)) & ~known
        going = np.flatnonzero(new)
        if not len(going):
            break
        live, known, new = live[going], known[going] | new[going], new[going]
        premises, heads = premises[going], heads[going]
        row, variable = np.nonzero(new[:, None] & place)
        rounds[live[row], variable] = now
    return rounds


def traces(rules: Masks, facts: Ints, width: int) -> Ints:
    """``[N, width]``: the closure in the stated order, padded with -1."""
    count = len(facts)
    out = np.full((count, width), -1, np.int8)
    each = np.arange(count)
    written = np.zeros(count, np.int64)
    # A fact's number is searched for among heads and facts alike: both end as one bit.
    fact_bits = bits(facts)
    choices = np.concatenate([rules.heads, fact_bits], axis=1)
    needed = np.concatenate([rules.premises, np.zeros_like(fact_bits)], axis=1)
    for step in range(width):
        free = written[:, None]
        ready = ((free & needed) == needed) & ((free & choices) == 0) & (choices != 0)
        chosen = choices[each, ready.argmax(1)]
        chosen = np.where(ready.any(1), chosen, 0)
        if not chosen.any():
            break
        some = chosen != 0
        # frexp is exact for a power of two: the exponent is the bit's place plus one.
        out[some, step] = np.frexp(chosen[some].astype(np.float64))[1] - 1
        written |= chosen
    return out


def mixed(columns: Ints) -> Ints:
    """One uint64 for each row of whole numbers ``[N, K]`` (a hash: splitmix64's finalizer over the columns)."""
    state = np.zeros(len(columns), np.uint64)
    for column in columns.T:
        state ^= column.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15) + (state << np.uint64(6))
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return state
