"""The columns of evidence that come from computing with instances: searched, enclosed, tight, necessary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arithmetic import ball
from ..claims import Claim
from ..instances import Batch, Free, domain
from .effort import EFFORTS, Effort
from .evaluation import CONSISTENT, MOST_BITS, START_BITS, Outcome, certify, evaluate
from .evidence import Evidence, Status
from .falsify import build, falsify
from .search import Found, Tally, generator, optimise
from .shrink import shrink
from .witness import Witness, confirm

TIGHT_ENOUGH = 0.999
UNKNOWN = "not known necessary"
AGREEMENT = 1e-9
"""A ratio of floats counts as reached where balls say the same to this."""
UNDEFINED = "the sides are not defined without it"
BLOCK = 250
"""Instances enclosed at a time, all of one shape."""


def number(x: float) -> float | str:
    """A float for JSON, which knows no infinity."""
    return "inf" if math.isinf(x) else float(x)


def certify_all(
    claim: Claim, items: Sequence[tuple[float, Free]], *, most_bits: int = MOST_BITS
) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes [S] and worst midpoint ratios [S, P] of many single instances, grouped by shape for speed."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, (_, free) in enumerate(items):
        groups.setdefault(tuple(x.shape for x in free.values()), []).append(i)
    outcome = np.empty(len(items), dtype=np.int64)
    ratio: list[np.ndarray] = [np.zeros(1)] * len(items)
    for members in groups.values():
        frees = [items[i][1] for i in members]
        joined = {k: np.concatenate([f[k] for f in frees]) for k in frees[0]}
        certificate = certify(claim, build(joined, claim), most_bits=most_bits)
        outcome[members] = certificate.outcome
        for row, i in enumerate(members):
            ratio[i] = certificate.ratio[row]
    return outcome, np.array(ratio)


def searched(
    claim: Claim, tally: Tally, seed: int, effort: Effort
) -> tuple[Evidence, list[list[tuple[float, Free]]], Witness | None]:
    """The column *searched*, each part's best admissible instances, and the witness if there is one.

    Float violations are put to the balls; what those do not confirm is counted as rounding.
    """
    rng = generator(seed, claim.id, "optimise")
    parts = [list(found.items) for found in tally.best]
    climbed: list[tuple[float, Free]] = []
    for part, items in enumerate(parts):
        # Climbing on an identity would climb on its rounding.
        half = effort.starts // 2
        starts = items[: effort.starts - half] + tally.loose[part].items[:half]
        starts = [] if claim.relation == "==" else starts
        improved = optimise(claim, starts, rng, effort, part=part)
        climbed += improved
        parts[part] = sorted(improved + items, key=lambda item: -item[0])
    suspects = tally.suspects.items + [item for item in climbed if item[0] > 1]
    outcome, ratio = (
        certify_all(claim, suspects, most_bits=512) if suspects else (np.zeros(0), None)
    )
    confirmed = np.flatnonzero(outcome == Outcome.VIOLATED)
    # A formula that mixes the instances of a batch can look violated in company: one must stand alone.
    if not any(confirm(claim, build(suspects[i][1], claim)) is not None for i in confirmed[:16]):
        confirmed = confirmed[:0]
    worst = tally.worst.copy()
    for part, items in enumerate(parts):
        below = [r for r, _ in items if r <= 1]
        worst[part] = max(below, default=0.0)
        if ratio is not None and len(confirmed) == 0:
            admissible = np.isin(outcome, (Outcome.HOLDS, Outcome.UNDECIDED))
            worst[part] = max(worst[part], ratio[admissible, part].max(initial=0.0))
    figures: dict[str, Any] = {
        "instances": tally.admissible,
        "drawn": tally.drawn,
        "optimised_from": len(climbed),
        "float_violations": tally.violations,
        "put_to_balls": len(suspects),
        "confirmed": len(confirmed),
        "histogram": tally.histogram.tolist(),
    }
    if len(confirmed):
        hunt = falsify(claim, seed=seed, effort=effort)
        witness = hunt.witness or Witness(
            claim, shrink(claim, build(suspects[confirmed[0]][1], claim))
        )
        figures["worst_ratio"] = number(max(suspects[i][0] for i in confirmed))
        figures["witness"] = witness.to_dict()
        return (
            Evidence("searched", Status.REFUTED, describe(claim, witness), figures),
            parts,
            witness,
        )
    figures["worst_ratio"] = number(float(worst.max()))
    if claim.parts:
        figures["worst_ratio_by_part"] = dict(zip(claim.parts, map(number, worst), strict=True))
    if tally.admissible == 0:
        reason = "no admissible instance was found: the claim may be vacuous"
        return Evidence("searched", Status.UNDECIDED, reason, figures), parts, None
    return Evidence("searched", Status.NOT_FALSIFIED, "", figures), parts, None


def describe(claim: Claim, witness: Witness) -> str:
    """A witness in a few words."""
    sizes = witness.instance.sizes
    shape = ", ".join(f"{axis} = {sizes[axis]}" for axis in ("K", "n", "T") if axis in sizes)
    ratio = evaluate(claim, witness.instance).worst[0]
    if math.isinf(ratio):
        used = "the right side is not positive"
    elif claim.relation == "==":
        used = f"the sides differ by {ratio - 1:.2g} of the larger"
    else:
        used = f"lhs/rhs = {ratio:.4g}" if ratio > 1.001 else f"lhs/rhs = 1 + {ratio - 1:.2g}"
    return f"witness with {shape}: {used}"


def tight(claim: Claim, parts: list[list[tuple[float, Free]]]) -> Evidence:
    """The column *tight*: the best certified-admissible instance of every part, saved."""
    reached: dict[str, Any] = {}
    lowest = math.inf
    for part, (name, items) in enumerate(zip(claim.parts or ("",), parts, strict=True)):
        best, instance = 0.0, None
        # An infinite ratio is a right side of 0, met up to rounding: no instance to show.
        items = [item for item in items if math.isfinite(item[0])][:24]
        if items:
            outcome, _ = certify_all(claim, items, most_bits=256)
            for (ratio, free), result in zip(items, outcome, strict=True):
                if result not in (Outcome.HOLDS, Outcome.UNDECIDED):
                    continue
                one = build(free, claim)
                # A chaotic run of floats may end elsewhere than the exact one.
                exact = certify(claim, one, most_bits=256).ratio[0, part]
                if abs(exact - min(ratio, 1.0)) <= AGREEMENT:
                    best, instance = min(ratio, 1.0), one
                    break
        lowest = min(lowest, best)
        reached[name or "bound"] = {
            "worst_ratio": best,
            "instance": instance.to_dict() if instance is not None else None,
        }
    status = Status.TIGHT if lowest >= TIGHT_ENOUGH else Status.LOOSE
    reason = f"the worst ratio reached is {lowest:.6g}"
    if claim.relation == "==" and status is Status.TIGHT:
        reason = "an identity"
    return Evidence("tight", status, reason, {"worst_ratio": lowest, "attained": reached})


def necessary(
    claim: Claim, tally: Tally, mended: Tally | None, seed: int, *, refuted: bool
) -> Evidence:
    """The column *necessary*: for each hypothesis a witness against the claim without it, or that its sides are not even
    defined then, or "not known necessary"; and that the hypotheses can be met at all.

    For a claim that is ``refuted``, or expected to be: whether its missing hypotheses mend it.
    """
    vacuity = {"met_by": tally.admissible, "drawn": tally.drawn}
    if refuted or claim.expected == "refuted":
        return _mended(claim, mended, vacuity)
    if not claim.hypotheses:
        reason = "the claim has no hypotheses"
        return Evidence("necessary", Status.NOT_APPLICABLE, reason, {"vacuity": vacuity})
    witnesses: dict[str, Any] = {}
    for hypothesis in claim.hypotheses:
        without = claim.drop(hypothesis.id)
        hunt = falsify(without, seed=seed, effort=EFFORTS["quick"], dropped=hypothesis.id)
        witness = hunt.witness
        if witness is None:  # the shared sample holds many more instances that violate it alone
            items = [i for i in tally.dropped.get(hypothesis.id, Found()).items if i[0] > 1][:64]
            outcome, _ = certify_all(without, items, most_bits=256) if items else (np.zeros(0), 0)
            for i in np.flatnonzero(outcome == Outcome.VIOLATED)[:1]:
                instance = shrink(without, build(items[i][1], without))
                witness = Witness(without, instance, hypothesis.id)
        if witness is not None:
            witnesses[hypothesis.id] = witness.to_dict()
        elif tally.undefined.get(hypothesis.id) and not tally.dropped_count[hypothesis.id]:
            witnesses[hypothesis.id] = UNDEFINED
        else:
            witnesses[hypothesis.id] = UNKNOWN
    unknown = [name for name, w in witnesses.items() if w == UNKNOWN]
    undefined = [name for name, w in witnesses.items() if w == UNDEFINED]
    count = len(witnesses) - len(unknown) - len(undefined)
    reason = f"{count} of {len(witnesses)} hypotheses have a witness"
    if undefined:
        reason += f"; {UNDEFINED}: {', '.join(undefined)}"
    if unknown:
        reason += f"; not known necessary: {', '.join(unknown)}"
    status = Status.PARTLY_NECESSARY if unknown else Status.NECESSARY
    return Evidence("necessary", status, reason, {"witnesses": witnesses, "vacuity": vacuity})


def _mended(claim: Claim, mended: Tally | None, vacuity: dict[str, Any]) -> Evidence:
    if mended is None:
        reason = "the claim is refuted as it stands, and no hypothesis is named that would mend it"
        return Evidence("necessary", Status.NOT_APPLICABLE, reason, {"vacuity": vacuity})
    names = ", ".join(h.id for h in claim.missing)
    suspects = mended.suspects.items
    outcome, _ = (
        certify_all(claim.mended(), suspects, most_bits=512) if suspects else (np.zeros(0), 0)
    )
    confirmed = int((outcome == Outcome.VIOLATED).sum())
    figures = {"mended_by": names, "mended_instances": mended.admissible, "vacuity": vacuity}
    if confirmed:
        reason = f"{names} does not mend it: {confirmed} confirmed violations"
        return Evidence("necessary", Status.REFUTED, reason, figures | {"failed": True})
    # Its own hypotheses were not dropped one by one, so the column's word does not apply to them.
    reason = (
        f"refuted as it stands; with {names} added not falsified on {mended.admissible:,} instances"
    )
    return Evidence("necessary", Status.NOT_APPLICABLE, reason, figures)


@dataclass(frozen=True)
class Block:
    """Certified outcomes [S] of sampled instances, how far the undecided ones agree [S], and a violating one if any."""

    outcome: np.ndarray
    agree_bits: np.ndarray
    violating: Batch | None


def enclose_block(claims: Sequence[Claim], seed: int, index: int, size: int = BLOCK) -> list[Block]:
    """For each of several claims of one domain, put ``size`` sampled admissible instances of one shape to the balls; fewer
    where hypotheses are hardly ever met. What the claims derive from an instance in common is enclosed once."""
    rng = generator(seed, claims[0].domain, "enclose", index)
    where = domain(claims[0].domain)
    shape = where.shape(rng, large=index % 20 == 19)
    blocks = [Block(np.zeros(0, dtype=np.int64), np.zeros(0), None) for _ in claims]
    for _ in range(50):
        with np.errstate(all="ignore"):
            batch = where.build(where.draw(rng, shape, 2 * size))
        chosen = [
            np.flatnonzero(evaluate(claim, batch).admissible)[: size - len(block.outcome)]
            for claim, block in zip(claims, blocks, strict=True)
        ]
        needed = np.unique(np.concatenate(chosen))
        if len(needed):
            union = batch.take(needed)
            balls = union.to(ball(START_BITS))
            for j, (claim, rows) in enumerate(zip(claims, chosen, strict=True)):
                if len(rows):
                    at = np.searchsorted(needed, rows)
                    blocks[j] = _extended(blocks[j], claim, union, balls, at)
        if all(len(block.outcome) >= size for block in blocks):
            break
    return blocks


def _extended(block: Block, claim: Claim, batch: Batch, balls: Any, rows: np.ndarray) -> Block:
    """A block with the certificates of some rows of a batch, which is given in balls as well."""
    # An identity is undecided only where a wild run leaves balls without bounds; more bits bound them.
    bits = MOST_BITS if claim.relation == "==" else 256
    certificate = certify(claim, batch, most_bits=bits, balls=balls, rows=rows)
    violating = block.violating
    for i in np.flatnonzero(certificate.outcome == Outcome.VIOLATED)[:4]:
        one = batch.take(int(rows[i]))
        if violating is None and confirm(claim, one) is not None:
            violating = one
    return Block(
        np.concatenate([block.outcome, certificate.outcome]),
        np.concatenate([block.agree_bits, certificate.agree_bits]),
        violating,
    )


def enclosed(
    claim: Claim, blocks: Sequence[Block], parts: list[list[tuple[float, Free]]]
) -> tuple[Evidence, Batch | None]:
    """The column *enclosed*: counts over the blocks, and the worst instances that the search found; and a violating
    instance if there is one."""
    # An identity's worst is as good as any other instance.
    worst = [] if claim.relation == "==" else [items[0] for items in parts if items]
    extra, _ = certify_all(claim, worst) if worst else (np.zeros(0), 0)
    outcomes = np.concatenate([*(b.outcome for b in blocks), extra])
    count = {o.name.lower(): int((outcomes == o).sum()) for o in Outcome}
    bits = [
        certify(claim, build(free, claim), most_bits=256).agree_bits
        for (_, free), outcome in zip(worst, extra, strict=True)
        if outcome == Outcome.UNDECIDED
    ]
    agree = np.concatenate([*(b.agree_bits[b.outcome == Outcome.UNDECIDED] for b in blocks), *bits])
    consistent = 0
    if claim.relation == "==":
        consistent = int((agree >= CONSISTENT).sum())
        agree = agree[agree >= CONSISTENT] if consistent else agree
    figures = {
        "instances": len(outcomes),
        "enclosed": count["holds"],
        "consistent": consistent,
        "refuted": count["violated"],
        "undecided": count["undecided"] - consistent,
        "not_certainly_admissible": count["inadmissible"] + count["unknown"],
        "undecided_agree_to_bits": round(float(agree.min()), 1) if len(agree) else None,
    }
    if count["violated"]:
        share = count["violated"] / len(outcomes)
        reason = f"{share:.2%} of the instances violate it"
        violating = next((b.violating for b in blocks if b.violating is not None), None)
        for i in np.flatnonzero(extra == Outcome.VIOLATED):
            if violating is None and confirm(claim, build(worst[i][1], claim)) is not None:
                violating = build(worst[i][1], claim)
        if violating is None:
            reason = "violations that no instance confirms alone: do its formulas mix instances?"
            return Evidence("enclosed", Status.UNDECIDED, reason, figures | {"failed": True}), None
        return Evidence("enclosed", Status.REFUTED, reason, figures), violating
    if count["holds"] + count["undecided"] == 0:
        reason = "no instance could be enclosed"
        return Evidence("enclosed", Status.UNDECIDED, reason, figures), None
    reason = f"{count['holds']:,} enclosed, {count['undecided']:,} equal to within the balls"
    if claim.relation == "==":
        bits = figures["undecided_agree_to_bits"]
        reason = f"{consistent:,} consistent, both sides equal to {bits} bits at least"
        if figures["undecided"]:
            reason += f"; {figures['undecided']} undecided"
    return Evidence("enclosed", Status.ENCLOSED, reason, figures), None
