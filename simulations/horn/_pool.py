"""Random forests of rules with facts, from which problems are picked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._config import HornConfig
from ._masks import Bools, Ints


@dataclass(frozen=True)
class Picked:
    """Pairs: row 2i is TRUE, row 2i + 1 is FALSE with the same signature. (In a pool rows are still single.)"""

    premises: Ints
    heads: Ints
    facts: Ints
    query: Ints
    variables: Ints
    firing: Bools  # one for each pair

    def __len__(self) -> int:
        return len(self.firing)

    def where(self, pairs: Bools | Ints) -> Picked:
        """The pairs that a mask or positions pick out."""
        index = np.arange(len(self))[pairs]
        rows = (2 * index[:, None] + np.arange(2)).ravel()
        return Picked(
            self.premises[rows],
            self.heads[rows],
            self.facts[rows],
            self.query[rows],
            self.variables[rows],
            self.firing[index],
        )


def joined(parts: list[Picked]) -> Picked:
    """The pairs of all parts, in order."""
    names = ("premises", "heads", "facts", "query", "variables", "firing")
    return Picked(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))


def drawn_pool(config: HornConfig, size: int, rng: np.random.Generator) -> Picked:
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
        within(variables, config.variables)
        & within(rule_count, config.rules)
        & within(fact_count, config.facts)
        & ((heads < 0) | within(body, config.premises)).all(1)
    )
    none = np.zeros(int(keep.sum()), np.int8)
    return Picked(premises[keep], heads[keep], facts[keep], none, variables[keep], none > 0)


def within(values: Ints, bounds: tuple[int, int]) -> Bools:
    """Where values lie in a range, ends included."""
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
