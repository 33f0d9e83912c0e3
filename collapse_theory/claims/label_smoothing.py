"""Label smoothing leaves the recursion for unseen rows as it is."""

from ._claim import Claim
from ._hypotheses import UNSEEN

CLAIM = Claim(
    id="label_smoothing",
    title="Label smoothing does not change how two unseen rows approach each other",
    statement="D+ = c D - eta M D",
    latex=r"D^+ = (1 - \eta\lambda)\,D - \eta M D",
    source="The smoothed targets give both rows the mass s/K on every example, which cancels: twins.",
    domain="loss_step",
    relation="==",
    hypotheses=(UNSEEN,),
    lhs=lambda s: s.pair_after(s.smoothed),
    rhs=lambda s: (
        s.decay[..., None] * s.difference - s.step_size[..., None] * s.operator_on_difference
    ),
    tight=True,
    corollary="So every bound on |D| stands. Only the probabilities, hence M, become others over a run.",
)
