"""Conclusions about vectors, heads and single points at a small size, in the symbols of the claims' instances."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from .conclude_variants import generic
from .derivation import Derivation, Goal, Part
from .small import Small, Table, Values
from .strict import Nonzero, Positive
from .symbols import base_name
from .types import Expr


@dataclass(frozen=True)
class Written:
    """A derivation at a small size: `table` has the entries, and values for names that the derivation defines.

    `sizes` are the axes' sizes and integer fields of the claim's domain, `structural` the hypotheses that are built in.
    `forms` are verified equations that take the place of definitions.
    """

    derivation: Derivation
    table: Table
    dim: int
    sizes: Mapping[str, int]
    labels: int = 3
    examples: int = 1
    structural: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()

    @cached_property
    def small(self) -> Small:
        """General expressions written out; the name that a strict hypothesis introduces stands for its expression."""
        definitions = list(self.derivation.context().meanings().values())
        definitions += [
            line.statement
            for line in self.derivation.lines
            if isinstance(line.rule, (Positive, Nonzero))
        ]
        context = self.derivation.context()
        for name in self.forms:
            if context.assumptions(name) or context[name].statement.relation != "==":
                raise ValueError(f"{name!r} rests on assumptions, or is no equation")
            definitions.append(context[name].statement)
        return Small(
            self.table,
            [d for d in definitions if base_name(d.lhs) not in self.table],
            labels=self.labels,
            dim=self.dim,
            examples=self.examples,
        )

    def margins(self, name: str, places: Iterable[Values] = ({},)) -> tuple[Expr, ...]:
        """The margin of an assumed line at each of the places."""
        margin = self.derivation[name].statement.margin
        return tuple(generic(self.small(margin, place)) for place in places)

    def part(
        self,
        goal: Goal,
        hypotheses: Mapping[str, tuple[Expr, ...]],
        *,
        start: Expr,
        at: Values | None = None,
    ) -> Part:
        """The goal's line, with values `at` for its free indices; `start` is what the derivation starts from."""
        statement = self.derivation[goal.line].statement
        return Part(
            id=goal.id,
            hypotheses=hypotheses,
            structural=self.structural,
            loss=self.small(start),
            lhs=generic(self.small(statement.lhs, at)),
            rhs=generic(self.small(statement.rhs, at)),
            sizes=self.sizes,
        )
