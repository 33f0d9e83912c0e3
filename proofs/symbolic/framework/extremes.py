"""Rules of order that variants of the loss need: squares, absolute values, maxima.

Each is sound on its own and rests on the cited lines alone.
"""

from dataclasses import dataclass

from sympy import Abs, Max, S

from .algebra import fresh_bound
from .derivation import Context, Refused, Statement
from .inference import _same  # pyright: ignore[reportPrivateUsage]
from .signs import is_real
from .types import Expr


@dataclass(frozen=True)
class AbsCases:
    """A statement about `|inside|`, `inside` real, holds if it holds with `inside` and with `-inside` in its place.

    The absolute value of a real number is one of the two. Both cases must be identities; both sides are first rewritten
    with `unfold`.
    """

    inside: Expr
    unfold: tuple[str, ...] = ()

    @property
    def uses(self) -> tuple[str, ...]:
        """The equations."""
        return self.unfold

    def check(self, statement: Statement, so_far: Context) -> None:
        """Both cases are identities, and no other absolute value is left."""
        if statement.relation != "==" or not is_real(self.inside):
            raise Refused("needs an equation and a real number")
        absolute = Abs(self.inside)
        margin = fresh_bound(so_far.unfold(statement.margin, self.unfold))
        if margin.atoms(Abs) != {absolute}:
            raise Refused(f"has another absolute value than {absolute}, or none")
        for value in (self.inside, -self.inside):
            if not so_far.zero(margin.xreplace({absolute: value})):
                raise Refused(f"is no identity with {value} for {absolute}")


@dataclass(frozen=True)
class MaxAbove:
    """A maximum is at least each of its arguments."""

    uses: tuple[str, ...] = ()

    def check(self, statement: Statement, so_far: Context) -> None:
        """The left side is one of the arguments of the right side."""
        largest = statement.rhs
        if statement.relation != "<=" or not isinstance(largest, Max):
            raise Refused("needs an inequality whose right side is a maximum")
        if not any(so_far.zero(statement.lhs - argument) for argument in largest.args):
            raise Refused("the left side is none of the arguments of the maximum")


@dataclass(frozen=True)
class MaxIs:
    """From `small <= large` (line `of`) to `Max(small, large) == large`."""

    of: str

    @property
    def uses(self) -> tuple[str, ...]:
        """The line that compares the two."""
        return (self.of,)

    def check(self, statement: Statement, so_far: Context) -> None:
        """The left side is the maximum of the two sides of the line, the right side its larger one."""
        known = so_far[self.of].statement
        if statement.relation != "==" or known.relation != "<=":
            raise Refused("needs an equation, and an inequality to rest on")
        if not isinstance(statement.lhs, Max) or len(statement.lhs.args) != 2:
            raise Refused("the left side is no maximum of two")
        for small, large in (statement.lhs.args, statement.lhs.args[::-1]):
            fits = so_far.zero(known.lhs - small) and so_far.zero(known.rhs - large)
            if fits and so_far.zero(statement.rhs - large):
                return
        raise Refused(f"does not follow from {known}")


@dataclass(frozen=True)
class ZeroSquare:
    """A square that is at most 0 is the square of 0: from `x**2 <= 0` (line `of`) to `x == 0`, x real."""

    of: str

    @property
    def uses(self) -> tuple[str, ...]:
        """The line about the square."""
        return (self.of,)

    def check(self, statement: Statement, so_far: Context) -> None:
        """The line says that the square of the left side is at most 0."""
        if statement.relation != "==" or statement.rhs != 0 or not is_real(statement.lhs):
            raise Refused("should say that a real number is 0")
        wanted = Statement(statement.lhs**2, "<=", S.Zero)
        _same(so_far[self.of].statement, wanted, so_far)
