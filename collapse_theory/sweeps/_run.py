"""A sweep in a folder: parts on one process, several, or a cluster; what is finished is not done again."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from collapse_theory.checks import integer, numbers, whole_numbers
from collapse_theory.errors import InputError
from collapse_theory.files import digest, read_json, write_json, write_text
from collapse_theory.sweeps._grid import Part, Sweep
from collapse_theory.sweeps._part import COLUMNS, train_part
from collapse_theory.sweeps._spread import check_workers, spread
from collapse_theory.trajectories._checks import check_labels, check_pairs, unseen_labels

__all__ = ["run_sweep"]

KIND, SCHEMA = "linear_sweep", 1


def run_sweep(
    sweep: Sweep,
    features: ArrayLike,
    labels: ArrayLike,
    *,
    folder: str | Path,
    count: int | None = None,
    pairs: Sequence[tuple[int, int]] | None = None,
    workers: int = 1,
    scheduler: str | None = None,
    keep_runs: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[dict[str, Any]]:
    """Train all heads; a row for each, with the keys `COLUMNS`, also in `folder/heads.csv`.

    The rows are the same on any number of workers. The folder holds the settings (`sweep.json`), the rows of each finished
    part (`parts/`), and with `keep_runs` its record (`runs/`, for `LinearRuns.load`), each file whole or not at all.

    Args:
        sweep: the grid.
        features: [N, n], shared by all heads.
        labels: targets [N], from 0.
        folder: made as needed. Finished parts of the same sweep in it are taken as they are.
        count: K; None for the largest label and one more.
        pairs: pairs of labels to follow; None for all unseen ones.
        workers: processes on this machine, by joblib where there are more than one.
        scheduler: address of a Dask scheduler, whose workers are used instead; they need this package.
        keep_runs: also keep the records.
        progress: called with the heads done and the heads in all.

    Raises:
        InputError: bad input, a folder that holds another sweep, or a package that is missing.
    """
    check_workers(workers, scheduler)
    x, y = numbers("features", features), whole_numbers("labels", labels)
    if x.ndim != 2 or y.shape != x.shape[:1] or not y.size:
        raise InputError(
            f"features have shape {x.shape}, labels {y.shape}: give [N, n] and [N], N at least 1"
        )
    classes = max(3, int(y.max()) + 1) if count is None else integer("count", count, least=3)
    targets = check_labels(y, heads=1, examples=len(y), classes=classes)
    check_pairs(pairs, unseen_labels(targets, classes), classes)
    for size in sweep.batch_sizes:
        if size is not None and size > len(y):
            raise InputError(f"batch_sizes hold {size}, but there are {len(y)} examples: lower it")
    chosen = None if pairs is None else [(int(u), int(v)) for u, v in pairs]
    folder = Path(folder)
    _claim(folder, sweep, {"features": digest(x), "labels": digest(y)}, classes, chosen)
    parts = sweep.parts()
    total = sum(len(part.heads) for part in parts)
    done: dict[int, list[dict[str, Any]]] = {}
    for part in parts:
        rows = _finished(folder, part, keep_runs)
        if rows is not None:
            done[part.index] = rows
    said = sum(map(len, done.values()))
    if progress is not None:
        progress(said, total)
    waiting = [part for part in parts if part.index not in done]
    calls = [(sweep, part, x, y, classes, chosen, keep_runs) for part in waiting]
    with spread(train_part, calls, workers=workers, scheduler=scheduler) as results:
        for index, rows, runs in results:
            if runs is not None:
                runs.save(_path(folder, "runs", index, "npz"))
            write_json(_path(folder, "parts", index, "json"), {"part": index, "rows": rows})
            done[index] = rows
            said += len(rows)
            if progress is not None:
                progress(said, total)
    rows = sorted((row for part in done.values() for row in part), key=lambda row: row["head"])
    write_text(folder / "heads.csv", _csv(rows))
    return rows


def _path(folder: Path, kind: str, index: int, ending: str) -> Path:
    return folder / kind / f"{index:05d}.{ending}"


def _claim(
    folder: Path,
    sweep: Sweep,
    data: dict[str, str],
    classes: int,
    pairs: list[tuple[int, int]] | None,
) -> None:
    """Write what the sweep is, or find the same there. Raises :class:`InputError` on another one."""
    from collapse_theory.trajectories._record import versions

    made: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": KIND,
        "versions": versions(),
        "data": {**data, "labels_in_all": classes, "pairs": pairs and [list(p) for p in pairs]},
        "settings": sweep.to_dict(),
    }
    path = folder / "sweep.json"
    if not path.exists():
        write_json(path, made)
        return
    found = read_json(path)
    if not isinstance(found, dict) or (found.get("kind"), found.get("schema")) != (KIND, SCHEMA):
        raise InputError(f"{path}: not a sweep of this version; choose another folder")
    other = [
        name
        for group in ("versions", "data", "settings")
        for name, value in made[group].items()
        if not isinstance(found.get(group), dict) or found[group].get(name) != value
    ]
    if other:
        raise InputError(
            f"{folder}: holds a sweep with other {', '.join(other)}; choose another folder, or delete this one"
        )


def _finished(folder: Path, part: Part, keep_runs: bool) -> list[dict[str, Any]] | None:
    """The rows of a part that is done; None where it is to be done, or its file is damaged."""
    path = _path(folder, "parts", part.index, "json")
    if not path.exists() or (keep_runs and not _path(folder, "runs", part.index, "npz").exists()):
        return None
    try:
        rows = read_json(path)["rows"]
        whole = [row["head"] for row in rows] == [head.index for head in part.heads]
        whole = whole and all(tuple(row) == COLUMNS for row in rows)
    except (InputError, KeyError, TypeError):
        return None
    return rows if whole else None


def _csv(rows: list[dict[str, Any]]) -> str:
    """A line for each head; an empty cell for None, and shortest decimals that give the number back."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        cells = {k: str(v).lower() if isinstance(v, bool | np.bool_) else v for k, v in row.items()}
        writer.writerow(cells)
    return text.getvalue()
