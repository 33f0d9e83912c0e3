"""Where the logits of both labels are masked, their rows only decay."""

from typing import Any

from ..arithmetic import Array
from ._claim import Claim
from ._hypotheses import UNSEEN


def _linear_map(s: Any) -> Array:
    """``c D - eta sum_i a_i m_i L_i d_i x_i``."""
    weighted = s.example_weights * s.means * s.logit_differences * s.mask
    pushed = s.ops.sum(weighted[..., None] * s.features, axis=-2)
    return s.decay[..., None] * s.difference - s.step_size[..., None] * pushed


CLAIM = Claim(
    id="masked_logits",
    title="Examples whose logits of u and v are masked add nothing to M",
    statement="D+ = c D - eta sum a_i m_i L_i <D, x_i> x_i",
    latex=r"D^+ = (1 - \eta\lambda)\,D - \eta \sum_i a_i m_i L_i \langle D, x_i\rangle x_i",
    source="A masked label has probability 0 and no gradient; both are masked on the same examples.",
    domain="loss_step",
    relation="==",
    hypotheses=(UNSEEN,),
    lhs=lambda s: s.pair_after(s.masked),
    rhs=_linear_map,
    tight=True,
    corollary="Masked everywhere, M = 0: both rows shrink by c, and their cosine stays what it was.",
)
