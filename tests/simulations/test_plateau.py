"""The plateau: a broken-off sweep goes on with the same numbers; the measures measure; the page says what was found."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collapse_theory.errors import InputError
from docs import generate
from simulations import plateau, plateau_views

QUICK = plateau.QUICK
SHIPPED = generate.RESULTS / "plateau.csv"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The record of an uninterrupted quick sweep."""
    path = tmp_path_factory.mktemp("plateau") / "plateau.jsonl"
    plateau.sweep(path, QUICK)
    return path.read_bytes()


@pytest.fixture(scope="module")
def runs():
    return plateau.run(QUICK.settings[0], QUICK)


def rows_of(record: bytes) -> list[dict]:
    return [json.loads(line) for line in record.decode().splitlines()[1:]]


# -------------------------------------------------------------------------------- going on after a kill


def test_a_sweep_killed_in_a_setting_goes_on_to_the_same_numbers(whole, tmp_path, monkeypatch):
    real, path, started = plateau.run, tmp_path / "plateau.jsonl", []

    def killed_at_the_third(setting, config):
        started.append(setting)
        if len(started) == 3:
            raise KeyboardInterrupt
        return real(setting, config)

    monkeypatch.setattr(plateau, "run", killed_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        plateau.sweep(path, QUICK)
    assert rows_of(path.read_bytes()) == rows_of(whole)[:2]
    rows = plateau.sweep(path, QUICK)
    assert path.read_bytes() == whole
    assert rows == rows_of(whole)
    # The first two settings were not run again.
    assert started == [*QUICK.settings[:3], QUICK.settings[2]]


@given(data=st.data())
def test_a_record_cut_anywhere_is_made_whole(whole, tmp_path_factory, data):
    cut = data.draw(st.integers(0, len(whole)))
    path = tmp_path_factory.mktemp("cut") / "plateau.jsonl"
    path.write_bytes(whole[:cut])
    stored = dict(zip(QUICK.settings, rows_of(whole), strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plateau, "run", lambda _setting, _config: None)
        patch.setattr(plateau, "measure", lambda setting, _config, _runs: stored[setting])
        assert plateau.sweep(path, QUICK) == rows_of(whole)
    assert path.read_bytes() == whole


def test_the_same_seeds_give_the_same_numbers_and_others_do_not(whole):
    setting = QUICK.settings[2]  # with minibatches
    again = plateau.measure(setting, QUICK, plateau.run(setting, QUICK))
    assert again == rows_of(whole)[2]
    other = dataclasses.replace(QUICK, seeds=(2, 3))
    assert plateau.measure(setting, other, plateau.run(setting, other)) != again


def test_a_record_of_another_configuration_is_refused(whole, tmp_path):
    path = tmp_path / "plateau.jsonl"
    path.write_bytes(whole)
    with pytest.raises(InputError, match="made with another configuration"):
        plateau.sweep(path, dataclasses.replace(QUICK, folds=25))
    path.write_bytes(whole.replace(b'"steps"', b'"steps', 1))
    with pytest.raises(InputError, match="damaged"):
        plateau.sweep(path, QUICK)


# ------------------------------------------------------------------------------------------ the measures


def measured(runs, relative):
    """`measure` of a run whose relative distances are given, [states]."""
    distance = runs.distance[:, :1] * relative[None, :, None]
    return plateau.measure(QUICK.settings[0], QUICK, dataclasses.replace(runs, distance=distance))


def test_unseen_labels_are_no_targets(runs):
    _, x, labels = plateau.problem(plateau.Config())
    assert x.shape == (5, 256, 16)
    assert np.unique(labels).tolist() == list(range(4, 16))
    assert runs.pairs.tolist() == [[0, 1]]
    assert runs.states[-1] == runs.config.steps == 2400


@given(rate=st.floats(0.2, 3))
def test_an_exponential_has_its_rate_and_no_plateau(runs, rate):
    folds = np.arange(len(runs.states)) / QUICK.per_fold
    row = measured(runs, np.exp(-rate * folds))
    assert row["rate"] == pytest.approx(rate, rel=1e-6)
    assert row["rate_memory"] == pytest.approx(rate * 0.1 * 0.1 / (1 - 0.999), rel=1e-6)
    first_below = np.argmax(rate * folds > -np.log(plateau.FLOOR))
    assert row["floor_step"] == (runs.states[first_below] if first_below else None)
    if row["level"] is not None:
        assert row["level"] == pytest.approx(np.exp(-10.5 * rate))
        # Half the level of the window's middle is passed after it, unless the rate is too small for that.
        left = np.flatnonzero((rate * (folds - 10.5) > np.log(2)) & (folds > 12))
        assert row["left_step"] == runs.states[left[0]]


def test_the_decay_product_itself_has_ratio_1(runs):
    row = measured(runs, (1 - 0.1 * 0.1) ** runs.states.astype(float))
    for fold in (1, 6, 24):
        assert row[f"ratio_{fold}"] == pytest.approx(1, rel=1e-9)
        assert row[f"distance_{fold}"] == pytest.approx(0.99 ** (100 * fold), rel=1e-9)


def test_a_constant_distance_is_a_plateau_that_is_not_left(runs):
    relative = np.where(runs.states < 300, 1.0, 0.01)
    row = measured(runs, relative)
    assert row["level"] == row["level_least"] == row["level_most"] == pytest.approx(0.01)
    assert row["left_step"] is None
    assert row["last"] == pytest.approx(1)
    assert row["rate"] == pytest.approx(0, abs=1e-9)
    assert row["level_over_eta"] == pytest.approx(0.1 * np.median(runs.distance[:, 0]))
    left = measured(runs, np.where(runs.states < 2000, relative, 0.001))
    assert left["left_step"] == 2000


def test_nothing_is_read_below_rounding(runs):
    row = measured(runs, np.where(runs.states < 500, 1.0, 1e-14))
    assert row["floor_step"] == 500
    assert row["level"] is row["left_step"] is row["ratio_6"] is None
    assert row["ratio_3"] == pytest.approx(np.exp(3), rel=0.02)


def test_the_gradient_is_that_of_the_loss(runs):
    """Central differences of the mean cross-entropy in the entries of an unseen row."""
    (entry, _) = plateau._gradients(runs, QUICK)
    rows, x, y = runs.final_weights[0], runs.features[0], runs.labels[0]

    def loss(shift):
        z = x @ (rows + shift).T
        return np.mean(np.log(np.exp(z).sum(1)) - z[np.arange(len(y)), y])

    found = []
    for k in range(QUICK.unseen):
        for j in range(QUICK.dim):
            shift = np.zeros_like(rows)
            shift[k, j] = 1e-5
            found.append(abs(loss(shift) - loss(-shift)) / 2e-5)
    assert max(found) == pytest.approx(entry, rel=1e-3, abs=1e-9)


# --------------------------------------------------------------------------------------- what is written


def test_the_command_goes_on_and_writes_csv_and_figure(whole, tmp_path, capsys, monkeypatch):
    (tmp_path / "plateau_quick.jsonl").write_bytes(whole)
    monkeypatch.setattr(plateau, "run", None)  # everything is there already
    assert plateau.main(["--quick", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert printed.err == "3 of 3 settings; done\n"
    rows = plateau_views.read((tmp_path / "plateau.csv").read_text())
    assert plateau_views.table(rows) in printed.out
    for row, full in zip(rows, rows_of(whole), strict=True):
        for name, value in full.items():
            rounded = isinstance(value, float) and value != 0
            assert row[name] == (pytest.approx(value, rel=1e-3) if rounded else value), name
    picture = (tmp_path / "plateau.svg").read_bytes()
    plateau_views.draw(rows, tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == picture


def test_bad_files_end_with_one_line(tmp_path, capsys):
    (tmp_path / "plateau_quick.jsonl").write_text("{}\n")
    assert plateau.main(["--quick", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(InputError, match=r"plateau\.csv: damaged"):
        plateau_views.read("varied,eta\nbase,x\n")


def test_an_interrupt_says_where_the_finished_settings_are(tmp_path, capsys, monkeypatch):
    def stop(_setting, _config):
        raise KeyboardInterrupt

    monkeypatch.setattr(plateau, "run", stop)
    assert plateau.main(["--quick", "--out", str(tmp_path)]) == 130
    assert "plateau_quick.jsonl" in capsys.readouterr().err
    assert Path(tmp_path / "plateau_quick.jsonl").read_text().count("\n") == 1


def test_the_page_says_what_the_shipped_numbers_say():
    rows = plateau_views.read(SHIPPED.read_text())
    assert plateau_views.table(rows) in generate.STUDIES.read_text(encoding="utf-8")
    assert len(rows) == len(plateau.Config().settings)
    fast = [r for r in rows if r["eta"] * r["lam"] > (1 - r["beta2"]) * 1.001]
    assert all(r["ratio_24"] > 1 for r in fast)
    still = [r for r in rows if r["batch"] is None and r["beta2"] in (0.0, 0.99)]
    assert len(still) == 2
    assert all(r["left_step"] is None for r in still)
    small = [r for r in rows if r["batch"] == 32 and r["beta2"] == 0.999]
    small = [r for r in small if r["eta"] * r["lam"] < 0.0091]
    assert len(small) == 5
    assert all(abs(r["rate_memory"] - 1) < 0.05 for r in small)
