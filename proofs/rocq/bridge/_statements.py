"""Premises and conclusions of the theorems, as text of their own sources."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from collapse_theory import Claim, all_claims

from ..source import SOURCES, definitions, sources, stated, without_comments
from ..theorems import MENDED

IMPORT = re.compile(r"From Collapse Require Import([^.]*)\.")
BINDER = re.compile(r"(?:Theorem \w+|forall) \(?(\w+)")
UNFOLDED = re.compile(r"(?:\w+\.)?hyp_\w+|\w+_bound|each_step|unseen|stays_apart|veq")
"""What a premise or a conclusion is made of, down to inequalities between numbers."""


@dataclass(frozen=True)
class Said:
    """A premise or a conclusion about one instance."""

    file: str
    text: str
    """About the instance called ``name``."""
    name: str
    unfolded: tuple[str, ...]
    """The definitions to be unfolded in it."""
    meaning: str
    """The text with its definitions: the same in two theorems that mean the same."""

    def at(self, instance: str) -> str:
        """The statement about the instance of this name."""
        return f"let {self.name} := {instance} in {self.text}"


@dataclass(frozen=True)
class Statement:
    """What a theorem says."""

    well_formed: Said | None
    hypotheses: dict[str, Said]
    """By id."""
    conclusion: Said


def imports(file: str) -> str:
    """What makes the names of a file mean in a module what they mean in the file."""
    text = without_comments((SOURCES / file).read_text(encoding="utf-8"))
    names = " ".join(" ".join(found.split()) for found in IMPORT.findall(text))
    return f"Import {names} {file.removesuffix('.v')}."


def _fields(text: str) -> str:
    """The text with fields of records that have a theorem's name as well called by their file's name too."""
    for theorem in stated():
        if re.search(rf"(?<!\.)\b{theorem}\b", text):
            for path in sources():
                if re.search(rf"^  {theorem} :", path.read_text(encoding="utf-8"), re.MULTILINE):
                    text = re.sub(rf"(?<!\.)\b{theorem}\b", f"{path.stem}.{theorem}", text)
                    break
    return text


def _said(file: str, text: str, name: str) -> Said:
    known = definitions(file)
    text = _fields(text)
    unfolded: dict[str, str] = {}
    waiting = [text]
    while waiting:
        for word in UNFOLDED.findall(waiting.pop()):
            if word in known and word not in unfolded:
                unfolded[word] = known[word]
                waiting.append(known[word].partition(":=")[2])
    meaning = "\n".join([re.sub(rf"\b{name}\b", "s", text), *unfolded.values()])
    return Said(file, text, name, tuple(unfolded), meaning)


def _read(theorem: str) -> tuple[list[Said], Said]:
    """The premises and the conclusion of a theorem."""
    file, whole = stated()[theorem]
    text = " ".join(whole.split()).rstrip(".")
    negated = ": ~ (" in text
    if negated:
        text = text.removesuffix(")")
    binder = BINDER.search(text, text.index("~ (") if negated else 0)
    if binder is None:
        raise ValueError(f"{theorem} speaks of no instance")
    body = text[binder.end() :].partition(", " if negated else " : ")[2]
    body = body.removeprefix(f"{binder[1]} : ")
    if body[:1] not in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ~(":
        raise ValueError(f"{theorem} is not read: {body}")
    *premises, conclusion = body.split(" -> ")
    said = [_said(file, premise, binder[1]) for premise in premises]
    return said, _said(file, conclusion, binder[1])


@cache
def statement(claim_id: str) -> Statement:
    """The theorem of a claim; hypotheses that mend it are taken from its mended form."""
    claim: Claim = all_claims()[claim_id]
    premises, conclusion = _read(claim_id)
    if claim.missing:
        premises += _read(claim_id + MENDED)[0]
    found: dict[str, Said] = {}
    for h in (*claim.hypotheses, *claim.missing):
        found[h.id] = next(p for p in premises if re.search(rf"\bhyp_{h.id}\b", p.text))
    well_formed = next((p for p in premises if re.match(r"\w+_ok\b", p.text)), None)
    return Statement(well_formed, found, conclusion)
