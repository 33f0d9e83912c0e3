"""The one-step derivations: no line of theirs stands when tampered with, and a target is put into a sum without capture."""

from dataclasses import replace
from functools import cache

import pytest
from sympy import Indexed, IndexedBase, Rational, Sum, exp

from proofs.symbolic import derive
from proofs.symbolic.framework.agree import agree
from proofs.symbolic.framework.algebra import is_zero
from proofs.symbolic.framework.derivation import Line, Refused, Statement, at_most
from proofs.symbolic.framework.rules import Assume
from proofs.symbolic.framework.symbols import K, N, Step, i, j, k
from proofs.symbolic.lines.jensen import OneOfSum

CLAIMS = (
    "step_factor",
    "lower_bound",
    "difference_recursion",
    "stationary_rows",
    "gradient_flow",
    "no_decay_nonexpansive",
    "curvature_from_loss",
)
q = Step()


@cache
def derivation_of(claim):
    return derive(claim)


@cache
def known():
    """Lines whose mutants `test_symbolic.py` tries already."""
    claims = ("contraction", "trajectory", "paper_lemma_4_1")
    return {(x.name, str(x.statement)) for claim in claims for x in derive(claim).lines}


def own_lines(claim):
    lines = derivation_of(claim).lines
    goals = {goal.line for goal in derivation_of(claim).goals}
    return [x for x in lines if x.name in goals or (x.name, str(x.statement)) not in known()]


def said(derivation):
    """Everything that the conclusion says, as one list of expressions."""
    found = []
    for part in derivation.conclusion:
        for side in (part.loss, part.lhs, part.rhs, *part.hypotheses.values()):
            found += side if isinstance(side, tuple) else (side,)
    return found


@cache
def said_by(claim):
    return said(derivation_of(claim))


def mutants(statement):
    """One side scaled, shifted or negated; the sides exchanged; "at most" made "equal"."""
    lhs, rhs, relation = statement.lhs, statement.rhs, statement.relation
    changed = [
        Statement(lhs, relation, rhs * Rational(1001, 1000)),
        Statement(lhs, relation, -rhs),
        Statement(lhs, relation, rhs + Rational(1, 1000)),
        Statement(lhs, relation, rhs - Rational(1, 1000)),
    ]
    if relation == "<=" and not is_zero(lhs - rhs):
        changed += [Statement(rhs, "<=", lhs), Statement(lhs, "==", rhs)]
    return [new for new in changed if new != statement]


def refuses(claim, line, statement):
    """Whether the derivation fails, or speaks of something else, once `line` makes this statement."""
    derivation = derivation_of(claim)
    position = derivation.lines.index(line)
    bad = replace(line, statement=statement)
    lines = (*derivation.lines[:position], bad, *derivation.lines[position + 1 :])
    tampered = replace(derivation, lines=lines)
    later = sorted(lines[position + 1 :], key=lambda other: line.name not in other.rule.uses)
    for checked in (bad, *later):
        context = replace(tampered, lines=lines[: lines.index(checked)]).context()
        try:
            checked.check(context)
        except Refused:
            return True
    return any(not agree(a, b) for a, b in zip(said(tampered), said_by(claim), strict=True))


# True as well: the far factor counts by its absolute value and its square alone.
NEGATED = {("step_factor", "far")}


def is_as_good(claim, line, statement):
    negated = is_zero(statement.rhs + line.statement.rhs) and statement.lhs == line.statement.lhs
    return negated and (claim, line.name) in NEGATED


@pytest.mark.parametrize("claim", CLAIMS)
def test_tampered_lines_are_refused(claim):
    survivors = [
        f"{line.name}: {statement}"
        for line in own_lines(claim)
        for statement in mutants(line.statement)
        if not is_as_good(claim, line, statement) and not refuses(claim, line, statement)
    ]
    assert survivors == []


# ---- a target in a sum over the labels

INSIDE = exp(q.over_j(q.w(k, j) * q.x(i, j)))
HERE = INSIDE.xreplace({k: q.y(i)})
TERMS = exp(Sum(q.w(k, j) * q.x(i, j), (i, 1, N)))  # one number for all examples together
CAPTURED = exp(Sum(q.w(q.y(i), j) * q.x(i, j), (i, 1, N)))  # each example with a target of its own


def over_k(body, first=3):
    return Sum(body, (k, first, K))


def refusal_of_term(statement, target=q.y(i), least=3, most=K):  # noqa: B008 - an immutable symbol
    """The reason why a term is no lower bound of a sum; the place of the term is assumed as the two bounds say."""
    places = (("target_least", at_most(least, target)), ("target_most", at_most(target, most)))
    lines = (Line(name, statement, Assume("setting"), "") for name, statement in places)
    line = Line("it", statement, OneOfSum(target, "target_least", "target_most"), "")
    return replace(derivation_of("lower_bound"), lines=(*lines, line), goals=()).check()[-1].reason


def test_a_term_is_at_most_the_sum():
    assert refusal_of_term(at_most(HERE, over_k(INSIDE))) == ""
    assert refusal_of_term(at_most(exp(q.w(q.y(i), j)), over_k(exp(q.w(k, j))))) == ""
    for statement, reason in (
        (at_most(2 * HERE, over_k(INSIDE)), "not the term there"),
        (at_most(HERE, over_k(INSIDE, first=4)), "should read"),
        (at_most(HERE, INSIDE), "is a sum"),
        (at_most(q.w(q.y(i), j), over_k(q.w(k, j))), "not shown to be >= 0"),
        # a sum over examples inside the terms does not take the index of the one example
        (at_most(CAPTURED, over_k(TERMS)), "not the term there"),
    ):
        assert reason in refusal_of_term(statement)


def test_the_place_of_the_term_is_known():
    statement = at_most(HERE, over_k(INSIDE))
    assert "should read" in refusal_of_term(statement, least=2)
    assert "should read" in refusal_of_term(statement, most=K + 1)
    other = Indexed(IndexedBase("y", real=True), i)  # a number that need not be whole
    plain = at_most(INSIDE.xreplace({k: other}), over_k(INSIDE))
    assert "no whole number" in refusal_of_term(plain, target=other)
