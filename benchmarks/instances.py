"""Instances per second: claims on float batches and in ball arithmetic, beside peers that work one instance at a time.

    python -m benchmarks.instances --json results/benchmark_instances.json

Both sides examine `contraction` on the same instances (K = 5, n = 4, N = 4): the margins of all hypotheses, both sides, the
ratio. The peers are written the obvious way: NumPy in a loop over instances, and mpmath's interval
arithmetic (`mpmath.iv`) at the same 128 bits. One thread on both sides; the two are measured in turn,
and the ratio is the median of the rounds.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

from collapse_theory import files, get_claim
from collapse_theory.examination import certify, evaluate
from collapse_theory.instances import Batch, Shape, domain

SHAPE = Shape(labels=5, dim=4, examples=4)
CLAIM = get_claim("contraction")


def sample(size: int) -> Batch:
    """Instances of the domain's own sample, all of one shape."""
    where = domain("step")
    with np.errstate(all="ignore"):
        return where.build(where.draw(np.random.default_rng(0), SHAPE, size))


def one_by_one(batch: Batch) -> list[float]:
    """lhs/rhs of each admissible instance, NaN elsewhere: NumPy, one instance at a time."""
    v = batch.values
    out = []
    for b in range(len(batch)):
        w, x, y, a = v["weights"][b], v["features"][b], v["labels"][b], v["example_weights"][b]
        eta, lam, bound = v["step_size"][b], v["weight_decay"][b], v["curvature"][b]
        z = x @ w.T
        z = z - z.max(axis=1, keepdims=True)
        p = np.exp(z)
        p = p / p.sum(axis=1, keepdims=True)
        hot = np.eye(len(w))[y]
        gradient = ((p - hot) * a[:, None]).T @ x
        stepped = w - eta * (gradient + lam * w)
        d = w[0] - w[1]
        gap = x @ d
        mean = np.where(gap == 0, p[:, 0], (p[:, 0] - p[:, 1]) / np.where(gap == 0, 1, gap))
        trace = np.sum(a * mean * np.sum(x * x, axis=1))
        met = eta >= 0 and bound >= trace and eta * (2 * lam + bound) <= 2 and (y > 1).all()
        rhs = (1 - eta * lam) * np.linalg.norm(d)
        ratio = np.linalg.norm(stepped[0] - stepped[1]) / rhs if rhs > 0 else 0.0
        out.append(ratio if met else float("nan"))
    return out


def intervals(batch: Batch) -> list[Any]:
    """rhs - lhs and the margins of each instance as mpmath intervals of 128 bits."""
    iv = mpmath.iv
    iv.prec = 128
    v = batch.values
    out = []
    for b in range(len(batch)):
        w = [[iv.mpf(t) for t in row] for row in v["weights"][b].tolist()]
        x = [[iv.mpf(t) for t in row] for row in v["features"][b].tolist()]
        a = [iv.mpf(t) for t in v["example_weights"][b].tolist()]
        y = v["labels"][b].tolist()
        eta, lam, bound = (
            iv.mpf(float(v[k][b])) for k in ("step_size", "weight_decay", "curvature")
        )
        d = [s - t for s, t in zip(w[0], w[1], strict=True)]
        gradient, trace, mass = [iv.mpf(0)] * len(d), iv.mpf(0), iv.mpf(0)
        for i, features in enumerate(x):
            z = [sum((s * t for s, t in zip(row, features, strict=True)), iv.mpf(0)) for row in w]
            total = sum((iv.exp(t) for t in z), iv.mpf(0))
            p = [iv.exp(z[k]) / total for k in (0, 1)]
            residual = a[i] * (p[0] - p[1] - (y[i] == 0) + (y[i] == 1))
            gradient = [g + residual * t for g, t in zip(gradient, features, strict=True)]
            gap = z[0] - z[1]
            mean = (p[0] - p[1]) / gap if 0 not in gap else (p[0] + p[1]) / 2
            trace += a[i] * mean * sum((t * t for t in features), iv.mpf(0))
            mass += a[i] * (y[i] < 2)
        after = [(1 - eta * lam) * s - eta * g for s, g in zip(d, gradient, strict=True)]

        def norm(vector: list[Any]) -> Any:
            return iv.sqrt(sum((t**2 for t in vector), iv.mpf(0)))

        gap = (1 - eta * lam) * norm(d) - norm(after)
        out.append((gap, -mass, eta, bound - trace, 2 - eta * (2 * lam + bound)))
    return out


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def fresh(batch: Batch) -> Batch:
    """The same instances without what was derived from them before."""
    return batch.take(slice(None))


def measure(name: str, size: int, peer_size: int, rounds: int) -> dict[str, Any]:
    """Instances per second of one arithmetic and of its peer, and the median ratio."""
    batch, few = sample(size), sample(peer_size)
    ours_work = {
        "float": lambda: evaluate(CLAIM, fresh(batch)),
        "ball128": lambda: certify(CLAIM, fresh(batch), most_bits=128),
    }[name]
    peer_work = {"float": lambda: one_by_one(few), "ball128": lambda: intervals(few)}[name]
    ours, peer = [], []
    for _ in range(rounds + 1):  # the first round warms up
        ours.append(size / seconds(ours_work))
        peer.append(peer_size / seconds(peer_work))
    ours, peer = ours[1:], peer[1:]
    return {
        "arithmetic": name,
        "peer": {"float": "NumPy loop", "ball128": "mpmath.iv"}[name],
        "instances_per_second": round(statistics.median(ours)),
        "peer_instances_per_second": round(statistics.median(peer)),
        "ratio": round(statistics.median(o / p for o, p in zip(ours, peer, strict=True)), 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--json", default="results/benchmark_instances.json", metavar="PATH")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    rows = [
        measure("float", 8192, 1024, options.rounds),
        measure("ball128", 1000, 50, options.rounds),
    ]
    for row in rows:
        print(
            f"{row['arithmetic']:<8} {row['instances_per_second']:>9,} instances/s   "
            f"{row['peer']:<10} {row['peer_instances_per_second']:>7,}/s   ratio {row['ratio']}"
        )
    print(f"written to {files.write_json(options.json, {'schema': 1, 'rows': rows})}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
