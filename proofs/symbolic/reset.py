"""`reset`: rows u, v redrawn together every S steps stay `q^S d` apart, `q = 1 - eta (lam + T)`."""

from . import _bounds, _logmean, _resets, _step, _times
from ._conclude_runs import conclude_reset
from ._derivation import Derivation, Goal
from ._symbols import RANGES, Step

SIZES = (
    "The number of labels K >= 3, the dimension n, the number of examples N, the period S and the number of steps are "
    "symbols in every line; no size is fixed. t counts the steps since the last draw, so that the lines speak of "
    "every stretch between two draws. Only the conclusion is written out, for 2 steps, a period of 1, 3 labels, "
    "1 coordinate and 1 example, to be compared with the claim's own formula (a test does so for a period of 2)."
)


def derive() -> Derivation:
    """The derivation: the bound from below for one step, then induction over the steps since the last draw."""
    q = Step(time=_times.age)
    lines = (
        *_step.loss(q),
        *_logmean.logmean(q),
        *_step.recursion(q),
        *_step.quadratic(q),
        *_bounds.hypotheses(q),
        *(line for line in _bounds.lower(q) if line.name != "positive_part"),
        *_times.run(),
        *_times.steady(q, _resets.STEADY),
        *_resets.decayed(q),
        *_resets.idle(),
        *_resets.kept(),
    )
    hypotheses = ("nonnegative_step", "curvature", "factor_low", "factor_high", "drawn_apart")
    return Derivation(
        claim="reset",
        lines=lines,
        goals=(Goal("reset", "reset", hypotheses),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude_reset(period=1),
        names=_resets.NAMES,
    )
