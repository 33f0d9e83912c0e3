"""The header of a safetensors file, read and checked; its data is left where it is.

Format: https://huggingface.co/docs/safetensors (8 bytes with the header's length, JSON, data without holes). The
safetensors package maps files into memory, which counts as the process's own; here rows are read.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NoReturn

from ...errors import InputError
from ._tensors import TensorInfo

__all__ = ["read_header"]

LONGEST_HEADER = 100_000_000
"""The reference reader's limit."""

NAMES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}

BITS = {
    name: bits
    for bits, names in {
        4: "F4",
        6: "F6_E2M3 F6_E3M2",
        8: "F8_E4M3 F8_E5M2 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ I8 U8 BOOL",
        16: "F16 BF16 I16 U16",
        32: "F32 I32 U32",
        64: "F64 I64 U64 C64",
    }.items()
    for name in names.split()
}
"""Bits of a number of each dtype of the format."""


def read_header(path: Path) -> tuple[dict[str, TensorInfo], dict[str, str]]:
    """The tensors of a file by name, and its ``__metadata__``.

    Raises :class:`InputError` when the file is not safetensors, is cut short, or its header contradicts its size.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if size < 8 or length > min(LONGEST_HEADER, size - 8):
                _refuse(path, f"header of {length:,} bytes in a file of {size:,}")
            head = stream.read(length)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    try:
        entries = json.loads(head.decode("utf-8"), object_pairs_hook=lambda p: _once(path, p))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        _refuse(path, f"its header is not JSON, {error}")
    if not isinstance(entries, dict):
        _refuse(path, "its header is no JSON object")
    metadata = entries.pop("__metadata__", {})
    data = size - 8 - length
    tensors = {
        name: _tensor(path, name, entry, 8 + length, data) for name, entry in entries.items()
    }
    end = 8 + length
    for info in sorted(tensors.values(), key=lambda t: (t.offset or 0, t.nbytes)):
        if (info.offset or 0) < end:
            _refuse(path, f"tensor {info.name!r:.80} overlaps another")
        if (info.offset or 0) > end:
            _refuse(path, f"a hole before tensor {info.name!r:.80}")
        end = (info.offset or 0) + info.nbytes
    if end != size:
        _refuse(path, f"{size - end:,} bytes behind the last tensor")
    return tensors, metadata if isinstance(metadata, dict) else {}


def _refuse(path: Path, why: str) -> NoReturn:
    raise InputError(f"{path}: damaged or not safetensors ({why}); get the file again")


def _once(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen = dict(pairs)
    if len(seen) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        _refuse(path, f"{twice!r:.80} stands twice in its header")
    return seen


def _tensor(path: Path, name: str, entry: Any, start: int, data: int) -> TensorInfo:
    try:
        word, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
    except (TypeError, KeyError, ValueError):
        _refuse(path, f"tensor {name!r:.80} lacks dtype, shape or data_offsets")
    numbers = [*shape, begin, end] if isinstance(shape, list) else [None]
    if not all(type(n) is int and n >= 0 for n in numbers):
        _refuse(path, f"tensor {name!r:.80} has no clean shape and offsets")
    if not isinstance(word, str) or word not in BITS:
        _refuse(path, f"tensor {name!r:.80} has the unknown dtype {word!r:.20}")
    if not begin <= end <= data:
        _refuse(path, f"tensor {name!r:.80} ends at byte {end:,} of {data:,}")
    if math.prod(shape) * BITS[word] != 8 * (end - begin):
        _refuse(path, f"tensor {name!r:.80} of shape {shape!r:.60} in {end - begin:,} bytes")
    return TensorInfo(
        name=name,
        file=path,
        dtype=NAMES.get(word, word),
        shape=tuple(shape),
        offset=start + begin,
        nbytes=end - begin,
    )
