"""Settings of runs and roundings: hypotheses have the same truth in Rocq as in Python, at exact numbers."""

import os
import re
import shutil
from collections import defaultdict

import pytest

from collapse_theory import get_claim
from proofs import rocq
from proofs.rocq import bridge_data, compiler

needs_coq = pytest.mark.skipif(
    shutil.which("coqc") is None and not os.environ.get("CI"), reason=f"needs {compiler.INSTALL}"
)


@pytest.mark.parametrize("case", bridge_data.CASES, ids=lambda case: case.claim)
def test_each_hypothesis_is_met_by_some_settings_and_not_by_others(case):
    seen = defaultdict(set)
    for instance, _ in bridge_data.settings(case):
        for name, truth in bridge_data.truths(case, instance).items():
            seen[name].add(truth)
    assert set(seen) == set(case.hypotheses)
    assert all(values == {True, False} for values in seen.values())
    assert set(case.hypotheses) <= {h.id for h in get_claim(case.claim).hypotheses}


def test_all_hypotheses_about_rounding_are_compared():
    for case in bridge_data.CASES:
        if case.sides:
            assert set(case.hypotheses) == {h.id for h in get_claim(case.claim).hypotheses}


@pytest.mark.slow
@needs_coq
def test_the_truths_agree():
    assert bridge_data.compare() > 400


@pytest.mark.slow
@needs_coq
@pytest.mark.parametrize("claim", [case.claim for case in bridge_data.CASES])
def test_the_opposite_of_a_truth_is_refused(claim):
    """One lemma of each claim, turned around."""
    before, _, rest = bridge_data.script().partition(f"Module Of_{claim}.")
    own, end, _ = rest.partition(f"End Of_{claim}.")
    imported, first = re.match(r"(\nImport \w+\.\n)(Lemma .*\nProof\. .* Qed\.\n)", own).groups()
    said = re.search(r" : (.*)\.\n", first)[1]
    turned = said[3:-1] if said.startswith("~ (") else f"~ ({said})"
    start = before[: before.index("Module Of_")] if "Module Of_" in before else before
    whole = f"{start}Module Of_{claim}.{imported}{first}{end}\n"
    compiler.ask(compiler.build(), whole)
    with pytest.raises(rocq.BuildError, match="coqc fails"):
        compiler.ask(compiler.build(), whole.replace(f" : {said}.\n", f" : {turned}.\n"))
