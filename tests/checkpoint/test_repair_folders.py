"""Repaired checkpoints: what changes in every layout and dtype, what must not, and what is refused."""

import hashlib
import json
import os
import zipfile
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from collapse_theory import checkpoint
from collapse_theory.checkpoint import open_model, repair
from collapse_theory.checkpoint.reading._safetensors import read_header
from collapse_theory.errors import InputError
from tests.checkpoint.models import DTYPES, vocabulary, write, write_gguf

SCHEMA = json.loads(
    (Path(checkpoint.__file__).parent / "repairing" / "repair.schema.json").read_text(
        encoding="utf-8"
    )
)
WRITABLE = ("float64", "float32", "float16", "bfloat16")
FOLDERS = ("safetensors", "sharded safetensors", "torch", "legacy torch", "sharded torch")
EMBED, HEAD = "model.embed_tokens.weight", "lm_head.weight"


@pytest.fixture(scope="module")
def words():
    return vocabulary("collapse", np.random.default_rng(1), vocab=300, dim=32, unused=20)


@pytest.fixture
def source(tmp_path, words):
    """A plain checkpoint; tests write to folders beside it."""
    return write(tmp_path / "source", words.rows, texts=words.texts)


def tensors(path):
    """Every tensor of a folder or file, read by the formats' own libraries."""
    path = Path(path)
    found = {}
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        if file.suffix == ".safetensors":
            found |= load_file(file)
        elif file.suffix == ".bin":
            found |= torch.load(file, weights_only=True)
        elif file.suffix == ".npy":
            found["rows"] = torch.from_numpy(np.load(file))
        elif file.suffix == ".npz":
            found |= {name: torch.from_numpy(a) for name, a in np.load(file).items()}
    return found


def bits(tensor):
    return tensor.contiguous().view(torch.uint8).numpy().tobytes()


def check_only_rows_differ(old, new, names, ids):
    """Bit by bit: the same tensors but for these rows, which are distinct."""
    assert list(old) == list(new)
    for name in old:
        assert old[name].dtype == new[name].dtype
        if name not in names:
            assert bits(old[name]) == bits(new[name])
            continue
        kept = np.setdiff1d(np.arange(len(old[name])), ids)
        assert bits(old[name][kept]) == bits(new[name][kept])
        rows = new[name].double().numpy()
        assert len(np.unique(rows, axis=0)) == len(rows)
        assert (rows[ids] != old[name].double().numpy()[ids]).any(axis=1).all()


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


# ------------------------------------------------------------------------------ layouts and dtypes


@pytest.mark.parametrize("dtype", WRITABLE)
@pytest.mark.parametrize("layout", FOLDERS)
def test_unused_rows_become_distinct_in_every_layout(tmp_path, words, layout, dtype):
    source = write(tmp_path / "a", words.rows, layout, dtype=dtype, texts=words.texts)
    before = contents(source)
    result = repair(source, tmp_path / "b")
    assert contents(source) == before
    assert [row.id for row in result.rows] == words.unused.tolist()
    assert [row.text for row in result.rows] == words.texts[-20:]
    new = tensors(tmp_path / "b")
    check_only_rows_differ(tensors(source), new, {EMBED}, words.unused)
    used = np.linalg.norm(new[EMBED].double().numpy()[:280], axis=1)
    mine = np.linalg.norm(new[EMBED].double().numpy()[280:], axis=1)
    assert result.matrices[0].norm == pytest.approx(np.median(used))
    assert mine == pytest.approx(np.median(used), rel=2**-8)
    assert result.matrices[0].before.cosine_centred > 0.99
    assert abs(result.matrices[0].after.cosine_centred) < 0.1
    assert sorted(contents(tmp_path / "b")) == sorted([*before, "repair_manifest.json"])


@pytest.mark.parametrize("layout", ["lone safetensors", "npz", "npy"])
def test_files_of_their_own(tmp_path, words, layout):
    source = write(tmp_path / "a", words.rows, layout)
    result = repair(source, tmp_path / "b", rows=words.unused)
    new = tmp_path / "b" / source.name
    name = result.matrices[0].name
    check_only_rows_differ(tensors(source), tensors(new), {name}, words.unused)
    assert sorted(contents(tmp_path / "b")) == sorted([source.name, "repair_manifest.json"])


@pytest.mark.parametrize("compressed", [False, True])
def test_members_of_an_npz_keep_their_bytes_and_compression(tmp_path, words, compressed):
    save = np.savez_compressed if compressed else np.savez
    save(tmp_path / "a.npz", embedding=words.rows, other=np.arange(100_000), names=np.array(["x"]))
    repair(tmp_path / "a.npz", tmp_path / "b", rows="280-299")
    with zipfile.ZipFile(tmp_path / "a.npz") as old, zipfile.ZipFile(tmp_path / "b/a.npz") as new:
        assert new.testzip() is None
        for left, right in zip(old.infolist(), new.infolist(), strict=True):
            assert (left.filename, left.compress_type) == (right.filename, right.compress_type)
            same = old.read(left) == new.read(right)
            assert same == (left.filename != "embedding.npy")


def test_every_other_byte_of_a_safetensors_file_is_kept(tmp_path, words):
    """Headers with odd padding, metadata and order of names included."""
    source = tmp_path / "a.safetensors"
    rows = torch.tensor(words.rows)
    save_file({"z": torch.ones(3), EMBED: rows}, source, metadata={"b": "ü", "a": "1"})
    data = source.read_bytes()
    length = int.from_bytes(data[:8], "little")
    source.write_bytes(
        (length + 24).to_bytes(8, "little") + data[8 : 8 + length] + b" " * 24 + data[8 + length :]
    )
    result = repair(source, tmp_path / "b", rows=[280, 282])
    old, new = source.read_bytes(), (tmp_path / "b" / source.name).read_bytes()
    start = read_header(source)[0][EMBED].offset
    different = np.flatnonzero(np.frombuffer(old, "u1") != np.frombuffer(new, "u1"))
    assert set((different - start) // (4 * 32)) == {280, 282}
    (changed,) = result.changed
    assert changed.sha256_before == hashlib.sha256(old).hexdigest()
    assert changed.sha256_after == hashlib.sha256(new).hexdigest()
    assert changed.bytes == len(new) == len(old)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(WRITABLE),
    st.sampled_from(["safetensors", "torch"]),
    st.sampled_from(["mean", "random", "orthogonal", "tokens"]),
    st.sets(st.integers(0, 39), min_size=1, max_size=20),
    st.integers(0, 1000),
)
def test_rows_outside_the_chosen_keep_their_bits(
    tmp_path_factory, dtype, layout, direction, ids, seed
):
    folder = tmp_path_factory.mktemp("law")
    rows = np.random.default_rng(seed).normal(0, 1, (40, 8)).astype(np.float32)
    source = write(folder / "a", rows, layout, dtype=dtype)
    tokens = (0, 1) if direction == "tokens" else ()
    result = repair(source, folder / "b", rows=ids, direction=direction, tokens=tokens, seed=seed)
    new = tensors(folder / "b")
    check_only_rows_differ(tensors(source), new, {EMBED}, sorted(ids))
    norms = np.linalg.norm(new[EMBED].double().numpy()[sorted(ids)], axis=1)
    assert norms == pytest.approx(result.matrices[0].norm, rel=2**-8)
    twin = repair(source, folder / "c", rows=ids, direction=direction, tokens=tokens, seed=seed)
    assert tensors(folder / "c")[EMBED].equal(new[EMBED])
    assert twin.changed == result.changed
    other = repair(
        source, folder / "d", rows=ids, direction=direction, tokens=tokens, seed=seed + 1
    )
    assert other.changed != result.changed


def test_blocks_do_not_matter(tmp_path, words, monkeypatch):
    """Rows that lie across the borders of the blocks in which files are compared."""
    from collapse_theory.checkpoint.repairing import _edit as _repair_edit

    source = write(tmp_path / "a", words.rows, texts=words.texts)
    whole = repair(source, tmp_path / "b")
    monkeypatch.setattr(_repair_edit, "BLOCK", 100)  # a row has 128 bytes
    assert repair(source, tmp_path / "c").changed == whole.changed


# ------------------------------------------------------------------------------------- tied or not


@pytest.mark.parametrize("layout", FOLDERS)
def test_untied_matrices_each_get_rows_of_their_own_norm(tmp_path, words, layout):
    head = 3 * words.rows[:, ::-1]
    source = write(
        tmp_path / "a", words.rows, layout, texts=words.texts, head=head.copy(), tied=False
    )
    result = repair(source, tmp_path / "b")
    assert [(m.name, m.role) for m in result.matrices] == [(EMBED, "input"), (HEAD, "output")]
    new = tensors(tmp_path / "b")
    check_only_rows_differ(tensors(source), new, {EMBED, HEAD}, words.unused)
    inward, outward = (new[name].double().numpy()[words.unused] for name in (EMBED, HEAD))
    assert np.linalg.norm(outward, axis=1) == pytest.approx(3 * np.linalg.norm(inward, axis=1))
    assert not np.allclose(outward, 3 * inward)


def test_matrices_of_different_heights(tmp_path, words):
    """Some heads are padded to a round number of rows, and the embedding is not: only rows of both are replaced."""
    head = np.concatenate([words.rows, np.zeros((20, 32), np.float32)])
    source = write(tmp_path / "a", words.rows, texts=words.texts, head=head, tied=False)
    result = repair(source, tmp_path / "b")
    assert [row.id for row in result.rows] == words.unused.tolist()
    with pytest.raises(InputError, match="no row 310; rows run from 0 to 299"):
        repair(source, tmp_path / "c", rows=[310])
    padded = repair(source, tmp_path / "d", rows=[310], only="output")
    assert padded.matrices[0].before.zeros == 1


def test_the_bfloat16_of_other_libraries_in_npy(tmp_path, words):
    """JAX's bfloat16 is in NumPy's files two bytes without a name."""
    bits = torch.tensor(words.rows).bfloat16().view(torch.int16).numpy()
    np.save(tmp_path / "a.npy", bits.view("V2"))
    result = repair(tmp_path / "a.npy", tmp_path / "b", rows=words.unused)
    assert result.matrices[0].dtype == "bfloat16"
    old, new = (
        np.load(path).view("<u2") for path in (tmp_path / "a.npy", tmp_path / "b" / "a.npy")
    )
    assert np.flatnonzero((old != new).any(axis=1)).tolist() == words.unused.tolist()


def test_input_and_output_get_different_directions(tmp_path, words):
    source = write(tmp_path / "a", words.rows, texts=words.texts, head=2 * words.rows, tied=False)
    repair(source, tmp_path / "b", direction="random")
    new = tensors(tmp_path / "b")
    inward, outward = (new[name].double().numpy()[words.unused] for name in (EMBED, HEAD))
    cosines = np.sum(inward * outward, axis=1) / np.linalg.norm(inward, axis=1)
    assert np.abs(cosines / np.linalg.norm(outward, axis=1)).max() < 0.8


@pytest.mark.parametrize(("only", "name"), [("input", EMBED), ("output", HEAD)])
def test_one_of_two_matrices(tmp_path, words, only, name):
    source = write(tmp_path / "a", words.rows, texts=words.texts, head=-words.rows, tied=False)
    repair(source, tmp_path / "b", only=only)
    check_only_rows_differ(tensors(source), tensors(tmp_path / "b"), {name}, words.unused)


@pytest.mark.parametrize("layout", FOLDERS)
def test_tied_matrices_that_are_both_stored_stay_equal(tmp_path, words, layout):
    source = write(
        tmp_path / "a", words.rows, layout, texts=words.texts, head=words.rows, tied=None
    )
    result = repair(source, tmp_path / "b")
    (matrix,) = result.matrices
    assert (matrix.role, matrix.copies) == ("input and output", (HEAD,))
    new = tensors(tmp_path / "b")
    check_only_rows_differ(tensors(source), new, {EMBED, HEAD}, words.unused)
    assert new[EMBED].equal(new[HEAD])
    assert not result.warnings


def test_tied_matrices_that_differ_are_warned_of(tmp_path, words):
    source = write(tmp_path / "a", words.rows, texts=words.texts, head=2 * words.rows, tied=True)
    result = repair(source, tmp_path / "b")
    assert "differ although the configuration ties them" in result.warnings[0]
    new = tensors(tmp_path / "b")
    assert new[EMBED][words.unused].equal(new[HEAD][words.unused])


@pytest.mark.parametrize("shared", [True, False])
def test_other_names_of_the_same_matrix_change_with_it(tmp_path, words, shared):
    """T5's and BART's files hold the embedding under three names, in torch's format in the same memory."""
    rows = torch.tensor(words.rows)
    names = ("shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
    state = {name: rows if shared else rows.clone() for name in names}
    state["other.weight"] = rows * 2
    (tmp_path / "a").mkdir()
    torch.save(state, tmp_path / "a" / "pytorch_model.bin")
    repair(tmp_path / "a", tmp_path / "b", rows=words.unused)
    new = torch.load(tmp_path / "b" / "pytorch_model.bin", weights_only=True)
    check_only_rows_differ(state, new, set(names), words.unused)
    assert new[names[0]].equal(new[names[1]])
    assert new[names[0]].equal(new[names[2]])
    assert (new[names[0]].data_ptr() == new[names[1]].data_ptr()) == shared


def test_what_lies_beside_the_weights_in_a_torch_file_is_kept(tmp_path, words):
    state = {
        "epoch": 3,
        "model": {EMBED: torch.tensor(words.rows), "n": torch.ones(2)},
        "log": [1.5, "x"],
    }
    torch.save(state, tmp_path / "a.pt")
    repair(tmp_path / "a.pt", tmp_path / "b", rows="280-299")
    new = torch.load(tmp_path / "b" / "a.pt", weights_only=True)
    assert (new["epoch"], new["log"], list(new)) == (3, [1.5, "x"], list(state))
    check_only_rows_differ(state["model"], new["model"], {EMBED}, words.unused)


def test_a_missing_head_is_warned_of(tmp_path, words):
    source = write(tmp_path / "a", words.rows, texts=words.texts, tied=False)
    result = repair(source, tmp_path / "b")
    assert "the output matrix is not in" in result.warnings[0]
    assert result.matrices[0].role == "input"


def test_a_matrix_by_its_name(tmp_path, words):
    tensors_ = {"words": torch.tensor(words.rows), "other": torch.zeros(5, 5)}
    save_file(tensors_, tmp_path / "a.safetensors")
    with pytest.raises(InputError, match="--tensor-name"):
        repair(tmp_path / "a.safetensors", tmp_path / "b", rows=[299])
    repair(tmp_path / "a.safetensors", tmp_path / "b", rows=[299], tensor_name="words")
    check_only_rows_differ(
        tensors(tmp_path / "a.safetensors"), tensors(tmp_path / "b"), {"words"}, [299]
    )


# ----------------------------------------------------------------------------------- the rows chosen


def test_reserved_rows_of_zeros(tmp_path, words):
    """Case reserved-rows (meta-llama/llama3#77; axolotl-ai-cloud/axolotl#1666, #2122): reserved rows are all zero.
    They are listed by id with the reason; repair makes them distinct, at the norm of trained rows."""
    rows = words.rows.copy()
    rows[words.unused] = 0
    names = [*words.texts[:280], *(f"<|reserved_special_token_{i}|>" for i in range(20))]
    source = write(tmp_path / "a", rows, dtype="bfloat16", texts=names, tied=False, head=rows)
    result = repair(source, tmp_path / "b")
    assert [row.id for row in result.rows] == words.unused.tolist()
    assert all(row.reason for row in result.rows)
    for matrix in result.matrices:
        assert (matrix.before.zeros, matrix.after.zeros, matrix.after.equal) == (20, 0, 0)
        assert matrix.after.distance_min > 0.5 * matrix.trained.distance_median
        assert matrix.after.norm_median == pytest.approx(matrix.trained.norm_median, rel=2**-8)


def test_the_padding_row_is_left_alone_unless_it_is_named(tmp_path, words):
    rows = words.rows.copy()
    rows[3] = 0
    source = write(tmp_path / "a", rows, texts=words.texts, config={"pad_token_id": 3})
    result = repair(source, tmp_path / "b")
    assert [row.id for row in result.rows] == words.unused.tolist()
    assert any("row 3 stays as it is" in note for note in result.notes)
    named = repair(source, tmp_path / "c", rows=[3, 299])
    assert [row.id for row in named.rows] == [3, 299]
    assert any("padding token" in warning for warning in named.warnings)


def test_trained_rows_chosen_by_hand_are_warned_of(tmp_path, source):
    result = repair(source, tmp_path / "b", rows=[7, 299])
    (warning,) = result.warnings
    assert "1 of the rows given do not look unused (7 'tok7')" in warning
    assert result.rows[0].reason == "chosen by hand"


def test_unused_rows_that_may_have_been_trained_are_warned_of(tmp_path):
    """A name does not say everything: some reserved tokens were trained after all."""
    words = vocabulary("trained", np.random.default_rng(1), vocab=300, dim=32, unused=20)
    source = write(tmp_path / "a", words.rows, texts=words.texts)
    (warning,) = repair(source, tmp_path / "b").warnings
    assert "20 of the rows look trained, although nothing says that they are used" in warning

    words = vocabulary("collapse", np.random.default_rng(1), vocab=300, dim=32, unused=20)
    words.rows[285] = 1.5 * words.rows[5]
    source = write(tmp_path / "c", words.rows, texts=words.texts)
    (warning,) = repair(source, tmp_path / "d").warnings
    assert "1 of the rows lie apart from the other unused rows" in warning
    assert "285 '<unused5>'" in warning


def test_rows_that_lie_with_the_unused_do_not_count_as_trained(tmp_path, words):
    """Glitch tokens: nothing names them, but they lie on the same point."""
    rows = words.rows.copy()
    rows[100:140] = rows[290]
    source = write(tmp_path / "a", rows, texts=words.texts)
    result = repair(source, tmp_path / "b")
    assert result.matrices[0].trained.rows == 240
    assert [row.id for row in result.rows] == words.unused.tolist()
    named = repair(source, tmp_path / "c", rows=[100, 299])
    assert not named.warnings


def test_rows_from_token_texts(tmp_path, source, words):
    result = repair(source, tmp_path / "b", tokens=("tok1", "tok2"), spread=0.05)
    assert result.options["direction"] == "tokens"
    rows = tensors(tmp_path / "b")[EMBED].double().numpy()
    anchor = words.rows[[1, 2]].astype(float).mean(axis=0)
    cosines = rows[words.unused] @ anchor / np.linalg.norm(rows[words.unused], axis=1)
    assert (cosines / np.linalg.norm(anchor)).min() > 0.95
    by_id = repair(source, tmp_path / "c", tokens=(1, 2), spread=0.05)
    assert by_id.changed == result.changed


def test_spaces_in_token_texts(tmp_path, words):
    texts = words.texts.copy()
    texts[5] = "▁hello"
    source = write(tmp_path / "a", words.rows, texts=texts)
    one = repair(source, tmp_path / "b", tokens=(" hello",))
    assert one.changed == repair(source, tmp_path / "c", tokens=(5,)).changed


def test_damaged_rows_can_be_replaced_and_only_they(tmp_path, words):
    rows = words.rows.copy()
    rows[299, 3] = np.nan
    rows[10] = 0
    rows[11] = rows[12]
    source = write(tmp_path / "a", rows, "lone safetensors")
    with pytest.raises(InputError, match="row 299 holds NaN"):
        repair(source, tmp_path / "b", rows=[298])
    result = repair(source, tmp_path / "b", rows=[298, 299])
    assert result.matrices[0].before.not_finite == 1
    assert result.matrices[0].trained.rows == 296  # neither zeros nor the same row twice
    assert np.isfinite(tensors(tmp_path / "b")[EMBED].numpy()).all()


# ------------------------------------------------------------------------- what lies around, manifest


def test_untouched_shards_are_linked_and_texts_copied(tmp_path, words):
    source = write(tmp_path / "a", words.rows, "sharded safetensors", texts=words.texts, shards=3)
    result = repair(source, tmp_path / "b")
    assert len(result.linked) == 2
    for name in result.linked:
        assert (source / name).stat().st_ino == (tmp_path / "b" / name).stat().st_ino
    for name in (*result.copied, *(file.name for file in result.changed)):
        assert (source / name).stat().st_ino != (tmp_path / "b" / name).stat().st_ino
    assert {"config.json", "tokenizer.json", "model.safetensors.index.json"} == set(result.copied)
    assert any("share their bytes" in note for note in result.notes)
    copied = repair(source, tmp_path / "c", copy=True)
    assert not copied.linked
    assert {p.stat().st_nlink for p in (tmp_path / "c").iterdir()} == {1}
    assert contents(tmp_path / "c").keys() == contents(tmp_path / "b").keys()


def test_links_that_cannot_be_made_are_copies(tmp_path, words, monkeypatch):
    source = write(tmp_path / "a", words.rows, "sharded safetensors", texts=words.texts)

    def no_link(*_):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", no_link)
    result = repair(source, tmp_path / "b")
    assert not result.linked
    assert open_model(tmp_path / "b").unembedding().rows == 300


def test_a_folder_of_symbolic_links_as_the_hub_keeps_it(tmp_path, words):
    """Snapshots link to blobs whose names have no suffix."""
    source = write(tmp_path / "a", words.rows, "sharded safetensors", texts=words.texts)
    snapshot, blobs = tmp_path / "snapshot", tmp_path / "blobs"
    snapshot.mkdir()
    blobs.mkdir()
    for k, file in enumerate(sorted(source.iterdir())):
        file.rename(blobs / f"{k:064x}")
        (snapshot / file.name).symlink_to(f"../blobs/{k:064x}")
    result = repair(snapshot, tmp_path / "b")
    assert not any(path.is_symlink() for path in (tmp_path / "b").iterdir())
    check_only_rows_differ(tensors(snapshot), tensors(tmp_path / "b"), {EMBED}, words.unused)
    assert len(result.linked) == 1
    (snapshot / "gone.json").symlink_to("../blobs/none")
    with pytest.raises(InputError, match=r"gone\.json: is a link to nothing"):
        repair(snapshot, tmp_path / "c")
    (snapshot / "gone.json").unlink()
    (snapshot / "loop").symlink_to("../snapshot")
    with pytest.raises(InputError, match="link to a folder above it"):
        repair(snapshot, tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_other_forms_of_the_old_weights_are_left_out(tmp_path, source):
    for name in (
        "pytorch_model.bin",
        "tf_model.h5",
        "onnx/model.onnx",
        "model.Q8_0.gguf",
        "original/params.json",
    ):
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_bytes(b"old")
    kept = (
        "training_args.bin",
        "optimizer.pt",
        "1_Pooling/config.json",
        "2_Dense/model.safetensors",
        "model_card.md",
    )
    for name in kept:
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_bytes(b"kept")
    (source / "model.safetensors.index.json.bak").write_text("{}")
    result = repair(source, tmp_path / "b")
    left = {
        "pytorch_model.bin",
        "tf_model.h5",
        "onnx/model.onnx",
        "model.Q8_0.gguf",
        "original/params.json",
    }
    assert set(result.left_out) == left
    there = contents(tmp_path / "b")
    assert not left & there.keys()
    assert set(kept) <= there.keys()
    assert any("optimizer" in note for note in result.notes)


@pytest.mark.parametrize("tied", [True, False])
def test_the_manifest(tmp_path, words, tied):
    source = write(
        tmp_path / "a",
        words.rows,
        "sharded safetensors",
        texts=words.texts,
        head=2 * words.rows,
        tied=tied,
    )
    result = repair(source, tmp_path / "b", direction="orthogonal", norm="q0.75", seed=5)
    data = json.loads((tmp_path / "b" / "repair_manifest.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(data, SCHEMA)
    environment = data.pop("environment")
    assert {"numpy", "torch"} <= environment["versions"].keys()
    assert data == json.loads(json.dumps(result.to_dict()))
    for file in data["changed"]:
        for name, key in ((source, "sha256_before"), (tmp_path / "b", "sha256_after")):
            assert hashlib.sha256((name / file["name"]).read_bytes()).hexdigest() == file[key]
    again = repair(
        tmp_path / "b", tmp_path / "c", rows="280-299"
    )  # a repaired one is repaired again
    assert again.rows[0].id == 280
    assert json.loads((tmp_path / "c" / "repair_manifest.json").read_text())["source"].endswith("b")


def test_a_wrong_manifest_is_seen(tmp_path, source):
    data = repair(source, tmp_path / "b", dry_run=True).to_dict()
    jsonschema.validate(data, SCHEMA)
    for change in (
        {"dry_run": False},
        {"seed": -1},
        {"rows": []},
        {"surprise": 1},
        {"kind": "audit"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(data | change, SCHEMA)


@pytest.mark.parametrize("layout", ["safetensors", "sharded torch"])
def test_a_dry_run_says_the_same_and_writes_nothing(tmp_path, words, layout):
    source = write(tmp_path / "a", words.rows, layout, texts=words.texts)
    there = sorted(tmp_path.rglob("*"))
    planned = repair(source, tmp_path / "b", dry_run=True)
    assert sorted(tmp_path.rglob("*")) == there
    done = repair(source, tmp_path / "b")
    assert (planned.rows, planned.matrices) == (done.rows, done.matrices)
    assert [f.name for f in planned.changed] == [f.name for f in done.changed]
    assert (planned.linked, planned.copied) == (done.linked, done.copied)
    assert "nothing was written" in str(planned)
    assert "Replaced 20 of 300 rows" in str(done)


# ----------------------------------------------------------------------------------------- refusals


def refused(said, *arguments, **options):
    with pytest.raises(InputError) as caught:
        repair(*arguments, **options)
    message = str(caught.value)
    assert said in message
    assert "\n" not in message


def test_places_that_are_refused(tmp_path, source, monkeypatch):
    before = contents(tmp_path)
    (tmp_path / "link").symlink_to("source")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("x")
    refused("is the source itself", source, source)
    refused("is the source itself", source, tmp_path / "link")
    refused("is the source itself", tmp_path / "link", source)
    refused("is the source itself", source, source / ".." / "source")
    refused("inside the source", source, source / "new")
    refused("inside the source", source, tmp_path / "link" / "new")
    refused("holds the source", source, tmp_path)
    refused("is not empty", source, tmp_path / "full")
    refused("is in the way", source, tmp_path / "full" / "file")
    refused("cannot be written", source, tmp_path / "full" / "file" / "below")
    refused("is the source itself", source / "model.safetensors", source)
    monkeypatch.chdir(tmp_path)
    refused("is the source itself", "source", "./source/")
    (tmp_path / "link").unlink()
    (tmp_path / "full" / "file").unlink()
    assert contents(tmp_path) == before


def test_an_empty_folder_is_taken(tmp_path, source):
    (tmp_path / "b").mkdir()
    repair(source, tmp_path / "b")
    repair(source, tmp_path / "deep" / "er" / "c")
    assert contents(tmp_path / "b").keys() == contents(tmp_path / "deep/er/c").keys()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rows": "300"}, "no row 300; rows run from 0 to 299"),
        ({"rows": "0-150"}, "151 of 300 would be overwritten"),
        ({"rows": "0-299", "max_share": 1.0}, "leave at least 2"),
        ({"direction": "sideways"}, "'sideways'; give one of mean, random, orthogonal, tokens"),
        ({"direction": "tokens"}, "give --from-tokens"),
        ({"direction": "random", "tokens": ("tok1",)}, "give --direction tokens"),
        ({"tokens": ("token1",)}, "'token1' is no single token of this model; did you mean"),
        ({"tokens": (300,)}, "no row 300"),
        ({"norm": "huge"}, "norm: got 'huge'"),
        ({"norm": 1e39}, "beyond the range of float32"),
        ({"norm": 1e-60}, "zero or equal"),
        ({"spread": 0}, "spread: got 0"),
        ({"spread": float("nan")}, "spread: got nan"),
        ({"spread": 1e-30}, "zero or equal"),
        ({"direction": "random", "spread": 1}, "random rows have none"),
        ({"only": "both"}, "give input or output"),
        ({"only": "input"}, "only input: model.embed_tokens.weight is the input and output matrix"),
        ({"tensor_name": "model.norm.weight"}, "has the shape"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"max_share": 0}, "max share"),
    ],
)  # fmt: skip
def test_options_that_are_refused(tmp_path, source, options, said):
    refused(said, source, tmp_path / "b", **options)
    assert not (tmp_path / "b").exists()
    assert not list(tmp_path.glob(".b.*"))


def test_formats_that_are_refused(tmp_path, words):
    gguf = write_gguf(tmp_path / "m.gguf", words.rows, texts=words.texts)
    refused("quantised (Q8_0)", gguf, tmp_path / "b")
    for dtype in sorted(set(DTYPES) - set(WRITABLE)):
        source = write(tmp_path / dtype, words.rows, dtype=dtype, texts=words.texts)
        refused(f"stored as {dtype}", source, tmp_path / "b")
    plain = write(tmp_path / "plain", words.rows[:280], texts=words.texts[:280])
    refused("no unused rows were found; name the rows", plain, tmp_path / "b")
    refused("no such file", tmp_path / "none", tmp_path / "b")
    bare = write(tmp_path / "bare", words.rows, "npy")
    refused("no tokenizer says", bare, tmp_path / "b", rows=[1], tokens=("tok1",))
    sparse = {EMBED: torch.tensor(words.rows), "s": torch.eye(3).to_sparse()}
    torch.save(sparse, tmp_path / "sparse.pt")
    refused("sparse or quantised", tmp_path / "sparse.pt", tmp_path / "b", rows=[299])
    assert not (tmp_path / "b").exists()


def test_a_pair_of_different_dtypes_that_is_tied_is_refused(tmp_path, words):
    rows = torch.tensor(words.rows)
    save_file({EMBED: rows, HEAD: rows.half()}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text('{"tie_word_embeddings": true}')
    refused("although they are tied", tmp_path, tmp_path.parent / f"{tmp_path.name}-b", rows=[299])


def test_new_rows_differ_from_kept_rows_too(tmp_path):
    """On a line there are two rows of length 1; what a kept row has is not drawn again."""
    np.save(tmp_path / "a.npy", np.array([[1.0], [3.0], [7.0]], np.float16))
    for seed in range(8):
        repair(
            tmp_path / "a.npy",
            tmp_path / f"{seed}",
            rows=[2],
            norm=1,
            direction="random",
            seed=seed,
        )
        assert np.load(tmp_path / f"{seed}" / "a.npy").tolist() == [[1], [3], [-1]]
    np.save(tmp_path / "b.npy", np.array([[1.0], [-1.0], [7.0]], np.float16))
    refused(
        "equal kept rows", tmp_path / "b.npy", tmp_path / "x", rows=[2], norm=1, direction="random"
    )
