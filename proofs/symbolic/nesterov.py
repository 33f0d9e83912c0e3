"""`nesterov`: `|D_t| <= rho^t C |D_0|` with Nesterov's momentum, rho the larger root of `z^2 - (1 + beta) c z + beta c`."""

from sympy import Symbol, sqrt

from .framework.derivation import Derivation, Goal, Line, at_most, equal
from .framework.rules import Assume, Combine, Define, Term
from .framework.strict import DefinePositive, Positive
from .framework.symbols import RANGES, m
from .lines import momentum
from .lines.conclude_momentum import SIZES, conclude_momentum
from .lines.momentum import T, b, eta, gap, lam, q, rho, rho2

some, c, slack, last, disc = (
    Symbol(name, positive=True) for name in ("some", "c", "slack", "last", "disc")
)
N1, N2 = Symbol("ahead", positive=True), Symbol("behind", positive=True)
ROOTS = ("rho2", "rho", "gap", "disc", "c", "real_roots", "some_momentum")
"""What the roots are, from the outside to the step size, the decay and the momentum."""


def facts(line: str) -> tuple[Term, ...]:
    """That the roots are roots, and what N is at them, as the lines about E and F need it."""
    D, y = q.name("D", m), q.name("MD", m)
    if line == "E_next":
        return Term(-D / N1, ("is_root",)), Term(eta * y / N1, ("ahead_form",))
    if line == "F_next":
        return Term(-D / N2, ("is_root2",)), Term(eta * y / N2, ("behind_form",))
    if line == "boost":
        return Term(FIRST, ("both_N",)), Term((slack + 2 * some) / some**2, ("ends",))
    return ()


KIND = momentum.Kind(
    coupled=True,
    push=lambda buffer, slope: slope + b * buffer,
    N1=N1,
    N2=N2,
    E=((rho - b) / N1, -eta * b**2 / N1),
    F=((rho2 - b) / N2, -eta * b**2 / N2),
    facts=facts,
    unfold=lambda line: {"output": ("apart",), "boost": ("behind", "some_momentum")}.get(line, ()),
)
FIRST = (rho - b) ** 2 / N1 + (rho2 - b) ** 2 / N2
FACTOR = sqrt(slack + 2 * some) * sqrt(last) / gap


def derive() -> Derivation:
    """N1 E = (rho - beta) D - eta beta^2 B and N2 F = (rho2 - beta) D - eta beta^2 B, with N_i = (1 + beta) rho_i - beta."""
    lines = (
        *momentum.setting(),
        *momentum.hypotheses(),
        *roots(),
        *momentum.rule(KIND),
        *momentum.function(KIND),
        *momentum.descent(KIND),
        *momentum.bound(KIND, "nesterov", FIRST, FACTOR),
    )
    hypotheses = ("nonnegative_step", "curvature", "some_momentum", "real_roots", "step_size")
    return Derivation(
        claim="nesterov",
        lines=lines,
        goals=(Goal("nesterov", "nesterov", hypotheses),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude_momentum(nesterov=True),
        names=momentum.NAMES | {"some": r"\beta", "last": r"\gamma"},
    )


def roots() -> list[Line]:
    """The roots and what the numerator N of the transfer function is at them."""
    return [
        Line(
            "some_momentum",
            equal(some, b),
            Positive(uses=("momentum",)),
            "Hypothesis: there is momentum.",
        ),
        Line(
            "real_roots",
            equal(slack, (1 + b) ** 2 * (1 - eta * lam) - 4 * b),
            Positive(uses=("momentum",)),
            "Hypothesis: the roots are real and differ.",
        ),
        Line(
            "c_form",
            equal((slack + 4 * b) / (1 + b) ** 2, 1 - eta * lam),
            Combine(unfold=("real_roots",)),
            "So the decay of one step",
        ),
        Line("c", equal(c, 1 - eta * lam), DefinePositive("c_form"), "is positive."),
        Line(
            "disc", equal(disc, c * slack), Define(("c",)), "So is $((1+\\beta)c)^2 - 4\\beta c$;"
        ),
        Line(
            "gap",
            equal(gap, sqrt(disc)),
            Define(("disc",)),
            "its root is the difference of the roots,",
        ),
        Line(
            "rho",
            equal(rho, ((1 + some) * c + gap) / 2),
            Define(("gap",)),
            "the larger one is this,",
        ),
        Line("rho2", equal(rho2, some * c / rho), Define(("rho",)), "and the smaller one this."),
        Line("apart", equal(rho, rho2 + gap), Combine(unfold=ROOTS), "Indeed they differ by that."),
        *(
            Line(
                name,
                equal(root**2, (1 - eta * lam) * ((1 + b) * root - b)),
                Combine(unfold=ROOTS),
                words,
            )
            for name, root, words in (
                ("is_root", rho, "Each is a root: the larger"),
                ("is_root2", rho2, "and the smaller."),
            )
        ),
        Line(
            "ahead",
            equal(N1, (slack + 2 * some + (1 + some) * gap) / 2),
            Define(("gap",)),
            "The value of $(1 + \\beta) z - \\beta$ at the larger root,",
        ),
        Line("behind", equal(N2, some**2 / N1), Define(("ahead",)), "and at the smaller one:"),
        Line(
            "ahead_form",
            equal(N1, (1 + b) * rho - b),
            Combine(unfold=("ahead", *ROOTS)),
            "indeed it is that at the one",
        ),
        Line(
            "behind_form",
            equal(N2, (1 + b) * rho2 - b),
            Combine(unfold=("behind", "ahead", *ROOTS)),
            "and at the other, both positive.",
        ),
        Line(
            "last_form",
            equal(
                (slack * (1 + b**2) + 2 * b * (1 - b) ** 2) / (1 + b) ** 2,
                c * (1 + b**2) - 2 * b,
            ),
            Combine(unfold=("c", "real_roots")),
            "A number that the first step brings in",
        ),
        Line(
            "last",
            equal(last, c * (1 + b**2) - 2 * b),
            DefinePositive("last_form"),
            "is positive too.",
        ),
        Line(
            "both_N",
            equal(N1 + N2, slack + 2 * some),
            Combine(
                (Term(1, ("ahead_form",)), Term(1, ("behind_form",))),
                unfold=ROOTS,
            ),
            "The two values of $N$ together,",
        ),
        Line(
            "ends",
            equal((rho - b) ** 2 * N2 + (rho2 - b) ** 2 * N1, some**2 * last),
            Combine(
                (
                    Term((rho - b) ** 2, ("behind_form",)),
                    Term((rho2 - b) ** 2, ("ahead_form",)),
                ),
                unfold=("last", *ROOTS),
            ),
            "and what they leave of the first step.",
        ),
        Line(
            "step_size",
            at_most(eta * T * (N1 * gap + 2 * rho * ((1 + b) * (rho - gap) - b)), 2 * rho * gap**2),
            Assume(),
            "Hypothesis: the step size, with the smaller root as $\\rho_1 - \\delta$;",
        ),
        Line(
            "room",
            at_most(eta * T * (N1 * gap + 2 * rho * N2), 2 * rho * gap**2),
            Combine(
                (Term(1, ("step_size",)), Term(2 * eta * T * rho, ("behind_form",))),
                unfold=("apart",),
            ),
            "with the value of $N$ there.",
        ),
    ]
