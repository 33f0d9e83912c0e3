"""Numbers of the library against numbers of the Rocq text, at the same exact instances.

At instances with dyadic numbers, which floats hold exactly, the library says in ball arithmetic what the margins of the
hypotheses and the sides of the conclusions are. `lemmas` writes that about the premises and the conclusions of the
theorems themselves; `coqc` proves each lemma, with `lra` or `field` where numbers are rational and with enclosures
(`interval`) where there are roots, exponentials or logarithms, or the comparison fails. A definition in Rocq that means
something else than the claim's formula makes a lemma false.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from ..compiler import ask, build, require
from ..source import BuildError
from ._instances import COUNT, instances
from ._lemmas import Lemma, chosen, domains, header, lemmas, script
from ._well_formed import ill_formed, well_formed

__all__ = [
    "COUNT",
    "ENCLOSURES",
    "FEW",
    "Lemma",
    "chosen",
    "compare",
    "domains",
    "ill_formed",
    "instances",
    "lemmas",
    "prove",
    "script",
    "table",
    "well_formed",
]

ENCLOSURES = {"step": 2, "head": 2, "vectors": 8, "equilibrium": 2, "preconditioned_step": 2}
FEW = 1
"""At how many instances of a domain numbers with exponentials are enclosed, if not at few: it takes time."""


def prove(
    domain: str, found: Sequence[Lemma], instead: Mapping[str, str] | None = None, before: str = ""
) -> None:
    """Let `coqc` prove lemmas about a domain. ``instead`` gives definitions another meaning, by file, to see that the
    comparison refuses it. Raises :class:`~proofs.rocq.BuildError` naming the lemma that fails,
    :class:`~proofs.rocq.MissingCoq` without the library for enclosures."""
    _prove(script(domain, found, instead, before))


def _prove(text: str) -> None:
    require("Interval")
    whole = header() + text
    try:
        ask(build(), whole)
    except BuildError as error:
        line = re.search(r"Question\.v\", line (\d+)", str(error))
        before = "\n".join(whole.split("\n")[: int(line[1])]) if line else ""
        named = re.findall(r"^(?:Lemma (\w+)|Module In_(\w+))", before, re.MULTILINE)
        lemma = next((name for name, _ in reversed(named) if name), "")
        where = next((name for _, name in reversed(named) if name), "")
        raise BuildError(f"{where}: {lemma} fails: {error}") from error


def compare(*names: str, enclosures: int | None = None) -> int:
    """Prove the comparison for the claims about the named domains; returns the number of lemmas. Raises as :func:`prove`
    does."""
    parts, count = [], 0
    for domain in names:
        most = ENCLOSURES.get(domain, FEW) if enclosures is None else enclosures
        formed = list(well_formed(domain))
        found = [*chosen(lemmas(domain), most), *(lemma for lemma, _ in formed)]
        before = "\n".join(text for _, text in formed if text)
        parts.append(script(domain, found, before=before))
        count += len(found)
    _prove("\n".join(parts))
    return count


def table() -> str:
    """How each claim is compared, in Markdown: at how many instances, and whether by exact numbers or enclosures."""
    rows = ["| claim | equal | enclosed | truth | sides |", "| --- | --- | --- | --- | --- |"]
    counts: dict[str, Counter[tuple[str, str]]] = {}
    for domain in domains():
        for lemma in chosen(lemmas(domain), ENCLOSURES.get(domain, FEW)):
            for claim in lemma.claims:
                about = "sides" if lemma.about == "sides" else lemma.kind
                kind = lemma.kind if about == "sides" else lemma.about
                counts.setdefault(claim, Counter())[about, kind] += not lemma.name.endswith(
                    "_range"
                )
    for claim in sorted(counts):
        cells = [
            ", ".join(f"{name} {n}" for (about, name), n in counts[claim].items() if about == cell)
            for cell in ("equal", "enclosed", "truth", "sides")
        ]
        rows.append(f"| `{claim}` | {' | '.join(cell or '-' for cell in cells)} |")
    return "\n".join(rows)
