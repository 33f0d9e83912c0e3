"""`lower_bound`: if eta >= 0 and T >= tr M, then |D+| >= (1 - eta (lam + T))|D|."""

from . import _bounds, _one_step
from ._derivation import Derivation
from ._symbols import Step


def derive() -> Derivation:
    """The derivation, from the loss to the claim."""
    q = Step()
    below = [line for line in _bounds.lower(q) if line.name != "positive_part"]
    lines = [*_one_step.setting(q), *_bounds.hypotheses(q), *below]
    return _one_step.goal("lower_bound", lines, "nonnegative_step", "curvature")
