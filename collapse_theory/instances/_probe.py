"""Runs with a direction that no feature sees: what is left untouched by the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..arithmetic import Array
from . import _sampling as sampling
from ._run import Run
from ._sampling import Free, RunDomain, Shape, some


@dataclass(frozen=True, eq=False)
class ProbeRun(Run):
    """A batch of runs, each with one more vector, the ``probe`` z [..., n], meant to be orthogonal to every feature."""

    AXES: ClassVar[dict[str, tuple[str, ...]]] = Run.AXES | {"probe": ("n",)}
    SYMBOLS: ClassVar[dict[str, str]] = Run.SYMBOLS | {"probe": "z"}
    domain: ClassVar[str] = "probe_run"

    probe: Array

    def along(self, x: Array) -> Array:
        """``<z, x>`` for vectors x [..., n]."""
        return self.ops.sum(self.probe * x)


class ProbeDomain(RunDomain):
    """Runs as in the domain ``run`` in at least two dimensions, with features rounded so that the probe, a vector of small
    integers, is orthogonal to them exactly, on floats too; in one run of ten it is not."""

    name = "probe_run"
    batch_type = ProbeRun
    fixed = frozenset({"labels", "example_weights", "probe"})

    def shape(self, rng: np.random.Generator, *, large: bool = False, small: bool = False) -> Shape:
        shape = super().shape(rng, large=large, small=small)
        return shape._replace(dim=max(2, shape.dim))

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        free = sampling.draw(rng, shape, size, (size, shape.steps))
        probe = rng.integers(-4, 5, (size, shape.dim)).astype(float)
        probe[np.all(probe == 0, axis=1), 0] = 1.0
        free["probe"] = probe
        tilted = np.zeros(size)
        tilted[some(rng, size, 0.1)] = 1.0
        free["tilted"] = tilted
        none = some(rng, size, 0.3)  # weight decay is often off where this matters
        free["decay_absolute"][none] = free["decay_relative"][none] = 0.0
        return free

    def build(self, free: Free) -> Any:
        features = orthogonal(free["features"], free["probe"])
        tilted = (free["tilted"] > 0.5)[:, None, None, None]
        run = sampling.build_run({**free, "features": np.where(tilted, free["features"], features)})
        probed = ProbeRun(ops=run.ops, probe=free["probe"], **run.values)
        probed.__dict__["steps"] = run.steps
        return probed


def orthogonal(features: np.ndarray, probe: np.ndarray) -> np.ndarray:
    """Features [B, T, N, n] near the given ones with ``<z, x> = 0`` exactly for a vector z [B, n] of small integers.

    The entry at a non-zero coordinate of z is solved for. All other entries are first rounded to multiples, by that
    coordinate of z, of a power of two some 20 bits below the largest; so products and sums are exact.
    """
    at = np.argmax(np.abs(probe), axis=1)
    chosen = np.take_along_axis(probe, at[:, None], axis=1)[:, 0]
    largest = np.abs(features).max(axis=(1, 2, 3))
    unit = np.ldexp(1.0, np.frexp(np.where(largest > 0, largest, 1.0))[1] - 20)
    grid = (unit * np.abs(chosen))[:, None, None, None]
    rounded = np.round(features / grid) * grid
    other = probe.copy()
    np.put_along_axis(other, at[:, None], 0.0, axis=1)
    rest = np.sum(rounded * other[:, None, None, :], axis=-1)
    solved = -rest / chosen[:, None, None]
    index = np.broadcast_to(at[:, None, None, None], (*features.shape[:3], 1))
    np.put_along_axis(rounded, index, solved[..., None], axis=-1)
    return rounded
