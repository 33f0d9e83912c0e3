"""Own data on every machine: a language model's head over bytes, on the source of Python's standard library.

Label: the next byte, 256 of them. Features: a random embedding of the bytes before it, one table for each place, summed
and RMS-normalised with known weights gamma, so that r is known without a look at the data (`feature_radius`). The text is
UTF-8, in which 13 bytes (0xC0, 0xC1, 0xF5 to 0xFF) never occur: labels unseen by construction. Bytes that this text merely
lacks are unseen too, and are reported apart. The head is trained by SGD and by AdamW, several seeds each, in minibatches.

Beside the distances: for SGD the proved bounds of `trajectory`, every step recorded; for AdamW the decay product, which is
not a bound, and the ball of `adamw_ball`.

    python -m simulations.stdlib_bytes --out results
    python -m simulations.stdlib_bytes --quick --out results
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from collapse_theory.checks import integer
from collapse_theory.errors import InputError
from collapse_theory.files import write_json
from collapse_theory.forecast._adam import update_bound
from collapse_theory.normalization import feature_radius
from collapse_theory.trajectories import LinearConfig, LinearRuns, train_linear_heads

__all__ = ["INVALID", "KINDS", "QUICK", "Config", "Study", "main", "read_text", "study"]

Floats = NDArray[np.float64]

INVALID = (0xC0, 0xC1, *range(0xF5, 0x100))
"""The bytes that no UTF-8 text has (RFC 3629)."""
BYTES = 256
KINDS = ("never in UTF-8", "not in this text")
"""Why a byte is unseen."""
OPTIMIZERS: tuple[Literal["sgd", "adamw"], ...] = ("sgd", "adamw")


@dataclass(frozen=True, kw_only=True)
class Config:
    """The study's numbers.

    Attributes:
        size: bytes of text.
        context: bytes that a feature sees.
        dim: n.
        steps, batch_size: of each run.
        seeds: of weights and orders; text and features are the same for all.
        scale: standard deviation of the initial weights.
        edge: SGD's step size as a share of the largest that the condition with ``T = r^2/2`` allows.
        folds: ``steps eta lam`` for SGD, which sets its lam.
        adamw_step, adamw_decay: eta and lam of AdamW.
    """

    size: int = 2**17
    context: int = 4
    dim: int = 48
    steps: int = 3000
    batch_size: int = 256
    seeds: tuple[int, ...] = (0, 1, 2)
    scale: float = 0.1
    edge: float = 0.5
    folds: float = 3.0
    adamw_step: float = 3e-3
    adamw_decay: float = 1 / 3


QUICK = Config(size=2**13, dim=32, steps=120, batch_size=64, seeds=(0,), folds=1.0)


@dataclass(frozen=True, eq=False)
class Study:
    """What was run: ``runs`` by optimiser; ``radius``: r from gamma alone; ``sha256`` and ``files`` of the text."""

    config: Config
    sha256: str
    files: int
    radius: float
    runs: Mapping[str, LinearRuns]

    def pairs(self, kind: str) -> NDArray[np.bool_]:
        """Which of the recorded pairs are of one of ``KINDS`` [P]; no pair is mixed."""
        invalid = np.isin(self.runs["sgd"].pairs[:, 0], INVALID)
        return invalid if kind == KINDS[0] else ~invalid


def read_text(size: int) -> tuple[bytes, int]:
    """The first ``size`` bytes of the standard library's top modules, files in sorted order; and how many files.

    Files that are not valid UTF-8 are passed over. Raises :class:`InputError` where there is too little text.
    """
    folder = Path(sysconfig.get_paths()["stdlib"])
    text, files = b"", 0
    for path in sorted(folder.glob("*.py")):
        if len(text) >= integer("size", size, least=1):
            break
        content = path.read_bytes()
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            continue
        text, files = text + content, files + 1
    if len(text) < size:
        raise InputError(f"size: got {size}, but {folder} has {len(text)} bytes of modules")
    return text[:size], files


def features(text: bytes, config: Config) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Features [N, n], the bytes that follow them [N], and gamma [n]; the embedding's seed is fixed."""
    rng = np.random.default_rng(2024)
    embedding = rng.standard_normal((config.context, BYTES, config.dim))
    gamma = rng.uniform(0.5, 1.5, config.dim)
    codes = np.frombuffer(text, dtype=np.uint8).astype(np.int64)
    count = len(codes) - config.context
    if count < config.batch_size:
        raise InputError(
            f"size: got {config.size}, too little for a batch of {config.batch_size}; take more"
        )
    hidden = np.zeros((count, config.dim))
    for place in range(config.context):
        hidden += embedding[place, codes[place : place + count]]
    x = gamma * hidden / np.sqrt((hidden**2).mean(-1, keepdims=True) + 1e-6)
    return x, codes[config.context :], gamma


def study(config: Config, *, progress: Callable[[str, int, int], None] | None = None) -> Study:
    """Train the heads by both optimisers; ``progress`` is called with the optimiser, steps done and steps in all."""
    integer("seeds", len(config.seeds), least=1)
    text, files = read_text(config.size)
    x, labels, gamma = features(text, config)
    radius = feature_radius(gamma, kind="rms_norm").sharp
    pairs = _pairs(labels)
    starts = [
        np.random.default_rng(seed).normal(scale=config.scale, size=(BYTES, config.dim))
        for seed in config.seeds
    ]
    # eta (2 lam + r^2/2) = 2 edge with lam = folds/(steps eta).
    decay = config.folds / config.steps
    eta = (2 * config.edge - 2 * decay) / (radius**2 / 2)
    rates = {"sgd": (eta, decay / eta), "adamw": (config.adamw_step, config.adamw_decay)}
    runs = {}
    for name in OPTIMIZERS:
        runs[name] = train_linear_heads(
            np.stack(starts),
            x,
            labels,
            config=LinearConfig(
                steps=config.steps,
                step_size=rates[name][0],
                weight_decay=rates[name][1],
                batch_size=config.batch_size,
                seeds=config.seeds,
                # The proved bounds are about every step; of AdamW no single step is judged.
                record_every=1 if name == "sgd" else max(1, config.steps // 120),
                optimizer=name,
            ),
            pairs=pairs,
            progress=progress and (lambda done, total, n=name: progress(n, done, total)),
        )
    return Study(config, hashlib.sha256(text).hexdigest(), files, radius, runs)


def _pairs(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """All 78 pairs of invalid bytes, then each absent valid byte with the next one."""
    invalid = np.array(INVALID)
    first, second = np.triu_indices(len(invalid), k=1)
    absent = np.setdiff1d(np.setdiff1d(np.arange(BYTES), labels), invalid)
    neighbours = np.stack([absent[:-1], absent[1:]], 1)
    return np.concatenate([np.stack([invalid[first], invalid[second]], 1), neighbours])


def product(runs: LinearRuns) -> Floats:
    """``prod (1 - eta lam)`` at the states [R + 1], whatever the optimiser; rates are constant here."""
    return np.power(1.0 - float(runs.step_size[0, 0] * runs.weight_decay[0, 0]), runs.states)


def lower(runs: LinearRuns) -> Floats:
    """`trajectory`'s lower bound relative to the start [H, R + 1, P], T the measured ``tr M``; every step recorded."""
    bound = np.ones_like(runs.distance)
    bound[:, 1:] = np.cumprod(np.maximum(runs.lower_factor("measured"), 0.0), axis=1)
    return bound


def ball(runs: LinearRuns, dim: int, start: float) -> Floats:
    """`adamw_ball` for lengths at the states [R + 1]: sqrt(n) times its largest entry, which starts at ``start``."""
    constant = update_bound(*runs.config.betas)
    if constant is None:
        raise InputError(f"betas: got {runs.config.betas}; beta1^2 must be below beta2")
    left = product(runs)
    reach = 2 * constant / float(runs.weight_decay[0, 0])
    return math.sqrt(dim) * (left * start + reach * (1 - left))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study, write facts and figure, print the table; 0, or 2 with one line for bad input."""
    parser = argparse.ArgumentParser(prog="python -m simulations.stdlib_bytes", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--out", default="results", metavar="DIR", help="where files go")
    parser.add_argument("--quick", action="store_true", help="a small version, in seconds")
    options = parser.parse_args(arguments)

    def show(name: str, done: int, total: int) -> None:
        end = "\n" if done == total else ""
        print(f"\r{name}: {done} of {total} steps", end=end, file=sys.stderr, flush=True)

    from simulations.stdlib_bytes_views import draw, facts, table

    folder = Path(options.out)
    try:
        found = study(QUICK if options.quick else Config(), progress=show)
        data = facts(found)
        written = [
            write_json(folder / "stdlib_bytes.json", data),
            draw(found, folder / "stdlib_bytes.svg"),
        ]
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table(data))
    for path in written:
        print(f"written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
