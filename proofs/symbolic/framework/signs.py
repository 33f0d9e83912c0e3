"""Realness and signs from SymPy's assumptions; a "no" means "not shown"."""

from sympy import Add, Integer, Max, Mul, Piecewise, Pow, Product, Sum, cosh, exp, log, sinh

from .algebra import branches
from .types import Expr


def is_real(expression: Expr) -> bool:
    """Whether `expression` is real wherever it is defined."""
    if expression.is_real:
        return True
    if isinstance(expression, Piecewise):
        return all(is_real(value) for value, _ in branches(expression))
    if isinstance(expression, (Sum, Product)):
        return is_real(expression.function)
    if isinstance(expression, log):
        return is_positive(expression.args[0])
    if isinstance(expression, Pow) and not isinstance(expression.exp, Integer):
        return is_nonnegative(expression.base) and is_real(expression.exp)
    if isinstance(expression, (Add, Mul, Pow, Max, exp, sinh, cosh)):
        return all(is_real(argument) for argument in expression.args)
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
    if isinstance(expression, Pow):
        return is_positive(expression.base) and is_real(expression.exp)
    if isinstance(expression, exp):
        return is_real(expression.args[0])
    return False
