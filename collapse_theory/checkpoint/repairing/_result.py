"""What a repair did, or would do: the result, which is also the manifest."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..._version import __version__
from ._measures import RowMeasures

__all__ = ["MANIFEST", "SCHEMA", "ChangedFile", "Repair", "RepairedMatrix", "RepairedRow"]

MANIFEST = "repair_manifest.json"
"""The manifest's name in the new folder."""
SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class RepairedRow:
    """A row that is replaced: its id, its token's text (None where not known), and why it was chosen."""

    id: int
    text: str | None
    reason: str


@dataclass(frozen=True, kw_only=True)
class RepairedMatrix:
    """A matrix with replaced rows.

    Attributes:
        name: of its tensor.
        role: ``input``, ``output`` or ``input and output``.
        file: in the checkpoint.
        dtype: as stored.
        rows: of the whole matrix.
        dim: entries of a row.
        norm: the length that new rows were given, before rounding.
        copies: tensors that held the same numbers and got the same rows.
        trained: measures of a sample of trained rows.
        before: of the replaced rows as they were.
        after: of the rows in their place, as stored.
    """

    name: str
    role: str
    file: str
    dtype: str
    rows: int
    dim: int
    norm: float
    copies: tuple[str, ...]
    trained: RowMeasures
    before: RowMeasures
    after: RowMeasures


@dataclass(frozen=True, kw_only=True)
class ChangedFile:
    """A file with replaced rows, by its path in the checkpoint; hashes are SHA-256, None in a dry run."""

    name: str
    bytes: int
    sha256_before: str | None
    sha256_after: str | None


@dataclass(frozen=True, kw_only=True)
class Repair:
    """What a repair did, or would do in a dry run.

    Prints as a summary; :meth:`to_dict` is what the manifest holds.

    Attributes:
        source: the checkpoint that was read.
        out: the new folder.
        dry_run: whether nothing was written.
        seed: of all draws.
        options: how rows were made: ``direction``, ``tokens``, ``norm``, ``spread``, ``max_share``, ``only``.
        rows: the replaced rows.
        matrices: the matrices that they were replaced in.
        changed: files with replaced rows.
        linked: files that share their bytes on disk with the source.
        copied: files that were copied.
        left_out: files of the source that hold the old rows in another form.
        notes: what one should know.
        warnings: what one should think about.
    """

    source: str
    out: str
    dry_run: bool
    seed: int
    options: dict[str, Any]
    rows: tuple[RepairedRow, ...]
    matrices: tuple[RepairedMatrix, ...]
    changed: tuple[ChangedFile, ...]
    linked: tuple[str, ...]
    copied: tuple[str, ...]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        from ._text import text

        return text(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; ``schema`` numbers the layout, ``repair.schema.json`` beside this module describes it."""
        names = ("source", "out", "dry_run", "seed", "options")
        groups = ("rows", "matrices", "changed")
        lists = ("linked", "copied", "left_out", "notes", "warnings")
        return (
            {"kind": "repair", "schema": SCHEMA, "version": __version__}
            | {name: getattr(self, name) for name in names}
            | {name: [_plain(asdict(part)) for part in getattr(self, name)] for name in groups}
            | {name: list(getattr(self, name)) for name in lists}
        )


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in data.items()}
