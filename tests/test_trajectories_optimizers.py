"""Training by every optimiser: each head is torch's autograd and torch.optim, and no bound is wrong."""

import json

import numpy as np
import pytest
import torch
from torch.nn import functional

from collapse_theory.errors import InputError
from collapse_theory.trajectories import LinearConfig, LinearRuns, as_steps, train_linear_heads

OPTIMIZERS = {
    "momentum": {"momentum": 0.9},
    "dampening": {"momentum": 0.8, "dampening": 0.5},
    "nesterov": {"momentum": 0.9, "nesterov": True},
    "sgdw": {"momentum": 0.9, "decoupled": True},
    "nesterov sgdw": {"momentum": 0.9, "nesterov": True, "decoupled": True},
    "adam": {"optimizer": "adam", "betas": (0.8, 0.95)},
    "adamw": {"optimizer": "adamw", "epsilon": 1e-6},
    "amsgrad": {"optimizer": "adamw", "amsgrad": True, "betas": (0.9, 0.7)},
    "adam amsgrad": {"optimizer": "adam", "amsgrad": True},
    "signsgd": {"optimizer": "signsgd"},
}
STEPS, HEADS = 200, 3


def data(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(HEADS, 5, 4)), rng.normal(size=(12, 4)), rng.integers(2, 5, size=12)


def in_torch(w, eta, lam, options):
    """torch's optimiser, and the decay that it does not do."""
    name = options.get("optimizer", "sgd")
    if name in ("adam", "adamw"):
        kind = torch.optim.Adam if name == "adam" else torch.optim.AdamW
        return kind(
            [w], lr=eta, weight_decay=lam, betas=options.get("betas", (0.9, 0.999)),
            eps=options.get("epsilon", 1e-8), amsgrad=options.get("amsgrad", False),
        ), 1.0  # fmt: skip
    beside = name == "signsgd" or options.get("decoupled", False)
    given = {k: v for k, v in options.items() if k in ("momentum", "dampening", "nesterov")}
    optimizer = torch.optim.SGD([w], lr=eta, weight_decay=0.0 if beside else lam, **given)
    return optimizer, 1.0 - eta * lam if beside else 1.0


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("rates", ["one", "of each head"])
@pytest.mark.parametrize(("batch_size", "seeds"), [(None, 0), (5, 0), (5, [4, 9, 4])])
def test_each_head_is_torchs_at_every_step(name, rates, batch_size, seeds):
    options = OPTIMIZERS[name]
    start, features, targets = data()
    eta = np.full(HEADS, 0.05) if rates == "one" else np.array([0.05, 0.01, 0.2])
    lam = np.full(HEADS, 0.1) if rates == "one" else np.array([0.1, 0.0, 0.3])
    runs = train_linear_heads(
        start,
        features,
        targets,
        config=LinearConfig(
            steps=STEPS,
            step_size=0.05 if rates == "one" else eta[:, None],
            weight_decay=0.1 if rates == "one" else lam[:, None],
            batch_size=batch_size,
            seeds=seeds,
            snapshots=True,
            **options,
        ),
    )
    assert runs.weights is not None
    for head in range(HEADS):
        w = torch.tensor(start[head], requires_grad=True)
        optimizer, kept = in_torch(w, float(eta[head]), float(lam[head]), options)
        for step in range(STEPS):
            index = slice(None)
            if runs.indices is not None:
                index = runs.indices[head if len(runs.indices) > 1 else 0, step]
            # From our weights, with torch's own state: Adam divides by gradients that go to 0, so
            # that differences in rounding grow over the steps of any two trainings.
            with torch.no_grad():
                w.copy_(torch.tensor(runs.weights[head, step]))
            optimizer.zero_grad()
            logits = torch.tensor(features[index]) @ w.T
            functional.cross_entropy(logits, torch.tensor(targets[index])).backward()
            with torch.no_grad():
                w.mul_(kept)
                if name == "signsgd":
                    w.grad.sign_()
            optimizer.step()
            theirs, ours = w.detach().numpy(), runs.weights[head, step + 1]
            assert np.abs(ours - theirs).max() <= 1e-12 * np.abs(theirs).max()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_blocks_of_heads_do_not_matter(name, monkeypatch):
    """With a block for each head the same comes out as with all heads in one."""
    from collapse_theory.trajectories import _engine

    start, features, targets = data(1)
    config = LinearConfig(
        steps=20, step_size=0.05, weight_decay=0.1, record_every=None, **OPTIMIZERS[name]
    )
    together = train_linear_heads(start, features, targets, config=config).final_weights
    monkeypatch.setattr(_engine, "BLOCK_BYTES", 1)
    apart = train_linear_heads(start, features, targets, config=config).final_weights
    assert np.abs(together - apart).max() <= 1e-12 * np.abs(apart).max()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_nothing_is_said_that_holds_for_gradient_descent_alone(name, tmp_path):
    start, features, targets = data()
    config = LinearConfig(
        steps=4, step_size=0.05, weight_decay=0.1, snapshots=True, **OPTIMIZERS[name]
    )
    runs = train_linear_heads(start, features, targets, config=config)
    runs.save(tmp_path / "run.npz")
    for record in (runs, LinearRuns.load(tmp_path / "run.npz")):
        for bound in (
            record.residual,
            record.decay_product,
            record.decay,
            record.lower_factor("measured"),
            record.margin("norm"),
            record.relative_residual,
        ):
            assert np.isnan(bound).all()
        assert np.array_equal(record.next_distance, record.distance[:, 1:])
        for option, value in OPTIMIZERS[name].items():
            assert getattr(record.config, option) == value
        with pytest.raises(InputError, match="gradient descent"):
            as_steps(record)


@pytest.mark.parametrize("size", [1e-3, 1.0, 50.0, 1e4])
def test_logits_of_any_size_give_torchs_step(size):
    """Small ones skip the maximum; exp of large ones would leave the range of floats."""
    start, features, targets = data()
    start = start * size
    config = LinearConfig(steps=5, step_size=0.1, weight_decay=0.1, momentum=0.9)
    runs = train_linear_heads(start, features, targets, config=config)
    for head in range(HEADS):
        w = torch.tensor(start[head], requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1, weight_decay=0.1, momentum=0.9)
        for _ in range(5):
            optimizer.zero_grad()
            functional.cross_entropy(torch.tensor(features) @ w.T, torch.tensor(targets)).backward()
            optimizer.step()
        ours, theirs = runs.final_weights[head], w.detach().numpy()
        assert np.abs(ours - theirs).max() < 1e-12 * max(1.0, np.abs(theirs).max())


@pytest.mark.parametrize("schema", [1, 2])
def test_a_record_of_an_earlier_schema_still_loads(tmp_path, schema):
    start, features, targets = data()
    runs = train_linear_heads(start, features, targets, config=LinearConfig(steps=2, step_size=0.1))
    runs.save(tmp_path / "new.npz")
    with np.load(tmp_path / "new.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(str(arrays.pop("header")))
    header["schema"] = schema
    del header["configuration"]["masked"], header["arrays"]["target_mass"], arrays["target_mass"]
    if schema == 1:
        of_2 = ("optimizer", "momentum", "dampening", "nesterov", "betas", "epsilon", "amsgrad")
        for name in of_2:
            del header["configuration"][name]
    np.savez(tmp_path / "old.npz", header=np.array(json.dumps(header)), **arrays)
    loaded = LinearRuns.load(tmp_path / "old.npz")
    assert loaded.config.plain
    assert np.array_equal(loaded.final_weights, runs.final_weights)
    assert np.array_equal(loaded.target_mass, np.zeros((HEADS, 2, 1)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimizer": "lion"}, "lion"),
        ({"nesterov": True}, "nesterov"),
        ({"momentum": -0.1}, "momentum"),
        ({"momentum": 0.9, "nesterov": True, "dampening": 0.1}, "dampening"),
        ({"betas": (0.9, 1.0), "optimizer": "adam"}, "betas"),
        ({"betas": (0.9,), "optimizer": "adam"}, "betas"),
        ({"optimizer": "adam", "momentum": 0.9}, "momentum"),
        ({"optimizer": "adamw", "decoupled": True}, "decoupled"),
        ({"amsgrad": True}, "amsgrad"),
        ({"optimizer": "adam", "amsgrad": 1}, "amsgrad"),
    ],
)
def test_settings_that_do_not_fit_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        LinearConfig(steps=1, step_size=0.1, **options)
