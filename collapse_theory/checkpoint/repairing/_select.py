"""Which rows a repair changes, and which rows it takes for trained."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..reading._model import Model
from ..reading._tensors import Matrix
from ..reading._tokens import Tokens
from ._unused import Unused, unused_rows

__all__ = ["Chosen", "check_share", "choose", "ids_from", "tokens_from", "trained_sample"]

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


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Rows to replace.

    Attributes:
        ids: ``[k]``, ascending.
        reasons: one for each.
        apart: ids of other rows that do not count as trained.
        notes: what one should know of the choice.
        warnings: what one should think about.
    """

    ids: Ids
    reasons: tuple[str, ...]
    apart: Ids
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def choose(
    model: Model, matrix: Matrix, count: int, rows: str | Path | Iterable[int] | None
) -> Chosen:
    """The rows given, or those that the audit of ``matrix`` finds unused but for the padding token's.

    Ids stay below ``count``, the rows that all matrices have. Raises :class:`InputError` when there are none.
    """
    found = unused_rows(model, matrix, strict=rows is None)
    unused = {i: reason for i, reason in found.reasons.items() if i < count}
    padding = _padding(model.config)
    notes: tuple[str, ...] = ()
    if rows is not None:
        ids = ids_from(rows, count)
    else:
        ids = np.array(sorted(set(unused) - padding), dtype=np.int64)
        notes = tuple(
            f"row {i} stays as it is: it is the padding token's (--rows replaces it)"
            for i in sorted(padding & set(unused))
        )
    if not ids.size:
        raise InputError(
            f"{model.path}: no unused rows were found; name the rows with --rows 3,7-16"
        )
    others = np.array(sorted({*found.reasons, *found.suspects}), dtype=np.int64)
    return Chosen(
        ids=ids,
        reasons=tuple(unused.get(i, "chosen by hand") for i in ids.tolist()),
        apart=np.setdiff1d(others, ids),
        notes=notes,
        warnings=tuple(_warnings(ids, found, padding, model.tokenizer)),
    )


def _warnings(ids: Ids, found: Unused, padding: set[int], texts: Tokens | None) -> Iterable[str]:
    known = {*found.reasons, *found.suspects}
    trained = [i for i in ids.tolist() if i not in known]
    if trained:
        yield (
            f"{len(trained):,} of the rows given do not look unused ({_shown(trained, texts)}): "
            "what they had learned is lost"
        )
    for doubt, about in found.doubts:
        meant = sorted(about & set(ids.tolist()))
        if meant:
            yield f"{len(meant):,} of the rows {doubt} ({_shown(meant, texts)})"
    for i in sorted(padding & set(ids.tolist())):
        yield f"row {i} is the padding token's: zeros there may be meant"


def _shown(ids: Sequence[int], texts: Tokens | None) -> str:
    shown = ", ".join(f"{i} {texts.text(i)!r:.40}" if texts else str(i) for i in ids[:3])
    return shown + (", ..." if len(ids) > 3 else "")


def _padding(config: Mapping[str, object]) -> set[int]:
    parts = (config, config.get("text_config"))
    found = [part.get("pad_token_id") for part in parts if isinstance(part, Mapping)]
    return {i for i in found if type(i) is int}


def tokens_from(texts: Tokens | None, given: Sequence[str | int], count: int) -> Ids:
    """Row ids ``[a]`` of tokens given by text or id; a leading space may be written as such.

    Raises :class:`InputError` for a text that is no token.
    """
    ids = []
    by_text: dict[str, int] = {}
    if texts is not None:
        for i in sorted(texts.texts, reverse=True):
            by_text[texts.text(i)] = by_text[texts.texts[i]] = i
            if texts.texts[i].startswith("▁"):  # SentencePiece's sign for a space
                by_text[" " + texts.texts[i][1:]] = i
    for token in given:
        if isinstance(token, str):
            if texts is None:
                raise InputError(f"tokens: no tokenizer says which row {token!r:.40} is; give ids")
            if token not in by_text:
                near = difflib.get_close_matches(token, by_text, 1)
                hint = (
                    f"did you mean {near[0]!r}?"
                    if near
                    else "give tokens as the tokenizer has them"
                )
                raise InputError(f"tokens: {token!r:.40} is no single token of this model; {hint}")
            token = by_text[token]
        ids.append(_in_range(token, count))
    return np.array(ids, dtype=np.int64)


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
