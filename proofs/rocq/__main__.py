"""Build the Rocq proofs and say what they prove: `python -m proofs.rocq`.

With `--compare N` also hold the statements against the library's numbers, enclosures at N instances; with `--check` also
let `coqchk` check the compiled files again. Both take minutes.

Exit status: 0 if every theorem of a claim says what the claim says, 1 if one does not or a file does not compile, 2
without `coqc`.
"""

from __future__ import annotations

import argparse
import sys

from collapse_theory import all_claims

from . import BuildError, MissingCoq, bridge, build, problems, proofs
from .checker import check


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m proofs.rocq", description=__doc__)
    parser.add_argument("--compare", type=int, metavar="N", help="compare numbers, at N instances")
    parser.add_argument("--check", action="store_true", help="run coqchk")
    options = parser.parse_args(arguments)
    try:
        theorems = proofs()
        if options.compare is not None:
            for domain in bridge.domains():
                count = bridge.compare(domain, enclosures=options.compare)
                print(f"  agree    {domain}: {count} statements about instances", flush=True)
        if options.check:
            print(f"coqchk: passed; axioms: {', '.join(check(build()))}")
    except MissingCoq as error:
        print(error, file=sys.stderr)
        return 2
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    failed = False
    for claim in all_claims().values():
        if claim.id not in theorems:
            print(f"  -        {claim.id}")
            continue
        theorem = theorems[claim.id]
        unlike = problems(claim, theorems)
        failed |= bool(unlike)
        word = "differs" if unlike else "refuted" if theorem.negated else "proved"
        print(f"  {word:<8} {claim.id}  {theorem.file}{''.join(f'; {p}' for p in unlike)}")
    axioms = next(iter(theorems.values())).axioms if theorems else ()
    print(f"axioms: {', '.join(axioms) or 'none'}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
