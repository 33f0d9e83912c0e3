"""What the claims about runs share: the run itself at any time symbol, and scalars that stay the same at every step."""

from collections.abc import Iterable
from dataclasses import replace

from sympy import Symbol

from ..framework.derivation import Line, equal
from ..framework.inference import Induction
from ..framework.rules import Assume
from ..framework.symbols import Step, t
from ..framework.types import Expr
from . import bounds, products

age = Symbol("t", integer=True, nonnegative=True)
"""A number of steps, printed as t and known to be >= 0, so that powers `q**(t + 1)` may be split."""

_MEANING = {
    "eta": "step size",
    "lam": "weight decay",
    "T": "bound $T$ on the trace",
    "r": "bound $r$ on the features",
}


def constant(name: str) -> Expr:
    """The scalar that `name` is at every step of a steady run."""
    return Symbol(name, real=True)


def steady(q: Step, names: Iterable[str]) -> list[Line]:
    """`name[t] == name` for each of the names: the scalar is the same at every step."""
    return [
        Line(
            f"steady_{name}",
            equal(q.name(name), constant(name)),
            Assume("setting", relation="=="),
            f"The {_MEANING[name]} is the same at every step.",
        )
        for name in names
    ]


def upper(q: Step) -> list[Line]:
    """`_bounds.upper` up to `|D+| <= c|D|`."""
    return [line for line in bounds.upper(q) if line.name != "contraction"]


def at_age(lines: Iterable[Line]) -> list[Line]:
    """Lines of `trajectory` with the time symbol `age`; their rules may mention time in an induction only."""
    return [
        replace(
            line,
            statement=line.statement.map(lambda side: side.xreplace({t: age})),
            rule=replace(line.rule, variable=age)
            if isinstance(line.rule, Induction)
            else line.rule,
        )
        for line in lines
    ]


def run() -> list[Line]:
    """The lines of `products.run`."""
    return at_age(products.run(Step(time=t)))
