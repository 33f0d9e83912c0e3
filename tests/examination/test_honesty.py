"""Ways in which an examination could fool its reader, each of which once did."""

from __future__ import annotations

import numpy as np
import pytest

from collapse_theory import (
    Claim,
    Hypothesis,
    InputError,
    Status,
    Step,
    assert_claim,
    examine,
    get_claim,
    softmax,
)
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


def masses(s):
    """Batch masses of u and of v as targets."""
    hot = softmax.one_hot(s.labels, 2)
    return [s.ops.sum(s.example_weights * hot[..., k]) for k in (0, 1)]


def test_steps_with_both_labels_of_the_pair_as_targets_are_searched():
    """Targets u and v can pull in the same direction, so that what one alone does is no bound."""
    rare = get_claim("rare_labels")
    larger = rare.replace(
        id="rare_larger",
        rhs=lambda s: (
            s.decay * s.ops.norm(s.difference) + s.step_size * s.radius * s.ops.maximum(*masses(s))
        ),
    )
    assert examine(larger).verdict.status is Status.REFUTED


def test_targets_of_equal_mass_are_searched():
    others = tuple(h for h in CONTRACTION.hypotheses if h.id != "unseen")

    def unequal(s):
        of_u, of_v = masses(s)
        return -s.ops.abs(of_u - of_v)

    balanced = CONTRACTION.replace(
        id="balanced", hypotheses=(Hypothesis("balanced", "f_u = f_v", unequal), *others)
    )
    assert examine(balanced).verdict.status is Status.REFUTED
