"""Training of linear heads: equal to torch's, whatever else runs beside, and strict about input."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from collapse_theory.errors import InputError
from collapse_theory.trajectories import LinearConfig, LinearRuns, train_linear_heads

HEADS, LABELS, DIM, EXAMPLES = 3, 5, 4, 12


def data(seed=0, *, heads=HEADS, labels=LABELS, dim=DIM, examples=EXAMPLES, own=False):
    """Weights, features and targets; labels 0 and 1 are unseen."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(heads, labels, dim))
    features = rng.normal(size=(heads, examples, dim) if own else (examples, dim))
    targets = rng.integers(2, labels, size=(heads, examples) if own else examples)
    return weights, features, targets


def autograd_gradient(weights, features, targets, weighting):
    """The gradient of the weighted mean of cross-entropies, by torch."""
    w = torch.tensor(weights, requires_grad=True)
    losses = functional.cross_entropy(
        torch.tensor(features) @ w.T, torch.tensor(targets), reduction="none"
    )
    share = torch.tensor(weighting) / np.sum(weighting)
    (losses * share).sum().backward()
    return w


def batch_of(runs: LinearRuns, head: int, step: int):
    """Features, targets and weights of the examples that a head saw at a step."""
    index = slice(None)
    if runs.indices is not None:
        index = runs.indices[head if len(runs.indices) > 1 else 0, step]
    features = runs.features if runs.features.ndim == 2 else runs.features[head]
    targets = runs.labels if runs.labels.ndim == 1 else runs.labels[head]
    weighting = np.ones(len(targets))
    if runs.example_weights is not None:
        whole = runs.example_weights
        weighting = whole if whole.ndim == 1 else whole[head]
    return features[index], targets[index], weighting[index]


def relative(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("weighted", [None, "shared", "own"])
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize(("batch_size", "seeds"), [(None, 0), (5, 0), (5, [4, 9, 4])])
@pytest.mark.parametrize("schedules", [False, True])
@pytest.mark.parametrize("labels", [LABELS, 40])
def test_every_step_equals_torch(decoupled, weighted, own, batch_size, seeds, schedules, labels):
    """From the state before each step: torch.optim.SGD, or w (1 - eta lam) - eta g by autograd."""
    steps = 7
    rng = np.random.default_rng(1)
    weights, features, targets = data(own=own, labels=labels)
    eta = rng.uniform(0.01, 0.6, size=(HEADS, steps)) if schedules else 0.3
    lam = rng.uniform(0, 0.5, size=(HEADS, 1)) if schedules else 0.1
    weighting = None
    if weighted:
        weighting = rng.uniform(0.1, 3, size=(HEADS, EXAMPLES) if weighted == "own" else EXAMPLES)
    config = LinearConfig(
        steps=steps,
        step_size=eta,
        weight_decay=lam,
        decoupled=decoupled,
        batch_size=batch_size,
        seeds=seeds,
        snapshots=True,
    )
    runs = train_linear_heads(weights, features, targets, config=config, example_weights=weighting)
    assert runs.weights is not None
    eta, lam = np.broadcast_to(eta, (HEADS, steps)), np.broadcast_to(lam, (HEADS, steps))
    np.testing.assert_array_equal(runs.step_size, eta)
    np.testing.assert_array_equal(runs.weight_decay, lam)
    np.testing.assert_array_equal(runs.weights[:, 0], weights)
    np.testing.assert_array_equal(runs.weights[:, -1], runs.final_weights)
    for head in range(HEADS):
        for step in range(steps):
            before, after = runs.weights[head, step], runs.weights[head, step + 1]
            w = autograd_gradient(before, *batch_of(runs, head, step))
            e, m = float(eta[head, step]), float(lam[head, step])
            if decoupled:
                assert w.grad is not None
                expected = before * (1 - e * m) - e * w.grad.numpy()
            else:
                torch.optim.SGD([w], lr=e, weight_decay=m).step()
                expected = w.detach().numpy()
            assert relative(after, expected) < 1e-12


def test_a_run_equals_torch_step_by_step_from_its_own_state():
    """The other way round: torch trains, and each of its steps is repeated here."""
    weights, features, targets = data(heads=1)
    w = torch.nn.Parameter(torch.tensor(weights[0]))
    optimizer = torch.optim.SGD([w], lr=0.2, weight_decay=0.05)
    config = LinearConfig(steps=1, step_size=0.2, weight_decay=0.05)
    for _ in range(50):
        before = w.detach().numpy().copy()
        optimizer.zero_grad()
        functional.cross_entropy(torch.tensor(features) @ w.T, torch.tensor(targets)).backward()
        optimizer.step()
        ours = train_linear_heads(before, features, targets, config=config).final_weights[0]
        assert relative(ours, w.detach().numpy()) < 1e-12


def test_float32_stays_float32():
    weights, features, targets = data()
    config = LinearConfig(
        steps=20, step_size=0.2, weight_decay=0.1, dtype="float32", snapshots=True
    )
    single = train_linear_heads(weights, features, targets, config=config)
    double = train_linear_heads(
        weights, features, targets, config=LinearConfig(steps=20, step_size=0.2, weight_decay=0.1)
    )
    assert single.weights is not None
    assert single.final_weights.dtype == single.weights.dtype == np.float32
    assert single.distance.dtype == np.float64
    assert 1e-9 < relative(single.final_weights, double.final_weights) < 1e-5
    assert (single.residual <= 4 * single.rounding * single.distance[:, :-1]).all()


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    heads=st.integers(1, 5),
    labels=st.sampled_from([3, 4, 33]),
    dim=st.integers(1, 5),
    examples=st.integers(1, 9),
    batch=st.one_of(st.none(), st.integers(1, 9)),
    own=st.booleans(),
    one_seed=st.booleans(),
    weighted=st.booleans(),
    varied=st.booleans(),
)
def test_heads_together_equal_heads_alone(
    seed, heads, labels, dim, examples, batch, own, one_seed, weighted, varied
):
    """Batches bit for bit, numbers to rounding."""
    rng = np.random.default_rng(seed)
    sizes = {"heads": heads, "labels": labels, "dim": dim, "examples": examples}
    weights, features, targets = data(seed, own=own, **sizes)
    steps = 6
    batch = None if batch is None else min(batch, examples)
    eta = rng.uniform(0, 0.5, size=(heads, steps)) if varied else np.full((1, 1), 0.2)
    lam = rng.uniform(0, 0.5, size=(heads, 1)) if varied else np.full((1, 1), 0.1)
    seeds = [3] * heads if one_seed else rng.integers(0, 9, size=heads).tolist()
    weighting = rng.uniform(0.5, 1.5, size=examples) if weighted else None

    def train(head):
        part = slice(None) if head is None else slice(head, head + 1)
        return train_linear_heads(
            weights[part],
            features[part] if own else features,
            targets[part] if own else targets,
            config=LinearConfig(
                steps=steps,
                step_size=eta[part] if varied else eta,
                weight_decay=lam[part] if varied else lam,
                batch_size=batch,
                seeds=seeds[part],
                snapshots=True,
            ),
            example_weights=weighting,
            pairs=[(0, 1)],
        )

    together = train(None)
    assert together.weights is not None
    scale = np.abs(together.weights).max()
    for head in range(heads):
        alone = train(head)
        assert alone.weights is not None
        assert np.abs(alone.weights[0] - together.weights[head]).max() <= 1e-12 * scale
        for name in ("loss", "trace", "unseen_mass", "distance", "next_distance"):
            np.testing.assert_allclose(
                getattr(alone, name)[0], getattr(together, name)[head], rtol=1e-9, atol=1e-12
            )
        if batch is None:
            assert alone.indices is None
            assert together.indices is None
        else:
            shared = len(together.indices) == 1  # type: ignore[arg-type]
            np.testing.assert_array_equal(
                alone.indices[0],  # type: ignore[index]
                together.indices[0 if shared else head],  # type: ignore[index]
            )


def test_many_heads_in_several_blocks(monkeypatch):
    """Blocks that do not divide the heads evenly change nothing."""
    from collapse_theory.trajectories import _engine

    weights, features, targets = data(heads=7)
    for seeds, batch_size in ((0, None), (list(range(7)), 5)):
        config = LinearConfig(
            steps=5,
            step_size=np.linspace(0.1, 0.4, 7),
            weight_decay=0.1,
            seeds=seeds,
            batch_size=batch_size,
        )
        whole = train_linear_heads(weights, features, targets, config=config)
        with monkeypatch.context() as patch:
            patch.setattr(_engine, "BLOCK_BYTES", 3 * (LABELS + DIM) * EXAMPLES * 8)
            blocks = train_linear_heads(weights, features, targets, config=config)
        assert relative(blocks.final_weights, whole.final_weights) < 1e-14


def test_the_same_call_gives_the_same_numbers():
    weights, features, targets = data()
    config = LinearConfig(steps=9, step_size=0.3, weight_decay=0.1, batch_size=5, seeds=[1, 2, 3])
    first, second = (train_linear_heads(weights, features, targets, config=config) for _ in "ab")
    np.testing.assert_array_equal(first.final_weights, second.final_weights)
    np.testing.assert_array_equal(first.trace, second.trace)


def test_an_epoch_shows_each_example_at_most_once():
    weights, features, targets = data()
    config = LinearConfig(
        steps=6, step_size=0.1, batch_size=5, seeds=[7, 8, 9], record_every=1, snapshots=True
    )
    runs = train_linear_heads(weights, features, targets, config=config)
    assert runs.indices is not None
    assert runs.indices.shape == (HEADS, 6, 5)
    for head in runs.indices:
        for epoch in head.reshape(3, 10):
            assert len(set(epoch.tolist())) == 10
        assert not np.array_equal(head[0], head[2])
    assert not np.array_equal(runs.indices[0], runs.indices[1])


def test_progress_reaches_the_end():
    weights, features, targets = data()
    calls = []
    train_linear_heads(
        weights,
        features,
        targets,
        config=LinearConfig(steps=250, step_size=0.1, record_every=None),
        progress=lambda done, total: calls.append((done, total)),
    )
    assert calls[-1] == (250, 250)
    assert 50 <= len(calls) <= 200


def test_importing_loads_no_torch():
    code = "import sys, collapse_theory.trajectories; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


W, X, Y = data()
GOOD = {"weights": W, "features": X, "labels": Y}


def _with(array, value):
    changed = array.astype(np.float64)
    changed.flat[1] = value
    return changed


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"weights": _with(W, np.nan)}, r"weights: contains nan at \[0, 0, 1\]"),
        ({"weights": _with(W, np.inf)}, "weights: contains inf"),
        ({"weights": W[0, 0]}, r"weights have shape \(4,\): give \[H, K, n\]"),
        ({"weights": "text"}, "weights: got 'text'"),
        ({"weights": W > 0}, "weights: got True"),
        ({"features": _with(X, np.nan)}, "features: contains nan"),
        ({"features": X[:, :2]}, r"features have shape \(12, 2\)"),
        ({"features": X[:0], "labels": Y[:0]}, "no example"),
        ({"labels": Y + 3}, "labels hold [567], but weights have 5 rows: give labels from 0 to 4"),
        ({"labels": Y - 9}, "labels hold -"),
        ({"labels": Y.astype(float)}, "labels are of type float64: give integers"),
        ({"labels": Y[:3]}, r"labels have shape \(3,\)"),
        ({"example_weights": np.full(EXAMPLES, -1.0)}, "none may be negative"),
        ({"example_weights": np.zeros(EXAMPLES)}, "12 zeros"),
        ({"example_weights": [True] * EXAMPLES}, "example_weights: got True"),
        ({"weights": W[:, :2], "labels": Y * 0}, "1 of 2 labels are unseen"),
        ({"labels": np.arange(EXAMPLES) % LABELS}, "0 of 5 labels are unseen"),
        ({"pairs": [(0, LABELS)]}, r"pairs hold \(0, 5\)"),
        ({"pairs": [(0, 2)], "masked": True}, r"pairs hold \(0, 2\), one of them masked"),
        ({"pairs": [(0, 0)]}, r"pairs hold \(0, 0\)"),
        ({"pairs": [(0.0, 1.0)]}, "pairs are"),
        ({"steps": -1}, "steps: got -1, expected a whole number >= 0"),
        ({"steps": True}, "steps: got True"),
        ({"steps": "ten"}, "steps: got 'ten'"),
        ({"step_size": "0.1"}, "step_size: got '0.1'"),
        ({"step_size": [True, 0.1, 0.2]}, "step_size: contains a bool"),
        ({"step_size": np.nan}, "step_size: contains nan"),
        ({"step_size": [0.1, 0.2, 0.3, 0.4]}, r"step_size has shape \(4,\)"),
        ({"step_size": [0.1, 0.2, 0.3], "steps": 3}, r"give \[H, 1\] or \[1, steps\]"),
        ({"weight_decay": np.zeros((1, 1, 1))}, "weight_decay has more than 2 axes"),
        ({"batch_size": 0}, "batch_size: got 0, expected a whole number >= 1"),
        ({"batch_size": 13}, "batch_size is 13, but there are 12 examples"),
        ({"record_every": 0}, "record_every: got 0"),
        ({"seeds": [1, 2]}, "seeds are 2, heads 3"),
        ({"seeds": -1}, "seeds: got -1"),
        ({"dtype": "float16"}, "dtype is 'float16'"),
        ({"snapshots": 1}, "snapshots is 1: give True or False"),
        (
            {"step_size": 1e200, "weight_decay": 1.0, "record_every": None, "steps": 9},
            "head 0 has infinite weights after step 9",
        ),
    ],
)
def test_bad_input_names_the_value_and_the_fix(change, says):
    settings = {"steps": 2, "step_size": 0.1}
    arguments = dict(GOOD)
    for name, value in change.items():
        (settings if name in LinearConfig.__annotations__ else arguments)[name] = value
    with pytest.raises(InputError, match=says) as caught:
        train_linear_heads(**arguments, config=LinearConfig(**settings))
    assert "\n" not in str(caught.value)


def test_too_many_pairs_are_refused_unless_named():
    weights = np.zeros((1, 200, 1))
    config = LinearConfig(steps=1, step_size=0.1)
    with pytest.raises(InputError, match="19,701 pairs"):
        train_linear_heads(weights, [[1.0]], [199], config=config)
    runs = train_linear_heads(weights, [[1.0]], [199], config=config, pairs=[(0, 9)])
    assert runs.distance.shape == (1, 2, 1)
