"""Records on disk: an .npz without pickles, with a JSON header, written whole or not at all.

The header holds the schema, the seed, the dtype, the versions, the configuration, and the shape and
type of every array, against which the reader checks the file.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from collapse_theory.errors import InputError
from collapse_theory.files import write_whole
from collapse_theory.trajectories._config import LinearConfig

if TYPE_CHECKING:
    from collapse_theory.trajectories._runs import LinearRuns

__all__ = ["load", "save"]

KIND = "linear_runs"
SCHEMA = 3
READABLE = (1, 2, 3)
"""Schema 1 knew plain gradient descent alone, and none of the settings in `SINCE_2`."""
SINCE_3 = {"masked"}
"""Nor did schema 2, whose pairs were unseen without exception, have `target_mass`."""
SINCE_2 = {
    "optimizer",
    "momentum",
    "dampening",
    "nesterov",
    "betas",
    "epsilon",
    "amsgrad",
    *SINCE_3,
}
SCHEDULES = ("step_size", "weight_decay")

SHAPES = {
    "pairs": "P2",
    "unseen": "U",
    "recorded": "R",
    "states": "S",
    "step_size": "HR",
    "weight_decay": "HR",
    "radius": "H",
    "decay_product": "HS",
    "distance": "HSP",
    "next_distance": "HRP",
    "trace": "HRP",
    "largest_logmean": "HRP",
    "target_mass": "HRP",
    "residual": "HRP",
    "loss": "HR",
    "unseen_mass": "HR",
    "norms": "HSK",
    "cosine": "HSP",
    "centred_cosine": "HSP",
    "final_weights": "HKn",
    "weights": "HSKn",
}
"""Axes of arrays of `LinearRuns`, S being the R + 1 states; the others have more than one form."""
FREE = ("features", "labels", "example_weights", "indices")
OPTIONAL = ("weights", "example_weights", "indices")


def save(runs: LinearRuns, path: Path) -> None:
    """Write `runs` to `path`; see `LinearRuns.save`."""
    arrays: dict[str, NDArray[Any]] = {}
    for name in (*SHAPES, *FREE):
        value = getattr(runs, name)
        if value is not None:
            arrays[name] = np.asarray(value)
    config: dict[str, Any] = {}
    for entry in fields(LinearConfig):
        value = getattr(runs.config, entry.name)
        if entry.name in SCHEDULES and np.ndim(value):
            arrays[f"config.{entry.name}"] = np.asarray(value, dtype=np.float64)
            value = None
        elif entry.name == "seeds" and np.ndim(value):
            value = [int(seed) for seed in value]
        config[entry.name] = value.item() if isinstance(value, np.generic) else value
    header = {
        "schema": SCHEMA,
        "kind": KIND,
        "seed": config["seeds"],
        "dtype": runs.config.dtype,
        "versions": dict(runs.versions),
        "configuration": config,
        "arrays": {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()},
    }
    everything: dict[str, Any] = {"header": np.array(json.dumps(header)), **arrays}
    write_whole(path, lambda stream: np.savez(stream, allow_pickle=False, **everything))


def load(path: Path) -> dict[str, Any]:
    """The fields of the `LinearRuns` in `path`; see `LinearRuns.load`."""
    damaged = InputError(f"{path} is damaged or not a record of runs: make it anew")
    try:
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile) or "header" not in archive.files:
                raise damaged
            header = json.loads(str(archive["header"]))
            _check_header(header, path)
            arrays = {name: archive[name] for name in archive.files if name != "header"}
    except InputError:
        raise
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"cannot read {path} ({reason}): give a file that `save` wrote") from None
    except (
        Exception
    ):  # a damaged zip or .npy raises half a dozen types, tokenizer errors among them
        raise damaged from None
    declared = {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}
    if declared != header["arrays"]:
        raise InputError(
            f"{path} is damaged: its arrays are not those its header lists: make it anew"
        )
    return _fields(header, arrays, path)


def _check_header(header: Any, path: Path) -> None:
    """Refuse what this version does not understand."""
    if not isinstance(header, dict) or header.get("kind") != KIND:
        raise InputError(f"{path} is not a record of linear runs: give a file that `save` wrote")
    if header.get("schema") not in READABLE:
        raise InputError(
            f"{path} has schema {header.get('schema')!r}, this version reads 1 to 3: "
            "make it anew, or install the version that wrote it"
        )
    for name in ("versions", "configuration", "arrays"):
        if not isinstance(header.get(name), dict):
            raise InputError(f"{path} is damaged: its header has no {name}: make it anew")


def _fields(header: dict[str, Any], arrays: dict[str, NDArray[Any]], path: Path) -> dict[str, Any]:
    """Check the shapes against one another and build the fields of `LinearRuns`."""
    values = dict(header["configuration"])
    for name in SCHEDULES:
        if f"config.{name}" in arrays:
            values[name] = arrays.pop(f"config.{name}")
    if header["schema"] < 3 and "trace" in arrays:
        arrays["target_mass"] = np.zeros_like(arrays["trace"])
    known = {*SHAPES, *FREE}
    if set(arrays) - known or known - set(arrays) - set(OPTIONAL):
        raise InputError(f"{path} is damaged: arrays are missing or unknown: make it anew")
    wanted = {entry.name for entry in fields(LinearConfig)}
    later = {1: SINCE_2, 2: SINCE_3, 3: set()}[header["schema"]]
    if values.keys() != wanted - later:
        raise InputError(f"{path} is damaged: its configuration is not complete: make it anew")
    sizes: dict[str, int] = {"2": 2}
    for name, axes in SHAPES.items():
        if name in arrays:
            shape = arrays[name].shape
            same = len(shape) == len(axes)
            if not same or any(
                sizes.setdefault(a, s) != s for a, s in zip(axes, shape, strict=True)
            ):
                raise InputError(f"{path} is damaged: {name} has shape {shape}: make it anew")
    if isinstance(values.get("betas"), list):
        values["betas"] = tuple(values["betas"])
    try:
        config = LinearConfig(**values)
    except InputError as error:
        raise InputError(f"{path} is damaged: {error}") from None
    return {"config": config, "versions": header["versions"], **arrays}
