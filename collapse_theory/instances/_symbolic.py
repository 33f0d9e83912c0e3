"""Instances whose entries are SymPy symbols, so that a claim's formula can be read off as an expression."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arithmetic import SYMBOLIC
from ._run import Run
from ._step import Step


def _symbols(name: str, *sizes: int, **assumptions: bool) -> np.ndarray:
    import sympy

    out = np.empty(sizes, dtype=object)
    for index in np.ndindex(*sizes):
        out[index] = sympy.Symbol("_".join([name, *map(str, index)]), **assumptions)
    return out


def symbolic_step(*, labels: int = 3, dim: int = 1, examples: int = 1) -> Step:
    """A step with real symbols ``w_{k}_{j}``, ``x_{i}_{j}``, ``a_{i}``, ``eta``, ``lam``, ``r``, ``pbar``, ``T``.

    ``labels`` is K, ``dim`` n, ``examples`` N; there is no batch axis. Every target is label K - 1.
    """
    real = {"real": True}
    return Step(
        ops=SYMBOLIC,
        weights=_symbols("w", labels, dim, **real),
        features=_symbols("x", examples, dim, **real),
        labels=np.full(examples, labels - 1),
        example_weights=_symbols("a", examples, **real),
        **{field: _symbols(name, **real) for field, name in _SCALARS.items()},
    )


def symbolic_run(*, steps: int = 2, labels: int = 3, dim: int = 1, examples: int = 1) -> Run:
    """A run with symbols as in :func:`symbolic_step`; per-step ones carry the step first: ``x_{t}_{i}_{j}``,
    ``a_{t}_{i}``, ``eta_{t}``, ``lam_{t}``, ``r_{t}``, ``pbar_{t}``, ``T_{t}``."""
    real: dict[str, Any] = {"real": True}
    return Run(
        ops=SYMBOLIC,
        weights=_symbols("w", labels, dim, **real),
        features=_symbols("x", steps, examples, dim, **real),
        labels=np.full((steps, examples), labels - 1),
        example_weights=_symbols("a", steps, examples, **real),
        **{field: _symbols(name, steps, **real) for field, name in _SCALARS.items()},
    )


_SCALARS = {
    "step_size": "eta",
    "weight_decay": "lam",
    "radius": "r",
    "pbar": "pbar",
    "curvature": "T",
}
