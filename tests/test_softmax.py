"""Probabilities, gradients and the operator M: equal to torch's autograd, and to their definitions in ball arithmetic."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from collapse_theory import InputError, softmax
from collapse_theory.arithmetic import FLOAT, SYMBOLIC, SymbolArray, ball

B = ball(128)
RELATIVE = 1e-12


@st.composite
def heads(draw, lead=(), unseen=False):
    """Weights, features, labels and batch weights of random sizes; logits from 1e-6 to 30."""
    labels, dim, examples = (
        draw(st.integers(3, 7)),
        draw(st.integers(1, 6)),
        draw(st.integers(1, 6)),
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scale = 10.0 ** draw(st.integers(-3, 3))
    spread = 10.0 ** draw(st.integers(-6, 1))
    weights = scale * rng.standard_normal((*lead, labels, dim))
    features = spread / scale * rng.standard_normal((*lead, examples, dim))
    targets = rng.integers(2 if unseen else 0, labels, (*lead, examples))
    shares = rng.multinomial(1024, np.full(examples, 1 / examples), lead) / 1024
    return weights, features, targets, shares


def in_balls(*arrays):
    return [B.asarray(a) for a in arrays]


def assert_same(got, expected, scale=None):
    """Equal to 1e-12 of the largest entry (or of ``scale``)."""
    scale = np.abs(expected).max() if scale is None else scale
    assert got.shape == expected.shape
    assert np.abs(got - expected).max() <= RELATIVE * scale


def assert_overlap(x, y, scale):
    """Two ball formulas for one value: their enclosures meet, and both are far narrower than ``scale``."""
    assert x.shape == y.shape
    assert all(a.overlaps(b) for a, b in zip(x.balls.flat, y.balls.flat, strict=True))
    assert max(x.radii().max(), y.radii().max()) <= 2.0**-90 * scale


@given(heads())
def test_equal_to_autograd(head):
    weights, features, targets, shares = head
    w = torch.tensor(weights, requires_grad=True)
    z = torch.tensor(features) @ w.T
    losses = functional.cross_entropy(z, torch.tensor(targets), reduction="none")
    loss = (torch.tensor(shares) * losses).sum()
    loss.backward()
    size = 1 + np.abs(z.detach().numpy()).max()
    assert_same(softmax.logits(weights, features), z.detach().numpy(), size)
    log_p = softmax.log_probabilities(FLOAT, weights, features)
    assert_same(log_p, torch.log_softmax(z, dim=-1).detach().numpy(), size)
    p = softmax.probabilities(FLOAT, weights, features)
    np.testing.assert_allclose(p, torch.softmax(z, dim=-1).detach().numpy(), 1e-12 * size)
    got = softmax.loss(FLOAT, weights, features, targets, shares)
    assert_same(got, np.asarray(loss.item()), size)
    gradient = softmax.gradient(FLOAT, weights, features, targets, shares)
    assert_same(gradient, w.grad.numpy(), np.abs(shares @ np.abs(features)).max())


@given(heads(lead=(2, 3)))
@settings(max_examples=10)
def test_batch_axes(head):
    weights, features, targets, shares = head
    together = softmax.gradient(FLOAT, weights, features, targets, shares)
    losses = softmax.loss(FLOAT, weights, features, targets, shares)
    assert losses.shape == (2, 3)
    for index in np.ndindex(2, 3):
        one = softmax.gradient(
            FLOAT, weights[index], features[index], targets[index], shares[index]
        )
        assert_same(together[index], one, np.abs(features).max())


@given(heads())
@settings(max_examples=25)
def test_balls_enclose_and_floats_are_near(head):
    weights, features, targets, shares = head
    w, x, a = in_balls(weights, features, shares)
    size = 1 + np.abs(features @ weights.T).max()
    p = softmax.probabilities(B, w, x)
    total = B.sum(p)
    assert all(t.contains(1) for t in total.balls.flat)
    assert (B.sign(p) == 1).all()
    enclosed = softmax.gradient(B, w, x, targets, a)
    floats = softmax.gradient(FLOAT, weights, features, targets, shares)
    assert_same(floats, enclosed.midpoints(), np.abs(features).max() * size)
    assert enclosed.radii().max() <= 2.0**-90 * np.abs(features).max() * size


def test_probabilities_far_below_the_smallest_float():
    weights, features = np.array([[-1000.0], [0.0], [800.0]]), np.array([[1.0]])
    assert softmax.log_probabilities(FLOAT, weights, features).tolist() == [[-1800, -800, 0]]
    p = softmax.probabilities(B, *in_balls(weights, features))
    assert (B.sign(p) == 1).all()
    assert softmax.probabilities(FLOAT, weights, features)[0].tolist() == [0, 0, 1]


def test_one_hot():
    hot = softmax.one_hot(np.array([[0, 2], [1, 5]]), 3)
    assert hot.tolist() == [[[1, 0, 0], [0, 0, 1]], [[0, 1, 0], [0, 0, 0]]]


@given(heads())
@settings(max_examples=25)
def test_probability_difference_is_mean_times_logit_difference(head):
    """``p_0 - p_1 = L <D, x>``, and L lies between the geometric and the arithmetic mean, below 1/2."""
    weights, features, *_ = head
    w, x = in_balls(weights, features)
    p = softmax.probabilities(B, w, x)
    d, means = softmax.pair_means(B, w, x, w[0] - w[1])
    assert_overlap(p[:, 0] - p[:, 1], means * d, 1)
    assert (B.nonnegative(means * means - p[:, 0] * p[:, 1]) >= 0).all()
    assert (B.nonnegative((p[:, 0] + p[:, 1]) / 2 - means) >= 0).all()
    assert (B.sign(0.5 - means) == 1).all()


def pair_gradient(ops, weights, features, targets, shares):
    difference = weights[..., 0, :] - weights[..., 1, :]
    d, means = softmax.pair_means(ops, weights, features, difference)
    return softmax.pair_gradient(ops, features, targets, shares, means, d), means, difference


@given(heads())
@settings(max_examples=40)
def test_pair_gradient_is_the_difference_of_two_rows(head):
    """Whether or not the pair are targets."""
    weights, features, targets, shares = head
    w, x, a = in_balls(weights, features, shares)
    got, *_ = pair_gradient(B, w, x, targets, a)
    gradient = softmax.gradient(B, w, x, targets, a)
    scale = np.abs(features).max() * (1 + np.abs(features @ weights.T).max())
    assert_overlap(got, gradient[0] - gradient[1], scale)
    floats, *_ = pair_gradient(FLOAT, weights, features, targets, shares)
    rows = softmax.gradient(FLOAT, weights, features, targets, shares)
    assert_same(floats, rows[0] - rows[1], scale)


@pytest.mark.parametrize("closeness", [1e-3, 1e-8, 1e-15])
def test_pair_gradient_keeps_its_digits_for_close_rows(closeness):
    """Subtracting the rows of the gradient would lose them: that is what the function is for."""
    rng = np.random.default_rng(3)
    weights, features = rng.standard_normal((4, 3)), rng.standard_normal((5, 3))
    targets, shares = np.full(5, 2), np.full(5, 0.25)
    weights[1] = 0
    weights[0] = closeness * rng.standard_normal(3)
    floats, *_ = pair_gradient(FLOAT, weights, features, targets, shares)
    enclosed, *_ = pair_gradient(B, *in_balls(weights, features), targets, B.asarray(shares))
    assert_same(floats, enclosed.midpoints())
    rows = softmax.gradient(FLOAT, weights, features, targets, shares)
    naive = np.abs(rows[0] - rows[1] - floats).max() / np.abs(floats).max()
    assert naive < 1e-12 or closeness < 1e-3
    assert naive > 1e-10 or closeness > 1e-15


@given(heads(unseen=True))
@settings(max_examples=40)
def test_operator(head):
    """M is symmetric and positive semidefinite, its trace is ``operator_trace``, and ``M D`` is the pair's gradient."""
    weights, features, targets, shares = head
    got, means, difference = pair_gradient(FLOAT, weights, features, targets, shares)
    operator = softmax.operator(FLOAT, features, shares, means)
    trace = softmax.operator_trace(FLOAT, features, shares, means)
    dim = features.shape[-1]
    assert operator.shape == (dim, dim)
    by_hand = sum(a * m * np.outer(x, x) for a, m, x in zip(shares, means, features, strict=True))
    assert_same(operator, by_hand, trace)
    assert_same(operator, operator.T, trace)
    assert np.linalg.eigvalsh(operator).min() >= -RELATIVE * trace
    assert_same(np.trace(operator), trace)
    assert_same(operator @ difference, got, trace * np.abs(difference).max())

    w, x, a = in_balls(weights, features, shares)
    got, means, difference = pair_gradient(B, w, x, targets, a)
    operator = softmax.operator(B, x, a, means)
    assert_overlap(operator, operator.swapaxes(-1, -2), float(trace))
    assert_overlap(operator @ difference, got, trace * np.abs(difference.midpoints()).max())
    total = B.sum(B.stack([operator[j, j] for j in range(dim)]))
    assert_overlap(total, softmax.operator_trace(B, x, a, means), float(trace))
    v = B.asarray(np.random.default_rng(0).standard_normal(dim))
    assert B.nonnegative(v @ (operator @ v)) >= 0


def test_symbols_give_the_textbook_formulas():
    """K = 3, n = N = 1: the same code read off as an expression."""
    import sympy

    w = np.array([[sympy.Symbol(f"w{k}", real=True)] for k in range(3)])
    x, a = np.array([[sympy.Symbol("x", real=True)]]), np.array([sympy.Symbol("a", real=True)])
    loss = softmax.loss(SYMBOLIC, w, x, np.array([2]), a)
    trace = softmax.operator_trace(
        SYMBOLIC, x, a, softmax.pair_means(SYMBOLIC, w, x, w[0] - w[1])[1]
    )
    for scalar in (loss, trace):  # arrays without axes, as floats and balls would be
        assert isinstance(scalar, SymbolArray)
        assert scalar.shape == ()
    loss = loss.item()
    gradient = softmax.gradient(SYMBOLIC, w, x, np.array([2]), a)
    for k in range(3):
        assert sympy.simplify(sympy.diff(loss, w[k, 0]) - gradient[k, 0]) == 0
    d, means = softmax.pair_means(SYMBOLIC, w, x, w[0] - w[1])
    pair = softmax.pair_gradient(SYMBOLIC, x, np.array([2]), a, means, d)
    assert sympy.simplify(pair[0] - (gradient[0, 0] - gradient[1, 0])) == 0
    m = softmax.operator(SYMBOLIC, x, a, means)
    assert sympy.simplify(m[0, 0] * (w[0, 0] - w[1, 0]) - pair[0]) == 0
    assert sympy.simplify(trace.item() - m[0, 0]) == 0


@pytest.mark.parametrize("label", [3, -1])
def test_a_label_out_of_range_is_refused(label):
    head = (FLOAT, np.zeros((1, 3, 1)), np.ones((1, 1, 1)), np.array([[label]]), np.ones((1, 1)))
    for function in (softmax.loss, softmax.gradient):
        with pytest.raises(InputError, match=f"labels: {label} is out of range"):
            function(*head)
