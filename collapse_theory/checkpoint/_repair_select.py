"""Which rows a repair changes, and which rows it takes for trained."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

__all__ = ["check_share", "ids_from", "trained_sample"]

SAMPLE = 8192
"""Trained rows that statistics are taken from, at most."""
RANGE = re.compile(r"(\d+)(?:\s*-\s*(\d+))?")
FIX = "give ids and ranges as 3,7-16, or a file of them"
Ids = NDArray[np.int64]


def ids_from(given: str | Path | Iterable[int], count: int) -> Ids:
    """Row ids ``[k]``, ascending and each once, of a matrix with ``count`` rows.

    ``given`` holds ids, or is text with ids and ranges (``3,7-16``, the last included), or names a file of such text (one or
    more a line, ``#`` starts a comment). Raises :class:`InputError` for anything else, an id out of range, or no id at all.
    """
    if isinstance(given, str | Path):
        ids = _parse(str(given), count)
    else:
        ids = []
        for value in given:
            if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
                raise InputError(f"rows: got {value!r:.60}; {FIX}")
            ids.append(_in_range(int(value), count))
    if not ids:
        raise InputError(f"rows: none given; {FIX}")
    return np.unique(np.array(ids, dtype=np.int64))


def _parse(text: str, count: int) -> list[int]:
    where = "rows"
    if not re.fullmatch(r"[\d\s,-]+", text):
        path = Path(text)
        if not path.is_file():
            raise InputError(f"rows: got {text!r:.60}, no ids and no such file; {FIX}")
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise InputError(f"rows: {path} cannot be read as text ({error}); {FIX}") from error
        where, text = f"rows: {path}", ",".join(line.partition("#")[0] for line in lines)
    ids: list[int] = []
    for part in filter(None, re.split(r"\s*,\s*|(?<=\d)\s+(?=\d)", text.strip(" ,\n"))):
        match = RANGE.fullmatch(part)
        if match is None or len(part) > 30:
            raise InputError(f"{where}: got {part!r:.60}; {FIX}")
        first = _in_range(int(match[1]), count)
        last = first if match[2] is None else _in_range(int(match[2]), count)
        if last < first:
            raise InputError(f"{where}: the range {part} runs backwards; write {last}-{first}")
        ids += range(first, last + 1)
    return ids


def _in_range(value: int, count: int) -> int:
    if not 0 <= value < count:
        raise InputError(f"rows: no row {value}; rows run from 0 to {count - 1}")
    return value


def check_share(chosen: int, count: int, share: float) -> None:
    """Raises :class:`InputError` when more than ``share`` of all rows are chosen."""
    if not 0 < share <= 1:
        raise InputError(f"max share: got {share:g}, expected a number above 0 and up to 1")
    if chosen > share * count:
        raise InputError(
            f"rows: {chosen:,} of {count:,} would be overwritten, more than the share {share:g}; "
            "choose fewer rows, or raise --max-share if that is meant"
        )


def trained_sample(count: int, apart: Ids, rng: np.random.Generator) -> Ids:
    """Ids ``[m]`` of rows that count as trained: not in ``apart``, :data:`SAMPLE` at most, ascending."""
    kept = np.ones(count, dtype=bool)
    kept[apart] = False
    ids = np.flatnonzero(kept)
    if len(ids) > SAMPLE:
        ids = np.sort(rng.choice(ids, SAMPLE, replace=False))
    return ids
