"""A repair of real weights that a registry package carries: rxnmapper's masked language model of reactions."""

import warnings

import pytest
import torch

from collapse_theory.checkpoint import repair
from tests.checkpoint.packages import unpacked

EMBED, DECODER = "albert.embeddings.word_embeddings.weight", "predictions.decoder.weight"


@pytest.fixture(scope="module")
def rxnmapper():
    """The folder of the model."""
    folder = unpacked("rxnmapper", "0.4.3")
    (weights,) = folder.rglob("pytorch_model.bin")
    return weights.parent


def test_a_legacy_torch_file_of_tied_matrices(rxnmapper, tmp_path):
    before = (rxnmapper / "pytorch_model.bin").read_bytes()
    result = repair(rxnmapper, tmp_path / "new")
    assert (rxnmapper / "pytorch_model.bin").read_bytes() == before
    assert [(row.id, row.text) for row in result.rows] == [
        (i, f"[unused{i}]") for i in range(1, 11)
    ]
    (matrix,) = result.matrices
    assert (matrix.name, matrix.copies, matrix.rows, matrix.dim) == (EMBED, (DECODER,), 591, 128)
    # Published figures: cosine .431 raw, distances .81 to 1.06; afterwards nothing holds the rows together.
    assert matrix.before.cosine == pytest.approx(0.431, abs=5e-4)
    assert matrix.before.distance_min == pytest.approx(0.81, abs=5e-3)
    assert abs(matrix.after.cosine_centred) < 0.1
    assert matrix.after.norm_median == pytest.approx(matrix.norm, rel=1e-6)

    old, new = (
        torch.load(folder / "pytorch_model.bin", weights_only=True, map_location="cpu")
        for folder in (rxnmapper, tmp_path / "new")
    )
    assert list(old) == list(new)
    for name in old:
        different = (old[name] != new[name]).nonzero()
        wanted = set(range(1, 11)) if name in (EMBED, DECODER) else set()
        assert set(different[:, 0].tolist() if old[name].ndim else different.tolist()) == wanted
    assert new[EMBED].equal(new[DECODER])


def test_its_kept_tokens_keep_their_logits(rxnmapper, tmp_path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    repair(rxnmapper, tmp_path / "new")
    tokens = torch.randint(20, 591, (2, 50), generator=torch.Generator().manual_seed(0))
    logits = []
    for folder in (rxnmapper, tmp_path / "new"):
        with warnings.catch_warnings(), torch.inference_mode():
            warnings.simplefilter("ignore")  # transformers' own
            model = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
            logits.append(model(tokens).logits)
    different = (logits[0] != logits[1]).flatten(0, 1).any(dim=0)
    assert different.nonzero().ravel().tolist() == list(range(1, 11))
