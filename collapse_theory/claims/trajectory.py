"""Over a run the distance of two unseen rows stays between two products of one-step factors."""

from typing import Any

from ..arithmetic import Array
from ._claim import Claim
from ._hypotheses import CURVATURE, NONNEGATIVE_STEP, STEP_SIZE, UNSEEN, every_step


def _lower_factors(run: Any) -> Array:
    """``max(0, 1 - eta_t (lam_t + T_t))``: a negative factor says nothing, and 0 keeps the product true."""
    factor = 1 - run.step_size * (run.weight_decay + run.curvature)
    return run.ops.maximum(factor, run.ops.asarray(0.0))


def _lhs(run: Any) -> Array:
    below = run.ops.prod(_lower_factors(run)) * run.ops.norm(run.first_difference)
    return run.ops.stack([run.ops.norm(run.last_difference), below])


def _rhs(run: Any) -> Array:
    above = run.ops.prod(run.decay) * run.ops.norm(run.first_difference)
    return run.ops.stack([above, run.ops.norm(run.last_difference)])


CLAIM = Claim(
    id="trajectory",
    title="A run keeps the distance of two unseen rows between two products",
    statement="prod max(0, 1 - eta_t(lam_t + T_t)) |D_0| <= |D_T| <= prod (1 - eta_t lam_t) |D_0|",
    latex=(
        r"\prod_t \max\bigl(0, 1 - \eta_t(\lambda_t + T_t)\bigr)\,|D_0| \le |D_T|"
        r" \le \prod_t (1 - \eta_t\lambda_t)\,|D_0|"
    ),
    source="Induction over contraction (above) and over |D+| >= (1 - eta(lam + T))|D| (below).",
    domain="run",
    hypotheses=tuple(map(every_step, (UNSEEN, NONNEGATIVE_STEP, CURVATURE, STEP_SIZE))),
    lhs=_lhs,
    rhs=_rhs,
    parts=("above", "below"),
    tight=True,
    corollary="Batches, features, step sizes and decay may change at every step.",
)
