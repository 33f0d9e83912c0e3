"""What a training writes down as it goes, and the record made of it."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from collapse_theory._version import __version__
from collapse_theory.trajectories._measure import cosines, differences, measure_before
from collapse_theory.trajectories._runs import LinearRuns

if TYPE_CHECKING:
    from collapse_theory.trajectories._batches import Batch, Data
    from collapse_theory.trajectories._config import LinearConfig

__all__ = ["Recorder", "versions"]

PER_PAIR = ("trace", "largest_logmean", "target_mass", "next_distance", "residual")
PER_STEP = ("step_size", "weight_decay", "loss", "unseen_mass", *PER_PAIR)
PER_STATE = ("decay_product", "distance", "norms", "cosine", "centred_cosine")
COUNTS = ("recorded", "states")


def versions() -> dict[str, str]:
    """Of the packages on which the numbers of a training depend."""
    return {
        "collapse_theory": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
    }


@dataclass
class Recorder:
    """The rows of a record so far.

    Attributes:
        config: of the training.
        pairs: [P, 2].
        unseen: labels unseen in every head [U]; `own`: whether a label is unseen in a head [H, K].
    """

    config: LinearConfig
    pairs: NDArray[np.int64]
    unseen: NDArray[np.int64]
    own: Tensor
    rows: dict[str, list[Any]] = field(default_factory=dict)

    def state(self, step: int, product: NDArray[np.float64], raw: Tensor) -> None:
        """Record the weights [H, K, n] after `step` steps."""
        weights = raw.double()
        pairs = torch.from_numpy(self.pairs)
        self._append(
            states=step,
            decay_product=product[:, 0] if self.config.plain else np.full(len(raw), np.nan),
            distance=torch.linalg.vector_norm(differences(weights, pairs), dim=-1).numpy(),
            norms=torch.linalg.vector_norm(weights, dim=-1).numpy(),
            cosine=cosines(weights, pairs).numpy(),
            centred_cosine=cosines(weights - weights.mean(1, keepdim=True), pairs).numpy(),
        )
        if self.config.snapshots:
            self._append(weights=raw.numpy().copy())

    def before(
        self,
        step: int,
        raw: Tensor,
        batch: Batch,
        eta: NDArray[np.float64],
        lam: NDArray[np.float64],
    ) -> Tensor:
        """Record a step at its start, with rates [H or 1, 1]; returns where D must go [H, P, n]."""
        heads = len(raw)
        weights, pairs = raw.double(), torch.from_numpy(self.pairs)
        before = measure_before(weights, batch, pairs, self.own, masked=self.config.masked)
        self._append(
            recorded=step,
            step_size=np.broadcast_to(eta[:, 0], heads),
            weight_decay=np.broadcast_to(lam[:, 0], heads),
            trace=before.trace.numpy(),
            largest_logmean=before.largest_logmean.numpy(),
            target_mass=before.target_mass.numpy(),
            loss=before.loss.numpy(),
            unseen_mass=before.unseen_mass.numpy(),
        )
        if self.config.snapshots and batch.indices is not None:
            self._append(indices=batch.indices.numpy())
        c, e = torch.from_numpy(1.0 - eta * lam)[:, :, None], torch.from_numpy(eta)[:, :, None]
        return c * differences(weights, pairs) - e * before.pull

    def after(self, raw: Tensor, expected: Tensor) -> None:
        """Record where D went, and how far that is from `expected`."""
        after = differences(raw.double(), torch.from_numpy(self.pairs))
        if not self.config.plain:  # the step was not c D - eta M D, and is not said to miss it
            expected = torch.full_like(after, torch.nan)
        self._append(
            next_distance=torch.linalg.vector_norm(after, dim=-1).numpy(),
            residual=torch.linalg.vector_norm(after - expected, dim=-1).numpy(),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The rows so far, the axis of steps first: what a checkpoint keeps."""
        return {name: np.stack(rows) for name, rows in self.rows.items()}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on after the rows that `arrays` returned."""
        for name, array in arrays.items():
            self.rows[name] = array.tolist() if name in COUNTS else list(array)

    def gather(self, data: Data, final: Tensor) -> LinearRuns:
        """The record as arrays: the axis of steps comes after that of heads."""
        heads, rows = len(final), self.rows
        arrays: dict[str, Any] = {}
        for name in PER_STEP:
            shape = (heads, 0, len(self.pairs)) if name in PER_PAIR else (heads, 0)
            arrays[name] = np.stack(rows[name], 1) if name in rows else np.empty(shape)
        for name in PER_STATE:
            arrays[name] = np.stack(rows[name], 1)
        for name in ("weights", "indices"):
            arrays[name] = np.stack(rows[name], 1) if name in rows else None
        features = data.features.numpy()
        radius = np.sqrt((features.astype(np.float64) ** 2).sum(-1)).max(-1)
        return LinearRuns(
            config=self.config,
            pairs=self.pairs,
            unseen=self.unseen,
            recorded=np.array(rows.get("recorded", []), dtype=np.int64),
            states=np.array(rows["states"], dtype=np.int64),
            radius=np.broadcast_to(radius, heads).copy(),
            final_weights=final.numpy().copy(),
            features=features,
            labels=data.labels.numpy(),
            example_weights=None if data.weighting is None else data.weighting.numpy(),
            versions=versions(),
            **arrays,
        )

    def _append(self, **values: Any) -> None:
        for name, value in values.items():
            self.rows.setdefault(name, []).append(value)
