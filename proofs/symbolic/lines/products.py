"""Runs, and the two products of one-step factors between which |D_t| stays, by induction."""

from sympy import Max, Product, S, Symbol

from ..framework.derivation import Line, at_most, equal
from ..framework.inference import Induction
from ..framework.rules import Assume, Combine, Term
from ..framework.symbols import Step, j, t
from ..framework.types import Expr

s = Symbol("s", integer=True)


def _norm(time: Expr) -> Expr:
    return Step(time=time).name("norm", nonnegative=True)


def run(q: Step) -> list[Line]:
    """Step t + 1 starts with the rows that step t ends with."""
    later = Step(time=t + 1)
    return [
        Line(
            "run_u",
            equal(later.w_u(j), q.name("next_u", j)),
            Assume("setting", relation="=="),
            "A run: step $t + 1$ starts with the row $u$ that step $t$ ends with,",
        ),
        Line(
            "run_v",
            equal(later.w_v(j), q.name("next_v", j)),
            Assume("setting", relation="=="),
            "and the row $v$.",
        ),
        Line(
            "run",
            equal(_norm(t + 1), q.name("nextnorm", nonnegative=True)),
            Combine(unfold=("norm", "D", "run_u", "run_v", "nextnorm", "Dnext")),
            "So the new length of step $t$ is the length at step $t + 1$.",
        ),
    ]


def above(q: Step) -> list[Line]:
    """Induction with the decay factors."""

    def claim(time: Expr) -> tuple[Expr, Expr]:
        return _norm(time), Product(Step(time=s).name("c"), (s, 0, time - 1)) * _norm(S.Zero)

    return [
        Line(
            "above_0", at_most(*claim(S.Zero)), Combine(), "Above, before the first step: equality."
        ),
        Line(
            "above_t",
            at_most(*claim(t)),
            Assume("induction"),
            "Induction hypothesis: it holds at step $t$.",
        ),
        Line(
            "above_next",
            at_most(*claim(t + 1)),
            Combine(
                (Term(1, ("root",)), Term(1, ("c_sign", "above_t"))),
                unfold=("run",),
            ),
            "One more step multiplies by $c_t \\ge 0$.",
        ),
        Line(
            "above_all",
            at_most(*claim(t)),
            Induction(t, "above_0", "above_t", "above_next"),
            "By induction it holds at every step:",
        ),
        Line(
            "above",
            at_most(
                _norm(t),
                Product(1 - Step(time=s).eta * Step(time=s).lam, (s, 0, t - 1)) * _norm(S.Zero),
            ),
            Combine((Term(1, ("above_all",)),), unfold=("c",)),
            "the bound from above.",
        ),
    ]


def below(q: Step) -> list[Line]:
    """Induction with the positive parts of the lower factors."""

    def factor(time: Expr) -> Expr:
        at = Step(time=time)
        return Max(0, 1 - at.eta * (at.lam + at.T))

    def claim(time: Expr) -> tuple[Expr, Expr]:
        return Product(factor(s), (s, 0, time - 1)) * _norm(S.Zero), _norm(time)

    return [
        Line(
            "below_0", at_most(*claim(S.Zero)), Combine(), "Below, before the first step: equality."
        ),
        Line(
            "below_t",
            at_most(*claim(t)),
            Assume("induction"),
            "Induction hypothesis: it holds at step $t$.",
        ),
        Line(
            "below_next",
            at_most(*claim(t + 1)),
            Combine(
                (Term(1, ("positive_part",)), Term(factor(t), ("below_t",))),
                unfold=("run",),
            ),
            "One more step multiplies by a factor that is not negative.",
        ),
        Line(
            "below",
            at_most(*claim(t)),
            Induction(t, "below_0", "below_t", "below_next"),
            "By induction, the bound from below.",
        ),
    ]
