"""The printed lemma at one instance with rational data, decided exactly.

K = 3, n = 1, N = 1: x = 2, rows 1/100, -1/100, -10 (the last is the target), lam = 5/4, eta = 1, r = 2, pbar = 1/2. The
exponentials that occur are bounded by `1 + v <= exp(v)` and `1 - v <= exp(-v)`, so no rounding enters.
"""

from collections.abc import Callable, Iterable, Mapping

from sympy import Integer, Rational, Symbol, exp, sinh, sqrt

from ..framework.derivation import Line, Statement, at_most, equal
from ..framework.inference import Evaluate, Instance, Monotone, Root
from ..framework.rules import Combine, Define, Term
from ..framework.small import Small, real
from ..framework.symbols import Step, i, m
from ..framework.types import Expr
from .bounds import half
from .logmean import v

F = Rational

WITNESS: Mapping[Symbol, Expr] = {
    real("w_0_0"): F(1, 100),
    real("w_1_0"): F(-1, 100),
    real("w_2_0"): Integer(-10),
    real("x_0_0"): Integer(2),
    real("a_0"): Integer(1),
    real("eta"): Integer(1),
    real("lam"): F(5, 4),
    real("r"): Integer(2),
    real("pbar"): half,
}


def instance(definitions: Iterable[Statement]) -> Callable[[Expr, Mapping[Symbol, int]], Expr]:
    """The instance above, as `Evaluate` wants it."""
    values = {symbol.name: value for symbol, value in WITNESS.items()}
    table = {
        "w_u": lambda j: values["w_0_0"],
        "w_v": lambda j: values["w_1_0"],
        "w": lambda k, j: values["w_2_0"],
        "x": lambda i, j: values["x_0_0"],
        "a": lambda i: values["a_0"],
        "y": lambda i: Integer(3),
        **{name: (lambda s=name: values[s]) for name in ("eta", "lam", "r", "pbar")},
    }
    return Small(table, definitions, labels=3, dim=1, examples=1)


def exponential() -> list[Line]:
    """`1 + v <= exp(v)` and `1 - v <= exp(-v)` for v >= 0, and the three values needed."""
    return [
        Line(
            "exp_above",
            at_most(1 + v, exp(v)),
            Monotone(v, (Term(2 * exp(v / 2) * sinh(v / 2)),)),
            "For $v \\ge 0$: equality at $0$, and the gap has derivative $e^v - 1 = 2 e^{v/2} \\sinh(v/2)$.",
        ),
        Line(
            "exp_below",
            at_most(1 - v, exp(-v)),
            Monotone(v, (Term(2 * exp(-v / 2) * sinh(v / 2)),)),
            "Likewise, with derivative $1 - e^{-v} = 2 e^{-v/2} \\sinh(v/2)$.",
        ),
        Line(
            "exp_50",
            at_most(F(51, 50), exp(F(1, 50))),
            Instance("exp_above", {v: F(1, 50)}),
            "At $1/50$,",
        ),
        Line(
            "exp_-50",
            at_most(F(49, 50), exp(F(-1, 50))),
            Instance("exp_below", {v: F(1, 50)}),
            "at $-1/50$,",
        ),
        Line(
            "exp_20", at_most(21, exp(20)), Instance("exp_above", {v: Integer(20)}), "and at $20$."
        ),
    ]


def printed(q: Step) -> tuple[Expr, Expr]:
    """Both sides of the lemma as printed."""
    norm, new = q.name("norm", nonnegative=True), q.name("nextnorm", nonnegative=True)
    return new, (1 - q.eta * (q.lam - q.r**2 * q.pbar)) * norm


def refutation(q: Step) -> list[Line]:
    """`|D+|` exceeds the printed bound by at least 1/500."""
    left, right = Symbol("left", nonnegative=True), Symbol("right", real=True)
    square = Symbol("left_sq", nonnegative=True)
    D, L, Z = (
        Symbol("Dstar", real=True),
        Symbol("Lstar", real=True),
        Symbol("Zstar", positive=True),
    )
    up, down, tiny = exp(F(1, 50)), exp(F(-1, 50)), exp(-20)
    lhs, rhs = printed(q)
    return [
        Line(
            "Zstar",
            equal(Z, up + down + tiny),
            Evaluate(instance, expression=q.name("Z", i, positive=True), values={i: 1}),
            "The instance: $K = 3$, $x = 2$, rows $1/100$, $-1/100$, $-10$ (the last is the target), "
            "$\\lambda = 5/4$, $\\eta = 1$, $r = 2$, $\\bar p = 1/2$. The normaliser,",
        ),
        Line(
            "Lstar",
            equal(L, 25 * (up - down) / Z),
            Evaluate(instance, expression=q.name("L", i), values={i: 1}, unfold=("Zstar",)),
            "the logarithmic mean,",
        ),
        Line(
            "Dstar",
            equal(D, F(-1, 200) - 2 * (up - down) / Z),
            Evaluate(instance, expression=q.name("Dnext", m), values={m: 1}, unfold=("Zstar",)),
            "the difference after the step,",
        ),
        Line(
            "left_sq",
            equal(square, (F(-1, 200) - 2 * (up - down) / Z) ** 2),
            Evaluate(instance, expression=lhs**2, unfold=("Zstar",)),
            "the square of its length,",
        ),
        Line(
            "left",
            equal(left, sqrt(square)),
            Define(("left_sq",)),
            "the left side of the printed lemma",
        ),
        Line(
            "right",
            equal(right, F(7, 200)),
            Evaluate(instance, expression=rhs),
            "and its right side, which is positive.",
        ),
        Line(
            "lower_star",
            at_most(1 / Z, L),
            Evaluate(instance, of="L_above", values={i: 1}, unfold=("Lstar", "Zstar")),
            "$L$ is at least the geometric mean",
        ),
        Line(
            "upper_star",
            at_most(L, (up + down) / (2 * Z)),
            Evaluate(instance, of="L_below", values={i: 1}, unfold=("Lstar", "Zstar")),
            "and at most the arithmetic mean,",
        ),
        Line(
            "pbar_star",
            at_most(L, half),
            Combine((Term(1, ("upper_star",)), Term(tiny / (2 * Z))), unfold=("Zstar",)),
            "so that $\\bar p = 1/2$ is admissible ($r = |x|$ and $\\eta = 1 \\ge 0$ are evident).",
        ),
        *exponential(),
        Line(
            "Z_bound",
            at_most(Z, F(5, 2)),
            Combine(
                (
                    Term(F(50, 49) * up, ("exp_-50",)),
                    Term(down, ("exp_50",)),
                    Term(down / 50),
                    Term(tiny / 21, ("exp_20",)),
                    Term(F(5, 2) - F(50, 49) - 1 - F(1, 21)),
                ),
                unfold=("Zstar",),
            ),
            "So $Z \\le 50/49 + 1 + 1/21 \\le 5/2$",
        ),
        Line(
            "L_bound",
            at_most(F(2, 5), L),
            Combine((Term(1, ("lower_star",)), Term(F(2, 5) / Z, ("Z_bound",)))),
            "and $L \\ge 1/Z \\ge 2/5$.",
        ),
        Line(
            "Dstar_L",
            equal(D, -F(1, 50) * (F(1, 4) + 4 * L)),
            Combine(unfold=("Dstar", "Lstar")),
            "The step overshoots:",
        ),
        Line(
            "left_square",
            equal(D**2, left**2),
            Combine(unfold=("left", "left_sq", "Dstar")),
            "its length",
        ),
        Line("length", at_most(-D, left), Root("left_square"), "is at least $-D^+$."),
        Line(
            "smallest_pbar",
            at_most((4 * L - F(1, 4)) / 50 + F(1, 100), left),
            Combine((Term(1, ("length",)), Term(1, ("Dstar_L",)))),
            "Even with the smallest admissible $\\bar p = L$ the left side exceeds the right side,",
        ),
        Line(
            "refuted",
            at_most(right + F(1, 500), left),
            Combine(
                (
                    Term(1, ("length",)),
                    Term(1, ("Dstar_L",)),
                    Term(F(2, 25), ("L_bound",)),
                ),
                unfold=("right",),
            ),
            "and with $\\bar p = 1/2$ as well: the printed lemma is false.",
        ),
    ]
