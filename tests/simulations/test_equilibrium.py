"""Where unseen rows meet: trained heads against the roots, the roots against their equations."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collapse_theory.errors import InputError
from simulations import equilibrium

positive = st.floats(-4, 4).map(lambda e: 10.0**e)


@pytest.fixture(scope="module")
def one_feature():
    return [equilibrium.fixed_seen(), equilibrium.all_trained()]


# ------------------------------------------------------------------------------------------- the roots


@given(positive, positive, positive, st.integers(1, 10**6))
def test_fixed_seen_root_solves_its_equation_and_is_lamberts(radius, lam, total, unseen):
    z = equilibrium.fixed_seen_root(radius=radius, weight_decay=lam, seen_sum=total, unseen=unseen)
    target = radius**2 / lam
    # In logarithms, for z may be far above 700: z (S + k e^-z) = target e^-z.
    right = math.log(target) - z
    left = math.log(z) + np.logaddexp(math.log(total), math.log(unseen) - z)
    assert left == pytest.approx(right, abs=1e-12 * (10 + z))
    if z < 600:
        normaliser = total + unseen * math.exp(-z)
        lambert = equilibrium.lambert_root(radius=radius, weight_decay=lam, normaliser=normaliser)
        assert lambert == pytest.approx(z, rel=1e-10)


@given(positive, positive, st.integers(2, 10**6))
def test_all_trained_root_solves_its_equation(radius, lam, classes):
    z = equilibrium.all_trained_root(radius=radius, weight_decay=lam, classes=classes)
    s = classes * z
    left = math.log(s) + np.logaddexp(s, math.log(classes - 1))
    assert left == pytest.approx(math.log(classes * radius**2 / lam), abs=1e-12 * (10 + s))


def test_a_feature_of_norm_zero_pulls_nothing():
    assert equilibrium.all_trained_root(radius=0, weight_decay=0.1, classes=3) == 0
    assert equilibrium.fixed_seen_root(radius=0, weight_decay=0.1, seen_sum=1, unseen=2) == 0
    assert equilibrium.lambert_root(radius=0, weight_decay=0.1, normaliser=1) == 0


# ------------------------------------------------------------------------------------------- training


def test_training_meets_at_the_root(one_feature):
    for m in one_feature:
        assert abs(m.trained - m.expected) <= 1e-8
        assert abs(m.trained - m.lambert) <= 1e-8
        assert m.apart <= 1e-8
        assert m.seen_sum > 0


def test_a_wrong_root_is_refuted(one_feature):
    """Mutated twins: k one larger; K one larger."""
    fixed, trained = one_feature
    wrong = equilibrium.fixed_seen_root(
        radius=1.5, weight_decay=0.1, seen_sum=fixed.seen_sum, unseen=5
    )
    assert abs(fixed.trained - wrong) > 1e-3
    wrong = equilibrium.all_trained_root(radius=1.5, weight_decay=0.1, classes=6)
    assert abs(trained.trained - wrong) > 1e-3


def test_rows_align_without_shrinking_to_zero(one_feature):
    for m in one_feature:
        assert m.start_cosine < 0.5
        assert m.cosine >= 1 - 1e-12
        assert m.length == pytest.approx(m.expected / m.radius, abs=1e-8)
        assert m.length > 0.1


def test_opposite_features_meet_at_zero():
    m = equilibrium.opposite_features()
    assert m.expected == 0
    assert m.apart <= 1e-8
    assert m.start_length > 1
    assert m.length <= 1e-8


@pytest.mark.parametrize("seed", [1, 2])
def test_the_meeting_point_does_not_depend_on_the_start(seed):
    first, other = equilibrium.all_trained(), equilibrium.all_trained(seed=seed)
    assert first.start_length != other.start_length
    assert first.trained == pytest.approx(other.trained, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_all_cases_of_the_table(seed):
    for m in equilibrium.meetings(seed=seed):
        assert abs(m.trained - m.expected) <= 1e-8, m
        assert m.apart <= 1e-8, m


# ------------------------------------------------------------------------------- command and bad input


def test_the_command_prints_a_table(one_feature, tmp_path, capsys, monkeypatch):
    opposite = equilibrium.opposite_features(weight_decay=1.0)
    monkeypatch.setattr(equilibrium, "meetings", lambda **_options: [*one_feature, opposite])
    place = tmp_path / "table.json"
    assert equilibrium.main(["--json", str(place)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert "-> 1.00000000" in lines[1]
    stored = json.loads(place.read_text())["meetings"]
    assert stored[0]["expected"] == one_feature[0].expected
    assert stored[2]["lambert"] is None


def test_bad_arguments_exit_with_one_line(capsys):
    assert equilibrium.main(["--seed", "-1"]) == 2
    assert capsys.readouterr().err == "error: seed: got -1, expected a whole number >= 0\n"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"weight_decay": 0.0}, "weight_decay: got 0.0"),
        ({"weight_decay": math.nan}, "weight_decay: contains nan"),
        ({"radius": 0.0}, "radius: got 0.0"),
        ({"radius": True}, "radius: got True"),
        ({"unseen": 0}, "unseen: got 0"),
        ({"seed": -1}, "seed: got -1"),
    ],
)
@pytest.mark.parametrize("kind", [equilibrium.fixed_seen, equilibrium.all_trained])
def test_bad_input(kind, change, says):
    with pytest.raises(InputError, match=says):
        kind(**change)
