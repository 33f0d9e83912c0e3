"""Rules of order about two real numbers: signs from sum and product, and the exponential."""

from dataclasses import dataclass

from sympy import S, exp

from .derivation import Context, Refused, Statement, at_most
from .inference import _same  # pyright: ignore[reportPrivateUsage]
from .signs import is_real
from .types import Expr


@dataclass(frozen=True)
class SumAndProduct:
    """Two real numbers whose sum and product are >= 0 are both >= 0: from `0 <= A B` and `0 <= A + B` to `0 <= A`.

    If A were negative, the sum would make B positive, and the product would be negative.
    """

    product: str
    total: str
    other: Expr

    @property
    def uses(self) -> tuple[str, ...]:
        """The lines about the product and the sum."""
        return (self.product, self.total)

    def check(self, statement: Statement, so_far: Context) -> None:
        """The statement says `0 <= A`; the lines are about A and `other`; both are real."""
        if statement.relation != "<=" or statement.lhs != 0:
            raise Refused("should say that a number is not negative")
        number = statement.rhs
        if not is_real(number) or not is_real(self.other):
            raise Refused(f"{number} or {self.other} is not shown to be real")
        for name, value in ((self.product, number * self.other), (self.total, number + self.other)):
            _same(so_far[name].statement, at_most(S.Zero, value), so_far)


@dataclass(frozen=True)
class Exponentials:
    """The exponential increases: from `a <= b` (line `of`), a and b real, to `exp(a) <= exp(b)`."""

    of: str

    @property
    def uses(self) -> tuple[str, ...]:
        """The line about the exponents."""
        return (self.of,)

    def check(self, statement: Statement, so_far: Context) -> None:
        """Both sides are exponentials of the sides of the line."""
        sides = (statement.lhs, statement.rhs)
        if statement.relation != "<=" or not all(isinstance(side, exp) for side in sides):
            raise Refused("needs an inequality between two exponentials")
        exponents = at_most(*(side.args[0] for side in sides))
        if not is_real(exponents.lhs) or not is_real(exponents.rhs):
            raise Refused("the exponents are not shown to be real")
        _same(so_far[self.of].statement, exponents, so_far)
