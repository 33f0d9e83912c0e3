"""A temperature divides M, of the tempered probabilities, by its square."""

from typing import Any

from ..arithmetic import Array
from ._claim import Claim
from ._hypotheses import UNSEEN


def _linear_map(s: Any) -> Array:
    """``c D - eta (b/tau^2) M_tau D`` with M of the probabilities at temperature tau."""
    weighted = s.example_weights * s.cooled.means * s.logit_differences
    pushed = s.ops.sum(weighted[..., None] * s.features, axis=-2)
    scale = s.step_size * s.scale / (s.temperature * s.temperature)
    return s.decay[..., None] * s.difference - scale[..., None] * pushed


CLAIM = Claim(
    id="temperature",
    title="A temperature tau replaces M by M of the tempered probabilities over tau squared",
    statement="D+ = c D - eta (b/tau^2) M_tau D",
    latex=r"D^+ = (1 - \eta\lambda)\,D - \eta \tfrac{b}{\tau^2} M_\tau D",
    source="Logits over tau: the gradient gains 1/tau, and so does the difference of the logits. b scales the loss.",
    domain="loss_step",
    relation="==",
    hypotheses=(UNSEEN,),
    lhs=lambda s: s.pair_after(s.tempered),
    rhs=_linear_map,
    tight=True,
    corollary=(
        "So b T/tau^2 serves for T where T bounds tr M_tau, as r^2/2 does; with b = tau^2 the recursion is the plain one,"
        " with M_tau in place of M."
    ),
)
