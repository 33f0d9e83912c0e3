"""`no_decay_orthogonal`: `<z, D_T> = prod (1 - eta_t lam_t) <z, D_0>` for z orthogonal to all features."""

from . import _times_probe, _times_seen, trajectory
from ._conclude_runs_steady import conclude_probe
from ._derivation import Derivation, Goal
from ._symbols import RANGES, Step, t

SIZES = (
    "The number of labels K >= 3, the dimension n, the number of examples N and the number of steps t are symbols in "
    "every line, and targets are of any kind; no size is fixed. Only the conclusion is written out, for 2 steps, "
    "3 labels, 2 coordinates and 1 example, to be compared with the claim's own formula."
)


def derive() -> Derivation:
    """One step, then induction."""
    q = Step(time=t)
    lines = (
        *_times_seen.loss(q),
        *(line for line in trajectory.run(q) if line.name != "run"),
        *_times_probe.probe(q),
        *_times_probe.induction(),
    )
    return Derivation(
        claim="no_decay_orthogonal",
        lines=lines,
        goals=(Goal("no_decay_orthogonal", "no_decay_orthogonal", ("orthogonal",)),),
        sizes=SIZES,
        ranges=RANGES,
        conclude=conclude_probe(steps=2, dim=2),
        names=_times_probe.NAMES,
    )
