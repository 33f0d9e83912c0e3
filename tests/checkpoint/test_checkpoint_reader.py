"""Reading checkpoints: every layout gives the same rows, and what is damaged or hostile gives one line."""

import numpy as np
import pytest
import torch

from collapse_theory.checkpoint import open_model
from collapse_theory.errors import InputError
from tests.checkpoint.models import DTYPES, LAYOUTS, vocabulary, write, write_gguf

RNG_SEED = 7


@pytest.fixture(scope="module")
def words():
    return vocabulary("collapse", np.random.default_rng(RNG_SEED), vocab=300, unused=20)


def all_rows(matrix, rows_per_block=None):
    return np.concatenate([rows for _, rows in matrix.blocks(rows_per_block)])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_rows(tmp_path, words, layout):
    model = open_model(write(tmp_path / "m", words.rows, layout, texts=words.texts))
    assert model.kind == layout.removeprefix("lone ").removeprefix("legacy ")
    matrix = model.unembedding()
    assert (matrix.rows, matrix.dim) == words.rows.shape
    rows = all_rows(matrix, 77)
    if layout == "gguf":
        # Half a step, and what the float16 scale of a block of 32 is off.
        step = np.abs(words.rows.reshape(len(rows), -1, 32)).max(axis=2) / 127
        off = np.abs(rows - words.rows).reshape(len(rows), -1, 32)
        assert (off <= (0.5 + 127 * 2**-11) * step[..., None]).all()
    else:
        assert (rows == words.rows).all()
    ids = [299, 5, 5, 6, 0, 150]
    assert (matrix.take(ids) == rows[ids]).all()
    assert len(matrix.raw(ids)) == 6
    assert matrix.take([]).shape == (0, matrix.dim)
    assert len(matrix.raw([])) == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", ["safetensors", "torch", "legacy torch"])
def test_every_dtype_is_decoded_as_torch_does(tmp_path, words, layout, dtype):
    if layout == "legacy torch" and dtype.startswith("float8"):
        pytest.skip("torch writes 8-bit numbers in its legacy format, but cannot read them")
    model = open_model(write(tmp_path / "m", words.rows, layout, dtype=dtype))
    wanted = torch.tensor(words.rows).to(DTYPES[dtype])
    assert model.unembedding().dtype == dtype
    assert (all_rows(model.unembedding()) == wanted.float().numpy()).all()
    raw = model.unembedding().raw([3, 1])
    assert raw.tobytes() == wanted[[3, 1]].view(torch.uint8).numpy().tobytes()


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_all_8_bit_numbers_are_decoded_as_torch_does(tmp_path, dtype):
    from collapse_theory.checkpoint.reading._dtypes import decode

    bits = np.arange(256, dtype=np.uint8)
    wanted = torch.tensor(bits).view(DTYPES[dtype]).float().numpy()
    np.testing.assert_array_equal(decode(bits, dtype), wanted)


def test_an_id_out_of_range_is_refused(tmp_path, words):
    matrix = open_model(write(tmp_path / "m", words.rows)).unembedding()
    for bad in (300, -1):
        with pytest.raises(InputError, match=f"no row {bad}"):
            matrix.take([0, bad])


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q4_0", "Q6_K"])
def test_kinds_of_gguf(tmp_path, words, kind):
    from gguf import GGMLQuantizationType
    from gguf.quants import dequantize, quantize

    rows = np.repeat(words.rows, 4, axis=1)  # K-quants want multiples of 256
    if kind == "Q6_K":  # gguf reads K-quants, but writes none
        bits = np.random.default_rng(0).integers(0, 100, (300, 210), dtype=np.uint8)
        matrix_bits = bits
        from gguf import GGUFWriter

        path = tmp_path / "k.gguf"
        writer = GGUFWriter(path, "llama")
        writer.add_tensor("token_embd.weight", bits, raw_dtype=GGMLQuantizationType.Q6_K)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    else:
        matrix_bits = quantize(rows, GGMLQuantizationType[kind])
        path = write_gguf(tmp_path / "k.gguf", rows, kind=kind)
    with np.errstate(all="ignore"):
        wanted = dequantize(matrix_bits, GGMLQuantizationType[kind])
        matrix = open_model(path).unembedding()
        assert matrix.dtype == kind
        np.testing.assert_array_equal(all_rows(matrix, 50), wanted)
