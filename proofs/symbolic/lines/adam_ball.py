"""From what no update exceeds to the ball: induction over the steps, for both signs of every entry."""

from sympy import Abs, Product, Symbol
from sympy import S as Numbers

from ..framework.derivation import Line, at_most, equal
from ..framework.inference import Induction, Root
from ..framework.rules import Assume, Combine, Define, Term
from ..framework.strict import Nonzero
from ..framework.symbols import Step, m
from ..framework.types import Expr
from . import runs
from .adam_runs import ROWS, age, at, lam, later, q, start, sup
from .bounds import half

s = Symbol("s", integer=True)
SIGNS = {"up": 1, "down": -1}


def hypotheses() -> list[Line]:
    """`lam != 0`, `eta >= 0` and `eta lam <= 1`; lam is the same at every step."""
    return [
        *runs.steady(q, ("lam",)),
        Line(
            "some_decay", equal(lam, runs.constant("lam")), Nonzero(), "Hypothesis: there is decay."
        ),
        Line("nonnegative_step", at_most(0, q.eta), Assume(), "Hypothesis: $\\eta_t \\ge 0$."),
        Line(
            "c", equal(q.name("c"), 1 - q.eta * lam), Define(("some_decay",)), "What a step leaves."
        ),
        Line(
            "decay_at_most_one",
            at_most(0, 1 - q.eta * lam),
            Assume(),
            "Hypothesis: it is not negative.",
        ),
    ]


def ball(bound: Expr) -> list[Line]:
    """`|D_t| <= P |D_0| + (2 bound/lam)(1 - P)`, where lines any_u and any_v bound the updates."""
    D = q.name("D", m)
    lines = [
        Line("D", equal(D, q.w_u(m) - q.w_v(m)), Define(), "The difference of the rows."),
        Line(
            "moved",
            equal(
                later.name("D", m),
                q.name("c") * D - q.eta * (at("U", "u") - at("U", "v")),
            ),
            Combine(
                unfold=("D", "run_u", "run_v", "next_u", "next_v", "c", "steady_lam", "some_decay")
            ),
            "One step.",
        ),
        Line(
            "sup",
            at_most(Abs(start.name("D", m)), sup),
            Assume("setting"),
            "$|D_0|_\\infty$ is the largest absolute entry of $D_0$.",
        ),
    ]
    for row in ROWS:
        U = at("U", row)
        lines.append(Line(f"abs_{row}", at_most(U**2, Abs(U) ** 2), Combine(), "Absolute values:"))
        lines += [
            Line(
                f"{name}_{row}",
                at_most(sign * U, Abs(U)),
                Root(f"abs_{row}"),
                "a number is at most its own, of either sign.",
            )
            for name, sign in SIGNS.items()
        ]
    first = start.name("D", m)
    lines.append(
        Line("abs_D", at_most(first**2, Abs(first) ** 2), Combine(), "The same for $D_0$.")
    )
    for name, sign in SIGNS.items():
        lines += one_sign(name, sign, bound)

    left, right = claim(q, age, bound)
    return [
        *lines,
        Line(
            "ball_square",
            at_most(left**2, right**2),
            Combine((Term(1, ("ball_up", "ball_down")),)),
            "Both together,",
        ),
        Line(
            "ball_sign",
            at_most(0, right),
            Combine((Term(half, ("ball_up",)), Term(half, ("ball_down",)))),
            "with a right side that is not negative:",
        ),
        Line(
            "ball",
            at_most(Abs(left), right),
            Root("ball_square", "ball_sign"),
            "the second part.",
        ),
    ]


def claim(step: Step, time: Expr, bound: Expr) -> tuple[Expr, Expr]:
    """Both sides of the ball, without the absolute value."""
    kept: Expr = Product(1 - Step(time=s).eta * lam, (s, 0, time - 1))
    return step.name("D", m), kept * sup + 2 * bound / lam * (1 - kept)


def one_sign(name: str, sign: int, bound: Expr) -> list[Line]:
    """The ball for D or for -D."""
    other = "down" if name == "up" else "up"

    def signed(step: Step, time: Expr) -> tuple[Expr, Expr]:
        left, right = claim(step, time, bound)
        return sign * left, right

    first = start.name("D", m)
    return [
        Line(
            f"first_{name}",
            at_most(sign * first, Abs(first)),
            Root("abs_D"),
            "At the start",
        ),
        Line(
            f"ball_0_{name}",
            at_most(*signed(start, Numbers.Zero)),
            Combine((Term(1, (f"first_{name}",)), Term(1, ("sup",)))),
            "it is at most the largest entry.",
        ),
        Line(
            f"ball_t_{name}",
            at_most(*signed(q, age)),
            Assume("induction"),
            "Induction hypothesis: it holds at step $t$.",
        ),
        Line(
            f"ball_next_{name}",
            at_most(*signed(later, age + 1)),
            Combine(
                (
                    Term(1, ("decay_at_most_one", f"ball_t_{name}")),
                    Term(1, ("nonnegative_step", f"{other}_u")),
                    Term(1, ("nonnegative_step", "any_u")),
                    Term(1, ("nonnegative_step", f"{name}_v")),
                    Term(1, ("nonnegative_step", "any_v")),
                ),
                unfold=("moved", "c"),
            ),
            "One more step adds at most $2\\eta C$.",
        ),
        Line(
            f"ball_{name}",
            at_most(*signed(q, age)),
            Induction(age, f"ball_0_{name}", f"ball_t_{name}", f"ball_next_{name}"),
            "By induction it holds at every step.",
        ),
    ]
