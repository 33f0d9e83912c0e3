"""Rows that are the same up to the rounding of their number format, found at a cost about linear in rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..reading._dtypes import RELATIVE_STEP
from ..reading._tensors import Matrix

__all__ = ["Clusters", "find_clusters", "projection", "rounding_of"]

WIDTH = 16
"""Directions that rows are projected on; near rows stay near, and few others come near."""
CELL, GRIDS = 24.0, 6
"""Side of a grid's cells, in standard deviations of a near row's shadow; number of randomly shifted grids."""
FAR = 50.0
"""Squared length of a near row's shadow in such units, at most: 2e-5 of chi-squared with 16 degrees of freedom is above."""
WIDEST = 0.05
"""Of a row's norm: coarser formats than this cannot say which rows were the same."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Clusters:
    """Rows that are the same up to rounding.

    labels: of each row, -1 for one that stands alone [V]; 0 is the largest cluster.
    sizes: of the clusters [C].
    exact: rows that are bit for bit the same as another row, zeros aside.
    tolerance: of the norm, within which rows count as the same.
    """

    labels: NDArray[np.int64]
    sizes: NDArray[np.int64]
    exact: NDArray[np.bool_]
    tolerance: float


def projection(dim: int) -> NDArray[np.float64]:
    """Orthonormal directions ``[n, w]``: a projected distance is never longer than the distance itself."""
    drawn = np.random.default_rng(0).standard_normal((dim, min(WIDTH, dim)))
    return np.linalg.qr(drawn)[0]


def rounding_of(matrix: Matrix, rows: NDArray[np.floating]) -> float:
    """About how far rounding to the stored format can move a row, relative to its norm: one step in every number.

    ``rows`` [k, n] are a sample; quantised formats get their step from the largest number in blocks of 32.
    """
    if matrix.dtype in RELATIVE_STEP:
        return min(RELATIVE_STEP[matrix.dtype], WIDEST)
    if matrix.dtype in ("F32", "F16", "BF16"):
        name = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}[matrix.dtype]
        return RELATIVE_STEP[name]
    step = np.linalg.norm(quantisation_steps(matrix.dtype, rows), axis=1)
    norms = np.linalg.norm(rows, axis=1)
    if not (norms > 0).any():
        return WIDEST
    return min(float(np.median(step[norms > 0] / norms[norms > 0])), WIDEST)


def quantisation_steps(kind: str, rows: NDArray[np.floating]) -> NDArray[np.float64]:
    """About one step of a quantised format such as ``Q8_0`` at each number ``[k, n]``."""
    digits = [int(c) for c in kind if c.isdigit()]
    bits = digits[0] if digits else 4
    k, n = rows.shape
    wide = np.abs(rows.astype(np.float64))
    padded = np.pad(wide, ((0, 0), (0, -n % 32))).reshape(k, -1, 32)
    steps = padded.max(axis=2, keepdims=True) * 2.1 / (2**bits - 1)
    return np.broadcast_to(steps, padded.shape).reshape(k, -1)[:, :n]


def find_clusters(
    matrix: Matrix,
    norms: NDArray[np.float64],
    shadows: NDArray[np.float64],
    hashes: NDArray[np.uint64],
    tolerance: float,
) -> Clusters:
    """Group rows within ``tolerance`` times their norm of a leader; zero rows are left out.

    ``norms`` [V], ``shadows`` [V, w] (rows on the directions of :func:`projection`), ``hashes`` [V] (of the bits). Rows with
    the same bits are always found. Near ones are looked for in grids on the shadows, and confirmed on the rows themselves; a
    pair that is just within the tolerance is missed about once in two hundred times, closer ones hardly ever.
    """
    rows = len(norms)
    leader = np.arange(rows)
    live = np.flatnonzero(norms > 0)
    for ids in _same(hashes[live], live):
        same = _confirmed(matrix, int(ids[0]), ids, 0.0)
        leader[same] = ids[0]
    exact = np.bincount(leader, minlength=rows)[leader] > 1
    rng = np.random.default_rng(2)
    units = shadows / np.maximum(norms, np.finfo(float).tiny)[:, None]
    # The difference of two near rows has independent random shadows, of standard deviation |x - y|/sqrt(n).
    width = tolerance / np.sqrt(matrix.dim)
    cell = CELL * width
    odd = rng.integers(0, 1 << 62, units.shape[1], dtype=np.int64) * 2 + 1
    standing = live[leader[live] == live]
    for _ in range(GRIDS):
        places = np.floor(units[standing] / cell + rng.random(units.shape[1])).astype(np.int64)
        with np.errstate(over="ignore"):
            keys = np.einsum("ij,j->i", places, odd).view(np.uint64)
        for ids in _same(keys, standing):
            _join(matrix, ids, leader, shadows, norms, tolerance, FAR**0.5 * width)
        standing = standing[leader[standing] == standing]
    while not np.array_equal(leader, leader[leader]):
        leader = leader[leader]  # those that follow a row follow its own leader
    members = np.bincount(leader, minlength=rows)
    heads = np.flatnonzero(members > 1)
    heads = heads[np.argsort(-members[heads], kind="stable")]
    labels = np.full(rows, -1, np.int64)
    labels[heads] = np.arange(len(heads))
    return Clusters(
        labels=np.where(members[leader] > 1, labels[leader], -1),
        sizes=members[heads],
        exact=exact,
        tolerance=tolerance,
    )


def _same(keys: NDArray[np.uint64], ids: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Sets of two or more ``ids`` that have one key, ascending."""
    order = np.argsort(keys, kind="stable")
    ends = np.flatnonzero(np.diff(keys[order])) + 1
    starts, ends = np.concatenate([[0], ends]), np.concatenate([ends, [len(keys)]])
    for place in np.flatnonzero(ends - starts > 1):
        yield ids[order[starts[place] : ends[place]]]


def _join(
    matrix: Matrix,
    ids: NDArray[np.int64],
    leader: NDArray[np.int64],
    shadows: NDArray[np.float64],
    norms: NDArray[np.float64],
    tolerance: float,
    reach: float,
) -> None:
    """Let rows of one cell follow the first of them that they lie near."""
    mine = shadows[ids] - shadows[ids].mean(axis=0)
    squares = np.einsum("ij,ij->i", mine, mine)
    limits = (reach * norms[ids]) ** 2 + 1e-12 * squares.max()
    some = np.zeros(len(ids), bool)
    for part in range(0, len(ids), 512):
        chunk = slice(part, part + 512)
        apart = squares[chunk, None] + squares - 2 * mine[chunk] @ mine.T
        some[chunk] = (apart <= limits[chunk, None]).sum(axis=1) > 1
    free = some
    while free.any():
        head = int(np.argmax(free))
        free[head] = False
        off = mine[free] - mine[head]
        close = ids[free][np.einsum("ij,ij->i", off, off) <= limits[head]]
        if len(close):
            row = int(ids[head])
            same = _confirmed(matrix, row, close, tolerance * norms[row])
            leader[same] = row
            free &= ~np.isin(ids, same)


def _confirmed(
    matrix: Matrix, index: int, ids: NDArray[np.int64], within: float
) -> NDArray[np.int64]:
    """Those of ``ids`` whose rows lie within a distance of row ``index``."""
    centre = matrix.take([index])[0].astype(np.float64)
    kept = []
    for part in range(0, len(ids), 1024):
        chosen = ids[part : part + 1024]
        apart = np.linalg.norm(matrix.take(chosen) - centre, axis=1)
        kept.append(chosen[apart <= within])
    return np.concatenate(kept)
