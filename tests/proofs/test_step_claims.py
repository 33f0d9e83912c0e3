"""The one-step derivations: no line of theirs stands when tampered with, and a target is put into a sum without capture."""

from dataclasses import replace
from functools import cache

import pytest
from sympy import Indexed, IndexedBase, Integer, Rational, Sum, Symbol, exp

from proofs.symbolic import derive
from proofs.symbolic.framework.agree import agree
from proofs.symbolic.framework.algebra import is_zero
from proofs.symbolic.framework.derivation import Line, Refused, Statement, at_most, equal
from proofs.symbolic.framework.rules import Define
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

TERMS = exp(Sum(q.w(k, j) * q.x(i, j), (i, 1, N)))  # one number for all examples together
CAPTURED = exp(Sum(q.w(q.y(i), j) * q.x(i, j), (i, 1, N)))  # each example with a target of its own
ONE = exp(q.w(q.y(i), j))
ALL = Sum(exp(q.w(k, j)), (k, 3, K))


def refusal(*lines):
    """The reason why the last line is refused; "" if it stands."""
    return replace(derivation_of("lower_bound"), lines=lines, goals=()).check()[-1].reason


def term(statement, target):
    return Line("it", statement, OneOfSum(target), "")


def test_a_target_is_not_captured_by_a_sum_over_examples():
    assert refusal(term(at_most(ONE, ALL), q.y(i))) == ""
    assert "not the term" in refusal(term(at_most(CAPTURED, Sum(TERMS, (k, 3, K))), q.y(i)))


def test_what_only_goes_by_the_name_of_a_target_is_none():
    plain = Symbol("y", real=True)
    real = Indexed(IndexedBase("y", real=True), i)
    for other in (plain, real):
        assert "no target" in refusal(term(at_most(exp(q.w(other, j)), ALL), other))
    for index in (Integer(0), j, k):
        target = q.y(index)
        assert "of no example" in refusal(term(at_most(exp(q.w(target, j)), ALL), target))


def test_a_defined_name_is_no_target():
    first = Line("y", equal(q.y(i), 1), Define(), "")
    assert "defined by a line" in refusal(first, term(at_most(ONE, ALL), q.y(i)))
