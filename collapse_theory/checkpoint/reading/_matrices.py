"""Which tensors are the input and output matrices: by the names that published models use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InputError
from ._tensors import TensorInfo

__all__ = ["INPUT_NAMES", "OUTPUT_NAMES", "find", "tied_by_config", "vocabulary_size"]

INPUT_NAMES = (
    "embed_tokens.weight",  # Llama, Mistral, Gemma, Qwen, Phi, OPT, BART's parts
    "wte.weight",  # GPT-2, GPT-J, MPT, nanoGPT, OLMo
    "word_embeddings.weight",  # BERT and its kin, Falcon, BLOOM, ChatGLM
    "embed_in.weight",  # GPT-NeoX, Pythia
    "shared.weight",  # T5, BART
    "tok_embeddings.weight",  # Llama in Meta's own files, ModernBERT, InternLM2
    "token_embd.weight",  # GGUF
    "backbone.embeddings.weight",  # Mamba
    "backbone.embedding.weight",  # Mamba in its authors' files
    "word_embedding.weight",  # XLNet
    "emb.weight",  # RWKV
    "wte",  # files of bare arrays
    "embedding",
    "embeddings",
)
"""Ends of the names of input embeddings, the more telling first; the parts before them are free."""

OUTPUT_NAMES = (
    "lm_head.weight",  # most causal models, T5
    "embed_out.weight",  # GPT-NeoX, Pythia
    "cls.predictions.decoder.weight",  # BERT
    "lm_head.decoder.weight",  # RoBERTa
    "predictions.decoder.weight",  # ALBERT
    "vocab_projector.weight",  # DistilBERT
    "generator_lm_head.weight",  # ELECTRA
    "lm_loss.weight",  # XLNet
    "output_layer.weight",  # ChatGLM
    "output_projection.weight",  # fairseq
    "proj_out.weight",  # Whisper
    "ff_out.weight",  # OLMo's first files
    "lm_head.linear.weight",  # Phi-1
    "head.weight",  # RWKV, minGPT
    "output.weight",  # GGUF, Llama in Meta's own files
    "decoder.weight",  # PyTorch's language-model example, ModernBERT
    "lm_head",  # files of bare arrays
    "unembedding",
)
"""Ends of the names of output matrices (unembeddings), the more telling first."""

SHORT = frozenset({"emb.weight", "head.weight", "output.weight", "decoder.weight", "ff_out.weight"})
"""Names that parts of other layers have too: they count as whole names or right below a model's root."""


def find(
    tensors: Mapping[str, TensorInfo], names: tuple[str, ...], size: int | None
) -> tuple[TensorInfo | None, tuple[TensorInfo, ...]]:
    """The matrix under the first of ``names`` that occurs, and others that the same name would fit.

    ``size`` is the configuration's number of rows: among several, one with at least so many rows is preferred, then the
    shortest name.
    """
    for name in names:
        fitting = [t for t in tensors.values() if len(t.shape) == 2 and _fits(t.name, name)]
        if fitting:
            fitting.sort(key=lambda t: (size is not None and t.shape[0] < size, len(t.name)))
            return fitting[0], tuple(fitting[1:])
    return None, ()


def _fits(name: str, end: str) -> bool:
    if name == end:
        return True
    if not name.endswith("." + end):
        return False
    return end not in SHORT or name.removesuffix("." + end) in ("model", "transformer", "module")


def named(tensors: Mapping[str, TensorInfo], name: str, where: object) -> TensorInfo:
    """The tensor that the user named. Raises :class:`InputError` when there is no such matrix."""
    if name not in tensors:
        matrices = [t.name for t in tensors.values() if len(t.shape) == 2]
        matrices.sort(key=lambda n: -tensors[n].shape[0])
        there = ", ".join(matrices[:6]) or "none"
        raise InputError(f"{where}: no tensor {name!r:.80}; its tallest matrices are {there:.400}")
    info = tensors[name]
    if len(info.shape) != 2 or 0 in info.shape:
        raise InputError(
            f"{where}: {name!r:.80} has the shape {info.shape}; a matrix with one row a token is needed"
        )
    return info


def tied_by_config(config: Mapping[str, Any]) -> bool | None:
    """What ``tie_word_embeddings`` says, of the whole model or its text part; None where nothing does."""
    for part in (config, *(config.get(k) for k in ("text_config", "llm_config", "decoder"))):
        if isinstance(part, Mapping) and isinstance(part.get("tie_word_embeddings"), bool):
            return part["tie_word_embeddings"]
    return None


def vocabulary_size(config: Mapping[str, Any]) -> int | None:
    """``vocab_size``, of the whole model or its text part."""
    for part in (config, *(config.get(k) for k in ("text_config", "llm_config", "decoder"))):
        if isinstance(part, Mapping) and type(part.get("vocab_size")) is int:
            return part["vocab_size"]
    return None
