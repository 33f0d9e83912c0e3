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
from .instances import Batch, Free, Run, Step, domain
from .instances._sampling import KNOBS

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
        lead = () if domain_name == "step" else (draw(st.integers(*length)),)
        free = _free(draw, draw(rows), lead, draw(st.integers(*examples)), claim)
        with np.errstate(all="ignore"):
            return where.build({name: x[None] for name, x in free.items()})

    def usable(batch: Batch) -> bool:
        with np.errstate(all="ignore"):
            if not all(np.isfinite(x).all() for x in batch.values.values()):
                return False
        return claim is None or bool(evaluate(claim, batch).admissible[0])

    return instance().filter(usable)


def _free(
    draw: Callable[..., Any],
    rows: np.ndarray,
    lead: tuple[int, ...],
    examples: int,
    claim: Claim | None,
) -> Free:
    """Free variables of one instance, without a batch axis. Hypotheses of ``claim`` are met by construction where that is
    possible, so that few draws are thrown away."""
    assumed = {h.id for h in claim.hypotheses} if claim is not None else set()
    count, dim = rows.shape
    features = _array(draw, (*lead, examples, dim)) * draw(_SCALES)
    lowest = 2 if "unseen" in assumed else 0
    labels = _array(draw, (*lead, examples), st.integers(lowest, count - 1)).astype(np.int64)
    # Multiples of 1/1024 that sum to 1 exactly.
    counts = _array(draw, (*lead, examples), st.integers(1, 8)).astype(np.int64)
    parts = counts * (1024 // counts.sum(axis=-1, keepdims=True))
    parts[..., 0] += 1024 - parts.sum(axis=-1)

    def knob(*values: float) -> np.ndarray:
        return _array(draw, lead, st.sampled_from(values))

    def slack(name: str) -> np.ndarray:
        return knob(1.0, 1.5, 10.0) if name in assumed else knob(1.0, 1.5, 10.0, 0.5)

    step_sizes = [1.0, 0.5, 0.1, 1e-3, 0.0]
    if "step_size" not in assumed:
        step_sizes += [2.0, 30.0]
    if "nonnegative_step" not in assumed:
        step_sizes += [-0.5]
    knobs = {
        "slack_radius": slack("radius"),
        "slack_pbar": slack("pbar"),
        "slack_curvature": slack("curvature"),
        "decay_relative": knob(0.0, 1.0, 0.01, 100.0, -0.1),
        "decay_absolute": knob(0.0, 0.0, 1.0, 0.01),
        "step_fraction": knob(*step_sizes),
        "step_inverse_decay": np.zeros(lead),
        "step_by_radius": np.zeros(lead),
    }
    assert set(knobs) == set(KNOBS)
    return {
        "weights": rows,
        "features": features,
        "labels": labels,
        "example_weights": parts / 1024,
        **knobs,
    }


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
