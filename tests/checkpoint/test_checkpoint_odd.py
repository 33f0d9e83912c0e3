"""Odd input of audits and repairs: what is read is never written over, nothing reaches the terminal raw, nothing crashes."""

import json
import os
import shutil

import numpy as np
import pytest
from safetensors.numpy import save_file

from collapse_theory.checkpoint import audit
from collapse_theory.cli import main
from collapse_theory.errors import printable
from tests.checkpoint.models import vocabulary, write, write_tokenizer

WORDS = vocabulary("collapse", np.random.default_rng(1), vocab=256, dim=16, unused=16)
EVIL = "a\x1b[31m\nb\u202e.lm_head.weight"


@pytest.fixture
def model(tmp_path):
    return write(tmp_path / "model", WORDS.rows, texts=WORDS.texts)


@pytest.fixture
def call(capsys):
    def run(*args):
        status = main([str(a) for a in args])
        caught = capsys.readouterr()
        for text in (caught.out, caught.err):
            assert all(c.isprintable() or c == "\n" for c in text)
        return status, caught.out, caught.err

    return run


@pytest.fixture
def refused(call):
    def run(*args):
        status, out, err = call(*args)
        assert (status, out, err.count("\n")) == (2, "", 1)
        return err

    return run


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir()}


# ---------------------------------------------------------------------------------------- places of output


@pytest.mark.parametrize("option", ["--csv", "--json", "--html"])
@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_an_audit_does_not_write_over_what_it_reads(model, refused, tmp_path, option, name):
    (tmp_path / "link").symlink_to(model)
    before = contents(model)
    for place in (model / name, tmp_path / "link" / name):
        assert "would be written over" in refused("audit", model, option, place)
    assert contents(model) == before


def test_lone_files_and_counts_are_not_written_over(refused, tmp_path):
    rows = write(tmp_path / "m", WORDS.rows, "npy")
    (tmp_path / "counts.csv").write_text("0 1\n")
    assert "--json" in refused("audit", rows, "--unused", "3-9", "--json", rows)
    counts = ["--token-counts", tmp_path / "counts.csv", "--csv", tmp_path / "counts.csv"]
    assert "--csv" in refused("audit", rows, *counts)


def test_a_repair_does_not_write_its_json_over_what_it_reads(model, refused, tmp_path):
    before = contents(model)
    said = refused("repair", model, "--out", tmp_path / "new", "--json", model / "config.json")
    assert "would be written over" in said
    (tmp_path / "ids").write_text("250")
    ids = ["--rows", tmp_path / "ids", "--json", tmp_path / "ids"]
    assert "would be written over" in refused("repair", model, "--out", tmp_path / "new", *ids)
    assert contents(model) == before
    assert not (tmp_path / "new").exists()


def test_a_table_in_the_folder_may_be_made_anew(model, call):
    for _ in range(2):
        assert call("audit", model, "--csv", model / "tokens.csv")[0] == 0


def test_two_outputs_of_one_name_are_refused(model, refused, tmp_path):
    place = tmp_path / "out"
    assert "that of --json" in refused("audit", model, "--json", place, "--csv", place)
    assert not place.exists()


@pytest.mark.parametrize("option", ["--csv", "--json", "--html"])
def test_a_device_is_refused_before_the_work(model, refused, option):
    assert "not a regular file" in refused("audit", model, option, os.devnull)


@pytest.mark.parametrize("out", [".", ""])
def test_a_repair_into_a_place_without_a_name(model, refused, tmp_path, monkeypatch, out):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert "no name of its own" in refused("repair", model, "--out", out)


def test_a_later_model_that_is_refused_leaves_no_half_of_an_answer(model, refused, tmp_path):
    assert "no such file" in refused("audit", model, tmp_path / "gone")


def test_a_model_without_unused_rows_is_left_out_of_the_plot_over_training(model, call, tmp_path):
    plain = write(tmp_path / "plain", WORDS.rows)
    other = tmp_path / "other"
    shutil.copytree(model, other)
    figures = ["--figures", tmp_path / "two"]
    assert call("audit", model, plain, *figures)[0] == 0
    assert not (tmp_path / "two" / "over_training.pdf").exists()
    assert call("audit", model, plain, other, "--figures", tmp_path / "three")[0] == 0
    assert (tmp_path / "three" / "over_training.pdf").exists()


# -------------------------------------------------------------------------------- names that a terminal obeys


@pytest.mark.parametrize(
    ("text", "shown"),
    [("plain ▁é", "plain ▁é"), ("\x1b[2J\n", r"\x1b[2J\n"), ("\u202e\ud800", r"\u202e\ud800")],
)
def test_what_is_not_printable_is_spelt_out(text, shown):
    assert printable(text) == shown


def test_names_of_tensors_and_folders_reach_no_terminal_raw(call, refused, tmp_path):
    folder = tmp_path / "e\x1b[2J\nvil"
    folder.mkdir()
    save_file({EVIL: WORDS.rows, "b." + EVIL: WORDS.rows}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"architectures": ["\x1b[31mModel"]}))
    write_tokenizer(folder, WORDS.texts)
    assert r"\x1b[31m\nb" in call("audit", folder)[1]
    assert r"\x1b[31m\nb" in call("repair", folder, "--out", tmp_path / "n\x1b[1m")[1]
    assert r"\x1b[31m\nb" in refused("audit", folder, "--tensor-name", "x")
    refused("audit", str(folder) + "gone")
    save_file({EVIL: WORDS.rows * np.nan}, folder / "model.safetensors")
    assert "NaN or infinity" in refused("audit", folder)


def test_the_architecture_is_shown_and_not_obeyed(model, call):
    (model / "config.json").write_text(json.dumps({"architectures": ["\x1b[31mModel"]}))
    assert r"\x1b[31mModel" in call("audit", model)[1]


def test_halves_of_surrogate_pairs_in_texts(tmp_path, call):
    texts = list(WORDS.texts)
    texts[250] = "<unused\ud800>"
    model = write(tmp_path / "m", WORDS.rows, texts=texts)
    outputs = [word for kind in ("csv", "html", "json") for word in (f"--{kind}", tmp_path / kind)]
    assert call("audit", model, *outputs, "--unused", "250")[0] == 0
    assert r"<unused\ud800>" in (tmp_path / "csv").read_text(encoding="utf-8")


# ------------------------------------------------------------------------------------- numbers out of reach


@pytest.mark.parametrize("scale", ["1" + "0" * 400, "1e999", "1e-320", "-1", "0", '"a"'])
def test_an_initial_scale_that_cannot_be_meant_is_as_none(model, call, tmp_path, scale):
    (model / "config.json").write_text('{"initializer_range": ' + scale + "}")
    assert call("audit", model, "--json", tmp_path / "said")[0] == 0
    assert json.loads((tmp_path / "said").read_text())["initial_scale"] is None


@pytest.mark.parametrize("scale", ["1e-320", "1e300", "0"])
def test_a_given_initial_scale_out_of_reach_is_refused(model, refused, scale):
    assert "initial scale: got" in refused("audit", model, "--initial-scale", scale)


@pytest.mark.parametrize("ids", ["9" * 5000, "0-" + "9" * 5000, "3,256"])
def test_ids_out_of_reach(model, refused, ids):
    assert "is out of range" in refused("audit", model, "--unused", ids)


def test_ranges_that_run_backwards_and_spaces(model, refused):
    assert "write 3-5" in refused("audit", model, "--unused", "5-3")
    found = audit(model, unused=["3, 5-6"])
    assert [g.ids.tolist() for g in found.groups if g.reason == "given as unused"] == [[3, 5, 6]]


def test_an_added_token_with_an_id_of_thousands_of_digits(model, call):
    (model / "tokenizer.json").unlink()
    (model / "vocab.json").write_text(json.dumps({t: i for i, t in enumerate(WORDS.texts)}))
    entries = {"added_tokens_decoder": {"9" * 5000: {"content": "x"}}}
    (model / "tokenizer_config.json").write_text(json.dumps(entries))
    assert call("audit", model)[0] == 0


@pytest.mark.parametrize("vocabulary", [[[], ["a", 0]], [["a", 0], 5]])
def test_a_unigram_vocabulary_of_something_else(model, refused, vocabulary):
    (model / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocabulary}}))
    assert "pairs of text and score" in refused("audit", model)


@pytest.mark.parametrize("content", ["", "0 0\n1 0\n"])
def test_counts_of_nothing(model, refused, tmp_path, content):
    (tmp_path / "counts.txt").write_text(content)
    said = refused("audit", model, "--token-counts", tmp_path / "counts.txt")
    assert "counts.txt: no id has a count above 0" in said


# ---------------------------------------------------------------------------------- matrices of odd shapes


def test_one_used_row_leaves_unused_rows_undecided(tmp_path):
    texts = ["a"] + [f"<unused{i}>" for i in range(255)]
    found = audit(write(tmp_path / "m", WORDS.rows, texts=texts))
    assert found.diagnoses == ("undecided",)
    assert "255 rows (its name says so)" in str(found)
    assert "fewer than two used rows" in str(found)


@pytest.mark.parametrize("unused_too", [False, True])
def test_used_rows_that_are_all_equal(tmp_path, call, unused_too):
    rows = np.repeat(WORDS.rows[:1], 256, axis=0)
    if not unused_too:
        rows[240:] = WORDS.rows[240:]
    model = write(tmp_path / "m", rows, texts=WORDS.texts)
    outputs = ["--figures", tmp_path / "f", "--json", tmp_path / "said"]
    assert call("audit", model, *outputs)[0] == 0
    assert json.loads((tmp_path / "said").read_text())["diagnoses"] == ["undecided"]


@pytest.mark.parametrize("factor", [1e-30, 1e-20, 1e20, 1e30])
def test_the_scale_of_a_matrix_does_not_change_what_is_near(tmp_path, factor):
    plain = audit(write(tmp_path / "a", WORDS.rows, texts=WORDS.texts))
    scaled = (WORDS.rows.astype(np.float64) * factor).astype(np.float32)
    found = audit(write(tmp_path / "b", scaled, texts=WORDS.texts))
    assert found.diagnoses == plain.diagnoses == ("collapse",)
    for one, other in (
        (found.groups[0].near, plain.groups[0].near),
        (found.used_near, plain.used_near),
    ):
        assert one is not None
        assert other is not None
        assert one.unused_share == other.unused_share
        assert one.distance == pytest.approx(other.distance * factor, rel=1e-4)


def test_rows_of_one_number_are_drawn(tmp_path, call):
    model = write(tmp_path / "m", WORDS.rows[:, :1].copy(), texts=WORDS.texts)
    assert call("audit", model, "--figures", tmp_path / "f")[0] == 0
    assert (tmp_path / "f" / "plane.pdf").exists()
