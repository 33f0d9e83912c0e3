"""The one rule from evidence to verdict, and that a verdict is never true or false."""

import pytest

from collapse_theory import get_claim
from collapse_theory.examination import COLUMNS, Evidence, Status, Verdict, conclude
from collapse_theory.examination.evidence import expectations

HOLDS = get_claim("contraction")
FALSE = get_claim("paper_lemma_4_1")


def piece(column, status, reason="", **figures):
    return Evidence(column, status, reason, figures)


PROVED = piece("formal", Status.PROVED, theorem="contraction_holds")
DISPROVED = piece("formal", Status.REFUTED, "the negation is proved")
UNPROVED = piece("formal", Status.UNDECIDED, "no proof yet")
DERIVED = piece("symbolic", Status.DERIVED)
ENCLOSED = piece("enclosed", Status.ENCLOSED)
BROKEN = piece("enclosed", Status.REFUTED, "1% violate it")
SEARCHED = piece("searched", Status.NOT_FALSIFIED, instances=12345, worst_ratio=0.87654321)
INFINITE = piece("searched", Status.NOT_FALSIFIED, instances=5, worst_ratio="inf")
WITNESS = piece("searched", Status.REFUTED, "a witness")
VACUOUS = piece("searched", Status.UNDECIDED, "it may be vacuous")
TIGHT = piece("tight", Status.TIGHT)
NECESSARY = piece("necessary", Status.NECESSARY)
UNMENDED = piece("necessary", Status.REFUTED, "it is not mended", failed=True)
OBSERVED = piece("observed", Status.OBSERVED)
SEEN_BROKEN = piece("observed", Status.REFUTED, "3 of 5 steps are above")
NOT_SEEN = piece("observed", Status.UNDECIDED, "3 of 5 steps are above")

R, P, N, U = Status.REFUTED, Status.PROVED, Status.NOT_FALSIFIED, Status.UNDECIDED


@pytest.mark.parametrize(
    ("pieces", "status", "reason"),
    [
        # Refutation comes first, whatever else is there.
        ([WITNESS], R, "a witness"),
        ([DISPROVED, SEARCHED], R, "the negation is proved"),
        ([PROVED, WITNESS], R, "a witness"),
        ([PROVED, BROKEN], R, "1% violate it"),
        ([BROKEN, SEARCHED], R, "1% violate it"),
        ([SEARCHED, SEEN_BROKEN], R, "3 of 5 steps are above"),
        ([piece("searched", R)], R, "by the column searched"),
        # Then a proof.
        ([PROVED], P, "contraction_holds"),
        ([PROVED, SEARCHED], P, "contraction_holds"),
        ([PROVED, VACUOUS], P, "contraction_holds"),
        # Then the search.
        ([SEARCHED], N, "12,345 instances, worst ratio 0.876543"),
        ([UNPROVED, SEARCHED], N, "12,345 instances, worst ratio 0.876543"),
        ([INFINITE], N, "5 instances, worst ratio inf"),
        # Nothing else raises a verdict.
        (
            [UNPROVED, DERIVED, ENCLOSED, TIGHT, NECESSARY, OBSERVED],
            U,
            "the claim was not searched",
        ),
        ([VACUOUS, DERIVED, ENCLOSED], U, "it may be vacuous"),
        ([], U, "the claim was not searched"),
        # A hypothesis that mends nothing and a step that balls do not confirm are no refutation.
        ([SEARCHED, UNMENDED], N, "12,345 instances, worst ratio 0.876543"),
        ([SEARCHED, NOT_SEEN], N, "12,345 instances, worst ratio 0.876543"),
    ],
)
def test_the_rule(pieces, status, reason):
    verdict = conclude(HOLDS, {p.column: p for p in pieces})
    assert (verdict.status, verdict.reason) == (status, reason)


def test_the_rule_does_not_ask_what_is_expected():
    for pieces in ([WITNESS], [PROVED], [SEARCHED], []):
        evidence = {p.column: p for p in pieces}
        assert conclude(HOLDS, evidence) == conclude(FALSE, evidence)


@pytest.mark.parametrize(
    ("claim", "pieces", "unmet"),
    [
        (HOLDS, [SEARCHED, TIGHT], []),
        (HOLDS, [PROVED, TIGHT], []),
        (HOLDS, [SEARCHED], []),  # what was not gathered does not fail
        (HOLDS, [WITNESS], ["expected to hold, but the verdict is REFUTED"]),
        (HOLDS, [VACUOUS], ["expected to hold, but the verdict is UNDECIDED"]),
        (FALSE, [WITNESS], []),
        (FALSE, [SEARCHED], ["expected to be refuted, but the verdict is NOT_FALSIFIED"]),
        (FALSE, [PROVED], ["expected to be refuted, but the verdict is PROVED"]),
        (FALSE, [WITNESS, UNMENDED], ["necessary: it is not mended"]),
        (
            HOLDS,
            [SEARCHED, piece("tight", Status.LOOSE, "0.5 is reached")],
            ["called tight, but 0.5 is reached"],
        ),
        (
            HOLDS,
            [SEARCHED, piece("symbolic", Status.UNDECIDED, "line 2 is refused", failed=True)],
            ["symbolic: line 2 is refused"],
        ),
    ],
)
def test_expectations(claim, pieces, unmet):
    evidence = {p.column: p for p in pieces}
    assert expectations(claim, evidence, conclude(claim, evidence)) == unmet


def test_loose_is_no_failure_of_a_claim_not_called_tight():
    evidence = {"searched": SEARCHED, "tight": piece("tight", Status.LOOSE, "0.5 is reached")}
    claim = HOLDS.replace(tight=False)
    assert expectations(claim, evidence, conclude(claim, evidence)) == []


@pytest.mark.parametrize("thing", [Verdict(Status.PROVED, ""), Verdict(R, ""), SEARCHED, WITNESS])
def test_no_verdict_is_true_or_false(thing):
    with pytest.raises(TypeError, match="not true or false; compare a status"):
        bool(thing)
    with pytest.raises(TypeError):
        _ = not thing


def test_verdicts_are_words():
    assert str(Verdict(Status.REFUTED, "by hand")) == "REFUTED(by hand)"
    assert str(Verdict(Status.UNDECIDED, "")) == "UNDECIDED"
    assert SEARCHED.to_dict() == {
        "verdict": "NOT_FALSIFIED",
        "reason": "",
        "instances": 12345,
        "worst_ratio": 0.87654321,
    }
    assert (
        *("formal", "symbolic", "enclosed", "searched", "tight", "necessary", "observed"),
    ) == COLUMNS
