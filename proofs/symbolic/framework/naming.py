"""What a new name must be: fresh, with every index of what it stands for, and promising only what is shown."""

from sympy import Indexed, Symbol

from .algebra import heads
from .derivation import Context, Refused, Statement
from .types import Expr

# What may be assumed of a name; `Define` and the rules about positive numbers show just this.
KINDS = {
    kind: Symbol("name", **{"real": True, kind: True}).assumptions0
    for kind in ("positive", "nonnegative", "nonzero", "real")
}


def check_name(statement: Statement, so_far: Context) -> None:
    """Refuse unless the statement is `fresh name == expression`, and the name has every index of the expression.

    An index is a whole number, or has a range; a size, which stays the same throughout, is none.
    """
    name, value = statement.lhs, statement.rhs
    if statement.relation != "==" or not isinstance(name, (Symbol, Indexed)):
        raise Refused(f"{name} is no name")
    if not so_far.fresh(name):
        raise Refused(f"{name} is not a fresh name")
    if getattr(name, "base", name) in heads(value):
        raise Refused(f"{name} is defined by itself")
    missing = _indices(value, so_far) - name.free_symbols
    if missing:
        raise Refused(f"{name} has not every index of its value: {sorted(map(str, missing))}")


def promise(name: Expr) -> str:
    """What the name says of its value: "positive", "nonnegative", "nonzero" or "real"; nothing else may be said."""
    label = getattr(getattr(name, "base", name), "label", name)
    for kind, assumptions in KINDS.items():
        if label.assumptions0 == assumptions:
            return kind
    raise Refused(f"{name} promises what no rule shows: it should be real, of a sign or of none")


def _indices(value: Expr, so_far: Context) -> set[Symbol]:
    labels = {node.base.label for node in value.atoms(Indexed)}
    return {
        s
        for s in value.free_symbols - labels - so_far.sizes
        if isinstance(s, Symbol) and (s.is_integer or s in so_far.ranges)
    }
