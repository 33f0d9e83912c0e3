"""Compile the Rocq sources with `coqc`, outside the source tree, and only what has changed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from . import source
from .source import BuildError, sources, untrusted

INSTALL = "apt-get install --no-install-recommends coq libcoq-coquelicot libcoq-interval"


class MissingCoq(RuntimeError):
    """`coqc`, or a library that the proofs need, is not installed."""

    def __init__(self, what: str = "coqc") -> None:
        super().__init__(f"{what} is not installed; on Debian: {INSTALL}")


def require(library: str) -> None:
    """Raises :class:`MissingCoq` unless `coqc` and one of its libraries are installed."""
    if shutil.which("coqc") is None or shutil.which("coq_makefile") is None:
        raise MissingCoq
    where = Path(call(["coqc", "-where"], source.SOURCES).strip())
    if not (where / "user-contrib" / library).is_dir():
        raise MissingCoq(library)


def build() -> Path:
    """Compile what has changed; returns the folder of the compiled files, `build/rocq` of the checkout."""
    require("Coquelicot")
    found = [problem for path in sources() for problem in untrusted(path)]
    if found:
        raise BuildError("; ".join(found))
    folder = source.SOURCES.parents[1] / "build" / "rocq"
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder):
        _compile(folder)
    return folder


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other processes from building, or asking, in the same folder meanwhile."""
    import fcntl  # not on every system, but wherever there is a `coqc` of Debian's

    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compile(folder: Path) -> None:
    names = [path.name for path in sources()]
    for old in folder.glob("*.v"):
        if old.name not in names:
            for part in folder.glob(f"{old.stem}.*"):
                part.unlink()
    for path in sources():
        _write(folder / path.name, path.read_text(encoding="utf-8"))
    project = (source.SOURCES / "_CoqProject").read_text(encoding="utf-8") + "\n".join(names) + "\n"
    if _write(folder / "_CoqProject", project):
        call(["coq_makefile", "-f", "_CoqProject", "-o", "Makefile"], folder)
    call(["make", "--silent", f"-j{os.cpu_count() or 1}"], folder)


def ask(folder: Path, question: str) -> str:
    """What `coqc` prints for the commands of `question`, kept beside the compiled files until these change."""
    with alone(folder):
        return _ask(folder, question)


def _ask(folder: Path, question: str) -> str:
    kept = folder / "answers.json"
    state = _state()
    try:
        book = json.loads(kept.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        book = {}
    if not isinstance(book, dict) or book.get("state") != state:
        book = {"state": state, "answers": {}}
    answers: dict[str, str] = book["answers"]
    key = hashlib.sha256(question.encode()).hexdigest()
    if key not in answers:
        asked = folder / "question"
        asked.mkdir(exist_ok=True)
        (asked / "Question.v").write_text(question, encoding="utf-8")
        answers[key] = call(["coqc", "-Q", "..", "Collapse", "-w", "-all", "Question.v"], asked)
        kept.write_text(json.dumps(book), encoding="utf-8")
    return answers[key]


@cache
def version() -> str:
    """The version of `coqc`."""
    return call(["coqc", "--print-version"], source.SOURCES).split()[0]


def _state() -> str:
    """The content of all sources, and the compiler."""
    digest = hashlib.sha256(version().encode())
    for path in sources():
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _write(path: Path, text: str) -> bool:
    """Write a file if its content changes, so that what is up to date is not compiled again."""
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    path.write_text(text, encoding="utf-8")
    return True


def call(command: list[str], folder: Path) -> str:
    """What a tool prints in a folder. Raises :class:`BuildError` with its last words if it fails."""
    environment = {
        k: v for k, v in os.environ.items() if k not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise BuildError(f"{command[0]} fails: {said[-2000:]}")
    return done.stdout
