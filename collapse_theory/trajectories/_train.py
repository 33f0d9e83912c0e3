"""Training of H linear softmax heads as one batched computation."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from collapse_theory._version import __version__
from collapse_theory.checks import numbers
from collapse_theory.errors import InputError
from collapse_theory.trajectories._checks import (
    check_features,
    check_labels,
    check_pairs,
    check_weighting,
    unseen_labels,
)
from collapse_theory.trajectories._config import LinearConfig
from collapse_theory.trajectories._runs import LinearRuns

if TYPE_CHECKING:
    import torch

    from collapse_theory.trajectories._batches import Batch
    from collapse_theory.trajectories._engine import Engine

__all__ = ["train_linear_heads"]


def train_linear_heads(
    weights: ArrayLike,
    features: ArrayLike,
    labels: ArrayLike,
    *,
    config: LinearConfig,
    example_weights: ArrayLike | None = None,
    pairs: ArrayLike | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> LinearRuns:
    """Train softmax heads on the mean cross-entropy and record their unseen labels.

    One step is `W <- (1 - eta lam) W - eta grad`, equal to `torch.optim.SGD` with autograd, or that
    of `config.optimizer`; records that rest on gradient descent are NaN for any other. A head's
    result does not depend on the heads it runs with: its batches not at all, its numbers up to
    rounding.

    Args:
        weights: initial rows [H, K, n], or [K, n] for one head.
        features: [N, n] shared by all heads, or [H, N, n]. A bias is a constant feature.
        labels: targets [N] or [H, N], integers from 0 to K - 1. A label is unseen if it is nobody's
            target in any head.
        config: how to train and what to record.
        example_weights: of each example in the mean, [N] or [H, N], scaled to sum 1 over each
            batch; None for equal ones.
        pairs: pairs of unseen labels to follow [P, 2]; None for all of them.
        progress: called with the steps done and the steps in all, about a hundred times.

    Raises:
        InputError: bad values or shapes; or weights became infinite (names head and step).
    """
    start = numbers("weights", weights)
    start = start[None] if start.ndim == 2 else start
    if start.ndim != 3 or 0 in start.shape:
        raise InputError(
            f"weights have shape {np.shape(weights)}: give [H, K, n] or [K, n], not empty"
        )
    heads, classes, dim = start.shape
    examples = check_features(numbers("features", features), heads=heads, dim=dim)
    size = examples.shape[-2]
    targets = check_labels(labels, heads=heads, examples=size, classes=classes)
    if config.batch_size is not None and config.batch_size > size:
        raise InputError(
            f"batch_size is {config.batch_size}, but there are {size} examples: "
            "give at most as many, or None for all of them"
        )
    weighting = None
    if example_weights is not None:
        weighting = check_weighting(
            example_weights, heads=heads, examples=size, batch_size=config.batch_size
        )
    unseen = unseen_labels(targets, classes)
    if config.record_every is None and pairs is None:
        chosen = np.empty((0, 2), dtype=np.int64)
    else:
        chosen = check_pairs(pairs, unseen, classes)
    # Numbers that leave the range of floats end in one clear error, not in warnings on the way.
    with np.errstate(over="ignore", invalid="ignore"):
        return _Training(config, start, examples, targets, weighting, chosen, unseen).run(progress)


class _Training:
    """One call of `train_linear_heads` after its arguments are checked."""

    def __init__(
        self,
        config: LinearConfig,
        start: NDArray[np.float64],
        features: NDArray[np.float64],
        labels: NDArray[np.int64],
        weighting: NDArray[np.float64] | None,
        pairs: NDArray[np.int64],
        unseen: NDArray[np.int64],
    ) -> None:
        import torch

        from collapse_theory.trajectories._batches import Data, batches
        from collapse_theory.trajectories._engine import PerHeadEngine, SharedEngine
        from collapse_theory.trajectories._updates import Update

        self.config, self.pairs, self.unseen = config, pairs, unseen
        self.heads = heads = len(start)
        targets = np.broadcast_to(labels, (heads, labels.shape[-1]))
        own = [np.isin(np.arange(start.shape[1]), row, invert=True) for row in targets]
        self.unseen_in_head = torch.from_numpy(np.stack(own))
        dtype = getattr(torch, config.dtype)
        self.data = Data(
            torch.tensor(features, dtype=dtype),
            torch.tensor(labels),
            None if weighting is None else torch.tensor(weighting, dtype=dtype),
        )
        seeds = config.head_seeds(heads)
        size = config.batch_size or features.shape[-2]
        shared = features.ndim == 2 and (config.batch_size is None or len(set(seeds)) == 1)
        kind = SharedEngine if shared else PerHeadEngine
        self.engine: Engine = kind(
            torch.tensor(start, dtype=dtype), size, None if config.plain else Update(config)
        )
        self.whole: Batch | None = None
        if config.batch_size is None:
            self.whole = self.data.whole(heads)
        self.drawn = batches(self.data, size=size, seeds=seeds)
        self.eta = config.schedule("step_size", heads)
        self.lam = config.schedule("weight_decay", heads)
        self.decay = 1.0 - self.eta * self.lam
        self.records: dict[str, list[Any]] = {}

    def run(self, progress: Callable[[int, int], None] | None) -> LinearRuns:
        """Take the steps, then gather the record."""
        steps, every = self.config.steps, self.config.record_every
        whole_targets = None if self.whole is None else self.engine.targets(self.whole.labels)
        product = np.ones((self.heads, 1))
        tick = max(1, steps // 100)
        eta_at = self._scalars(self.eta)
        decay_at = self._scalars(self.decay if self.config.plain else self.lam)
        for step in range(steps):
            if self.whole is not None and whole_targets is not None:
                batch, targets = self.whole, whole_targets
            else:
                batch = next(self.drawn)
                targets = self.engine.targets(batch.labels)
            if every is not None and step % every == 0:
                expected = self._record_before(step, product, batch)
                self.engine.step(
                    batch.features, targets, batch.weighting, eta_at(step), decay_at(step)
                )
                self._record_after(step, expected)
            else:
                self.engine.step(
                    batch.features, targets, batch.weighting, eta_at(step), decay_at(step)
                )
            product = product * self._column(self.decay, step)
            if progress is not None and ((step + 1) % tick == 0 or step + 1 == steps):
                progress(step + 1, steps)
        self._check_finite(steps)
        self._record_state(steps, product)
        return self._gather()

    def _scalars(self, schedule: NDArray[np.float64]) -> Callable[[int], float | torch.Tensor]:
        """The schedule [H or 1, steps or 1] as what an engine takes at a step."""
        import torch

        rows, columns = schedule.shape
        if rows == 1:
            values = schedule[0].tolist()
            return lambda step: values[step % columns]
        tensor = torch.tensor(schedule.T.copy(), dtype=self.data.features.dtype)
        return lambda step: tensor[step % columns]

    def _column(self, schedule: NDArray[np.float64], step: int) -> NDArray[np.float64]:
        """The schedule at a step, [H or 1, 1]."""
        column = step % schedule.shape[1]
        return schedule[:, column : column + 1]

    def _append(self, **values: Any) -> None:
        for name, value in values.items():
            self.records.setdefault(name, []).append(value)

    def _record_state(self, step: int, product: NDArray[np.float64]) -> None:
        """Record the weights after `step` steps."""
        import torch

        from collapse_theory.trajectories._measure import cosines, differences

        raw = self.engine.weights
        weights = raw.double()
        pairs = torch.from_numpy(self.pairs)
        self._append(
            states=step,
            decay_product=product[:, 0] if self.config.plain else np.full(self.heads, np.nan),
            distance=torch.linalg.vector_norm(differences(weights, pairs), dim=-1).numpy(),
            norms=torch.linalg.vector_norm(weights, dim=-1).numpy(),
            cosine=cosines(weights, pairs).numpy(),
            centred_cosine=cosines(weights - weights.mean(1, keepdim=True), pairs).numpy(),
        )
        if self.config.snapshots:
            self._append(weights=raw.numpy().copy())

    def _record_before(self, step: int, product: NDArray[np.float64], batch: Batch) -> torch.Tensor:
        """Record a step at its start; returns c D - eta M D [H, P, n], where D must go."""
        import torch

        from collapse_theory.trajectories._measure import differences, measure_before

        self._record_state(step, product)
        pairs = torch.from_numpy(self.pairs)
        weights = self.engine.weights.double()
        before = measure_before(weights, batch, pairs, self.unseen_in_head)
        eta, decay = self._column(self.eta, step), self._column(self.decay, step)
        self._append(
            recorded=step,
            step_size=np.broadcast_to(eta[:, 0], self.heads),
            weight_decay=np.broadcast_to(self._column(self.lam, step)[:, 0], self.heads),
            trace=before.trace.numpy(),
            largest_logmean=before.largest_logmean.numpy(),
            loss=before.loss.numpy(),
            unseen_mass=before.unseen_mass.numpy(),
        )
        if self.config.snapshots and batch.indices is not None:
            self._append(indices=batch.indices.numpy())
        c, e = torch.from_numpy(decay)[:, :, None], torch.from_numpy(eta)[:, :, None]
        return c * differences(weights, pairs) - e * before.pull

    def _record_after(self, step: int, expected: torch.Tensor) -> None:
        """Record where D went, and how far that is from `expected`."""
        import torch

        from collapse_theory.trajectories._measure import differences

        self._check_finite(step + 1)
        after = differences(self.engine.weights.double(), torch.from_numpy(self.pairs))
        if not self.config.plain:  # the step was not c D - eta M D, and is not said to miss it
            expected = torch.full_like(after, torch.nan)
        self._append(
            next_distance=torch.linalg.vector_norm(after, dim=-1).numpy(),
            residual=torch.linalg.vector_norm(after - expected, dim=-1).numpy(),
        )

    def _check_finite(self, step: int) -> None:
        finite = self.engine.weights.isfinite().all(-1).all(-1).numpy()
        if not finite.all():
            raise InputError(
                f"head {int(np.argmin(finite))} has infinite weights after step {step}: take a "
                "smaller step_size or smaller weights and features, "
                "with step_size * weight_decay at most 2"
            )

    def _gather(self) -> LinearRuns:
        """The record as arrays: the axis of steps comes after that of heads."""
        import torch

        heads, pairs, records = self.heads, len(self.pairs), self.records
        empty = {"trace", "largest_logmean", "next_distance", "residual"}
        arrays: dict[str, Any] = {}
        for name in ("step_size", "weight_decay", "loss", "unseen_mass", *sorted(empty)):
            shape = (heads, 0, pairs) if name in empty else (heads, 0)
            arrays[name] = np.stack(records[name], 1) if name in records else np.empty(shape)
        for name in ("decay_product", "distance", "norms", "cosine", "centred_cosine"):
            arrays[name] = np.stack(records[name], 1)
        for name in ("weights", "indices"):
            arrays[name] = np.stack(records[name], 1) if name in records else None
        features = self.data.features.numpy()
        radius = np.sqrt((features.astype(np.float64) ** 2).sum(-1)).max(-1)
        return LinearRuns(
            config=self.config,
            pairs=self.pairs,
            unseen=self.unseen,
            recorded=np.array(records.get("recorded", []), dtype=np.int64),
            states=np.array(records["states"], dtype=np.int64),
            radius=np.broadcast_to(radius, heads).copy(),
            final_weights=self.engine.weights.numpy().copy(),
            features=features,
            labels=self.data.labels.numpy(),
            example_weights=None if self.data.weighting is None else self.data.weighting.numpy(),
            versions={
                "collapse_theory": __version__,
                "numpy": np.__version__,
                "python": platform.python_version(),
                "torch": str(torch.__version__),
            },
            **arrays,
        )
