"""`alignment`: `1 - cos(u_T, v_T) <= (prod (1 - eta_t lam)|D_0|)^2/(2 m^2)` where both rows are at least m > 0 long."""

from sympy import Symbol

from .framework.derivation import Derivation, Goal, Line, at_most, equal
from .framework.rules import Assume, Combine, Term
from .framework.strict import DefinePositive, Positive
from .framework.symbols import RANGES, Step, t
from .lines import bounds, logmean, products, runs, runs_rows, step
from .lines.conclude_runs_steady import EVERY_STEP, conclude_steady

SIZES = (
    "The number of labels K >= 3, the dimension n, the number of examples N and the number of steps t are symbols in "
    "every line; no size is fixed. Only the conclusion is written out, for 1 step, 3 labels, 2 coordinates "
    "and 1 example, to be compared with the claim's own formula."
)


def derive() -> Derivation:
    """The bound from above of `trajectory`, then plain geometry of the two rows."""
    q = Step(time=t)
    lines = (
        *step.loss(q),
        *logmean.logmean(q),
        *step.recursion(q),
        *step.quadratic(q),
        *bounds.hypotheses(q),
        *runs.upper(q),
        *products.run(q),
        *products.above(q),
        *runs.steady(q, ("lam",)),
        *runs_rows.decayed(q),
        *runs_rows.lengths(q),
        *alignment(q),
    )
    own = ("norms_u", "norms_v", "positive_floor")
    return Derivation(
        claim="alignment",
        lines=lines,
        goals=(Goal("alignment", "alignment", (*EVERY_STEP, *own)),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude_steady(
            steps=1,
            dim=2,
            forms=True,
            at_the_end={"norms": ("norms_u", "norms_v"), "positive_floor": ("positive_floor",)},
        ),
        names=runs_rows.NAMES,
    )


def alignment(q: Step) -> list[Line]:
    """From the floor under both norms to the claim."""
    floor, m = Symbol("floor", real=True), Symbol("floorpos", positive=True)
    u, v = (runs_rows.positive_length(q, row) for row in ("u", "v"))
    norm, left = q.name("norm", nonnegative=True), runs_rows.left_by_decay()
    return [
        Line(
            "positive_floor", equal(m, floor), Positive(), "Hypothesis: the number $m$ is positive,"
        ),
        *(
            line
            for row in ("u", "v")
            for line in (
                Line(
                    f"norms_{row}",
                    at_most(floor, runs_rows.length(q, row)),
                    Assume(),
                    f"hypothesis: row ${row}$ is at least $m$ long at step $t$;",
                ),
                Line(
                    f"floor_{row}",
                    at_most(m, runs_rows.length(q, row)),
                    Combine((Term(1, (f"norms_{row}",)),), unfold=("positive_floor",)),
                    "that is,",
                ),
            )
        ),
        *runs_rows.positive_lengths(q, {row: DefinePositive(f"floor_{row}") for row in ("u", "v")}),
        *runs_rows.cosine_distance(q),
        *runs_rows.cosine(q),
        Line(
            "product",
            at_most(m**2, u * v),
            Combine(
                (
                    Term(1, ("floor_u", "floor_v")),
                    Term(m, ("floor_u",)),
                    Term(m, ("floor_v",)),
                ),
                unfold=("lenu", "lenv"),
            ),
            "The product of the lengths is at least $m^2$.",
        ),
        Line(
            "alignment",
            at_most(q.name("cosdist"), left**2 / (2 * m**2)),
            Combine(
                (
                    Term(1 / (2 * u * v), ("cosine",)),
                    Term(norm**2 / (2 * u * v * m**2), ("product",)),
                    Term(1 / (2 * m**2), ("decayed_square",)),
                ),
            ),
            "So $1 - \\cos(u, v) \\le |D|^2/(2 |u||v|) \\le |D|^2/(2 m^2)$, and decay bounds $|D|$.",
        ),
    ]
