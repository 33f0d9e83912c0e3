"""Rules for what is positive: a strict hypothesis, and a quantity that an earlier line bounds from below."""

from dataclasses import dataclass

from sympy import Indexed, Mul, Symbol

from .algebra import heads
from .derivation import Context, Kind, Refused, Statement
from .signs import is_nonnegative, is_positive
from .symbols import K, N, n


@dataclass(frozen=True)
class Positive:
    """The hypothesis `expression > 0`, as `name == expression` with a fresh name for a positive number.

    That such a number exists is what `expression > 0` says, no less and no more.
    """

    uses: tuple[str, ...] = ()
    kind: Kind = "hypothesis"

    def check(self, statement: Statement, so_far: Context) -> None:
        """The name is fresh and positive, and has every index on which the expression depends."""
        _names_positive(statement, so_far)


@dataclass(frozen=True)
class Nonzero:
    """The hypothesis `expression != 0`, as `name == expression` with a fresh name for a number that is not 0."""

    uses: tuple[str, ...] = ()
    kind: Kind = "hypothesis"

    def check(self, statement: Statement, so_far: Context) -> None:
        """The name is fresh and not 0, nothing else, and has every index on which the expression depends."""
        if not statement.lhs.is_nonzero or statement.lhs.is_nonnegative is not None:
            raise Refused(f"{statement.lhs} is no name for a number that is not 0")
        _names(statement, so_far)


@dataclass(frozen=True)
class DefinePositive:
    """A new name, positive, for an expression that line `above` bounds from below by something positive."""

    above: str
    defines: bool = True

    @property
    def uses(self) -> tuple[str, ...]:
        """The bound from below."""
        return (self.above,)

    def check(self, statement: Statement, so_far: Context) -> None:
        """The name is fresh; the line says `positive <= expression`."""
        _names_positive(statement, so_far)
        bound = so_far[self.above].statement
        if bound.relation != "<=" or not is_positive(bound.lhs):
            raise Refused(
                f"{self.above!r} does not say that something positive is at most anything"
            )
        if not so_far.zero(bound.rhs - statement.rhs):
            raise Refused(f"{self.above!r} is no bound for {statement.rhs}")


@dataclass(frozen=True)
class DefineFactor:
    """A new name, positive, for a factor >= 0 of a product that line `of` says is positive."""

    of: str
    defines: bool = True

    @property
    def uses(self) -> tuple[str, ...]:
        """The line about the product."""
        return (self.of,)

    def check(self, statement: Statement, so_far: Context) -> None:
        """The name is fresh; the line says `positive == expression * other`, both visibly >= 0."""
        _names_positive(statement, so_far)
        known = so_far[self.of].statement
        if known.relation != "==" or not is_positive(known.lhs):
            raise Refused(f"{self.of!r} does not say that something positive is a product")
        factors = known.rhs.args if isinstance(known.rhs, Mul) else ()
        if statement.rhs not in factors or not all(map(is_nonnegative, factors)):
            raise Refused(f"{statement.rhs} is no factor of a product of numbers >= 0")


def _names_positive(statement: Statement, so_far: Context) -> None:
    if not statement.lhs.is_positive:
        raise Refused(f"{statement.lhs} is no name for a positive number")
    _names(statement, so_far)


def _names(statement: Statement, so_far: Context) -> None:
    name, value = statement.lhs, statement.rhs
    if statement.relation != "==" or not isinstance(name, (Symbol, Indexed)):
        raise Refused(f"{name} is not named")
    if not so_far.fresh(name) or getattr(name, "base", name) in heads(value):
        raise Refused(f"{name} is not a fresh name")
    indices = {s for s in value.free_symbols if s.is_integer} - {K, N, n}
    if not indices <= name.free_symbols:
        raise Refused(f"{name} has not every index of {value}")
