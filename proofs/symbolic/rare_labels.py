"""`rare_labels`: `|D+| <= (1 - eta lam)|D| + eta r f` when u and v are targets with batch mass f."""

from collections.abc import Callable

from sympy import Integer

from .framework.conclude import LABELS
from .framework.conclude_others import Written
from .framework.derivation import Derivation, Goal, Line, Part, at_most
from .framework.rules import Combine, Term
from .framework.small import Table, step_table
from .framework.symbols import RANGES, Step, i
from .lines import any_targets, bounds, logmean, runs, runs_rare, step
from .rare_labels_run import NAMES

SIZES = (
    "The number of labels K >= 3, the dimension n and the number of examples N are symbols in every line, and targets are "
    "of any kind; no size is fixed. Only the conclusion is written out, for 3 labels, 2 coordinates and 2 examples, to be "
    "compared with the claim's own formula; there no target is u or v, as in all of the library's symbolic "
    "instances (a test does so for targets u and v)."
)
DIM, EXAMPLES = 2, 2
"""The size at which the conclusion is written out."""


def derive() -> Derivation:
    """The contraction for the part without these targets, and the triangle inequality."""
    q = Step()
    claim = Line(
        "rare_labels",
        at_most(
            runs_rare.length(q),
            (1 - q.eta * q.lam) * q.name("norm", nonnegative=True) + q.eta * q.r * q.name("mass"),
        ),
        Combine((Term(1, ("rare_step",)),), unfold=("c",)),
        "the claim.",
    )
    hypotheses = ("nonnegative_step", "radius", "curvature", "step_size")
    return Derivation(
        claim="rare_labels",
        lines=(
            *any_targets.loss(q),
            *logmean.logmean(q),
            *runs_rare.recursion(q),
            *runs_rare.without_targets(step.quadratic(q)),
            *bounds.hypotheses(q),
            *runs_rare.without_targets(runs.upper(q)),
            *runs_rare.mass(q),
            *runs_rare.step(q),
            claim,
        ),
        goals=(Goal("rare_labels", "rare_labels", hypotheses),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude((LABELS, LABELS)),
        names=NAMES,
    )


def conclude(targets: tuple[int, int]) -> Callable[[Derivation], tuple[Part, ...]]:
    """The goal for 3 labels, 2 coordinates and 2 examples with these targets (u is 1, v is 2)."""

    def hit(row: int) -> Callable[..., Integer]:
        return lambda i: Integer(int(targets[i - 1] == row))

    table: Table = {
        **step_table(LABELS),
        "y": lambda i: Integer(targets[i - 1]),
        "hot_u": hit(1),
        "hot_v": hit(2),
    }

    def concluded(derivation: Derivation) -> tuple[Part, ...]:
        written = Written(
            derivation,
            table=table,
            dim=DIM,
            examples=EXAMPLES,
            sizes={"K": LABELS, "n": DIM, "N": EXAMPLES},
            forms=("logratio=d",),
        )
        (goal,) = derivation.goals
        each = [{i: number + 1} for number in range(EXAMPLES)]
        hypotheses = {
            name: written.margins(name, each if name == "radius" else ({},))
            for name in goal.hypotheses
        }
        return (written.part(goal, hypotheses, start=derivation["loss"].statement.rhs),)

    return concluded
