(** * A gradient step on a linear softmax head

    A [step] holds the data of one step: the rows W, the batch, two labels
    u and v, the step size, the weight decay and the numbers that bound the
    batch.  [next_rows] is the step on
      sum_i a_i (-ln p_{y_i}(x_i)) + (lambda/2) |W|^2
    (that [gradient] is its gradient is shown in [Gradients.v]).  The
    hypotheses of the claims are named here, [hyp_<id>], with the ids that
    they have in the claims' own files. *)

From Coq Require Import Reals Lra Lia Arith.
From Collapse Require Import Sums Vectors LogMean Softmax Forms.
Local Open Scope R_scope.

(** Features x_i, weights a_i and targets y_i of [size] examples. *)
Record batch := Batch {
  size : nat;
  feature : nat -> vec;
  weight : nat -> R;
  target : nat -> nat
}.

Record step := Step {
  dim : nat;
  labels : nat;
  rows : model;
  data : batch;
  row_u : nat;
  row_v : nat;
  step_size : R;
  weight_decay : R;
  curvature : R;  (* T *)
  radius : R;  (* r *)
  pbar : R
}.

Definition indicator (y k : nat) : R := if Nat.eq_dec y k then 1 else 0.

(** What makes data a batch: some examples, weights that are not negative and
    sum to at most 1, targets that are labels. *)
Record batch_ok (labels : nat) (B : batch) : Prop := {
  size_pos : (0 < size B)%nat;
  weight_nonneg : forall i, (i < size B)%nat -> 0 <= weight B i;
  weight_total : sum (size B) (weight B) <= 1;
  target_label : forall i, (i < size B)%nat -> (target B i < labels)%nat
}.

(** Two different labels. *)
Record pair_ok (labels u v : nat) : Prop := {
  pair_u : (u < labels)%nat;
  pair_v : (v < labels)%nat;
  pair_distinct : u <> v
}.

Record step_ok (s : step) : Prop := {
  step_batch : batch_ok (labels s) (data s);
  step_pair : pair_ok (labels s) (row_u s) (row_v s)
}.

(** No example that counts has label [k] as its target. *)
Definition unseen (B : batch) (k : nat) : Prop :=
  forall i, (i < size B)%nat -> 0 < weight B i -> target B i <> k.

(** ** The step *)

(** The gradient of the loss in row k, without the decay. *)
Definition gradient (n K : nat) (B : batch) (W : model) (k : nat) : vec :=
  vsum (size B) (fun i =>
    vscal (weight B i * (softmax n K W (feature B i) k - indicator (target B i) k))
      (feature B i)).

(** One row after a step with gradient [g] of the loss and decay [lambda]. *)
Definition descend (eta lambda : R) (w g : vec) : vec :=
  vsub w (vscal eta (vadd g (vscal lambda w))).

Definition next_rows (s : step) : model := fun k =>
  descend (step_size s) (weight_decay s) (rows s k)
    (gradient (dim s) (labels s) (data s) (rows s) k).

(** D = w_u - w_v before and after the step. *)
Definition difference (s : step) : vec := wdiff (rows s) (row_u s) (row_v s).
Definition next_difference (s : step) : vec := wdiff (next_rows s) (row_u s) (row_v s).

(** c = 1 - eta lambda. *)
Definition decay (s : step) : R := 1 - step_size s * weight_decay s.

(** L_i, the logarithmic mean of p_u(x_i) and p_v(x_i). *)
Definition mean (s : step) (i : nat) : R :=
  lmean (dim s) (labels s) (rows s) (row_u s) (row_v s) (feature (data s) i).

Definition coefficient (s : step) (i : nat) : R := weight (data s) i * mean s i.

(** M z = sum_i a_i L_i <z, x_i> x_i and its trace. *)
Definition operator (s : step) (z : vec) : vec :=
  form (dim s) (size (data s)) (coefficient s) (feature (data s)) z.

Definition trace (s : step) : R :=
  sum (size (data s)) (fun i =>
    coefficient s i * dot (dim s) (feature (data s) i) (feature (data s) i)).

(** ** Hypotheses *)

Definition hyp_unseen (s : step) : Prop :=
  unseen (data s) (row_u s) /\ unseen (data s) (row_v s).

Definition hyp_nonnegative_step (s : step) : Prop := 0 <= step_size s.

Definition hyp_nonnegative_decay (s : step) : Prop := 0 <= weight_decay s.

Definition hyp_curvature (s : step) : Prop := trace s <= curvature s.

Definition hyp_step_size (s : step) : Prop :=
  step_size s * (2 * weight_decay s + curvature s) <= 2.

Definition hyp_radius (s : step) : Prop :=
  forall i, (i < size (data s))%nat -> norm (dim s) (feature (data s) i) <= radius s.

Definition hyp_pbar (s : step) : Prop :=
  forall i, (i < size (data s))%nat -> mean s i <= pbar s.

Definition hyp_decay_at_most_one (s : step) : Prop := step_size s * weight_decay s <= 1.

(** ** What is true of every step *)

Section Facts.
Variable s : step.
Hypothesis ok : step_ok s.

Lemma labels_pos : (0 < labels s)%nat.
Proof. destruct ok as [_ [Hu _ _]]. lia. Qed.

Lemma mean_pos i : 0 < mean s i.
Proof. apply (lmean_pos _ _ labels_pos). Qed.

Lemma mean_le_half i : mean s i <= 1 / 2.
Proof. destruct ok as [_ [Hu Hv Huv]]. apply (lmean_le_half _ _ labels_pos); assumption. Qed.

Lemma coefficient_nonneg i : (i < size (data s))%nat -> 0 <= coefficient s i.
Proof.
  intros Hi. destruct ok as [[_ Ha _ _] _].
  apply Rmult_le_pos; [now apply Ha | apply Rlt_le, mean_pos].
Qed.

Lemma trace_nonneg : 0 <= trace s.
Proof.
  now apply (Forms.trace_nonneg (dim s) (size (data s)) (coefficient s) (feature (data s)));
    [apply coefficient_nonneg | apply Rle_refl].
Qed.

(** tr M <= r^2 / 2, whatever the rows. *)
Lemma trace_le_radius : hyp_radius s -> trace s <= (radius s)² / 2.
Proof.
  intros Hr. destruct ok as [[_ Ha Ht _] _].
  apply Rle_trans with (sum (size (data s)) (fun i => weight (data s) i * ((radius s)² / 2))).
  - apply sum_le; intros i Hi. unfold coefficient. rewrite Rmult_assoc.
    apply Rmult_le_compat_l; [now apply Ha|].
    assert (H0 := norm_nonneg (dim s) (feature (data s) i)). specialize (Hr i Hi).
    assert (H1 : dot (dim s) (feature (data s) i) (feature (data s) i) <= (radius s)²)
      by (rewrite <- norm_sqr; apply Rsqr_incr_1; lra).
    assert (H2 := dot_self_nonneg (dim s) (feature (data s) i)).
    assert (H3 := mean_pos i). assert (H4 := mean_le_half i). nra.
  - rewrite sum_scal_r. assert (0 <= (radius s)²) by apply Rle_0_sqr. nra.
Qed.

End Facts.
