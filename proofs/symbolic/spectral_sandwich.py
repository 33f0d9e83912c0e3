"""`spectral_sandwich`: `|D+| <= (1 - eta (lam + mu))|D|` with M's eigenvalues between mu and mubar.

Of the eigenvalues only the form `D.(M - mu)(mubar - M)D >= 0` is used. `|D| = 0` is no case of its own: the signs of
`D.MD - mu |D|^2` and `mubar |D|^2 - D.MD` come from their sum and product.
"""

from sympy import Rational, Sum, Symbol

from .framework.conclude_others import Written
from .framework.derivation import Derivation, Goal, Line, Part, at_most
from .framework.inference import Root
from .framework.ranges import SumAndProduct
from .framework.rules import Assume, Combine, Term
from .framework.small import real, step_table
from .framework.symbols import LATEX, RANGES, Step, j, m, n
from .lines import bounds, losses, step

SIZES = (
    "The number of labels K >= 3, the dimension n and the number of examples N are symbols in every line; "
    "no size is fixed. Only the conclusion is written out, for 3 labels, 2 coordinates and 2 examples, "
    "to be compared with the claim's own formula."
)
NAMES = LATEX | {"lowest": r"\mu", "highest": r"\bar\mu"}
HYPOTHESES = ("nonnegative_step", "between", "ordered", "step_size")
half = Rational(1, 2)
low, high = Symbol("lowest", real=True), Symbol("highest", real=True)


def derive() -> Derivation:
    """The recursion, then the two bounds on the form."""
    q = Step()
    return Derivation(
        claim="spectral_sandwich",
        lines=(
            *step.loss(q),
            *losses.mean(q),
            *step.recursion(q),
            *(line for line in step.quadratic(q) if line.name not in UNUSED),
            *assumed(q),
            *form(q),
            *squares(q),
        ),
        goals=(Goal("spectral_sandwich", "spectral_sandwich", HYPOTHESES),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude,
        names=NAMES,
    )


UNUSED = {"weights", "b_sign", "tau", "quad_sign", "tau_sign"}
"""Lines about signs and the trace of M: the hypothesis on forms does without them."""


def assumed(q: Step) -> list[Line]:
    """The hypotheses, and that the factor of the claim is not negative."""
    return [
        bounds.nonnegative_step(q),
        Line("ordered", at_most(low, high), Assume(), "Hypothesis: $\\mu \\le \\bar\\mu$."),
        Line(
            "between",
            at_most(
                0,
                (low + high) * q.name("quad")
                - q.over_j(q.name("MD", j) ** 2)
                - low * high * q.name("norm", nonnegative=True) ** 2,
            ),
            Assume(),
            "Hypothesis: $D \\cdot (M - \\mu)(\\bar\\mu - M) D \\ge 0$, written out;",
        ),
        Line(
            "step_size",
            at_most(q.eta * (2 * q.lam + low + high), 2),
            Assume(),
            "hypothesis: the step size.",
        ),
        Line(
            "factor_sign",
            at_most(0, q.name("c") - q.eta * low),
            Combine(
                (Term(half, ("step_size",)), Term(half, ("nonnegative_step", "ordered"))),
                unfold=("c",),
            ),
            "With $\\mu \\le \\bar\\mu$ it makes the factor of the claim not negative.",
        ),
    ]


def form(q: Step) -> list[Line]:
    """`mu |D|^2 <= D.MD`."""
    D, D_m, MD, MD_m = (q.name(s, x) for s in ("D", "MD") for x in (j, m))
    norm, quad = q.name("norm", nonnegative=True), q.name("quad")
    square = Sum((D * MD_m - D_m * MD) ** 2, (j, 1, n), (m, 1, n))
    above, below = quad - low * norm**2, high * norm**2 - quad
    return [
        Line(
            "quad_square",
            at_most(quad**2, norm**2 * q.over_j(MD**2)),
            Combine(
                (
                    Term(half * square),
                    Term(-(quad + q.over_j(D * MD)), ("quad=D.MD",)),
                ),
                unfold=("norm",),
            ),
            "Cauchy-Schwarz (Lagrange's identity): $(D \\cdot MD)^2 \\le |D|^2 |MD|^2$.",
        ),
        Line(
            "form_product",
            at_most(0, above * below),
            Combine((Term(norm**2, ("between",)), Term(1, ("quad_square",)))),
            "So the product of $D \\cdot MD - \\mu |D|^2$ and $\\bar\\mu |D|^2 - D \\cdot MD$ is not negative,",
        ),
        Line(
            "form_sum",
            at_most(0, above + below),
            Combine((Term(norm**2, ("ordered",)),)),
            "nor is their sum $(\\bar\\mu - \\mu)|D|^2$;",
        ),
        Line(
            "form_above",
            at_most(0, above),
            SumAndProduct("form_product", "form_sum", below),
            "so neither is the first of them (also where $D = 0$).",
        ),
    ]


def squares(q: Step) -> list[Line]:
    """The square of the new length, and the claim."""
    norm, new = q.name("norm", nonnegative=True), q.name("nextnorm", nonnegative=True)
    factor = q.name("c") - q.eta * low
    return [
        Line(
            "room",
            at_most(q.eta * (low + high), 2 * q.name("c")),
            Combine((Term(1, ("step_size",)),), unfold=("c",)),
            "The step size also says that $\\eta (\\mu + \\bar\\mu) \\le 2c$.",
        ),
        Line(
            "squares",
            at_most(new**2, (factor * norm) ** 2),
            Combine(
                (
                    Term(1, ("next_square",)),
                    Term(q.eta**2, ("between",)),
                    Term(1, ("nonnegative_step", "room", "form_above")),
                )
            ),
            "The terms: $|MD|^2 - \\mu^2 |D|^2 \\le (\\mu + \\bar\\mu)(D \\cdot MD - \\mu |D|^2)$, and the last factor "
            "is not negative.",
        ),
        Line(
            "right_sign",
            at_most(0, factor * norm),
            Combine((Term(norm, ("factor_sign",)),)),
            "The factor is not negative, so",
        ),
        Line("root", at_most(new, factor * norm), Root("squares", "right_sign"), "take roots:"),
        Line(
            "spectral_sandwich",
            at_most(new, (1 - q.eta * (q.lam + low)) * norm),
            Combine((Term(1, ("root",)),), unfold=("c",)),
            "the claim.",
        ),
    ]


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """The goal for 3 labels, 2 coordinates and 2 examples."""
    written = Written(
        derivation,
        table={**step_table(3), "lowest": lambda: real("m"), "highest": lambda: real("mm")},
        dim=2,
        examples=2,
        sizes={"K": 3, "n": 2, "N": 2},
        structural=("unseen",),
        forms=("logratio=d",),
    )
    (goal,) = derivation.goals
    hypotheses = {name: written.margins(name) for name in goal.hypotheses}
    return (written.part(goal, hypotheses, start=derivation["loss"].statement.rhs),)
