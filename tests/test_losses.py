"""Gradients of the loss's variants, and clipping: equal to torch's autograd and ``torch.nn.utils``, and near their balls."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from collapse_theory import losses, softmax
from collapse_theory.arithmetic import FLOAT, ball

B = ball(128)
RELATIVE = 1e-12
LEADS = ((), (1,), (3,), (2, 3))


@dataclass(frozen=True)
class Head:
    """Weights [..., K, n], features [..., N, n], labels [..., N], batch weights [..., N], and a setting [...] of a trick."""

    weights: np.ndarray
    features: np.ndarray
    labels: np.ndarray
    shares: np.ndarray
    setting: np.ndarray
    mask: np.ndarray

    @property
    def size(self):
        """1 + the largest logit: how many times the rounding of a number reaches the probabilities."""
        return 1 + np.abs(softmax.logits(self.weights, self.features)).max()

    @property
    def reach(self):
        """``max sum_i a_i |x_i|``, which no entry of the plain gradient exceeds."""
        return (self.shares[..., None, :] @ np.abs(self.features)).max()

    def arguments(self, ops):
        """The head in an arithmetic, as the functions of ``losses`` take it."""
        weights, features, shares = map(ops.asarray, (self.weights, self.features, self.shares))
        return ops, weights, features, self.labels, shares


@st.composite
def heads(draw, least=-2.0, most=1.0, signed=False, leads=LEADS, spreads=(-6, 1)):
    """Heads of random sizes with logits from 1e-6 to about 100, and settings between 10^least and 10^most."""
    lead = draw(st.sampled_from(leads))
    count, dim, examples = (draw(st.integers(low, 7)) for low in (3, 1, 1))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scale, spread = 10.0 ** draw(st.integers(-3, 3)), 10.0 ** draw(st.integers(*spreads))
    mask = rng.integers(0, 2, (*lead, examples))
    labels = rng.integers(0, count, (*lead, examples))
    # A label whose own logit is left out would have an infinite loss.
    labels = np.where((mask == 0) & (labels < 2), 2, labels)
    setting = 10.0 ** rng.uniform(least, most, lead)
    return Head(
        weights=scale * rng.standard_normal((*lead, count, dim)),
        features=spread / scale * rng.standard_normal((*lead, examples, dim)),
        labels=labels,
        shares=rng.multinomial(1024, np.full(examples, 1 / examples), lead) / 1024,
        setting=setting * rng.choice([-1.0, 1.0], lead) if signed else setting,
        mask=mask,
    )


def autograd(head, example_losses):
    """torch's gradient of ``sum_i a_i loss_i`` by the rows. ``example_losses(z, y, setting, mask)`` gives the losses [N] of
    one head with logits z [N, K]; heads of a batch are taken one by one."""
    out = np.empty_like(head.weights)
    for at in np.ndindex(*head.setting.shape):
        rows = torch.tensor(head.weights[at], requires_grad=True)
        logits = torch.tensor(head.features[at]) @ rows.T
        each = example_losses(
            logits,
            torch.tensor(head.labels[at]),
            float(head.setting[at]),
            torch.tensor(head.mask[at]),
        )
        (torch.tensor(head.shares[at]) * each).sum().backward()
        assert rows.grad is not None
        out[at] = rows.grad.numpy()
    return out


def cross_entropy(logits, labels, **options):
    return functional.cross_entropy(logits, labels, reduction="none", **options)


def masked(z, y, _, mask):
    kept = torch.ones(z.shape, dtype=torch.bool)
    kept[:, :2] = mask[:, None] == 1
    return cross_entropy(z.masked_fill(~kept, -torch.inf), y)


VARIANTS = {
    "smoothed": lambda z, y, s, _: cross_entropy(z, y, label_smoothing=s),
    "tempered": lambda z, y, tau, _: cross_entropy(z / tau, y),
    "z_loss": lambda z, y, zeta, _: cross_entropy(z, y) + zeta * torch.logsumexp(z, -1) ** 2,
    "masked": masked,
    "soft_capped": lambda z, y, cap, _: cross_entropy(cap * torch.tanh(z / cap), y),
}
"""torch's loss of each variant."""
SETTINGS = {
    "smoothed": {"least": -4.0, "most": 0.0},
    "tempered": {"least": -1.0, "most": 1.0},
    "z_loss": {"least": -4.0, "most": 0.0, "signed": True},
    "masked": {},
    "soft_capped": {"least": -1.0, "most": 2.0},
}


def library(name, head, ops):
    """The library's gradient of a variant."""
    setting = head.mask if name == "masked" else ops.asarray(head.setting)
    return getattr(losses, f"{name}_gradient")(*head.arguments(ops), setting)


def allowed(name, head):
    """The size of what is rounded in a variant's gradient."""
    if name == "z_loss":
        return head.reach * (1 + 2 * np.abs(head.setting).max() * (head.size + 2))
    if name == "tempered":
        return head.reach / head.setting.min()
    return head.reach


def assert_same(got, expected, scale):
    """Equal to 1e-12 of ``scale``."""
    assert got.shape == expected.shape
    assert np.abs(got - expected).max() <= RELATIVE * scale


def assert_near(floats, balls, scale):
    """Floats within 1e-12 of ``scale`` of balls that are themselves far narrower."""
    assert balls.radii().max() <= 2.0**-80 * scale
    assert_same(floats, balls.midpoints(), scale)


# --------------------------------------------------------------------------- gradients


@pytest.mark.parametrize("name", VARIANTS)
@given(data=st.data())
def test_equal_to_autograd(name, data):
    head = data.draw(heads(**SETTINGS[name]))
    got = library(name, head, FLOAT)
    assert_same(got, autograd(head, VARIANTS[name]), allowed(name, head))


@pytest.mark.parametrize("name", VARIANTS)
@settings(max_examples=20)
@given(data=st.data())
def test_floats_are_near_the_balls(name, data):
    head = data.draw(heads(**SETTINGS[name], leads=((), (2,))))
    assert_near(library(name, head, FLOAT), library(name, head, B), allowed(name, head))


@pytest.mark.parametrize("name", VARIANTS)
def test_the_comparison_can_fail(name):
    """Each variant differs from the plain loss by far more than what the tests above allow."""
    rng = np.random.default_rng(5)
    head = Head(
        weights=rng.standard_normal((4, 3)),
        features=rng.standard_normal((6, 3)),
        labels=np.array([0, 1, 2, 3, 2, 3]),
        shares=np.full(6, 1 / 8),
        setting=np.asarray(0.5),
        mask=np.array([1, 1, 0, 0, 1, 0]),
    )
    plain = softmax.gradient(*head.arguments(FLOAT))
    assert np.abs(library(name, head, FLOAT) - plain).max() > 1e-3 * allowed(name, head)
    assert_same(plain, autograd(head, lambda z, y, *_: cross_entropy(z, y)), head.reach)


@settings(max_examples=25)
@given(heads())
def test_neutral_settings_leave_the_plain_gradient(head):
    """No smoothing, temperature 1, zeta 0, nothing left out, and a cap far above the logits."""
    plain = softmax.gradient(*head.arguments(FLOAT))
    one = np.ones_like(head.setting)
    for got in (
        losses.smoothed_gradient(*head.arguments(FLOAT), 0 * one),
        losses.tempered_gradient(*head.arguments(FLOAT), one),
        losses.z_loss_gradient(*head.arguments(FLOAT), 0 * one),
        losses.masked_gradient(*head.arguments(FLOAT), np.ones_like(head.mask)),
        losses.soft_capped_gradient(*head.arguments(FLOAT), 1e10 * one),
    ):
        assert_same(got, plain, head.reach)


@settings(max_examples=25)
@given(heads())
def test_rows_gradient_is_the_sum_over_examples(head):
    rng = np.random.default_rng(1)
    by_logits = rng.standard_normal((*head.labels.shape, head.weights.shape[-2]))
    got = losses.rows_gradient(by_logits, head.features, head.shares)
    expected = np.einsum("...i,...ik,...in->...kn", head.shares, by_logits, head.features)
    assert_same(got, expected, head.reach * np.abs(by_logits).max())
    enclosed = losses.rows_gradient(*map(B.asarray, (by_logits, head.features, head.shares)))
    assert_near(got, enclosed, head.reach * np.abs(by_logits).max())


# --------------------------------------------------------------------------- what the gradients are made of


@settings(max_examples=25)
@given(heads(least=-4.0, most=0.0))
def test_smoothed_targets(head):
    count = head.weights.shape[-2]
    targets = losses.smoothed_targets(FLOAT, head.labels, count, head.setting)
    s = head.setting[..., None]
    np.testing.assert_allclose(targets.sum(-1), 1, RELATIVE)
    own = np.take_along_axis(targets, head.labels[..., None], -1)[..., 0]
    np.testing.assert_allclose(own, np.broadcast_to(1 - s + s / count, own.shape), RELATIVE)
    assert_near(targets, losses.smoothed_targets(B, head.labels, count, B.asarray(s[..., 0])), 1)
    # The loss with these as soft targets is torch's loss with label_smoothing.
    for at in np.ndindex(*head.setting.shape):
        z = torch.tensor(head.features[at] @ head.weights[at].T)
        soft = cross_entropy(z, torch.tensor(targets[at]))
        hard = cross_entropy(
            z, torch.tensor(head.labels[at]), label_smoothing=float(head.setting[at])
        )
        assert_same(soft.numpy(), hard.numpy(), head.size)


@settings(max_examples=25)
@given(heads())
def test_log_normalisers(head):
    got = losses.log_normalisers(FLOAT, head.weights, head.features)
    z = torch.tensor(softmax.logits(head.weights, head.features))
    assert_same(got, torch.logsumexp(z, -1).numpy(), head.size)
    enclosed = losses.log_normalisers(B, B.asarray(head.weights), B.asarray(head.features))
    assert_near(got, enclosed, head.size)


@settings(max_examples=25)
@given(heads(least=-1.0, most=2.0))
def test_soft_cap(head):
    z = softmax.logits(head.weights, head.features)
    value, slope = losses.soft_cap(FLOAT, z, head.setting)
    logits = torch.tensor(z, requires_grad=True)
    cap = torch.tensor(head.setting)[..., None, None]
    capped = cap * torch.tanh(logits / cap)
    capped.sum().backward()
    assert logits.grad is not None
    # torch's slope is 1 - tanh^2, which keeps absolute accuracy only.
    assert_same(value, capped.detach().numpy(), head.setting.max())
    assert_same(slope, logits.grad.numpy(), 1)
    enclosed, steep = losses.soft_cap(B, B.asarray(z), B.asarray(head.setting))
    np.testing.assert_allclose(value, enclosed.midpoints(), RELATIVE)
    # Relative accuracy, near the cap too: the rounding of t = z/cap reaches exp(-2 t) about t times;
    # below 1e-300 floats end.
    times = 4 + np.abs(z) / head.setting[..., None, None]
    off = np.abs(slope - steep.midpoints())
    assert (off <= 1e-15 * times * steep.midpoints() + 1e-300).all()
    assert (np.abs(value) <= head.setting[..., None, None]).all()


def test_the_slope_keeps_its_digits_at_the_cap():
    """Where ``1 - tanh^2`` is 0 in floats."""
    z, cap = np.array([[25.0, -40.0]]), np.asarray(1.0)
    _, slope = losses.soft_cap(FLOAT, z, cap)
    assert (1 - np.tanh(z) ** 2 == 0).all()
    np.testing.assert_allclose(slope, 4 * np.exp(-2 * np.abs(z)), 1e-12)


@settings(max_examples=25)
@given(heads())
def test_left_out_labels_have_no_gradient(head):
    """An example whose logits of the pair are left out moves neither row of it, and sums to 0 over the rest."""
    out = np.zeros_like(head.mask)
    labels = np.maximum(head.labels, 2)
    args = (FLOAT, head.weights, head.features, labels, head.shares)
    gradient = losses.masked_gradient(*args, out)
    assert (gradient[..., :2, :] == 0).all()
    assert np.abs(gradient.sum(-2)).max() <= RELATIVE * head.reach


# --------------------------------------------------------------------------- clipping


@st.composite
def gradients(draw, size=(-3, 3)):
    """Gradients [..., K, n] with rows of very different norms, one of them 0 at times, and limits [...] of their size."""
    lead = draw(st.sampled_from(LEADS))
    count, dim = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scale = 10.0 ** rng.uniform(*size, (*lead, 1, 1))
    gradient = scale * 10.0 ** rng.uniform(0, 2, (*lead, count, 1))
    gradient = gradient * rng.standard_normal((*lead, count, dim))
    if draw(st.booleans()):
        gradient[..., 0, :] = 0.0
    limit = scale[..., 0, 0] * 10.0 ** rng.uniform(-1, 2.5, lead)
    return gradient, limit


def by_torch(clip, gradient, limit):
    """``clip(parameters, limit)`` of ``torch.nn.utils`` on each gradient of a batch."""
    out = np.empty_like(gradient)
    for at in np.ndindex(*limit.shape):
        rows = torch.zeros(gradient[at].shape, dtype=torch.float64, requires_grad=True)
        rows.grad = torch.tensor(gradient[at])
        clip([rows], float(limit[at]))
        out[at] = rows.grad.numpy()
    return out


def each_row(parameters, limit):
    """``clip_grad_norm_`` on every row by itself."""
    for row in parameters[0].grad:
        one = torch.zeros_like(row, requires_grad=True)
        one.grad = row  # a view: clipping it in place clips the row
        torch.nn.utils.clip_grad_norm_([one], limit)


@given(gradients(size=(8, 12)))
def test_clip_norm_is_that_of_torch(pair):
    """Up to the 1e-6 that torch adds to the norm, which is below 1e-13 of norms this long."""
    gradient, limit = pair
    got, share = losses.clip_norm(FLOAT, gradient, limit)
    expected = by_torch(torch.nn.utils.clip_grad_norm_, gradient, limit)
    assert_same(got, expected, np.abs(gradient).max())
    total = np.linalg.norm(gradient, axis=(-2, -1))
    np.testing.assert_allclose(share, np.minimum(1, limit / np.maximum(total, limit)), RELATIVE)


@given(gradients())
def test_clip_norm_with_the_small_number_of_torch(pair):
    """At any size: torch multiplies by ``min(1, C/(norm + 1e-6))``, the library by ``min(1, C/norm)``."""
    gradient, limit = pair
    got, share = losses.clip_norm(FLOAT, gradient, limit)
    expected = by_torch(torch.nn.utils.clip_grad_norm_, gradient, limit)
    total = np.linalg.norm(gradient, axis=(-2, -1))
    of_torch = np.minimum(1, limit / (total + 1e-6))
    mended = got * (of_torch / share)[..., None, None]
    np.testing.assert_allclose(mended, expected, 1e-12, atol=0)
    clipped = np.linalg.norm(got, axis=(-2, -1))
    assert (clipped <= limit * (1 + RELATIVE)).all()


@given(gradients(size=(8, 12)))
def test_clip_rows_is_that_of_torch_on_every_row(pair):
    gradient, limit = pair
    got = losses.clip_rows(FLOAT, gradient, limit)
    np.testing.assert_allclose(got, by_torch(each_row, gradient, limit), 1e-12, atol=0)
    assert (np.linalg.norm(got, axis=-1) <= limit[..., None] * (1 + RELATIVE)).all()


@given(gradients())
def test_clip_values_is_that_of_torch(pair):
    gradient, limit = pair
    got = losses.clip_values(FLOAT, gradient, limit)
    expected = by_torch(torch.nn.utils.clip_grad_value_, gradient, limit)
    np.testing.assert_array_equal(got, expected)


@settings(max_examples=25)
@given(gradients())
def test_clipped_floats_are_near_the_balls(pair):
    gradient, limit = pair
    g, most = B.asarray(gradient), B.asarray(limit)
    scale = np.abs(gradient).max()
    shortened, share = losses.clip_norm(FLOAT, gradient, limit)
    enclosed, enclosed_share = losses.clip_norm(B, g, most)
    assert_near(shortened, enclosed, scale)
    assert_near(share, enclosed_share, 1)
    assert_near(losses.clip_rows(FLOAT, gradient, limit), losses.clip_rows(B, g, most), scale)
    assert_near(losses.clip_values(FLOAT, gradient, limit), losses.clip_values(B, g, most), scale)


@pytest.mark.parametrize("lead", LEADS)
def test_a_zero_gradient_is_left_alone(lead):
    gradient, limit = np.zeros((*lead, 3, 2)), np.ones(lead)
    shortened, share = losses.clip_norm(FLOAT, gradient, limit)
    assert (share == 1).all()
    for got in (shortened, losses.clip_rows(FLOAT, gradient, limit)):
        assert (got == 0).all()
    assert (losses.clip_values(FLOAT, gradient, limit) == 0).all()


def test_a_masked_pair_that_has_all_of_the_probability_leaves_the_rest():
    """The kept labels' softmax, not what is left of a probability that rounds to 0."""
    weights = np.array([[[800.0], [0.0], [1.0], [0.0]]])
    got = losses.masked_gradient(
        FLOAT, weights, np.array([[[1.0]]]), np.array([[2]]), np.ones((1, 1)), np.array([[0]])
    )
    e = np.exp(1.0)
    assert np.allclose(got[0, :, 0], [0, 0, e / (e + 1) - 1, 1 / (e + 1)], rtol=1e-15, atol=0)
