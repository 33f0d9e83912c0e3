"""Realness, definedness and signs from SymPy's assumptions; a "no" means "not shown"."""

from sympy import (
    Abs,
    Add,
    Indexed,
    KroneckerDelta,
    Max,
    Min,
    Mul,
    Number,
    NumberSymbol,
    Piecewise,
    Pow,
    Product,
    Sum,
    Symbol,
    cosh,
    exp,
    log,
    sinh,
    tanh,
)

from .algebra import branches, unequal
from .types import Expr

NOTHING: frozenset[Expr] = frozenset()


def is_real(expression: Expr, nonzero: frozenset[Expr] = NOTHING) -> bool:
    """Whether `expression` is defined and real for all values of its names that their assumptions allow.

    So denominators are shown not to be 0, arguments of logarithms to be positive. `nonzero` are expressions known
    not to be 0: in a `Piecewise`, each value is asked for only where its condition `... != 0` holds.
    """
    if isinstance(expression, Piecewise):
        return all(
            is_real(value, nonzero | {gap for gap in (unequal(condition),) if gap is not None})
            for value, condition in branches(expression)
        )
    if isinstance(expression, (Sum, Product)):
        return is_real(expression.function, nonzero)
    if isinstance(expression, (Symbol, Indexed, NumberSymbol, Number)) or not expression.args:
        return bool(expression.is_real)
    if isinstance(expression, log):
        inside = expression.args[0]
        return is_positive(inside) and is_real(inside, nonzero)
    if isinstance(expression, Pow):
        base, exponent = expression.args
        if not is_real(base, nonzero) or not is_real(exponent, nonzero):
            return False
        if exponent.is_integer:
            return is_nonnegative(exponent) or is_nonzero(base, nonzero)
        return is_positive(base) or (is_nonnegative(base) and is_positive(exponent))
    if isinstance(expression, (Add, Mul, Max, Min, Abs, exp, sinh, cosh, tanh, KroneckerDelta)):
        return all(is_real(argument, nonzero) for argument in expression.args)
    return False


def is_nonzero(expression: Expr, nonzero: frozenset[Expr] = NOTHING) -> bool:
    """Whether SymPy's assumptions show `expression != 0`, or it is made of what is known not to be 0."""
    if expression.is_nonzero or is_positive(expression) or is_positive(-expression):
        return True
    if expression in nonzero or -expression in nonzero:
        return True
    if isinstance(expression, (Mul, Pow)):
        factors = expression.args if isinstance(expression, Mul) else expression.args[:1]
        return all(is_nonzero(factor, nonzero) for factor in factors)
    return False


def is_nonnegative(expression: Expr) -> bool:
    """Whether SymPy's assumptions show `expression >= 0`; finite sums of such terms included."""
    if expression.is_nonnegative or is_positive(expression):
        return True
    if isinstance(expression, (Sum, Product)):
        return is_nonnegative(expression.function)
    if isinstance(expression, (Add, Mul)):
        return all(is_nonnegative(argument) for argument in expression.args)
    if isinstance(expression, Pow):
        if expression.exp.is_even:
            return is_real(expression.base)
        return is_nonnegative(expression.base) and is_real(expression.exp)
    return False


def is_positive(expression: Expr) -> bool:
    """Whether SymPy's assumptions show `expression > 0`."""
    if expression.is_positive:
        return True
    if isinstance(expression, Add):
        return all(is_nonnegative(argument) for argument in expression.args) and any(
            is_positive(argument) for argument in expression.args
        )
    if isinstance(expression, Mul):
        return all(is_positive(argument) for argument in expression.args)
    if isinstance(expression, Product):
        return is_positive(expression.function)
    if isinstance(expression, Pow):
        return is_positive(expression.base) and is_real(expression.exp)
    if isinstance(expression, exp):
        return is_real(expression.args[0])
    return False
