"""Instances whose entries are SymPy symbols, so that a claim's formula can be read off as an expression."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arithmetic import SYMBOLIC, symbols
from ..errors import InputError
from ._batch import Batch
from .domains import domain

SIZES = {"K": 3, "n": 1, "N": 1, "T": 2, "pair": 2, "S": 1}
"""Sizes of axes that are not given; S are seen rows."""


def symbolic(domain_name: str, **sizes: Any) -> Any:
    """An instance of a domain with real symbols as entries and no batch axis.

    A field's symbol is its name in the batch type's ``SYMBOLS`` and its indices from 0, in the order of its axes:
    ``w_{k}_{j}``, ``x_{i}_{j}``, ``a_{i}``, ``eta``, ``lam``, ``T``; in a run ``x_{t}_{i}_{j}``, ``eta_{t}``. ``sizes``
    are the axes' sizes by name (K labels, n dimensions, N examples, T steps) and the values of integer fields: one for
    all entries, or one for each (``mask=(1, 0)``). Every target is label K - 1.
    """
    kind: type[Batch] = domain(domain_name).batch_type
    known = {axis for axes in kind.AXES.values() for axis in axes} | kind.INTEGERS
    for name in sizes:
        if name not in known:
            raise InputError(f"{domain_name}: size {name!r} is unknown; sizes are {sorted(known)}")
    size = SIZES | sizes
    for name in kind.INTEGERS - {"labels"}:
        if name not in sizes:
            raise InputError(f"{domain_name}: {name} is a whole number; give {name}=")
    values: dict[str, np.ndarray] = {}
    for name, axes in kind.AXES.items():
        shape = tuple(size[axis] for axis in axes)
        if name == "labels":
            values[name] = np.full(shape, size["K"] - 1)
        elif name in kind.INTEGERS:
            values[name] = np.full(shape, size[name])
        else:
            values[name] = _symbols(kind.SYMBOLS.get(name, name), *shape)
    return kind(ops=SYMBOLIC, **values)


def _symbols(name: str, *sizes: int) -> np.ndarray:
    import sympy

    out = np.empty(sizes, dtype=object)
    for index in np.ndindex(*sizes):
        out[index] = sympy.Symbol("_".join([name, *map(str, index)]), real=True)
    return symbols(out)


def symbolic_step(*, labels: int = 3, dim: int = 1, examples: int = 1) -> Any:
    """:func:`symbolic` for a step."""
    return symbolic("step", K=labels, n=dim, N=examples)


def symbolic_run(*, steps: int = 2, labels: int = 3, dim: int = 1, examples: int = 1) -> Any:
    """:func:`symbolic` for a run."""
    return symbolic("run", K=labels, n=dim, N=examples, T=steps)
