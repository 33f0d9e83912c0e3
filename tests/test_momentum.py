"""Batches that come and go drive an oscillation apart: why the claims about momentum ask for so small a step."""

import numpy as np
import pytest

from collapse_theory import get_claim
from collapse_theory.arithmetic import ball
from collapse_theory.instances import MomentumRun

BETA, DRIFT = 0.9, 1e-4
CASES = {
    # how long M is 0, how long it is there, eta T, and how often
    "momentum_coupled": ("coupled", 14, 6, 0.1, 25),
    "nesterov": ("nesterov", 11, 2, 0.332, 20),
}


def run(there, step):
    """One feature 1 where `there` says so, else 0; the target logit is so low, all along, that L is 1/2."""
    steps = len(there)
    return MomentumRun.create(
        weights=[[1e-12], [0.0], [-1e6]],
        features=np.array(there, dtype=float)[:, None, None],
        labels=np.full((steps, 1), 2),
        example_weights=np.ones((steps, 1)),
        step_size=2 * step,
        weight_decay=DRIFT / (2 * step),
        momentum=BETA,
        curvature=0.5 * (1 + 1e-9),
    )


def sides(claim, instance):
    return float(claim.lhs(instance)[0]), float(claim.rhs(instance)[0])


@pytest.mark.parametrize("name", CASES)
def test_switching_batches_diverge_where_constant_ones_do_not(name):
    kind, off, on, step, times = CASES[name]
    claim = get_claim(name)
    switching = run(([0] * off + [1] * on) * times, step)
    constant = run([1] * (off + on) * times, step)
    for instance in (switching, constant):
        margins = {h.id: float(np.min(h.margin(instance))) for h in claim.hypotheses}
        assert margins.pop("step_size") < 0
        assert min(margins.values()) >= 0
    lhs, rhs = sides(claim, constant)
    assert lhs < rhs
    lhs, rhs = sides(claim, switching)
    assert lhs > 10 * rhs
    assert lhs > 10 * float(abs(getattr(switching, kind).first[0, 0]))
    exact = switching.to(ball(256))
    assert (exact.ops.sign(claim.lhs(exact) - claim.rhs(exact)) == 1).all()


@pytest.mark.parametrize("name", CASES)
def test_within_the_condition_the_same_batches_do_no_harm(name):
    _, off, on, _, times = CASES[name]
    claim = get_claim(name)
    calm = run(([0] * off + [1] * on) * times, 0.005)
    assert all((np.asarray(h.margin(calm)) >= 0).all() for h in claim.hypotheses)
    lhs, rhs = sides(claim, calm)
    assert lhs <= rhs


def test_a_constant_batch_is_stable_far_beyond_the_condition():
    """Heavy ball with constant M is stable up to eta M = 2(1 + beta) = 3.8, the condition of the claim ends at 0.0101."""
    for step, stable in ((3.7, True), (3.9, False)):
        left = run([1] * 1000, step).coupled
        assert (abs(float(left.last[0, 0])) < 1e-12) is stable
