(** * Lemma 4.1 as printed

    Without a condition on the step size the printed bound,
      |D+| <= (1 - eta (lambda - r^2 pbar)) |D|,
    is false [paper_lemma_4_1]; with eta lambda <= 1 it holds by the triangle
    inequality [paper_lemma_4_1_mended].  The condition of [contraction] is
    sharp [step_condition_sharp], and its eta >= 0 is needed
    [contraction_needs_nonnegative_step]. *)

From Coq Require Import Reals Lra Lia Arith.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances OneStep.
Local Open Scope R_scope.

Definition paper_lemma_4_1_bound (s : step) : Prop :=
  norm (dim s) (next_difference s)
  <= (1 - step_size s * (weight_decay s - (radius s)² * pbar s)) * norm (dim s) (difference s).

Theorem paper_lemma_4_1 :
  ~ (forall s, step_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_radius s ->
       hyp_pbar s -> paper_lemma_4_1_bound s).
Proof.
  intros H.
  assert (H1 : paper_lemma_4_1_bound (small 0 2 1)).
  { apply H; [apply small_ok | apply small_unseen | | apply small_radius; lra | apply small_pbar].
    unfold hyp_nonnegative_step; simpl; lra. }
  unfold paper_lemma_4_1_bound in H1.
  assert (H0 := norm_nonneg 1 (next_difference (small 0 2 1))).
  assert (Hd := small_distance 0 2 1). cbn [dim small] in *. rewrite Hd in H1.
  unfold Rsqr in H1; simpl in H1. lra.
Qed.

Lemma pbar_pos s : step_ok s -> hyp_pbar s -> 0 < pbar s.
Proof.
  intros ok Hp. destruct (step_batch s ok) as [Hn _ _ _].
  apply Rlt_le_trans with (1 := mean_pos s ok 0), Hp, Hn.
Qed.

(** tr M <= pbar r^2. *)
Lemma trace_le_pbar s :
  step_ok s -> hyp_radius s -> hyp_pbar s -> trace s <= pbar s * (radius s)².
Proof.
  intros ok Hr Hp. destruct (step_batch s ok) as [_ Ha Ht _].
  assert (H0 := pbar_pos s ok Hp).
  set (q := pbar s * (radius s)²).
  assert (Hq : 0 <= q) by (apply Rmult_le_pos; [lra | apply Rle_0_sqr]).
  apply Rle_trans with (sum (size (data s)) (fun i => weight (data s) i * q)).
  - apply sum_le; intros i Hi. unfold coefficient. rewrite Rmult_assoc.
    apply Rmult_le_compat_l; [now apply Ha|].
    apply Rmult_le_compat;
      [apply Rlt_le, mean_pos, ok | apply dot_self_nonneg | now apply Hp |].
    specialize (Hr i Hi). assert (H1 := norm_nonneg (dim s) (feature (data s) i)).
    rewrite <- norm_sqr. apply Rsqr_incr_1; lra.
  - rewrite sum_scal_r. nra.
Qed.

Theorem paper_lemma_4_1_mended s :
  step_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_radius s -> hyp_pbar s ->
  hyp_decay_at_most_one s -> paper_lemma_4_1_bound s.
Proof.
  intros ok Hs He Hr Hp Hd. unfold paper_lemma_4_1_bound.
  rewrite next_is_fmap by assumption. unfold fmap.
  eapply Rle_trans; [apply norm_sub_le|]. rewrite !norm_scal.
  unfold hyp_decay_at_most_one, hyp_nonnegative_step, decay in *.
  rewrite !Rabs_pos_eq by lra.
  assert (HD := norm_nonneg (dim s) (difference s)).
  set (y := norm (dim s) (form _ _ _ _ _)).
  assert (Hf : y <= trace s * norm (dim s) (difference s)).
  { apply form_norm_le; [apply coefficient_nonneg, ok | apply Rle_refl]. }
  assert (Ht := trace_le_pbar s ok Hr Hp).
  assert (Hy : y <= pbar s * (radius s)² * norm (dim s) (difference s)) by nra.
  assert (step_size s * y <= step_size s * (pbar s * (radius s)² * norm (dim s) (difference s)))
    by now apply Rmult_le_compat_l.
  lra.
Qed.

Example paper_lemma_4_1_met : exists s,
  step_ok s /\ hyp_unseen s /\ hyp_nonnegative_step s /\ hyp_radius s /\ hyp_pbar s
  /\ 0 < step_size s * weight_decay s /\ norm (dim s) (difference s) = 1.
Proof.
  exists (small 1 (1 / 2) 1).
  conjuncts;
    first [ apply small_ok | apply small_unseen | apply small_radius; lra | apply small_pbar
          | apply small_distance | unfold hyp_nonnegative_step; simpl; lra ].
Qed.

(** ** What [contraction] asks of the step size is sharp *)

(** On the small instance the step multiplies D by 1 - eta (lambda + L z^2). *)
Lemma small_next z eta lambda :
  next_difference (small z eta lambda) 0%nat
  = 1 - eta * (lambda + trace (small z eta lambda)).
Proof.
  rewrite (difference_recursion _ (small_ok z eta lambda) (small_unseen z eta lambda) 0%nat)
    by (simpl; lia).
  unfold vsub, vscal, operator, form, vsum, trace, decay.
  change (dim (small z eta lambda)) with 1%nat.
  change (size (data (small z eta lambda))) with 1%nat.
  cbn [sum]. rewrite !dot_1, small_difference.
  set (c := coefficient _ _). simpl. unfold vscal. ring.
Qed.

(** Where T = tr M, contraction holds only under its condition. *)
Theorem step_condition_sharp z eta lambda :
  norm 1 (next_difference (small z eta lambda))
    <= (1 - eta * lambda) * norm 1 (difference (small z eta lambda)) ->
  eta * (2 * lambda + trace (small z eta lambda)) <= 2.
Proof.
  rewrite small_distance, norm_1, small_next. intros H.
  assert (H1 := Rle_abs (- (1 - eta * (lambda + trace (small z eta lambda))))).
  rewrite Rabs_Ropp in H1. lra.
Qed.

(** A negative step size drives rows apart. *)
Theorem contraction_needs_nonnegative_step :
  ~ (forall s, step_ok s -> hyp_unseen s -> hyp_curvature s -> hyp_step_size s ->
       norm (dim s) (next_difference s)
       <= (1 - step_size s * weight_decay s) * norm (dim s) (difference s)).
Proof.
  intros H.
  assert (H1 : norm 1 (next_difference (small 1 (-1) 0))
               <= (1 - -1 * 0) * norm 1 (difference (small 1 (-1) 0))).
  { apply (H (small 1 (-1) 0));
    [apply small_ok | apply small_unseen | apply small_curvature; lra |].
    unfold hyp_step_size, small, Rsqr; simpl; lra. }
  rewrite small_distance, norm_1, small_next in H1.
  assert (Ht : 0 < trace (small 1 (-1) 0)).
  { unfold trace, coefficient. simpl. rewrite dot_1.
    assert (Hm := mean_pos _ (small_ok 1 (-1) 0) 0). simpl in Hm. lra. }
  rewrite Rabs_pos_eq in H1; lra.
Qed.
