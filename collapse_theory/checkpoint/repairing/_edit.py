"""Rows of tensors replaced in a copy of a file, and the copy compared with its source byte by byte.

Files that hold raw tensors (``.safetensors``, ``.npy``, members of ``.npz``) are streamed: memory stays bounded, and
every byte outside of the rows, headers included, is the source's own. torch's files go through its ``weights_only`` loader
and are compared tensor by tensor.
"""

from __future__ import annotations

import errno
import hashlib
import pickle
import shutil
import zipfile
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..reading._numpy import info_start
from ..reading._pickle_bin import NESTS
from ..reading._tensors import TensorInfo

__all__ = ["Edit", "edit", "member_start", "verify"]

BLOCK = 1 << 22
Progress = Callable[[int], object]
UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    pickle.UnpicklingError,
    zlib.error,
    zipfile.BadZipFile,
)


@dataclass(frozen=True, kw_only=True)
class Edit:
    """Rows of one tensor to be replaced.

    Attributes:
        tensor: its name in the file (the member, in an ``.npz``).
        dtype: of its entries.
        start: byte at which its row 0 starts in the file (in the member); not used for ``.bin``.
        ids: the rows ``[k]``, ascending.
        data: their new bytes ``[k, row size]``.
    """

    tensor: str
    dtype: str
    start: int
    ids: NDArray[np.int64]
    data: NDArray[np.uint8]


def member_start(info: TensorInfo) -> int:
    """Where a tensor's row 0 starts: in its file, or in its member of an ``.npz``."""
    if info.file.suffix.lower() != ".npz":
        return info.offset or 0
    with zipfile.ZipFile(info.file) as archive, archive.open(f"{info.name}.npy") as stream:
        return info_start(stream)


def edit(source: Path, target: Path, edits: Sequence[Edit], progress: Progress) -> None:
    """Write ``target``, whose suffix tells the format: the source with the rows replaced."""
    kind = target.suffix.lower()
    if kind == ".npz":
        _edit_npz(source, target, edits, progress)
    elif kind in (".safetensors", ".npy"):
        shutil.copyfile(source, target)
        with target.open("r+b") as stream:
            for change in edits:
                size = change.data.shape[1]
                for row, data in zip(change.ids.tolist(), change.data, strict=True):
                    stream.seek(change.start + row * size)
                    stream.write(data.tobytes())
        progress(source.stat().st_size)
    else:
        _edit_bin(source, target, edits, progress)


def verify(
    source: Path, target: Path, edits: Sequence[Edit], progress: Progress
) -> tuple[str, str]:
    """Read both files back: SHA-256 of the source and of the target.

    Raises :class:`InputError` unless they differ in the rows alone, and these are what was to be written.
    """
    kind = target.suffix.lower()
    hashes = (hashlib.sha256(), hashlib.sha256())
    try:
        if kind in (".safetensors", ".npy"):
            with source.open("rb") as old, target.open("rb") as new:
                good = _same(old, new, edits, progress, hashes)
        else:
            good = (_same_npz if kind == ".npz" else _same_bin)(source, target, edits)
    except UNREADABLE:  # the source was read before, so it is the target
        good = False
    if not good:
        raise InputError(
            f"{target.name}: does not read back as it was written; check the disk and repair again"
        )
    if kind not in (".safetensors", ".npy"):
        for path, total in zip((source, target), hashes, strict=True):
            with path.open("rb") as stream:
                while block := stream.read(BLOCK):
                    total.update(block)
                    progress(len(block) if path is source else 0)
    return hashes[0].hexdigest(), hashes[1].hexdigest()


def _pieces(edits: Sequence[Edit]) -> tuple[list[int], list[bytes]]:
    """Where each replaced row starts, ascending, and its bytes."""
    rows = sorted(
        (
            (change.start + row * change.data.shape[1], data.tobytes())
            for change in edits
            for row, data in zip(change.ids.tolist(), change.data, strict=True)
        ),
        key=lambda piece: piece[0],
    )
    return [at for at, _ in rows], [data for _, data in rows]


def _replaced(stream: IO[bytes], edits: Sequence[Edit]) -> Iterator[tuple[bytes, bytearray]]:
    """Blocks of a stream, as they are and with the rows replaced."""
    starts, rows = _pieces(edits)
    longest = max(map(len, rows), default=0)
    begin = 0
    while block := stream.read(BLOCK):
        changed, end = bytearray(block), begin + len(block)
        for i in range(bisect_left(starts, begin - longest + 1), bisect_left(starts, end)):
            first, last = max(starts[i], begin), min(starts[i] + len(rows[i]), end)
            if first < last:
                changed[first - begin : last - begin] = rows[i][
                    first - starts[i] : last - starts[i]
                ]
        yield block, changed
        begin = end


def _same(
    old: IO[bytes],
    new: IO[bytes],
    edits: Sequence[Edit],
    progress: Progress,
    hashes: Sequence[Any] = (),
) -> bool:
    """Whether ``new`` is ``old`` with the rows replaced."""
    for block, wanted in _replaced(old, edits):
        found = new.read(len(wanted))
        if found != wanted:
            return False
        for total, part in zip(hashes, (block, found), strict=False):
            total.update(part)
        progress(len(block))
    return not new.read(1)


def _of(member: str, edits: Sequence[Edit]) -> list[Edit]:
    return [change for change in edits if member in (change.tensor, f"{change.tensor}.npy")]


def _edit_npz(source: Path, target: Path, edits: Sequence[Edit], progress: Progress) -> None:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for info in old.infolist():
            copy = zipfile.ZipInfo(info.filename, info.date_time)
            copy.compress_type, copy.external_attr = info.compress_type, info.external_attr
            with old.open(info) as reader, new.open(copy, "w", force_zip64=True) as writer:
                for _, changed in _replaced(reader, _of(info.filename, edits)):
                    writer.write(changed)
            progress(info.compress_size)


def _same_npz(source: Path, target: Path, edits: Sequence[Edit]) -> bool:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target) as new:
        if old.namelist() != new.namelist():
            return False
        for info in old.infolist():
            with old.open(info) as left, new.open(info.filename) as right:
                if not _same(left, right, _of(info.filename, edits), lambda _: None):
                    return False
    return True


# ----------------------------------------------------------------------------------------- .bin files


def _load(path: Path) -> Any:
    import torch

    # Mapped copy-on-write, a large file is not held in memory; only torch's zip format can be.
    return torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))


def _weights(state: Any) -> dict[str, Any]:
    """The tensors of a state by name: at the top, or where training scripts nest them."""
    import torch

    while isinstance(state, Mapping):
        found = {k: v for k, v in state.items() if isinstance(v, torch.Tensor)}
        inner = next((state[n] for n in NESTS if isinstance(state.get(n), Mapping)), None)
        if found or inner is None:
            return found
        state = inner
    return {}


def _edit_bin(source: Path, target: Path, edits: Sequence[Edit], progress: Progress) -> None:
    import torch

    state = _load(source)
    weights = _weights(state)
    for name, tensor in weights.items():
        if tensor.layout != torch.strided or tensor.is_quantized:
            raise InputError(
                f"{source}: tensor {name!r:.80} is sparse or quantised; save a plain state_dict"
            )
    for change in edits:
        with torch.no_grad():
            weights[change.tensor][torch.from_numpy(change.ids)] = _tensor(change)
    try:
        torch.save(state, target)
    except RuntimeError as error:  # what torch makes of a full disk
        raise OSError(
            errno.EIO, "torch cannot write it, the disk may be full", target.name
        ) from error
    progress(source.stat().st_size)


def _tensor(change: Edit) -> Any:
    import torch

    if change.dtype == "bfloat16":
        return torch.from_numpy(change.data.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(change.data.view(change.dtype).copy())


def _same_bin(source: Path, target: Path, edits: Sequence[Edit]) -> bool:
    old, new = _load(source), _load(target)
    # Names that share memory with a changed tensor change with it, and still have to share it.
    weights = _weights(old), _weights(new)
    if list(weights[0]) != list(weights[1]):
        return False
    changed = {}
    for change in edits:
        names = [_aliases(tensors, change.tensor) for tensors in weights]
        if names[0] != names[1]:
            return False
        changed |= dict.fromkeys((id(weights[0][name]) for name in names[0]), change)
    return _same_value(old, new, changed)


def _aliases(tensors: Mapping[str, Any], name: str) -> list[str]:
    place = _place(tensors[name])
    return [other for other, tensor in tensors.items() if _place(tensor) == place]


def _place(tensor: Any) -> tuple[Any, ...]:
    return tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype


def _same_value(old: Any, new: Any, changed: Mapping[int, Edit]) -> bool:
    """Whether two loaded values are the same, bits and all, but for the rows of the changed tensors (by their id)."""
    import torch

    if type(old) is not type(new):
        return False
    if isinstance(old, Mapping):
        return list(old) == list(new) and all(_same_value(old[k], new[k], changed) for k in old)
    if isinstance(old, list | tuple):
        return len(old) == len(new) and all(
            _same_value(left, right, changed) for left, right in zip(old, new, strict=True)
        )
    if not isinstance(old, torch.Tensor):
        return repr(old) == repr(new)
    if old.dtype != new.dtype or old.shape != new.shape or old.requires_grad != new.requires_grad:
        return False
    change = changed.get(id(old))
    if change is None:
        return torch.equal(_bits(old), _bits(new))
    ids = torch.from_numpy(change.ids)
    kept = torch.ones(len(old), dtype=torch.bool)
    kept[ids] = False
    written = torch.equal(_bits(new[ids]), _bits(_tensor(change)))
    return written and torch.equal(_bits(old[kept]), _bits(new[kept]))


def _bits(tensor: Any) -> Any:
    import torch

    flat = tensor.detach().contiguous().reshape(-1)
    return flat.view(torch.uint8) if flat.numel() else flat
