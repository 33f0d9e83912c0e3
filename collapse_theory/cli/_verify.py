"""``verify``: the ledger."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from ._common import check_file, check_folder, command, console, progress, whole


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = command(
        commands,
        "verify",
        _verify,
        "examine claims with every kind of evidence; print and write the ledger",
        "collapse-theory verify --claim contraction --claim trajectory --effort quick --out results",
    )
    parser.add_argument(
        "--claim", action="append", metavar="ID", help="only this claim (repeatable)"
    )
    parser.add_argument(
        "--effort",
        default="default",
        metavar="LEVEL",
        help="quick: 20,000 steps or 1,000 runs a claim; default: 1,000,000 or 20,000; thorough: 10 times that",
    )
    parser.add_argument(
        "--out",
        default="results",
        metavar="DIR",
        help="where ledger.json, ledger.html and the witnesses go (default: results)",
    )
    parser.add_argument(
        "--workers",
        type=whole(1),
        default=None,
        metavar="N",
        help="processes (default: one for each core); their number does not change the ledger",
    )


def _verify(options: argparse.Namespace) -> int:
    from ..claims import all_claims, get_claim
    from ..examination.effort import effort
    from ..examination.ledger import ledger, timed, verify, write_ledger
    from ..files import write_json, write_text

    amount = effort(options.effort)
    chosen = dict.fromkeys(options.claim or all_claims())
    claims = [get_claim(claim_id) for claim_id in chosen]
    out = Path(options.out)
    check_folder(out)
    check_file(options.json)
    from .. import report  # draws: loaded once the input is known to be good

    workers = options.workers or _cores()
    with progress(options.quiet) as bar:
        (results, runs), seconds = timed(
            verify, claims, seed=options.seed, effort=amount, workers=workers, progress=bar
        )
    data = ledger(results, seed=options.seed, effort=amount.name, seconds=seconds)
    for result in results:
        for name, witness in _witnesses(result).items():
            write_json(out / "witnesses" / f"{name}.json", witness)
    write_text(out / "ledger.html", report.html_page(data, runs=runs))
    write_ledger(out / "ledger.json", data)
    if options.json:
        write_ledger(options.json, data)
    console().print(report.terminal_table(data))
    print(f"ledger    {out / 'ledger.json'}\npage      {out / 'ledger.html'}")
    for result in results:
        for line in result.unmet:
            print(f"UNMET     {result.claim.id}: {line}")
    return int(any(result.unmet for result in results))


def _cores() -> int:
    """Cores that this process may use; not every system tells."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _witnesses(result: Any) -> dict[str, Any]:
    """Every witness of a row, by file name."""
    found = {}
    if result.witness is not None:
        found[result.claim.id] = result.witness.to_dict()
    for name, witness in result.evidence["necessary"].figures.get("witnesses", {}).items():
        if isinstance(witness, dict):
            found[f"{result.claim.id}_without_{name}"] = witness
    return found
