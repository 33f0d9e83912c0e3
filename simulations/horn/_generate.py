"""Random problems whose verdict no count gives away.

A pool of random forests of rules is drawn, and every head that may be asked for is a candidate. Candidates are sorted by
a **signature**: all that can be counted in the text and in the trace. A TRUE candidate is kept only together with a
FALSE candidate of the same signature, often of the same rules and facts; so given the signature the verdict is an even
bet. (SimpleLogic's balanced RP does this for the number of rules alone.)
"""

from __future__ import annotations

import numpy as np

from collapse_theory.checks import integer
from collapse_theory.errors import InputError

from ._config import HornConfig
from ._masks import NEVER, Bools, Ints, Masks, all_of, bits, derivation_rounds, mixed, traces, union
from ._pool import Picked, drawn_pool, joined, within
from ._structures import Structures, structures_of

POOL = 4096
LARGEST_POOL = 32768
MOST_POOLS = 200
"""Pools drawn before giving up on a configuration that yields too few pairs."""


def make_structures(config: HornConfig, count: int, rng: np.random.Generator) -> Structures:
    """``count`` random problems, half of them TRUE (for an odd count one more or one less), in random order.

    Raises:
        InputError: when ``count`` is not a whole number of at least 1, or so few pairs of a TRUE and a FALSE problem
            with equal counts turn up that ``count`` is out of reach.
    """
    count = integer("count", count, least=1)
    pairs = (count + 1) // 2
    wanted = _wanted(config, pairs)
    kept: list[list[Picked]] = [[], []]
    size = min(max(POOL, 2 * count), LARGEST_POOL)
    for _ in range(MOST_POOLS):
        found = _matched(drawn_pool(config, size, rng), config, rng)
        for firing in (0, 1):
            kept[firing].append(found.where(found.firing == firing))
        if all(sum(map(len, k)) >= w for k, w in zip(kept, wanted, strict=True)) and (
            sum(len(p) for k in kept for p in k) >= pairs
        ):
            break
        if _hopeless(kept, wanted):
            break
    chosen = _choose(kept, wanted, pairs, config, rng)
    order = rng.permutation(2 * pairs)[:count] if count % 2 == 0 else _odd(pairs, rng)
    return structures_of(
        chosen.premises[order],
        chosen.heads[order],
        chosen.facts[order],
        chosen.query[order],
        chosen.variables[order],
        trace=config.trace,
    )


def _wanted(config: HornConfig, pairs: int) -> tuple[int, int]:
    """Pairs asked for without and with a firing conjunction; (0, 0) leaves it open."""
    if config.firing is None:
        return 0, 0
    firing = round(config.firing * pairs)
    return pairs - firing, firing


def _hopeless(kept: list[list[Picked]], wanted: tuple[int, int]) -> bool:
    """Whether three pools gave nothing of a kind that is wanted."""
    if len(kept[0]) < 3:
        return False
    counts = [sum(map(len, k)) for k in kept]
    return sum(counts) == 0 or any(w and not c for c, w in zip(counts, wanted, strict=True))


def _choose(
    kept: list[list[Picked]],
    wanted: tuple[int, int],
    pairs: int,
    config: HornConfig,
    rng: np.random.Generator,
) -> Picked:
    parts = [joined(k) for k in kept]
    if config.firing is None:
        both = joined(parts)
        _enough(len(both), pairs, "")
        return both.where(rng.permutation(len(both))[:pairs])
    for part, number, kind in zip(parts, wanted, ("without", "with"), strict=True):
        _enough(len(part), number, f" {kind} a conjunction that fires")
    return joined(
        [
            part.where(rng.permutation(len(part))[:number])
            for part, number in zip(parts, wanted, strict=True)
        ]
    )


def _enough(found: int, needed: int, kind: str) -> None:
    if found < needed:
        raise InputError(
            f"config: found {found} of {needed} pairs of a TRUE and a FALSE problem with equal counts{kind}; "
            "widen the ranges of variables, rules and facts, or of depth"
        )


def _odd(pairs: int, rng: np.random.Generator) -> Ints:
    """All rows but one of the last pair, in random order."""
    rows = np.arange(2 * pairs)
    out = rng.integers(2)
    return rng.permutation(np.delete(rows, 2 * pairs - 1 - out))


# ----------------------------------------------------------------------------------------- candidates


def _matched(pool: Picked, config: HornConfig, rng: np.random.Generator) -> Picked:
    """Pairs of a TRUE and a FALSE candidate with the same signature."""
    premises, heads, facts, variables = pool.premises, pool.heads, pool.facts, pool.variables
    width = int(variables.max(initial=1))
    rules = Masks.of(premises, heads, facts)
    order = traces(rules, facts, width)
    rounds = derivation_rounds(rules, rules.facts, width)
    assumed = all_of(variables) & ~rules.concluded
    hoped = derivation_rounds(rules, assumed | rules.facts, width)
    written = np.full((len(heads), width + 1), width, np.int16)  # places in the trace
    places = np.broadcast_to(np.arange(width, dtype=np.int16), order.shape)
    np.put_along_axis(written, np.where(order < 0, width, order).astype(np.int64), places, axis=1)
    true = rounds != NEVER
    depth = np.where(true, rounds, hoped)
    place = np.int64(1) << np.arange(width)
    may_ask = (
        ((rules.concluded & ~rules.facts)[:, None] & place != 0)
        & within(depth, config.depth)
        & within(hoped, config.depth)
    )
    row, query = np.nonzero(may_ask)
    if not len(row):
        return pool.where(np.zeros(0, np.int64))
    verdict = true[row, query]
    closure = (order >= 0).sum(1)[row]
    length = closure
    if config.trace == "until_query":
        length = np.where(verdict, written[row, query] + 1, closure)
    fires = (rules.premises & union(bits(order))[:, None]) == rules.premises
    body = (premises >= 0).sum(2)
    firing = (fires & (body >= 2)).any(1)[row]
    own = heads[row] == query[:, None]
    as_premise = ((premises[row] == query[:, None, None]).any(2)).sum(1)
    from_facts = np.bitwise_count(rules.premises & rules.facts[:, None])
    fact_premises = (own * from_facts[row]).sum(1)
    # For a query one step away they are the reasoning itself.
    fact_premises[hoped[row, query] < 2] = 0
    counted = [
        variables[row],
        (heads >= 0).sum(1)[row],
        (facts >= 0).sum(1)[row],
        *((body == k).sum(1)[row] for k in range(1, premises.shape[2] + 1)),
        from_facts.sum(1)[row],
        length,
        firing,
        hoped[row, query],
        own.sum(1),
        (own * body[row]).sum(1),
        as_premise,
        fact_premises,
    ]
    signature = mixed(np.stack(counted, axis=1))
    true_at, false_at = _pairs(signature, verdict, rng)
    both = np.stack([true_at, false_at], axis=1).ravel()
    rows = row[both]
    return Picked(
        premises[rows],
        heads[rows],
        facts[rows],
        query[both].astype(np.int8),
        variables[rows],
        firing[true_at],
    )


def _pairs(signature: Ints, verdict: Bools, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Positions of TRUE and FALSE entries, matched within each signature at random, none used twice."""
    keyed = []
    for wanted in (True, False):
        at = rng.permutation(np.flatnonzero(verdict == wanted))
        at = at[np.argsort(signature[at], kind="stable")]
        s = signature[at]
        new = np.ones(len(s), bool)
        new[1:] = s[1:] != s[:-1]
        start = np.maximum.accumulate(np.where(new, np.arange(len(s)), 0))
        rank = np.arange(len(s)) - start
        keyed.append((mixed(np.stack([s, rank.astype(s.dtype)], axis=1)), at))
    (t, t_at), (f, f_at) = keyed
    _, ti, fi = np.intersect1d(t, f, assume_unique=True, return_indices=True)
    return t_at[ti], f_at[fi]
