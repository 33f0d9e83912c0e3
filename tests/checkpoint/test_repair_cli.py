"""``collapse-theory repair``: its options, its output, its exit statuses."""

import json

import numpy as np
import pytest

from collapse_theory.cli import main
from tests.checkpoint.models import vocabulary, write


@pytest.fixture
def source(tmp_path, monkeypatch):
    words = vocabulary("collapse", np.random.default_rng(1), vocab=300, dim=32, unused=20)
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "model", words.rows, dtype="bfloat16", texts=words.texts)
    return "model"


@pytest.fixture
def call(capsys):
    def run(*arguments):
        status = main([str(a) for a in arguments])
        caught = capsys.readouterr()
        return status, caught.out, caught.err

    return run


def test_a_repair(call, source, tmp_path):
    status, out, err = call("repair", source, "--out", "new", "--json", "said.json", "--seed", 3)
    assert status == 0
    assert out.startswith("Replaced 20 of 300 rows of model.embed_tokens.weight")
    assert "rows      280-299" in out
    assert all(len(line) <= 100 for line in out.splitlines())
    size = f"{(tmp_path / 'model' / 'model.safetensors').stat().st_size:,}"
    assert err.splitlines() == [f"writing ({size})", f"reading back ({size})"]
    said = json.loads((tmp_path / "said.json").read_text())
    manifest = json.loads((tmp_path / "new" / "repair_manifest.json").read_text())
    assert {k: v for k, v in manifest.items() if k != "environment"} == said
    assert said["seed"] == 3


def test_quiet_and_dry(call, source, tmp_path):
    status, out, err = call("repair", source, "--out", "new", "--dry-run", "--quiet")
    assert (status, err) == (0, "")
    assert out.startswith("Would replace 20 of 300 rows")
    assert not (tmp_path / "new").exists()


def test_all_options_together(call, source, tmp_path):
    (tmp_path / "ids.txt").write_text("290-299")
    arguments = ("--rows", "ids.txt", "--from-tokens", "tok1,tok2", "--spread", "0.2")
    status, out, _ = call("repair", source, "--out", "new", *arguments, "--norm", "q0.9", "--copy")
    assert status == 0
    assert "tokens, norm q0.9, from 'tok1' 'tok2', spread 0.2, seed 0" in out


def test_commas_in_texts(call, source):
    status, _, err = call("repair", source, "--out", "new", "--from-tokens", r"tok1,a\,b")
    assert status == 2
    assert "'a,b' is no single token" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["model"], "--out"),
        (["model", "--out", "model"], "is the source itself"),
        (["none", "--out", "new"], "none: no such file"),
        (["model", "--out", "new", "--rows", "400"], "no row 400"),
        (["model", "--out", "new", "--rows", "0-299"], "--max-share"),
        (["model", "--out", "new", "--direction", "up"], "'up'"),
        (["model", "--out", "new", "--norm", "-1"], "norm"),
        (["model", "--out", "new", "--from-tokens", ","], "texts with commas between"),
        (["model", "--out", "new", "--max-share", "much"], "'much'"),
        (["model", "--out", "new", "--json", "model"], "is a folder"),
        (["model", "--out", "new", "--tensor-name", "words"], "no tensor 'words'"),
    ],
)
def test_bad_input_is_one_line(call, source, tmp_path, arguments, said):
    status, out, err = call("repair", *arguments)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err
    assert not (tmp_path / "new").exists()
