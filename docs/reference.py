"""The site's reference pages: the command line from its own help, Python from signatures and docstrings."""

from __future__ import annotations

import argparse
import enum
import inspect
import os
import re
from collections.abc import Iterator
from typing import Any
from unittest import mock

import collapse_theory
from collapse_theory import strategies
from collapse_theory.cli import parser

COLUMNS = "80"
"""Help is folded to fit the page, not the terminal that builds it."""
SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields):")


def commands_page() -> str:
    """The help of every command."""
    parts = ["# Command line"]
    with mock.patch.dict(os.environ, COLUMNS=COLUMNS):
        for depth, title, text in _helps(parser()):
            heading = [f"{'#' * depth} {title}"] if depth > 1 else []
            parts += [*heading, f"```text\n{text.rstrip()}\n```"]
    return "\n\n".join(parts) + "\n"


def _helps(command: argparse.ArgumentParser, depth: int = 1) -> Iterator[tuple[int, str, str]]:
    """Depth, name and help of a command and of those below it."""
    yield depth, command.prog.partition(" ")[2], command.format_help()
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _helps(below, depth + 1)


def api_page() -> str:
    """The public names with signatures and docstrings."""
    parts = ["# Python", "Everything down to the strategies is imported from `collapse_theory`."]
    for name in collapse_theory.__all__:
        value = getattr(collapse_theory, name)
        if callable(value):
            parts += _entry(name, value)
    parts += ["## Strategies", docstring(inspect.getdoc(strategies) or "")]
    for name in strategies.__all__:
        parts += _entry(name, getattr(strategies, name), depth=3)
    return "\n\n".join(parts) + "\n"


def _entry(name: str, value: Any, *, depth: int = 2) -> Iterator[str]:
    """A public name, and the documented methods and properties of a class."""
    yield f"{'#' * depth} {name}"
    if isinstance(value, type) and issubclass(value, enum.Enum):
        yield docstring(inspect.getdoc(value) or "")
        yield "Members: " + ", ".join(f"`{member.name}`" for member in value) + "."
        return
    yield f"```python\n{signature(name, value)}\n```"
    yield docstring(inspect.getdoc(value) or "")
    if not inspect.isclass(value):
        return
    for method, raw in vars(value).items():
        if method.startswith("_") or not isinstance(raw, type(_entry) | classmethod | property):
            continue
        text = docstring(inspect.getdoc(raw) or "")
        yield f"{'#' * (depth + 1)} {name}.{method}"
        if not isinstance(raw, property):
            yield f"```python\n{signature(f'{name}.{method}', getattr(value, method))}\n```"
        yield text


def signature(name: str, value: Any) -> str:
    """A call as one would write it: annotations without quotes, on several lines if it is long."""
    try:
        called = inspect.signature(value)
    except (TypeError, ValueError):
        return name
    shown, keyword_only = [], False
    for parameter in called.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            shown.append("*")
        keyword_only = parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        shown.append(_unquoted(str(parameter)))
    result = "" if called.return_annotation is called.empty else f" -> {called.return_annotation}"
    if isinstance(value, type):
        result = ""
    line = f"{name}({', '.join(shown)}){result}"
    if len(line) <= 88:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in shown) + f"){result}"


def _unquoted(parameter: str) -> str:
    """Postponed annotations are strings, and are shown as such."""
    return re.sub(r""": (?:'([^']*)'|"([^"]*)")""", r": \1\2", parameter)


def docstring(text: str) -> str:
    """A docstring as Markdown: roles and literals of reStructuredText, code blocks, and sections as lists."""
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text)
    text = re.sub(r"``(.+?)``", r"`\1`", text, flags=re.DOTALL)
    lines, inside = [], False
    for line in text.splitlines():
        if heading := SECTION.fullmatch(line):
            lines += [f"**{heading[1]}**", ""]
            inside = True
        elif inside and (entry := re.match(r" {4}(\S[^:]*): (.*)", line)):
            lines.append(f"- `{entry[1]}`: {entry[2]}")
        else:
            inside &= not line or line.startswith(" ")
            # What is indented below an entry goes on with it.
            lines.append("  " + line.strip() if inside and line else line)
    return "\n".join(lines)
