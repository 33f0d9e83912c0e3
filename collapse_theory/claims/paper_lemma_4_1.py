"""Lemma 4.1 of the paper as printed: false, since it has no condition on the step size."""

from ._claim import Claim
from ._hypotheses import DECAY_AT_MOST_ONE, NONNEGATIVE_STEP, PBAR, RADIUS, UNSEEN

CLAIM = Claim(
    id="paper_lemma_4_1",
    title="Lemma 4.1 as printed",
    statement="|D+| <= (1 - eta (lam - r^2 pbar)) |D|",
    latex=r"|D^+| \le \bigl(1 - \eta(\lambda - r^2 \bar p)\bigr)\,|D|",
    source="arXiv 2604.21632, Lemma 4.1, as known from public reading notes.",
    domain="step",
    hypotheses=(UNSEEN, NONNEGATIVE_STEP, RADIUS, PBAR),
    lhs=lambda s: s.ops.norm(s.next_difference),
    rhs=lambda s: (
        (1 - s.step_size * (s.weight_decay - s.radius * s.radius * s.pbar))
        * s.ops.norm(s.difference)
    ),
    expected="refuted",
    missing=(DECAY_AT_MOST_ONE,),
    corollary="With eta lam <= 1 it holds by the triangle inequality; then `contraction` is stronger.",
)
