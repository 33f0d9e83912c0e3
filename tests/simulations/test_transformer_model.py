"""The model: causal, the same with cached keys, copying by construction, its parts against torch's own."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from collapse_theory.errors import InputError
from simulations.transformers.model import Cache, ModelConfig, Rotate, Transformer, weights_of

OPTIONS = (
    {},
    {"copy": True},
    {"norm": "rms", "activation": "gelu"},
    {"positions": "learned", "tied": False},
    {"value_identity": True, "query_identity": True, "copy": True},
    {"pointer": True},
)


def model(seed=0, vocabulary=23, **options):
    config = ModelConfig(
        **{"vocabulary": vocabulary, "width": 16, "heads": 2, "hidden": 32, **options}
    )
    made = Transformer(config, generator=torch.Generator().manual_seed(seed)).double()
    with torch.no_grad():  # identities start at 0, where they would be seen by nobody
        for name, values in made.named_parameters():
            if name.endswith("identity"):
                values += 0.7
    return made


def log_probabilities(made, tokens, cache=None, before=None):
    x, shares = made(tokens, cache)
    context = tokens if before is None else torch.cat((before, tokens), 1)
    return made.log_probabilities(x, shares, context[:, None].expand(-1, tokens.shape[1], -1))


@given(st.integers(0, 2**20), st.integers(1, 11), st.sampled_from(OPTIONS))
def test_later_tokens_change_nothing_before_them(seed, place, options):
    made = model(**options)
    draws = torch.Generator().manual_seed(seed)
    tokens = torch.randint(0, 23, (2, 12), generator=draws)
    other = tokens.clone()
    other[:, place:] = torch.randint(0, 23, (2, 12 - place), generator=draws)
    with torch.no_grad():
        x, _ = made(tokens)
        y, _ = made(other)
    assert torch.equal(x[:, :place], y[:, :place])


def test_earlier_tokens_do_change_what_comes_after_them():
    made = model()
    tokens = torch.arange(12)[None]
    other = tokens.clone()
    other[:, 0] = 20
    assert not torch.allclose(made(tokens)[0][:, 1:], made(other)[0][:, 1:])


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@torch.no_grad()
def test_one_token_at_a_time_is_the_same(options):
    made = model(**options)
    tokens = torch.randint(0, 23, (3, 10), generator=torch.Generator().manual_seed(5))
    whole = log_probabilities(made, tokens)
    cache = Cache()
    parts = [log_probabilities(made, tokens[:, :4], cache)]
    parts += [
        log_probabilities(made, tokens[:, i : i + 1], cache, tokens[:, :i]) for i in range(4, 10)
    ]
    torch.testing.assert_close(torch.cat(parts, 1), whole, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@torch.no_grad()
def test_probabilities_sum_to_one(options):
    tokens = torch.randint(0, 23, (3, 10), generator=torch.Generator().manual_seed(6))
    sums = log_probabilities(model(**options), tokens).logsumexp(-1)
    torch.testing.assert_close(sums, torch.zeros_like(sums), rtol=0, atol=1e-12)


@given(st.integers(0, 2**20), st.integers(0, 9))
@torch.no_grad()
def test_perfect_copy_attention_copies_any_symbol(seed, place):
    """All blocks silent, the lookup hard at one place: the head names the token there, whatever symbol it is."""
    made = model(copy=True, vocabulary=200, width=64, heads=4)
    for name, values in made.named_parameters():
        if name != "embedding" and not name.endswith("norm.weight"):
            values.zero_()
    made.copy_gain.fill_(50.0)  # the last norm takes the size off again
    tokens = torch.randint(0, 200, (1, 10), generator=torch.Generator().manual_seed(seed))
    hard = torch.zeros(1, 10, 10, dtype=torch.float64)
    hard[..., place] = 1
    made.copy.forward = lambda h, cache: hard
    x, _ = made(tokens)
    assert int((x[0, -1] @ made.rows.T).argmax()) == int(tokens[0, place])


@torch.no_grad()
def test_a_pointer_names_what_it_points_at():
    made = model(pointer=True)
    made.gate.weight.zero_()
    made.gate.bias.fill_(30.0)
    made.pointer.inputs.weight.zero_()  # attention is even
    tokens = torch.tensor([[3, 3, 7, 9]])
    shares = log_probabilities(made, tokens)[0, -1].exp()
    expected = torch.zeros(23, dtype=torch.float64).index_put(
        (torch.tensor([3, 7, 9]),), torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64)
    )
    torch.testing.assert_close(shares, expected, rtol=0, atol=1e-10)


def test_attention_is_torchs_own():
    """Without positions a block's attention is torch.nn.MultiheadAttention with the same weights."""
    made = model(positions="learned").blocks[0].attention
    other = torch.nn.MultiheadAttention(16, 2, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        other.in_proj_weight.copy_(made.inputs.weight)
        other.in_proj_bias.copy_(made.inputs.bias)
        other.out_proj.load_state_dict(made.output.state_dict())
    x = torch.randn(3, 7, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    mask = torch.ones(7, 7, dtype=torch.bool).triu(1)
    expected, _ = other(x, x, x, attn_mask=mask, need_weights=False)
    torch.testing.assert_close(made(x, None, None), expected, rtol=1e-12, atol=1e-12)


def test_identity_on_values_and_queries():
    """With W_V W_O = 0 the identity alone mixes inputs; with W_Q = 0 it alone scores."""
    made = model(value_identity=True, query_identity=True, positions="learned").blocks[0].attention
    with torch.no_grad():
        for layer in (made.inputs, made.output):
            layer.weight.zero_()
            layer.bias.zero_()
        made.query_identity.copy_(torch.tensor([1.0, 2.0]))
        made.value_identity.copy_(torch.tensor([0.5, -3.0]))
    x = torch.randn(2, 5, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    same = x @ x.mT / 4
    expected = 0.5 * weights_of(same) @ x - 3.0 * weights_of(2 * same) @ x
    torch.testing.assert_close(made(x, None, None), expected, rtol=1e-12, atol=1e-12)


def test_rotations():
    """Scores of rotated queries and keys depend on how far apart they are; lengths stay; the gradient is torch's."""
    made = model()
    draws = torch.Generator().manual_seed(3)
    q, k = torch.randn(2, 8, dtype=torch.float64, generator=draws)
    cos, sin = made.cos[:12], made.sin[:12]
    turned_q, turned_k = (Rotate.apply(v.expand(12, 8), cos, sin) for v in (q, k))
    scores = turned_q @ turned_k.T
    for shift in range(1, 6):
        torch.testing.assert_close(
            scores.diagonal(shift), scores[0, shift].expand(12 - shift), rtol=1e-5, atol=1e-5
        )
    torch.testing.assert_close(turned_q.norm(dim=1), q.norm().expand(12), rtol=1e-6, atol=1e-6)
    x = torch.randn(3, 12, 8, dtype=torch.float64, generator=draws, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: Rotate.apply(v, cos, sin), (x,))


@torch.no_grad()
def test_starts_as_said():
    made = Transformer(
        ModelConfig(vocabulary=4000, layers=8), generator=torch.Generator().manual_seed(0)
    )
    assert float(made.embedding.std()) == pytest.approx(made.start_scale, rel=0.01)
    inner = made.blocks[0].hidden.weight.std()
    assert float(made.blocks[0].output.weight.std()) == pytest.approx(
        1 / 64 / 3**0.5, rel=0.02
    )  # 1/16/4
    assert float(inner) == pytest.approx(1 / 8 / 3**0.5, rel=0.02)
    bias = made.blocks[0].hidden.bias
    assert 0.9 / 8 < float(bias.abs().max()) <= 1 / 8  # as torch's
    assert float(bias.std()) == pytest.approx(1 / 8 / 3**0.5, rel=0.1)
    assert not made.norm.bias.any()


@torch.no_grad()
def test_attention_starts_mimetic():
    """W_O = W_V^T in every block, W_K = W_Q from the second on: products that are near multiples of the identity."""
    made = model(layers=3)
    for depth, block in enumerate(made.blocks):
        queries, keys, values = block.attention.inputs.weight.chunk(3)
        assert torch.equal(block.attention.output.weight, values.T)
        assert torch.equal(keys, queries) == (depth > 0)
        product = block.attention.output.weight @ values
        assert product.diagonal().mean() == pytest.approx(1 / 3, rel=0.2)


@torch.no_grad()
@pytest.mark.parametrize("heads", [2, 4])
def test_heads_of_the_first_block_start_with_a_look_at_a_place_each(heads):
    """Head h at the token h + 1 back: of random inputs, which come through the norm, it gets most of the attention."""
    made = model(width=64, heads=heads, context=32)
    length = 12
    x = torch.randn(50, length, 64, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    attention = made.blocks[0].attention
    q, k, _ = attention.inputs(x).view(50, length, 3, heads, -1).permute(2, 0, 3, 1, 4)
    q, k = (Rotate.apply(part, made.cos[:length], made.sin[:length]) for part in (q, k))
    shares = weights_of(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).mean(0)
    for head in range(heads):
        for at in range(heads, length):
            assert int(shares[head, at].argmax()) == at - head - 1
            assert float(shares[head, at].max()) > 0.5
    later = made.blocks[1].attention.inputs.bias
    assert float(later.abs().max()) <= 1 / 8


@torch.no_grad()
def test_learned_positions_start_with_small_biases():
    made = model(width=64, positions="learned")
    assert float(made.blocks[0].attention.inputs.bias.abs().max()) <= 1 / 8


def test_configuration_k_has_138_thousand_parameters():
    made = Transformer(ModelConfig(vocabulary=588), generator=torch.Generator())
    assert round(sum(p.numel() for p in made.parameters()), -3) == 138_000


def test_tied_and_untied():
    tied, untied = model(), model(tied=False)
    assert tied.rows is tied.embedding
    assert untied.rows is untied.unembedding


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"width": 15}, "does not go into"),
        ({"width": 6, "heads": 2}, "even width"),
        ({"norm": "batch"}, "choices are layer, rms"),
        ({"layers": 0}, "layers: got 0"),
        ({"rope_base": 1.0}, "above 1"),
        ({"positions": "alibi"}, "choices are rope, learned"),
    ],
)
def test_bad_settings(options, said):
    with pytest.raises(InputError, match=said):
        ModelConfig(**{"vocabulary": 9, **options})


def test_weights_are_causal_for_the_last_queries():
    scores = torch.zeros(2, 5, dtype=torch.float64)
    expected = torch.tensor([[0.25] * 4 + [0.0], [0.2] * 5], dtype=torch.float64)
    torch.testing.assert_close(weights_of(scores), expected)
    assert np.isclose(float(weights_of(scores[:1]).sum()), 1)
