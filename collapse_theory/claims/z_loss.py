"""The z-loss multiplies each example's logarithmic mean by a factor that may leave [0, 1]."""

from typing import Any

from ..arithmetic import Array
from ._claim import Claim, Hypothesis
from ._hypotheses import NONNEGATIVE_STEP, RADIUS, STEP_SIZE, UNSEEN


def _linear_map(s: Any) -> Array:
    """``c D - eta M D`` with the factor in M."""
    return s.decay[..., None] * s.difference - s.step_size[..., None] * s.operator_on_difference


RECURSION = Claim(
    id="z_loss_recursion",
    title="The z-loss multiplies each L_i by 1 + 2 zeta log Z_i",
    statement="D+ = c D - eta sum a_i (1 + 2 zeta log Z_i) L_i <D, x_i> x_i",
    latex=r"D^+ = (1 - \eta\lambda)\,D - \eta \sum_i a_i (1 + 2\zeta \log Z_i) L_i \langle D, x_i\rangle x_i",
    source="The gradient of zeta (log Z)^2 in row k is 2 zeta log Z p_k x.",
    domain="z_loss_step",
    relation="==",
    hypotheses=(UNSEEN,),
    lhs=lambda s: s.next_weights[..., 0, :] - s.next_weights[..., 1, :],
    rhs=_linear_map,
    tight=True,
)

NONNEGATIVE_FACTOR = Hypothesis(
    "nonnegative_factor", r"1 + 2\zeta \log Z_i \ge 0 \text{ for all } i", lambda s: s.factor
)

CURVATURE = Hypothesis(
    "curvature",
    r"T \ge \sum_i a_i (1 + 2\zeta \log Z_i) L_i |x_i|^2",
    lambda s: s.curvature - s.trace,
)

CLAIM = Claim(
    id="z_loss",
    title="With the z-loss a step contracts while its factors stay nonnegative",
    statement="|D+| <= (1 - eta lam) |D|",
    latex=r"|D^+| \le (1 - \eta\lambda)\,|D|",
    source="From z_loss_recursion, as contraction; T bounds the trace with the factors.",
    domain="z_loss_step",
    hypotheses=(UNSEEN, NONNEGATIVE_STEP, NONNEGATIVE_FACTOR, CURVATURE, STEP_SIZE),
    lhs=lambda s: s.ops.norm(s.next_difference),
    rhs=lambda s: s.decay * s.ops.norm(s.difference),
    tight=True,
    corollary="T = r^2/2 no longer serves: see z_loss_half.",
)

HALF = Claim(
    id="z_loss_half",
    title="With the z-loss, 1/2 no longer bounds the means",
    statement="|D+| <= (1 - eta lam) |D| under eta (2 lam + r^2/2) <= 2",
    latex=r"|D^+| \le (1 - \eta\lambda)\,|D| \text{ under } \eta(2\lambda + r^2/2) \le 2",
    source="What z_loss would be with T = r^2/2.",
    domain="z_loss_step",
    hypotheses=(
        UNSEEN,
        NONNEGATIVE_STEP,
        RADIUS,
        Hypothesis(
            "step_size_from_radius",
            r"\eta (2\lambda + r^2/2) \le 2",
            lambda s: 2 - s.step_size * (2 * s.weight_decay + s.radius * s.radius / 2),
        ),
    ),
    lhs=lambda s: s.ops.norm(s.next_difference),
    rhs=lambda s: s.decay * s.ops.norm(s.difference),
    expected="refuted",
    missing=(
        Hypothesis(
            "factor_at_most_one",
            r"0 \le 1 + 2\zeta \log Z_i \le 1 \text{ for all } i",
            lambda s: s.ops.stack([s.factor, 1 - s.factor]),
        ),
    ),
    corollary="Where log Z_i is large and zeta > 0 the factor exceeds 1, and L_i times it may exceed 1/2.",
)

CLAIMS = (CLAIM, RECURSION, HALF)
