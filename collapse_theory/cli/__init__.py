"""The command line: ``collapse-theory verify | falsify | simulate | plot | export | forecast | audit | repair``.

Exit status: 0 when all expectations hold, 1 when some do not, 2 for bad input (one line that names the value and the fix),
130 when interrupted. Progress goes to stderr, results to stdout. Libraries are imported by the command that needs them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .._version import __version__
from ..errors import InputError, printable
from . import _audit, _export, _falsify, _forecast, _plot, _repair, _simulate, _verify
from ._common import Parser

EXAMPLES = """\
examples:
  collapse-theory verify                                 every claim, every kind of evidence
  collapse-theory verify --claim contraction --effort quick
  collapse-theory falsify paper_lemma_4_1                a counterexample, small enough to read
  collapse-theory falsify contraction --drop step_size   is that hypothesis needed?
  collapse-theory simulate linear --steps 500 --learning-rate 0.5 --weight-decay 0.01 --out run.npz
  collapse-theory simulate sweep --learning-rate 0.1 0.3 --weight-decay 1e-3 1e-2 --workers 2 --out sweep
  collapse-theory plot shrinkage run.npz -o shrinkage.pdf
  collapse-theory export contraction --latex -o contraction.tex
  collapse-theory forecast --optimizer sgd --learning-rate 0.1 --weight-decay 1e-3 --steps 20000 --radius 4
  collapse-theory audit path/to/model                    have its unused tokens' rows collapsed?
  collapse-theory repair path/to/model --out repaired    unused rows made distinct, in a copy
"""


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = Parser(
        prog="collapse-theory",
        description="Theorems about softmax collapse, put to the test.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"collapse-theory {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in (_verify, _falsify, _simulate, _plot, _export, _forecast, _audit, _repair):
        module.add(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    # Before NumPy or torch load: one thread a process, for steady times on shared machines.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    try:
        options = parser().parse_args(arguments)
        return options.run(options)
    except InputError as error:
        print(f"collapse-theory: {printable(str(error))}", file=sys.stderr)
        return 2
    except MemoryError as error:
        reason = str(error) or "out of memory"
        print(f"collapse-theory: {reason}; make the sizes smaller", file=sys.stderr)
        return 2
    except KeyboardInterrupt as error:
        left = str(error) or "no partial file was left"
        print(f"collapse-theory: interrupted; {left}", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of a pipe left early, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        reason = printable(" ".join(str(error).split()))
        print(f"collapse-theory: {reason}; choose another place", file=sys.stderr)
        return 2
