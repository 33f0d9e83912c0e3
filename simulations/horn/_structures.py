"""Horn problems without names: rules, facts and a query over local numbers; their traces and texts.

The order of a trace, stated once for all formats: **a rule before a fact**. At each step, if some rule is ready (all its
premises are written, its head is not), the head of the first such rule in the text is written; otherwise the next fact
in the text that is not yet written; when there is neither, the trace is complete. Without free rules at most one rule
is ready at a time, and it has the variable written last among its premises: a chain is followed to its end or to a
conjunction that waits for another premise, then the next fact starts another chain.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from collapse_theory.checks import integer
from collapse_theory.errors import InputError

from ._config import MOST_VARIABLES, TRACES
from ._language import AND, ARROW, BOS, COLON, EOS, FACTS, FALSE, NEXT, QUERY, STOP, TRUE, WORDS
from ._masks import NEVER, Bools, Ints, Masks, all_of, derivation_rounds, traces


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One Horn problem over the variables ``0 .. variables - 1``; a rule is ``(premises, head)``."""

    variables: int
    rules: tuple[tuple[tuple[int, ...], int], ...]
    facts: tuple[int, ...]
    query: int


@dataclass(frozen=True, kw_only=True)
class Structures:
    """Many problems, padded with -1 on the right; ``N`` of them, variables are local numbers.

    Attributes:
        premises: ``[N, R, P]``, rules in the order of the text.
        heads: ``[N, R]``.
        facts: ``[N, F]``, in the order of the text.
        query: ``[N]``.
        variables: ``[N]``, how many variables occur.
        verdict: ``[N]``, whether the query follows.
        depth: ``[N]``, the round of forward chaining that derives the query (0 for a fact). For a FALSE query the round
            that would if every variable that no rule concludes were a fact; -1 when not even then.
        trace: ``[N, T]``, the variables written in the answer before ``.`` or the verdict.
        template: ``[N, L]``, the text: a special token's id, or ``len(WORDS) + v`` for variable v; PAD on the right.
        prompt_length: ``[N]``, tokens up to and with ``:``.
        lengths: ``[N]``, tokens in all.
        trace_format: ``"closure"`` or ``"until_query"``.
    """

    premises: Ints
    heads: Ints
    facts: Ints
    query: Ints
    variables: Ints
    verdict: Bools
    depth: Ints
    trace: Ints
    template: Ints
    prompt_length: Ints
    lengths: Ints
    trace_format: str

    def __len__(self) -> int:
        return len(self.query)

    @property
    def width(self) -> int:
        """The largest number of variables, the second dimension of symbols."""
        return int(self.variables.max(initial=0))

    def take(self, index: Any) -> Structures:
        """The problems at ``index``: a slice, a mask or an array of positions."""
        if isinstance(index, (int, np.integer)):
            index = [index]
        changes = {name: getattr(self, name)[index] for name in _ARRAYS}
        return Structures(**changes, trace_format=self.trace_format)

    def problem(self, i: int) -> Problem:
        """The problem at position ``i``."""
        rules = tuple(
            (tuple(int(p) for p in premises if p >= 0), int(head))
            for premises, head in zip(self.premises[i], self.heads[i], strict=True)
            if head >= 0
        )
        return Problem(
            variables=int(self.variables[i]),
            rules=rules,
            facts=tuple(int(f) for f in self.facts[i] if f >= 0),
            query=int(self.query[i]),
        )


_ARRAYS = tuple(f.name for f in dataclasses.fields(Structures) if f.name != "trace_format")


def structures_of(
    premises: Ints, heads: Ints, facts: Ints, query: Ints, variables: Ints, *, trace: str
) -> Structures:
    """Structures with verdicts, depths, traces and texts, from padded arrays (shapes as in :class:`Structures`)."""
    rules = Masks.of(premises, heads, facts)
    order = traces(rules, facts, int(variables.max(initial=0)))
    each = np.arange(len(query))
    rounds = derivation_rounds(rules, rules.facts, order.shape[1])
    assumed = rules.facts | (all_of(variables) & ~rules.concluded)
    hoped = derivation_rounds(rules, assumed, order.shape[1])
    verdict = rounds[each, query] != NEVER
    depth = np.where(verdict, rounds[each, query], hoped[each, query]).astype(np.int16)
    depth[depth == NEVER] = -1
    if trace == "until_query":
        reached = (order == query[:, None]) & verdict[:, None]
        order = np.where((reached.cumsum(1) - reached) > 0, -1, order)
    template, prompt_length, lengths = _texts(premises, heads, facts, query, verdict, order, trace)
    return Structures(
        premises=premises,
        heads=heads,
        facts=facts,
        query=query,
        variables=variables,
        verdict=verdict,
        depth=depth,
        trace=order,
        template=template,
        prompt_length=prompt_length,
        lengths=lengths,
        trace_format=trace,
    )


def pack(problems: Sequence[Problem], *, trace: str = "closure") -> Structures:
    """Structures of given problems, in their order.

    Raises:
        InputError: on an empty list, a variable out of range, a rule without premises or with a premise twice, a fact
            stated twice, more than 62 variables, or an unknown trace format.
    """
    if trace not in TRACES:
        raise InputError(f"trace: got {trace!r:.60}, expected one of {', '.join(TRACES)}")
    if not problems:
        raise InputError("problems: none given; give at least one")
    for i, problem in enumerate(problems):
        _check(i, problem)
    most_rules = max(max(len(p.rules) for p in problems), 1)
    most_premises = max((len(r[0]) for p in problems for r in p.rules), default=1)
    most_facts = max(max(len(p.facts) for p in problems), 1)
    premises = np.full((len(problems), most_rules, most_premises), -1, np.int8)
    heads = np.full((len(problems), most_rules), -1, np.int8)
    facts = np.full((len(problems), most_facts), -1, np.int8)
    for i, problem in enumerate(problems):
        facts[i, : len(problem.facts)] = problem.facts
        for j, (body, head) in enumerate(problem.rules):
            premises[i, j, : len(body)] = body
            heads[i, j] = head
    query = np.array([p.query for p in problems], np.int8)
    variables = np.array([p.variables for p in problems], np.int16)
    return structures_of(premises, heads, facts, query, variables, trace=trace)


def _check(i: int, problem: Problem) -> None:
    name = f"problems[{i}]"
    count = integer(f"{name}.variables", problem.variables, least=1)
    if count > MOST_VARIABLES:
        raise InputError(f"{name}.variables: {count} is too many; at most {MOST_VARIABLES}")
    used = [problem.query, *problem.facts]
    for body, head in problem.rules:
        if not body or len(set(body)) < len(body):
            raise InputError(f"{name}.rules: premises {body}; give at least one, and none twice")
        used += [*body, head]
    for variable in used:
        if integer(f"{name}: a variable", variable, least=0) >= count:
            raise InputError(
                f"{name}: variable {variable} is out of range; they run from 0 to {count - 1}"
            )
    if len(set(problem.facts)) < len(problem.facts):
        raise InputError(f"{name}.facts: {problem.facts} states a fact twice")


def _texts(
    premises: Ints, heads: Ints, facts: Ints, query: Ints, verdict: Bools, trace: Ints, form: str
) -> tuple[Ints, Ints, Ints]:
    """Template, prompt length and length: every word has a column, and absent words are squeezed out."""
    count, rules, width = premises.shape
    absent = -1
    first = len(WORDS)

    def column(word: int | Ints) -> Ints:
        return np.broadcast_to(np.asarray(word, np.int16), (count,))[:, None]

    def named(variables: Ints) -> Ints:
        return np.where(variables >= 0, variables.astype(np.int16) + first, absent)

    blocks = [column(BOS)]
    for r in range(rules):
        here = heads[:, r] >= 0
        for p in range(width):
            if p:
                blocks.append(column(np.where(premises[:, r, p] >= 0, AND, absent)))
            blocks.append(named(premises[:, r, p])[:, None])
        blocks.append(column(np.where(here, ARROW, absent)))
        blocks.append(named(heads[:, r])[:, None])
        blocks.append(column(np.where(here, NEXT, absent)))
    blocks += [column(FACTS), named(facts), column(QUERY), named(query)[:, None], column(COLON)]
    prompt = np.concatenate(blocks, axis=1)
    answer = [named(trace)]
    if form == "closure":
        answer += [column(STOP), named(query)[:, None]]
    else:
        answer.append(column(np.where(verdict, absent, STOP)))
    answer += [column(np.where(verdict, TRUE, FALSE)), column(EOS)]
    text = np.concatenate([prompt, *answer], axis=1)
    prompt_length = (prompt != absent).sum(1)
    lengths = (text != absent).sum(1)
    out = np.zeros((count, int(lengths.max(initial=0))), np.int16)  # PAD is 0
    row, place = np.nonzero(text != absent)
    out[row, (text != absent).cumsum(1)[row, place] - 1] = text[row, place]
    return out, prompt_length, lengths
