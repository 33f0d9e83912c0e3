"""The ledger as a table: on a terminal of any width, and as plain text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..examination.evidence import COLUMNS
from . import _words as words

if TYPE_CHECKING:
    from rich.table import Table

STYLES = {"good": "green", "bad": "bold red", "open": "yellow", "none": "dim"}
PLAIN_WIDTH = 120


def terminal_table(ledger: Mapping[str, Any]) -> Table:
    """One row per claim: the seven columns of evidence and the verdict, with a legend of the words used.

    Where the console is too narrow for the columns without breaking words, the evidence stands in lines instead. Words
    carry the meaning, colours only repeat it.
    """
    from rich.table import Table

    class Adaptive(Table):
        def __rich_console__(self, console: Any, options: Any) -> Any:
            unlimited = options.update(max_width=10_000)
            if super().__rich_measure__(console, unlimited).minimum > options.max_width:
                yield _narrow(ledger)
            else:
                yield from super().__rich_console__(console, options)

    table = _columns(Adaptive, ledger, ["claim", *COLUMNS, "verdict"])
    for entry in ledger["claims"]:
        cells = [_cell(words.status(entry, c), words.figure(entry, c)) for c in COLUMNS]
        verdict = _verdict(entry)
        table.add_row(_plain(words.folded(str(entry["id"])), "bold"), *cells, verdict)
    return table


def plain_table(ledger: Mapping[str, Any]) -> str:
    """The same table as plain text without colour, at most PLAIN_WIDTH columns wide, for a README or a log."""
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    console = Console(
        file=out, width=PLAIN_WIDTH, color_system=None, force_terminal=False, _environ={}
    )
    console.print(terminal_table(ledger))
    return "\n".join(line.rstrip() for line in out.getvalue().strip("\n").splitlines()) + "\n"


def _narrow(ledger: Mapping[str, Any]) -> Table:
    from rich.table import Table

    table = _columns(Table, ledger, ["claim", "evidence", "verdict"])
    width = max(map(len, COLUMNS))
    for entry in ledger["claims"]:
        evidence = _plain("", "")
        for line, column in enumerate(COLUMNS):
            word, number = words.status(entry, column), words.figure(entry, column)
            evidence.append("\n" * (line > 0) + f"{column:<{width}}  ")
            evidence.append(words.spoken(word), STYLES[words.tone(word)])
            evidence.append(f", {number}" if number else "")
        verdict = _verdict(entry)
        table.add_row(_plain(str(entry["id"]), "bold"), evidence, verdict)
    return table


def _columns(kind: Any, ledger: Mapping[str, Any], names: list[str]) -> Any:
    from rich import box

    table = kind(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_lines=False,
        caption=_legend(ledger),
        caption_justify="left",
        caption_style="",
    )
    for name in names:
        table.add_column(name, overflow="fold", no_wrap=name == "claim")
    return table


def _legend(ledger: Mapping[str, Any]) -> Any:
    lines = [f"{words.spoken(word)}: {words.MEANINGS[word]}" for word in words.statuses(ledger)]
    return _plain("; ".join(lines) + ".\n" + words.provenance(ledger), "dim")


def _cell(word: str, below: str) -> Any:
    """A status as words, with a short figure under it."""
    text = _plain(words.spoken(word), STYLES[words.tone(word)])
    if below:
        text.append(f"\n{below}", "dim")
    return text


def _verdict(entry: Mapping[str, Any]) -> Any:
    """The verdict, and under it whether it was expected: a claim may be there to be refuted."""
    word = words.verdict(entry)
    text = _plain(words.spoken(word), STYLES[words.tone(word)])
    text.append(f"\n{words.expectation(entry)}", "bold red" if entry.get("unmet") else "dim")
    return text


def _plain(text: str, style: str) -> Any:
    """Text that rich takes as it stands: square brackets in a ledger are no markup."""
    from rich.text import Text

    out = Text()
    out.append(text, style)
    return out
