"""Rows that are redrawn every S steps: t counts the steps since the last draw."""

from sympy import Integer, Symbol

from ..framework.derivation import Line, at_most, equal
from ..framework.inference import Induction
from ..framework.rules import Assume, Combine, Define, Term
from ..framework.symbols import LATEX, Step
from ..framework.types import Expr
from .runs import age, constant

ZERO = Integer(0)
period = Symbol("period", integer=True, positive=True)
left = Symbol("e", integer=True, nonnegative=True)  # steps of the period that are left
factor, distance = Symbol("q", real=True), Symbol("dist", real=True)
STEADY = ("eta", "lam", "T")
NAMES = LATEX | {"period": "S", "dist": "d"}


def norm(time: Expr) -> Expr:
    """`|D|`, `time` steps after the last draw."""
    return Step(time=time).name("norm", nonnegative=True)


def bound() -> Expr:
    """The claim's left side `q^S d`."""
    return factor**period * distance


def decayed(q: Step) -> list[Line]:
    """The factor q, its range, and what one step does."""
    eta, lam, T = map(constant, STEADY)
    return [
        Line("q", equal(factor, 1 - eta * (lam + T)), Define(), "The factor of one step,"),
        Line("factor_low", at_most(0, factor), Assume(), "hypothesis: it is not negative"),
        Line("factor_high", at_most(factor, 1), Assume(), "and at most 1."),
        Line(
            "one_step",
            at_most(factor * norm(age), norm(age + 1)),
            Combine(
                (Term(1, ("lower_bound",)),),
                unfold=("run", "q", *(f"steady_{name}" for name in STEADY)),
            ),
            "So one step leaves at least the share $q$ of the distance.",
        ),
        Line(
            "drawn_apart",
            at_most(distance, norm(ZERO)),
            Assume(),
            "Hypothesis: the rows that were drawn last are at least $d$ apart.",
        ),
    ]


def idle() -> list[Line]:
    """`q^e d <= |D_0|`: induction over the steps that are left."""

    def claim(steps: Expr) -> tuple[Expr, Expr]:
        return factor**steps * distance, norm(ZERO)

    return [
        Line(
            "idle_0",
            at_most(*claim(ZERO)),
            Combine((Term(1, ("drawn_apart",)),)),
            "First $q^e d \\le |D_0|$, where $e$ steps of the period are left: for $e = 0$ the hypothesis.",
        ),
        Line(
            "idle_e",
            at_most(*claim(left)),
            Assume("induction"),
            "Induction hypothesis: it holds for $e$.",
        ),
        Line(
            "idle_next",
            at_most(*claim(left + 1)),
            Combine(
                (
                    Term(1, ("factor_low", "idle_e")),
                    Term(norm(ZERO), ("factor_high",)),
                )
            ),
            "Because $0 \\le q \\le 1$, also $q^{e + 1} d = q\\,(q^e d) \\le q\\,|D_0| \\le |D_0|$.",
        ),
        Line(
            "idle",
            at_most(*claim(left)),
            Induction(left, "idle_0", "idle_e", "idle_next"),
            "By induction it holds for every $e$.",
        ),
    ]


def kept() -> list[Line]:
    """`q^(t + e) d <= |D_t|`: induction over the steps since the draw."""

    def claim(time: Expr) -> tuple[Expr, Expr]:
        return factor ** (time + left) * distance, norm(time)

    return [
        Line(
            "kept_0",
            at_most(*claim(ZERO)),
            Combine((Term(1, ("idle",)),)),
            "Then $q^{t + e} d \\le |D_t|$, $t$ steps after the draw: shown for $t = 0$.",
        ),
        Line(
            "kept_t",
            at_most(*claim(age)),
            Assume("induction"),
            "Induction hypothesis: it holds at step $t$.",
        ),
        Line(
            "kept_next",
            at_most(*claim(age + 1)),
            Combine((Term(1, ("one_step",)), Term(1, ("factor_low", "kept_t")))),
            "One more step multiplies by $q \\ge 0$.",
        ),
        Line(
            "kept",
            at_most(*claim(age)),
            Induction(age, "kept_0", "kept_t", "kept_next"),
            "By induction it holds at every step until the next draw.",
        ),
        Line(
            "period",
            equal(period, age + left),
            Assume("setting", relation="=="),
            "Rows are redrawn every $S$ steps, both at once: at any time they are $t \\le S$ steps old, $S = t + e$.",
        ),
        Line(
            "reset",
            at_most(bound(), norm(age)),
            Combine((Term(1, ("kept",)),), unfold=("period",)),
            "So at every time, before and after a draw, the claim.",
        ),
    ]
