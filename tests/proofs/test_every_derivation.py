"""What every derivation must stand up to; a new one is picked up by itself."""

from functools import cache

import pytest

from collapse_theory import all_claims
from proofs.symbolic import derivations, derive
from proofs.symbolic.framework.agreement import disagreements

CLAIMS = all_claims()


def of(name):
    """Tests of one derivation run in one process, which derives it once."""
    return pytest.param(name, id=name, marks=pytest.mark.xdist_group(f"derivation {name}"))


EVERY = pytest.mark.parametrize("name", [of(name) for name in derivations()])


@cache
def derived(name):
    return derive(name)


def test_every_claim_is_derived_and_nothing_else():
    assert set(derivations()) == set(CLAIMS)


@EVERY
def test_every_line_stands(name):
    assert [(r.name, r.reason) for r in derived(name).check() if not r.ok] == []


@pytest.mark.slow
@EVERY
def test_it_is_the_claim_as_it_stands(name):
    assert disagreements(derived(name), CLAIMS[name]) == []


@pytest.mark.slow
@EVERY
def test_every_hypothesis_of_the_claim_is_used(name):
    """A hypothesis that the derivation does without is one that the claim should not state."""
    claim = CLAIMS[name]
    used = {h for part in derived(name).conclusion for h in (*part.hypotheses, *part.structural)}
    mended = {h.id for h in claim.missing}
    assert {h.id for h in claim.hypotheses} <= used | mended


@EVERY
def test_lines_are_told_and_drawn(name):
    formulas = derived(name).formulas()
    assert len(formulas) == len(derived(name).lines)
    assert all(sentence and sentence == sentence.strip() for sentence, _ in formulas)
    assert derived(name).sizes
