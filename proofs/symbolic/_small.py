"""General statements at a small size, in the symbols of the claims' instances."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

from sympy import Expr, Indexed, Integer, Mul, Product, Sum, Symbol

from ._derivation import Derivation, Part
from ._symbols import K, N, base_name, n

Table = Mapping[str, Callable[..., Expr]]


def evaluator(table: Table, *, labels: int, dim: int, examples: int) -> Callable[[Expr], Expr]:
    """Puts sizes in, writes sums out, and replaces each symbol by its entry in `table`, by name.

    Entries are called with the indices (counted from 1) as Python integers.
    """
    sizes = {K: Integer(labels), n: Integer(dim), N: Integer(examples)}

    def evaluate(expression: Expr) -> Expr:
        if isinstance(expression, (Sum, Product)):
            # Innermost limits come first; all limits are independent of the bound indices.
            names = [limit[0] for limit in expression.limits]
            spans = [
                range(int(low.xreplace(sizes)), int(high.xreplace(sizes)) + 1)
                for _, low, high in expression.limits
            ]
            total: Expr = Integer(0) if isinstance(expression, Sum) else Integer(1)
            for values in product(*spans):
                body = expression.function
                for name, value in zip(names, values, strict=True):
                    body = body.subs(name, value)
                part = evaluate(body)
                total = total + part if isinstance(expression, Sum) else total * part
            return total
        if isinstance(expression, (Indexed, Symbol)):
            if expression in sizes:
                return sizes[expression]
            name = base_name(expression)
            indices = expression.indices if isinstance(expression, Indexed) else ()
            if name in table:
                return table[name](*(int(evaluate(index)) for index in indices))
            raise ValueError(f"no value for {expression}")
        if not expression.args:
            return expression
        return expression.func(*(evaluate(argument) for argument in expression.args))

    return evaluate


def real(name: str) -> Symbol:
    """A real symbol."""
    return Symbol(name, real=True)


def step_table(labels: int) -> Table:
    """Names of `symbolic_step`: `w_{k}_{j}`, `x_{i}_{j}`, `a_{i}`, `eta`, `lam`, `r`, `pbar`, `T`, from 0.

    Labels u, v are 0 and 1. Every target is the last label.
    """
    return {
        "w_u": lambda j: real(f"w_0_{j - 1}"),
        "w_v": lambda j: real(f"w_1_{j - 1}"),
        "w": lambda k, j: real(f"w_{k - 1}_{j - 1}"),
        "x": lambda i, j: real(f"x_{i - 1}_{j - 1}"),
        "a": lambda i: real(f"a_{i - 1}"),
        "y": lambda i: Integer(labels),
        **{name: (lambda s=name: real(s)) for name in ("eta", "lam", "r", "pbar", "T")},
    }
