"""Sweeps: linear heads over a grid of settings, on any number of processes, with a row for each head.

    from collapse_theory.sweeps import Sweep, run_sweep
    sweep = Sweep(steps=500, learning_rates=[0.1, 0.5], weight_decays=[1e-3, 1e-2], seeds=range(5))
    rows = run_sweep(sweep, features, labels, folder="results/sweep", workers=2)

Heads that one batched computation can train are trained together; the rest is spread over processes, or over a Dask
cluster. What is finished is kept in the folder, and the same call again goes on from it.
"""

from collapse_theory.sweeps._grid import Head, Sweep
from collapse_theory.sweeps._part import COLUMNS
from collapse_theory.sweeps._run import run_sweep
from collapse_theory.sweeps._spread import check_workers, spread

__all__ = ["COLUMNS", "Head", "Sweep", "check_workers", "run_sweep", "spread"]
