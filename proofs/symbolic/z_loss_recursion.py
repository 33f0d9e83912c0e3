"""`z_loss_recursion`: D+ = c D - eta sum_i a_i (1 + 2 zeta log Z_i) L_i <D, x_i> x_i."""

from . import _losses, _losses_z
from ._conclude_losses import Setting
from ._derivation import Derivation, Goal
from ._symbols import LATEX, RANGES, Step

SIZES = (
    "The number of labels K >= 3, the dimension n and the number of examples N are symbols in every line; "
    "no size is fixed. Only the conclusion is written out, for 3 labels, 2 coordinates and 2 examples."
)


def derive() -> Derivation:
    """The derivation, from the loss with the z-loss to the claim."""
    q = Step()
    return Derivation(
        claim="z_loss_recursion",
        lines=(*_losses_z.loss(q), *_losses.mean(q), *_losses_z.recursion(q)),
        goals=(Goal("z_loss_recursion", "recursion", ()),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=Setting(table=_losses_z.TABLE).conclude,
        names=LATEX,
    )
