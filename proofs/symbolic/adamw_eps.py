"""`adamw_eps`: with gradients of at most g, no update of AdamW exceeds `C g/(g + C eps)`; the ball is as much smaller."""

from sympy import Abs, Max, Symbol
from sympy import S as Numbers

from .framework.derivation import Derivation, Goal, Line, at_most, equal
from .framework.inference import Induction, MaxCases, Root
from .framework.rules import Assume, Combine, Term
from .framework.small import real
from .framework.strict import DefineNonnegative
from .framework.symbols import RANGES, Step
from .framework.types import Expr
from .lines import adam_ball, adam_runs
from .lines.adam_ball import SIGNS
from .lines.adam_runs import ROWS, age, at, b1, eps, later, limit, most, mu, q, rest1, start
from .lines.conclude_adam import SIZES, conclude_adam

g = Symbol("g_bound", real=True)
G = Symbol("g_least", nonnegative=True)
BOUNDS = tuple(f"gradient_bound_{row}" for row in ROWS)


def derive() -> Derivation:
    """The lines of `adamw_ball` up to the moments; the mean of gradients is at most g; then the same ball."""
    ball = ("betas", "some_decay", "nonnegative_step", "decay_at_most_one", *BOUNDS)
    lines = (
        *adam_runs.gradients(),
        *adam_runs.betas(),
        *(line for row in ROWS for line in adam_runs.moments(row)),
        *(line for row in ROWS for line in adam_runs.first_below_second(row)),
        *adam_runs.limits(),
        *(line for row in ROWS for line in adam_runs.mean_below(row)),
        *bounds(),
        *(line for row in ROWS for line in mean(row)),
        *(line for row in ROWS for line in update(row)),
        Line(
            "update",
            at_most(Max(*(Abs(at("U", row)) for row in ROWS)), damped(most)),
            MaxCases(tuple(f"last_{row}" for row in ROWS)),
            "No update is larger: the first part.",
        ),
        *(line for row in ROWS for line in adam_runs.descent(row)),
        *adam_ball.hypotheses(),
        *adam_ball.ball(damped(limit)),
    )
    return Derivation(
        claim="adamw_eps",
        lines=lines,
        goals=(Goal("update", "update", ("betas", *BOUNDS)), Goal("ball", "ball", ball)),
        sizes=SIZES.format(steps="2 steps"),
        ranges=RANGES,
        conclude=conclude_adam(
            steps=2,
            each=("nonnegative_step", "decay_at_most_one", "gradient_bound"),
            after=("ball",),
            ids={"gradient_bound": BOUNDS},
            entries=lambda value: {"g_bound": lambda: real("g")},
        ),
        names=adam_runs.NAMES | {"g_bound": r"\mathrm{g}", "g_least": r"\mathrm{g}"},
    )


def damped(bound: Expr) -> Expr:
    """`C g/(g + C eps)`."""
    return bound * G / (G + bound * eps)


def bounds() -> list[Line]:
    """The hypothesis, and that g is not negative."""
    return [
        *(
            Line(
                f"gradient_bound_{row}",
                at_most(Abs(at("g", row)), g),
                Assume(),
                f"Hypothesis: no gradient of row ${row}$ exceeds $\\mathrm{{g}}$ in any entry.",
            )
            for row in ROWS
        ),
        Line(
            "bound_sign",
            at_most(0, g),
            Combine((Term(1, ("gradient_bound_u",)), Term(Abs(at("g", "u"))))),
            "So it is not negative:",
        ),
        Line("g_least", equal(G, g), DefineNonnegative("bound_sign"), "a name that says so."),
    ]


def mean(row: str) -> list[Line]:
    """`|m_hat| <= g`, by induction, for both signs."""
    own = at("g", row)
    lines = [
        Line(f"abs_g_{row}", at_most(own**2, Abs(own) ** 2), Combine(), "Absolute values:"),
    ]
    for name, sign in SIGNS.items():
        lines += one_sign(row, name, sign)
    mhat, ends = at("mhat", row), tuple(f"mean_{name}_{row}" for name in SIGNS)
    return [
        *lines,
        Line(
            f"mean_square_{row}",
            at_most(mhat**2, G**2),
            Combine((Term(1 / mu**2, ends),), unfold=(f"mhat_{row}", "mu", "g_least")),
            "Both together,",
        ),
        Line(
            f"mean_{row}",
            at_most(Abs(mhat), G),
            Root(f"mean_square_{row}"),
            "the mean is at most $\\mathrm{g}$.",
        ),
    ]


def one_sign(row: str, name: str, sign: int) -> list[Line]:
    """`m <= g (1 - beta1^(t+1))`, or the same for -m."""
    own = at("g", row)

    def claim(step: Step, time: Expr) -> tuple[Expr, Expr]:
        return sign * at("first", row, step=step), g * (1 - b1**time)

    base, given, step, always = (f"mean_{part}_{name}_{row}" for part in "0tna")
    return [
        Line(
            f"g_{name}_{row}",
            at_most(sign * own, Abs(own)),
            Root(f"abs_g_{row}"),
            "a gradient is at most its own, of either sign.",
        ),
        Line(
            base,
            at_most(*claim(start, Numbers.Zero)),
            Combine(unfold=(f"zero_first_{row}",)),
            "The mean is at most its share of the bound: at first both are 0.",
        ),
        Line(
            given,
            at_most(*claim(q, age)),
            Assume("induction"),
            "Induction hypothesis.",
        ),
        Line(
            step,
            at_most(*claim(later, age + 1)),
            Combine(
                (
                    Term(b1, (given,)),
                    Term(rest1, (f"g_{name}_{row}",)),
                    Term(rest1, (f"gradient_bound_{row}",)),
                ),
                unfold=(f"run_first_{row}", f"nextfirst_{row}", "rest1"),
            ),
            "One more gradient is added.",
        ),
        Line(
            always,
            at_most(*claim(q, age)),
            Induction(age, base, given, step),
            "By induction it always is.",
        ),
        Line(
            f"mean_{name}_{row}",
            at_most(sign * at("nextfirst", row), g * (1 - b1 ** (age + 1))),
            Combine(
                (
                    Term(b1, (always,)),
                    Term(rest1, (f"g_{name}_{row}",)),
                    Term(rest1, (f"gradient_bound_{row}",)),
                ),
                unfold=(f"nextfirst_{row}", "rest1"),
            ),
            "After the step too.",
        ),
    ]


def update(row: str) -> list[Line]:
    """`|U| <= C_t g/(g + C_t eps)`, and the same with C."""
    U, root = at("U", row), at("vroot", row, nonnegative=True)
    M = Abs(at("mhat", row))
    lines = []
    for name, bound, fact in (
        ("last", most, f"ratio_{row}"),
        ("any", limit, f"ratio_any_{row}"),
    ):
        below = (G + bound * eps) * (root + eps)
        lines += [
            Line(
                f"root_{name}_{row}",
                at_most(M, bound * root),
                Root(fact),
                "The mean against the root mean square,",
            ),
            Line(
                f"quotient_{name}_{row}",
                at_most(M / (root + eps), damped(bound)),
                Combine(
                    (
                        Term(G / below, (f"root_{name}_{row}",)),
                        Term(bound * eps / below, (f"mean_{row}",)),
                    )
                ),
                "and against the bound: both together.",
            ),
            Line(
                f"square_{name}_{row}",
                at_most(U**2, damped(bound) ** 2),
                Combine(
                    (Term(damped(bound) + M / (root + eps), (f"quotient_{name}_{row}",)),),
                    unfold=(f"U_{row}",),
                ),
                "In squares,",
            ),
            Line(
                f"{name}_{row}",
                at_most(Abs(U), damped(bound)),
                Root(f"square_{name}_{row}"),
                "the update is at most that.",
            ),
        ]
    return lines
