"""The ledger for people: a table for the terminal, the same as plain text, a self-contained HTML page; claims in LaTeX.

The first three take a ledger as :func:`collapse_theory.examination.ledger.ledger` makes it, or its JSON read back. rich and
matplotlib are loaded when first needed.
"""

from ._audit import audit_page
from ._html import html_page
from ._latex import latex_document, latex_fragment, theorem, theorem_table
from ._tables import plain_table, terminal_table

__all__ = [
    "audit_page",
    "html_page",
    "latex_document",
    "latex_fragment",
    "plain_table",
    "terminal_table",
    "theorem",
    "theorem_table",
]
