"""`adamw_contraction`: AdamW's first step can drive rows apart at any step size; a step downhill contracts."""

from sympy import Rational, Symbol, log, sqrt

from .framework.conclude_variants import Setting, contracts
from .framework.derivation import Derivation, Goal, Line, Part, at_most, equal
from .framework.inference import Evaluate, Instance
from .framework.rules import Assume, Combine, Define, Term
from .framework.symbols import RANGES, Step, j, m
from .lines import adaptive, bounds, losses, step
from .lines.adaptive import eps
from .lines.bounds import half
from .lines.logmean import v
from .lines.losses_point import Point, at_least, exponential, left, refuted, right, sides

SIZES = (
    "The refutation is one instance: 3 labels, 2 coordinates, 2 examples, exact data. In the mended form the number of "
    "labels K >= 3, the dimension n and the number of examples N are symbols in every line; its conclusion is written "
    "out for 3 labels, 2 coordinates and 1 example."
)
F = Rational
two = log(2)
POINT = Point(
    rows=((two, 0), (-two, two), (0, 0)),
    features=((1, 1), (-1, -2)),
    weights=(F(3, 5), F(2, 5)),
    scalars={"eta": F(1, 20), "lam": 0, "T": 2, "epsilon": F(1, 20)},
    names={"epsilon": "eps"},
)
HYPOTHESES = ("nonnegative_step", "curvature", "step_size", "downhill", "bounded_update")
SETTING = Setting(table=adaptive.TABLE, examples=1)
D = tuple(Symbol(f"Dstar_{k}", real=True) for k in (1, 2))
trace = Symbol("taustar", real=True)


def derive() -> Derivation:
    """The refutation, then the mended form, both from the loss."""
    q = Step()
    return Derivation(
        claim="adamw_contraction",
        lines=(
            *adaptive.gradients(q),
            *adaptive.updates(q),
            *adaptive.after(q),
            *losses.without(step.quadratic(q), "next_square", "quad", "quad=D.MD", "quad_sign"),
            *mended(q),
            *values(q),
            *refutation(),
        ),
        goals=(
            Goal("refuted", "refuted", (), also=("trace",)),
            Goal("mended", "contraction", HYPOTHESES),
        ),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude,
        names=adaptive.NAMES,
    )


def mended(q: Step) -> list[Line]:
    """`|D+| <= c|D|` where D.A >= 0 and eps|A|^2 <= T D.A."""
    along, update = q.name("inner"), q.over_j(q.name("A", j) ** 2)
    c, norm = q.name("c"), q.name("norm", nonnegative=True)
    new = q.name("nextnorm", nonnegative=True)
    kept = losses.named(bounds.upper(q), "c_sign", "right_sign", "root", "contraction")
    lines = [
        *bounds.hypotheses(q),
        Line(
            "step_size",
            at_most(q.eta * (2 * q.lam + q.T / eps), 2),
            Assume(),
            "Hypothesis: the step size.",
        ),
        Line(
            "room_eps",
            at_most(q.eta * q.T / eps, 2 * c),
            Combine((Term(1, ("step_size",)),), unfold=("c",)),
            "That is, $\\eta T/\\varepsilon \\le 2c$.",
        ),
        Line(
            "inner",
            equal(along, adaptive.inner(q)),
            Define(("A", "D")),
            "The update along $D$.",
        ),
        Line("downhill", at_most(0, along), Assume(), "A hypothesis that the claim lacks:"),
        Line(
            "bounded_update",
            at_most(eps * update, q.T * along),
            Assume(),
            "and another one, that the update is no longer than a gradient's would be.",
        ),
        Line(
            "next_square",
            equal(new**2, c**2 * norm**2 - 2 * c * q.eta * along + q.eta**2 * update),
            Combine(unfold=("nextnorm", "norm", "after", "inner")),
            "The square of the new length.",
        ),
        Line(
            "squares",
            at_most(new**2, (c * norm) ** 2),
            Combine(
                (
                    Term(1, ("next_square",)),
                    Term(q.eta**2 / eps, ("bounded_update",)),
                    Term(1, ("nonnegative_step", "room_eps", "downhill")),
                )
            ),
            "It is at most $c^2|D|^2$.",
        ),
    ]
    sign = Combine(
        (
            Term(half, ("room_eps",)),
            Term(half / eps, ("nonnegative_step", "curvature")),
            Term(half / eps, ("nonnegative_step", "tau_sign")),
        )
    )
    return [*lines, *losses.changed(kept, "c_sign", rule=sign)]


def values(q: Step) -> list[Line]:
    """The values at the instance."""
    return [
        Line(
            "taustar",
            equal(trace, F(3, 10) / two + half),
            Evaluate(POINT, expression=q.name("tau")),
            "The instance: $K = 3$, $w_u = (\\ln 2, 0)$, $w_v = (-\\ln 2, \\ln 2)$, the target's row $0$, "
            "$x_1 = (1, 1)$, $x_2 = (-1, -2)$, $a = (3/5, 2/5)$, $\\varepsilon = \\eta = 1/20$, $\\lambda = 0$, $T = 2$. "
            "The trace of $M$.",
        ),
        *(
            Line(
                D[k].name,
                equal(D[k], value),
                Evaluate(POINT, expression=q.name("Dnext", m), values={m: k + 1}),
                words,
            )
            for k, value, words in (
                (0, 2 * two - F(3, 200), "The difference after the step has the first entry"),
                (1, -two - F(7, 120), "and the second one."),
            )
        ),
        *exponential(),
        Line(
            "log_2",
            at_most(1 - two, half),
            Instance("exp_below", {v: two}),
            "The logarithm of 2 is at least $1/2$,",
        ),
        Line(
            "trace",
            at_most(trace, 2),
            Combine((Term(F(3, 2) / two, ("log_2",)), Term(F(9, 20) / two)), unfold=("taustar",)),
            "so $T$ bounds the trace; and $\\eta(2\\lambda + T/\\varepsilon) = 2$.",
        ),
        *sides(q, POINT, D[0] ** 2 + D[1] ** 2, sqrt(5) * two, unfold=("Dstar_1", "Dstar_2")),
    ]


def refutation() -> list[Line]:
    """`|D+| >= |D| + 17/(600 sqrt 5)` at the instance."""
    return [
        *at_least((2 * D[0] - D[1]) / sqrt(5), (), Term(((D[0] + 2 * D[1]) / sqrt(5)) ** 2)),
        Line(
            "refuted",
            at_most(right + F(17, 600) / sqrt(5), left),
            Combine((Term(1, ("length",)),), unfold=("right", "Dstar_1", "Dstar_2")),
            "The updates of $u$ and $v$ differ by $(3/10, 7/6)$, against $D = (2, -1)\\ln 2$: the claim is false, and the "
            "same for every $\\eta > 0$.",
        ),
    ]


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """The claim with its witness, and the mended form."""
    names = ("nonnegative_step", "curvature", "step_size")
    margins = {name: (derivation[name].statement.margin,) for name in names}
    return (
        refuted(SETTING, derivation, POINT, margins, contracts(Step())),
        *SETTING.of(derivation, derivation.goals[1:]),
    )
