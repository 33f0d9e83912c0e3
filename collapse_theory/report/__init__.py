"""The ledger for people: a table for the terminal, the same as plain text, a self-contained HTML page.

All take a ledger as :func:`collapse_theory.examination.ledger.ledger` makes it, or its JSON read back. rich and matplotlib
are loaded when first needed.
"""

from ._html import html_page
from ._tables import plain_table, terminal_table

__all__ = ["html_page", "plain_table", "terminal_table"]
