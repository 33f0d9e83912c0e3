"""Command line: one command a study."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from collapse_theory.checks import integer
from collapse_theory.errors import InputError
from simulations.transformers.execution import run_study
from simulations.transformers.studies import STUDIES, study

DESCRIPTION = """Train transformers on propositional logic and test them on symbols that they have not seen.

Finished runs are kept in the folder; the same command again goes on where it was stopped, with the same numbers."""

EXAMPLES = """studies:
{studies}

examples:
  python -m simulations.transformers smoke --out results/smoke
  python -m simulations.transformers table --out results/table --workers 2
  python -m simulations.transformers gpu --dry-run
"""


def parser() -> argparse.ArgumentParser:
    studies = "\n".join(f"  {name:13} {make().reason}" for name, make in STUDIES.items())
    made = argparse.ArgumentParser(
        prog="python -m simulations.transformers",
        description=DESCRIPTION,
        epilog=EXAMPLES.format(studies=studies),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("study", choices=STUDIES, help="which one; see below")
    made.add_argument("--out", metavar="DIR", help="folder for its runs; default results/STUDY")
    made.add_argument("--workers", type=int, default=1, help="processes of one thread each")
    made.add_argument(
        "--scheduler", metavar="ADDRESS", help="of a Dask cluster, in place of workers"
    )
    made.add_argument("--device", default="cpu", help="cpu or cuda (cuda:1, ...)")
    made.add_argument("--limit", type=int, metavar="N", help="make at most N runs now")
    made.add_argument("--keep-models", action="store_true", help="keep trained weights in models/")
    made.add_argument("--quiet", action="store_true", help="no progress")
    made.add_argument(
        "--dry-run", action="store_true", help="build each model, try one step's shapes, and stop"
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or 2 with one line for bad input."""
    options = parser().parse_args(arguments)
    folder = Path(options.out or f"results/{options.study}")

    def show(done: int, total: int, name: str) -> None:
        if not options.quiet:
            print(f"{done} of {total} runs; {name}", file=sys.stderr, flush=True)

    try:
        chosen = study(options.study)
        check_device(options.device)
        if options.dry_run:
            from simulations.transformers.dry_run import shapes

            print(shapes(chosen))
            return 0
        done = run_study(
            chosen,
            folder,
            workers=options.workers,
            scheduler=options.scheduler,
            device=options.device,
            keep_models=options.keep_models,
            limit=None if options.limit is None else integer("limit", options.limit, least=0),
            progress=show,
        )
        from simulations.transformers.views import publish

        print(publish(chosen, done, folder))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\ninterrupted: finished runs are in {folder}", file=sys.stderr)
        return 130
    return 0


def check_device(name: str) -> None:
    """Raises :class:`InputError` for a device that torch does not have here."""
    import torch

    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"device {name}: not usable ({reason:.80}); take cpu") from error


if __name__ == "__main__":
    sys.exit(main())
