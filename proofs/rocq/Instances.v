(** * A small instance

    One feature of length z, three labels, one example with target 2; the
    rows are w_0 = 1 and w_1 = w_2 = 0, so that D = w_0 - w_1 = 1.  It meets
    the hypotheses of most claims, which are therefore not empty, and
    refutes some that are false. *)

From Coq Require Import Reals Lra Lia Arith.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps.
Local Open Scope R_scope.

(** Splits the conjunctions of a goal, but none that a definition hides. *)
Ltac conjuncts := repeat match goal with |- _ /\ _ => split end.

Definition one_row : model := fun k _ => if Nat.eq_dec k 0 then 1 else 0.

Definition one_example (z : R) : batch := Batch 1 (fun _ _ => z) (fun _ => 1) (fun _ => 2%nat).

(** A step on it with step size [eta] and decay [lambda]; |x| = [z] >= 0 and T = z^2/2. *)
Definition small (z eta lambda : R) : step :=
  Step 1 3 one_row (one_example z) 0 1 eta lambda (z² / 2) z (1 / 2).

Lemma dot_1 a b : dot 1 a b = a 0%nat * b 0%nat.
Proof. unfold dot; simpl. ring. Qed.

Lemma norm_1 a : norm 1 a = Rabs (a 0%nat).
Proof. unfold norm. rewrite dot_1. apply sqrt_Rsqr_abs. Qed.

Lemma one_example_ok z : batch_ok 3 (one_example z).
Proof. split; simpl; intros; try lra; lia. Qed.

Lemma first_pair_ok : pair_ok 3 0 1.
Proof. split; lia. Qed.

Lemma one_example_unseen z k : k <> 2%nat -> unseen (one_example z) k.
Proof. intros H i _ _ E. simpl in E. congruence. Qed.

Section Small.
Variables z eta lambda : R.
Hypothesis z_nonneg : 0 <= z.

Lemma small_ok : step_ok (small z eta lambda).
Proof. split; [apply one_example_ok | apply first_pair_ok]. Qed.

Lemma small_unseen : hyp_unseen (small z eta lambda).
Proof. split; apply one_example_unseen; simpl; lia. Qed.

Lemma small_radius : hyp_radius (small z eta lambda).
Proof. intros i _. simpl. rewrite norm_1. rewrite Rabs_pos_eq; simpl; lra. Qed.

Lemma small_curvature : hyp_curvature (small z eta lambda).
Proof. apply (trace_le_radius _ small_ok small_radius). Qed.

Lemma small_pbar : hyp_pbar (small z eta lambda).
Proof. intros i _. apply (mean_le_half _ small_ok). Qed.

Lemma small_difference : difference (small z eta lambda) 0%nat = 1.
Proof. unfold difference, wdiff, vsub, small, one_row; simpl. lra. Qed.

Lemma small_distance : norm 1 (difference (small z eta lambda)) = 1.
Proof. rewrite norm_1, small_difference. apply Rabs_R1. Qed.

End Small.
