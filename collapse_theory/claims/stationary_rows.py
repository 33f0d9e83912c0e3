"""The gradients of two unseen rows differ by at least the decay times the rows' distance."""

from ._claim import Claim
from ._hypotheses import UNSEEN

CLAIM = Claim(
    id="stationary_rows",
    title="Gradients of unseen rows differ by at least lam |D|",
    statement="lam |D| <= |grad_u - grad_v|",
    latex=r"\lambda\,|D| \le |\nabla_u - \nabla_v|",
    source="From grad_u - grad_v = M D + lam D and D.MD >= 0; the gradients are those of the loss with its decay.",
    domain="step",
    hypotheses=(UNSEEN,),
    lhs=lambda s: s.weight_decay * s.ops.norm(s.difference),
    rhs=lambda s: s.ops.norm(s.pair_gradient + s.weight_decay[..., None] * s.difference),
    tight=True,
    corollary=(
        "With lam > 0 all unseen rows are equal at every stationary point of the loss."
        " With a bias that is not decayed there is no stationary point."
    ),
)
