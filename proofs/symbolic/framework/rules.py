"""Rules of algebra: definitions, derivatives, and combinations of earlier lines.

Each rule is sound on its own and checked by SymPy alone, without sampling.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from sympy import Dummy, Integer, S, Sum, Symbol

from .algebra import derivative, fresh_bound, split, substitute
from .derivation import Context, Kind, Refused, Relation, Statement
from .naming import check_name, promise
from .signs import is_nonnegative, is_nonzero, is_positive, is_real
from .types import Expr

TESTS = {
    "positive": is_positive,
    "nonnegative": is_nonnegative,
    "nonzero": is_nonzero,
    "real": is_real,
}
Fact: TypeAlias = str | tuple[str, Mapping[Symbol, Symbol]]


@dataclass(frozen=True)
class Assume:
    """An assumption: a hypothesis of the claim, a fact of the setting, or an induction hypothesis.

    It holds at every value of its free indices, but for those in `fixed`: at these it holds at one value only.
    """

    kind: Kind = "hypothesis"
    uses: tuple[str, ...] = ()
    relation: Relation = "<="
    fixed: tuple[Symbol, ...] = ()

    def check(self, statement: Statement, so_far: Context) -> None:
        """Nothing to show but the kind of statement; goals say which assumptions they rest on."""
        if statement.relation != self.relation:
            raise Refused(f"should be assumed with {self.relation}")


@dataclass(frozen=True)
class Define:
    """A new name for an expression. What the name's SymPy assumptions say must be shown."""

    uses: tuple[str, ...] = ()
    defines: bool = True

    def check(self, statement: Statement, so_far: Context) -> None:
        """The name is fresh and has every index, the definition is not circular, and its sign is earned."""
        check_name(statement, so_far)
        test = TESTS[promise(statement.lhs)]
        if not test(statement.rhs):
            raise Refused(f"{test.__name__} is not shown for the definition of {statement.lhs}")


@dataclass(frozen=True)
class Differentiate:
    """A new name for the derivative of the expression defined in line `of` with respect to `by`."""

    of: str
    by: Expr
    defines: bool = True

    @property
    def uses(self) -> tuple[str, ...]:
        """The line with the expression."""
        return (self.of,)

    def check(self, statement: Statement, so_far: Context) -> None:
        """The right side, all definitions unfolded, is the derivative that SymPy computes."""
        Define().check(statement, so_far)
        computed = derivative(so_far.unfold_all(so_far[self.of].statement.rhs), self.by)
        if not so_far.zero(computed - so_far.unfold_all(statement.rhs)):
            raise Refused("is not the derivative that SymPy computes")


@dataclass(frozen=True)
class Term:
    """`factor` times the margins of the `facts`, summed over the indices `over` in their ranges.

    A fact is the name of a line, or that name with a renaming of its free indices.
    """

    factor: Expr | int
    facts: tuple[Fact, ...] = ()
    over: tuple[Symbol, ...] = ()

    @property
    def uses(self) -> tuple[str, ...]:
        """Names of the lines."""
        return tuple(fact if isinstance(fact, str) else fact[0] for fact in self.facts)

    def value(self, so_far: Context, *, need_equation: bool) -> Expr:
        """The term, shown to be >= 0, or shown to be 0 because one of its facts is an equation."""
        result, has_equation = Integer(1) * self.factor, False
        if not is_real(result):
            raise Refused(f"the factor {self.factor} is not shown to be defined and real")
        for fact in self.facts:
            name, renaming = (fact, {}) if isinstance(fact, str) else fact
            statement = so_far[name].statement
            has_equation |= statement.relation == "=="
            _may_vary(name, (*renaming, *self.over), so_far)
            for index, other in renaming.items():
                if so_far.ranges.get(index) != so_far.ranges.get(other):
                    raise Refused(f"{index} and {other} have different ranges")
            result = result * substitute(statement.margin, renaming)
        if not has_equation and need_equation:
            raise Refused("an equation needs equations as facts")
        if not has_equation and not is_nonnegative(Integer(1) * self.factor):
            raise Refused(f"the factor {self.factor} is not shown to be >= 0")
        if not self.over:
            return result
        return Sum(result, *((index, *so_far.ranges[index]) for index in self.over))


def _may_vary(name: str, indices: tuple[Symbol, ...], so_far: Context) -> None:
    """Refuse unless line `name` holds for every value of `indices`."""
    for index in indices:
        if index not in so_far.ranges:
            raise Refused(f"{index} is no index with a range")
        for assumed in so_far.assumptions(name):
            fixed = so_far.kind(assumed) == "induction" or index in so_far.fixed(assumed)
            if fixed and index in so_far[assumed].statement.margin.free_symbols:
                raise Refused(f"{index} is fixed by the assumption {assumed!r}")


@dataclass(frozen=True)
class Combine:
    """The margin is a combination of margins of earlier lines, with factors that SymPy finds >= 0.

    Covers identities (no terms), sums of squares, scaling by a factor >= 0, transitivity and the use of
    equations (whose factors may have any sign). Both sides are first rewritten with `unfold`; then
    the identity `margin == sum of the terms` is checked.
    """

    terms: tuple[Term, ...] = ()
    unfold: tuple[str, ...] = ()

    @property
    def uses(self) -> tuple[str, ...]:
        """Facts and equations."""
        return (*(name for term in self.terms for name in term.uses), *self.unfold)

    def check(self, statement: Statement, so_far: Context) -> None:
        """Check the identity and the sign of every factor."""
        need = statement.relation == "=="
        total = sum((term.value(so_far, need_equation=need) for term in self.terms), S.Zero)
        if not so_far.zero(so_far.unfold(statement.margin - total, self.unfold)):
            raise Refused("the margin is not the stated combination")


@dataclass(frozen=True)
class Branches:
    """Two cases, `variable != 0` and `variable == 0`; each is a combination as in `Combine`.

    `Piecewise` parts that ask for `variable != 0` are resolved by the case. `nonnegative` says that the
    variable itself is assumed >= 0, so that it is positive in the first case.
    """

    variable: Expr
    away: tuple[Term, ...] = ()
    at: tuple[Term, ...] = ()
    unfold: tuple[str, ...] = ()

    @property
    def uses(self) -> tuple[str, ...]:
        """Facts and equations."""
        return (*(name for term in (*self.away, *self.at) for name in term.uses), *self.unfold)

    def check(self, statement: Statement, so_far: Context) -> None:
        """Check the two identities and the sign of every factor."""
        need = statement.relation == "=="
        margin = fresh_bound(so_far.unfold(statement.margin, self.unfold))
        away, at = split(margin, self.variable)
        known = bool(self.variable.is_nonnegative)
        nonzero = Dummy("v", positive=True) if known else Dummy("v", real=True, nonzero=True)
        for case, terms, value in ((away, self.away, nonzero), (at, self.at, S.Zero)):
            moved = (
                Term(substitute(Integer(1) * t.factor, {self.variable: value}), t.facts, t.over)
                for t in terms
            )
            total = sum((term.value(so_far, need_equation=need) for term in moved), S.Zero)
            total = fresh_bound(so_far.unfold(total, self.unfold))
            pair = split(total, self.variable)
            total = pair[1] if value == 0 else pair[0].xreplace({self.variable: value})
            if not so_far.zero(case.xreplace({self.variable: value}) - total):
                raise Refused(f"the margin is not the stated combination where v = {value}")
