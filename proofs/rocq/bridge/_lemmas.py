"""The comparison as lemmas: each hypothesis and conclusion of a theorem, at each instance."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from collapse_theory import Claim, all_claims
from collapse_theory.claims import Hypothesis

from ..source import sources, stated
from ._instances import instances
from ._numbers import (
    TRUTHS,
    Evaluated,
    arranged,
    fraction,
    is_exact,
    margins_tree,
    number,
    sides_tree,
    truth,
)
from ._statements import Said, imports, statement
from ._terms import real, term

PRELUDE = Path(__file__).resolve().parent / "Prelude.v"
Kind = Literal["equal", "enclosed", "truth"]
ROOTS = {"radius", "real_roots", "step_size", "drawn_apart", "within", "nonzero", "different_rows"}
"""Hypotheses without exponentials: enclosures are quick."""


@dataclass(frozen=True, kw_only=True)
class Lemma:
    """One statement about one instance."""

    name: str
    claims: tuple[str, ...]
    """The claims that have the statement."""
    about: str
    """Id of the hypothesis, or `sides`."""
    kind: Kind
    """Exact numbers, numbers to 2^-30, or whether the hypothesis holds."""
    holds: bool | None
    """Of a hypothesis, where balls say."""
    file: str
    said: str
    proof: str

    def __str__(self) -> str:
        return f"Lemma {self.name} : {self.said}.\nProof. {self.proof} Qed."


def domains() -> dict[str, list[Claim]]:
    """The claims that have a theorem, by domain."""
    found: dict[str, list[Claim]] = {}
    for claim in all_claims().values():
        if claim.id in stated():
            found.setdefault(claim.domain, []).append(claim)
    return found


@cache
def evaluated(domain: str) -> tuple[Evaluated, ...]:
    """The instances of a domain."""
    return tuple(Evaluated(instance) for instance in instances(domain))


def _unfold(said: Said) -> str:
    names = " ".join(said.unfolded)
    return f"cbv beta zeta delta [{names}]." if names else "cbv beta zeta."


def _agree(said: Said, at: str, values: str, known: str = "") -> tuple[str, str]:
    text = f"agrees (let {said.name} := {at} in {known}{said.text}) {values}"
    return text, f"{_unfold(said)} measured."


def _of_hypothesis(
    hypothesis: Hypothesis, said: Said, owners: tuple[str, ...], at: Sequence[Evaluated], key: str
) -> Iterator[Lemma]:
    margins = [e.of(hypothesis.margin) for e in at]
    exact = all(is_exact(m) for m in margins if m is not None)
    for place, m in enumerate(margins):
        if m is None:
            continue
        name = f"at_{place}"
        holds = truth(hypothesis, m)
        if hypothesis.id in TRUTHS:
            if holds is None:
                continue
            kind: Kind = "truth"
            text = said.at(name) if holds else f"~ ({said.at(name)})"
            proof = _unfold(said) + (" holds." if holds else " intros H; refuted H.")
        else:
            kind = "equal" if exact else "enclosed"
            arrayed = arranged(hypothesis, m, at[place].instance)
            text, proof = _agree(said, name, margins_tree(hypothesis, arrayed, exact))
        yield Lemma(
            name=f"{name}_{key}",
            claims=owners,
            about=hypothesis.id,
            kind=kind,
            holds=holds,
            file=said.file,
            said=text,
            proof=proof,
        )


def _of_sides(claim: Claim, at: Sequence[Evaluated]) -> Iterator[Lemma]:
    said = statement(claim.id).conclusion
    sides = [(e.of(claim.lhs), e.of(claim.rhs)) for e in at]
    known = [(a, b) for a, b in sides if a is not None and b is not None]
    exact = (all(is_exact(a) for a, _ in known), all(is_exact(b) for _, b in known))
    for place, (left, right) in enumerate(sides):
        if left is None or right is None:
            continue
        e, name = at[place], f"at_{place}"
        common: dict[str, Any] = {
            "claims": (claim.id,),
            "about": "sides",
            "kind": "equal" if all(exact) else "enclosed",
            "holds": None,
            "file": said.file,
        }
        before = ""
        values = sides_tree(claim, (left, right), exact)
        if claim.domain == "reset_run":
            values = _reset_tree(claim, left, e)
        if claim.id == "constant_sign":
            low, high = _ends(e)
            before = f"let low := {real(low)} in let high := {real(high)} in "
            text, proof = _range(said, name, e, low, high)
            yield Lemma(name=f"{name}_{claim.id}_range", said=text, proof=proof, **common)
        text, proof = _agree(said, name, values, before)
        yield Lemma(name=f"{name}_{claim.id}", said=text, proof=proof, **common)


def _reset_tree(claim: Claim, left: np.ndarray, e: Evaluated) -> str:
    """The theorem speaks of each step, where the claim takes the least distance."""
    run: Any = e.balls
    steps = run.one_at_a_time if claim.id == "staggered_reset" else run.together
    distances = np.asarray(run.distances(steps).balls, dtype=object)[0, ...]
    pairs = [f"(Sides {number(left.item(), False)} {number(d, False)})" for d in distances]
    both = [f"(Both {a} {b})" for a, b in zip(pairs[::2], pairs[1::2], strict=True)]
    return "(Each [" + "; ".join(both) + "])"


def _gaps(e: Evaluated) -> list[np.ndarray]:
    """`<D_t, x_i>` of every step of an AdamW run."""
    run: Any = e.balls
    return [np.asarray(d.balls, dtype=object)[0, ...] for d in run.trained.logits]


def _ends(e: Evaluated) -> tuple[Fraction, Fraction]:
    """The range of `<D_t, x_i>` with 0, whose length is the claim's omega."""
    middles = [fraction(b) for gaps in _gaps(e) for b in gaps]
    rounded = [Fraction(round(m * 2**60), 2**60) for m in middles]
    return min(Fraction(0), *rounded), max(Fraction(0), *rounded)


def _range(said: Said, at: str, e: Evaluated, low: Fraction, high: Fraction) -> tuple[str, str]:
    """That the theorem's range of `<D_t, x_i>` is that of the library."""
    _, whole = stated()["constant_sign"]
    found = re.search(r"\((forall t i,.*?low <= .*? <= high)\)", " ".join(whole.split()))
    if found is None:
        raise ValueError("constant_sign has no range of logits")
    rows = [
        "(Each ["
        + "; ".join(
            f"(Both (Margin {number(b - _ball(low), False)}) (Margin {number(_ball(high) - b, False)}))"
            for b in gaps
        )
        + "])"
        for gaps in _gaps(e)
    ]
    premise = Said(said.file, found[1], said.name, (), "")
    known = f"let low := {real(low)} in let high := {real(high)} in "
    return _agree(premise, at, "(Each [" + "; ".join(rows) + "])", known)


def _ball(value: Fraction) -> Any:
    from flint import arb

    return arb(value.numerator) / value.denominator


@cache
def lemmas(domain: str) -> tuple[Lemma, ...]:
    """All lemmas about a domain: what two theorems share stands once."""
    at = evaluated(domain)
    claims = domains()[domain]
    owners: dict[str, list[str]] = {}
    shared: dict[str, tuple[Hypothesis, Said]] = {}
    for claim in claims:
        premises = statement(claim.id).hypotheses
        for h in (*claim.hypotheses, *claim.missing):
            said = premises[h.id]
            shared.setdefault(said.meaning, (h, said))
            owners.setdefault(said.meaning, []).append(claim.id)
    found: list[Lemma] = []
    for count, (meaning, (h, said)) in enumerate(shared.items()):
        found += _of_hypothesis(h, said, tuple(owners[meaning]), at, f"{h.id}_{count}")
    for claim in claims:
        found += _of_sides(claim, at)
    return tuple(found)


def chosen(found: Sequence[Lemma], enclosures: int) -> list[Lemma]:
    """All lemmas in exact numbers or with roots alone; of those with exponentials, which take time, so many for each
    statement."""
    kept: list[Lemma] = []
    seen: Counter[str] = Counter()
    for lemma in found:
        statement_key = lemma.name.split("_", 2)[2]
        seen[statement_key] += 1
        quick = lemma.kind != "enclosed" or lemma.about in ROOTS
        if quick or seen[statement_key] <= enclosures:
            kept.append(lemma)
    return kept


def script(
    domain: str,
    found: Sequence[Lemma],
    instead: Mapping[str, str] | None = None,
    before: str = "",
) -> str:
    """Rocq text of lemmas about a domain. ``instead`` are texts that stand after the imports of a file, by file: there a
    definition can be given another meaning, which the comparison must refuse. ``before`` stands before all lemmas."""
    parts = [f"Module In_{domain}."]
    for place, e in enumerate(evaluated(domain)):
        name = f"at_{place}"
        if any(lemma.name.startswith(f"{name}_") for lemma in found):
            parts.append(f"Definition {name} := {term(e.instance)}.")
    parts.append(before)
    for file in dict.fromkeys(lemma.file for lemma in found):
        stem = file.removesuffix(".v")
        parts += [f"Module About_{stem}.", imports(file), (instead or {}).get(file, "")]
        parts += [str(lemma) for lemma in found if lemma.file == file]
        parts.append(f"End About_{stem}.")
    return "\n".join([*parts, f"End In_{domain}."]) + "\n"


def header() -> str:
    """What stands before scripts."""
    modules = " ".join(path.stem for path in sources())
    return f"{PRELUDE.read_text(encoding='utf-8')}\nFrom Collapse Require {modules}.\n"
