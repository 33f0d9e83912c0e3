"""`bias`: with decayed biases, |(D+, b+)| <= (1 - eta lam)|(D, b)|: a bias is one more coordinate."""

from . import _logmean, _losses
from ._conclude_losses import Setting
from ._derivation import Derivation, Goal
from ._losses_bias import TABLE, Biased, loss, quadratic, recursion
from ._symbols import LATEX, RANGES

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
            *_logmean.logmean(q),
            *recursion(q, decayed=True),
            *quadratic(q),
            *_losses.upper(q),
        ),
        goals=(Goal("bias", "contraction", ("nonnegative_step", "curvature", "step_size")),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=Setting(table=TABLE).conclude,
        names=LATEX,
    )
