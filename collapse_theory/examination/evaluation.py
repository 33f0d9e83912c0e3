"""A claim on a batch: margins, both sides and their ratio on floats; certified outcomes on balls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import reduce
from typing import Any

import numpy as np

from ..arithmetic import Array, BallArray, BallOps, ball
from ..claims import Claim
from ..errors import InputError
from ..instances import Batch

START_BITS, MOST_BITS = 128, 1024
"""Working precision of the balls: where it starts, and where an undecided instance is given up."""
CONSISTENT = 100
"""An identity is consistent on an instance where both sides agree to this many bits, with 0 in the residual ball."""


@dataclass(frozen=True)
class Evaluation:
    """``holds`` [H, B]: each hypothesis on each instance; ``ratio`` [B, P]: lhs/rhs of each part; ``finite`` [B];
    ``limit``: the ratio up to which floats do not contradict the claim."""

    holds: np.ndarray
    ratio: np.ndarray
    finite: np.ndarray
    limit: float = 1.0

    @property
    def admissible(self) -> np.ndarray:
        """Instances [B] that meet every hypothesis, with finite sides."""
        return self.holds.all(axis=0) & self.finite

    @property
    def worst(self) -> np.ndarray:
        """The larger of the parts' ratios [B]."""
        return self.ratio.max(axis=1)

    @property
    def broken(self) -> np.ndarray:
        """Instances [B] whose float sides contradict the conclusion; rounding may be the reason."""
        return self.worst > self.limit


EQUAL = 1 + 1e-9
"""On floats an identity counts as contradicted beyond this; balls see far smaller differences."""


def ratios(lhs: np.ndarray, rhs: np.ndarray, relation: str, *, vectors: bool = False) -> np.ndarray:
    """How much of the bound is used [B, P]; above 1 where it is broken.

    For ``<=``: lhs/rhs where rhs > 0; else infinite where lhs > rhs, and rhs/lhs (in [0, 1]) where lhs <= rhs < 0. An
    instance with both sides 0 uses nothing of the bound: 0. For ``==``: 1 + relative difference of the sides, of two
    ``vectors`` 1 + the largest difference relative to the largest entry.
    """
    with np.errstate(all="ignore"):
        if relation == "==":
            scale, gap = np.maximum(np.abs(lhs), np.abs(rhs)), np.abs(lhs - rhs)
            if vectors:
                scale, gap = scale.max(axis=1, keepdims=True), gap.max(axis=1, keepdims=True)
            return 1 + np.where(scale > 0, gap / np.where(scale > 0, scale, 1), 0.0)
        negative = np.where(lhs > rhs, np.inf, np.where(rhs < 0, rhs / lhs, 0.0))
        return np.where(rhs > 0, np.maximum(lhs / np.where(rhs > 0, rhs, 1), 0.0), negative)


def per_part(side: Array, batch: Batch) -> Array:
    """A side as [B, P]."""
    if not isinstance(side, BallArray) and np.ndim(side) == 0:
        side = np.full(batch.lead, side)  # one number stands for all instances
    if side.ndim == len(batch.lead):
        return side[..., None]
    return side


def evaluate(claim: Claim, batch: Batch) -> Evaluation:
    """The claim on a float batch, vectorised; instances that overflow are marked as not finite."""
    if batch.domain != claim.domain:
        raise InputError(
            f"claim {claim.id} speaks of a {claim.domain}, but the instance is a {batch.domain}"
        )
    size = len(batch)
    holds = np.ones((len(claim.hypotheses), size), dtype=bool)
    with np.errstate(all="ignore"):
        finite = np.ones(size, dtype=bool)
        for row, hypothesis in zip(holds, claim.hypotheses, strict=True):
            margin = _floats(f"hypothesis {hypothesis.id!r}", hypothesis.margin, batch)
            margin = margin.reshape(size, -1)
            row[:] = (margin > 0 if hypothesis.strict else margin >= 0).all(axis=1)
            finite &= np.isfinite(margin).all(axis=1)
        lhs, rhs = _side(claim, "lhs", batch), _side(claim, "rhs", batch)
        finite &= np.isfinite(lhs).all(axis=1) & np.isfinite(rhs).all(axis=1)
    identity = claim.relation == "=="
    ratio = ratios(lhs, rhs, claim.relation, vectors=identity and not claim.parts)
    return Evaluation(holds, ratio, finite, EQUAL if identity else 1.0)


def _side(claim: Claim, name: str, batch: Batch) -> np.ndarray:
    """A side as floats [B, P], with a clear refusal of functions that return something else."""
    side = _floats(f"claim {claim.id}: {name}", getattr(claim, name), batch)
    parts = max(1, len(claim.parts))
    vectors = claim.relation == "==" and not claim.parts and side.ndim == 2
    if (side.shape not in ((len(batch),), (len(batch), parts)) and not vectors) or (
        claim.parts and side.ndim == 1
    ):
        wanted = f"[{len(batch)}, {parts}], a number for each instance and part"
        if not claim.parts:
            wanted = f"[{len(batch)}], a number for each instance (as s.ops.norm or s.ops.sum give)"
        raise InputError(
            f"claim {claim.id}: {name} has shape {list(side.shape)}, expected {wanted}"
        )
    return per_part(side, batch)


def _floats(what: str, function: Callable[[Any], Any], batch: Batch) -> np.ndarray:
    """A user's function on a float batch; one number stands for all instances."""
    try:
        values = np.asarray(function(batch), dtype=np.float64)
    except InputError:
        raise
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(
            f"{what} cannot be evaluated ({error}); use + - * / @, indexing and the batch's ops, "
            "with its axes first"
        ) from error
    if values.ndim == 0:
        return np.full(len(batch), values)
    if values.shape[0] != len(batch):
        raise InputError(
            f"{what} has shape {list(values.shape)}, expected {len(batch)} instances first"
        )
    return values


class Outcome(IntEnum):
    """What balls say of one instance."""

    HOLDS = 0
    """Every hypothesis and the conclusion, for certain."""
    VIOLATED = 1
    """Every hypothesis for certain, and the conclusion for certain not."""
    UNDECIDED = 2
    """Admissible, but the two sides cannot be told apart (equality cases stay here)."""
    INADMISSIBLE = 3
    """Some hypothesis fails for certain."""
    UNKNOWN = 4
    """Some hypothesis cannot be decided."""


@dataclass(frozen=True)
class Certificate:
    """Certified outcomes [B], the sides' ratio at the balls' midpoints [B, P], and for undecided instances the bits to
    which both sides agree (2^-q relative)."""

    outcome: np.ndarray
    ratio: np.ndarray
    agree_bits: np.ndarray

    def count(self, outcome: Outcome) -> int:
        return int((self.outcome == outcome).sum())


def certify(
    claim: Claim,
    batch: Batch,
    *,
    most_bits: int = MOST_BITS,
    balls: Any = None,
    rows: np.ndarray | None = None,
) -> Certificate:
    """The claim on each instance in ball arithmetic; undecided ones again with more bits, up to ``most_bits``.

    ``balls`` is the batch in balls of ``START_BITS``, if it is at hand already; ``rows`` the instances that are wanted.
    """
    result = _certify(claim, batch.to(ball(START_BITS)) if balls is None else balls)
    if rows is not None:
        result = Certificate(result.outcome[rows], result.ratio[rows], result.agree_bits[rows])
        batch = batch.take(rows)
    bits = START_BITS
    while (bits := 2 * bits) <= most_bits:
        undecided = result.outcome == Outcome.UNDECIDED
        if claim.relation == "==":  # more bits never prove an identity
            undecided &= result.agree_bits < CONSISTENT
        open_ = np.flatnonzero(undecided | (result.outcome == Outcome.UNKNOWN))
        if len(open_) == 0:
            break
        again = _certify(claim, batch.take(open_).to(ball(bits)))
        result.outcome[open_] = again.outcome
        result.ratio[open_] = again.ratio
        result.agree_bits[open_] = again.agree_bits
    return result


def _certify(claim: Claim, balls: Any) -> Certificate:
    ops, size = balls.ops, len(balls)
    state = np.ones(
        size, dtype=np.int8
    )  # +1 all hypotheses certain, 0 some undecided, -1 some false
    for hypothesis in claim.hypotheses:
        decided = _decided(_as_balls(hypothesis.margin(balls), ops), ops, hypothesis.strict)
        decided = np.broadcast_to(decided, size) if decided.ndim == 0 else decided
        state = np.minimum(state, decided.reshape(size, -1).min(axis=1))
    lhs = _as_balls(per_part(claim.lhs(balls), balls), ops)
    rhs = _as_balls(per_part(claim.rhs(balls), balls), ops)
    gap = rhs - lhs
    decided = ops.nonnegative(gap)
    if claim.relation == "==":
        # An identity can be contradicted (0 outside the residual ball) but a ball never proves it.
        decided = np.where(ops.sign(gap) != 0, -1, 0).astype(np.int8)
    conclusion = decided.reshape(size, -1).min(axis=1)
    outcome = np.select(
        [state < 0, state == 0, conclusion > 0, conclusion < 0],
        [Outcome.INADMISSIBLE, Outcome.UNKNOWN, Outcome.HOLDS, Outcome.VIOLATED],
        Outcome.UNDECIDED,
    )
    vectors = claim.relation == "==" and not claim.parts
    with np.errstate(all="ignore"):
        ratio = ratios(lhs.midpoints(), rhs.midpoints(), claim.relation, vectors=vectors)
    # Where the sides cannot be told apart, midpoints above the bound are rounding.
    equal = outcome == Outcome.UNDECIDED
    ratio = np.where(equal[:, None], np.minimum(ratio, 1.0), ratio)
    agree = np.full(size, np.inf)
    for i in np.flatnonzero(equal):
        open_ = vectors | (decided[i] == 0)  # the parts that leave it undecided
        sides = zip(gap.balls[i], lhs.balls[i], rhs.balls[i], strict=True)
        agree[i] = _agreement(
            [
                part
                for part, at in zip(sides, np.broadcast_to(open_, gap.shape[1]), strict=True)
                if at
            ],
            joint=vectors,
        )
    return Certificate(outcome, ratio, agree)


def _agreement(parts: list[tuple[Any, ...]], *, joint: bool) -> float:
    """Bits to which both sides agree, from (gap, lhs, rhs) of every part; of parts that may be 0 absolute, else relative to
    the larger side. The parts of vectors are taken ``joint``: the largest gap against the largest side."""
    from flint import arb

    def size(x: Any) -> Any:
        return abs(x).upper()

    # Floats would not do: sides may be far below the smallest.
    gaps = [size(gap) for gap, _, _ in parts]
    scales = [
        arb(1) if left.contains(0) and right.contains(0) else size(left).max(size(right))
        for _, left, right in parts
    ]
    if joint:
        gaps, scales = [reduce(arb.max, gaps)], [reduce(arb.max, scales)]
    bits = [float("inf")]
    for gap, scale in zip(gaps, scales, strict=True):
        if not gap.is_finite() or not scale.is_finite():
            return 0.0
        if not gap.is_zero():
            bits.append(float(-(gap / scale).log() / arb(2).log()))
    return min(bits)


def _decided(margin: BallArray, ops: BallOps, strict: bool) -> np.ndarray:
    """+1 where a margin holds for certain, -1 where it certainly does not, else 0."""
    if not strict:
        return ops.nonnegative(margin)
    positive, not_positive = ops.sign(margin) > 0, ops.nonnegative(-margin) > 0
    return positive.astype(np.int8) - not_positive.astype(np.int8)


def _as_balls(side: Array, ops: Any) -> BallArray:
    return side if isinstance(side, BallArray) else ops.asarray(side)


def unused_fields(claim: Claim, instance: Batch) -> list[str]:
    """Fields that neither the claim's hypotheses nor its sides read: replacing them by NaN changes nothing."""

    def outputs(batch: Batch) -> list[np.ndarray]:
        functions = [claim.lhs, claim.rhs, *(h.margin for h in claim.hypotheses)]
        with np.errstate(all="ignore"):
            return [np.asarray(f(batch)) for f in functions]

    before = outputs(instance)
    unused = []
    for name, array in instance.values.items():
        if name in instance.INTEGERS:
            continue
        after = outputs(replace(instance, **{name: np.full_like(array, np.nan)}))
        if all(np.array_equal(a, b) for a, b in zip(before, after, strict=True)):
            unused.append(name)
    return unused
