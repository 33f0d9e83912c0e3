"""`alignment_without_norms`: false, as zero features show; true where the product of the norms does not fall."""

from dataclasses import replace

from sympy import Rational, Symbol

from . import _bounds, _logmean, _step, _times, _times_rows, trajectory
from ._conclude_runs_steady import EVERY_STEP, conclude_steady, still_witness
from ._derivation import Derivation, Goal, Line, Part, at_most, equal
from ._resets import ZERO
from ._rules import Assume, Combine, Term
from ._symbols import RANGES, Step, t
from ._times_positive import DefineFactor, Positive
from ._times_rows import left_by_decay, length
from ._times_still import still

SIZES = (
    "The number of labels K >= 3, the dimension n, the number of examples N and the number of steps t are symbols in "
    "every line, of the instance too (at least one step there); no size is fixed. Only the conclusion is written out, "
    "for 1 step, 3 labels, 1 coordinate and 1 example, to be compared with the claim's own formulas."
)


def derive() -> Derivation:
    """The instance, then the mended form."""
    q = Step(time=_times.age)
    lines = (
        *_step.loss(q),
        *_logmean.logmean(q),
        *_step.recursion(q),
        *_step.quadratic(q),
        *_times.run(),
        *_times.steady(q, ("lam", "T")),
        *_times_rows.lengths(q),
        *still(),
        *_bounds.hypotheses(q),
        *_times.upper(q),
        *_times.at_age(trajectory.above(Step(time=t))),
        *_times_rows.decayed(q),
        *mended(q),
    )
    own = ("first_not_zero", "last_not_zero", "norms_stay")
    return Derivation(
        claim="alignment_without_norms",
        lines=lines,
        goals=(Goal("refuted", "refuted", ()), Goal("mended", "mended", (*EVERY_STEP, *own))),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude,
        names=_times_rows.NAMES,
    )


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """The instance with its sides, and the mended form."""
    refuted, mended = derivation.goals
    (false,) = conclude_steady(
        steps=1,
        dim=1,
        forms=True,
        each={name: (f"{name}_o",) for name in EVERY_STEP},
        at_the_end={"nonzero_rows": ("product_first", "product_last")},
        strict=("product_first", "product_last"),
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
    u, v = (_times_rows.positive_length(q, row) for row in ("u", "v"))
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
        *_times_rows.positive_lengths(
            q, {row: DefineFactor("last_not_zero") for row in ("u", "v")}
        ),
        *_times_rows.cosine_distance(q),
        *_times_rows.cosine(q),
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
            at_most(q.name("cosdist"), left**2 / (2 * before)),
            Combine(
                (
                    Term(1 / (2 * u * v), ("cosine",)),
                    Term(norm**2 / (2 * u * v * first), ("product",)),
                    Term(1 / (2 * first), ("decayed_square",)),
                ),
                unfold=("first_not_zero",),
            ),
            "$1 - \\cos(u, v) \\le |D|^2/(2 |u||v|) \\le |D|^2/(2 |u_0||v_0|)$, and decay bounds $|D|$.",
        ),
    ]
