"""Runs of linear softmax heads, many at once, and what a run records.

`train_linear_heads` trains H heads in one batched computation and returns `LinearRuns`: at recorded
steps the distance of every pair of unseen labels, and the quantities with which the claims
`contraction`, `trajectory`, `lower_bound` and `difference_recursion` bound it. Importing this
package imports no torch.
"""

from collapse_theory.trajectories._checkpoint import Checkpoint
from collapse_theory.trajectories._config import LinearConfig
from collapse_theory.trajectories._instances import as_run, as_steps
from collapse_theory.trajectories._runs import CURVATURES, LinearRuns
from collapse_theory.trajectories._train import train_linear_heads

__all__ = [
    "CURVATURES",
    "Checkpoint",
    "LinearConfig",
    "LinearRuns",
    "as_run",
    "as_steps",
    "train_linear_heads",
]
