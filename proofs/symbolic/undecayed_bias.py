"""`undecayed_bias`: if the biases are not decayed, (D, b) need not contract by 1 - eta lam."""

from sympy import Rational, Symbol, exp

from .framework.conclude_variants import Setting, contracts
from .framework.derivation import Derivation, Goal, Line, Part, at_most, equal
from .framework.inference import Evaluate
from .framework.rules import Combine, Term
from .framework.symbols import LATEX, RANGES, i
from .framework.types import Expr
from .lines import logmean, losses
from .lines.losses_bias import TABLE, Biased, bias_after, loss, quadratic
from .lines.losses_point import Point, at_least, left, refuted, right, sides

SIZES = (
    "The refutation is one instance: 3 labels, 1 coordinate, 1 example, rational data; the gap between the two sides is "
    "3/(2 (e + 2)). The definitions before it have the number of labels K >= 3, the dimension n and the number of "
    "examples N as symbols."
)
half = Rational(1, 2)
POINT = Point(
    rows=((0,), (0,), (0,)),
    features=((0,),),
    weights=(1,),
    scalars={"eta": half, "lam": 1, "T": 1},
    biases=(1, 0, 0),
)


def derive() -> Derivation:
    """The refutation, from the loss of a head with biases that are not decayed."""
    q = Biased()
    scalars = ("weights", "b", "b_sign", "norm", "nextnorm", "tau", "tau_sign")
    return Derivation(
        claim="undecayed_bias",
        lines=(
            *loss(q, decayed=False),
            *logmean.logmean(q),
            *losses.named(losses.start(q), "Dnext"),
            bias_after(q),
            *losses.named(quadratic(q), *scalars),
            *refutation(q),
        ),
        goals=(Goal("refuted", "refuted", (), also=("trace", "logratio=d")),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude,
        names=LATEX,
    )


def refutation(q: Biased) -> list[Line]:
    """`|(D+, b+)| = 1/2 + 3/(2 (e + 2))` at the instance, where the claim allows 1/2."""
    Z, trace = Symbol("Zstar", positive=True), Symbol("taustar", real=True)
    e: Expr = exp(1)
    value = 1 - (e - 1) / (2 * Z)
    return [
        Line(
            "Zstar",
            equal(Z, e + 2),
            Evaluate(POINT, expression=q.name("Z", i, positive=True), values={i: 1}),
            "The instance: $K = 3$, rows and features $0$, biases $1$, $0$, $0$, $\\eta = 1/2$, $\\lambda = 1$, $T = 1$, so "
            "that $\\eta(2\\lambda + T) \\le 2$. The normaliser,",
        ),
        Line(
            "taustar",
            equal(trace, (e - 1) / Z),
            Evaluate(POINT, expression=q.name("tau"), unfold=("Zstar",)),
            "and the trace of $M$ with the bias's coordinate,",
        ),
        Line(
            "trace",
            at_most(trace, 1),
            Combine((Term(3 / Z),), unfold=("taustar", "Zstar")),
            "which $T$ bounds.",
        ),
        *sides(q, POINT, value**2, half, ("Zstar", "Dnext", "Bnext", "norm", "nextnorm")),
        *at_least(value, ()),
        Line(
            "refuted",
            at_most(right + 3 / (2 * Z), left),
            Combine((Term(1, ("length",)),), unfold=("right", "Zstar")),
            "It exceeds the right side: the claim is false.",
        ),
    ]


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """The claim with its witness."""
    q = Biased()
    margins = {
        "nonnegative_step": (q.eta,),
        "curvature": (q.T - q.name("tau"),),
        "step_size": (2 - q.eta * (2 * q.lam + q.T),),
    }
    return (refuted(Setting(table=TABLE), derivation, POINT, margins, contracts(q)),)
