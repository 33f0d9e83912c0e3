"""Redrawing unseen rows every few steps keeps them apart, if they are redrawn together."""

from collections.abc import Callable
from typing import Any

from ..arithmetic import Array
from ._claim import Claim, Hypothesis
from ._hypotheses import CURVATURE, UNSEEN


def _hypotheses(late: int) -> tuple[Hypothesis, ...]:
    """Those of a reset of both rows at once (``late`` 0), or of v half a period after u (1)."""

    def steps(run: Any) -> Any:
        return run.one_at_a_time if late else run.together

    def each(hypothesis: Hypothesis) -> Hypothesis:
        def margin(run: Any) -> Array:
            return run.ops.stack([hypothesis.margin(step) for step in steps(run)])

        latex = rf"{hypothesis.latex} \quad (\text{{each step}})"
        return Hypothesis(hypothesis.id, latex, margin)

    return (
        each(UNSEEN),
        each(CURVATURE),
        Hypothesis("nonnegative_step", r"\eta \ge 0", lambda run: run.step_size),
        Hypothesis(
            "factor",
            r"0 \le q = 1 - \eta(\lambda + T) \le 1",
            lambda run: run.ops.stack([run.factor, 1 - run.factor]),
        ),
        Hypothesis(
            "drawn_apart",
            r"\text{rows drawn one after the other are at least } d \text{ apart}",
            lambda run: run.drawn_distances(late) - run.distance[..., None],
        ),
    )


def _least(steps: Callable[[Any], Any]) -> Callable[[Any], Array]:
    """``min_t |D_t|`` over the steps of one of the two runs."""

    def least(run: Any) -> Array:
        return -run.ops.max(-run.distances(steps(run)))

    return least


TOGETHER = Claim(
    id="reset",
    title="Rows redrawn together every S steps stay at least q^S d apart",
    statement="q^S d <= |D| at all times,  q = 1 - eta (lam + T)",
    latex=r"q^S d \le |D_t| \text{ at all times}, \qquad q = 1 - \eta(\lambda + T)",
    source="From lower_bound, at most S times in a row.",
    domain="reset_run",
    hypotheses=_hypotheses(0),
    lhs=lambda run: run.power() * run.distance,
    rhs=_least(lambda run: run.together),
    tight=True,
    corollary=(
        "So S <= ln(d/eps)/(-ln q) keeps the rows eps apart. Freezing rows by a zero gradient still lets them decay;"
        " a missing gradient does not. Momentum must be reset too."
    ),
)

STAGGERED = Claim(
    id="staggered_reset",
    title="Rows redrawn one at a time need not stay apart",
    statement="q^S d <= |D| at all times, with v redrawn half a period after u",
    latex=r"q^S d \le |D_t| \text{ at all times, with } v \text{ redrawn half a period after } u",
    source="What reset would be if it did not matter when the two rows are redrawn.",
    domain="reset_run",
    hypotheses=_hypotheses(1),
    lhs=lambda run: run.power() * run.distance,
    rhs=_least(lambda run: run.one_at_a_time),
    expected="refuted",
    corollary="A fresh row can be drawn where the other one, aged since its own draw, has moved to.",
)

CLAIMS = (TOGETHER, STAGGERED)
