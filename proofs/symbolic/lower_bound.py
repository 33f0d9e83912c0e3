"""`lower_bound`: if eta >= 0 and T >= tr M, then |D+| >= (1 - eta (lam + T))|D|."""

from .framework.derivation import Derivation
from .framework.symbols import Step
from .lines import bounds, one_step


def derive() -> Derivation:
    """The derivation, from the loss to the claim."""
    q = Step()
    below = [line for line in bounds.lower(q) if line.name != "positive_part"]
    lines = [*one_step.setting(q), *bounds.hypotheses(q), *below]
    return one_step.goal("lower_bound", lines, "nonnegative_step", "curvature")
