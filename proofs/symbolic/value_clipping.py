"""`value_clipping`: cutting the entries of the gradient can drive rows apart; where nothing is cut, rows contract."""

from sympy import Max, Rational, Symbol, exp

from .framework.conclude_variants import Setting, contracts
from .framework.derivation import Derivation, Goal, Line, Part, at_most, equal
from .framework.extremes import MaxAbove, MaxIs
from .framework.inference import Evaluate, Instance
from .framework.points import EvaluateNamed
from .framework.rules import Combine, Term
from .framework.symbols import LATEX, RANGES, Step, i, m
from .framework.types import Expr
from .lines import clip, logmean, losses, step
from .lines.logmean import v
from .lines.losses_point import Point, at_least, exponential, left, refuted, right, sides

SIZES = (
    "The refutation is one instance: 3 labels, 2 coordinates, 1 example, rational data; its exponentials are bounded "
    "exactly. In the mended form the number of labels K >= 3, the dimension n and the number of examples "
    "N are symbols in every line; its conclusion is written out for 3 labels, 2 coordinates and 2 examples."
)
F = Rational
half = F(1, 2)
POINT = Point(
    rows=((F(3, 5), F(4, 5)), (0, 0), (0, 0)),
    features=((2, -1),),
    weights=(1,),
    scalars={"eta": half, "lam": 0, "T": F(5, 2), "clip": half},
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
SETTING = Setting(table=clip.TABLE, sizes={"mask": 1}, ids=IDS, forms=("after",))


def derive() -> Derivation:
    """The refutation, then the mended form, both from the loss."""
    q = Step()
    return Derivation(
        claim="value_clipping",
        lines=(
            *clip.gradients(q),
            *clip.by_value(q),
            *logmean.logmean(q),
            *clip.after(q, clip.cut(q)),
            *clip.entries_kept(q, "u"),
            *clip.entries_kept(q, "v"),
            *clip.recursion(q),
            *step.quadratic(q),
            *losses.upper(q),
            *values(q),
            *bounds(),
            *cuts(),
            *refutation(q),
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


y: Expr = exp(F(2, 5))
Z = Symbol("Zstar", positive=True)
P, Q = Symbol("pu_star", positive=True), Symbol("pv_star", positive=True)
L_u, L_v = Symbol("lowu_2", real=True), Symbol("lowv_2", real=True)
C_u = tuple(Symbol(f"cutu_{k}", real=True) for k in (1, 2))
C_v = tuple(Symbol(f"cutv_{k}", real=True) for k in (1, 2))
D = tuple(Symbol(f"Dstar_{k}", real=True) for k in (1, 2))
trace = Symbol("taustar", real=True)


def values(q: Step) -> list[Line]:
    """The values at the instance."""
    p_u, p_v = losses.pair(q)
    probabilities = ("pu_star", "pv_star")

    def value(symbol: Symbol, expression: Expr, general: Expr, at: int, *known: str) -> Line:
        rule = EvaluateNamed(POINT, expression=general, values={m: at}, known=known)
        return Line(symbol.name, equal(symbol, expression), rule, "")

    sentences = (
        "The second entries cut from below, of row $u$",
        "and of row $v$;",
        "the first entries, cut, of row $u$",
        "and of row $v$;",
        "the second ones, of row $u$",
        "and of row $v$.",
        "The difference after the step has the first entry",
        "and the second one",
    )
    entries = (
        value(L_u, Max(-P, -half), q.name("low_u", m), 2, "pu_star"),
        value(L_v, Max(-Q, -half), q.name("low_v", m), 2, "pv_star"),
        value(C_u[0], -Max(-2 * P, -half), q.name("cut_u", m), 1, "pu_star"),
        value(C_v[0], -Max(-2 * Q, -half), q.name("cut_v", m), 1, "pv_star"),
        value(C_u[1], -Max(-L_u, -half), q.name("cut_u", m), 2, "lowu_2"),
        value(C_v[1], -Max(-L_v, -half), q.name("cut_v", m), 2, "lowv_2"),
        *(
            value(
                D[k],
                F(3 + k, 5) - (C_u[k] - C_v[k]) / 2,
                q.name("Dnext", m),
                k + 1,
                C_u[k].name,
                C_v[k].name,
            )
            for k in (0, 1)
        ),
    )
    return [
        Line(
            "Zstar",
            equal(Z, y + 2),
            Evaluate(POINT, expression=q.name("Z", i, positive=True), values={i: 1}),
            "The instance: $K = 3$, $w_u = (3/5, 4/5)$, the other rows $0$ (the last is the target), $x = (2, -1)$, "
            "$C = 1/2$, $\\lambda = 0$, $\\eta = 1/2$, $T = 5/2$. The normaliser",
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
            "and $v$: the gradients are $(2p, -p)$.",
        ),
        Line(
            "taustar",
            equal(trace, F(25, 2) * (P - Q)),
            Evaluate(POINT, expression=q.name("tau"), unfold=(*probabilities, "Zstar")),
            "The trace of $M$.",
        ),
        *(
            Line(line.name, line.statement, line.rule, sentence)
            for line, sentence in zip(entries, sentences, strict=True)
        ),
        *sides(q, POINT, D[0] ** 2 + D[1] ** 2, F(1), known=("Dstar_1", "Dstar_2")),
    ]


def bounds() -> list[Line]:
    """The exponential and the probabilities between rational numbers."""
    unfold = ("pu_star", "pv_star", "Zstar")
    return [
        *exponential(),
        Line(
            "y_above",
            at_most(F(7, 5), y),
            Instance("exp_above", {v: F(2, 5)}),
            "At $2/5$,",
        ),
        Line(
            "y_inverse",
            at_most(F(3, 5), exp(-F(2, 5))),
            Instance("exp_below", {v: F(2, 5)}),
            "at $-2/5$,",
        ),
        Line(
            "y_below",
            at_most(y, F(5, 3)),
            Combine((Term(F(5, 3) * y, ("y_inverse",)),)),
            "that is, from above.",
        ),
        Line(
            "trace",
            at_most(trace, F(5, 2)),
            Combine(
                (Term(10 / Z, ("y_below",)), Term(F(5, 6) / Z)),
                unfold=("taustar", *unfold),
            ),
            "So $T$ bounds the trace, and $\\eta(2\\lambda + T) \\le 2$.",
        ),
        Line(
            "pu_below",
            at_most(-half, -P),
            Combine((Term(half / Z, ("y_below",)), Term(F(1, 6) / Z)), unfold=unfold),
            "The probability of $u$ is at most $1/2 = C$,",
        ),
        Line(
            "pv_below",
            at_most(-half, -Q),
            Combine((Term(y / (2 * Z)),), unfold=unfold),
            "that of $v$ too,",
        ),
        Line(
            "pv_above",
            at_most(-2 * Q, -half),
            Combine((Term(half / Z, ("y_below",)), Term(F(1, 6) / Z)), unfold=unfold),
            "but twice that of $v$ is at least $C$.",
        ),
        Line(
            "gap",
            at_most(F(1, 10), P - Q),
            Combine((Term(F(9, 10) / Z, ("y_above",)), Term(F(3, 50) / Z)), unfold=unfold),
            "The two differ by at least $1/10$.",
        ),
    ]


def cuts() -> list[Line]:
    """What the cut entries are."""
    lines = [
        Line(
            "cutu_1_max",
            at_most(-half, Max(-2 * P, -half)),
            MaxAbove(),
            "So for the first entries: that of $u$, cut,",
        ),
        Line(
            "cutv_1_max",
            equal(Max(-2 * Q, -half), -half),
            MaxIs("pv_above"),
            "is at most $C$, and that of $v$ is $C$.",
        ),
    ]
    for row, low, cut, p, sentence in (
        ("u", L_u, C_u[1], P, "The second entry of $u$"),
        ("v", L_v, C_v[1], Q, "The second entry of $v$"),
    ):
        lines += [
            Line(
                f"low{row}_max",
                equal(Max(-p, -half), -p),
                MaxIs(f"p{row}_below"),
                sentence,
            ),
            Line(
                f"low{row}_is",
                equal(low, -p),
                Combine((Term(1, (f"low{row}_max",)),), unfold=(f"low{row}_2",)),
                "is not changed from below,",
            ),
            Line(
                f"cut{row}_is",
                equal(cut, -p),
                Combine(unfold=(f"cut{row}_2", f"low{row}_is")),
                "nor from above.",
            ),
        ]
    return lines


def refutation(q: Step) -> list[Line]:
    """`|D+| >= |D| + 1/25` at the instance."""
    value = (3 * D[0] + 4 * D[1]) / 5
    return [
        *at_least(value, (), Term(((4 * D[0] - 3 * D[1]) / 5) ** 2)),
        Line(
            "refuted",
            at_most(right + F(1, 25), left),
            Combine(
                (
                    Term(1, ("length",)),
                    Term(F(3, 10), ("cutu_1_max",)),
                    Term(F(3, 10), ("cutv_1_max",)),
                    Term(F(2, 5), ("gap",)),
                ),
                unfold=(
                    "right",
                    "Dstar_1",
                    "Dstar_2",
                    "cutu_is",
                    "cutv_is",
                    "cutu_1",
                    "cutv_1",
                ),
            ),
            "Cut, the gradients push along the second coordinate only, away from each other: the claim is false.",
        ),
    ]


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """The claim with its witness (2 coordinates, 1 example); the mended form (2 and 2)."""
    names = ("nonnegative_step", "curvature", "step_size")
    margins = {name: (derivation[name].statement.margin,) for name in names}
    return (
        refuted(SETTING, derivation, POINT, margins, contracts(Step())),
        *SETTING.of(derivation, derivation.goals[1:]),
    )
