"""What the commands share: parsing of values, common options, progress, checks of output folders."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from ..errors import InputError


class Parser(argparse.ArgumentParser):
    """Bad usage is bad input like any other: one line, exit 2."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see: {self.prog} --help)")


LARGEST = 10**9
"""No size or count may be above this."""


def whole(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"got {text!r}, expected a whole number >= {least}")
        if value > LARGEST:
            raise argparse.ArgumentTypeError(f"got {text!r}, expected at most {LARGEST:,}")
        return value

    return parse


def real(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a finite number")
    return value


def nonnegative(text: str) -> float:
    value = real(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a number >= 0")
    return value


def command(commands: Any, name: str, run: Callable[..., int], about: str, example: str) -> Any:
    """A subcommand with the options that every command has."""
    parser = commands.add_parser(
        name,
        help=about,
        description=about,
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--seed", type=whole(0), default=0, help="fixes every random draw (default 0)"
    )
    parser.add_argument("--json", metavar="PATH", help="also write the result as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.set_defaults(run=run)
    return parser


def check_folder(folder: str | Path) -> None:
    """Refuse a useless output folder before the work, not after it; nothing is made yet. Raises :class:`InputError`."""
    import tempfile

    existing = Path(folder)
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        reason = "a file is in the way" if existing.is_file() else error.strerror or error
        raise InputError(f"{folder}: cannot be written ({reason}); choose another place") from error


def check_file(path: str | Path | None) -> None:
    """The same for an output file, if there is to be one."""
    if path is None:
        return
    if Path(path).is_dir():
        raise InputError(f"{path}: is a folder; give a file name")
    if Path(path).exists() and not Path(path).is_file():
        raise InputError(f"{path}: is not a regular file; give another file name")
    check_folder(Path(path).parent)


def check_outputs(named: Mapping[str, str | None], read: Iterable[str | Path | None]) -> None:
    """Refuse output files (by their option) that cannot be written, that are one another, or that are ``read``.

    In a folder that is read a new file may be made, and a table or page of before replaced; nothing else. Raises
    :class:`InputError`.
    """
    inputs = [Path(path).resolve() for path in read if path is not None]
    seen: dict[Path, str] = {}
    for option, path in named.items():
        if path is None:
            continue
        check_file(path)
        real = Path(path).resolve()
        if real in seen:
            raise InputError(f"{option}: {path} is that of {seen[real]}, too; give another name")
        seen[real] = option
        within = real.suffix not in (".csv", ".html") and real.exists()
        if any(real == place or (within and place in real.parents) for place in inputs):
            raise InputError(
                f"{option}: {path} is read, and would be written over; give another name"
            )


def console() -> Any:
    from rich.console import Console

    # Piped output is not to be folded at 80 columns by a terminal that is not there.
    return Console() if sys.stdout.isatty() else Console(width=120)


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each stage on stderr: live on a terminal, one line a stage elsewhere."""
    if quiet:
        yield lambda _what, _done, _total: None
        return
    if not sys.stderr.isatty():
        said: set[str] = set()

        def say(what: str, done: int, total: int) -> None:
            if what not in said:
                said.add(what)
                print(f"{what} ({total:,})", file=sys.stderr, flush=True)

        yield say
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    bars = Progress(
        TextColumn("{task.description:<28}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )
    tasks: dict[str, Any] = {}

    def show(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = bars.add_task(what, total=total)
        bars.update(tasks[what], completed=done, total=total)

    with bars:
        yield show
