"""`z_loss_half`: T = r^2/2 does not serve with the z-loss; it does while the factors lie in [0, 1]."""

from sympy import Rational, Symbol, exp, log

from .framework.conclude_variants import Setting, contracts
from .framework.derivation import Derivation, Goal, Line, Part, at_most, equal
from .framework.inference import Evaluate
from .framework.rules import Assume, Combine, Term
from .framework.symbols import LATEX, RANGES, Step, i, m
from .framework.types import Expr
from .lines import bounds, logmean, losses, losses_z, triangle
from .lines.losses_point import (
    Point,
    at_least,
    exponential,
    exponential_at,
    left,
    refuted,
    right,
    sides,
)
from .lines.losses_z import factor

SIZES = (
    "The refutation is one instance: 3 labels, 1 coordinate, 1 example, whole numbers; its exponentials are bounded "
    "exactly. In the mended form the number of labels K >= 3, the dimension n and the number of examples "
    "N are symbols in every line; its conclusion is written out for 3 labels, 2 coordinates and 2 examples."
)
half = Rational(1, 2)
POINT = Point(
    rows=((1,), (-1,), (0,)),
    features=((1,),),
    weights=(1,),
    scalars={"eta": 4, "lam": 0, "r": 1, "zeta": 1},
)


class Radius(Step):
    """A step with `r^2/2` for the bound on the trace."""

    @property
    def T(self) -> Expr:
        """The bound that needs no knowledge of the probabilities."""
        return self.r**2 / 2


def derive() -> Derivation:
    """The refutation, then the mended form, both from the loss with the z-loss."""
    q = Radius()
    hypotheses = (
        "nonnegative_step",
        "radius",
        "step_size",
        "nonnegative_factor",
        "factor_at_most_one",
    )
    return Derivation(
        claim="z_loss_half",
        lines=(
            *losses_z.loss(q),
            *logmean.logmean(q),
            *losses_z.recursion(q),
            *losses_z.quadratic(q),
            *refutation(q),
            *logmean.logmean_below(q),
            bounds.nonnegative_step(q),
            *trace(q),
            *bounds.upper(q),
        ),
        goals=(Goal("refuted", "refuted", ()), Goal("mended", "contraction", hypotheses)),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude,
        names=LATEX,
    )


def refutation(q: Step) -> list[Line]:
    """`|D+| >= |D| + 4/5` at the instance."""
    Z, f, D = (
        Symbol("Zstar", positive=True),
        Symbol("fstar", real=True),
        Symbol("Dstar", real=True),
    )
    e, inverse = exp(1), exp(-1)
    gap = (e - inverse) / Z
    return [
        Line(
            "Zstar",
            equal(Z, e + inverse + 1),
            Evaluate(POINT, expression=q.name("Z", i, positive=True), values={i: 1}),
            "The instance: $K = 3$, $x = 1$, rows $1$, $-1$, $0$ (the last is the target), $\\zeta = 1$, $\\lambda = 0$, "
            "$r = 1$ and $\\eta = 4$, so that $\\eta(2\\lambda + r^2/2) = 2$. The normaliser,",
        ),
        Line(
            "fstar",
            equal(f, 1 + 2 * log(Z)),
            Evaluate(POINT, expression=factor(q), values={i: 1}, unfold=("Zstar",)),
            "the factor,",
        ),
        Line(
            "Dstar",
            equal(D, 2 - 4 * f * gap),
            Evaluate(
                POINT, expression=q.name("Dnext", m), values={m: 1}, unfold=("fstar", "Zstar")
            ),
            "and the difference after the step.",
        ),
        *sides(q, POINT, D**2, 2 * e**0, ("Dstar", "fstar", "Zstar")),
        *exponential(),
        exponential_at("e_2", e**0, e, "So $e \\ge 2$,"),
        exponential_at("log_Z", 1 - log(Z), e / Z, "and $2 - \\log Z \\le e/Z$."),
        Line(
            "log_Z_1",
            at_most(1, log(Z)),
            Combine((Term(1, ("log_Z",)), Term((inverse + 1) / Z)), unfold=("Zstar",)),
            "As $Z \\ge e$, its logarithm is at least $1$,",
        ),
        Line(
            "f_3",
            at_most(3, f),
            Combine((Term(2, ("log_Z_1",)),), unfold=("fstar",)),
            "and the factor at least $3$.",
        ),
        Line(
            "gap_bound",
            at_most(Rational(2, 5), gap),
            Combine(
                (
                    Term((3 + 4 * inverse) / (5 * Z), ("e_2",)),
                    Term(inverse / (5 * Z)),
                ),
                unfold=("Zstar",),
            ),
            "The two probabilities differ by $(e - e^{-1})/Z \\ge 2/5$.",
        ),
        *at_least(-D, ()),
        Line(
            "refuted",
            at_most(right + Rational(4, 5), left),
            Combine(
                (
                    Term(1, ("length",)),
                    Term(4 * gap, ("f_3",)),
                    Term(12, ("gap_bound",)),
                ),
                unfold=("right", "Dstar"),
            ),
            "The step overshoots: $|D^+| \\ge 12 \\cdot \\frac25 - 2$, and the claim is false as stated.",
        ),
    ]


def trace(q: Step) -> list[Line]:
    """With factors in [0, 1], tr M <= r^2/2."""
    L, f, rho = q.name("L", i), factor(q), q.name("xnorm", i, nonnegative=True)
    S, Z = q.name("S", i, nonnegative=True), q.name("Z", i, positive=True)
    return [
        Line(
            "factor_at_most_one",
            at_most(f, 1),
            Assume(),
            "The hypothesis that the claim lacks: no factor exceeds 1.",
        ),
        Line(
            "L_half",
            at_most(L, half),
            Combine((Term(1, ("L_below",)), Term(S / (2 * Z))), unfold=("p_u", "p_v", "Z")),
            "Since $p_u + p_v \\le 1$,",
        ),
        Line(
            "f_L_half",
            at_most(f * L, half),
            Combine(
                (
                    Term(1, ("nonnegative_factor", "L_half")),
                    Term(half, ("factor_at_most_one",)),
                )
            ),
            "and with the factor as well.",
        ),
        *losses.named(triangle.corrected(q), "xnorm", "radius", "weights_sum", "radius_square"),
        Line(
            "curvature",
            at_most(q.name("tau"), q.T),
            Combine(
                (
                    Term(rho**2, ("weights", "f_L_half"), over=(i,)),
                    Term(half, ("weights", "radius_square"), over=(i,)),
                    Term(q.r**2 / 2, ("weights_sum",)),
                ),
                unfold=("tau", "b", "xnorm"),
            ),
            "So $r^2/2$ bounds the trace of $M$.",
        ),
    ]


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """The claim with its witness (1 coordinate, 1 example); the mended form (2 and 2)."""
    setting = Setting(
        table=losses_z.TABLE,
        ids={"step_size": "step_size_from_radius", "nonnegative_factor": "factor_at_most_one"},
    )
    margins = {
        setting.ids.get(name, name): (derivation[name].statement.margin,)
        for name in ("nonnegative_step", "radius", "step_size")
    }
    return (
        refuted(setting, derivation, POINT, margins, contracts(Radius())),
        *setting.of(derivation, derivation.goals[1:]),
    )
