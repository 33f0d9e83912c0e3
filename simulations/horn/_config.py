"""What random Horn problems look like: sizes, depth, trace format."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from collapse_theory.checks import integer
from collapse_theory.errors import InputError

MOST_VARIABLES = 62
"""A set of variables is one bit mask in an int64."""

TRACES = ("closure", "until_query")


@dataclass(frozen=True, kw_only=True)
class HornConfig:
    """Sizes of random Horn problems. Every range is ``(least, most)``, both included.

    Attributes:
        variables: propositional variables that occur in the text; at most 62.
        rules: rules in the text, ``free_rules`` among them.
        premises: premises of a rule.
        facts: facts in the text. A fact is never the query, and no forest rule concludes it.
        depth: rounds of forward chaining that the query needs. For a FALSE query, which is never derived: the rounds
            it would need if every variable that no rule concludes were a fact.
        free_rules: rules whose head and premises are drawn freely (cycles included) after the others. The others make
            a forest: each variable is the head of at most one and a premise of at most one, so that without free
            rules at most one rule is ready at any moment of forward chaining.
        firing: share of problems in which a conjunction (a rule with two premises or more) fires; None leaves it as
            it comes.
        trace: ``"closure"`` writes the whole closure, ``.``, the query, the verdict. ``"until_query"`` stops at the
            query and writes TRUE, or writes the whole closure, ``.`` and FALSE.

    Raises:
        InputError: on ranges that are empty, out of bounds or contradict one another.
    """

    variables: tuple[int, int] = (6, 10)
    rules: tuple[int, int] = (3, 6)
    premises: tuple[int, int] = (1, 2)
    facts: tuple[int, int] = (1, 3)
    depth: tuple[int, int] = (2, 4)
    free_rules: tuple[int, int] = (0, 0)
    firing: float | None = 0.3
    trace: str = "closure"

    def __post_init__(self) -> None:
        least = {"variables": 3, "free_rules": 0}
        for field in fields(self):
            if field.name not in ("firing", "trace"):
                value = _range(field.name, getattr(self, field.name), least.get(field.name, 1))
                object.__setattr__(self, field.name, value)
        if self.trace not in TRACES:
            raise InputError(f"trace: got {self.trace!r:.60}, expected one of {', '.join(TRACES)}")
        if self.variables[1] > MOST_VARIABLES:
            raise InputError(
                f"variables: {self.variables[1]} is too many; at most {MOST_VARIABLES}"
            )
        if self.premises[1] > 3:
            raise InputError(f"premises: {self.premises[1]} is too many; rules have 1 to 3")
        if self.premises[1] >= self.variables[0]:
            raise InputError(
                f"premises: {self.premises[1]} need more than {self.variables[0]} variables; "
                "raise the least number of variables"
            )
        if self.depth[0] >= self.variables[1]:
            raise InputError(
                f"depth: {self.depth[0]} needs more than {self.variables[1]} variables"
            )
        if self.rules[0] - self.free_rules[1] >= self.variables[1]:
            raise InputError(
                f"rules: {self.rules[0]} is too many for {self.variables[1]} variables, each the head of at most "
                "one; raise variables or free_rules"
            )
        if self.free_rules[0] >= self.rules[1]:
            raise InputError(
                f"free_rules: {self.free_rules[0]} leave no room in {self.rules[1]} rules; raise rules"
            )
        self._check_firing()

    def _check_firing(self) -> None:
        share = self.firing
        if share is None:
            return
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
            raise InputError(f"firing: got {share!r:.60}, expected a share from 0 to 1, or None")
        if share > 0 and (self.premises[1] < 2 or self.facts[1] < 2):
            raise InputError(
                f"firing: {share} needs rules with two premises and two facts; raise premises and facts, or give None"
            )


def _range(name: str, value: Any, least: int) -> tuple[int, int]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise InputError(f"{name}: got {value!r:.60}, expected (least, most)")
    low = integer(name, value[0], least=least)
    high = integer(name, value[1], least=least)
    if high < low:
        raise InputError(f"{name}: got ({low}, {high}); the second number must not be smaller")
    return low, high


PRESETS = {
    "easy": HornConfig(),
    "chains": HornConfig(
        variables=(6, 9), rules=(4, 7), premises=(1, 1), facts=(1, 2), depth=(2, 4), firing=None
    ),
    "medium": HornConfig(
        variables=(10, 14), rules=(6, 11), premises=(1, 3), facts=(2, 5), depth=(2, 6), firing=0.5
    ),
    "large": HornConfig(
        variables=(16, 24),
        rules=(12, 26),
        premises=(1, 3),
        facts=(4, 8),
        depth=(2, 6),
        free_rules=(2, 6),
        firing=None,
    ),
}
"""Named configurations: ``easy`` is learned by two layers of width 64; ``chains`` has no conjunctions; ``large`` has
cycles and several rules for a head."""
