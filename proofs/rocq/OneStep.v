(** * One step on unseen labels

    For two labels that are no target, the difference of their rows is mapped
    linearly, D+ = c D - eta M D [difference_recursion].  Hence
      |D+| <= max (|c|, |c - eta T|) |D|      [step_factor],
      |D+| <= (1 - eta lambda) |D|            [contraction],
      |D+| >= (1 - eta (lambda + T)) |D|      [lower_bound],
      |D+| <= |D|  for eta (lambda + T) <= 2  [no_decay_nonexpansive],
      lambda |D| <= |grad_u - grad_v|         [stationary_rows]. *)

From Coq Require Import Reals Lra Lia Arith.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances.
Local Open Scope R_scope.

Section Gradients.
Variable s : step.
Hypothesis ok : step_ok s.

(** The difference of the gradients in rows u and v is M D. *)
Lemma gradient_difference j :
  hyp_unseen s ->
  gradient (dim s) (labels s) (data s) (rows s) (row_u s) j
  - gradient (dim s) (labels s) (data s) (rows s) (row_v s) j
  = operator s (difference s) j.
Proof.
  intros [Hu Hv]. destruct ok as [[_ Ha _ _] _].
  unfold gradient, operator, form, vsum. rewrite <- sum_minus.
  apply sum_ext; intros i Hi. unfold vscal.
  assert (E : coefficient s i * dot (dim s) (difference s) (feature (data s) i)
    = weight (data s) i * (softmax (dim s) (labels s) (rows s) (feature (data s) i) (row_u s)
                           - softmax (dim s) (labels s) (rows s) (feature (data s) i) (row_v s))).
  { rewrite (softmax_gap _ _ (labels_pos s ok)). unfold coefficient, mean, difference. ring. }
  rewrite E.
  destruct (Rle_lt_or_eq_dec _ _ (Ha i Hi)) as [H|<-]; [|ring].
  unfold indicator.
  destruct (Nat.eq_dec (target (data s) i) (row_u s)) as [Ey|_]; [now elim (Hu i Hi H)|].
  destruct (Nat.eq_dec (target (data s) i) (row_v s)) as [Ey|_]; [now elim (Hv i Hi H)|].
  ring.
Qed.

End Gradients.

Theorem difference_recursion s :
  step_ok s -> hyp_unseen s ->
  veq (dim s) (next_difference s)
    (vsub (vscal (decay s) (difference s)) (vscal (step_size s) (operator s (difference s)))).
Proof.
  intros ok Hs j _. unfold next_difference, wdiff, next_rows, descend, vsub, vscal, vadd.
  rewrite <- (gradient_difference s ok j Hs). unfold decay, difference, wdiff, vsub. ring.
Qed.

(** The step is the map of [Forms.v]. *)
Lemma next_is_fmap s :
  step_ok s -> hyp_unseen s ->
  norm (dim s) (next_difference s) =
  norm (dim s) (fmap (dim s) (size (data s)) (coefficient s) (feature (data s))
                  (decay s) (step_size s) (difference s)).
Proof. intros ok Hs. apply norm_ext. now apply difference_recursion. Qed.

Theorem step_factor s :
  step_ok s -> hyp_unseen s -> hyp_curvature s ->
  norm (dim s) (next_difference s)
  <= Rmax (Rabs (decay s)) (Rabs (decay s - step_size s * curvature s))
     * norm (dim s) (difference s).
Proof.
  intros ok Hs HT. rewrite next_is_fmap by assumption.
  apply map_factor; [apply coefficient_nonneg, ok | exact HT].
Qed.

Theorem contraction s :
  step_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s -> hyp_step_size s ->
  norm (dim s) (next_difference s)
  <= (1 - step_size s * weight_decay s) * norm (dim s) (difference s).
Proof.
  intros ok Hs He HT Hc. rewrite next_is_fmap by assumption.
  apply map_upper with (T := curvature s);
    [apply coefficient_nonneg, ok | exact HT | exact He |].
  unfold hyp_step_size, decay in *. lra.
Qed.

Theorem lower_bound s :
  step_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s ->
  (1 - step_size s * (weight_decay s + curvature s)) * norm (dim s) (difference s)
  <= norm (dim s) (next_difference s).
Proof.
  intros ok Hs He HT. rewrite next_is_fmap by assumption.
  replace (1 - step_size s * (weight_decay s + curvature s))
    with (decay s - step_size s * curvature s) by (unfold decay; ring).
  apply map_lower; [apply coefficient_nonneg, ok | exact HT | exact He].
Qed.

(** The step size against the largest eigenvalue, which [curvature] bounds. *)
Definition hyp_step_size_from_largest (s : step) : Prop :=
  step_size s * (weight_decay s + curvature s) <= 2.

Theorem no_decay_nonexpansive s :
  step_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_nonnegative_decay s ->
  hyp_curvature s -> hyp_step_size_from_largest s ->
  norm (dim s) (next_difference s) <= norm (dim s) (difference s).
Proof.
  intros ok Hs He Hl HT Hc.
  eapply Rle_trans; [now apply step_factor|].
  rewrite <- (Rmult_1_l (norm _ (difference s))) at 2.
  apply Rmult_le_compat_r; [apply norm_nonneg|].
  unfold hyp_step_size_from_largest, hyp_nonnegative_step, hyp_nonnegative_decay, hyp_curvature,
    decay in *.
  assert (H0 := trace_nonneg s ok).
  assert (0 <= step_size s * weight_decay s) by now apply Rmult_le_pos.
  assert (0 <= step_size s * curvature s) by (apply Rmult_le_pos; lra).
  apply Rmax_lub; apply Rabs_le; lra.
Qed.

(** The rows of the gradient with the decay. *)
Definition decayed_gradient (s : step) (k : nat) : vec :=
  vadd (gradient (dim s) (labels s) (data s) (rows s) k) (vscal (weight_decay s) (rows s k)).

(** At a stationary point unseen rows agree if lambda > 0. *)
Theorem stationary_rows s :
  step_ok s -> hyp_unseen s ->
  weight_decay s * norm (dim s) (difference s)
  <= norm (dim s) (vsub (decayed_gradient s (row_u s)) (decayed_gradient s (row_v s))).
Proof.
  intros ok Hs. set (G := vsub _ _).
  assert (E : veq (dim s) G
                (vadd (operator s (difference s)) (vscal (weight_decay s) (difference s)))).
  { intros j _. unfold G, decayed_gradient, vsub, vadd.
    rewrite <- (gradient_difference s ok j Hs). unfold vscal, difference, wdiff, vsub. ring. }
  rewrite (norm_ext _ _ _ E).
  destruct (Rle_lt_or_eq_dec _ _ (norm_nonneg (dim s) (difference s))) as [HD|<-].
  2:{ rewrite Rmult_0_r. apply norm_nonneg. }
  apply Rmult_le_reg_r with (1 := HD).
  apply Rle_trans with (2 := dot_le_norms _ _ _).
  rewrite dot_add_l, dot_scal_l, Rmult_assoc.
  change (norm (dim s) (difference s) * norm (dim s) (difference s))
    with (norm (dim s) (difference s))².
  rewrite norm_sqr.
  assert (0 <= dot (dim s) (operator s (difference s)) (difference s)).
  { apply form_nonneg, coefficient_nonneg, ok. }
  lra.
Qed.

(** ** The hypotheses can be met *)

Lemma small_trace_pos : 0 < trace (small 1 (1 / 2) 1).
Proof.
  unfold trace, coefficient. simpl. rewrite dot_1.
  assert (H := mean_pos _ (small_ok 1 (1 / 2) 1) 0). simpl in H. lra.
Qed.

Local Ltac meets :=
  conjuncts;
  first [ apply small_ok | apply small_unseen | apply small_curvature; lra
        | apply small_trace_pos
        | apply Rlt_le_trans with (1 := Rlt_0_1); right; symmetry; apply small_distance
        | unfold hyp_nonnegative_step, hyp_nonnegative_decay, hyp_step_size,
            hyp_step_size_from_largest, small, Rsqr; simpl; lra ].

Example step_factor_met : exists s,
  step_ok s /\ hyp_unseen s /\ hyp_curvature s
  /\ 0 < step_size s * weight_decay s /\ 0 < trace s /\ 0 < norm (dim s) (difference s).
Proof. exists (small 1 (1 / 2) 1). meets. Qed.

Example contraction_met : exists s,
  step_ok s /\ hyp_unseen s /\ hyp_nonnegative_step s /\ hyp_curvature s /\ hyp_step_size s
  /\ 0 < step_size s * weight_decay s /\ 0 < trace s /\ 0 < norm (dim s) (difference s).
Proof. exists (small 1 (1 / 2) 1). meets. Qed.

Example lower_bound_met : exists s,
  step_ok s /\ hyp_unseen s /\ hyp_nonnegative_step s /\ hyp_curvature s
  /\ 0 < step_size s * weight_decay s /\ 0 < trace s /\ 0 < norm (dim s) (difference s).
Proof. exists (small 1 (1 / 2) 1). meets. Qed.

Example no_decay_nonexpansive_met : exists s,
  step_ok s /\ hyp_unseen s /\ hyp_nonnegative_step s /\ hyp_nonnegative_decay s /\ hyp_curvature s
    /\ hyp_step_size_from_largest s
  /\ 0 < step_size s * weight_decay s /\ 0 < trace s /\ 0 < norm (dim s) (difference s).
Proof. exists (small 1 (1 / 2) 1). meets. Qed.

Example difference_recursion_met : exists s,
  step_ok s /\ hyp_unseen s
  /\ 0 < step_size s * weight_decay s /\ 0 < trace s /\ 0 < norm (dim s) (difference s).
Proof. exists (small 1 (1 / 2) 1). meets. Qed.

Example stationary_rows_met : exists s,
  step_ok s /\ hyp_unseen s
  /\ 0 < step_size s * weight_decay s /\ 0 < trace s /\ 0 < norm (dim s) (difference s).
Proof. exists (small 1 (1 / 2) 1). meets. Qed.
