"""`z_loss`: with the z-loss, |D+| <= (1 - eta lam)|D| while no factor 1 + 2 zeta log Z_i is negative."""

from .framework.conclude_variants import Setting
from .framework.derivation import Derivation, Goal
from .framework.symbols import LATEX, RANGES, Step
from .lines import losses, losses_z

SIZES = (
    "The number of labels K >= 3, the dimension n and the number of examples N are symbols in every line; "
    "no size is fixed. Only the conclusion is written out, for 3 labels, 2 coordinates and 2 examples."
)


def derive() -> Derivation:
    """The derivation, from the loss with the z-loss to the claim."""
    q = Step()
    hypotheses = ("nonnegative_step", "nonnegative_factor", "curvature", "step_size")
    return Derivation(
        claim="z_loss",
        lines=(*losses_z.lines(q), *losses.upper(q)),
        goals=(Goal("z_loss", "contraction", hypotheses),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=Setting(table=losses_z.TABLE).conclude,
        names=LATEX,
    )
