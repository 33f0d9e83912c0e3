"""Folders as Hugging Face's libraries write them: one weights file, or shards with an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...files import read_json
from ._pickle_bin import read_torch
from ._safetensors import read_header
from ._tensors import FileRows, Reader, Rows, TensorInfo

__all__ = ["Weights", "read_weights"]

WHOLE = ("model.safetensors", "pytorch_model.bin")
INDEX = ("model.safetensors.index.json", "pytorch_model.bin.index.json")


class Weights:
    """The tensors of a folder or file, and who reads their rows."""

    def __init__(
        self,
        tensors: dict[str, TensorInfo],
        rows: Rows,
        layout: str,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        self.tensors = tensors
        self.rows = rows
        self.layout = layout
        self.metadata = metadata or {}


class _Shards:
    """Rows of tensors from several torch files."""

    def __init__(self, sources: dict[Path, Rows]) -> None:
        self.sources = sources

    def open(self, info: TensorInfo) -> AbstractContextManager[Reader]:
        return self.sources[info.file].open(info)


def read_weights(folder: Path) -> Weights:
    """Find and open the weights of a folder: safetensors before torch's files, an index before shards without.

    Raises :class:`InputError` when there are none, or when they contradict their index.
    """
    for index, whole in zip(INDEX, WHOLE, strict=True):
        if (folder / index).is_file():
            return _sharded(folder, folder / index)
        if (folder / whole).is_file():
            return read_file(folder / whole)
    others = [
        path
        for path in sorted(folder.iterdir())
        if path.suffix in (".safetensors", ".bin", ".pt", ".pth") and path.is_file()
    ]
    weights = [p for p in others if p.suffix == ".safetensors"] or [
        p for p in others if p.name not in ("training_args.bin", "optimizer.pt", "scheduler.pt")
    ]
    if any(path.name.startswith("adapter_model") for path in weights):
        raise InputError(f"{folder}: holds an adapter alone; merge it into its model first")
    if len(weights) == 1:
        return read_file(weights[0])
    if weights:
        names = ", ".join(path.name for path in weights[:5])
        raise InputError(f"{folder}: several weight files ({names}) and no index; name one of them")
    raise InputError(
        f"{folder}: no weights; expected model.safetensors, pytorch_model.bin, or shards with their index"
    )


def read_file(path: Path) -> Weights:
    """Open one safetensors or torch file."""
    if path.suffix == ".safetensors":
        tensors, metadata = read_header(path)
        return Weights(tensors, FileRows(), "safetensors", metadata)
    tensors, rows = read_torch(path)
    return Weights(tensors, rows, "torch")


def _sharded(folder: Path, index: Path) -> Weights:
    data = read_json(index)
    names = data.get("weight_map") if isinstance(data, dict) else None
    if not isinstance(names, dict) or not names:
        raise InputError(f"{index}: has no weight_map; get the file again")
    files = {file: _shard(folder, index, file) for file in dict.fromkeys(_files(index, names))}
    safe = index.name.startswith("model.safetensors")
    tensors: dict[str, TensorInfo] = {}
    sources: dict[Path, Rows] = {}
    for file, path in files.items():
        if safe:
            found, _ = read_header(path)
        else:
            found, sources[path] = read_torch(path)
        for name, info in found.items():
            if name in tensors:
                raise InputError(
                    f"{path}: tensor {name!r:.80} also stands in {tensors[name].file.name}; get the files again"
                )
            tensors[name] = info
        missing = [name for name, where in names.items() if where == file and name not in found]
        if missing:
            raise InputError(
                f"{path}: lacks tensor {missing[0]!r:.80} that the index places there; get the files again"
            )
    if safe:
        return Weights(tensors, FileRows(), "sharded safetensors")
    return Weights(tensors, _Shards(sources), "sharded torch")


def _files(index: Path, names: dict[str, Any]) -> Iterator[str]:
    for name, file in names.items():
        if not isinstance(file, str) or not file:
            raise InputError(f"{index}: tensor {name!r:.80} has no file name; get the file again")
        yield file


def _shard(folder: Path, index: Path, file: str) -> Path:
    # A shard lies beside its index: any other place is a mistake or a trick.
    if file in (".", "..") or any(c in file for c in "/\\:\0"):
        raise InputError(f"{index}: names the file {file!r:.80}; shards must lie beside the index")
    path = folder / file
    if not path.is_file():
        raise InputError(f"{path}: no such file, though the index names it; get the missing shard")
    return path
