"""Rules for what is positive, or not negative: a hypothesis as a name, and a quantity that an earlier line bounds."""

from dataclasses import dataclass

from sympy import Mul

from .derivation import Context, Kind, Refused, Statement
from .naming import check_name, promise
from .signs import is_nonnegative, is_positive


@dataclass(frozen=True)
class Positive:
    """The hypothesis `expression > 0`, as `name == expression` with a fresh name for a positive number.

    That such a number exists is what `expression > 0` says, no less and no more. Of kind "case" it is the one of two
    cases that a rule distinguishes, and that rule discharges it.
    """

    kind: Kind = "hypothesis"
    uses: tuple[str, ...] = ()
    names: bool = True

    def check(self, statement: Statement, so_far: Context) -> None:
        """The name is fresh and positive, and has every index on which the expression depends."""
        _names_positive(statement, so_far)


@dataclass(frozen=True)
class Nonzero:
    """The hypothesis `expression != 0`, as `name == expression` with a fresh name for a number that is not 0."""

    uses: tuple[str, ...] = ()
    kind: Kind = "hypothesis"
    names: bool = True

    def check(self, statement: Statement, so_far: Context) -> None:
        """The name is fresh and not 0, nothing else, and has every index on which the expression depends."""
        check_name(statement, so_far)
        if promise(statement.lhs) != "nonzero":
            raise Refused(f"{statement.lhs} is no name for a number that is not 0")


@dataclass(frozen=True)
class Nonnegative:
    """The hypothesis, or fact of the setting, `expression >= 0`, as `name == expression` with a fresh name for a number
    that is not negative."""

    kind: Kind = "hypothesis"
    uses: tuple[str, ...] = ()
    names: bool = True

    def check(self, statement: Statement, so_far: Context) -> None:
        """The name is fresh, promises just that, and has every index on which the expression depends."""
        _names_nonnegative(statement, so_far)


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
        """The name is fresh; the line says `positive <= expression`, or `==`."""
        _names_positive(statement, so_far)
        bound = so_far[self.above].statement
        _everywhere(self.above, so_far)
        if not is_positive(bound.lhs):
            raise Refused(
                f"{self.above!r} does not say that something positive is at most anything"
            )
        if not so_far.zero(bound.rhs - statement.rhs):
            raise Refused(f"{self.above!r} is no bound for {statement.rhs}")


@dataclass(frozen=True)
class DefineNonnegative:
    """A new name, not negative, for an expression of which line `sign` says that it is not: `0 <= expression`."""

    sign: str
    defines: bool = True

    @property
    def uses(self) -> tuple[str, ...]:
        """The line about the sign."""
        return (self.sign,)

    def check(self, statement: Statement, so_far: Context) -> None:
        """The name is fresh; the line is `0 <= expression`, and rests on no induction hypothesis."""
        _names_nonnegative(statement, so_far)
        line = so_far[self.sign].statement
        if line.relation != "<=" or line.lhs != 0 or not so_far.zero(line.rhs - statement.rhs):
            raise Refused(f"{self.sign!r} does not say that {statement.rhs} is not negative")
        _everywhere(self.sign, so_far)


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
    check_name(statement, so_far)
    if promise(statement.lhs) != "positive":
        raise Refused(f"{statement.lhs} is no name for a positive number")


def _names_nonnegative(statement: Statement, so_far: Context) -> None:
    check_name(statement, so_far)
    if promise(statement.lhs) != "nonnegative":
        raise Refused(f"{statement.lhs} is no name for a number >= 0")


def _everywhere(name: str, so_far: Context) -> None:
    """Refuse a line that stands at one time, or at one index, only: a name says the same at all of them."""
    if so_far.local(name):
        raise Refused(f"{name!r} rests on what is assumed at one index only")
