"""Renaming, fingerprints and grades of answers."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collapse_theory.errors import InputError
from simulations import horn
from simulations.horn import ERROR_KINDS, Vocabulary, check_answers, fingerprints, rename

WORDS = Vocabulary()
STRUCTURES = horn.make_structures(horn.PRESETS["easy"], 256, np.random.default_rng(7))
seeds = st.integers(0, 2**30)


# ---------------------------------------------------------------------------------------- the vocabulary


def test_words_have_ids_and_ids_have_words():
    words = Vocabulary(seen=3, unseen=2)
    assert words.size == 12 + 5
    assert words.specials["PAD"] == 0
    assert [words.name(t) for t in (*words.seen, *words.unseen)] == ["s0", "s1", "s2", "u0", "u1"]
    assert all(words.name(token) == word for word, token in words.specials.items())
    assert words == Vocabulary(seen=3, unseen=2)
    assert words.text([1, 12, 0, 0]) == "BOS s0"
    with pytest.raises(InputError, match="17 is out of range"):
        words.name(17)
    with pytest.raises(InputError, match="seen: got 0"):
        Vocabulary(seen=0)


# ---------------------------------------------------------------------------------------------- renaming


@pytest.mark.parametrize("unseen", ["none", "query", "all"])
@pytest.mark.parametrize("words", [WORDS, Vocabulary(seen=16, unseen=16)])
@given(seed=seeds)
@settings(max_examples=20)
def test_symbols_are_distinct_and_from_the_right_vocabulary(unseen, words, seed):
    batch = rename(STRUCTURES, np.random.default_rng(seed), words, unseen=unseen)
    first_unseen = words.unseen[0]
    for row, count, query in zip(
        batch.symbols, STRUCTURES.variables, STRUCTURES.query, strict=True
    ):
        used = row[:count]
        assert len(set(used.tolist())) == count
        assert (row[count:] == -1).all()
        assert used.min() >= words.seen[0]
        assert used.max() < words.size
        is_unseen = used >= first_unseen
        expected = {"none": [], "query": [query], "all": list(range(count))}[unseen]
        assert np.flatnonzero(is_unseen).tolist() == sorted(expected)
    assert batch.tokens.max() < words.size


@pytest.mark.parametrize("seen", [16, 512])
def test_symbols_are_uniform(seen):
    words = Vocabulary(seen=seen)
    rng = np.random.default_rng(0)
    drawn = np.concatenate([rename(STRUCTURES, rng, words).symbols for _ in range(40)])
    drawn = drawn[:, :6]  # every problem has six
    for column in drawn.T:
        times = np.bincount(column - words.seen[0], minlength=seen)
        expected = len(drawn) / seen
        chi2 = ((times - expected) ** 2 / expected).sum()
        # Mean seen - 1, variance about 2 (seen - 1): six standard deviations.
        assert abs(chi2 - (seen - 1)) < 6 * np.sqrt(2 * (seen - 1))


@given(seed=seeds)
def test_permuted_symbols_permute_the_tokens_and_nothing_else(seed):
    rng = np.random.default_rng(seed)
    batch = rename(STRUCTURES, rng, WORDS)
    permutation = np.arange(WORDS.size)
    permutation[12:] = rng.permutation(permutation[12:])
    symbols = np.where(batch.symbols >= 0, permutation[batch.symbols], -1)
    other = rename(STRUCTURES, symbols, WORDS)
    assert np.array_equal(other.tokens, permutation[batch.tokens])
    assert np.array_equal(other.query, permutation[batch.query])
    for name in ("answer_mask", "prompt_length", "lengths", "verdict"):
        assert np.array_equal(getattr(other, name), getattr(batch, name))


def test_masks_and_lengths_fit_the_tokens():
    batch = rename(STRUCTURES.take(slice(0, 64)), np.random.default_rng(0), WORDS)
    colon = WORDS.specials[":"]
    assert batch.tokens.dtype == np.int64
    assert batch.tokens.shape[1] == batch.lengths.max()
    for row, mask, prompt, length in zip(
        batch.tokens, batch.answer_mask, batch.prompt_length, batch.lengths, strict=True
    ):
        assert row[prompt - 1] == colon
        assert (row[length:] == 0).all()
        assert (row[:length] != 0).all()
        assert row[length - 1] == WORDS.specials["EOS"]
        assert np.flatnonzero(mask).tolist() == list(range(prompt, length))


def test_the_same_seed_gives_the_same_batch():
    one, two = (rename(STRUCTURES, np.random.default_rng(5), WORDS).tokens for _ in range(2))
    assert one.tobytes() == two.tobytes()


def test_bad_renamings_are_refused():
    rng = np.random.default_rng(0)
    good = rename(STRUCTURES, rng, WORDS).symbols
    for source, words, unseen, named in (
        (rng, WORDS, "some", "unseen: got 'some'"),
        (rng, Vocabulary(seen=4), "none", "4 seen symbols"),
        (rng, Vocabulary(unseen=4), "all", "4 unseen symbols"),
        (rng, Vocabulary(unseen=0), "query", "no unseen symbols"),
        (good[:, :3], WORDS, "none", "symbols: got shape"),
        (np.where(good == good[0, 0], 5, good), WORDS, "none", "5 is no symbol"),
        (np.where(np.arange(good.shape[1]) == 1, good[:, :1], good), WORDS, "none", "repeats"),
        (good + 0.5, WORDS, "none", "expected whole numbers"),
    ):
        with pytest.raises(InputError, match=named):
            rename(STRUCTURES, source, words, unseen=unseen)


# ------------------------------------------------------------------------------------------ fingerprints


def renumbered(structures: horn.Structures, rng: np.random.Generator) -> horn.Structures:
    """The same problems with their variables' local numbers permuted."""
    out = []
    for i in range(len(structures)):
        p = structures.problem(i)
        new = rng.permutation(p.variables).tolist()
        out.append(
            horn.Problem(
                variables=p.variables,
                rules=tuple((tuple(new[v] for v in body), new[head]) for body, head in p.rules),
                facts=tuple(new[v] for v in p.facts),
                query=new[p.query],
            )
        )
    return horn.pack(out)


@given(seed=seeds)
@settings(max_examples=10)
def test_fingerprints_do_not_depend_on_names(seed):
    other = renumbered(STRUCTURES, np.random.default_rng(seed))
    assert np.array_equal(fingerprints(other), fingerprints(STRUCTURES))


def test_fingerprints_are_equal_for_equal_texts_alone():
    structures = horn.make_structures(horn.PRESETS["easy"], 4000, np.random.default_rng(1))

    def canonical(i: int) -> str:
        first: dict[int, int] = {}
        words = structures.template[i, : structures.prompt_length[i]].tolist()
        return " ".join(
            f"v{first.setdefault(w, len(first))}" if w >= len(WORDS.specials) else f"w{w}"
            for w in words
        )

    texts = [canonical(i) for i in range(len(structures))]
    marks = fingerprints(structures).tolist()
    assert len(set(texts)) == len(set(marks)) == len(set(zip(texts, marks, strict=True)))
    assert 1000 < len(set(marks)) < 4000  # so both equal and different ones occur


def test_fingerprints_ignore_padding_and_the_rest_of_the_set():
    marks = fingerprints(STRUCTURES)
    assert fingerprints(STRUCTURES.take(3)).tolist() == [marks[3]]
    assert np.array_equal(fingerprints(STRUCTURES.take([5, 2])), marks[[5, 2]])


def test_fingerprints_tell_queries_and_orders_apart():
    problem = horn.Problem(variables=3, rules=(((0,), 1), ((1,), 2)), facts=(0,), query=2)
    others = [
        problem,
        dataclasses.replace(problem, query=1),
        dataclasses.replace(problem, rules=problem.rules[::-1]),
        dataclasses.replace(problem, facts=(1,)),
    ]
    assert len(set(fingerprints(horn.pack(others)).tolist())) == 4


def test_a_test_set_apart_shares_no_problem_up_to_names():
    config, rng = horn.PRESETS["easy"], np.random.default_rng(2)
    train, more, drawn = (horn.make_structures(config, 4000, rng) for _ in range(3))
    test = horn.apart(drawn, train, more)
    marks = fingerprints(test)
    assert len(set(marks.tolist())) == len(test) == 2 * test.verdict.sum()
    renamed = renumbered(train.take(slice(0, 1000)), rng)
    for other in (train, more, renamed):
        assert not np.isin(marks, fingerprints(other)).any()
    assert np.isin(marks, fingerprints(drawn)).all()
    # Whatever occurs nowhere else is kept, but for the excess of one verdict.
    new = set(fingerprints(drawn).tolist()) - set(fingerprints(train).tolist())
    new -= set(fingerprints(more).tolist())
    assert len(new) - 200 < len(test) <= len(new)


def test_a_set_apart_from_itself_is_empty():
    assert len(horn.apart(STRUCTURES, STRUCTURES)) == 0
    assert 0 < len(horn.apart(STRUCTURES)) <= len(STRUCTURES)


# ------------------------------------------------------------------------------------------------ grades


def batch_of(unseen: str, trace: str = "closure") -> horn.Batch:
    config = dataclasses.replace(horn.PRESETS["easy"], trace=trace)
    structures = horn.make_structures(config, 64, np.random.default_rng(3))
    return rename(structures, np.random.default_rng(4), WORDS, unseen=unseen)


def with_token(batch: horn.Batch, place: np.ndarray, token: np.ndarray | int) -> np.ndarray:
    out = batch.tokens.copy()
    out[np.arange(len(batch)), place] = token
    return out


def absent(batch: horn.Batch, symbols: np.ndarray) -> np.ndarray:
    """For each problem the first of ``symbols`` that it does not use."""
    return np.array([next(s for s in symbols if s not in row) for row in batch.symbols])


@pytest.mark.parametrize("unseen", ["none", "query", "all"])
@pytest.mark.parametrize("trace", ["closure", "until_query"])
def test_right_answers_are_exact_whatever_stands_outside_them(unseen, trace):
    batch = batch_of(unseen, trace)
    noise = np.where(batch.answer_mask, batch.tokens, -7)
    grades = check_answers(batch, noise)
    assert grades.exact.all()
    assert grades.verdict_right.all()
    assert (grades.kind == 0).all()
    assert (grades.position == -1).all()
    assert grades.kinds()["none"] == 64


def test_each_kind_of_error_is_named():
    seen, all_unseen = batch_of("none"), batch_of("all")
    first = seen.prompt_length
    cases = [
        (seen, first, WORDS.specials["."], "wrong token type", False),
        (seen, seen.lengths - 4, seen.query, "wrong token type", True),
        (seen, seen.lengths - 1, WORDS.specials["."], "wrong token type", False),
        (seen, first, absent(seen, WORDS.seen), "wrong step", False),
        (seen, first, seen.query, "wrong step", True),
        (seen, first, WORDS.unseen[0], "unseen instead of seen", False),
        (all_unseen, first, WORDS.seen[9], "seen instead of unseen", False),
        (all_unseen, first, absent(all_unseen, WORDS.unseen), "wrong unseen", False),
        (all_unseen, first, all_unseen.query, "wrong step", True),
        (
            seen,
            seen.lengths - 2,
            np.where(seen.verdict, WORDS.specials["FALSE"], WORDS.specials["TRUE"]),
            "wrong verdict",
            False,
        ),
    ]
    for batch, place, token, kind, in_problem in cases:
        grades = check_answers(batch, with_token(batch, place, token))
        assert not grades.exact.any()
        assert {ERROR_KINDS[k] for k in grades.kind} == {kind}
        assert np.array_equal(grades.position, place)
        assert (grades.in_problem == in_problem).all()
        assert grades.verdict_right.all() == (kind != "wrong verdict")
        assert grades.verdict_right.any() == (kind != "wrong verdict")
    assert {case[3] for case in cases} == set(ERROR_KINDS) - {"none"}


def test_the_first_of_several_errors_counts():
    batch = batch_of("none")
    predicted = with_token(batch, batch.prompt_length, batch.query)
    predicted[np.arange(64), batch.lengths - 2] = WORDS.specials["EOS"]
    grades = check_answers(batch, predicted)
    assert {ERROR_KINDS[k] for k in grades.kind} == {"wrong step"}
    assert not grades.verdict_right.any()  # none is written


def test_a_verdict_written_too_early_is_the_one_that_counts():
    batch = batch_of("none")
    wrong = np.where(batch.verdict, WORDS.specials["FALSE"], WORDS.specials["TRUE"])
    assert not check_answers(
        batch, with_token(batch, batch.prompt_length, wrong)
    ).verdict_right.any()


def test_bad_predictions_are_refused():
    batch = batch_of("none")
    with pytest.raises(InputError, match="predicted: got shape"):
        check_answers(batch, batch.tokens[:, 1:])
    with pytest.raises(InputError, match="predicted: 588 is out of range"):
        check_answers(batch, with_token(batch, batch.prompt_length, WORDS.size))
