"""A repaired checkpoint beside the old one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...checks import integer
from ...errors import InputError
from ..reading._model import Model, open_model
from ._directions import DIRECTIONS, norm_from
from ._plan import Change, Way, plan, targets
from ._result import Repair, RepairedRow
from ._select import Chosen, check_share, choose, tokens_from
from ._stage import check_place
from ._write import write

__all__ = ["repair"]

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
    """Write a copy of a checkpoint with new rows for unused tokens: pairwise distinct, at trained norm.

    The source is never touched. The copy is compared with it byte by byte (torch's files: tensor by tensor) and gets its
    name only when it is whole, with ``repair_manifest.json`` in it.

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
    count = min(matrix.rows for _, matrices in roles for matrix in matrices)
    chosen = choose(model, roles[-1][1][0], count, rows)
    check_share(len(chosen.ids), count, max_share)
    warnings += chosen.warnings
    known = {matrix.name for _, matrices in roles for matrix in matrices}
    recipe = Way(
        direction=way["direction"],
        tokens=tokens_from(model.tokenizer, tokens, count),
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
        notes=(*chosen.notes, *_notes(model, way["direction"], changes)),
        warnings=tuple(warnings),
    )
    return write(
        model,
        out,
        changes,
        result,
        copy=copy,
        progress=progress or (lambda _stage, _done, _total: None),
    )


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


def _notes(model: Model, direction: str, changes: Sequence[Change]) -> list[str]:
    notes = []
    for change in changes:
        report, count = change.report, change.report.before.rows
        if direction == "orthogonal" and count > report.dim:
            notes.append(
                f"{count:,} rows cannot all be orthogonal in dimension {report.dim:,}: they form "
                f"{-(-count // report.dim)} bases, orthogonal within each"
            )
    biases = [
        name
        for name, info in model.tensors.items()
        if name.endswith("bias") and info.shape == (changes[-1].report.rows,)
    ]
    if biases and any("output" in change.report.role for change in changes):
        notes.append(f"{', '.join(biases[:3])}: biases of the replaced rows stay as they are")
    return notes
