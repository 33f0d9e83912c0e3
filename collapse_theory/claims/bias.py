"""A bias is one more coordinate, if it is decayed; without decay of the bias contraction fails."""

from typing import Any

from ..arithmetic import Array
from ._claim import Claim, Hypothesis
from ._hypotheses import NONNEGATIVE_STEP, STEP_SIZE, UNSEEN


def _undecayed(s: Any) -> Array:
    """``|(D+, b+)|`` after a step that decays the weights alone."""
    whole = s.augmented
    pushed = s.step_size[..., None] * whole.pair_gradient
    old = whole.difference
    weights = s.decay[..., None] * old[..., :-1] - pushed[..., :-1]
    bias = old[..., -1:] - pushed[..., -1:]
    return s.ops.sqrt(s.ops.sum(weights * weights) + s.ops.sum(bias * bias))


ASSUMED = (
    UNSEEN,
    NONNEGATIVE_STEP,
    Hypothesis(
        "curvature",
        r"T \ge \sum_i a_i L_i (|x_i|^2 + 1)",
        lambda s: s.curvature - s.trace,
    ),
    STEP_SIZE,
)

CLAIM = Claim(
    id="bias",
    title="Rows with a decayed bias contract as rows with one more coordinate",
    statement="|(D+, b+)| <= (1 - eta lam) |(D, b)|",
    latex=r"|(D^+, b^+)| \le (1 - \eta\lambda)\,|(D, b)|, \qquad b = b_u - b_v",
    source="contraction with the feature (x, 1), whose squared norm is |x|^2 + 1.",
    domain="biased_step",
    hypotheses=ASSUMED,
    lhs=lambda s: s.ops.norm(s.augmented.next_difference),
    rhs=lambda s: s.decay * s.ops.norm(s.augmented.difference),
    tight=True,
    corollary="With T = (r^2 + 1)/2 the condition needs no knowledge of the probabilities.",
)

UNDECAYED = Claim(
    id="undecayed_bias",
    title="A bias without decay breaks contraction",
    statement="|(D+, b+)| <= (1 - eta lam) |(D, b)| with the bias not decayed",
    latex=r"|(D^+, b^+)| \le (1 - \eta\lambda)\,|(D, b)| \text{ with the bias not decayed}",
    source="What bias would be for the common choice of not decaying biases.",
    domain="biased_step",
    hypotheses=ASSUMED,
    lhs=_undecayed,
    rhs=lambda s: s.decay * s.ops.norm(s.augmented.difference),
    expected="refuted",
    corollary="The gap of the biases falls only through M, which no bound keeps away from 0.",
)

CLAIMS = (CLAIM, UNDECAYED)
