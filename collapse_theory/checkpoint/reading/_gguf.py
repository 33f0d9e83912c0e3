"""GGUF files, by the ``gguf`` package: quantised rows are decoded by its own code, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ._tensors import TensorInfo
from ._tokens import Tokens

__all__ = ["GgufFile", "read_gguf"]

CONTROL, UNUSED = 3, 5
"""Of ``tokenizer.ggml.token_type``."""


class GgufFile:
    """An open GGUF file: rows, decoders, tokens and a few settings."""

    def __init__(self, path: Path, reader: Any) -> None:
        self.path = path
        self.reader = reader
        self.by_name = {tensor.name: tensor for tensor in reader.tensors}
        if len(self.by_name) < len(reader.tensors):
            raise InputError(f"{path}: a tensor's name stands twice in it; get the file again")

    def infos(self) -> dict[str, TensorInfo]:
        return {
            name: TensorInfo(
                name=name,
                file=self.path,
                dtype=tensor.tensor_type.name,
                # GGUF counts from the fastest dimension; ours is row by row.
                shape=tuple(int(n) for n in reversed(tensor.shape.tolist())),
                offset=int(tensor.data_offset),
                nbytes=int(tensor.n_bytes),
            )
            for name, tensor in self.by_name.items()
        }

    def decoder(self, name: str) -> Any:
        from gguf.quants import dequantize

        kind = self.by_name[name].tensor_type
        return lambda bits: np.asarray(dequantize(bits, kind), dtype=np.float32)

    @contextmanager
    def open(self, info: TensorInfo) -> Iterator[_GgufReader]:
        yield _GgufReader(self.by_name[info.name].data)

    def value(self, key: str) -> Any:
        field = self.reader.get_field(key)
        return None if field is None else field.contents()

    def tokens(self) -> Tokens | None:
        texts = self.value("tokenizer.ggml.tokens")
        if not isinstance(texts, list):
            return None
        kinds = self.value("tokenizer.ggml.token_type")
        kinds = kinds if isinstance(kinds, list) and len(kinds) == len(texts) else []
        return Tokens(
            texts=dict(enumerate(texts)),
            source=f"{self.path.name} (its own list)",
            byte_level=self.value("tokenizer.ggml.model") == "gpt2",
            special=frozenset(i for i, kind in enumerate(kinds) if kind == CONTROL),
            declared_unused=frozenset(i for i, kind in enumerate(kinds) if kind == UNUSED),
        )


class _GgufReader:
    def __init__(self, data: NDArray) -> None:
        self.data = data

    def read(self, start: int, stop: int) -> NDArray:
        return np.array(self.data[start:stop])


def read_gguf(path: Path) -> GgufFile:
    """Open a GGUF file. Raises :class:`InputError` when it is damaged or the package ``gguf`` is not installed."""
    try:
        from gguf import GGUFReader
    except ImportError as error:
        raise InputError(
            f"{path}: reading GGUF needs a package; run: pip install 'collapse_theory[gguf]'"
        ) from error
    try:
        reader = GGUFReader(path)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; check the path") from error
    except Exception as error:  # the parser raises what NumPy raises on bytes that are not there
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise InputError(f"{path}: damaged or not GGUF ({reason}); get the file again") from error
    return GgufFile(path, reader)
