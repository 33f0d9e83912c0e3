"""Gradient clipping: by the global norm it rescales M; by value or by row it breaks contraction."""

from typing import Any

from .. import losses
from ..arithmetic import Array
from ._claim import Claim, Hypothesis
from ._hypotheses import CURVATURE, NONNEGATIVE_STEP, STEP_SIZE, UNSEEN


def _by_norm(s: Any) -> Array:
    gradient, _ = s.clipped_by_norm
    return s.pair_after(gradient)


def _linear_map(s: Any) -> Array:
    """``c D - eta s M D``."""
    _, share = s.clipped_by_norm
    scale = s.step_size * share
    return s.decay[..., None] * s.difference - scale[..., None] * s.operator_on_difference


NORM = Claim(
    id="norm_clipping",
    title="Clipping by the global norm scales M by the same factor",
    statement="D+ = c D - eta s M D,  s = min(1, C/|G|)",
    latex=r"D^+ = (1 - \eta\lambda)\,D - \eta s M D, \qquad s = \min(1, C/|G|)",
    source="The gradient G of the loss is multiplied by s; decay outside the loss is not.",
    domain="loss_step",
    relation="==",
    hypotheses=(UNSEEN,),
    lhs=_by_norm,
    rhs=_linear_map,
    tight=True,
    corollary="With s <= 1 every condition on eta T that held without clipping still holds.",
)

ASSUMED = (UNSEEN, NONNEGATIVE_STEP, CURVATURE, STEP_SIZE)

VALUE = Claim(
    id="value_clipping",
    title="Clipping every entry of the gradient breaks contraction",
    statement="|D+| <= (1 - eta lam) |D| with entries of the gradient cut to [-C, C]",
    latex=r"|D^+| \le (1 - \eta\lambda)\,|D| \text{ with the gradient's entries cut to } [-C, C]",
    source="What contraction would be under clip_grad_value_.",
    domain="loss_step",
    hypotheses=ASSUMED,
    lhs=lambda s: s.ops.norm(s.pair_after(losses.clip_values(s.ops, s.gradient, s.clip))),
    rhs=lambda s: s.decay * s.ops.norm(s.difference),
    expected="refuted",
    missing=(
        Hypothesis(
            "nothing_clipped",
            r"C \ge |g_{kj}| \text{ for } k \in \{u, v\} \text{ and all } j",
            lambda s: s.ops.stack(
                [
                    s.clip[..., None] - s.ops.abs(s.gradient[..., 0, :]),
                    s.clip[..., None] - s.ops.abs(s.gradient[..., 1, :]),
                ]
            ),
        ),
    ),
    corollary="Cutting entries turns the difference of the gradients away from M D.",
)

ROW = Claim(
    id="row_clipping",
    title="Clipping every row of the gradient breaks contraction",
    statement="|D+| <= (1 - eta lam) |D| with rows of the gradient scaled down to norm C",
    latex=r"|D^+| \le (1 - \eta\lambda)\,|D| \text{ with the gradient's rows scaled down to norm } C",
    source="What contraction would be under clipping of each row by its own norm.",
    domain="loss_step",
    hypotheses=ASSUMED,
    lhs=lambda s: s.ops.norm(s.pair_after(losses.clip_rows(s.ops, s.gradient, s.clip))),
    rhs=lambda s: s.decay * s.ops.norm(s.difference),
    expected="refuted",
    missing=(
        Hypothesis(
            "nothing_clipped",
            r"C \ge |g_k| \text{ for } k \in \{u, v\}",
            lambda s: s.clip[..., None] - s.ops.norm(s.gradient[..., :2, :]),
        ),
    ),
    corollary="The two rows are scaled by different factors.",
)

CLAIMS = (NORM, VALUE, ROW)
