"""`logmean_identity`: `p_u - p_v = L(p_u, p_v) <D, x>`."""

from .framework.derivation import Derivation, Line, equal
from .framework.rules import Combine, Term
from .framework.symbols import Step, i
from .lines import heads_softmax, losses
from .lines.heads_softmax import softmax

SIZES = (
    "The number of labels K >= 3, the dimension n and the number of features N are symbols in every line; no size is "
    "fixed. Only the conclusion is written out, for 3 labels, 2 coordinates and one feature, to be compared with "
    "the claim's own formula. The claim speaks of probabilities alone, so it starts from the softmax."
)


def derive() -> Derivation:
    """From the softmax to the identity, on any feature."""
    q = Step()
    p_u, p_v = losses.pair(q)
    identity = Line(
        "logmean_identity",
        equal(p_u - p_v, q.name("L", i) * q.name("d", i)),
        Combine((Term(1, ("mean_value",)),)),
        "The claim, shown above, on any feature.",
    )
    lines = (*softmax(q), *losses.mean(q), identity)
    return heads_softmax.derivation("logmean_identity", lines, ("logmean_identity",), SIZES)
