"""Update rules: equal to torch.optim step by step, linear, and the same in every arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
import sympy
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from collapse_theory import softmax
from collapse_theory.arithmetic import FLOAT, SYMBOLIC, BallArray, ball
from collapse_theory.optimizers import gradient_descent

RELATIVE = 1e-12
RULES = [False, True]


def problem(seed):
    rng = np.random.default_rng(seed)
    features = torch.tensor(rng.standard_normal((20, 5)))
    return torch.tensor(rng.standard_normal((6, 5))), features, torch.tensor(rng.integers(2, 6, 20))


def own_gradient(weights, features, targets):
    shares = np.full(len(targets), 1 / len(targets))
    return softmax.gradient(FLOAT, weights, features.numpy(), targets.numpy(), shares)


@pytest.mark.parametrize("weight_decay", [0.0, 1e-4, 0.3, 2.5])
@pytest.mark.parametrize("step_size", [1e-5, 0.1, 1.7])
def test_coupled_equals_torch_sgd_at_every_step(step_size, weight_decay):
    weights, features, targets = problem(0)
    parameter = weights.clone().requires_grad_()
    sgd = torch.optim.SGD([parameter], lr=step_size, weight_decay=weight_decay)
    for _ in range(300):
        before = parameter.detach().numpy().copy()
        sgd.zero_grad()
        functional.cross_entropy(features @ parameter.T, targets).backward()
        sgd.step()
        after = parameter.detach().numpy()
        scale = np.abs(before).max()
        options = {"step_size": step_size, "weight_decay": weight_decay}
        for gradient in (parameter.grad.numpy(), own_gradient(before, features, targets)):
            got = gradient_descent(before, gradient, **options)
            assert np.abs(got - after).max() <= RELATIVE * scale


@pytest.mark.parametrize("weight_decay", [0.0, 1e-4, 0.3, 2.5])
@pytest.mark.parametrize("step_size", [1e-5, 0.1, 1.7])
def test_decoupled_equals_adamws_decay_done_in_torch_at_every_step(step_size, weight_decay):
    """``p.mul_(1 - lr wd)`` and then the gradient step, as torch.optim.AdamW does it."""
    weights, features, targets = problem(1)
    parameter = weights.clone().requires_grad_()
    for _ in range(300):
        before = parameter.detach().numpy().copy()
        parameter.grad = None
        functional.cross_entropy(features @ parameter.T, targets).backward()
        with torch.no_grad():
            parameter.mul_(1 - step_size * weight_decay)
            parameter.add_(parameter.grad, alpha=-step_size)
        after = parameter.detach().numpy()
        got = gradient_descent(
            before,
            own_gradient(before, features, targets),
            step_size=step_size,
            weight_decay=weight_decay,
            decoupled=True,
        )
        assert np.abs(got - after).max() <= RELATIVE * np.abs(before).max()


def test_torch_tensors():
    weights, features, targets = problem(2)
    parameter = weights.clone().requires_grad_()
    sgd = torch.optim.SGD([parameter], lr=0.1, weight_decay=0.2)
    functional.cross_entropy(features @ parameter.T, targets).backward()
    sgd.step()
    for decoupled in RULES:
        got = gradient_descent(
            weights, parameter.grad, step_size=0.1, weight_decay=0.2, decoupled=decoupled
        )
        torch.testing.assert_close(got, parameter.detach(), rtol=RELATIVE, atol=0)


def test_scalars_broadcast_over_batches():
    rng = np.random.default_rng(0)
    weights, gradient = rng.standard_normal((2, 3, 4, 5)), rng.standard_normal((2, 3, 4, 5))
    eta, lam = rng.random((2, 3)), rng.random((2, 3))
    for decoupled in RULES:
        got = gradient_descent(
            weights,
            gradient,
            step_size=eta[..., None, None],
            weight_decay=lam[..., None, None],
            decoupled=decoupled,
        )
        for i in np.ndindex(2, 3):
            one = gradient_descent(
                weights[i], gradient[i], step_size=eta[i], weight_decay=lam[i], decoupled=decoupled
            )
            assert np.array_equal(got[i], one)


# Exact arithmetic: eighths, as fractions and as balls wide enough to be exact.

eighth = st.integers(-80, 80).map(lambda k: Fraction(k, 8))
vector = st.lists(eighth, min_size=3, max_size=3).map(lambda v: np.array(v, dtype=object))


def descend(weights, gradient, eta, lam, decoupled):
    return gradient_descent(weights, gradient, step_size=eta, weight_decay=lam, decoupled=decoupled)


@given(vector, vector, eighth, eighth)
def test_balls_are_exact_and_both_rules_are_one_map(w, g, eta, lam):
    expected = [(1 - eta * lam) * a - eta * b for a, b in zip(w, g, strict=True)]
    ops = ball(64)
    enclosed = [ops.asarray(np.asarray(v, float)) for v in (w, g, eta, lam)]
    for decoupled in RULES:
        assert list(descend(w, g, eta, lam, decoupled)) == expected
        got = descend(*enclosed, decoupled)
        assert isinstance(got, BallArray)
        assert got.midpoints().tolist() == [float(v) for v in expected]
        assert not got.radii().any()


@given(vector, vector, vector, vector, eighth, eighth, eighth, eighth)
def test_linear_in_weights_and_gradient_together(w, g, v, h, eta, lam, s, t):
    for decoupled in RULES:
        together = descend(s * w + t * v, s * g + t * h, eta, lam, decoupled)
        apart = s * descend(w, g, eta, lam, decoupled) + t * descend(v, h, eta, lam, decoupled)
        assert list(together) == list(apart)


def test_symbols():
    w, g, eta, lam = (np.array(sympy.Symbol(name, real=True)) for name in ("w", "g", "eta", "lam"))
    for decoupled in RULES:
        got = SYMBOLIC.asarray(descend(w, g, eta, lam, decoupled))[()]
        assert sympy.expand(got - (w[()] - eta[()] * (g[()] + lam[()] * w[()]))) == 0


def test_options_are_keyword_only():
    with pytest.raises(TypeError):
        gradient_descent(np.ones(2), np.ones(2), 0.1, 0.1)
