"""Checkpoints on disk: read row by row, without running anything of theirs.

from collapse_theory.checkpoint import open_model
model = open_model("path/to/folder")
for start, rows in model.unembedding().blocks():
    ...
"""

from __future__ import annotations

from .auditing._audit import audit
from .auditing._clusters import Clusters
from .auditing._csv import write_csv
from .auditing._diagnosis import DIAGNOSES, Diagnosis
from .auditing._groups import Group, Neighbours
from .auditing._mass import Mass, extra_rows_loss, zero_row_probability
from .auditing._measures import Measures, Range
from .auditing._result import SCHEMA, Audit, Suspect
from .auditing._theory import Theory
from .auditing._unused import REASONS, name_says_unused, read_counts
from .reading._matrices import INPUT_NAMES, OUTPUT_NAMES
from .reading._model import Model, open_model
from .reading._tensors import Matrix, TensorInfo
from .reading._tokens import Tokens
from .repairing._repair import repair
from .repairing._result import Repair

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
