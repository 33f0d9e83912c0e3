"""Hypotheses that several claims share, on single steps; :func:`every_step` lifts one to runs."""

from __future__ import annotations

from typing import Any

from ..arithmetic import Array
from ._claim import Hypothesis

UNSEEN = Hypothesis(
    "unseen",
    r"y_i \notin \{u, v\} \text{ for all } i \text{ with } a_i > 0",
    lambda s: -s.target_mass,
)
NONNEGATIVE_STEP = Hypothesis("nonnegative_step", r"\eta \ge 0", lambda s: s.step_size)
CURVATURE = Hypothesis(
    "curvature",
    r"T \ge \operatorname{tr} M = \sum_i a_i L_i |x_i|^2",
    lambda s: s.curvature - s.trace,
)
STEP_SIZE = Hypothesis(
    "step_size",
    r"\eta (2\lambda + T) \le 2",
    lambda s: 2 - s.step_size * (2 * s.weight_decay + s.curvature),
)
RADIUS = Hypothesis(
    "radius", r"r \ge |x_i| \text{ for all } i", lambda s: s.radius[..., None] - s.feature_norms
)
PBAR = Hypothesis(
    "pbar", r"\bar p \ge L_i \text{ for all } i", lambda s: s.pbar[..., None] - s.means
)
DECAY_AT_MOST_ONE = Hypothesis(
    "decay_at_most_one", r"\eta\lambda \le 1", lambda s: 1 - s.step_size * s.weight_decay
)

NONNEGATIVE_DECAY = Hypothesis("nonnegative_decay", r"\lambda \ge 0", lambda s: s.weight_decay)


def every_step(hypothesis: Hypothesis) -> Hypothesis:
    """The hypothesis at each step of a run: its margins are stacked along a last axis of steps."""

    def margin(run: Any) -> Array:
        return run.ops.stack([hypothesis.margin(step) for step in run.steps])

    latex = rf"{hypothesis.latex} \quad (\text{{each step}})"
    return Hypothesis(hypothesis.id, latex, margin, hypothesis.strict)
