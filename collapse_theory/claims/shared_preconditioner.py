"""With one preconditioner for both rows the difference contracts in the preconditioner's norm."""

from ._claim import Claim
from ._hypotheses import CURVATURE, NONNEGATIVE_STEP, STEP_SIZE, UNSEEN

CLAIM = Claim(
    id="shared_preconditioner",
    title="A preconditioner that both rows share keeps contraction",
    statement="|D+|_P <= (1 - eta lam) |D|_P,  |z|_P^2 = sum_j P_j z_j^2",
    latex=r"|D^+|_P \le (1 - \eta\lambda)\,|D|_P, \qquad |z|_P^2 = \sum_j P_j z_j^2",
    source="contraction in the coordinates sqrt(P) w, where features are x/sqrt(P).",
    domain="preconditioned_step",
    hypotheses=(UNSEEN, NONNEGATIVE_STEP, CURVATURE, STEP_SIZE),
    lhs=lambda s: s.length(s.next_difference),
    rhs=lambda s: s.decay * s.length(s.difference),
    tight=True,
    corollary=(
        "Here T bounds tr(P^-1 M). Adam with its second moment averaged over the rows is of this kind; with a second moment"
        " for each row, as usual, adamw_contraction is refuted."
    ),
)
