"""`trajectory`: over a run |D_t| stays between two products of one-step factors.

Above: `|D_t| <= prod (1 - eta_s lam_s) |D_0|`; below: `prod max(0, 1 - eta_s(lam_s + T_s)) |D_0| <= |D_t|`.
"""

from sympy import Max, Product, S, Symbol

from . import _bounds, _logmean, _step
from ._conclude import conclude_run
from ._derivation import Derivation, Goal, Line, at_most, equal
from ._inference import Induction
from ._rules import Assume, Combine, Term
from ._symbols import LATEX, RANGES, Step, j, t
from ._types import Expr

SIZES = (
    "The number of labels K >= 3, the dimension n, the number of examples N and the number of steps t are symbols "
    "in every line; no size is fixed (N is the same at every step; examples of weight 0 fill up smaller "
    "batches). Only the conclusion is written out, for 2 steps, 3 labels, 1 coordinate and 1 example, "
    "to be compared with the claim's own formula."
)

s = Symbol("s", integer=True)


def derive() -> Derivation:
    """The derivation: everything about step t of the run, then induction over t."""
    q = Step(time=t)
    lines = (
        *_step.loss(q),
        *_logmean.logmean(q),
        *_step.recursion(q),
        *_step.quadratic(q),
        *_bounds.hypotheses(q),
        *_bounds.upper(q),
        *_bounds.lower(q),
        *run(q),
        *above(q),
        *below(q),
    )
    common = ("nonnegative_step", "curvature")
    return Derivation(
        claim="trajectory",
        lines=lines,
        goals=(Goal("above", "above", (*common, "step_size")), Goal("below", "below", common)),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude_run,
        names=LATEX,
    )


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
