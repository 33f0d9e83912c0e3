"""A target among the labels is put into a sum over them without capture."""

from dataclasses import replace

from sympy import Indexed, IndexedBase, Sum, exp

from proofs.symbolic import derive
from proofs.symbolic.framework.derivation import Line, at_most
from proofs.symbolic.framework.rules import Assume
from proofs.symbolic.framework.symbols import K, N, Step, i, j, k
from proofs.symbolic.lines.jensen import OneOfSum

q = Step()


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
    return replace(derive("lower_bound"), lines=(*lines, line), goals=()).check()[-1].reason


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
