"""What every derivation must stand up to; a new one is picked up by itself."""

from dataclasses import replace
from functools import cache

import pytest

from collapse_theory import all_claims
from proofs.symbolic import derivations, derive
from proofs.symbolic.framework.agreement import disagreements
from proofs.symbolic.lines.resets_apart import Choose

CLAIMS = all_claims()


def of(name):
    """Tests of one derivation run in one process, which derives it once."""
    return pytest.param(name, id=name, marks=pytest.mark.xdist_group(f"derivation {name}"))


EVERY = pytest.mark.parametrize("name", [of(name) for name in derivations()])


@cache
def derived(name):
    return derive(name)


# What a derivation may assume without a hypothesis of the claim: what its instances are. `Choose` names the data of one
# instance and is checked by its own rule.
SETTING = {
    # a batch: weights of the examples, targets, labels that are no target
    "weights": ("0 <= a[i]", "0 <= a[t, i]"),
    "weights_sum": ("Sum(a[i], (i, 1, N)) <= 1", "Sum(a[i], (i, 1, N)) == 1"),
    "target_least": ("3 <= y[i]",),
    "target_most": ("y[i] <= K",),
    "targets_sum": ("q_u[i] + q_v[i] + Sum(q[i, k], (k, 3, K)) == 1",),
    "hot_u": ("0 <= hot_u[i]", "0 <= hot_u[t, i]"),
    "hot_v": ("0 <= hot_v[i]", "0 <= hot_v[t, i]"),
    "mask": ("mask[i]**2 == mask[i]",),
    # a run: each step starts where the last one ended; what "steady" runs keep, and the largest of their masses
    "run_u": ("w_u[t + 1, j] == next_u[t, j]",),
    "run_v": ("w_v[t + 1, j] == next_v[t, j]",),
    "steady_eta": ("eta[t] == eta",),
    "steady_lam": ("lam[t] == lam",),
    "steady_T": ("T[t] == T",),
    "steady_r": ("r[t] == r",),
    "fmax": ("mass[t] <= fmax",),
    # runs with momentum and of AdamW: what the optimiser keeps, zero at first, and what torch asks of its settings
    **{
        f"run_{name}_{row}": (f"{kept}_{row}[t + 1, j] == {after}_{row}[t, j]",)
        for row in "uv"
        for name, kept, after in (
            ("buf", "buf", "bufnext"),
            ("first", "first", "nextfirst"),
            ("second", "second", "nextsecond"),
        )
    },
    **{f"zero_{row}": (f"buf_{row}[0, j] == 0",) for row in "uv"},
    **{f"zero_{m}_{row}": (f"{m}_{row}[0, j] == 0",) for row in "uv" for m in ("first", "second")},
    "momentum": ("mom == beta",),
    "rest1": ("rest1 == 1 - beta1",),
    "rest2": ("rest2 == 1 - beta2",),
    "sup": ("Abs(D[0, m]) <= sup",),
    # any two numbers between which the logits' differences lie, and 0
    "range_low": ("low <= d[t, i]",),
    "range_high": ("d[t, i] <= high",),
    "low_sign": ("0 <= -low",),
    "high_sign": ("0 <= high",),
    # a run with resets
    "period": ("period == e + t",),
    "drawn": ("w_u[e + 1, j] == fresh_u[j]",),
    # the equilibrium of one feature: its rows, and what trains them
    "at_u": ("w_u[j] == -level*x[j]/squarepos",),
    "at_o": ("w_o[g, j] == -level*x[j]/squarepos",),
    "at_y": ("w_y[j] == -level*(-others - 1)*x[j]/squarepos",),
    "only_seen": ("rest == 0",),
    # an instance at a time t >= 1
    "some_steps": ("t == e + 1",),
}


@EVERY
def test_only_the_setting_is_assumed_beside_the_hypotheses(name):
    derivation = derived(name)
    stated = {hypothesis for goal in derivation.goals for hypothesis in goal.hypotheses}
    for line in derivation.lines:
        kind = getattr(line.rule, "kind", None)
        if kind == "setting" and not isinstance(line.rule, Choose):
            assert str(line.statement) in SETTING[line.name]
        assert kind != "hypothesis" or line.name in stated


def test_every_claim_is_derived_and_nothing_else():
    assert set(derivations()) == set(CLAIMS)


@pytest.mark.slow  # verify checks them too
@EVERY
def test_every_line_stands(name):
    assert [(r.name, r.reason) for r in derived(name).check() if not r.ok] == []


@pytest.mark.slow
@EVERY
def test_it_is_the_claim_as_it_stands(name):
    assert disagreements(derived(name), CLAIMS[name]) == []


@pytest.mark.slow
@EVERY
def test_every_hypothesis_of_the_claim_is_used(name):
    """A hypothesis that the derivation does without is one that the claim should not state."""
    claim = CLAIMS[name]
    used = {h for part in derived(name).conclusion for h in (*part.hypotheses, *part.structural)}
    mended = {h.id for h in claim.missing}
    assert {h.id for h in claim.hypotheses} <= used | mended


@EVERY
def test_lines_are_told_and_drawn(name):
    formulas = derived(name).formulas()
    assert len(formulas) == len(derived(name).lines)
    assert all(sentence and sentence == sentence.strip() for sentence, _ in formulas)
    assert derived(name).sizes


@pytest.mark.slow
@EVERY
def test_a_goal_that_hides_a_hypothesis_does_not_stand(name):
    derivation = derived(name)
    fewer = tuple(
        replace(goal, hypotheses=tuple(h for h in goal.hypotheses if h != hidden))
        for goal in derivation.goals
        for hidden in goal.hypotheses
    )
    results = replace(derivation, goals=fewer).check()
    assert not any(result.ok for result in results[len(derivation.lines) :])
