"""`paper_lemma_4_1`: |D+| <= (1 - eta (lam - r^2 pbar))|D| is false as printed, and true when eta lam <= 1."""

from dataclasses import replace

from . import _step as step
from ._conclude import conclude_step, small_step
from ._counterexample import WITNESS, refutation
from ._derivation import Derivation, Goal, Part
from ._symbols import RANGES, Step, latex_names
from ._triangle import corrected

SIZES = (
    "The refutation is one instance: 3 labels, 1 coordinate, 1 example, rational data; its exponentials are bounded "
    "exactly. In the corrected form the number of labels K >= 3, the dimension n and the number of examples "
    "N are symbols in every line; its conclusion is written out for 3 labels, 2 coordinates and 2 examples."
)


def derive() -> Derivation:
    """The refutation, then the corrected form, both from the loss."""
    q = Step()
    general = [*step.loss(q), *step.logmean(q), *step.logmean_below(q), *step.recursion(q)]
    scalars = step.quadratic(q)
    hypotheses = ("nonnegative_step", "decay_at_most_one", "radius", "pbar")
    return Derivation(
        claim="paper_lemma_4_1",
        lines=(
            *general,
            *scalars,
            *refutation(q, [*general, *scalars]),
            *corrected(q),
        ),
        goals=(Goal("refuted", "refuted", ()), Goal("corrected", "corrected", hypotheses)),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude,
        names=latex_names(),
    )


def conclude(derivation: Derivation) -> tuple[Part, ...]:
    """The printed lemma with its witness (1 coordinate, 1 example); the corrected form (2 and 2)."""
    true = replace(derivation, goals=derivation.goals[1:])
    (small,) = conclude_step(dim=1, examples=1)(true)
    hypotheses = {k: v for k, v in small.hypotheses.items() if k != "decay_at_most_one"}
    left, right = (
        small_step(derivation, dim=1, examples=1)(derivation[name].rule.expression)
        for name in ("left", "right")
    )
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
