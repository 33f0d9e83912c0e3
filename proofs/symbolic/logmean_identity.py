"""`logmean_identity`: `p_u - p_v = L(p_u, p_v) <D, x>`."""

from . import _heads_softmax, _logmean
from ._derivation import Derivation
from ._heads_softmax import softmax, until
from ._symbols import Step

SIZES = (
    "The number of labels K >= 3, the dimension n and the number of features N are symbols in every line; no size is "
    "fixed. Only the conclusion is written out, for 3 labels, 2 coordinates and one feature, to be compared with "
    "the claim's own formula. The claim speaks of probabilities alone, so it starts from the softmax."
)


def derive() -> Derivation:
    """From the softmax to the identity, on any feature."""
    q = Step()
    lines = (*softmax(q), *until(_logmean.logmean(q), "mean_value"))
    return _heads_softmax.derivation("logmean_identity", lines, ("mean_value",), SIZES)
