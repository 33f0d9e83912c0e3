"""The forecast: its laws, its bounds against trained heads, its readings of files, its text."""

import json
import math
import re
import sys
import types

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

import collapse_theory
from collapse_theory import InputError, TrainingSetup, all_claims, forecast, plots
from collapse_theory.cli import main
from collapse_theory.forecast import (
    NUMBERS,
    drift,
    largest_rate,
    learning_rates,
    momentum_bound,
    read_setup,
    update_bound,
)
from collapse_theory.trajectories import LinearConfig, train_linear_heads
from docs import generate

SCHEDULES = ("constant", "constant_with_warmup", "linear", "cosine", "wsd")


def sgd(**values):
    return TrainingSetup(
        **{"optimizer": "sgd", "learning_rate": 0.1, "weight_decay": 0.01, "steps": 100} | values
    )


def adamw(**values):
    return sgd(**{"optimizer": "adamw", "learning_rate": 1e-3, "weight_decay": 0.1} | values)


def texts(result, status):
    return [finding for finding in result.findings if finding.status == status]


@st.composite
def setups(draw):
    """Any setup that a user might have."""
    optimizer = draw(st.sampled_from(["sgd", "adam", "adamw"]))
    schedule = draw(st.sampled_from(SCHEDULES))
    momentum = draw(st.sampled_from([0.0, 0.5, 0.9])) if optimizer == "sgd" else 0.0
    maybe = lambda low, high: draw(st.none() | st.floats(low, high))  # noqa: E731
    return TrainingSetup(
        optimizer=optimizer,
        learning_rate=draw(st.sampled_from([0.0, 1.0]) | st.floats(1e-7, 2)),
        steps=draw(st.integers(1, 400)),
        weight_decay=draw(st.sampled_from([0.0, 1.0]) | st.floats(1e-9, 1)),
        schedule=schedule,
        warmup_steps=0 if schedule == "constant" else draw(st.integers(0, 500)),
        decay_steps=draw(st.none() | st.integers(0, 500)),
        min_lr_ratio=draw(st.sampled_from([0.0, 0.1, 1.0])),
        momentum=momentum,
        nesterov=bool(momentum) and draw(st.booleans()),
        betas=draw(st.sampled_from([(0.9, 0.999), (0.9, 0.95), (0.0, 0.0), (0.99, 0.9)])),
        dtype=draw(st.sampled_from(["float32", "bfloat16", "float16"])),
        master_weights=draw(st.booleans()),
        rounding=draw(st.sampled_from(["nearest", "stochastic"])),
        radius=maybe(0, 100),
        loss=maybe(0, 20),
        initial_scale=maybe(1e-3, 1),
        hidden_size=draw(st.none() | st.integers(1, 5000)),
        gradient_bound=maybe(1e-9, 10),
        wanted_distance=maybe(1e-6, 10),
        tied=draw(st.booleans()),
        gradient=draw(st.sampled_from(["softmax", "zero", "missing", "sparse"])),
    )


# --------------------------------------------------------------------------------------------- laws


@given(setups())
def test_every_forecast_is_whole(setup):
    """Statuses are kept apart, proofs have claims and nothing else has, the text fits a terminal, JSON takes it."""
    result = forecast(setup)
    for finding in (*result.findings, *result.diagnosis):
        assert finding.status in ("PROVED", "OBSERVED", "NOT KNOWN")
        assert bool(finding.claims) is (finding.status == "PROVED")
        assert set(finding.claims) <= set(all_claims())
    for remedy in result.remedies:
        assert bool(remedy.claims) is (remedy.status == "PROVED")
        assert set(remedy.claims) <= set(all_claims())
    lines = str(result).splitlines()
    # Lines about keys of a file have no place to fold.
    assert max(map(len, lines)) <= 100
    assert " ".join(lines[: lines.index("")]) == result.verdict
    shown = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert shown["schema"] == 1
    assert set(shown["numbers"]) == set(NUMBERS)
    for name, curve in (("upper", result.upper), ("lower", result.lower)):
        assert result.numbers[name] == (None if curve is None else curve[-1])
    assert forecast(shown["setup"]).to_dict() == result.to_dict()
    if result.upper is not None and result.lower is not None:
        assert (result.lower <= result.upper * (1 + 1e-12)).all()


@given(setups())
def test_the_decay_product_is_the_product(setup):
    lam = 0.0 if setup.optimizer == "adam" else setup.weight_decay
    factors = [abs(1 - rate * lam) for rate in learning_rates(setup)]
    assert forecast(setup).numbers["decay_product"] == pytest.approx(
        math.prod(factors), rel=1e-9, abs=1e-300
    )


@given(
    st.floats(1e-5, 0.5), st.floats(0, 1), st.floats(0, 2), st.integers(1, 200), st.integers(1, 50)
)
def test_bounds_of_descent_fall_with_the_steps(rate, decay, radius, steps, more):
    run = {"learning_rate": rate, "weight_decay": decay, "radius": radius}
    short, long = (forecast(sgd(**run, steps=n)) for n in (steps, steps + more))
    assert long.numbers["lower"] <= short.numbers["lower"]
    assert long.numbers["decay_product"] <= short.numbers["decay_product"]
    if short.upper is None:
        assert long.upper is None
        return
    assert long.upper[-1] <= short.upper[-1]
    assert (np.diff(long.upper) <= 0).all()


@given(st.floats(0, 2), st.floats(0, 20), st.floats(1e-4, 1))
def test_the_learning_rate_that_is_named_satisfies_the_condition(decay, radius, rate):
    most = largest_rate(decay, radius**2 / 2)
    result = forecast(sgd(learning_rate=rate, weight_decay=decay, radius=radius))
    assert (result.upper is not None) is (rate <= most)
    if math.isfinite(most) and rate > most:
        again = forecast(sgd(learning_rate=most, weight_decay=decay, radius=radius))
        assert again.upper is not None
        assert result.floor.kept or f"at {most:.3g}" in result.verdict.lower()


@given(st.floats(0, 0.999), st.floats(0, 1), st.floats(1e-4, 1), st.floats(0, 10), st.booleans())
def test_the_learning_rate_that_is_named_satisfies_momentums_condition(
    beta, decay, rate, radius, nesterov
):
    setup = sgd(
        learning_rate=rate, weight_decay=decay, momentum=beta, nesterov=nesterov and beta > 0,
        radius=radius,
    )  # fmt: skip
    if beta == 0:
        return
    numbers = forecast(setup).numbers
    fitting = numbers["fitting_learning_rate"]
    assert fitting <= rate
    assert (fitting == rate) is numbers["condition_met"]
    bound = momentum_bound(fitting, decay, beta, nesterov=setup.nesterov)
    assert bound is not None
    assert fitting * radius**2 / 2 <= bound.most
    assert 0 < bound.rate <= 1
    assert bound.constant >= 1 - 1e-12


def test_momentum_0_is_descent():
    bound = momentum_bound(0.1, 0.5, 0.0)
    assert bound.rate == pytest.approx(0.95)
    assert bound.constant == pytest.approx(1)
    assert bound.most == pytest.approx(2 - 2 * 0.05)  # eta (2 lam + T) <= 2


@given(st.floats(1e-3, 0.3), st.floats(1e-3, 0.5), st.floats(0.1, 2), st.floats(1e-3, 0.99))
def test_the_period_of_a_reset_is_the_longest(rate, decay, radius, part):
    setup = sgd(
        learning_rate=rate, weight_decay=decay, radius=radius, initial_scale=0.02, hidden_size=64
    )
    fresh = math.sqrt(2 * 64) * 0.02
    result = forecast(setup, wanted_distance=part * fresh)
    q = 1 - rate * (decay + radius**2 / 2)
    period = result.numbers.get("reset_period")
    if period is None:
        return
    if period < 1:
        assert q < part * (1 + 1e-9)
        return
    assert q**period >= part * (1 - 1e-9)
    assert q ** (period + 1) <= part * (1 + 1e-9)


def test_times_of_collapse():
    result = forecast(sgd(weight_decay=0.1, radius=1, steps=10_000))
    enough, needed = result.numbers["steps_enough"], result.numbers["steps_needed"]
    assert (1 - 0.01) ** math.ceil(enough) <= 1e-3 < (1 - 0.01) ** (math.ceil(enough) - 1)
    assert (1 - 0.06) ** math.ceil(needed) <= 1e-3 < (1 - 0.06) ** (math.ceil(needed) - 1)
    assert result.numbers["thousandth_step"] == math.ceil(enough)
    assert result.numbers["half_life_steps"] == pytest.approx(math.log(2) / -math.log(0.99))


def test_the_curvature_is_that_of_the_loss_or_the_radius():
    assert sgd(radius=3).curvature == 4.5
    assert sgd(radius=3, loss=0.5).curvature == pytest.approx(4.5 * (1 - math.exp(-0.5)))
    assert sgd(norm_gamma=0.5, norm_beta=1, hidden_size=16).feature_radius == 3
    assert sgd().curvature is None
    lossy = forecast(sgd(radius=3, loss=0.5))
    assert any(finding.claims == ("curvature_from_loss",) for finding in lossy.findings)


def test_an_unknown_radius_names_the_largest():
    result = forecast(sgd())
    allowed = result.numbers["largest_radius"]
    assert forecast(sgd(radius=allowed * (1 - 1e-12))).upper is not None
    assert forecast(sgd(radius=allowed * 1.001)).upper is None


# ---------------------------------------------------------------------------------------- schedules


def huggingface(name, step, *, steps, warm, last, share):
    """The factor of ``transformers.get_scheduler`` at a step, one at a time."""
    if name == "constant":
        return 1.0
    if step < warm:
        return step / max(1, warm)
    done = (step - warm) / max(1, steps - warm)
    if name == "constant_with_warmup":
        return 1.0
    if name == "linear":
        factor = max(0.0, (steps - step) / max(1, steps - warm))
    elif name == "cosine":
        factor = max(0.0, 0.5 * (1 + math.cos(math.pi * 0.5 * 2 * done)))
    else:
        stable = steps - warm - last
        if step < warm + stable:
            return 1.0
        factor = 0.5 * (1 + math.cos(math.pi * (step - warm - stable) / max(1, last)))
    return factor * (1 - share) + share


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize(("warm", "share"), [(0, 0.0), (7, 0.0), (10, 0.1)])
def test_schedules_are_those_of_transformers(name, warm, share):
    warm = 0 if name == "constant" else warm
    setup = sgd(schedule=name, warmup_steps=warm, decay_steps=15, min_lr_ratio=share, steps=60)
    expected = [
        0.1 * huggingface(name, step, steps=60, warm=warm, last=15, share=share)
        for step in range(60)
    ]
    assert learning_rates(setup) == pytest.approx(np.array(expected), abs=1e-15)


# ------------------------------------------------------------------------- bounds, on trained heads


@settings(max_examples=15)
@given(
    st.sampled_from(SCHEDULES), st.integers(0, 2**32 - 1), st.floats(1e-3, 0.3), st.floats(0.05, 1)
)
def test_bounds_hold_in_runs_of_sgd(schedule, seed, decay, part):
    rng = np.random.default_rng(seed)
    features, labels = rng.standard_normal((30, 4)), rng.integers(3, 7, 30)
    radius = float(np.sqrt((features**2).sum(1)).max())
    rate = part * largest_rate(decay, radius**2 / 2)
    setup = sgd(
        schedule=schedule, learning_rate=rate, weight_decay=decay, radius=radius, steps=120,
        warmup_steps=0 if schedule == "constant" else 12,
    )  # fmt: skip
    result = forecast(setup)
    config = LinearConfig(
        steps=120, step_size=learning_rates(setup)[None], weight_decay=decay, batch_size=10
    )
    runs = train_linear_heads(rng.standard_normal((7, 4)), features, labels, config=config)
    relative = runs.distance[0] / runs.distance[0, 0]
    relative = relative[np.searchsorted(runs.states, result.states)]
    assert result.upper is not None
    assert (relative <= result.upper[:, None] * (1 + 1e-11)).all()
    assert (relative >= result.lower[:, None] * (1 - 1e-11)).all()


def torch_run(optimizer, weight, rng, *, steps, features, labels, batch=8):
    """Relative distances [steps + 1, pairs] of rows 0, 1, 2, never targets, on changing batches."""
    states = [weight.detach()[:3].clone()]
    for _ in range(steps):
        chosen = rng.permutation(len(labels))[:batch]
        optimizer.zero_grad()
        F.cross_entropy(features[chosen] @ weight.T, labels[chosen]).backward()
        optimizer.step()
        states.append(weight.detach()[:3].clone())
    differences = torch.stack(
        [torch.stack([w[0] - w[1], w[0] - w[2], w[1] - w[2]]) for w in states]
    )
    return differences.numpy()


@settings(max_examples=20)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.1, 0.5, 0.9, 0.95]),
    st.booleans(),
    st.floats(0.3, 1),
    st.sampled_from([0.0, 1e-3, 0.05]),
)
def test_momentums_bound_holds_in_runs_of_torch(seed, beta, nesterov, part, decay):
    rng = np.random.default_rng(seed)
    features, labels = (
        torch.tensor(rng.standard_normal((24, 3))),
        torch.tensor(rng.integers(3, 6, 24)),
    )
    radius = float(features.norm(dim=1).max())
    setup = sgd(
        learning_rate=10.0, weight_decay=decay, radius=radius, momentum=beta, nesterov=nesterov,
        steps=150,
    )  # fmt: skip
    rate = part * forecast(setup).numbers["fitting_learning_rate"]
    result = forecast(setup, learning_rate=rate)
    weight = torch.nn.Parameter(torch.tensor(rng.standard_normal((6, 3))))
    optimizer = torch.optim.SGD(
        [weight], lr=rate, momentum=beta, nesterov=nesterov, weight_decay=decay
    )
    distance = np.linalg.norm(
        torch_run(optimizer, weight, rng, steps=150, features=features, labels=labels), axis=-1
    )
    assert (distance / distance[0] <= result.upper[:, None] * (1 + 1e-10)).all()
    claim = "nesterov" if nesterov else "momentum_coupled"
    assert any(finding.claims == (claim,) for finding in result.findings)


@given(st.floats(0.01, 0.98), st.booleans(), st.floats(0, 0.999), st.floats(1e-4, 1))
def test_momentums_bound_holds_without_features(beta, nesterov, part, decay):
    """The difference orthogonal to all features, which a factor of 1 before the rates would not bound."""
    setup = sgd(
        momentum=beta, nesterov=nesterov, weight_decay=decay, learning_rate=1 / decay, steps=200
    )
    rate = part * forecast(setup, radius=0.0).numbers["fitting_learning_rate"]
    bounded = forecast(setup, radius=0.0, learning_rate=rate)
    path = forecast(setup, gradient="zero", learning_rate=rate)
    normal = path.upper > 1e-250
    assert (path.upper <= bounded.upper * (1 + 1e-9))[normal].all()
    # The rate is exact: the quotient levels off, between 1 and the constant.
    powers = bounded.numbers["rate"] ** path.states[normal]
    assert (path.upper[normal] >= powers * (1 - 1e-9)).all()


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_momentum_without_a_gradient_is_torchs(schedule, nesterov):
    setup = sgd(
        schedule=schedule, momentum=0.9, nesterov=nesterov, weight_decay=0.1, gradient="zero",
        steps=150,
    )  # fmt: skip
    result = forecast(setup)
    weight = torch.nn.Parameter(torch.ones(1, dtype=torch.float64))
    weight.grad = torch.zeros_like(weight)
    optimizer = torch.optim.SGD([weight], lr=1, momentum=0.9, nesterov=nesterov, weight_decay=0.1)
    path = [1.0]
    for rate in learning_rates(setup):
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        path.append(weight.item())
    assert result.upper == pytest.approx(np.abs(path)[result.states], rel=1e-9)


def test_momentum_under_a_schedule_is_not_known():
    result = forecast(sgd(momentum=0.9, radius=0.1, schedule="cosine"))
    assert result.upper is None
    assert "varies" in result.verdict


@settings(max_examples=15)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([(0.9, 0.999), (0.9, 0.95), (0.5, 0.6)]),
    st.sampled_from(["constant", "linear"]),
    st.sampled_from([0.0, 0.5]),
)
def test_the_ball_holds_in_runs_of_adamw(seed, betas, schedule, decay):
    rng = np.random.default_rng(seed)
    features, labels = (
        torch.tensor(rng.standard_normal((24, 3))),
        torch.tensor(rng.integers(3, 6, 24)),
    )
    setup = adamw(
        learning_rate=0.05, weight_decay=decay, betas=betas, schedule=schedule, steps=150,
        gradient_bound=float(features.abs().max()),
    )  # fmt: skip
    numbers = forecast(setup).numbers
    weight = torch.nn.Parameter(torch.tensor(rng.standard_normal((6, 3))))
    optimizer = torch.optim.AdamW([weight], lr=0.05, betas=betas, weight_decay=decay)
    rates = learning_rates(setup).tolist()
    differences = [weight.detach()[0] - weight.detach()[1]]
    for rate in rates:
        optimizer.param_groups[0]["lr"] = rate
        chosen = rng.permutation(24)[:8]
        optimizer.zero_grad()
        F.cross_entropy(features[chosen] @ weight.T, labels[chosen]).backward()
        optimizer.step()
        differences.append(weight.detach()[0] - weight.detach()[1])
    first, last = (float(d.abs().max()) for d in (differences[0], differences[-1]))
    assert last <= numbers["ball_kept"] * first + numbers["ball_radius"]


def test_the_constant_of_the_ball():
    assert update_bound(0.9, 0.999) == pytest.approx(7.27, abs=5e-3)
    assert update_bound(0.9, 0.8) is None
    assert drift(0.99, 0.9) is None
    result = forecast(adamw(betas=(0.99, 0.9)))
    assert "beta1^2" in str(result)
    large = forecast(adamw(steps=100_000))
    assert large.numbers["ball_radius"] == pytest.approx(2 * 7.27 / 0.1, rel=1e-3)
    # Adam's gradient has lam w in it, which the bound on the loss's gradient does not count.
    coupled = adamw(optimizer="adam", steps=100)
    assert forecast(coupled, gradient_bound=1e-12).numbers == forecast(coupled).numbers
    tiny = forecast(adamw(steps=100_000, gradient_bound=1e-12))
    assert tiny.numbers["ball_radius"] == pytest.approx(2 * 1e-4 / 0.1, rel=1e-3)


BITS = {"bfloat16": 8, "float16": 11, "float32": 24}


@settings(max_examples=100)
@given(
    st.sampled_from(sorted(BITS)),
    st.sampled_from(["adamw", "sgd"]),
    st.floats(0.3, 1.0) | st.just(1.0) | st.floats(0.97, 1.03),
    st.sampled_from([-1, 0, 1]),
    st.sampled_from([1.0, 0.37, 0.1]),
)
@example("bfloat16", "adamw", 1.0, -1, 1.0)
@example("bfloat16", "sgd", 0.9997, -1, 0.1)  # stalls but for the rounding of lam w
def test_the_precision_floor_is_torchs(dtype, optimizer, near, power, rate):
    """Gradient 0 on real tensors leaves the share of its size that is forecast."""
    delta = near * 2.0 ** (power - BITS[dtype])
    result = forecast(
        adamw(
            optimizer=optimizer, learning_rate=rate, weight_decay=delta / rate, steps=300, dtype=dtype,
            gradient="zero",
        )
    )  # fmt: skip
    weight = torch.nn.Parameter(torch.linspace(1, 2, 300).to(getattr(torch, dtype)))
    weight.grad = torch.zeros_like(weight)
    before = weight.detach().double()
    kind = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[optimizer]
    # An epsilon that float16 has: its 1e-8 is 0.
    options = {"eps": 1e-4} if optimizer == "adamw" else {}
    running = kind([weight], lr=rate, weight_decay=delta / rate, **options)
    for _ in range(300):
        running.step()
    left = weight.detach().double() / before
    assert (left >= result.floor.kept).all()
    if result.floor.kept == 1:
        assert result.floor.stalled == 1
    if delta > result.floor.partly * 1.02:
        assert (left < 1).all()


@pytest.mark.parametrize(("epsilon", "lost"), [(1e-8, True), (2.0**-25, True), (3e-8, False)])
def test_an_epsilon_that_float16_does_not_have(epsilon, lost):
    result = forecast(adamw(dtype="float16", epsilon=epsilon, gradient="zero"))
    assert ("becomes NaN" in str(result)) is lost
    weight = torch.nn.Parameter(torch.ones(1, dtype=torch.float16))
    weight.grad = torch.zeros_like(weight)
    torch.optim.AdamW([weight], lr=1e-3, weight_decay=0.1, eps=epsilon).step()
    assert bool(weight.detach().isnan()) is lost


def test_stochastic_rounding_has_no_floor_in_the_mean():
    result = forecast(adamw(dtype="bfloat16", rounding="stochastic", steps=1000))
    assert result.floor.kept == 0
    assert "no floor" in str(result)
    rng = np.random.default_rng(0)
    unit, weight, delta = 2.0**-7, np.full(4000, 1.5), 1e-4
    for _ in range(1000):
        exact = weight * (1 - delta) / unit
        weight = (np.floor(exact) + (rng.random(4000) < exact % 1)) * unit
    assert weight.mean() == pytest.approx(1.5 * (1 - delta) ** 1000, rel=2e-3)
    assert forecast(adamw(dtype="bfloat16")).floor.kept == 1


def test_decay_and_collapse_look_as_the_diagnosis_says():
    """A head that is trained, one that only decays, and signSGD, which aligns rows at a constant distance."""

    def looks(weight):
        centred = weight - weight.mean(0)
        cosine = F.cosine_similarity(weight[0], weight[1], dim=0).item()
        inner = F.cosine_similarity(centred[0], centred[1], dim=0).item()
        distance = (weight[0] - weight[1]).norm().item()
        return distance, weight[:2].norm().item(), cosine, inner

    def trained(step, weight, features, labels, steps=2000):
        for _ in range(steps):
            weight = weight.detach().requires_grad_()
            F.cross_entropy(features @ weight.T, labels).backward()
            weight = step(weight.detach(), weight.grad)
        return weight

    rng = np.random.default_rng(0)
    start = torch.tensor(rng.standard_normal((6, 4)))
    features, labels = (
        torch.tensor(rng.standard_normal((40, 4)) + 0.5),
        torch.tensor(rng.integers(2, 6, 40)),
    )
    before = looks(start)
    decayed = looks(trained(lambda w, g: 0.999 * w, start, features, labels, steps=500))
    assert decayed[0] / before[0] == pytest.approx(decayed[1] / before[1])
    assert decayed[2:] == pytest.approx(before[2:])
    collapsed = looks(trained(lambda w, g: 0.999 * w - 0.1 * g, start, features, labels))
    assert collapsed[0] / before[0] < 0.1 * collapsed[1] / before[1]
    assert before[3] < 0.9 < 0.99 < collapsed[3]

    aligned = looks(trained(lambda w, g: w - 0.1 * g.sign(), start, features.abs(), labels))
    assert aligned[0] == pytest.approx(before[0])
    assert before[2] < 0.75 < 0.999 < aligned[2]


# -------------------------------------------------------------------------------------------- files

ARGUMENTS = {
    "learning_rate": 6e-4,
    "weight_decay": 0.1,
    "max_steps": 1000,
    "adam_beta1": 0.8,
    "adam_epsilon": 1e-6,
    "lr_scheduler_type": "cosine",
    "warmup_ratio": 0.0305,
    "optim": "adamw_torch_fused",
    "bf16": True,
    "logging_steps": 10,
}


def test_training_arguments_are_read():
    result = forecast(ARGUMENTS)
    assert result.setup == TrainingSetup(
        optimizer="adamw", learning_rate=6e-4, weight_decay=0.1, steps=1000, betas=(0.8, 0.999),
        epsilon=1e-6, schedule="cosine", warmup_steps=31,
    )  # fmt: skip
    assert [line.partition(":")[0] for line in result.ignored] == ["bf16", "logging_steps"]
    assert str(result).count("\nignored ") == 2
    assert not result.assumed


def test_changes_win_over_a_mapping():
    assert forecast(ARGUMENTS, steps=5, warmup_ratio=0.2).setup.warmup_steps == 1
    assert forecast(ARGUMENTS, warmup_steps=7).setup.warmup_steps == 7
    assert forecast(ARGUMENTS | {"warmup_steps": 0.05}).setup.warmup_steps == 50
    assert forecast(ARGUMENTS | {"warmup_steps": 5}).setup.warmup_steps == 5
    assert forecast(ARGUMENTS, schedule="linear", dtype="bf16").setup.dtype == "bfloat16"
    assert forecast({"max_steps": -1} | {"lr": "1e-3", "optim": "sgd"}, steps=3).setup.steps == 3


def test_the_trainers_defaults_are_said():
    result = forecast({"max_steps": 10, "weight_decay": 0.1})
    assert (result.setup.optimizer, result.setup.schedule) == ("adamw", "linear")
    assert len(result.assumed) == 3
    assert "Trainer's default" in str(result)


def test_the_constant_schedule_takes_no_warm_up():
    given_ = {"optimizer": "sgd", "lr": 0.1, "steps": 10, "warmup_ratio": 0.1}
    assert any("warm-up" in line for line in forecast(given_).ignored)
    with pytest.raises(InputError, match="constant_with_warmup"):
        sgd(warmup_steps=3)


def test_other_spellings():
    setup = forecast(
        {
            "optimizer": "AdamW",
            "lr": 1e-3,
            "steps": 100,
            "schedule": "warmup_stable_decay",
            "lr_scheduler_kwargs": {"num_decay_steps": 30, "min_lr_ratio": 0.1, "power": 2},
            "torch_dtype": "torch.bfloat16",
            "initializer_range": 0.02,
            "tie_word_embeddings": True,
            "frozen": True,
            "hidden_size": None,
        }
    )
    assert setup.ignored == ("lr_scheduler_kwargs.power",)
    assert setup.setup == TrainingSetup(
        optimizer="adamw", learning_rate=1e-3, steps=100, schedule="wsd", decay_steps=30,
        min_lr_ratio=0.1, dtype="bfloat16", initial_scale=0.02, tied=True, gradient="missing",
    )  # fmt: skip


def test_yaml_needs_pyyaml(tmp_path, monkeypatch):
    file = tmp_path / "run.yaml"
    file.write_text("optimizer: sgd\nlr: 1e-1\nsteps: 10\n", encoding="utf-8")
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(InputError, match="pip install pyyaml"):
        read_setup(file)
    # What PyYAML makes of the file: 1e-1 without a point is text to it.
    loads = {"optimizer": "sgd", "lr": "1e-1", "steps": 10}
    fake = types.SimpleNamespace(safe_load=lambda _: loads, YAMLError=ValueError)
    monkeypatch.setitem(sys.modules, "yaml", fake)
    assert read_setup(file).setup == TrainingSetup(optimizer="sgd", learning_rate=0.1, steps=10)
    with pytest.raises(InputError, match="no such file"):
        read_setup(tmp_path / "other.yml")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"optimizer": "lion"}, "optimizer: got 'lion'; give one of sgd, adam, adamw"),
        ({"optimizer": None}, "optimizer: not given"),
        ({"steps": 0}, "steps: got 0"),
        ({"steps": 10**8}, "at most 10,000,000"),
        ({"steps": 1.5}, "steps: got 1.5"),
        ({"max_steps": 0, "steps": None}, "steps: got 0"),
        ({"learning_rate": -1}, "learning_rate: got -1, expected a number >= 0"),
        ({"learning_rate": "fast"}, "learning_rate: got 'fast'"),
        ({"learning_rate": math.nan}, "learning_rate: contains nan"),
        ({"weight_decay": [1, 2]}, "weight_decay: got"),
        ({"betas": (0.9,)}, "betas: got"),
        ({"betas": (0.9, 1.0)}, "expected a number >= 0 and < 1"),
        ({"momentum": 0.9, "optimizer": "adamw"}, "adamw has betas instead"),
        ({"nesterov": True}, "needs momentum"),
        ({"radius": 1, "norm_gamma": 1, "hidden_size": 4}, "two radii"),
        ({"norm_gamma": 1}, "needs hidden_size"),
        ({"lr_scheduler_type": "polynomial"}, "'polynomial' is not forecast"),
        ({"warmup_ratio": 2, "schedule": "linear"}, "warmup_ratio: got 2"),
        ({"tied": 1}, "tied: got 1; give True or False"),
        ({"frozen": "yes"}, "frozen: got 'yes'"),
        ({"dtype": "int8"}, "dtype: got 'int8'"),
        ({"lr_scheduler_kwargs": 3}, "lr_scheduler_kwargs: got 3"),
        ({"initial_scale": 0}, "expected a number > 0"),
        ({"weight_decay": 21}, "their product is 2.1"),
    ],
)
def test_bad_values_are_named(values, said):
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        forecast({"optimizer": "sgd", "learning_rate": 0.1, "steps": 10} | values)
    assert "\n" not in str(caught.value)


def test_bad_calls_are_named():
    with pytest.raises(InputError, match="give a TrainingSetup"):
        forecast(3)
    for config in (sgd(), ARGUMENTS):
        with pytest.raises(InputError, match="no_field"):
            forecast(config, no_field=3)


def test_the_package_is_the_function():
    assert collapse_theory.forecast(sgd(radius=1)).upper is not None
    assert sys.modules["collapse_theory.forecast"] is collapse_theory.forecast


# --------------------------------------------------------------------------------------------- text


@pytest.mark.parametrize(
    ("setup", "said"),
    [
        (sgd(steps=100_000, radius=1), "Unseen rows collapse"),
        (sgd(radius=1), "Unseen rows come together"),
        (sgd(radius=100), "too large for features of this length"),
        (sgd(radius=1, weight_decay=0.0), "never move apart"),
        (sgd(), "provided no feature is longer than"),
        (sgd(weight_decay=20.0), "Nothing is proved: learning rate times weight decay is above 1"),
        (sgd(radius=0.1, momentum=0.9, steps=10_000), "halving every"),
        (sgd(radius=0.1, momentum=0.9, steps=3), "too short"),
        (sgd(radius=100, momentum=0.9), "is too large for momentum"),
        (sgd(momentum=0.9), "before the features' radius is given"),
        (adamw(), "Nothing proves that unseen rows come together under AdamW"),
        (adamw(optimizer="adam"), "its weight decay is no decay by a factor"),
        (adamw(gradient="missing"), "do not move: they are frozen"),
        (adamw(gradient="zero"), "no collapse"),
        (adamw(dtype="bfloat16"), "Rounding to bfloat16 undoes weight decay: it moves no weight"),
        (adamw(learning_rate=0.03, dtype="bfloat16"), "stops within a power of two"),
    ],
)
def test_verdicts(setup, said):
    assert said in forecast(setup).verdict


def test_statuses_are_never_mixed():
    text = str(forecast(adamw(tied=True)))
    parts = re.split(
        r"^(PROVED|OBSERVED|NOT KNOWN|Decay or collapse.*|Remedies.*)$", text, flags=re.M
    )
    headings = parts[1::2]
    assert headings[:3] == ["PROVED", "OBSERVED", "NOT KNOWN"]
    proofs, rest = parts[2], parts[4] + parts[6]
    assert "[adamw_ball]" in proofs
    assert "[" not in rest
    assert "tied" in parts[6]


# ----------------------------------------------------------------------------- command line, figure


def test_the_command_says_writes_and_draws(tmp_path, capsys):
    file = tmp_path / "args.json"
    file.write_text(json.dumps(ARGUMENTS), encoding="utf-8")
    out, figure = tmp_path / "forecast.json", tmp_path / "forecast.svg"
    options = ["--initial-scale", "0.02", "--json", str(out), "--figure", str(figure)]
    assert main(["forecast", str(file), *options]) == 0
    said = capsys.readouterr().out
    result = forecast(ARGUMENTS, initial_scale=0.02)
    assert said == f"{result}\n\nfigure    {figure}\n"
    assert json.loads(out.read_text(encoding="utf-8")) == result.to_dict()
    assert figure.read_bytes().startswith(b"<?xml")
    assert main(["forecast", str(out), "--quiet"]) == 0
    assert forecast(result.setup).verdict in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give a FILE of hyperparameters, or options"),
        (["--optimizer", "sgd"], "learning_rate: not given"),
        (["nothing.json"], "nothing.json: no such file"),
        (["--lr", "-1"], "expected a number >= 0"),
        (["--optim", "lion", "--lr", "1", "--steps", "1"], "give one of sgd, adam, adamw"),
        (["--optim", "sgd", "--lr", "1", "--steps", "1", "--figure", "a.txt"], "name the figure"),
    ],
)
def test_bad_commands_exit_2(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["forecast", *arguments]) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert said in caught.err
    assert len(caught.err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def labels_of(result):
    with plots.style():
        _, (ax,) = plots.canvas("forecast")
        plots.forecast(ax, result)
    assert ax.get_yscale() == "log"
    return {line.get_label(): line for line in ax.get_lines()}


def test_the_figure_shows_what_is_proved_and_marks_what_is_not():
    known = labels_of(forecast(sgd(radius=1)))
    assert set(known) == {"upper bound", "lower bound"}
    assert known["upper bound"].get_ydata() == pytest.approx(forecast(sgd(radius=1)).upper)
    assert set(labels_of(forecast(adamw()))) == {"decay product, not a bound"}
    assert labels_of(forecast(adamw()))["decay product, not a bound"].get_linestyle() == "--"
    assert "upper bound" in labels_of(forecast(adamw(initial_scale=0.02)))
    assert "bfloat16: decay stops" in labels_of(forecast(adamw(dtype="bfloat16")))
    assert set(labels_of(forecast(adamw(gradient="zero")))) == {"exact"}


# ----------------------------------------------------------------------------------------- examples

PAGE = generate.FORECASTS.with_suffix(".md").read_text(encoding="utf-8")
EXAMPLES = sorted(generate.FORECASTS.glob("*.json"))


def test_there_are_five_examples():
    assert [file.stem for file in EXAMPLES] == sorted(
        ("frozen_head", "gpt2_adamw", "llama_cosine", "pure_bf16", "sgd")
    )


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_page_shows_what_the_command_prints(file, capsys):
    assert main(["forecast", str(file)]) == 0
    said = capsys.readouterr().out
    assert f"{file.name}\n{said}```" in PAGE
    assert max(map(len, said.splitlines())) <= 100
    assert file.name in PAGE


def test_what_the_examples_are_about():
    results = {file.stem: forecast(read_setup(file).setup) for file in EXAMPLES}
    # decay products worked out by hand from sum eta_t lam: 0.1 * 6e-4 * (0.55 of the steps after the warm-up, half of it)
    gpt2 = results["gpt2_adamw"].numbers["decay_product"]
    assert math.log(gpt2) == pytest.approx(-6e-5 * (0.55 * 598_000 + 1000), rel=1e-3)
    llama = results["llama_cosine"].numbers["decay_product"]
    assert math.log(llama) == pytest.approx(-3e-5 * (0.5 * 248_000 + 1000), rel=1e-3)
    assert results["pure_bf16"].floor.kept == 1
    assert results["sgd"].numbers["reset_period"] == 88
    assert results["frozen_head"].numbers["upper"] == 1


def test_the_pages_python_runs(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(block, "forecast.md", "exec"), {})
    assert "PROVED" in capsys.readouterr().out
