"""Statements in Rocq have the library's numbers at exact instances, and wrong numbers and wrong definitions are refused."""

import os
import re
from collections import defaultdict
from dataclasses import replace

import pytest

from collapse_theory import all_claims
from collapse_theory.errors import InputError
from collapse_theory.instances import DOMAINS
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
BY_DOMAIN = bridge.domains()


def test_every_claim_is_compared():
    assert {claim.id for claims in BY_DOMAIN.values() for claim in claims} == set(all_claims())
    assert set(BY_DOMAIN) == set(DOMAINS)


@pytest.mark.parametrize("domain", BY_DOMAIN)
def test_each_hypothesis_is_met_by_some_instance_and_not_by_another(domain):
    seen = defaultdict(set)
    for lemma in bridge.lemmas(domain):
        for claim in lemma.claims:
            seen[claim, lemma.about].add(lemma.holds)
    for claim in BY_DOMAIN[domain]:
        for hypothesis in (*claim.hypotheses, *claim.missing):
            assert {True, False} <= seen.pop((claim.id, hypothesis.id)), hypothesis.id
        assert seen.pop((claim.id, "sides")) == {None}
    assert not seen


@pytest.mark.parametrize("domain", BY_DOMAIN)
def test_what_is_left_out_for_time_is_compared_somewhere(domain):
    found = bridge.lemmas(domain)
    kept = bridge.chosen(found, bridge.ENCLOSURES.get(domain, bridge.FEW))

    def said(lemmas):
        return {(claim, lemma.about) for lemma in lemmas for claim in lemma.claims}

    assert said(kept) == said(found)
    assert all(lemma in kept for lemma in found if lemma.kind != "enclosed")


def test_rational_hypotheses_are_compared_at_all_instances():
    steps = [x for x in bridge.lemmas("step") if x.about == "step_size"]
    assert len(steps) == bridge.COUNT
    assert {x.kind for x in steps} == {"equal"}


def test_where_a_root_is_not_real_nothing_is_said_of_the_sides():
    found = [x for x in bridge.lemmas("momentum_run") if x.claims == ("momentum_coupled",)]
    roots = {x.name.split("_")[1]: x.holds for x in found if x.about == "real_roots"}
    sides = {x.name.split("_")[1] for x in found if x.about == "sides"}
    assert sides == {place for place, real in roots.items() if real}
    assert len(sides) < bridge.COUNT


@pytest.mark.parametrize("domain", BY_DOMAIN)
def test_what_is_called_ill_formed_the_library_refuses(domain):
    for instance in bridge.ill_formed(domain).values():
        with pytest.raises(InputError):
            instance.check()


@pytest.mark.slow
@needs_interval
@pytest.mark.parametrize("start", range(3))
def test_the_numbers_agree(start):
    domains = list(BY_DOMAIN)[start::3]
    assert bridge.compare(*domains) > 300


# ---- what is wrong is refused: lemmas that the test above has proved, changed


def first(domain, about, **where):
    found = [x for x in bridge.lemmas(domain) if x.about == about]
    return next(x for x in found if all(getattr(x, k) == v for k, v in where.items()))


def refuses(domain, lemma, instead=None):
    with pytest.raises(rocq.BuildError, match=r"at_\d+_\w+ fails: coqc fails"):
        bridge.prove(domain, [lemma], instead)


@pytest.mark.slow
@needs_interval
@pytest.mark.parametrize(
    ("domain", "about", "holds"),
    [
        ("step", "unseen", True),
        ("step", "unseen", False),
        ("probe_run", "orthogonal", False),
        ("loss_step", "twins", True),
    ],
)
def test_the_opposite_of_a_truth_is_refused(domain, about, holds):
    lemma = first(domain, about, holds=holds)
    other = first(domain, about, holds=not holds)
    turned = lemma.said[3:-1] if not holds else f"~ ({lemma.said})"
    refuses(domain, replace(lemma, said=turned, proof=other.proof))


@pytest.mark.slow
@needs_interval
@pytest.mark.parametrize(
    ("domain", "about"),
    [
        ("step", "step_size"),
        ("step", "sides"),
        ("vectors", "sides"),
        ("head", "within"),
        ("momentum_run", "real_roots"),
    ],
)
def test_a_wrong_number_is_refused(domain, about):
    lemma = first(domain, about)
    wrong = re.sub(r"(Is|Near) (\([^()]*\))", r"\1 (\2 + 1 / 1000)", lemma.said, count=1)
    assert wrong != lemma.said
    refuses(domain, replace(lemma, said=wrong))


MEANT_OTHERWISE = {
    "a turned sign in a hypothesis": (
        ("spectral_sandwich", "between", "Spectral.v"),
        "Definition hyp_between (s : spectral_step) : Prop :="
        " let D := difference s in let MD := operator s D in"
        " 0 <= (lowest s - highest s) * dot (dim s) D MD - dot (dim s) MD MD"
        " - lowest s * highest s * dot (dim s) D D.",
    ),
    "a trace without its weights": (
        ("contraction", "curvature", "OneStep.v"),
        "Definition hyp_curvature (s : step) : Prop :="
        " sum (size (data s)) (fun i => mean s i"
        " * dot (dim s) (feature (data s) i) (feature (data s) i)) <= curvature s.",
    ),
    "another constant in a hypothesis with roots": (
        ("momentum_coupled", "real_roots", "Momentum.v"),
        "Module Within. Definition hyp_real_roots (r : momentum_run) : Prop :="
        " 3 * sqrt (momentum r) < mean_root r. End Within.",
    ),
    "a bound without its power": (
        ("alignment", "sides", "Alignment.v"),
        "Definition decayed_square (s : steady_run) : R :="
        " prod (steps s) (fun t => 1 - sizes s t * weight_decay s) * distance_at s 0.",
    ),
    "a residual with a turned sign": (
        ("label_smoothing", "sides", "Variants.v"),
        "Definition smoothed_residual (s : loss_step) (i k : nat) : R :="
        " indicator (target (data s) i) k * (1 - smoothing s) + smoothing s / INR (labels s)"
        " - softmax (dim s) (labels s) (rows s) (feature (data s) i) k.",
    ),
}


@pytest.mark.slow
@needs_interval
@pytest.mark.parametrize("change", MEANT_OTHERWISE)
def test_a_definition_that_means_something_else_is_refused(change):
    (claim, about, file), text = MEANT_OTHERWISE[change]
    domain = all_claims()[claim].domain
    found = [x for x in bridge.lemmas(domain) if x.about == about and claim in x.claims]
    lemma = found[1]  # at the first instance there is no momentum
    assert lemma.file == file
    bridge.prove(domain, [lemma])
    refuses(domain, lemma, {file: text})


@pytest.mark.slow
@needs_interval
def test_an_ill_formed_instance_is_not_called_well_formed():
    lemma, before = next(x for x in bridge.well_formed("step") if not x[0].holds)
    turned = replace(lemma, said=lemma.said[3:-1], proof="cbv zeta. holds.")
    with pytest.raises(rocq.BuildError, match="coqc fails"):
        bridge.prove("step", [turned], before=before)
