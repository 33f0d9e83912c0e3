"""Checkpoints that people met in public projects, reduced to small files with the right answer.

Each test names its case and the public issue, as in tests/test_cases.py.
"""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from collapse_theory import InputError
from collapse_theory.checkpoint import audit, extra_rows_loss, zero_row_probability
from collapse_theory.cli import main
from tests.checkpoint.models import trained_rows, vocabulary, write


def unused_of(rows, count):
    return [f"{len(rows) - count}-{len(rows) - 1}"]


def test_small_rows_are_told_into_decay_and_collapse(tmp_path):
    """Case gpt-oss-1 (lennart-finke/gpt-oss#1): 64 unused rows of 1024 x 64 are short: (a) initial rows times 0.05, (b) one
    vector and 0.01 of noise at the same norm. (a) is decay with the sum ln(1/0.05) = 2.996, (b) collapse."""
    rng = np.random.default_rng(0)
    rows = trained_rows(rng, 1024, 64)
    decayed = 0.05 * rng.normal(0, 0.02, (64, 64))
    rows[960:] = decayed
    size = np.linalg.norm(decayed, axis=1).mean()
    a = audit(
        write(tmp_path / "a", rows, config={"initializer_range": 0.02}), unused=unused_of(rows, 64)
    )
    group = a.groups[0]
    assert a.diagnoses == ("decay",)
    # Cosines as at initialisation: independent, of mean 0 and standard deviation 1/sqrt(n).
    assert abs(group.measures.cosine) < 5 / math.sqrt(64 * 64 * 63 / 2)
    assert group.measures.evenness == pytest.approx(1, abs=0.1)
    assert group.diagnosis.decay_sum == pytest.approx(2.996, abs=5 / math.sqrt(2 * 64 * 64))

    common = rng.normal(size=64)
    noise = rng.normal(size=(64, 64))
    shared = common / np.linalg.norm(common) + 0.01 * noise / np.linalg.norm(noise, axis=1)[:, None]
    rows[960:] = shared * size
    b = audit(
        write(tmp_path / "b", rows, config={"initializer_range": 0.02}), unused=unused_of(rows, 64)
    )
    assert b.diagnoses == ("collapse",)
    assert b.groups[0].measures.cosine_centred > 0.999
    assert b.groups[0].measures.mean_norm == pytest.approx(a.groups[0].measures.mean_norm, rel=0.01)


def resized(rng, dim=256, vocab=2000, new=64):
    """What resize_token_embeddings(mean_resizing=True) writes."""
    old = trained_rows(rng, vocab, dim).astype(np.float64)
    centred = old - old.mean(axis=0)
    spread = 1e-9 * centred.T @ centred / vocab
    return np.concatenate([old, rng.multivariate_normal(old.mean(axis=0), spread, new)]), new


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rows_of_mean_resizing_are_named_so(tmp_path, dtype):
    """Case mean-resizing (huggingface/transformers#33325, #35075): new rows from N(mean, 1e-9 Sigma) have cosines of at
    least 0.9999998; in bf16 92% of coordinates are equal. They lie at the mean of all rows: no collapse by training."""
    rows, new = resized(np.random.default_rng(0))
    fresh = rows[-new:]
    units = fresh / np.linalg.norm(fresh, axis=1, keepdims=True)
    assert (units @ units.T).min() >= 0.9999998
    half = torch.tensor(fresh).bfloat16()
    equal = (half[:, None] == half[None]).float().mean()
    assert equal == pytest.approx(0.92, abs=0.05)

    result = audit(
        write(tmp_path / "m", rows.astype(np.float32), dtype=dtype), unused=unused_of(rows, new)
    )
    assert result.diagnoses == ("mean_resized",)
    assert result.groups[0].measures.cosine >= 0.999999
    assert "not collapse by training" in result.groups[0].diagnosis.evidence[0]


def test_rows_that_transformers_adds_are_named_so(tmp_path):
    """The same by transformers' own code."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=600,
        n_embd=64,
        n_layer=1,
        n_head=2,
        n_positions=16,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = transformers.GPT2LMHeadModel(config)
    with torch.no_grad():
        model.transformer.wte.weight += 0.02 * torch.randn(64)
    model.resize_token_embeddings(640, mean_resizing=True)
    model.save_pretrained(tmp_path / "m")
    assert audit(tmp_path / "m", unused=["600-639"]).diagnoses == ("mean_resized",)


@pytest.mark.parametrize(("beta", "probability"), [(10, 0.305), (12, 0.764), (30, 1.0)])
def test_a_row_of_zeros_takes_the_probability(beta, probability):
    """Case resize-loss (huggingface/transformers#29219, #8472): one zero logit against V = 50,257 at -beta has
    p = 1/(1 + V exp(-beta)): 0.305 at beta 10, 0.764 at 12, about 1 at 30."""
    assert zero_row_probability(50_257, beta) == pytest.approx(probability, abs=6e-4)
    logits = torch.full((50_258,), -float(beta), dtype=torch.float64)
    logits[-1] = 0
    assert zero_row_probability(50_257, beta) == pytest.approx(
        F.softmax(logits, dim=0)[-1].item(), rel=1e-12
    )


def test_extra_rows_change_the_loss_and_are_not_collapse(tmp_path):
    """Case trl-5608 (huggingface/trl#5608): k rows more, at logit z, change the loss by log(1 + k exp(z - lse)) and nothing
    else. Fresh padding rows are not called collapsed."""
    rng = np.random.default_rng(0)
    logits = torch.tensor(rng.normal(0, 3, (7, 100)))
    targets = torch.tensor(rng.integers(0, 100, 7))
    for count, z in ((1, -30.0), (28, -2.0), (64, 5.0)):
        padded = torch.cat([logits, torch.full((7, count), z, dtype=torch.float64)], dim=1)
        wanted = F.cross_entropy(padded, targets, reduction="none") - F.cross_entropy(
            logits, targets, reduction="none"
        )
        found = extra_rows_loss(count, z, torch.logsumexp(logits, dim=1).numpy())
        assert found == pytest.approx(wanted.numpy(), abs=1e-12)
    assert extra_rows_loss(0, 5.0, [1.0, 2.0]).tolist() == [0, 0]

    rows = np.concatenate([trained_rows(rng, 996, 64), rng.normal(0, 0.02, (28, 64))])
    texts = [f"t{i}" for i in range(996)]
    path = write(
        tmp_path / "m", rows.astype(np.float32), texts=texts, config={"initializer_range": 0.02}
    )
    result = audit(path)
    assert result.diagnoses == ("initialisation",)
    assert "collapse" not in str(result).splitlines()[0]


def test_zero_rows_are_listed_with_the_reason(tmp_path, capsys):
    """Case reserved-rows (meta-llama/llama3#77; axolotl-ai-cloud/axolotl#1666, #2122): reserved rows are all zero; they are
    listed by id with the reason."""
    rows = trained_rows(np.random.default_rng(0), 300, 32)
    rows[280:] = 0
    texts = [f"t{i}" for i in range(280)] + [f"<|reserved_special_token_{i}|>" for i in range(20)]
    path = write(tmp_path / "m", rows, texts=texts)
    result = audit(path)
    assert result.zero_rows == tuple(range(280, 300))
    assert result.diagnoses == ("zero",)
    assert main(["audit", str(path)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("20 rows (zero row): zero rows.")
    assert "280-299" in said


def test_identical_rows_carry_k_times_the_mass(tmp_path, capsys):
    """Case group-mass (hiyouga/LlamaFactory#3502): identical rows have identical logits, and k of them the mass k p; the
    audit reports it for a set of features."""
    rng = np.random.default_rng(0)
    words = vocabulary("duplicates", rng, vocab=500, unused=40)
    features = rng.normal(0, 5, (600, 64)).astype(np.float32)
    path = write(tmp_path / "m", words.rows, texts=words.texts)
    result = audit(path, features=features)
    probabilities = F.softmax(
        torch.tensor(features.astype(float) @ words.rows.T.astype(float)), dim=1
    )
    wanted = probabilities[:, words.unused].sum(dim=1).mean().item()
    assert result.mass.groups["its name says so"] == pytest.approx(wanted, rel=1e-9)
    cluster = result.mass.clusters[0]
    assert cluster["rows"] == 41  # the row that they are copies of is one of them
    assert cluster["mass"] == pytest.approx(cluster["k_p"], rel=1e-12)
    assert cluster["mass"] == pytest.approx(41 * probabilities[:, 460].mean().item(), rel=1e-9)

    np.save(tmp_path / "features.npy", features)
    assert main(["audit", str(path), "--features", str(tmp_path / "features.npy")]) == 0
    assert "PROBABILITY on 600 features" in capsys.readouterr().out
    with pytest.raises(InputError, match=r"shape \[600, 63\] does not fit"):
        audit(path, features=features[:, :63])
