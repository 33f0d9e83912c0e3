"""Check derivations line by line: `python -m proofs.symbolic [CLAIM ...] [--latex DIR]`.

Exit status: 0 if every line is verified, 1 if one is not, 2 for bad input.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from . import derivations, derive


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m proofs.symbolic", description=__doc__)
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help="claim ids (default: all)")
    parser.add_argument("--latex", type=Path, metavar="DIR", help="also write DIR/CLAIM.tex")
    options = parser.parse_args(arguments)
    known = derivations()
    for claim in options.claims:
        if claim not in known:
            print(
                f"claim {claim!r} has no derivation; those that have one are {', '.join(known)}",
                file=sys.stderr,
            )
            return 2
    failed = False
    for claim in options.claims or known:
        if options.latex is not None:
            try:
                write(options.latex / f"{claim}.tex", derive(claim).latex())
            except OSError as error:
                print(
                    f"cannot write to {str(options.latex)!r} ({error.strerror}); "
                    "give --latex a folder that can be written",
                    file=sys.stderr,
                )
                return 2
        failed |= not report(claim)
    return int(failed)


def report(claim: str) -> bool:
    """Print every line of a derivation with its verdict; returns whether all are verified."""
    derivation = derive(claim)
    print(f"{claim}\n  sizes: {derivation.sizes}")
    statements = {line.name: str(line.statement) for line in derivation.lines}
    results = derivation.check()
    width = max(len(result.name) for result in results)
    for result in results:
        detail = statements.get(result.name, "")
        if result.role == "goal":
            detail = "rests on its stated hypotheses alone"
        if not result.ok:
            detail = f"{detail}  [{result.reason}]"
        print(f"  {result.verdict:<8}  {result.name:<{width}}  {detail}")
    good = sum(result.ok for result in results)
    seconds = sum(result.seconds for result in results)
    print(f"  {good} of {len(results)} stand, {seconds:.1f} s\n")
    return good == len(results)


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, encoding="utf-8", delete=False
    ) as temporary:
        temporary.write(text)
    os.replace(temporary.name, path)


if __name__ == "__main__":
    sys.exit(main())
