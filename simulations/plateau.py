"""How far above the decay product AdamW's distances of unseen rows settle, and for how long. Observed, not proved.

Linear heads on a teacher's noisy labels, some labels never targets; AdamW from torch's kernel. One setting is varied at a
time around a base, and eta x lam on grids, in full batches and in minibatches. The heads of a setting, one for each seed
(weights, data and orders of its own), are one batched computation. Time is measured in folds, ``steps eta lam``: after f
folds the decay product is about ``exp(-f)``, whatever eta and lam are.

Finished settings are appended to ``plateau.jsonl``, each whole; starting again goes on after them, with the same numbers.

    python -m simulations.plateau --out results
    python -m simulations.plateau --quick --out results
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collapse_theory import softmax
from collapse_theory.arithmetic import FLOAT
from collapse_theory.checks import integer
from collapse_theory.errors import InputError
from collapse_theory.files import write_text
from collapse_theory.trajectories import LinearConfig, LinearRuns, train_linear_heads

__all__ = ["QUICK", "Config", "Setting", "finished", "main", "measure", "sweep"]

Floats = NDArray[np.float64]

FLOOR = 1e-13
"""Distances below this share of the first are about rounding: nothing is read from them."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One set of hyperparameters; ``varied`` says what differs from the base; ``batch`` is None for all examples."""

    varied: str
    eta: float = 3e-2
    lam: float = 0.1
    eps: float = 1e-8
    beta1: float = 0.9
    beta2: float = 0.999
    batch: int | None = None


def settings() -> tuple[Setting, ...]:
    """The base, variations of it, and the grids."""
    out = [Setting(varied="base")]
    out += [Setting(varied="eps", eps=eps) for eps in (1e-6, 1e-4)]
    out += [
        Setting(varied="betas", beta1=beta1, beta2=beta2)
        for beta1, beta2 in ((0.9, 0.9999), (0.9, 0.99), (0.0, 0.0))
    ]
    out += [Setting(varied="batch", batch=batch) for batch in (32, 8)]
    out += [Setting(varied="betas", beta2=beta2, batch=32) for beta2 in (0.9999, 0.99)]
    for batch in (None, 32):
        out += [
            Setting(varied="grid", eta=eta, lam=lam, batch=batch)
            for eta in (1e-2, 3e-2, 1e-1)
            for lam in (0.1, 0.3)
        ]
    return tuple(out)


@dataclass(frozen=True, kw_only=True)
class Config:
    """The study's numbers: sizes of the heads, seeds, settings; times in folds.

    Attributes:
        classes, unseen, dim, examples: labels, those of them that are never targets, features, examples.
        weight_scale: standard deviation of the initial weights.
        teacher: scale of the teacher's logits; the labels are drawn from its softmax.
        folds: length of a run.
        window: where the plateau's level is taken.
        shown: when distances are reported.
        per_fold: recorded states in a fold, evenly spaced.
    """

    classes: int = 16
    unseen: int = 4
    dim: int = 16
    examples: int = 256
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    weight_scale: float = 0.3
    teacher: float = 0.5
    folds: int = 24
    window: tuple[int, int] = (9, 12)
    shown: tuple[int, ...] = (1, 2, 3, 6, 9, 12, 15, 18, 21, 24)
    per_fold: int = 4
    settings: tuple[Setting, ...] = dataclasses.field(default_factory=settings)


QUICK = Config(
    classes=6,
    unseen=2,
    dim=4,
    examples=32,
    seeds=(0, 1),
    settings=(
        Setting(varied="base", eta=0.1, lam=0.1),
        Setting(varied="eps", eta=0.1, lam=0.1, eps=1e-3),
        Setting(varied="batch", eta=0.1, lam=0.1, batch=8),
    ),
)


def problem(config: Config) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Initial weights [H, K, n], normal features [H, N, n], labels [H, N]; the labels 0 to unseen - 1 are no targets."""
    parts = []
    for seed in config.seeds:
        rng = np.random.default_rng(integer("seeds", seed, least=0))
        x = rng.standard_normal((config.examples, config.dim))
        teacher = config.teacher * rng.standard_normal((config.classes - config.unseen, config.dim))
        logits = x @ teacher.T
        labels = config.unseen + np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
        weights = config.weight_scale * rng.standard_normal((config.classes, config.dim))
        parts.append((weights, x, labels))
    weights, x, labels = zip(*parts, strict=True)
    return np.stack(weights), np.stack(x), np.stack(labels)


def run(setting: Setting, config: Config) -> LinearRuns:
    """All seeds of one setting."""
    every = max(1, round(1 / (config.per_fold * setting.eta * setting.lam)))
    weights, x, labels = problem(config)
    return train_linear_heads(
        weights,
        x,
        labels,
        config=LinearConfig(
            steps=every * config.per_fold * config.folds,
            step_size=setting.eta,
            weight_decay=setting.lam,
            batch_size=setting.batch,
            seeds=config.seeds,
            record_every=every,
            optimizer="adamw",
            betas=(setting.beta1, setting.beta2),
            epsilon=setting.eps,
        ),
        pairs=[(u, v) for v in range(config.unseen) for u in range(v)],
    )


def measure(setting: Setting, config: Config, runs: LinearRuns) -> dict[str, Any]:
    """One row: what was set and what was seen. Distances are relative to their start, medians over seeds and pairs.

    Keys beside the setting's own:
        steps: of the run.
        distance_f, ratio_f: after f folds the distance, and that over the decay product; None below the floor.
        level, level_least, level_most: the median over the window, and the least and most of the seeds' own.
        level_over_eta: the same of ``|D|`` itself, in units of eta.
        left_step: the first recorded step after the window with a distance below half the level; None if there is none.
        last: the median over the last three folds, over the level.
        rate: slope of ``-log`` distance per fold over the later half of the states above the floor; 1 is the decay's own.
        rate_memory: that slope per step, in units of ``1 - beta2``, the rate at which AdamW forgets squared gradients.
        floor_step: the first recorded step at which the distance is below the floor; None if there is none.
        g: the largest gradient entry of unseen rows at the end, on all examples, median over seeds.
        update: the largest ``g/(g + eps)``, likewise.
        loss, unseen_mass: means over seeds at the last recorded step.
    """
    relative = runs.distance / runs.distance[:, :1]
    middle = np.median(relative, axis=(0, 2))
    folds = np.arange(len(middle)) / config.per_fold
    log_product = runs.states * np.log1p(-setting.eta * setting.lam)
    below = np.flatnonzero(middle < FLOOR)
    stop = int(below[0]) if len(below) else len(middle)
    row: dict[str, Any] = {**dataclasses.asdict(setting), "steps": runs.config.steps}
    for fold in config.shown:
        at = fold * config.per_fold
        row[f"distance_{fold}"] = float(middle[at]) if at < stop else None
        row[f"ratio_{fold}"] = float(middle[at] / np.exp(log_product[at])) if at < stop else None
    first, last = config.window
    window = slice(first * config.per_fold, last * config.per_fold + 1)
    level = float(np.median(relative[:, window]))
    seeds = np.median(relative[:, window], axis=(1, 2))
    absolute = float(np.median(runs.distance[:, window])) / setting.eta
    settled = window.stop <= stop
    after = np.flatnonzero(middle[window.stop :] < level / 2)
    tail = float(np.median(relative[:, -3 * config.per_fold - 1 :]))
    half = slice(stop // 2, stop)
    rate = float(-np.polyfit(folds[half], np.log(middle[half]), 1)[0])
    entries = _gradients(runs, config)
    row |= {
        "level": level if settled else None,
        "level_least": float(seeds.min()) if settled else None,
        "level_most": float(seeds.max()) if settled else None,
        "level_over_eta": absolute if settled else None,
        "left_step": int(runs.states[window.stop + after[0]]) if settled and len(after) else None,
        "last": tail / level if settled else None,
        "rate": rate,
        "rate_memory": rate * setting.eta * setting.lam / (1 - setting.beta2),
        "floor_step": int(runs.states[stop]) if len(below) else None,
        "g": float(np.median(entries)),
        "update": float(np.median(entries / (entries + setting.eps))),
        "loss": float(runs.loss[:, -1].mean()),
        "unseen_mass": float(runs.unseen_mass[:, -1].mean()),
    }
    return row


def _gradients(runs: LinearRuns, config: Config) -> Floats:
    """The largest gradient entry of unseen rows at the last weights, on all examples [H]."""
    shares = np.full(config.examples, 1 / config.examples)
    every = zip(runs.final_weights, runs.features, runs.labels, strict=True)
    grads = [softmax.gradient(FLOAT, rows, x, y, shares) for rows, x, y in every]
    return np.array([np.abs(grad[: config.unseen]).max() for grad in grads])


def finished(path: Path, config: Config) -> list[dict[str, Any]]:
    """The rows that ``path`` holds, in the order of the settings; a torn line is taken out, a missing head put in.

    Raises :class:`InputError` where the file was made with another configuration.
    """
    whole, _, torn = (path.read_bytes() if path.exists() else b"").rpartition(b"\n")
    lines = whole.decode("utf-8").splitlines()
    if torn or not lines:
        lines = lines or [json.dumps(dataclasses.asdict(config))]
        write_text(path, "".join(line + "\n" for line in lines))
    try:
        first, *rows = [json.loads(line) for line in lines]
    except ValueError as error:
        raise InputError(f"{path}: damaged ({error}); remove it to start afresh") from error
    if json.dumps(first) != json.dumps(dataclasses.asdict(config)):
        raise InputError(
            f"{path}: made with another configuration; choose another place or remove it"
        )
    return rows


def sweep(
    path: str | Path, config: Config, *, progress: Callable[[int, int, str], None] | None = None
) -> list[dict[str, Any]]:
    """All rows; what ``path`` does not hold yet is run and appended, a row at a time.

    ``progress`` is called before each setting and at the end, with settings done, all of them, and the one to come.
    """
    path = Path(path)
    rows = finished(path, config)
    for done, setting in list(enumerate(config.settings))[len(rows) :]:
        if progress:
            progress(done, len(config.settings), str(setting))
        row = measure(setting, config, run(setting, config))
        # One write, forced to the disk: a kill leaves the line whole, or torn and noticed.
        with path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row, allow_nan=False) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        rows.append(row)
    if progress:
        progress(len(rows), len(config.settings), "done")
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is not finished, write CSV and figure, print the table; 0, or 2 with one line for bad input."""
    parser = argparse.ArgumentParser(prog="python -m simulations.plateau", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--out", default="results", metavar="DIR", help="where files go")
    parser.add_argument("--quick", action="store_true", help="a small version, in seconds")
    options = parser.parse_args(arguments)
    from simulations.plateau_views import csv_text, draw, read, table

    def show(done: int, total: int, name: str) -> None:
        print(f"{done} of {total} settings; {name}", file=sys.stderr, flush=True)

    config = QUICK if options.quick else Config()
    folder = Path(options.out)
    record = folder / ("plateau_quick.jsonl" if options.quick else "plateau.jsonl")
    try:
        text = csv_text(sweep(record, config, progress=show))
        rows = read(text)
        written = [
            record,
            write_text(folder / "plateau.csv", text),
            draw(rows, folder / "plateau.svg"),
        ]
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\ninterrupted: finished settings are in {record}", file=sys.stderr)
        return 130
    print(table(rows))
    for path in written:
        print(f"written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
