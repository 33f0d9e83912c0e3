"""Audits: the diagnosis of every kind of rows, reasons, measures, outputs."""

import csv
import json
import math
import subprocess
import sys
from importlib.resources import files as resources

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from collapse_theory import InputError
from collapse_theory.checkpoint import REASONS, audit, name_says_unused, repair
from collapse_theory.checkpoint.auditing._measures import mean_cosine, unit_sum
from collapse_theory.cli import main
from tests.checkpoint.models import DIAGNOSES, LAYOUTS, trained_rows, vocabulary, write

CONFIG = {"initializer_range": 0.02}


def model(folder, diagnosis, layout="safetensors", *, seed=3, dtype="float32", **options):
    words = vocabulary(diagnosis, np.random.default_rng(seed), **options)
    path = write(folder, words.rows, layout, dtype=dtype, texts=words.texts, config=CONFIG)
    return path, words


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("diagnosis", DIAGNOSES)
def test_every_diagnosis_is_found(tmp_path, diagnosis, seed):
    path, words = model(tmp_path / "m", diagnosis, seed=seed)
    result = audit(path)
    assert result.diagnoses == (diagnosis,)
    assert np.array_equal(result.unused, words.unused)


@pytest.mark.parametrize(
    "diagnosis", ["collapse", "decay", "initialisation", "mean_resized", "zero", "trained"]
)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_every_diagnosis_is_found_in_half_precision(tmp_path, diagnosis, dtype):
    path, _ = model(tmp_path / "m", diagnosis, dtype=dtype)
    assert audit(path).diagnoses == (diagnosis,)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_collapse_is_found_in_every_layout(tmp_path, layout):
    path, words = model(tmp_path / "m", "collapse", layout)
    result = audit(path, unused=["960-1023"])
    # One step of Q8_0 is about 3% of these rows' norm: what is left of their differences does not show.
    assert result.diagnoses == (("hidden",) if layout == "gguf" else ("collapse",))
    assert len(result.unused) == len(words.unused)


@pytest.mark.parametrize(
    ("dtype", "name"), [("bfloat16", "hidden"), ("float16", "hidden"), ("float32", "collapse")]
)
def test_a_format_hides_differences_below_its_step(tmp_path, dtype, name):
    rng = np.random.default_rng(0)
    rows = trained_rows(rng, 500, 64)
    rows[400:] = rng.normal(0, 0.05, 64) + rng.normal(0, 2e-6, (100, 64))
    assert audit(write(tmp_path / "m", rows, dtype=dtype), unused=["400-499"]).diagnoses == (name,)


@pytest.mark.parametrize("first", range(20, 100, 20))
def test_a_family_of_similar_trained_rows_has_not_collapsed(tmp_path, first):
    rng = np.random.default_rng(1)
    path = write(tmp_path / "m", trained_rows(rng, 1024, 64))
    result = audit(path, unused=[f"{first}-{first + 9}"])
    assert result.groups[0].measures.cosine_centred > 0.7  # the cosine alone would say so
    assert result.diagnoses == ("trained",)


def test_short_rows_are_not_collapsed_by_their_norm_nor_by_their_centred_cosine(tmp_path):
    """Decayed rows lie near zero: less the used rows' mean they all point the same way."""
    path, _ = model(tmp_path / "m", "decay")
    result = audit(path)
    assert result.groups[0].measures.cosine_off_used > 0.5
    assert result.groups[0].diagnosis.decay_sum == pytest.approx(math.log(20), abs=0.05)


def test_decay_without_a_known_scale_gives_no_sum(tmp_path):
    words = vocabulary("decay", np.random.default_rng(0))
    result = audit(write(tmp_path / "m", words.rows, "npy"), unused=["960-1023"])
    assert result.diagnoses == ("decay",)
    assert result.groups[0].diagnosis.decay_sum is None
    assert audit(tmp_path / "m" / "rows.npy", unused=["960-1023"], initial_scale=0.02).groups[
        0
    ].diagnosis.decay_sum == pytest.approx(math.log(20), abs=0.05)


# ------------------------------------------------------------------------------------------ reasons


@pytest.mark.parametrize(
    "name",
    [
        *("<unused5>", "[unused12]", "<|reserved_special_token_3|>", "<|dummy_1|>", "<extra_id_7>"),
        *("madeupword0001", "<|reserved_200017|>", "<SPECIAL_20>", "[control_8]", "[PAD32000]"),
        *("<|placeholder1|>", "<|extra_12|>", "<|place▁holder▁no▁5|>".replace("▁", "_")),
    ],
)
def test_names_of_published_vocabularies_say_unused(name):
    assert name_says_unused(name)


@pytest.mark.parametrize(
    "name",
    ["unused", "the", "[PAD]", "<pad>", "<unk>", "reserved", "<s>", "a<unused5>", "<b>", "12"],
)
def test_ordinary_tokens_do_not(name):
    assert not name_says_unused(name)


def reason(result, index):
    place = result.reasons[index]
    return REASONS[place] if place >= 0 else None


def test_reasons_and_their_priority(tmp_path):
    rows = trained_rows(np.random.default_rng(0), 300, 32)
    rows[7] = rows[9] = 0
    texts = [f"t{i}" for i in range(290)]
    texts[3:8] = ["<unused0>", "<unused1>", "<0xC1>", "<0xC2>", "<unused2>"]
    path = write(tmp_path / "m", rows, texts=texts)
    plain = audit(path)
    assert {i: reason(plain, i) for i in (2, 3, 5, 6, 7, 9, 290, 299)} == {
        2: None,
        3: "its name says so",
        5: "its bytes cannot occur in UTF-8",
        6: None,
        7: "zero row",
        9: "zero row",
        290: "no token has this id",
        299: "no token has this id",
    }
    assert plain.zero_rows == (7, 9)
    counts = np.ones(300, int)
    counts[[4, 5, 20]] = 0
    counted = audit(path, token_counts=counts)
    assert reason(counted, 3) is None  # it was counted, whatever its name
    assert reason(counted, 4) == reason(counted, 20) == "counted zero times"
    assert reason(counted, 9) == "zero row"
    named = audit(path, unused=["3-4", "t30", "<unused*>"], token_counts=counts)
    assert [reason(named, i) for i in (3, 4, 7, 30)] == ["given as unused"] * 4


@pytest.mark.parametrize("suffix", ["npy", "json", "object.json", "csv", "txt"])
def test_counts_are_read_from_every_kind_of_file(tmp_path, suffix):
    path = write(tmp_path / "m", trained_rows(np.random.default_rng(0), 50, 16))
    counts, file = np.arange(50) % 5, tmp_path / f"counts.{suffix}"
    if suffix == "npy":
        np.save(file, counts)
    elif suffix == "json":
        file.write_text(json.dumps(counts.tolist()))
    elif suffix == "object.json":
        file.write_text(json.dumps({str(i): int(c) for i, c in enumerate(counts) if c}))
    else:
        sign = "," if suffix == "csv" else "\t"
        lines = [f"{i}{sign}{c}" for i, c in enumerate(counts)]
        file.write_text("\n".join([f"id{sign}count"] * (suffix == "csv") + lines))
    assert audit(path, token_counts=file).unused.tolist() == list(range(0, 50, 5))


# ----------------------------------------------------------------------------------------- measures


@given(
    st.integers(2, 30),
    st.integers(1, 8),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_the_mean_cosine_is_that_of_all_pairs(count, dim, seed, scale):
    rows = np.random.default_rng(seed).normal(0.3, 1, (count, dim)) * scale
    wanted = 1 - pdist(rows, "cosine").mean()
    assert mean_cosine(unit_sum(rows), count) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("unused", [300, 1500])  # more than a sample in the second case
def test_figures_are_those_of_a_float64_reference(tmp_path, unused):
    rng = np.random.default_rng(5)
    rows = trained_rows(rng, 3000, 48)
    rows[-unused:] = rng.normal(0, 0.05, 48) + rng.normal(0, 0.005, (unused, 48))
    path = write(tmp_path / "m", rows, dtype="bfloat16")
    result = audit(path, unused=[f"{3000 - unused}-2999"])
    import torch

    exact = torch.tensor(rows).bfloat16().double().numpy()
    mine, mean = exact[-unused:], exact.mean(axis=0)
    m = result.groups[0].measures
    assert m.cosine == pytest.approx(1 - pdist(mine, "cosine").mean(), rel=1e-9)
    assert m.cosine_centred == pytest.approx(1 - pdist(mine - mean, "cosine").mean(), rel=1e-9)
    assert result.norms == pytest.approx(np.linalg.norm(exact, axis=1), rel=1e-12)
    if unused <= m.sampled:
        distances = pdist(mine)
        assert m.distance.min == pytest.approx(distances.min(), rel=1e-12)
        assert m.distance.median == pytest.approx(np.median(distances), rel=1e-12)
        centre = mine.mean(axis=0)
        assert result.distances == pytest.approx(np.linalg.norm(exact - centre, axis=1), abs=1e-8)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["float32", "bfloat16"]))
def test_rows_that_are_the_same_up_to_rounding_are_found(tmp_path_factory, seed, dtype):
    rng = np.random.default_rng(seed)
    rows = trained_rows(rng, 400, 64)
    copies, near = np.array([5, 99, 250]), np.array([7, 100, 399])
    rows[copies] = rows[5]
    step = {"float32": 2.0**-24, "bfloat16": 2.0**-9}[dtype]
    rows[near] = rows[7] * (1 + step * rng.uniform(-1, 1, (3, 64)))
    found = audit(write(tmp_path_factory.mktemp("m"), rows, dtype=dtype)).clusters
    sets = {tuple(np.flatnonzero(found.labels == c)) for c in range(len(found.sizes))}
    assert sets == {tuple(copies), tuple(near)}
    assert found.exact[copies].all()
    assert found.exact.sum() < 400 - 300


def test_rows_that_lie_with_unused_ones_are_suspects_apart(tmp_path):
    rng = np.random.default_rng(2)
    words = vocabulary("collapse", rng)
    glitch = words.rows[1000] + rng.normal(0, 0.0002, 64)
    words.rows[33] = glitch
    words.rows[1010] = words.rows[200] + 0.01  # has moved off
    result = audit(write(tmp_path / "m", words.rows, texts=words.texts))
    assert [s.id for s in result.suspects] == [33]
    assert result.moved_off == (1010,)
    assert 33 not in result.unused
    assert result.diagnoses == ("collapse",)


def test_the_cost_is_two_reads_of_the_matrix(tmp_path, monkeypatch):
    """Bytes read from the file, not seconds: blocks twice, and samples."""
    from collapse_theory.checkpoint.reading import _tensors

    read = []
    plain = _tensors.fill
    monkeypatch.setattr(
        _tensors, "fill", lambda s, out, i: (read.append(out.nbytes), plain(s, out, i))
    )
    path, words = model(tmp_path / "m", "collapse", vocab=20_000, dim=32)
    audit(path)
    assert sum(read) < 2.6 * words.rows.nbytes


# ---------------------------------------------------------------------------------- tied and untied


def test_tied_and_untied_heads(tmp_path):
    rng = np.random.default_rng(0)
    a, b = trained_rows(rng, 60, 16), trained_rows(rng, 60, 16)
    both = audit(write(tmp_path / "both", a, head=b, tied=False))
    assert both.matrix == "lm_head.weight"
    assert not both.notes[1:]
    equal = audit(write(tmp_path / "equal", a, head=a, tied=True))
    assert any("are equal: tied" in note for note in equal.notes)
    differ = audit(write(tmp_path / "differ", a, head=b, tied=True))
    assert any(n.startswith("WARNING: tied by the configuration, but") for n in differ.notes)
    tied = audit(write(tmp_path / "tied", a, tied=True))
    assert any("serves as both" in note for note in tied.notes)
    assert tied.matrix == "model.embed_tokens.weight"
    untied = write(tmp_path / "untied", a, tied=False)
    with pytest.raises(InputError, match="not tied, and it is not in this file"):
        audit(untied)
    assert audit(untied, tensor_name="model.embed_tokens.weight").shape == (60, 16)
    unsaid = audit(write(tmp_path / "unsaid", a, tied=None))
    assert any("nothing says that it is untied" in note for note in unsaid.notes)


def test_a_wrong_tensor_name_names_those_there(tmp_path):
    path = write(tmp_path / "m", trained_rows(np.random.default_rng(0), 60, 16))
    with pytest.raises(
        InputError, match=r"no tensor 'x'; its tallest matrices are model\.embed_tokens"
    ):
        audit(path, tensor_name="x")


# ------------------------------------------------------------------------------------------- output


@pytest.fixture
def collapsed(tmp_path):
    return model(tmp_path / "checkpoint-200", "collapse")[0]


def schema_check(data):
    text = (
        resources("collapse_theory.checkpoint.auditing").joinpath("audit.schema.json").read_text()
    )
    kind = jsonschema.Draft202012Validator
    kind.check_schema(json.loads(text))
    kind(json.loads(text)).validate(data)


def test_the_command_writes_all_its_files(tmp_path, collapsed, capsys):
    out = tmp_path / "out"
    names = [str(out / n) for n in ("a.json", "a.csv", "a.html")]
    args = [str(collapsed), "--json", names[0], "--csv", names[1], "--html", names[2]]
    theory = ["--learning-rate", "1e-3", "--weight-decay", "0.1", "--steps", "10000"]
    assert main(["audit", *args, "--figures", str(out), *theory, "--optimizer", "sgd"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("64 rows (its name says so): collapse")
    assert max(map(len, said.splitlines()[:30])) <= 100
    data = json.loads((out / "a.json").read_text())
    schema_check(data)
    assert data["diagnoses"] == ["collapse"]
    assert data["groups"][0]["ids"] == [[960, 1023]]
    assert data["theory"]["decay_product"] == pytest.approx((1 - 1e-4) ** 10_000)
    assert data["theory"]["measured"]["its name says so"] == pytest.approx(0.0003 / 0.02, rel=0.1)
    with (out / "a.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [line["id"] for line in lines] == [str(i) for i in range(1024)]
    assert lines[1000]["text"] == "<unused40>"
    assert lines[1000]["reason"] == "its name says so"
    assert float(lines[1000]["cosine"]) > 0.99
    assert float(lines[3]["distance"]) > 20 * float(lines[1000]["distance"])
    page = (out / "a.html").read_text()
    assert page.count("<svg") == 3
    assert "<script" not in page
    for name in ("distances", "cosines", "plane"):
        assert (out / f"{name}.pdf").read_bytes().startswith(b"%PDF")


def test_several_checkpoints_give_a_plot_over_training(tmp_path, collapsed):
    early = model(tmp_path / "checkpoint-20", "initialisation")[0]
    out = tmp_path / "out"
    args = [
        "audit",
        str(collapsed),
        str(early),
        "--json",
        str(out / "a.json"),
        "--figures",
        str(out),
    ]
    assert main(args) == 0
    data = json.loads((out / "a.json").read_text())
    schema_check(data)
    assert [a["diagnoses"] for a in data["audits"]] == [["collapse"], ["initialisation"]]
    assert (out / "over_training.pdf").is_file()


def test_exit_status_says_what_was_asked(collapsed, capsys):
    assert main(["audit", str(collapsed)]) == 0
    assert main(["audit", str(collapsed), "--fail-on", "decay,zero"]) == 0
    assert main(["audit", str(collapsed), "--fail-on", "decay,collapse"]) == 1
    assert main(["audit", str(collapsed), "--fail-on", "colapse"]) == 2
    assert "'colapse' is unknown" in capsys.readouterr().err


def test_the_same_seed_gives_the_same_audit(collapsed):
    first, again = audit(collapsed).to_dict(), audit(collapsed).to_dict()
    assert json.dumps(first, allow_nan=False) == json.dumps(again, allow_nan=False)


def test_a_repair_leaves_the_figures_of_used_rows_as_they_were(collapsed, tmp_path):
    """New rows lie among the used ones, and take none of them out of the sample."""
    before = audit(collapsed).used
    repair(collapsed, tmp_path / "repaired")
    after = audit(tmp_path / "repaired").used
    assert after.sampled == before.sampled
    assert after.norm.median == pytest.approx(before.norm.median, rel=0.02)
    assert after.distance.median == pytest.approx(before.distance.median, rel=0.02)


def test_the_audit_loads_no_torch_for_safetensors(collapsed):
    code = (
        "import sys, collapse_theory.checkpoint as c; assert 'scipy' not in sys.modules;"
        f"c.audit({str(collapsed)!r}); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_a_vocabulary_of_262144_rows_stays_below_300_mb(tmp_path):
    """The whole command in a process of its own, on the size of Gemma 3 1B; and its figures against float64."""
    from benchmarks.audit import DIM, OURS, ROWS, UNUSED, measured, write_matrix

    path = tmp_path / "m.safetensors"
    write_matrix(path, ROWS)
    unused = f"{ROWS - UNUSED}-{ROWS - 1}"
    out = tmp_path / "a.json"
    args = ["audit", str(path), "--unused", unused, "--json", str(out)]
    _, peak, _ = measured([sys.executable, "-c", OURS, *args])
    assert peak < 300
    data = json.loads(out.read_text())
    assert data["diagnoses"] == ["collapse"]
    bits = np.fromfile(path, np.uint16, offset=path.stat().st_size - 2 * UNUSED * DIM)
    rows = (bits.astype(np.uint32) << 16).view(np.float32).reshape(UNUSED, DIM).astype(float)
    assert data["groups"][0]["measures"]["cosine"] == pytest.approx(
        mean_cosine(unit_sum(rows), UNUSED), rel=1e-10
    )
    assert data["groups"][0]["measures"]["norm"]["median"] == pytest.approx(
        np.median(np.linalg.norm(rows, axis=1)), rel=1e-12
    )


def test_several_reasons_are_diagnosed_apart(tmp_path):
    """Named rows that have collapsed, rows beyond the tokenizer that are fresh, zero rows."""
    rng = np.random.default_rng(8)
    words = vocabulary("collapse", rng)
    rows = np.concatenate([words.rows, rng.normal(0, 0.02, (32, 64)), np.zeros((4, 64))])
    path = write(tmp_path / "m", rows.astype(np.float32), texts=words.texts, config=CONFIG)
    result = audit(path, features=rng.normal(0, 1, (5, 64)))
    schema_check(result.to_dict())
    together, *sets = result.groups
    assert (together.reason, len(together.ids), together.zeros) == ("all unused rows", 100, 4)
    assert together.diagnosis is None
    assert {g.reason: g.diagnosis.name for g in sets} == {
        "zero row": "zero",
        "no token has this id": "initialisation",
        "its name says so": "collapse",
    }
    assert set(result.mass.groups) == {"all unused rows", *(g.reason for g in sets)}
