"""Without weight decay unseen rows still approach one another, but slowly: a power of time. Observed, not proved.

One feature x repeats, one label is its target, k labels are unseen, lam = 0. Observed: the part of ``D = w_u - w_v``
along x shrinks like ``t^(-1/(k+1))``, and so does ``exp<w_u, x>``; t is the sum of the step sizes.

Why, in two lines (a heuristic). Each unseen probability decays as ``p ~ 1/((k+1) r^2 t)``, since the row sum is constant
and ``d/dt <w_seen, x> = r^2 k p`` with ``p ~ e^(-(k+1)/k <w_seen, x>)``; then ``d' = -r^2 p d = -d/((k+1) t)``.

Reduction to scalars: every gradient is a multiple of x, so ``w_j`` moves along x alone, and ``z_j = <w_j, x>`` obeys
``z_j <- z_j - eta r^2 (p_j - [j is the target])``, ``p = softmax(z)``, exactly. The part of D along x has length
``|z_u - z_v|/r``; the part across x never changes. The tests compare this with the full head.

    python -m simulations.slow_decay --out results
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collapse_theory.checks import integer, numbers
from collapse_theory.errors import InputError
from collapse_theory.files import write_json, write_text
from collapse_theory.plots import COLOURS, MARKERS, canvas, style, write

__all__ = ["Decay", "Fit", "csv_text", "decays", "draw", "fit", "main", "table", "train"]

FIT_FROM = 1e-6
"""The fit takes the last six decades of time."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Decay:
    """Heads with one target and k unseen labels, trained by gradient descent on one feature.

    Attributes:
        unseen: k.
        times: [R], ``r^2`` times the sum of the step sizes, at the records.
        distance: [R, seeds], the largest ``|<D, x>|`` of a pair over its start; NaN for k = 1, which has no pair.
        score: [R, seeds], the mean ``exp<w_u, x>`` of the unseen labels over its start.
        largest_step: the largest ``eta T`` met, T = r^2 times the largest unseen probability; steps with
            ``eta T <= 2`` are the admissible ones.
        steps: gradient steps taken.
    """

    unseen: int
    times: NDArray[np.float64]
    distance: NDArray[np.float64]
    score: NDArray[np.float64]
    largest_step: float
    steps: int

    @property
    def expected(self) -> float:
        """The exponent of the heuristic, -1/(k + 1)."""
        return -1 / (self.unseen + 1)

    @property
    def shown(self) -> NDArray[np.float64]:
        """What the figure shows, [R, seeds]: the distance, or for k = 1 the score."""
        return self.distance if self.unseen > 1 else self.score


@dataclass(frozen=True)
class Fit:
    """A slope of log y against log t over several seeds: mean and standard deviation."""

    exponent: float
    spread: float

    def refutes(self, exponent: float, *, tolerance: float = 0.01) -> bool:
        """Whether another exponent is further away than the tolerance and four standard deviations."""
        return abs(exponent - self.exponent) > tolerance + 4 * self.spread


def train(
    unseen: int,
    *,
    seeds: Sequence[int] = range(8),
    last: float = 1e16,
    growth: float = 0.002,
    scale: float = 1.0,
    records: int = 81,
) -> Decay:
    """Gradient descent on one feature, one head for each seed, until the step sizes sum to ``last / r^2``.

    Args:
        unseen: k, at least 1.
        seeds: of the initial ``<w_j, x>``, independent normal numbers.
        last: where to stop, in units of 1/r^2; more than 100.
        growth: the step size is the larger of ``0.5/r^2`` and ``growth`` times the time so far. The probabilities fall
            like 1/t, so such steps stay admissible and follow the flow to a fraction of ``growth``; 16 decades take
            20,000 steps.
        scale: standard deviation of the initial ``<w_j, x>``.
        records: how many, spaced evenly in log time.

    Raises:
        InputError: a value is out of range.
    """
    integer("unseen", unseen, least=1)
    integer("records", records, least=2)
    for name, value, least in (("last", last, 100), ("growth", growth, 0)):
        if numbers(name, value).ndim or not value > least:
            raise InputError(f"{name}: got {value}, expected a number > {least}")
    if growth > 0.1:
        raise InputError(f"growth: got {growth}, expected at most 0.1; larger steps leave the flow")
    if not len(seeds):
        raise InputError("seeds: empty; give at least one")
    rngs = [np.random.default_rng(integer("seeds", seed, least=0)) for seed in seeds]
    # z[:, 0] belongs to the target. Times and step sizes are in units of 1/r^2, so that r drops out.
    z = np.stack(
        [rng.normal(scale=float(numbers("scale", scale)), size=unseen + 1) for rng in rngs]
    )
    first = _measure(z)
    due = np.geomspace(1.0, last, records)
    time, steps, largest = 0.0, 0, 0.0
    times: list[float] = []
    measured: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    while len(times) < records:
        weight = np.exp(z - z.max(-1, keepdims=True))
        others = weight[:, 1:] / weight.sum(-1, keepdims=True)
        eta = max(0.5, growth * time)
        largest = max(largest, eta * float(others.max()))
        z[:, 1:] -= eta * others
        z[:, 0] += eta * others.sum(-1)  # 1 - p of the target, without cancellation
        time, steps = time + eta, steps + 1
        if time >= due[len(times)]:
            times.append(time)
            measured.append(_measure(z))
    distance = np.stack([d for d, _ in measured])
    if unseen > 1:
        distance = distance / first[0]
    return Decay(
        unseen=unseen,
        times=np.array(times),
        distance=distance,
        score=np.stack([s for _, s in measured]) / first[1],
        largest_step=largest,
        steps=steps,
    )


def _measure(z: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest distance of the unseen and their mean score, [seeds] each."""
    others = z[:, 1:]
    distance = np.ptp(others, axis=-1) if z.shape[1] > 2 else np.full(len(z), np.nan)
    return distance, np.exp(others).mean(-1)


def fit(times: NDArray[np.float64], values: NDArray[np.float64]) -> Fit:
    """Least squares of log values [R, seeds] on log times [R], over the last six decades, each seed apart."""
    late = times >= FIT_FROM * times[-1]
    if late.sum() < 3:
        raise InputError(f"records: {late.sum()} in the last six decades of time; take more")
    slopes = np.polyfit(np.log(times[late]), np.log(values[late]), 1)[0]
    spread = float(np.std(slopes, ddof=1)) if len(slopes) > 1 else 0.0
    return Fit(float(np.mean(slopes)), spread)


def decays(
    counts: Sequence[int] = (1, 2, 3, 4, 6), *, seed: int = 0, heads: int = 8, **options: Any
) -> list[Decay]:
    """`train` for several k; head i of each k starts from a stream of its own, derived from ``seed``."""
    integer("seed", seed, least=0)
    integer("heads", heads, least=1)
    state = np.random.SeedSequence(seed).generate_state(len(counts) * heads)
    return [
        train(k, seeds=[int(s) for s in state[i * heads : (i + 1) * heads]], **options)
        for i, k in enumerate(counts)
    ]


def rows(runs: Sequence[Decay]) -> list[dict[str, Any]]:
    """For each k the fitted exponents beside -1/(k + 1), JSON-ready; the distance's are None for k = 1."""
    out = []
    for run in runs:
        distance = fit(run.times, run.distance) if run.unseen > 1 else None
        score = fit(run.times, run.score)
        out.append(
            {
                "k": run.unseen,
                "expected": run.expected,
                "distance_exponent": distance and distance.exponent,
                "distance_spread": distance and distance.spread,
                "score_exponent": score.exponent,
                "score_spread": score.spread,
                "heads": run.score.shape[1],
                "steps": run.steps,
                "last_time": float(run.times[-1]),
                "largest_eta_T": run.largest_step,
            }
        )
    return out


def table(runs: Sequence[Decay]) -> str:
    """The exponents as plain text, one line for each k."""
    lines = [
        "Exponents of time without weight decay, observed, not proved",
        " k  -1/(k+1)  |D| along x          exp<w_u,x>           heads  steps  largest eta T",
    ]
    for row in rows(runs):
        distance = "no pair" + 12 * " "
        if row["distance_exponent"] is not None:
            distance = f"{row['distance_exponent']:.5f} +- {row['distance_spread']:.1e}"
        lines.append(
            f"{row['k']:2d}  {row['expected']:.5f}  {distance}  "
            f"{row['score_exponent']:.5f} +- {row['score_spread']:.1e}  "
            f"{row['heads']:5d}  {row['steps']:5d}  {row['largest_eta_T']:.2f}"
        )
    return "\n".join(lines)


def csv_text(runs: Sequence[Decay]) -> str:
    """The records as CSV: the median over the heads, and the least and the most of them; times in units of 1/r^2."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["k", "quantity", "time", "median", "least", "most"])
    for run in runs:
        series = {"distance": run.distance, "score": run.score}
        for name, values in series.items():
            if name == "distance" and run.unseen == 1:
                continue
            for time, at in zip(run.times[::2], values[::2], strict=True):
                shown = (time, np.median(at), at.min(), at.max())
                writer.writerow([run.unseen, name, *(f"{float(x):.6g}" for x in shown)])
    return out.getvalue()


def draw(runs: Sequence[Decay], path: str | Path) -> Path:
    """Black lines of slope -1/(k+1) through the last record; dots: medians over the heads; below, their ratio."""
    with style():
        figure, (ax, ratio_ax) = canvas("shrinkage")
        for i, run in enumerate(runs):
            median = np.median(run.shown, axis=-1)
            theory = median[-1] * (run.times / run.times[-1]) ** run.expected
            look: dict[str, Any] = {"color": COLOURS[i], "marker": MARKERS[i], "linestyle": "none"}
            label = f"$k={run.unseen}$" + ("" if run.unseen > 1 else r" ($e^{\langle w,x\rangle}$)")
            late = run.times >= 10
            ax.plot(run.times[late], theory[late], color="black", linewidth=0.8, zorder=1)
            ax.plot(run.times[::4], median[::4], label=label, markeredgewidth=0, **look)
            ratio_ax.plot(
                run.times[late][::4], (median / theory)[late][::4], markeredgewidth=0, **look
            )
        ax.plot([], [], color="black", linewidth=0.8, label="slope $-1/(k+1)$")
        ax.set(xscale="log", yscale="log", ylabel="distance $|D_t|\\,/\\,|D_0|$ along $x$")
        ax.legend(loc="lower left", fontsize=7)
        ratio_ax.axhline(1, color="black", linewidth=0.8, zorder=1)
        ratio_ax.set(ylabel="ratio to\npower law", xlabel=r"time $\sum\eta$, units of $1/r^2$")
        return write(figure, path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiment, write CSV and figure, print the table; 0, or 2 with one line for bad input."""
    parser = argparse.ArgumentParser(prog="python -m simulations.slow_decay", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--out", default="results", metavar="DIR", help="where files go")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", metavar="PATH", help="the table as JSON")
    options = parser.parse_args(arguments)
    try:
        runs = decays(seed=options.seed)
        folder = Path(options.out)
        written = [
            write_text(folder / "slow_decay.csv", csv_text(runs)),
            draw(runs, folder / "slow_decay.svg"),
        ]
        if options.json:
            facts = {"status": "observed, not proved", "seed": options.seed, "rows": rows(runs)}
            written.append(write_json(options.json, facts))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table(runs))
    for path in written:
        print(f"written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
