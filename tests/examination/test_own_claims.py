"""A stranger's claims through the public API: found false where they are false, and never by rounding."""

import numpy as np
import pytest

from collapse_theory import Claim, Hypothesis, InputError, Status, examine, falsify, get_claim
from collapse_theory.examination import Effort

# ---------------------------------------------------------------------- five claims, ten lines each


def test_the_printed_lemma_is_refuted():
    unseen = Hypothesis("unseen", "", lambda s: -s.target_mass)
    forward = Hypothesis("forward", "", lambda s: s.step_size)
    radius = Hypothesis("radius", "", lambda s: s.radius[..., None] - s.feature_norms)
    pbar = Hypothesis("pbar", "", lambda s: s.pbar[..., None] - s.means)
    lemma = Claim(
        id="my_lemma",
        hypotheses=(unseen, forward, radius, pbar),
        lhs=lambda s: s.ops.norm(s.next_difference),
        rhs=lambda s: (
            (1 - s.step_size * (s.weight_decay - s.radius**2 * s.pbar)) * s.ops.norm(s.difference)
        ),
    )
    result = examine(lemma)
    assert result.verdict.status is Status.REFUTED
    weights = result.witness.instance.values["weights"][0]
    assert weights.shape == (3, 1)  # K = 3, n = 1
    assert result.worst_ratio > 1
    assert "K = 3, n = 1" in result.verdict.reason


def test_its_corrected_form_is_not_falsified():
    printed = get_claim("paper_lemma_4_1")
    slow = Hypothesis("slow", "", lambda s: 1 - s.step_size * s.weight_decay)
    corrected = Claim(
        id="my_corrected_lemma",
        hypotheses=(*printed.hypotheses, slow),
        lhs=printed.lhs,
        rhs=printed.rhs,
    )
    result = examine(corrected)
    assert result.verdict.status is Status.NOT_FALSIFIED
    assert result.witness is None
    assert 0.999 < result.worst_ratio <= 1


def test_contraction_by_slightly_more_is_refuted():
    contraction = get_claim("contraction")
    faster = Claim(
        id="my_faster_contraction",
        hypotheses=contraction.hypotheses,
        lhs=lambda s: s.ops.norm(s.next_difference),
        rhs=lambda s: (1 - 1.001 * s.step_size * s.weight_decay) * s.ops.norm(s.difference),
    )
    assert examine(faster).verdict.status is Status.REFUTED


def test_contraction_with_half_of_t_in_the_condition_is_refuted():
    contraction = get_claim("contraction")
    half = Hypothesis(
        "half", "", lambda s: 2 - s.step_size * (2 * s.weight_decay + s.curvature / 2)
    )
    hypotheses = [h for h in contraction.hypotheses if h.id != "step_size"]
    halved = Claim(
        id="my_halved_contraction",
        hypotheses=(*hypotheses, half),
        lhs=contraction.lhs,
        rhs=contraction.rhs,
    )
    assert examine(halved).verdict.status is Status.REFUTED


def test_contraction_in_the_maximum_norm_is_refuted():
    contraction = get_claim("contraction")
    largest = Claim(
        id="my_maximum_contraction",
        hypotheses=contraction.hypotheses,
        lhs=lambda s: s.ops.max(s.ops.abs(s.next_difference)),
        rhs=lambda s: s.decay * s.ops.max(s.ops.abs(s.difference)),
    )
    result = examine(largest)
    assert result.verdict.status is Status.REFUTED
    assert result.witness.instance.values["weights"].shape[-1] >= 2  # it is true for n = 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_they_are_found_with_other_seeds_too(seed):
    contraction = get_claim("contraction")
    faster = contraction.replace(
        id="faster",
        rhs=lambda s: (1 - 1.001 * s.step_size * s.weight_decay) * s.ops.norm(s.difference),
    )
    largest = contraction.replace(
        id="largest",
        lhs=lambda s: s.ops.max(s.ops.abs(s.next_difference)),
        rhs=lambda s: s.decay * s.ops.max(s.ops.abs(s.difference)),
    )
    for claim in (get_claim("paper_lemma_4_1"), faster, largest):
        assert falsify(claim, seed=seed).witness is not None


# ------------------------------------------------------------------------------------------ rounding


def identity(**options):
    """``(1 - eta lam) r`` and ``r - eta lam r``: equal, and different on floats."""
    return Claim(
        **{
            "id": "identity",
            "lhs": lambda s: (1 - s.step_size * s.weight_decay) * s.radius,
            "rhs": lambda s: s.radius - s.step_size * s.weight_decay * s.radius,
        }
        | options
    )


@pytest.mark.parametrize("relation", ["<=", "=="])
def test_rounding_is_not_taken_for_a_violation(relation):
    claim = identity(relation=relation)
    result = examine(claim)
    searched = result.evidence["searched"]
    assert searched.figures["float_violations"] > 1000
    assert searched.figures["put_to_balls"] > 100
    assert searched.figures["confirmed"] == 0
    assert result.verdict.status is Status.NOT_FALSIFIED
    assert result.worst_ratio == 1
    assert result.unmet == []
    hunt = falsify(claim)
    assert hunt.witness is None
    assert 0 < hunt.rounding <= hunt.violations


def test_a_right_side_of_zero_met_up_to_rounding_is_not_a_violation():
    claim = Claim(
        id="root",
        lhs=lambda s: s.ops.sqrt(s.radius) * s.ops.sqrt(s.radius) - s.radius,
        rhs=lambda s: 0 * s.radius,
    )
    result = examine(claim)
    assert result.evidence["searched"].figures["float_violations"] > 100
    assert result.verdict.status is Status.NOT_FALSIFIED
    assert np.isfinite(result.worst_ratio)
    # Rounding above 0 is no instance that attains the bound.
    assert result.evidence["tight"].figures["worst_ratio"] == 0


@pytest.mark.parametrize("relation", ["<=", "=="])
def test_what_is_false_by_a_billionth_is_refuted(relation):
    off = identity(
        relation=relation,
        rhs=lambda s: (s.radius - s.step_size * s.weight_decay * s.radius) * (1 - 1e-9),
    )
    result = examine(off)
    assert result.verdict.status is Status.REFUTED
    assert "1e-09" in result.verdict.reason
    assert result.unmet == ["expected to hold, but the verdict is REFUTED"]


@pytest.mark.slow
def test_contraction_short_by_a_billionth_is_refuted():
    result = examine(get_claim("contraction").scaled(1 - 1e-9))
    assert result.verdict.status is Status.REFUTED
    assert "lhs/rhs = 1 + 1e-09" in result.verdict.reason


@pytest.mark.slow
def test_an_identity_of_the_head_is_consistent_and_a_false_one_refuted():
    recursion = Claim(
        id="recursion",
        relation="==",
        hypotheses=(get_claim("contraction").hypothesis("unseen"),),
        lhs=lambda s: s.next_difference[..., 0],
        rhs=lambda s: (
            s.decay * s.difference[..., 0]
            - s.step_size * s.ops.sum(s.operator[..., 0, :] * s.difference)
        ),
    )
    assert examine(recursion).verdict.status is Status.NOT_FALSIFIED
    without = recursion.drop("unseen")
    assert examine(without).verdict.status is Status.REFUTED


# ---------------------------------------------------------------------------------- odd own claims


def test_a_vacuous_claim_is_undecided():
    never = Hypothesis("never", "", lambda s: -1 - s.radius)
    few = Effort(
        "few", step=100, run=100, enclosed=10, enclosed_runs=10, starts=1, copies=2, rounds=1
    )
    result = examine(identity(hypotheses=(never,)), effort=few)
    assert result.verdict.status is Status.UNDECIDED
    assert "vacuous" in result.verdict.reason
    assert result.evidence["enclosed"].status is Status.UNDECIDED
    assert result.unmet == ["expected to hold, but the verdict is UNDECIDED"]


def test_a_claim_without_hypotheses_has_none_to_be_necessary():
    necessary = examine(identity()).evidence["necessary"]
    assert necessary.status is Status.NOT_APPLICABLE
    assert necessary.reason == "the claim has no hypotheses"


def test_a_refuted_claim_is_not_called_tight():
    tight = examine(get_claim("contraction").scaled(0.5)).evidence["tight"]
    assert tight.status is Status.NOT_APPLICABLE


def test_a_formula_that_compares_balls_is_refused_not_guessed():
    claim = identity(lhs=lambda s: np.maximum(s.radius, 0))
    with pytest.raises(TypeError):
        examine(claim)


@pytest.mark.parametrize("seed", [-1, 1.5, "0", True, None, float("nan")])
def test_a_useless_seed_is_refused(seed):
    for use in (examine, falsify):
        with pytest.raises(InputError, match=r"seed: got .*, expected a whole number >= 0"):
            use(identity(), seed=seed)


def test_an_unknown_effort_is_refused():
    with pytest.raises(InputError, match="'hasty' is unknown; efforts are quick, default"):
        examine(identity(), effort="hasty")
