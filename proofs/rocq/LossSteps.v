(** * Steps on variants of the loss

    A step whose gradient in row k is sum_i a_i g_ik x_i maps the difference
    of two rows linearly wherever g_iu - g_iv = c_i <D, x_i>   [pair_after_form];
    with c_i >= 0 the step then contracts  [pair_contracts].  Every claim
    about a variant of the loss is one of these two facts. *)

From Coq Require Import Reals Lra Lia Arith.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances OneStep.
Local Open Scope R_scope.

(** The settings of several tricks; a claim uses that of its own. *)
Record loss_step := LossStep {
  base :> step;
  target_u : nat -> R;  (* q_iu, soft targets *)
  target_v : nat -> R;
  mask : nat -> bool;  (* whether the logits of u and v take part *)
  smoothing : R;  (* s *)
  temperature : R;  (* tau *)
  scale : R;  (* b, a factor of the loss *)
  clip : R  (* C *)
}.

Record loss_ok (s : loss_step) : Prop := {
  loss_base : step_ok s;
  targets_nonneg : forall i, 0 <= target_u s i /\ 0 <= target_v s i;
  targets_total : forall i, target_u s i + target_v s i <= 1;
  smoothing_share : 0 <= smoothing s <= 1;
  temperature_pos : 0 < temperature s;
  scale_pos : 0 < scale s;
  clip_pos : 0 < clip s
}.

(** The gradient with derivatives g_ik by the logits. *)
Definition rows_gradient (B : batch) (g : nat -> nat -> R) : model := fun k =>
  vsum (size B) (fun i => vscal (weight B i * g i k) (feature B i)).

(** w_u - w_v after a step with gradient [G] of the loss and the decay. *)
Definition pair_after (s : step) (G : model) : vec :=
  wdiff (fun k => descend (step_size s) (weight_decay s) (rows s k) (G k)) (row_u s) (row_v s).

Lemma pair_after_split s G j :
  pair_after s G j = decay s * difference s j - step_size s * (G (row_u s) j - G (row_v s) j).
Proof. unfold pair_after, wdiff, descend, vsub, vscal, vadd, decay, difference, wdiff, vsub. ring.
Qed.

Lemma pair_after_form s g (c : nat -> R) :
  (forall i, (i < size (data s))%nat -> weight (data s) i <> 0 ->
     g i (row_u s) - g i (row_v s) = c i * dot (dim s) (difference s) (feature (data s) i)) ->
  veq (dim s) (pair_after s (rows_gradient (data s) g))
    (fmap (dim s) (size (data s)) (fun i => weight (data s) i * c i) (feature (data s))
       (decay s) (step_size s) (difference s)).
Proof.
  intros H j _. rewrite pair_after_split. unfold fmap, rows_gradient, form, vsum, vsub.
  rewrite <- sum_minus. unfold vscal at 3 4. f_equal. f_equal. apply sum_ext; intros i Hi.
  unfold vscal.
  destruct (Req_dec (weight (data s) i) 0) as [E|E]; [rewrite E; ring|].
  replace (weight (data s) i * c i * dot (dim s) (difference s) (feature (data s) i))
    with (weight (data s) i * (c i * dot (dim s) (difference s) (feature (data s) i))) by ring.
  rewrite <- H by assumption. ring.
Qed.

Lemma pair_contracts s g (c : nat -> R) (T : R) :
  (forall i, (i < size (data s))%nat -> weight (data s) i <> 0 ->
     g i (row_u s) - g i (row_v s) = c i * dot (dim s) (difference s) (feature (data s) i)) ->
  (forall i, (i < size (data s))%nat -> 0 <= weight (data s) i * c i) ->
  sum (size (data s)) (fun i =>
    weight (data s) i * c i * dot (dim s) (feature (data s) i) (feature (data s) i)) <= T ->
  0 <= step_size s -> step_size s * (2 * weight_decay s + T) <= 2 ->
  norm (dim s) (pair_after s (rows_gradient (data s) g))
  <= decay s * norm (dim s) (difference s).
Proof.
  intros H Hc HT He Hs. rewrite (norm_ext _ _ _ (pair_after_form s g c H)).
  apply map_upper with (T := T); trivial. unfold decay. lra.
Qed.

(** [indicator] vanishes on unseen labels. *)
Lemma unseen_indicator s i k :
  step_ok s -> unseen (data s) k -> (i < size (data s))%nat -> weight (data s) i <> 0 ->
  indicator (target (data s) i) k = 0.
Proof.
  intros ok Hk Hi Hw. destruct (step_batch s ok) as [_ Ha _ _]. specialize (Ha i Hi).
  unfold indicator. destruct (Nat.eq_dec (target (data s) i) k) as [E|]; [|reflexivity].
  now elim (Hk i Hi ltac:(lra)).
Qed.

(** p_u - p_v = L <D, x>, in the words of a step. *)
Lemma gap s i :
  step_ok s ->
  softmax (dim s) (labels s) (rows s) (feature (data s) i) (row_u s)
  - softmax (dim s) (labels s) (rows s) (feature (data s) i) (row_v s)
  = mean s i * dot (dim s) (difference s) (feature (data s) i).
Proof. intros ok. apply (softmax_gap _ _ (labels_pos s ok)). Qed.

(** ** A small instance *)

Definition small_loss (z eta lambda : R) : loss_step :=
  LossStep (small z eta lambda) (fun _ => 1 / 4) (fun _ => 1 / 4) (fun _ => true) (1 / 2) 2 4 1.

Lemma small_loss_ok z eta lambda : loss_ok (small_loss z eta lambda).
Proof. split; [apply small_ok | intros; simpl; lra ..]. Qed.
