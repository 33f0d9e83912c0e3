"""`shared_preconditioner`: `|D+|_P <= (1 - eta lam)|D|_P` with one positive preconditioner P for both rows."""

from sympy import sqrt

from .framework.conclude_variants import Setting
from .framework.derivation import Derivation, Goal, Line, equal
from .framework.rules import Combine, Define, Term
from .framework.small import real
from .framework.symbols import LATEX, RANGES, Step, i, j, l, m
from .framework.types import Expr
from .lines import bounds, clip, logmean, losses, step
from .lines.bounds import half
from .lines.one_step import SIZES

SETTING = Setting(table={"P": lambda j: real(f"P_{j - 1}")})
NAMES = LATEX | {
    "norm": "|D|_{P}",
    "nextnorm": "|D^{+}|_{P}",
    "tau": r"\operatorname{tr}P^{-1}M",
}


def P(q: Step, j: Expr) -> Expr:
    """The preconditioner's entry, positive."""
    return q.name("P", j, positive=True)


def derive() -> Derivation:
    """The derivation of `contraction` with weighted sums over the coordinates."""
    q = Step()
    hypotheses = ("nonnegative_step", "curvature", "step_size")
    return Derivation(
        claim="shared_preconditioner",
        lines=(
            *clip.gradients(q),
            *logmean.logmean(q),
            *moved(q),
            *weighted(q),
            *bounds.hypotheses(q),
            *losses.swapped(bounds.upper(q), operator_bound(q)),
        ),
        goals=(Goal("shared_preconditioner", "contraction", hypotheses),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=SETTING.conclude,
        names=NAMES,
    )


def moved(q: Step) -> list[Line]:
    """One step with the gradient divided by P, and the recursion."""
    scaled = {row: q.name(f"g_{row}", m) / P(q, m) for row in ("u", "v")}
    L, d = q.name("L", i), q.name("d", i)
    return [
        *(clip.clipped_step(q, row, scaled[row], (f"g_{row}",)) for row in ("u", "v")),
        *losses.named(step.recursion(q), "c", "Dnext"),
        losses.pushed(
            q,
            "MD",
            q.a(i) * L * d,
            ("L", "d"),
            "The operator $M = \\sum_i a_i L_i x_i x_i^T$ applied to $D$.",
        ),
        Line(
            "recursion",
            equal(
                q.name("Dnext", m),
                q.name("c") * q.name("D", m) - q.eta * q.name("MD", m) / P(q, m),
            ),
            Combine(
                (Term(-q.eta * q.a(i) * q.x(i, m) / P(q, m), ("mean_value",), over=(i,)),),
                unfold=("Dnext", "next_u", "next_v", "g_u", "g_v", "MD", "c", "D"),
            ),
            "One step: $D^+ = cD - \\eta P^{-1} M D$.",
        ),
    ]


def weighted(q: Step) -> list[Line]:
    """The lines of a plain step with lengths and trace weighted by P."""
    D, Dnext, MD = (q.name(s, j) for s in ("D", "Dnext", "MD"))
    norm, new = q.name("norm", nonnegative=True), q.name("nextnorm", nonnegative=True)
    lines = losses.without(step.quadratic(q), "tau", "tau_sign")
    trace = q.over_i(q.name("b", i) * q.over_j(q.x(i, j) ** 2 / P(q, j)))
    lines = losses.changed(lines, "norm", statement=equal(norm, sqrt(q.over_j(P(q, j) * D**2))))
    lines = losses.changed(
        lines, "nextnorm", statement=equal(new, sqrt(q.over_j(P(q, j) * Dnext**2)))
    )
    lines = losses.changed(
        lines,
        "next_square",
        statement=equal(
            new**2,
            q.name("c") ** 2 * norm**2
            - 2 * q.name("c") * q.eta * q.name("quad")
            + q.eta**2 * q.over_j(MD**2 / P(q, j)),
        ),
    )
    return [
        *lines,
        Line("tau", equal(q.name("tau"), trace), Define(("b",)), "The trace of $P^{-1} M$,"),
        Line(
            "tau_sign",
            bounds.at_most(0, q.name("tau")),
            Combine(
                (Term(q.over_j(q.x(i, j) ** 2 / P(q, j)), ("b_sign",), over=(i,)),),
                unfold=("tau",),
            ),
            "a sum of squares.",
        ),
    ]


def operator_bound(q: Step) -> Line:
    """`MD.P^-1 MD <= tr(P^-1 M) D.MD`, a sum of squares."""
    d, other = q.name("d", i), q.name("d", l)
    square = (other * q.x(i, j) - d * q.x(l, j)) ** 2 / P(q, j)
    return Line(
        "MD_square",
        bounds.at_most(q.over_j(q.name("MD", j) ** 2 / P(q, j)), q.name("tau") * q.name("quad")),
        Combine(
            (Term(half * q.over_j(square), ("b_sign", ("b_sign", {i: l})), over=(i, l)),),
            unfold=("MD", "tau", "quad", "b"),
        ),
        "The gap is $\\frac12 \\sum_{i,l} b_i b_l |d_l x_i - d_i x_l|^2$, weighted by $1/P$.",
    )
