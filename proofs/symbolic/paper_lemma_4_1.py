"""`paper_lemma_4_1`: |D+| <= (1 - eta (lam - r^2 pbar))|D| is false as printed, and true when eta lam <= 1."""

from dataclasses import replace

from .framework.conclude import conclude_step, small_step
from .framework.derivation import Derivation, Goal, Part
from .framework.symbols import LATEX, RANGES, Step
from .lines import logmean, step
from .lines.printed_lemma import WITNESS, printed, refutation
from .lines.triangle import corrected

SIZES = (
    "The refutation is one instance: 3 labels, 1 coordinate, 1 example, rational data; its exponentials are bounded "
    "exactly. In the corrected form the number of labels K >= 3, the dimension n and the number of examples "
    "N are symbols in every line; its conclusion is written out for 3 labels, 2 coordinates and 2 examples."
)


def derive() -> Derivation:
    """The refutation, then the corrected form, both from the loss."""
    q = Step()
    hypotheses = ("nonnegative_step", "decay_at_most_one", "radius", "pbar")
    return Derivation(
        claim="paper_lemma_4_1",
        lines=(
            *step.loss(q),
            *logmean.logmean(q),
            *logmean.logmean_below(q),
            *step.recursion(q),
            *step.quadratic(q),
            *refutation(q),
            *corrected(q),
        ),
        goals=(
            Goal("refuted", "refuted", (), also=("pbar_star", "smallest_pbar")),
            Goal("corrected", "corrected", hypotheses),
        ),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude,
        names=LATEX,
    )


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """The printed lemma with its witness (1 coordinate, 1 example); the corrected form (2 and 2)."""
    true = replace(derivation, goals=derivation.goals[1:])
    (small,) = conclude_step(dim=1, examples=1)(true)
    hypotheses = {k: v for k, v in small.hypotheses.items() if k != "decay_at_most_one"}
    left, right = map(small_step(derivation, dim=1, examples=1), printed(Step()))
    refuted = replace(
        small,
        id="refuted",
        hypotheses=hypotheses,
        lhs=left,
        rhs=right,
        refutes=True,
        witness=WITNESS,
    )
    return (refuted, *conclude_step(dim=2, examples=2)(true))
