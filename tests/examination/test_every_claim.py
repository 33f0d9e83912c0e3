"""What every registered claim must stand up to; a new claim is picked up by itself."""

import json

import pytest

from collapse_theory import all_claims, examine, falsify
from collapse_theory.examination import Outcome, Status, certify, read_witness
from collapse_theory.examination.columns import UNDEFINED
from collapse_theory.files import write_json

CLAIMS = all_claims()
HOLDING = [claim for claim in CLAIMS.values() if claim.expected == "holds"]


def of(claim, *values, name=""):
    """Parameters of a test about a claim. Tests of one claim run in one process, which examines it once."""
    name = f"{claim.id}-{name}" if name else claim.id
    return pytest.param(*values, id=name, marks=pytest.mark.xdist_group(claim.id))


EVERY = pytest.mark.parametrize("claim_id", [of(c, c.id) for c in CLAIMS.values()])

NOT_KNOWN_NECESSARY: dict[tuple[str, str], str] = {
    ("nesterov", "some_momentum"): "without momentum the claim is contraction, which holds",
    ("constant_sign", "betas"): "C_T is a finite sum for any betas but b1^2 = b2",
}
"""Hypotheses (claim id, hypothesis id) without a witness, each with the reason why that is so."""


def part_names(claim):
    return list(enumerate(claim.parts or ("bound",)))


@EVERY
def test_it_meets_its_own_expectations(quick, claim_id):
    result = quick(claim_id)
    assert result.unmet == []
    expected = Status.REFUTED if result.claim.expected == "refuted" else Status.NOT_FALSIFIED
    assert result.verdict.status is expected


@EVERY
def test_its_hypotheses_can_be_met(quick, claim_id):
    vacuity = quick(claim_id).evidence["necessary"].figures["vacuity"]
    assert vacuity["met_by"] > vacuity["drawn"] / 100


@EVERY
def test_balls_decide_nearly_every_instance(quick, claim_id):
    figures = quick(claim_id).evidence["enclosed"].figures
    undecided = figures["not_certainly_admissible"]
    assert undecided < figures["instances"] / 10
    assert figures["undecided"] == 0 or figures["undecided_agree_to_bits"] > 100
    outcomes = ("enclosed", "consistent", "refuted", "undecided", "not_certainly_admissible")
    assert sum(figures[name] for name in outcomes) == figures["instances"]


@pytest.mark.parametrize("claim", [of(c, c) for c in HOLDING if c.tight])
def test_a_tight_claim_saves_an_instance_that_attains_it(quick, claim):
    figures = quick(claim.id).evidence["tight"].figures
    for name in claim.parts or ("bound",):
        attained = figures["attained"][name]
        assert attained["worst_ratio"] >= 0.999
        instance = _instance(claim, attained["instance"])
        certificate = certify(claim, instance)
        assert certificate.outcome[0] in (Outcome.HOLDS, Outcome.UNDECIDED)
        part = list(claim.parts or ("bound",)).index(name)
        assert certificate.ratio[0, part] == pytest.approx(attained["worst_ratio"], abs=1e-9)


@pytest.mark.parametrize(
    ("claim", "part"),
    [of(c, c, p, name=name) for c in HOLDING for p, name in part_names(c)],
)
def test_a_tightened_twin_is_refuted(quick, claim, part):
    """A tight bound times 0.999 is false, a loose one times 0.999 of its looseness."""
    attained = quick(claim.id).evidence["tight"].figures["attained"]
    name = (claim.parts or ("bound",))[part]
    factor = 0.999 * (1.0 if claim.tight else attained[name]["worst_ratio"])
    twin = claim.scaled(factor, part=part)
    witness = falsify(twin).witness
    assert witness is not None
    assert certify(twin, witness.instance).outcome[0] == Outcome.VIOLATED
    assert certify(claim, witness.instance).outcome[0] != Outcome.VIOLATED


@pytest.mark.parametrize(
    ("claim", "dropped"),
    [of(c, c, h.id, name=h.id) for c in HOLDING for h in c.hypotheses],
)
def test_each_hypothesis_is_necessary(quick, tmp_path, claim, dropped):
    """Without it the claim is refuted, by a stored witness that replays and that the hypothesis excludes."""
    stored = quick(claim.id).evidence["necessary"].figures["witnesses"][dropped]
    if (claim.id, dropped) in NOT_KNOWN_NECESSARY:
        assert stored == "not known necessary"
        return
    if (
        stored == UNDEFINED
    ):  # no instance could refute what is not defined: a division by 0, the logarithm of 0
        assert claim.hypothesis(dropped).strict
        return
    witness = read_witness(write_json(tmp_path / "witness.json", stored))
    assert witness.dropped == dropped
    assert certify(claim.drop(dropped), witness.instance).outcome[0] == Outcome.VIOLATED
    assert certify(claim, witness.instance).outcome[0] == Outcome.INADMISSIBLE


def test_the_list_of_exceptions_speaks_of_claims_that_exist():
    for (claim_id, hypothesis_id), reason in NOT_KNOWN_NECESSARY.items():
        assert CLAIMS[claim_id].hypothesis(hypothesis_id)
        assert reason


@pytest.mark.parametrize("claim", [of(c, c) for c in CLAIMS.values() if c.expected == "refuted"])
def test_a_refuted_claim_has_a_witness_and_its_missing_hypotheses_exclude_it(
    quick, tmp_path, claim
):
    result = quick(claim.id)
    witness = read_witness(result.witness.save(tmp_path / "witness.json"))
    assert certify(claim, witness.instance).outcome[0] == Outcome.VIOLATED
    assert result.evidence["searched"].figures["witness"] == result.witness.to_dict()
    assert result.worst_ratio > 1
    if claim.missing:
        assert certify(claim.mended(), witness.instance).outcome[0] == Outcome.INADMISSIBLE


@EVERY
def test_a_result_prints_and_is_json(quick, claim_id):
    result = quick(claim_id)
    text = str(result)
    assert text.startswith(f"{claim_id}: {result.claim.statement}\n")
    for column in result.evidence:
        assert f"\n  {column} " in text
    assert str(result.verdict) in text
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["id"] == claim_id


def _instance(claim, data):
    from collapse_theory.instances import DOMAINS

    return DOMAINS[claim.domain].batch_type.from_dict(data)


# ------------------------------------------------------------- the same machinery on a loose claim


@pytest.mark.slow
def test_a_loose_claim_is_measured_and_its_twin_refuted(quick):
    loose = CLAIMS["contraction"].scaled(2.0).replace(id="loose", expected="holds")
    result = examine(loose)
    tight = result.evidence["tight"]
    assert tight.status is Status.LOOSE
    assert tight.figures["worst_ratio"] == pytest.approx(0.5, rel=1e-6)
    assert result.unmet == []
    assert falsify(loose.scaled(0.999 * tight.figures["worst_ratio"])).witness is not None


@pytest.mark.slow
def test_a_loose_claim_called_tight_does_not_meet_its_expectations():
    loose = CLAIMS["contraction"].scaled(1.01).replace(id="loose", expected="holds", tight=True)
    assert examine(loose).unmet == ["called tight, but the worst ratio reached is 0.990099"]


@pytest.mark.slow
def test_a_hypothesis_that_is_not_needed_is_not_called_necessary():
    from collapse_theory.claims._hypotheses import PBAR

    claim = CLAIMS["contraction"].assume(PBAR).replace(id="with_more")
    necessary = examine(claim).evidence["necessary"]
    assert necessary.status is Status.PARTLY_NECESSARY
    assert necessary.figures["witnesses"]["pbar"] == "not known necessary"
    assert "not known necessary: pbar" in necessary.reason


@pytest.mark.slow
def test_hypotheses_that_do_not_mend_are_found_out():
    from collapse_theory.claims._hypotheses import CURVATURE

    claim = CLAIMS["paper_lemma_4_1"].replace(id="mended_wrongly", missing=(CURVATURE,))
    result = examine(claim)
    assert result.evidence["necessary"].status is Status.REFUTED
    assert any(line.startswith("necessary: curvature does not mend it") for line in result.unmet)
