(** * Soft targets, smoothing, temperature, masks

    Labels with equal target mass on every example contract as unseen ones do
    [twins]; label smoothing leaves the recursion as it is [label_smoothing];
    a temperature tau divides M by tau^2 [temperature]; examples on which the
    logits of u and v are masked add nothing to M [masked_logits]. *)

From Coq Require Import Reals Lra Lia Arith.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances OneStep LossSteps.
Local Open Scope R_scope.

(** ** Twins *)

Definition hyp_twins (s : loss_step) : Prop :=
  forall i, (i < size (data s))%nat -> 0 < weight (data s) i -> target_u s i = target_v s i.

(** p_k - q_ik for k = u and v. *)
Definition twin_residual (s : loss_step) (i k : nat) : R :=
  softmax (dim s) (labels s) (rows s) (feature (data s) i) k
  - (if Nat.eq_dec k (row_u s) then target_u s i else target_v s i).

Definition twin_next (s : loss_step) : vec :=
  pair_after s (rows_gradient (data s) (twin_residual s)).

Theorem twins (s : loss_step) :
  loss_ok s -> hyp_twins s -> hyp_nonnegative_step s -> hyp_curvature s -> hyp_step_size s ->
  norm (dim s) (twin_next s) <= decay s * norm (dim s) (difference s).
Proof.
  intros lok Ht He HT Hc. assert (ok := loss_base s lok).
  destruct (step_batch s ok) as [_ Ha _ _]. destruct (step_pair s ok) as [_ _ Huv].
  apply pair_contracts with (mean s) (curvature s); trivial.
  - intros i Hi Hw0. unfold twin_residual.
    destruct (Nat.eq_dec (row_u s) (row_u s)) as [_|]; [|congruence].
    destruct (Nat.eq_dec (row_v s) (row_u s)) as [F|_]; [congruence|].
    rewrite <- (gap s i ok). rewrite (Ht i Hi); [ring|]. specialize (Ha i Hi). lra.
  - intros i Hi. apply (coefficient_nonneg s ok i Hi).
Qed.

(** ** Label smoothing *)

Definition smoothed_residual (s : loss_step) (i k : nat) : R :=
  softmax (dim s) (labels s) (rows s) (feature (data s) i) k
  - (indicator (target (data s) i) k * (1 - smoothing s) + smoothing s / INR (labels s)).

Theorem label_smoothing (s : loss_step) :
  loss_ok s -> hyp_unseen s ->
  veq (dim s) (pair_after s (rows_gradient (data s) (smoothed_residual s)))
    (vsub (vscal (decay s) (difference s)) (vscal (step_size s) (operator s (difference s)))).
Proof.
  intros lok [Hu Hv]. assert (ok := loss_base s lok).
  apply (pair_after_form s (smoothed_residual s) (mean s)).
  intros i Hi Hw. unfold smoothed_residual. rewrite <- (gap s i ok).
  rewrite !(unseen_indicator s i) by assumption. ring.
Qed.

(** ** Temperature *)

(** x_i / tau. *)
Definition cooled (s : loss_step) (i : nat) : vec :=
  vscal (/ temperature s) (feature (data s) i).

(** L_i of the logits divided by tau. *)
Definition cooled_mean (s : loss_step) (i : nat) : R :=
  lmean (dim s) (labels s) (rows s) (row_u s) (row_v s) (cooled s i).

(** The gradient of b times the loss on logits divided by tau. *)
Definition tempered (s : loss_step) : model := fun k =>
  vscal (scale s) (vsum (size (data s)) (fun i =>
    vscal (weight (data s) i * (softmax (dim s) (labels s) (rows s) (cooled s i) k
                                - indicator (target (data s) i) k)) (cooled s i))).

Theorem temperature (s : loss_step) :
  loss_ok s -> hyp_unseen s ->
  veq (dim s) (pair_after s (tempered s))
    (vsub (vscal (decay s) (difference s))
       (vscal (step_size s * scale s / (temperature s * temperature s))
          (form (dim s) (size (data s)) (fun i => weight (data s) i * cooled_mean s i)
             (feature (data s)) (difference s)))).
Proof.
  intros lok [Hu Hv] j Hj. assert (ok := loss_base s lok).
  assert (Ht := temperature_pos s lok).
  set (g := fun i k => scale s / LossSteps.temperature s
                       * (softmax (dim s) (labels s) (rows s) (cooled s i) k
                          - indicator (target (data s) i) k)).
  assert (E : forall k, tempered s k j = rows_gradient (data s) g k j).
  { intros k. unfold tempered, rows_gradient, vscal at 1, vsum. rewrite <- sum_scal.
    apply sum_ext; intros i _. unfold g, vscal, cooled, vscal, Rdiv. ring. }
  rewrite pair_after_split, !E, <- pair_after_split.
  rewrite (pair_after_form s g (fun i =>
             scale s / (LossSteps.temperature s * LossSteps.temperature s) * cooled_mean s i)).
  - unfold fmap, vsub. f_equal. unfold vscal, form, vsum. rewrite <- !sum_scal.
    apply sum_ext; intros i _. unfold vscal, Rdiv. ring.
  - intros i Hi Hw. unfold g. rewrite !(unseen_indicator s i) by assumption.
    assert (G := softmax_gap (dim s) (labels s) (labels_pos s ok) (rows s) (cooled s i)
                   (row_u s) (row_v s)).
    fold (cooled_mean s i) (difference s) in G. unfold cooled at 3 in G.
    rewrite dot_scal_r in G. rewrite !Rminus_0_r, <- Rmult_minus_distr_l, G. field. lra.
  - exact Hj.
Qed.

(** ** Masks *)

(** 1 for labels that take part on example i, 0 for those left out. *)
Definition kept (s : loss_step) (i k : nat) : R :=
  if mask s i then 1
  else if Nat.eq_dec k (row_u s) then 0 else if Nat.eq_dec k (row_v s) then 0 else 1.

Definition masked_softmax (s : loss_step) (i k : nat) : R :=
  kept s i k * exp (logit (dim s) (rows s) (feature (data s) i) k)
  / sum (labels s) (fun j => kept s i j * exp (logit (dim s) (rows s) (feature (data s) i) j)).

Definition masked_residual (s : loss_step) (i k : nat) : R :=
  masked_softmax s i k - indicator (target (data s) i) k.

Lemma unmasked s i k :
  mask s i = true ->
  masked_softmax s i k = softmax (dim s) (labels s) (rows s) (feature (data s) i) k.
Proof.
  intros H. unfold masked_softmax, softmax, partition, kept. rewrite H, Rmult_1_l.
  rewrite (sum_ext (labels s) _ (fun j => exp (logit (dim s) (rows s) (feature (data s) i) j)))
    by (intros; ring).
  reflexivity.
Qed.

Theorem masked_logits (s : loss_step) :
  loss_ok s -> hyp_unseen s ->
  veq (dim s) (pair_after s (rows_gradient (data s) (masked_residual s)))
    (vsub (vscal (decay s) (difference s))
       (vscal (step_size s)
          (form (dim s) (size (data s))
             (fun i => weight (data s) i * (mean s i * (if mask s i then 1 else 0)))
             (feature (data s)) (difference s)))).
Proof.
  intros lok [Hu Hv]. assert (ok := loss_base s lok).
  apply (pair_after_form s (masked_residual s) (fun i => mean s i * (if mask s i then 1 else 0))).
  intros i Hi Hw. unfold masked_residual. rewrite !(unseen_indicator s i) by assumption.
  destruct (mask s i) eqn:E.
  - rewrite !unmasked by assumption. rewrite Rmult_1_r, <- (gap s i ok). ring.
  - unfold masked_softmax, kept. rewrite E.
    destruct (Nat.eq_dec (row_u s) (row_u s)) as [_|]; [|congruence].
    destruct (Nat.eq_dec (row_v s) (row_u s)) as [_|_];
      [|destruct (Nat.eq_dec (row_v s) (row_v s)) as [_|]; [|congruence]];
      unfold Rdiv; ring.
Qed.

(** ** The hypotheses can be met *)

Example twins_met : exists s : loss_step,
  loss_ok s /\ hyp_twins s /\ hyp_nonnegative_step s /\ hyp_curvature s /\ hyp_step_size s
  /\ 0 < target_u s 0 /\ norm (dim s) (difference s) = 1.
Proof.
  exists (small_loss 1 (1 / 2) 1). conjuncts;
    [apply small_loss_ok | intros i _ _; reflexivity | | apply small_curvature; lra | |
    | apply small_distance].
  - unfold hyp_nonnegative_step; simpl; lra.
  - unfold hyp_step_size, small_loss, small, Rsqr; simpl; lra.
  - simpl; lra.
Qed.

Example label_smoothing_met : exists s : loss_step,
  loss_ok s /\ hyp_unseen s /\ 0 < smoothing s /\ norm (dim s) (difference s) = 1.
Proof.
  exists (small_loss 1 (1 / 2) 1). conjuncts;
    [apply small_loss_ok | apply small_unseen | simpl; lra | apply small_distance].
Qed.

Example temperature_met : exists s : loss_step,
  loss_ok s /\ hyp_unseen s /\ 1 < LossSteps.temperature s /\ norm (dim s) (difference s) = 1.
Proof.
  exists (small_loss 1 (1 / 2) 1). conjuncts;
    [apply small_loss_ok | apply small_unseen | simpl; lra | apply small_distance].
Qed.

Example masked_logits_met : exists s : loss_step,
  loss_ok s /\ hyp_unseen s /\ norm (dim s) (difference s) = 1.
Proof.
  exists (small_loss 1 (1 / 2) 1). conjuncts;
    [apply small_loss_ok | apply small_unseen | apply small_distance].
Qed.
