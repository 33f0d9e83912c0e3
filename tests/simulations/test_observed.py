"""The observed column: every claim is met on recorded runs on real data, and torch agrees with the library's formulas."""

from functools import cache

import numpy as np
import pytest

from collapse_theory import all_claims, get_claim
from collapse_theory.examination import Status
from collapse_theory.examination.checkout import observe

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from simulations import torch_runs
from simulations.observed import observations

CLAIMS = all_claims()


@cache
def recorded():
    return list(observations(seed=0, thorough=False))


def facts(name):
    return next(o.facts for o in recorded() if o.name == name)


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_every_claim_is_observed(claim):
    piece = observe(claim, recorded())
    assert piece.figures["hypotheses_met"] > 0
    assert not piece.figures.get("failed")
    if claim.expected == "holds":
        assert piece.status is Status.OBSERVED
        assert piece.figures["above_bound"] == 0
    else:
        assert piece.status in (Status.OBSERVED, Status.REFUTED)


@pytest.mark.parametrize("name", ["contraction", "indistinguishable", "reset", "bias", "alignment"])
def test_a_bound_that_is_too_small_is_seen_to_fail(name):
    wrong = get_claim(name).scaled(0.2).replace(expected="holds")
    piece = observe(wrong, recorded())
    assert piece.figures["above_bound"] > 0
    assert piece.figures["failed"]


def test_a_real_run_refutes_alignment_without_its_norms():
    assert observe(get_claim("alignment_without_norms"), recorded()).status is Status.REFUTED


@pytest.mark.parametrize("name", torch_runs.tricks())
def test_torch_steps_as_the_library_says(name):
    residual = facts(f"torch, {name}")["residual"]
    # clip_grad_norm_ divides by the norm plus 1e-6, which is no rounding.
    assert residual < (1e-8 if name == "norm clipping" else 2e-15)


def test_another_trick_is_not_mistaken_for_the_plain_loss():
    """The residuals above can fail: torch's rows after a step with a trick are not those without it."""
    runs = {name: torch_run(name) for name in ("plain", "label smoothing", "value clipping")}
    for name in ("label smoothing", "value clipping"):
        assert np.abs(runs[name].after[0] - runs["plain"].after[0]).max() > 1e-6


def torch_run(name):
    rng = np.random.default_rng(3)
    return torch_runs.train(
        torch_runs.tricks()[name],
        rng.standard_normal((40, 5)),
        rng.integers(2, 6, 40),
        classes=6,
        seed=1,
        steps=2,
        batch_size=20,
    )


def test_label_smoothing_changes_distances_through_m_alone():
    plain, smoothed = facts("torch, plain"), facts("torch, label smoothing")
    assert plain["first_distance"] == smoothed["first_distance"]
    assert smoothed["last_distance"] < smoothed["first_distance"]
    assert smoothed["last_distance"] == pytest.approx(plain["last_distance"], rel=0.01)


def test_rare_labels_are_really_targets():
    assert facts("torch, two rare labels")["steps_with_u_or_v_as_target"] > 5


def test_unseen_rows_rest_away_from_zero():
    shown = facts("one digit, trained to rest")
    assert shown["rows_apart"] < 1e-12
    assert shown["level"] > 0.1
    assert abs(shown["pull_at_rest"]) < 1e-12
    assert np.all(np.diff(shown["pulls_around"]) < 0)


def test_blank_pixels_are_blank():
    assert facts("digits, blank pixels")["blank_pixels"]
