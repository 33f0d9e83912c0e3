"""The same numbers in Python and in Rocq, for hypotheses that speak of an instance's settings alone.

For claims about momentum, AdamW and rounding: at seeded rational settings each such hypothesis is evaluated in Python, and
its truth or falsehood proved of the Rocq text; for rounding the sides too. (What a hypothesis says of gradients or traces
is compared for single steps in `bridge`.)
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from collapse_theory import get_claim
from collapse_theory.arithmetic import FLOAT
from collapse_theory.instances import AdamRun, MomentumRun, Rounding

from .bridge import real
from .compiler import ask, build

COUNT = 20
"""Settings for each claim."""
STEPS = 2
TRAINING = "(Runs.Training 1 3 one_row (fun _ => one_example 1) 0 1 2)"
OPENED = {
    "Momentum": "hyp_nonnegative_step, hyp_some_momentum, Beside.hyp_real_roots, Beside.hyp_step_size, "
    "Ahead.hyp_real_roots, decay",
    "AdamRuns": "hyp_betas, hyp_some_decay, hyp_nonnegative_step, hyp_decay_at_most_one",
    "Precision": "hyp_positive, hyp_spacing, hyp_power_of_two, hyp_small, hyp_large, hyp_representable, "
    "ThanWeight.hyp_nearest, ThanBelow.hyp_nearest, product",
}
"""What each file's statements are made of."""


@dataclass(frozen=True)
class Case:
    """A claim with the Rocq names of those of its hypotheses that speak of settings alone."""

    claim: str
    file: str
    hypotheses: dict[str, str]
    sides: bool = False


CASES = (
    Case(
        "momentum_decoupled",
        "Momentum",
        {
            "nonnegative_step": "hyp_nonnegative_step",
            "real_roots": "Beside.hyp_real_roots",
            "step_size": "Beside.hyp_step_size",
        },
    ),
    Case(
        "nesterov",
        "Momentum",
        {"some_momentum": "hyp_some_momentum", "real_roots": "Ahead.hyp_real_roots"},
    ),
    Case(
        "adamw_ball",
        "AdamRuns",
        {
            name: f"hyp_{name}"
            for name in ("betas", "some_decay", "nonnegative_step", "decay_at_most_one")
        },
    ),
    Case(
        "precision_floor",
        "Precision",
        {name: f"hyp_{name}" for name in ("positive", "spacing", "small", "representable")}
        | {"nearest": "ThanWeight.hyp_nearest"},
        sides=True,
    ),
    Case(
        "precision_moves",
        "Precision",
        {name: f"hyp_{name}" for name in ("positive", "power_of_two", "large", "representable")}
        | {"nearest": "ThanBelow.hyp_nearest"},
        sides=True,
    ),
)


def _scalar(value: Any) -> np.ndarray:
    return np.array([value], dtype=object)


def settings(case: Case, seed: int = 0) -> Iterator[tuple[Any, str]]:
    """Instances in exact numbers, and the same as a Rocq term."""
    draw = random.Random(f"{case.claim} {seed}")

    def number(low: int, high: int, below: int = 8) -> Fraction:
        return Fraction(draw.randint(low * below, high * below), below)

    head: dict[str, Any] = {
        "weights": np.zeros((1, 3, 1)),
        "features": np.ones((1, STEPS, 1, 1)),
        "labels": np.full((1, STEPS, 1), 2),
        "example_weights": np.ones((1, STEPS, 1)),
    }
    for place in range(COUNT):
        if case.file == "Momentum":
            eta, lam, beta = number(-1, 3), number(-1, 1), abs(number(0, 1))
            bound = number(0, 2) if place % 2 else number(0, 2) / 16
            run = MomentumRun(
                ops=FLOAT,
                **head,
                step_size=_scalar(eta),
                weight_decay=_scalar(lam),
                momentum=_scalar(beta),
                curvature=_scalar(bound),
            )
            numbers = " ".join(map(real, (eta, lam, beta, bound)))
            yield run, f"(Momentum.Momentum {TRAINING} {numbers})"
        elif case.file == "AdamRuns":
            sizes = [number(-1, 4) if place % 3 == 0 else number(0, 2) for _ in range(STEPS)]
            lam, b1, b2 = number(-1, 1, 2), number(0, 1, 16), Fraction(draw.randint(1, 15), 16)
            adam = AdamRun(
                ops=FLOAT,
                **head,
                step_size=np.array([sizes], dtype=object),
                weight_decay=_scalar(lam),
                beta1=_scalar(b1),
                beta2=_scalar(b2),
                epsilon=_scalar(Fraction(1)),
                gradient_bound=_scalar(Fraction(1)),
            )
            steps = f"(fun t => if Nat.eq_dec t 0 then {real(sizes[0])} else {real(sizes[1])})"
            yield adam, f"(AdamRun {TRAINING} {steps} {real(lam)} {real(b1)} {real(b2)} 1 1)"
        else:
            unit = Fraction(1, 8)
            weight = draw.choice([1, 1, 2, -1]) * Fraction(1)
            below = weight * (1 - draw.choice([1, 1, 1, 2, 0]) * unit)
            delta = draw.choice([1, 2, 3, 4, 5, 6, 7, 12]) * unit / 8
            rounded = draw.choice([weight, below, weight * (1 - delta), 2 * below - weight])
            values = (weight, below, rounded, delta, unit)
            names = ("weight", "below", "rounded", "shrinkage", "unit")
            batch = Rounding(ops=FLOAT, **dict(zip(names, map(_scalar, values), strict=True)))
            yield batch, f"(Rounding {' '.join(map(real, values))})"


def truths(case: Case, instance: Any) -> dict[str, bool]:
    """Whether each hypothesis holds at the instance."""
    claim = get_claim(case.claim)
    found = {}
    for name in case.hypotheses:
        hypothesis = claim.hypothesis(name)
        margins = np.ravel(np.asarray(hypothesis.margin(instance), dtype=object))
        found[name] = all(m > 0 if hypothesis.strict else m >= 0 for m in margins)
    return found


def script(seed: int = 0) -> str:
    """The lemmas, as a Rocq source."""
    lines = [
        "From Coq Require Import Reals Lra Lia Arith.",
        "From Collapse Require Import Steps Instances.",
        "From Collapse Require Momentum AdamRuns Precision Runs.",
        "Local Open Scope R_scope.",
        "Ltac absolute := repeat match goal with",
        "  | |- context [Rabs ?x] => unfold Rabs at 1; destruct (Rcase_abs x)",
        "  | H : context [Rabs ?x] |- _ => unfold Rabs at 1 in H; destruct (Rcase_abs x) end.",
    ]
    for case in CASES:
        opened = OPENED[case.file]
        lines += [f"Module Of_{case.claim}.", f"Import {case.file}."]
        if case.file == "AdamRuns":
            # A statement about both steps, at one of them or at the other.
            holds = f"unfold {opened}; simpl; try (intros t Ht; destruct t as [|[|t]]; simpl; [..|lia]); lra"
            fails = (
                f"unfold {opened}; simpl; intros H;"
                " first [lra | (assert (H0 := H 0%nat); assert (H1 := H 1%nat); simpl in H0, H1;"
                " specialize (H0 ltac:(lia)); specialize (H1 ltac:(lia)); lra)]"
            )
        else:
            holds = f"unfold {opened}; simpl; absolute; lra"
            fails = f"unfold {opened}; simpl; intros H; absolute; lra"
        for place, (instance, term) in enumerate(settings(case, seed)):
            for name, truth in truths(case, instance).items():
                stated = f"{case.hypotheses[name]} {term}"
                lines += [
                    f"Lemma at_{place}_{name} : {stated if truth else f'~ ({stated})'}.",
                    f"Proof. {holds if truth else fails}. Qed.",
                ]
            if case.sides:
                claim = get_claim(case.claim)
                left, right = (np.ravel(side(instance))[0] for side in (claim.lhs, claim.rhs))
                sides = {
                    "precision_floor": (f"weight {term}", f"rounded {term}"),
                    "precision_moves": (f"rounded {term}", f"(1 - unit_ {term}) * weight {term}"),
                }[case.claim]
                for side, value in zip(sides, (left, right), strict=True):
                    lines += [
                        f"Lemma at_{place}_{'lhs' if side == sides[0] else 'rhs'} : {side} = {real(value)}.",
                        "Proof. simpl. lra. Qed.",
                    ]
        lines.append(f"End Of_{case.claim}.")
    return "\n".join(lines) + "\n"


def compare(seed: int = 0) -> int:
    """Prove the comparison; returns the number of lemmas. Raises :class:`~proofs.rocq.BuildError` naming one that fails."""
    text = script(seed)
    ask(build(), text)
    return text.count("\nLemma at_")
