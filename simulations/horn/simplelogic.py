"""SimpleLogic's random problems, which leak their labels, and its published examples.

Zhang, Li, Meng, Chang and Van den Broeck, "On the Paradox of Learning to Reason from Data" (2022), and the repository
joshuacnf/paradox-learning2reason: rule priority (RP) draws rules, facts and query and computes the label; label priority
(LP) draws labels first and rules that respect them; balanced RP keeps as many TRUE as FALSE problems of each number of
rules. Here balanced RP keeps all that match, where the published script keeps an equal share of each number of rules.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collapse_theory.checks import integer
from collapse_theory.errors import InputError

from ._checker import forward_chain
from ._masks import Bools
from ._structures import Problem, Structures, pack

KINDS = ("rp", "lp", "rp_balanced")

VARIABLES = (5, 30)
"""Variables of a problem, as published."""

MAX_DEPTH = 6
"""Deepest problems that are kept, as published for training."""

Rule = tuple[tuple[int, ...], int]


def simplelogic(
    kind: str, count: int, rng: np.random.Generator, *, by_depth: bool = False
) -> Structures:
    """``count`` problems of SimpleLogic.

    Args:
        kind: ``"rp"``, ``"lp"`` or ``"rp_balanced"``.
        count: how many; for ``"rp_balanced"`` even.
        rng: seeds the draws.
        by_depth: draw until every depth from 0 to 6 has equally many problems (up to one), as the published data sets
            do; deeper ones are left out. Balancing comes after that.

    Raises:
        InputError: on an unknown kind or a bad count.
    """
    if kind not in KINDS:
        raise InputError(f"kind: got {kind!r:.60}, expected one of {', '.join(KINDS)}")
    count = integer("count", count, least=1)
    draws = Random(int(rng.integers(2**62)))
    if kind != "rp_balanced":
        return pack(_drawn(kind, count, draws, by_depth))
    if count % 2:
        raise InputError(f"count: got {count}, expected an even number: half of them are TRUE")
    kept: list[Problem] = []
    waiting: dict[tuple[int, bool], list[Problem]] = {}
    while len(kept) < count:
        for problem in _drawn("rp", count, draws, by_depth):
            key = len(problem.rules), problem.query in forward_chain(problem)
            partners = waiting.get((key[0], not key[1]))
            if partners:
                kept += [partners.pop(), problem]
            else:
                waiting.setdefault(key, []).append(problem)
    kept = kept[:count]
    draws.shuffle(kept)
    return pack(kept)


def _drawn(kind: str, count: int, draws: Random, by_depth: bool) -> list[Problem]:
    make = rule_priority if kind == "rp" else label_priority
    if not by_depth:
        return [make(draws.randint(*VARIABLES), draws) for _ in range(count)]
    room = [count // (MAX_DEPTH + 1) + (d < count % (MAX_DEPTH + 1)) for d in range(MAX_DEPTH + 1)]
    kept = []
    while any(room):
        problem = make(draws.randint(*VARIABLES), draws)
        deep = depth(problem, most=MAX_DEPTH + 1)
        if deep <= MAX_DEPTH and room[deep]:
            room[deep] -= 1
            kept.append(problem)
    draws.shuffle(kept)
    return kept


def rule_priority(variables: int, draws: Random) -> Problem:
    """RP: 0 to 4 rules a variable, all different, 0 to ``variables`` facts, any query."""
    names = range(variables)
    rules: dict[tuple[frozenset[int], int], Rule] = {}
    wanted = draws.randint(0, 4 * variables)
    while len(rules) < wanted:
        *premises, head = draws.sample(names, min(draws.randint(1, 3) + 1, variables))
        rules.setdefault((frozenset(premises), head), (tuple(premises), head))
    facts = draws.sample(names, draws.randint(0, variables))
    return _shuffled(variables, list(rules.values()), facts, draws.choice(names), draws)


def label_priority(variables: int, draws: Random) -> Problem:
    """LP: labels drawn on levels, a rule with premises of the same label for each variable above the first level, then up
    to 3 rules a variable that no label contradicts; the facts are the first level's TRUE variables."""
    order = draws.sample(range(variables), variables)
    depth_of_graph = draws.randint(1, variables // 2)
    width = variables // depth_of_graph
    spare = order[: variables % depth_of_graph]
    order = order[variables % depth_of_graph :]
    label: dict[int, bool] = {}
    rules: list[Rule] = []
    below: list[int] = []
    first: list[int] = []
    for number in range(depth_of_graph):
        level, order = order[:width], order[width:]
        if number and spare:
            level.append(spare.pop(0))
        for v in level:
            label[v] = draws.random() < 0.5
        # Both labels occur on every level; on a single level twice.
        fixed = (False, True, False, True) if depth_of_graph == 1 else (False, True)
        label.update(zip(level, fixed, strict=False))
        if not number:
            first = level
        for v in level if number else []:
            same = [u for u in below if label[u] == label[v]]
            rules.append((tuple(draws.sample(same, draws.randint(1, min(3, len(same))))), v))
        below = level
    rules += _consistent(variables, label, draws)
    facts = [v for v in first if label[v]]
    return _shuffled(variables, rules, facts, draws.choice(range(variables)), draws)


def _consistent(variables: int, label: dict[int, bool], draws: Random) -> list[Rule]:
    """Rules without a FALSE head under TRUE premises; an all-TRUE one is followed by an all-FALSE one."""
    rules: list[Rule] = []
    false = [v for v in label if not label[v]]
    wanted = draws.randint(0, 3 * variables)
    while len(rules) < wanted:
        head = draws.choice(range(variables))
        others = [v for v in range(variables) if v != head]
        while True:
            premises = draws.sample(others, draws.randint(1, 3))
            all_true = all(label[p] for p in premises)
            if label[head] or not all_true:
                break
        rules.append((tuple(premises), head))
        if all_true:
            head = draws.choice(false)
            others = [v for v in false if v != head]
            premises = draws.sample(others, draws.randint(1, min(3, len(others))))
            rules.append((tuple(premises), head))
    return rules


def _shuffled(
    variables: int, rules: list[Rule], facts: Sequence[int], query: int, draws: Random
) -> Problem:
    rules = [(tuple(draws.sample(body, len(body))), head) for body, head in rules]
    draws.shuffle(rules)
    facts = draws.sample(facts, len(facts))
    return Problem(variables=variables, rules=tuple(rules), facts=tuple(facts), query=query)


def depth(problem: Problem, *, most: int) -> int:
    """SimpleLogic's depth: rounds of forward chaining for TRUE; for FALSE how deep backward chaining goes before it
    fails, cut at ``most``."""
    derived = forward_chain(problem)
    if problem.query in derived:
        return derived[problem.query]
    return _failure(problem, most)


def _failure(problem: Problem, most: int) -> int:
    """The longest way to fail: the worst rule, of each rule the premise that fails first; a variable that is its own
    ancestor fails at once. Alpha-beta pruning leaves the value as it is."""
    endless = 10**8  # of a variable that does not fail
    bodies: dict[int, list[tuple[int, ...]]] = {}
    for body, head in problem.rules:
        bodies.setdefault(head, []).append(body)
    facts, above = frozenset(problem.facts), set()

    def value(v: int, level: int, least: int, ceiling: int) -> int:
        if v in facts:
            return endless
        if v in above or level == most:
            return level
        best = level
        above.add(v)
        for body in bodies.get(v, ()):
            floor = max(best, least)
            worst = endless
            for premise in body:
                worst = min(worst, value(premise, level + 1, floor, min(worst, ceiling)))
                if worst <= floor:
                    break
            best = max(best, worst)
            if best >= ceiling:
                break
        above.remove(v)
        return best

    return value(problem.query, 0, -1, endless + 1)


# ---------------------------------------------------------------------------------- published examples


@dataclass(frozen=True, kw_only=True)
class Examples:
    """Published examples: the problems, and the labels ``[N]`` and depths ``[N]`` that the file states."""

    structures: Structures
    labels: Bools
    depths: NDArray[np.int64]


def read_examples(path: str | Path) -> Examples:
    """Read SimpleLogic's JSON (a list of objects with preds, rules, facts, query, label, depth), plain or ``.gz``.

    The file's labels are kept apart from the verdicts that :class:`Structures` computes.

    Raises:
        InputError: when the file is missing, damaged or not in that format.
    """
    path = Path(path)
    try:
        raw = path.read_bytes()
        data = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; check the path") from error
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as JSON ({error}); fetch it again") from error
    if not isinstance(data, list) or not data:
        raise InputError(f"{path}: expected a list of examples; give a file of SimpleLogic's")
    problems, labels, depths = [], [], []
    for i, example in enumerate(data):
        try:
            problems.append(_problem(example))
            if example["label"] not in (0, 1):
                raise ValueError(f"label {example['label']!r}")
            labels.append(bool(example["label"]))
            depths.append(int(example["depth"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{path}: example {i} is not in SimpleLogic's format ({type(error).__name__}: {error}); "
                "it needs preds, rules, facts, query, label and depth"
            ) from error
    return Examples(
        structures=pack(problems), labels=np.array(labels), depths=np.array(depths, np.int64)
    )


def _problem(example: dict[str, Any]) -> Problem:
    number = {name: i for i, name in enumerate(example["preds"])}
    return Problem(
        variables=len(number),
        rules=tuple(
            (tuple(number[p] for p in body), number[head]) for body, head in example["rules"]
        ),
        facts=tuple(number[f] for f in example["facts"]),
        query=number[example["query"]],
    )
