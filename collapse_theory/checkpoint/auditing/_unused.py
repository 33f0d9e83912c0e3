"""Which rows appear unused, each with the reason why we think so."""

from __future__ import annotations

import csv
import fnmatch
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...files import read_json
from ..reading._tokens import Tokens

__all__ = [
    "BEYOND",
    "BYTES",
    "COUNT",
    "DECLARED",
    "GIVEN",
    "NAME",
    "PATTERNS",
    "REASONS",
    "ZERO",
    "name_says_unused",
    "parse_ids",
    "read_counts",
    "reasons_of",
]

USED = ""
GIVEN = "given as unused"
COUNT = "counted zero times"
ZERO = "zero row"
BEYOND = "no token has this id"
DECLARED = "the tokenizer declares it unused"
NAME = "its name says so"
BYTES = "its bytes cannot occur in UTF-8"

REASONS = (GIVEN, COUNT, ZERO, BEYOND, DECLARED, NAME, BYTES)
"""In the order of priority: a row has the first that applies. A positive count leaves only the first and the third."""

PATTERNS = (
    r"<\|?unused[_-]?\d+\|?>",  # Gemma, PaliGemma
    r"\[unused[_-]?\d+\]",  # BERT and its kin
    r"<\|?reserved[_ -]?(special[_ -]?)?(token[_ -]?)?\d*\|?>",  # Llama 3, gpt-oss, DeepSeek
    r"\[reserved[_ -]?\d*\]",
    r"<\|dummy_\d+\|>",  # Phi-3
    r"<\|?extra_(id_|token_)?\d+\|?>",  # T5 (its pretraining uses them), Qwen
    r"madeupword\d+",  # fairseq
    r"<\|?(place[-_ ]?holder)[-_ ]?(token)?[-_ ]?(no)?[-_ ]?\d*\|?>",  # Phi-3, DeepSeek
    r"<SPECIAL_\d+>",  # Nemotron, Mistral
    r"\[control_\d+\]",  # Mistral
    r"\[PAD\d+\]",  # llama.cpp's fill
    r"<pad_?\d+>",
    r"<unk_?\d+>",
    r"<\|?(empty|fim_unused|filler)_?(usable)?_?\d+\|?>",
)
"""Names of reserved tokens in published vocabularies; a whole name must match, in any case of letters."""

_NAMES = re.compile("|".join(PATTERNS), re.IGNORECASE)
# Bytes that UTF-8 never has, in the alphabet of byte-level tokenizers, where they stand for themselves.
_NEVER = re.compile("[\xc0\xc1\xf5-\xff]")
_NEVER_BYTE = re.compile(r"<0x(C0|C1|F[5-9A-F])>", re.IGNORECASE)


def name_says_unused(text: str) -> bool:
    """Whether a token's name is that of a reserved one in published vocabularies."""
    return _NAMES.fullmatch(text) is not None


def reasons_of(
    rows: int,
    tokens: Tokens | None,
    zero: NDArray[np.bool_],
    *,
    given: NDArray[np.int64] | None = None,
    counts: NDArray[np.int64] | None = None,
) -> NDArray[np.int8]:
    """For each of ``rows`` rows the place of its reason in ``REASONS``, or -1 for a row that appears used ``[V]``.

    ``zero`` [V] marks rows of zeros; ``given`` are ids named by the user; ``counts`` [V] are occurrences as a target.
    """
    found = np.full(rows, -1, np.int8)
    if tokens is not None:
        texts, never = tokens.texts, tokens.byte_level
        for index in range(rows):
            text = texts.get(index)
            if text is None:
                found[index] = REASONS.index(BEYOND)
            elif index in tokens.declared_unused:
                found[index] = REASONS.index(DECLARED)
            elif _NAMES.fullmatch(text):
                found[index] = REASONS.index(NAME)
            elif _NEVER_BYTE.fullmatch(text) or (
                never and index not in tokens.special and _NEVER.search(text)
            ):
                found[index] = REASONS.index(BYTES)
    if counts is not None:
        found = np.where(counts > 0, np.int8(-1), np.int8(REASONS.index(COUNT)))
    found[zero] = (
        REASONS.index(ZERO)
        if counts is None
        else np.where(found[zero] >= 0, found[zero], REASONS.index(ZERO))
    )
    if given is not None:
        found[given] = REASONS.index(GIVEN)
    return found


def parse_ids(words: Iterable[str | int], rows: int, tokens: Tokens | None) -> NDArray[np.int64]:
    """Ids from what a user writes: ids, ranges ``7-16``, texts of tokens, or patterns like ``<unused*>``.

    Commas part several ids and ranges. Raises :class:`InputError` for what names no row.
    """
    found: list[int] = []
    for word in words:
        text = str(word)
        if re.fullmatch(r"\d+(-\d+)?(, *\d+(-\d+)?)*", text):
            for part in re.split(", *", text):
                low, _, high = part.partition("-")
                # Python refuses to read numbers of thousands of digits; no row has such an id.
                first, last = (int(end) if len(end) < 20 else rows for end in (low, high or low))
                if max(first, last) >= rows:
                    raise InputError(
                        f"unused: {part:.40} is out of range; ids run from 0 to {rows - 1}"
                    )
                if last < first:
                    raise InputError(f"unused: {part} runs backwards; write {last}-{first}")
                found += range(first, last + 1)
            continue
        if tokens is None:
            raise InputError(
                f"unused: {text!r:.60} needs a tokenizer; give ids or ranges like 7-16"
            )
        exact = [i for i, t in tokens.texts.items() if text in (t, tokens.text(i))]
        plain = re.compile(fnmatch.translate(text.replace("[", "[[]")))
        hits = exact or [i for i, t in tokens.texts.items() if plain.match(t)]
        hits = [i for i in hits if i < rows]
        if not hits:
            raise InputError(f"unused: no token is {text!r:.60}; give ids, ranges or token texts")
        found += hits
    return np.unique(np.array(found, dtype=np.int64))


def read_counts(path: str | Path, rows: int) -> NDArray[np.int64]:
    """How often each id was a target ``[V]``: .npy, .json (a list, or an object from id to count), or text with an id
    and a count a line. Ids that a file leaves out count zero.

    Raises :class:`InputError` when the file is damaged, or has ids that no row has.
    """
    path = Path(path)
    if path.suffix == ".npy":
        try:
            listed = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(
                f"{path}: cannot be read ({error}); save counts by numpy.save"
            ) from error
        if listed.ndim != 1 or listed.dtype.kind not in "iu":
            raise InputError(
                f"{path}: give one whole number a row, not {listed.dtype} {listed.shape}"
            )
        return _counts(path, rows, range(len(listed)), listed.tolist())
    if path.suffix == ".json":
        data = read_json(path)
        if isinstance(data, list):
            return _counts(path, rows, range(len(data)), data)
        if isinstance(data, dict):
            return _counts(path, rows, list(data), list(data.values()))
        raise InputError(f"{path}: give a list of counts, or an object from id to count")
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            lines = [re.split(r"[,;\s]+", line.strip()) for line in stream if line.strip()]
    except (OSError, ValueError, csv.Error) as error:
        raise InputError(
            f"{path}: cannot be read ({error}); give a line with id and count each"
        ) from error
    if lines and re.match("[a-z_]", lines[0][0], re.IGNORECASE) and len(lines) > 1:
        lines = lines[1:]  # a heading
    bad = [line for line in lines if len(line) != 2]
    if bad:
        raise InputError(f"{path}: {' '.join(bad[0])!r:.60} is not an id and a count")
    return _counts(path, rows, [a for a, _ in lines], [b for _, b in lines])


def _counts(path: Path, rows: int, ids: Sequence, values: Sequence) -> NDArray[np.int64]:
    out = np.zeros(rows, np.int64)
    for index, value in zip(ids, values, strict=True):
        try:
            if isinstance(value, (bool, float)):
                raise ValueError
            i, count = int(index), int(value)
        except (TypeError, ValueError):
            i = count = -1
        if count < 0 or i < 0:
            raise InputError(f"{path}: {index!r:.30}: {value!r:.30} is no id with a count >= 0")
        if i >= rows:
            raise InputError(f"{path}: id {i} is out of range; the matrix has {rows} rows")
        out[i] += min(count, 1 << 40)
    if not out.any():
        raise InputError(f"{path}: no id has a count above 0; count the targets of the training")
    return out
