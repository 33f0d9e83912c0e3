"""Two passes over a matrix: what is needed of every row, in memory for a block of rows at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..reading._tensors import Matrix
from ._clusters import projection

__all__ = ["First", "Second", "first_pass", "second_pass"]

SHOWN = 5
NEIGHBOURS = 3


@dataclass(frozen=True, eq=False)
class First:
    """norms [V]; total, the sum of all rows [n]; shadows [V, w], rows on a few directions; hashes of the bits [V]."""

    norms: NDArray[np.float64]
    total: NDArray[np.float64]
    shadows: NDArray[np.float64]
    hashes: NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Second:
    """distances [V, G] of rows to the centres; cosines [V, G] with them, both centred; unit_sums [G, n] and
    centred_unit_sums [G, n] of the sets' rows; near, ids and distances of the rows nearest to each query [Q, 3]."""

    distances: NDArray[np.float64]
    cosines: NDArray[np.float64]
    unit_sums: NDArray[np.float64]
    centred_unit_sums: NDArray[np.float64]
    near: NDArray[np.int64]


def first_pass(matrix: Matrix) -> First:
    """Norms, the sum of rows and fingerprints, in float64.

    Raises :class:`InputError` when a row has NaN or infinity, naming rows.
    """
    rows, dim = matrix.rows, matrix.dim
    directions = projection(dim)
    # Odd multipliers of 64 bits: rows with the same bits get the same hash, others hardly ever; they are compared later.
    words = (dim + 1) // 2
    multipliers = np.random.default_rng(1).integers(0, 1 << 63, words, dtype=np.uint64) * 2 + 1
    norms, hashes = np.empty(rows), np.empty(rows, np.uint64)
    shadows, total = np.empty((rows, directions.shape[1])), np.zeros(dim)
    for start, block in matrix.blocks():
        stop = start + len(block)
        wide = block.astype(np.float64)
        squares = np.einsum("ij,ij->i", wide, wide)
        if not np.isfinite(squares).all():
            bad = start + np.flatnonzero(~np.isfinite(squares))
            ids = ", ".join(map(str, bad[:SHOWN])) + (" and more" if len(bad) > SHOWN else "")
            raise InputError(
                f"{matrix.info.file}: {matrix.name} has NaN or infinity in rows {ids}; mend them first"
            )
        norms[start:stop] = np.sqrt(squares)
        total += wide.sum(axis=0)
        shadows[start:stop] = wide @ directions
        even = block if dim % 2 == 0 else np.pad(block, ((0, 0), (0, 1)))
        hashes[start:stop] = np.einsum("ij,j->i", even.view(np.uint64), multipliers)
    return First(norms, total, shadows, hashes)


def second_pass(
    matrix: Matrix,
    norms: NDArray[np.float64],
    mean: NDArray[np.float64],
    centres: NDArray[np.float64],
    members: NDArray[np.bool_],
    queries: NDArray[np.int64],
) -> Second:
    """Distances and centred cosines of all rows to ``centres`` [G, n]; sums of unit rows of sets ``members`` [G, V],
    raw and centred by ``mean`` [n], without their zero rows; the rows nearest to rows ``queries`` [Q].

    A distance far below a row's norm is exact to about 1e-8 of the norm. Nearest rows are ranked in float32
    where their squares fit.
    """
    rows, count = matrix.rows, len(centres)
    distances, cosines = np.empty((rows, count)), np.empty((rows, count))
    unit_sums, centred_sums = np.zeros((count, matrix.dim)), np.zeros((count, matrix.dim))
    beams = np.concatenate([centres, mean[None]]).T
    lengths = np.einsum("ij,ij->j", beams, beams)
    # Squares of very long or short rows do not fit float32.
    longest = norms.max(initial=0)
    kind = np.float32 if 1e-15 < longest < 1e15 else np.float64
    asked = matrix.take(queries).astype(kind, copy=False)
    asked_squares = np.einsum("ij,ij->i", asked, asked)
    best = np.full((len(queries), NEIGHBOURS), np.inf, kind)
    near = np.full((len(queries), NEIGHBOURS), -1, np.int64)
    for start, block in matrix.blocks():
        stop = start + len(block)
        wide = block.astype(np.float64)
        dots = wide @ beams
        squares = norms[start:stop, None] ** 2
        distances[start:stop] = np.sqrt(np.maximum(squares - 2 * dots + lengths, 0))[:, :count]
        aligned = dots[:, :count] - dots[:, -1:] - beams[:, -1] @ beams[:, :count] + lengths[-1]
        own = np.sqrt(np.maximum(squares - 2 * dots[:, -1:] + lengths[-1], 0))
        scale = own * np.linalg.norm(centres - mean, axis=1)
        cosines[start:stop] = np.divide(aligned, scale, out=np.zeros_like(aligned), where=scale > 0)
        for g in range(count):
            chosen = members[g, start:stop] & (norms[start:stop] > 0)
            if chosen.any():
                mine = wide[chosen]
                unit_sums[g] += (1 / norms[start:stop][chosen]) @ mine
                mine = mine - mean
                size = np.linalg.norm(mine, axis=1)
                centred_sums[g] += (
                    np.divide(1, size, out=np.zeros_like(size), where=size > 0) @ mine
                )
        if len(queries):
            apart = (squares.astype(kind) - 2 * (block @ asked.T)).T + asked_squares[:, None]
            inside = (queries >= start) & (queries < stop)
            apart[inside, queries[inside] - start] = np.inf  # not itself
            least = np.argpartition(apart, min(NEIGHBOURS, len(block)) - 1, axis=1)[:, :NEIGHBOURS]
            ids = np.concatenate([near, start + least], axis=1)
            values = np.concatenate([best, np.take_along_axis(apart, least, axis=1)], axis=1)
            keep = np.argsort(values, axis=1, kind="stable")[:, :NEIGHBOURS]
            near = np.take_along_axis(ids, keep, axis=1)
            best = np.take_along_axis(values, keep, axis=1)
    return Second(distances, cosines, unit_sums, centred_sums, near)
