"""Building HTML that is escaped unless it was built here, and pictures for it: formulas and figures as inline SVG."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib.resources import files as resources
from io import StringIO
from typing import Any


class Markup(str):
    """Text that is HTML already. Whatever else is put into an element gets escaped."""

    __slots__ = ()


POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The page loads nothing, and says so to the browser."""
VOID = frozenset({"meta", "br"})
Content = str | Markup | Iterable[Any]


def tag(name: str, /, *content: Content, **attributes: str | None) -> Markup:
    """An element. Content is text (escaped), markup, or lists of these; ``class_`` stands for class, and an attribute
    that is None is left out."""
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Markup(f"<{name}{shown}>")
    return Markup(f"<{name}{shown}>{join(content)}</{name}>")


def join(content: Content) -> Markup:
    """Texts and markup, one after the other."""
    if isinstance(content, Markup):
        return content
    if isinstance(content, str):
        return Markup(html.escape(content))
    return Markup("".join(join(piece) for piece in content))


def document(title: str, body: Content) -> str:
    """One self-contained HTML file: no scripts, nothing loaded from elsewhere, light and dark, readable on paper."""
    css = resources("collapse_theory.report").joinpath("page.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(css)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', body), lang='en-GB')}\n"


def table(
    head: Iterable[Content], rows: Iterable[Iterable[Content]], *, caption: str, class_: str = ""
) -> Markup:
    """A table whose first column names the row; a row of one cell is a heading for those below it."""
    head = list(head)
    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption),
            tag("thead", tag("tr", [tag("th", cell, scope="col") for cell in head])),
            tag("tbody", [_row(list(row), len(head)) for row in rows]),
            class_=class_ or None,
        ),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def _row(cells: list[Content], columns: int) -> Markup:
    if len(cells) == 1 < columns:
        heading = tag("th", cells[0], scope="colgroup", colspan=str(columns))
        return tag("tr", heading, class_="group")
    return tag("tr", tag("th", cells[0], scope="row"), [tag("td", cell) for cell in cells[1:]])


@lru_cache(maxsize=1024)
def formula(latex: str, spoken: str) -> Markup:
    """A formula as inline SVG in the colour of the text, with ``spoken`` for those who cannot see it.

    Formulas that matplotlib's mathtext does not understand are shown as their LaTeX source.
    """
    from matplotlib.font_manager import FontProperties
    from matplotlib.path import Path
    from matplotlib.textpath import TextPath, text_to_path

    from ..plots import style

    text = f"${_for_mathtext(latex)}$"
    size = 10.0
    with style():
        try:
            # The parser keeps what it parsed last, and TextPath parses at this size.
            full = text_to_path.FONT_SCALE
            parsed = text_to_path.mathtext_parser.parse(text, 72, FontProperties(size=full))
            depth = parsed.depth * size / full
            path = TextPath((0, 0), text, size=size)
        except ValueError:
            return tag("code", latex, class_="formula")
    letters = {
        Path.MOVETO: "M",
        Path.LINETO: "L",
        Path.CURVE3: "Q",
        Path.CURVE4: "C",
        Path.CLOSEPOLY: "Z",
    }
    pieces = []
    for points, code in path.iter_segments(simplify=False, curves=True):
        if code == Path.CLOSEPOLY:
            pieces.append("Z")
        else:
            flipped = [f"{x:.2f} {-y:.2f}" for x, y in points.reshape(-1, 2)]
            pieces.append(letters[code] + " ".join(flipped))
    # Of the control points, which enclose the curves; their exact extents would take as long as all the rest.
    inked = path.vertices[path.codes != Path.CLOSEPOLY]
    (x0, y0), (x1, y1) = inked.min(axis=0), inked.max(axis=0)
    left, right, low, high = x0 - 0.5, x1 + 0.5, min(-depth, y0) - 0.5, y1 + 0.5
    em = 1 / size
    drawn = tag("path", d="".join(pieces), fill="currentColor")
    return tag(
        "svg",
        tag("title", spoken),
        drawn,
        class_="formula",
        role="img",
        aria_label=spoken,
        viewBox=f"{left:.2f} {-high:.2f} {right - left:.2f} {high - low:.2f}",
        width=f"{(right - left) * em:.3f}em",
        height=f"{(high - low) * em:.3f}em",
        style=f"vertical-align:{low * em:.3f}em",
    )


def _for_mathtext(latex: str) -> str:
    """Mathtext has no sized delimiters, and knows the short names of no relation."""
    plain = re.sub(r"\\(?:big|Big|bigg|Bigg)[lrm]?(?![a-zA-Z])", "", latex)
    plain = re.sub(r"\\(le|ge|ne)(?![a-zA-Z])", r"\\\1q", plain)
    return re.sub(r"\^([+*-])", r"^{\1}", plain)  # a sign, not an operator with blanks around it


class Figures:
    """Draws figures as inline SVG; each gets names of its own, for several share a page."""

    def __init__(self) -> None:
        self._number = itertools.count(1)

    def draw(
        self,
        kind: str,
        draw: Callable[..., None],
        *data: Any,
        title: str,
        caption: Content,
        **options: Any,
    ) -> Markup:
        """A <figure> drawn by one of the functions of :mod:`collapse_theory.plots`."""
        from matplotlib.backends.backend_svg import FigureCanvasSVG

        from ..plots import canvas, style

        with style():
            figure, axes = canvas(kind, width=4.6)
            draw(*axes, *data, **options)
            for ax in axes:
                ax.patch.set_visible(False)
            figure.patch.set_visible(False)
            out = StringIO()
            nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
            # What savefig does, but laid out and drawn once each, not twice.
            layout = figure.get_layout_engine()
            if layout is not None:
                layout.execute(figure)
                figure.set_layout_engine("none")
            FigureCanvasSVG(figure).print_svg(out, metadata=nothing)
        picture = _inline(out.getvalue(), f"f{next(self._number)}-", title)
        return tag("figure", picture, tag("figcaption", caption))


def _inline(svg: str, prefix: str, title: str) -> Markup:
    """matplotlib's SVG as an element of a page: own ids, black in the colour of the text, no metadata, a title."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->\s*", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="', f'id="{prefix}', body)
    body = re.sub(r'xlink:href="#', f'href="#{prefix}', body)
    body = re.sub(r"url\(#", f"url(#{prefix}", body)
    body = re.sub(r"#000000\b", "currentColor", body)
    body = re.sub(r' xmlns(?::\w+)?="[^"]*"', "", body)
    opening, _, drawing = body.partition(">")
    _, _, box = opening.partition('viewBox="')
    view = box.partition('"')[0]
    named = tag("title", title)
    return tag(
        "svg",
        named,
        Markup(drawing.strip().removesuffix("</svg>")),
        role="img",
        aria_label=title,
        viewBox=view,
        fill="currentColor",
        style=f"width:{float(view.split()[2]) / 12:.1f}em",
    )
