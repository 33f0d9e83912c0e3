"""AdamW: one step may drive unseen rows apart; at rest they are equal, and its flow goes downhill."""

from typing import Any

from ..arithmetic import Array
from ._claim import Claim, Hypothesis
from ._hypotheses import CURVATURE, NONNEGATIVE_STEP, UNSEEN


def _along(s: Any) -> Array:
    """``D.A`` with A the difference of the updates."""
    return s.ops.sum(s.difference * s.pair_update)


CONTRACTION = Claim(
    id="adamw_contraction",
    title="AdamW's first step does not contract the difference of two unseen rows",
    statement="|D+| <= (1 - eta lam) |D|  for AdamW's first step",
    latex=r"|D^+| \le (1 - \eta\lambda)\,|D| \text{ for } w^+ = (1-\eta\lambda) w - \eta\,\frac{g}{|g|+\varepsilon}",
    source="What contraction would be for torch.optim.AdamW; each row has its own denominators.",
    domain="adam_step",
    hypotheses=(
        UNSEEN,
        NONNEGATIVE_STEP,
        CURVATURE,
        Hypothesis(
            "step_size",
            r"\eta (2\lambda + T/\varepsilon) \le 2",
            lambda s: 2 - s.step_size * (2 * s.weight_decay + s.curvature / s.epsilon),
        ),
    ),
    lhs=lambda s: s.ops.norm(s.next_difference),
    rhs=lambda s: s.decay * s.ops.norm(s.difference),
    expected="refuted",
    missing=(
        Hypothesis("downhill", r"D \cdot A \ge 0", lambda s: _along(s)),
        Hypothesis(
            "bounded_update",
            r"\varepsilon |A|^2 \le T\, D \cdot A",
            lambda s: (
                s.curvature * _along(s) - s.epsilon * s.ops.sum(s.pair_update * s.pair_update)
            ),
        ),
    ),
    corollary=(
        "The step size is within the condition for the largest factor 1/eps, so the step is not too long: it points the"
        " wrong way (D.A < 0 in the witness), and D grows for every eta > 0. In one dimension it never does."
    ),
)


def _pull(s: Any) -> Array:
    """``M D`` through the pair's gradients."""
    return s.operator_on_difference


STATIONARY = Claim(
    id="adamw_stationary",
    title="Where AdamW is at rest, unseen rows are equal",
    statement="eps |A|^2 + lam D.MD <= R.MD,  A = g_u/(|g_u|+eps) - g_v/(|g_v|+eps),  R = lam D + A",
    latex=(
        r"\varepsilon |A|^2 + \lambda\, D \cdot MD \le R \cdot MD, \qquad"
        r" A = \frac{g_u}{|g_u|+\varepsilon} - \frac{g_v}{|g_v|+\varepsilon}, \quad R = \lambda D + A"
    ),
    source="z/(|z| + eps) increases, with slope at most 1/eps; settled moments.",
    domain="adam_step",
    hypotheses=(UNSEEN,),
    lhs=lambda s: (
        s.epsilon * s.ops.sum(s.pair_update * s.pair_update)
        + s.weight_decay * s.ops.sum(s.difference * _pull(s))
    ),
    rhs=lambda s: s.ops.sum(s.residual * _pull(s)),
    tight=True,
    corollary=(
        "R = 0 is rest: for lam > 0 then A = 0 and D = 0. So all unseen rows are equal at every stationary point of AdamW."
    ),
)


def _descent(s: Any) -> Array:
    """``-dH/dt``: the gradient of H times the velocity, over all entries."""
    lam = s.weight_decay[..., None, None]
    eps = s.epsilon[..., None, None]
    barrier = eps * lam * s.weights / (1 - s.ops.abs(lam * s.weights))
    return -s.ops.sum(s.ops.sum((s.gradient + barrier) * s.velocity))


FLOW = Claim(
    id="adamw_flow",
    title="AdamW's flow goes downhill",
    statement="-dH/dt >= eps |w'|^2,  H = loss + eps sum h(w),  h(s) = -|s| - ln(1 - lam|s|)/lam",
    latex=(
        r"\varepsilon\,|\dot w|^2 \le -\frac{dH}{dt}, \qquad \dot w = -\lambda w - \frac{g}{|g|+\varepsilon}, \quad"
        r" H = \ell + \varepsilon \sum_{kj} h(w_{kj}), \quad h(s) = -|s| - \frac{\ln(1-\lambda|s|)}{\lambda}"
    ),
    source="Entry by entry: -lam w is the update of the gradient -eps h'(w), and updates increase with gradients.",
    domain="adam_step",
    hypotheses=(
        Hypothesis(
            "inside_ball",
            r"|\lambda w_{kj}| < 1 \text{ for all } k, j",
            lambda s: s.ops.stack(
                [
                    1 - s.ops.abs(s.weight_decay[..., None] * s.weights[..., k, :])
                    for k in range(s.weights.shape[-2])
                ]
            ),
            strict=True,
        ),
    ),
    lhs=lambda s: s.epsilon * s.ops.sum(s.ops.sum(s.velocity * s.velocity)),
    rhs=_descent,
    tight=True,
    corollary=(
        "Targets may be of any kind. With lam > 0 the flow comes to rest only where all unseen rows are equal; how fast is"
        " not known."
    ),
)

CLAIMS = (CONTRACTION, STATIONARY, FLOW)
