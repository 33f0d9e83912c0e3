"""The samples cover what they promise: magnitudes, corners, margins met and missed, and the same draw for a seed."""

import functools
from typing import Any

import numpy as np
import pytest

from collapse_theory import softmax
from collapse_theory.arithmetic import FLOAT, ball
from collapse_theory.claims import all_claims
from collapse_theory.examination.search import chunk
from collapse_theory.instances import DOMAINS, Run, Shape, Step
from collapse_theory.instances._sampling import KNOBS, perturb, tilt

SHAPES, SIZE = 60, 200
MET = 2.0**-30
CLAIMS = all_claims()
STEPS = [name for name, where in DOMAINS.items() if issubclass(where.batch_type, Step)]
RUNS = ["run", "steady_run", "probe_run"]
"""Domains whose instances have ``steps``."""
STEPWISE = [name for name in DOMAINS if name in (*STEPS, *RUNS)]
LABELLED = [name for name, where in DOMAINS.items() if "labels" in where.batch_type.AXES]


def holds(claim, batch):
    """Which hypotheses hold, [H, instances]."""
    held = np.ones((len(claim.hypotheses), len(batch)), dtype=bool)
    for j, h in enumerate(claim.hypotheses):
        margin = np.asarray(h.margin(batch)).reshape(len(batch), -1)
        held[j] = ((margin > 0) if h.strict else (margin >= 0)).all(axis=1)
    return held


@functools.cache
def sample(name, size=SIZE) -> list[Any]:
    """The domain's batches, of many shapes."""
    where, rng = DOMAINS[name], np.random.default_rng(7)
    with np.errstate(all="ignore"):
        return [where.build(where.draw(rng, where.shape(rng), size)) for _ in range(SHAPES)]


OWN = {"spectral_step": "spectral_sandwich"}
"""Claims that say which instances of a domain are admissible, where it is not what serves for steps and runs."""


def measure(name, batch):
    """Sizes and corners of the admissible instances of a batch (a run's first step)."""
    claim = CLAIMS[OWN.get(name, "contraction" if name in STEPS else "trajectory")]
    batch = batch.take(np.flatnonzero(holds(claim, batch).all(axis=0)))
    step = batch if name in STEPS else batch.steps[0]
    rows, norms = step.weights, step.feature_norms
    length = FLOAT.norm(step.difference)
    d = np.abs((step.features * step.difference[:, None, :]).sum(axis=-1))  # without biases
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


@functools.cache
def measured(name) -> Any:
    with np.errstate(all="ignore"):
        found = [measure(name, batch) for batch in sample(name)]
    return tuple(
        {key: np.concatenate([f[which][key] for f in found]) for key in found[0][which]}
        for which in (0, 1)
    )


HALF = 0.5
LEAST_SHARE = {
    "collapse_time": 0.35,
    "collapse_time_needed": 0.4,
    "alignment_without_norms_mended": 0.15,
    "value_clipping_mended": 0.35,
    "row_clipping_mended": 0.35,
    "constant_sign": 0.3,
    "cosine_implies_collapse_mended": 0.3,
    "precision_floor": 0.3,
    "precision_moves": 0.1,
    "z_loss_half": 0.45,
    "z_loss_half_mended": 0.1,
}
"""Claims with hypotheses that the sampling does not aim at: fewer instances are admissible."""


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_most_draws_are_admissible(claim):
    """As it stands, and mended if it is expected to be refuted."""
    for tried in (claim, claim.mended()) if claim.expected == "refuted" else (claim,):
        with np.errstate(all="ignore"):
            share = np.mean([holds(tried, batch).all(axis=0) for batch in sample(claim.domain)])
        assert share > LEAST_SHARE.get(tried.id, HALF), tried.id


@pytest.mark.parametrize("name", DOMAINS)
def test_draws_are_finite(name):
    for field in sample(name)[0].values:
        finite = [np.isfinite(batch.values[field]).all() for batch in sample(name)]
        assert np.mean(finite) > 0.9, field


@pytest.mark.parametrize("name", DOMAINS)
def test_most_draws_are_not_trivial(name):
    with np.errstate(all="ignore"):
        assert np.mean([batch.nontrivial for batch in sample(name)]) > 0.7


SELDOM = {
    ("reset", "nonnegative_step"),
    ("staggered_reset", "nonnegative_step"),
    ("collapse_time", "positive_distance"),
    ("collapse_time", "positive_factor"),
    ("alignment_without_norms", "nonzero_rows"),
}
"""Hypotheses that few instances violate alone."""


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_each_hypothesis_is_violated_alone(claim):
    with np.errstate(all="ignore"):
        held = np.concatenate([holds(claim, batch) for batch in sample(claim.domain)], axis=1)
    for j, hypothesis in enumerate(claim.hypotheses):
        alone = ~held[j] & np.delete(held, j, axis=0).all(axis=0)
        most = 0 if (claim.id, hypothesis.id) in SELDOM else 60
        assert alone.sum() > most, (claim.id, hypothesis.id)


@pytest.mark.parametrize("name", STEPWISE)
@pytest.mark.parametrize(
    "key", ["rows", "difference", "features", "logits", "decay", "step_size", "decay_per_step",
            "curvature", "radius"]
)  # fmt: skip
def test_magnitudes_span_six_decades(name, key):
    """Between the outer hundredths of the admissible instances, those that are not 0."""
    assert decades(measured(name)[0][key]) >= 6


def decades(values):
    logarithms = np.log10(values[(values > 0) & np.isfinite(values)])
    low, high = np.quantile(logarithms, [0.01, 0.99])
    return high - low


NOT_AIMED_AT = {
    ("spectral_step", "step_size_met"),  # its own bounds are met instead
    ("spectral_step", "all_met"),
    ("steady_run", "all_met"),
    ("adam_step", "step_size_met"),  # its own condition has T/eps
    ("adam_step", "all_met"),
}


@pytest.mark.parametrize("name", STEPWISE)
@pytest.mark.parametrize(
    "corner", ["equal_rows", "nearly_equal_rows", "zero_features", "one_zero_feature", "orthogonal",
               "parallel", "no_step", "no_decay", "negative_decay", "p_near_0", "p_near_half",
               "p_near_1", "curvature_met", "step_size_met", "radius_met", "pbar_met", "all_met"]
)  # fmt: skip
def test_corners_are_drawn(name, corner):
    """Each in at least half a percent of the admissible instances, and in less than 99%."""
    if (name, corner) not in NOT_AIMED_AT:
        assert 0.005 < np.mean(measured(name)[1][corner]) < 0.99


def slope(batch):
    return batch.capped[1][..., :2].min(axis=(1, 2))


SPREAD = {
    ("head", "distances"): (8, lambda h: h.distances.max(axis=-1)),
    ("head", "mean"): (6, lambda h: h.mean),
    ("head", "unseen_mass"): (6, lambda h: h.unseen_mass),
    ("vectors", "cosine_distance"): (6, lambda v: v.cosine_distance),
    ("vectors", "difference"): (6, lambda v: FLOAT.norm(v.difference)),
    ("spectral_step", "highest"): (6, lambda s: s.highest),
    ("equilibrium", "feature"): (5, lambda e: FLOAT.norm(e.feature)),
    ("equilibrium", "level"): (6, lambda e: np.abs(e.level)),
    ("equilibrium", "decay"): (6, lambda e: np.abs(e.weight_decay)),
    ("steady_run", "distance"): (6, lambda r: r.distance),
    ("steady_run", "floor"): (6, lambda r: r.floor),
    ("reset_run", "distance"): (5, lambda r: r.distance),
    ("reset_run", "step_size"): (6, lambda r: r.step_size),
    ("loss_step", "temperature"): (3, lambda s: s.temperature),
    ("loss_step", "scale"): (4, lambda s: s.scale),
    ("loss_step", "clip"): (6, lambda s: s.clip),
    ("z_loss_step", "zeta"): (5, lambda s: np.abs(s.zeta)),
    ("z_loss_step", "factor"): (1, lambda s: np.abs(s.factor).max(axis=-1)),
    ("capped_step", "cap"): (5, lambda s: s.cap),
    ("capped_step", "slope"): (6, slope),
    ("biased_step", "biases"): (3, lambda s: np.abs(s.biases).max(axis=-1)),
}


@pytest.mark.parametrize("key", SPREAD, ids="-".join)
def test_magnitudes_of_a_domain(key):
    least, measure_it = SPREAD[key]
    with np.errstate(all="ignore"):
        assert decades(np.concatenate([measure_it(b) for b in sample(key[0])])) >= least


def lengths(v):
    return v.norms[0] > 0, v.norms[1] > 0


CORNERS = {
    ("head", "close_unseen_rows"): lambda h: (
        h.distances.max(-1) < 1e-6 * np.abs(h.weights).max((1, 2))
    ),
    ("head", "every_row_but_one_unseen"): lambda h: h.unseen == h.weights.shape[1] - 1,
    ("head", "two_unseen"): lambda h: h.unseen == 2,
    ("head", "radius_met"): lambda h: h.radius - FLOAT.norm(h.feature) <= MET * h.radius,
    ("vectors", "zero"): lambda v: (v.norms[0] == 0) | (v.norms[1] == 0),
    ("vectors", "near"): lambda v: FLOAT.norm(v.difference) < 1e-6 * v.norms[0],
    ("vectors", "parallel"): lambda v: v.cosine_distance < 1e-15,
    ("vectors", "opposite"): lambda v: v.cosine_distance > 2 - 1e-15,
    ("vectors", "of_equal_length"): lambda v: np.abs(v.norms[0] - v.norms[1]) < 1e-14 * v.norms[0],
    ("spectral_step", "swapped"): lambda s: s.highest < s.lowest,
    ("spectral_step", "positive_lowest"): lambda s: s.lowest > 0,
    ("equilibrium", "no_decay"): lambda e: e.weight_decay == 0,
    ("equilibrium", "negative_decay"): lambda e: e.weight_decay < 0,
    ("equilibrium", "negative_level"): lambda e: e.level < 0,
    ("equilibrium", "no_level"): lambda e: e.level == 0,
    ("equilibrium", "one_unseen"): lambda e: e.unseen == 1,
    ("steady_run", "pair_is_a_target"): lambda r: r.target_mass.max(axis=-1) > 0,
    ("steady_run", "varied_steps"): lambda r: r.step_size.min(-1) < r.step_size.max(-1),
    ("steady_run", "floor_met"): lambda r: (
        (r.floor > 0) & (np.minimum(*map(FLOAT.norm, r.last_pair)) - r.floor <= MET * r.floor)
    ),
    ("steady_run", "negative_distance"): lambda r: r.distance < 0,
    ("probe_run", "probe_not_orthogonal"): lambda r: (
        np.abs(r.along(r.features.swapaxes(0, 1).swapaxes(1, 2))).max((0, 1)) > 0
    ),
    ("probe_run", "no_decay"): lambda r: (r.weight_decay == 0).all(axis=-1),
    ("reset_run", "every_step"): lambda r: r.period == 1,
    ("reset_run", "never"): lambda r: r.period >= r.labels.shape[1],
    ("reset_run", "distance_met"): lambda r: (
        r.drawn_distances(0).min(-1) - r.distance <= MET * r.distance
    ),
    ("loss_step", "all_masked"): lambda s: (s.mask == 0).all(axis=-1),
    ("loss_step", "none_masked"): lambda s: (s.mask == 1).all(axis=-1),
    ("loss_step", "no_smoothing"): lambda s: s.smoothing == 0,
    ("loss_step", "twins_with_mass"): lambda s: (
        (s.pair_targets[..., 0] == s.pair_targets[..., 1]).all(-1)
        & (s.pair_targets.max((1, 2)) > 0)
    ),
    ("loss_step", "no_twins"): lambda s: (s.pair_targets[..., 0] != s.pair_targets[..., 1]).any(-1),
    ("loss_step", "temperature_one"): lambda s: s.temperature == 1,
    ("loss_step", "scale_is_temperature_squared"): lambda s: s.scale == s.temperature**2,
    ("loss_step", "clipped"): lambda s: s.clipped_by_norm[1] < 1,
    ("loss_step", "not_clipped"): lambda s: s.clipped_by_norm[1] == 1,
    ("z_loss_step", "negative_factor"): lambda s: (s.factor < 0).any(-1),
    ("z_loss_step", "large_factor"): lambda s: (s.factor > 2).any(-1),
    ("capped_step", "near_the_cap"): lambda s: slope(s) < 1e-3,
    ("capped_step", "far_from_the_cap"): lambda s: slope(s) > 0.999,
    ("biased_step", "close_biases"): lambda s: (
        np.abs(s.biases[:, 0] - s.biases[:, 1]) < 1e-3 * np.abs(s.biases[:, 1])
    ),
}


@pytest.mark.parametrize("key", CORNERS, ids="-".join)
def test_corners_of_a_domain(key):
    with np.errstate(all="ignore"):
        share = np.mean(np.concatenate([CORNERS[key](batch) for batch in sample(key[0])]))
    assert 0.005 < share < 0.95


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


PAIR_SEEN = {"steady_run": (0.15, 0.35), "reset_run": (0.04, 0.1)}
"""How often u or v is a target; 2% to 6% elsewhere."""


@pytest.mark.parametrize("name", LABELLED)
def test_unseen_draws_have_other_targets(name):
    """Labels 2 to K-1 are all targets somewhere, and the pair only where `unseen` is violated on purpose."""
    batches = sample(name)
    pair = np.mean([(b.labels < 2).reshape(len(b), -1).any(-1).mean() for b in batches])
    low, high = PAIR_SEEN.get(name, (0.02, 0.07))
    assert low < pair < high
    for batch in batches:
        assert set(range(2, batch.weights.shape[-2])) <= set(np.unique(batch.labels))


@pytest.mark.parametrize("name", LABELLED)
def test_batch_weights_sum_to_one_exactly(name):
    batches = sample(name)
    for batch in batches:
        assert (batch.example_weights.sum(axis=-1) == 1).all()
        assert (batch.example_weights >= 0).all()
    enclosed = ball(64).sum(ball(64).asarray(batches[0].example_weights))
    assert (enclosed.midpoints() == 1).all()
    assert not enclosed.radii().any()


@pytest.mark.parametrize("name", DOMAINS)
def test_sampled_instances_are_well_formed(name):
    """What ``create`` would refuse is never sampled: a witness must be read again."""
    for batch in sample(name)[:10]:
        for i in range(0, len(batch), 40):
            one = batch.take(i)
            if all(np.isfinite(x).all() for x in one.values.values()):
                assert type(batch).from_dict(one.to_dict()).to_dict() == one.to_dict()


BUCKETS = {  # K, n, N, T
    "step": {
        "usual": ((3, 1, 1, 1), (8, 8, 8, 1)),
        "large": ((9, 9, 9, 1), (32, 24, 16, 1)),
        "small": ((3, 1, 1, 1), (3, 2, 2, 1)),
    },
    "run": {
        "usual": ((3, 1, 1, 1), (5, 5, 5, 8)),
        "large": ((3, 1, 1, 9), (8, 8, 8, 64)),
        "small": ((3, 1, 1, 2), (3, 2, 1, 2)),
    },
}


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("size", ["usual", "large", "small"])
def test_shapes_stay_within_their_bucket(name, size):
    where, rng = DOMAINS[name], np.random.default_rng(0)
    least, most = BUCKETS["run" if where.runs else "step"][size]
    if name == "probe_run":
        least = (least[0], 2, *least[2:])  # in one dimension nothing is orthogonal
    options = {} if size == "usual" else {size: True}
    shapes = np.array([where.shape(rng, **options) for _ in range(3000)])
    assert (shapes.min(axis=0) == least).all()
    assert (shapes.max(axis=0) == most).all()
    shape = where.shape(rng, **options)
    with np.errstate(all="ignore"):
        batch = where.build(where.draw(rng, shape, 7))
    wanted = {
        "K": shape.labels,
        "n": shape.dim,
        "N": shape.examples,
        "T": shape.steps,
        "S": max(1, shape.labels - 2),
        "pair": 2,
    }
    assert batch.lead == (7,)
    for field, axes in batch.AXES.items():
        assert batch.values[field].shape == (7, *[wanted[axis] for axis in axes])


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
        assert len(one) == 200
        # A part of the draw builds that part: nothing is shared between instances.
        part = where.build({k: v[20:30] for k, v in free.items()})
    for field, x in part.values.items():
        np.testing.assert_allclose(x, getattr(one, field)[20:30], 1e-12, err_msg=field)


@pytest.mark.parametrize("name", DOMAINS)
def test_a_chunk_of_the_sample_is_a_function_of_its_seed_and_number(name):
    where = DOMAINS[name]
    free, batch = chunk(name, 3, 5, enough=2000)
    again, same = chunk(name, 3, 5, enough=2000)
    assert bits(free) == bits(again)
    assert bits(batch.values) == bits(same.values)
    assert len(batch) == min(where.chunk[0], 50)
    for seed, index, options in ((4, 5, {}), (3, 6, {}), (3, 5, {"small": True})):
        other, _ = chunk(name, seed, index, enough=2000, **options)
        assert bits(free) != bits(other)
    ordinary, large = chunk(name, 0, 0)[1], chunk(name, 0, 7)[1]
    assert (len(ordinary), len(large)) == where.chunk


STEPS_OF = {
    "run": ("steps",),
    "steady_run": ("steps",),
    "probe_run": ("steps",),
    "reset_run": ("together", "one_at_a_time"),
}


@pytest.mark.parametrize("name", STEPS_OF)
@pytest.mark.parametrize("seed", range(5))
def test_a_built_run_is_the_run_simulated_again(name, seed):
    """Its steps were settled on the way; simulating its values alone meets the same rows and differences."""
    where, rng = DOMAINS[name], np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        run: Any = where.build(where.draw(rng, where.shape(rng), 100))
        again = type(run)(ops=FLOAT, **run.values)
        for steps in STEPS_OF[name]:
            assert steps not in vars(again)
            assert len(getattr(run, steps)) == len(getattr(again, steps)) == run.labels.shape[1]
            for step, other in zip(getattr(run, steps), getattr(again, steps), strict=True):
                values = dict(step.values), dict(other.values)
                if name == "reset_run":  # which has no radius and no pbar
                    values = tuple(
                        {k: v for k, v in x.items() if k not in ("radius", "pbar")} for x in values
                    )
                assert bits(values[0]) == bits(values[1])
                for derived in ("difference", "next_difference", "means", "trace", "feature_norms"):
                    assert getattr(step, derived).tobytes() == getattr(other, derived).tobytes()
        if isinstance(run, Run):
            assert run.last_difference.tobytes() == again.last_difference.tobytes()


DERIVED = {
    "spectral_step": ("operator",),
    "loss_step": ("gradient", "smoothed", "tempered", "masked", "twin_gradient"),
    "z_loss_step": ("factor", "next_weights"),
    "capped_step": ("pair_probabilities", "next_weights"),
    "biased_step": (),
}


@pytest.mark.parametrize("name", STEPS)
def test_what_a_step_derives_is_not_stale(name):
    """Settling a step keeps what was derived before its bounds were known; it must not depend on them."""
    where, rng = DOMAINS[name], np.random.default_rng(2)
    with np.errstate(all="ignore"):
        step = where.build(where.draw(rng, Shape(4, 3, 2), 200))
        fresh = type(step)(ops=FLOAT, **step.values)
        always = ("difference", "means", "trace", "feature_norms", "next_difference")
        for derived in (*always, *DERIVED.get(name, ())):
            assert getattr(step, derived).tobytes() == getattr(fresh, derived).tobytes(), derived


@pytest.mark.parametrize("name", DOMAINS)
def test_neighbours(name):
    """They move, each by its own amount, leave what is fixed alone, and stay finite and well formed."""
    where, rng = DOMAINS[name], np.random.default_rng(3)
    free = where.draw(rng, where.shape(rng), 2000)
    before = bits(free)
    near = perturb(rng, free, where)
    assert bits(free) == before
    assert set(near) == set(free) >= where.fixed | where.arrays
    for field in where.fixed:
        assert near[field] is free[field]
    for field in set(free) - where.fixed:
        x, y = near[field], free[field]
        assert x.shape == y.shape
        assert np.isfinite(x).all()
        if field not in where.arrays:
            assert np.array_equal(np.sign(x), np.sign(y))
    for field in where.arrays:
        axes = tuple(range(1, free[field].ndim))
        size = np.abs(free[field]).max(axes)
        there = size > 0
        moved = np.abs(near[field] - free[field]).max(axes)[there] / size[there]
        assert np.quantile(moved, 0.1) < 1e-4
        assert np.quantile(moved, 0.9) > 0.05
    with np.errstate(all="ignore"):
        batch = where.build(near)
    finite = [np.isfinite(x).reshape(len(batch), -1).all(axis=1) for x in batch.values.values()]
    finite = np.all(finite, axis=0)
    assert np.mean(finite) > 0.99  # a run may diverge where its step sizes violate a hypothesis
    for i in np.flatnonzero(finite)[::20]:
        type(batch).from_dict(batch.take(i).to_dict())


@pytest.mark.parametrize("name", ["step", "run", "loss_step", "biased_step"])
def test_knobs_on_a_margin_often_stay_there(name):
    where, rng = DOMAINS[name], np.random.default_rng(3)
    free = where.draw(rng, where.shape(rng), 2000)
    near = perturb(rng, free, where)
    assert set(KNOBS) < set(free)
    on = free["slack_curvature"] == 1
    assert 0.5 < np.mean(near["slack_curvature"][on] == 1) < 0.95
