"""New rows: their bytes, directions, norms; which rows are chosen."""

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from collapse_theory.checkpoint.repairing._directions import (
    DIRECTIONS,
    Recipe,
    draw,
    fresh_rows,
    norm_from,
)
from collapse_theory.checkpoint.repairing._encode import (
    ITEM_SIZE,
    decode,
    encode,
    first_of_equals,
    row_keys,
)
from collapse_theory.checkpoint.repairing._measures import mean_cosine, measure
from collapse_theory.checkpoint.repairing._select import check_share, ids_from, trained_sample
from collapse_theory.errors import InputError

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
SMALLEST = {"float64": 2.0**-1074, "float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}


def trained(rng, count=200, dim=16, mean=0.5):
    return rng.normal(0, 1, (count, dim)) * np.linspace(0.5, 2, dim) + mean


def recipe(direction, rng, *, dim=16, length=2.0, spread=1.0):
    rows = trained(rng, dim=dim)
    return Recipe(direction=direction, length=length, trained=rows, anchor=rows[:2], spread=spread)


# --------------------------------------------------------------------------------------- the bytes


@given(
    hnp.arrays(
        np.float32,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
        elements=st.floats(-(2.0**15), 2.0**15, width=32),
    ),
    st.sampled_from([*ITEM_SIZE]),
)
@example(np.float32([[1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-8, 0.0]]), "bfloat16")  # ties go to even
@example(np.float32([[1 + 2**-11, 1 + 3 * 2**-11, 2**-25, 3 * 2**-25]]), "float16")
def test_rows_are_rounded_as_torch_rounds_them(rows, dtype):
    wanted = torch.from_numpy(rows).to(getattr(torch, dtype))
    data = encode(rows.astype(np.float64), dtype)
    assert data.tobytes() == wanted.view(torch.uint8).numpy().tobytes()
    assert (decode(data, dtype) == wanted.double().numpy()).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_an_entry_beyond_the_range_is_refused(dtype):
    largest = float(torch.finfo(getattr(torch, dtype)).max)
    assert np.isfinite(decode(encode(np.array([[largest, -largest]]), dtype), dtype)).all()
    with pytest.raises(InputError, match=rf"beyond the range of {dtype}"):
        encode(np.array([[1.0, 1.01 * largest]]), dtype)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "I64", "Q8_0"])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(InputError, match=dtype):
        encode(np.ones((1, 2)), dtype)


@pytest.mark.parametrize("dtype", ITEM_SIZE)
def test_equal_numbers_are_equal_rows(dtype):
    rows = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    keys = row_keys(encode(rows, dtype), dtype)
    assert first_of_equals(keys).tolist() == [True, False, True, False]


# ------------------------------------------------------------------------------------- the new rows


@settings(max_examples=60)
@given(
    st.sampled_from(DIRECTIONS),
    st.sampled_from([*ITEM_SIZE]),
    st.integers(1, 60),
    st.sampled_from([0.01, 1.0, 30.0]),
    st.integers(0, 2**32 - 1),
)
def test_new_rows_are_distinct_and_at_the_norm(direction, dtype, count, length, seed):
    rng = np.random.default_rng(seed)
    data = fresh_rows(recipe(direction, rng, length=length), count, 16, dtype, rng)
    rows = decode(data, dtype)
    assert len(np.unique(rows, axis=0)) == count
    # Each entry is off by half a unit in its last place, or by half the smallest number.
    error = EPSILON[dtype] / 2 * length + SMALLEST[dtype] / 2 * 4
    assert (
        np.abs(np.linalg.norm(rows, axis=1) - length).max() <= error * (1 + 1e-9) + 1e-15 * length
    )


@pytest.mark.parametrize("count", [1, 5, 16])
def test_orthogonal_rows_are_orthogonal(count):
    rng = np.random.default_rng(0)
    rows = draw(recipe("orthogonal", rng, length=3.0), count, 16, rng)
    assert np.allclose(rows @ rows.T, 9 * np.eye(count), atol=1e-12)


def test_more_rows_than_dimensions_are_orthogonal_base_by_base():
    rng = np.random.default_rng(0)
    rows = draw(recipe("orthogonal", rng, length=1.0), 40, 16, rng)
    for start in (0, 16, 32):
        part = rows[start : start + 16]
        assert np.allclose(part @ part.T, np.eye(len(part)), atol=1e-12)
    assert np.abs(rows[:16] @ rows[16:32].T).max() > 0.1


def test_random_rows_have_no_preferred_direction():
    rng = np.random.default_rng(0)
    rows = draw(recipe("random", rng, length=1.0), 4000, 16, rng)
    # Of 4000 unit rows the mean has squared length 1/4000 on average; and the second moments are I/16.
    assert np.linalg.norm(rows.mean(axis=0)) < 2 / np.sqrt(4000)
    assert np.allclose(16 * rows.T @ rows / 4000, np.eye(16), atol=0.15)


def test_bases_have_no_preferred_sign():
    """LAPACK's QR alone gives the first entry one sign; of 400 unit vectors about half have either."""
    rng = np.random.default_rng(0)
    first = [draw(recipe("orthogonal", rng, length=1.0), 1, 16, rng)[0, 0] for _ in range(400)]
    assert 160 < np.sum(np.array(first) > 0) < 240


def test_mean_rows_have_the_mean_and_covariance_of_trained_rows():
    rng = np.random.default_rng(0)
    own = recipe("mean", rng)
    count = 20_000
    from collapse_theory.checkpoint.repairing._directions import _scatter

    scatter = _scatter(own.trained, count, rng)
    wanted = np.cov(own.trained.T, bias=True)
    assert np.abs(scatter.mean(axis=0)).max() < 5 * np.sqrt(wanted.max() / count)
    assert np.abs(scatter.T @ scatter / count - wanted).max() < 6 * wanted.max() / np.sqrt(count)
    rows = draw(own, count, 16, rng)
    middle = own.trained.mean(axis=0)
    assert rows.mean(axis=0) @ middle > 0.8 * np.linalg.norm(rows.mean(axis=0)) * np.linalg.norm(
        middle
    )


def test_a_smaller_spread_brings_rows_closer_to_the_tokens():
    cosines = []
    for spread in (1.0, 0.3, 0.01):
        rng = np.random.default_rng(0)
        own = recipe("tokens", rng, spread=spread)
        rows = draw(own, 50, 16, rng)
        anchor = own.anchor.mean(axis=0)
        cosines.append((rows @ anchor).mean() / (2.0 * np.linalg.norm(anchor)))
    assert cosines[0] < cosines[1] < cosines[2]
    assert cosines[2] > 0.999


def test_rows_that_no_dtype_tells_apart_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="zero or equal to others after rounding to float16"):
        fresh_rows(recipe("random", rng, length=1e-9), 4, 16, "float16", rng)
    with pytest.raises(InputError, match="1 of 1 new rows are zero"):
        fresh_rows(recipe("random", rng, length=1e-9), 1, 16, "float16", rng)
    narrow = Recipe(direction="random", length=1.0, trained=np.ones((2, 1)))
    with pytest.raises(InputError, match="1 of 3 new rows"):  # on a line there are two: 1 and -1
        fresh_rows(narrow, 3, 1, "float32", rng)
    rows = decode(fresh_rows(narrow, 2, 1, "float32", rng), "float32")
    assert sorted(rows.ravel()) == [-1, 1]


def test_rows_equal_by_chance_are_drawn_again():
    """300 rows on a circle at bfloat16's resolution: some coincide in the first draw, none in the end."""
    narrow = Recipe(direction="random", length=1.0, trained=np.ones((2, 2)))
    first = encode(draw(narrow, 300, 2, np.random.default_rng(3)), "bfloat16")
    assert len(np.unique(first, axis=0)) < 300
    data = fresh_rows(narrow, 300, 2, "bfloat16", np.random.default_rng(3))
    assert len(np.unique(data, axis=0)) == 300


def test_a_direction_of_nothing_is_refused():
    own = Recipe(direction="mean", length=1.0, trained=np.zeros((5, 3)))
    with pytest.raises(InputError, match="row of zeros"):
        draw(own, 2, 3, np.random.default_rng(0))


# --------------------------------------------------------------------------------------- the norms


def test_norms():
    norms = np.array([1.0, 2.0, 3.0, 4.0, 10.0])
    assert norm_from("trained").length(norms) == 3
    assert norm_from("q0.25").length(norms) == 2
    assert norm_from("q1").length(norms) == 10
    assert norm_from("0.5").length(norms) == 0.5
    assert norm_from(2).length(norms) == 2
    assert [str(norm_from(t)) for t in ("trained", "q0.25", "1e-2")] == ["trained", "q0.25", "0.01"]


@pytest.mark.parametrize(
    "bad", ["", "0", "-1", "nan", "inf", "q2", "q-0.1", "qnan", "median", True, "1_0"]
)
def test_bad_norms(bad):
    with pytest.raises(InputError, match="norm: got"):
        norm_from(bad)


# ----------------------------------------------------------------------------------- which rows


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("3", [3]),
        ("3,5", [3, 5]),
        (" 7-9 , 1 ", [1, 7, 8, 9]),
        ("5,5,4-6", [4, 5, 6]),
        ("1 2", [1, 2]),
        ([9, 2, np.int64(2)], [2, 9]),
    ],
)
def test_ids(text, wanted):
    assert ids_from(text, 10).tolist() == wanted


@given(st.sets(st.integers(0, 999), min_size=1, max_size=40))
def test_ids_come_back_from_their_summary(ids):
    from collapse_theory.checkpoint.repairing import _text as _repair_text

    patched = pytest.MonkeyPatch()
    patched.setattr(_repair_text, "LISTED", 1000)
    text = _repair_text.ranges(sorted(ids))
    patched.undo()
    assert ids_from(text, 1000).tolist() == sorted(ids)


def test_ids_from_a_file(tmp_path):
    file = tmp_path / "ids.txt"
    file.write_text("# reserved\n3, 5-7\n\n9  # the last\n1 2\n")
    assert ids_from(file, 10).tolist() == [1, 2, 3, 5, 6, 7, 9]
    assert ids_from(str(file), 10).tolist() == [1, 2, 3, 5, 6, 7, 9]
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="cannot be read as text"):
        ids_from(file, 10)
    file.write_text("3\nfour\n")
    with pytest.raises(InputError, match=r"ids\.txt: got 'four'"):
        ids_from(file, 10)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("", "no ids and no such file"),
        (",", "none given"),
        ([], "none given"),
        ("10", "no row 10; rows run from 0 to 9"),
        ("3-12", "no row 12"),
        ("7-3", "runs backwards; write 3-7"),
        ("-3", "'-3'"),
        ("1--3", "'1--3'"),
        ("nowhere.txt", "nowhere.txt"),
        ([1.0], "1.0"),
        ([True], "True"),
        ([-1], "no row -1"),
        ("9" * 40, "got"),
    ],
)
def test_bad_ids(bad, said):
    with pytest.raises(InputError, match="rows") as caught:
        ids_from(bad, 10)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_share():
    check_share(5, 10, 0.5)
    with pytest.raises(InputError, match="6 of 10 would be overwritten"):
        check_share(6, 10, 0.5)
    for bad in (0, -1, 1.5, float("nan")):
        with pytest.raises(InputError, match="max share"):
            check_share(1, 10, bad)


def test_a_sample_leaves_out_what_is_apart():
    sample = trained_sample(20_000, np.arange(0, 20_000, 2), np.random.default_rng(0))
    assert len(sample) == 8192
    assert (sample % 2 == 1).all()
    assert (np.diff(sample) > 0).all()


# ------------------------------------------------------------------------------------ the measures


def test_measures_are_those_of_all_pairs():
    rng = np.random.default_rng(0)
    rows = trained(rng, count=30)
    centre = rng.normal(size=16)
    found = measure(encode(rows, "float64"), "float64", centre)
    pairs = [(i, j) for i in range(30) for j in range(i)]

    def cosine(a, b):
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    distances = [np.linalg.norm(rows[i] - rows[j]) for i, j in pairs]
    assert found.cosine == pytest.approx(np.mean([cosine(rows[i], rows[j]) for i, j in pairs]))
    moved = rows - centre
    assert found.cosine_centred == pytest.approx(
        np.mean([cosine(moved[i], moved[j]) for i, j in pairs])
    )
    assert found.distance_min == pytest.approx(min(distances))
    assert found.distance_median == pytest.approx(np.median(distances))
    assert (found.rows, found.zeros, found.equal, found.not_finite) == (30, 0, 0, 0)


def test_measures_of_rows_of_no_use():
    rows = np.array([[0.0, 0], [0, 0], [1, 0], [1, 0], [1, 0], [3, 4]])
    data = np.concatenate([encode(rows, "float32"), np.full((2, 8), 0xFF, np.uint8)])
    found = measure(data, "float32", np.zeros(2))
    assert (found.rows, found.not_finite, found.zeros, found.equal) == (8, 2, 2, 3)
    assert (found.norm_min, found.norm_median, found.norm_max) == (0, 1, 5)
    assert found.distance_min == 0
    alone = measure(encode(rows[-1:], "float32"), "float32", np.zeros(2))
    assert (alone.cosine, alone.distance_min) == (None, None)
    nothing = measure(np.full((1, 8), 0xFF, np.uint8), "float32", np.zeros(2))
    assert (nothing.norm_min, nothing.cosine) == (None, None)


def test_the_mean_cosine_of_equal_rows_is_one():
    assert mean_cosine(np.ones((7, 3))) == pytest.approx(1)
