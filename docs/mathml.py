"""Formulas of the site as MathML, which browsers draw themselves, with no script. Called by mkdocs for each page."""

from __future__ import annotations

import html
import re
from functools import cache

from collapse_theory.report._latex import pieces

ARITHMATEX = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
OPENERS = "|".join(f"&#x{ord(sign):05X};|{re.escape(sign)}" for sign in "=≤≥≔,([{")
WORDS = re.compile(r"(?:\\quad\s*)?\(\\text\{([^{}\\$]*)\}\)|\\text\{([^{}\\$]*)\}")
FUNCTIONS = "(?:log|ln|cos|sinh|cosh|tanh)"
SPACING = (
    (r'(fence="true")', r'\1 lspace="0em" rspace="0em"'),
    # Bars are fences here, never the relation "divides"; they stand close.
    (
        r'<mo stretchy="false">&#x0007C;',
        r'<mo stretchy="false" lspace="0em" rspace="0em">&#x0007C;',
    ),
    # A minus after a relation or an opening bracket is a sign.
    (rf"(<mo[^>]*>(?:{OPENERS})</mo>)<mo>&#x02212;", r'\1<mo form="prefix">&#x02212;'),
    (r"<mo>(tr|max|min)</mo>", r'<mo lspace="0em" rspace="0.1em">\1</mo>'),
    # "a log p", not "alogp".
    (rf"(</m(?:i|n|row|sub|sup|subsup)>)(<mi>{FUNCTIONS}</mi>)", r'\1<mspace width="0.17em"/>\2'),
    (
        rf"(<mi>{FUNCTIONS}</mi>)(?=<m(?:i|n|sub|sup|subsup|frac)\b)",
        r'\1<mspace width="0.17em"/>',
    ),
)


@cache
def mathml(latex: str, *, block: bool = False) -> str:
    """A formula as a MathML element. Raises what latex2mathml raises on LaTeX that it does not know."""
    from latex2mathml.converter import convert

    element = convert(_plain(latex), display="block" if block else "inline")
    for pattern, better in SPACING:
        element = re.sub(pattern, better, element)
    return element


def _plain(latex: str) -> str:
    """LaTeX that latex2mathml reads well. MathML has no sizes of delimiters: they stretch with what they enclose."""
    latex = re.sub(r"\\(?:bigg?|Bigg?)l(?![a-zA-Z])", r"\\left", latex)
    latex = re.sub(r"\\(?:bigg?|Bigg?)r(?![a-zA-Z])", r"\\right", latex)
    latex = re.sub(r"\\(?:bigg?|Bigg?)m?(?![a-zA-Z])", "", latex)
    latex = re.sub(r"\\mathbb\s*(\w)", r"\\mathbb{\1}", latex)
    return latex.replace(":=", r"\coloneqq ")


def inline(latex: str) -> str:
    """A formula within a line. Its words become words of the line, which can fold there."""
    if re.search(r"\\(?:left|right|begin|[bB]igg?)", latex):
        return mathml(latex)
    shown, start = "", 0
    for words in WORDS.finditer(latex):
        before = re.sub(r"\\[{}]", "", latex[: words.start()])
        if before.count("{") == before.count("}"):
            text = f" ({words[1]})" if words[1] else words[2]
            shown += _math(latex[start : words.start()]) + html.escape(text)
            start = words.end()
    return shown + _math(latex[start:])


def _math(latex: str) -> str:
    return mathml(latex.strip()) if latex.strip() else ""


def on_page_content(content: str, **_: object) -> str:
    """A page's HTML with its formulas turned into MathML."""

    def replaced(match: re.Match[str]) -> str:
        kind, opening, latex = match.groups()
        latex = html.unescape(latex).strip()
        if opening == "(":
            return inline(latex)
        # Statements side by side fold to several lines where the page is narrow.
        shown = [f"<div>{mathml(piece, block=True)}</div>" for piece in pieces(latex)]
        return f'<{kind} class="formula">{"".join(shown)}</{kind}>'

    return ARITHMATEX.sub(replaced, content)
