"""Linear heads: steps per second beside a plain PyTorch loop. A measurement, not a test.

The plain loop is what one writes first: for each head and step `zero_grad`, `cross_entropy` of
`features @ weights.T`, `backward`, `torch.optim.SGD.step`. Ours is a whole call of
`train_linear_heads` without records, set-up included. The ceiling is the plain loop's time over
that of the two matrix products alone, in our layout and into memory allocated before; the share is
how much of it is reached.

Both sides use one thread, in one process, on the same data, and all heads are run on both. Repeats
alternate between the three; every ratio is the median over repeats of the ratio within a repeat.
Before anything is timed both sides must agree to rounding.

    python benchmarks/linear_heads.py --json results/linear_heads.json
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from collapse_theory.trajectories import LinearConfig, train_linear_heads

ETA, LAM = 0.05, 0.01


@dataclass(frozen=True)
class Case:
    """K labels, n features, N examples a step; `steps` of ours and of the plain loop a repeat.

    `pool` is the number of examples from which each head draws batches of N in its own order; 0
    takes one full batch for all heads.
    """

    labels: int
    dim: int
    examples: int
    heads: int
    steps: int
    plain_steps: int
    wanted: float
    wanted_share: float = 0.0
    pool: int = 0

    @property
    def name(self) -> str:
        kind = f", own batches of {self.pool}" if self.pool else ""
        return f"{self.labels}x{self.dim}x{self.examples}, {self.heads} heads{kind}"


CASES = (
    Case(10, 64, 64, 256, 100, 4, 8.0),
    Case(64, 16, 64, 256, 40, 4, 8.0),
    Case(10, 64, 64, 256, 40, 4, 8.0, pool=1024),
    Case(512, 128, 1024, 1, 40, 20, 1.15, 0.75),
    Case(4096, 256, 512, 1, 12, 6, 1.15, 0.75),
)
CHECK_STEPS = 3


class Bench:
    """The three peers of one case."""

    def __init__(self, case: Case, dtype: str, rng: np.random.Generator) -> None:
        self.case, self.dtype = case, dtype
        shape = (case.heads, case.labels, case.dim)
        self.start = rng.normal(size=shape) * 0.1
        self.features = rng.normal(size=(case.pool or case.examples, case.dim))
        self.targets = rng.integers(2, case.labels, size=len(self.features))
        tensor_type = getattr(torch, dtype)
        self.x = torch.tensor(self.features, dtype=tensor_type)
        self.y = torch.tensor(self.targets)
        self.heads = [torch.nn.Parameter(torch.tensor(w, dtype=tensor_type)) for w in self.start]
        self.optimizers = [torch.optim.SGD([w], lr=ETA, weight_decay=LAM) for w in self.heads]
        self.products = self._products()

    def ours(self, steps: int) -> np.ndarray:
        """`steps` steps of all heads; the last weights."""
        own = bool(self.case.pool)
        config = LinearConfig(
            steps=steps,
            step_size=ETA,
            weight_decay=LAM,
            record_every=None,
            dtype=self.dtype,
            batch_size=self.case.examples if own else None,
            seeds=list(range(self.case.heads)) if own else 0,
        )
        runs = train_linear_heads(self.start, self.features, self.targets, config=config)
        return runs.final_weights

    def plain(self, steps: int) -> None:
        """`steps` steps of all heads, one head at a time, from where they stand."""
        size, pool = self.case.examples, self.case.pool
        for head, (w, optimizer) in enumerate(zip(self.heads, self.optimizers, strict=True)):
            generator = torch.Generator().manual_seed(head)
            order, place = None, 0
            for _ in range(steps):
                x, y = self.x, self.y
                if pool:
                    if order is None or place + size > pool:
                        order, place = torch.randperm(pool, generator=generator), 0
                    chosen = order[place : place + size]
                    x, y, place = x[chosen], y[chosen], place + size
                optimizer.zero_grad()
                functional.cross_entropy(x @ w.T, y).backward()
                optimizer.step()

    def _products(self) -> Callable[[int], None]:
        """The two products of a step of all heads, in the layout of ours."""
        case, dtype = self.case, self.x.dtype
        h, k, n, b = case.heads, case.labels, case.dim, case.examples
        if case.pool:
            x = torch.randn(h, b, n, dtype=dtype)
            weights, logits = torch.randn(h, k, n, dtype=dtype), torch.empty(h, k, b, dtype=dtype)
            out, multiply = torch.empty_like(weights), torch.bmm
            first, second = (weights, x.transpose(1, 2)), (logits, x)
        else:
            x, weights = self.x, torch.randn(n, h * k, dtype=dtype)
            logits, out, multiply = (
                torch.empty(b, h * k, dtype=dtype),
                torch.empty_like(weights),
                torch.mm,
            )
            first, second = (x, weights), (x.T, logits)

        def run(steps: int) -> None:
            for _ in range(steps):
                multiply(*first, out=logits)
                multiply(*second, out=out)

        return run

    def check(self) -> float:
        """The largest difference between both sides after a few steps, relative to the weights."""
        self.plain(CHECK_STEPS)
        plain = np.stack([w.detach().numpy() for w in self.heads])
        return float(np.abs(self.ours(CHECK_STEPS) - plain).max() / np.abs(plain).max())


def per_step(run: Callable[[int], object], steps: int) -> float:
    """Seconds a step."""
    start = time.perf_counter()
    run(steps)
    return (time.perf_counter() - start) / steps


def measure(case: Case, dtype: str, repeats: int) -> dict[str, object]:
    """The figures of one case."""
    bench = Bench(case, dtype, np.random.default_rng(0))
    error = bench.check()
    if error > 1e3 * float(np.finfo(dtype).eps):
        raise SystemExit(f"error: {case.name} {dtype}: both sides differ by {error:.1e}")
    bench.products(case.steps)
    times = [
        (
            per_step(bench.plain, case.plain_steps),
            per_step(bench.ours, case.steps),
            per_step(bench.products, case.steps),
        )
        for _ in range(repeats)
    ]
    plain, ours, products = (statistics.median(column) for column in zip(*times, strict=True))
    ratio = statistics.median(a / b for a, b, _ in times)
    share = statistics.median(c / b for _, b, c in times)
    return {
        **asdict(case),
        "name": case.name,
        "dtype": dtype,
        "relative_difference": error,
        "plain_seconds_per_step": plain,
        "seconds_per_step": ours,
        "products_seconds_per_step": products,
        "head_steps_per_second": case.heads / ours,
        "ratio": ratio,
        "ceiling": statistics.median(a / c for a, _, c in times),
        "share_of_ceiling": share,
        "met": ratio >= case.wanted and share >= case.wanted_share,
    }


def table(rows: list[dict[str, object]]) -> str:
    """The figures as text."""
    head = f"{'K x n x N':<42}{'dtype':<9}{'plain':>10}{'ours':>10}{'ratio':>8}{'wanted':>8}"
    lines = [head + f"{'ceiling':>9}{'share':>7}{'wanted':>8}  head-steps/s"]
    for row in rows:
        lines.append(
            f"{row['name']:<42}{row['dtype']:<9}"
            f"{1e3 * row['plain_seconds_per_step']:>7.2f} ms"  # type: ignore[operator]
            f"{1e3 * row['seconds_per_step']:>7.2f} ms"  # type: ignore[operator]
            f"{row['ratio']:>8.2f}{row['wanted']:>8.2f}{row['ceiling']:>9.2f}"
            f"{row['share_of_ceiling']:>7.0%}{row['wanted_share'] or '-':>8}"
            f"  {row['head_steps_per_second']:,.0f}"
        )
    return "\n".join(lines)


def main() -> int:
    """Measure, print, write; exit status 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--json", type=Path, default=Path("results/linear_heads.json"))
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--dtype", choices=("float64", "float32"), nargs="+")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error(f"--repeats is {options.repeats}: give 1 or more")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = []
    for dtype in options.dtype or ("float64", "float32"):
        for case in CASES:
            print(f"{case.name}, {dtype}", file=sys.stderr)
            rows.append(measure(case, dtype, options.repeats))
    print(table(rows))
    report = {
        "schema": 1,
        "kind": "linear_heads_benchmark",
        "environment": {
            "machine": platform.machine(),
            "numpy": np.__version__,
            "python": platform.python_version(),
            "torch": str(torch.__version__),
            "threads": torch.get_num_threads(),
            "repeats": options.repeats,
        },
        "cases": rows,
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    temporary = options.json.with_name(f".{options.json.name}.tmp")
    temporary.write_text(json.dumps(report, indent=2) + "\n")
    temporary.replace(options.json)
    return 0 if all(row["met"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
