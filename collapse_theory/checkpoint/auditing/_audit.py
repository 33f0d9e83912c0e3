"""The audit of one checkpoint: unused rows, how they lie, what has happened to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from ..reading._model import Model, open_model
from ..reading._tensors import Matrix
from ._clusters import Clusters, find_clusters, rounding_of
from ._groups import Group, group_of, neighbours_of, used_measures
from ._mass import masses
from ._measures import core_of
from ._result import Audit, Suspect
from ._scan import first_pass, second_pass
from ._theory import theory_of
from ._unused import REASONS, ZERO, parse_ids, read_counts, reasons_of

__all__ = ["audit"]

SAMPLE = 1024
"""Rows of a set that moments and distances are measured on, at most."""
USED_SAMPLE = 1024
QUERIES = 32
PICTURED = 400
WIDE = 0.5
"""A set whose radius is more than this share of the used rows' median distance to its centre takes none of them away."""
SCALES = (1e-30, 1e30)
"""Initial scales that can be meant."""
GATHERED = ("collapse", "hidden", "duplicates", "mean_resized")
"""Diagnoses of sets that lie on one point, on which other rows may lie, too."""


def audit(
    path: str | Path,
    *,
    tensor_name: str | None = None,
    unused: Iterable[str | int] | None = None,
    token_counts: str | Path | ArrayLike | None = None,
    initial_scale: float | None = None,
    training: Mapping[str, Any] | None = None,
    features: ArrayLike | None = None,
    seed: int = 0,
) -> Audit:
    """Audit the (un)embedding matrix of a checkpoint: which rows appear unused, how they lie, what happened to them.

    ``path`` is what :func:`open_model` takes. ``unused`` are further ids, ranges ("7-16"), texts or patterns of texts;
    ``token_counts`` a file (see ``read_counts``) or an array [V] of how often each id was a target, which outranks names.
    ``initial_scale`` is the standard deviation of an entry of fresh rows (default: the configuration's
    ``initializer_range``). ``training`` are settings as :func:`collapse_theory.forecast` takes them: then the audit says
    what they promise beside what it measured. ``features`` [N, n] are final hidden states: then it says what probability
    the unused rows take. ``seed`` fixes the sample of used rows.

    Reads the matrix twice by blocks of rows; the cost is linear in rows. Raises :class:`InputError` for what is missing,
    damaged or hostile, for rows with NaN or infinity, and for an untied model whose output matrix is absent.
    """
    model = open_model(path, tensor_name=tensor_name)
    matrix = model.unembedding()
    if matrix.rows < 4:
        raise InputError(f"{path}: {matrix.name} has {matrix.rows} rows; an audit needs at least 4")
    if initial_scale is not None and not SCALES[0] <= initial_scale <= SCALES[1]:
        raise InputError(
            f"initial scale: got {initial_scale:g}, expected one from {SCALES[0]:g} to {SCALES[1]:g}"
        )
    rng = np.random.default_rng(seed)
    notes = [*model.notes, *_tie_note(model)]
    first = first_pass(matrix)
    zero = first.norms == 0
    counts = _counts(token_counts, matrix.rows)
    given = None if unused is None else parse_ids(unused, matrix.rows, model.tokenizer)
    reasons = reasons_of(matrix.rows, model.tokenizer, zero, given=given, counts=counts)
    is_unused = reasons >= 0
    mean = first.total / matrix.rows
    look = matrix.take(np.unique(rng.integers(0, matrix.rows, 64)))
    tolerance = rounding_of(matrix, look.astype(np.float64))
    clusters = find_clusters(matrix, first.norms, first.shadows, first.hashes, tolerance)

    sets = _sets(reasons)
    nonzero = {name: ids[~zero[ids]] for name, ids in sets.items()}
    samples = {n: _rows(matrix, _sample(rng, ids, SAMPLE)) for n, ids in nonzero.items()}
    cores = {n: core_of(s, tolerance) for n, s in samples.items() if len(s) >= 2}
    used_ids = np.flatnonzero(~is_unused & ~zero)
    if not len(used_ids):
        raise InputError(
            f"{path}: every row of {matrix.name} is unused or zero; nothing to compare"
        )
    used_mean = _used_mean(matrix, first.total, nonzero, samples, len(used_ids))
    names = list(cores)
    centres = np.array([cores[n][0] for n in names]).reshape(-1, matrix.dim)
    members = np.zeros((len(names), matrix.rows), bool)
    for g, name in enumerate(names):
        members[g, nonzero[name]] = True
    asked = [_sample(rng, nonzero[names[0]], QUERIES)] if names else []
    queries = np.concatenate([*asked, _sample(rng, used_ids, QUERIES)])
    second = second_pass(matrix, first.norms, mean, centres, members, queries)

    ranked = {n: second.distances[:, g] for g, n in enumerate(names)}
    inside = {
        n: _radius(ranked[n][nonzero[n]], tolerance * float(np.linalg.norm(cores[n][0])))
        for n in names
    }
    near_unused = np.zeros(matrix.rows, bool)
    for n in names:
        # A set as wide as the used rows are far from it has them all around: they do not lie with it.
        if inside[n][0] <= WIDE * float(np.median(ranked[n][used_ids])):
            near_unused |= ranked[n] <= inside[n][0]
    together = clusters.labels >= 0
    clean = used_ids[~(near_unused | together)[used_ids]]
    if len(clean) < min(
        64, len(used_ids)
    ):  # the sets lie among the used rows: there is nothing to clean
        clean = used_ids
    used_rows = _rows(matrix, _sample(rng, clean, USED_SAMPLE))
    used = used_measures(used_rows, mean, used_mean)
    scale = initial_scale if initial_scale is not None else _configured_scale(model)
    groups = tuple(
        group_of(
            name,
            ids,
            matrix=matrix,
            zero=zero,
            norms=first.norms,
            sample=samples[name],
            core=cores.get(name),
            sums=_sums(second, names, name, len(nonzero[name]) > SAMPLE),
            distances=ranked.get(name),
            radius=inside.get(name),
            mean=mean,
            used_mean=used_mean,
            used=used,
            clusters=clusters,
            initial_scale=scale,
            together=name == ALL,
        )
        for name, ids in sets.items()
    )
    if names:
        k = len(asked[0])
        near = neighbours_of(matrix, queries[:k], second.near[:k], is_unused)
        groups = (groups[0].with_near(near), *groups[1:]) if groups else groups
    used_near = neighbours_of(
        matrix,
        queries[-min(QUERIES, len(used_ids)) :],
        second.near[-min(QUERIES, len(used_ids)) :],
        is_unused,
    )
    suspects = _suspects(model, groups, ranked, inside, is_unused, zero, clusters)
    main = names[0] if names else None
    result = None
    if features is not None:
        wide = [np.flatnonzero(clusters.labels == c) for c in range(min(16, len(clusters.sizes)))]
        result = masses(matrix, features, sets, wide)
    pictured = nonzero[main] if main is not None else np.zeros(0, np.int64)
    return Audit(
        path=str(path),
        matrix=matrix.name,
        shape=(matrix.rows, matrix.dim),
        dtype=matrix.dtype,
        kind=model.kind,
        tied=model.tied,
        tokens=None if model.tokenizer is None else model.tokenizer.source,
        groups=groups,
        used=used,
        used_near=used_near,
        zero_rows=tuple(int(i) for i in np.flatnonzero(zero)),
        suspects=suspects,
        moved_off=tuple(int(i) for i in (groups[0].moved_off if groups else ())),
        clusters=clusters,
        notes=tuple(notes),
        initial_scale=scale,
        theory=None if training is None else theory_of(training, groups, scale, matrix.dim),
        mass=result,
        reasons=reasons,
        norms=first.norms,
        distances=ranked[main] if main is not None else None,
        cosines=second.cosines[:, 0] if main is not None else None,
        unused_rows=_rows(matrix, _sample(rng, pictured, PICTURED)),
        used_rows=used_rows[
            np.linspace(0, len(used_rows) - 1, min(PICTURED, len(used_rows))).astype(int)
        ],
        mean=mean,
        model=model,
    )


ALL = "all unused rows"


def _sets(reasons: NDArray[np.int8]) -> dict[str, NDArray[np.int64]]:
    """Ids by reason; before them all together, where there are several reasons."""
    found = {
        reason: np.flatnonzero(reasons == place)
        for place, reason in enumerate(REASONS)
        if (reasons == place).any()
    }
    if len([r for r in found if r != ZERO]) > 1:
        return {ALL: np.flatnonzero(reasons >= 0), **found}
    return dict(sorted(found.items(), key=lambda item: item[0] == ZERO))


def _sample(rng: np.random.Generator, ids: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    return ids if len(ids) <= most else np.sort(rng.choice(ids, most, replace=False))


def _rows(matrix: Matrix, ids: NDArray[np.int64]) -> NDArray[np.float64]:
    return matrix.take(ids).astype(np.float64)


def _counts(given: str | Path | ArrayLike | None, rows: int) -> NDArray[np.int64] | None:
    if given is None:
        return None
    if isinstance(given, (str, Path)):
        return read_counts(given, rows)
    from ...checks import whole_numbers

    counts = whole_numbers("token_counts", given)
    if counts.shape != (rows,) or counts.min() < 0:
        raise InputError(f"token_counts: shape {counts.shape}; give {rows} counts >= 0")
    return counts


def _used_mean(
    matrix: Matrix,
    total: NDArray[np.float64],
    nonzero: Mapping[str, NDArray[np.int64]],
    samples: Mapping[str, NDArray[np.float64]],
    used: int,
) -> NDArray[np.float64]:
    """The mean of the used rows: all rows less the unused ones."""
    out = total.copy()
    for name, ids in nonzero.items():
        if name == ALL:
            continue
        if len(ids) == len(samples[name]):
            out -= samples[name].sum(axis=0)
            continue
        for part in range(0, len(ids), SAMPLE):
            out -= matrix.take(ids[part : part + SAMPLE]).sum(axis=0, dtype=np.float64)
    return out / used


def _radius(distances: NDArray[np.float64], least: float) -> tuple[float, float]:
    """The 99% quantile of the distances of rows that lie together, and the distance at which a row has moved off."""
    edge = max(3 * float(np.median(distances)), float(least))
    return max(min(float(np.quantile(distances, 0.99)), edge), float(least)), edge


def _sums(second: Any, names: Sequence[str], name: str, wanted: bool) -> Any:
    if not wanted or name not in names:
        return None
    g = list(names).index(name)
    return second.unit_sums[g], second.centred_unit_sums[g]


def _configured_scale(model: Model) -> float | None:
    for part in (model.config, model.config.get("text_config")):
        value = part.get("initializer_range") if isinstance(part, Mapping) else None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        # Compared before it is made a float: JSON has whole numbers that no float holds.
        if SCALES[0] <= value <= SCALES[1]:
            return float(value)
    return None


def _tie_note(model: Model) -> list[str]:
    """Compare both matrices where they should be one."""
    if model.input is None or model.output is None or model.chosen or model.tied is False:
        return []
    a, b = model.input, model.output
    if (a.rows, a.dim) != (b.rows, b.dim):
        if not model.tied:
            return []
        return [f"WARNING: tied by the configuration, but {a.name} and {b.name} differ in shape"]
    for (_, x), (_, y) in zip(a.blocks(), b.blocks(), strict=True):
        if not np.array_equal(x, y):
            said = "tied by the configuration, but " if model.tied else ""
            word = "WARNING: " if model.tied else ""
            return [f"{word}{said}{a.name} and {b.name} differ; {b.name} is audited"]
    return [f"{a.name} and {b.name} are equal: tied"]


def _suspects(
    model: Model,
    groups: tuple[Group, ...],
    ranked: Mapping[str, NDArray[np.float64]],
    inside: Mapping[str, tuple[float, float]],
    is_unused: NDArray[np.bool_],
    zero: NDArray[np.bool_],
    clusters: Clusters,
) -> tuple[Suspect, ...]:
    def text(index: int) -> str:
        return "" if model.tokenizer is None else model.tokenizer.text(index)

    free = ~is_unused & ~zero
    found: dict[int, Suspect] = {}
    for group in groups:
        if (
            group.diagnosis is None
            or group.diagnosis.name not in GATHERED
            or group.reason not in ranked
        ):
            continue
        apart = ranked[group.reason]
        for i in np.flatnonzero(free & (apart <= inside[group.reason][0])).tolist():
            if i not in found or apart[i] < (found[i].distance or np.inf):
                reason = f"lies with: {group.reason}"
                found[i] = Suspect(id=i, text=text(i), reason=reason, distance=float(apart[i]))
    for i in np.flatnonzero(free & (clusters.labels >= 0)).tolist():
        if i not in found:
            size = clusters.sizes[clusters.labels[i]]
            reason = f"one of {size:,} rows that are the same up to rounding"
            found[i] = Suspect(id=i, text=text(i), reason=reason, distance=None)
    far = float("inf")
    return tuple(
        sorted(found.values(), key=lambda s: (far if s.distance is None else s.distance, s.id))
    )
