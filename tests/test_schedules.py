"""Schedules of the step size: torch's schedulers and Hugging Face's formulas."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from collapse_theory import schedules
from collapse_theory.errors import InputError


def by_torch(make, peak, steps):
    """The step size of each step under a scheduler of torch."""
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=peak)
    scheduler = make(optimizer)
    rates = []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return np.array(rates)


def of_lambda(factor):
    return lambda optimizer: torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def close(got, wanted):
    assert got.shape == wanted.shape
    assert np.allclose(got, wanted, rtol=1e-12, atol=1e-15)


sizes = st.tuples(st.integers(1, 40), st.integers(0, 40)).filter(lambda s: s[1] <= s[0])
peaks = st.floats(1e-6, 10)


def progress(k, steps, warmup):
    return (k - warmup) / max(1, steps - warmup)


# Each as Hugging Face's transformers/optimization.py states it, step by step.
FORMULAS = {
    "constant": lambda k, steps, warmup: 1.0,
    "linear": lambda k, steps, warmup: max(0.0, (steps - k) / max(1, steps - warmup)),
    "cosine": lambda k, steps, warmup: 0.5 * (1 + math.cos(math.pi * progress(k, steps, warmup))),
}


@pytest.mark.parametrize("name", FORMULAS)
@given(sizes, peaks)
def test_equal_to_lambda_lr(name, size, peak):
    steps, warmup = size

    def factor(k):
        return k / warmup if k < warmup else FORMULAS[name](k, steps, warmup)

    got = schedules.schedule(name, peak, steps, warmup=warmup)
    close(got, by_torch(of_lambda(factor), peak, steps))


@given(sizes, st.integers(0, 40), st.floats(0, 1), peaks)
def test_wsd_is_equal_to_lambda_lr(size, decay, least, peak):
    steps, warmup = size
    decay = min(decay, steps - warmup)

    def factor(k):
        if k < warmup:
            return k / warmup
        if k < steps - decay or not decay:
            return 1.0
        return least + (1 - least) * (1 - (k - (steps - decay)) / decay)

    got = schedules.wsd(peak, steps, warmup=warmup, decay=decay, least=least)
    close(got, by_torch(of_lambda(factor), peak, steps))


@given(st.integers(1, 40), peaks)
def test_cosine_is_cosine_annealing(steps, peak):
    wanted = by_torch(
        lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=steps), peak, steps
    )
    # torch computes each rate from the one before, whose errors add up.
    assert np.allclose(schedules.cosine(peak, steps), wanted, rtol=1e-10, atol=1e-13 * peak)


@given(st.integers(1, 12), st.integers(1, 5), peaks)
def test_restarts_are_warm_restarts(length, cycles, peak):
    steps = length * cycles
    wanted = by_torch(
        lambda o: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, T_0=length), peak, steps
    )
    close(schedules.restarts(peak, steps, cycles=cycles), wanted)


@pytest.mark.parametrize("name", schedules.SCHEDULES)
@given(sizes, peaks)
def test_between_zero_and_the_peak_which_is_reached_after_the_warm_up(name, size, peak):
    steps, warmup = size
    got = schedules.schedule(name, peak, steps, warmup=warmup)
    assert got.shape == (steps,)
    assert (got >= 0).all()
    assert (got <= peak * (1 + 1e-15)).all()
    if warmup < steps:
        assert got[warmup] == peak
    if warmup:
        assert got[0] == 0


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("sawtooth", {}, "sawtooth"),
        ("cosine", {"steps": -1}, "steps"),
        ("cosine", {"warmup": 11}, "warmup is 11"),
        ("linear", {"peak": float("nan")}, "peak"),
        ("linear", {"peak": [0.1, 0.2]}, "one number"),
        ("wsd", {"warmup": 5, "decay": 6}, "decay 6"),
        ("wsd", {"least": 2.0}, "least"),
        ("restarts", {"cycles": 0}, "cycles"),
    ],
)
def test_bad_input_is_refused(name, options, message):
    with pytest.raises(InputError, match=message):
        schedules.schedule(name, **{"peak": 0.1, "steps": 10, **options})
