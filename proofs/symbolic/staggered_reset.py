"""`staggered_reset`: false, since a row may be redrawn where the other one, aged since its own draw, has moved to."""

from . import _logmean, _resets, _resets_apart, _step, _times
from ._conclude_runs import conclude_staggered
from ._derivation import Derivation, Goal
from ._symbols import RANGES, Step

SIZES = (
    "The instance is one for each number of labels K >= 3, dimension n, number of examples N and period S = e + 1: these "
    "are symbols in every line, and so is the number of steps. Its other data are numbers, and no rounding enters. Only "
    "the conclusion is written out, for 2 steps, a period of 1, 3 labels, 1 coordinate and 1 example, to be "
    "compared with the claim's own formula (a test does so for a period of 2)."
)


def derive() -> Derivation:
    """The instance, its hypotheses, and the meeting of the two rows."""
    q = Step(time=_times.age)
    lines = (
        *_step.loss(q),
        *_logmean.logmean(q),
        *_step.recursion(q),
        *_step.quadratic(q),
        *(line for line in _times.run() if line.name == "run_v"),
        _resets_apart.draws(),
        *_times.steady(q, _resets.STEADY),
        _resets.decayed(q)[0],
        *_resets_apart.chosen(q),
        *_resets_apart.admissible(q),
        *_resets_apart.meeting(q),
    )
    return Derivation(
        claim="staggered_reset",
        lines=lines,
        goals=(Goal("refuted", "refuted", ()),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude_staggered(period=1),
        names=_resets_apart.INSTANCE_NAMES,
    )
