"""A small checkpoint to try ``audit`` and ``repair`` on: python -m docs.demo model

It is made, not trained: 2,048 x 64 untied matrices in bfloat16, whose last 48 rows are reserved tokens that have come
together, as rows that are never targets do under weight decay.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path

import numpy as np

VOCAB, DIM, RESERVED = 2048, 64, 48


def write_demo(folder: Path) -> None:
    """Write the checkpoint: config.json, tokenizer.json, model.safetensors."""
    import torch
    from safetensors.torch import save_file

    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {}
    for name, size in (("model.embed_tokens.weight", 0.02), ("lm_head.weight", 0.05)):
        rows = rng.normal(0, size, (VOCAB, DIM)) * rng.lognormal(0, 0.2, (VOCAB, 1))
        rows += rng.normal(0, size / 3, DIM)
        fresh = rng.normal(0, 0.02, (RESERVED, DIM))
        rows[-RESERVED:] = 0.01 * fresh + rng.normal(0, size / 2, DIM)
        tensors[name] = torch.from_numpy(rows).to(torch.bfloat16)
    tensors["model.norm.weight"] = torch.ones(DIM, dtype=torch.bfloat16)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    texts = [f"word{i}" for i in range(VOCAB - RESERVED)]
    texts += [f"<|reserved_special_token_{i}|>" for i in range(RESERVED)]
    vocabulary = {text: i for i, text in enumerate(texts)}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "model": {"type": "WordLevel", "vocab": vocabulary},
    }
    config = {
        "architectures": ["DemoForCausalLM"],
        "vocab_size": VOCAB,
        "tie_word_embeddings": False,
    }
    for file, data in (("tokenizer.json", tokenizer), ("config.json", config)):
        (folder / file).write_text(json.dumps(data), encoding="utf-8")


def shown(*commands: str) -> str:
    """Commands of collapse-theory that are run on the demo, and what they print; of audits, the first paragraph."""
    from collapse_theory.cli import main

    back, parts = Path.cwd(), []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            write_demo(Path("model"))
            for command in commands:
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    main([*command.split()[1:], "--quiet"])
                said = out.getvalue().rstrip()
                if command.split()[1] == "audit":
                    said = said.partition("\n\n")[0] + "\n..."
                parts.append(f"$ {command}\n{said}")
        finally:
            os.chdir(back)
    return "```text\n" + "\n\n".join(parts) + "\n```"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    write_demo(parser.parse_args().folder)
