"""A checkpoint on disk: its tensors, its input and output matrices, its tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...files import read_json
from ._folder import Weights, read_file, read_weights
from ._gguf import GgufFile, read_gguf
from ._matrices import (
    INPUT_NAMES,
    OUTPUT_NAMES,
    find,
    named,
    tied_by_config,
    vocabulary_size,
)
from ._numpy import read_npy, read_npz
from ._tensors import Matrix, TensorInfo
from ._tokens import Tokens, read_tokens

__all__ = ["Model", "open_model"]

SUFFIXES = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".npz", ".npy")


@dataclass(frozen=True, eq=False, kw_only=True)
class Model:
    """A checkpoint, opened; no weights are in memory but those of torch's legacy files.

    Attributes:
        path: what was opened, a file or a folder.
        kind: ``safetensors``, ``sharded safetensors``, ``torch``, ``sharded torch``, ``gguf``, ``npz`` or ``npy``.
        tensors: every tensor by name.
        input: the input embeddings ``[V, n]``, or None.
        output: the output matrix (unembeddings) ``[V, n]`` where the file has one of its own, or None. The one that
            ``tensor_name`` names, if it was given.
        tied: whether the two are one: by the configuration, or because there is no output matrix; None where nothing says.
        chosen: whether ``tensor_name`` named the output matrix.
        notes: what a reader should know, a line each.
        tokenizer: texts of ids, or None.
        config: of ``config.json``; empty where there is none.
    """

    path: Path
    kind: str
    tensors: Mapping[str, TensorInfo]
    input: Matrix | None
    output: Matrix | None
    tied: bool | None
    chosen: bool = False
    notes: tuple[str, ...] = ()
    tokenizer: Tokens | None = None
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The folder of the checkpoint."""
        return self.path if self.path.is_dir() else self.path.parent

    def unembedding(self) -> Matrix:
        """The matrix whose rows give the logits: the output matrix, or the input embeddings where they serve as it.

        Raises :class:`InputError` where the head is untied and absent, or where neither matrix was found.
        """
        if self.output is not None:
            return self.output
        if self.input is None:
            raise InputError(f"{self.path}: {_unfound(self.tensors)}")
        if self.tied is False:
            raise InputError(
                f"{self.path}: the configuration says that the output matrix is not tied, and it is not in this file; "
                f"open the file that has it, or give --tensor-name {self.input.name} for the input embeddings"
            )
        return self.input


def open_model(path: str | Path, *, tensor_name: str | None = None) -> Model:
    """Open a checkpoint: a Hugging Face folder, or a ``.safetensors``, torch, ``.gguf``, ``.npz`` or ``.npy`` file.

    ``tensor_name`` names the output matrix where the usual names do not find it. Nothing of the model's own code runs, and
    only headers are read. Raises :class:`InputError` for what is missing, damaged or hostile, in one line.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: no such file or folder; check the path")
    if path.is_dir():
        model = _lone_gguf(path)
        if model is not None:
            return _open_gguf(path, read_gguf(model), tensor_name)
        return _open(path, path, read_weights(path), tensor_name)
    if path.suffix not in SUFFIXES:
        raise InputError(
            f"{path}: unknown kind of file; give a folder or one of {' '.join(SUFFIXES)}"
        )
    if path.suffix == ".gguf":
        return _open_gguf(path, read_gguf(path), tensor_name)
    if path.suffix in (".npy", ".npz"):
        return _open_arrays(path, tensor_name)
    return _open(path, path.parent, read_file(path), tensor_name)


def _lone_gguf(folder: Path) -> Path | None:
    """The GGUF file of a folder that has one and no other weights."""
    weights = [p for p in sorted(folder.iterdir()) if p.suffix in SUFFIXES[:5] and p.is_file()]
    return weights[0] if len(weights) == 1 and weights[0].suffix == ".gguf" else None


def _open(path: Path, folder: Path, weights: Weights, tensor_name: str | None) -> Model:
    config: dict[str, Any] = {}
    if (folder / "config.json").is_file():
        config = read_json(folder / "config.json")
        if not isinstance(config, dict):
            raise InputError(f"{folder / 'config.json'}: is no JSON object; get the file again")
    tokens, notes = read_tokens(folder)

    def matrix(info: TensorInfo) -> Matrix:
        return Matrix(
            info=info,
            source=weights.rows,
        )

    return _model(path, weights.layout, weights.tensors, matrix, tensor_name, tokens, notes, config)


def _open_gguf(path: Path, file: GgufFile, tensor_name: str | None) -> Model:
    tensors = file.infos()

    def matrix(info: TensorInfo) -> Matrix:
        return Matrix(
            info=info,
            source=file,
            decoder=file.decoder(info.name),
        )

    architecture = file.value("general.architecture")
    config = {"architectures": [architecture]} if architecture else {}
    return _model(path, "gguf", tensors, matrix, tensor_name, file.tokens(), (), config)


def _open_arrays(path: Path, tensor_name: str | None) -> Model:
    tensors, rows = (read_npy if path.suffix == ".npy" else read_npz)(path)
    matrices = [t for t in tensors.values() if len(t.shape) == 2 and 0 not in t.shape]
    known = find(tensors, INPUT_NAMES, None)[0] or find(tensors, OUTPUT_NAMES, None)[0]
    if tensor_name is None and known is None:
        if len(matrices) != 1:
            names = ", ".join(f"{t.name} {list(t.shape)}" for t in matrices[:6]) or "none"
            raise InputError(
                f"{path}: which array is the output matrix? give --tensor-name ({names})"
            )
        tensor_name = matrices[0].name
    tokens, _ = read_tokens(path.parent)

    def matrix(info: TensorInfo) -> Matrix:
        return Matrix(
            info=info,
            source=rows,
        )

    return _model(path, path.suffix[1:], tensors, matrix, tensor_name, tokens, (), {})


def _model(
    path: Path,
    kind: str,
    tensors: Mapping[str, TensorInfo],
    matrix: Any,
    tensor_name: str | None,
    tokens: Tokens | None,
    notes: tuple[str, ...],
    config: Mapping[str, Any],
) -> Model:
    size = vocabulary_size(config)
    inward, rivals = find(tensors, INPUT_NAMES, size)
    outward, other = find(tensors, OUTPUT_NAMES, size)
    tied = tied_by_config(config)
    lines = [*notes]
    if tensor_name is not None:
        outward, other = named(tensors, tensor_name, path), ()
        inward = None if inward is not None and inward.name == outward.name else inward
        tied = None
    for what, chosen, rest in (("input", inward, rivals), ("output", outward, other)):
        if chosen is not None and rest:
            names = ", ".join(t.name for t in rest[:3])
            lines.append(
                f"{what} matrix: {chosen.name}; also fitting: {names} (--tensor-name chooses)"
            )
    for info in (inward, outward):
        if info is not None and 0 in info.shape:
            raise InputError(f"{path}: {info.name} has the shape {info.shape}; it has no rows")
    if outward is None and inward is not None and tensor_name is None:
        if tied is None:
            tied = True
            lines.append(_why_tied(config, inward.name))
        elif tied:
            lines.append(f"no output matrix and tied embeddings: {inward.name} serves as both")
    return Model(
        path=path,
        kind=kind,
        tensors=tensors,
        input=matrix(inward) if inward is not None else None,
        output=matrix(outward) if outward is not None else None,
        tied=tied,
        chosen=tensor_name is not None,
        notes=tuple(lines),
        tokenizer=tokens,
        config=config,
    )


def _why_tied(config: Mapping[str, Any], name: str) -> str:
    architectures = config.get("architectures")
    kind = str(architectures[0]) if isinstance(architectures, list) and architectures else ""
    if kind.endswith("Model"):
        return f"{kind} has no output matrix: {name} is audited"
    if name == "token_embd.weight":
        return f"GGUF without an output matrix: {name} serves as both"
    if config:
        return f"no output matrix, and nothing says that it is untied: {name} is taken for both"
    return f"no output matrix and no configuration: {name} is taken for both"


def _unfound(tensors: Mapping[str, TensorInfo]) -> str:
    tall = sorted((t for t in tensors.values() if len(t.shape) == 2), key=lambda t: -t.shape[0])
    there = ", ".join(f"{t.name} {list(t.shape)}" for t in tall[:4]) or "none"
    return (
        f"no matrix under a usual name; give --tensor-name; its tallest matrices are {there:.400}"
    )
