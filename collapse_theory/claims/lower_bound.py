"""One step cannot shrink the distance of two unseen rows faster than decay and curvature together."""

from ._claim import Claim
from ._hypotheses import CURVATURE, NONNEGATIVE_STEP, UNSEEN

CLAIM = Claim(
    id="lower_bound",
    title="One step keeps at least 1 - eta(lam + T) of the distance of two unseen rows",
    statement="(1 - eta (lam + T)) |D| <= |D+|",
    latex=r"\bigl(1 - \eta(\lambda + T)\bigr)\,|D| \le |D^+|",
    source="From D . D+ = c|D|^2 - eta D.MD and D.MD <= T|D|^2.",
    domain="step",
    hypotheses=(UNSEEN, NONNEGATIVE_STEP, CURVATURE),
    lhs=lambda s: (1 - s.step_size * (s.weight_decay + s.curvature)) * s.ops.norm(s.difference),
    rhs=lambda s: s.ops.norm(s.next_difference),
    tight=True,
    corollary="Says something where the factor is positive; a product over steps needs every factor >= 0.",
)
