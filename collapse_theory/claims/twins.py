"""What M and T say of two unseen labels holds for twins: labels with equal target mass on every example."""

from ._claim import Claim, Hypothesis
from ._hypotheses import CURVATURE, NONNEGATIVE_STEP, STEP_SIZE

CLAIM = Claim(
    id="twins",
    title="Two labels with equal target mass on every example come together as unseen ones do",
    statement="|D+| <= (1 - eta lam) |D|",
    latex=r"|D^+| \le (1 - \eta\lambda)\,|D|",
    source="With soft targets q the gradients differ by M D - sum_i a_i (q_iu - q_iv) x_i.",
    domain="loss_step",
    hypotheses=(
        Hypothesis(
            "twins",
            r"q_{iu} = q_{iv} \text{ for all } i \text{ with } a_i > 0",
            lambda s: (
                -s.example_weights * s.ops.abs(s.pair_targets[..., 0] - s.pair_targets[..., 1])
            ),
        ),
        NONNEGATIVE_STEP,
        CURVATURE,
        STEP_SIZE,
    ),
    lhs=lambda s: s.ops.norm(
        s.decay[..., None] * s.difference - s.step_size[..., None] * s.twin_gradient
    ),
    rhs=lambda s: s.decay * s.ops.norm(s.difference),
    tight=True,
    corollary="Unseen labels are twins with mass 0; label smoothing keeps twins twins.",
)
