"""A new folder that is finished or not there: it grows under a hidden name and is renamed at the end."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...errors import InputError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: leftovers are then named, not removed
    fcntl = None

__all__ = ["Leftovers", "check_place", "place", "staged", "tree"]


def check_place(source: Path, out: Path) -> None:
    """Raises :class:`InputError` unless ``out`` is a new place, apart from the source, in a folder that can be written."""
    if out.name in ("", ".."):
        raise InputError(f"{out}: has no name of its own; give the new folder by its name")
    real, origin = Path(os.path.realpath(out)), Path(os.path.realpath(source))
    folder = origin if origin.is_dir() else origin.parent
    if real in (origin, folder):
        raise InputError(
            f"{out}: is the source itself; a repair is written beside it, give another folder"
        )
    if real.is_relative_to(folder) and origin.is_dir():
        raise InputError(f"{out}: lies inside the source; give a folder outside of {source}")
    if origin.is_relative_to(real):
        raise InputError(f"{out}: holds the source; give a folder that does not exist yet")
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise InputError(f"{out}: is in the way; give a folder that does not exist yet")
    try:
        if out.is_dir() and any(out.iterdir()):
            raise InputError(f"{out}: is not empty; give a folder that does not exist yet")
        parent = out.parent
        while not parent.exists() and parent != parent.parent:
            parent = parent.parent
        with tempfile.TemporaryFile(dir=parent):
            pass
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{out}: cannot be written ({reason}); choose another place") from error


class Leftovers:
    """Partial folders of runs that were killed: those removed, and those that another run is working in."""

    def __init__(self, out: Path) -> None:
        self.removed: list[str] = []
        self.busy: list[str] = []
        if not out.parent.is_dir():
            return
        start = _start(out)
        for path in sorted(p for p in out.parent.iterdir() if p.name.startswith(start)):
            if path.is_symlink() or not path.is_dir():
                continue
            handle = _locked(path)
            if handle is None:
                self.busy.append(path.name)
                continue
            shutil.rmtree(path, ignore_errors=True)
            os.close(handle)
            (self.busy if path.exists() else self.removed).append(path.name)


@contextmanager
def staged(out: Path) -> Iterator[Path]:
    """A folder to write in, beside ``out``; on success it becomes ``out``, on any error it goes.

    A lock on it tells later runs that it is in use. Raises :class:`InputError` when the disk is full or the place cannot be
    written.
    """
    handle = None
    temporary = None
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=out.parent, prefix=_start(out)))
        handle = _locked(temporary)
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o777 & ~umask)  # mkdtemp makes folders private; this is a result
        if out.is_dir():
            out.rmdir()  # an empty one; Windows does not rename over it
        temporary.rename(out)
    except BaseException as error:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError):
            reason = error.strerror or error
            at = f"{error.filename}: " if error.filename else ""
            raise InputError(
                f"{out}: not made ({at}{reason}); nothing was left, make room or choose another place"
            ) from error
        raise
    finally:
        if handle is not None:
            os.close(handle)


def tree(folder: Path) -> dict[str, Path]:
    """All files under a folder, by their path in it; links are followed. Raises :class:`InputError` on a loop of links."""
    found: dict[str, Path] = {}

    def walk(place: Path, name: str, above: frozenset[str]) -> None:
        real = os.path.realpath(place)
        if real in above:
            raise InputError(f"{place}: is a link to a folder above it; remove the link")
        for entry in sorted(os.scandir(place), key=lambda entry: entry.name):
            inner = f"{name}/{entry.name}" if name else entry.name
            if entry.is_dir():
                walk(Path(entry.path), inner, above | {real})
            elif entry.is_file():
                found[inner] = Path(os.path.realpath(entry.path))
            elif entry.is_symlink():
                raise InputError(
                    f"{entry.path}: is a link to nothing; download the file or remove it"
                )
            else:
                raise InputError(f"{entry.path}: is no regular file; remove it from the checkpoint")

    walk(folder, "", frozenset())
    return found


def place(source: Path, target: Path, *, link: bool) -> bool:
    """Put a file into the new folder, linked where that is wanted and possible; whether it was linked."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if link:
        with suppress(OSError, NotImplementedError):  # another file system, or one without links
            os.link(source, target)
            return True
    shutil.copyfile(source, target)
    return False


def _start(out: Path) -> str:
    return f".{out.name}.partial-"


def _locked(folder: Path) -> int | None:
    """An open handle with a lock on the folder, which ends with the process; None where somebody else has it."""
    if fcntl is None:
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
