"""What a repair is going to write: the matrices that change, their new rows, and the files around them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..reading._model import Model
from ..reading._tensors import Matrix
from ._directions import Norm, Recipe, fresh_rows
from ._edit import Edit, member_start
from ._encode import ITEM_SIZE, decode, first_of_equals, row_keys
from ._measures import measure
from ._result import RepairedMatrix
from ._select import trained_sample

__all__ = ["Change", "Way", "old_forms", "plan", "stored_rows", "targets", "tensor_rows"]

ATTEMPTS = 10
Ids = NDArray[np.int64]

OLD_FORM = re.compile(
    r"(onnx|openvino|coreml|original|gguf)/.*"
    r"|(model|pytorch_model|consolidated|tf_model|flax_model|rust_model)\b.*"
    r"\.(safetensors|bin|pt|pth|h5|msgpack|ot|onnx|index\.json)"
    r"|[^/]*\.(gguf|onnx|tflite)"
)
"""Other forms of the same weights that published folders hold beside those that are read."""


@dataclass(frozen=True, kw_only=True)
class Way:
    """How rows are made, the same for every matrix."""

    direction: str
    tokens: Ids
    norm: Norm
    spread: float


@dataclass(frozen=True, kw_only=True)
class Change:
    """A matrix, what is reported of it, and its new rows in every tensor that holds them."""

    report: RepairedMatrix
    edits: Mapping[Path, tuple[Edit, ...]]


def targets(model: Model, only: str | None) -> tuple[list[tuple[str, list[Matrix]]], list[str]]:
    """Role and tensors of each matrix to change, and warnings. The tensors of one role hold the same numbers, or should.

    ``only`` keeps ``input`` or ``output`` of an untied pair. Raises :class:`InputError` for what is not understood.
    """
    pair = (model.input, model.output)
    if model.chosen and only is None:
        pair = (None, model.output)
    present = [matrix for matrix in pair if matrix is not None]
    if not present:
        model.unembedding()  # says why
    for matrix in present:
        if matrix.decoder is not None:
            raise InputError(
                f"{model.path}: {matrix.name} is quantised ({matrix.dtype}); repair the original checkpoint "
                "and convert it again"
            )
        if matrix.dtype not in ITEM_SIZE:
            raise InputError(
                f"{model.path}: {matrix.name} is stored as {matrix.dtype}, which rows cannot be written in; "
                f"repair a {', '.join(ITEM_SIZE)} checkpoint and convert it afterwards"
            )
    warnings: list[str] = []
    if len(present) == 2:
        same = _same_rows(present[0], present[1])
        if same or model.tied:
            if only is not None:
                raise InputError(
                    f"only {only}: input and output are tied in {model.path}; leave it out, both change together"
                )
            if not same:
                warnings.append(
                    f"{present[0].name} and {present[1].name} differ although the configuration ties them: "
                    "both get the same new rows"
                )
            return [("input and output", present)], warnings
        roles = [("input", [present[0]]), ("output", [present[1]])]
        return [role for role in roles if only in (None, role[0])], warnings
    role = "output" if model.output is not None else "input"
    if role == "input" and model.tied:
        role = "input and output"
    if only is not None and only != role:
        raise InputError(f"only {only}: {present[0].name} is the {role} matrix of {model.path}")
    if role == "input":
        warnings.append(
            f"the output matrix is not in {model.path} and not tied: only {present[0].name} changes"
        )
    return [(role, present)], warnings


def _same_rows(one: Matrix, other: Matrix, ids: Ids | None = None) -> bool:
    """Whether two matrices hold the same bits, at these rows or everywhere."""
    if (one.rows, one.dim, one.dtype) != (other.rows, other.dim, other.dtype):
        return False
    if ids is not None:
        return np.array_equal(stored_rows(one, ids), stored_rows(other, ids))
    step = max(1, (1 << 22) // one.dim)
    return all(
        np.array_equal(one.raw(part), other.raw(part))
        for part in np.split(np.arange(one.rows), range(step, one.rows, step))
    )


def stored_rows(matrix: Matrix, ids: Ids) -> NDArray[np.uint8]:
    """Rows as they are stored, bytes ``[k, n * size]``."""
    bits = np.ascontiguousarray(matrix.raw(ids))
    return bits.view(np.uint8).reshape(len(ids), matrix.dim * ITEM_SIZE[matrix.dtype])


def tensor_rows(model: Model, name: str) -> Matrix:
    """Any matrix of the checkpoint by its tensor's name."""
    some = model.output or model.input
    assert some is not None
    info = model.tensors[name]
    return replace(some, info=info)


def _copies(model: Model, matrix: Matrix, ids: Ids, known: set[str]) -> list[Matrix]:
    """Other tensors that hold the same numbers under another name, as T5's and tied torch files do."""
    found = []
    for info in model.tensors.values():
        if info.name in known or info.shape != matrix.info.shape or info.dtype != matrix.dtype:
            continue
        other = tensor_rows(model, info.name)
        if _same_rows(matrix, other, ids):
            found.append(other)
    return found


def plan(
    model: Model,
    role: str,
    matrices: list[Matrix],
    ids: Ids,
    apart: Ids,
    way: Way,
    rng: np.random.Generator,
    known: set[str],
) -> Change:
    """New rows for ``ids`` of a matrix and its copies.

    ``apart`` are ids that are no trained rows either; ``known`` are the names of all tensors that are changed on purpose.
    Raises :class:`InputError` when nothing is trained, or rows cannot be made distinct.
    """
    first = matrices[0]
    sample, stored = _trained(first, np.union1d(ids, apart[apart < first.rows]), rng)
    trained = decode(stored, first.dtype)
    recipe = Recipe(
        direction=way.direction,
        length=way.norm.length(np.linalg.norm(trained, axis=1)),
        trained=trained,
        anchor=decode(stored_rows(first, way.tokens), first.dtype) if way.tokens.size else None,
        spread=way.spread,
    )
    data = _apart_from_kept(first, ids, recipe, rng)
    copies = _copies(model, first, np.union1d(ids, sample), known)
    edits: dict[Path, list[Edit]] = {}
    for matrix in (*matrices, *copies):
        new = data
        if matrix.dtype != first.dtype:
            raise InputError(
                f"{model.path}: {first.name} is {first.dtype} and {matrix.name} {matrix.dtype} although they are tied; "
                "save them alike"
            )
        edits.setdefault(matrix.info.file, []).append(
            Edit(
                tensor=matrix.name,
                dtype=matrix.dtype,
                start=member_start(matrix.info),
                ids=ids,
                data=new,
            )
        )
    centre = trained.mean(axis=0)
    report = RepairedMatrix(
        name=first.name,
        role=role,
        file=first.info.file.name,
        dtype=first.dtype,
        rows=first.rows,
        dim=first.dim,
        norm=recipe.length,
        copies=tuple(matrix.name for matrix in (*matrices[1:], *copies)),
        trained=measure(stored, first.dtype, centre),
        before=measure(stored_rows(first, ids), first.dtype, centre),
        after=measure(data, first.dtype, centre),
    )
    return Change(report=report, edits={path: tuple(parts) for path, parts in edits.items()})


def _trained(matrix: Matrix, apart: Ids, rng: np.random.Generator) -> tuple[Ids, NDArray[np.uint8]]:
    """Ids and bytes of a sample of trained rows: each once, none of zeros. Raises :class:`InputError` below two."""
    sample = trained_sample(matrix.rows, apart, rng)
    stored = stored_rows(matrix, sample)
    rows = decode(stored, matrix.dtype)
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if bad.size:
        raise InputError(
            f"{matrix.name}: row {sample[bad[0]]} holds NaN or infinity and is not among the rows to replace; "
            "the checkpoint is damaged, or name that row too"
        )
    good = first_of_equals(row_keys(stored, matrix.dtype)) & rows.any(axis=1)
    if good.sum() < 2:
        raise InputError(
            f"{matrix.name}: has {good.sum()} trained rows beside those to replace; leave at least 2 different ones"
        )
    return sample[good], stored[good]


def _apart_from_kept(
    matrix: Matrix, ids: Ids, recipe: Recipe, rng: np.random.Generator
) -> NDArray[np.uint8]:
    """New rows that differ, as stored, from one another and from every row that is kept."""
    for _ in range(ATTEMPTS):
        data = fresh_rows(recipe, len(ids), matrix.dim, matrix.dtype, rng)
        if not _meets_kept(matrix, ids, data):
            return data
    raise InputError(
        f"rows: after rounding to {matrix.dtype} new rows equal kept rows of {matrix.name}; "
        "choose a larger norm or spread"
    )


def _meets_kept(matrix: Matrix, ids: Ids, data: NDArray[np.uint8]) -> bool:
    keys = row_keys(data, matrix.dtype)
    step = max(1, (1 << 22) // matrix.dim)
    for start in range(0, matrix.rows, step):
        block = np.arange(start, min(start + step, matrix.rows))
        block = np.setdiff1d(block, ids, assume_unique=True)
        stored = (
            stored_rows(matrix, block) if block.size else np.empty((0, data.shape[1]), np.uint8)
        )
        # The first entries tell nearly all rows apart; whole rows are compared where they agree.
        width = min(8, data.shape[1])
        maybe = np.isin(_heads(stored, width), _heads(data, width))
        if maybe.any() and np.isin(row_keys(stored[maybe], matrix.dtype), keys).any():
            return True
    return False


def _heads(stored: NDArray[np.uint8], width: int) -> NDArray:
    return np.ascontiguousarray(stored[:, :width]).view(np.dtype((np.void, width))).ravel()


def old_forms(names: list[str], used: set[str]) -> list[str]:
    """Files of a folder that hold the old rows in another form than the files that are read, and their indexes."""
    index = any(".index.json" in name for name in names) and len(used) > 1
    safe = any(name.endswith(".safetensors") for name in used)
    kept = (
        {"model.safetensors.index.json" if safe else "pytorch_model.bin.index.json"}
        if index
        else set()
    )
    return [name for name in names if name not in used | kept and OLD_FORM.fullmatch(name)]
