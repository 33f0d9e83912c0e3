"""`row_clipping`: scaling rows of the gradient down can drive rows apart; where no row is scaled, rows contract."""

from sympy import Max, Rational, Symbol, exp, sqrt

from .framework.conclude_variants import Setting, contracts
from .framework.derivation import Derivation, Goal, Line, Part, at_most, equal
from .framework.extremes import MaxAbove, MaxIs
from .framework.inference import Evaluate, Instance, Root
from .framework.points import EvaluateNamed
from .framework.rules import Combine, Term
from .framework.symbols import LATEX, RANGES, Step, i, m
from .framework.types import Expr
from .lines import clip, logmean, losses, step
from .lines.logmean import v
from .lines.losses_point import Point, at_least, exponential, left, refuted, right, sides

SIZES = (
    "The refutation is one instance: 3 labels, 2 coordinates, 2 examples, rational data; its exponentials are bounded "
    "exactly. In the mended form the number of labels K >= 3, the dimension n and the number of examples "
    "N are symbols in every line; its conclusion is written out for 3 labels, 2 coordinates and 1 example."
)
F = Rational
half, C = F(1, 2), F(1, 6)
POINT = Point(
    rows=((half, 0), (0, 0), (0, 0)),
    features=((1, -4), (0, 3)),
    weights=(half, half),
    scalars={"eta": F(1, 3), "lam": 0, "T": 6, "clip": C},
    names=clip.NAMES,
)
HYPOTHESES = (
    "nonnegative_step",
    "curvature",
    "step_size",
    "nothing_clipped_u",
    "nothing_clipped_v",
)
IDS = {"nothing_clipped_u": "nothing_clipped", "nothing_clipped_v": "nothing_clipped"}
SETTING = Setting(table=clip.TABLE, sizes={"mask": 1}, ids=IDS, examples=1, forms=("after",))


def derive() -> Derivation:
    """The refutation, then the mended form, both from the loss."""
    q = Step()
    return Derivation(
        claim="row_clipping",
        lines=(
            *clip.gradients(q),
            *clip.by_row(q),
            *logmean.logmean(q),
            *clip.after(q, clip.scaled(q)),
            *clip.row_kept(q, "u"),
            *clip.row_kept(q, "v"),
            *clip.recursion(q),
            *step.quadratic(q),
            *losses.upper(q),
            *values(q),
            *bounds(),
            *scales(),
            *refutation(),
        ),
        goals=(
            Goal("refuted", "refuted", (), also=("trace", "after")),
            Goal("mended", "contraction", HYPOTHESES),
        ),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude,
        names=LATEX,
    )


y: Expr = exp(half)
Z = Symbol("Zstar", positive=True)
P, Q = Symbol("pu_star", positive=True), Symbol("pv_star", positive=True)
len_u, len_v = (Symbol(f"len{row}_star", nonnegative=True) for row in "uv")
top_u, top_v = (Symbol(f"top{row}_star", positive=True) for row in "uv")
D = tuple(Symbol(f"Dstar_{k}", real=True) for k in (1, 2))
trace = Symbol("taustar", real=True)


def values(q: Step) -> list[Line]:
    """The values at the instance."""
    p_u, p_v = losses.pair(q)
    names = ("pu_star", "pv_star", "topu_star", "topv_star")

    def length(p: Symbol) -> Expr:
        return sqrt((p / 2) ** 2 + ((4 * p - 1) / 2) ** 2)

    def named(
        symbol: Symbol, value: Expr, general: Expr, known: tuple[str, ...], sentence: str
    ) -> Line:
        rule = EvaluateNamed(POINT, expression=general, known=known)
        return Line(symbol.name, equal(symbol, value), rule, sentence)

    moved = (
        half - (C / top_u * P / 2 - C / top_v * Q / 2) / 3,
        (C / top_u * (4 * P - 1) / 2 - C / top_v * (4 * Q - 1) / 2) / 3,
    )
    general = {row: q.name(f"len_{row}", nonnegative=True) for row in "uv"}
    larger = {row: q.name(f"top_{row}", positive=True) for row in "uv"}
    return [
        Line(
            "Zstar",
            equal(Z, y + 2),
            Evaluate(POINT, expression=q.name("Z", i, positive=True), values={i: 1}),
            "The instance: $K = 3$, $w_u = (1/2, 0)$, the other rows $0$ (the last is the target), $x_1 = (1, -4)$ and "
            "$x_2 = (0, 3)$ of weight $1/2$, $C = 1/6$, $\\lambda = 0$, $\\eta = 1/3$, $T = 6$. On the first example the "
            "normaliser",
        ),
        Line(
            "pu_star",
            equal(P, y / Z),
            Evaluate(POINT, expression=p_u, values={i: 1}, unfold=("Zstar",)),
            "and the probabilities of $u$",
        ),
        Line(
            "pv_star",
            equal(Q, 1 / Z),
            Evaluate(POINT, expression=p_v, values={i: 1}, unfold=("Zstar",)),
            "and $v$; on the second one every probability is $1/3$. The gradients are $\\frac12 (p, 1 - 4p)$.",
        ),
        Line(
            "taustar",
            equal(trace, 17 * (P - Q) + F(3, 2)),
            Evaluate(POINT, expression=q.name("tau"), unfold=("pu_star", "pv_star", "Zstar")),
            "The trace of $M$,",
        ),
        named(len_u, length(P), general["u"], names[:2], "the length of the gradient in row $u$"),
        named(len_v, length(Q), general["v"], names[:2], "and in row $v$;"),
        named(
            top_u,
            Max(C, len_u),
            larger["u"],
            ("lenu_star",),
            "what row $u$ is divided by, times $C$,",
        ),
        named(top_v, Max(C, len_v), larger["v"], ("lenv_star",), "and row $v$."),
        *(
            Line(
                D[k].name,
                equal(D[k], moved[k]),
                EvaluateNamed(POINT, expression=q.name("Dnext", m), values={m: k + 1}, known=names),
                ("The difference after the step has the first entry", "and the second one")[k],
            )
            for k in (0, 1)
        ),
        *sides(q, POINT, D[0] ** 2 + D[1] ** 2, half, known=("Dstar_1", "Dstar_2")),
    ]


def bounds() -> list[Line]:
    """The exponential and the probabilities between rational numbers."""
    unfold = ("pu_star", "pv_star", "Zstar")
    return [
        *exponential(),
        Line("y_above", at_most(F(3, 2), y), Instance("exp_above", {v: half}), "At $1/2$,"),
        Line(
            "y_inverse",
            at_most(half, exp(-half)),
            Instance("exp_below", {v: half}),
            "at $-1/2$,",
        ),
        Line(
            "y_below",
            at_most(y, 2),
            Combine((Term(2 * y, ("y_inverse",)),)),
            "that is, from above.",
        ),
        Line(
            "trace",
            at_most(trace, 6),
            Combine((Term(F(25, 2) / Z, ("y_below",)), Term(1 / Z)), unfold=("taustar", *unfold)),
            "So $T$ bounds the trace, and $\\eta(2\\lambda + T) = 2$.",
        ),
        Line(
            "pu_above",
            at_most(F(2, 5), P),
            Combine((Term(F(3, 5) / Z, ("y_above",)), Term(F(1, 10) / Z)), unfold=unfold),
            "The probability of $u$ is at least $2/5$,",
        ),
        Line(
            "pv_above",
            at_most(F(1, 4), Q),
            Combine((Term(F(1, 4) / Z, ("y_below",)),), unfold=unfold),
            "that of $v$ at least $1/4$",
        ),
        Line(
            "pv_below",
            at_most(Q, F(2, 7)),
            Combine((Term(F(2, 7) / Z, ("y_above",)),), unfold=unfold),
            "and at most $2/7$.",
        ),
    ]


def scales() -> list[Line]:
    """Row v is not scaled; row u is, by a lot."""
    return [
        Line(
            "lenv_square",
            at_most(len_v**2, C**2),
            Combine(
                (
                    Term(F(17, 4), ("pv_above", "pv_below")),
                    Term(F(31, 112), ("pv_below",)),
                    Term(F(1, 441)),
                ),
                unfold=("lenv_star",),
            ),
            "So the gradient in row $v$",
        ),
        Line("lenv_most", at_most(len_v, C), Root("lenv_square"), "is not longer than $C$,"),
        Line("topv_max", equal(Max(C, len_v), C), MaxIs("lenv_most"), "it stays as it is:"),
        Line(
            "topv_is",
            equal(top_v, C),
            Combine((Term(1, ("topv_max",)),), unfold=("topv_star",)),
            "it is divided by $C/C = 1$.",
        ),
        Line(
            "lenu_square",
            at_most(((4 * P - 1) / 2) ** 2, len_u**2),
            Combine((Term(P**2 / 4),), unfold=("lenu_star",)),
            "The one in row $u$ is at least as long as its second entry,",
        ),
        Line("lenu_least", at_most((4 * P - 1) / 2, len_u), Root("lenu_square"), "that is,"),
        Line("topu_max", at_most(len_u, Max(C, len_u)), MaxAbove(), "and so"),
        Line(
            "topu_least",
            at_most((4 * P - 1) / 2, top_u),
            Combine((Term(1, ("lenu_least",)), Term(1, ("topu_max",))), unfold=("topu_star",)),
            "is what it is divided by (times $C$).",
        ),
        Line(
            "scaled",
            at_most(P / (12 * top_u), F(1, 9)),
            Combine(
                (Term(1 / (9 * top_u), ("topu_least",)), Term(F(5, 36) / top_u, ("pu_above",)))
            ),
            "Its first entry, scaled, is at most $1/9$; that of row $v$ is $p_v/2 \\ge 1/8$.",
        ),
    ]


def refutation() -> list[Line]:
    """`|D+| >= |D| + 1/216` at the instance."""
    return [
        *at_least(D[0], (), Term(D[1] ** 2)),
        Line(
            "refuted",
            at_most(right + F(1, 216), left),
            Combine(
                (
                    Term(1, ("length",)),
                    Term(F(1, 6), ("pv_above",)),
                    Term(F(1, 3), ("scaled",)),
                ),
                unfold=("right", "Dstar_1", "topv_is"),
            ),
            "So the smaller row takes the longer step, and the claim is false.",
        ),
    ]


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """The claim with its witness (2 coordinates, 2 examples); the mended form (2 and 1)."""
    names = ("nonnegative_step", "curvature", "step_size")
    margins = {name: (derivation[name].statement.margin,) for name in names}
    return (
        refuted(SETTING, derivation, POINT, margins, contracts(Step())),
        *SETTING.of(derivation, derivation.goals[1:]),
    )
