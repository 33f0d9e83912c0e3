"""Unused rows, as the audit finds them."""

from __future__ import annotations

import re

import numpy as np

from ._model import Model
from ._tensors import Matrix

__all__ = ["unused_rows"]


def unused_rows(model: Model, matrix: Matrix) -> tuple[dict[int, str], tuple[int, ...]]:
    """Ids of unused rows with the reason for each, and of suspects."""
    found: dict[int, str] = {}
    for start, rows in matrix.blocks():
        for i in np.flatnonzero(~rows.any(axis=1)):
            found[start + int(i)] = "a row of zeros"
    if model.tokenizer:
        for i in range(matrix.rows):
            text = model.tokenizer.texts.get(i)
            if text is None:
                found.setdefault(i, "beyond the tokenizer")
            elif re.search("unused|reserved", text):
                found.setdefault(i, "name")
    return found, ()
