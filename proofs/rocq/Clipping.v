(** * Clipping the gradient

    By its global norm, clipping scales M by the same factor
    [norm_clipping].  Cutting entries [value_clipping] or scaling single rows
    down [row_clipping] can drive rows apart; where nothing is clipped in rows
    u and v, a step contracts [value_clipping_mended], [row_clipping_mended]. *)

From Coq Require Import Reals Lra Lia Arith.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances OneStep LossSteps.
Local Open Scope R_scope.

(** The gradient of the loss, without the decay. *)
Definition plain_gradient (s : step) : model := gradient (dim s) (labels s) (data s) (rows s).

(** Without clipping the step is the one of [Steps.v]. *)
Lemma plain_next s : pair_after s (plain_gradient s) = next_difference s.
Proof. reflexivity. Qed.

(** A clipped gradient that agrees with the plain one in rows u and v. *)
Lemma unclipped (s : step) (G : model) :
  step_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s -> hyp_step_size s ->
  (forall j, (j < dim s)%nat ->
     G (row_u s) j = plain_gradient s (row_u s) j
       /\ G (row_v s) j = plain_gradient s (row_v s) j) ->
  norm (dim s) (pair_after s G) <= decay s * norm (dim s) (difference s).
Proof.
  intros ok Hs He HT Hc H.
  rewrite (norm_ext _ _ (next_difference s)); [now apply contraction|].
  intros j Hj. rewrite <- plain_next, !pair_after_split.
  destruct (H j Hj) as [-> ->]. reflexivity.
Qed.

(** ** By the global norm *)

Definition global_norm (s : step) : R :=
  sqrt (sum (labels s) (fun k => (norm (dim s) (plain_gradient s k))²)).

(** s = C / max(C, |G|) = min(1, C/|G|). *)
Definition share (s : loss_step) : R := clip s / Rmax (clip s) (global_norm s).

Definition clipped_by_norm (s : loss_step) : model := fun k => vscal (share s) (plain_gradient s k).

Theorem norm_clipping (s : loss_step) :
  loss_ok s -> hyp_unseen s ->
  veq (dim s) (pair_after s (clipped_by_norm s))
    (vsub (vscal (decay s) (difference s))
       (vscal (step_size s * share s) (operator s (difference s)))).
Proof.
  intros lok Hs j _. rewrite pair_after_split. unfold clipped_by_norm, vsub, vscal.
  rewrite <- (gradient_difference s (loss_base s lok) j Hs). unfold plain_gradient. ring.
Qed.

(** The factor is at most 1: a condition on eta T that held still holds. *)
Lemma share_le_1 (s : loss_step) : loss_ok s -> 0 < share s <= 1.
Proof.
  intros lok. assert (Hc := clip_pos s lok). assert (Hm := Rmax_l (clip s) (global_norm s)).
  unfold share. split; [apply Rdiv_lt_0_compat; lra|].
  apply Rmult_le_reg_r with (Rmax (clip s) (global_norm s)); [lra|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

(** ** By value *)

Definition cut (C x : R) : R := Rmax (- C) (Rmin C x).

Definition clipped_by_value (s : loss_step) : model :=
  fun k j => cut (clip s) (plain_gradient s k j).

Definition value_clipping_bound (s : loss_step) : Prop :=
  norm (dim s) (pair_after s (clipped_by_value s)) <= decay s * norm (dim s) (difference s).

Module Value.
  Definition hyp_nothing_clipped (s : loss_step) : Prop :=
    forall j, (j < dim s)%nat ->
      Rabs (plain_gradient s (row_u s) j) <= clip s
        /\ Rabs (plain_gradient s (row_v s) j) <= clip s.
End Value.

Lemma cut_inside C x : Rabs x <= C -> cut C x = x.
Proof.
  intros H. unfold cut. assert (H1 := Rle_abs x). assert (H2 := Rle_abs (- x)).
  rewrite Rabs_Ropp in H2. rewrite Rmin_right by lra. apply Rmax_right. lra.
Qed.

Theorem value_clipping_mended (s : loss_step) :
  loss_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s -> hyp_step_size s ->
  Value.hyp_nothing_clipped s -> value_clipping_bound s.
Proof.
  intros lok Hs He HT Hc H. apply unclipped; trivial; [apply (loss_base s lok)|].
  intros j Hj. destruct (H j Hj) as [Hu Hv]. unfold clipped_by_value.
  split; now apply cut_inside.
Qed.

(** Softmax of three labels with logits (z, 0, 0). *)
Lemma three_labels n W x z q k :
  (forall i, logit n W x i = if Nat.eq_dec i 0 then z else 0) -> exp z = q ->
  softmax n 3 W x k = (if Nat.eq_dec k 0 then q else 1) / (q + 2).
Proof.
  intros Ez E. assert (Hq : 0 < q) by (rewrite <- E; apply exp_pos).
  unfold softmax, partition. cbn [sum]. rewrite !Ez. simpl. rewrite exp_0, E.
  destruct (Nat.eq_dec k 0); [rewrite E | rewrite exp_0]; field; lra.
Qed.

(** Two features, three labels, x = (2, -1) with target 2, D = (l, l) with
    l = ln(3/2): p = (3/7, 2/7, 2/7).  With C = 3/7 the first entries are cut
    to the same value, and what is left of the gradients pulls D apart. *)
Definition l32 : R := ln (3 / 2).

Definition tilted : loss_step :=
  LossStep
    (Step 2 3 (fun k _ => if Nat.eq_dec k 0 then l32 else 0)
       (Batch 1 (fun _ j => if Nat.eq_dec j 0 then 2 else -1) (fun _ => 1) (fun _ => 2%nat))
       0 1 (1 / 2) 0 (5 / 2) 3 (1 / 2))
    (fun _ => 0) (fun _ => 0) (fun _ => true) 0 1 1 (3 / 7).

Lemma tilted_ok : loss_ok tilted.
Proof.
  split; try (intros; simpl; lra).
  split; [split; simpl; intros; try lra; lia | apply first_pair_ok].
Qed.

Lemma tilted_unseen : hyp_unseen tilted.
Proof. split; intros i _ _ E; simpl in E; congruence. Qed.

Lemma tilted_curvature : hyp_curvature tilted.
Proof.
  unfold hyp_curvature, trace, coefficient.
  assert (H := mean_le_half _ (loss_base _ tilted_ok) 0).
  change (size (data tilted)) with 1%nat. cbn [sum].
  assert (E : dot (dim tilted) (feature (data tilted) 0%nat) (feature (data tilted) 0%nat) = 5)
    by (unfold dot; simpl; ring).
  rewrite E. change (curvature tilted) with (5 / 2).
  change (weight (data tilted) 0%nat) with 1. lra.
Qed.

Lemma tilted_softmax k :
  softmax 2 3 (rows tilted) (feature (data tilted) 0%nat) k
  = if Nat.eq_dec k 0 then 3 / 7 else 2 / 7.
Proof.
  rewrite (three_labels _ _ _ l32 (3 / 2)).
  - destruct (Nat.eq_dec k 0); field.
  - intros i. unfold logit, dot, tilted. simpl. destruct (Nat.eq_dec i 0); ring.
  - apply exp_ln; lra.
Qed.

Lemma tilted_gradient k j :
  (k < 2)%nat ->
  plain_gradient tilted k j
  = (if Nat.eq_dec k 0 then 3 / 7 else 2 / 7) * (if Nat.eq_dec j 0 then 2 else -1).
Proof.
  intros Hk. unfold plain_gradient, gradient, vsum, vscal.
  change (size (data tilted)) with 1%nat. cbn [sum].
  change (dim tilted) with 2%nat. change (labels tilted) with 3%nat. rewrite tilted_softmax.
  unfold indicator. simpl. destruct k as [|[|k]]; simpl; try lia; ring.
Qed.

Lemma l32_pos : 0 < l32.
Proof. unfold l32. rewrite <- ln_1. apply ln_increasing; lra. Qed.

Theorem value_clipping :
  ~ (forall s : loss_step,
       loss_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s ->
       hyp_step_size s -> value_clipping_bound s).
Proof.
  intros H.
  assert (H1 : value_clipping_bound tilted).
  { apply H; [apply tilted_ok | apply tilted_unseen | | apply tilted_curvature |].
    - unfold hyp_nonnegative_step; simpl; lra.
    - unfold hyp_step_size; simpl; lra. }
  unfold value_clipping_bound in H1. change (dim tilted) with 2%nat in H1.
  assert (Hc : decay tilted = 1) by (unfold decay; simpl; ring).
  rewrite Hc, Rmult_1_l in H1. apply norm_le_iff in H1.
  unfold dot in H1. cbn [sum] in H1. rewrite !pair_after_split in H1.
  unfold clipped_by_value in H1.
  change (row_u tilted) with 0%nat in H1. change (row_v tilted) with 1%nat in H1.
  rewrite !tilted_gradient in H1 by lia. rewrite Hc in H1.
  assert (E : forall j, difference tilted j = l32)
    by (intros j; unfold difference, wdiff, vsub; simpl; ring).
  rewrite !E in H1. change (clip tilted) with (3 / 7) in H1.
  change (step_size tilted) with (1 / 2) in H1.
  simpl in H1. unfold cut in H1.
  rewrite !(Rmin_left (3 / 7) _), !(Rmax_right (- (3 / 7)) (3 / 7)) in H1 by lra.
  rewrite !(Rmin_right (3 / 7) _), !(Rmax_right (- (3 / 7)) _) in H1 by lra.
  assert (Hl := l32_pos). nra.
Qed.

(** ** By row *)

(** Every row scaled down to norm C where it is longer. *)
Definition clipped_by_row (s : loss_step) : model := fun k =>
  vscal (clip s / Rmax (clip s) (norm (dim s) (plain_gradient s k))) (plain_gradient s k).

Definition row_clipping_bound (s : loss_step) : Prop :=
  norm (dim s) (pair_after s (clipped_by_row s)) <= decay s * norm (dim s) (difference s).

Module Row.
  Definition hyp_nothing_clipped (s : loss_step) : Prop :=
    norm (dim s) (plain_gradient s (row_u s)) <= clip s
    /\ norm (dim s) (plain_gradient s (row_v s)) <= clip s.
End Row.

Theorem row_clipping_mended (s : loss_step) :
  loss_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s -> hyp_step_size s ->
  Row.hyp_nothing_clipped s -> row_clipping_bound s.
Proof.
  intros lok Hs He HT Hc [Hu Hv]. assert (H0 := clip_pos s lok).
  apply unclipped; trivial; [apply (loss_base s lok)|].
  intros j _. unfold clipped_by_row, vscal.
  rewrite !Rmax_left by assumption. split; field; lra.
Qed.

(** Examples (1, 0), (0, 18) and 0 with weights 1/2, 1/26 and 6/13, D = (ln(5/4), ln(4)/18).
    The gradients of rows u and v are (5, 12)/26 and (4, 3)/26; with C = 5/26 the first becomes
    5/13 of itself, and no longer leads the second along D. *)
Definition steep : loss_step :=
  LossStep
    (Step 2 3
       (fun k j => if Nat.eq_dec k 0 then if Nat.eq_dec j 0 then ln (5 / 4) else ln 4 / 18 else 0)
       (Batch 3
          (fun i j => if Nat.eq_dec i 0 then if Nat.eq_dec j 0 then 1 else 0
                      else if Nat.eq_dec i 1 then if Nat.eq_dec j 0 then 0 else 18 else 0)
          (fun i => if Nat.eq_dec i 0 then 1 / 2 else if Nat.eq_dec i 1 then 1 / 26 else 6 / 13)
          (fun _ => 2%nat))
       0 1 (1 / 81) 0 162 18 (1 / 2))
    (fun _ => 0) (fun _ => 0) (fun _ => true) 0 1 1 (5 / 26).

Lemma steep_ok : loss_ok steep.
Proof.
  split; try (intros; simpl; lra).
  split; [split; simpl; intros; try lra; try lia | apply first_pair_ok].
  destruct (Nat.eq_dec i 0); [lra|]. destruct (Nat.eq_dec i 1); lra.
Qed.

Lemma steep_unseen : hyp_unseen steep.
Proof. split; intros i _ _ E; simpl in E; congruence. Qed.

Lemma steep_radius : hyp_radius steep.
Proof.
  intros i _. change (radius steep) with 18. change (dim steep) with 2%nat.
  apply Rsqr_incr_0_var; [|lra]. rewrite norm_sqr. unfold dot, Rsqr. simpl.
  destruct (Nat.eq_dec i 0); [simpl; lra|]. destruct (Nat.eq_dec i 1); simpl; lra.
Qed.

Lemma steep_curvature : hyp_curvature steep.
Proof.
  apply Rle_trans with (1 := trace_le_radius _ (loss_base _ steep_ok) steep_radius).
  unfold Rsqr; simpl. lra.
Qed.

Lemma steep_softmax_0 k :
  softmax 2 3 (rows steep) (feature (data steep) 0%nat) k
  = if Nat.eq_dec k 0 then 5 / 13 else 4 / 13.
Proof.
  rewrite (three_labels _ _ _ (ln (5 / 4)) (5 / 4)).
  - destruct (Nat.eq_dec k 0); field.
  - intros i. unfold logit, dot, steep. simpl. destruct (Nat.eq_dec i 0); ring.
  - apply exp_ln; lra.
Qed.

Lemma steep_softmax_1 k :
  softmax 2 3 (rows steep) (feature (data steep) 1%nat) k = if Nat.eq_dec k 0 then 2 / 3 else 1 / 6.
Proof.
  rewrite (three_labels _ _ _ (ln 4) 4).
  - destruct (Nat.eq_dec k 0); field.
  - intros i. unfold logit, dot, steep. simpl. destruct (Nat.eq_dec i 0); field.
  - apply exp_ln; lra.
Qed.

Lemma steep_gradient k j :
  (k < 2)%nat -> (j < 2)%nat ->
  plain_gradient steep k j
  = if Nat.eq_dec k 0 then if Nat.eq_dec j 0 then 5 / 26 else 12 / 26
    else if Nat.eq_dec j 0 then 4 / 26 else 3 / 26.
Proof.
  intros Hk Hj. unfold plain_gradient, gradient, vsum, vscal.
  change (size (data steep)) with 3%nat. change (dim steep) with 2%nat.
  change (labels steep) with 3%nat. cbn [sum].
  rewrite steep_softmax_0, steep_softmax_1.
  unfold indicator.
  destruct k as [|[|k]]; destruct j as [|[|j]]; try lia; simpl; field.
Qed.

Lemma steep_norm k :
  (k < 2)%nat -> norm 2 (plain_gradient steep k) = if Nat.eq_dec k 0 then 1 / 2 else 5 / 26.
Proof.
  intros Hk. apply Rsqr_inj; [apply norm_nonneg | destruct (Nat.eq_dec k 0); lra|].
  rewrite norm_sqr. unfold dot. cbn [sum]. rewrite !steep_gradient by lia. unfold Rsqr.
  destruct k as [|[|k]]; try lia; simpl; field.
Qed.

(** 27 D_1 > 21 D_2, since ln 4 <= 7 ln(5/4). *)
Lemma steep_difference : 0 < 27 * ln (5 / 4) - 21 * (ln 4 / 18).
Proof.
  assert (H0 : 0 < ln (5 / 4)) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (H : ln 4 <= 7 * ln (5 / 4)).
  { replace (7 * ln (5 / 4)) with (ln ((5 / 4) ^ 7)).
    - apply Rlt_le, ln_increasing; simpl; lra.
    - rewrite <- Rpower_pow by lra. unfold Rpower. rewrite ln_exp. simpl. ring. }
  lra.
Qed.

Theorem row_clipping :
  ~ (forall s : loss_step,
       loss_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s ->
       hyp_step_size s -> row_clipping_bound s).
Proof.
  intros H.
  assert (H1 : row_clipping_bound steep).
  { apply H; [apply steep_ok | apply steep_unseen | | apply steep_curvature |].
    - unfold hyp_nonnegative_step; simpl; lra.
    - unfold hyp_step_size; simpl; lra. }
  unfold row_clipping_bound in H1. change (dim steep) with 2%nat in H1.
  assert (Hc : decay steep = 1) by (unfold decay; simpl; ring).
  rewrite Hc, Rmult_1_l in H1. apply norm_le_iff in H1.
  unfold dot in H1. cbn [sum] in H1. rewrite !pair_after_split in H1.
  unfold clipped_by_row, vscal in H1.
  change (row_u steep) with 0%nat in H1. change (row_v steep) with 1%nat in H1.
  change (dim steep) with 2%nat in H1.
  rewrite !steep_norm, !steep_gradient in H1 by lia. rewrite Hc in H1.
  assert (E0 : difference steep 0%nat = ln (5 / 4))
    by (unfold difference, wdiff, vsub; simpl; ring).
  assert (E1 : difference steep 1%nat = ln 4 / 18)
    by (unfold difference, wdiff, vsub; simpl; ring).
  rewrite !E0, !E1 in H1.
  change (clip steep) with (5 / 26) in H1. change (step_size steep) with (1 / 81) in H1.
  simpl in H1. rewrite (Rmax_right (5 / 26) (1 / 2)), (Rmax_left (5 / 26) (5 / 26)) in H1 by lra.
  assert (Hd := steep_difference).
  replace (5 / 26 / (1 / 2)) with (5 / 13) in H1 by field.
  replace (5 / 26 / (5 / 26)) with 1 in H1 by field. nra.
Qed.

(** ** The hypotheses can be met *)

Example norm_clipping_met : exists s : loss_step,
  loss_ok s /\ hyp_unseen s /\ 0 < norm (dim s) (difference s).
Proof.
  exists (small_loss 1 (1 / 2) 1). conjuncts; [apply small_loss_ok | apply small_unseen|].
  apply Rlt_le_trans with (1 := Rlt_0_1). right; symmetry; apply small_distance.
Qed.

Example value_clipping_met : exists s : loss_step,
  loss_ok s /\ hyp_unseen s /\ hyp_nonnegative_step s /\ hyp_curvature s /\ hyp_step_size s
  /\ 0 < step_size s.
Proof.
  exists tilted. conjuncts;
    [apply tilted_ok | apply tilted_unseen | | apply tilted_curvature | | simpl; lra].
  - unfold hyp_nonnegative_step; simpl; lra.
  - unfold hyp_step_size; simpl; lra.
Qed.

Example row_clipping_met : exists s : loss_step,
  loss_ok s /\ hyp_unseen s /\ hyp_nonnegative_step s /\ hyp_curvature s /\ hyp_step_size s
  /\ 0 < step_size s.
Proof.
  exists steep. conjuncts;
    [apply steep_ok | apply steep_unseen | | apply steep_curvature | | simpl; lra].
  - unfold hyp_nonnegative_step; simpl; lra.
  - unfold hyp_step_size; simpl; lra.
Qed.
