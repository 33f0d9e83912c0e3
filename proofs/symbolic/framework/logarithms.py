"""Rules between a product of positive factors and the sum of their logarithms."""

from dataclasses import dataclass

from sympy import Product, Sum, log

from .derivation import Context, Refused, Statement, at_most
from .inference import _same  # pyright: ignore[reportPrivateUsage]
from .signs import is_nonnegative, is_positive
from .types import Expr


def _in_logarithms(first: Expr, product: Expr, bound: Expr) -> Statement:
    """`ln(first/bound) <= sum of -ln(factor)`."""
    return at_most(log(first / bound), Sum(-log(product.function), *product.limits))


def _check_product(product: Expr) -> None:
    if not isinstance(product, Product) or not is_positive(product.function):
        raise Refused(f"the factors of {product} are not shown to be positive")


@dataclass(frozen=True)
class FromLogarithms:
    """From `ln(first/bound) <= sum -ln f_s` (line `of`) to `first * prod f_s <= bound`.

    Here `f_s > 0`, `bound > 0` and `first >= 0`. Line `case` names `first` where it is positive, and line `of` may rest on
    it: the exponential is increasing. Where `first` is 0 this is `0 <= bound`.
    """

    of: str
    product: Expr
    case: str

    @property
    def uses(self) -> tuple[str, ...]:
        """The line in logarithms and the case."""
        return (self.of, self.case)

    @property
    def discharges(self) -> tuple[str, ...]:
        """The case is no assumption of the result."""
        return (self.case,)

    def check(self, statement: Statement, so_far: Context) -> None:
        """The signs, and all lines."""
        _check_product(self.product)
        named = so_far[self.case].statement
        if so_far.kind(self.case) != "case" or named.relation != "==":
            raise Refused(f"{self.case!r} is no case")
        first, bound = named.rhs, statement.rhs
        if not is_positive(bound) or not is_nonnegative(first):
            raise Refused(f"{bound} > 0 or {first} >= 0 is not shown")
        _same(statement, at_most(first * self.product, bound), so_far)
        wanted = _in_logarithms(named.lhs, self.product, bound)
        _same(so_far[self.of].statement, wanted, so_far)


@dataclass(frozen=True)
class ToLogarithms:
    """From `first * prod f_s <= bound` (line `of`) to `ln(first/bound) <= sum -ln f_s`.

    Here `f_s > 0` and `first > 0`, so that `bound > 0` too; the logarithm is increasing.
    """

    of: str
    first: Expr
    product: Expr

    @property
    def uses(self) -> tuple[str, ...]:
        """The line with the product."""
        return (self.of,)

    def check(self, statement: Statement, so_far: Context) -> None:
        """The signs, and both lines."""
        _check_product(self.product)
        if not is_positive(self.first):
            raise Refused(f"{self.first} > 0 is not shown")
        known = so_far[self.of].statement
        _same(known, at_most(self.first * self.product, known.rhs), so_far)
        _same(statement, _in_logarithms(self.first, self.product, known.rhs), so_far)
