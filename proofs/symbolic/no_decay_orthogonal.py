"""`no_decay_orthogonal`: `<z, D_T> = prod (1 - eta_t lam_t) <z, D_0>` for z orthogonal to all features."""

from .framework.derivation import Derivation, Goal
from .framework.symbols import RANGES, Step, t
from .lines import any_targets, products, runs_probe
from .lines.conclude_runs_steady import conclude_probe

SIZES = (
    "The number of labels K >= 3, the dimension n, the number of examples N and the number of steps t are symbols in "
    "every line, and targets are of any kind; no size is fixed. Only the conclusion is written out, for 2 steps, "
    "3 labels, 2 coordinates and 1 example, to be compared with the claim's own formula."
)


def derive() -> Derivation:
    """One step, then induction."""
    q = Step(time=t)
    lines = (
        *any_targets.loss(q),
        *(line for line in products.run(q) if line.name != "run"),
        *runs_probe.probe(q),
        *runs_probe.induction(),
    )
    return Derivation(
        claim="no_decay_orthogonal",
        lines=lines,
        goals=(Goal("no_decay_orthogonal", "no_decay_orthogonal", ("orthogonal",)),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude_probe(steps=2, dim=2),
        names=runs_probe.NAMES,
    )
