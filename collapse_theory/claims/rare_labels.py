"""Labels that are seldom targets: the bound for unseen ones, and what their batch mass adds."""

from typing import Any

from ..arithmetic import Array
from ._claim import Claim, Hypothesis
from ._hypotheses import CURVATURE, NONNEGATIVE_STEP, RADIUS, STEP_SIZE, every_step


def _run_bound(run: Any) -> Array:
    """``P |D_0| + (r f_max/lam)(1 - P)``."""
    left = run.ops.prod(run.decay)
    most = run.ops.max(run.target_mass)
    return left * run.ops.norm(run.first_difference) + run.radius * most / run.weight_decay * (
        1 - left
    )


STEP = Claim(
    id="rare_labels",
    title="A step in which u or v is a target moves them apart by at most eta r times their batch mass",
    statement="|D+| <= (1 - eta lam) |D| + eta r f",
    latex=r"|D^+| \le (1 - \eta\lambda)\,|D| + \eta r f, \qquad f = \sum_i a_i \bigl([y_i = u] + [y_i = v]\bigr)",
    source="D+ = cD - eta M D + eta sum_i a_i ([y_i = u] - [y_i = v]) x_i, and contraction.",
    domain="step",
    hypotheses=(NONNEGATIVE_STEP, RADIUS, CURVATURE, STEP_SIZE),
    lhs=lambda s: s.ops.norm(s.next_difference),
    rhs=lambda s: s.decay * s.ops.norm(s.difference) + s.step_size * s.radius * s.target_mass,
    tight=True,
)

RUN = Claim(
    id="rare_labels_run",
    title="Over a run rare labels stay within the decayed distance and a multiple of their batch mass",
    statement="|D_T| <= P |D_0| + (r f_max/lam)(1 - P),  P = prod (1 - eta_t lam)",
    latex=r"|D_T| \le P\,|D_0| + \frac{r f_{\max}}{\lambda}(1 - P), \qquad P = \prod_t (1 - \eta_t\lambda)",
    source="Induction over rare_labels.",
    domain="steady_run",
    hypotheses=(
        *map(every_step, (NONNEGATIVE_STEP, RADIUS, CURVATURE, STEP_SIZE)),
        Hypothesis(
            "some_decay",
            r"\lambda \ne 0",
            lambda run: run.ops.abs(run.weight_decay),
            strict=True,
        ),
    ),
    lhs=lambda run: run.ops.norm(run.last_difference),
    rhs=_run_bound,
    tight=True,
    corollary="So with lam > 0 and step sizes of infinite sum, limsup |D| <= r f/lam.",
)

CLAIMS = (STEP, RUN)
