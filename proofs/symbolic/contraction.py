"""`contraction`: if eta >= 0, T >= tr M and eta (2 lam + T) <= 2, then |D+| <= (1 - eta lam)|D|."""

from .framework.conclude import conclude_step
from .framework.derivation import Derivation, Goal
from .framework.symbols import LATEX, RANGES, Step
from .lines import bounds, logmean, step

SIZES = (
    "The number of labels K >= 3, the dimension n and the number of examples N are symbols in every line; "
    "no size is fixed. Only the conclusion is written out, for 3 labels, 2 coordinates and 2 examples, "
    "to be compared with the claim's own formula."
)


def derive() -> Derivation:
    """The derivation, from the loss to the claim."""
    q = Step()
    lines = (
        *step.loss(q),
        *logmean.logmean(q),
        *step.recursion(q),
        *step.quadratic(q),
        *bounds.hypotheses(q),
        *bounds.upper(q),
    )
    hypotheses = ("nonnegative_step", "curvature", "step_size")
    return Derivation(
        claim="contraction",
        lines=lines,
        goals=(Goal("contraction", "contraction", hypotheses),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude_step(dim=2, examples=2),
        names=LATEX,
    )
