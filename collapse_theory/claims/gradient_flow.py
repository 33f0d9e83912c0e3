"""Under gradient flow the squared distance of two unseen rows decays at a rate between 2 lam and 2 (lam + T)."""

from typing import Any

from ..arithmetic import Array
from ._claim import Claim
from ._hypotheses import CURVATURE, UNSEEN


def _rate(s: Any) -> Array:
    """``-1/2 d/dt |D|^2 = <D, lam D + M D>`` for rows that follow the negative gradient."""
    down = s.pair_gradient + s.weight_decay[..., None] * s.difference
    return s.ops.sum(s.difference * down)


def _square(s: Any) -> Array:
    return s.ops.sum(s.difference * s.difference)


CLAIM = Claim(
    id="gradient_flow",
    title="Gradient flow brings unseen rows together at least as fast as the decay, without a step-size condition",
    statement="lam |D|^2 <= -1/2 d/dt |D|^2 <= (lam + T) |D|^2",
    latex=(
        r"\lambda\,|D|^2 \le -\tfrac12 \tfrac{\mathrm d}{\mathrm dt}|D|^2"
        r" \le (\lambda + T)\,|D|^2"
    ),
    source="The flow is W' = -grad, so D' = -(lam D + M D); and 0 <= D.MD <= T|D|^2.",
    domain="step",
    hypotheses=(UNSEEN, CURVATURE),
    lhs=lambda s: s.ops.stack([s.weight_decay * _square(s), _rate(s)]),
    rhs=lambda s: s.ops.stack([_rate(s), (s.weight_decay + s.curvature) * _square(s)]),
    parts=("slowest", "fastest"),
    tight=True,
    corollary=(
        "Integrated: |D(t)| <= exp(-lam t)|D(0)|, for any real lam, and"
        " |D(t)| >= exp(-integral of (lam + T))|D(0)|."
    ),
)
