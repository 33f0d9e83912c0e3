"""A training cut anywhere ends in the same bits; a checkpoint of another training is refused."""

from dataclasses import fields

import numpy as np
import pytest

from collapse_theory.errors import InputError
from collapse_theory.trajectories import Checkpoint, LinearConfig, LinearRuns, train_linear_heads

RULES = {
    "sgd": {},
    "momentum": {"momentum": 0.9},
    "nesterov": {"momentum": 0.9, "nesterov": True},
    "adam": {"optimizer": "adam"},
    "amsgrad": {"optimizer": "adamw", "amsgrad": True},
    "signsgd": {"optimizer": "signsgd"},
}


class Cut(Exception):
    """What stands for the end of the process."""


def train(checkpoint=None, cut=None, heads=5, **changes):
    rng = np.random.default_rng(4)
    settings = {"steps": 23, "step_size": 0.05, "weight_decay": 0.1, "snapshots": True, **changes}

    def stop(done, _total):
        if done == cut:
            raise Cut

    return train_linear_heads(
        rng.normal(size=(heads, 6, 4)),
        rng.normal(size=(17, 4)),
        rng.integers(2, 6, size=17),
        config=LinearConfig(**settings),
        progress=stop,
        checkpoint=checkpoint,
    )


def assert_same(one, other):
    for entry in fields(LinearRuns):
        old, new = getattr(one, entry.name), getattr(other, entry.name)
        if isinstance(old, np.ndarray):
            assert old.tobytes() == new.tobytes(), entry.name
            assert (old.dtype, old.shape) == (new.dtype, new.shape)


@pytest.mark.parametrize("cut", [3, 4, 9, 22])
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(
    "batches",
    [
        {"record_every": 3},
        {"batch_size": 5, "seeds": 7},
        {"batch_size": 5, "seeds": [1, 2, 3, 2, 1], "dtype": "float32", "record_every": 4},
        {"batch_size": 17, "seeds": [1, 2, 3, 4, 5], "record_every": None, "masked": True},
    ],
    ids=["all", "shared", "own", "epochs of one batch"],
)
def test_a_cut_training_ends_in_the_same_bits(tmp_path, name, batches, cut):
    path = tmp_path / "state"
    whole = train(**RULES[name], **batches)
    with pytest.raises(Cut):
        train(Checkpoint(path=path, every=4), cut, **RULES[name], **batches)
    assert path.exists() == (cut >= 4)
    # Cut again on the way, with another distance between the writes: that decides nothing.
    with pytest.raises(Cut):
        train(Checkpoint(path=path, every=1), 22, **RULES[name], **batches)
    again = train(Checkpoint(path=path, every=4), **RULES[name], **batches)
    assert_same(whole, again)
    assert path.exists(), "it is the caller's to delete"
    assert [p.name for p in tmp_path.iterdir()] == ["state"]


def test_several_blocks_of_heads_go_on_too(tmp_path, monkeypatch):
    monkeypatch.setattr("collapse_theory.trajectories._engine.BLOCK_BYTES", 3000)
    for more in ({}, {"batch_size": 5, "seeds": [1, 2, 3, 4, 5]}):
        path = tmp_path / str(len(more))
        with pytest.raises(Cut):
            train(Checkpoint(path=path, every=6), 13, momentum=0.9, **more)
        again = train(Checkpoint(path=path, every=6), momentum=0.9, **more)
        assert_same(train(momentum=0.9, **more), again)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"step_size": 0.06}, "step_size"),
        ({"weight_decay": [0.1, 0.1, 0.1, 0.1, 0.2]}, "weight_decay"),
        ({"momentum": 0.5}, "momentum"),
        ({"steps": 24}, "steps"),
        ({"record_every": 2}, "record_every"),
        ({"masked": True}, "masked"),
        ({"heads": 4}, "weights, features"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(tmp_path, changes, named):
    point = Checkpoint(path=tmp_path / "state", every=4)
    train(point)
    before = (tmp_path / "state").read_bytes()
    with pytest.raises(InputError, match=named) as caught:
        train(point, **changes)
    assert "delete it to start anew" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (tmp_path / "state").read_bytes() == before


def test_a_checkpoint_of_other_versions_is_refused(tmp_path, monkeypatch):
    point = Checkpoint(path=tmp_path / "state", every=4)
    train(point)
    monkeypatch.setattr("collapse_theory.trajectories._record.__version__", "0.0.1")
    with pytest.raises(InputError, match=r"collapse_theory .* 0\.0\.1"):
        train(point)


@pytest.mark.parametrize("damage", [lambda b: b[:-50], lambda b: b"", lambda b: b"no" * 500])
def test_a_damaged_checkpoint_is_refused(tmp_path, damage):
    path = tmp_path / "state"
    train(Checkpoint(path=path, every=4))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=r"damaged; delete it to start anew"):
        train(Checkpoint(path=path, every=4))


@pytest.mark.parametrize("every", [0, -1, 1.5, True])
def test_a_checkpoint_needs_a_whole_number_of_steps(every):
    with pytest.raises(InputError, match="checkpoint every"):
        Checkpoint(path="x", every=every)
