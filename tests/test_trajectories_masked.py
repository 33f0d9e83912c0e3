"""Heads without the logits of their unseen labels, and pairs that are targets now and then."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from collapse_theory.errors import InputError
from collapse_theory.trajectories import LinearConfig, as_steps, train_linear_heads

HEADS, LABELS, DIM, EXAMPLES = 3, 6, 4, 15


def data(seed=0, own=False):
    rng = np.random.default_rng(seed)
    start = rng.normal(size=(HEADS, LABELS, DIM))
    targets = rng.integers(2, LABELS, size=(HEADS, EXAMPLES) if own else EXAMPLES)
    return start, rng.normal(size=(EXAMPLES, DIM)), targets


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("batch_size", [None, 5])
@pytest.mark.parametrize("more", [{}, {"momentum": 0.9}, {"optimizer": "adamw"}])
def test_a_masked_head_is_a_head_of_its_targets_alone(own, batch_size, more):
    """Its seen rows, trained by torch without the others, and its unseen rows under pure decay."""
    start, features, targets = data(own=own)
    config = LinearConfig(
        steps=6, step_size=0.1, weight_decay=0.05, masked=True, batch_size=batch_size,
        seeds=[1, 2, 3], snapshots=True, **more,
    )  # fmt: skip
    runs = train_linear_heads(start, features, targets, config=config)
    assert runs.weights is not None
    for head in range(HEADS):
        labels = targets[head] if own else targets
        seen = np.unique(labels)
        w = torch.tensor(start[head][seen], requires_grad=True)
        if "optimizer" in more:
            optimizer = torch.optim.AdamW([w], lr=0.1, weight_decay=0.05)
        else:
            optimizer = torch.optim.SGD([w], lr=0.1, weight_decay=0.05, **more)
        for step in range(6):
            index = slice(None) if runs.indices is None else runs.indices[head, step]
            optimizer.zero_grad()
            logits = torch.tensor(features[index]) @ w.T
            loss = functional.cross_entropy(
                logits, torch.tensor(np.searchsorted(seen, labels[index]))
            )
            loss.backward()
            assert loss.item() == pytest.approx(runs.loss[head, step], rel=1e-12)
            optimizer.step()
            ours = runs.weights[head, step + 1]
            np.testing.assert_allclose(ours[seen], w.detach().numpy(), rtol=1e-11, atol=1e-13)


def test_the_unseen_rows_of_a_masked_head_only_decay():
    start, features, targets = data()
    config = LinearConfig(steps=30, step_size=0.5, weight_decay=0.1, masked=True)
    runs = train_linear_heads(start, features, targets, config=config)
    np.testing.assert_allclose(
        runs.distance[:, -1], runs.decay_product[:, -1, None] * runs.distance[:, 0], rtol=1e-13
    )
    np.testing.assert_allclose(runs.cosine[:, -1], runs.cosine[:, 0], atol=1e-13)
    assert not runs.trace.any()
    assert not runs.unseen_mass.any()
    assert runs.residual.max() < 1e-14


def test_a_masked_run_is_no_instance():
    start, features, targets = data()
    config = LinearConfig(steps=2, step_size=0.1, masked=True, snapshots=True)
    with pytest.raises(InputError, match="masked"):
        as_steps(train_linear_heads(start, features, targets, config=config))


@given(seed=st.integers(0, 1000), rate=st.floats(0.01, 0.8), decay=st.floats(0, 0.5))
@settings(max_examples=25, deadline=None)
def test_rare_labels_move_apart_by_at_most_their_batch_mass(seed, rate, decay):
    """Claim rare_labels on the record, and its identity."""
    start, features, targets = data(seed)
    targets[:2] = 0, 1
    config = LinearConfig(
        steps=10, step_size=rate, weight_decay=decay, batch_size=4, seeds=[1, 2, 3], snapshots=True
    )
    runs = train_linear_heads(start, features, targets, config=config, pairs=[(0, 1)])
    assert not runs.bounded
    indices = np.asarray(runs.indices)
    mass = np.isin(targets[indices], (0, 1)).mean(-1)
    np.testing.assert_allclose(runs.target_mass[..., 0], mass, rtol=1e-14)
    scale = runs.norms[:, :-1, :2].sum(-1)[..., None] + rate * runs.radius[:, None, None]
    assert (runs.residual <= 1e-14 * scale).all()
    allowed = (1 - rate * decay) * runs.distance[:, :-1]
    allowed += rate * runs.radius[:, None, None] * runs.target_mass
    held = runs.margin("measured") >= 0
    assert (runs.next_distance <= allowed + 1e-14 * scale)[held].all()
