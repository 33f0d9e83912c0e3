"""`staggered_reset`: false, since a row may be redrawn where the other one, aged since its own draw, has moved to."""

from .framework.derivation import Derivation, Goal
from .framework.symbols import RANGES, Step
from .lines import logmean, resets, resets_apart, runs, step
from .lines.conclude_runs import conclude_staggered

SIZES = (
    "The instance is one for each number of labels K >= 3, dimension n, number of examples N and period S = e + 1: these "
    "are symbols in every line, and so is the number of steps. Its other data are numbers, and no rounding enters. Only "
    "the conclusion is written out, for 2 steps, a period of 1, 3 labels, 1 coordinate and 1 example, to be "
    "compared with the claim's own formula (a test does so for a period of 2)."
)

ADMISSIBLE = (
    "nonnegative_step",
    "curvature",
    "factor_low",
    "factor_high",
    "apart_first",
    "apart_second",
)
"""The instance meets the hypotheses."""


def derive() -> Derivation:
    """The instance, its hypotheses, and the meeting of the two rows."""
    q = Step(time=runs.age)
    lines = (
        *step.loss(q),
        *logmean.logmean(q),
        *step.recursion(q),
        *step.quadratic(q),
        *(line for line in runs.run() if line.name == "run_v"),
        resets_apart.draws(),
        *runs.steady(q, resets.STEADY),
        resets.decayed(q)[0],
        *resets_apart.chosen(q),
        *resets_apart.admissible(q),
        *resets_apart.meeting(q),
    )
    return Derivation(
        claim="staggered_reset",
        lines=lines,
        goals=(Goal("refuted", "refuted", (), also=ADMISSIBLE),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude_staggered(period=1),
        names=resets_apart.INSTANCE_NAMES,
    )
