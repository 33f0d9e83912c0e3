"""Checkpoints on disk: read row by row, without running anything of theirs.

from collapse_theory.checkpoint import open_model
model = open_model("path/to/folder")
for start, rows in model.unembedding().blocks():
    ...
"""

from __future__ import annotations

from ._matrices import INPUT_NAMES, OUTPUT_NAMES
from ._model import Model, open_model
from ._repair import repair
from ._repair_result import Repair
from ._tensors import Matrix, TensorInfo
from ._tokens import Tokens

__all__ = [
    "INPUT_NAMES",
    "OUTPUT_NAMES",
    "Matrix",
    "Model",
    "Repair",
    "TensorInfo",
    "Tokens",
    "open_model",
    "repair",
]
