"""Random problems whose verdict no count gives away.

A pool of random forests of rules is drawn, and every head that may be asked for is a candidate. Candidates are sorted by
a **signature**: all that can be counted in the text and in the trace. A TRUE candidate is kept only together with a
FALSE candidate of the same signature, often of the same rules and facts; so given the signature the verdict is an even
bet. (SimpleLogic's balanced RP does this for the number of rules alone.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collapse_theory.checks import integer
from collapse_theory.errors import InputError

from ._config import HornConfig
from ._structures import (
    NEVER,
    Bools,
    Ints,
    Masks,
    Structures,
    bits,
    derivation_rounds,
    structures_of,
    traces,
)

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
    kept: list[list[_Picked]] = [[], []]
    size = min(max(POOL, 2 * count), LARGEST_POOL)
    for _ in range(MOST_POOLS):
        found = _matched(_pool(config, size, rng), config, rng)
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


@dataclass(frozen=True)
class _Picked:
    """Pairs: row 2i is TRUE, row 2i + 1 is FALSE with the same signature."""

    premises: Ints
    heads: Ints
    facts: Ints
    query: Ints
    variables: Ints
    firing: Bools  # one for each pair

    def __len__(self) -> int:
        return len(self.firing)

    def where(self, pairs: Bools | Ints) -> _Picked:
        index = np.arange(len(self))[pairs]
        rows = (2 * index[:, None] + np.arange(2)).ravel()
        return _Picked(
            self.premises[rows],
            self.heads[rows],
            self.facts[rows],
            self.query[rows],
            self.variables[rows],
            self.firing[index],
        )


def _wanted(config: HornConfig, pairs: int) -> tuple[int, int]:
    """Pairs asked for without and with a firing conjunction; (0, 0) leaves it open."""
    if config.firing is None:
        return 0, 0
    firing = round(config.firing * pairs)
    return pairs - firing, firing


def _hopeless(kept: list[list[_Picked]], wanted: tuple[int, int]) -> bool:
    """Whether three pools gave nothing of a kind that is wanted."""
    if len(kept[0]) < 3:
        return False
    counts = [sum(map(len, k)) for k in kept]
    return sum(counts) == 0 or any(w and not c for c, w in zip(counts, wanted, strict=True))


def _choose(
    kept: list[list[_Picked]],
    wanted: tuple[int, int],
    pairs: int,
    config: HornConfig,
    rng: np.random.Generator,
) -> _Picked:
    parts = [_joined(k) for k in kept]
    if config.firing is None:
        both = _joined(parts)
        _enough(len(both), pairs, "")
        return both.where(rng.permutation(len(both))[:pairs])
    for part, number, kind in zip(parts, wanted, ("without", "with"), strict=True):
        _enough(len(part), number, f" {kind} a conjunction that fires")
    return _joined(
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


def _joined(parts: list[_Picked]) -> _Picked:
    names = ("premises", "heads", "facts", "query", "variables", "firing")
    return _Picked(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))


def _odd(pairs: int, rng: np.random.Generator) -> Ints:
    """All rows but one of the last pair, in random order."""
    rows = np.arange(2 * pairs)
    out = rng.integers(2)
    return rng.permutation(np.delete(rows, 2 * pairs - 1 - out))


# ------------------------------------------------------------------------------------------- the pool


def _pool(config: HornConfig, size: int, rng: np.random.Generator) -> _Picked:
    """Random rules and facts (query 0, not yet chosen), rows that miss the configuration left out."""
    stated = rng.integers(config.facts[0], config.facts[1] + 1, size)
    # Two groups without rules across them; facts are stated in the first before the second. Otherwise small problems
    # rarely have a FALSE query as deep as the TRUE one beside as large a closure, and few pairs match.
    group = rng.integers(0, 2, (size, config.variables[1]), dtype=np.int8)
    premises, heads, concluded, variables = _forests(config, stated, group, rng)
    facts = _facts(stated, group, concluded, variables, rng)
    if config.free_rules[1]:
        premises, heads = _with_free_rules(config, premises, heads, variables, rng)
    keys = np.where(heads >= 0, rng.random(heads.shape), 2.0)
    order = np.argsort(keys, axis=1)  # rules in random order, padding last
    heads = np.take_along_axis(heads, order, 1)
    premises = np.take_along_axis(premises, order[:, :, None], 1)
    premises, heads, facts, variables = _without_gaps(premises, heads, facts)
    rule_count, fact_count = (heads >= 0).sum(1), (facts >= 0).sum(1)
    body = (premises >= 0).sum(2)
    keep = (
        _within(variables, config.variables)
        & _within(rule_count, config.rules)
        & _within(fact_count, config.facts)
        & ((heads < 0) | _within(body, config.premises)).all(1)
    )
    none = np.zeros(int(keep.sum()), np.int8)
    return _Picked(premises[keep], heads[keep], facts[keep], none, variables[keep], none > 0)


def _within(values: Ints, bounds: tuple[int, int]) -> Bools:
    return (values >= bounds[0]) & (values <= bounds[1])


def _forests(
    config: HornConfig, stated: Ints, group: Ints, rng: np.random.Generator
) -> tuple[Ints, Ints, Bools, Ints]:
    """Each variable at most once a head, at most once a premise; premises have smaller numbers than heads.

    More variables stay without a rule than facts will be ``stated``, so that something may be false.
    """
    size, most = len(stated), config.variables[1]
    variables = rng.integers(config.variables[0], most + 1, size)
    least = max(config.rules[0] - config.free_rules[1], 1)
    room = np.maximum(variables - stated - 1, 1)
    highest = np.minimum(config.rules[1] - config.free_rules[0], room)
    wanted = rng.integers(np.minimum(least, highest), highest + 1)
    rules, width = int(highest.max()), config.premises[1]
    premises = np.full((size, rules, width), -1, np.int8)
    heads = np.full((size, rules), -1, np.int8)
    concluded = np.zeros((size, most), bool)
    unused = np.zeros((size, most), bool)
    unused[:, 0] = True
    made = np.zeros(size, np.int64)
    for v in range(1, most):
        chance = (wanted - made) / np.maximum(variables - v, 1)
        usable = unused[:, :v] & (group[:, :v] == group[:, v : v + 1])
        row = np.flatnonzero((rng.random(size) < chance) & (v < variables) & usable.any(1))
        usable = usable[row]
        many = np.minimum(rng.integers(config.premises[0], width + 1, len(row)), usable.sum(1))
        keys = np.where(usable, rng.random((len(row), v)), 2.0)
        picked = np.argsort(keys, axis=1)[:, :width]
        picked = np.where(np.arange(picked.shape[1]) < many[:, None], picked, -1)
        premises[row, made[row], : picked.shape[1]] = picked
        heads[row, made[row]] = v
        where, column = np.nonzero(picked >= 0)
        unused[row[where], picked[where, column]] = False
        concluded[row, v] = True
        unused[:, v] = v < variables
        made[row] += 1
    return premises, heads, concluded, variables


def _facts(
    stated: Ints, group: Ints, concluded: Bools, variables: Ints, rng: np.random.Generator
) -> Ints:
    """Distinct variables that no rule of the forest concludes, in random order."""
    most = concluded.shape[1]
    leaf = ~concluded & (np.arange(most) < variables[:, None])
    keys = np.where(leaf, rng.random(leaf.shape) + group, 3.0)
    facts = np.argsort(keys, axis=1)[:, : int(stated.max())]
    many = np.minimum(stated, leaf.sum(1))[:, None]
    facts = np.where(np.arange(facts.shape[1]) < many, facts, -1)
    order = np.argsort(np.where(facts >= 0, rng.random(facts.shape), 2.0), axis=1)
    return np.take_along_axis(facts, order, 1).astype(np.int8)


def _with_free_rules(
    config: HornConfig, premises: Ints, heads: Ints, variables: Ints, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Rules whose head and premises are distinct variables drawn freely, put after the others."""
    size, most = len(heads), config.variables[1]
    extra, width = config.free_rules[1], config.premises[1]
    wanted = rng.integers(config.free_rules[0], extra + 1, size)
    keys = rng.random((size, extra, most))
    keys[np.broadcast_to((np.arange(most) >= variables[:, None])[:, None], keys.shape)] = 2.0
    drawn = np.argsort(keys, axis=2)[:, :, : width + 1]
    many = rng.integers(config.premises[0], width + 1, (size, extra))
    here = np.arange(extra) < wanted[:, None]
    free_heads = np.where(here, drawn[:, :, 0], -1)
    body = here[:, :, None] & (np.arange(width) < many[:, :, None])
    free_premises = np.where(body, drawn[:, :, 1:], -1)
    return (
        np.concatenate([premises, free_premises], axis=1).astype(np.int8),
        np.concatenate([heads, free_heads], axis=1).astype(np.int8),
    )


def _without_gaps(premises: Ints, heads: Ints, facts: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Numbers 0, 1, ... for the variables that occur, and how many do."""
    size = len(heads)
    flat = np.concatenate([premises.reshape(size, -1), heads, facts], axis=1)
    most = int(flat.max(initial=0)) + 1
    occurs = np.zeros((size, most + 1), bool)  # the last column takes the padding -1
    np.put_along_axis(occurs, flat.astype(np.int64), True, axis=1)
    occurs[:, -1] = False
    number = (np.cumsum(occurs, axis=1) - 1).astype(np.int8)
    number[:, -1] = -1

    def renumbered(array: Ints) -> Ints:
        old = array.reshape(size, -1).astype(np.int64)
        return np.take_along_axis(number, old, 1).reshape(array.shape)

    return (
        renumbered(premises),
        renumbered(heads),
        renumbered(facts),
        occurs.sum(1).astype(np.int16),
    )


# ----------------------------------------------------------------------------------------- candidates


def _matched(pool: _Picked, config: HornConfig, rng: np.random.Generator) -> _Picked:
    """Pairs of a TRUE and a FALSE candidate with the same signature."""
    premises, heads, facts, variables = pool.premises, pool.heads, pool.facts, pool.variables
    width = int(variables.max(initial=1))
    rules = Masks.of(premises, heads, facts)
    order = traces(rules, facts, width)
    rounds = derivation_rounds(rules, rules.facts, width)
    assumed = ((np.int64(1) << variables.astype(np.int64)) - 1) & ~rules.concluded
    hoped = derivation_rounds(rules, assumed | rules.facts, width)
    written = np.full((len(heads), width + 1), width, np.int16)  # places in the trace
    places = np.broadcast_to(np.arange(width, dtype=np.int16), order.shape)
    np.put_along_axis(written, np.where(order < 0, width, order).astype(np.int64), places, axis=1)
    true = rounds != NEVER
    depth = np.where(true, rounds, hoped)
    place = np.int64(1) << np.arange(width)
    may_ask = (
        ((rules.concluded & ~rules.facts)[:, None] & place != 0)
        & _within(depth, config.depth)
        & _within(hoped, config.depth)
    )
    row, query = np.nonzero(may_ask)
    if not len(row):
        return pool.where(np.zeros(0, np.int64))
    verdict = true[row, query]
    closure = (order >= 0).sum(1)[row]
    length = closure
    if config.trace == "until_query":
        length = np.where(verdict, written[row, query] + 1, closure)
    fires = (rules.premises & np.bitwise_or.reduce(bits(order), axis=1)[:, None]) == rules.premises
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
    return _Picked(
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


def mixed(columns: Ints) -> Ints:
    """One uint64 for each row of whole numbers ``[N, K]`` (a hash: splitmix64's finalizer over the columns)."""
    state = np.zeros(len(columns), np.uint64)
    for column in columns.T:
        state ^= column.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15) + (state << np.uint64(6))
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return state
