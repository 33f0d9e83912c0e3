"""`momentum_coupled`: `|D_t| <= rho^t sqrt(a (a(1 + beta) - 4 beta)/(a^2 - 4 beta)) |D_0|` with torch's momentum."""

from sympy import Symbol, sqrt

from .framework.derivation import Derivation, Goal, Line, at_most, equal
from .framework.rules import Assume, Combine, Define, Term
from .framework.strict import Positive
from .framework.symbols import RANGES, m
from .lines import momentum
from .lines.conclude_momentum import SIZES, conclude_momentum
from .lines.momentum import T, b, eta, gap, lam, q, rho, rho2

a, disc, slack = (Symbol(name, positive=True) for name in ("mean", "disc", "slack"))
root = sqrt(b)
SUM = 1 + b - eta * lam
ROOTS = ("rho2", "rho", "gap", "disc", "mean")
"""What the roots are, from the outside to what the hypothesis names."""


def facts(line: str) -> tuple[Term, ...]:
    """Sum and product of the roots, as the lines about E and F need them."""
    D, moved = q.name("D", m), eta * q.name("B", m)
    return (
        () if line in ("output", "boost") else (Term(-D, ("sum",)), Term(D + moved, ("product",)))
    )


KIND = momentum.Kind(
    coupled=True,
    push=lambda buffer, slope: buffer,
    N1=rho,
    N2=rho2,
    E=(1 - rho2, -eta * rho2),
    F=(1 - rho, -eta * rho),
    facts=facts,
    unfold=lambda line: {"output": ("apart",), "boost": ROOTS}.get(line, ()),
)
FIRST = rho * (1 - rho2) ** 2 + rho2 * (1 - rho) ** 2
FACTOR = sqrt(a) * sqrt(slack * (1 + b) + 2 * root * (1 - root) ** 2) / gap


def derive() -> Derivation:
    """E = D - rho2 (D + eta B) and F = D - rho (D + eta B): D + eta B is the difference one step before."""
    lines = (
        *momentum.setting(),
        *momentum.hypotheses(),
        *roots(),
        *momentum.rule(KIND),
        *momentum.function(KIND),
        *momentum.descent(KIND),
        *momentum.bound(KIND, "momentum_coupled", FIRST, FACTOR),
    )
    hypotheses = ("nonnegative_step", "curvature", "real_roots", "step_size")
    return Derivation(
        claim="momentum_coupled",
        lines=lines,
        goals=(Goal("momentum_coupled", "momentum_coupled", hypotheses),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude_momentum(),
        names=momentum.NAMES,
    )


def roots() -> list[Line]:
    """The roots of `z^2 - a z + beta`, `a = 1 + beta - eta lam`: both real by the hypothesis."""
    return [
        Line(
            "real_roots",
            equal(slack, SUM - 2 * root),
            Positive(uses=("momentum",)),
            "Hypothesis: the sum $a$ of the roots is larger than twice the root of their product.",
        ),
        Line("mean", equal(a, slack + 2 * root), Define(("real_roots",)), "The sum,"),
        Line("disc", equal(disc, slack * (slack + 4 * root)), Define(), "$a^2 - 4\\beta$,"),
        Line("gap", equal(gap, sqrt(disc)), Define(("disc",)), "the difference of the roots,"),
        Line("rho", equal(rho, (a + gap) / 2), Define(("mean", "gap")), "the larger root,"),
        Line("rho2", equal(rho2, b / rho), Define(("rho",)), "and the smaller one."),
        Line("apart", equal(rho, rho2 + gap), Combine(unfold=ROOTS), "Indeed they differ by that,"),
        Line(
            "sum",
            equal(rho + rho2, SUM),
            Combine(unfold=(*ROOTS, "real_roots")),
            "their sum is $a$",
        ),
        Line(
            "product",
            equal(rho * rho2, b),
            Combine(unfold=("rho2",)),
            "and their product $\\beta$.",
        ),
        Line(
            "step_size",
            at_most(eta * T * SUM, 2 * (SUM**2 - 4 * b)),
            Assume(),
            "Hypothesis: the step size,",
        ),
        Line(
            "room",
            at_most(eta * T * (rho * gap + 2 * rho * rho2), 2 * rho * gap**2),
            Combine((Term(rho, ("step_size",)),), unfold=(*ROOTS, "real_roots")),
            "in terms of the roots.",
        ),
    ]
