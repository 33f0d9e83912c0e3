"""`momentum_decoupled`: `|D_t| <= c^t sqrt((c + beta)/c)|D_0|` with decay beside the gradient."""

from sympy import Integer, Symbol, sqrt

from .framework.derivation import Derivation, Goal, Line, at_most, equal
from .framework.rules import Assume, Combine, Define, Term
from .framework.strict import Positive
from .framework.symbols import RANGES
from .lines import momentum
from .lines.conclude_momentum import SIZES, conclude_momentum
from .lines.momentum import T, b, eta, gap, lam, rho, rho2

KIND = momentum.Kind(
    coupled=False,
    push=lambda buffer, slope: buffer,
    N1=rho,
    N2=rho2,
    E=(1 - rho2 / rho, -eta * rho2 / rho),
    F=(Integer(0), -eta),
    unfold=lambda line: ("rho2", "rho", "real_roots", "c"),
)


FIRST = rho * (1 - rho2 / rho) ** 2


def derive() -> Derivation:
    """The roots are c and beta; E = D - beta (D + eta B)/c and F = -eta B."""
    lines = (
        *momentum.setting(),
        *momentum.hypotheses(),
        *roots(),
        *momentum.rule(KIND),
        *momentum.function(KIND),
        *momentum.descent(KIND),
        *momentum.bound(KIND, "momentum_decoupled", FIRST, sqrt(gap + 2 * b) / sqrt(gap + b)),
    )
    hypotheses = ("nonnegative_step", "curvature", "real_roots", "step_size")
    return Derivation(
        claim="momentum_decoupled",
        lines=lines,
        goals=(Goal("momentum_decoupled", "momentum_decoupled", hypotheses),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude_momentum(decoupled=True),
        names=momentum.NAMES,
    )


def roots() -> list[Line]:
    """c and beta, which differ by what the hypothesis names."""
    c = Symbol("c", real=True)
    return [
        Line("c", equal(c, 1 - eta * lam), Define(), "The decay of one step."),
        Line(
            "real_roots",
            equal(gap, c - b),
            Positive(uses=("c", "momentum")),
            "Hypothesis: it is larger than the momentum.",
        ),
        Line(
            "rho",
            equal(rho, gap + b),
            Define(("real_roots",)),
            "So the larger root, $c$, is positive,",
        ),
        Line("rho2", equal(rho2, b), Define(), "and the smaller one is the momentum."),
        Line(
            "decay",
            equal(rho, 1 - eta * lam),
            Combine(unfold=("rho", "real_roots", "c")),
            "Indeed $\\rho_1 = c$;",
        ),
        Line(
            "apart",
            equal(rho, rho2 + gap),
            Combine(unfold=("rho", "rho2")),
            "the gap is that of the roots.",
        ),
        Line(
            "step_size",
            at_most(eta * T * (c + b), 2 * (c - b) ** 2),
            Assume(),
            "Hypothesis: the step size,",
        ),
        Line(
            "room",
            at_most(eta * T * (rho * gap + 2 * rho * rho2), 2 * rho * gap**2),
            Combine((Term(rho, ("step_size",)),), unfold=("rho2", "rho", "real_roots")),
            "in terms of the roots.",
        ),
    ]
