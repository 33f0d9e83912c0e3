"""Gradient flow: both bounds for any real lam, the limit of gradient descent, and stiff decay."""

import numpy as np
import pytest

from collapse_theory.errors import InputError
from simulations import flow


@pytest.fixture(scope="module")
def problem():
    return flow.random_problem(seed=0)


@pytest.fixture(scope="module")
def solved(problem):
    return {lam: flow.solve(problem, weight_decay=lam, last=5.0) for lam in (-0.3, 0.0, 0.3)}


def test_labels_0_and_1_are_unseen(problem):
    assert not np.isin([0, 1], problem.labels).any()


def test_both_bounds_hold_along_the_flow(solved):
    for lam, one in solved.items():
        assert one.within()
        # Written out, and not only to equality at the start.
        assert (one.distance[1:] < np.exp(-lam * one.times[1:]) * one.distance[0]).all()
        assert (one.distance[1:] > np.exp(-one.integral[1:]) * one.distance[0]).all()


def test_bounds_that_are_too_tight_fail(solved):
    """Mutated twins: more decay than lam; the integral without the trace."""
    one = solved[0.3]
    assert (one.distance > np.exp(-0.4 * one.times) * one.distance[0] * (1 + 1e-8)).any()
    assert (one.distance < np.exp(-0.3 * one.times) * one.distance[0] * (1 - 1e-8)).any()


def test_a_negative_decay_lets_rows_part(solved):
    assert solved[-0.3].distance[-1] > 2 * solved[-0.3].distance[0]


def test_rows_and_distance_agree(solved):
    for one in solved.values():
        apart = np.linalg.norm(one.weights[0] - one.weights[1])
        assert apart == pytest.approx(one.distance[-1], rel=1e-12)


def test_two_solvers_agree(problem, solved):
    other = flow.solve(problem, weight_decay=0.3, last=5.0, method="LSODA", rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(other.weights, solved[0.3].weights, atol=1e-8)


@pytest.mark.parametrize("lam", [-0.3, 0.0, 0.3])
def test_descent_tends_to_the_flow_at_first_order(problem, solved, lam):
    found = flow.converge(problem, solved[lam], first=25, halvings=4)
    assert len(found.errors) == 5
    assert (np.diff(found.errors) < 0).all()
    assert abs(found.slope - 1) <= 0.1


def test_another_flow_is_no_limit(problem, solved):
    """Mutated twin: descent with lam = 0.3 does not tend to the flow with lam = 0.31."""
    wrong = flow.solve(problem, weight_decay=0.31, last=5.0)
    object.__setattr__(wrong, "weight_decay", 0.3)
    found = flow.converge(problem, wrong, first=50, halvings=4)
    assert abs(found.slope - 1) > 0.1


def test_stiff_decay_needs_no_step_condition(problem):
    facts = flow.stiff(problem, weight_decay=1e3)
    assert facts["weights_apart"] <= 1e-9
    assert facts["over_upper_bound"] <= 1e-11
    assert facts["implicit_evaluations"] < 4_500
    assert facts["descent_growth"] > 1e9  # |1 - 2.5|^60, while the flow keeps its bound


@pytest.mark.slow
@pytest.mark.parametrize("lam", [-0.3, 0.0, 0.3])
def test_the_digits(lam):
    pytest.importorskip("sklearn", reason="the digits come with scikit-learn")
    problem = flow.digits_problem()
    one = flow.solve(problem, weight_decay=lam, last=10.0)
    assert one.within()
    assert abs(flow.converge(problem, one).slope - 1) <= 0.1


@pytest.mark.slow
def test_very_stiff_decay_is_cheaper_with_an_implicit_solver(problem):
    facts = flow.stiff(problem)
    assert facts["weights_apart"] <= 1e-9
    assert facts["implicit_evaluations"] < 0.5 * facts["explicit_evaluations"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"last": 0.0}, "last"),
        ({"last": float("inf")}, "last: contains inf"),
        ({"weight_decay": float("nan")}, "weight_decay: contains nan"),
        ({"weight_decay": [0.1, 0.2]}, "give a number"),
    ],
)
def test_bad_input(problem, change, says):
    with pytest.raises(InputError, match=says):
        flow.solve(problem, **{"weight_decay": 0.1, "last": 1.0, **change})


def test_the_command_prints_a_table_and_draws(problem, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(flow, "digits_problem", lambda **_options: problem)
    converge = flow.converge
    monkeypatch.setattr(flow, "converge", lambda p, one: converge(p, one, first=25, halvings=2))
    stiff = flow.stiff
    monkeypatch.setattr(flow, "stiff", lambda p: stiff(p, weight_decay=100.0, last=0.1))
    out = tmp_path / "flow.svg"
    assert flow.main(["--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert printed.count("hold") == 6
    assert "FAIL" not in printed
    assert out.read_bytes().startswith(b"<?xml")
    assert flow.main(["--seed", "-1"]) == 2
    assert capsys.readouterr().err == "error: seed: got -1, expected a whole number >= 0\n"
