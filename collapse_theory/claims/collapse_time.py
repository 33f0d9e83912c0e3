"""How many steps bring two unseen rows within a given distance: enough, and needed."""

from typing import Any

from ..arithmetic import Array
from ._claim import Claim, Hypothesis
from ._hypotheses import CURVATURE, NONNEGATIVE_STEP, STEP_SIZE, UNSEEN, every_step


def _logarithms(factor_gap: Array, run: Any) -> Array:
    """``sum_t -ln(1 - gap_t)``."""
    return -run.ops.sum(run.ops.log1p(-factor_gap))


def _by_decay(run: Any) -> Array:
    return _logarithms(run.step_size * run.weight_decay[..., None], run)


def _by_both(run: Any) -> Array:
    return _logarithms(run.step_size * (run.weight_decay + run.curvature)[..., None], run)


def _wanted(run: Any) -> Array:
    """``ln(|D_0|/eps)``."""
    return run.ops.log(run.ops.norm(run.first_difference) / run.distance)


ENOUGH = Claim(
    id="collapse_time",
    title="Enough steps to bring two unseen rows within eps",
    statement="|D_T| <= eps  if  sum -ln(1 - eta_t lam) >= ln(|D_0|/eps)",
    latex=r"|D_T| \le \varepsilon \quad\text{if}\quad \sum_t -\ln(1 - \eta_t\lambda) \ge \ln\frac{|D_0|}{\varepsilon}",
    source="From trajectory, in logarithms.",
    domain="steady_run",
    hypotheses=(
        *map(every_step, (UNSEEN, NONNEGATIVE_STEP, CURVATURE, STEP_SIZE)),
        Hypothesis(
            "positive_factor",
            r"\eta_t\lambda < 1 \quad (\text{each step})",
            lambda run: run.decay,
            strict=True,
        ),
        Hypothesis("positive_distance", r"\varepsilon > 0", lambda run: run.distance, strict=True),
        Hypothesis(
            "long_enough",
            r"\sum_t -\ln(1 - \eta_t\lambda) \ge \ln(|D_0|/\varepsilon)",
            lambda run: _by_decay(run) - _wanted(run),
        ),
    ),
    lhs=lambda run: run.ops.norm(run.last_difference),
    rhs=lambda run: run.distance,
    tight=True,
    corollary=(
        "With constant step size and eta lam > 0, t >= ln(|D_0|/eps)/(-ln(1 - eta lam)) steps suffice, and so do"
        " ln(|D_0|/eps)/(eta lam)."
    ),
)

NEEDED = Claim(
    id="collapse_time_needed",
    title="Steps needed to bring two unseen rows within eps",
    statement="ln(|D_0|/eps) <= sum -ln(1 - eta_t (lam + T))  if  |D_T| <= eps",
    latex=(
        r"\ln\frac{|D_0|}{\varepsilon} \le \sum_t -\ln\bigl(1 - \eta_t(\lambda + T)\bigr)"
        r" \quad\text{if}\quad |D_T| \le \varepsilon"
    ),
    source="From lower_bound at every step, in logarithms.",
    domain="steady_run",
    hypotheses=(
        *map(every_step, (UNSEEN, NONNEGATIVE_STEP, CURVATURE)),
        Hypothesis(
            "positive_lower_factor",
            r"\eta_t (\lambda + T) < 1 \quad (\text{each step})",
            lambda run: run.lower_factor,
            strict=True,
        ),
        Hypothesis(
            "different_rows",
            r"D_0 \ne 0",
            lambda run: run.ops.norm(run.first_difference),
            strict=True,
        ),
        Hypothesis(
            "reached",
            r"|D_T| \le \varepsilon",
            lambda run: run.distance - run.ops.norm(run.last_difference),
        ),
    ),
    lhs=_wanted,
    rhs=_by_both,
    tight=True,
    corollary=(
        "With constant step size and eta (lam + T) > 0 at least ln(|D_0|/eps)/(-ln(1 - eta (lam + T))) steps are needed."
        " eps > 0 follows, since D_T is not 0."
    ),
)

CLAIMS = (ENOUGH, NEEDED)
