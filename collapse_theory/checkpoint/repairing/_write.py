"""The new folder of a repair: changed files written and read back, the others linked or copied."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from ...files import write_json
from ..reading._model import Model, open_model
from ._edit import Edit, edit, verify
from ._encode import first_of_equals, row_keys
from ._plan import Change, old_forms, stored_rows, tensor_rows
from ._result import MANIFEST, ChangedFile, Repair
from ._stage import Leftovers, place, staged, tree

__all__ = ["write"]

WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".npz", ".npy")
LARGE = 1 << 20
OPTIMIZER = ("optimizer.pt", "optimizer.bin")
Progress = Callable[[str, int, int], object]


def write(
    model: Model,
    out: Path,
    changes: Sequence[Change],
    result: Repair,
    *,
    copy: bool,
    progress: Progress,
) -> Repair:
    """Build the folder, or, in a dry run, say what would be in it.

    Raises :class:`InputError` when it cannot be written or does not read back; nothing is left then.
    """
    sources = tree(model.path) if model.path.is_dir() else {model.path.name: model.path.resolve()}
    edits: dict[str, tuple[Edit, ...]] = {}
    for change in changes:
        for file, parts in change.edits.items():
            edits[file.name] = edits.get(file.name, ()) + parts
    sizes = {name: sources[name].stat().st_size for name in edits}
    shards = {info.file.name for info in model.tensors.values()}
    left_out = old_forms(list(sources), shards)
    around = [n for n in sources if n not in edits and n not in left_out and n != MANIFEST]
    # Texts and small files are copied: whoever edits a linked one would change the source's too.
    linkable = {
        name
        for name in around
        if not copy
        and name.endswith(WEIGHTS)
        and (name in shards or sources[name].stat().st_size >= LARGE)
    }
    notes = [*result.notes]
    if left_out:
        notes.append(
            "what is left out holds the old rows in another form; make it anew from the new"
        )
    if any(Path(name).name in OPTIMIZER for name in around):
        notes.append("the optimizer's state has the old rows' moments; start a new optimizer")
    result = replace(result, left_out=tuple(left_out), notes=tuple(notes))
    if result.dry_run:
        hashes: dict[str, Any] = {"sha256_before": None, "sha256_after": None}
        return replace(
            result,
            changed=tuple(ChangedFile(name=n, bytes=size, **hashes) for n, size in sizes.items()),
            linked=tuple(name for name in around if name in linkable),
            copied=tuple(name for name in around if name not in linkable),
        )
    leftovers = Leftovers(out)
    if leftovers.removed:
        notes.append(f"removed what a killed run had left: {', '.join(leftovers.removed)}")
    if leftovers.busy:
        notes.append(f"left alone, another run may be at work in {', '.join(leftovers.busy)}")
    with staged(out) as stage:
        _check_room(stage, sum(sizes.values()), out)
        linked = [n for n in around if place(sources[n], stage / n, link=n in linkable)]
        if linked:
            notes.append(
                "linked files share their bytes with the source: write into neither, or repair with --copy"
            )
        told = _Told(sum(sizes.values()), progress)
        changed = [_changed(n, sources[n], stage / n, parts, told) for n, parts in edits.items()]
        _check_read_back(model, stage, changes, out)
        result = replace(
            result,
            changed=tuple(changed),
            linked=tuple(linked),
            copied=tuple(name for name in around if name not in linked),
            notes=tuple(notes),
        )
        write_json(stage / MANIFEST, result.to_dict() | {"environment": _environment()})
    return result


class _Told:
    """Bytes done of each stage, told to whoever wants to know."""

    def __init__(self, total: int, progress: Progress) -> None:
        self.done = {"writing": 0, "reading back": 0}
        self.total = total
        self.progress = progress

    def __call__(self, stage: str, size: int) -> None:
        self.done[stage] += size
        self.progress(stage, min(self.done[stage], self.total), self.total)


def _changed(
    name: str, source: Path, target: Path, parts: Sequence[Edit], told: _Told
) -> ChangedFile:
    """Write one file and read it back."""
    target.parent.mkdir(parents=True, exist_ok=True)
    edit(source, target, parts, partial(told, "writing"))
    with target.open(
        "rb+"
    ) as stream:  # on the disk before the folder has its name, whatever happens to the machine
        os.fsync(stream.fileno())
    before, after = verify(source, target, parts, partial(told, "reading back"))
    size = target.stat().st_size
    return ChangedFile(name=name, bytes=size, sha256_before=before, sha256_after=after)


def _check_room(stage: Path, needed: int, out: Path) -> None:
    free = shutil.disk_usage(stage).free
    if free < needed:
        raise InputError(
            f"{out}: needs {needed:,} bytes and the disk has {free:,} left; make room or choose another place"
        )


def _check_read_back(model: Model, stage: Path, changes: Sequence[Change], out: Path) -> None:
    """Open the new folder as any checkpoint is opened. Raises :class:`InputError` unless it has the same tensors, and
    rows that are what was drawn and all distinct."""
    again = open_model(
        stage if model.path.is_dir() else stage / model.path.name,
        tensor_name=model.output.name if model.chosen and model.output else None,
    )
    old, new = (
        {t.name: (t.file.name, t.dtype, t.shape) for t in each.tensors.values()}
        for each in (model, again)
    )
    good = old == new
    for part in (p for change in changes for parts in change.edits.values() for p in parts):
        if good:
            found = stored_rows(tensor_rows(again, part.tensor), part.ids)
            good = np.array_equal(found, part.data)
            good &= bool(first_of_equals(row_keys(found, part.dtype)).all())
    if not good:
        raise InputError(
            f"{out}: does not read back as it was written; check the disk and repair again"
        )


def _environment() -> dict[str, Any]:
    versions = {}
    for package in ("numpy", "torch", "safetensors"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": versions,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
