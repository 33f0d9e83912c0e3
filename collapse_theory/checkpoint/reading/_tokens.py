"""The texts of a tokenizer's ids, read as plain data: no tokenizer library, no code of the model's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ...errors import InputError

__all__ = ["Tokens", "read_tokens"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Tokens:
    """What ids stand for.

    Attributes:
        texts: id to text as the tokenizer's file has it.
        source: the files it comes from.
        byte_level: texts spell bytes in GPT-2's alphabet.
        special: ids of control tokens.
        declared_unused: ids that the file itself calls unused.
    """

    texts: Mapping[int, str]
    source: str
    byte_level: bool = False
    special: frozenset[int] = frozenset()
    declared_unused: frozenset[int] = frozenset()

    @cached_property
    def count(self) -> int:
        """The largest id and one: rows from here on belong to no token."""
        return max(self.texts, default=-1) + 1

    def raw_bytes(self, index: int) -> bytes | None:
        """The bytes that a token of a byte-level tokenizer spells, those of ``<0xC0>`` of any; else None."""
        text = self.texts.get(index)
        if text is None:
            return None
        if len(text) == 6 and text.startswith("<0x") and text.endswith(">"):
            try:
                return bytes([int(text[3:5], 16)])
            except ValueError:
                return None
        if not self.byte_level or index in self.special:
            return None
        alphabet = _byte_of_character()
        return bytes(alphabet[c] for c in text) if all(c in alphabet for c in text) else None

    def text(self, index: int) -> str:
        """For people: bytes decoded where they are text; empty where the id has no token."""
        spelled = self.raw_bytes(index) if self.byte_level else None
        if spelled is None:
            return self.texts.get(index, "")
        try:
            return spelled.decode("utf-8")
        except UnicodeDecodeError:
            return "".join(f"<0x{b:02X}>" if b > 126 or b < 32 else chr(b) for b in spelled)


@cache
def _byte_of_character() -> dict[str, int]:
    """GPT-2's alphabet: printable bytes stand for themselves, the others for characters from 256 on."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in own]
    return {chr(b): b for b in own} | {chr(256 + k): b for k, b in enumerate(others)}


def read_tokens(folder: Path) -> tuple[Tokens | None, tuple[str, ...]]:
    """The tokenizer that lies in a folder, if its files can be read as data; and notes.

    ``tokenizer.json``, else ``vocab.json`` or ``vocab.txt``, each with ``added_tokens.json`` and
    ``tokenizer_config.json``. Raises :class:`InputError` for a damaged file.
    """
    for name, read in (
        ("tokenizer.json", _tokenizer_json),
        ("vocab.json", _vocab_json),
        ("vocab.txt", _vocab_txt),
    ):
        if (folder / name).is_file():
            return read(folder, folder / name), ()
    models = sorted(p.name for p in folder.glob("*.model"))
    if models:
        return None, (
            f"{models[0]} alone gives no token texts here: save the fast tokenizer (tokenizer.json) beside it",
        )
    return None, ("no tokenizer files: unused rows can be found by zeros and geometry alone",)


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: damaged, not valid JSON ({error}); get the file again"
        ) from error


def _ids(path: Path, vocabulary: Any) -> dict[int, str]:
    if not isinstance(vocabulary, Mapping) or not all(
        type(i) is int and 0 <= i < 1 << 31 for i in vocabulary.values()
    ):
        raise InputError(f"{path}: its vocabulary must map texts to ids >= 0; get the file again")
    return {i: str(text) for text, i in vocabulary.items()}


def _added(path: Path, tokens: Iterable[Any]) -> tuple[dict[int, str], set[int]]:
    texts: dict[int, str] = {}
    special: set[int] = set()
    if not isinstance(tokens, (list, tuple)):
        raise InputError(f"{path}: its added tokens are no list; get the file again")
    for entry in tokens:
        try:
            index, text = entry["id"], str(entry["content"])
        except (TypeError, KeyError) as error:
            raise InputError(f"{path}: an added token lacks id or content") from error
        if type(index) is not int or not 0 <= index < 1 << 31:
            raise InputError(f"{path}: added token {text!r:.40} has the id {index!r:.40}")
        texts[index] = text
        if entry.get("special"):
            special.add(index)
    return texts, special


def _tokenizer_json(_folder: Path, path: Path) -> Tokens:
    data = _load(path)
    model = data.get("model") if isinstance(data, Mapping) else None
    vocabulary = model.get("vocab") if isinstance(model, Mapping) else None
    if isinstance(vocabulary, list):  # Unigram: pairs of text and score, in the order of ids
        if not all(isinstance(pair, list) and pair for pair in vocabulary):
            raise InputError(
                f"{path}: its vocabulary must have pairs of text and score; get the file again"
            )
        texts = {i: str(pair[0]) for i, pair in enumerate(vocabulary)}
    else:
        texts = _ids(path, vocabulary)
    added, special = _added(path, data.get("added_tokens") or ())
    parts = json.dumps([data.get("pre_tokenizer"), data.get("decoder")])
    return Tokens(
        texts=texts | added,
        source=path.name,
        byte_level='"ByteLevel"' in parts,
        special=frozenset(special),
    )


def _with_added(folder: Path, texts: dict[int, str], source: str, *, byte_level: bool) -> Tokens:
    special: set[int] = set()
    if (folder / "added_tokens.json").is_file():
        texts |= _ids(folder / "added_tokens.json", _load(folder / "added_tokens.json"))
        source += ", added_tokens.json"
    if (folder / "tokenizer_config.json").is_file():
        path = folder / "tokenizer_config.json"
        data = _load(path)
        entries = data.get("added_tokens_decoder") if isinstance(data, Mapping) else None
        if isinstance(entries, Mapping):
            listed = [
                entry | {"id": int(i)}
                for i, entry in entries.items()
                if isinstance(entry, dict) and i.isdecimal() and len(i) < 20
            ]
            more, special = _added(path, listed)
            texts |= more
    return Tokens(texts=texts, source=source, byte_level=byte_level, special=frozenset(special))


def _vocab_json(folder: Path, path: Path) -> Tokens:
    texts = _ids(path, _load(path))
    return _with_added(folder, texts, path.name, byte_level=(folder / "merges.txt").is_file())


def _vocab_txt(folder: Path, path: Path) -> Tokens:
    try:
        # Split at \n alone: vocabularies hold characters that str.splitlines takes for the ends of lines.
        lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error})") from error
    texts = {i: line.rstrip("\r") for i, line in enumerate(lines)}
    return _with_added(folder, texts, path.name, byte_level=False)
