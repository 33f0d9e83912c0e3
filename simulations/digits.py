"""Softmax regression on real images, with three of the ten classes never shown.

The images are the 1797 handwritten digits of 8 x 8 pixels that come with scikit-learn. Pixels are
scaled to [0, 1] and a constant 1 is appended, so that the bias is a row entry that decays too. The
images of the classes left out are removed and the labels renamed so that the unseen ones come
first: 0, 1 and 2. The recorded runs put `contraction`, `lower_bound`, `trajectory` and
`difference_recursion` beside what happens.

    python -m simulations.digits --out results/digits.npz
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collapse_theory.checks import integer, numbers
from collapse_theory.errors import InputError
from collapse_theory.trajectories import (
    CURVATURES,
    LinearConfig,
    LinearRuns,
    as_run,
    as_steps,
    train_linear_heads,
)

__all__ = ["Digits", "as_run", "as_steps", "digits_runs", "load_digits", "main", "summary"]


@dataclass(frozen=True)
class Digits:
    """Images for a head of 10 labels: features [N, 65], labels [N] in 3..9; 0, 1, 2 are unseen."""

    features: NDArray[np.float64]
    labels: NDArray[np.int64]
    left_out: tuple[int, int, int]
    classes: int = 10


def load_digits(left_out: Sequence[int] = (7, 8, 9)) -> Digits:
    """The digits without the images of three classes.

    Raises:
        InputError: scikit-learn is missing, or `left_out` is not three distinct digits.
    """
    try:
        from sklearn import datasets
    except ImportError:
        raise InputError("scikit-learn is missing: pip install 'collapse_theory[data]'") from None
    chosen = tuple(left_out)
    if len(chosen) != 3 or len(set(chosen) & set(range(10))) != 3:
        raise InputError(f"left_out is {chosen}: give three distinct digits from 0 to 9")
    images, digits = datasets.load_digits(return_X_y=True)
    order = [*chosen, *(digit for digit in range(10) if digit not in chosen)]
    labels = np.argsort(order)[digits]
    kept = labels >= len(chosen)
    features = np.column_stack([images[kept] / 16.0, np.ones(kept.sum())])
    return Digits(features, labels[kept], (chosen[0], chosen[1], chosen[2]))


def digits_runs(
    *,
    seed: int = 0,
    steps: int = 200,
    batch_size: int | None = None,
    weight_decays: Sequence[float] = (1e-3, 1e-2, 3e-2),
    edges: Sequence[float] = (0.1, 0.5, 0.999, 3.0),
    repeats: int = 2,
    scale: float = 0.3,
    left_out: Sequence[int] = (7, 8, 9),
    record_every: int = 1,
    snapshots: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> LinearRuns:
    """Train a small sweep of heads on the digits and record them.

    One head for each weight decay, edge and repeat, in this order of nesting. Its step size is
    `edge * 2 / (2 lam + r^2/2)`, so that `contraction`'s condition with T = r^2/2 is met to that
    fraction: 0.999 all but exhausts it, and above 1 the sharper T are needed.

    Args:
        seed: of initial weights and orders; repeat k has its own streams, shared by its
            hyperparameters, so that heads differ in those alone.
        steps: gradient steps.
        batch_size: None for the full batch.
        weight_decays: lam.
        edges: fractions of the largest step size that the condition with T = r^2/2 allows.
        repeats: heads of each setting, with initial weights of their own.
        scale: standard deviation of the initial weights.
        left_out: the digits never shown.
        record_every: steps between records.
        snapshots: keep weights and batches, which `as_steps` and `as_run` need.
        progress: called with steps done and steps in all.

    Raises:
        InputError: a value is out of range or scikit-learn is missing.
    """
    integer("seed", seed, least=0)
    integer("repeats", repeats, least=1)
    decays, fractions = numbers("weight_decays", weight_decays), numbers("edges", edges)
    numbers("scale", scale)
    if decays.ndim != 1 or fractions.ndim != 1 or not decays.size or not fractions.size:
        raise InputError("weight_decays or edges are empty: give lists of at least one number")
    if (decays < 0).any():
        raise InputError(f"weight_decays hold {decays.min()}: the sweep needs numbers >= 0")
    data = load_digits(left_out)
    square = float((data.features**2).sum(-1).max())
    settings = [
        (edge * 2 / (2 * decay + square / 2), decay, repeat)
        for decay in decays
        for edge in fractions
        for repeat in range(repeats)
    ]
    step_size, weight_decay, repeat = (np.array(column) for column in zip(*settings, strict=True))
    streams = np.random.SeedSequence(seed).spawn(repeats)
    shape = (data.classes, data.features.shape[1])
    starts = [np.random.default_rng(stream).normal(scale=scale, size=shape) for stream in streams]
    orders = [int(stream.generate_state(1)[0]) for stream in streams]
    return train_linear_heads(
        np.stack([starts[k] for k in repeat]),
        data.features,
        data.labels,
        config=LinearConfig(
            steps=steps,
            step_size=step_size[:, None],
            weight_decay=weight_decay[:, None],
            batch_size=batch_size,
            seeds=[orders[k] for k in repeat],
            record_every=record_every,
            snapshots=snapshots,
        ),
        progress=progress,
    )


def summary(runs: LinearRuns) -> str:
    """What was observed against what the claims say, as plain text of one line for each finding.

    The claims concern exact arithmetic; a step counts as outside its bound only if it is so by more
    than the rounding of D itself.
    """
    ratio, slack = runs.ratio, 4 * runs.rounding
    product = runs.decay_product[:, :, None] * runs.distance[:, :1]
    lines = [
        f"heads                 {runs.heads}",
        f"recorded steps        {len(runs.recorded)} of {runs.config.steps}",
        f"pairs of unseen       {', '.join(f'{u}-{v}' for u, v in runs.pairs.tolist())}",
        f"|D|, first            {_span(runs.distance[:, 0])}",
        f"|D|, last             {_span(runs.distance[:, -1])}",
        f"loss, last            {_span(runs.loss[:, -1:])}",
        f"unseen mass, last     {_span(runs.unseen_mass[:, -1:])}",
        f"centred cosine, last  {_span(runs.centred_cosine[:, -1])}",
        f"recursion's residual  {_most(runs.relative_residual):.2e} of |D| at most",
    ]
    for kind in CURVATURES:
        met = runs.margin(kind) >= 0
        above = met & (ratio > runs.decay[:, :, None] + slack)
        lower = runs.lower_factor(kind)
        below = ratio < lower - slack
        lines.append(
            f"T {kind:<9}           condition met in {met.sum()} of {met.size}; "
            f"steps above the bound {above.sum()}, below the lower bound {below.sum()}"
        )
    met = (runs.margin("measured") >= 0).all(axis=(1, 2))
    inside = (runs.distance <= product * (1 + 1e-9))[met].all() if met.any() else True
    lines.append(
        f"decay product         holds along {met.sum()} heads within the condition: "
        f"{'yes' if inside else 'NO'}"
    )
    return "\n".join(lines)


def _span(values: NDArray[np.float64]) -> str:
    return f"{values.min():.4g} to {values.max():.4g}" if values.size else "none"


def _most(values: NDArray[np.float64]) -> float:
    return float(np.nanmax(values)) if values.size else 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiment, save it, print the summary; 0, or 2 with one line for bad input."""
    parser = argparse.ArgumentParser(prog="python -m simulations.digits", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--out", default="results/digits.npz", help="where the record goes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=None, help="default: the full batch")
    parser.add_argument("--left-out", type=int, nargs=3, default=(7, 8, 9), metavar="DIGIT")
    parser.add_argument("--record-every", type=int, default=1)
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    options = parser.parse_args(arguments)

    def show(done: int, total: int) -> None:
        end = "\n" if done == total else ""
        print(f"\r{done} of {total} steps", end=end, file=sys.stderr, flush=True)

    try:
        runs = digits_runs(
            seed=options.seed,
            steps=options.steps,
            batch_size=options.batch_size,
            left_out=options.left_out,
            record_every=options.record_every,
            progress=None if options.quiet else show,
        )
        runs.save(options.out)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted: nothing was written", file=sys.stderr)
        return 130
    print(summary(runs))
    print(f"record                {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
