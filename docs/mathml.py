"""Formulas of the site as MathML, which browsers draw themselves: no script, nothing to load. Called by mkdocs for each page."""

from __future__ import annotations

import html
import re
from functools import lru_cache

ARITHMATEX = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


@lru_cache(maxsize=None)
def mathml(latex: str, *, block: bool = False) -> str:
    """A formula as a MathML element. Raises what latex2mathml raises on LaTeX that it does not know."""
    from latex2mathml.converter import convert

    return convert(_plain(latex), display="block" if block else "inline")


def _plain(latex: str) -> str:
    """Sizes of delimiters mean nothing in MathML, where delimiters stretch by themselves."""
    return re.sub(r"\\(?:big|Big|bigg|Bigg)[lrm]?(?![a-zA-Z])", "", latex)


def on_page_content(content: str, **_: object) -> str:
    """A page's HTML with its formulas turned into MathML."""

    def replaced(match: re.Match[str]) -> str:
        kind, opening, latex = match.groups()
        element = mathml(html.unescape(latex).strip(), block=opening == "[")
        return f'<div class="formula">{element}</div>' if kind == "div" else element

    return ARITHMATEX.sub(replaced, content)
