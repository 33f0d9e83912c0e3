"""`bias`: with decayed biases, |(D+, b+)| <= (1 - eta lam)|(D, b)|: a bias is one more coordinate."""

from .framework.conclude_variants import Setting
from .framework.derivation import Derivation, Goal
from .framework.symbols import LATEX, RANGES
from .lines import logmean, losses
from .lines.losses_bias import TABLE, Biased, loss, quadratic, recursion

SIZES = (
    "The number of labels K >= 3, the dimension n and the number of examples N are symbols in every line; "
    "no size is fixed. Only the conclusion is written out, for 3 labels, 2 coordinates and 2 examples."
)


def derive() -> Derivation:
    """The derivation, from the loss of a head with biases to the claim."""
    q = Biased()
    return Derivation(
        claim="bias",
        lines=(
            *loss(q, decayed=True),
            *logmean.logmean(q),
            *recursion(q, decayed=True),
            *quadratic(q),
            *losses.upper(q),
        ),
        goals=(Goal("bias", "contraction", ("nonnegative_step", "curvature", "step_size")),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=Setting(table=TABLE).conclude,
        names=LATEX,
    )
