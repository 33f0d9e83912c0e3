"""Unused rows, as the audit finds them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ..auditing._audit import Audit, audit
from ..auditing._unused import REASONS, reasons_of
from ..reading._model import Model
from ..reading._tensors import Matrix

__all__ = ["Unused", "unused_rows"]


@dataclass(frozen=True, kw_only=True)
class Unused:
    """What the audit says of a matrix.

    Attributes:
        reasons: ids of unused rows with the reason for each.
        suspects: ids of rows that lie with them.
        doubts: sentences about unused rows that may have been trained, and the ids they are about.
    """

    reasons: dict[int, str]
    suspects: tuple[int, ...] = ()
    doubts: tuple[tuple[str, frozenset[int]], ...] = ()


def unused_rows(model: Model, matrix: Matrix, *, strict: bool) -> Unused:
    """The unused rows of a matrix.

    Where the audit refuses the matrix, for NaN as an example, names alone are read; with ``strict`` its
    :class:`InputError` is raised.
    """
    try:
        found = audit(model.path, tensor_name=matrix.name)
    except InputError:
        if strict:
            raise
        zero = np.zeros(matrix.rows, dtype=bool)
        return Unused(reasons=_named(reasons_of(matrix.rows, model.tokenizer, zero)))
    return Unused(
        reasons=_named(found.reasons),
        suspects=tuple(suspect.id for suspect in found.suspects),
        doubts=tuple(_doubts(found)),
    )


def _named(places: np.ndarray) -> dict[int, str]:
    return {int(i): REASONS[places[i]] for i in np.flatnonzero(places >= 0)}


def _doubts(found: Audit) -> Iterable[tuple[str, frozenset[int]]]:
    trained: set[int] = set()
    for group in found.groups:
        if group.diagnosis is not None and group.diagnosis.name == "trained":
            trained |= set(group.ids.tolist())
    if trained:
        yield "look trained, although nothing says that they are used", frozenset(trained)
    apart = set(found.moved_off) - trained
    if apart:
        yield "lie apart from the other unused rows and may have been trained", frozenset(apart)
