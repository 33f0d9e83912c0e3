"""The loss bounds the mean probability of what is no target: `sum a_i (1 - p_{y_i}) <= 1 - exp(-CE)`, by tangents of exp."""

from dataclasses import dataclass

from sympy import Sum, exp, log, sinh

from ..framework.algebra import substitute
from ..framework.derivation import Context, Line, Refused, Statement, at_most, equal
from ..framework.inference import Monotone, _same  # pyright: ignore[reportPrivateUsage]
from ..framework.monotone import EitherSign
from ..framework.rules import Assume, Combine, Define, Term
from ..framework.signs import is_nonnegative
from ..framework.symbols import K, Step, i
from ..framework.types import Expr
from .logmean import v


@dataclass(frozen=True)
class OneOfSum:
    """A sum of terms >= 0 over the whole numbers from `low` to `high` is at least its term at one of them, `at`.

    Lines `least` and `most` say that `at` is one of them: `low <= at` and `at <= high`.
    """

    at: Expr
    least: str
    most: str

    @property
    def uses(self) -> tuple[str, ...]:
        """The lines about the place of the term."""
        return (self.least, self.most)

    def check(self, statement: Statement, so_far: Context) -> None:
        """The right side is such a sum, the left side its term at `at`."""
        total = statement.rhs
        if statement.relation != "<=" or not isinstance(total, Sum) or len(total.limits) != 1:
            raise Refused("needs an inequality whose right side is a sum over one index")
        if not self.at.is_integer:
            raise Refused(f"{self.at} is no whole number")
        ((index, low, high),) = total.limits
        _same(so_far[self.least].statement, at_most(low, self.at), so_far)
        _same(so_far[self.most].statement, at_most(self.at, high), so_far)
        if not is_nonnegative(total.function):
            raise Refused("the terms are not shown to be >= 0")
        if not so_far.zero(statement.lhs - substitute(total.function, {index: self.at})):
            raise Refused("the left side is not the term there")


def targets(q: Step) -> list[Line]:
    """Each target is one of the labels 3..K, neither u nor v."""
    return [
        Line(
            "target_least",
            at_most(3, q.y(i)),
            Assume("setting"),
            "The two labels never occur: each target is one of the labels from $3$",
        ),
        Line("target_most", at_most(q.y(i), K), Assume("setting"), "to $K$."),
    ]


def tangents(q: Step) -> list[Line]:
    """`1 + t <= exp(t)` at two numbers t."""
    ce, p_y = q.name("CE"), q.name("p_y", i, positive=True)
    return [
        Line(
            "CE",
            equal(ce, -q.over_i(q.a(i) * log(p_y))),
            Define(("p_y",)),
            "The cross-entropy of the batch.",
        ),
        Line(
            "exp_above",
            at_most(1 + v, exp(v)),
            Monotone(v, (Term(2 * exp(v / 2) * sinh(v / 2)),)),
            "For $v \\ge 0$: equality at $0$, and the gap has derivative $e^v - 1 = 2 e^{v/2} \\sinh(v/2)$.",
        ),
        Line(
            "exp_below",
            at_most(1 - v, exp(-v)),
            Monotone(v, (Term(2 * exp(-v / 2) * sinh(v / 2)),)),
            "Likewise, with derivative $1 - e^{-v} = 2 e^{-v/2} \\sinh(v/2)$.",
        ),
        Line(
            "tangent",
            at_most(1 + log(p_y) + ce, p_y * exp(ce)),
            EitherSign("exp_above", "exp_below", v, log(p_y) + ce),
            "So $1 + t \\le e^t$ for all real $t$: at $t = \\log p_{y_i} + \\mathrm{CE}$,",
        ),
        Line(
            "tangent_CE",
            at_most(1 + ce, exp(ce)),
            EitherSign("exp_above", "exp_below", v, ce),
            "and at $t = \\mathrm{CE}$.",
        ),
    ]


def jensen(q: Step) -> list[Line]:
    """`sum a_i (1 - p_{y_i}) <= 1 - exp(-CE)`."""
    ce, p_y = q.name("CE"), q.name("p_y", i, positive=True)
    mass = q.over_i(q.a(i))
    return [
        Line("weights_sum", at_most(mass, 1), Assume("setting"), "Batch weights sum to at most 1."),
        Line(
            "tangent_sum",
            at_most(mass * (1 + ce) - ce, exp(ce) * q.over_i(q.a(i) * p_y)),
            Combine((Term(1, ("weights", "tangent"), over=(i,)), Term(-1, ("CE",)))),
            "The first, weighted and summed: its logarithms add up to $-\\mathrm{CE}$.",
        ),
        Line(
            "jensen",
            at_most(q.over_i(q.a(i) * (1 - p_y)), 1 - exp(-ce)),
            Combine(
                (
                    Term(exp(-ce), ("tangent_sum",)),
                    Term(exp(-ce), ("weights_sum", "tangent_CE")),
                )
            ),
            "Divided by $e^{\\mathrm{CE}}$, with the second for what is missing from weight 1.",
        ),
    ]
