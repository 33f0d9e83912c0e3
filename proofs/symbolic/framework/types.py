"""The type of a SymPy expression, for annotations."""

from typing import Any, TypeAlias

# SymPy's own annotations give `Basic` for the arguments of an `Expr` and a union with relations for `-log(x)`; to
# a type checker they contradict ordinary use, so an expression is open to it.
Expr: TypeAlias = Any
