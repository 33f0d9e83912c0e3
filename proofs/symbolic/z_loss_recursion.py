"""`z_loss_recursion`: D+ = c D - eta sum_i a_i (1 + 2 zeta log Z_i) L_i <D, x_i> x_i."""

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
    return Derivation(
        claim="z_loss_recursion",
        lines=(*losses_z.loss(q), *losses.mean(q), *losses_z.recursion(q)),
        goals=(Goal("z_loss_recursion", "recursion", ()),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=Setting(table=losses_z.TABLE).conclude,
        names=LATEX,
    )
