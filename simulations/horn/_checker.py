"""An independent reader and checker of single problems, in plain Python: it shares no code with the generator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ._language import WORDS, Vocabulary
from ._structures import Problem


def forward_chain(problem: Problem) -> dict[int, int]:
    """The closure of one problem: each variable that follows, and the round of forward chaining that derives it."""
    derived = dict.fromkeys(problem.facts, 0)
    now = 0
    while True:
        now += 1
        new = {
            head
            for premises, head in problem.rules
            if head not in derived and all(p in derived for p in premises)
        }
        if not new:
            return derived
        derived.update(dict.fromkeys(new, now))


def trace_of(problem: Problem) -> list[int]:
    """The closure in the stated order: the first ready rule in the text, else the next fact."""
    written: list[int] = []
    while True:
        ready = [
            head
            for premises, head in problem.rules
            if head not in written and all(p in written for p in premises)
        ] + [fact for fact in problem.facts if fact not in written]
        if not ready:
            return written
        written.append(ready[0])


def read_text(tokens: Iterable[int], vocabulary: Vocabulary) -> tuple[Problem, list[str]]:
    """The problem that a text states and the words of its answer; a variable's number is its token id.

    Raises:
        ValueError: when the text does not follow the format.
    """
    ids = [int(t) for t in tokens]
    words = [vocabulary.name(t) for t in ids]
    try:
        return _parsed(ids, words, vocabulary.size)
    except IndexError as error:
        raise ValueError(f"the text ends after {len(words)} words, before its answer") from error


def _parsed(ids: list[int], words: list[str], count: int) -> tuple[Problem, list[str]]:
    def variable(i: int) -> int:
        if words[i] in WORDS:
            raise ValueError(f"word {i}: {words[i]} where a variable is due")
        return ids[i]

    def expect(i: int, *allowed: str) -> str:
        if words[i] not in allowed:
            raise ValueError(f"word {i}: {words[i]} where one of {allowed} is due")
        return words[i]

    expect(0, "BOS")
    at, rules = 1, []
    while words[at] != "FACTS":
        premises = [variable(at)]
        while expect(at + 1, "&", ">") == "&":
            at += 2
            premises.append(variable(at))
        rules.append((tuple(premises), variable(at + 2)))
        expect(at + 3, ";")
        at += 4
    at += 1
    facts = []
    while words[at] != "QUERY":
        facts.append(variable(at))
        at += 1
    query = variable(at + 1)
    expect(at + 2, ":")
    answer = words[at + 3 :]
    while answer and answer[-1] == "PAD":
        answer.pop()
    return Problem(variables=count, rules=tuple(rules), facts=tuple(facts), query=query), answer


def accepts(tokens: Sequence[int], vocabulary: Vocabulary, *, trace: str = "closure") -> bool:
    """Whether a text's answer is the one right answer to the problem that the same text states."""
    problem, answer = read_text(tokens, vocabulary)
    verdict = problem.query in forward_chain(problem)
    written = trace_of(problem)
    if trace == "until_query" and verdict:
        written = written[: written.index(problem.query) + 1]
    expected = [vocabulary.name(v) for v in written]
    if trace == "closure":
        expected += [".", vocabulary.name(problem.query)]
    elif not verdict:
        expected.append(".")
    return answer == [*expected, "TRUE" if verdict else "FALSE", "EOS"]
