"""Repaired checkpoints load in transformers, and kept tokens keep their logits to the last bit."""

import warnings

import numpy as np
import pytest
import torch

from collapse_theory.checkpoint import repair

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

VOCAB, UNUSED = 160, np.r_[5, 140:160]
KEPT = np.setdiff1d(np.arange(VOCAB), UNUSED)


def llama(tied):
    config = transformers.LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        tie_word_embeddings=tied,
        pad_token_id=0,
    )
    return transformers.LlamaForCausalLM(config)


def gpt2(tied):
    config = transformers.GPT2Config(
        vocab_size=VOCAB, n_embd=32, n_layer=2, n_head=4, n_positions=64, tie_word_embeddings=tied
    )
    return transformers.GPT2LMHeadModel(config)


def logits(folder, tokens):
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # transformers' own
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="auto").eval()
        return model(tokens).logits, model


@pytest.mark.parametrize("shards", ["whole", "sharded"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("make", [llama, gpt2])
def test_kept_tokens_keep_their_logits(tmp_path, make, tied, dtype, shards):
    torch.manual_seed(0)
    model = make(tied).to(dtype)
    with torch.no_grad():
        for matrix in (model.get_input_embeddings(), model.get_output_embeddings()):
            matrix.weight[UNUSED] = matrix.weight[UNUSED[0]].clone()
    size = "20KB" if shards == "sharded" else "1GB"
    model.save_pretrained(tmp_path / "old", max_shard_size=size)
    files = len(list((tmp_path / "old").glob("*.safetensors")))
    assert (files > 1) == (shards == "sharded")
    result = repair(tmp_path / "old", tmp_path / "new", rows=UNUSED)
    assert len(result.matrices) == (1 if tied else 2)
    assert len(result.changed) + len(result.linked) == files

    generator = torch.Generator().manual_seed(1)
    tokens = torch.from_numpy(KEPT)[torch.randint(len(KEPT), (3, 20), generator=generator)]
    before, old = logits(tmp_path / "old", tokens)
    after, new = logits(tmp_path / "new", tokens)
    assert after.dtype == dtype
    assert torch.equal(before[..., KEPT], after[..., KEPT])
    assert not torch.equal(before[..., UNUSED], after[..., UNUSED])
    # Collapsed rows had one logit between them; the new ones are told apart, whatever the input.
    assert (before[..., UNUSED] == before[..., UNUSED[:1]]).all()
    assert (after[..., UNUSED].double().var(dim=-1) > 0).all()
    state = old.state_dict()
    for name, tensor in new.state_dict().items():
        if tensor.shape != (VOCAB, 32):
            assert torch.equal(tensor, state[name])
    for matrix in (new.get_input_embeddings(), new.get_output_embeddings()):
        rows = matrix.weight.detach()[UNUSED].double().numpy()
        assert len(np.unique(rows, axis=0)) == len(UNUSED)


def test_a_torch_checkpoint_loads_too(tmp_path):
    torch.manual_seed(0)
    model = gpt2(True)
    (tmp_path / "old").mkdir()
    model.config.save_pretrained(tmp_path / "old")
    torch.save(model.state_dict(), tmp_path / "old" / "pytorch_model.bin")
    repair(tmp_path / "old", tmp_path / "new", rows=UNUSED)
    tokens = torch.from_numpy(KEPT[:20])[None]
    before, _ = logits(tmp_path / "old", tokens)
    after, _ = logits(tmp_path / "new", tokens)
    assert torch.equal(before[..., KEPT], after[..., KEPT])
    assert not torch.equal(before[..., UNUSED], after[..., UNUSED])
