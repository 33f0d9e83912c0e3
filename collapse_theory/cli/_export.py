"""``export``: claims with their derivations for a paper."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import InputError
from ._common import check_file, command

DEFAULT_LEDGER = Path("results/ledger.json")


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        "export",
        _export,
        "write claims as theorems with their derivations, or as a table, in LaTeX",
        "collapse-theory export contraction --latex -o contraction.tex\n"
        "  collapse-theory export --all --latex --standalone -o theory.tex\n"
        "  collapse-theory export --all --latex --table --ledger results/ledger.json -o table.tex",
    )
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help="claim ids")
    parser.add_argument("--all", action="store_true", help="every claim")
    parser.add_argument("--latex", action="store_true", help="the format; LaTeX is the only one")
    parser.add_argument(
        "--standalone", action="store_true", help="a whole document instead of a fragment"
    )
    parser.add_argument(
        "--table", action="store_true", help="a table of the claims instead of theorems"
    )
    parser.add_argument(
        "--ledger",
        metavar="FILE",
        help=f"where the table's verdicts are from (default {DEFAULT_LEDGER}, if it is there)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="default: standard output")


def _export(options: argparse.Namespace) -> int:
    from .. import files
    from ..claims import all_claims, get_claim
    from ..examination.checkout import derivation
    from ..report import latex_document, latex_fragment, theorem, theorem_table

    if bool(options.claims) == options.all:
        raise InputError("export: name claims, or give --all")
    if options.ledger and not options.table:
        raise InputError("--ledger goes with --table, which is where verdicts are shown")
    check_file(options.output)
    check_file(options.json)
    chosen = [get_claim(name) for name in dict.fromkeys(options.claims)]
    chosen = chosen or list(all_claims().values())
    if options.table:
        body = theorem_table(chosen, _ledger(options.ledger))
    else:
        body = "\n".join(theorem(claim, derivation(claim)) for claim in chosen)
    text = latex_document(body) if options.standalone else latex_fragment(body)
    if options.output:
        files.write_text(options.output, text)
    else:
        print(text, end="")
    if options.json:
        files.write_json(options.json, {"claims": [c.id for c in chosen], "latex": text})
    return 0


def _ledger(path: str | None) -> Any:
    from ..examination.ledger import read_ledger

    if path is None:
        return read_ledger(DEFAULT_LEDGER) if DEFAULT_LEDGER.is_file() else None
    return read_ledger(path)
