"""What leaks: nothing from our problems, much from SimpleLogic's, as published."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from collapse_theory.errors import InputError
from simulations import horn
from simulations.horn import baselines, simplelogic

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

EXAMPLES = Path(__file__).parents[1] / "data" / "simplelogic" / "test_examples.json.gz"


def scores(structures: horn.Structures) -> dict[str, float]:
    return {s.name: s.accuracy for s in baselines.baselines(structures, np.random.default_rng(1))}


def made(config: str, count: int, trace: str = "closure", seed: int = 11) -> horn.Structures:
    config_ = dataclasses.replace(horn.PRESETS[config], trace=trace)
    return horn.make_structures(config_, count, np.random.default_rng(seed))


# ------------------------------------------------------------------------------------------ our problems


@pytest.mark.parametrize("trace", ["closure", "until_query"])
def test_no_shortcut_beats_chance(trace):
    structures = made("easy", 4000, trace)
    # Five standard errors on 2,000 scored problems; a fitted half cannot know more than chance.
    bound = 5 * 0.5 / np.sqrt(2000)
    for name, accuracy in scores(structures).items():
        assert abs(accuracy - 0.5) < bound, name


@pytest.mark.slow
@pytest.mark.parametrize("trace", ["closure", "until_query"])
@pytest.mark.parametrize("config", ["easy", "chains", "medium", "large"])
def test_no_shortcut_comes_three_points_from_chance_on_20000_problems(config, trace):
    for name, accuracy in scores(made(config, 20_000, trace)).items():
        assert abs(accuracy - 0.5) < 0.03, (name, accuracy)


def test_no_shortcut_beats_chance_on_a_test_set_apart():
    structures = horn.apart(made("easy", 12_000), made("easy", 8000, seed=12))
    scored = len(structures) - len(structures) // 2
    for name, accuracy in scores(structures).items():
        assert abs(accuracy - 0.5) < 5 * 0.5 / np.sqrt(scored), name


def test_every_count_has_the_same_distribution_for_both_verdicts():
    structures = made("medium", 2000)
    table = baselines.counts(structures)
    # All but the places in the text, which are random.
    matched = [i for i, name in enumerate(baselines.FEATURES) if "place" not in name]
    for i in matched:
        true, false = (np.sort(table[structures.verdict == v, i]) for v in (True, False))
        assert np.array_equal(true, false), baselines.FEATURES[i]
    length = baselines.trace_length(structures)
    assert np.array_equal(*(np.sort(length[structures.verdict == v]) for v in (True, False)))


def test_a_leak_is_seen():
    """Without the pairs: any head as the query, and the verdict that comes."""
    s = made("easy", 4000)
    rng = np.random.default_rng(0)
    problems = [
        dataclasses.replace(p, query=int(rng.choice([head for _, head in p.rules])))
        for p in map(s.problem, range(len(s)))
    ]
    found = scores(horn.pack(problems))
    assert found["logistic on counts"] > 0.6
    assert found["query follows in one step"] > 0.55


def test_shortcuts_refuse_too_few_problems():
    with pytest.raises(InputError, match="99 problems are too few"):
        scores(made("easy", 99))


# ------------------------------------------------------------------------------------------- SimpleLogic


def test_published_labels_and_depths_agree():
    examples = simplelogic.read_examples(EXAMPLES)
    assert len(examples.labels) == 900
    assert np.array_equal(examples.structures.verdict, examples.labels)
    problems = [examples.structures.problem(i) for i in range(900)]
    assert [simplelogic.depth(p, most=9) for p in problems] == examples.depths.tolist()
    assert [p.query in horn.forward_chain(p) for p in problems] == examples.labels.tolist()


def test_unit_propagation_agrees_with_the_published_labels():
    pytest.importorskip("pysat", reason="python-sat is not installed")
    from simulations.horn.oracle import unit_propagation

    examples = simplelogic.read_examples(EXAMPLES)
    assert np.array_equal(unit_propagation(examples.structures), examples.labels)


def test_texts_of_published_examples_are_accepted():
    structures = simplelogic.read_examples(EXAMPLES).structures
    words = horn.Vocabulary()
    batch = horn.rename(structures, np.random.default_rng(0), words)
    assert all(horn.accepts(row, words) for row in batch.tokens)


def test_rule_priority_leaks():
    structures = simplelogic.simplelogic("rp", 2000, np.random.default_rng(0))
    # The number of facts is uniform on 0 to n: half of the queries are facts.
    assert abs(baselines.query_is_fact(structures).mean() - 0.5) < 5 * 0.5 / np.sqrt(2000)
    rules = (structures.heads >= 0).sum(1)
    assert np.corrcoef(rules, structures.verdict)[0, 1] > 0.2
    assert scores(structures)["logistic on counts"] > 0.85


def test_balancing_the_number_of_rules_leaves_other_leaks():
    structures = simplelogic.simplelogic("rp_balanced", 1600, np.random.default_rng(0))
    rules = (structures.heads >= 0).sum(1)
    assert np.array_equal(*(np.sort(rules[structures.verdict == v]) for v in (True, False)))
    found = scores(structures)
    assert abs(found["number of rules, threshold"] - 0.5) < 5 * 0.5 / np.sqrt(800)
    assert found["query is a fact"] > 0.7


def test_label_priority_respects_its_labels():
    """The facts are the first level's TRUE variables, and what follows is what was labelled TRUE: about half."""
    structures = simplelogic.simplelogic("lp", 1000, np.random.default_rng(0))
    share = (structures.trace >= 0).sum(1) / structures.variables
    assert abs(structures.verdict.mean() - 0.5) < 5 * 0.5 / np.sqrt(1000)
    assert abs(share.mean() - 0.5) < 0.02
    assert scores(structures)["logistic on counts"] > 0.65


def test_problems_by_depth_are_even():
    structures = simplelogic.simplelogic("rp", 70, np.random.default_rng(0), by_depth=True)
    depths = [simplelogic.depth(structures.problem(i), most=7) for i in range(70)]
    assert np.bincount(depths).tolist() == [10] * 7


@pytest.mark.parametrize("kind", simplelogic.KINDS)
def test_the_same_seed_gives_the_same_problems(kind):
    one, two = (simplelogic.simplelogic(kind, 20, np.random.default_rng(4)) for _ in range(2))
    assert one.template.tobytes() == two.template.tobytes()


def test_bad_requests_and_files_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="kind: got 'xp'"):
        simplelogic.simplelogic("xp", 10, rng)
    with pytest.raises(InputError, match="expected an even number"):
        simplelogic.simplelogic("rp_balanced", 11, rng)
    for text, named in (
        ("[", "cannot be read as JSON"),
        ("{}", "expected a list"),
        ("[]", "expected a list"),
        ('[{"preds": ["a"]}]', "example 0"),
        (
            '[{"preds": ["a"], "rules": [], "facts": ["b"], "query": "a", "label": 0, "depth": 0}]',
            "example 0",
        ),
        (
            '[{"preds": ["a"], "rules": [], "facts": [], "query": "a", "label": 2, "depth": 0}]',
            "label 2",
        ),
    ):
        path = tmp_path / "examples.json"
        path.write_text(text)
        with pytest.raises(InputError, match=named):
            simplelogic.read_examples(path)
    with pytest.raises(InputError, match="no such file"):
        simplelogic.read_examples(tmp_path / "none.json")
    damaged = tmp_path / "examples.json.gz"
    damaged.write_bytes(EXAMPLES.read_bytes()[:1000])
    with pytest.raises(InputError, match="cannot be read"):
        simplelogic.read_examples(damaged)
