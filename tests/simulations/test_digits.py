"""The digits experiment: real images, three classes never shown, every step within its bounds."""

import numpy as np
import pytest

from collapse_theory.claims.contraction import CLAIM as CONTRACTION
from collapse_theory.claims.trajectory import CLAIM as TRAJECTORY
from collapse_theory.errors import InputError
from collapse_theory.trajectories import CURVATURES, LinearRuns

pytest.importorskip("sklearn", reason="the digits come with scikit-learn: pip install scikit-learn")

from simulations import digits


@pytest.fixture(scope="module", params=[None, 64], ids=["full", "minibatch"])
def runs(request):
    return digits.digits_runs(seed=0, steps=25, batch_size=request.param, repeats=1)


def test_three_classes_are_left_out_and_come_first():
    data = digits.load_digits((3, 0, 8))
    assert set(np.unique(data.labels).tolist()) == set(range(3, 10))
    assert data.features.shape == (len(data.labels), 65)
    assert data.features.min() == 0
    assert data.features.max() == 1
    assert (data.features[:, -1] == 1).all()
    from sklearn.datasets import load_digits

    images, names = load_digits(return_X_y=True)
    kept = ~np.isin(names, (3, 0, 8))
    np.testing.assert_array_equal(data.features[:, :-1] * 16, images[kept])
    rest = [1, 2, 4, 5, 6, 7, 9]
    np.testing.assert_array_equal(data.labels, [3 + rest.index(name) for name in names[kept]])


def test_every_recorded_step_is_within_its_bounds(runs):
    assert runs.unseen.tolist() == [0, 1, 2]
    assert runs.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert runs.relative_residual.max() <= 1e-10
    slack = 4 * runs.rounding
    for kind in CURVATURES:
        assert (runs.trace <= runs.curvature(kind)).all()
        met = runs.margin(kind) >= 0
        assert met.any()
        assert (runs.ratio <= runs.decay[:, :, None] + slack)[met].all()
        assert (runs.ratio >= runs.lower_factor(kind) - slack).all()
    product = runs.decay_product[:, :, None] * runs.distance[:, :1]
    assert (runs.margin("measured") >= 0).all()
    assert (runs.distance <= product * (1 + 1e-12)).all()
    # The sweep reaches the edge of the crudest condition and beyond.
    margins = runs.margin("norm")[:, 0, 0]
    assert ((margins > 0) & (margins < 0.01)).any()
    assert (margins < 0).any()


def test_training_learns(runs):
    assert (runs.loss[:, -1] < 0.9 * runs.loss[:, 0]).all()
    assert (runs.unseen_mass[:, -1] < runs.unseen_mass[:, 0]).all()


@pytest.mark.parametrize("pair", [(0, 1), (1, 2)])
def test_claims_hold_on_the_real_run(runs, pair):
    steps = digits.as_steps(runs, pair, at=slice(0, None, 6))
    for hypothesis in CONTRACTION.hypotheses:
        assert (hypothesis.margin(steps) >= 0).all(), hypothesis.id
    assert (CONTRACTION.lhs(steps) <= CONTRACTION.rhs(steps) * (1 + 1e-12)).all()

    short = digits.as_run(runs, pair, heads=slice(0, None, 3), at=slice(3, 9))
    for hypothesis in TRAJECTORY.hypotheses:
        assert (hypothesis.margin(short) >= 0).all(), hypothesis.id
    which = [tuple(p) for p in runs.pairs.tolist()].index(pair)
    last = np.linalg.norm(short.last_difference, axis=-1)
    np.testing.assert_allclose(last, runs.distance[::3, 9, which], rtol=1e-12)


def test_heads_differ_in_hyperparameters_alone():
    runs = digits.digits_runs(
        seed=3, steps=1, batch_size=32, weight_decays=(0.01, 0.1), edges=(0.5,)
    )
    assert runs.weights is not None
    assert runs.indices is not None
    np.testing.assert_array_equal(runs.weights[0, 0], runs.weights[2, 0])
    np.testing.assert_array_equal(runs.indices[0], runs.indices[2])
    assert not np.array_equal(runs.indices[0], runs.indices[1])
    assert not np.array_equal(runs.weights[0, 0], runs.weights[1, 0])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"left_out": (7, 7, 8)}, "three distinct digits"),
        ({"left_out": (7, 8, 10)}, "three distinct digits"),
        ({"steps": -1}, "steps: got -1"),
        ({"seed": -1}, "seed: got -1"),
        ({"seed": True}, "seed: got True"),
        ({"repeats": 0}, "repeats: got 0"),
        ({"edges": ()}, "edges are empty"),
        ({"weight_decays": ("a",)}, "weight_decays: got 'a'"),
        ({"edges": (float("nan"),)}, "edges: contains nan"),
        ({"scale": float("inf")}, "scale: contains inf"),
    ],
)
def test_bad_input(change, says):
    with pytest.raises(InputError, match=says):
        digits.digits_runs(**{"steps": 1, **change})


def test_the_command_writes_a_record_and_prints_what_it_saw(tmp_path, capsys):
    out = tmp_path / "results" / "digits.npz"
    assert digits.main(["--out", str(out), "--steps", "3", "--batch-size", "50"]) == 0
    printed = capsys.readouterr()
    assert "steps above the bound 0, below the lower bound 0" in printed.out
    assert "3 of 3 steps" in printed.err
    assert LinearRuns.load(out).config.batch_size == 50
    assert digits.main(["--out", str(out), "--steps", "-3", "--quiet"]) == 2
    error = capsys.readouterr()
    assert error.err == "error: steps: got -3, expected a whole number >= 0\n"
    assert error.out == ""
    assert digits.main(["--out", str(out / "x.npz"), "--steps", "0", "--quiet"]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_an_interrupted_command_writes_nothing(tmp_path, monkeypatch):
    def stop(**_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(digits, "digits_runs", stop)
    assert digits.main(["--out", str(tmp_path / "digits.npz")]) == 130
    assert list(tmp_path.iterdir()) == []
