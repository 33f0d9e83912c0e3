"""`soft_capping_unbounded`: near the cap a step can drive two unseen rows apart; clear of the cap it cannot."""

from sympy import Integer, Rational, Symbol, cosh, exp, tanh

from . import soft_capping
from .framework.conclude_variants import contracts
from .framework.derivation import Derivation, Goal, Line, Part, at_most, equal
from .framework.inference import Evaluate, Instance, Root
from .framework.monotone import Opaque
from .framework.rules import Combine, Term
from .framework.symbols import LATEX, RANGES, Step, i, m
from .framework.types import Expr
from .lines import losses_cap
from .lines.logmean import v
from .lines.losses_cap import bound, even
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

SIZES = (
    "The refutation is one instance: 3 labels, 1 coordinate, 1 example, whole numbers; its exponentials are bounded "
    "exactly. In the mended form the number of labels K >= 3, the dimension n and the number of examples "
    "N are symbols in every line; its conclusion is written out for 3 labels, 2 coordinates and 1 example."
)
half = Rational(1, 2)
POINT = Point(
    rows=((2,), (0,), (0,)),
    features=((1,),),
    weights=(1,),
    scalars={"eta": 1, "lam": 0, "T": 1, "cap": 1},
)


def derive() -> Derivation:
    """The refutation, then the mended form, both from the loss on capped logits."""
    q = Step()
    return Derivation(
        claim="soft_capping_unbounded",
        lines=(
            *losses_cap.loss(q),
            *even(q),
            bound(q),
            *soft_capping.contraction(q),
            *refutation(q),
        ),
        goals=(
            Goal("refuted", "refuted", (), also=("trace", *soft_capping.SETTING.forms)),
            Goal("mended", "contraction", soft_capping.HYPOTHESES),
        ),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude,
        names=LATEX,
    )


def refutation(q: Step) -> list[Line]:
    """`|D+| >= |D| + 1/12` at the instance."""
    Z, D = Symbol("Zstar", positive=True), Symbol("Dstar", real=True)
    trace = Symbol("taustar", real=True)
    e: Expr = exp(1)
    t, wide = tanh(2), exp(2) + exp(-2)
    gradient = exp(t) * (1 - t**2)
    return [
        Line(
            "Zstar",
            equal(Z, exp(t) + 2),
            Evaluate(POINT, expression=q.name("Z", i, positive=True), values={i: 1}),
            "The instance: $K = 3$, $x = 1$, rows $2$, $0$, $0$ (the last is the target), cap $1$, $\\lambda = 0$, "
            "$\\eta = 1$, $T = 1$. The normaliser,",
        ),
        Line(
            "taustar",
            equal(trace, 3 * (exp(t) + 1) / (4 * Z)),
            Evaluate(POINT, expression=q.name("tau_cap"), unfold=("Zstar",)),
            "the bound on the trace,",
        ),
        Line(
            "trace",
            at_most(trace, 1),
            Combine((Term((exp(t) + 5) / (4 * Z)),), unfold=("taustar", "Zstar")),
            "which $T$ exceeds,",
        ),
        Line(
            "Dstar",
            equal(D, 2 + (1 - gradient) / Z),
            Evaluate(POINT, expression=q.name("Dnext", m), values={m: 1}, unfold=("Zstar",)),
            "and the difference after the step: the larger logit may have the smaller gradient.",
        ),
        *sides(q, POINT, D**2, Integer(2), ("Dstar", "Zstar")),
        *exponential(),
        exponential_at("e_2", Integer(1), e, "So $e \\ge 2$."),
        Line(
            "root_e",
            at_most(half, exp(-half)),
            Instance("exp_below", {v: half}),
            "At $-1/2$",
        ),
        Line(
            "e_4",
            at_most(e, 4),
            Combine((Term(2 * exp(half) * (2 + exp(half)), ("root_e",)),)),
            "it says that $e \\le 4$.",
        ),
        Line(
            "t_square",
            at_most(t**2, 1),
            Combine((Term(1 / cosh(2) ** 2),)),
            "$\\tanh 2$ is at most 1 in absolute value,",
        ),
        Line("t_1", at_most(t, 1), Root("t_square"), "that is,"),
        exponential_at("exp_gap", 1 - t, exp(1 - t), "and"),
        Line(
            "exp_t",
            at_most(exp(t), e),
            Opaque((Term(exp(t), ("exp_gap",)), Term(exp(t), ("t_1",)))),
            "so $e^{\\tanh 2} \\le e$.",
        ),
        Line(
            "e_8",
            at_most(8, exp(3)),
            Combine((Term(exp(2) + 2 * e + 4, ("e_2",)),)),
            "The cube of $e$ is at least 8.",
        ),
        Line(
            "slope",
            at_most(e * (1 - t**2), half),
            Combine(
                (
                    Term(e / (2 * wide**2), ("e_8",)),
                    Term((2 + exp(-4)) / (2 * wide**2)),
                )
            ),
            "Since $1 - \\tanh^2 2 = 4/(e^2 + e^{-2})^2 \\le 4/e^4$,",
        ),
        Line(
            "gradient_half",
            at_most(gradient, half),
            Opaque((Term(1, ("slope",)), Term(1, ("exp_t", "t_square")))),
            "the gradient at the larger logit is at most half of that at the smaller one, which is $1/Z$.",
        ),
        Line(
            "Z_6",
            at_most(Z, 6),
            Opaque((Term(1, ("exp_t",)), Term(1, ("e_4",))), unfold=("Zstar",)),
            "The normaliser is at most 6.",
        ),
        *at_least(D, ()),
        Line(
            "refuted",
            at_most(right + Rational(1, 12), left),
            Opaque(
                (
                    Term(1, ("length",)),
                    Term(1 / Z, ("gradient_half",)),
                    Term(1 / (12 * Z), ("Z_6",)),
                ),
                unfold=("right", "Dstar"),
            ),
            "So $|D^+| \\ge 2 + 1/12$, while $|D| = 2$: the claim is false as stated.",
        ),
    ]


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """The claim with its witness (1 coordinate, 1 example); the mended form (2 and 1)."""
    setting = soft_capping.SETTING
    margins = {
        setting.ids.get(name, name): (derivation[name].statement.margin,)
        for name in ("nonnegative_step", "curvature_bound", "step_size")
    }
    return (
        refuted(setting, derivation, POINT, margins, contracts(Step())),
        *setting.of(derivation, derivation.goals[1:]),
    )
