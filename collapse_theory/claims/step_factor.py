"""For any step size and decay, one step changes the distance of two unseen rows by at most the larger end factor."""

from typing import Any

from ..arithmetic import Array
from ._claim import Claim
from ._hypotheses import CURVATURE, UNSEEN


def _factor(s: Any) -> Array:
    """``max(|c|, |c - eta T|)``."""
    return s.ops.maximum(s.ops.abs(s.decay), s.ops.abs(s.decay - s.step_size * s.curvature))


CLAIM = Claim(
    id="step_factor",
    title="One step changes the distance of two unseen rows by at most the larger end factor",
    statement="|D+| <= max(|c|, |c - eta T|) |D|",
    latex=r"|D^+| \le \max\bigl(|1 - \eta\lambda|,\, |1 - \eta(\lambda + T)|\bigr)\,|D|",
    source="From D+ = cD - eta M D, with the eigenvalues of M between 0 and T.",
    domain="step",
    hypotheses=(UNSEEN, CURVATURE),
    lhs=lambda s: s.ops.norm(s.next_difference),
    rhs=lambda s: _factor(s) * s.ops.norm(s.difference),
    tight=True,
    corollary=(
        "Attained with D orthogonal to the features, and with D along a single feature and T = tr M."
        " For eta < 0 it holds as well. Where the second factor is the larger, the step size is too large for `contraction`."
    ),
)
