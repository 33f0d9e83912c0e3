"""Synthetic checkpoints: output matrices with every diagnosis, in every layout that is read."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

DIAGNOSES = (
    "collapse",
    "decay",
    "initialisation",
    "mean_resized",
    "zero",
    "duplicates",
    "trained",
)

LAYOUTS = (
    "safetensors",
    "sharded safetensors",
    "torch",
    "legacy torch",
    "sharded torch",
    "lone safetensors",
    "npz",
    "npy",
    "gguf",
)

DTYPES = {
    "float64": torch.float64,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float8_e4m3fn": torch.float8_e4m3fn,
    "float8_e5m2": torch.float8_e5m2,
}


@dataclass(frozen=True)
class Vocabulary:
    """An output matrix and what its rows are.

    rows: float32 [V, n]; unused: ids of rows that never were targets; texts: of all V ids.
    """

    rows: np.ndarray
    unused: np.ndarray
    texts: list[str]


def trained_rows(rng, vocab, dim, *, families=True):
    """Rows as trained ones look: a common mean, norms that differ, families of similar rows (digits, function words)."""
    rows = rng.normal(0, 0.05, (vocab, dim)) * rng.lognormal(0, 0.15, (vocab, 1))
    if families:
        for first in range(20, min(100, vocab - 20), 20):
            centre = rng.normal(0, 0.05, dim)
            rows[first : first + 10] = centre + rng.normal(0, 0.02, (10, dim))
    return (rows + rng.normal(0, 0.02, dim)).astype(np.float32)


def vocabulary(diagnosis, rng, *, vocab=1024, dim=64, unused=64):
    """A matrix whose last ``unused`` rows, named ``<unused0>`` and so on, have come to be as ``diagnosis`` says."""
    rows = trained_rows(rng, vocab, dim)
    ids = np.arange(vocab - unused, vocab)
    used = rows[: vocab - unused].astype(np.float64)
    shape = (unused, dim)
    initial = rng.normal(0, 0.02, shape)
    match diagnosis:
        case "collapse":
            fresh = rng.normal(0, 0.03, dim) + rng.normal(0, 0.0003, shape)
        case "decay":
            fresh = initial * 0.05
        case "initialisation":
            fresh = initial
        case "mean_resized":
            centred = used - used.mean(axis=0)
            spread = centred.T @ centred / len(used)
            fresh = rng.multivariate_normal(used.mean(axis=0), 1e-9 * spread, unused)
        case "zero":
            fresh = np.zeros(shape)
        case "duplicates":
            fresh = np.repeat(used[:1], unused, axis=0)
        case "trained":
            fresh = trained_rows(rng, unused, dim, families=False) + used.mean(axis=0)
        case _:
            raise ValueError(diagnosis)
    rows[ids] = fresh
    texts = [f"tok{i}" for i in range(vocab - unused)] + [f"<unused{i}>" for i in range(unused)]
    return Vocabulary(rows, ids, texts)


def write_tokenizer(folder, texts):
    """A tokenizer.json with these texts."""
    data = {
        "version": "1.0",
        "model": {"type": "WordLevel", "vocab": {t: i for i, t in enumerate(texts)}},
        "added_tokens": [],
    }
    (Path(folder) / "tokenizer.json").write_text(json.dumps(data))


def write(
    folder,
    rows,
    layout="safetensors",
    *,
    dtype="float32",
    texts=None,
    head=None,
    tied=True,
    config=None,
    shards=2,
):
    """Write a checkpoint and return the path to open: the folder, or the file of a lone one.

    ``rows`` are the input embeddings; ``head`` the output matrix, if the file has one of its own. Some other tensors lie
    beside them. ``tied`` goes into config.json (None leaves it out).
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if layout == "npy":
        np.save(folder / "rows.npy", rows)
        return folder / "rows.npy"
    if layout == "npz":
        np.savez(folder / "rows.npz", **{"lm_head.weight": rows, "step": np.arange(3)})
        return folder / "rows.npz"
    if layout == "gguf":
        return write_gguf(folder / "model.gguf", rows, texts=texts)
    kind = DTYPES[dtype]
    tensors = {
        "model.embed_tokens.weight": torch.tensor(rows).to(kind),
        "model.layers.0.mlp.weight": torch.arange(12, dtype=torch.float32).reshape(3, 4),
        "model.norm.weight": torch.ones(rows.shape[1], dtype=torch.float32),
    }
    if head is not None:
        tensors["lm_head.weight"] = torch.tensor(head).to(kind)
    if layout == "lone safetensors":
        save_file(tensors, folder / "weights.safetensors")
        return folder / "weights.safetensors"
    settings = {"architectures": ["TinyForCausalLM"], "vocab_size": len(rows)} | (config or {})
    if tied is not None:
        settings["tie_word_embeddings"] = tied
    (folder / "config.json").write_text(json.dumps(settings))
    if texts is not None:
        write_tokenizer(folder, texts)
    safe = "safetensors" in layout
    save = save_file if safe else torch.save
    if layout == "safetensors":
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    elif layout in ("torch", "legacy torch"):
        torch.save(
            tensors,
            folder / "pytorch_model.bin",
            _use_new_zipfile_serialization=layout == "torch",
        )
    else:
        stem, suffix = ("model", "safetensors") if safe else ("pytorch_model", "bin")
        names = {
            name: f"{stem}-{k % shards + 1:05d}-of-{shards:05d}.{suffix}"
            for k, name in enumerate(tensors)
        }
        for file in set(names.values()):
            save({n: t for n, t in tensors.items() if names[n] == file}, folder / file)
        index = {"metadata": {"total_size": 0}, "weight_map": names}
        (folder / f"{stem}.{suffix}.index.json").write_text(json.dumps(index))
    return folder


def write_gguf(path, rows, *, texts=None, kind="Q8_0"):
    """A GGUF file with these rows as its token embeddings."""
    from gguf import GGMLQuantizationType, GGUFWriter
    from gguf.quants import quantize

    writer = GGUFWriter(path, "llama")
    if texts is not None:
        writer.add_tokenizer_model("llama")
        writer.add_token_list(texts)
    quantisation = GGMLQuantizationType[kind]
    data = quantize(rows.astype(np.float32), quantisation)
    writer.add_tensor("token_embd.weight", data, raw_dtype=quantisation)
    writer.add_tensor("output_norm.weight", np.ones(rows.shape[1], np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
