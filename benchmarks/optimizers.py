"""Linear heads under momentum SGD and AdamW: steps per second beside a plain PyTorch loop. A measurement, not a test.

As benchmarks/linear_heads.py, whose cases of many small heads are taken, with `torch.optim.SGD(momentum=0.9)` and
`torch.optim.AdamW` on both of their code paths, `foreach` and `fused`. The ceiling is the plain loop's time over that of the
two matrix products alone, so it leaves the optimiser's own passes out.

AdamW divides by gradients, which magnifies the rounding of those near 0 up to 1/epsilon times: both sides take an epsilon of
1e-3, which costs no less, so that they can be compared.

    python -m benchmarks.optimizers --json results/optimizers.json
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
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.linear_heads import CHECK_STEPS, ETA, LAM, Bench, Case, per_step
from collapse_theory.trajectories import LinearConfig, train_linear_heads

CASES = (
    Case(10, 64, 64, 256, 100, 4, 8.0),
    Case(64, 16, 64, 256, 40, 4, 8.0),
    Case(10, 64, 64, 256, 40, 4, 8.0, pool=1024),
)
OPTIMIZERS: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "momentum": (torch.optim.SGD, {"momentum": 0.9}, {"momentum": 0.9}),
    "adamw": (torch.optim.AdamW, {"eps": 1e-3}, {"optimizer": "adamw", "epsilon": 1e-3}),
}
PATHS = ("foreach", "fused")


class OptimizerBench(Bench):
    """The peers of one case under one optimiser."""

    def __init__(self, case: Case, dtype: str, name: str, path: str) -> None:
        super().__init__(case, dtype, np.random.default_rng(0))
        kind, theirs, self.settings = OPTIMIZERS[name]
        self.optimizers = [
            kind([w], lr=ETA, weight_decay=LAM, **theirs, **{path: True}) for w in self.heads
        ]

    def ours(self, steps: int) -> np.ndarray:
        """`steps` steps of all heads; the last weights."""
        own = bool(self.case.pool)
        config = LinearConfig(
            steps=steps,
            step_size=ETA,
            weight_decay=LAM,
            record_every=None,
            dtype=self.dtype,  # type: ignore[arg-type]
            batch_size=self.case.examples if own else None,
            seeds=list(range(self.case.heads)) if own else 0,
            **self.settings,
        )
        runs = train_linear_heads(self.start, self.features, self.targets, config=config)
        return runs.final_weights


def measure(case: Case, dtype: str, name: str, path: str, repeats: int) -> dict[str, Any]:
    """The figures of one case."""
    bench = OptimizerBench(case, dtype, name, path)
    error = bench.check()
    if error > 1e3 * float(np.finfo(dtype).eps):
        raise SystemExit(f"error: {case.name} {dtype} {name}: both sides differ by {error:.1e}")
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
    return {
        **asdict(case),
        "name": case.name,
        "optimizer": name,
        "path": path,
        "dtype": dtype,
        "checked_steps": CHECK_STEPS,
        "relative_difference": error,
        "plain_seconds_per_step": plain,
        "seconds_per_step": ours,
        "products_seconds_per_step": products,
        "head_steps_per_second": case.heads / ours,
        "ratio": ratio,
        "ceiling": statistics.median(a / c for a, _, c in times),
        "share_of_ceiling": statistics.median(c / b for _, b, c in times),
        "met": ratio >= case.wanted,
    }


def table(rows: list[dict[str, Any]]) -> str:
    """The figures as text."""
    lines = [
        f"{'K x n x N':<42}{'optimizer':<19}{'dtype':<9}{'plain':>10}{'ours':>10}"
        f"{'ratio':>8}{'wanted':>8}{'ceiling':>9}{'share':>7}"
    ]
    for row in rows:
        lines.append(
            f"{row['name']:<42}{row['optimizer'] + ', ' + row['path']:<19}{row['dtype']:<9}"
            f"{1e3 * row['plain_seconds_per_step']:>7.2f} ms{1e3 * row['seconds_per_step']:>7.2f} ms"
            f"{row['ratio']:>8.2f}{row['wanted']:>8.2f}{row['ceiling']:>9.2f}"
            f"{row['share_of_ceiling']:>7.0%}"
        )
    return "\n".join(lines)


def main() -> int:
    """Measure, print, write; exit status 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--json", type=Path, default=Path("results/optimizers.json"))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--dtype", choices=("float64", "float32"), nargs="+")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error(f"--repeats is {options.repeats}: give 1 or more")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = []
    for dtype in options.dtype or ("float64", "float32"):
        for name in OPTIMIZERS:
            for path in PATHS:
                for case in CASES:
                    print(f"{case.name}, {name}, {path}, {dtype}", file=sys.stderr)
                    rows.append(measure(case, dtype, name, path, options.repeats))
    print(table(rows))
    report = {
        "schema": 1,
        "kind": "optimizers_benchmark",
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
