(** * The cosine of two vectors and their distance

    1 - cos(a, b) = (|a - b|^2 - (|a| - |b|)^2) / (2 |a| |b|)  [cosine_identity],
    hence 1 - cos(a, b) <= |a - b|^2 / (2 |a| |b|)             [cosine]. *)

From Coq Require Import Reals Lra Lia.
From Collapse Require Import Sums Vectors.
Local Open Scope R_scope.

Definition cos_of (n : nat) (a b : vec) : R := dot n a b / (norm n a * norm n b).

Record vectors := Vectors { dim : nat; first : vec; second : vec }.

Definition hyp_nonzero (p : vectors) : Prop :=
  0 < norm (dim p) (first p) /\ 0 < norm (dim p) (second p).

Lemma distance_sqr n a b :
  (norm n (vsub a b))² = (norm n a)² + (norm n b)² - 2 * dot n a b.
Proof. rewrite !norm_sqr, dot_sub_l, !dot_sub_r, (dot_comm n b a). ring. Qed.

Theorem cosine_identity p :
  hyp_nonzero p ->
  1 - cos_of (dim p) (first p) (second p)
  = ((norm (dim p) (vsub (first p) (second p)))²
     - (norm (dim p) (first p) - norm (dim p) (second p))²)
    / (2 * norm (dim p) (first p) * norm (dim p) (second p)).
Proof.
  intros [Ha Hb]. unfold cos_of. rewrite distance_sqr. unfold Rsqr. field. lra.
Qed.

Theorem cosine p :
  hyp_nonzero p ->
  1 - cos_of (dim p) (first p) (second p)
  <= (norm (dim p) (vsub (first p) (second p)))²
     / (2 * norm (dim p) (first p) * norm (dim p) (second p)).
Proof.
  intros H. rewrite cosine_identity by assumption. destruct H as [Ha Hb].
  assert (Hp : 0 < 2 * norm (dim p) (first p) * norm (dim p) (second p))
    by (apply Rmult_lt_0_compat; lra).
  apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat|].
  generalize (Rle_0_sqr (norm (dim p) (first p) - norm (dim p) (second p))). lra.
Qed.

(** A cosine is at most 1. *)
Lemma cos_le_1 n a b : 0 < norm n a -> 0 < norm n b -> cos_of n a b <= 1.
Proof.
  intros Ha Hb. assert (Hab : 0 < norm n a * norm n b) by now apply Rmult_lt_0_compat.
  unfold cos_of. apply Rmult_le_reg_r with (1 := Hab).
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by lra. apply dot_le_norms.
Qed.

(** ** The hypotheses can be met *)

(** The vectors 1 and 2 of R^1. *)
Definition two_numbers : vectors := Vectors 1 (fun _ => 1) (fun _ => 2).

Lemma two_numbers_nonzero : hyp_nonzero two_numbers.
Proof. split; apply norm_pos_iff; intros H; specialize (H 0%nat Nat.lt_0_1); cbv in H; lra. Qed.

Example cosine_identity_met : exists p, hyp_nonzero p /\ first p 0%nat <> second p 0%nat.
Proof. exists two_numbers. split; [apply two_numbers_nonzero | simpl; lra]. Qed.

Example cosine_met : exists p, hyp_nonzero p /\ first p 0%nat <> second p 0%nat.
Proof. exists two_numbers. split; [apply two_numbers_nonzero | simpl; lra]. Qed.
