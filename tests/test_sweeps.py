"""Sweeps: every head of the grid, the same on any number of workers, and nothing done twice."""

import csv
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collapse_theory.cli import main
from collapse_theory.errors import InputError
from collapse_theory.schedules import cosine
from collapse_theory.sweeps import COLUMNS, Sweep, _grid, _run, run_sweep
from collapse_theory.trajectories import LinearConfig, LinearRuns, train_linear_heads

GRID = {
    "steps": 12,
    "optimizers": ["sgd", "adamw"],
    "momenta": [0.0, 0.9],
    "schedules": ["constant", "cosine"],
    "batch_sizes": [None, 5],
    "learning_rates": [0.05, 0.2],
    "weight_decays": [0.01],
    "seeds": [0, 7],
    "warmup": 2,
}


def data(seed=0, examples=20):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(examples, 3)), rng.integers(2, 5, size=examples)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(_grid, "PART", 3)


def test_a_row_is_its_head_trained_alone(tmp_path):
    features, labels = data()
    rows = run_sweep(Sweep(**GRID), features, labels, folder=tmp_path)
    assert len(rows) == (2 + 1) * 2 * 2 * 2 * 2
    assert [row["head"] for row in rows] == list(range(len(rows)))
    for row in rows:
        assert tuple(row) == COLUMNS
        factor = np.ones(12)
        factor[:2] = 0, 0.5
        if row["schedule"] == "cosine":
            factor = cosine(1.0, 12, warmup=2)
        config = LinearConfig(
            steps=12,
            step_size=row["learning_rate"] * factor,
            weight_decay=row["weight_decay"],
            optimizer=row["optimizer"],
            momentum=row["momentum"],
            batch_size=row["batch_size"],
            seeds=row["seed"],
        )
        start = np.random.default_rng(row["seed"]).normal(scale=0.3, size=(1, 5, 3))
        runs = train_linear_heads(start, features, labels, config=config)
        w = runs.final_weights[0]
        near = {"rel": 1e-10, "abs": 1e-14}
        gap = np.linalg.norm(w[0] - w[1])
        assert row["distance_last"] == pytest.approx(gap, **near)
        assert row["distance_first"] == pytest.approx(
            np.linalg.norm(start[0, 0] - start[0, 1]), **near
        )
        assert row["ratio"] == pytest.approx(row["distance_last"] / row["distance_first"], **near)
        assert row["cosine"] == pytest.approx(
            w[0] @ w[1] / np.linalg.norm(w[0]) / np.linalg.norm(w[1]), **near
        )
        assert row["norm"] == pytest.approx(np.linalg.norm(w[:2], axis=1).mean(), **near)
        logits = features @ w.T
        loss = np.log(np.exp(logits).sum(1)) - logits[np.arange(20), labels]
        assert row["loss"] == pytest.approx(loss.mean(), **near)
        assert row["largest_factor"] == pytest.approx(runs.ratio.max(), **near)
        if config.plain:
            product = np.prod(1 - row["learning_rate"] * factor * 0.01)
            assert row["decay_product"] == pytest.approx(product, **near)
            assert row["ratio"] <= row["decay_product"] * (1 + 1e-12)  # claim trajectory
        else:
            assert row["decay_product"] is None


def test_the_table_is_the_rows(tmp_path):
    rows = run_sweep(Sweep(**GRID), *data(), folder=tmp_path)
    with (tmp_path / "heads.csv").open(newline="") as stream:
        table = list(csv.DictReader(stream))
    assert len(table) == len(rows)
    for cells, row in zip(table, rows, strict=True):
        for name, value in row.items():
            if value is None:
                assert cells[name] == ""
            elif isinstance(value, bool):
                assert cells[name] == str(value).lower()
            else:
                assert type(value)(cells[name]) == value


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_the_parts_are_the_heads_once_each(drawn):
    axes = {
        "optimizers": ["sgd", "adam", "signsgd"],
        "momenta": [0.0, 0.5],
        "schedules": ["constant", "wsd", "restarts"],
        "batch_sizes": [None, 1, 4],
        "learning_rates": [0.1, 1.0],
        "seeds": [0, 1, 2],
    }
    chosen = {
        k: drawn.draw(st.lists(st.sampled_from(v), min_size=1, unique=True))
        for k, v in axes.items()
    }
    sweep = Sweep(steps=5, **chosen)
    parts = sweep.parts()
    heads = [head for part in parts for head in part.heads]
    assert sorted(heads, key=lambda head: head.index) == sweep.heads()
    for part in parts:
        assert 1 <= len(part.heads) <= _grid.PART
        assert len({(h.optimizer, h.momentum, h.batch_size) for h in part.heads}) == 1


def test_the_number_of_workers_changes_nothing(tmp_path):
    pytest.importorskip("joblib")
    for workers in (1, 2):
        run_sweep(
            Sweep(**GRID), *data(), folder=tmp_path / str(workers), workers=workers, keep_runs=True
        )
    names = sorted(p.relative_to(tmp_path / "1") for p in (tmp_path / "1").rglob("*.*"))
    assert len(names) > 20
    assert names == sorted(p.relative_to(tmp_path / "2") for p in (tmp_path / "2").rglob("*.*"))
    for name in names:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes(), name


def test_on_a_dask_cluster(tmp_path):
    distributed = pytest.importorskip(
        "distributed", reason="distributed is not installed: pip install 'collapse_theory[dask]'"
    )
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        there = run_sweep(
            Sweep(**GRID), *data(), folder=tmp_path / "a", scheduler=cluster.scheduler_address
        )
    assert there == run_sweep(Sweep(**GRID), *data(), folder=tmp_path / "b")


def test_what_is_finished_is_not_done_again(tmp_path, monkeypatch):
    whole = run_sweep(Sweep(**GRID), *data(), folder=tmp_path, keep_runs=True)
    parts = sorted((tmp_path / "parts").iterdir())
    runs = sorted((tmp_path / "runs").iterdir())
    assert len(parts) == len(runs) == len(Sweep(**GRID).parts())
    parts[1].unlink()
    parts[2].write_text('{"part": 2, "rows": [')
    parts[3].write_text('{"part": 3, "rows": []}')
    runs[4].unlink()
    trained = []

    def train(sweep, part, *rest):
        trained.append(part.index)
        return original(sweep, part, *rest)

    original = _run.train_part
    monkeypatch.setattr(_run, "train_part", train)
    assert run_sweep(Sweep(**GRID), *data(), folder=tmp_path, keep_runs=True) == whole
    assert trained == [1, 2, 3, 4]
    assert all(path.exists() for path in (*parts, *runs))
    record = LinearRuns.load(runs[0])
    assert float(record.distance[0, -1].max()) == whole[0]["distance_last"]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"steps": 13}, "steps"),
        ({"learning_rates": [0.05]}, "learning_rates"),
        ({"epsilon": 1e-3}, "epsilon"),
    ],
)
def test_another_sweep_in_the_folder_is_refused(tmp_path, changes, named):
    run_sweep(Sweep(**{**GRID, "seeds": [0]}), *data(), folder=tmp_path)
    with pytest.raises(InputError, match=f"other {named}; choose another folder"):
        run_sweep(Sweep(**{**GRID, "seeds": [0], **changes}), *data(), folder=tmp_path)
    with pytest.raises(InputError, match="other features, labels; choose another folder"):
        run_sweep(Sweep(**{**GRID, "seeds": [0]}), *data(1), folder=tmp_path)


def test_a_head_that_diverges_leaves_the_others_alone(tmp_path):
    grid = {"steps": 400, "weight_decays": [1.0], "optimizers": ["sgd"]}
    both = run_sweep(Sweep(learning_rates=[0.1, 90.0], **grid), *data(), folder=tmp_path / "a")
    alone = run_sweep(Sweep(learning_rates=[0.1], **grid), *data(), folder=tmp_path / "b")
    assert [row["diverged"] for row in both] == [False, True]
    assert both[1]["distance_last"] is None
    assert both[1]["loss"] is None
    assert both[0]["distance_last"] == pytest.approx(alone[0]["distance_last"], rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"steps": -1}, "steps: got -1"),
        ({"learning_rates": []}, "learning_rates are"),
        ({"learning_rates": [0.1, 0.1]}, "learning_rates hold 0.1 twice"),
        ({"learning_rates": [np.nan]}, "learning_rates: contains nan"),
        ({"optimizers": ["lion"]}, "optimizers hold 'lion'"),
        ({"optimizers": "sgd"}, "optimizers are 'sgd'"),
        ({"schedules": ["saw"]}, "schedules hold 'saw'"),
        ({"momenta": [-0.1]}, "momenta"),
        ({"batch_sizes": [0]}, "batch_size: got 0"),
        ({"batch_sizes": [21]}, "batch_sizes hold 21, but there are 20 examples"),
        ({"seeds": [-1]}, "seeds: got -1"),
        ({"cycles": 3}, "cycles is 3"),
        ({"amsgrad": True, "optimizers": ["sgd"]}, "amsgrad is True"),
        ({"nesterov": True}, "nesterov"),
        ({"dtype": "bfloat16"}, "bfloat16"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_written(tmp_path, changes, says):
    with pytest.raises(InputError, match=says) as caught:
        run_sweep(Sweep(**{**GRID, **changes}), *data(), folder=tmp_path / "new")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "new").exists()


def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)  # as if it were not installed
    with pytest.raises(InputError, match=r"distributed is missing; .*collapse_theory\[dask\]"):
        run_sweep(Sweep(**GRID), *data(), folder=tmp_path / "new", scheduler="tcp://localhost:1")
    assert not (tmp_path / "new").exists()


# ------------------------------------------------------------------------------- the command line


SWEEP = (
    "simulate sweep --steps 300 --optimizer sgd adamw --learning-rate 0.01 0.1 --seeds 0 1 2 "
    "--batch-size 4 8 16 32 64 --schedule constant wsd"
)


def test_the_command_killed_goes_on_to_the_same_bytes(tmp_path, capsys):
    """SIGKILL after the first part; parts here are of the size that the command has."""
    command = [sys.executable, "-m", "collapse_theory.cli", *shlex.split(SWEEP), "--quiet"]
    out = tmp_path / "killed"
    with subprocess.Popen([*command, "--out", str(out)], stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and not list(out.glob("parts/*.json")):
            pass
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert not (out / "heads.csv").exists()
    before = {path: path.stat().st_mtime_ns for path in out.glob("parts/*.json")}
    assert before
    for folder in (out, tmp_path / "whole"):
        subprocess.run([*command, "--out", str(folder)], check=True, stdout=subprocess.DEVNULL)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert (out / "heads.csv").read_bytes() == (tmp_path / "whole" / "heads.csv").read_bytes()


SLEEPING = """
import sys, time
from collapse_theory.sweeps import spread

def nap(at):
    if at < 4:
        return at
    open(f"{sys.argv[1]}/{at}", "w").close()
    time.sleep(100)

with spread(nap, [(at,) for at in range(9)], workers=2) as results:
    for result in results:
        pass
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_workers_too(tmp_path, number):
    """Both workers are in the middle of a call; half a minute later at most, no process of the group is left."""
    file = tmp_path / "sleeping.py"
    file.write_text(SLEEPING)
    command = [sys.executable, str(file), str(tmp_path)]
    with subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE) as process:
        try:
            while len(list(tmp_path.glob("[0-9]"))) < 2:
                assert process.poll() is None, "ended before its workers had work"
                time.sleep(0.01)
            process.send_signal(number)
            assert process.wait(30) in (128 + signal.SIGTERM, -signal.SIGINT)
            limit = time.monotonic() + 30
            while alive(process.pid):
                assert time.monotonic() < limit, "workers are left"
                time.sleep(0.05)
        finally:
            if alive(process.pid):
                os.killpg(process.pid, signal.SIGKILL)


def alive(group):
    """Whether a process group has processes."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_command_writes_rows_runs_and_json(tmp_path, capsys):
    line = f"simulate sweep --steps 5 --rare 0.2 --seeds 3 4 --runs --out {tmp_path}/s --json {tmp_path}/s.json"
    assert main(shlex.split(line)) == 0
    out, err = capsys.readouterr()
    assert "heads (2)" in err
    assert "heads.csv" in out
    rows = json.loads(Path(f"{tmp_path}/s.json").read_text())["heads"]
    assert [row["seed"] for row in rows] == [3, 4]
    assert rows[0]["decay_product"] is None
    assert LinearRuns.load(tmp_path / "s" / "runs" / "00000.npz").pairs.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ("--learning-rate fast", "'fast'"),
        ("--learning-rate 0.1 0.1", "learning_rates hold 0.1 twice"),
        ("--optimizer lion", "lion"),
        ("--batch-size 1000", "batch_sizes hold 1000"),
        ("--workers 0", "--workers"),
        ("--cycles 2", "--cycles 2"),
        ("--data none.npz", "none.npz"),
        ("--unseen 10", "--unseen 10"),
        ("--masked --dtype float16", "float16"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(tmp_path, capsys, more, named):
    out = tmp_path / "s"
    assert main(["simulate", "sweep", "--quiet", "--out", str(out), *shlex.split(more)]) == 2
    err = capsys.readouterr().err
    assert named in err
    assert len(err.splitlines()) == 1
    assert not out.exists()
