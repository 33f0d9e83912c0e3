"""Evaluation at an instance with names for values, so that no maximum of numbers is decided by rounding."""

from dataclasses import dataclass

from sympy import Indexed, Symbol

from .derivation import Context, Line, Refused, Statement
from .inference import Evaluate, _same  # pyright: ignore[reportPrivateUsage]
from .rules import Define
from .small import Small
from .symbols import base_name
from .types import Expr


class Named(Small):
    """An instance in which some values go by names."""

    def know(self, name: str, indices: tuple[int, ...], value: Symbol) -> None:
        """From now on the value of the defined name at these indices is called `value`."""
        self._known[name, indices] = value


@dataclass(frozen=True)
class EvaluateNamed(Evaluate):
    """`Evaluate` where the values that the lines `known` name appear under those names.

    Each of these lines must be an evaluation of a defined name at this very instance; so the names are its values.
    """

    known: tuple[str, ...] = ()

    @property
    def uses(self) -> tuple[str, ...]:
        """The general line and the names of values."""
        return (*super().uses, *self.known)

    def check(self, statement: Statement, so_far: Context) -> None:
        """The right side is what the general expression becomes at the instance, in the names of values."""
        definitions = so_far.definitions()
        small = self.instance(definitions.values())
        if not isinstance(small, Named) or self.of is not None or self.expression is None:
            raise Refused("names the value of an expression at an instance that can have names")
        defined = {base_name(d.lhs) for d in definitions.values()}
        for name in self.known:
            base, indices = self._place(so_far[name], small)
            if base not in defined:
                raise Refused(f"{base} is no defined name")
            small.know(base, indices, so_far[name].statement.lhs)
        Define().check(statement, so_far)
        value = small(self.expression, self.values)
        stated = so_far.unfold(statement.rhs, self.unfold)
        _same(Statement(statement.lhs, "==", stated), Statement(statement.lhs, "==", value), so_far)

    def _place(self, line: Line, plain: Named) -> tuple[str, tuple[int, ...]]:
        """The name that `line` evaluates, and at which indices."""
        rule = line.rule
        if not isinstance(rule, Evaluate) or rule.of is not None or rule.instance != self.instance:
            raise Refused(f"{line.name!r} names no value at this instance")
        expression: Expr = rule.expression
        if not isinstance(expression, (Symbol, Indexed)):
            raise Refused(f"{line.name!r} is the value of an expression, not of a name")
        indices = expression.indices if isinstance(expression, Indexed) else ()
        return base_name(expression), tuple(int(plain(k, rule.values)) for k in indices)
