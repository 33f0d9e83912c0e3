"""A training interrupted and taken up again: its state in one file, written whole or not at all.

The file holds the weights and the optimiser's state as the engine keeps them, the place in the orders of the examples, the
record so far, and a fingerprint of everything that decides the result: a training goes on only from a file of its own, and
then ends in the same bits.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collapse_theory.checks import integer
from collapse_theory.errors import InputError
from collapse_theory.files import digest, write_whole
from collapse_theory.trajectories._config import LinearConfig

__all__ = ["Checkpoint", "fingerprint", "read", "write"]

KIND = "linear_training"
SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """Where and how often a training saves its state.

    Attributes:
        path: of the file. A training that finds it there goes on from it. It stays when the training ends; delete it
            once the result is safe.
        every: steps between two writes. Each writes the whole record so far.
    """

    path: str | Path
    every: int = 1000

    def __post_init__(self) -> None:
        integer("checkpoint every", self.every, least=1)


def fingerprint(config: LinearConfig, **arrays: Any) -> dict[str, str]:
    """Digests of each setting and of each array; two trainings with the same ones have the same result."""
    made: dict[str, str] = {}
    for entry in fields(LinearConfig):
        value = getattr(config, entry.name)
        text = repr(value) if np.ndim(value) == 0 else digest(value)
        # A float of NumPy and one of Python are the same setting.
        made[entry.name] = repr(value.item()) if isinstance(value, np.generic) else text
    for name, array in arrays.items():
        made[name] = "None" if array is None else digest(array)
    return made


def write(
    path: str | Path,
    step: int,
    own: dict[str, str],
    versions: dict[str, str],
    arrays: dict[str, NDArray[Any]],
) -> None:
    """Save the state after `step` steps. Raises :class:`InputError` when the place cannot be written."""
    header = {
        "schema": SCHEMA,
        "kind": KIND,
        "step": step,
        "fingerprint": own,
        "versions": versions,
        "arrays": sorted(arrays),
    }
    everything: dict[str, Any] = {"header": np.array(json.dumps(header)), **arrays}
    write_whole(path, lambda stream: np.savez(stream, allow_pickle=False, **everything))


def read(
    path: str | Path, own: dict[str, str], versions: dict[str, str]
) -> tuple[int, dict[str, NDArray[Any]]] | None:
    """The step and the arrays that `write` saved; None where there is no file.

    Raises :class:`InputError` where the file is damaged, or of another training: with other settings or data, or under
    other versions of the packages, whose last bits may differ.
    """
    path = Path(path)
    if not path.exists():
        return None
    fix = "delete it to start anew"
    try:
        with path.open("rb") as stream:
            archive = np.load(stream, allow_pickle=False)
            header = json.loads(str(archive["header"]))
            arrays = {name: archive[name] for name in archive.files if name != "header"}
        kind, step = (header["kind"], header["schema"]), header["step"]
        theirs, made_by = dict(header["fingerprint"]), header["versions"]
        complete = kind == (KIND, SCHEMA) and isinstance(step, int)
        complete = complete and header["arrays"] == sorted(arrays)
    except Exception as error:  # a damaged zip or array raises half a dozen types
        raise InputError(f"{path}: not a checkpoint, or damaged; {fix}") from error
    if not complete:
        raise InputError(f"{path}: not a checkpoint of this version; {fix}")
    other = [name for name in {**own, **theirs} if own.get(name) != theirs.get(name)]
    if other:
        raise InputError(
            f"{path}: the checkpoint of a training with other {', '.join(other)}; "
            f"give the same settings, or {fix}"
        )
    if made_by != versions:
        name = next(n for n in {**versions, **made_by} if versions.get(n) != made_by.get(n))
        raise InputError(
            f"{path}: made under {name} {made_by.get(name)}, here it is {versions.get(name)}; "
            f"go on under that version, or {fix}"
        )
    return step, arrays
