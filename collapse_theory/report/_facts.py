"""The figures of a piece of evidence in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from . import _words as words

DRAWN_ELSEWHERE = frozenset(
    {"verdict", "reason", "histogram", "witness", "witnesses", "attained", "instance", "failed"}
)
"""Figures of a piece of evidence that have a picture or a table of their own, or none."""

LONG = 60
"""Facts with more letters than this stand alone."""


def facts(piece: Mapping[str, Any]) -> Iterator[str]:
    """The figures of a piece of evidence as lines: single numbers together, each nested group on a line of its own."""
    plain = [
        f"{named(k)}{': ' if len(str(v)) > LONG else ' '}{shown(v)}"
        for k, v in piece.items()
        if k not in DRAWN_ELSEWHERE and v is not None and not isinstance(v, (Mapping, list))
    ]
    # A sentence gets a line of its own.
    yield ", ".join(fact for fact in plain if len(fact) <= LONG)
    yield from (fact for fact in plain if len(fact) > LONG)
    for name, group in piece.items():
        if name in DRAWN_ELSEWHERE or not isinstance(group, (Mapping, list)) or not group:
            continue
        if isinstance(group, list):
            yield f"{named(name)}: {', '.join(map(shown, group[:20]))}"
            continue
        nested = all(isinstance(v, Mapping) for v in group.values())
        for key, inner in group.items() if nested else [("", group)]:
            title = f"{named(name)}, {key}" if key else named(name)
            yield f"{title}: {'; '.join(_flat(inner))}"


def _flat(group: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in group.items():
        if isinstance(value, Mapping):
            inner = ", ".join(_flat(value))
            yield f"{prefix}{named(key)} ({inner})"
        else:
            yield f"{prefix}{named(key)} {shown(value)}"


def named(key: Any) -> str:
    """A key of the ledger as words."""
    return str(key).replace("_", " ")


def shown(value: Any) -> str:
    """A value of the ledger as words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return words.ratio(value) if isinstance(value, float) else str(value)
