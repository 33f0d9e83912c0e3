(** * Probabilities of unseen labels at one feature

    p_u - p_v = L(p_u, p_v) <D, x>                        [logmean_identity],
    sqrt(p_u p_v) <= L <= (p_u + p_v)/2 <= 1/2            [logmean_bounds];
    labels whose rows are close share their probability nearly evenly
    [indistinguishable]. *)

From Coq Require Import Reals Lra Lia Arith.
From Collapse Require Import Sums Vectors LogMean Softmax Instances.
Local Open Scope R_scope.

(** A softmax head at one feature. The first [hidden] labels are unseen; u
    and v are labels 0 and 1. *)
Record head := Head {
  dim : nat;
  labels : nat;
  rows : model;
  feature : vec;
  radius : R;  (* r *)
  distance : R;  (* delta *)
  hidden : nat  (* k *)
}.

Record head_ok (h : head) : Prop := {
  some_hidden : (2 <= hidden h)%nat;
  hidden_labels : (hidden h <= labels h)%nat
}.

Definition p (h : head) (k : nat) : R := softmax (dim h) (labels h) (rows h) (feature h) k.
Definition mean (h : head) : R := lmean (dim h) (labels h) (rows h) 0 1 (feature h).
Definition difference (h : head) : vec := wdiff (rows h) 0 1.

(** 1 - p_seen, the probability of all unseen labels together. *)
Definition hidden_mass (h : head) : R := sum (hidden h) (p h).

(** The mean of the unseen rows. *)
Definition center (h : head) : vec :=
  vscal (/ INR (hidden h)) (vsum (hidden h) (rows h)).

Definition hyp_radius (h : head) : Prop := norm (dim h) (feature h) <= radius h.

Definition hyp_within (h : head) : Prop :=
  forall k, (k < hidden h)%nat -> norm (dim h) (wdiff (rows h) 0 k) <= distance h.

Section Head.
Variable h : head.
Hypothesis ok : head_ok h.

Lemma labels_pos : (0 < labels h)%nat.
Proof. destruct ok. lia. Qed.

Lemma p_pos k : 0 < p h k.
Proof. apply softmax_pos, labels_pos. Qed.

(** p_k = p_u exp(<w_k - w_u, x>). *)
Lemma p_ratio k : p h k = p h 0 * exp (- dot (dim h) (wdiff (rows h) 0 k) (feature h)).
Proof.
  rewrite <- (exp_ln (p h k)), <- (exp_ln (p h 0)), <- exp_plus by apply p_pos.
  f_equal. unfold p. rewrite <- (ln_softmax_diff _ _ labels_pos). ring.
Qed.

Lemma inner_le a : hyp_radius h -> dot (dim h) a (feature h) <= radius h * norm (dim h) a.
Proof.
  intros Hr. eapply Rle_trans; [apply dot_le_norms|]. rewrite Rmult_comm.
  apply Rmult_le_compat_r; [apply norm_nonneg | exact Hr].
Qed.

(** p_u exp(-r |w_u - w_k|) <= p_k. *)
Lemma p_close k :
  hyp_radius h -> p h 0 * exp (- radius h * norm (dim h) (wdiff (rows h) 0 k)) <= p h k.
Proof.
  intros Hr. rewrite (p_ratio k). apply Rmult_le_compat_l; [apply Rlt_le, p_pos|].
  assert (H := inner_le (wdiff (rows h) 0 k) Hr). apply exp_le. lra.
Qed.

Lemma p_group :
  hyp_radius h -> hyp_within h ->
  p h 0 * (1 + (INR (hidden h) - 1) * exp (- radius h * distance h)) <= hidden_mass h.
Proof.
  intros Hr Hd. destruct ok as [H2 _]. unfold hidden_mass.
  destruct (hidden h) as [|m] eqn:E; [lia|].
  rewrite sum_first, S_INR. set (e := exp (- radius h * distance h)).
  assert (H : INR m * (p h 0 * e) <= sum m (fun k => p h (S k))).
  { rewrite <- sum_const. apply sum_le; intros k Hk.
    eapply Rle_trans; [|apply p_close, Hr].
    apply Rmult_le_compat_l; [apply Rlt_le, p_pos|]. apply exp_le.
    assert (Hw : norm (dim h) (wdiff (rows h) 0 (S k)) <= distance h) by (apply Hd; lia).
    assert (0 <= radius h) by (eapply Rle_trans; [apply norm_nonneg | exact Hr]).
    assert (radius h * norm (dim h) (wdiff (rows h) 0 (S k)) <= radius h * distance h)
      by now apply Rmult_le_compat_l.
    lra. }
  lra.
Qed.

(** Jensen's inequality: k p_u exp(-r |w_u - mean|) <= 1. *)
Lemma p_center :
  hyp_radius h ->
  INR (hidden h) * (p h 0 * exp (- radius h * norm (dim h) (vsub (rows h 0%nat) (center h)))) <= 1.
Proof.
  intros Hr. destruct ok as [H2 Hl]. set (k := hidden h) in *.
  assert (Hk : 0 < INR k) by (apply lt_0_INR; lia).
  assert (Hmass : sum k (p h) <= 1).
  { rewrite <- (softmax_sum_1 (dim h) (labels h) labels_pos (rows h) (feature h)).
    apply sum_prefix; [assumption|]. intros i _. apply Rlt_le, p_pos. }
  apply Rle_trans with (2 := Hmass).
  set (z := fun j => - dot (dim h) (wdiff (rows h) 0 j) (feature h)).
  set (m := - dot (dim h) (vsub (rows h 0%nat) (center h)) (feature h)).
  assert (Hm : sum k z = INR k * m).
  { unfold z, m, wdiff, center. rewrite dot_sub_l, dot_scal_l, dot_sum_l. fold k.
    rewrite (sum_ext k _ (fun j => dot (dim h) (rows h j) (feature h)
                                   - dot (dim h) (rows h 0%nat) (feature h)))
      by (intros; rewrite dot_sub_l; ring).
    rewrite sum_minus, sum_const. field. lra. }
  apply Rle_trans with (INR k * (p h 0 * exp m)).
  - apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; [apply Rlt_le, p_pos|].
    apply exp_le. unfold m.
    assert (H := inner_le (vsub (rows h 0%nat) (center h)) Hr). lra.
  - apply Rle_trans with (sum k (fun j => p h 0 * (exp m * (1 - m)) + p h 0 * exp m * z j)).
    + rewrite sum_plus, sum_const, sum_scal, Hm. right; ring.
    + apply sum_le; intros j _. rewrite (p_ratio j). fold (z j).
      assert (H1 := exp_ineq1_le (z j - m)).
      assert (H3 : exp m * exp (z j - m) = exp (z j)) by (rewrite <- exp_plus; f_equal; ring).
      assert (H4 : exp m * (1 + (z j - m)) <= exp (z j)).
      { rewrite <- H3. apply Rmult_le_compat_l; [apply Rlt_le, exp_pos | exact H1]. }
      assert (Hp := p_pos 0). nra.
Qed.

End Head.

Theorem logmean_identity h :
  head_ok h -> p h 0 - p h 1 = mean h * dot (dim h) (difference h) (feature h).
Proof. intros ok. apply (softmax_gap _ _ (labels_pos h ok)). Qed.

Theorem logmean_bounds h :
  head_ok h ->
  sqrt (p h 0 * p h 1) <= mean h /\ mean h <= (p h 0 + p h 1) / 2 /\ (p h 0 + p h 1) / 2 <= 1 / 2.
Proof.
  intros ok. assert (Hl := labels_pos h ok).
  destruct (lmean_bounds (dim h) _ Hl (rows h) 0 1 (feature h)) as [Hlow Hup].
  repeat split; [exact Hlow | exact Hup |]. destruct ok as [H2 H3].
  assert (H := softmax_pair_le_1 (dim h) (labels h) Hl (rows h) (feature h) 0 1
                 ltac:(lia) ltac:(lia) ltac:(lia)).
  unfold p. lra.
Qed.

Theorem indistinguishable h :
  head_ok h -> hyp_radius h -> hyp_within h ->
  p h 0 * exp (- radius h * norm (dim h) (difference h)) <= p h 1
  /\ p h 0 <= hidden_mass h / (1 + (INR (hidden h) - 1) * exp (- radius h * distance h))
  /\ p h 0 * exp (- radius h * norm (dim h) (vsub (rows h 0%nat) (center h)))
     <= 1 / INR (hidden h).
Proof.
  intros ok Hr Hd. split; [now apply p_close|].
  assert (Hk : 2 <= INR (hidden h)).
  { destruct ok as [H2 _]. change 2 with (INR 2). now apply le_INR. }
  assert (He := exp_pos (- radius h * distance h)).
  split.
  - apply Rmult_le_reg_r with (1 + (INR (hidden h) - 1) * exp (- radius h * distance h)); [nra|].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by nra. now apply p_group.
  - apply Rmult_le_reg_l with (INR (hidden h)); [lra|].
    unfold Rdiv. rewrite Rmult_1_l, Rinv_r by lra. now apply p_center.
Qed.

(** ** The hypotheses can be met *)

Definition small_head : head := Head 1 3 one_row (fun _ => 1) 1 1 2.

Lemma small_head_ok : head_ok small_head.
Proof. split; simpl; lia. Qed.

Example logmean_identity_met : exists h, head_ok h /\ norm (dim h) (difference h) = 1.
Proof.
  exists small_head. split; [apply small_head_ok|]. apply (small_distance 1 1 1).
Qed.

Example logmean_bounds_met : exists h, head_ok h /\ norm (dim h) (difference h) = 1.
Proof. exact logmean_identity_met. Qed.

Example indistinguishable_met : exists h,
  head_ok h /\ hyp_radius h /\ hyp_within h /\ norm (dim h) (difference h) = 1.
Proof.
  exists small_head. conjuncts; [apply small_head_ok | | | apply (small_distance 1 1 1)].
  - unfold hyp_radius, small_head; simpl. rewrite norm_1, Rabs_R1. lra.
  - intros k Hk. unfold small_head in *; simpl in *. rewrite norm_1.
    unfold wdiff, vsub, one_row. simpl.
    destruct (Nat.eq_dec k 0); [rewrite Rminus_diag_eq, Rabs_R0; lra|].
    rewrite Rabs_pos_eq; lra.
Qed.
