"""Records on disk: the same back, whole or not at all; what is not understood is refused."""

import json
from dataclasses import fields

import numpy as np
import pytest

from collapse_theory.errors import InputError
from collapse_theory.trajectories import LinearConfig, LinearRuns, train_linear_heads


def record(**changes):
    rng = np.random.default_rng(2)
    settings = {"steps": 5, "step_size": 0.2, "weight_decay": 0.1, "snapshots": True, **changes}
    return train_linear_heads(
        rng.normal(size=(3, 5, 4)),
        rng.normal(size=(9, 4)),
        rng.integers(2, 5, size=9),
        config=LinearConfig(**settings),
        example_weights=rng.uniform(1, 2, size=9) if "batch_size" in changes else None,
    )


def read(path):
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return json.loads(str(arrays.pop("header"))), arrays


def write(path, header, arrays):
    np.savez(path, header=np.array(json.dumps(header)), **arrays)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"batch_size": 4, "seeds": [1, 2, 3]},
        {"batch_size": 4, "seeds": np.array([1, 2, 3])},
        {"step_size": np.linspace(0.1, 0.2, 15).reshape(3, 5), "weight_decay": [0.1, 0.2, 0.3]},
        {"step_size": np.float64(0.1), "dtype": "float32", "snapshots": False},
        {"record_every": None},
        {"steps": 0},
    ],
)
def test_a_record_comes_back_the_same(tmp_path, changes):
    runs = record(**changes)
    path = tmp_path / "new" / "folder" / "run.npz"
    runs.save(path)
    back = LinearRuns.load(path)
    for entry in fields(LinearRuns):
        old, new = getattr(runs, entry.name), getattr(back, entry.name)
        if isinstance(old, np.ndarray):
            np.testing.assert_array_equal(old, new)
            assert old.dtype == new.dtype
        elif entry.name != "config":
            assert old == new
    for entry in fields(LinearConfig):
        old, new = getattr(runs.config, entry.name), getattr(back.config, entry.name)
        assert np.array_equal(old, new) or (old is None and new is None)
    assert [p.name for p in path.parent.iterdir()] == ["run.npz"]


def test_the_header_says_what_the_file_is(tmp_path):
    record(seeds=7, batch_size=4).save(tmp_path / "run.npz")
    header, arrays = read(tmp_path / "run.npz")
    assert (header["schema"], header["kind"], header["seed"]) == (3, "linear_runs", 7)
    assert header["dtype"] == "float64"
    assert header["versions"].keys() == {"collapse_theory", "numpy", "python", "torch"}
    assert header["configuration"]["batch_size"] == 4
    assert header["arrays"].keys() == arrays.keys()


def flip_a_bit(path):
    """In the middle of an array's data; elsewhere a bit may be harmless, as in a date."""
    content = bytearray(path.read_bytes())
    _, arrays = read(path)
    content[content.index(arrays["trace"].tobytes()) + 20] ^= 1
    path.write_bytes(content)


def change(edit):
    def damage(path):
        header, arrays = read(path)
        edit(header, arrays)
        header["arrays"] = {n: [a.dtype.str, list(a.shape)] for n, a in arrays.items()}
        write(path, header, arrays)

    return damage


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda p: p.write_bytes(p.read_bytes()[:-100]), "damaged or not a record"),
        (lambda p: p.write_bytes(p.read_bytes()[:1000]), "damaged or not a record"),
        (lambda p: p.write_bytes(b""), "damaged or not a record"),
        (lambda p: p.write_text("not a record"), "damaged or not a record"),
        (flip_a_bit, "damaged"),
        (lambda p: p.unlink(), "cannot read"),
        (lambda p: np.savez(p, something=np.zeros(3)), "not a record of runs"),
        (lambda p: p.write_bytes(np.zeros(3).tobytes()), "damaged or not a record"),
        (change(lambda h, a: h.update(schema=4)), "has schema 4, this version reads 1 to 3"),
        (change(lambda h, a: h.update(kind="ledger")), "not a record of linear runs"),
        (change(lambda h, a: h.pop("versions")), "its header has no versions"),
        (change(lambda h, a: h["configuration"].pop("dtype")), "configuration is not complete"),
        (change(lambda h, a: h["configuration"].update(steps="5")), "damaged: steps: got '5'"),
        (change(lambda h, a: a.pop("loss")), "arrays are missing or unknown"),
        (change(lambda h, a: a.update(more=np.zeros(2))), "arrays are missing or unknown"),
        (change(lambda h, a: a.update(loss=a["loss"][:, 1:])), r"loss has shape|damaged: \w+ has"),
    ],
)
def test_a_damaged_record_is_refused_in_one_line(tmp_path, damage, says):
    path = tmp_path / "run.npz"
    record().save(path)
    damage(path)
    with pytest.raises(InputError, match=says) as caught:
        LinearRuns.load(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_any_flipped_bit_is_refused_or_harmless(tmp_path):
    path = tmp_path / "run.npz"
    runs = record(steps=1)
    runs.save(path)
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for place in rng.integers(len(good), size=200):
        content = bytearray(good)
        content[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(content)
        try:
            back = LinearRuns.load(path)
        except InputError:
            refused += 1
        else:
            for entry in fields(LinearRuns):
                if isinstance(getattr(runs, entry.name), np.ndarray):
                    np.testing.assert_array_equal(
                        getattr(runs, entry.name), getattr(back, entry.name)
                    )
    assert refused > 100


def test_a_saved_npy_is_refused(tmp_path):
    path = tmp_path / "run.npy"
    np.save(path, np.zeros(3))
    with pytest.raises(InputError, match="not a record"):
        LinearRuns.load(path)


def test_pickles_are_never_loaded(tmp_path):
    path = tmp_path / "run.npz"
    record().save(path)
    header, arrays = read(path)
    write(path, header, {**arrays, "loss": np.array([{"a": 1}], dtype=object)})
    with pytest.raises(InputError, match="damaged"):
        LinearRuns.load(path)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("disk full")])
def test_an_interrupted_write_leaves_the_old_file_alone(tmp_path, monkeypatch, error):
    path = tmp_path / "run.npz"
    runs = record()
    runs.save(path)
    before = path.read_bytes()

    def stop(file, **_arrays):
        file.write(b"half")
        raise error

    monkeypatch.setattr(np, "savez", stop)
    with pytest.raises((KeyboardInterrupt, InputError)):
        runs.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]


def test_an_unwritable_place_is_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match=r"cannot be written .*choose another place"):
        record().save(tmp_path / "file" / "run.npz")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        record().save(tmp_path / "folder")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]
