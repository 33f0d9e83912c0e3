(** * Biases

    A bias that is decayed is one more coordinate, 1 in every feature: the
    pair (D, b) contracts as D does  [bias].  Without decay of the bias it
    need not  [undecayed_bias]. *)

From Coq Require Import Reals Lra Lia Arith.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances OneStep LossSteps.
Local Open Scope R_scope.

(** A step of a head with logits <w_k, x_i> + b_k. *)
Record biased_step := BiasedStep { base :> step; biases : nat -> R }.

(** A vector with one more coordinate. *)
Definition extend (n : nat) (a : vec) (last : R) : vec :=
  fun j => if Nat.eq_dec j n then last else a j.

(** The same head without biases: rows (w_k, b_k), features (x_i, 1). *)
Definition augmented (s : biased_step) : step :=
  Step (S (dim s)) (labels s) (fun k => extend (dim s) (rows s k) (biases s k))
    (Batch (size (data s)) (fun i => extend (dim s) (feature (data s) i) 1)
       (weight (data s)) (target (data s)))
    (row_u s) (row_v s) (step_size s) (weight_decay s) (curvature s) (radius s) (pbar s).

(** T >= sum_i a_i L_i (|x_i|^2 + 1), L_i of the logits with their biases. *)
Definition hyp_curvature (s : biased_step) : Prop := trace (augmented s) <= curvature s.

(** The sum that [hyp_curvature] bounds is that of |x_i|^2 + 1. *)
Lemma extend_square n a : dot (S n) (extend n a 1) (extend n a 1) = dot n a a + 1.
Proof.
  unfold dot. simpl. unfold extend at 3 4. destruct (Nat.eq_dec n n) as [_|]; [|congruence].
  rewrite (sum_ext n _ (fun j => a j * a j)); [ring|].
  intros j Hj. unfold extend. destruct (Nat.eq_dec j n); [lia | reflexivity].
Qed.

Lemma augmented_ok (s : biased_step) : step_ok s -> step_ok (augmented s).
Proof. intros [[Hn Ha Ht Hy] Hp]. split; [split; assumption | exact Hp]. Qed.

Theorem bias (s : biased_step) :
  step_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s -> hyp_step_size s ->
  norm (S (dim s)) (next_difference (augmented s))
  <= decay s * norm (S (dim s)) (difference (augmented s)).
Proof.
  intros ok Hs He HT Hc.
  exact (contraction (augmented s) (augmented_ok s ok) Hs He HT Hc).
Qed.

(** ** A bias that is not decayed *)

(** (D+, b+) after a step that decays the weights alone. *)
Definition undecayed_next (s : biased_step) : vec := fun j =>
  (if Nat.eq_dec j (dim s) then 1 else decay s) * difference (augmented s) j
  - step_size s * operator (augmented s) (difference (augmented s)) j.

Definition undecayed_bias_bound (s : biased_step) : Prop :=
  norm (S (dim s)) (undecayed_next s) <= decay s * norm (S (dim s)) (difference (augmented s)).

(** Rows (1, 1), (1, 0), (0, 0), no feature: the biases alone differ. *)
Definition biases_apart : biased_step :=
  BiasedStep
    (Step 1 3 (fun k _ => if Nat.eq_dec k 2 then 0 else 1) (one_example 0)
       0 1 (1 / 2) 1 (1 / 2) 1 (1 / 2))
    (fun k => if Nat.eq_dec k 0 then 1 else 0).

Lemma biases_apart_ok : step_ok biases_apart.
Proof. split; [apply one_example_ok | apply first_pair_ok]. Qed.

Lemma biases_apart_unseen : hyp_unseen biases_apart.
Proof. split; apply one_example_unseen; simpl; lia. Qed.

Lemma biases_apart_radius : hyp_radius (augmented biases_apart).
Proof.
  intros i _. unfold norm. change (dim (augmented biases_apart)) with 2%nat.
  change (feature (data (augmented biases_apart)) i) with (extend 1 (fun _ => 0) 1).
  rewrite extend_square, dot_1, Rmult_0_l, Rplus_0_l, sqrt_1. simpl. lra.
Qed.

Lemma biases_apart_curvature : hyp_curvature biases_apart.
Proof.
  eapply Rle_trans;
    [apply (trace_le_radius _ (augmented_ok _ biases_apart_ok) biases_apart_radius)|].
  unfold Rsqr; simpl. lra.
Qed.

Lemma biases_apart_difference j :
  difference (augmented biases_apart) j = if Nat.eq_dec j 1 then 1 else 0.
Proof.
  unfold difference, wdiff, vsub, augmented, extend, biases_apart. simpl.
  destruct (Nat.eq_dec j 1); ring.
Qed.

Lemma norm_last a : a 0%nat = 0 -> norm 2 a = Rabs (a 1%nat).
Proof.
  intros H. unfold norm, dot. simpl. rewrite H, Rmult_0_l, !Rplus_0_l. apply sqrt_Rsqr_abs.
Qed.

Theorem undecayed_bias :
  ~ (forall s : biased_step,
       step_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s ->
       hyp_step_size s -> undecayed_bias_bound s).
Proof.
  intros H.
  assert (H1 : undecayed_bias_bound biases_apart).
  { apply H; [apply biases_apart_ok | apply biases_apart_unseen | | apply biases_apart_curvature |].
    - unfold hyp_nonnegative_step; simpl; lra.
    - unfold hyp_step_size; simpl; lra. }
  unfold undecayed_bias_bound in H1. change (S (dim biases_apart)) with 2%nat in H1.
  set (L := mean (augmented biases_apart) 0).
  assert (HL : L <= 1 / 2) by apply (mean_le_half _ (augmented_ok _ biases_apart_ok)).
  assert (E : forall j, operator (augmented biases_apart) (difference (augmented biases_apart)) j
                        = L * extend 1 (fun _ => 0) 1 j).
  { intros j. unfold operator, form, vsum.
    change (size (data (augmented biases_apart))) with 1%nat. cbn [sum].
    unfold vscal, coefficient. fold L.
    change (feature (data (augmented biases_apart)) 0%nat) with (extend 1 (fun _ => 0) 1).
    change (weight (data (augmented biases_apart)) 0%nat) with 1.
    change (dim (augmented biases_apart)) with 2%nat.
    unfold dot. cbn [sum]. rewrite !biases_apart_difference. unfold extend at 1 2. simpl. ring. }
  assert (E0 : undecayed_next biases_apart 0%nat = 0).
  { unfold undecayed_next. rewrite E, biases_apart_difference. unfold extend. simpl. ring. }
  assert (E1 : undecayed_next biases_apart 1%nat = 1 - 1 / 2 * L).
  { unfold undecayed_next. rewrite E, biases_apart_difference. unfold extend. simpl. ring. }
  rewrite norm_last in H1 by exact E0.
  rewrite norm_last in H1 by (rewrite biases_apart_difference; reflexivity).
  rewrite E1, biases_apart_difference in H1. simpl in H1.
  rewrite Rabs_R1, Rabs_pos_eq in H1 by lra. unfold decay in H1. simpl in H1. lra.
Qed.

Example bias_met : exists s : biased_step,
  step_ok s /\ hyp_unseen s /\ hyp_nonnegative_step s /\ hyp_curvature s /\ hyp_step_size s
  /\ norm (S (dim s)) (difference (augmented s)) = 1.
Proof.
  exists biases_apart. conjuncts;
    [apply biases_apart_ok | apply biases_apart_unseen | | apply biases_apart_curvature | |].
  - unfold hyp_nonnegative_step; simpl; lra.
  - unfold hyp_step_size; simpl; lra.
  - change (S (dim biases_apart)) with 2%nat.
    rewrite norm_last, biases_apart_difference by (rewrite biases_apart_difference; reflexivity).
    apply Rabs_R1.
Qed.

Example undecayed_bias_met : exists s : biased_step,
  step_ok s /\ hyp_unseen s /\ hyp_nonnegative_step s /\ hyp_curvature s /\ hyp_step_size s
  /\ norm (S (dim s)) (difference (augmented s)) = 1.
Proof. exact bias_met. Qed.
