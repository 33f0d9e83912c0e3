"""New rows as the bytes of a checkpoint's dtype, and whether they are still distinct as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError

__all__ = ["ITEM_SIZE", "decode", "encode", "first_of_equals", "row_keys"]

ITEM_SIZE = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
"""Bytes of an entry, of the dtypes that rows can be written in."""

_STORED = {"float64": "<f8", "float32": "<f4", "float16": "<f2", "bfloat16": "<u2"}
_BIAS = np.uint32(0x7FFF)


def encode(rows: NDArray[np.float64], dtype: str) -> NDArray[np.uint8]:
    """Rows ``[k, n]`` rounded to ``dtype`` (to nearest, ties to even), as little-endian bytes ``[k, n * size]``.

    Raises :class:`InputError` for a dtype that rows cannot be written in, or an entry beyond its range.
    """
    if dtype not in ITEM_SIZE:
        raise InputError(
            f"dtype {dtype}: rows cannot be written in it; repair the checkpoint in one of "
            f"{', '.join(ITEM_SIZE)} and convert it afterwards"
        )
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore"):
        if dtype == "bfloat16":
            bits = rows.astype("<f4").view("<u4")
            # bfloat16 is the upper half of float32: add half a unit of it, a little less where it is even.
            odd = (bits >> np.uint32(16)) & np.uint32(1)
            stored: NDArray[Any] = ((bits + _BIAS + odd) >> np.uint32(16)).astype("<u2")
        else:
            stored = rows.astype(_STORED[dtype])
    data = np.ascontiguousarray(stored).view(np.uint8).reshape(len(rows), -1)
    if not np.isfinite(decode(data, dtype)).all():
        raise InputError(
            f"norm: entries up to {np.abs(rows).max():.4g} are beyond the range of {dtype}; "
            "choose a smaller norm"
        )
    return data


def decode(data: NDArray[np.uint8], dtype: str) -> NDArray[np.float64]:
    """Bytes ``[k, n * size]`` as float64 rows ``[k, n]``, exactly."""
    stored = np.ascontiguousarray(data).view(_STORED[dtype])
    if dtype == "bfloat16":
        stored = (stored.astype("<u4") << np.uint32(16)).view("<f4")
    return stored.astype(np.float64)


def row_keys(data: NDArray[np.uint8], dtype: str) -> NDArray[Any]:
    """One hashable key for each row ``[k]``: equal keys for equal numbers, 0 and -0 alike."""
    values: NDArray[Any] = data.copy().view(_STORED[dtype])
    values[values == (0x8000 if dtype == "bfloat16" else 0)] = 0
    packed = values.view(np.uint8).reshape(data.shape)
    return packed.view(np.dtype((np.void, data.shape[1]))).ravel()


def first_of_equals(keys: NDArray[Any]) -> NDArray[np.bool_]:
    """Which keys ``[k]`` do not repeat an earlier one."""
    _, first = np.unique(keys, return_index=True)
    new = np.zeros(len(keys), dtype=bool)
    new[first] = True
    return new
