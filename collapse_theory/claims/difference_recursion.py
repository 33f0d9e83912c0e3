"""One step of gradient descent maps the difference of two unseen rows linearly: the root of all bounds."""

from typing import Any

from ..arithmetic import Array
from ._claim import Claim
from ._hypotheses import UNSEEN


def _linear_map(s: Any) -> Array:
    """``c D - eta M D`` [..., n]."""
    pushed = s.ops.sum(s.operator * s.difference[..., None, :], axis=-1)
    return s.decay[..., None] * s.difference - s.step_size[..., None] * pushed


CLAIM = Claim(
    id="difference_recursion",
    title="One step maps the difference of two unseen rows linearly",
    statement="D+ = c D - eta M D",
    latex=r"D^+ = (1 - \eta\lambda)\,D - \eta M D",
    source="From logmean_identity; the rows after the step come from the gradient of the whole loss.",
    domain="step",
    relation="==",
    hypotheses=(UNSEEN,),
    lhs=lambda s: s.next_weights[..., 0, :] - s.next_weights[..., 1, :],
    rhs=_linear_map,
    tight=True,
    corollary="M = sum a_i L_i x_i x_i^T is symmetric and positive semidefinite, whatever the seen rows do.",
)
