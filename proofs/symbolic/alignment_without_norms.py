"""`alignment_without_norms`: false, as zero features show; true where the product of the norms does not fall."""

from dataclasses import replace

from sympy import Rational, Symbol

from .framework.derivation import Derivation, Goal, Line, Part, at_most, equal
from .framework.rules import Assume, Combine, Term
from .framework.strict import DefineFactor, Positive
from .framework.symbols import RANGES, Step, t
from .lines import bounds, logmean, products, runs, runs_rows, step
from .lines.conclude_runs_steady import EVERY_STEP, conclude_steady, still_witness
from .lines.resets import ZERO
from .lines.runs_rows import left_by_decay, length
from .lines.runs_still import still

SIZES = (
    "The number of labels K >= 3, the dimension n, the number of examples N and the number of steps t are symbols in "
    "every line, of the instance too (at least one step there); no size is fixed. Only the conclusion is written out, "
    "for 1 step, 3 labels, 1 coordinate and 1 example, to be compared with the claim's own formulas."
)

ADMISSIBLE = (*(f"{name}_o" for name in EVERY_STEP), "product_first", "product_last")
"""The instance meets the hypotheses."""


def derive() -> Derivation:
    """The instance, then the mended form."""
    q = Step(time=runs.age)
    lines = (
        *step.loss(q),
        *logmean.logmean(q),
        *step.recursion(q),
        *step.quadratic(q),
        *runs.run(),
        *runs.steady(q, ("lam", "T")),
        *runs_rows.lengths(q),
        *still(),
        *bounds.hypotheses(q),
        *runs.upper(q),
        *runs.at_age(products.above(Step(time=t))),
        *runs_rows.decayed(q),
        *mended(q),
    )
    own = ("first_not_zero", "last_not_zero", "norms_stay")
    return Derivation(
        claim="alignment_without_norms",
        lines=lines,
        goals=(
            Goal("refuted", "refuted", (), also=ADMISSIBLE),
            Goal("mended", "mended", (*EVERY_STEP, *own)),
        ),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude,
        names=runs_rows.NAMES,
    )


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """The instance with its sides, and the mended form."""
    refuted, mended = derivation.goals
    (false,) = conclude_steady(
        steps=1,
        dim=1,
        forms=True,
        each={name: (f"{name}_o",) for name in EVERY_STEP},
        at_the_end={"nonzero_rows": ADMISSIBLE[-2:]},
        strict=ADMISSIBLE[-2:],
    )(replace(derivation, goals=(refuted,)))
    (true,) = conclude_steady(
        steps=1,
        dim=1,
        forms=True,
        at_the_end={
            "nonzero_rows": ("first_not_zero", "last_not_zero"),
            "norms_stay": ("norms_stay",),
        },
    )(replace(derivation, goals=(mended,)))
    return (
        replace(
            false,
            lhs=false.rhs,
            rhs=false.lhs - Rational(3, 2),
            refutes=True,
            witness=still_witness(derivation),
        ),
        true,
    )


def mended(q: Step) -> list[Line]:
    """With norms whose product does not fall."""
    start = Step(time=ZERO)
    before, after = (length(at, "u") * length(at, "v") for at in (start, q))
    first, last = Symbol("firstpos", positive=True), q.name("lastpos", positive=True)
    u, v = (runs_rows.positive_length(q, row) for row in ("u", "v"))
    norm, left = q.name("norm", nonnegative=True), left_by_decay(q.time)
    return [
        Line(
            "first_not_zero",
            equal(first, before),
            Positive(),
            "Hypothesis: the rows are not zero at first,",
        ),
        Line("last_not_zero", equal(last, after), Positive(), "nor at step $t$,"),
        Line(
            "norms_stay",
            at_most(before, after),
            Assume(),
            "and, which the statement lacks, the product of their lengths has not fallen.",
        ),
        *runs_rows.positive_lengths(q, {row: DefineFactor("last_not_zero") for row in ("u", "v")}),
        *runs_rows.cosine_distance(q),
        *runs_rows.cosine(q),
        Line(
            "product",
            at_most(first, u * v),
            Combine(
                (Term(1, ("norms_stay",)),),
                unfold=("first_not_zero", "lenu", "lenv"),
            ),
            "So",
        ),
        Line(
            "mended",
            at_most(q.name("cosdist"), left**2 / (2 * first)),
            Combine(
                (
                    Term(1 / (2 * u * v), ("cosine",)),
                    Term(norm**2 / (2 * u * v * first), ("product",)),
                    Term(1 / (2 * first), ("decayed_square",)),
                ),
            ),
            "$1 - \\cos(u, v) \\le |D|^2/(2 |u||v|) \\le |D|^2/(2 |u_0||v_0|)$, and decay bounds $|D|$.",
        ),
    ]
