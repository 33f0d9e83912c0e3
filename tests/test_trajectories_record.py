"""What a run records: the theory's quantities, exact where they can be, and within the claims."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collapse_theory import softmax
from collapse_theory.arithmetic import FLOAT
from collapse_theory.claims.contraction import CLAIM as CONTRACTION
from collapse_theory.errors import InputError
from collapse_theory.trajectories import (
    CURVATURES,
    LinearConfig,
    as_run,
    as_steps,
    train_linear_heads,
)

HEADS, LABELS, DIM, EXAMPLES, STEPS = 4, 6, 3, 10, 8


def run(*, batch_size=None, seeds=0, weighted=False, record_every=1, snapshots=True, eta=0.3):
    rng = np.random.default_rng(5)
    return train_linear_heads(
        rng.normal(size=(HEADS, LABELS, DIM)),
        rng.normal(size=(EXAMPLES, DIM)),
        rng.choice([0, 2, 5], size=EXAMPLES),
        config=LinearConfig(
            steps=STEPS,
            step_size=eta,
            weight_decay=[0.0, 0.01, 0.1, 1.0],
            batch_size=batch_size,
            seeds=seeds,
            record_every=record_every,
            snapshots=snapshots,
        ),
        example_weights=rng.uniform(0.1, 1, size=EXAMPLES) if weighted else None,
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("batch_size", "seeds"), [(None, 0), (4, 0), (4, [0, 1, 2, 3])])
@pytest.mark.parametrize("pair", [(1, 3), (1, 4), (3, 4)])
def test_records_agree_with_the_instances_of_the_library(weighted, batch_size, seeds, pair):
    """Two ways to the same quantities: the record's own, and softmax.py on the snapshots."""
    runs = run(weighted=weighted, batch_size=batch_size, seeds=seeds)
    steps = as_steps(runs, pair)
    steps.check()
    assert len(steps) == HEADS * STEPS
    which = [tuple(p) for p in runs.pairs.tolist()].index(pair)

    def recorded(values):
        return values[:, :, which].ravel()

    close = {"rtol": 1e-12, "atol": 1e-14}
    np.testing.assert_allclose(steps.trace, recorded(runs.trace), **close)
    np.testing.assert_allclose(steps.means.max(-1), recorded(runs.largest_logmean), **close)
    distance = np.linalg.norm(steps.difference, axis=-1)
    np.testing.assert_allclose(distance, recorded(runs.distance[:, :-1]), **close)
    after = np.linalg.norm(steps.next_difference, axis=-1)
    np.testing.assert_allclose(after, recorded(runs.next_distance), **close)
    loss = softmax.loss(FLOAT, steps.weights, steps.features, steps.labels, steps.example_weights)
    np.testing.assert_allclose(loss, runs.loss.ravel(), **close)
    order = [*pair, *(k for k in range(LABELS) if k not in pair)]
    unseen = [order.index(k) for k in (1, 3, 4)]
    p = softmax.probabilities(FLOAT, steps.weights, steps.features)[..., unseen].sum(-1)
    np.testing.assert_allclose(
        (p * steps.example_weights).sum(-1), runs.unseen_mass.ravel(), **close
    )
    for hypothesis in CONTRACTION.hypotheses:
        assert (hypothesis.margin(steps) >= 0).all(), hypothesis.id


@pytest.mark.parametrize("kind", CURVATURES)
def test_runs_meet_the_claims(kind):
    for arguments in ({}, {"batch_size": 4, "seeds": [0, 1, 2, 3], "weighted": True}):
        runs = run(**arguments)
        assert (runs.relative_residual <= 1e-10).all()
        assert (runs.trace <= runs.curvature(kind) * (1 + 1e-12)).all()
        met = runs.margin(kind) >= 0
        assert met.any()
        slack = 4 * runs.rounding
        assert (runs.ratio <= runs.decay[:, :, None] + slack)[met].all()
        assert (runs.ratio >= runs.lower_factor(kind) - slack).all()
    with pytest.raises(InputError, match="curvature 'sharp' is unknown"):
        runs.curvature("sharp")


def test_bounds_are_attained_and_their_twins_refuted():
    """D across the only feature: the decay factor exactly. D along it: 1 - eta(lam + T)."""
    across = [[[0.0, 1.0], [0.0, -1.0], [0.0, 0.0]]]
    config = LinearConfig(steps=5, step_size=0.5, weight_decay=0.2)
    runs = train_linear_heads(across, [[1.0, 0.0]], [2], config=config)
    np.testing.assert_allclose(runs.ratio, 0.9, rtol=1e-12)
    np.testing.assert_allclose(runs.distance[0, :, 0], 2 * 0.9 ** np.arange(6), rtol=1e-12)
    np.testing.assert_allclose(runs.decay_product[0], 0.9 ** np.arange(6), rtol=1e-12)
    assert (runs.ratio > 1 - 1.001 * 0.5 * 0.2).all()

    along = [[[0.3, 0.0], [-0.2, 0.0], [0.0, 0.0]]]
    runs = train_linear_heads(along, [[2.0, 0.0]], [2], config=config)
    np.testing.assert_allclose(runs.ratio, runs.lower_factor("measured"), rtol=1e-12)
    assert (runs.ratio < 1 - 0.5 * (0.2 + 0.999 * runs.trace)).all()


@given(
    tiny=st.floats(1e-300, 1e-3),
    gap=st.one_of(st.just(0.0), st.floats(-12, -1).map(lambda e: 10**e), st.floats(0.1, 30)),
)
@settings(max_examples=100)
def test_logarithmic_mean_of_tiny_and_close_probabilities(tiny, gap):
    """p_u = tiny p_y, p_v = p_u exp(-gap): L against the same with exact-enough logarithms."""
    first = math.log(tiny)
    weights = [[[first], [first - gap], [0.0]]]
    config = LinearConfig(steps=1, step_size=0.1, weight_decay=0.1)
    runs = train_linear_heads(weights, [[1.0]], [2], config=config)
    d = first - (first - gap)  # as the weights hold it
    normaliser = 1 + math.exp(first) + math.exp(first - gap)
    expected = math.exp(first) / normaliser * (-math.expm1(-d) / d if d else 1.0)
    assert runs.trace[0, 0, 0] == pytest.approx(expected, rel=1e-12, abs=0)
    assert runs.trace[0, 0, 0] > 0


def test_states_and_steps_are_recorded_where_asked():
    runs = run(record_every=3)
    assert runs.recorded.tolist() == [0, 3, 6]
    assert runs.states.tolist() == [0, 3, 6, 8]
    assert runs.weights is not None
    every = run()
    assert every.weights is not None
    np.testing.assert_array_equal(runs.weights, every.weights[:, [0, 3, 6, 8]])
    np.testing.assert_array_equal(runs.next_distance, every.next_distance[:, ::3])
    np.testing.assert_allclose(runs.decay_product, every.decay_product[:, [0, 3, 6, 8]])
    np.testing.assert_allclose(
        every.decay_product[:, 1:], np.cumprod(every.decay, axis=1), rtol=1e-14
    )
    np.testing.assert_allclose(every.next_distance, every.distance[:, 1:], rtol=1e-14)
    rows = every.weights
    np.testing.assert_allclose(every.norms, np.linalg.norm(rows, axis=-1), rtol=1e-14)
    for values, w in (
        (every.cosine, rows),
        (every.centred_cosine, rows - rows.mean(2, keepdims=True)),
    ):
        u, v = w[:, :, every.pairs[:, 0]], w[:, :, every.pairs[:, 1]]
        expected = (u * v).sum(-1) / np.linalg.norm(u, axis=-1) / np.linalg.norm(v, axis=-1)
        np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("steps", "record_every"), [(0, 1), (5, None), (0, None)])
def test_nothing_to_record(steps, record_every):
    config = LinearConfig(steps=steps, step_size=0.1, record_every=record_every)
    runs = train_linear_heads(np.eye(4), np.eye(4), [2, 3, 2, 3], config=config)
    pairs = 1 if record_every else 0
    assert runs.ratio.shape == (1, 0, pairs)
    assert runs.margin("loss").shape == (1, 0, pairs)
    assert runs.distance.shape == (1, 1, pairs)
    assert runs.states.tolist() == [steps]


def test_equal_rows_and_zero_rows_give_nan_not_errors():
    config = LinearConfig(steps=2, step_size=0.1, weight_decay=0.1)
    runs = train_linear_heads(np.zeros((3, 2)), [[1.0, 2.0]], [2], config=config)
    assert np.isnan(runs.ratio).all()
    assert np.isnan(runs.cosine[0, 0, 0])
    assert (runs.distance == 0).all()
    assert (runs.residual == 0).all()


def test_as_run_repeats_the_recorded_run():
    for batch_size, seeds in ((None, 0), (4, [3, 1, 4, 1])):
        runs = run(batch_size=batch_size, seeds=seeds, weighted=True)
        batch = as_run(runs, (3, 4), heads=[0, 3], at=slice(1, 6))
        batch.check()
        assert batch.step_size.shape == (2, 5)
        last = np.linalg.norm(batch.last_difference, axis=-1)
        np.testing.assert_allclose(last, runs.distance[[0, 3], 6, 2], rtol=1e-12)


def test_instances_need_snapshots_pairs_and_consecutive_steps():
    with pytest.raises(InputError, match="snapshots=True"):
        as_steps(run(snapshots=False))
    with pytest.raises(InputError, match=r"pair \(0, 5\) was not recorded"):
        as_steps(run(), (0, 5))
    with pytest.raises(InputError, match="not consecutive"):
        as_run(run(record_every=3), (1, 3))
    with pytest.raises(InputError, match="no step is selected"):
        as_steps(run(), (1, 3), at=slice(0, 0))
