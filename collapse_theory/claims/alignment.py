"""Along a run the cosine of two unseen rows goes to 1 as their distance decays, if their norms stay up."""

from typing import Any

from ..arithmetic import Array
from ..instances import cosine_distance
from ._claim import Claim, Hypothesis
from ._hypotheses import CURVATURE, NONNEGATIVE_STEP, STEP_SIZE, UNSEEN, every_step


def _last_norms(run: Any) -> Array:
    """``|u_T|`` and ``|v_T|`` [..., 2]."""
    return run.ops.stack([run.ops.norm(row) for row in run.last_pair])


def _cosine_distance(run: Any) -> Array:
    """``1 - cos(u_T, v_T)``."""
    u, v = run.last_pair
    return cosine_distance(run.ops, u, v, run.last_difference)


def _decayed_square(run: Any) -> Array:
    """``(prod (1 - eta_t lam) |D_0|)^2``."""
    left = run.ops.prod(run.decay) * run.ops.norm(run.first_difference)
    return left * left


def _first_product(run: Any) -> Array:
    """``|u_0| |v_0|``."""
    return run.ops.norm(run.weights[..., 0, :]) * run.ops.norm(run.weights[..., 1, :])


DECAY = tuple(map(every_step, (UNSEEN, NONNEGATIVE_STEP, CURVATURE, STEP_SIZE)))

CLAIM = Claim(
    id="alignment",
    title="The cosine of two unseen rows goes to 1 with the squared decay, while their norms stay up",
    statement="1 - cos(u_T, v_T) <= (prod (1 - eta_t lam) |D_0|)^2/(2 m^2)",
    latex=r"1 - \cos(u_T, v_T) \le \frac{\bigl(\prod_t (1 - \eta_t\lambda)\,|D_0|\bigr)^2}{2 m^2}",
    source="From cosine and trajectory: 1 - cos_T <= |D_T|^2/(2 m^2).",
    domain="steady_run",
    hypotheses=(
        *DECAY,
        Hypothesis(
            "norms",
            r"|u_T| \ge m,\ |v_T| \ge m",
            lambda run: _last_norms(run) - run.floor[..., None],
        ),
        Hypothesis("positive_floor", r"m > 0", lambda run: run.floor, strict=True),
    ),
    lhs=_cosine_distance,
    rhs=lambda run: _decayed_square(run) / (2 * run.floor * run.floor),
    tight=True,
    corollary="The bound holds at every step t, with the norms at that step; m = inf of the norms serves for all.",
)

WITHOUT = Claim(
    id="alignment_without_norms",
    title="The cosine does not follow the decay when the norms are let go",
    statement="1 - cos(u_T, v_T) <= (prod (1 - eta_t lam) |D_0|)^2/(2 |u_0||v_0|)",
    latex=(
        r"1 - \cos(u_T, v_T) \le"
        r" \frac{\bigl(\prod_t (1 - \eta_t\lambda)\,|D_0|\bigr)^2}{2\,|u_0|\,|v_0|}"
    ),
    source="What alignment would be without its bound on the norms.",
    domain="steady_run",
    hypotheses=(
        *DECAY,
        Hypothesis(
            "nonzero_rows",
            r"u_0, v_0, u_T, v_T \ne 0",
            lambda run: run.ops.stack([_first_product(run), run.ops.prod(_last_norms(run))]),
            strict=True,
        ),
    ),
    lhs=_cosine_distance,
    rhs=lambda run: _decayed_square(run) / (2 * _first_product(run)),
    expected="refuted",
    missing=(
        Hypothesis(
            "norms_stay",
            r"|u_T|\,|v_T| \ge |u_0|\,|v_0|",
            lambda run: run.ops.prod(_last_norms(run)) - _first_product(run),
        ),
    ),
    corollary="With features 0, decay shrinks both rows alike and the cosine never moves.",
)

CLAIMS = (CLAIM, WITHOUT)
