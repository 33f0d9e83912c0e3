"""Ways in which an examination could fool its reader, each of which once did."""

from __future__ import annotations

import numpy as np
import pytest

from collapse_theory import Claim, InputError, Status, Step, assert_claim, examine, get_claim
from collapse_theory.examination import checkout

CONTRACTION = get_claim("contraction")


@pytest.mark.parametrize(
    "changed",
    [
        CONTRACTION.scaled(0.9999999).replace(id="contraction"),
        CONTRACTION.drop("unseen").replace(id="contraction"),
        CONTRACTION.drop("step_size").replace(id="contraction"),
        get_claim("trajectory").replace(id="contraction"),
    ],
)
def test_a_claim_that_is_not_what_was_derived_is_not_called_derived(changed):
    if checkout.root() is None:
        pytest.skip("derivations are in a checkout only")
    piece = checkout.symbolic(changed)
    assert piece.status is Status.UNDECIDED
    assert piece.figures["failed"]


def test_the_claims_as_they_stand_are_derived():
    for name in ("contraction", "trajectory", "paper_lemma_4_1"):
        assert checkout.symbolic(get_claim(name)).status is Status.DERIVED


def test_a_formula_that_mixes_instances_refutes_nothing():
    mixing = Claim(
        id="mixing",
        lhs=lambda s: s.ops.max(s.step_size, axis=0) - s.step_size,
        rhs=lambda s: 0 * s.step_size,
    )
    result = examine(mixing)
    assert result.witness is None
    assert result.verdict.status is not Status.REFUTED


def test_batch_weights_never_sum_to_more_than_one():
    for count in range(1, 40):
        features = np.ones((count, 1))
        step = Step.create(
            weights=[[2.0**-100], [0.0], [-100.0]],
            features=features,
            labels=[2] * count,
            step_size=1.0,
            weight_decay=1.0,
        )
        assert_claim(get_claim("paper_lemma_4_1").mended(), step)


@pytest.mark.parametrize(
    "lhs",
    [
        lambda s: s.next_difference,
        lambda s: s.nothing_like_this,
        lambda s: s.difference @ s.difference,
        lambda s: "text",
    ],
)
def test_sides_of_the_wrong_kind_are_named(lhs):
    with pytest.raises(InputError, match="lhs"):
        examine(CONTRACTION.replace(id="odd", lhs=lhs))


def test_a_number_stands_for_all_instances():
    # The right side is at least 0 under the hypotheses: eta lam <= 1 follows from them.
    result = examine(CONTRACTION.replace(id="zero", lhs=lambda s: 0, tight=False))
    assert result.verdict.status is Status.NOT_FALSIFIED


def test_refuted_claims_say_nothing_of_necessity():
    row = examine(CONTRACTION.scaled(0.5).replace(expected="holds"))
    assert row.evidence["necessary"].status is Status.NOT_APPLICABLE
