"""One step of gradient descent contracts the difference of two unseen rows by at least the decay factor."""

from ._claim import Claim
from ._hypotheses import CURVATURE, NONNEGATIVE_STEP, STEP_SIZE, UNSEEN

CLAIM = Claim(
    id="contraction",
    title="One step shrinks the difference of two unseen rows by the decay factor",
    statement="|D+| <= (1 - eta lam) |D|",
    latex=r"|D^+| \le (1 - \eta\lambda)\,|D|",
    source="Stronger than Lemma 4.1 of arXiv 2604.21632, and true; from D+ = cD - eta M D.",
    domain="step",
    hypotheses=(UNSEEN, NONNEGATIVE_STEP, CURVATURE, STEP_SIZE),
    lhs=lambda s: s.ops.norm(s.next_difference),
    rhs=lambda s: s.decay * s.ops.norm(s.difference),
    tight=True,
    corollary="With T = r^2/2 the condition needs no knowledge of the probabilities. lam >= 0 is not needed.",
)
