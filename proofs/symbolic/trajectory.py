"""`trajectory`: over a run |D_t| stays between two products of one-step factors.

Above: `|D_t| <= prod (1 - eta_s lam_s) |D_0|`; below: `prod max(0, 1 - eta_s(lam_s + T_s)) |D_0| <= |D_t|`.
"""

from .framework.conclude import conclude_run
from .framework.derivation import Derivation, Goal
from .framework.symbols import LATEX, RANGES, Step, t
from .lines import bounds, logmean, products, step

SIZES = (
    "The number of labels K >= 3, the dimension n, the number of examples N and the number of steps t are symbols "
    "in every line; no size is fixed (N is the same at every step; examples of weight 0 fill up smaller "
    "batches). Only the conclusion is written out, for 2 steps, 3 labels, 1 coordinate and 1 example, "
    "to be compared with the claim's own formula."
)


def derive() -> Derivation:
    """The derivation: everything about step t of the run, then induction over t."""
    q = Step(time=t)
    lines = (
        *step.loss(q),
        *logmean.logmean(q),
        *step.recursion(q),
        *step.quadratic(q),
        *bounds.hypotheses(q),
        *bounds.upper(q),
        *bounds.lower(q),
        *products.run(q),
        *products.above(q),
        *products.below(q),
    )
    common = ("nonnegative_step", "curvature")
    return Derivation(
        claim="trajectory",
        lines=lines,
        goals=(Goal("above", "above", (*common, "step_size")), Goal("below", "below", common)),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude_run,
        names=LATEX,
    )
