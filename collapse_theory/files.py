"""Files written whole or not at all, and read with clear refusals."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NoReturn

from .errors import InputError


def write_whole(path: str | Path, write: Callable[[IO[bytes]], object]) -> Path:
    """Call ``write`` on a temporary file beside ``path``, then rename it there; an interruption leaves nothing behind.

    Missing folders are made. Raises :class:`InputError` when the place cannot be written.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise InputError(f"{path}: is a folder; give a file name")
        if path.exists() and not path.is_file():
            # Renaming over a device or a pipe would replace it: /dev/null, for a user who may.
            raise InputError(f"{path}: is not a regular file; give another file name")
        handle, temporary = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}.", suffix=".tmp"
        )
    except InputError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be written ({reason}); choose another place") from error
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp makes files private; these are results
        os.replace(temporary, path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        reason = error.strerror or error
        raise InputError(f"{path}: cannot be written ({reason}); choose another place") from error
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def write_text(path: str | Path, text: str) -> Path:
    """Write UTF-8 text whole or not at all; halves of surrogate pairs, which have no UTF-8, are spelt ``\\ud800``."""
    return write_whole(path, lambda stream: stream.write(text.encode(errors="backslashreplace")))


def write_json(path: str | Path, data: Any) -> Path:
    """Write JSON (no NaN or infinity) whole or not at all."""
    return write_text(path, json.dumps(data, indent=1, allow_nan=False) + "\n")


def read_json(path: str | Path) -> Any:
    """Read JSON. Raises :class:`InputError` when the file is missing, unreadable or damaged."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; check the path") from error
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a null character in the name
        raise InputError(
            f"{path}: cannot be read ({error}); it must be a JSON text file"
        ) from error
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: damaged, not valid JSON ({error}); make it again") from error


def digest(array: Any) -> str:
    """SHA-256 of the shape, kind and numbers of an array; whole numbers of any width count as the same."""
    import hashlib

    import numpy as np

    content = np.ascontiguousarray(array)
    if content.dtype.kind in "iu":
        content = content.astype(np.int64)
    head = f"{content.dtype.str}{content.shape}".encode()
    return hashlib.sha256(head + content.tobytes()).hexdigest()


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
