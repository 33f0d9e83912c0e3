"""Random Horn problems: verdicts, traces and texts against independent checkers; controls, balance, bad input."""

import dataclasses
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collapse_theory.errors import InputError
from simulations import horn
from simulations.horn import HornConfig, Problem, Vocabulary, make_structures, pack, rename
from simulations.horn.__main__ import firing, main

WORDS = Vocabulary()
TRACES = ("closure", "until_query")


def made(config: str = "easy", count: int = 300, seed: int = 0, **changes):
    config = dataclasses.replace(horn.PRESETS[config], **changes)
    return make_structures(config, count, np.random.default_rng(seed))


@st.composite
def problems(draw) -> Problem:
    """Any Horn problem: cycles, a fact as query, rules that repeat, a head among its premises."""
    count = draw(st.integers(1, 7))
    variable = st.integers(0, count - 1)
    body = st.lists(variable, min_size=1, max_size=min(3, count), unique=True).map(tuple)
    return Problem(
        variables=count,
        rules=tuple(draw(st.lists(st.tuples(body, variable), max_size=8))),
        facts=tuple(draw(st.lists(variable, max_size=count, unique=True))),
        query=draw(variable),
    )


# ----------------------------------------------------------------------------- verdicts, traces, texts


@pytest.mark.parametrize("trace", TRACES)
@given(some=st.lists(problems(), min_size=1, max_size=4), seed=st.integers(0, 2**20))
def test_given_problems_get_the_right_verdict_trace_and_text(trace, some, seed):
    structures = pack(some, trace=trace)
    batch = rename(structures, np.random.default_rng(seed), WORDS)
    for i, problem in enumerate(some):
        assert structures.problem(i) == problem
        derived = horn.forward_chain(problem)
        assert structures.verdict[i] == (problem.query in derived)
        if problem.query in derived:
            assert structures.depth[i] == derived[problem.query]
        assert horn.accepts(batch.tokens[i], WORDS, trace=trace)
        written = [v for v in structures.trace[i].tolist() if v >= 0]
        whole = horn.trace_of(problem)
        assert set(whole) == set(derived)
        if trace == "until_query" and problem.query in derived:
            whole = whole[: whole.index(problem.query) + 1]
        assert written == whole


@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("config", ["easy", "chains", "medium"])
def test_an_independent_reader_accepts_the_texts_and_rejects_flipped_verdicts(config, trace):
    structures = made(config, 400, trace=trace)
    batch = rename(structures, np.random.default_rng(1), WORDS)
    flipped = batch.tokens.copy()
    each = np.arange(len(batch))
    place = batch.lengths - 2
    true, false = WORDS.specials["TRUE"], WORDS.specials["FALSE"]
    assert np.array_equal(flipped[each, place], np.where(batch.verdict, true, false))
    flipped[each, place] = np.where(batch.verdict, false, true)
    assert all(horn.accepts(row, WORDS, trace=trace) for row in batch.tokens)
    assert not any(horn.accepts(row, WORDS, trace=trace) for row in flipped)


def test_a_trace_out_of_order_is_rejected():
    batch = rename(made(count=200), np.random.default_rng(1), WORDS)
    swapped = batch.tokens.copy()
    each, first = np.arange(len(batch)), batch.prompt_length
    swapped[each, first], swapped[each, first + 1] = (
        batch.tokens[each, first + 1],
        batch.tokens[each, first],
    )
    assert not any(horn.accepts(row, WORDS) for row in swapped)


@pytest.mark.parametrize("config", ["easy", "chains", "medium"])
def test_without_free_rules_the_last_word_alone_makes_a_rule_ready(config):
    """So the continuation is unique: at most one rule is ready, and the word before is a premise of it."""
    structures = made(config, 300)
    for i in range(len(structures)):
        problem = structures.problem(i)
        written = [v for v in structures.trace[i].tolist() if v >= 0]
        for t in range(len(written) + 1):
            known = written[:t]
            ready = [
                rule
                for rule in problem.rules
                if rule[1] not in known and all(p in known for p in rule[0])
            ]
            assert len(ready) <= 1
            if ready:
                assert known[-1] in ready[0][0]
                assert written[t] == ready[0][1]


def test_the_text_of_the_example():
    b, c, d, e, f = range(5)
    problem = Problem(variables=5, rules=(((c,), b), ((e,), c), ((b, f), d)), facts=(e, f), query=d)
    symbols = [WORDS.seen[:5]]
    for trace, end in (("closure", ". s2 TRUE EOS"), ("until_query", "TRUE EOS")):
        batch = rename(pack([problem], trace=trace), symbols, WORDS)
        assert WORDS.text(batch.tokens[0]) == (
            "BOS s1 > s0 ; s3 > s1 ; s0 & s4 > s2 ; FACTS s3 s4 QUERY s2 : s3 s1 s0 s4 s2 " + end
        )
        answer = batch.tokens[0][batch.answer_mask[0]]
        assert WORDS.text(answer) == "s3 s1 s0 s4 s2 " + end


def test_a_false_problem_until_the_query_writes_the_closure_and_a_stop():
    problem = Problem(variables=3, rules=(((0,), 1),), facts=(0,), query=2)
    batch = rename(pack([problem], trace="until_query"), [WORDS.seen[:3]], WORDS)
    assert WORDS.text(batch.tokens[0]).endswith("QUERY s2 : s0 s1 . FALSE EOS")


@pytest.mark.parametrize("config", ["easy", "medium"])
def test_unit_propagation_agrees(config):
    pytest.importorskip("pysat", reason="python-sat is not installed")
    from simulations.horn.oracle import unit_propagation

    structures = made(config, 1000)
    assert np.array_equal(unit_propagation(structures), structures.verdict)


@given(some=st.lists(problems(), min_size=1, max_size=4))
def test_unit_propagation_agrees_on_any_problem(some):
    pytest.importorskip("pysat", reason="python-sat is not installed")
    from simulations.horn.oracle import unit_propagation

    structures = pack(some)
    assert np.array_equal(unit_propagation(structures), structures.verdict)


@pytest.mark.slow
def test_unit_propagation_agrees_with_100000_problems():
    pytest.importorskip("pysat", reason="python-sat is not installed")
    from simulations.horn.oracle import unit_propagation

    for config, count in (("easy", 60_000), ("medium", 30_000), ("large", 10_000)):
        structures = made(config, count, seed=5)
        assert np.array_equal(unit_propagation(structures), structures.verdict)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("BOS s0 > s1", "ends after 4 words"),
        ("s0 > s1", "word 0: s0"),
        ("BOS s0 > > ;", "word 3: >"),
        ("BOS s0 s1 ;", "word 2: s1"),
        ("BOS FACTS s0 QUERY s1 .", "word 5: ."),
    ],
)
def test_texts_out_of_format_are_named(text, named):
    ids = {WORDS.name(t): t for t in range(WORDS.size)}
    with pytest.raises(ValueError, match=named):
        horn.accepts([ids[word] for word in text.split()], WORDS)


def test_a_missing_package_is_named(monkeypatch):
    from simulations.horn.baselines import baselines
    from simulations.horn.oracle import unit_propagation

    structures = made(count=100)
    for module in ("pysat", "sklearn.linear_model"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match="python-sat is not installed; pip install"):
        unit_propagation(structures)
    with pytest.raises(InputError, match="scikit-learn is not installed; pip install"):
        baselines(structures, np.random.default_rng(0))


# --------------------------------------------------------------------------------- controls and balance


@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("config", ["easy", "chains", "medium", "large"])
def test_sizes_depths_and_verdicts_are_as_configured(config, trace):
    c = horn.PRESETS[config]
    s = made(config, 200, trace=trace)
    body = (s.premises >= 0).sum(2)
    assert s.verdict.sum() == 100
    for values, bounds in (
        (s.variables, c.variables),
        ((s.heads >= 0).sum(1), c.rules),
        ((s.facts >= 0).sum(1), c.facts),
        (s.depth, c.depth),
        (body[s.heads >= 0], c.premises),
    ):
        assert bounds[0] <= values.min() <= values.max() <= bounds[1]
    flat = np.concatenate([s.premises.reshape(200, -1), s.heads, s.facts], axis=1)
    for row, variables in zip(flat, s.variables, strict=True):
        assert set(row[row >= 0].tolist()) == set(range(variables))
    if c.firing is not None:
        whole = made(config, 200)
        assert firing(whole).mean() == pytest.approx(c.firing, abs=0.011)
    # The query is a head and no fact.
    assert (s.heads == s.query[:, None]).any(1).all()
    assert not (s.facts == s.query[:, None]).any()


@given(depth=st.integers(2, 4), facts=st.integers(1, 3), seed=st.integers(0, 1000))
@settings(max_examples=8, deadline=None)
def test_narrow_ranges_are_kept(depth, facts, seed):
    config = HornConfig(
        variables=(9, 12), rules=(6, 8), depth=(depth, depth), facts=(facts, facts), firing=None
    )
    s = make_structures(config, 40, np.random.default_rng(seed))
    assert (s.depth == depth).all()
    assert ((s.facts >= 0).sum(1) == facts).all()
    derived = [horn.forward_chain(s.problem(i)) for i in np.flatnonzero(s.verdict)]
    assert all(d[q] == depth for d, q in zip(derived, s.query[s.verdict], strict=True))


@pytest.mark.parametrize("count", [1, 2, 7, 51])
def test_small_and_odd_counts(count):
    s = made(count=count)
    assert len(s) == count
    assert abs(2 * int(s.verdict.sum()) - count) == count % 2


def test_the_same_seed_gives_the_same_bytes():
    for config in ("easy", "large"):
        one, two, other = made(config, 60), made(config, 60), made(config, 60, seed=1)
        for name in ("premises", "heads", "facts", "query", "template"):
            assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
        assert one.template.tobytes() != other.template.tobytes()


def test_unseen_queries_must_be_written_in_false_problems_too():
    batch = rename(made(), np.random.default_rng(0), WORDS, unseen="query")
    answers = np.where(batch.answer_mask, batch.tokens, -1)
    assert (answers == batch.query[:, None]).any(1).all()


# -------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"variables": (8, 6)}, "variables: got (8, 6)"),
        ({"variables": 8}, "variables: got 8"),
        ({"variables": (6, 63)}, "variables: 63"),
        ({"premises": (1, 4)}, "premises: 4"),
        ({"premises": (0, 2)}, "premises: got 0"),
        ({"facts": (1.5, 2)}, "facts: got 1.5"),
        ({"depth": (12, 12)}, "depth: 12"),
        ({"rules": (20, 20)}, "rules: 20"),
        ({"free_rules": (6, 8)}, "free_rules: 6"),
        ({"trace": "none"}, "trace: got 'none'"),
        ({"firing": 1.5}, "firing: got 1.5"),
        ({"firing": True}, "firing: got True"),
        ({"facts": (1, 1)}, "firing: 0.3"),
    ],
)
def test_bad_configurations_are_named(changes, named):
    with pytest.raises(InputError) as error:
        HornConfig(**changes)
    assert str(error.value).startswith(named)
    assert "\n" not in str(error.value)


def test_a_configuration_without_pairs_is_refused():
    # Three variables in one chain of depth 2: no room for a FALSE problem of the same counts.
    config = HornConfig(
        variables=(3, 3), rules=(2, 2), premises=(1, 1), facts=(1, 1), depth=(2, 2), firing=None
    )
    with pytest.raises(InputError, match="found 0 of 10 pairs"):
        make_structures(config, 20, np.random.default_rng(0))


@pytest.mark.parametrize("count", [0, -1, 2.5, True])
def test_bad_counts_are_refused(count):
    with pytest.raises(InputError, match="count: got"):
        make_structures(HornConfig(), count, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("problem", "named"),
    [
        (Problem(variables=2, rules=(((), 1),), facts=(), query=0), "premises"),
        (Problem(variables=2, rules=(((0, 0), 1),), facts=(), query=0), "premises"),
        (Problem(variables=2, rules=(), facts=(0, 0), query=0), "twice"),
        (Problem(variables=2, rules=(), facts=(), query=2), "variable 2"),
        (Problem(variables=63, rules=(), facts=(), query=2), "63 is too many"),
    ],
)
def test_bad_problems_are_named(problem, named):
    with pytest.raises(InputError, match=named):
        pack([problem])
    with pytest.raises(InputError, match="none given"):
        pack([])


# -------------------------------------------------------------------------------------------- the report


def test_the_report_prints_tables_and_writes_json(tmp_path, capsys):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from collapse_theory.files import read_json

    path = tmp_path / "leaks.json"
    code = main(["--count", "400", "--compare", "100", "--seed", "3", "--json", str(path)])
    out = capsys.readouterr().out
    assert code == 0
    assert out.count("BOS ") == 4
    sets = read_json(path)["sets"]
    assert list(sets) == ["easy", "rp", "lp", "rp_balanced"]
    assert sets["easy"]["statistics"]["TRUE"] == 0.5
    for name in sets["easy"]["baselines"]:
        assert name in out


def test_bad_options_end_with_2_and_one_line(capsys):
    assert main(["--count", "10"]) == 2
    assert capsys.readouterr().err.startswith("error: count: got 10")
