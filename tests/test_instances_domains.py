"""What each domain's instances derive, against plain loops, mpmath and torch's autograd."""

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from torch.nn import functional

from collapse_theory import losses
from collapse_theory.arithmetic import FLOAT, ball
from collapse_theory.claims import get_claim
from collapse_theory.instances import (
    DOMAINS,
    BiasedStep,
    CappedStep,
    Equilibrium,
    Head,
    LossStep,
    ResetRun,
    Shape,
    SteadyRun,
    Vectors,
    ZLossStep,
    cosine_distance,
)

SEEDS = pytest.mark.parametrize("seed", range(5))


def sampled(name, seed=0, size=60, shape=None) -> Any:
    """Free variables and instances as the domain draws them."""
    where, rng = DOMAINS[name], np.random.default_rng(seed)
    free = where.draw(rng, shape or where.shape(rng), size)
    with np.errstate(all="ignore"):
        return free, where.build(free)


def assert_near(got, expected, relative=1e-12, scale=None):
    """Equal to a share of the largest entry, or of ``scale``."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    scale = np.abs(expected).max() if scale is None else scale
    assert np.abs(got - expected).max() <= relative * scale


def digits(x) -> Any:
    """``x`` as a matrix or number of mpmath; call within ``mpmath.workdps``."""
    return mpmath.matrix(x.tolist()) if np.ndim(x) else mpmath.mpf(float(x))


# ---------------------------------------------------------------------------------------------------------------------
# Every domain

DERIVED = {
    "step": ("next_weights", "next_difference", "trace", "target_mass", "cross_entropy"),
    "run": ("last_difference", "decay"),
    "head": ("mean", "unseen_mass", "unseen_center", "distances", "logit_difference"),
    "vectors": ("difference", "cosine_distance"),
    "spectral_step": ("next_difference", "operator_on_difference"),
    "equilibrium": ("square", "exponential_sum", "normaliser", "unseen_row"),
    "steady_run": ("last_difference", "lower_factor", "target_mass", "feature_norms", "decay"),
    "probe_run": ("last_difference",),
    "reset_run": ("factor",),
    "loss_step": ("gradient", "smoothed", "tempered", "masked", "twin_gradient"),
    "z_loss_step": ("factor", "means", "trace", "next_weights", "next_difference"),
    "capped_step": ("pair_probabilities", "trace", "pair_gradient", "next_weights"),
    "rounding": ("product",),
    "momentum_run": ("decay", "target_mass"),
    "adam_step": ("gradient", "update", "next_difference", "residual", "velocity"),
    "adam_run": ("decay", "last_update", "largest_update", "any_update"),
    "preconditioned_step": ("trace", "next_difference", "next_weights"),
    "biased_step": ("trace", "means", "next_weights", "next_difference", "cross_entropy"),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_an_instance_of_a_batch_is_the_instance_alone(name):
    """No axis is taken for another one; floats agree with balls of 256 bits."""
    _, batch = sampled(name, 3, 12, Shape(4, 3, 2, 3))
    with np.errstate(all="ignore"):
        for i in range(len(batch)):
            one = batch.take(i)
            exact = one.to(ball(256))
            for derived in DERIVED[name]:
                got, alone = getattr(batch, derived)[i], getattr(one, derived)[0]
                enclosed = getattr(exact, derived)[0].midpoints()
                assert got.shape == alone.shape == enclosed.shape
                if np.isfinite(alone).all() and np.abs(alone).max() < 1e20:
                    size = np.abs(alone).max()
                    assert np.abs(got - alone).max() <= 1e-9 * size, derived
                    assert np.abs(enclosed - alone).max() <= 1e-6 * size + 1e-6, derived


# ---------------------------------------------------------------------------------------------------------------------
# Heads


def heads(seed, size=6):
    rng = np.random.default_rng(seed)
    return Head(
        ops=FLOAT,
        weights=rng.standard_normal((size, 6, 3)),
        feature=2 * rng.standard_normal((size, 3)),
        radius=np.ones(size),
        distance=np.ones(size),
        unseen=rng.integers(2, 6, size),
    )


@SEEDS
def test_a_head_by_loops(seed):
    batch = heads(seed)
    for i in range(len(batch)):
        w, x, k = batch.weights[i], batch.feature[i], int(batch.unseen[i])
        e = [math.exp(sum(a * b for a, b in zip(row, x, strict=True))) for row in w]
        p = [v / sum(e) for v in e]
        assert_near(batch.probabilities[i], p)
        assert_near(batch.log_probabilities[i], np.log(p))
        assert_near(batch.unseen_mass[i], sum(p[:k]))
        assert_near(batch.unseen_center[i], [sum(w[:k, j]) / k for j in range(3)])
        assert batch.is_unseen[i].tolist() == [1] * k + [0] * (6 - k)
        apart = [math.dist(w[0], w[j]) if j < k else 0.0 for j in range(6)]
        assert_near(batch.distances[i], apart)
        assert_near(batch.difference[i], w[0] - w[1])
        assert_near(batch.logit_difference[i], math.log(p[0] / p[1]), 1e-12, 1 + abs(x).sum())
        assert_near(batch.mean[i], (p[0] - p[1]) / math.log(p[0] / p[1]))
        assert batch.nontrivial[i]


@pytest.mark.parametrize("seed", range(3))
def test_means_of_sampled_heads_have_their_digits(seed):
    """Against 60 digits: rows that are close, and probabilities down to 1e-300."""
    _, batch = sampled("head", seed, 100)
    tiny = near = 0
    for i in range(len(batch)):
        with mpmath.workdps(60):
            x, w = digits(batch.feature[i]), digits(batch.weights[i])
            z = list(w * x)
            total = mpmath.fsum(mpmath.exp(v) for v in z)
            d, log_p = z[0] - z[1], [v - mpmath.log(total) for v in z]
            size = max(abs(v) for v in z)
            if log_p[0] < -690 or log_p[1] < -690:
                continue
            means = mpmath.exp(log_p[1]) * (mpmath.expm1(d) / d if d else mpmath.mpf(1))
            mass = mpmath.fsum(mpmath.exp(v) for v in log_p[: int(batch.unseen[i])])
            # A logit carries the rounding of its size into the exponent.
            allowed = mpmath.mpf(2) ** -48 * (1 + size)
            assert abs(batch.mean[i] - means) <= allowed * means
            assert abs(batch.unseen_mass[i] - mass) <= allowed * mass
            tiny += means < 1e-30
            near += abs(d) < 1e-6
    assert tiny > 0
    assert near > 5


def test_the_bounds_of_sampled_heads():
    free, batch = sampled("head", 1, 400)
    longest = np.sqrt((batch.feature**2).sum(-1))
    apart = batch.distances.max(axis=-1)
    for got, true, slack in (
        (batch.radius, longest, free["slack_radius"]),
        (batch.distance, apart, free["slack_distance"]),
    ):
        np.testing.assert_allclose(got, true * slack, 1e-9)
        assert (got[slack >= 1] >= true[slack >= 1]).all()
        assert (got[slack < 0.99] <= true[slack < 0.99]).all()


# ---------------------------------------------------------------------------------------------------------------------
# Vectors


def exact_cosine_distance(a, b):
    """To 50 digits and more."""
    with mpmath.workdps(110):
        a, b = digits(a), digits(b)
        return 1 - mpmath.fdot(a, b) / (mpmath.norm(a) * mpmath.norm(b))


def relative_error(got, expected):
    with mpmath.workdps(60):
        return float(abs(mpmath.mpf(float(got)) - expected) / abs(expected))


@pytest.mark.parametrize("closeness", [3.0, 1.0, 1e-2, 1e-4, 1e-8, 1e-12, 1e-15])
@pytest.mark.parametrize("scale", [1e-50, 1e-3, 1.0, 1e5, 1e50])
def test_cosine_distance_to_the_last_digits(closeness, scale):
    """``1 - cos`` by its definition would be 0 from 1e-8 on."""
    rng = np.random.default_rng(5)
    first = rng.standard_normal((40, 4))
    second = first + closeness * rng.standard_normal((40, 4))
    batch = Vectors(ops=FLOAT, first=scale * first, second=scale * second)
    expected = [exact_cosine_distance(a, b) for a, b in zip(batch.first, batch.second, strict=True)]
    assert max(map(relative_error, batch.cosine_distance, expected)) < 1e-13
    norms = [[float(mpmath.norm(digits(v))) for v in side] for side in (batch.first, batch.second)]
    np.testing.assert_allclose(batch.norms, norms, 1e-15)


def test_cosine_distance_at_its_corners():
    first = np.array([[1.0, 0], [1, 0], [1, 0], [3, 4], [3, 4], [2, 0]])
    second = np.array([[0.0, 2], [-5, 0], [7, 0], [3, 4], [-4, 3], [2, 2e-8]])
    batch = Vectors(ops=FLOAT, first=first, second=second)
    np.testing.assert_allclose(batch.cosine_distance, [1, 2, 0, 0, 1, 5e-17], 1e-15)
    assert batch.nontrivial.tolist() == [True, True, True, False, True, True]
    swapped = Vectors(ops=FLOAT, first=second, second=first).cosine_distance
    np.testing.assert_allclose(swapped, batch.cosine_distance, 1e-14, 0)


def test_cosine_distance_takes_a_difference_known_more_accurately():
    """As in a run, where D is carried and the rows agree in all but their last digits."""
    b, difference = np.array([[1.0, 2.0, -1.0]]), np.array([[1e-20, -3e-20, 2e-20]])
    got = cosine_distance(FLOAT, b + difference, b, difference)
    with mpmath.workdps(110):
        a = digits(b[0]) + digits(difference[0])
        expected = 1 - mpmath.fdot(a, b[0]) / (mpmath.norm(a) * mpmath.norm(digits(b[0])))
    assert relative_error(got[0], expected) < 1e-13


def test_sampled_vectors_against_50_digits():
    """Relative to what rounding of the vectors themselves does, where they are all but parallel."""
    _, batch = sampled("vectors", 2, 300)
    compared = 0
    with np.errstate(all="ignore"):
        got = batch.cosine_distance
    for i in range(len(batch)):
        if min(batch.norms[0][i], batch.norms[1][i]) == 0:
            assert not np.isfinite(got[i])
            continue
        expected = float(exact_cosine_distance(batch.first[i], batch.second[i]))
        apart = FLOAT.norm(batch.difference[i]) / max(batch.norms[0][i], batch.norms[1][i])
        assert abs(got[i] - expected) <= 1e-13 * expected + 1e-28 * apart
        compared += 1
    assert compared > 250


# ---------------------------------------------------------------------------------------------------------------------
# Bounds on eigenvalues


@SEEDS
def test_spectral_bounds_lie_at_the_eigenvalues(seed):
    free, batch = sampled("spectral_step", seed, 80)
    checked = 0
    for i in range(len(batch)):
        w, x, a = batch.weights[i], batch.features[i], batch.example_weights[i]
        z = x @ w.T
        e = np.exp(z - z.max(axis=1, keepdims=True))
        p = e / e.sum(axis=1, keepdims=True)
        if p[:, :2].min() < 1e-200 or np.abs(z).max() > 1e3:
            continue
        d = x @ (w[0] - w[1])
        with np.errstate(all="ignore"):
            means = np.where(np.abs(d) > 1e-5, (p[:, 0] - p[:, 1]) / d, (p[:, 0] + p[:, 1]) / 2)
        matrix = sum(a_i * m * np.outer(v, v) for a_i, m, v in zip(a, means, x, strict=True))
        eigenvalues = np.linalg.eigvalsh(matrix)
        low, high = batch.lowest[i], batch.highest[i]
        if free["swapped"][i]:
            low, high = high, low
        least, most = max(eigenvalues[0], 0.0), eigenvalues[-1]
        assert high == pytest.approx(most * free["slack_highest"][i], rel=1e-5)
        assert low == pytest.approx(least / free["slack_lowest"][i], rel=1e-5, abs=1e-5 * most)
        if free["slack_highest"][i] >= 1:
            assert high >= most
        if free["slack_lowest"][i] >= 1:
            assert low <= least
        checked += 1
    assert checked > 40


# ---------------------------------------------------------------------------------------------------------------------
# Rows at rest


def equilibria(seed, size=8):
    rng = np.random.default_rng(seed)
    return Equilibrium(
        ops=FLOAT,
        seen=rng.standard_normal((size, 3, 4)),
        feature=rng.standard_normal((size, 4)),
        weight_decay=rng.uniform(-0.5, 2, size),
        level=rng.standard_normal(size),
        unseen=rng.integers(1, 6, size),
    )


def loss_with_decay(rows, x, target, decay):
    loss = functional.cross_entropy((rows @ x)[None], torch.tensor([target]))
    return loss + decay / 2 * (rows * rows).sum()


@SEEDS
def test_the_pull_on_an_unseen_row_is_that_of_autograd(seed):
    """With given seen rows, and with one seen row that is trained as well."""
    batch = equilibria(seed)
    given = batch.pull([batch.seen[:, s] for s in range(3)], batch.unseen_row, batch.unseen)
    trained = -batch.unseen[:, None] * batch.unseen_row
    alone = batch.pull([trained], batch.unseen_row, batch.unseen)
    for i in range(len(batch)):
        x, k = torch.tensor(batch.feature[i]), int(batch.unseen[i])
        z, decay = float(batch.level[i]), float(batch.weight_decay[i])
        unseen = (-z / (x @ x) * x).repeat(k, 1)
        assert_near(batch.unseen_row[i], unseen[0].numpy())
        for got, seen in ((given, torch.tensor(batch.seen[i])), (alone, -k * unseen[:1])):
            rows: Any = torch.cat([unseen, seen]).requires_grad_()
            loss_with_decay(rows, x, k, decay).backward()
            pulls = (rows.grad[:k] @ x).numpy()
            assert_near(np.full(k, got[i]), pulls, 1e-12, 1 + np.abs(pulls).max())


@SEEDS
def test_the_sums_of_an_equilibrium(seed):
    batch = equilibria(seed)
    for i in range(len(batch)):
        x = batch.feature[i]
        total = sum(math.exp(w @ x) for w in batch.seen[i])
        assert batch.square[i] == pytest.approx(x @ x, rel=1e-13)
        assert batch.exponential_sum[i] == pytest.approx(total, rel=1e-13)
        logit = batch.unseen_row[i] @ x
        assert logit == pytest.approx(-batch.level[i], rel=1e-12)
        rows = [*batch.seen[i], *[batch.unseen_row[i]] * int(batch.unseen[i])]
        whole = sum(math.exp(w @ x) for w in rows)
        assert batch.normaliser[i] == pytest.approx(whole, rel=1e-12)


def test_a_trained_head_comes_to_rest_where_the_equation_says():
    """All rows trained from random ones: the unseen rows meet at the root of ``s e^s + (K - 1) s = K r^2/lam``."""
    rng = np.random.default_rng(0)
    x, decay, count = torch.tensor([1.0, -0.5, 2.0], dtype=torch.float64), 0.5, 4
    rows = torch.tensor(rng.standard_normal((count, 3)), requires_grad=True)
    sgd = torch.optim.SGD([rows], lr=0.2, weight_decay=decay)
    for _ in range(400):
        sgd.zero_grad()
        loss_with_decay(rows, x, count - 1, 0.0).backward()
        sgd.step()
    logits = (rows.detach() @ x).numpy()
    s = float(logits[-1] - logits[0])
    level = s / count
    assert np.ptp(logits[:3]) < 1e-12
    assert logits[:3] == pytest.approx(-level, rel=1e-10)
    one = Equilibrium.create(
        seen=rows.detach()[-1:],
        feature=x,
        weight_decay=decay,
        level=level,
        unseen=count - 1,
    )
    assert abs(one.pull([one.seen[:, 0]], one.unseen_row, one.unseen)[0]) < 1e-10
    assert s * math.exp(s) + (count - 1) * s == pytest.approx(count * 5.25 / decay, rel=1e-9)


# ---------------------------------------------------------------------------------------------------------------------
# Runs, by plain loops


def softmax_step(rows, x, labels, a, eta, lam):
    """One step of gradient descent with decay on one head, in NumPy alone."""
    z = x @ rows.T
    e = np.exp(z - z.max(axis=1, keepdims=True))
    residual = e / e.sum(axis=1, keepdims=True)
    residual[np.arange(len(labels)), labels] -= 1
    return rows - eta * ((residual * a[:, None]).T @ x + lam * rows)


def run_data(seed, *, size=5, steps=7):
    rng = np.random.default_rng(seed)
    return {
        "weights": rng.standard_normal((size, 5, 3)),
        "features": rng.standard_normal((size, steps, 4, 3)),
        "labels": rng.integers(0, 5, (size, steps, 4)),
        "example_weights": rng.multinomial(64, np.full(4, 1 / 4), (size, steps)) / 64,
        "weight_decay": rng.uniform(-0.1, 0.5, size),
        "curvature": rng.uniform(0, 2, size),
    }


def steady(seed):
    rng, data = np.random.default_rng(100 + seed), run_data(seed)
    scalars = {n: rng.uniform(0, 2, 5) for n in ("radius", "pbar", "distance", "floor")}
    return SteadyRun(ops=FLOAT, step_size=rng.uniform(0, 0.8, (5, 7)), **data, **scalars)


@SEEDS
def test_a_steady_run_by_loops(seed):
    run = steady(seed)
    assert len(run.steps) == 7
    for i in range(len(run)):
        rows, decayed = run.weights[i], 1.0
        for t, step in enumerate(run.steps):
            x, y, a = run.features[i, t], run.labels[i, t], run.example_weights[i, t]
            eta, lam, bound = run.step_size[i, t], run.weight_decay[i], run.curvature[i]
            assert_near(step.weights[i], rows)
            for name in ("weight_decay", "radius", "pbar", "curvature"):
                assert getattr(step, name)[i] == getattr(run, name)[i]
                assert run.run.values[name][i, t] == getattr(run, name)[i]
            assert step.step_size[i] == eta
            assert run.decay[i, t] == pytest.approx(1 - eta * lam, rel=1e-15)
            assert run.lower_factor[i, t] == pytest.approx(1 - eta * (lam + bound), abs=1e-15)
            mass = sum(w for w, label in zip(a, y, strict=True) if label in (0, 1))
            assert run.target_mass[i, t] == mass
            assert_near(run.feature_norms[i, t], [math.hypot(*v) for v in x])
            rows = softmax_step(rows, x, y, a, eta, lam)
            decayed *= 1 - eta * lam
        for got, row in zip(run.last_pair, rows, strict=False):
            assert_near(got[i], row)
        assert_near(run.last_difference[i], rows[0] - rows[1], 1e-12, np.abs(rows).max())
        assert_near(run.first_difference[i], run.weights[i, 0] - run.weights[i, 1])
        assert np.prod(run.decay[i]) == pytest.approx(decayed, rel=1e-13)
    assert run.nontrivial.all()


def test_the_last_pair_keeps_the_digits_of_its_difference():
    run = steady(0)
    u, v = run.last_pair
    assert_near(u - v, run.last_difference, 1e-14, np.abs(v).max())


def test_bounds_of_sampled_steady_runs_hold_where_their_slack_says():
    free, run = sampled("steady_run", 4, 300, Shape(4, 3, 3, 5))
    trace = np.max([step.trace for step in run.steps], axis=0)
    norms = np.sqrt((run.features**2).sum(-1)).max(axis=(1, 2))
    lengths = [np.sqrt((row**2).sum(-1)) for row in run.last_pair]
    met = free["slack_curvature"] >= 1
    assert (run.curvature[met] >= trace[met]).all()
    assert (run.radius >= norms)[free["slack_radius"] >= 1].all()
    assert (np.minimum(*lengths) >= run.floor)[free["slack_floor"] >= 1].all()
    assert (run.floor < 0)[free["slack_floor"] < 0].all()
    reached = np.sqrt((run.last_difference**2).sum(-1))
    wanted = (free["slack_distance"] >= 1) & (free["by_decay"] == 0)
    assert (run.distance >= reached)[wanted].all()


# ------------------------------------------------------------------------------------------- a probe


@SEEDS
def test_the_probe_is_orthogonal_in_rational_numbers(seed):
    free, run = sampled("probe_run", seed, 60)
    along = run.along(run.features.transpose(1, 2, 0, 3))
    tilted = 0
    for i in range(len(run)):
        assert any(run.probe[i])
        z = [Fraction(v) for v in run.probe[i]]
        products = [
            sum(a * Fraction(b) for a, b in zip(z, x, strict=True))
            for x in run.features[i].reshape(-1, len(z)).tolist()
        ]
        if free["tilted"][i]:
            tilted += any(products)
            continue
        assert not any(products)
        assert not along[..., i].any()  # on floats, in whatever order they are summed
    assert 0 < tilted < 30


def test_features_stay_near_those_that_were_drawn():
    """Rounded to some 20 bits, and moved along one coordinate alone."""
    free, run = sampled("probe_run", 3, 200, Shape(3, 4, 2, 3))
    for i in np.flatnonzero(free["tilted"] == 0):
        moved = np.abs(run.features[i] - free["features"][i]).max(axis=(0, 1))
        size = np.abs(free["features"][i]).max()
        assert np.sort(moved)[:-1].max() <= 4 * 2.0**-19 * size
        solved = np.argmax(np.abs(run.probe[i]))
        assert moved.max() <= 4 * 2.0**-19 * size or np.argmax(moved) == solved


def test_what_lies_along_the_probe_only_decays():
    free, run = sampled("probe_run", 1, 40, Shape(4, 3, 2, 4))
    for i in np.flatnonzero(free["tilted"] == 0):
        rows, left = run.weights[i], 1.0
        if np.abs(run.step_size[i] * run.weight_decay[i]).max() > 4:
            continue
        for t in range(4):
            eta, lam = run.step_size[i, t], run.weight_decay[i, t]
            step = (run.features[i, t], run.labels[i, t], run.example_weights[i, t], eta, lam)
            with np.errstate(all="ignore"):
                rows = softmax_step(rows, *step)
            left *= 1 - eta * lam
        size = np.abs(rows).max() * np.abs(run.probe[i]).max()
        assert_near(rows @ run.probe[i], left * run.weights[i] @ run.probe[i], 1e-10, size + 1e-300)


# ------------------------------------------------------------------------------------------- resets


def resets(seed):
    rng, data = np.random.default_rng(200 + seed), run_data(seed, steps=9)
    return ResetRun(
        ops=FLOAT,
        fresh=rng.standard_normal((5, 9, 2, 3)),
        step_size=rng.uniform(0, 0.5, 5),
        distance=np.ones(5),
        period=np.array([1, 2, 3, 4, 12]),
        **data,
    )


def redrawn(period, steps, late):
    """The times at which u and v are redrawn."""
    u = list(range(period, steps, period))
    return u, [t + math.ceil(period / 2) for t in u] if late else u


@SEEDS
@pytest.mark.parametrize("late", [0, 1])
def test_a_reset_run_by_loops(seed, late):
    run = resets(seed)
    steps = run.one_at_a_time if late else run.together
    distances, drawn = run.distances(steps), run.drawn_distances(late)
    assert len(steps) == 9
    assert distances.shape == (5, 18)
    assert drawn.shape == (5, 9)
    for i, period in enumerate([1, 2, 3, 4, 12]):
        rows = run.weights[i].copy()
        last = rows[:2].copy()
        times = redrawn(period, 9, late)
        for t, step in enumerate(steps):
            for k in (0, 1):
                assert run.is_drawn(t, k, late)[i] == (t in times[k])
                if t in times[k]:
                    rows[k] = last[k] = run.fresh[i, t, k]
            assert_near(step.weights[i], rows)
            assert_near(step.difference[i], rows[0] - rows[1], 1e-12, np.abs(rows).max())
            assert drawn[i, t] == pytest.approx(math.dist(*last), rel=1e-14)
            assert distances[i, 2 * t] == pytest.approx(math.dist(*rows[:2]), rel=1e-9)
            data = (run.features[i, t], run.labels[i, t], run.example_weights[i, t])
            rows = softmax_step(rows, *data, run.step_size[i], run.weight_decay[i])
            assert_near(step.next_difference[i], rows[0] - rows[1], 1e-12, np.abs(rows).max())
            assert distances[i, 2 * t + 1] == pytest.approx(math.dist(*rows[:2]), rel=1e-9)


def test_times_of_a_reset():
    """By hand: period 3, nine steps; half a period is two steps."""
    run = resets(0)
    times = {
        (k, late): [t for t in range(9) if run.is_drawn(t, k, late)[2]]
        for k in (0, 1)
        for late in (0, 1)
    }
    assert times == {(0, 0): [3, 6], (1, 0): [3, 6], (0, 1): [3, 6], (1, 1): [5, 8]}


def test_powers_of_a_reset_run():
    run = resets(1)
    factor = 1 - run.step_size * (run.weight_decay + run.curvature)
    np.testing.assert_allclose(run.factor, factor, 1e-15)
    np.testing.assert_allclose(run.power(), factor**run.period, 1e-13)
    enclosed = run.to(ball(128)).power()
    np.testing.assert_allclose(enclosed.midpoints(), factor**run.period, 1e-13)


def test_bounds_of_sampled_reset_runs_hold_where_their_slack_says():
    free, run = sampled("reset_run", 2, 300, Shape(3, 2, 2, 6))
    trace = np.max([s.trace for s in (*run.together, *run.one_at_a_time)], axis=0)
    assert (run.curvature >= trace)[free["slack_curvature"] >= 1].all()
    met = free["slack_distance"] >= 1
    assert (run.drawn_distances(0).min(axis=-1) >= run.distance)[met].all()
    both = met & (free["by_pair"] == 0)
    assert (run.drawn_distances(1).min(axis=-1) >= run.distance)[both].all()


# ---------------------------------------------------------------------------------------------------------------------
# Losses, by autograd


def step_data(seed, *, low=0):
    rng = np.random.default_rng(300 + seed)
    return {
        "weights": rng.standard_normal((5, 3)),
        "features": rng.standard_normal((4, 3)),
        "labels": rng.integers(low, 5, 4),
        "example_weights": rng.multinomial(64, np.full(4, 1 / 4)) / 64,
        "step_size": rng.uniform(0.1, 0.8),
        "weight_decay": rng.uniform(0, 0.5),
    }


def loss_step(seed, **changes):
    rng = np.random.default_rng(400 + seed)
    tricks = {
        "pair_targets": rng.uniform(0, 0.5, (4, 2)),
        "mask": [1, 0, 0, 1],
        "smoothing": rng.uniform(0, 1),
        "temperature": 10 ** rng.uniform(-0.5, 0.5),
        "scale": rng.uniform(0.5, 2),
        "clip": 0.125,
    }
    return LossStep.create(**step_data(seed, low=2) | tricks | changes)


def tensors(step) -> Any:
    return (
        torch.tensor(step.weights[0], requires_grad=True),
        torch.tensor(step.features[0]),
        torch.tensor(step.labels[0]),
        torch.tensor(step.example_weights[0]),
    )


def after_sgd(step, parameters, loss, decays=None):
    """Gradients of ``loss`` by the parameters, and the parameters after a step of ``torch.optim.SGD``."""
    decay = float(step.weight_decay[0])
    groups = [
        {"params": [p], "weight_decay": d}
        for p, d in zip(parameters, decays or [decay] * len(parameters), strict=True)
    ]
    sgd = torch.optim.SGD(groups, lr=float(step.step_size[0]))
    loss.backward()
    gradients = [p.grad.numpy().copy() for p in parameters]
    sgd.step()
    return gradients, [p.detach().numpy() for p in parameters]


def entropies(z, targets, **options):
    return functional.cross_entropy(z, targets, reduction="none", **options)


def masked_logits(z, step):
    hidden = torch.zeros_like(z, dtype=torch.bool)
    hidden[:, :2] = torch.tensor(step.mask[0] == 0)[:, None]
    return z.masked_fill(hidden, -math.inf)


LOSSES = {
    "gradient": lambda s, z, y, a: (a * entropies(z, y)).sum(),
    "smoothed": lambda s, z, y, a: (
        a * entropies(z, y, label_smoothing=float(s.smoothing[0]))
    ).sum(),
    "tempered": lambda s, z, y, a: (
        float(s.scale[0]) * (a * entropies(z / float(s.temperature[0]), y)).sum()
    ),
    "masked": lambda s, z, y, a: (a * entropies(masked_logits(z, s), y)).sum(),
}


@SEEDS
@pytest.mark.parametrize("name", LOSSES)
def test_a_trick_is_that_of_autograd(name, seed):
    """Its gradient, and what ``pair_after`` makes of it: the difference of two rows after a step of SGD."""
    step = loss_step(seed)
    w, x, y, a = tensors(step)
    (gradient,), (rows,) = after_sgd(step, [w], LOSSES[name](step, x @ w.T, y, a))
    got = getattr(step, name)
    assert_near(got[0], gradient)
    assert_near(step.pair_after(got)[0], rows[0] - rows[1], 1e-12, np.abs(rows).max())
    if name == "gradient":
        assert_near(step.next_weights[0], rows)
        assert_near(step.next_difference[0], rows[0] - rows[1], 1e-12, np.abs(rows).max())


@SEEDS
def test_soft_targets_are_those_of_autograd(seed):
    """Masses q_u, q_v on each example and the rest on its label."""
    step = loss_step(seed)
    w, x, y, a = tensors(step)
    q = torch.zeros(4, 5, dtype=torch.float64)
    q[:, :2] = torch.tensor(step.pair_targets[0])
    q[torch.arange(4), y] += 1 - q[:, :2].sum(dim=1)
    (gradient,), _ = after_sgd(step, [w], (a * entropies(x @ w.T, q)).sum())
    assert_near(step.twin_gradient[0], gradient[0] - gradient[1], 1e-12, np.abs(gradient).max())


def test_masked_examples_leave_the_pair_alone():
    step = loss_step(0, mask=[0, 0, 0, 0])
    assert not step.masked[0, :2].any()
    assert_near(step.pair_after(step.masked)[0], step.decay[0] * step.difference[0])
    plain = loss_step(0, mask=[1, 1, 1, 1])
    assert_near(plain.masked, plain.gradient)


@SEEDS
def test_temperature_on_features(seed):
    """``cooled`` has the probabilities of the logits over tau."""
    step = loss_step(seed)
    w, x, *_ = tensors(step)
    p = torch.softmax(x @ w.T / float(step.temperature[0]), dim=1).detach().numpy()
    means = (p[:, 0] - p[:, 1]) / np.log(p[:, 0] / p[:, 1])
    assert_near(step.cooled.means[0], means)
    assert_near(step.cooled.difference, step.difference)
    assert step.cooled.step_size is step.step_size


@SEEDS
@pytest.mark.parametrize("clip", [0.01, 0.125, 100.0])
def test_clipping(seed, clip):
    step = loss_step(seed, clip=clip)
    gradient = step.gradient[0]
    parameter = torch.zeros(gradient.shape, dtype=torch.float64, requires_grad=True)

    def clipped_by(function):
        parameter.grad = torch.tensor(gradient)
        function([parameter], clip)
        return parameter.grad.numpy()

    got, share = step.clipped_by_norm
    size = math.sqrt((gradient**2).sum())
    assert share[0] == pytest.approx(min(1, clip / size), rel=1e-14)
    assert_near(got[0], gradient * min(1, clip / size))
    # torch divides by the norm plus 1e-6.
    torches = clipped_by(torch.nn.utils.clip_grad_norm_)
    assert_near(got[0], torches, 2e-6 / size)

    values = losses.clip_values(FLOAT, step.gradient, step.clip)
    assert np.array_equal(values[0], clipped_by(torch.nn.utils.clip_grad_value_))
    assert np.abs(values).max() <= clip

    rows = losses.clip_rows(FLOAT, step.gradient, step.clip)
    for row, whole in zip(rows[0], gradient, strict=True):
        length = math.sqrt((whole**2).sum())
        assert_near(row, whole * min(1, clip / length), 1e-14, np.abs(whole).max())
    unclipped = np.array_equal(rows[0], gradient)
    assert unclipped == (clip == 100.0)


def test_clipping_a_gradient_of_zeros():
    zero, limit = np.zeros((1, 3, 2)), np.array([0.5])
    assert not losses.clip_norm(FLOAT, zero, limit)[0].any()
    assert losses.clip_norm(FLOAT, zero, limit)[1].tolist() == [1]
    assert not losses.clip_rows(FLOAT, zero, limit).any()
    assert not losses.clip_values(FLOAT, zero, limit).any()


def test_sampled_settings_of_tricks():
    free, batch = sampled("loss_step", 1, 400)
    assert (batch.pair_targets.sum(axis=-1) <= 1).all()
    largest = np.abs(batch.gradient).max(axis=(1, 2))
    there = largest > 0
    np.testing.assert_allclose(batch.clip[there], (largest * free["clip_relative"])[there], 1e-12)
    moved: Any = DOMAINS["loss_step"].build(free | {"smoothing": free["smoothing"] * 100})
    assert moved.smoothing.max() == 1  # a search may push it beyond


# ------------------------------------------------------------------------------------------- z-loss


@SEEDS
def test_z_loss_is_that_of_autograd(seed):
    """For labels that are never targets and for those that are."""
    step = ZLossStep.create(**step_data(seed, low=2 * (seed % 2)), zeta=0.3 - 0.2 * seed)
    w, x, y, a = tensors(step)
    z = x @ w.T
    log_z = torch.logsumexp(z, dim=1)
    loss = (a * (entropies(z, y) + float(step.zeta[0]) * log_z**2)).sum()
    p = torch.softmax(z, dim=1).detach().numpy()
    (gradient,), (rows,) = after_sgd(step, [w], loss)
    assert_near(step.next_weights[0], rows)
    assert_near(step.next_difference[0], rows[0] - rows[1], 1e-12, np.abs(rows).max())
    assert_near(step.pair_gradient[0], gradient[0] - gradient[1], 1e-12, np.abs(gradient).max())
    factor = 1 + 2 * float(step.zeta[0]) * log_z.detach().numpy()
    assert_near(step.factor[0], factor)
    means = factor * (p[:, 0] - p[:, 1]) / np.log(p[:, 0] / p[:, 1])
    assert_near(step.means[0], means)
    square = (step.features[0] ** 2).sum(axis=1)
    trace = sum(step.example_weights[0] * means * square)
    assert step.trace[0] == pytest.approx(trace, rel=1e-12, abs=1e-13)
    assert np.trace(step.operator[0]) == pytest.approx(trace, rel=1e-12, abs=1e-13)
    pushed = step.operator[0] @ step.difference[0]
    assert_near(step.operator_on_difference[0], pushed, 1e-12, np.abs(square).max())


def test_without_zeta_it_is_the_plain_step():
    data = step_data(1)
    step, plain = ZLossStep.create(**data, zeta=0.0), DOMAINS["step"].batch_type.create(**data)
    for name in ("means", "trace", "next_difference", "next_weights"):
        assert_near(getattr(step, name), getattr(plain, name), 1e-14)


# ------------------------------------------------------------------------------------------- soft-capping


@SEEDS
@pytest.mark.parametrize("cap", [0.3, 1.0, 30.0])
def test_soft_capping_is_that_of_autograd(seed, cap):
    step = CappedStep.create(**step_data(seed, low=2 * (seed % 2)), cap=cap)
    w, x, y, a = tensors(step)
    plain = x @ w.T
    z = cap * torch.tanh(plain / cap)
    (slopes,) = torch.autograd.grad(z.sum(), plain, retain_graph=True)
    p = torch.softmax(z, dim=1).detach().numpy()
    assert_near(step.capped[0][0], z.detach().numpy())
    assert_near(step.capped[1][0], slopes.numpy())
    assert_near(step.pair_probabilities[0], p[:, :2])
    (gradient,), (rows,) = after_sgd(step, [w], (a * entropies(z, y)).sum())
    assert_near(step.next_weights[0], rows)
    assert_near(step.pair_gradient[0], gradient[0] - gradient[1], 1e-12, np.abs(gradient).max())
    assert_near(step.next_difference[0], rows[0] - rows[1], 1e-12, np.abs(rows).max())
    trace = 0.0
    for a_i, p_i, x_i in zip(step.example_weights[0], p, step.features[0], strict=True):
        trace += a_i * (p_i[0] + p_i[1]) / 2 * math.hypot(*x_i) ** 2
    assert step.trace[0] == pytest.approx((1 + 1 / (2 * cap**2)) * trace, rel=1e-12)


def test_the_slope_of_the_cap_keeps_its_digits():
    """Where tanh is 1 to all digits the slope is still ``4 e^-2|z|``."""
    z = np.array([[[0.0, 1e-9, -3.0, 20.0, -50.0, 300.0]]])
    capped, slope = losses.soft_cap(FLOAT, z, np.array([1.0]))
    with mpmath.workdps(300):
        expected = [mpmath.sech(mpmath.mpf(v)) ** 2 for v in z.ravel()]
    assert max(map(relative_error, slope.ravel(), expected)) < 1e-14
    np.testing.assert_allclose(capped, np.tanh(z), 1e-15)


# ------------------------------------------------------------------------------------------- biases


@SEEDS
def test_biases_are_those_of_autograd(seed):
    """All decayed; then the weights alone."""
    rng = np.random.default_rng(seed)
    biases = rng.standard_normal(5)
    step = BiasedStep.create(**step_data(seed, low=2 * (seed % 2)), biases=biases)
    x, y, a = tensors(step)[1:]

    def trained(decays=None):
        w = torch.tensor(step.weights[0], requires_grad=True)
        b = torch.tensor(biases, requires_grad=True)
        loss = (a * entropies(x @ w.T + b, y)).sum()
        return loss.item(), *after_sgd(step, [w, b], loss, decays)

    loss, (by_rows, by_biases), (rows, after) = trained()
    size = np.abs(rows).max() + np.abs(after).max()
    assert step.cross_entropy[0] == pytest.approx(loss, rel=1e-13)
    assert_near(step.augmented.next_weights[0], np.column_stack([rows, after]))
    assert_near(step.next_weights[0], rows)
    gap = np.append(rows[0] - rows[1], after[0] - after[1])
    assert_near(step.augmented.next_difference[0], gap, 1e-12, size)
    assert_near(step.next_difference[0], gap[:-1], 1e-12, size)
    pushed = np.append(by_rows[0] - by_rows[1], by_biases[0] - by_biases[1])
    assert_near(step.augmented.pair_gradient[0], pushed, 1e-12, size)
    assert_near(step.pair_gradient[0], pushed[:-1], 1e-12, size)

    _, _, (rows, after) = trained([float(step.weight_decay[0]), 0.0])
    gap = np.append(rows[0] - rows[1], after[0] - after[1])
    lhs = get_claim("undecayed_bias").lhs(step)
    assert lhs[0] == pytest.approx(math.hypot(*gap), rel=1e-11)


@SEEDS
def test_what_a_biased_step_derives(seed):
    step = BiasedStep.create(**step_data(seed), biases=[0.5, -0.25, 1.0, 0.0, 2.0])
    z = step.features[0] @ step.weights[0].T + step.biases[0]
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    means = (p[:, 0] - p[:, 1]) / (z[:, 0] - z[:, 1])
    assert_near(step.means[0], means)
    assert_near(step.logit_differences[0], z[:, 0] - z[:, 1])
    square = (step.features[0] ** 2).sum(axis=1) + 1
    assert step.trace[0] == pytest.approx(sum(step.example_weights[0] * means * square), rel=1e-12)
    whole = step.augmented
    assert whole.features[0, :, -1].tolist() == [1.0] * 4
    assert whole.difference[0].tolist() == [*step.difference[0], 0.75]
    assert np.trace(whole.operator[0]) == pytest.approx(step.trace[0], rel=1e-12)
    assert_near(step.operator[0], whole.operator[0, :-1, :-1])
    assert_near(step.operator_on_difference[0], whole.operator_on_difference[0, :-1])
    assert step.nontrivial.all()


def test_equal_rows_with_other_biases_are_moved():
    data = step_data(0) | {"labels": [2, 3, 4, 2]}
    data["weights"][0] = data["weights"][1]
    step = BiasedStep.create(**data, biases=[0.5, -0.25, 0, 0, 0])
    assert step.nontrivial.all()
    assert step.next_difference.any()
