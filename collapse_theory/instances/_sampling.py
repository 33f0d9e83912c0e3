"""Sampling steps and runs: free variables are drawn, instances are built from them.

A draw fixes *free* variables (rows, features, how far a step size or a bound lies from its margin); building turns them
into an instance. So margins can be met exactly, missed on purpose (a few percent of the draws violate each hypothesis,
which is what necessity needs), and moved along by the optimiser without becoming inadmissible at once.

Magnitudes span at least six decades: rows, features, logits, decay, step sizes. Corners are drawn on purpose:
equal and nearly equal rows, zero features, features orthogonal or parallel to ``D``, probabilities near 0 and near 1,
eta = 0, lam = 0, margins met exactly.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from ..arithmetic import FLOAT
from ._batch import Batch
from ._run import Run, advance
from ._step import Step

S = TypeVar("S", bound=Step)

Free = dict[str, np.ndarray]
"""Free variables by name; axis 0 is the instance."""

HAIR = 2.0**-32
"""A margin "met exactly" is met up to this relative amount, so that rounding of the data cannot break it."""


class Shape(NamedTuple):
    """Sizes of an instance: K labels, dimension n, N examples, T steps (1 for a step)."""

    labels: int
    dim: int
    examples: int
    steps: int = 1


class Domain:
    """A kind of instance: its batch type, its shapes, how instances are drawn and built. Subclasses fill this in."""

    name: ClassVar[str]
    batch_type: ClassVar[type[Batch]]
    runs: ClassVar[bool] = False
    """Whether an instance is a whole run: fewer are examined then."""
    chunk: ClassVar[tuple[int, int]] = (8192, 3072)
    """Most instances drawn at a time, of small shapes and of large ones."""
    arrays: ClassVar[frozenset[str]] = frozenset({"weights", "features"})
    """Free variables that a search moves relative to their own size; all others are knobs."""
    fixed: ClassVar[frozenset[str]] = frozenset({"labels", "example_weights"})
    """Free variables that a search does not move."""

    def shape(self, rng: np.random.Generator, *, large: bool = False, small: bool = False) -> Shape:
        """A shape from the domain's buckets; K, n, N <= 8, or one in twenty up to 32 x 24 x 16."""
        if small:
            return Shape(3, int(rng.integers(1, 3)), int(rng.integers(1, 3)))
        if large:
            return Shape(
                int(rng.integers(9, 33)), int(rng.integers(9, 25)), int(rng.integers(9, 17))
            )
        return Shape(int(rng.integers(3, 9)), int(rng.integers(1, 9)), int(rng.integers(1, 9)))

    def draw(self, rng: np.random.Generator, shape: Shape, size: int) -> Free:
        """Free variables of ``size`` instances."""
        raise NotImplementedError

    def build(self, free: Free) -> Batch:
        """Float instances from free variables."""
        raise NotImplementedError


class RunDomain(Domain):
    """Domains whose instances are short runs: up to 8 steps (large: up to 64) of heads with K, n, N <= 5 (large: 8)."""

    runs = True
    chunk = (512, 192)

    def shape(self, rng: np.random.Generator, *, large: bool = False, small: bool = False) -> Shape:
        if small:
            return Shape(3, int(rng.integers(1, 3)), 1, 2)
        top, steps = (9, (9, 65)) if large else (6, (1, 9))
        return Shape(
            int(rng.integers(3, top)),
            int(rng.integers(1, top)),
            int(rng.integers(1, top)),
            int(rng.integers(*steps)),
        )


def magnitude(rng: np.random.Generator, size: Any, low: float, high: float) -> np.ndarray:
    """Log-uniform between 10^low and 10^high."""
    return 10.0 ** rng.uniform(low, high, size)


def some(rng: np.random.Generator, size: int, share: float) -> np.ndarray:
    """Indices of a random share of ``size`` instances."""
    return np.flatnonzero(rng.random(size) < share)


def draw_rows(rng: np.random.Generator, shape: Shape, size: int) -> np.ndarray:
    """Initial rows [size, K, n]; half of the pairs are close to each other, down to 1e-8 of the rows' scale."""
    scale = magnitude(rng, (size, 1, 1), -3, 3)
    wide = some(rng, size, 0.5)
    scale[wide] = magnitude(rng, (len(wide), 1, 1), -1, 1)
    rows = scale * rng.standard_normal((size, shape.labels, shape.dim))
    near = some(rng, size, 0.5)
    offset = rng.standard_normal((len(near), shape.dim))
    rows[near, 0] = rows[near, 1] + scale[near, 0] * magnitude(rng, (len(near), 1), -8, 0) * offset
    equal = some(rng, size, 0.02)
    rows[equal, 0] = rows[equal, 1]
    return rows


def draw_examples(
    rng: np.random.Generator, rows: np.ndarray, lead: tuple[int, ...], shape: Shape
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features [*lead, N, n], labels [*lead, N], batch weights [*lead, N] for rows [size, K, n]; lead[0] is size."""
    size, examples, dim = lead[0], shape.examples, shape.dim
    ones = (1,) * len(lead[1:])
    row_scale = np.sqrt(np.mean(rows**2, axis=(1, 2))) + 1e-30
    spread = magnitude(rng, size, -3, 1.3)  # typical size of a logit
    wild = some(rng, size, 0.15)
    spread[wild] = magnitude(rng, len(wild), -6, 4)
    scale = np.clip(spread / row_scale, 1e-6, 1e6).reshape(size, *ones, 1, 1)
    features = scale * rng.standard_normal((*lead, examples, dim))

    difference = (rows[:, 0] - rows[:, 1]).reshape(size, *ones, 1, dim)
    length = np.sqrt(np.sum(difference**2, axis=-1, keepdims=True))
    unit = np.divide(difference, length, out=np.zeros_like(difference), where=length > 0)
    along = np.sum(features * unit, axis=-1, keepdims=True)
    chosen = some(rng, size, 0.06)
    features[chosen] = (features - along * unit)[chosen]  # orthogonal to D
    chosen = some(rng, size, 0.06)
    features[chosen] = (along * unit)[chosen]  # along D
    features[some(rng, size, 0.02)] = 0.0
    one = some(rng, size, 0.03)
    features[one, ..., 0, :] = 0.0

    labels = rng.integers(2, shape.labels, (*lead, examples))
    seen = some(rng, size, 0.04)  # the pair is a target somewhere: violates `unseen`
    where = (seen, *[rng.integers(0, s, len(seen)) for s in (*lead[1:], examples)])
    labels[where] = rng.integers(0, 2, len(seen))

    # Multiples of 1/1024 sum to 1 exactly, on floats and on balls.
    probabilities = rng.dirichlet(np.ones(examples), size)
    uniform = some(rng, size, 0.5)
    probabilities[uniform] = 1 / examples
    counts = rng.multinomial(1024, probabilities.reshape(size, *ones, examples), lead)
    # What two targets of the pair do together, a single one does not show. The stream of all other draws stays as it is.
    own = rng.spawn(1)[0]
    both = seen[own.random(len(seen)) < 0.5]
    hit = own.random((len(both), *lead[1:], examples)) < 0.5
    labels[both] = np.where(hit, own.integers(0, 2, hit.shape), labels[both])
    if examples > 1:
        even = both[own.random(len(both)) < 0.5]  # u and v with equal mass, if their sum is even
        shared = counts[even, ..., 0] + counts[even, ..., 1]
        counts[even, ..., 0], counts[even, ..., 1] = shared // 2, shared - shared // 2
        labels[even, ..., :2] = (0, 1)
    return features, labels, counts / 1024.0


def tilt(rng: np.random.Generator, rows: np.ndarray, features: np.ndarray) -> None:
    """Push some instances' probabilities of the pair on the first example towards 1 or 0 (to 1e-300), in place."""
    size = len(rows)
    first = features.reshape(size, -1, features.shape[-1])[:, 0]
    square = np.sum(first**2, axis=-1)
    for share, to_one in ((0.05, True), (0.05, False)):
        chosen = some(rng, size, share)
        chosen = chosen[square[chosen] > 0]
        push = rng.uniform(1, 690, len(chosen)) / square[chosen]
        shift = push[:, None, None] * first[chosen, None]
        if to_one:
            rows[chosen, 2:] -= shift
        else:
            rows[chosen, :2] -= shift


def draw_knobs(rng: np.random.Generator, lead: tuple[int, ...]) -> Free:
    """How far each bound and step size lies from its margin, [*lead]; see :func:`settle`.

    In a run at most one step of an instance violates a given hypothesis, so that most runs stay admissible.
    """
    size = lead[0]

    def one_each(share: float) -> tuple[np.ndarray, ...]:
        chosen = some(rng, size, share)
        return (chosen, *[rng.integers(0, s, len(chosen)) for s in lead[1:]])

    knobs: Free = {}
    for name in ("radius", "pbar", "curvature"):
        slack = 1 + magnitude(rng, lead, -6, 2)
        slack[rng.random(lead) < 0.6] = 1.0
        below = one_each(0.03)
        slack[below] = rng.uniform(0, 1, len(below[0]))
        knobs[f"slack_{name}"] = slack

    relative = magnitude(rng, lead, -4, 4)
    absolute = np.zeros(lead)
    swap = rng.random(lead) < 0.3
    absolute[swap] = magnitude(rng, int(swap.sum()), -6, 3)
    relative[swap] = 0.0
    none = rng.random(lead) < 0.04
    relative[none] = absolute[none] = 0.0
    negative = one_each(0.03)
    relative[negative] *= -1
    absolute[negative] *= -1
    knobs["decay_relative"], knobs["decay_absolute"] = relative, absolute

    fraction = rng.uniform(0, 1, lead)
    small = rng.random(lead) < 0.2
    fraction[small] = magnitude(rng, int(small.sum()), -6, 0)
    fraction[rng.random(lead) < 0.12] = 1.0
    fraction[rng.random(lead) < 0.03] = 0.0
    over = one_each(0.1)
    fraction[over] = magnitude(rng, len(over[0]), 0, 3)
    backwards = one_each(0.03)
    fraction[backwards] *= -1
    inverse = np.zeros(lead)
    unit = one_each(0.04)  # eta lam = 1 and its neighbourhood, a margin of the paper's lemma
    inverse[unit] = rng.choice([1.0, 0.5, 1.5], len(unit[0]))
    fraction[unit] = 0.0
    knobs["step_fraction"], knobs["step_inverse_decay"] = fraction, inverse
    # Step sizes measured by r^2/2, which needs no probabilities, instead of T.
    knobs["step_by_radius"] = (rng.random(lead) < 0.06).astype(float)
    return knobs


def settle(step: S, knobs: Free) -> S:
    """Give ``step`` its bounds, decay and step size from the knobs.

    ``r = max|x_i| slack_radius``, ``pbar = min(1, max L_i slack_pbar)``, ``T = tr M slack_curvature``,
    ``lam = decay_absolute + decay_relative T``,
    ``eta = step_fraction 2/|2 lam + T| + step_inverse_decay/|lam|``, with r^2/2 for T if ``step_by_radius``.
    """
    up, down = 1 + HAIR, 1 - HAIR
    curvature = step.trace * knobs["slack_curvature"] * up
    decay = np.clip(knobs["decay_absolute"] + knobs["decay_relative"] * curvature, -1e60, 1e60)

    def reciprocal(x: np.ndarray) -> np.ndarray:
        return 1 / np.where(x == 0, 1.0, np.abs(x))

    radius = step.feature_norms.max(axis=-1)
    bound = np.where(knobs["step_by_radius"] > 0.5, radius * radius / 2, curvature)
    step_size = down * (
        knobs["step_fraction"] * 2 * reciprocal(2 * decay + bound)
        + knobs["step_inverse_decay"] * reciprocal(decay)
    )
    return changed(
        step,
        step_size=np.clip(step_size, -1e60, 1e60),
        weight_decay=decay,
        radius=radius * knobs["slack_radius"] * up,
        pbar=np.minimum(step.means.max(axis=-1) * knobs["slack_pbar"] * up, 1.0),
        curvature=curvature,
    )


KEPT = frozenset({"difference", "_pair", "means", "trace", "operator", "feature_norms"})
"""What is derived from rows, features and batch weights alone."""


def changed(step: S, **scalars: np.ndarray) -> S:
    """``step`` with other scalars (step size, decay, bounds), keeping what was derived without them."""
    derived = {name: value for name, value in step.__dict__.items() if name in KEPT}
    other = replace(step, **scalars)
    other.__dict__.update(derived)
    return other


def unsettled(
    free: Free,
    t: int | None,
    weights: np.ndarray,
    difference: np.ndarray,
    kind: type[Step] = Step,
    **more: np.ndarray,
) -> Any:
    """The step at time ``t`` (None: the only one) before :func:`settle`; ``more`` are the fields that ``kind`` adds."""
    at = slice(None) if t is None else (slice(None), t)
    empty = np.zeros(len(weights))
    return kind.with_difference(
        difference,
        ops=FLOAT,
        weights=weights,
        features=free["features"][at],
        labels=free["labels"][at],
        example_weights=free["example_weights"][at],
        **dict.fromkeys(("step_size", "weight_decay", "radius", "pbar", "curvature"), empty),
        **more,
    )


KNOBS = (
    "slack_radius",
    "slack_pbar",
    "slack_curvature",
    "decay_relative",
    "decay_absolute",
    "step_fraction",
    "step_inverse_decay",
    "step_by_radius",
)


def build_step(free: Free, kind: type[Step] = Step, **more: np.ndarray) -> Any:
    """Steps from free variables; ``more`` are the fields that ``kind`` adds to a step's."""
    rows = free["weights"]
    step = unsettled(free, None, rows, rows[:, 0] - rows[:, 1], kind, **more)
    return settle(step, {k: free[k] for k in KNOBS})


def build_run(free: Free) -> Run:
    """Runs from free variables: each step's bounds are settled where the run then is."""
    rows = free["weights"]
    difference = rows[:, 0] - rows[:, 1]
    settled = []
    for t in range(free["labels"].shape[1]):
        step = settle(unsettled(free, t, rows, difference), {k: free[k][:, t] for k in KNOBS})
        settled.append(step)
        rows, difference = advance(step)
    scalars = ("step_size", "weight_decay", "radius", "pbar", "curvature")
    run = Run(
        ops=FLOAT,
        weights=free["weights"],
        features=free["features"],
        labels=free["labels"],
        example_weights=free["example_weights"],
        **{k: np.stack([getattr(s, k) for s in settled], axis=-1) for k in scalars},
    )
    run.__dict__["steps"] = settled
    return run


def draw(rng: np.random.Generator, shape: Shape, size: int, lead: tuple[int, ...]) -> Free:
    """Free variables of ``size`` instances; ``lead`` is (size,) for steps, (size, T) for runs."""
    rows = draw_rows(rng, shape, size)
    features, labels, weights = draw_examples(rng, rows, lead, shape)
    tilt(rng, rows, features)
    return {
        "weights": rows,
        "features": features,
        "labels": labels,
        "example_weights": weights,
        **draw_knobs(rng, lead),
    }


def perturb(rng: np.random.Generator, free: Free, where: Domain) -> Free:
    """Random neighbours of free variables, one per instance: some coordinates move, by 1e-6 to 3 of their size."""
    size = len(next(iter(free.values())))
    out = dict(free)
    scale, share = magnitude(rng, size, -6, 0.5), rng.uniform(0.05, 1, size)
    for name, x in free.items():
        if name in where.fixed:
            continue
        per = (size,) + (1,) * (x.ndim - 1)
        moved = rng.random(x.shape) < share.reshape(per)
        noise = scale.reshape(per) * rng.standard_normal(x.shape)
        if name in where.arrays:
            size_of = np.sqrt(np.mean(x**2, axis=tuple(range(1, x.ndim)), keepdims=True))
            out[name] = x + moved * noise * size_of
        else:
            # Knobs at exactly 1 sit on a margin: half of the neighbours keep them there.
            moved &= (x != 1.0) | (rng.random(per) < 0.5)
            out[name] = x * np.exp(np.clip(moved * noise, -5, 5))
    return out
