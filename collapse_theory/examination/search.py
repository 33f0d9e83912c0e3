"""Searching for counterexamples on floats: one shared sample for all claims of a domain, then optimisation of lhs/rhs.

The sample is a sequence of chunks, each of one shape and each a function of (seed, domain, index) alone; so any number of
workers sees the same sample. Seven chunks in eight are small shapes, the eighth large (5% of the instances).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..claims import Claim
from ..errors import InputError
from ..instances import Batch, Free, domain
from ..instances._sampling import perturb
from .effort import Effort
from .evaluation import evaluate

CHUNKS = 40
"""A sample has at least about so many chunks, each of another shape, however small it is."""
KEEP = 16
"""Instances kept per chunk and kind (largest ratios first)."""
SUSPECTS = 1024
"""Float violations of a claim that are put to the balls, largest first."""
LOOSE = 0.99
"""Equality cases, which a tight claim has many of, are poor places to climb from: as many climbs begin below this."""
HISTOGRAM = 50
"""Bins of the ratio on [0, 1], for the report's figure."""


class Picked(NamedTuple):
    """One instance among the free variables of several, which travel between processes as whole arrays."""

    ratio: float
    source: Free
    row: int


@dataclass
class Found:
    """Instances of interest, largest ratio first."""

    picked: list[Picked] = field(default_factory=list)

    @property
    def items(self) -> list[tuple[float, Free]]:
        """Each instance as (ratio, its free variables)."""
        return [(p.ratio, take(p.source, p.row)) for p in self.picked]

    def add(self, ratio: np.ndarray, free: Free, index: np.ndarray, keep: int = KEEP) -> None:
        """Keep the ``keep`` largest of ``index`` (into ``ratio`` and ``free``)."""
        order = index[np.argsort(-ratio[index], kind="stable")[:keep]]
        source = {name: x[order] for name, x in free.items()}
        self.picked += [Picked(float(ratio[i]), source, row) for row, i in enumerate(order)]

    def merge(self, other: Found, keep: int) -> None:
        self.picked = sorted(self.picked + other.picked, key=lambda p: -p.ratio)[:keep]


@dataclass
class Tally:
    """What a search knows of one claim. ``best`` are nontrivial admissible instances by part, ``loose`` the best of those
    that leave some room, where a climb can begin; ``dropped`` those that
    violate one hypothesis alone, by its id, worst first; ``undefined`` counts such instances whose sides are no numbers."""

    drawn: int = 0
    admissible: int = 0
    violations: int = 0
    worst: np.ndarray = field(default_factory=lambda: np.zeros(1))
    suspects: Found = field(default_factory=Found)
    best: list[Found] = field(default_factory=list)
    loose: list[Found] = field(default_factory=list)
    dropped: dict[str, Found] = field(default_factory=dict)
    dropped_count: dict[str, int] = field(default_factory=dict)
    undefined: dict[str, int] = field(default_factory=dict)
    histogram: np.ndarray = field(default_factory=lambda: np.zeros(HISTOGRAM, dtype=np.int64))

    def merge(self, other: Tally) -> None:
        self.drawn += other.drawn
        self.admissible += other.admissible
        self.violations += other.violations
        self.worst = np.maximum(self.worst, other.worst)
        self.suspects.merge(other.suspects, SUSPECTS)
        self.best = self.best or [Found() for _ in other.best]
        self.loose = self.loose or [Found() for _ in other.loose]
        pairs = (
            *zip(self.best, other.best, strict=True),
            *zip(self.loose, other.loose, strict=True),
        )
        for mine, theirs in pairs:
            mine.merge(theirs, 2 * KEEP)
        for name, found in other.dropped.items():
            self.dropped.setdefault(name, Found()).merge(found, 2 * KEEP)
            self.dropped_count[name] = self.dropped_count.get(name, 0) + other.dropped_count[name]
            self.undefined[name] = self.undefined.get(name, 0) + other.undefined[name]
        self.histogram += other.histogram


def take(free: Free, index: int) -> Free:
    """The free variables of one instance, as a batch of one."""
    return {name: x[index : index + 1].copy() for name, x in free.items()}


def check_seed(seed: object) -> None:
    """Refuse what fixes no random stream. Raises :class:`InputError`."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError(f"seed: got {seed!r}, expected a whole number >= 0")


def generator(seed: int, *path: str | int) -> np.random.Generator:
    """An independent random stream for a place in the examination, named by words and numbers."""
    words = [zlib.crc32(p.encode()) if isinstance(p, str) else p for p in path]
    return np.random.default_rng([seed, *words])


def chunk(
    domain_name: str, seed: int, index: int, *, enough: int | None = None, small: bool = False
) -> tuple[Free, Batch]:
    """Chunk ``index`` of the domain's sample of about ``enough`` instances (None: chunks of full size); ``small`` draws
    the smallest shapes only (for witnesses to read)."""
    rng = generator(seed, domain_name, "small" if small else "sample", index)
    where = domain(domain_name)
    large = index % 8 == 7 and not small
    shape = where.shape(rng, large=large, small=small)
    ordinary, big = where.chunk
    size = ordinary if enough is None else min(ordinary, max(16, enough // CHUNKS))
    free = where.draw(rng, shape, size * big // ordinary if large else size)
    with np.errstate(all="ignore"):
        return free, where.build(free)


def tally_chunk(
    claims: Sequence[Claim],
    domain_name: str,
    seed: int,
    index: int,
    *,
    enough: int | None = None,
    small: bool = False,
) -> list[Tally]:
    """Every claim on one chunk, evaluated once."""
    free, batch = chunk(domain_name, seed, index, enough=enough, small=small)
    return [tally(claim, free, batch) for claim in claims]


def tally(claim: Claim, free: Free, batch: Batch) -> Tally:
    """Evaluate a chunk; count and keep what matters of it."""
    evaluation = evaluate(claim, batch)
    admissible, ratio, worst = evaluation.admissible, evaluation.ratio, evaluation.worst
    out = Tally(drawn=len(admissible), admissible=int(admissible.sum()))
    inside = ratio[admissible]
    out.worst = inside.max(axis=0, initial=0.0)
    over = np.flatnonzero(admissible & (worst > 1))
    out.violations = len(over)
    out.suspects.add(worst, free, over, SUSPECTS // 16)
    out.histogram = np.histogram(np.minimum(inside.max(axis=1, initial=0.0), 1), HISTOGRAM, (0, 1))[
        0
    ]
    with np.errstate(all="ignore"):
        below = np.flatnonzero(admissible & ~evaluation.broken & batch.nontrivial)
    for part in range(ratio.shape[1]):
        found, loose = Found(), Found()
        used = np.minimum(ratio[:, part], 1.0)
        found.add(used, free, below)
        loose.add(used, free, below[used[below] < LOOSE], KEEP // 2)
        out.best.append(found)
        out.loose.append(loose)
    for j, hypothesis in enumerate(claim.hypotheses):
        others = np.delete(evaluation.holds, j, axis=0).all(axis=0)
        alone = others & ~evaluation.holds[j]
        out.undefined[hypothesis.id] = int((alone & ~evaluation.finite).sum())
        alone = np.flatnonzero(alone & evaluation.finite)
        out.dropped[hypothesis.id] = Found()
        out.dropped[hypothesis.id].add(worst, free, alone, 8)
        out.dropped_count[hypothesis.id] = len(alone)
    return out


def merge_until(
    totals: dict[str, Tally],
    wanted: Mapping[str, int],
    chunks: Iterable[Mapping[str, Tally]],
    most_chunks: int,
) -> Iterator[None]:
    """Merge chunks into ``totals``, in order, until every claim has the admissible instances that are ``wanted``; yields
    after each chunk.

    A claim that has enough takes no more, so that its row does not depend on the claims examined beside it; a chunk may then
    leave it out. Stops after ``most_chunks`` even so: a claim whose hypotheses are hardly ever met must not search for ever.
    """
    for number, tallies in enumerate(chunks, start=1):
        for name in unfinished(wanted, totals):
            totals[name].merge(tallies[name])
        yield
        if number >= most_chunks or not unfinished(wanted, totals):
            return


def unfinished(wanted: Mapping[str, int], totals: Mapping[str, Tally]) -> list[str]:
    """The claims that have not got enough admissible instances yet."""
    return [name for name, enough in wanted.items() if totals[name].admissible < enough]


def most_chunks(domain_name: str, enough: int) -> int:
    """The sample's longest length: ten times what would do if every instance were admissible."""
    return 16 + 10 * max(CHUNKS, enough // domain(domain_name).chunk[0])


def optimise(
    claim: Claim,
    starts: list[tuple[float, Free]],
    rng: np.random.Generator,
    effort: Effort,
    *,
    part: int | None,
) -> list[tuple[float, Free]]:
    """Drive lhs/rhs up from the given instances: random neighbours, many copies of each start at once, the best of them
    the next round's start. ``part`` None means the worst part. Returns the improved instances, best first.
    """
    groups: dict[tuple[tuple[int, ...], ...], list[int]] = {}
    for i, (_, free) in enumerate(starts):
        groups.setdefault(tuple(x.shape for x in free.values()), []).append(i)
    out = list(starts)
    for members in groups.values():
        together = [starts[i] for i in members]
        for i, climbed in zip(members, _climb(claim, together, rng, effort, part), strict=True):
            out[i] = climbed
    return sorted(out, key=lambda item: -item[0])


def _climb(
    claim: Claim,
    starts: list[tuple[float, Free]],
    rng: np.random.Generator,
    effort: Effort,
    part: int | None,
) -> list[tuple[float, Free]]:
    """:func:`optimise` for starts of one shape, all at once."""
    where, copies = domain(claim.domain), effort.copies
    ratio = np.array([r for r, _ in starts])
    best = {k: np.concatenate([free[k] for _, free in starts]) for k in starts[0][1]}
    first = np.arange(len(starts)) * copies
    for _ in range(effort.rounds):
        crowd = {k: np.repeat(v, copies, axis=0) for k, v in best.items()}
        neighbours = perturb(rng, crowd, where)
        with np.errstate(all="ignore"):
            evaluation = evaluate(claim, where.build(neighbours))
        value = evaluation.worst if part is None else evaluation.ratio[:, part]
        value = np.where(evaluation.admissible, value, -1.0)
        winner = first + value.reshape(-1, copies).argmax(axis=1)
        better = value[winner] > ratio
        ratio = np.where(better, value[winner], ratio)
        for name, x in neighbours.items():
            best[name][better] = x[winner[better]]
        if np.all(ratio == np.inf):
            break
    return [(float(r), take(best, i)) for i, r in enumerate(ratio)]
