(** * Rounding to nearest

    A weight w of a number format decays by the factor 1 - delta and is
    rounded to r; b is the next number of the format towards 0 and h = 2^-p
    the relative spacing just below a power of two.  That r is a number of
    the format, and the nearer one of two, are hypotheses.  If delta < h/2
    the weight does not shrink [precision_floor]; if delta > h/2 every power
    of two does [precision_moves]. *)

From Coq Require Import Reals Lra.
From Collapse Require Import Instances.
Local Open Scope R_scope.

Record rounding := Rounding {
  weight : R;
  below : R;
  rounded : R;
  shrinkage : R;
  unit_ : R
}.

Definition product (s : rounding) : R := weight s * (1 - shrinkage s).

Definition hyp_positive (s : rounding) : Prop := 0 < weight s.
Definition hyp_spacing (s : rounding) : Prop := unit_ s * weight s <= weight s - below s.
Definition hyp_power_of_two (s : rounding) : Prop := weight s - below s = unit_ s * weight s.
Definition hyp_small (s : rounding) : Prop := shrinkage s < unit_ s / 2.
Definition hyp_large (s : rounding) : Prop := unit_ s / 2 < shrinkage s.
Definition hyp_representable (s : rounding) : Prop :=
  0 <= (rounded s - weight s) * (rounded s - below s).

(** r is no farther from the product than w, or than b. *)
Module ThanWeight.
Definition hyp_nearest (s : rounding) : Prop :=
  Rabs (rounded s - product s) <= Rabs (weight s - product s).
End ThanWeight.

Module ThanBelow.
Definition hyp_nearest (s : rounding) : Prop :=
  Rabs (rounded s - product s) <= Rabs (below s - product s).
End ThanBelow.

Lemma squares x y : Rabs x <= Rabs y -> x * x <= y * y.
Proof. intros H. apply Rsqr_le_abs_1 in H. exact H. Qed.

Theorem precision_floor s :
  hyp_positive s -> hyp_spacing s -> hyp_small s -> hyp_representable s ->
  ThanWeight.hyp_nearest s -> weight s <= rounded s.
Proof.
  unfold hyp_positive, hyp_spacing, hyp_small, hyp_representable, ThanWeight.hyp_nearest, product.
  intros Hw Hs Hd Hr Hn. apply squares in Hn.
  assert (Hg : 0 < weight s - below s - 2 * shrinkage s * weight s) by nra.
  apply Rmult_le_reg_r with (1 := Hg). lra.
Qed.

Theorem precision_moves s :
  hyp_positive s -> hyp_power_of_two s -> hyp_large s -> hyp_representable s ->
  ThanBelow.hyp_nearest s -> rounded s <= (1 - unit_ s) * weight s.
Proof.
  unfold hyp_positive, hyp_power_of_two, hyp_large, hyp_representable, ThanBelow.hyp_nearest,
    product.
  intros Hw Hs Hd Hr Hn. apply squares in Hn.
  replace ((1 - unit_ s) * weight s) with (below s) by lra.
  assert (Hg : 0 < 2 * shrinkage s * weight s - (weight s - below s)) by nra.
  apply Rmult_le_reg_r with (1 := Hg). lra.
Qed.

(** bfloat16 at 1: p = 8, the next number below is 1 - 2^-8. *)
Example precision_floor_met : exists s,
  hyp_positive s /\ hyp_spacing s /\ hyp_small s /\ hyp_representable s
  /\ ThanWeight.hyp_nearest s /\ 0 < shrinkage s.
Proof.
  exists (Rounding 1 (255 / 256) 1 (1 / 1024) (1 / 256)).
  unfold hyp_positive, hyp_spacing, hyp_small, hyp_representable, ThanWeight.hyp_nearest. simpl.
  conjuncts; lra.
Qed.

Example precision_moves_met : exists s,
  hyp_positive s /\ hyp_power_of_two s /\ hyp_large s /\ hyp_representable s
  /\ ThanBelow.hyp_nearest s /\ shrinkage s < unit_ s.
Proof.
  exists (Rounding 1 (255 / 256) (255 / 256) (3 / 1024) (1 / 256)).
  unfold hyp_positive, hyp_power_of_two, hyp_large, hyp_representable, ThanBelow.hyp_nearest. simpl.
  conjuncts; try lra.
Qed.
