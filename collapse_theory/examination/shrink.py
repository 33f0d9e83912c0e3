"""Making a witness small enough to read: fewer examples, labels, dimensions and steps; few digits; zeros and ones.

Greedy descent from a witness already found, all candidates of a round evaluated as one float batch, and the simplest that
balls confirm taken. (``hypothesis.find`` shrinks too, but only what it generated itself: it cannot begin from a given
instance, and a violation found by optimisation may be too rare to be drawn again.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice

import numpy as np

from ..claims import Claim
from ..errors import InputError
from ..instances import Batch
from ..instances._batch import at_most_one
from .evaluation import evaluate
from .witness import confirm

ROUNDS = 400


def complexity(batch: Batch) -> float:
    """How hard a batch of one is to read: numbers to write down, their digits, minus signs, far exponents."""
    total = 0.0
    for name, array in batch.values.items():
        if name in batch.INTEGERS:
            total += 0.5 * array.size
        else:
            total += sum(map(digits, np.ravel(array)))
    return total


def burden(ratio: float) -> float:
    """A price on witnesses that persuade less: a right side that is not positive (``ratio`` is then infinite), or a
    violation so thin that a reader cannot see it."""
    return 20.0 if ratio == np.inf else 2 * max(0.0, -1 - np.log10(max(ratio - 1, 1e-300)))


def cost(claim: Claim, witness: Batch) -> float:
    """What shrinking makes small."""
    return complexity(witness) + burden(evaluate(claim, witness).worst[0])


def digits(x: float) -> float:
    """Cost of one number: 0 for 0, 1 for 1, more for every digit, a sign or an exponent."""
    if x == 0:
        return 0.5
    _, figures, exponent = Decimal(repr(float(x))).normalize().as_tuple()
    leading = len(figures) + int(exponent) - 1  # decimal exponent of the leading digit
    unit = 0.0 if figures == (1,) else 0.2
    return 1 + 2 * (len(figures) - 1) + unit + 0.3 * (x < 0) + 1.0 * abs(leading)


def roundings(x: float, *, upwards: bool) -> Iterator[float]:
    """Simpler numbers near ``x``, simplest first."""
    if x == 0:
        return
    yield 0.0
    sign = 1.0 if x > 0 else -1.0
    yield sign
    yield -x if x < 0 else x
    exponent = int(np.floor(np.log10(abs(x))))
    for nearer in (0, exponent // 2 if exponent > 0 else -(-exponent // 2)):
        # The same leading digit at a more familiar size; a bound is not blown up for that.
        if abs(nearer) < abs(exponent) and not (upwards and nearer > exponent):
            yield float(f"{x:.0e}".split("e")[0] + f"e{nearer}")
    for kept in (1, 2, 3, 4, 6):
        step = Decimal(10) ** (exponent + 1 - kept)
        quotient = Decimal(float(x)) / step
        down = int(quotient.to_integral_value("ROUND_FLOOR"))
        for whole in (down + 1,) if upwards else (down, down + 1):
            yield float(whole * step)


@dataclass(frozen=True)
class Change:
    """One number of a batch of one replaced, and by how much that lowers :func:`complexity`."""

    name: str
    index: tuple[int, ...]
    value: float
    saved: float


def _rounded(batch: Batch) -> Iterator[Change]:
    """All simplifications of one number; batch weights stay, since they must sum to 1."""
    for name, array in batch.values.items():
        if name in batch.INTEGERS or name == "example_weights":
            continue
        for index in np.ndindex(array.shape):
            x = float(array[index])
            before = digits(x)
            for simpler in dict.fromkeys(roundings(x, upwards=name in batch.BOUNDS)):
                saved = before - digits(simpler)
                if saved > 0:
                    yield Change(name, index, simpler, saved)


def _removals(batch: Batch) -> Iterator[Batch]:
    """All smaller shapes: one example, dimension, seen label or step less."""
    for axis, size in batch.sizes.items():
        first, least = batch.LEAST.get(axis, (0, size))
        if size > least:
            smaller = (batch.without(axis, gone) for gone in range(first, size))
            yield from (candidate for candidate in smaller if candidate is not None)


def _applied(batch: Batch, changes: list[Change]) -> Batch:
    """A batch that holds one changed copy of a batch of one for every change."""
    values = {k: np.repeat(v, len(changes), axis=0) for k, v in batch.values.items()}
    for row, change in enumerate(changes):
        values[change.name][(row, *change.index[1:])] = change.value
    return replace(batch, **values)


def _well_formed(batch: Batch) -> bool:
    """Whether a batch of one can be saved and read again: a temperature of 0 cannot, though a claim may not read it."""
    try:
        batch.check()
    except InputError:
        return False
    return True


def shrink(claim: Claim, witness: Batch) -> Batch:
    """A simpler instance that still refutes ``claim`` for certain, from one that does (a float batch of one)."""
    smaller = True
    while smaller:
        smaller = False
        for candidate in _removals(witness):
            if _well_formed(candidate) and confirm(claim, candidate) is not None:
                witness, smaller = candidate, True
                break
    weights = witness.values.get("example_weights")
    if weights is not None:
        uniform = at_most_one(np.full_like(weights, 1 / weights.shape[-1]))
        even: Batch = replace(witness, example_weights=uniform)
        if confirm(claim, even) is not None:
            witness = even
    for _ in range(ROUNDS):
        changes = list(_rounded(witness))
        if not changes:
            return witness
        candidates = _applied(witness, changes)
        evaluation = evaluate(claim, candidates)
        now = burden(evaluate(claim, witness).worst[0])
        costs = {
            int(i): burden(evaluation.worst[i]) - changes[i].saved
            for i in np.flatnonzero(evaluation.admissible & evaluation.broken)
        }
        simpler = sorted((i for i in costs if costs[i] < now), key=costs.__getitem__)
        for i in islice((i for i in simpler if _well_formed(candidates.take(i))), 40):
            candidate = candidates.take(i)
            if confirm(claim, candidate) is not None:
                witness = candidate
                break
        else:
            return witness
    return witness
