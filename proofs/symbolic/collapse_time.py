"""`collapse_time`: `|D_T| <= eps` if `sum -ln(1 - eta_t lam) >= ln(|D_0|/eps)`."""

from sympy import Product, Sum, Symbol, log
from sympy import S as Numbers

from .framework.derivation import Derivation, Goal, Line, at_most, equal
from .framework.logarithms import FromLogarithms
from .framework.rules import Assume, Combine, Term
from .framework.strict import Positive
from .framework.symbols import LATEX, RANGES, Step, t
from .framework.types import Expr
from .lines import bounds, logmean, products, runs, runs_rows, step
from .lines.conclude_runs_steady import EVERY_STEP, conclude_steady
from .lines.products import s

SIZES = (
    "The number of labels K >= 3, the dimension n, the number of examples N and the number of steps t are symbols in "
    "every line; no size is fixed. Only the conclusion is written out, for 2 steps, 3 labels, 1 coordinate "
    "and 1 example, to be compared with the claim's own formula."
)
NAMES = LATEX | {
    "eps": r"\varepsilon",
    "epspos": r"\varepsilon_{+}",
    "share": "c^{+}",
    "apart": "|D_0|_{+}",
}


def derive() -> Derivation:
    """The bound from above of `trajectory`, then logarithms."""
    q = Step(time=t)
    lines = (
        *step.loss(q),
        *logmean.logmean(q),
        *step.recursion(q),
        *step.quadratic(q),
        *bounds.hypotheses(q),
        *runs.upper(q),
        *products.run(q),
        *products.above(q),
        *runs.steady(q, ("lam",)),
        runs_rows.decayed(q)[0],
        *collapse(q),
    )
    own = ("positive_factor", "positive_distance", "long_enough")
    return Derivation(
        claim="collapse_time",
        lines=lines,
        goals=(Goal("collapse_time", "collapse_time", (*EVERY_STEP, *own)),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude_steady(
            steps=2,
            dim=1,
            each={name: (name,) for name in (*EVERY_STEP, "positive_factor")},
            at_the_end={name: (name,) for name in own[1:]},
        ),
        names=NAMES,
    )


def collapse(q: Step) -> list[Line]:
    """From logarithms to the product, and to the distance."""
    eps, bound = Symbol("eps", real=True), Symbol("epspos", positive=True)
    apart = Symbol("apart", positive=True)

    def share(time: Expr) -> Expr:
        return Step(time=time).name("share", positive=True)

    norm, first = (Step(time=time).name("norm", nonnegative=True) for time in (t, Numbers.Zero))
    steps = (s, 0, t - 1)
    left = Product(share(s), steps)
    return [
        Line(
            "positive_factor",
            equal(share(t), 1 - q.eta * q.lam),
            Positive(),
            "Hypothesis: every factor of decay is positive,",
        ),
        Line("positive_distance", equal(bound, eps), Positive(), "$\\varepsilon$ is,"),
        Line(
            "apart",
            equal(apart, first),
            Positive("case"),
            "Suppose first that the rows differ at the start.",
        ),
        Line(
            "long_enough",
            at_most(log(apart / bound), Sum(-log(share(s)), steps)),
            Assume(uses=("apart", "positive_factor", "positive_distance")),
            "Hypothesis: there are enough steps.",
        ),
        Line(
            "in_products",
            at_most(first * left, bound),
            FromLogarithms("long_enough", left, "apart"),
            "Take exponentials; and if $|D_0| = 0$, the left side is $0$.",
        ),
        Line(
            "collapse_time",
            at_most(norm, eps),
            Combine(
                (Term(1, ("decayed",)), Term(1, ("in_products",))),
                unfold=("positive_factor", "positive_distance", "steady_lam"),
            ),
            "The product bounds $|D_t|$: the claim.",
        ),
    ]
