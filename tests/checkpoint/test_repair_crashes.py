"""What is left when a repair is broken off, cannot write, or writes what it should not: nothing that looks finished."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from collapse_theory.checkpoint import repair
from collapse_theory.checkpoint.repairing import _write as _repair_write
from collapse_theory.errors import InputError
from tests.checkpoint.models import vocabulary, write

ROOT = Path(__file__).resolve().parents[2]

# The process stops itself where a stage begins, so that the test need not guess when.
STOPPED = """
import os, signal, sys
from collapse_theory.checkpoint import repair
from collapse_theory.checkpoint.repairing import _write as _repair_write

stage, source, out = sys.argv[1:]

def stop(*_):
    print("stopped", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)

if stage == "rename":
    original = _repair_write.write_json
    def write_json(*arguments):
        original(*arguments)
        stop()
    _repair_write.write_json = write_json
    repair(source, out)
else:
    repair(source, out, progress=lambda now, done, total: stop() if now == stage else None)
"""
STAGES = ("writing", "reading back", "rename")


@pytest.fixture
def source(tmp_path):
    words = vocabulary("collapse", np.random.default_rng(1), vocab=300, dim=32, unused=20)
    return write(tmp_path / "source", words.rows, "sharded safetensors", texts=words.texts)


def around(source):
    """Names beside the source."""
    return sorted(path.name for path in source.parent.iterdir() if path != source)


def stopped(stage, source, out):
    """A repair in a process of its own that has stopped at a stage."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", STOPPED, stage, str(source), str(out)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "stopped\n"
    return process


def end(process, number):
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    process.communicate()
    return process.returncode


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs POSIX signals")
@pytest.mark.parametrize("stage", STAGES)
def test_a_killed_repair_leaves_nothing_that_looks_finished(source, tmp_path, stage):
    before = {p.name: p.read_bytes() for p in source.iterdir()}
    process = stopped(stage, source, tmp_path / "out")
    assert end(process, signal.SIGKILL) == -signal.SIGKILL
    (left,) = around(source)
    assert left.startswith(".out.partial-")
    result = repair(source, tmp_path / "out")  # the next run clears it away, and says so
    assert around(source) == ["out"]
    assert any(left in note for note in result.notes)
    assert {p.name: p.read_bytes() for p in source.iterdir()} == before


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs POSIX signals")
def test_an_interrupted_repair_leaves_nothing(source, tmp_path):
    assert end(stopped("writing", source, tmp_path / "out"), signal.SIGINT) != 0
    assert around(source) == []


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs POSIX signals")
def test_a_folder_that_another_run_works_in_is_left_alone(source, tmp_path):
    process = stopped("writing", source, tmp_path / "out")
    (busy,) = around(source)
    result = repair(source, tmp_path / "out")
    assert any("another run" in note and busy in note for note in result.notes)
    assert around(source) == [busy, "out"]
    end(process, signal.SIGKILL)


def test_partial_folders_of_other_places_are_left_alone(source, tmp_path):
    for name in (".other.partial-1", ".out.part"):
        (tmp_path / name).mkdir()
    (tmp_path / ".out.partial-file").write_text("a file")
    repair(source, tmp_path / "out")
    assert around(source) == [".other.partial-1", ".out.part", ".out.partial-file", "out"]


def test_a_full_disk_is_one_line_and_leaves_nothing(source, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", "the file")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(InputError, match=r"not made .*No space left on device.*; nothing was left"):
        repair(source, tmp_path / "out")
    assert around(source) == []


def test_a_disk_without_room_is_refused_before_writing(source, tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(InputError, match="bytes and the disk has 1,000 left"):
        repair(source, tmp_path / "out")
    assert around(source) == []


@pytest.mark.parametrize("layout", ["safetensors", "torch", "npz", "npy"])
def test_a_limit_on_file_sizes(tmp_path, layout):
    """A real failure in the middle of a file: the process may write no file above 16 KiB."""
    pytest.importorskip("resource")
    words = vocabulary("collapse", np.random.default_rng(1), vocab=300, dim=32, unused=20)
    source = write(tmp_path / "source", words.rows, layout)
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, 1 << 14))\n"
        "from collapse_theory.cli import main; sys.exit(main())"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            program,
            "repair",
            source,
            "--rows",
            "299",
            "--out",
            tmp_path / "out",
            "--quiet",
        ],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    said = "the disk may be full" if "torch" in layout else "File too large"
    assert "not made" in done.stderr
    assert said in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["source"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(source, tmp_path):
    place = tmp_path / "closed"
    place.mkdir(mode=0o500)
    with pytest.raises(InputError, match="Permission denied"):
        repair(source, place / "out")


@pytest.mark.parametrize(
    ("layout", "damage"),
    [
        *(
            (k, d)
            for k in ("safetensors", "torch", "npz", "npy")
            for d in ("row", "kept", "place", "end")
        ),
        *((k, "longer") for k in ("safetensors", "npy")),
    ],
)
def test_what_was_written_wrongly_is_found(tmp_path, monkeypatch, layout, damage):
    """A disk that lies, or a fault in the writer: the comparison sees it, and the folder never gets its name."""
    words = vocabulary("collapse", np.random.default_rng(1), vocab=300, dim=32, unused=20)
    source = write(tmp_path / "source", words.rows, layout)
    write_file = _repair_write.edit

    def wrong(source, target, edits, progress):
        changed = list(edits)
        if damage == "row":  # one bit of a new row
            data = changed[0].data.copy()
            data[3, 5] ^= 1
            changed = [_with(changed[0], data=data)]
        elif damage == "kept":  # a row that was to stay
            changed.append(_with(changed[0], ids=np.array([5]), data=changed[0].data[:1]))
        elif damage == "place":  # a new row in the wrong place
            changed = [_with(changed[0], ids=np.sort([*changed[0].ids[:-1], 5]))]
        write_file(source, target, changed, progress)
        if damage == "longer":
            with target.open("ab") as stream:
                stream.write(b"x")
        if damage == "end":
            with target.open("r+b") as stream:
                stream.truncate(target.stat().st_size - 1)

    monkeypatch.setattr(_repair_write, "edit", wrong)
    with pytest.raises(InputError, match="does not read back as it was written"):
        repair(source, tmp_path / "out", rows=words.unused)
    assert [p.name for p in tmp_path.iterdir() if "out" in p.name] == []


def test_memory_that_is_no_longer_shared_is_found(tmp_path, monkeypatch):
    """Names that share memory in a torch file share it afterwards: otherwise a load would untie them."""
    rows = torch.randn(40, 8, generator=torch.Generator().manual_seed(0))
    torch.save({"wte.weight": rows, "lm_head.weight": rows}, tmp_path / "a.pt")
    write_file = _repair_write.edit

    def unshared(source, target, edits, progress):
        write_file(source, target, edits, progress)
        state = torch.load(target, weights_only=True)
        torch.save({name: tensor.clone() for name, tensor in state.items()}, target)

    repair(tmp_path / "a.pt", tmp_path / "good", rows=[3, 4])
    monkeypatch.setattr(_repair_write, "edit", unshared)
    with pytest.raises(InputError, match="does not read back as it was written"):
        repair(tmp_path / "a.pt", tmp_path / "bad", rows=[3, 4])


def _with(change, **values):
    from dataclasses import replace

    return replace(change, **values)


def test_progress_goes_to_the_end(source, tmp_path):
    said = []
    repair(source, tmp_path / "out", progress=lambda *step: said.append(step))
    for stage in ("writing", "reading back"):
        steps = [step for step in said if step[0] == stage]
        assert steps[-1][1] == steps[-1][2] > 0
        assert [done for _, done, _ in steps] == sorted(done for _, done, _ in steps)
