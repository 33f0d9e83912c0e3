"""Derivations about vectors, heads, single points and two kinds of step: their lines hold for numbers, rules refuse."""

from dataclasses import replace

import numpy as np
import pytest
from sympy import I, Integer, Symbol, exp

from collapse_theory.arithmetic import SYMBOLIC
from collapse_theory.claims import get_claim
from collapse_theory.instances import symbolic
from collapse_theory.softmax import loss
from proofs.symbolic import derive, equilibrium, rare_labels
from proofs.symbolic.framework.agree import agree
from proofs.symbolic.framework.conclude_others import Written
from proofs.symbolic.framework.derivation import Line, Refused, at_most, equal
from proofs.symbolic.framework.ranges import Exponentials, SumAndProduct
from proofs.symbolic.framework.rules import Assume
from proofs.symbolic.framework.small import Small
from proofs.symbolic.framework.symbols import i, j, k, l, m
from proofs.symbolic.lines.heads import HEAD_RANGES, g

CLAIMS = (
    "cosine_identity",
    "cosine",
    "logmean_identity",
    "logmean_bounds",
    "spectral_sandwich",
    "indistinguishable",
    "equilibrium",
    "rare_labels",
)
DERIVATIONS = {claim: derive(claim) for claim in CLAIMS}
x_, y_ = Symbol("x_", real=True), Symbol("y_", real=True)


def test_only_the_group_needs_the_distance():
    parts = {part.id: set(part.hypotheses) for part in DERIVATIONS["indistinguishable"].conclusion}
    assert parts == {"pair": {"radius"}, "group": {"radius", "within"}, "center": {"radius"}}


def test_forms_of_the_equilibrium_rest_on_their_own_setting():
    context = DERIVATIONS["equilibrium"].context()
    for goal in ("given", "normaliser"):
        assert context.assumptions(goal) == {"nonzero_feature", "at_u", "at_o"}
    assert "at_y" in context.assumptions("all_trained")


# ---- the lines are true: numbers (a check on the rules, no part of a derivation)


def entries():
    """Five labels of which three are unseen, three coordinates, two examples, numbers that fit the hypotheses."""
    rng = np.random.default_rng(5)
    w, x = rng.normal(size=(5, 3)), rng.normal(size=(2, 3))
    a = rng.dirichlet(np.ones(2))
    table = {
        "w_u": lambda j: w[0, j - 1],
        "w_v": lambda j: w[1, j - 1],
        "w_o": lambda g, j: w[g - 1, j - 1],
        "w": lambda k, j: w[k - 1, j - 1],
        "x": lambda *at: x[at[0] - 1, at[1] - 1] if len(at) == 2 else x[0, at[0] - 1],
        "a": lambda i: a[i - 1],
        "y": lambda i: Integer(2 + i),
        "hot_u": lambda i: Integer(int(i == 1)),
        "hot_v": lambda i: Integer(0),
        "others": lambda: Integer(2),
    }
    apart = max(np.linalg.norm(w[0] - w[o]) for o in (1, 2))
    scalars = {
        "eta": 0.1,
        "lam": 0.3,
        "T": 5.0,
        "r": max(np.linalg.norm(x, axis=1)),
        "delta": apart,
        "lowest": -0.05,
        "highest": 5.0,
        "v": 0.7,
    }
    return table | {name: (lambda value=value: value) for name, value in scalars.items()}


def at_the_point(table):
    """The rows of `equilibrium`: five labels, the fourth of which is the target."""
    x = np.array([table["x"](j) for j in (1, 2, 3)])
    level, square = 0.7, float(x @ x)

    def row(*at):
        return -level / square * x[at[-1] - 1]

    return {
        **table,
        "w_u": row,
        "w_o": row,
        "w_y": lambda j: table["w"](4, j),
        "level": lambda: level,
        "square": lambda: square,
        "squarepos": lambda: square,
    }


@pytest.mark.parametrize("claim", CLAIMS)
def test_lines_hold_for_numbers(claim):
    derivation, table = DERIVATIONS[claim], entries()
    if claim == "equilibrium":
        table = at_the_point(table)
    written = Written(derivation, table=table, dim=3, labels=5, examples=2, sizes={})
    trained = {"only_seen", "at_y", "z_y_at", "Z_trained", "all_trained"}
    for line in derivation.lines:
        if line.name in trained:
            continue  # these speak of other rows
        margin = line.statement.margin
        values = {index: 1 for index in (i, l, j, m) if index in margin.free_symbols}
        values |= {index: 4 for index in (k,) if index in margin.free_symbols}
        for place in (2, 3) if g in margin.free_symbols else (2,):
            value = float(written.small(margin, {**values, g: place}))
            if line.statement.relation == "==":
                assert value == pytest.approx(0, abs=1e-12), line.name
            else:
                assert value >= -1e-12, line.name


def test_all_trained_holds_for_numbers():
    derivation, table = DERIVATIONS["equilibrium"], at_the_point(entries())
    table |= {"w_y": lambda j: -3 * table["w_u"](j)}
    definitions = [
        d for d in derivation.context().definitions().values() if str(d.lhs) not in table
    ]
    small = Small(table, definitions, labels=4, dim=3, examples=1)
    for name in ("only_seen", "z_y_at", "Z_trained", "all_trained"):
        assert float(small(derivation[name].statement.margin)) == pytest.approx(0, abs=1e-12)


# ---- rare labels: the library's symbolic instances have none, so targets are put in by hand


@pytest.mark.parametrize("targets", [(1, 3), (1, 2), (2, 2)])
def test_rare_labels_with_targets_among_the_pair(targets):
    derivation, claim = DERIVATIONS["rare_labels"], get_claim("rare_labels")
    (part,) = rare_labels.conclude(targets)(derivation)
    b = symbolic("step", **part.sizes)
    b = replace(b, labels=np.array(targets) - 1)
    for derived, stated in ((part.lhs, claim.lhs(b)), (part.rhs, claim.rhs(b))):
        assert agree(derived, np.ravel(stated)[0])
    for hypothesis in claim.hypotheses:
        stated = np.ravel(hypothesis.margin(b))
        assert all(map(agree, part.hypotheses[hypothesis.id], stated))
    decay = b.weight_decay * (b.weights**2).sum() / 2
    stated = loss(SYMBOLIC, b.weights, b.features, b.labels, b.example_weights) + decay
    assert agree(part.loss, np.ravel(stated)[0])


# ---- rules refuse what does not follow


def refusal(*lines, rule, statement):
    """Why the rule refuses the statement after these lines; "" if it stands."""
    context = replace(DERIVATIONS["indistinguishable"], lines=lines).context()
    try:
        Line("it", statement, rule, "").check(context)
    except Refused as reason:
        return str(reason)
    return ""


def assumed(name, statement):
    return Line(name, statement, Assume(relation=statement.relation), "")


PRODUCT, TOTAL = assumed("p", at_most(0, x_ * y_)), assumed("s", at_most(0, x_ + y_))


def test_signs_from_sum_and_product():
    rule = SumAndProduct("p", "s", y_)
    assert refusal(PRODUCT, TOTAL, rule=rule, statement=at_most(0, x_)) == ""
    assert refusal(PRODUCT, TOTAL, rule=SumAndProduct("p", "s", x_), statement=at_most(0, y_)) == ""
    assert "not negative" in refusal(PRODUCT, TOTAL, rule=rule, statement=at_most(1, x_))
    assert "not negative" in refusal(PRODUCT, TOTAL, rule=rule, statement=equal(0, x_))
    assert "not negative" in refusal(PRODUCT, TOTAL, rule=rule, statement=at_most(x_, 0))
    assert "should read" in refusal(PRODUCT, TOTAL, rule=rule, statement=at_most(0, -x_))
    assert "should read" in refusal(PRODUCT, TOTAL, rule=rule, statement=at_most(0, x_ + y_))


def test_signs_need_both_lines_about_both_numbers():
    rule, goal = SumAndProduct("p", "s", y_), at_most(0, x_)
    for product in (at_most(0, x_ * y_ + 1), at_most(-1, x_ * y_), at_most(x_ * y_, 0)):
        assert "should read" in refusal(assumed("p", product), TOTAL, rule=rule, statement=goal)
    for total in (at_most(0, x_ - y_), at_most(-1, x_ + y_), at_most(x_ + y_, 0)):
        assert "should read" in refusal(PRODUCT, assumed("s", total), rule=rule, statement=goal)
    assert "no earlier line" in refusal(PRODUCT, rule=rule, statement=goal)
    imaginary = I * y_
    lines = (assumed("p", at_most(0, x_ * imaginary)), assumed("s", at_most(0, x_ + imaginary)))
    rule = SumAndProduct("p", "s", imaginary)
    assert "to be real" in refusal(*lines, rule=rule, statement=goal)


def test_exponentials_keep_the_order_of_real_exponents():
    rule, line = Exponentials("p"), assumed("p", at_most(x_, y_))
    assert refusal(line, rule=rule, statement=at_most(exp(x_), exp(y_))) == ""
    assert "should read" in refusal(line, rule=rule, statement=at_most(exp(y_), exp(x_)))
    assert "should read" in refusal(line, rule=rule, statement=at_most(exp(x_), exp(y_ - 1)))
    assert "two exponentials" in refusal(line, rule=rule, statement=at_most(x_, exp(y_)))
    assert "two exponentials" in refusal(line, rule=rule, statement=at_most(exp(x_), 2 * exp(y_)))
    assert "two exponentials" in refusal(line, rule=rule, statement=equal(exp(x_), exp(y_)))
    complex_ = Symbol("c_")
    line = assumed("p", at_most(complex_, y_))
    assert "defined and real" in refusal(line, rule=rule, statement=at_most(exp(complex_), exp(y_)))


def test_a_form_must_not_rest_on_assumptions():
    for name in ("Z_at", "z_u_at"):
        written = Written(DERIVATIONS["equilibrium"], table={}, dim=1, sizes={}, forms=(name,))
        with pytest.raises(ValueError, match="rests on assumptions"):
            _ = written.small
    bound = Written(DERIVATIONS["logmean_bounds"], table={}, dim=1, sizes={}, forms=("L_above",))
    with pytest.raises(ValueError, match="no equation"):
        _ = bound.small


def test_the_other_unseen_labels_have_a_range_of_their_own():
    assert HEAD_RANGES[g] == (2, Symbol("others", integer=True, nonnegative=True) + 1)
    assert set(equilibrium.derive().ranges) == set(HEAD_RANGES)
