"""A study in a folder: its runs on one process, several, or a cluster; what is finished is not done again.

The folder holds ``study.json`` (the settings), a file in ``runs/`` for each finished run, and in ``running/`` the state of
those that are not finished. Each is written whole or not at all. A run that was broken off, by a kill too, goes on from its
last state and ends in the same numbers.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

from collapse_theory.errors import InputError
from collapse_theory.files import read_json, write_json, write_text
from collapse_theory.sweeps import check_workers, spread
from simulations.transformers.experiment import Experiment, perform
from simulations.transformers.studies import Study

__all__ = ["finished", "run_study"]

KIND, SCHEMA = "transformer_study", 1


def _perform(run: Experiment, folder: Path, device: str, keep: bool) -> tuple[str, dict[str, Any]]:
    state = folder / "running" / f"{run.key}.pt"
    model = folder / "models" / f"{run.key}.safetensors" if keep else None
    made = {
        "settings": mark(run),
        "environment": environment(device),
        **perform(run, device=device, checkpoint=state, keep_model=model),
    }
    write_text(folder / "runs" / f"{run.key}.json", _text(made))
    state.unlink(missing_ok=True)
    return run.key, read_json(folder / "runs" / f"{run.key}.json")


def mark(run: Experiment) -> str:
    """A digest of everything that decides the run's numbers."""
    return hashlib.sha256(json.dumps(_plain(run.settings()), sort_keys=True).encode()).hexdigest()


def _text(made: dict[str, Any]) -> str:
    """JSON with a line for each entry of a list, numbers to six digits: small, and to be read in a diff."""

    def short(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.6g}")
        if isinstance(value, dict):
            return {key: short(entry) for key, entry in value.items()}
        return [short(entry) for entry in value] if isinstance(value, (list, tuple)) else value

    def line(value: Any) -> str:
        return json.dumps(short(value), allow_nan=False, separators=(",", ":"))

    parts = []
    for key, value in made.items():
        inside = (
            "[\n" + ",\n".join(map(line, value)) + "\n]" if isinstance(value, list) else line(value)
        )
        parts.append(f"{json.dumps(key)}:{inside}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def environment(device: str) -> dict[str, str]:
    """Versions, for the record: other versions or processors may round differently."""
    import numpy
    import torch

    return {
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "torch": torch.__version__,
        "device": device if device == "cpu" else torch.cuda.get_device_name(device),
        "processor": torch.backends.cpu.get_cpu_capability(),
    }


def run_study(
    study: Study,
    folder: str | Path,
    *,
    workers: int = 1,
    scheduler: str | None = None,
    device: str = "cpu",
    keep_models: bool = False,
    limit: int | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> dict[str, dict[str, Any]]:
    """The records of all finished runs by key; those that ``folder`` has not yet are made, in the study's order.

    Args:
        workers, scheduler: as of :func:`collapse_theory.sweeps.spread`; the numbers are the same on any number.
        keep_models: whether trained weights are kept, in ``models/``.
        limit: how many runs are made at most; None for all.
        progress: called with finished runs, all, and the key of the last.
    """
    check_workers(workers, scheduler)
    folder = Path(folder)
    _claim(folder, study)
    done = finished(study, folder)
    if progress:
        progress(len(done), len(study.runs), "found")
    waiting = [run for run in study.runs if run.key not in done][:limit]
    calls = [(run, folder, device, keep_models) for run in waiting]
    with spread(_perform, calls, workers=workers, scheduler=scheduler) as results:
        for key, made in results:
            done[key] = made
            if progress:
                progress(len(done), len(study.runs), key)
    return {run.key: done[run.key] for run in study.runs if run.key in done}


def _claim(folder: Path, study: Study) -> None:
    """Write which study the folder holds, or find the same there. Raises :class:`InputError` on another one."""
    settings = {}
    for run in study.runs:
        entries = _plain(run.settings())
        del entries["seed"]
        settings[entries.pop("variant")] = entries
    made = {
        "schema": SCHEMA,
        "kind": KIND,
        "name": study.name,
        "reason": study.reason,
        "runs": {run.key: {"variant": run.variant, "seed": run.seed} for run in study.runs},
        "settings": settings,
    }
    path = folder / "study.json"
    if not path.exists():
        write_json(path, made)
        return
    found = read_json(path)
    if not isinstance(found, dict) or any(
        found.get(k) != made[k] for k in ("kind", "schema", "settings")
    ):
        raise InputError(f"{folder}: holds a study with other settings; choose another folder")


def finished(study: Study, folder: str | Path) -> dict[str, dict[str, Any]]:
    """The records that the folder has of the study's runs. Raises :class:`InputError` for one with other settings."""
    done = {}
    for run in study.runs:
        path = Path(folder) / "runs" / f"{run.key}.json"
        if path.exists():
            record = read_json(path)
            if not isinstance(record, dict) or record.get("settings") != mark(run):
                raise InputError(
                    f"{path}: of a run with other settings; delete it to make it again"
                )
            done[run.key] = record
    return done


def _plain(value: Any) -> Any:
    """As JSON would give it back: tuples are lists."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, (list, tuple)) else value
