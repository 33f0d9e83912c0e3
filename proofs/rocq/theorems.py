"""What the compiled theorems say, read from `Check` and `Print Assumptions`, and held against the claims."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .compiler import ask
from .source import BuildError, sources, stated

ALLOWED = frozenset(
    {
        "ClassicalDedekindReals.sig_not_dec",
        "ClassicalDedekindReals.sig_forall_dec",
        "FunctionalExtensionality.functional_extensionality_dep",
        "Classical_Prop.classic",
    }
)
"""The axioms of the standard library's real numbers; a theorem that rests on another one is not taken."""
MENDED = "_mended"
MET = "_met"


class Hypothesis(Protocol):
    @property
    def id(self) -> str: ...


class Claim(Protocol):
    """What is asked of a claim here."""

    @property
    def id(self) -> str: ...
    @property
    def expected(self) -> str: ...
    @property
    def hypotheses(self) -> Iterable[Hypothesis]: ...
    @property
    def missing(self) -> Iterable[Hypothesis]: ...


@dataclass(frozen=True)
class Theorem:
    """A compiled theorem."""

    name: str
    file: str
    statement: str
    """As `Check` prints it."""
    hypotheses: tuple[str, ...]
    """Ids of the hypotheses, in order: `hyp_<id>` in the statement."""
    negated: bool
    """Whether it says that the hypotheses do not imply the bound."""
    axioms: tuple[str, ...]
    """What all theorems together rest on."""


def read(folder: Path) -> dict[str, Theorem]:
    """The theorems of the compiled sources, by name."""
    places = {name: file for name, (file, _) in stated().items()}
    if not places:
        return {}
    modules = " ".join(path.stem for path in sources())
    names = sorted(places)
    lines = [
        f"From Collapse Require {modules}.",
        "Set Printing Width 100000.",
        "Set Printing Depth 100000.",
    ]
    qualified = {name: f"{Path(places[name]).stem}.{name}" for name in names}
    lines += [f"Check {qualified[name]}." for name in names]
    lines += [
        f"Definition all_theorems := ({', '.join(qualified.values())}).",
        "Print Assumptions all_theorems.",
    ]
    said = ask(folder, "\n".join(lines) + "\n")
    checked, _, assumptions = said.partition("Axioms:")
    axioms = tuple(re.findall(r"^([\w.]+)\s*:", assumptions, re.MULTILINE))
    foreign = sorted(set(axioms) - ALLOWED)
    if foreign:
        raise BuildError(f"the theorems rest on {', '.join(foreign)}")
    found: dict[str, Theorem] = {}
    for text in filter(None, re.split(r"^(?=[\w.]+\n?\s+:)", checked, flags=re.MULTILINE)):
        name, _, statement = " ".join(text.split()).partition(" : ")
        name = name.rpartition(".")[2]
        found[name] = Theorem(
            name=name,
            file=places[name],
            statement=statement,
            hypotheses=tuple(re.findall(r"\bhyp_(\w+)", statement)),
            negated=statement.startswith("~ "),
            axioms=axioms,
        )
    if set(found) != set(names):
        raise BuildError(f"no statement was read for {', '.join(sorted(set(names) - set(found)))}")
    return found


def problems(claim: Claim, theorems: dict[str, Theorem]) -> list[str]:
    """How the theorem named after a claim differs from it: in its hypotheses, in what it says of them, in what is beside
    it (an instance that meets the hypotheses; the mended form of a refuted claim)."""
    theorem = theorems[claim.id]
    hypotheses = tuple(h.id for h in claim.hypotheses)
    found: list[str] = []
    if theorem.hypotheses != hypotheses:
        found.append(_differ(theorem, hypotheses))
    if theorem.negated != (claim.expected == "refuted"):
        found.append(f"{theorem.name} {'refutes' if theorem.negated else 'does not refute'} it")
    missing = tuple(h.id for h in claim.missing)
    if missing:
        mended = theorems.get(claim.id + MENDED)
        if mended is None:
            found.append(f"there is no theorem {claim.id + MENDED}")
        elif mended.hypotheses != hypotheses + missing:
            found.append(_differ(mended, hypotheses + missing))
    met = theorems.get(claim.id + MET)
    if met is None:
        found.append(f"no instance is shown to meet its hypotheses: there is no {claim.id + MET}")
    elif met.hypotheses != hypotheses:
        found.append(_differ(met, hypotheses))
    return found


def _differ(theorem: Theorem, hypotheses: tuple[str, ...]) -> str:
    more = sorted(set(theorem.hypotheses) - set(hypotheses))
    fewer = sorted(set(hypotheses) - set(theorem.hypotheses))
    parts = [f"has {', '.join(more)}"] if more else []
    parts += [f"lacks {', '.join(fewer)}"] if fewer else []
    parts = parts or ["has its hypotheses in another order"]
    return f"{theorem.name} {' and '.join(parts)}, unlike the claim"
