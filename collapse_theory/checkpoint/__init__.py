"""Checkpoints on disk: read row by row, without running anything of theirs.

from collapse_theory.checkpoint import open_model
model = open_model("path/to/folder")
for start, rows in model.unembedding().blocks():
    ...
"""

from __future__ import annotations

from ._audit import audit
from ._clusters import Clusters
from ._csv import write_csv
from ._diagnosis import DIAGNOSES, Diagnosis
from ._groups import Group, Neighbours
from ._mass import Mass, extra_rows_loss, zero_row_probability
from ._matrices import INPUT_NAMES, OUTPUT_NAMES
from ._measures import Measures, Range
from ._model import Model, open_model
from ._repair import repair
from ._repair_result import Repair
from ._result import SCHEMA, Audit, Suspect
from ._tensors import Matrix, TensorInfo
from ._theory import Theory
from ._tokens import Tokens
from ._unused import REASONS, name_says_unused, read_counts

__all__ = [
    "DIAGNOSES",
    "INPUT_NAMES",
    "OUTPUT_NAMES",
    "REASONS",
    "SCHEMA",
    "Audit",
    "Clusters",
    "Diagnosis",
    "Group",
    "Mass",
    "Matrix",
    "Measures",
    "Model",
    "Neighbours",
    "Range",
    "Repair",
    "Suspect",
    "TensorInfo",
    "Theory",
    "Tokens",
    "audit",
    "extra_rows_loss",
    "name_says_unused",
    "open_model",
    "read_counts",
    "repair",
    "write_csv",
    "zero_row_probability",
]
