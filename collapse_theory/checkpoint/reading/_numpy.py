"""``.npy`` and ``.npz``: headers read and checked, rows read in blocks, no pickles."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ...errors import InputError
from ._dtypes import raw_dtype
from ._tensors import FileRows, Rows, TensorInfo, fill

__all__ = ["ZipRows", "read_npy", "read_npz"]

LARGEST_RATIO = 100
LARGE = 1 << 30
"""A member that unpacks to more than LARGE bytes and LARGEST_RATIO times its packed size is taken for a bomb."""

DTYPES = {"f8": "float64", "f4": "float32", "f2": "float16", "V2": "bfloat16"}
"""``V2`` is what NumPy makes of JAX's bfloat16."""


def read_npy(path: Path) -> tuple[dict[str, TensorInfo], Rows]:
    """The one array of a ``.npy`` file, under the file's stem. Raises :class:`InputError` for a damaged file."""
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            info = _header(stream, path, path.stem, size, plain=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    return {info.name: info}, FileRows()


def read_npz(path: Path) -> tuple[dict[str, TensorInfo], Rows]:
    """The arrays of a ``.npz`` file by name. Raises :class:`InputError` for a damaged file or one that unpacks to
    far more than it has."""
    found: dict[str, TensorInfo] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                name = member.filename.removesuffix(".npy")
                if name in found:
                    raise InputError(
                        f"{path}: array {name!r:.80} stands twice in it; make it again"
                    )
                packed, size = member.compress_size, member.file_size
                if size > LARGE and size > LARGEST_RATIO * packed:
                    raise InputError(
                        f"{path}: array {name!r:.80} would unpack {packed:,} bytes to {size:,}; refused"
                    )
                if member.filename.endswith(".npy"):
                    with archive.open(member) as stream:
                        found[name] = _header(stream, path, name, size, plain=False)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except Exception as error:  # zipfile raises what zlib, struct and its own checks raise
        raise InputError(f"{path}: damaged .npz ({error}); make it again") from error
    return found, ZipRows()


def _header(stream: IO[bytes], path: Path, name: str, size: int, *, plain: bool) -> TensorInfo:
    try:
        version = npy.read_magic(stream)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, by_columns, dtype = read(stream)
    except Exception as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise InputError(f"{path}: array {name!r:.80} is damaged ({reason})") from error
    start = stream.tell()
    if dtype.hasobject:
        raise InputError(f"{path}: array {name!r:.80} holds Python objects; save plain numbers")
    count = math.prod(int(n) for n in shape)
    if any(n < 0 for n in shape) or count * dtype.itemsize != size - start:
        raise InputError(
            f"{path}: array {name!r:.80} of shape {shape!r:.60} in {size - start:,} bytes; it is damaged"
        )
    if (by_columns and len(shape) > 1) or dtype.str.startswith(">"):
        word = f"{dtype.str} by columns" if by_columns else dtype.str
    else:
        word = DTYPES.get(dtype.str[1:], dtype.str)
    return TensorInfo(
        name=name,
        file=path,
        dtype=word,
        shape=tuple(int(n) for n in shape),
        offset=start if plain else None,
        nbytes=count * dtype.itemsize,
    )


class ZipRows:
    """Rows of an array within a zip file, unpacked on the way."""

    @contextmanager
    def open(self, info: TensorInfo) -> Iterator[_ZipReader]:
        with zipfile.ZipFile(info.file) as archive, archive.open(f"{info.name}.npy") as stream:
            start = info_start(stream)
            yield _ZipReader(info, stream, start)


def info_start(stream: IO[bytes]) -> int:
    """Skip a ``.npy`` header that was checked before; bytes up to the data."""
    version = npy.read_magic(stream)
    (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(stream)
    return stream.tell()


class _ZipReader:
    def __init__(self, info: TensorInfo, stream: IO[bytes], start: int) -> None:
        self.info, self.stream, self.start = info, stream, start
        self.dtype = raw_dtype(info.dtype)

    def read(self, start: int, stop: int) -> NDArray:
        out = np.empty((stop - start, self.info.shape[1]), self.dtype)
        place = self.start + start * self.info.shape[1] * self.dtype.itemsize
        try:
            if self.stream.tell() != place:
                self.stream.seek(place)
            fill(self.stream, out, self.info)
        except (zipfile.BadZipFile, OSError, EOFError, ValueError) as error:
            raise (
                error
                if isinstance(error, InputError)
                else InputError(
                    f"{self.info.file}: damaged within array {self.info.name!r:.80} ({error})"
                )
            ) from error
        return out
