"""``assert_claim`` in users' own tests."""

import numpy as np
import pytest

from collapse_theory import Claim, InputError, Run, Step, assert_claim, get_claim
from collapse_theory.instances import DOMAINS


def step(**changes):
    values = {
        "weights": [[0.5], [-0.5], [1.0]],
        "features": [[1.0]],
        "labels": [2],
        "step_size": 0.5,
        "weight_decay": 0.5,
    }
    return Step.create(**values | changes)


def test_it_returns_the_share_of_the_bound_that_is_used():
    used = assert_claim("contraction", step())
    one = step()
    after, before = (float(one.ops.norm(d)[0]) for d in (one.next_difference, one.difference))
    assert used == pytest.approx(after / (0.75 * before))
    assert 0 < used < 1


def test_a_claim_by_id_or_itself():
    assert assert_claim(get_claim("contraction"), step()) == assert_claim("contraction", step())
    with pytest.raises(InputError, match="did you mean 'contraction'"):
        assert_claim("contractoin", step())


def test_a_violation_shows_both_sides():
    printed = step(
        weights=[[0.01], [-0.01], [-10.0]],
        features=[[2.0]],
        step_size=1.0,
        weight_decay=3.0,
        pbar=0.5,
        radius=2.0,
    )
    with pytest.raises(AssertionError, match="paper_lemma_4_1 is violated") as caught:
        assert_claim(
            "paper_lemma_4_1", step(features=[[0.0]], step_size=1.0, weight_decay=3.0, radius=0.0)
        )
    message = str(caught.value)
    assert "lhs = ['2.00000000000']" in message
    assert "rhs = ['-2.00000000000']" in message
    assert "'step_size': 1.0" in message
    with pytest.raises((AssertionError, InputError)):
        assert_claim("paper_lemma_4_1", printed)


@pytest.mark.parametrize(
    ("changes", "hypothesis"),
    [
        ({"labels": [0]}, "unseen"),
        ({"step_size": -0.1}, "nonnegative_step"),
        ({"curvature": 0.0}, "curvature"),
        ({"step_size": 100.0}, "step_size"),
    ],
)
def test_an_inadmissible_instance_asserts_nothing(changes, hypothesis):
    with pytest.raises(InputError, match=f"says nothing here: hypothesis '{hypothesis}' fails"):
        assert_claim("contraction", step(**changes))


def test_a_batch_is_asserted_whole():
    claim, where, rng = get_claim("contraction"), DOMAINS["step"], np.random.default_rng(0)
    with np.errstate(all="ignore"):
        batch = where.build(where.draw(rng, where.shape(rng), 500))
        from collapse_theory.examination import evaluate

        evaluation = evaluate(claim, batch)
        admissible = batch.take(np.flatnonzero(evaluation.admissible))
        assert len(admissible) > 100
        assert assert_claim(claim, admissible) >= 0.999
        outside = int(np.flatnonzero(~evaluation.holds.all(axis=0))[0])
        with pytest.raises(InputError, match="fails on instance"):
            assert_claim(claim, batch)
        with pytest.raises(InputError, match="fails on instance 0;"):
            assert_claim(claim, batch.take(outside))
        with pytest.raises(AssertionError, match="contraction_scaled is violated"):
            assert_claim(claim.scaled(0.999), admissible)


def test_rounding_does_not_fail_a_test():
    claim = Claim(
        id="identity",
        lhs=lambda s: (1 - s.step_size * s.weight_decay) * s.radius,
        rhs=lambda s: s.radius - s.step_size * s.weight_decay * s.radius,
    )
    above = 0
    for k in range(1, 60):
        one = step(step_size=k / 7, weight_decay=k / 11, radius=1 + k / 13)
        above += float(claim.lhs(one)[0]) > float(claim.rhs(one)[0])
        assert_claim(claim, one)
    assert above > 0


def test_an_identity_that_is_false_fails():
    claim = Claim(
        "wrong", relation="==", lhs=lambda s: s.radius, rhs=lambda s: s.radius * (1 + 1e-9)
    )
    with pytest.raises(AssertionError, match="wrong is violated"):
        assert_claim(claim, step())


def test_an_instance_of_another_domain_is_refused():
    with pytest.raises(InputError, match="trajectory speaks of a run, but the instance is a step"):
        assert_claim("trajectory", step())


def test_a_run():
    values = {name: np.asarray(array)[0] for name, array in step().values.items()}
    run = Run.create(
        **{name: x if name == "weights" else np.stack([x, x]) for name, x in values.items()}
    )
    assert 0 < assert_claim("trajectory", run) <= 1


@pytest.mark.parametrize("instance", [None, {"weights": []}, [], step().take([])])
def test_what_is_no_instance_is_refused(instance):
    with pytest.raises(InputError, match="expected a batch of at least one instance"):
        assert_claim("contraction", instance)


def test_sides_that_overflow_are_refused():
    huge = Claim("huge", lhs=lambda s: s.radius * 1e200 * 1e200, rhs=lambda s: s.radius)
    with pytest.raises(InputError, match="a side overflows; scale the instance down"):
        assert_claim(huge, step(radius=1e300, curvature=1.0))
