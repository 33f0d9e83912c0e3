"""`reset`: rows u, v redrawn together every S steps stay `q^S d` apart, `q = 1 - eta (lam + T)`."""

from .framework.derivation import Derivation, Goal
from .framework.symbols import RANGES, Step
from .lines import bounds, logmean, resets, runs, step
from .lines.conclude_runs import conclude_reset

SIZES = (
    "The number of labels K >= 3, the dimension n, the number of examples N, the period S and the number of steps are "
    "symbols in every line; no size is fixed. t counts the steps since the last draw, so that the lines speak of "
    "every stretch between two draws. Only the conclusion is written out, for 2 steps, a period of 1, 3 labels, "
    "1 coordinate and 1 example, to be compared with the claim's own formula (a test does so for a period of 2)."
)


def derive() -> Derivation:
    """The derivation: the bound from below for one step, then induction over the steps since the last draw."""
    q = Step(time=runs.age)
    lines = (
        *step.loss(q),
        *logmean.logmean(q),
        *step.recursion(q),
        *step.quadratic(q),
        *bounds.hypotheses(q),
        *(line for line in bounds.lower(q) if line.name != "positive_part"),
        *runs.run(),
        *runs.steady(q, resets.STEADY),
        *resets.decayed(q),
        *resets.idle(),
        *resets.kept(),
    )
    hypotheses = ("nonnegative_step", "curvature", "factor_low", "factor_high", "drawn_apart")
    return Derivation(
        claim="reset",
        lines=lines,
        goals=(Goal("reset", "reset", hypotheses),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude_reset(period=1),
        names=resets.NAMES,
    )
