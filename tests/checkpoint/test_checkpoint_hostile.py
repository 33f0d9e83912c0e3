"""Damaged and hostile files: one line that names the file, exit 2, and nothing of theirs runs."""

import json
import os
import pickle
import struct
import zipfile

import numpy as np
import pytest
import torch

from collapse_theory.cli import main
from tests.checkpoint.models import trained_rows, write

ROWS = trained_rows(np.random.default_rng(0), 64, 16)


@pytest.fixture
def refused(capsys):
    """Run the audit and give the one line that it says."""

    def run(path, *args):
        assert main(["audit", str(path), *map(str, args)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("collapse-theory: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        return err

    return run


def safetensors(path, header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def entry(shape=(4, 2), begin=0, end=32, dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


NAME = "lm_head.weight"


@pytest.mark.parametrize(
    ("header", "data", "why"),
    [
        (b"{", b"", "not JSON"),
        (b"[1]", b"", "no JSON object"),
        (b"[" * 100_000, b"", "not JSON"),
        (b'{"\xff": 1}', b"", "not JSON"),
        ({NAME: 3}, b"", "lacks dtype"),
        ({NAME: entry(end=40)}, bytes(32), "ends at byte 40 of 32"),
        ({NAME: entry(shape=(10**9, 10**9))}, bytes(32), "of shape"),
        ({NAME: entry(shape=(2**63, 2**63))}, bytes(32), "of shape"),
        ({NAME: entry(shape=(-4, -2))}, bytes(32), "no clean shape"),
        ({NAME: entry(shape=(True, 2))}, bytes(32), "no clean shape"),
        ({NAME: entry(shape=(4.0, 2))}, bytes(32), "no clean shape"),
        ({NAME: entry(dtype="F31")}, bytes(32), "unknown dtype"),
        ({NAME: entry(dtype=["F32"])}, bytes(32), "unknown dtype"),
        ({NAME: entry(), "b": entry(begin=16, end=48)}, bytes(48), "overlaps"),
        ({NAME: entry(), "b": entry(begin=40, end=72)}, bytes(72), "a hole"),
        ({NAME: entry()}, bytes(40), "8 bytes behind"),
        ({NAME: entry()}, bytes(31), "ends at byte 32 of 31"),
        (
            b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
            b'"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
            bytes(4),
            "stands twice",
        ),
        ({NAME: entry(shape=(0, 2), end=0)}, b"", "it has no rows"),
        ({NAME: entry(dtype="I32")}, bytes(32), "only floating-point"),
    ],
)
def test_safetensors_that_contradict_themselves(tmp_path, refused, header, data, why):
    said = refused(safetensors(tmp_path / "m.safetensors", header, data))
    assert why in said
    assert "m.safetensors" in said


@pytest.mark.parametrize(
    "content", [b"", b"1234", struct.pack("<Q", 2**62), struct.pack("<Q", 99) + b"{}"]
)
def test_safetensors_without_a_whole_header(tmp_path, refused, content):
    (tmp_path / "m.safetensors").write_bytes(content)
    assert "header of" in refused(tmp_path / "m.safetensors")


def test_a_file_cut_short_while_it_is_read(tmp_path, refused, monkeypatch):
    from collapse_theory.checkpoint.auditing import _audit

    path = write(tmp_path / "m", ROWS)
    plain = _audit.open_model

    def cut(*args, **options):
        found = plain(*args, **options)
        os.truncate(path / "model.safetensors", 1500)
        return found

    monkeypatch.setattr(_audit, "open_model", cut)
    assert "ends within tensor" in refused(path)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
def test_rows_with_nan_or_infinity_are_named(tmp_path, refused, value, dtype):
    rows = ROWS.copy()
    rows[[7, 9], 3] = value
    assert "has NaN or infinity in rows 7, 9;" in refused(write(tmp_path / "m", rows, dtype=dtype))


@pytest.mark.parametrize("layout", ["sharded safetensors", "sharded torch"])
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda m: m.update(x="../secret.safetensors"), "shards must lie beside the index"),
        (lambda m: m.update(x="/etc/passwd"), "shards must lie beside the index"),
        (lambda m: m.update(x="sub\\a.safetensors"), "shards must lie beside the index"),
        (lambda m: m.update(x=".."), "shards must lie beside the index"),
        (lambda m: m.update(x="a\0b"), "shards must lie beside the index"),
        (lambda m: m.update(x="model-9.safetensors"), "get the missing shard"),
        (lambda m: m.update(x=7), "has no file name"),
        (lambda m: m.update(gone=m["model.norm.weight"]), "lacks tensor 'gone'"),
        (lambda m: m.clear(), "has no weight_map"),
    ],
)
def test_an_index_that_lies(tmp_path, refused, layout, change, why):
    path = write(tmp_path / "m", ROWS, layout)
    index = next(path.glob("*.index.json"))
    data = json.loads(index.read_text())
    change(data["weight_map"])
    index.write_text(json.dumps(data))
    assert why in refused(path)


def test_one_tensor_in_two_shards(tmp_path, refused):
    path = write(tmp_path / "m", ROWS, "sharded safetensors")
    first, second = sorted(path.glob("*.safetensors"))
    second.write_bytes(first.read_bytes())
    index = next(path.glob("*.index.json"))
    data = json.loads(index.read_text())
    data["weight_map"] = {n: f for n, f in data["weight_map"].items() if f == first.name} | {
        "model.embed_tokens.weight": first.name,
        "model.norm.weight": second.name,
    }
    index.write_text(json.dumps(data))
    assert "also stands in" in refused(path)


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


@pytest.mark.parametrize("form", ["zip", "legacy", "plain pickle"])
def test_a_pickle_with_code_does_not_run(tmp_path, refused, form):
    path, mark = tmp_path / "pytorch_model.bin", tmp_path / "ran"
    data = {"lm_head.weight": torch.ones(8, 2), "x": Bomb(mark)}
    if form == "plain pickle":
        path.write_bytes(pickle.dumps(Bomb(mark)))
    else:
        torch.save(data, path, _use_new_zipfile_serialization=form == "zip")
    said = refused(path)
    assert "refused" in said or "damaged" in said
    assert not mark.exists()


@pytest.mark.parametrize("keep", [0, 10, 300, -40])
@pytest.mark.parametrize("layout", ["torch", "legacy torch"])
def test_torch_files_cut_short(tmp_path, refused, layout, keep):
    path = write(tmp_path / "m", ROWS, layout) / "pytorch_model.bin"
    path.write_bytes(path.read_bytes()[:keep])
    assert "pytorch_model.bin" in refused(path)


def test_torch_files_with_compressed_records_or_no_tensors(tmp_path, refused):
    path = tmp_path / "pytorch_model.bin"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", bytes(100_000))
    assert "compressed" in refused(path)
    torch.save([1, 2], path)
    assert "no named tensors" in refused(path)


def npy(path, header):
    text = (header + " " * 20 + "\n").encode()
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(32))
    return path


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000, 1000000)}", "damaged"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (-4, -2)}", "damaged"),
        ("{'descr': '|O', 'fortran_order': False, 'shape': (2, 2)}", "Python objects"),
        ("{'descr': '<f4', 'fortran_order': True, 'shape': (4, 2)}", "ascontiguousarray"),
        ("{'descr': '<i4', 'fortran_order': False, 'shape': (4, 2)}", "only floating-point"),
        ("__import__('os').mkdir('ran')", "damaged"),
    ],
)
def test_npy_headers(tmp_path, refused, monkeypatch, header, why):
    monkeypatch.chdir(tmp_path)
    assert why in refused(npy(tmp_path / "a.npy", header))
    assert not (tmp_path / "ran").exists()


def test_a_zip_bomb_is_refused_by_its_declared_size(tmp_path, refused):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("lm_head.weight.npy", bytes(1000))
    data = path.read_bytes()
    # The sizes in the central directory, which is what readers trust.
    place = data.index(b"PK\x01\x02") + 24
    path.write_bytes(data[:place] + struct.pack("<I", 3 << 30) + data[place + 4 :])
    assert "would unpack" in refused(path)


def test_npz_with_damage(tmp_path, refused):
    path = tmp_path / "a.npz"
    path.write_bytes(b"no zip")
    assert "damaged .npz" in refused(path)
    np.savez_compressed(path, a=ROWS, b=ROWS)
    assert "which array" in refused(path)
    np.savez_compressed(path, a=ROWS)
    data = bytearray(path.read_bytes())
    data[400:440] = bytes(40)
    path.write_bytes(bytes(data))
    assert "damaged" in refused(path)


@pytest.mark.parametrize("keep", [0, 3, 20, 60, -100])
def test_gguf_cut_short(tmp_path, refused, keep):
    path = write(tmp_path / "m", np.repeat(ROWS, 2, axis=1), "gguf", texts=["a"] * 64)
    path.write_bytes(path.read_bytes()[:keep])
    assert "damaged or not GGUF" in refused(path)


def test_gguf_with_huge_counts(tmp_path, refused):
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 2**60, 2**60) + bytes(100))
    assert "damaged or not GGUF" in refused(path)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("config.json", b"[]", "no JSON object"),
        ("config.json", b"{", "not valid JSON"),
        ("tokenizer.json", b"{}", "must map texts to ids"),
        ("tokenizer.json", b'{"model": {"vocab": {"a": -1}}}', "must map texts to ids"),
        ("tokenizer.json", b'{"model": {"vocab": {"a": 1e99}}}', "must map texts to ids"),
        ("tokenizer.json", b'{"model": {"vocab": {}}, "added_tokens": [{"id": "x"}]}', "lacks id"),
        ("tokenizer.json", b'{"model": {"vocab": {}}, "added_tokens": 5}', "added tokens"),
        ("tokenizer.json", b"\xff", "not valid JSON"),
        ("vocab.txt", b"\xff", "UTF-8"),
    ],
)
def test_side_files(tmp_path, refused, name, content, why):
    path = write(tmp_path / "m", ROWS)
    (path / name).write_bytes(content)
    said = refused(path)
    assert why in said
    assert name in said


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--unused", "60-70"], "60-70 is out of range"),
        (["--unused", "9-3"], "9-3 runs backwards"),
        (["--unused", "<pad>"], "needs a tokenizer"),
        (["--unused", "0-63"], "every row"),
        (["--learning-rate", "1"], "--steps: is needed"),
        (["--token-counts", "none.npy"], "none.npy"),
        (["--features", "none.npy"], "none.npy"),
        (["--tensor-name", "model.norm.weight"], "has the shape (16,)"),
    ],
)
def test_options_that_do_not_fit(tmp_path, refused, args, why):
    assert why in refused(write(tmp_path / "m", ROWS), *args)


@pytest.mark.parametrize("content", ["0 1\n64 2", "0 -1", "a b c", "[true]", '{"x": 1}'])
def test_counts_that_do_not_fit(tmp_path, refused, content):
    file = tmp_path / ("counts.json" if content[0] in "[{" else "counts.txt")
    file.write_text(content)
    assert file.name in refused(write(tmp_path / "m", ROWS), "--token-counts", file)


def test_folders_without_weights_or_with_several(tmp_path, refused):
    assert "no weights" in refused(tmp_path)
    assert "no such file or folder" in refused(tmp_path / "gone")
    (tmp_path / "a.txt").write_text("")
    assert "unknown kind of file" in refused(tmp_path / "a.txt")
    for name in "ab":
        write(tmp_path, ROWS, "lone safetensors").rename(tmp_path / f"{name}.safetensors")
    assert "several weight files" in refused(tmp_path)
    (tmp_path / "b.safetensors").rename(tmp_path / "adapter_model.safetensors")
    assert "merge it into its model" in refused(tmp_path)
