"""The radius of a normalised feature: no z exceeds it, its maximiser reaches it, real layers stay within it."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize

from collapse_theory.errors import InputError
from collapse_theory.normalization import KINDS, feature_radius

LAYER, RMS = KINDS


@st.composite
def layers(draw, most=12):
    """Kind, gamma, beta, and a generator: many scales, zeros, repeated and nearly repeated entries, hard cases."""
    kind = draw(st.sampled_from(KINDS))
    n = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    gamma = rng.standard_normal(n)
    if draw(st.booleans()):
        gamma = np.round(gamma)  # zeros and repeated entries
    if draw(st.booleans()):
        gamma = 1 + gamma * 10.0 ** -draw(st.integers(0, 17))
    beta = rng.standard_normal(n) * 10.0 ** draw(st.integers(-20, 20))
    if draw(st.booleans()):
        beta[np.abs(gamma) == np.abs(gamma).max()] = draw(st.sampled_from([0.0, 1.0]))
    scale = 10.0 ** draw(st.integers(-30, 30))
    return kind, gamma * scale, beta * scale, rng


def feasible(kind, rows):
    """Rows scaled onto the sphere ``|z|^2 = n``, first centred for LayerNorm."""
    if kind == LAYER:
        rows = rows - rows.mean(-1, keepdims=True)
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows * (math.sqrt(rows.shape[-1]) / np.where(norms > 0, norms, 1))


def lengths(gamma, beta, z):
    return np.linalg.norm(gamma * z + beta, axis=-1)


def exact_excess(gamma, beta, z, sharp):
    """``|gamma z + beta|^2 / sharp^2 - 1`` in rational arithmetic, for a z that is feasible to rounding."""
    square = sum(
        (Fraction(g) * Fraction(x) + Fraction(b)) ** 2
        for g, b, x in zip(gamma.tolist(), beta.tolist(), z.tolist(), strict=True)
    )
    return float(square / Fraction(sharp) ** 2 - 1)


def climbed(kind, gamma, beta, rng, starts=200, steps=300):
    """The longest feature found by the power method from many starts: independent of the secular equation."""
    z = feasible(kind, rng.standard_normal((starts, len(gamma))))
    for _ in range(steps):
        z = feasible(kind, gamma * (gamma * z + beta))
    return lengths(gamma, beta, z).max()


# -------------------------------------------------------------------------------------- on any layer


@given(layers())
@example((LAYER, np.ones(3), np.ones(3), np.random.default_rng(0)))
@example((RMS, np.zeros(4), np.zeros(4), np.random.default_rng(0)))
def test_the_sharp_radius_is_a_bound_that_the_maximiser_reaches(layer):
    kind, gamma, beta, rng = layer
    radius = feature_radius(gamma, beta, kind=kind)
    assert radius.sharp <= radius.crude * (1 + 1e-12)
    z, n = radius.maximiser, len(gamma)
    if kind == LAYER:
        assert abs(z.sum()) <= 1e-12 * n
    if (kind, n) != (LAYER, 1):
        assert abs(z @ z / n - 1) <= 1e-12
    assert abs(lengths(gamma, beta, z) - radius.sharp) <= 1e-9 * radius.sharp
    if radius.sharp > 0:
        assert exact_excess(gamma, beta, z, radius.sharp) <= 1e-13 + 4e-15 * n
    others = feasible(kind, rng.standard_normal((500, n)))
    near = feasible(kind, z + 0.01 * rng.standard_normal((500, n)))
    for some in (others, near, 0.7 * others):
        assert (lengths(gamma, beta, some) <= radius.sharp * (1 + 1e-12)).all()


@given(layers(most=8))
def test_no_climb_passes_the_sharp_radius(layer):
    """The climb may fall short: it is slow where the largest entries of gamma are close."""
    kind, gamma, beta, rng = layer
    radius = feature_radius(gamma, beta, kind=kind)
    found = climbed(kind, gamma, beta, rng, starts=50, steps=50)
    assert found <= radius.sharp * (1 + 1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 4, 7])
def test_equal_to_the_best_of_many_climbs(kind, n):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        gamma, beta = rng.standard_normal(n), rng.standard_normal(n) * rng.choice([0.1, 1, 10])
        radius = feature_radius(gamma, beta, kind=kind)
        found = climbed(kind, gamma, beta, rng)
        assert abs(found / radius.sharp - 1) <= 1e-9
        assert found > 0.999 * radius.sharp  # the mutated twin: a bound of 0.999 sharp is passed


@pytest.mark.parametrize("kind", KINDS)
def test_equal_to_a_general_solver(kind):
    n = 5
    for seed in range(3):
        rng = np.random.default_rng(seed)
        gamma, beta = rng.standard_normal(n), rng.standard_normal(n)
        constraints = [{"type": "ineq", "fun": lambda z: n - z @ z, "jac": lambda z: -2 * z}]
        if kind == LAYER:
            constraints.append({"type": "eq", "fun": np.sum, "jac": np.ones_like})
        best = max(
            -minimize(
                lambda z, g=gamma, b=beta: -((g * z + b) ** 2).sum(),
                start,
                jac=lambda z, g=gamma, b=beta: -2 * g * (g * z + b),
                constraints=constraints,
                method="SLSQP",
                options={"ftol": 1e-14, "maxiter": 500},
            ).fun
            for start in feasible(kind, rng.standard_normal((20, n)))
        )
        assert abs(math.sqrt(best) / feature_radius(gamma, beta, kind=kind).sharp - 1) <= 1e-7


@pytest.mark.parametrize(("kind", "n"), [(RMS, 2), (LAYER, 3), (RMS, 3)])
def test_equal_to_brute_force_on_a_fine_grid(kind, n):
    """A circle of 200,000 points; a sphere of 1,000 x 2,000."""
    if n == 2 or kind == LAYER:
        angle = np.linspace(0, 2 * math.pi, 200_000)
        z = np.stack([np.cos(angle), np.sin(angle)], -1)
        if kind == LAYER:
            z = z @ (np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]]))
        fine = 1e-8
    else:
        polar, angle = np.meshgrid(np.linspace(0, math.pi, 1000), np.linspace(0, 6.2832, 2000))
        z = np.stack(
            [np.sin(polar) * np.cos(angle), np.sin(polar) * np.sin(angle), np.cos(polar)], -1
        ).reshape(-1, 3)
        fine = 1e-4
    z = z * math.sqrt(n)
    for seed in range(4):
        gamma, beta = np.random.default_rng(seed).standard_normal((2, n))
        radius = feature_radius(gamma, beta, kind=kind)
        best = lengths(gamma, beta, z).max()
        assert radius.sharp * (1 - fine) <= best <= radius.sharp * (1 + 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_large_layers_reach_the_same_value_from_both_sides(kind):
    """The dual value bounds from above, the maximiser from below; n = 8192 takes milliseconds."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        gamma, beta = 1 + 0.3 * rng.standard_normal(8192), 0.2 * rng.standard_normal(8192)
        radius = feature_radius(gamma, beta, kind=kind)
        assert abs(lengths(gamma, beta, radius.maximiser) / radius.sharp - 1) <= 1e-12


# ------------------------------------------------------------------------------------ special layers


def test_equal_gammas_have_known_radii():
    """RMSNorm: all of beta can be met. LayerNorm: its part of sum zero, the mean stays as it is."""
    beta = np.array([3.0, -1.0, 4.0, 1.0])
    mean, apart = beta.mean(), np.linalg.norm(beta - beta.mean())
    radius = feature_radius(np.full(4, -2.0), beta, kind=RMS)
    assert radius.sharp == pytest.approx(4 + np.linalg.norm(beta), rel=1e-14)
    assert radius.sharp == pytest.approx(radius.crude, rel=1e-14)
    radius = feature_radius(np.full(4, -2.0), beta, kind=LAYER)
    assert radius.sharp == pytest.approx(math.hypot(4 + apart, 2 * mean), rel=1e-14)


def test_hard_case_with_a_simple_top():
    """beta has no part along the largest gamma: ``4 z_0^2 + (z_1 + 1)^2`` with ``z_1 = 1/3`` at the maximum."""
    radius = feature_radius([2.0, 1.0], [0.0, 1.0], kind=RMS)
    assert radius.sharp == pytest.approx(math.sqrt(4 * (2 - 1 / 9) + 16 / 9), rel=1e-14)
    assert radius.maximiser[1] == pytest.approx(1 / 3, rel=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_hard_case_with_a_multiple_top(kind):
    gamma, beta = np.array([2.0, -2.0, 2.0, 1.0, 0.0]), np.array([0, 0, 0, 0.5, 0.2])
    radius = feature_radius(gamma, beta, kind=kind)
    found = climbed(kind, gamma, beta, np.random.default_rng(0))
    assert found == pytest.approx(radius.sharp, rel=1e-12)


def test_hard_case_on_the_hyperplane():
    """c is orthogonal to the top eigenvector v of the projected matrix, though not to the largest coordinate."""
    gamma = np.array([2.0, 1.0, 0.5, 0.25])
    centre = np.eye(4) - 0.25
    v = np.linalg.eigh(centre @ np.diag(gamma**2) @ centre)[1][:, -1]
    c = np.array([0.1, -0.3, 0.2, 0.0])
    c -= (c @ v) * v
    radius = feature_radius(gamma, c / gamma, kind=LAYER)
    found = climbed(LAYER, gamma, c / gamma, np.random.default_rng(0))
    assert found == pytest.approx(radius.sharp, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_gamma_with_zeros(kind):
    radius = feature_radius([0.0, 0.0, 0.0], [1.0, 2.0, 2.0], kind=kind)
    assert radius.sharp == radius.crude == 3
    gamma, beta = np.array([0.0, 3.0, 0.0]), np.array([1.0, 0.0, 2.0])
    most = 3.0 if kind == RMS else 2.0  # the largest z_1^2
    radius = feature_radius(gamma, beta, kind=kind)
    assert radius.sharp == pytest.approx(math.sqrt(9 * most + 5), rel=1e-14)


def test_one_dimension():
    assert feature_radius([-2.0], [3.0], kind=RMS).sharp == 5
    radius = feature_radius([-2.0], [3.0], kind=LAYER)  # LayerNorm of one number is beta
    assert (radius.sharp, radius.crude, radius.maximiser.tolist()) == (3, 5, [0])


def test_bias_defaults_to_zero_and_tensors_are_taken():
    gamma = torch.tensor([1.0, -3.0, 0.5])
    radius = feature_radius(gamma, kind=RMS)
    assert radius.sharp == pytest.approx(3 * math.sqrt(3), rel=1e-14)
    assert radius.sharp == pytest.approx(radius.crude, rel=1e-14)
    assert feature_radius(gamma, torch.zeros(3), kind=RMS).sharp == radius.sharp


@pytest.mark.parametrize("exponent", [-300, -150, 150, 300])
@pytest.mark.parametrize("kind", KINDS)
def test_extreme_scales(kind, exponent):
    gamma, beta = np.array([1.0, -0.5, 0.25]), np.array([0.5, 1.0, -1.0])
    scale = 2.0**exponent
    radius = feature_radius(gamma * scale, beta * scale, kind=kind)
    assert radius.sharp == feature_radius(gamma, beta, kind=kind).sharp * scale


# --------------------------------------------------------------------------------------- real layers


def layer_of(kind, gamma, beta, eps=1e-6):
    n = len(gamma)
    if kind == LAYER:
        layer = torch.nn.LayerNorm(n, eps=eps, dtype=torch.float64)
        layer.bias.data = torch.tensor(beta)
    else:
        layer = torch.nn.RMSNorm(n, eps=eps, dtype=torch.float64)
    layer.weight.data = torch.tensor(gamma)

    def run(h):
        x = layer(torch.tensor(h)).detach().numpy()
        return x if kind == LAYER else x + beta

    return run


@pytest.mark.parametrize("kind", KINDS)
@given(layers(most=20), st.integers(-3, 6))
def test_real_layers_stay_within(kind, drawn, exponent):
    _, gamma, beta, rng = drawn
    radius = feature_radius(gamma, beta, kind=kind)
    h = rng.standard_normal((200, len(gamma))) * 10.0**exponent + rng.standard_normal()
    x = layer_of(kind, gamma, beta)(h)
    assert (np.linalg.norm(x, axis=-1) <= radius.sharp * (1 + 1e-12)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_real_layers_reach_it(kind):
    rng = np.random.default_rng(5)
    gamma, beta = rng.standard_normal((2, 64))
    radius = feature_radius(gamma, beta, kind=kind)
    x = layer_of(kind, gamma, beta)(1e3 * radius.maximiser)
    assert 1 - 1e-6 <= np.linalg.norm(x) / radius.sharp <= 1 + 1e-12
    assert np.linalg.norm(x) > 0.999 * radius.sharp  # the mutated twin


# ----------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("weight", "bias", "kind", "says"),
    [
        ([1.0, math.nan], None, RMS, "weight: contains nan"),
        ([1.0, math.inf], None, RMS, "weight: contains inf"),
        ([1.0, True], None, RMS, "weight: contains a bool"),
        (["a"], None, RMS, "weight: got 'a'"),
        ([1.0, 1.0], [0.0, math.nan], RMS, "bias: contains nan"),
        ([1.0, 1.0], [0.0], RMS, r"bias: has shape \(1,\); give \[n\] = \(2,\)"),
        ([[1.0]], None, RMS, r"weight: has shape \(1, 1\)"),
        ([], None, RMS, r"weight: has shape \(0,\)"),
        (1.0, None, RMS, r"weight: has shape \(\)"),
        ([1.0], None, "batch_norm", "kind: got 'batch_norm'; give 'layer_norm' or 'rms_norm'"),
        ([1.7e308, 1.7e308], None, RMS, "exceeds the largest float"),
    ],
)
def test_bad_input(weight, bias, kind, says):
    with pytest.raises(InputError, match=says) as caught:
        feature_radius(weight, bias, kind=kind)
    assert "\n" not in str(caught.value)
