"""The samples cover what they promise: magnitudes, corners, margins met and missed, and the same draw for a seed."""

import numpy as np
import pytest

from collapse_theory import softmax
from collapse_theory.arithmetic import FLOAT, ball
from collapse_theory.claims import all_claims
from collapse_theory.instances import DOMAINS, Run, Shape
from collapse_theory.instances._sampling import KNOBS, perturb, tilt

SHAPES, SIZE = 60, 200
MET = 2.0**-30


def holds(claim, batch):
    """Which hypotheses hold, [H, instances]."""
    margins = [np.asarray(h.margin(batch)).reshape(len(batch), -1) for h in claim.hypotheses]
    return np.array([(m >= 0).all(axis=1) for m in margins])


@pytest.fixture(scope="module", params=DOMAINS)
def draws(request):
    """The domain's name and its batches, of many shapes."""
    where, rng = DOMAINS[request.param], np.random.default_rng(7)
    with np.errstate(all="ignore"):
        return request.param, [
            where.build(where.draw(rng, where.shape(rng), SIZE)) for _ in range(SHAPES)
        ]


def measure(name, batch):
    """Sizes and corners of the admissible instances of a batch (a run's first step)."""
    claim = all_claims()["contraction" if name == "step" else "trajectory"]
    batch = batch.take(np.flatnonzero(holds(claim, batch).all(axis=0)))
    step = batch if name == "step" else batch.steps[0]
    rows, norms = step.weights, step.feature_norms
    length, d = FLOAT.norm(step.difference), np.abs(step.logit_differences)
    proper = (length > 0) & (norms.max(-1) > 0)
    pair = softmax.log_probabilities(FLOAT, rows, step.features)[..., :2]
    most = length[:, None] * norms
    room = 2 - step.step_size * (2 * step.weight_decay + step.curvature)
    sizes = {
        "rows": np.sqrt((rows**2).mean((1, 2))),
        "difference": length,
        "features": norms.max(-1),
        "logits": np.abs(softmax.logits(rows, step.features)).max((1, 2)),
        "decay": np.abs(step.weight_decay),
        "step_size": step.step_size,
        "decay_per_step": np.abs(step.step_size * step.weight_decay),
        "curvature": step.curvature,
        "radius": step.radius,
        "pbar": step.pbar,
    }
    corners = {
        "equal_rows": length == 0,
        "nearly_equal_rows": (length > 0) & (length < 1e-6 * FLOAT.norm(rows[:, 0])),
        "zero_features": norms.max(-1) == 0,
        "one_zero_feature": (norms[:, 0] == 0) & (norms.max(-1) > 0),
        "orthogonal": proper & (d <= 1e-14 * most).all(-1),
        "parallel": proper & (norms.shape[-1] > 1) & (np.abs(d - most) <= 1e-14 * most).all(-1),
        "no_step": step.step_size == 0,
        "no_decay": step.weight_decay == 0,
        "negative_decay": step.weight_decay < 0,
        "p_near_0": pair[:, 0].max(-1) < np.log(1e-100),
        "p_near_half": pair[:, 0].min(-1) > np.log(0.49),
        "p_near_1": (pair.max(-1) > np.log(0.999)).any(-1),
        "curvature_met": (step.trace > 0) & (step.curvature - step.trace <= MET * step.trace),
        "step_size_met": np.abs(room) <= MET,
        "radius_met": (step.radius > 0) & (step.radius - norms.max(-1) <= MET * step.radius),
        "pbar_met": step.pbar - step.means.max(-1) <= MET * step.pbar,
        "all_met": (np.abs(room) <= MET) & (step.curvature - step.trace <= MET * step.trace),
    }
    return sizes, corners


@pytest.fixture(scope="module")
def measured(draws):
    name, batches = draws
    with np.errstate(all="ignore"):
        found = [measure(name, batch) for batch in batches]
    return tuple(
        {key: np.concatenate([f[which][key] for f in found]) for key in found[0][which]}
        for which in (0, 1)
    )


def test_most_draws_are_admissible_and_finite(draws):
    name, batches = draws
    for claim in all_claims().values():
        if claim.domain != name:
            continue
        with np.errstate(all="ignore"):
            share = np.mean([holds(claim, batch).all(axis=0) for batch in batches])
        assert share > 0.6, claim.id
    for field in batches[0].values:
        finite = [np.isfinite(getattr(batch, field)).all() for batch in batches]
        assert np.mean(finite) > 0.9


def test_each_hypothesis_is_violated_alone(draws):
    name, batches = draws
    for claim in all_claims().values():
        if claim.domain != name:
            continue
        with np.errstate(all="ignore"):
            held = np.concatenate([holds(claim, batch) for batch in batches], axis=1)
        for j, hypothesis in enumerate(claim.hypotheses):
            alone = ~held[j] & np.delete(held, j, axis=0).all(axis=0)
            assert alone.sum() > 60, (claim.id, hypothesis.id)


@pytest.mark.parametrize(
    "key", ["rows", "difference", "features", "logits", "decay", "step_size", "decay_per_step",
            "curvature", "radius"]
)  # fmt: skip
def test_magnitudes_span_six_decades(measured, key):
    """Between the outer hundredths of the admissible instances, those that are not 0."""
    values = measured[0][key]
    logarithms = np.log10(values[(values > 0) & np.isfinite(values)])
    low, high = np.quantile(logarithms, [0.01, 0.99])
    assert high - low >= 6


@pytest.mark.parametrize(
    "corner", ["equal_rows", "nearly_equal_rows", "zero_features", "one_zero_feature", "orthogonal",
               "parallel", "no_step", "no_decay", "negative_decay", "p_near_0", "p_near_half",
               "p_near_1", "curvature_met", "step_size_met", "radius_met", "pbar_met", "all_met"]
)  # fmt: skip
def test_corners_are_drawn(measured, corner):
    """Each in at least half a percent of the admissible instances, and in less than 99%."""
    assert 0.005 < np.mean(measured[1][corner]) < 0.99


def test_tilting_pushes_the_pair_towards_0_and_1():
    """On one example, from heads that are near uniform: down to 1e-300, and up to all but 1e-300."""
    rng = np.random.default_rng(4)
    rows, features = rng.standard_normal((4000, 5, 3)), rng.standard_normal((4000, 2, 3))
    untouched = features.copy()
    tilt(rng, rows, features)
    log_p = softmax.log_probabilities(FLOAT, rows, features)[:, 0]
    pair, others = log_p[:, :2].max(axis=-1), log_p[:, 2:].max(axis=-1)
    for pushed in (pair, others):
        assert 0.02 < np.mean(pushed < np.log(1e-100)) < 0.06
        assert np.log(1e-310) < pushed.min() < np.log(1e-280)
    assert np.array_equal(features, untouched)


def test_unseen_draws_have_other_targets(draws):
    """Labels 2 to K-1 are all targets somewhere, and the pair only where `unseen` is violated on purpose."""
    _, batches = draws
    pair = np.mean([(b.labels < 2).reshape(len(b), -1).any(-1).mean() for b in batches])
    assert 0.02 < pair < 0.06
    for batch in batches:
        assert set(range(2, batch.weights.shape[-2])) <= set(np.unique(batch.labels))


def test_batch_weights_sum_to_one_exactly(draws):
    _, batches = draws
    for batch in batches:
        assert (batch.example_weights.sum(axis=-1) == 1).all()
        assert (batch.example_weights >= 0).all()
    enclosed = ball(64).sum(ball(64).asarray(batches[0].example_weights))
    assert (enclosed.midpoints() == 1).all()
    assert not enclosed.radii().any()


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("size", ["usual", "large", "small"])
def test_shapes_stay_within_their_bucket(name, size):
    least, most = {
        ("step", "usual"): ((3, 1, 1, 1), (8, 8, 8, 1)),
        ("step", "large"): ((9, 9, 9, 1), (32, 24, 16, 1)),
        ("step", "small"): ((3, 1, 1, 1), (3, 2, 2, 1)),
        ("run", "usual"): ((3, 1, 1, 1), (5, 5, 5, 8)),
        ("run", "large"): ((3, 1, 1, 9), (8, 8, 8, 64)),
        ("run", "small"): ((3, 1, 1, 2), (3, 2, 1, 2)),
    }[name, size]
    where, rng = DOMAINS[name], np.random.default_rng(0)
    options = {} if size == "usual" else {size: True}
    shapes = np.array([where.shape(rng, **options) for _ in range(3000)])
    assert (shapes.min(axis=0) == least).all()
    assert (shapes.max(axis=0) == most).all()
    shape = where.shape(rng, **options)
    with np.errstate(all="ignore"):
        batch = where.build(where.draw(rng, shape, 7))
    steps = () if name == "step" else (shape.steps,)
    assert batch.lead == (7,)
    assert batch.weights.shape == (7, shape.labels, shape.dim)
    assert batch.features.shape == (7, *steps, shape.examples, shape.dim)
    assert batch.step_size.shape == (7, *steps)


def bits(arrays):
    return {name: np.asarray(x).tobytes() for name, x in arrays.items()}


@pytest.mark.parametrize("name", DOMAINS)
def test_a_seed_fixes_the_draw(name):
    where = DOMAINS[name]
    before = np.random.get_state()[1].copy()  # noqa: NPY002

    def draw(seed):
        rng = np.random.default_rng(seed)
        return where.draw(rng, where.shape(rng), 50)

    assert bits(draw(3)) == bits(draw(3))
    assert bits(draw(3)) != bits(draw(4))
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("name", DOMAINS)
def test_building_is_reproducible_and_leaves_the_free_variables(name):
    where, rng = DOMAINS[name], np.random.default_rng(1)
    free = where.draw(rng, where.shape(rng), 200)
    before = bits(free)
    with np.errstate(all="ignore"):
        one, other = where.build(free), where.build(free)
        assert bits(one.values) == bits(other.values)
        assert bits(free) == before
        # A part of the draw builds that part: nothing is shared between instances.
        part = where.build({k: v[20:30] for k, v in free.items()})
    for field, x in part.values.items():
        np.testing.assert_allclose(x, getattr(one, field)[20:30], 1e-12, err_msg=field)


@pytest.mark.parametrize("seed", range(5))
def test_a_built_run_is_the_run_simulated_again(seed):
    """Its steps were settled on the way; simulating its values alone meets the same rows and differences."""
    where, rng = DOMAINS["run"], np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        run = where.build(where.draw(rng, where.shape(rng), 100))
        again = Run(ops=FLOAT, **run.values)
        assert "steps" not in vars(again)
        assert len(run.steps) == len(again.steps) == run.step_size.shape[1]
        for step, other in zip(run.steps, again.steps, strict=True):
            assert bits(step.values) == bits(other.values)
            for derived in ("difference", "next_difference", "means", "trace", "feature_norms"):
                assert getattr(step, derived).tobytes() == getattr(other, derived).tobytes()
        assert run.last_difference.tobytes() == again.last_difference.tobytes()


def test_what_a_step_derives_is_not_stale():
    """Settling a step keeps what was derived before its bounds were known; it must not depend on them."""
    where, rng = DOMAINS["step"], np.random.default_rng(2)
    with np.errstate(all="ignore"):
        step = where.build(where.draw(rng, Shape(4, 3, 2), 200))
        fresh = type(step)(ops=FLOAT, **step.values)
        for name in ("difference", "means", "trace", "feature_norms", "next_difference"):
            assert getattr(step, name).tobytes() == getattr(fresh, name).tobytes(), name


@pytest.mark.parametrize("name", DOMAINS)
def test_neighbours(name):
    """They move, each by its own amount, stay well formed, and knobs on a margin often stay there."""
    where, rng = DOMAINS[name], np.random.default_rng(3)
    free = where.draw(rng, where.shape(rng), 2000)
    near = perturb(rng, free)
    assert set(near) == set(free)
    assert set(KNOBS) < set(free)
    for field in ("labels", "example_weights"):
        assert near[field] is free[field]
    moved = np.abs(near["weights"] - free["weights"]).max((1, 2)) / np.abs(free["weights"]).max(
        (1, 2)
    )
    assert np.quantile(moved, 0.1) < 1e-4
    assert np.quantile(moved, 0.9) > 0.1
    for knob in KNOBS:
        assert (np.sign(near[knob]) == np.sign(free[knob])).all()
    on = free["slack_curvature"] == 1
    assert 0.5 < np.mean(near["slack_curvature"][on] == 1) < 0.95
