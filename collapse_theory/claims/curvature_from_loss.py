"""The batch's mean cross-entropy alone bounds the trace of M."""

from typing import Any

from ..arithmetic import Array
from ._claim import Claim
from ._hypotheses import RADIUS, UNSEEN


def _from_loss(s: Any) -> Array:
    """``r^2 (1 - exp(-CE))/2``."""
    return s.radius * s.radius * (-s.ops.expm1(-s.cross_entropy)) / 2


CLAIM = Claim(
    id="curvature_from_loss",
    title="The loss alone bounds the curvature",
    statement="tr M <= r^2 (1 - exp(-CE)) / 2",
    latex=r"\operatorname{tr} M \le \tfrac12 r^2 \bigl(1 - e^{-\mathrm{CE}}\bigr)",
    source="L_i <= (p_u + p_v)/2 <= (1 - p_y)/2 and Jensen's inequality; hard targets.",
    domain="step",
    hypotheses=(UNSEEN, RADIUS),
    lhs=lambda s: s.trace,
    rhs=_from_loss,
    tight=True,
    corollary="So T = r^2 (1 - exp(-CE))/2 serves wherever a bound asks for T; it is never above r^2/2.",
)
