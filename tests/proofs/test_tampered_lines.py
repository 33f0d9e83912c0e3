"""No line of a derivation stands, or leaves the conclusion what it was, once it says something else."""

from dataclasses import replace
from functools import cache

import pytest
from sympy import Rational

from proofs.symbolic import derivations, derive
from proofs.symbolic.framework.agree import agree
from proofs.symbolic.framework.algebra import is_zero
from proofs.symbolic.framework.derivation import Refused, Statement, at_most

# True as well: the far factor counts by its absolute value and its square alone.
NEGATED = {("step_factor", "far")}
FIRST = "contraction"
# Much is derived from these, so that what their mutants leave takes long to refuse: for the slow tests.
COSTLY = {"z_u", "z_v", "S", "Z", "p_u", "p_v", "p_y", "loss", "grad_u", "grad_v"}

derived = cache(derive)


@cache
def own_lines():
    """By claim, the places of the lines that no earlier derivation has with the same statement and rule."""
    known, own = set(), {}
    for name in (FIRST, *(other for other in derivations() if other != FIRST)):
        own[name] = []
        for place, line in enumerate(derived(name).lines):
            key = (line.name, str(line.statement), repr(line.rule))
            if key not in known:
                known.add(key)
                own[name].append(place)
    return own


def mutants(statement):
    """The statement with one side scaled, shifted or negated; the sides exchanged; "at most" made "equal"."""
    lhs, rhs, relation = statement.lhs, statement.rhs, statement.relation
    changed = [
        (lhs, relation, rhs * Rational(1001, 1000)),
        (lhs, relation, -rhs),
        (lhs, relation, rhs + Rational(1, 1000)),
        (lhs, relation, rhs - Rational(1, 1000)),
    ]
    if relation == "<=" and not is_zero(lhs - rhs):  # the base of an induction may be an equality
        changed += [(rhs, "<=", lhs), (lhs, "==", rhs)]
    return [Statement(*new) for new in changed if new != (lhs, relation, rhs)]


def said(derivation):
    """Everything that the conclusion says, as one list of expressions."""
    found = []
    for part in derivation.conclusion:
        for side in (part.loss, part.lhs, part.rhs, *part.hypotheses.values()):
            found += side if isinstance(side, tuple) else (side,)
    return found


@cache
def said_by(name):
    return said(derived(name))


def refuses(derivation, place, statement):
    """Whether the derivation fails, or speaks of something else, once the line at `place` makes this statement."""
    line = replace(derivation.lines[place], statement=statement)
    lines = (*derivation.lines[:place], line, *derivation.lines[place + 1 :])
    tampered = replace(derivation, lines=lines)
    later = sorted(lines[place + 1 :], key=lambda other: line.name not in other.rule.uses)
    for checked in (line, *later):
        context = replace(tampered, lines=lines[: lines.index(checked)]).context()
        try:
            checked.check(context)
        except Refused:
            return True
    return any(
        not agree(a, b) for a, b in zip(said(tampered), said_by(derivation.claim), strict=True)
    )


def survivors(name, is_tried):
    derivation = derived(name)
    found = []
    for place in own_lines()[name]:
        line = derivation.lines[place]
        for statement in mutants(line.statement) if is_tried(line.name) else ():
            negated = (
                is_zero(statement.rhs + line.statement.rhs) and statement.lhs == line.statement.lhs
            )
            if negated and (name, line.name) in NEGATED:
                continue
            if not refuses(derivation, place, statement):
                found.append(f"{line.name}: {statement}")
    return found


def test_tampered_lines_of_the_contraction_are_refused():
    assert survivors(FIRST, lambda line: line not in COSTLY) == []


@pytest.mark.slow
def test_tampered_lines_of_the_contraction_that_take_long_are_refused():
    assert survivors(FIRST, lambda line: line in COSTLY) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(derivations()) - {FIRST}))
def test_tampered_lines_are_refused(name):
    assert survivors(name, lambda line: True) == []


def test_a_tampered_line_is_named():
    derivation = derived(FIRST)
    place = [line.name for line in derivation.lines].index("MD_square")
    line = derivation.lines[place]
    bad = replace(line, statement=at_most(line.statement.lhs, line.statement.rhs / 2))
    lines = (*derivation.lines[:place], bad, *derivation.lines[place + 1 :])
    refused = [r for r in replace(derivation, lines=lines).check() if not r.ok]
    assert refused[0].name == "MD_square"
    assert "not the stated combination" in refused[0].reason
