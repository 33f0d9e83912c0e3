"""Bounds on M's eigenvalues from both sides sharpen the decay of a step."""

from typing import Any

from ..arithmetic import Array
from ._claim import Claim, Hypothesis
from ._hypotheses import NONNEGATIVE_STEP, UNSEEN


def _forms(s: Any) -> tuple[Array, Array, Array]:
    """``|D|^2``, ``D.MD``, ``|MD|^2``."""
    D, MD = s.difference, s.operator_on_difference
    return s.ops.sum(D * D), s.ops.sum(D * MD), s.ops.sum(MD * MD)


def _between(s: Any) -> Array:
    """``D.(M - m)(mm - M)D``."""
    square, form, pushed = _forms(s)
    return (s.lowest + s.highest) * form - pushed - s.lowest * s.highest * square


CLAIM = Claim(
    id="spectral_sandwich",
    title="With M's eigenvalues between two bounds, a step shrinks the distance by decay and lower bound together",
    statement="|D+| <= (1 - eta (lam + m)) |D|",
    latex=r"|D^+| \le \bigl(1 - \eta(\lambda + \mu)\bigr)\,|D|",
    source="From |D+|^2 = c^2|D|^2 - 2 c eta D.MD + eta^2|MD|^2; the form and |MD|^2 >= (D.MD)^2/|D|^2 give m|D|^2 <= D.MD.",
    domain="spectral_step",
    hypotheses=(
        UNSEEN,
        NONNEGATIVE_STEP,
        Hypothesis("between", r"D \cdot (M - \mu)(\bar\mu - M) D \ge 0", _between),
        Hypothesis("ordered", r"\bar\mu \ge \mu", lambda s: s.highest - s.lowest),
        Hypothesis(
            "step_size",
            r"\eta (2\lambda + \mu + \bar\mu) \le 2",
            lambda s: 2 - s.step_size * (2 * s.weight_decay + s.lowest + s.highest),
        ),
    ),
    lhs=lambda s: s.ops.norm(s.next_difference),
    rhs=lambda s: (1 - s.step_size * (s.weight_decay + s.lowest)) * s.ops.norm(s.difference),
    tight=True,
    corollary=(
        "The hypotheses on forms hold whenever every eigenvalue of M lies between m and mm;"
        " m = 0 where the features do not span."
    ),
)
