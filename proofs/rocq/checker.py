"""The compiled files, checked again by `coqchk`, a checker of its own: slow (some minutes), so only when asked for."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from .compiler import MissingCoq, alone, call
from .source import BuildError, sources
from .theorems import ALLOWED

CLEAN = (
    "relying on type-in-type",
    "relying on unsafe (co)fixpoints",
    "whose positivity is assumed",
)
"""What the summary must say `<none>` of."""
PLACES = {
    "ClassicalDedekindReals": "Coq.Reals",
    "FunctionalExtensionality": "Coq.Logic",
    "Classical_Prop": "Coq.Logic",
}
"""Where the allowed axioms stand in Coq's standard library."""


def check(folder: Path) -> tuple[str, ...]:
    """The axioms of the compiled files and of all libraries that they use, as `coqchk` finds them.

    Raises :class:`~proofs.rocq.BuildError` where a file does not pass, where the axioms are not those allowed, or where the
    kernel was told to trust something; :class:`MissingCoq` without `coqchk`.
    """
    if shutil.which("coqchk") is None:
        raise MissingCoq("coqchk")
    modules = [f"Collapse.{path.stem}" for path in sources()]
    with alone(folder):
        said = call(["coqchk", "-silent", "-o", "-Q", ".", "Collapse", *modules], folder)
    return summary(said)


def summary(said: str) -> tuple[str, ...]:
    """The axioms in what `coqchk -o` says. Raises :class:`~proofs.rocq.BuildError` as :func:`check` does."""
    if "CONTEXT SUMMARY" not in said:
        raise BuildError(f"coqchk gives no summary: {said[-500:]}")
    for item in CLEAN:
        if not re.search(rf"\* .*{re.escape(item)}: <none>", said):
            raise BuildError(f"coqchk: something is {item}")
    block = re.search(r"\* Axioms:(.*?)(?:\n\s*\n|\Z)", said, re.DOTALL)
    if block is None:
        raise BuildError("coqchk does not list axioms")
    axioms = tuple(sorted(word for word in block[1].split() if word != "<none>"))
    expected = {f"{PLACES[name.partition('.')[0]]}.{name}" for name in ALLOWED}
    if foreign := sorted(set(axioms) - expected):
        raise BuildError(f"coqchk finds the axioms {', '.join(foreign)}")
    if absent := sorted(expected - set(axioms)):
        raise BuildError(f"coqchk does not list {', '.join(absent)}")
    return axioms
