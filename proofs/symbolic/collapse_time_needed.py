"""`collapse_time_needed`: `ln(|D_0|/eps) <= sum -ln(1 - eta_t (lam + T))` if `|D_T| <= eps`."""

from sympy import Product, Sum, Symbol, log
from sympy import S as Numbers

from .framework.derivation import Derivation, Goal, Line, at_most, equal
from .framework.inference import Induction
from .framework.logarithms import ToLogarithms
from .framework.rules import Assume, Combine, Term
from .framework.strict import DefinePositive, Positive
from .framework.symbols import LATEX, RANGES, Step, t
from .framework.types import Expr
from .lines import bounds, logmean, products, step
from .lines.conclude_runs_steady import conclude_steady
from .lines.products import s

SIZES = (
    "The number of labels K >= 3, the dimension n, the number of examples N and the number of steps t are symbols in "
    "every line; no size is fixed. Only the conclusion is written out, for 2 steps, 3 labels, 1 coordinate "
    "and 1 example, to be compared with the claim's own formula."
)
NAMES = LATEX | {
    "eps": r"\varepsilon",
    "epspos": r"\varepsilon_{+}",
    "share": "q^{+}",
    "firstpos": "|D_0|_{+}",
}


def derive() -> Derivation:
    """The bound from below for one step, induction, then logarithms."""
    q = Step(time=t)
    lines = (
        *step.loss(q),
        *logmean.logmean(q),
        *step.recursion(q),
        *step.quadratic(q),
        *bounds.hypotheses(q),
        *(line for line in bounds.lower(q) if line.name != "positive_part"),
        *products.run(q),
        *below(q),
        *needed(),
    )
    each = ("nonnegative_step", "curvature", "positive_lower_factor")
    end = ("different_rows", "reached")
    return Derivation(
        claim="collapse_time_needed",
        lines=lines,
        goals=(Goal("collapse_time_needed", "collapse_time_needed", (*each, *end)),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude_steady(
            steps=2,
            dim=1,
            each={name: (name,) for name in each},
            at_the_end={name: (name,) for name in end},
        ),
        names=NAMES,
    )


def share(time: Expr) -> Expr:
    """`1 - eta (lam + T)`, positive."""
    return Step(time=time).name("share", positive=True)


def norm(time: Expr) -> Expr:
    """`|D|`."""
    return Step(time=time).name("norm", nonnegative=True)


def left(time: Expr) -> Expr:
    """The product of the shares of the steps before `time`."""
    return Product(share(s), (s, 0, time - 1))


def below(q: Step) -> list[Line]:
    """`prod (1 - eta_s (lam_s + T_s))|D_0| <= |D_t|`, all factors positive."""

    def claim(time: Expr) -> tuple[Expr, Expr]:
        return left(time) * norm(Numbers.Zero), norm(time)

    return [
        Line(
            "positive_lower_factor",
            equal(share(t), 1 - q.eta * (q.lam + q.T)),
            Positive(),
            "Hypothesis: every factor of the bound from below is positive.",
        ),
        Line(
            "below_0", at_most(*claim(Numbers.Zero)), Combine(), "Before the first step: equality."
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
                (Term(1, ("lower_bound",)), Term(share(t), ("below_t",))),
                unfold=("run", "positive_lower_factor"),
            ),
            "One more step leaves at least its share.",
        ),
        Line(
            "below",
            at_most(*claim(t)),
            Induction(t, "below_0", "below_t", "below_next"),
            "By induction, the bound from below.",
        ),
    ]


def needed() -> list[Line]:
    """From the product to logarithms."""
    eps, bound = Symbol("eps", real=True), Symbol("epspos", positive=True)
    first, steps = Symbol("firstpos", positive=True), (s, 0, t - 1)
    return [
        Line(
            "different_rows",
            equal(first, norm(Numbers.Zero)),
            Positive(),
            "Hypothesis: the rows differ at first,",
        ),
        Line(
            "reached", at_most(norm(t), eps), Assume(), "and are within $\\varepsilon$ at step $t$."
        ),
        Line(
            "in_products",
            at_most(first * left(t), eps),
            Combine(
                (Term(1, ("below",)), Term(1, ("reached",))),
                unfold=("different_rows",),
            ),
            "So the product is at most $\\varepsilon$,",
        ),
        Line(
            "positive_distance",
            equal(bound, eps),
            DefinePositive("in_products"),
            "which is positive therefore;",
        ),
        Line(
            "in_products_too",
            at_most(first * left(t), bound),
            Combine((Term(1, ("in_products",)),), unfold=("positive_distance",)),
            "as a positive number",
        ),
        Line(
            "collapse_time_needed",
            at_most(log(first / bound), Sum(-log(share(s)), steps)),
            ToLogarithms("in_products_too", first, left(t)),
            "it has a logarithm; the logarithm is increasing: the claim.",
        ),
    ]
