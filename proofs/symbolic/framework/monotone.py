"""Rules about functions of one variable `v >= 0` in which everything else is fixed, and what they say at a real number.

A line may be used for every `v` only if nothing that it rests on speaks of `v`: no assumption, and no definition (a
name that stands for an expression in `v` would hide it from a derivative).
"""

from dataclasses import dataclass

from sympy import Add, Function, Integer, Mul, Pow, S, Symbol, cosh, exp, sinh, tanh

from .algebra import derivative, substitute
from .derivation import Context, Refused, Statement
from .inference import _same, free, undefined  # pyright: ignore[reportPrivateUsage]
from .rules import Combine, Define, Differentiate, Term
from .signs import is_real
from .types import Expr


def smooth(expression: Expr, variable: Symbol) -> bool:
    """Whether `expression` is visibly differentiable in `variable` at every real number.

    Built from the variable and real expressions without it by sums, products, whole powers, exp, sinh, cosh and tanh.
    """
    if variable not in expression.free_symbols:
        return is_real(expression)
    if isinstance(expression, Pow):
        whole = isinstance(expression.exp, Integer) and expression.exp > 0
        return whole and smooth(expression.base, variable)
    if isinstance(expression, (Add, Mul, exp, sinh, cosh, tanh)):
        return all(smooth(argument, variable) for argument in expression.args)
    return expression == variable


def opaque(expression: Expr) -> Expr:
    """The expression with tanh as a function that nothing is known of: what then vanishes identically does so for tanh."""
    return expression.replace(tanh, Function("tanh_", real=True))


@dataclass(frozen=True)
class Opaque(Combine):
    """`Combine` with tanh as an unknown function, so that it is not written out in exponentials: refuses more, sooner."""

    def check(self, statement: Statement, so_far: Context) -> None:
        """Check the identity and the sign of every factor."""
        need = statement.relation == "=="
        total = sum((term.value(so_far, need_equation=need) for term in self.terms), S.Zero)
        if not so_far.zero(opaque(so_far.unfold(statement.margin - total, self.unfold))):
            raise Refused("the margin is not the stated combination, for any function tanh")


@dataclass(frozen=True)
class DifferentiateOpaque(Differentiate):
    """`Differentiate` with tanh as an unknown function once the derivative is there."""

    def check(self, statement: Statement, so_far: Context) -> None:
        """The right side, all definitions unfolded, is the derivative that SymPy computes."""
        Define().check(statement, so_far)
        computed = derivative(so_far.unfold_all(so_far[self.of].statement.rhs), self.by)
        if not so_far.zero(opaque(computed - so_far.unfold_all(statement.rhs))):
            raise Refused("is not the derivative that SymPy computes")


@dataclass(frozen=True)
class Grows:
    """The margin is 0 where `variable` is 0, and its derivative is a combination that is >= 0 for `variable >= 0`.

    Unlike `Monotone` it allows constants that the lines before speak of, and tanh.
    """

    variable: Symbol
    terms: tuple[Term, ...]

    @property
    def uses(self) -> tuple[str, ...]:
        """Facts about the derivative."""
        return tuple(name for term in self.terms for name in term.uses)

    def check(self, statement: Statement, so_far: Context) -> None:
        """Smoothness, the value at 0, the sign of the derivative; every fact holds for all values of the variable."""
        if statement.relation != "<=":
            raise Refused("is no inequality")
        undefined(self.variable, so_far)
        for name in self.uses:
            free(name, self.variable, so_far)
        if any(self.variable in term.over for term in self.terms):
            raise Refused("sums over the variable")
        margin = statement.margin
        if not smooth(margin, self.variable):
            raise Refused(f"is not visibly smooth in {self.variable}")
        if not so_far.zero(margin.xreplace({self.variable: S.Zero})):
            raise Refused("the margin at 0 is not shown to be 0")
        total = sum((term.value(so_far, need_equation=False) for term in self.terms), S.Zero)
        if not so_far.zero(opaque(derivative(margin, self.variable) - total)):
            raise Refused("the derivative is not the stated combination")


@dataclass(frozen=True)
class EitherSign:
    """From line `plus` with `at` for `variable >= 0`, and line `minus` with `-at` for it: one of the two numbers is >= 0."""

    plus: str
    minus: str
    variable: Symbol
    at: Expr

    @property
    def uses(self) -> tuple[str, ...]:
        """The two lines."""
        return (self.plus, self.minus)

    def check(self, statement: Statement, so_far: Context) -> None:
        """The statement is each of the lines with its number put in; both lines hold for every value."""
        undefined(self.variable, so_far)
        if not is_real(self.at) or self.at.has(self.variable):
            raise Refused(f"{self.at} is not shown to be real, or contains {self.variable}")
        for name, value in ((self.plus, self.at), (self.minus, -self.at)):
            free(name, self.variable, so_far)
            original = so_far[name].statement
            values = {self.variable: value}
            _same(statement, original.map(lambda e, v=values: substitute(e, v)), so_far)
