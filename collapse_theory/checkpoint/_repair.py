"""A repaired checkpoint beside the old one."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import integer
from ..errors import InputError
from ..files import write_json
from ._model import Model, open_model
from ._repair_directions import DIRECTIONS, norm_from
from ._repair_edit import edit, verify
from ._repair_encode import first_of_equals, row_keys
from ._repair_plan import Change, Way, old_forms, plan, stored_rows, targets
from ._repair_result import MANIFEST, ChangedFile, Repair, RepairedRow
from ._repair_select import Chosen, check_share, choose, tokens_from
from ._repair_stage import Leftovers, check_place, place, staged, tree
from ._tensors import Matrix

__all__ = ["repair"]

WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".npz", ".npy")
SPREAD = {"mean": 1.0, "tokens": 0.3}
ONLY = ("input", "output")
Progress = Callable[[str, int, int], object]


def repair(
    path: str | Path,
    out: str | Path,
    *,
    rows: str | Path | Iterable[int] | None = None,
    direction: str | None = None,
    tokens: Sequence[str | int] = (),
    norm: str | float = "trained",
    spread: float | None = None,
    max_share: float = 0.5,
    only: str | None = None,
    tensor_name: str | None = None,
    seed: int = 0,
    copy: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Repair:
    """Write a copy of a checkpoint in which unused rows of the (un)embedding are new: pairwise distinct, at trained norm.

    The source is never touched. The copy is compared with it byte by byte (``.bin`` files: tensor by tensor) and gets its name
    only when it is whole, with ``repair_manifest.json`` in it.

    Args:
        path: a folder as Hugging Face's libraries write it, or one ``.safetensors``, torch, ``.npz`` or ``.npy`` file.
        out: a folder that does not exist yet, or is empty.
        rows: ids, or text with ids and ranges (``3,7-16``), or a file of such text; by default the rows that
            :func:`audit` finds unused, but for the padding token's.
        direction: ``mean`` (Gaussian with the mean and covariance of trained rows; the default), ``random`` (uniform),
            ``orthogonal`` (to one another, as far as the dimension goes), or ``tokens`` (around the mean of ``tokens``).
        tokens: texts or ids of tokens whose rows the new ones start from.
        norm: ``trained`` (the median norm of trained rows), a quantile of those norms as ``q0.25``, or a length.
        spread: of ``mean`` (default 1) and ``tokens`` (default 0.3): the scatter as a share of that of trained rows.
        max_share: refuse to replace a larger share of all rows.
        only: ``input`` or ``output``, to change one matrix of an untied pair.
        tensor_name: the one matrix to change, where the usual names do not find it.
        seed: of all draws; the same seed gives the same bytes.
        copy: copy untouched shards instead of linking them.
        dry_run: say what would be written, and write nothing.
        progress: called with a stage's name, bytes done and bytes in all.

    Raises:
        InputError: the checkpoint is damaged or not understood, the place is not free or not writable, a row or an option
            is out of range, or new rows cannot be told apart in the file's dtype. Nothing is left then.
    """
    path, out = Path(path), Path(out)
    seed = integer("seed", seed, least=0)
    way = _options(direction, tokens, spread, only)
    length = norm_from(norm)
    model = open_model(path, tensor_name=tensor_name)
    check_place(path, out)
    roles, warnings = targets(model, only)
    first = roles[0][1][0]
    chosen = choose(model, first, rows)
    check_share(len(chosen.ids), first.rows, max_share)
    warnings += chosen.warnings
    known = {matrix.name for _, matrices in roles for matrix in matrices}
    recipe = Way(
        direction=way["direction"],
        tokens=tokens_from(model.tokenizer, tokens, first.rows),
        norm=length,
        spread=way["spread"] or 0.0,
    )
    changes = [
        plan(
            *(model, role, matrices, chosen.ids, chosen.apart, recipe),
            rng=np.random.default_rng([seed, k]),
            known=known,
        )
        for k, (role, matrices) in enumerate(roles)
    ]
    result = Repair(
        source=str(path),
        out=str(out),
        dry_run=dry_run,
        seed=seed,
        options=way | {"norm": str(length), "max_share": max_share},
        rows=_rows(model, chosen),
        matrices=tuple(change.report for change in changes),
        changed=(),
        linked=(),
        copied=(),
        left_out=(),
        notes=(*chosen.notes, *_notes(way["direction"], changes)),
        warnings=tuple(warnings),
    )
    return _write(model, out, changes, result, copy=copy, progress=progress or _silent)


def _silent(_stage: str, _done: int, _total: int) -> None:
    return None


def _options(
    direction: str | None, tokens: Sequence[str | int], spread: float | None, only: str | None
) -> dict[str, Any]:
    """The options that do not need the checkpoint, checked."""
    direction = direction or ("tokens" if tokens else "mean")
    if direction not in DIRECTIONS:
        raise InputError(f"direction: got {direction!r:.60}; give one of {', '.join(DIRECTIONS)}")
    if (direction == "tokens") != bool(tokens):
        fix = "give --from-tokens" if direction == "tokens" else "give --direction tokens"
        raise InputError(f"direction {direction}: does not fit the tokens given; {fix}")
    if only is not None and only not in ONLY:
        raise InputError(f"only: got {only!r:.60}; give input or output")
    if spread is None:
        spread = SPREAD.get(direction)
    elif direction not in SPREAD:
        raise InputError(f"spread: {direction} rows have none; leave it out, or choose mean")
    elif isinstance(spread, bool) or not 0 < spread <= 100:
        raise InputError(f"spread: got {spread}, expected a number above 0 and up to 100")
    return {"direction": direction, "tokens": list(tokens), "spread": spread, "only": only}


def _rows(model: Model, chosen: Chosen) -> tuple[RepairedRow, ...]:
    texts = model.tokenizer
    return tuple(
        RepairedRow(id=i, text=(texts.text(i) or None) if texts else None, reason=reason)
        for i, reason in zip(chosen.ids.tolist(), chosen.reasons, strict=True)
    )


def _notes(direction: str, changes: Sequence[Change]) -> list[str]:
    notes = []
    for change in changes:
        report, count = change.report, change.report.before.rows
        if direction == "orthogonal" and count > report.dim:
            notes.append(
                f"{count:,} rows cannot be orthogonal in dimension {report.dim:,}: they form {-(-count // report.dim)} bases, "
                "orthogonal within each"
            )
    return notes


def _write(
    model: Model,
    out: Path,
    changes: Sequence[Change],
    result: Repair,
    *,
    copy: bool,
    progress: Progress,
) -> Repair:
    """Build the folder, or say what would be in it."""
    sources = tree(model.path) if model.path.is_dir() else {model.path.name: model.path}
    used = {info.file.name for info in model.tensors.values()}
    left_out = old_forms(list(sources), used)
    edits = {}
    for change in changes:
        for file, parts in change.edits.items():
            edits[file.name] = edits.get(file.name, ()) + parts
    around = [name for name in sources if name not in edits and name not in left_out]
    around = [name for name in around if name != MANIFEST]
    linkable = {name for name in around if not copy and name.endswith(WEIGHTS)}
    notes = [*result.notes]
    if left_out:
        notes.append("files left out hold the old rows in another form; make them anew from the repaired one")
    if any(name.split("/")[-1] in ("optimizer.pt", "optimizer.bin") for name in around):
        notes.append("the optimizer's state still has the moments of the old rows; start a new optimizer")
    sizes = {name: sources[name].stat().st_size for name in edits}
    if result.dry_run:
        return replace(
            result,
            changed=tuple(
                ChangedFile(name=name, bytes=size, sha256_before=None, sha256_after=None)
                for name, size in sizes.items()
            ),
            linked=tuple(sorted(linkable)),
            copied=tuple(sorted(set(around) - linkable)),
            left_out=tuple(left_out),
            notes=tuple(notes),
        )
    leftovers = Leftovers(out)
    if leftovers.removed:
        notes.append(f"removed what a killed run had left: {', '.join(leftovers.removed)}")
    if leftovers.busy:
        notes.append(f"left alone, another run may be at work there: {', '.join(leftovers.busy)}")
    with staged(out) as stage:
        _check_room(stage, sum(sizes.values()), out)
        linked = [name for name in around if place(sources[name], stage / name, link=name in linkable)]
        if linked:
            notes.append(
                "linked files share their bytes with the source: write into neither, or repair with --copy"
            )
        changed = []
        done = 0
        for name, parts in edits.items():
            changed.append(_changed(name, sources[name], stage / name, parts, (done, sum(sizes.values())), progress))
            done += sizes[name]
        _check_read_back(model, stage, changes)
        result = replace(
            result,
            changed=tuple(changed),
            linked=tuple(linked),
            copied=tuple(name for name in around if name not in linked),
            left_out=tuple(left_out),
            notes=tuple(notes),
        )
        write_json(stage / MANIFEST, result.to_dict() | {"environment": _environment()})
    return result


def _changed(
    name: str, source: Path, target: Path, parts: Any, span: tuple[int, int], progress: Progress
) -> ChangedFile:
    """Write one file and read it back."""
    counts = {}
    for stage in ("writing", "reading back"):
        counts[stage] = span[0]

        def told(size: int, stage: str = stage) -> None:
            counts[stage] += size
            progress(stage, min(counts[stage], span[1]), span[1])

        if stage == "writing":
            target.parent.mkdir(parents=True, exist_ok=True)
            edit(source, target, parts, told)
        else:
            before, after = verify(source, target, parts, told)
    return ChangedFile(
        name=name, bytes=target.stat().st_size, sha256_before=before, sha256_after=after
    )


def _check_room(stage: Path, needed: int, out: Path) -> None:
    free = shutil.disk_usage(stage).free
    if free < needed:
        raise InputError(
            f"{out}: needs {needed:,} bytes and the disk has {free:,} left; make room or choose another place"
        )


def _check_read_back(model: Model, stage: Path, changes: Sequence[Change]) -> None:
    """The new folder, opened as any checkpoint is: same tensors, and rows that are what was drawn, all distinct."""
    again = open_model(stage if model.path.is_dir() else stage / model.path.name)
    layout = [
        {info.name: (info.file.name, info.dtype, info.shape) for info in each.tensors.values()}
        for each in (model, again)
    ]
    good = layout[0] == layout[1]
    some = next(m for m in (again.input, again.output) if m is not None) if good else None
    for change in changes if some is not None else ():
        for part in (part for parts in change.edits.values() for part in parts):
            info = again.tensors[part.tensor]
            matrix: Matrix = replace(some, name=info.name, info=info, rows=info.shape[0], dim=info.shape[1])
            found = stored_rows(matrix, part.ids)
            good &= np.array_equal(found, part.data)
            good &= bool(first_of_equals(row_keys(found, part.dtype)).all())
    if not good:
        raise InputError(f"{stage}: does not read back as it was written; check the disk and repair again")


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
