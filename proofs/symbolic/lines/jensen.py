"""The loss bounds the mean probability of what is no target: `sum a_i (1 - p_{y_i}) <= 1 - exp(-CE)`, by tangents of exp."""

from dataclasses import dataclass

from sympy import Indexed, Sum, exp, log, sinh

from ..framework.algebra import substitute
from ..framework.derivation import Context, Line, Refused, Statement, at_most, equal
from ..framework.inference import Monotone
from ..framework.monotone import EitherSign
from ..framework.rules import Assume, Combine, Define, Term
from ..framework.signs import is_nonnegative
from ..framework.symbols import Step, base_name, i, k
from ..framework.types import Expr
from .logmean import v


@dataclass(frozen=True)
class OneOfSum:
    """A sum over the labels k = 3..K of terms >= 0 is at least its term at a target, which is one of 3..K by the setting.

    The target is that of one example: a sum over examples inside the terms does not take its index. A name that a line
    defines is no target.
    """

    target: Expr
    uses: tuple[str, ...] = ()

    def check(self, statement: Statement, so_far: Context) -> None:
        """The right side is such a sum, the left side its term at the target."""
        total = statement.rhs
        if statement.relation != "<=" or not isinstance(total, Sum):
            raise Refused("needs an inequality whose right side is a sum")
        if total.limits != ((k, *so_far.ranges[k]),):
            raise Refused("the sum does not run over the labels 3..K")
        self._check_target(so_far)
        if not is_nonnegative(total.function):
            raise Refused("the terms are not shown to be >= 0")
        if not so_far.zero(statement.lhs - substitute(total.function, {k: self.target})):
            raise Refused("the left side is not the term at the target")

    def _check_target(self, so_far: Context) -> None:
        target = self.target
        if not isinstance(target, Indexed) or base_name(target) != "y" or not target.is_integer:
            raise Refused(f"{target} is no target")
        examples = {s for s, span in so_far.ranges.items() if span == so_far.ranges[i]}
        if target.indices[-1] not in examples:
            raise Refused(f"{target} is the target of no example")
        for definition in so_far.definitions().values():
            if getattr(definition.lhs, "base", definition.lhs) == target.base:
                raise Refused(f"{target} is defined by a line")


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
