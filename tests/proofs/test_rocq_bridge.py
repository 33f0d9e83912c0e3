"""The definitions in Rocq have the library's values at exact instances, and a wrong value is refused."""

import os
import re
from collections import defaultdict

import pytest

from collapse_theory import all_claims
from proofs import rocq
from proofs.rocq import bridge, compiler


def is_there() -> bool:
    """Whether coqc and its library for enclosures are installed."""
    try:
        compiler.require("Interval")
    except rocq.MissingCoq:
        return False
    return True


needs_interval = pytest.mark.skipif(
    not is_there() and not os.environ.get("CI"), reason=f"needs {compiler.INSTALL}"
)
STEP_CLAIMS = {name for name, claim in all_claims().items() if claim.domain == "step"}


def test_all_claims_about_a_step_but_the_recursion_are_compared():
    compared = {name for name in STEP_CLAIMS if bridge.conclusions(name)}
    assert STEP_CLAIMS - compared == {"difference_recursion"}  # an equality of vectors


def test_each_hypothesis_is_met_by_some_instance_and_not_by_another():
    seen = defaultdict(set)
    for step in bridge.instances():
        for key, holds, _ in bridge.truths("at", step):
            seen[key].add(holds)
    claims = [all_claims()[name] for name in STEP_CLAIMS]
    assert set(seen) == {h.id for claim in claims for h in (*claim.hypotheses, *claim.missing)}
    assert all(values == {True, False} for values in seen.values())


@pytest.mark.slow
@needs_interval
def test_the_numbers_agree():
    assert bridge.compare() > 300


@pytest.fixture(scope="module")
def lemmas():
    """The lemmas at one instance, by name, and what comes before them."""
    text = bridge.script(bridge.instances(1))
    first = text.index("Lemma at_0_", text.index("Lemma at_0_ok") + 5)
    found = dict(re.findall(r"Lemma (at_0_\w+) (: .*)\n", text[first:]))
    return text[:first], found


def proves(lemmas, name, change):
    before, found = lemmas
    rocq.proofs()
    compiler.ask(compiler.build(), f"{before}Lemma {name} {change(found[name])}\n")


@pytest.mark.slow
@needs_interval
@pytest.mark.parametrize("name", ["at_0_step_size", "at_0_unseen"])
def test_the_opposite_of_a_truth_is_refused(lemmas, name):
    proves(lemmas, name, lambda said: said)

    def opposite(said):
        return (
            said.replace(": ~ hyp", ": hyp") if ": ~" in said else said.replace(": hyp", ": ~ hyp")
        )

    with pytest.raises(rocq.BuildError, match="coqc fails"):
        proves(lemmas, name, opposite)


@pytest.mark.slow
@needs_interval
@pytest.mark.parametrize(
    "name",
    ["at_0_contraction_0l", "at_0_contraction_0r", "at_0_curvature_from_loss_0r", "at_0_square"],
)
def test_a_wrong_number_is_refused(lemmas, name):
    proves(lemmas, name, lambda said: said)
    with pytest.raises(rocq.BuildError, match="coqc fails"):
        proves(
            lemmas,
            name,
            lambda said: re.sub(
                r"(\(-?\d+ / \d+\)|\(\d+\))(?=\) <= |\. Proof)", r"(\1 + 1 / 1000)", said
            ),
        )
