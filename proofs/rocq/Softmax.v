(** * Softmax probabilities and the gap identity (T1) *)

From Coq Require Import Reals Lra Lia.
From Collapse Require Import Sums Vectors LogMean.
Local Open Scope R_scope.

(** A model assigns a weight vector to each label [0 .. K-1]. *)
Definition model := nat -> vec.

Section Softmax.
Variables (n K : nat).

(** [logit W x k] = <w_k, x> and [softmax W x k] = p_k(x). *)
Definition logit (W : model) (x : vec) (k : nat) : R := dot n (W k) x.

Definition partition (W : model) (x : vec) : R := sum K (fun j => exp (logit W x j)).

Definition softmax (W : model) (x : vec) (k : nat) : R :=
  exp (logit W x k) / partition W x.

(** The logarithmic mean of the probabilities of two labels. *)
Definition lmean (W : model) (u v : nat) (x : vec) : R :=
  logmean (softmax W x u) (softmax W x v).

(** The weight difference of two labels. *)
Definition wdiff (W : model) (u v : nat) : vec := vsub (W u) (W v).

Hypothesis K_pos : (0 < K)%nat.

Lemma partition_pos W x : 0 < partition W x.
Proof. apply sum_pos; [assumption|]. intros; apply exp_pos. Qed.

Lemma softmax_pos W x k : 0 < softmax W x k.
Proof. apply Rdiv_lt_0_compat; [apply exp_pos | apply partition_pos]. Qed.

Lemma softmax_sum_1 W x : sum K (softmax W x) = 1.
Proof.
  unfold softmax, Rdiv. rewrite sum_scal_r.
  apply Rinv_r. apply Rgt_not_eq, partition_pos.
Qed.

Lemma softmax_pair_le_1 W x u v :
  (u < K)%nat -> (v < K)%nat -> u <> v -> softmax W x u + softmax W x v <= 1.
Proof.
  intros Hu Hv Huv. rewrite <- (softmax_sum_1 W x).
  apply sum_ge_two; trivial. intros; apply Rlt_le, softmax_pos.
Qed.

Lemma ln_softmax W x k :
  ln (softmax W x k) = logit W x k - ln (partition W x).
Proof.
  unfold softmax, Rdiv. rewrite ln_mult.
  - rewrite ln_exp, ln_Rinv by apply partition_pos. ring.
  - apply exp_pos.
  - apply Rinv_0_lt_compat, partition_pos.
Qed.

Lemma ln_softmax_diff W x u v :
  ln (softmax W x u) - ln (softmax W x v) = dot n (wdiff W u v) x.
Proof. rewrite !ln_softmax. unfold wdiff, logit. rewrite dot_sub_l. ring. Qed.

(** ** T1: the gap identity and the size of its coefficient *)

Theorem softmax_gap W x u v :
  softmax W x u - softmax W x v = lmean W u v x * dot n (wdiff W u v) x.
Proof.
  unfold lmean. rewrite <- ln_softmax_diff.
  apply logmean_spec; apply softmax_pos.
Qed.

Theorem lmean_pos W u v x : 0 < lmean W u v x.
Proof. apply logmean_pos; apply softmax_pos. Qed.

Theorem lmean_bounds W u v x :
  sqrt (softmax W x u * softmax W x v) <= lmean W u v x
  <= (softmax W x u + softmax W x v) / 2.
Proof. apply logmean_between; apply softmax_pos. Qed.

Theorem lmean_le_half W u v x :
  (u < K)%nat -> (v < K)%nat -> u <> v -> lmean W u v x <= 1 / 2.
Proof.
  intros Hu Hv Huv. generalize (softmax_pair_le_1 W x u v Hu Hv Huv).
  generalize (lmean_bounds W u v x). lra.
Qed.

End Softmax.
