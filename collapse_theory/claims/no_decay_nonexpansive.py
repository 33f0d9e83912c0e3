"""No step drives two unseen rows apart, without decay if the step size is at most 2/T, with decay at most 2/(lam + T)."""

from ._claim import Claim, Hypothesis
from ._hypotheses import CURVATURE, NONNEGATIVE_DECAY, NONNEGATIVE_STEP, UNSEEN

STEP_SIZE_FROM_LARGEST = Hypothesis(
    "step_size_from_largest",
    r"\eta (\lambda + T) \le 2",
    lambda s: 2 - s.step_size * (s.weight_decay + s.curvature),
)

CLAIM = Claim(
    id="no_decay_nonexpansive",
    title="With little or no decay a step does not drive two unseen rows apart",
    statement="|D+| <= |D|",
    latex=r"|D^+| \le |D|",
    source="From D+ = cD - eta M D: the eigenvalues of c - eta M lie in [-1, 1].",
    domain="step",
    hypotheses=(
        UNSEEN,
        NONNEGATIVE_STEP,
        NONNEGATIVE_DECAY,
        CURVATURE,
        STEP_SIZE_FROM_LARGEST,
    ),
    lhs=lambda s: s.ops.norm(s.next_difference),
    rhs=lambda s: s.ops.norm(s.difference),
    tight=True,
    corollary="With lam = 0 the condition is eta T <= 2, and nothing makes the distance vanish: see no_decay_orthogonal.",
)
