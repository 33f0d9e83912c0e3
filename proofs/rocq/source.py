"""The Rocq sources as text: which files there are, what they state and define, and what none of them may contain."""

from __future__ import annotations

import re
import textwrap
from functools import lru_cache
from pathlib import Path

SOURCES = Path(__file__).resolve().parent
FORBIDDEN = re.compile(
    r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|Abort|Unset\s+\w+\s+Checking|bypass_check)\b"
)
"""What no source may contain: each lets something unproved pass for proved."""
STATEMENT = re.compile(r"^(?:Theorem|Example)\s+(\w+).*?\.(?=\s+Proof\b)", re.MULTILINE | re.DOTALL)
DEFINITION = re.compile(
    r"^ *(?:Module (?P<module>\w+)|End (?P<end>\w+)|Definition (?P<name>\w+).*?)\.$",
    re.MULTILINE | re.DOTALL,
)
IMPORTS = re.compile(r"From Collapse Require Import([^.]*)\.")


class BuildError(RuntimeError):
    """A source does not compile, or contains what no proof may contain."""


def sources() -> list[Path]:
    """The Rocq files, in alphabetical order."""
    return sorted(SOURCES.glob("*.v"))


@lru_cache(maxsize=64)
def without_comments(text: str) -> str:
    """The source without its (nested) comments."""
    kept, depth, i = [], 0, 0
    while i < len(text):
        if text.startswith("(*", i):
            depth, i = depth + 1, i + 2
        elif depth and text.startswith("*)", i):
            depth, i = depth - 1, i + 2
        else:
            kept.append(text[i] if not depth else "\n" if text[i] == "\n" else "")
            i += 1
    return "".join(kept)


def untrusted(path: Path) -> list[str]:
    """What a source contains that no proof may contain, with its line."""
    text = without_comments(path.read_text(encoding="utf-8"))
    return [
        f"{path.name}, line {text.count(chr(10), 0, found.start()) + 1}: {found.group(0)}"
        for found in FORBIDDEN.finditer(text)
    ]


def stated() -> dict[str, tuple[str, str]]:
    """By name, the file and the statement of every theorem. Raises :class:`BuildError` on two of one name."""
    found: dict[str, tuple[str, str]] = {}
    for path in sources():
        for match in STATEMENT.finditer(without_comments(path.read_text(encoding="utf-8"))):
            name = match.group(1)
            if name in found:
                raise BuildError(f"{name} is a theorem of {found[name][0]} and of {path.name}")
            found[name] = (path.name, match.group(0))
    return found


def definitions(file: str) -> dict[str, str]:
    """By name, the source text of the definitions of a file and of those that it imports. A name of a module within the
    file, or one that a later file has defined anew, is also there as `Module.name`, `File.name`."""
    text = without_comments((SOURCES / file).read_text(encoding="utf-8"))
    found: dict[str, str] = {}
    for imported in IMPORTS.findall(text):
        for stem in imported.split():
            own = {k: v for k, v in definitions(f"{stem}.v").items() if "." not in k}
            found |= own | {f"{stem}.{name}": said for name, said in own.items()}
    module = ""
    for match in DEFINITION.finditer(text):
        if match["module"]:
            module = f"{match['module']}."
        elif match["end"]:
            module = ""
        else:
            found[module + match["name"]] = textwrap.dedent(match.group(0))
    return found


def hypotheses_of(name: str) -> list[str]:
    """The definitions that the statement of a theorem rests on: its hypotheses, and its bound where that has a name."""
    file, statement = stated()[name]
    known = definitions(file)
    words = dict.fromkeys(re.findall(r"(?:\w+\.)?hyp_\w+|\w+_bound\b", statement))
    return [known[word] for word in words if word in known]
