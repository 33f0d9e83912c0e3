"""``pytorch_model.bin`` and other files of ``torch.save``, legacy ones too: read with ``weights_only``, so no code runs."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ._tensors import TensorInfo

__all__ = ["TorchRows", "read_torch"]

NESTS = ("state_dict", "model", "module", "model_state_dict")
"""Under which training scripts keep the weights in a larger dictionary."""


class TorchRows:
    """Rows of tensors that torch has loaded."""

    def __init__(self, tensors: Mapping[str, Any]) -> None:
        self.tensors = tensors

    @contextmanager
    def open(self, info: TensorInfo) -> Iterator[_TorchReader]:
        yield _TorchReader(self.tensors[info.name])


class _TorchReader:
    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def read(self, start: int, stop: int) -> NDArray:
        import torch

        rows = self.tensor[start:stop].detach().contiguous()
        bits = {torch.bfloat16: torch.uint16}.get(rows.dtype)
        if bits is None and str(rows.dtype).startswith("torch.float8"):
            bits = torch.uint8
        return np.array((rows if bits is None else rows.view(bits)).numpy())


def read_torch(path: Path) -> tuple[dict[str, TensorInfo], TorchRows]:
    """The dense tensors of a file by name, and what reads their rows.

    Raises :class:`InputError` when the file is damaged, holds anything but tensors and plain values, or no tensors.
    """
    import torch

    _check_zip(path)
    try:
        # Mapped where the format allows: then only the rows that are asked for are read.
        loaded = torch.load(
            path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path)
        )
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; check the path") from error
    except pickle.UnpicklingError as error:
        raise InputError(
            f"{path}: refused, it holds more than plain tensors ({_first(error)}); save a state_dict"
        ) from error
    except Exception as error:  # torch raises what its parsers raise
        raise InputError(
            f"{path}: damaged or not a file of torch.save ({_first(error)}); get the file again"
        ) from error
    while isinstance(loaded, Mapping) and not _tensors(loaded):
        inner = next((loaded[n] for n in NESTS if isinstance(loaded.get(n), Mapping)), None)
        if inner is None:
            break
        loaded = inner
    tensors = _tensors(loaded) if isinstance(loaded, Mapping) else {}
    if not tensors:
        raise InputError(f"{path}: holds no named tensors; save a state_dict")
    infos = {
        name: TensorInfo(
            name=name,
            file=path,
            dtype=str(tensor.dtype).removeprefix("torch."),
            shape=tuple(tensor.shape),
            offset=None,
            nbytes=tensor.numel() * tensor.element_size(),
        )
        for name, tensor in tensors.items()
    }
    return infos, TorchRows(tensors)


def _tensors(loaded: Mapping[Any, Any]) -> dict[str, Any]:
    import torch

    return {
        name: value
        for name, value in loaded.items()
        if isinstance(name, str)
        and isinstance(value, torch.Tensor)
        and value.layout == torch.strided
        and not value.is_quantized
        and value.device.type == "cpu"
    }


def _check_zip(path: Path) -> None:
    """torch keeps its records stored, not compressed: a compressed one can be a bomb."""
    if not zipfile.is_zipfile(path):
        return
    try:
        with zipfile.ZipFile(path) as archive:
            packed = [i.filename for i in archive.infolist() if i.compress_type]
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise InputError(f"{path}: damaged zip file ({error}); get the file again") from error
    if packed:
        raise InputError(f"{path}: record {packed[0]!r:.80} is compressed, which torch never does")


def _first(error: BaseException) -> str:
    """The first sentence of a message that may have many lines."""
    line = " ".join(str(error).split())
    for mark in ("WeightsUnpickler error: ", "message: "):
        line = line.partition(mark)[2] or line
    return line.split(". ")[0][:160] or type(error).__name__
