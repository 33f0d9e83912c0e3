"""Conclusions about variants of the loss at a small size, in the symbols of the claims' instances."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from sympy import Piecewise

from .conclude import LABELS
from .derivation import Derivation, Goal, Part, Statement
from .small import Small, Table, step_table
from .symbols import Step, i, m
from .types import Expr


@dataclass(frozen=True)
class Setting:
    """How a variant is written out: its own symbols, the sizes, and which lines are one hypothesis of the claim.

    `table` has the symbols beside those of a step, `sizes` the integer fields of its instances. `ids` maps lines whose
    name is not the hypothesis's id to it. `forms` are verified equations that take the place of definitions.
    """

    table: Table = field(default_factory=dict)
    dim: int = 2
    examples: int = 2
    sizes: Mapping[str, object] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)
    forms: tuple[str, ...] = ("logratio=d",)
    structural: tuple[str, ...] = ("unseen",)

    def small(self, derivation: Derivation) -> Small:
        """The instance, with every definition of the derivation."""
        definitions: list[Statement] = list(derivation.context().meanings().values())
        definitions += self._forms(derivation)
        return Small(
            {**step_table(LABELS), **self.table},
            definitions,
            labels=LABELS,
            dim=self.dim,
            examples=self.examples,
        )

    def _forms(self, derivation: Derivation) -> list[Statement]:
        """The equations that take the place of definitions: they must hold without the claim's hypotheses."""
        context, found = derivation.context(), []
        for name in self.forms:
            assumed = {context.kind(line) for line in context.assumptions(name)}
            if not assumed <= {"setting"} or derivation[name].statement.relation != "==":
                raise ValueError(f"{name!r} rests on hypotheses, or is no equation")
            found.append(derivation[name].statement)
        return found

    def margins(self, small: Small, margins: Sequence[Expr]) -> tuple[Expr, ...]:
        """The margins at every example and coordinate that they speak of; the last axis is that of the lines."""
        free = [s for s in (i, m) if any(s in margin.free_symbols for margin in margins)]
        spans = [range(1, {i: self.examples, m: self.dim}[s] + 1) for s in free]
        return tuple(
            small(margin, dict(zip(free, chosen, strict=True)))
            for chosen in product(*spans)
            for margin in margins
        )

    def side(self, small: Small, side: Expr, *, vector: bool) -> Expr | tuple[Expr, ...]:
        """A side of the conclusion, a tuple of coordinates if it is a vector: then for the generic instance."""
        if not vector:
            return small(side)
        return tuple(generic(small(side, {m: number + 1})) for number in range(self.dim))

    def part(
        self,
        derivation: Derivation,
        goal: str,
        hypotheses: Mapping[str, Sequence[Expr]],
        statement: Statement,
    ) -> Part:
        """The statement and the hypotheses' margins, written out."""
        small = self.small(derivation)
        vector = m in statement.margin.free_symbols
        sizes = {"K": LABELS, "n": self.dim, "N": self.examples, **self.sizes}
        return Part(
            id=goal,
            hypotheses={name: self.margins(small, found) for name, found in hypotheses.items()},
            structural=self.structural,
            loss=small(derivation["loss"].statement.rhs),
            lhs=self.side(small, statement.lhs, vector=vector),
            rhs=self.side(small, statement.rhs, vector=vector),
            sizes=sizes,  # pyright: ignore[reportArgumentType] - an integer field may be an array
        )

    def of(self, derivation: Derivation, goals: Iterable[Goal]) -> tuple[Part, ...]:
        """The goals, each with the hypotheses that it rests on."""
        parts = []
        for goal in goals:
            found: dict[str, list[Expr]] = {}
            for name in goal.hypotheses:
                margin = derivation[name].statement.margin
                found.setdefault(self.ids.get(name, name), []).append(margin)
            statement = derivation[goal.line].statement
            parts.append(self.part(derivation, goal.id, found, statement))
        return tuple(parts)

    @property
    def conclude(self) -> Callable[[Derivation], tuple[Part, ...]]:
        """What a derivation takes as `conclude`: all of its goals."""
        return lambda derivation: self.of(derivation, derivation.goals)


def generic(expression: Expr) -> Expr:
    """The first case of every `Piecewise`, so that `L_i d_i` cancels to `p_u - p_v`, as in the library's formulas."""
    return expression.replace(Piecewise, lambda *cases: cases[0][0])


def contracts(q: Step) -> tuple[Expr, Expr]:
    """Both sides of `|D+| <= (1 - eta lam)|D|`."""
    norm, new = q.name("norm", nonnegative=True), q.name("nextnorm", nonnegative=True)
    return new, (1 - q.eta * q.lam) * norm
