"""`adamw_ball`: no update of AdamW exceeds C_t, and differences of rows stay within a ball."""

from .framework.derivation import Derivation, Goal
from .framework.symbols import RANGES
from .lines import adam_ball, adam_runs
from .lines.adam_runs import ROWS, limit, most
from .lines.conclude_adam import SIZES, conclude_adam


def derive() -> Derivation:
    """Cauchy-Schwarz for the two moments, by induction; then induction over the steps."""
    lines = (
        *adam_runs.gradients(),
        *adam_runs.betas(),
        *(line for row in ROWS for line in adam_runs.moments(row)),
        *(line for row in ROWS for line in adam_runs.first_below_second(row)),
        *adam_runs.limits(),
        *(line for row in ROWS for line in adam_runs.mean_below(row)),
        *(line for row in ROWS for line in adam_runs.update_below(row)),
        adam_runs.either(most),
        *(line for row in ROWS for line in adam_runs.descent(row)),
        *adam_ball.hypotheses(),
        *adam_ball.ball(limit),
    )
    return Derivation(
        claim="adamw_ball",
        lines=lines,
        goals=(
            Goal("update", "update", ("betas",)),
            Goal("ball", "ball", ("betas", "some_decay", "nonnegative_step", "decay_at_most_one")),
        ),
        sizes=SIZES.format(steps="2 steps"),
        ranges=RANGES,
        conclude=conclude_adam(
            steps=2, each=("nonnegative_step", "decay_at_most_one"), after=("ball",)
        ),
        names=adam_runs.NAMES,
    )
