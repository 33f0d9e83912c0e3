"""Without weight decay: the scalar reduction is the full head, and the exponent is -1/(k + 1), not -1/k."""

import csv
import io
import json

import numpy as np
import pytest

from collapse_theory.errors import InputError
from collapse_theory.trajectories import LinearConfig, train_linear_heads
from simulations import slow_decay


@pytest.fixture(scope="module")
def short():
    """k = 2 and 1, to t = 1e10 with coarse steps."""
    return {k: slow_decay.train(k, seeds=range(4), last=1e10, growth=0.01) for k in (1, 2)}


@pytest.mark.parametrize("unseen", [2, 4])
def test_the_reduction_is_the_full_head(unseen):
    """The library's trainer on all rows in R^3, step sizes and start as in the reduction, r = 1.7."""
    radius, last, seed = 1.7, 200.0, 3
    run = slow_decay.train(unseen, seeds=[seed], last=last, records=5, growth=0.1)
    x = np.array([0.6, 0.0, 0.8]) * radius
    across = np.array([0.8, 0.0, -0.6])
    z = np.random.default_rng(seed).normal(size=unseen + 1)
    weights = np.outer(z, x) / radius**2 + np.outer(np.arange(unseen + 1.0), across)
    sizes = []
    while sum(sizes) < run.times[-1] - 1e-9:
        sizes.append(max(0.5, 0.1 * sum(sizes)))
    assert len(sizes) == run.steps
    config = LinearConfig(
        steps=run.steps, step_size=np.array(sizes)[None] / radius**2, record_every=None
    )
    final = train_linear_heads(weights, x[None], [0], config=config).final_weights[0]
    end = np.ptp((final @ x)[1:])
    np.testing.assert_allclose(end / np.ptp(z[1:]), run.distance[-1, 0], rtol=1e-10)
    # Across the feature nothing moves.
    np.testing.assert_allclose(final @ across, np.arange(unseen + 1.0), atol=1e-12)


def test_the_exponent_is_fitted_and_a_wrong_one_refuted(short):
    found = slow_decay.fit(short[2].times, short[2].distance)
    assert found.exponent == pytest.approx(-1 / 3, abs=0.003)
    assert not found.refutes(-1 / 3)
    assert found.refutes(-1 / 2)  # 1/k
    assert found.refutes(-1 / 4)
    found = slow_decay.fit(short[1].times, short[1].score)
    assert not found.refutes(-1 / 2)
    assert found.refutes(-1)


def test_a_single_unseen_label_has_no_pair(short):
    assert np.isnan(short[1].distance).all()
    assert np.isfinite(short[1].score).all()
    assert np.isfinite(short[2].distance).all()


def test_steps_are_admissible(short):
    assert all(run.largest_step <= 2 for run in short.values())
    assert all((np.diff(run.times) > 0).all() for run in short.values())


def test_the_fit_recovers_a_known_power():
    times = np.geomspace(1, 1e12, 50)
    values = 3 * times[:, None] ** np.array([-0.25, -0.26])
    values[:10] *= 2  # early times do not count
    found = slow_decay.fit(times, values)
    assert found.exponent == pytest.approx(-0.255, abs=1e-12)
    assert found.spread == pytest.approx(0.01 / np.sqrt(2), rel=1e-9)


def test_the_same_seed_gives_the_same_numbers():
    options = {"counts": (2,), "heads": 2, "last": 1e3}
    first, again = (slow_decay.decays(seed=5, **options)[0] for _ in range(2))
    np.testing.assert_array_equal(first.distance, again.distance)
    other = slow_decay.decays(seed=6, **options)[0]
    assert not np.array_equal(first.distance, other.distance)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"unseen": 0}, "unseen: got 0"),
        ({"unseen": 2.0}, "unseen: got 2.0"),
        ({"seeds": []}, "seeds: empty"),
        ({"seeds": [-1]}, "seeds: got -1"),
        ({"last": 10}, "last: got 10"),
        ({"growth": 0}, "growth: got 0"),
        ({"growth": 0.5}, "growth: got 0.5"),
        ({"growth": float("nan")}, "growth: contains nan"),
        ({"records": 1}, "records: got 1"),
    ],
)
def test_bad_input(change, says):
    with pytest.raises(InputError, match=says):
        slow_decay.train(**{"unseen": 2, "last": 1e3, **change})


def test_the_command_writes_table_csv_and_figure(short, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(slow_decay, "decays", lambda **_options: [short[1], short[2]])
    place = tmp_path / "table.json"
    assert slow_decay.main(["--out", str(tmp_path), "--json", str(place)]) == 0
    printed = capsys.readouterr().out
    assert "observed, not proved" in printed
    assert "no pair" in printed
    rows = json.loads(place.read_text())["rows"]
    assert [row["k"] for row in rows] == [1, 2]
    assert rows[0]["distance_exponent"] is None
    table = list(csv.DictReader(io.StringIO((tmp_path / "slow_decay.csv").read_text())))
    assert {(row["k"], row["quantity"]) for row in table} == {
        ("1", "score"),
        ("2", "distance"),
        ("2", "score"),
    }
    assert all(float(r["least"]) <= float(r["median"]) <= float(r["most"]) for r in table)
    picture = (tmp_path / "slow_decay.svg").read_bytes()
    slow_decay.draw([short[1], short[2]], tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == picture


def test_bad_arguments_exit_with_one_line(capsys):
    assert slow_decay.main(["--seed", "-1"]) == 2
    assert capsys.readouterr().err == "error: seed: got -1, expected a whole number >= 0\n"


@pytest.mark.slow
def test_full_size_exponents():
    for run in slow_decay.decays(seed=0):
        score = slow_decay.fit(run.times, run.score)
        assert score.exponent == pytest.approx(run.expected, abs=3e-4)
        if run.unseen > 1:
            found = slow_decay.fit(run.times, run.distance)
            assert found.exponent == pytest.approx(run.expected, abs=2e-3)
            assert not found.refutes(run.expected)
            assert found.refutes(-1 / run.unseen)
        late = run.times >= 1e10
        theory = (run.times[late] / run.times[-1]) ** run.expected
        # Single heads with k = 6 are still 5 % off at 1e10: corrections seem to fall like the distance itself.
        ratio = np.median(run.shown, axis=-1)[late] / np.median(run.shown[-1]) / theory
        assert abs(ratio - 1).max() <= 0.03
