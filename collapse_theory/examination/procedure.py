"""The examination of claims: search, balls, optimisation, necessity, in one pass over a shared sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, groupby

from ..claims import Claim, get_claim
from ..errors import InputError
from ..instances import domain
from . import columns
from .effort import Effort
from .effort import effort as effort_named
from .evidence import Evidence, Status
from .result import Result
from .search import Tally, check_seed, merge_until, most_chunks, tally_chunk, unfinished
from .shrink import shrink
from .witness import Witness
from .workers import Workers

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


def _silent(_what: str, _done: int, _total: int) -> None:
    pass


def examine(
    claim: Claim | str,
    *,
    seed: int = 0,
    effort: str | Effort = "quick",
    progress: Progress = _silent,
) -> Result:
    """Put one claim (or the registered claim of that id) to the test: sampled, optimised, enclosed, tight, necessary.

    ``effort`` is "quick" (20,000 steps or 1,000 runs), "default" (1,000,000 or 20,000) or "thorough"; it is counted in
    instances, so ``seed`` fixes the result. Raises :class:`~collapse_theory.errors.InputError` on bad input.
    """
    if isinstance(claim, str):
        claim = get_claim(claim)
    return examine_all([claim], seed=seed, effort=effort, progress=progress)[0]


def examine_all(
    claims: Sequence[Claim],
    *,
    seed: int = 0,
    effort: str | Effort = "quick",
    workers: int = 1,
    progress: Progress = _silent,
) -> list[Result]:
    """Examine several claims; those of one domain share one sample. More ``workers`` change the time only.

    On more than one worker the claims must be the toolkit's own, or made of importable functions.
    """
    amount = effort_named(effort)
    check_seed(seed)
    for claim in claims:
        domain(claim.domain)
    ids = [claim.id for claim in claims]
    if len(set(ids)) != len(ids):
        raise InputError(f"two claims have one id, among {', '.join(ids)}; give each its own")
    with Workers(workers) as pool:
        tallies = _search_all(claims, seed, amount, pool, progress)
        blocks = _enclose_all(claims, seed, amount, pool, progress)
        arguments = [
            (
                claim,
                tallies[claim.id],
                tallies.get(_mended_id(claim)),
                blocks[claim.id],
                seed,
                amount,
            )
            for claim in claims
        ]
        results = []
        for done, (evidence, witness) in enumerate(pool.map(_columns, arguments), start=1):
            progress("tightness and necessity", done, len(claims))
            results.append(Result(claims[done - 1], evidence, witness))
        return results


def _by_domain(claims: Sequence[Claim]) -> Iterator[tuple[str, list[Claim]]]:
    """The claims of each domain, by its name."""
    for name, members in groupby(sorted(claims, key=lambda c: c.domain), key=lambda c: c.domain):
        yield name, list(members)


def _mended_id(claim: Claim) -> str:
    return claim.mended().id if claim.missing else ""


def _search_all(
    claims: Sequence[Claim], seed: int, amount: Effort, pool: Workers, progress: Progress
) -> dict[str, Tally]:
    tallies: dict[str, Tally] = {}
    for name, own in _by_domain(claims):
        enough = amount.instances(name)
        wanted = {claim.id: enough for claim in own}
        # What mends a claim may be rare in a sample that was drawn for others.
        wanted |= {_mended_id(claim): enough // 5 for claim in own if claim.missing}
        totals = {name: Tally() for name in wanted}
        chunks = pool.map(_tally_chunk, _chunks(own, name, seed, enough, wanted, totals))
        for _ in merge_until(totals, wanted, chunks, most_chunks(name, enough)):
            fewest = min(min(totals[claim.id].admissible for claim in own), enough)
            progress(f"searching: {name}", fewest, enough)
        tallies.update(totals)
    return tallies


def _chunks(
    own: list[Claim],
    name: str,
    seed: int,
    enough: int,
    wanted: Mapping[str, int],
    totals: Mapping[str, Tally],
) -> Iterator[tuple[list[Claim], str, int, int, int, set[str]]]:
    """The sample's chunks, as work. Claims that have enough are left out of later ones; that saves time, changes nothing."""
    for index in count():
        yield own, name, seed, index, enough, set(unfinished(wanted, totals))


def _tally_chunk(
    claims: list[Claim], name: str, seed: int, index: int, enough: int, open_: set[str]
) -> dict[str, Tally]:
    # A mended claim is made here, in the worker, since only registered claims travel by id.
    everyone = [*claims, *(c.mended() for c in claims if c.missing)]
    chosen = [claim for claim in everyone if claim.id in open_]
    return dict(
        zip(
            [claim.id for claim in chosen],
            tally_chunk(chosen, name, seed, index, enough=enough),
            strict=True,
        )
    )


def _enclose_all(
    claims: Sequence[Claim], seed: int, amount: Effort, pool: Workers, progress: Progress
) -> dict[str, list[columns.Block]]:
    work = []
    for name, members in _by_domain(claims):
        enough = amount.enclosures(name)
        size = min(columns.BLOCK, max(1, enough // 10))
        work += [(members, seed, index, size) for index in range(-(-enough // size))]
    blocks: dict[str, list[columns.Block]] = {claim.id: [] for claim in claims}
    for done, found in enumerate(pool.map(columns.enclose_block, work), start=1):
        for claim, block in zip(work[done - 1][0], found, strict=True):
            blocks[claim.id].append(block)
        progress("enclosing in balls, blocks", done, len(work))
    return blocks


def _columns(
    claim: Claim,
    tally: Tally,
    mended: Tally | None,
    blocks: list[columns.Block],
    seed: int,
    amount: Effort,
) -> tuple[dict[str, Evidence], Witness | None]:
    searched, parts, witness = columns.searched(claim, tally, seed, amount)
    refuted = searched.status is Status.REFUTED
    idle = Evidence("tight", Status.NOT_APPLICABLE, "the claim is refuted")
    tight = idle if refuted else columns.tight(claim, parts)
    enclosed, violating = columns.enclosed(claim, blocks, parts)
    if violating is not None and witness is None:  # found by the balls' own sample alone
        witness = Witness(claim, shrink(claim, violating))
    necessary = columns.necessary(claim, tally, mended, seed, refuted=refuted)
    return {p.column: p for p in (enclosed, searched, tight, necessary)}, witness
