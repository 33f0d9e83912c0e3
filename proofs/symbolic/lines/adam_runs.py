"""Runs of AdamW: the two moments of rows u and v, and what no update exceeds.

t counts the steps from 0; the update of step t has t + 1 gradients behind it. `nextfirst` and `nextsecond` are the moments
after step t.
"""

from sympy import Abs, Max, Symbol, sqrt
from sympy import S as Numbers

from ..framework.derivation import Line, at_most, equal
from ..framework.inference import Induction, MaxCases, Root
from ..framework.rules import Assume, Combine, Define, Term
from ..framework.strict import DefineNonnegative, DefinePositive, Positive
from ..framework.symbols import LATEX, Step, j, m
from ..framework.types import Expr
from . import adaptive, runs

age = runs.age
q, later, start = Step(time=age), Step(time=age + 1), Step(time=Numbers.Zero)
b1 = Symbol("beta1", nonnegative=True)
b2, eps = Symbol("beta2", positive=True), Symbol("epsilon", positive=True)
rest1, rest2, slack, ratio = (
    Symbol(name, positive=True) for name in ("rest1", "rest2", "slack", "ratio")
)
limit = Symbol("limit", positive=True)
lam = Symbol("lamnz", real=True, nonzero=True)
sup = Symbol("sup", real=True)
ROWS = ("u", "v")

share = b1**2 / b2
power1, power2 = b1 ** (age + 1), b2 ** (age + 1)

NAMES = LATEX | {
    "beta1": r"\beta_1",
    "beta2": r"\beta_2",
    "rest1": r"(1-\beta_1)",
    "rest2": r"(1-\beta_2)",
    "slack": r"\sigma",
    "ratio": "(1-s)",
    "vhat_u": r"\hat v^{u}",
    "vhat_v": r"\hat v^{v}",
    "up": r"\upsilon",
    "down": r"\upsilon_\infty",
    "epsilon": r"\varepsilon",
    "mu": r"(1-\beta_1^{t+1})",
    "nu": r"(1-\beta_2^{t+1})",
    "theta": r"(1-s^{t+1})",
    "limit": "C",
    "most": "C_{t+1}",
    "limit_sq": r"C^2",
    "first_u": "m^{u}",
    "first_v": "m^{v}",
    "nextfirst_u": "m^{u+}",
    "nextfirst_v": "m^{v+}",
    "second_u": "v^{u}",
    "second_v": "v^{v}",
    "nextsecond_u": "v^{u+}",
    "nextsecond_v": "v^{v+}",
    "mhat_u": r"\hat m^{u}",
    "mhat_v": r"\hat m^{v}",
    "var_u": r"v^{u+}",
    "var_v": r"v^{v+}",
    "vroot_u": r"\sqrt{\hat v^{u}}",
    "vroot_v": r"\sqrt{\hat v^{v}}",
    "U_u": "U^{u}",
    "U_v": "U^{v}",
    "sup": r"|D_0|_\infty",
    "lamnz": r"\lambda",
}


def over(name: str, **sign: bool) -> Expr:
    """A quantity of time t alone."""
    return q.name(name, **sign)


mu, nu, theta = (q.name(name, positive=True) for name in ("mu", "nu", "theta"))
most = q.name("most", positive=True)


def at(name: str, row: str, index: Expr = m, step: Step = q, **sign: bool) -> Expr:
    """An entry of a quantity of row u or v."""
    return step.name(f"{name}_{row}", index, **sign)


def below_one() -> list[Line]:
    """Both betas are below 1."""
    return [
        Line(
            "rest1",
            equal(rest1, 1 - b1),
            Positive("setting"),
            "The first beta is below 1,",
        ),
        Line("rest2", equal(rest2, 1 - b2), Positive("setting"), "and so is the second."),
    ]


def betas() -> list[Line]:
    """The betas and their powers: 1 - beta1^(t+1) and the like are positive; `s < 1`."""
    return [
        *below_one(),
        Line(
            "betas",
            equal(slack, b2 - b1**2),
            Positive(),
            "Hypothesis: the square of the first is below the second, $s = \\beta_1^2/\\beta_2 < 1$.",
        ),
        Line(
            "below_one",
            equal(slack / b2, 1 - share),
            Combine(unfold=("betas",)),
            "So $1 - s$ is positive:",
        ),
        Line("ratio", equal(ratio, 1 - share), DefinePositive("below_one"), "a name for it."),
        *seen(),
        *powers("theta", share, ratio, "ratio"),
    ]


def seen() -> list[Line]:
    """`1 - beta^(t+1)` for both betas."""
    return [*powers("mu", b1, rest1, "rest1"), *powers("nu", b2, rest2, "rest2")]


def powers(name: str, base: Expr, gap: Expr, fact: str) -> list[Line]:
    """`1 - base^(t+1)`, positive because `gap = 1 - base` is."""
    return [
        *powers_below(name, base, gap, fact),
        Line(
            name,
            equal(q.name(name, positive=True), 1 - base ** (age + 1)),
            DefinePositive(f"{name}_above"),
            "so this is positive: the share of the past that has been seen.",
        ),
    ]


def powers_below(name: str, base: Expr, gap: Expr, fact: str) -> list[Line]:
    """`gap <= 1 - base^(t + 1)` for `gap = 1 - base`, by induction."""

    def claim(time: Expr) -> tuple[Expr, Expr]:
        return gap, 1 - base ** (time + 1)

    return [
        Line(
            f"{name}_0",
            at_most(*claim(Numbers.Zero)),
            Combine(unfold=(fact,)),
            "At first, equality.",
        ),
        Line(
            f"{name}_t",
            at_most(*claim(age)),
            Assume("induction"),
            "Induction hypothesis.",
        ),
        Line(
            f"{name}_next",
            at_most(*claim(age + 1)),
            Combine((Term(base, (f"{name}_t",)), Term(base * gap)), unfold=(fact,)),
            "One more power is no larger;",
        ),
        Line(
            f"{name}_above",
            at_most(*claim(age)),
            Induction(age, f"{name}_0", f"{name}_t", f"{name}_next"),
            "by induction no power is,",
        ),
    ]


def moments(row: str) -> list[Line]:
    """The moments of a row, from zero, and the update of a step."""
    g = at("g", row)
    first, second = at("first", row), at("second", row)
    new, new_square = at("nextfirst", row), at("nextsecond", row)
    lines = [
        Line(
            f"nextfirst_{row}",
            equal(new, b1 * first + rest1 * g),
            Define(("rest1", f"g_{row}")),
            f"The first moment of row ${row}$ after the step,",
        ),
        Line(
            f"nextsecond_{row}",
            equal(new_square, b2 * second + rest2 * g**2),
            Define(("rest2", f"g_{row}")),
            "and the second one.",
        ),
    ]
    for name, after in (("first", "nextfirst"), ("second", "nextsecond")):
        lines += [
            Line(
                f"run_{name}_{row}",
                equal(at(name, row, j, later), at(after, row, j)),
                Assume("setting", relation="=="),
                "A run: step $t + 1$ starts with the moments that step $t$ ends with;",
            ),
            Line(
                f"zero_{name}_{row}",
                equal(at(name, row, j, start), 0),
                Assume("setting", relation="=="),
                "before the first step they are zero.",
            ),
        ]
    return [*lines, *second_sign(row), *update(row)]


def second_sign(row: str) -> list[Line]:
    """The second moment is not negative, by induction."""

    def claim(step: Step) -> tuple[Expr, Expr]:
        return Numbers.Zero, at("nextsecond", row, step=step)

    def g(step: Step) -> Expr:
        return at("g", row, step=step)

    return [
        Line(
            f"second_0_{row}",
            at_most(*claim(start)),
            Combine(
                (Term(rest2 * g(start) ** 2),), unfold=(f"nextsecond_{row}", f"zero_second_{row}")
            ),
            "The second moment is not negative at first;",
        ),
        Line(
            f"second_t_{row}",
            at_most(*claim(q)),
            Assume("induction"),
            "induction hypothesis: nor at step $t$;",
        ),
        Line(
            f"second_next_{row}",
            at_most(*claim(later)),
            Combine(
                (Term(b2, (f"second_t_{row}",)), Term(rest2 * g(later) ** 2)),
                unfold=(f"nextsecond_{row}", f"run_second_{row}", f"nextsecond_{row}"),
            ),
            "a square is added;",
        ),
        Line(
            f"second_sign_{row}",
            at_most(*claim(q)),
            Induction(age, f"second_0_{row}", f"second_t_{row}", f"second_next_{row}"),
            "so it never is.",
        ),
    ]


def update(row: str) -> list[Line]:
    """The update `m_hat/(sqrt(v_hat) + eps)`."""
    var, square, root = (at(name, row, nonnegative=True) for name in ("var", "vhat", "vroot"))
    return [
        Line(
            f"var_{row}",
            equal(var, at("nextsecond", row)),
            DefineNonnegative(f"second_sign_{row}"),
            "A name for it that says so.",
        ),
        Line(
            f"mhat_{row}",
            equal(at("mhat", row), at("nextfirst", row) / mu),
            Define((f"nextfirst_{row}", "mu")),
            "The mean of the gradients,",
        ),
        Line(
            f"vhat_{row}",
            equal(square, var / nu),
            Define((f"var_{row}", "nu")),
            "their mean square,",
        ),
        Line(f"vroot_{row}", equal(root, sqrt(square)), Define((f"vhat_{row}",)), "its root,"),
        Line(
            f"U_{row}",
            equal(at("U", row), at("mhat", row) / (root + eps)),
            Define((f"mhat_{row}", f"vroot_{row}")),
            f"and the update of row ${row}$.",
        ),
    ]


def first_below_second(row: str) -> list[Line]:
    """`m^2 (1 - s)(1 - beta2) <= (1 - beta1)^2 (1 - s^(t+1)) v`, by induction."""

    def claim(step: Step, time: Expr) -> tuple[Expr, Expr]:
        return (
            at("nextfirst", row, step=step) ** 2 * ratio * rest2,
            rest1**2 * (1 - share ** (time + 1)) * at("nextsecond", row, step=step),
        )

    new = ratio * b2 * at("nextfirst", row) - rest1 * b1 * theta * at("g", row, step=later)
    moments = (f"nextfirst_{row}", f"nextsecond_{row}")
    opened = (*moments, f"run_first_{row}", f"run_second_{row}", *moments)
    return [
        Line(
            f"moments_0_{row}",
            at_most(*claim(start, Numbers.Zero)),
            Combine(
                unfold=(
                    f"nextfirst_{row}",
                    f"nextsecond_{row}",
                    f"zero_first_{row}",
                    f"zero_second_{row}",
                    "ratio",
                )
            ),
            "The two moments: at first, equality.",
        ),
        Line(
            f"moments_t_{row}",
            at_most(*claim(q, age)),
            Assume("induction"),
            "Induction hypothesis: Cauchy-Schwarz holds at step $t$.",
        ),
        Line(
            f"moments_next_{row}",
            at_most(*claim(later, age + 1)),
            Combine(
                (
                    Term(b1**2, (f"moments_t_{row}",)),
                    Term(ratio * b2 / theta, (f"moments_t_{row}",)),
                    Term(rest2 / (theta * b2) * new**2),
                ),
                unfold=(*opened, "theta", "ratio"),
            ),
            "One more step leaves a square.",
        ),
        Line(
            f"moments_{row}",
            at_most(*claim(q, age)),
            Induction(age, f"moments_0_{row}", f"moments_t_{row}", f"moments_next_{row}"),
            "By induction it always does.",
        ),
    ]


def limits() -> list[Line]:
    """C_t and C, and `C_t <= C`."""
    up = q.name("up", positive=True)
    down = Symbol("down", positive=True)
    ahead = (power2 - power1) ** 2 / power2
    return [
        Line(
            "up",
            equal(up, theta * nu / (ratio * rest2)),
            Define(("theta", "nu", "ratio", "rest2")),
            "What stands under the root in $C_{t+1}$,",
        ),
        Line("most", equal(most, rest1 / mu * sqrt(up)), Define(("up", "mu")), "$C_{t+1}$ itself,"),
        Line("down", equal(down, rest2 * ratio), Define(("ratio",)), "and for all times"),
        Line("limit", equal(limit, rest1 / sqrt(down)), Define(("down",)), "$C$."),
        Line(
            "limits",
            at_most(most**2, limit**2),
            Combine(
                (Term(rest1**2 / (ratio * rest2 * mu**2) * ahead),),
                unfold=("most", "up", "limit", "down", "theta", "nu", "mu"),
            ),
            "The first is at most the second: the gap is a square.",
        ),
    ]


def mean_below(row: str) -> list[Line]:
    """`m_hat^2 <= C_t^2 v_hat`, and the same with C."""
    mhat, root = at("mhat", row), at("vroot", row, nonnegative=True)
    return [
        Line(
            f"ratio_{row}",
            at_most(mhat**2, (most * root) ** 2),
            Combine(
                (Term(1 / (mu**2 * ratio * rest2), (f"moments_{row}",)),),
                unfold=(
                    "most",
                    "up",
                    f"mhat_{row}",
                    f"vroot_{row}",
                    f"vhat_{row}",
                    f"var_{row}",
                    "theta",
                ),
            ),
            "The mean is at most $C_{t+1}$ times the root mean square.",
        ),
        Line(
            f"ratio_any_{row}",
            at_most(mhat**2, (limit * root) ** 2),
            Combine((Term(1, (f"ratio_{row}",)), Term(root**2, ("limits",)))),
            "And at most $C$ times it.",
        ),
    ]


def update_below(row: str) -> list[Line]:
    """`|U| <= C_t` and `|U| <= C`."""
    U, root = at("U", row), at("vroot", row, nonnegative=True)
    lines = []
    for name, bound, fact in (
        ("last", most, f"ratio_{row}"),
        ("any", limit, f"ratio_any_{row}"),
    ):
        more = bound**2 * (2 * root * eps + eps**2) / (root + eps) ** 2
        lines += [
            Line(
                f"square_{name}_{row}",
                at_most(U**2, bound**2),
                Combine((Term(1 / (root + eps) ** 2, (fact,)), Term(more)), unfold=(f"U_{row}",)),
                "The square of the update.",
            ),
            Line(
                f"{name}_{row}",
                at_most(Abs(U), bound),
                Root(f"square_{name}_{row}"),
                "So the update is at most that.",
            ),
        ]
    return lines


def either(bound: Expr) -> Line:
    """The larger of the two updates."""
    return Line(
        "update",
        at_most(Max(*(Abs(at("U", row)) for row in ROWS)), bound),
        MaxCases(tuple(f"last_{row}" for row in ROWS)),
        "No update is larger: the first part.",
    )


def descent(row: str) -> list[Line]:
    """One step on a row."""
    w = {"u": q.w_u, "v": q.w_v}[row]
    moved = {"u": later.w_u, "v": later.w_v}[row]
    return [
        Line(
            f"next_{row}",
            equal(q.name(f"next_{row}", m), (1 - q.eta * q.lam) * w(m) - q.eta * at("U", row)),
            Define((f"U_{row}",)),
            f"One step of AdamW on row ${row}$.",
        ),
        Line(
            f"run_{row}",
            equal(moved(j), q.name(f"next_{row}", j)),
            Assume("setting", relation="=="),
            "A run: step $t + 1$ starts with the rows that step $t$ ends with.",
        ),
    ]


def gradients() -> list[Line]:
    """The loss at every step and its gradient in rows u and v."""
    return adaptive.bare_gradients(q)
