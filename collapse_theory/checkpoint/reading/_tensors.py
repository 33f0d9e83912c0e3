"""A tensor that lies in a file, and rows of it read in blocks by plain sequential reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from ._dtypes import FLOATS, Decoder, decode, raw_dtype

__all__ = ["FileRows", "Matrix", "Reader", "Rows", "TensorInfo"]

BLOCK_BYTES = 8 << 20
"""About how many bytes of float32 a block of rows has."""


@dataclass(frozen=True, kw_only=True)
class TensorInfo:
    """Where a tensor lies.

    Attributes:
        name: as in its file.
        file: the file it lies in.
        dtype: ``float32``, ``float16``, ``bfloat16``, ..., or the file's own word for another format (``I64``, ``Q8_0``).
        shape: its sizes.
        offset: bytes from the start of the file to its data; None where they do not lie there plainly.
        nbytes: bytes of its data.
    """

    name: str
    file: Path
    dtype: str
    shape: tuple[int, ...]
    offset: int | None
    nbytes: int


class Reader(Protocol):
    """Rows of one tensor while its file is open."""

    def read(self, start: int, stop: int) -> NDArray:
        """The bits of rows ``start`` to ``stop - 1``, ``[b, n]`` of the format's raw dtype, or ``[b, bytes]``."""
        ...


class Rows(Protocol):
    """Opens a tensor's file."""

    def open(self, info: TensorInfo) -> AbstractContextManager[Reader]: ...


@dataclass(frozen=True)
class FileRows:
    """Rows that lie one after another in a plain file."""

    def open(self, info: TensorInfo) -> AbstractContextManager[Reader]:
        return _FileReader(info)


class _FileReader:
    def __init__(self, info: TensorInfo) -> None:
        self.info = info
        self.dtype = raw_dtype(info.dtype)
        self.width = info.nbytes // max(1, info.shape[0]) // self.dtype.itemsize
        self.stream: IO[bytes] | None = None

    def __enter__(self) -> _FileReader:
        try:
            # Unbuffered: a block is read at once, into the array itself.
            self.stream = self.info.file.open("rb", buffering=0)
        except OSError as error:
            raise InputError(f"{self.info.file}: cannot be read ({error.strerror})") from error
        return self

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            self.stream.close()

    def read(self, start: int, stop: int) -> NDArray:
        assert self.stream is not None
        out = np.empty((stop - start, self.width), self.dtype)
        row = self.width * self.dtype.itemsize
        self.stream.seek((self.info.offset or 0) + start * row)
        fill(self.stream, out, self.info)
        return out


def fill(stream: IO[bytes], out: NDArray, info: TensorInfo) -> None:
    """Read exactly as many bytes as there is place for. Raises :class:`InputError` when the file ends before."""
    place = out.reshape(-1).view(np.uint8).data
    done = 0
    while done < len(place):
        count = stream.readinto(place[done:])  # type: ignore[attr-defined]
        if not count:
            raise InputError(f"{info.file}: ends within tensor {info.name}; get the file again")
        done += count


@dataclass(frozen=True, eq=False, kw_only=True)
class Matrix:
    """A matrix on disk with one row a token.

    Nothing of it stays in memory: each call reads anew. Numbers may be NaN or infinite where the file has such.

    Attributes:
        info: what the tensor is and where it lies.
    """

    info: TensorInfo
    source: Rows = field(repr=False)
    decoder: Decoder | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.decoder is None and self.dtype not in FLOATS:
            fix = (
                "save it row by row, with numpy.ascontiguousarray"
                if "by columns" in self.dtype
                else "only floating-point matrices can be read"
            )
            raise InputError(f"{self.info.file}: {self.name} is stored as {self.dtype}; {fix}")

    @property
    def name(self) -> str:
        """Of the tensor."""
        return self.info.name

    @property
    def rows(self) -> int:
        """V."""
        return self.info.shape[0]

    @property
    def dim(self) -> int:
        """n, numbers in a row."""
        return self.info.shape[1]

    @property
    def dtype(self) -> str:
        """The stored format."""
        return self.info.dtype

    def blocks(self, rows_per_block: int | None = None) -> Iterator[tuple[int, NDArray]]:
        """Pairs of the first row's id and float32 rows ``[b, n]``, from the first row to the last.

        Raises :class:`InputError` when the file ends early.
        """
        step = rows_per_block or max(1, BLOCK_BYTES // (4 * self.dim))
        with self.source.open(self.info) as reader:
            for start in range(0, self.rows, step):
                yield start, self._decoded(reader.read(start, min(start + step, self.rows)))

    def take(self, ids: ArrayLike) -> NDArray[np.float32]:
        """float32 rows ``[k, n]`` in the order of ``ids``. Raises :class:`InputError` for an id out of range."""
        ids = self._checked(ids)
        out = np.empty((len(ids), self.dim), np.float32)
        for places, bits in self._runs(ids):
            out[places] = self._decoded(bits)
        return out

    def raw(self, ids: ArrayLike) -> NDArray:
        """The stored bits of rows: ``[k, n]`` of float64, float32, float16, of uint16 for bfloat16, of uint8 for 8-bit
        numbers; ``[k, bytes]`` of uint8 for a quantised format. Raises :class:`InputError` for an id out of range."""
        ids = self._checked(ids)
        found = list(self._runs(ids))
        if not found:
            with self.source.open(self.info) as reader:
                return reader.read(0, 0)
        out = np.empty((len(ids), found[0][1].shape[1]), found[0][1].dtype)
        for places, bits in found:
            out[places] = bits
        return out

    def _decoded(self, bits: NDArray) -> NDArray[np.float32]:
        if self.decoder is not None:
            return self.decoder(bits)
        return decode(bits, self.dtype)

    def _checked(self, ids: ArrayLike) -> NDArray[np.int64]:
        ids = np.asarray(ids, dtype=np.int64).reshape(-1)
        if ids.size and (ids.min() < 0 or ids.max() >= self.rows):
            bad = ids[(ids < 0) | (ids >= self.rows)][0]
            raise InputError(f"{self.name}: no row {bad}; rows run from 0 to {self.rows - 1}")
        return ids

    def _runs(self, ids: NDArray[np.int64]) -> Iterator[tuple[NDArray, NDArray]]:
        """Places in ``ids`` and the bits for them: one read for neighbouring ids, in the order of the file."""
        if not ids.size:
            return
        order = np.argsort(ids, kind="stable")
        unique, first = np.unique(ids[order], return_index=True)
        most = max(1, BLOCK_BYTES // (4 * self.dim))
        breaks = np.flatnonzero(np.diff(unique) != 1) + 1
        with self.source.open(self.info) as reader:
            for run in np.split(np.arange(len(unique)), breaks):
                for part in range(0, len(run), most):
                    chosen = run[part : part + most]
                    bits = reader.read(int(unique[chosen[0]]), int(unique[chosen[-1]]) + 1)
                    low = first[chosen[0]]
                    high = first[chosen[-1] + 1] if chosen[-1] + 1 < len(unique) else len(ids)
                    places = order[low:high]
                    yield places, bits[ids[places] - unique[chosen[0]]]
