"""Training of H linear softmax heads as one batched computation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from collapse_theory.checks import numbers
from collapse_theory.errors import InputError
from collapse_theory.trajectories._checkpoint import Checkpoint, fingerprint, read, write
from collapse_theory.trajectories._checks import (
    check_features,
    check_labels,
    check_pairs,
    check_weighting,
    unseen_in_head,
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
    checkpoint: Checkpoint | None = None,
    keep_infinite: bool = False,
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
        pairs: pairs of labels to follow [P, 2]; None for all pairs of unseen ones. Labels that are
            targets may be named too, as those that are rare.
        progress: called with the steps done and the steps in all, about a hundred times.
        checkpoint: where to save the state of the training, and to go on from if it is there: the
            result is the same, bit for bit, as without an interruption.
        keep_infinite: train on when weights become infinite; that head's record is then infinite or
            NaN, and the other heads are what they would be.

    Raises:
        InputError: bad values or shapes; or weights became infinite (names head and step), unless
            they are kept.
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
    own = unseen_in_head(targets, heads, classes)
    if config.record_every is None and pairs is None:
        chosen = np.empty((0, 2), dtype=np.int64)
    else:
        chosen = check_pairs(pairs, unseen, classes, masked=own if config.masked else None)
    # Numbers that leave the range of floats end in one clear error, not in warnings on the way.
    with np.errstate(over="ignore", invalid="ignore"):
        training = _Training(config, start, examples, targets, weighting, chosen, unseen, own)
        training.keep_infinite = keep_infinite
        if checkpoint is not None:
            given = {"weights": start, "features": examples, "labels": targets}
            training.resume(checkpoint, **given, example_weights=weighting, pairs=chosen)
        return training.run(progress)


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
        own: NDArray[np.bool_],
    ) -> None:
        import torch

        from collapse_theory.trajectories._batches import Data, Draws
        from collapse_theory.trajectories._engine import SharedEngine
        from collapse_theory.trajectories._per_head import PerHeadEngine
        from collapse_theory.trajectories._record import Recorder
        from collapse_theory.trajectories._updates import Update

        self.config = config
        self.heads = heads = len(start)
        self.unseen_in_head = torch.tensor(own)
        self.record = Recorder(config, pairs, unseen, self.unseen_in_head)
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
            torch.tensor(start, dtype=dtype),
            size,
            None if config.plain else Update(config),
            self.unseen_in_head if config.masked else None,
        )
        self.whole: Batch | None = None
        if config.batch_size is None:
            self.whole = self.data.whole(heads)
        self.drawn = Draws(self.data, size=size, seeds=seeds)
        self.eta = config.schedule("step_size", heads)
        self.lam = config.schedule("weight_decay", heads)
        self.decay = 1.0 - self.eta * self.lam
        self.product = np.ones((heads, 1))
        self.taken = 0
        self.save: Callable[[], None] | None = None
        self.every = 0
        self.keep_infinite = False

    def resume(self, checkpoint: Checkpoint, **arrays: Any) -> None:
        """Go on from the checkpoint if it is there, and keep one from now on."""
        from collapse_theory.trajectories._record import versions

        own, made_by = fingerprint(self.config, **arrays), versions()
        found = read(checkpoint.path, own, made_by)
        if found is not None:
            self.taken, state = found
            self.product = state.pop("product")
            parts: dict[str, dict[str, Any]] = {"engine": {}, "drawn": {}, "record": {}}
            for name, array in state.items():
                part, _, rest = name.partition(".")
                parts[part][rest] = array
            self.engine.restore(self.taken, parts["engine"])
            self.drawn.restore(parts["drawn"])
            self.record.restore(parts["record"])

        def save() -> None:
            state = {"product": self.product}
            for part in ("engine", "drawn", "record"):
                for name, array in getattr(self, part).arrays().items():
                    state[f"{part}.{name}"] = array
            write(checkpoint.path, self.taken, own, made_by, state)

        self.save, self.every = save, checkpoint.every

    def run(self, progress: Callable[[int, int], None] | None) -> LinearRuns:
        """Take the steps, then gather the record."""
        steps, every = self.config.steps, self.config.record_every
        whole_targets = None if self.whole is None else self.engine.targets(self.whole.labels)
        tick = max(1, steps // 100)
        eta_at = self._scalars(self.eta)
        decay_at = self._scalars(self.decay if self.config.plain else self.lam)
        for step in range(self.taken, steps):
            if self.whole is not None and whole_targets is not None:
                batch, targets = self.whole, whole_targets
            else:
                batch = next(self.drawn)
                targets = self.engine.targets(batch.labels)
            expected = None
            if every is not None and step % every == 0:
                raw = self.engine.weights
                eta, lam = self._column(self.eta, step), self._column(self.lam, step)
                self.record.state(step, self.product, raw)
                expected = self.record.before(step, raw, batch, eta, lam)
            self.engine.step(batch.features, targets, batch.weighting, eta_at(step), decay_at(step))
            if expected is not None:
                self._check_finite(step + 1)
                self.record.after(self.engine.weights, expected)
            self.product = self.product * self._column(self.decay, step)
            self.taken = step + 1
            if self.save is not None and self.taken % self.every == 0 and self.taken < steps:
                self._check_finite(self.taken)
                self.save()
            if progress is not None and (self.taken % tick == 0 or self.taken == steps):
                progress(self.taken, steps)
        self._check_finite(steps)
        self.record.state(steps, self.product, self.engine.weights)
        return self.record.gather(self.data, self.engine.weights)

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

    def _check_finite(self, step: int) -> None:
        if self.keep_infinite:
            return
        finite = self.engine.weights.isfinite().all(-1).all(-1).numpy()
        if not finite.all():
            raise InputError(
                f"head {int(np.argmin(finite))} has infinite weights after step {step}: take a "
                "smaller step_size or smaller weights and features, "
                "with step_size * weight_decay at most 2"
            )
