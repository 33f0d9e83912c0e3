"""Derivations of the claims about steady runs and resets: their lines hold for numbers, rules refuse."""

from dataclasses import replace

import numpy as np
import pytest
from sympy import Abs, Integer, Product, Sum, Symbol, log, sqrt

from collapse_theory.claims import get_claim
from collapse_theory.instances import symbolic
from proofs.symbolic import derive
from proofs.symbolic.framework.agree import agree
from proofs.symbolic.framework.agreement import disagreements
from proofs.symbolic.framework.derivation import Line, Refused, at_most, equal
from proofs.symbolic.framework.logarithms import FromLogarithms, ToLogarithms
from proofs.symbolic.framework.rules import Assume, Define
from proofs.symbolic.framework.small import Small
from proofs.symbolic.framework.strict import DefineFactor, DefinePositive, Nonzero, Positive
from proofs.symbolic.framework.symbols import RANGES, N, Step, i, j, k, t
from proofs.symbolic.lines.conclude_runs import (
    conclude_reset,
    conclude_staggered,
    staggered_witness,
)
from proofs.symbolic.lines.conclude_runs_steady import conclude_rare
from proofs.symbolic.lines.resets_apart import Choose
from proofs.symbolic.lines.runs import age
from proofs.symbolic.lines.runs_probe import Vanishes

CLAIMS = (
    "reset",
    "staggered_reset",
    "alignment",
    "alignment_without_norms",
    "no_decay_orthogonal",
    "rare_labels_run",
    "collapse_time",
    "collapse_time_needed",
)
DERIVATIONS = {claim: derive(claim) for claim in CLAIMS}
q = Step()
v = Symbol("v", nonnegative=True)


# ---- the lines are true: numbers of a run (a check on the rules, no part of a derivation)

TRUE = [claim for claim in CLAIMS if claim not in {"staggered_reset", "alignment_without_norms"}]


def table_of_a_run(seen):
    """Entries of a run in 3 coordinates, of which no feature sees the third, with steps that the hypotheses allow."""
    rng = np.random.default_rng(11)
    steps, labels, dim, examples = 4, 4, 3, 2
    eta, lam, T = 0.2 + 0.1 * np.arange(steps), 0.3, 2.0
    x, a = rng.normal(size=(steps, examples, dim)), rng.dirichlet(np.ones(examples), size=steps)
    x[..., 2] = 0.0
    y = rng.integers(0 if seen else 2, labels, size=(steps, examples))
    eta = np.full(steps, 0.3) if not seen else eta
    rows = [rng.normal(size=(labels, dim))]
    for time in range(steps):
        z = x[time] @ rows[-1].T
        p = np.exp(z) / np.exp(z).sum(-1, keepdims=True)
        gradient = ((p - np.eye(labels)[y[time]]) * a[time][:, None]).T @ x[time]
        rows.append(rows[-1] - eta[time] * (gradient + lam * rows[-1]))
    lengths = [np.linalg.norm(w[0] - w[1]) for w in rows]
    scalars = {
        "lam": lam,
        "T": T,
        "r": np.linalg.norm(x, axis=-1).max(),
        "eps": 1.01 * (1 - eta[0] * lam) * lengths[0],
        "floor": min(np.linalg.norm(w[k]) for w in rows for k in (0, 1)),
        "dist": lengths[0],
        "e": 1,
        "period": 2,
        "fmax": (a * (y < 2)).sum(-1).max(),
    }
    return {
        "w_u": lambda t, j: rows[t][0, j - 1],
        "w_v": lambda t, j: rows[t][1, j - 1],
        "w": lambda t, k, j: rows[t][k - 1, j - 1],
        "x": lambda t, i, j: x[t, i - 1, j - 1],
        "a": lambda t, i: a[t, i - 1],
        # Where u or v is the target the derivations multiply by 0.
        "y": lambda t, i: Integer(max(y[t, i - 1], 2) + 1),
        "hot_u": lambda t, i: float(y[t, i - 1] == 0),
        "hot_v": lambda t, i: float(y[t, i - 1] == 1),
        "eta": lambda *t: eta[t[0] if t else 0],
        "probe": lambda j: float(j == 3),
        **{name: (lambda *_, s=name: scalars[s]) for name in scalars},
    }, {"labels": labels, "dim": dim, "examples": examples}


@pytest.mark.parametrize("claim", TRUE)
def test_lines_hold_for_numbers(claim):
    seen = claim in {"no_decay_orthogonal", "rare_labels_run"}
    table, sizes = table_of_a_run(seen)
    derivation = DERIVATIONS[claim]
    named = [line.statement for line in derivation.lines if is_named(line)]
    small = Small(table, named, **sizes)
    time = derivation["loss"].statement.lhs.indices[0]
    for line in derivation.lines:
        free = line.statement.margin.free_symbols
        values = {s: 3 if s == k else 1 for s in free if s in RANGES} | {time: 1, v: 0.7}
        values |= {s: 1 for s in free if s.name == "e"}
        margin = float(small(line.statement.margin, values))
        assert margin >= -1e-12, line.name
        assert line.statement.relation == "<=" or margin <= 1e-12, line.name


def is_named(line):
    return getattr(line.rule, "defines", False) or isinstance(line.rule, (Positive, Nonzero))


# ---- resets


@pytest.mark.slow
@pytest.mark.parametrize(
    ("claim", "conclude"), [("reset", conclude_reset), ("staggered_reset", conclude_staggered)]
)
def test_resets_at_a_period_of_two(claim, conclude):
    derivation = replace(DERIVATIONS[claim], conclude=conclude(period=2))
    assert disagreements(derivation, get_claim(claim)) == []


@pytest.mark.parametrize("period", [1, 2])
def test_the_staggered_rows_meet(period):
    witness = staggered_witness(DERIVATIONS["staggered_reset"], period)
    run = filled("reset_run", witness, T=period + 1, period=period, n=1)
    assert violation(get_claim("staggered_reset"), run) == 0.25**period


def filled(name, witness, **sizes):
    """The library's instance with the values of a witness; they are exact on floats."""
    draft = symbolic(name, **sizes)
    values = {
        name: array if name in draft.INTEGERS else np.vectorize(lambda x: float(witness[x]))(array)
        for name, array in draft.values.items()
    }
    return type(draft).create(**{k: v.tolist() for k, v in values.items()})


def violation(claim, instance):
    """By how much the left side exceeds the right one where every hypothesis holds."""
    for hypothesis in claim.hypotheses:
        margins = np.ravel(hypothesis.margin(instance))
        assert np.all(margins > 0 if hypothesis.strict else margins >= 0), hypothesis.id
    return float(np.ravel(claim.lhs(instance) - claim.rhs(instance))[0])


def test_the_still_cosine_stays():
    part = next(p for p in DERIVATIONS["alignment_without_norms"].conclusion if p.refutes)
    run = filled("steady_run", part.witness, T=1, n=1)
    assert violation(get_claim("alignment_without_norms"), run) == 1.5


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_is_not_refuted_rests_on_no_instance(claim):
    context = DERIVATIONS[claim].context()
    choices = {line.name for line in context if isinstance(line.rule, Choose)}
    refutes = {part.id for part in DERIVATIONS[claim].conclusion if part.refutes}
    for goal in DERIVATIONS[claim].goals:
        assert bool(choices & context.assumptions(goal.line)) == (goal.id in refutes)


@pytest.mark.parametrize("row", [0, 1])
def test_rare_labels_where_the_pair_is_the_target(row):
    derivation, claim = DERIVATIONS["rare_labels_run"], get_claim("rare_labels_run")
    (part,) = conclude_rare(target=row + 1, steps=1)(derivation)
    instance = symbolic("steady_run", **part.sizes)
    instance = replace(instance, labels=np.full_like(instance.labels, row))
    step = instance.steps[0]
    loss = step.cross_entropy + step.weight_decay * (step.weights**2).sum() / 2
    assert agree(part.loss, np.ravel(loss)[0])
    assert agree(part.lhs, np.ravel(claim.lhs(instance))[0])
    assert agree(part.rhs, np.ravel(claim.rhs(instance))[0])
    assert part.rhs.has(Symbol("r", real=True))
    for hypothesis in claim.hypotheses:
        margins = np.ravel(hypothesis.margin(instance))
        assert all(map(agree, part.hypotheses[hypothesis.id], margins)), hypothesis.id


def test_a_number_that_is_not_zero_is_named():
    x_, name = Symbol("x_", real=True), Symbol("y_", real=True, nonzero=True)
    assert refusal(Line("it", equal(name, x_), Nonzero(), "")) == ""
    assert "not 0" in refusal(Line("it", equal(Symbol("y_", real=True), x_), Nonzero(), ""))
    assert "not 0" in refusal(Line("it", equal(Symbol("y_", positive=True), x_), Nonzero(), ""))
    known = Line("p", at_most(name, 1), Assume(), "")
    assert "fresh" in refusal(known, Line("it", equal(name, x_), Nonzero(), ""))
    assert "by itself" in refusal(Line("it", equal(name, name + 1), Nonzero(), ""))


def test_a_positive_number_is_named():
    x_, y_ = Symbol("x_", real=True), Symbol("y_", positive=True)
    a, b = (Symbol(s, nonnegative=True) for s in "ab")
    assert refusal(Line("it", equal(y_, x_), Positive(), "")) == ""
    assert "positive" in refusal(Line("it", equal(a, x_), Positive(), ""))
    assert "every index" in refusal(Line("it", equal(y_, q.name("e", j)), Positive(), ""))
    above = Line("p", at_most(1, x_), Assume(), "")
    assert refusal(above, Line("it", equal(y_, x_), DefinePositive("p"), "")) == ""
    assert "no bound" in refusal(above, Line("it", equal(y_, x_ - 1), DefinePositive("p"), ""))
    for lhs in (0, a, -1):
        above = Line("p", at_most(lhs, x_), Assume(), "")
        line = Line("it", equal(y_, x_), DefinePositive("p"), "")
        assert "something positive" in refusal(above, line)
    for product, reason in ((a * b, ""), (a * x_, "no factor"), (a + b, "no factor")):
        known = Line("p", equal(Symbol("p_", positive=True), product), Positive(), "")
        assert reason in refusal(known, Line("it", equal(y_, a), DefineFactor("p"), ""))
        assert reason or refusal(known, Line("it", equal(y_, a), DefineFactor("p"), "")) == ""
    known = Line("p", equal(b, a * b + 1), Assume(relation="=="), "")
    assert "is a product" in refusal(known, Line("it", equal(y_, a), DefineFactor("p"), ""))


def test_what_is_at_most_zero_in_absolute_value_is_zero():
    x_ = Symbol("x_", real=True)
    known = Line("p", at_most(Abs(x_), 0), Assume(), "")
    assert refusal(known, Line("it", equal(x_, 0), Vanishes("p"), "")) == ""
    assert "another number" in refusal(known, Line("it", equal(x_ + 1, 0), Vanishes("p"), ""))
    assert "is 0" in refusal(known, Line("it", equal(x_, 1), Vanishes("p"), ""))
    for other in (at_most(Abs(x_), 1), at_most(x_, 0), equal(Abs(x_), 0)):
        known = Line("p", other, Assume(relation=other.relation), "")
        assert "does not bound" in refusal(known, Line("it", equal(x_, 0), Vanishes("p"), ""))


SPAN = (i, 1, N)
LOGS = {
    "f": q.name("f_", i, positive=True),
    "e": Symbol("e_", positive=True),
    "x": Symbol("x_", positive=True),
}
CASE = Symbol("case_", positive=True)


def logarithms(*, to, f=LOGS["f"], g=None, e=LOGS["e"], x=LOGS["x"], span=SPAN):
    """Why the step to or from logarithms is refused; `g` and `span` are those of the sum alone."""
    case = Line("case", equal(CASE, x), Positive("case"), "")
    product = Product(f, SPAN)
    products = at_most(x * product, e)
    sums = at_most(log((x if to else CASE) / e), Sum(-log(f if g is None else g), span))
    if to:
        rule = ToLogarithms("p", x, product)
        return refusal(Line("p", products, Assume(), ""), Line("it", sums, rule, ""))
    rule = FromLogarithms("p", product, "case")
    return refusal(case, Line("p", sums, Assume(), ""), Line("it", products, rule, ""))


@pytest.mark.parametrize("to", [True, False])
def test_logarithms_of_positive_numbers(to):
    real, other = q.name("g_", i), q.name("g_", i, positive=True)
    assert logarithms(to=to) == ""
    assert ("defined and real" if to else "shown to be positive") in logarithms(to=to, f=real)
    assert "should read" in logarithms(to=to, g=other)
    assert "should read" in logarithms(to=to, span=(i, 2, N))
    zero = logarithms(to=to, x=Symbol("x_", nonnegative=True))
    assert ("is not shown" in zero) == to
    assert "is not shown" in logarithms(to=to, x=Symbol("x_", real=True))
    assert "is not shown" in logarithms(to=to, e=Symbol("e_", real=True))


def test_a_case_is_discharged_by_the_rule_that_has_the_other_case():
    """A line in logarithms may rest on it, the result may not; and a hypothesis is no case."""
    product, e, x = Product(LOGS["f"], SPAN), LOGS["e"], Symbol("x_", nonnegative=True)
    goal = Line("it", at_most(x * product, e), FromLogarithms("p", product, "case"), "")
    sums = Line("p", at_most(log(CASE / e), Sum(-log(LOGS["f"]), SPAN)), Assume(uses=("case",)), "")
    for kind, reason in (("case", ""), ("hypothesis", "is no case")):
        case = Line("case", equal(CASE, x), Positive(kind), "")
        assert reason in refusal(case, sums, goal)
        assert reason or refusal(case, sums, goal) == ""
    derivation = replace(DERIVATIONS["reset"], goals=(), lines=(case, sums, goal))
    assert derivation.context().assumptions("p") == {"case", "p"}
    assert derivation.context().assumptions("it") == {"p"}


@pytest.mark.parametrize("claim", CLAIMS)
def test_no_line_unfolds_what_holds_at_one_step_only(claim):
    """Unfolding takes an equation at t for every t, which an induction hypothesis is not."""
    context = DERIVATIONS[claim].context()
    for line in context:
        for name in getattr(line.rule, "unfold", ()):
            assert all(context.kind(a) != "induction" for a in context.assumptions(name)), line.name


def chosen(name, value, *lines):
    """Why the choice of a value is refused after these lines; "" if it stands."""
    return refusal(*lines, Line("it", equal(name, value), Choose(), ""))


def refusal(*lines):
    """Why the last line is refused; "" if it stands."""
    context = replace(DERIVATIONS["reset"], lines=lines[:-1]).context()
    try:
        lines[-1].check(context)
    except Refused as reason:
        return str(reason)
    return ""


def test_a_choice_gives_a_free_name_a_value():
    e, b = Symbol("e_", real=True), q.name("b", j)
    assert chosen(e, 1) == ""
    assert chosen(b, 1) == ""
    assert "made of sizes" in chosen(e, Symbol("f_", real=True))
    assert "defined and real" in chosen(e, sqrt(-1))
    assert "no value" in chosen(e**2, 1)
    assert "assumed about" in chosen(Symbol("e_", nonnegative=True), -1)
    assert "is defined" in chosen(e, 1, Line("p", equal(e, 2), Define(), ""))
    assert "constrains" in chosen(e, 1, Line("p", at_most(e, 0), Assume(), ""))
    assert "constrains" in chosen(b, 1, Line("p", at_most(b, 0), Assume(), ""))
    for given in (equal(e, 2), equal(e + 1, 3)):
        for rule in (Assume("setting", relation="=="), Choose()):
            assert "a value" in chosen(e, 1, Line("p", given, rule, ""))


def test_a_choice_at_another_index_is_another_name():
    def given(index):
        rule = Assume("setting", relation="==")
        return Line("p", equal(Step(index).w_v(j), 0), rule, "")

    first = Step(Integer(0)).w_v(j)
    assert chosen(first, 1, given(age + 1)) == ""
    assert "a value" in chosen(first, 1, given(age))
    assert "a value" in chosen(first, 1, given(t + 1))  # t may be -1
    assert "a value" in chosen(Step(age).w_v(j), 1, given(age + 1))
