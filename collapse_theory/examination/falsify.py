"""Looking for one counterexample of one claim: found on floats, confirmed in balls, made small."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..claims import Claim
from ..instances import Batch, Free, domain
from .effort import EFFORTS, Effort
from .evaluation import EQUAL, Outcome, certify
from .evidence import no_bool
from .search import Tally, check_seed, generator, optimise, tally_chunk
from .shrink import cost, shrink
from .witness import Witness

STAGES = ((True, range(2)), (True, range(2, 6)), (False, range(6)))
"""Whether the smallest shapes are drawn, and which chunks: a search stops after the stage that refutes the claim."""
SUSPECTS = 64
"""Float violations of a stage that are put to the balls: so many of the most readable, and so many of the largest."""
CANDIDATES = 2
"""Confirmed instances that are shrunk, to keep the most readable."""


@dataclass(frozen=True)
class Hunt:
    """What :func:`falsify` did: the witness if there is one, the admissible instances looked at, the float violations
    among them, and how many of those were put to balls that did not confirm them: rounding."""

    witness: Witness | None
    instances: int
    violations: int
    rounding: int

    __bool__ = no_bool


def build(free: Free, claim: Claim) -> Batch:
    """The instance of free variables, floats."""
    with np.errstate(all="ignore"):
        return domain(claim.domain).build(free)


def confirmed(
    claim: Claim, suspects: Iterable[tuple[float, Free]], *, wanted: int
) -> tuple[list[Batch], int]:
    """Up to ``wanted`` suspects that balls confirm, and how many they did not."""
    found: list[Batch] = []
    refused = 0
    for _, free in suspects:
        batch = build(free, claim)
        if certify(claim, batch).outcome[0] == Outcome.VIOLATED:
            found.append(batch)
            if len(found) == wanted:
                break
        else:
            refused += 1
    return found, refused


def simplest(claim: Claim, batches: list[Batch]) -> Batch:
    """The most readable of the shrunk instances."""
    return min((shrink(claim, batch) for batch in batches), key=lambda w: cost(claim, w))


def _reading_order(item: tuple[float, Free]) -> tuple[bool, bool, int]:
    """What rounding hardly explains first, then positive right sides (their ratio is finite), then the fewest numbers."""
    ratio, free = item
    return ratio <= EQUAL, ratio == np.inf, sum(x.size for x in free.values())


def falsify(
    claim: Claim, *, seed: int = 0, effort: Effort = EFFORTS["quick"], dropped: str | None = None
) -> Hunt:
    """Search the smallest shapes first, then the domain's whole sample, then optimise; stop at confirmed witnesses and
    keep the most readable.

    A float violation that balls do not confirm is rounding and is counted as such, never reported as a refutation.
    """
    check_seed(seed)
    total, rounding = Tally(), 0
    for number, (small, chunks) in enumerate(STAGES):
        stage = Tally()
        for index in chunks:
            stage.merge(tally_chunk([claim], claim.domain, seed, index, small=small)[0])
        total.merge(stage)
        largest = stage.suspects.items
        readable = sorted(largest, key=_reading_order)[:SUSPECTS]
        chosen = {id(item): item for item in (*readable, *largest[:SUSPECTS])}
        found, refused = confirmed(claim, chosen.values(), wanted=CANDIDATES)
        rounding += refused
        if number and not found and stage.best and claim.relation != "==":
            half = effort.starts // 2
            starts = [item for best in stage.best for item in best.items[: effort.starts - half]]
            starts += [item for loose in stage.loose for item in loose.items[:half]]
            rng = generator(seed, claim.id, "falsify", int(small))
            climbed = optimise(claim, starts, rng, effort, part=None)
            found, _ = confirmed(claim, [c for c in climbed if c[0] > 1], wanted=1)
        if found:
            witness = Witness(claim, simplest(claim, found), dropped)
            return Hunt(witness, total.admissible, total.violations, rounding)
    return Hunt(None, total.admissible, total.violations, rounding)
