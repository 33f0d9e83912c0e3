(** * Rare labels

    Where u or v is a target of some examples, with batch mass
    f = sum_i a_i ([y_i = u] + [y_i = v]), a step moves the two rows apart by
    at most eta r f beyond the bound for unseen labels:
      |D+| <= (1 - eta lambda) |D| + eta r f            [rare_labels]. *)

From Coq Require Import Reals Lra Lia Arith.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances.
Local Open Scope R_scope.

Definition target_mass (s : step) : R :=
  sum (size (data s)) (fun i =>
    weight (data s) i
    * (indicator (target (data s) i) (row_u s) + indicator (target (data s) i) (row_v s))).

(** What the targets add to D per unit of step size. *)
Definition pull (s : step) : vec :=
  vsum (size (data s)) (fun i =>
    vscal (weight (data s) i * (indicator (target (data s) i) (row_u s)
                                - indicator (target (data s) i) (row_v s)))
      (feature (data s) i)).

Lemma indicator_cases y k : indicator y k = 0 \/ indicator y k = 1.
Proof. unfold indicator. destruct (Nat.eq_dec y k); auto. Qed.

Section Rare.
Variable s : step.
Hypothesis ok : step_ok s.

Lemma rare_recursion :
  veq (dim s) (next_difference s)
    (vadd (fmap (dim s) (size (data s)) (coefficient s) (feature (data s))
             (decay s) (step_size s) (difference s))
          (vscal (step_size s) (pull s))).
Proof.
  intros j _.
  assert (E : gradient (dim s) (labels s) (data s) (rows s) (row_u s) j
              - gradient (dim s) (labels s) (data s) (rows s) (row_v s) j
              = form (dim s) (size (data s)) (coefficient s) (feature (data s)) (difference s) j
                - pull s j).
  { unfold gradient, pull, form, vsum. rewrite <- !sum_minus.
    apply sum_ext; intros i Hi. unfold vscal.
    assert (E : coefficient s i * dot (dim s) (difference s) (feature (data s) i)
      = weight (data s) i * (softmax (dim s) (labels s) (rows s) (feature (data s) i) (row_u s)
                             - softmax (dim s) (labels s) (rows s) (feature (data s) i) (row_v s))).
    { rewrite (softmax_gap _ _ (labels_pos s ok)). unfold coefficient, mean, difference. ring. }
    rewrite E. ring. }
  unfold next_difference, wdiff, next_rows, descend, fmap, vsub, vscal, vadd.
  replace (gradient (dim s) (labels s) (data s) (rows s) (row_u s) j)
    with (form (dim s) (size (data s)) (coefficient s) (feature (data s)) (difference s) j
          - pull s j + gradient (dim s) (labels s) (data s) (rows s) (row_v s) j) by lra.
  unfold decay, difference, wdiff, vsub. ring.
Qed.

Lemma pull_le : hyp_radius s -> norm (dim s) (pull s) <= radius s * target_mass s.
Proof.
  intros Hr. destruct (step_batch s ok) as [_ Ha _ _].
  eapply Rle_trans; [apply norm_vsum_le|]. unfold target_mass. rewrite <- sum_scal.
  apply sum_le; intros i Hi. rewrite norm_scal.
  specialize (Hr i Hi). specialize (Ha i Hi).
  assert (H0 := norm_nonneg (dim s) (feature (data s) i)).
  rewrite Rabs_mult, (Rabs_pos_eq (weight _ _)) by assumption.
  set (p := indicator _ (row_u s)). set (q := indicator _ (row_v s)).
  assert (H1 : Rabs (p - q) <= p + q).
  { unfold p, q. apply Rabs_le.
    destruct (indicator_cases (target (data s) i) (row_u s)) as [-> | ->];
      destruct (indicator_cases (target (data s) i) (row_v s)) as [-> | ->]; lra. }
  assert (H2 := Rabs_pos (p - q)).
  apply Rle_trans with (weight (data s) i * (p + q) * norm (dim s) (feature (data s) i)).
  - apply Rmult_le_compat_r; [assumption|]. now apply Rmult_le_compat_l.
  - rewrite (Rmult_comm (radius s)). apply Rmult_le_compat_l; [|assumption].
    apply Rmult_le_pos; lra.
Qed.

End Rare.

Theorem rare_labels s :
  step_ok s -> hyp_nonnegative_step s -> hyp_radius s -> hyp_curvature s -> hyp_step_size s ->
  norm (dim s) (next_difference s)
  <= decay s * norm (dim s) (difference s) + step_size s * radius s * target_mass s.
Proof.
  intros ok He Hr HT Hc.
  rewrite (norm_ext _ _ _ (rare_recursion s ok)).
  eapply Rle_trans; [apply norm_add_le|]. apply Rplus_le_compat.
  - apply map_upper with (T := curvature s);
      [apply coefficient_nonneg, ok | exact HT | exact He |].
    unfold hyp_step_size, decay in *. lra.
  - rewrite norm_scal, Rabs_pos_eq, Rmult_assoc by exact He.
    apply Rmult_le_compat_l; [exact He | now apply pull_le].
Qed.

(** ** The hypotheses can be met, by a step in which u is a target *)

Definition rare_step : step :=
  Step 1 3 one_row (Batch 1 (fun _ _ => 1) (fun _ => 1) (fun _ => 0%nat)) 0 1
    (1 / 2) 1 (1 / 2) 1 (1 / 2).

Lemma rare_step_ok : step_ok rare_step.
Proof. split; [split; simpl; intros; try lra; lia | apply first_pair_ok]. Qed.

Lemma rare_step_radius : hyp_radius rare_step.
Proof. intros i _. unfold rare_step; simpl. rewrite norm_1, Rabs_R1. lra. Qed.

Lemma rare_step_curvature : hyp_curvature rare_step.
Proof.
  eapply Rle_trans; [apply (trace_le_radius _ rare_step_ok rare_step_radius)|].
  unfold rare_step, Rsqr; simpl. lra.
Qed.

Example rare_labels_met : exists s,
  step_ok s /\ hyp_nonnegative_step s /\ hyp_radius s /\ hyp_curvature s /\ hyp_step_size s
  /\ 0 < target_mass s.
Proof.
  exists rare_step. conjuncts;
    first [ apply rare_step_ok | apply rare_step_radius | apply rare_step_curvature
          | unfold hyp_nonnegative_step, hyp_step_size, target_mass, indicator; simpl; lra ].
Qed.
