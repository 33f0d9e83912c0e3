"""Number formats of stored tensors: their names, their sizes, and their way to float32."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["FLOATS", "RELATIVE_STEP", "decode", "raw_dtype"]

FLOATS = {
    "float64": np.dtype("<f8"),
    "float32": np.dtype("<f4"),
    "float16": np.dtype("<f2"),
    "bfloat16": np.dtype("<u2"),
    "float8_e4m3fn": np.dtype("u1"),
    "float8_e5m2": np.dtype("u1"),
}
"""Formats whose numbers stand one after another, with the NumPy dtype that holds their bits."""

RELATIVE_STEP = {
    "float64": 2.0**-52,
    "float32": 2.0**-23,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
    "float8_e4m3fn": 2.0**-3,
    "float8_e5m2": 2.0**-2,
}
"""Gap between neighbouring numbers of a format, relative to the lower end of their power of two."""


def raw_dtype(name: str) -> np.dtype:
    """The NumPy dtype of the bits; bytes for a quantised format."""
    return FLOATS.get(name, np.dtype("u1"))


def decode(bits: NDArray, name: str) -> NDArray[np.float32]:
    """float32 numbers of the same shape, exact but for float64, which is rounded. ``bits`` is of :func:`raw_dtype`."""
    if name == "bfloat16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    if name.startswith("float8"):
        return _float8(name)[bits]
    with np.errstate(over="ignore"):  # float64 beyond float32 becomes inf, which callers refuse
        return bits.astype(np.float32)


@cache
def _float8(name: str) -> NDArray[np.float32]:
    """All 256 numbers of an 8-bit format. Micikevicius et al. 2022, "FP8 formats for deep learning", table 1."""
    code = np.arange(256)
    sign = np.where(code & 0x80, -1.0, 1.0)
    mantissa_bits, bias = (3, 7) if name == "float8_e4m3fn" else (2, 15)
    exponent = (code & 0x7F) >> mantissa_bits
    mantissa = (code & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    value = np.where(
        exponent == 0,
        mantissa * 2.0 ** (1 - bias),
        (1 + mantissa) * 2.0 ** (exponent.astype(float) - bias),
    )
    if name == "float8_e4m3fn":
        value[(code & 0x7F) == 0x7F] = np.nan
    else:
        top = exponent == 31
        value[top] = np.where(mantissa[top] == 0, np.inf, np.nan)
    return (sign * value).astype(np.float32)


Decoder = Callable[[NDArray], NDArray[np.float32]]
