"""General expressions at a small size: sums written out, definitions unfolded, entries put in."""

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import TypeAlias

from sympy import Abs, Add, Indexed, Integer, Max, Mul, Product, Sum, Symbol

from .derivation import Statement
from .symbols import K, N, base_name, n
from .types import Expr

LONG = 60
"""SymPy takes minutes to look for the sign of expressions with more operations than this; then it is not asked to."""
Table: TypeAlias = Mapping[str, Callable[..., Expr]]
Values: TypeAlias = Mapping[Symbol, int]


class Small:
    """An instance of a given size: `table` has its entries by name, `definitions` all other names.

    Entries are called with their indices as Python integers (labels, coordinates and examples count from 1).
    """

    def __init__(
        self,
        table: Table,
        definitions: Iterable[Statement],
        *,
        labels: int,
        dim: int,
        examples: int,
    ) -> None:
        self._table = table
        self._definitions = {base_name(d.lhs): d for d in definitions}
        self._sizes = {K: labels, n: dim, N: examples}
        self._known: dict[tuple[str, tuple[int, ...]], Expr] = {}

    def __call__(self, expression: Expr, values: Values | None = None) -> Expr:
        """The expression, with `values` for its free indices. Raises `ValueError` for a name without a value."""
        return self._evaluate(expression, {**self._sizes, **(values or {})})

    def _evaluate(self, node: Expr, values: Values) -> Expr:
        if isinstance(node, (Sum, Product)):
            names = [name for name, _, _ in node.limits]
            spans = [
                range(self._integer(low, values), self._integer(high, values) + 1)
                for _, low, high in node.limits
            ]
            parts = [
                self._evaluate(node.function, {**values, **dict(zip(names, chosen, strict=True))})
                for chosen in product(*spans)
            ]
            return Add(*parts) if isinstance(node, Sum) else Mul(*parts)
        if isinstance(node, Symbol) and node in values:
            return Integer(values[node])
        if isinstance(node, (Symbol, Indexed)):
            indices = node.indices if isinstance(node, Indexed) else ()
            return self._named(base_name(node), tuple(self._integer(s, values) for s in indices))
        if not node.args:
            return node
        args = [self._evaluate(argument, values) for argument in node.args]
        if isinstance(node, (Abs, Max)) and any(map(_is_long, args)):
            return node.func(*args, evaluate=False)
        return node.func(*args)

    def _integer(self, node: Expr, values: Values) -> int:
        return int(self._evaluate(node, values))

    def _named(self, name: str, indices: tuple[int, ...]) -> Expr:
        if name in self._table:
            return self._table[name](*indices)
        if name not in self._definitions:
            raise ValueError(f"no value for {name}{list(indices) or ''}")
        if (name, indices) not in self._known:
            definition = self._definitions[name]
            pattern = definition.lhs.indices if isinstance(definition.lhs, Indexed) else ()
            values = {**self._sizes, **dict(zip(pattern, indices, strict=True))}
            self._known[name, indices] = self._evaluate(definition.rhs, values)
        return self._known[name, indices]


def _is_long(argument: Expr) -> bool:
    return hasattr(argument, "count_ops") and argument.count_ops() > LONG


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
