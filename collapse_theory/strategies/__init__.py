"""Hypothesis strategies for every kind of instance that claims speak of: public, for your own tests.

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

from ..claims import Claim, get_claim
from ..errors import InputError
from ..examination import evaluate
from ..instances import (
    AdamRun,
    AdamStep,
    Batch,
    BiasedStep,
    CappedStep,
    Equilibrium,
    Head,
    LossStep,
    MomentumRun,
    PreconditionedStep,
    ProbeRun,
    ResetRun,
    Rounding,
    Run,
    Shape,
    SpectralStep,
    SteadyRun,
    Step,
    Vectors,
    ZLossStep,
    domain,
)
from ._values import SCALES, apart, array, value

__all__ = [
    "adam_runs",
    "adam_steps",
    "biased_steps",
    "capped_steps",
    "equilibria",
    "heads",
    "heads_with_feature",
    "instances",
    "loss_steps",
    "momentum_runs",
    "preconditioned_steps",
    "probe_runs",
    "reset_runs",
    "roundings",
    "runs",
    "spectral_steps",
    "steady_runs",
    "steps",
    "vectors",
    "z_loss_steps",
]

RUN_SIZES: dict[str, tuple[int, int]] = {"labels": (3, 5), "dim": (1, 3), "examples": (1, 3)}
"""Those of :func:`runs`."""


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
        rows = array(draw, shape) * draw(SCALES)
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


def heads_with_feature(
    *, claim: Claim | str | None = None, **sizes: Any
) -> st.SearchStrategy[Head]:
    """Heads with one feature each, the first few rows unseen; ``claim`` and ``sizes`` as in :func:`steps`."""
    return instances("head", claim=claim, **sizes)


def vectors(*, claim: Claim | str | None = None, **sizes: Any) -> st.SearchStrategy[Vectors]:
    """Pairs of vectors; ``claim`` and ``sizes`` as in :func:`steps`."""
    return instances("vectors", claim=claim, **sizes)


def equilibria(*, claim: Claim | str | None = None, **sizes: Any) -> st.SearchStrategy[Equilibrium]:
    """Seen rows, one feature and a level for the unseen rows; ``claim`` and ``sizes`` as in :func:`steps`."""
    return instances("equilibrium", claim=claim, **sizes)


def spectral_steps(
    *, claim: Claim | str | None = None, **sizes: Any
) -> st.SearchStrategy[SpectralStep]:
    """Steps with bounds on the eigenvalues of M; ``claim`` and ``sizes`` as in :func:`steps`."""
    return instances("spectral_step", claim=claim, **sizes)


def loss_steps(*, claim: Claim | str | None = None, **sizes: Any) -> st.SearchStrategy[LossStep]:
    """Steps with settings of label smoothing, temperature, masks, clipping and soft targets; otherwise as :func:`steps`."""
    return instances("loss_step", claim=claim, **sizes)


def z_loss_steps(*, claim: Claim | str | None = None, **sizes: Any) -> st.SearchStrategy[ZLossStep]:
    """Steps with the z-loss; ``claim`` and ``sizes`` as in :func:`steps`."""
    return instances("z_loss_step", claim=claim, **sizes)


def capped_steps(
    *, claim: Claim | str | None = None, **sizes: Any
) -> st.SearchStrategy[CappedStep]:
    """Steps with soft-capped logits; ``claim`` and ``sizes`` as in :func:`steps`."""
    return instances("capped_step", claim=claim, **sizes)


def biased_steps(
    *, claim: Claim | str | None = None, **sizes: Any
) -> st.SearchStrategy[BiasedStep]:
    """Steps of heads with biases; ``claim`` and ``sizes`` as in :func:`steps`."""
    return instances("biased_step", claim=claim, **sizes)


def steady_runs(*, claim: Claim | str | None = None, **sizes: Any) -> st.SearchStrategy[SteadyRun]:
    """Runs with one decay and one set of bounds for all steps; ``claim`` and ``sizes`` as in :func:`runs`."""
    return instances("steady_run", claim=claim, **(RUN_SIZES | sizes))


def momentum_runs(
    *, claim: Claim | str | None = None, **sizes: Any
) -> st.SearchStrategy[MomentumRun]:
    """Runs of SGD with momentum from a zero buffer; ``claim`` and ``sizes`` as in :func:`runs`."""
    return instances("momentum_run", claim=claim, **(RUN_SIZES | sizes))


def adam_steps(*, claim: Claim | str | None = None, **sizes: Any) -> st.SearchStrategy[AdamStep]:
    """First steps of AdamW; ``claim`` and ``sizes`` as in :func:`steps`."""
    return instances("adam_step", claim=claim, **sizes)


def adam_runs(*, claim: Claim | str | None = None, **sizes: Any) -> st.SearchStrategy[AdamRun]:
    """Runs of AdamW from zero moments; ``claim`` and ``sizes`` as in :func:`runs`."""
    return instances("adam_run", claim=claim, **(RUN_SIZES | sizes))


def roundings(*, claim: Claim | str | None = None, **sizes: Any) -> st.SearchStrategy[Rounding]:
    """Weights of a number format that decay and are rounded; sizes do not matter."""
    return instances("rounding", claim=claim, **sizes)


def preconditioned_steps(
    *, claim: Claim | str | None = None, **sizes: Any
) -> st.SearchStrategy[PreconditionedStep]:
    """Steps with one preconditioner for all rows; ``claim`` and ``sizes`` as in :func:`steps`."""
    return instances("preconditioned_step", claim=claim, **sizes)


def probe_runs(*, claim: Claim | str | None = None, **sizes: Any) -> st.SearchStrategy[ProbeRun]:
    """Runs with a vector meant to be orthogonal to every feature; in at least two dimensions by default.

    ``claim`` and ``sizes`` as in :func:`runs`.
    """
    return instances("probe_run", claim=claim, **(RUN_SIZES | {"dim": (2, 3)} | sizes))


def reset_runs(*, claim: Claim | str | None = None, **sizes: Any) -> st.SearchStrategy[ResetRun]:
    """Runs in which rows u and v are redrawn; ``claim`` and ``sizes`` as in :func:`runs`."""
    return instances("reset_run", claim=claim, **(RUN_SIZES | sizes))


def instances(
    domain_name: str,
    *,
    claim: Claim | str | None = None,
    labels: tuple[int, int] = (3, 6),
    dim: tuple[int, int] = (1, 4),
    examples: tuple[int, int] = (1, 4),
    length: tuple[int, int] = (1, 5),
) -> st.SearchStrategy[Any]:
    """Instances of a domain by its name; what all the others are made of. Sizes that a domain does not know are not used."""
    where = domain(domain_name)
    if isinstance(claim, str):
        claim = get_claim(claim)
    if claim is not None and claim.domain != domain_name:
        raise InputError(f"claim {claim.id} speaks of a {claim.domain}, not of a {domain_name}")
    _check_range("examples", examples, 1)
    _check_range("length", length, 1)
    rows = heads(labels=labels, dim=dim)
    assumed = frozenset(h.id for h in claim.hypotheses) if claim is not None else frozenset()

    @st.composite
    def instance(draw: Callable[..., Any]) -> Batch:
        head = apart(draw(rows), assumed)
        steps = draw(st.integers(*length)) if where.runs else 1
        count, size = head.shape
        shape = Shape(count, size, draw(st.integers(*examples)), steps)
        # The domain's own draw says which free variables there are, and their shapes.
        free = {
            name: value(draw, name, x[0], where, shape, head, assumed)
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


def _check_range(name: str, bounds: tuple[int, int], least: int) -> None:
    whole = isinstance(bounds, (tuple, list)) and all(type(b) is int for b in bounds)
    if not whole or len(bounds) != 2 or not least <= bounds[0] <= bounds[1]:
        raise InputError(f"{name}: got {bounds}, expected (low, high) with {least} <= low <= high")
