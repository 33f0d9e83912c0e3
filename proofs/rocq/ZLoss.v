(** * The z-loss

    Cross-entropy plus zeta (ln Z)^2 multiplies each L_i by the factor
    1 + 2 zeta ln Z_i  [z_loss_recursion]; a step contracts while the factors
    are not negative and T bounds the trace with them  [z_loss].  T = r^2/2
    no longer serves  [z_loss_half], unless the factors lie in [0, 1]
    [z_loss_half_mended]. *)

From Coq Require Import Reals Lra Lia Arith.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances OneStep LossSteps.
Local Open Scope R_scope.

Record z_loss_step := ZLossStep { base :> step; zeta : R }.

Definition factor (s : z_loss_step) (i : nat) : R :=
  1 + 2 * zeta s * ln (partition (dim s) (labels s) (rows s) (feature (data s) i)).

(** The derivative of an example's loss by the logits. *)
Definition z_residual (s : z_loss_step) (i k : nat) : R :=
  softmax (dim s) (labels s) (rows s) (feature (data s) i) k * factor s i
  - indicator (target (data s) i) k.

Definition z_next (s : z_loss_step) : vec :=
  pair_after s (rows_gradient (data s) (z_residual s)).

(** tr M with the factors. *)
Definition z_trace (s : z_loss_step) : R :=
  sum (size (data s)) (fun i =>
    weight (data s) i * (factor s i * mean s i)
    * dot (dim s) (feature (data s) i) (feature (data s) i)).

Definition hyp_nonnegative_factor (s : z_loss_step) : Prop :=
  forall i, (i < size (data s))%nat -> 0 <= factor s i.

Definition hyp_curvature (s : z_loss_step) : Prop := z_trace s <= curvature s.

Definition hyp_step_size_from_radius (s : z_loss_step) : Prop :=
  step_size s * (2 * weight_decay s + (radius s)² / 2) <= 2.

Definition hyp_factor_at_most_one (s : z_loss_step) : Prop :=
  forall i, (i < size (data s))%nat -> 0 <= factor s i <= 1.

Lemma z_gap (s : z_loss_step) i :
  step_ok s -> hyp_unseen s -> (i < size (data s))%nat -> weight (data s) i <> 0 ->
  z_residual s i (row_u s) - z_residual s i (row_v s)
  = factor s i * mean s i * dot (dim s) (difference s) (feature (data s) i).
Proof.
  intros ok [Hu Hv] Hi Hw. unfold z_residual. rewrite !(unseen_indicator s i) by assumption.
  rewrite Rmult_assoc, <- (gap s i ok). ring.
Qed.

Theorem z_loss_recursion (s : z_loss_step) :
  step_ok s -> hyp_unseen s ->
  veq (dim s) (z_next s)
    (vsub (vscal (decay s) (difference s))
       (vscal (step_size s)
          (form (dim s) (size (data s)) (fun i => weight (data s) i * (factor s i * mean s i))
             (feature (data s)) (difference s)))).
Proof.
  intros ok Hs. apply (pair_after_form s (z_residual s) (fun i => factor s i * mean s i)).
  intros i Hi Hw. now apply z_gap.
Qed.

Theorem z_loss (s : z_loss_step) :
  step_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_nonnegative_factor s ->
  hyp_curvature s -> hyp_step_size s ->
  norm (dim s) (z_next s) <= decay s * norm (dim s) (difference s).
Proof.
  intros ok Hs He Hf HT Hc. destruct (step_batch s ok) as [_ Ha _ _].
  apply pair_contracts with (fun i => factor s i * mean s i) (curvature s); trivial.
  - intros i Hi Hw. now apply z_gap.
  - intros i Hi. apply Rmult_le_pos; [now apply Ha|].
    apply Rmult_le_pos; [now apply Hf | apply Rlt_le, mean_pos, ok].
Qed.

(** ** T = r^2/2 *)

Definition z_loss_half_bound (s : z_loss_step) : Prop :=
  norm (dim s) (z_next s) <= decay s * norm (dim s) (difference s).

(** With r = 1, eta = 4 and no decay, zeta is such that the factor is 1/L:
    then D+ = D - 4 D. *)
Definition large_factor : z_loss_step :=
  let s := small 1 4 0 in
  ZLossStep s ((/ mean s 0 - 1) / (2 * ln (partition 1 3 one_row (fun _ => 1)))).

Lemma large_factor_value : factor large_factor 0 * mean large_factor 0 = 1.
Proof.
  assert (Hm : 0 < mean (small 1 4 0) 0) by (apply mean_pos, small_ok).
  assert (Hp : 0 < ln (partition 1 3 one_row (fun _ => 1))).
  { rewrite <- ln_1. apply ln_increasing; [lra|].
    unfold partition, logit. simpl. rewrite !dot_1. unfold one_row. simpl.
    rewrite Rmult_0_l, exp_0. generalize (exp_pos (1 * 1)). lra. }
  unfold factor, large_factor. cbn [zeta base].
  change (dim (small 1 4 0)) with 1%nat. change (labels (small 1 4 0)) with 3%nat.
  change (rows (small 1 4 0)) with one_row.
  change (feature (data (small 1 4 0)) 0%nat) with (fun _ : nat => 1).
  field. split; apply Rgt_not_eq; assumption.
Qed.

Theorem z_loss_half :
  ~ (forall s : z_loss_step,
       step_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_radius s ->
       hyp_step_size_from_radius s -> z_loss_half_bound s).
Proof.
  intros H.
  assert (H1 : z_loss_half_bound large_factor).
  { apply H; [apply small_ok | apply small_unseen | | apply small_radius; lra |].
    - unfold hyp_nonnegative_step; simpl; lra.
    - unfold hyp_step_size_from_radius, Rsqr; simpl; lra. }
  unfold z_loss_half_bound in H1.
  assert (E : z_next large_factor 0%nat = -3).
  { rewrite (z_loss_recursion large_factor (small_ok 1 4 0) (small_unseen 1 4 0) 0%nat)
      by (simpl; lia).
    unfold vsub, vscal at 1 2, form, vsum.
    change (size (data large_factor)) with 1%nat. change (dim large_factor) with 1%nat.
    cbn [sum]. rewrite large_factor_value, dot_1.
    change (difference large_factor) with (difference (small 1 4 0)). rewrite small_difference.
    unfold vscal, decay. simpl. ring. }
  change (dim large_factor) with 1%nat in H1.
  rewrite !norm_1, E in H1.
  change (difference large_factor) with (difference (small 1 4 0)) in H1.
  rewrite small_difference, Rabs_R1, Rabs_left in H1 by lra.
  unfold decay in H1. simpl in H1. lra.
Qed.

Theorem z_loss_half_mended (s : z_loss_step) :
  step_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_radius s ->
  hyp_step_size_from_radius s -> hyp_factor_at_most_one s -> z_loss_half_bound s.
Proof.
  intros ok Hs He Hr Hc Hf. destruct (step_batch s ok) as [_ Ha _ _].
  apply pair_contracts with (fun i => factor s i * mean s i) ((radius s)² / 2); trivial.
  - intros i Hi Hw. now apply z_gap.
  - intros i Hi. apply Rmult_le_pos; [now apply Ha|].
    apply Rmult_le_pos; [now apply Hf | apply Rlt_le, mean_pos, ok].
  - apply Rle_trans with (2 := trace_le_radius s ok Hr).
    apply sum_le; intros i Hi. apply Rmult_le_compat_r; [apply dot_self_nonneg|].
    apply Rmult_le_compat_l; [now apply Ha|].
    destruct (Hf i Hi) as [_ H1]. assert (H2 := mean_pos s ok i).
    rewrite <- (Rmult_1_l (mean s i)) at 2. apply Rmult_le_compat_r; lra.
Qed.

(** ** The hypotheses can be met, with zeta = 0 *)

Definition plain : z_loss_step := ZLossStep (small 1 (1 / 2) 1) 0.

Lemma plain_factor i : factor plain i = 1.
Proof. unfold factor. simpl zeta. ring. Qed.

Lemma plain_curvature : hyp_curvature plain.
Proof.
  apply Rle_trans with (2 := small_curvature 1 (1 / 2) 1 Rle_0_1). right.
  apply sum_ext; intros i _. rewrite plain_factor, Rmult_1_l. reflexivity.
Qed.

Example z_loss_recursion_met : exists s : z_loss_step,
  step_ok s /\ hyp_unseen s /\ 1 < factor s 0 * mean s 0 + 1 /\ norm (dim s) (difference s) = 1.
Proof.
  exists large_factor. conjuncts;
    [apply small_ok | apply small_unseen | rewrite large_factor_value; lra | apply small_distance].
Qed.

Example z_loss_met : exists s : z_loss_step,
  step_ok s /\ hyp_unseen s /\ hyp_nonnegative_step s /\ hyp_nonnegative_factor s
  /\ hyp_curvature s /\ hyp_step_size s /\ norm (dim s) (difference s) = 1.
Proof.
  exists plain. conjuncts;
    [apply small_ok | apply small_unseen | | | apply plain_curvature | | apply small_distance].
  - unfold hyp_nonnegative_step; simpl; lra.
  - intros i _. rewrite plain_factor. lra.
  - unfold hyp_step_size, plain, small, Rsqr; simpl; lra.
Qed.

Example z_loss_half_met : exists s : z_loss_step,
  step_ok s /\ hyp_unseen s /\ hyp_nonnegative_step s /\ hyp_radius s
  /\ hyp_step_size_from_radius s /\ norm (dim s) (difference s) = 1.
Proof.
  exists plain. conjuncts;
    [apply small_ok | apply small_unseen | | apply small_radius; lra | | apply small_distance].
  - unfold hyp_nonnegative_step; simpl; lra.
  - unfold hyp_step_size_from_radius, plain, small, Rsqr; simpl; lra.
Qed.
