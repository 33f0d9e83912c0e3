"""The record of H trained heads, and what the claims say about it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from collapse_theory.errors import InputError
from collapse_theory.trajectories import _files
from collapse_theory.trajectories._config import LinearConfig

__all__ = ["CURVATURES", "Curvature", "LinearRuns"]

Floats = NDArray[np.float64]
Curvature = Literal["measured", "loss", "norm"]

CURVATURES: tuple[Curvature, ...] = ("measured", "loss", "norm")
"""The bounds T on the largest eigenvalue of M, from sharp to crude: `tr M` from the measured
probabilities; `r^2 (1 - exp(-CE))/2` from the batch's mean cross-entropy alone; `r^2/2`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearRuns:
    """H recorded runs.

    Axes: H heads, R recorded steps, P pairs of unseen labels, K labels, n features, N examples.

    States are recorded before each recorded step and after the last step: R + 1 of them. All arrays
    but features and weights are measured in float64 whatever the training's dtype.

    Attributes:
        config: how the heads were trained.
        pairs: the labels u, v of each pair [P, 2]; unseen ones unless named.
        unseen: all labels that are never a target, in any head [U].
        recorded: the steps recorded [R], counted from 0.
        states: the number of steps taken at each recorded state [R + 1].
        step_size: eta [H, R].
        weight_decay: lam [H, R].
        radius: r = max |x_i| over all examples [H].
        decay_product: prod (1 - eta lam) over the steps taken [H, R + 1]; NaN unless `config.plain`.
        distance: |D| = |w_u - w_v| [H, R + 1, P].
        next_distance: |D+| [H, R, P].
        trace: tr M = sum a_i L_i |x_i|^2 [H, R, P].
        largest_logmean: max L_i, the sharp pbar [H, R, P].
        target_mass: f = sum a_i ([y_i = u] + [y_i = v]) [H, R, P]; 0 of unseen pairs.
        residual: |D+ - (c D - eta M D + eta sum a_i ([y_i = u] - [y_i = v]) x_i)| [H, R, P], by
            `difference_recursion` (and `rare_labels`) zero but for rounding; NaN unless
            `config.plain`: another optimiser's step is not that.
        loss: mean cross-entropy of the batch, without the decay's term [H, R].
        unseen_mass: mean probability of all labels together that are never a head's target [H, R].
        norms: |w_k| [H, R + 1, K].
        cosine: cosine of the rows of a pair [H, R + 1, P], NaN where a row is zero.
        centred_cosine: the same after the mean of all rows is taken off.
        final_weights: [H, K, n], in the training's dtype.
        features: [N, n] or [H, N, n]; labels: [N] or [H, N]; example_weights: alike, or None.
        weights: snapshots [H, R + 1, K, n], or None.
        indices: examples of each recorded batch [S, R, B], S = 1 where all heads share them;
            None for all examples, or without snapshots.
        versions: of the packages that made the record.
    """

    config: LinearConfig
    pairs: NDArray[np.int64]
    unseen: NDArray[np.int64]
    recorded: NDArray[np.int64]
    states: NDArray[np.int64]
    step_size: Floats
    weight_decay: Floats
    radius: Floats
    decay_product: Floats
    distance: Floats
    next_distance: Floats
    trace: Floats
    largest_logmean: Floats
    target_mass: Floats
    residual: Floats
    loss: Floats
    unseen_mass: Floats
    norms: Floats
    cosine: Floats
    centred_cosine: Floats
    final_weights: NDArray[Any]
    features: NDArray[Any]
    labels: NDArray[np.int64]
    example_weights: NDArray[Any] | None = None
    weights: NDArray[Any] | None = None
    indices: NDArray[np.int64] | None = None
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def bounded(self) -> bool:
        """Whether `trajectory` speaks of the run: gradient descent, and pairs of unseen labels alone."""
        return self.config.plain and bool(np.isin(self.pairs, self.unseen).all())

    @property
    def heads(self) -> int:
        """H."""
        return len(self.final_weights)

    @property
    def decay(self) -> Floats:
        """c = 1 - eta lam [H, R], by `contraction` at least `ratio` within the condition.

        This, `lower_factor` and `margin` are statements about gradient descent: NaN unless
        `config.plain`.
        """
        eta, lam = self._rates()
        return (1.0 - eta * lam)[:, :, 0]

    @property
    def ratio(self) -> Floats:
        """The one-step factor |D+|/|D| [H, R, P]; NaN where D = 0."""
        return _divide(self.next_distance, self.distance[:, :-1])

    @property
    def relative_residual(self) -> Floats:
        """`residual` relative to |D| [H, R, P]; NaN where D = 0.

        D is a difference of rows, so its own rounding is `rounding` and no residual can be expected
        below that.
        """
        return _divide(self.residual, self.distance[:, :-1])

    @property
    def rounding(self) -> Floats:
        """eps (|w_u| + |w_v|)/|D| [H, R, P], eps of the training's dtype: the error of D itself."""
        pair_norms = self.norms[:, :-1, self.pairs].sum(-1)
        return np.finfo(self.config.dtype).eps * _divide(pair_norms, self.distance[:, :-1])

    def curvature(self, kind: Curvature) -> Floats:
        """T [H, R, P] of a `kind` named in `CURVATURES`."""
        if kind == "measured":
            return self.trace
        if kind == "loss":
            seen = -np.expm1(-self.loss) / 2
            return np.broadcast_to((self.radius[:, None] ** 2 * seen)[:, :, None], self.trace.shape)
        if kind == "norm":
            return np.broadcast_to((self.radius**2 / 2)[:, None, None], self.trace.shape)
        raise InputError(f"curvature {kind!r} is unknown: give one of {', '.join(CURVATURES)}")

    def lower_factor(self, kind: Curvature) -> Floats:
        """1 - eta (lam + T) [H, R, P], by `lower_bound` at most `ratio` where eta >= 0."""
        eta, lam = self._rates()
        return 1.0 - eta * (lam + self.curvature(kind))

    def margin(self, kind: Curvature) -> Floats:
        """2 - eta (2 lam + T) [H, R, P]: the condition of `contraction` holds where it is >= 0."""
        eta, lam = self._rates()
        return 2.0 - eta * (2.0 * lam + self.curvature(kind))

    def _rates(self) -> tuple[Floats, Floats]:
        """eta and lam [H, R, 1]; NaN where the bounds made of them would say nothing."""
        eta, lam = self.step_size[:, :, None], self.weight_decay[:, :, None]
        return (eta, lam) if self.config.plain else (np.full_like(eta, np.nan), lam)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record to `path` (.npz), whole or not at all; folders are made as needed.

        Raises:
            InputError: the place cannot be written.
        """
        _files.save(self, Path(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LinearRuns:
        """Read a record.

        Raises:
            InputError: the file is missing, damaged, or of an unknown kind or schema.
        """
        return cls(**_files.load(Path(path)))


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    """The quotient, NaN where the denominator is 0."""
    quotient = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), np.nan)
    np.divide(numerator, denominator, out=quotient, where=denominator != 0)
    return quotient
