"""Files are written whole or not at all, and read with clear refusals."""

import json
import os
import stat

import numpy as np
import pytest

from collapse_theory import files
from collapse_theory.errors import InputError


def one_line(refusal, *words):
    text = str(refusal.value)
    assert "\n" not in text
    for word in words:
        assert word in text


def test_json_round_trip(tmp_path):
    path = tmp_path / "new" / "folders" / "x.json"
    data = {"a": [5e-324, -0.0, 1.7976931348623157e308, 0.1], "b": None, "c": "Łazić\n"}
    assert files.write_json(str(path), data) == path
    back = files.read_json(path)
    assert back == data
    assert np.signbit(back["a"][1])
    assert path.read_text(encoding="utf-8").endswith("}\n")


def test_a_file_is_replaced_and_readable_as_usual(tmp_path):
    path = tmp_path / "x.txt"
    files.write_text(path, "old, and longer")
    files.write_text(path, "new")
    assert path.read_text() == "new"
    (tmp_path / "usual").touch()
    usual = stat.S_IMODE((tmp_path / "usual").stat().st_mode)
    assert stat.S_IMODE(path.stat().st_mode) == usual
    assert sorted(os.listdir(tmp_path)) == ["usual", "x.txt"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, SystemExit])
@pytest.mark.parametrize("exists", [False, True])
def test_an_interruption_leaves_nothing_and_keeps_the_old_file(tmp_path, error, exists):
    path = tmp_path / "x.txt"
    if exists:
        path.write_text("old")

    def interrupted(stream):
        stream.write(b"half")
        stream.flush()
        raise error

    with pytest.raises(error):
        files.write_whole(path, interrupted)
    assert os.listdir(tmp_path) == (["x.txt"] if exists else [])
    assert not exists or path.read_text() == "old"


def test_a_full_disk_is_bad_input_and_leaves_nothing(tmp_path):
    def full(stream):
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError) as refusal:
        files.write_whole(tmp_path / "x", full)
    one_line(refusal, str(tmp_path / "x"), "No space left", "another place")
    assert os.listdir(tmp_path) == []


def test_data_that_json_cannot_hold_leaves_the_old_file(tmp_path):
    path = files.write_json(tmp_path / "x.json", [1])
    for bad in ([float("nan")], [float("inf")]):
        with pytest.raises(ValueError, match="JSON compliant"):
            files.write_json(path, bad)
    assert files.read_json(path) == [1]
    assert os.listdir(tmp_path) == ["x.json"]


@pytest.mark.parametrize(
    "kind", ["folder", "below a file", "long name", "null", "pipe", "below null"]
)
def test_a_place_that_cannot_be_written_is_bad_input(tmp_path, kind):
    (tmp_path / "file").write_text("kept")
    os.mkfifo(tmp_path / "pipe")
    path = {
        "folder": tmp_path,
        "below a file": tmp_path / "file" / "x.json",
        "long name": tmp_path / ("x" * 300),
        "null": tmp_path / "a\0b",
        "pipe": tmp_path / "pipe",
        "below null": os.devnull + "/x.json",
    }[kind]
    with pytest.raises(InputError) as refusal:
        files.write_text(path, "text")
    one_line(refusal, str(path))
    assert sorted(os.listdir(tmp_path)) == ["file", "pipe"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)  # as /dev/null would stay a device
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no such file"),
        ("folder", "cannot be read"),
        (b"", "not valid JSON"),
        (b'{"schema": 1, "val', "not valid JSON"),
        (b"\xff\xfe\x00", "cannot be read"),
        (b"\x93NUMPY", "cannot be read"),
        (b"[" * 100_000, "not valid JSON"),
        (b"9" * 5000, "not valid JSON"),
    ],
    ids=["missing", "folder", "empty", "cut", "not utf-8", "binary", "deep", "long number"],
)
def test_a_damaged_file_is_bad_input(tmp_path, content, words):
    path = tmp_path / "x.json"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as refusal:
        files.read_json(path)
    one_line(refusal, str(path), words)


def test_a_name_with_a_null_character_cannot_be_read():
    with pytest.raises(InputError, match="cannot be read"):
        files.read_json("a\0b")


def test_json_is_what_the_standard_library_reads(tmp_path):
    path = files.write_json(tmp_path / "x.json", {"x": [1, 2.5]})
    assert json.loads(path.read_bytes()) == {"x": [1, 2.5]}
