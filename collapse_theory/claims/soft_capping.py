"""Soft-capped logits: contraction holds while the gradient grows with the logit, and fails beyond."""

from typing import Any

from ..arithmetic import Array
from ._claim import Claim, Hypothesis
from ._hypotheses import NONNEGATIVE_STEP, STEP_SIZE, UNSEEN


def _monotone(s: Any) -> Array:
    """``sqrt(cap^2 + 1) - 1 - z`` for the capped logits z of u and v on every example [..., N, 2]."""
    edge = s.ops.sqrt(s.cap * s.cap + 1)
    return edge[..., None, None] - 1 - s.capped[0][..., :2]


ASSUMED = (
    UNSEEN,
    NONNEGATIVE_STEP,
    Hypothesis(
        "curvature",
        r"T \ge \bigl(1 + \tfrac{1}{2\kappa^2}\bigr) \sum_i a_i \tfrac{p_u + p_v}{2} |x_i|^2",
        lambda s: s.curvature - s.trace,
    ),
    STEP_SIZE,
)
MONOTONE = Hypothesis(
    "monotone",
    r"\kappa\tanh(\langle w_k, x_i\rangle/\kappa) \le \sqrt{\kappa^2 + 1} - 1 \text{ for } k \in \{u, v\}",
    _monotone,
)

CLAIM = Claim(
    id="soft_capping",
    title="With soft-capped logits a step contracts while the pair's logits stay clear of the cap",
    statement="|D+| <= (1 - eta lam) |D|",
    latex=r"|D^+| \le (1 - \eta\lambda)\,|D|",
    source=(
        "exp(phi) phi' has derivative exp(phi)(phi'^2 + phi''), which is >= 0 iff the capped logit is at most"
        " sqrt(cap^2 + 1) - 1, and phi'^2 + phi'' <= 1 + 1/(2 cap^2)."
    ),
    domain="capped_step",
    hypotheses=(*ASSUMED, MONOTONE),
    lhs=lambda s: s.ops.norm(s.next_difference),
    rhs=lambda s: s.decay * s.ops.norm(s.difference),
    tight=True,
    corollary="At cap 30 the logits may go up to 29.0167, and T grows by a factor of 1.00056.",
)

UNBOUNDED = Claim(
    id="soft_capping_unbounded",
    title="Near the cap a step can drive two unseen rows apart",
    statement="|D+| <= (1 - eta lam) |D| whatever the logits",
    latex=r"|D^+| \le (1 - \eta\lambda)\,|D| \text{ whatever the logits}",
    source="What soft_capping would be without its bound on the logits.",
    domain="capped_step",
    hypotheses=ASSUMED,
    lhs=lambda s: s.ops.norm(s.next_difference),
    rhs=lambda s: s.decay * s.ops.norm(s.difference),
    expected="refuted",
    missing=(MONOTONE,),
    corollary="Beyond the bound the larger logit has the smaller gradient.",
)

CLAIMS = (CLAIM, UNBOUNDED)
