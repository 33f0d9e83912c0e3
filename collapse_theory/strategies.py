"""Hypothesis strategies for heads, steps and runs: public, for your own tests.

    from hypothesis import given
    from collapse_theory import assert_claim
    from collapse_theory.strategies import steps

    @given(steps(claim="contraction"))
    def test_contraction(step):
        assert_claim("contraction", step)

Numbers have few digits, so that failing examples are readable as Hypothesis shrinks them; sizes shrink towards three labels,
one dimension, one example, one step. Bounds (r, pbar, T) and step sizes are drawn relative to the margins of the
hypotheses, as in the toolkit's own search, and may meet them exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from .claims import Claim, get_claim
from .errors import InputError
from .examination import evaluate
from .instances import Batch, Domain, Run, Shape, Step, domain

__all__ = ["heads", "instances", "runs", "steps"]

_DIGITS = st.integers(-300, 300).map(lambda k: k / 100)
"""Numbers in [-3, 3] with two decimals; shrinks to 0."""
_SCALES = st.sampled_from([1.0, 0.1, 10.0, 1e-3, 1e3, 1e-6, 1e6])


def heads(
    *, labels: tuple[int, int] = (3, 6), dim: tuple[int, int] = (1, 4)
) -> st.SearchStrategy[np.ndarray]:
    """Weight matrices [K, n] with K and n in the given ranges (inclusive); their scale spans twelve decades.

    Rows 0 and 1 are the pair; sometimes they are equal, or close to each other.
    """
    _check_range("labels", labels, 3)
    _check_range("dim", dim, 1)

    @st.composite
    def head(draw: Callable[..., Any]) -> np.ndarray:
        shape = (draw(st.integers(*labels)), draw(st.integers(*dim)))
        rows = _array(draw, shape) * draw(_SCALES)
        closeness = draw(st.sampled_from([None, 1e-3, 1e-8, 0.0]))
        if closeness is not None:
            rows[0] = rows[1] + closeness * rows[0]
        return rows

    return head()


def steps(
    *,
    claim: Claim | str | None = None,
    labels: tuple[int, int] = (3, 6),
    dim: tuple[int, int] = (1, 4),
    examples: tuple[int, int] = (1, 4),
) -> st.SearchStrategy[Step]:
    """Single gradient steps (batches of one :class:`~collapse_theory.Step`).

    With ``claim`` only instances that meet all of its hypotheses. Ranges are inclusive. Raises
    :class:`~collapse_theory.errors.InputError` for an unknown claim, a claim of another domain, or an empty range.
    """
    return instances("step", claim=claim, labels=labels, dim=dim, examples=examples)


def runs(
    *,
    claim: Claim | str | None = None,
    labels: tuple[int, int] = (3, 5),
    dim: tuple[int, int] = (1, 3),
    examples: tuple[int, int] = (1, 3),
    length: tuple[int, int] = (1, 5),
) -> st.SearchStrategy[Run]:
    """Short runs (batches of one :class:`~collapse_theory.Run`) of ``length`` steps; otherwise as :func:`steps`."""
    return instances("run", claim=claim, labels=labels, dim=dim, examples=examples, length=length)


def instances(
    domain_name: str,
    *,
    claim: Claim | str | None = None,
    labels: tuple[int, int] = (3, 6),
    dim: tuple[int, int] = (1, 4),
    examples: tuple[int, int] = (1, 4),
    length: tuple[int, int] = (1, 5),
) -> st.SearchStrategy[Any]:
    """Instances of a domain by its name; what :func:`steps` and :func:`runs` are made of."""
    where = domain(domain_name)
    if isinstance(claim, str):
        claim = get_claim(claim)
    if claim is not None and claim.domain != domain_name:
        raise InputError(f"claim {claim.id} speaks of a {claim.domain}, not of a {domain_name}")
    _check_range("examples", examples, 1)
    _check_range("length", length, 1)
    rows = heads(labels=labels, dim=dim)

    @st.composite
    def instance(draw: Callable[..., Any]) -> Batch:
        head = draw(rows)
        steps = draw(st.integers(*length)) if where.runs else 1
        shape = Shape(*head.shape, draw(st.integers(*examples)), steps)
        free = {
            name: _value(draw, name, x[0], where, shape, head, claim)
            for name, x in where.draw(np.random.default_rng(0), shape, 1).items()
        }
        with np.errstate(all="ignore"):
            return where.build({name: x[None] for name, x in free.items()})

    def usable(batch: Batch) -> bool:
        with np.errstate(all="ignore"):
            if not all(np.isfinite(x).all() for x in batch.values.values()):
                return False
        return claim is None or bool(evaluate(claim, batch).admissible[0])

    return instance().filter(usable)


KNOBS: dict[str, tuple[float, ...]] = {
    "decay_relative": (0.0, 1.0, 0.01, 100.0, -0.1),
    "decay_absolute": (0.0, 0.0, 1.0, 0.01),
    "step_fraction": (1.0, 0.5, 0.1, 1e-3, 0.0),
    "step_inverse_decay": (0.0,),
    "step_by_radius": (0.0,),
    "smoothing": (0.1, 0.0, 0.5),
    "temperature": (1.0, 2.0, 0.5),
    "scale": (1.0, 4.0, 0.25),
    "clip_relative": (1.0, 0.1, 10.0),
    "zeta_relative": (0.01, 0.1, 1.0),
    "cap_relative": (0.0, 2.0, 10.0),
    "cap_absolute": (1.0, 30.0),
    "level": (1.0, 0.5, 2.0, 0.01, -1.0),
    "decay": (1.0, 0.01, 0.0, -0.1),
    "measured": (1.0, 0.0),
    "by_decay": (1.0, 0.0),
    "by_pair": (1.0, 0.0),
    "tilted": (0.0,),
    "swapped": (0.0,),
}
"""Values of the free variables that say how an instance lies to its margins; the simplest first."""
VIOLATING: dict[str, tuple[float, ...]] = {
    "step_fraction": (2.0, 30.0, -0.5),
    "zeta_relative": (-1.0,),
    "tilted": (1.0,),
    "swapped": (1.0,),
}
"""Further values, which break a hypothesis; drawn where no hypothesis of that kind is assumed."""
KEEPING: dict[str, frozenset[str]] = {
    "step_fraction": frozenset(
        {"step_size", "nonnegative_step", "factor", "positive_lower_factor"}
    ),
    "tilted": frozenset({"orthogonal"}),
    "swapped": frozenset({"ordered"}),
    "zeta_relative": frozenset({"nonnegative_factor", "factor_at_most_one"}),
}


def _value(
    draw: Callable[..., Any],
    name: str,
    template: np.ndarray,
    where: Domain,
    shape: Shape,
    head: np.ndarray,
    claim: Claim | None,
) -> np.ndarray:
    """A free variable of one instance, of the shape and kind of ``template``. Hypotheses of ``claim`` are met by
    construction where that is possible, so that few draws are thrown away."""
    assumed = {h.id for h in claim.hypotheses} if claim is not None else set()
    if name == "weights":
        return head
    if name in where.arrays:
        return _array(draw, template.shape) * draw(_SCALES)
    if name == "labels":
        lowest = 2 if "unseen" in assumed else 0
        seen = st.integers(lowest, shape.labels - 1)
        return _array(draw, template.shape, seen).astype(np.int64)
    if name == "example_weights":  # multiples of 1/1024 that sum to 1 exactly
        counts = _array(draw, template.shape, st.integers(1, 8)).astype(np.int64)
        parts = counts * (1024 // counts.sum(axis=-1, keepdims=True))
        parts[..., 0] += 1024 - parts.sum(axis=-1)
        return parts / 1024
    if name in _WHOLE:
        return _array(draw, template.shape, _WHOLE[name](shape)).astype(template.dtype)
    if name == "pair_targets":
        mass = _array(draw, template.shape, st.sampled_from([0.0, 0.125, 0.25]))
        return np.repeat(mass[..., :1], 2, axis=-1) if "twins" in assumed else mass
    values = KNOBS.get(name, (1.0, 1.5, 10.0))  # else the slack of a bound
    if name.startswith("slack_") and claim is None:
        values = (*values, 0.5)
    if not (KEEPING.get(name, frozenset()) & assumed):
        values += VIOLATING.get(name, ())
    return _array(draw, template.shape, st.sampled_from(values))


_WHOLE: dict[str, Callable[[Shape], st.SearchStrategy[int]]] = {
    "unseen": lambda shape: st.integers(2, shape.labels - 1),
    "period": lambda shape: st.integers(1, shape.steps),
    "mask": lambda shape: st.integers(0, 1),
    "probe": lambda shape: st.integers(-2, 2).filter(bool),
}
"""Free variables that are whole numbers."""


def _array(
    draw: Callable[..., Any], shape: tuple[int, ...], elements: st.SearchStrategy[Any] = _DIGITS
) -> np.ndarray:
    size = int(np.prod(shape))
    numbers = draw(st.lists(elements, min_size=size, max_size=size))
    return np.array(numbers, np.float64).reshape(shape)


def _check_range(name: str, bounds: tuple[int, int], least: int) -> None:
    whole = isinstance(bounds, (tuple, list)) and all(type(b) is int for b in bounds)
    if not whole or len(bounds) != 2 or not least <= bounds[0] <= bounds[1]:
        raise InputError(f"{name}: got {bounds}, expected (low, high) with {least} <= low <= high")
