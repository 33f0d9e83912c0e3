"""The audit of a large vocabulary: seconds and peak memory, beside the usual loader, and how the cost grows with rows.

    python -m benchmarks.audit --json results/benchmark_audit.json

Writes synthetic safetensors files of 262,144 x 1,152 bfloat16 rows (the size of Gemma 3 1B) and of a half and a quarter of
them, of which 6,242 have collapsed. Ours is the whole command, `collapse-theory audit`, in a process of its own; the peer
loads the matrix by `safetensors.torch`, turns it to float32 and measures the same mean cosines and norms there, nothing
else. The two run in turn; seconds are the median of the rounds, memory is the process's largest resident set.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from collapse_theory import files

ROWS, DIM, UNUSED = 262_144, 1_152, 6_242
OURS = "from collapse_theory.cli import main; import sys; sys.exit(main(sys.argv[1:]))"
PEER = """
import sys, torch
from safetensors.torch import load_file
torch.set_num_threads(1)
w = load_file(sys.argv[1])["model.embed_tokens.weight"].float()
k = int(sys.argv[2])
for x in (w[-k:], w[-k:] - w.mean(0), w[:-k], w[:-k] - w.mean(0)):
    s = torch.nn.functional.normalize(x, dim=1).double().sum(0)
    print(float((s @ s - len(x)) / (len(x) * (len(x) - 1))), float(x.norm(dim=1).median()))
"""


def write_matrix(path: Path, rows: int, seed: int = 0) -> None:
    """A safetensors file whose last rows lie on one point, written a block at a time."""
    rng = np.random.default_rng(seed)
    header = {
        "model.embed_tokens.weight": {
            "dtype": "BF16",
            "shape": [rows, DIM],
            "data_offsets": [0, 2 * rows * DIM],
        }
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    shared, mean = rng.normal(0, 0.03, DIM), rng.normal(0, 0.01, DIM)
    with path.open("wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for start in range(0, rows, 8192):
            count = min(8192, rows - start)
            block = rng.standard_normal((count, DIM), dtype=np.float32) * 0.04 + mean
            gone = np.arange(start, start + count) >= rows - UNUSED
            block[gone] = shared + 0.001 * rng.standard_normal((gone.sum(), DIM))
            bits = block.astype(np.float32).view(np.uint32)
            # Round to nearest, ties to even, as torch does.
            out.write(((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16).tobytes())


WATCH = """
import resource, subprocess, sys, time
start = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
seconds = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(seconds, used.ru_maxrss / 1024, used.ru_utime + used.ru_stime)
sys.exit(done.returncode)
"""


def measured(command: list[str]) -> tuple[float, float, float]:
    """Seconds, peak MB and the processor's seconds of a process of its own."""
    environment = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    # A small process in between: a child's peak counts what its parent had when it was forked.
    watch = [sys.executable, "-c", WATCH, *command]
    done = subprocess.run(watch, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[:3]} ended with {done.returncode}: {done.stderr[-300:]}")
    seconds, peak, busy = map(float, done.stdout.split())
    return seconds, peak, busy


def measure(rows: int, rounds: int, folder: Path) -> dict[str, Any]:
    path = folder / f"{rows}.safetensors"
    write_matrix(path, rows)
    ours, peer = [], []
    for _ in range(rounds):
        span = f"{rows - UNUSED}-{rows - 1}"
        ours.append(measured([sys.executable, "-c", OURS, "audit", str(path), "--unused", span]))
        peer.append(measured([sys.executable, "-c", PEER, str(path), str(UNUSED)]))
    path.unlink()
    return {
        "rows": rows,
        "seconds": round(statistics.median(s for s, _, _ in ours), 2),
        "cpu_seconds": round(statistics.median(c for _, _, c in ours), 2),
        "peak_mb": round(max(m for _, m, _ in ours)),
        "peer_seconds": round(statistics.median(s for s, _, _ in peer), 2),
        "peer_peak_mb": round(max(m for _, m, _ in peer)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--json", default="results/benchmark_audit.json", metavar="PATH")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(ROWS // part, options.rounds, Path(folder)) for part in (4, 2, 1)]
    for row in rows:
        print(
            f"{row['rows']:>8,} rows   {row['seconds']:>6.2f} s {row['peak_mb']:>5,} MB   "
            f"usual loader {row['peer_seconds']:>6.2f} s {row['peer_peak_mb']:>5,} MB"
        )
    # Of the processor's seconds: a busy neighbour does not count, and start-up drops out of the differences.
    busy = [row["cpu_seconds"] for row in rows]
    added = (busy[2] - busy[1]) / (busy[1] - busy[0])
    print(
        f"the second doubling of the rows adds {added:.2f} times what the first adds (2 is linear)"
    )
    print(f"written to {files.write_json(options.json, {'schema': 1, 'rows': rows})}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
