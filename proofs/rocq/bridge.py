"""Numbers of the library against numbers of the Rocq text, at the same exact instances.

At steps with dyadic numbers, which floats hold exactly, the library says in ball arithmetic which hypotheses hold and what
the sides of the claims are. `script` writes that as Rocq lemmas about the definitions and the conclusions of the theorems;
`coqc` proves each with `lra`, `field` or enclosures (`interval`), or the comparison fails. A definition in Rocq that means
something else than the claim's formula makes a lemma false.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from collapse_theory import all_claims
from collapse_theory.arithmetic import SYMBOLIC, ball
from collapse_theory.instances import Step

from .compiler import ask, build, require
from .source import definitions, stated

EXACT = (
    "nonnegative_step",
    "nonnegative_decay",
    "step_size",
    "step_size_from_largest",
    "decay_at_most_one",
)
"""Hypotheses that are polynomials in the numbers of a step."""
DOMAIN = "step"
CLOSE = "/ 2 ^ 30"
FULL = 4
"""At so many instances the sides of all claims are compared, at the others those of `contraction`; enclosures take time."""

PRELUDE = """From Coq Require Import Reals Lra Lia Arith List.
From Interval Require Import Tactic.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps OneStep RareLabels Jensen Flow
  PrintedLemma.
Import ListNotations.
Local Open Scope R_scope.
Definition row (l : list R) (j : nat) : R := nth j l 0.
Definition rows_of (l : list (list R)) (k : nat) : nat -> R := row (nth k l nil).
Lemma mean_open s i : step_ok s -> dot (dim s) (difference s) (feature (data s) i) <> 0 ->
  mean s i = (softmax (dim s) (labels s) (rows s) (feature (data s) i) (row_u s)
              - softmax (dim s) (labels s) (rows s) (feature (data s) i) (row_v s))
             / dot (dim s) (difference s) (feature (data s) i).
Proof.
  intros ok H. rewrite (softmax_gap _ _ (labels_pos s ok)). unfold mean, difference. field. exact H.
Qed.
Lemma Rmax_abs a b : Rmax a b = (a + b + Rabs (a - b)) / 2.
Proof. unfold Rmax, Rabs. destruct (Rle_dec a b), (Rcase_abs (a - b)); lra. Qed.
Ltac well_formed :=
  split; [split; simpl; intros;
          try match goal with i : nat |- _ => destruct i as [|[|i]] end;
          unfold row; simpl; lra || lia
         | split; simpl; lia].
Ltac opened ok s :=
  unfold trace, operator, form, coefficient;
  change (size (data s)) with 2%nat; cbn [sum];
  rewrite ?(mean_open s 0 ok), ?(mean_open s 1 ok)
    by (unfold s, dot, difference, wdiff, vsub, rows_of, row; simpl; lra).
Ltac numbers s :=
  rewrite ?Rmax_abs;
  unfold rate, decayed_gradient, cross_entropy, target_mass, next_difference, next_rows, descend,
    gradient, decay, difference, wdiff, indicator, softmax, partition, logit, norm, dot,
    vsum, vadd, vsub, vscal, Rsqr, s, rows_of, row;
  simpl; interval.
"""


def instances(count: int = 20, seed: int = 0) -> list[Step]:
    """Steps with K = 3, n = 2, two examples and dyadic numbers; hypotheses are met by some and not by others."""
    rng = np.random.default_rng(seed)
    found: list[Step] = []
    while len(found) < count:
        rows = rng.integers(-8, 9, (3, 2)) / 4
        features = rng.integers(-8, 9, (2, 2)) / 4
        weight = rng.integers(1, 8) / 8
        if np.any(features @ (rows[0] - rows[1]) == 0):
            continue  # the logarithmic mean of equal numbers is another formula
        found.append(
            Step.create(
                weights=rows,
                features=features,
                labels=rng.choice([0, 1, 2, 2, 2, 2, 2, 2], 2),
                example_weights=[weight, 1 - weight],
                step_size=rng.integers(-1, 9) / 8,
                weight_decay=rng.integers(-2, 17) / 8,
                radius=rng.integers(4, 25) / 8,
                pbar=rng.integers(1, 9) / 16,
                curvature=rng.integers(1, 33) / 16,
            )
        )
    return found


def real(value: Any) -> str:
    """An exact Rocq number."""
    exact = value if isinstance(value, Fraction) else Fraction(float(value))
    return (
        f"({exact.numerator})"
        if exact.denominator == 1
        else f"({exact.numerator} / {exact.denominator})"
    )


def row(values: Sequence[Any]) -> str:
    return "[" + "; ".join(real(v) for v in values) + "]"


def definition(name: str, step: Step) -> str:
    """The instance as a Rocq record, and that it is well-formed."""
    one: Mapping[str, Any] = {key: np.asarray(value)[0] for key, value in step.values.items()}
    rows, features = (
        "[" + "; ".join(row(r) for r in one[key]) + "]" for key in ("weights", "features")
    )
    labels = "; ".join(str(int(y)) for y in one["labels"])
    scalars = " ".join(
        real(one[key]) for key in ("step_size", "weight_decay", "curvature", "radius", "pbar")
    )
    batch = f"Batch 2 (rows_of {features}) (row {row(one['example_weights'])}) (fun i => nth i [{labels}]%nat 0%nat)"
    return (
        f"Definition {name} : step := Step 2 3 (rows_of {rows}) ({batch}) 0 1 {scalars}.\n"
        f"Lemma {name}_ok : step_ok {name}. Proof. well_formed. Qed.\n"
    )


def truths(name: str, step: Step) -> Iterator[tuple[str, bool, str]]:
    """For each hypothesis that balls decide: its id, whether it holds, and a Rocq proof of that."""
    balls = step.to(ball(128))
    hypotheses = {
        h.id: h
        for c in all_claims().values()
        if c.domain == DOMAIN
        for h in (*c.hypotheses, *c.missing)
    }
    for key, hypothesis in hypotheses.items():
        margins = hypothesis.margin(balls)
        middle, radius = margins.midpoints().ravel(), margins.radii().ravel()
        failing = [int(i) for i in np.flatnonzero(middle + radius < 0)]
        if not failing and np.any(middle - radius < 0):
            continue
        yield key, not failing, _proof(key, name, step, failing)


def _proof(key: str, name: str, step: Step, failing: list[int]) -> str:
    unfolded = f"unfold hyp_{key}, {name}; simpl."
    if key in EXACT:
        return f"{unfolded} {'lra' if not failing else 'intros H; lra'}."
    if key == "unseen":
        if not failing:
            return (
                f"split; intros i Hi Hw; unfold {name} in *; destruct i as [|[|i]]; simpl in *;"
                " unfold row in *; simpl in *; lia || (exfalso; lra)."
            )
        label, weight = np.asarray(step.labels)[0], np.asarray(step.example_weights)[0]
        example = next(i for i in range(2) if label[i] < 2 and weight[i] > 0)
        side = "Hu" if label[example] == 0 else "Hv"
        return (
            f"intros [Hu Hv]. apply ({side} {example}%nat);"
            f" unfold {name}, row; simpl; lia || lra || reflexivity."
        )
    opened = f"opened {name}_ok {name}." if key in ("curvature", "pbar") else ""
    if key == "curvature":
        below = "apply Rlt_not_le." if failing else ""
        return f"unfold hyp_curvature. {opened} {below} numbers {name}."
    if not failing:
        return (
            f"intros i Hi; change (size (data {name})) with 2%nat in Hi;"
            f" destruct i as [|[|i]]; [| |lia]. all: {opened or 'idtac.'} all: numbers {name}."
        )
    return (
        f"intros H. specialize (H {failing[0]}%nat ltac:(simpl; lia)). revert H. apply Rlt_not_le."
        f" {opened} numbers {name}."
    )


def conclusions(name: str) -> list[tuple[str, str]]:
    """The sides of `lhs <= rhs`, one pair for each part, that a theorem about a step s concludes; of a refuted one, those of
    its bound. Empty where the conclusion is of another form."""
    file, statement = stated()[name]
    known = definitions(file)
    text = known.get(f"{name}_bound", "").partition(":=")[2] or statement.rpartition("->")[2]
    parts = [part.split(" <= ") for part in " ".join(text.rstrip(".").split()).split(" /\\ ")]
    return [(sides[0], sides[1]) for sides in parts] if all(len(x) == 2 for x in parts) else []


def values(claim_id: str, step: Step) -> list[tuple[Fraction, Fraction]]:
    """Both sides of a claim at a step, for each part, to more digits than are compared."""
    claim = all_claims()[claim_id]
    balls = step.to(ball(128))
    left, right = (side(balls).midpoints().ravel() for side in (claim.lhs, claim.rhs))
    return [(Fraction(float(a)), Fraction(float(b))) for a, b in zip(left, right, strict=True)]


def square(at: str, step: Step) -> str:
    """That the square of the contraction's bound, a rational number, is exactly the library's."""
    bound = all_claims()["contraction"].rhs(step.to(SYMBOLIC))
    exact = Fraction(str(sympy.expand(np.asarray(bound, dtype=object).item() ** 2)))
    text = re.sub(r"\bs\b", at, conclusions("contraction")[0][1])
    return (
        f"Lemma {at}_square : ({text})² = {real(exact)}. Proof."
        " rewrite Rsqr_mult, norm_sqr."
        f" unfold dot, difference, wdiff, vsub, Rsqr, {at}, rows_of, row. simpl. field. Qed."
    )


def script(steps: Sequence[Step]) -> str:
    """Rocq text that holds the definitions and conclusions against the library at the given steps."""
    parts = [PRELUDE]
    compared = {
        name: pairs
        for name, claim in all_claims().items()
        if claim.domain == DOMAIN and name in stated() and (pairs := conclusions(name))
    }
    for number, step in enumerate(steps):
        at = f"at_{number}"
        parts.append(definition(at, step))
        for key, holds, proof in truths(at, step):
            said = f"hyp_{key} {at}" if holds else f"~ hyp_{key} {at}"
            parts.append(f"Lemma {at}_{key} : {said}. Proof. {proof} Qed.")
        parts.append(square(at, step))
        for name, pairs in compared.items():
            if number >= FULL and name != "contraction":
                continue
            for part, (texts, exact) in enumerate(zip(pairs, values(name, step), strict=True)):
                for side, text, value in zip("lr", texts, exact, strict=True):
                    here = re.sub(r"\bs\b", at, text)
                    said = f"Rabs ({here} - {real(value)}) <= {CLOSE}"
                    proof = f"opened {at}_ok {at}. numbers {at}."
                    parts.append(f"Lemma {at}_{name}_{part}{side} : {said}. Proof. {proof} Qed.")
    return "\n".join(parts) + "\n"


def compare(steps: Sequence[Step] | None = None) -> int:
    """Prove the comparison; returns the number of lemmas. Raises :class:`~proofs.rocq.BuildError` naming one that fails,
    :class:`~proofs.rocq.MissingCoq` without the library for enclosures."""
    require("Interval")
    text = script(instances() if steps is None else steps)
    ask(build(), text)
    return text.count("\nLemma at_")
