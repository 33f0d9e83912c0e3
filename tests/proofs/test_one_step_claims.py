"""Derivations of claims about one step: tampered lines and goals do not stand."""

from dataclasses import replace

import pytest
from sympy import Symbol

from proofs.symbolic import derive
from proofs.symbolic.framework.derivation import Context, Line, Refused

CLAIMS = (
    "step_factor",
    "lower_bound",
    "difference_recursion",
    "stationary_rows",
    "gradient_flow",
    "no_decay_nonexpansive",
    "rare_labels",
    "curvature_from_loss",
)


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_last_line_with_a_better_constant_does_not_stand(claim):
    derivation = derive(claim)
    for goal in derivation.goals:
        line = derivation[goal.line]
        better = replace(line.statement, rhs=line.statement.rhs - line.statement.lhs / 1000)
        lines = tuple(replace(x, statement=better) if x is line else x for x in derivation.lines)
        results = replace(derivation, lines=lines).check()
        assert [r.name for r in results if not r.ok] == [goal.line]


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_goal_that_hides_a_hypothesis_does_not_stand(claim):
    derivation = derive(claim)
    for goal in derivation.goals:
        for name in goal.hypotheses:
            fewer = replace(goal, hypotheses=tuple(h for h in goal.hypotheses if h != name))
            results = replace(derivation, goals=(fewer,)).check()
            assert not results[-1].ok


@pytest.mark.slow
@pytest.mark.parametrize("claim", CLAIMS)
def test_no_verified_line_stands_with_its_right_side_changed(claim):
    derivation = derive(claim)
    roles = {r.name: r.role for r in derivation.check()}
    context = Context(derivation.ranges)
    extra = Symbol("extra", positive=True)
    for line in derivation.lines:
        if roles[line.name] == "verified":
            changed = Line(
                line.name,
                replace(line.statement, rhs=line.statement.rhs - extra),
                line.rule,
                line.sentence,
            )
            with pytest.raises(Refused):
                changed.check(context)
        context.add(line)
