(** * Vectors of R^n

    A vector of R^n is a function [nat -> R] of which only the first [n]
    coordinates count.  The dimension [n] is a parameter of [dot] and [norm]
    alone, so that vector arithmetic is plain pointwise arithmetic. *)

From Coq Require Import Reals Lra Lia.
From Collapse Require Import Sums.
Local Open Scope R_scope.

Definition vec := nat -> R.

Definition vzero : vec := fun _ => 0.
Definition vadd (a b : vec) : vec := fun j => a j + b j.
Definition vsub (a b : vec) : vec := fun j => a j - b j.
Definition vscal (c : R) (a : vec) : vec := fun j => c * a j.

(** [vsum N f] is the sum of the vectors [f 0], ..., [f (N-1)]. *)
Definition vsum (N : nat) (f : nat -> vec) : vec := fun j => sum N (fun i => f i j).

(** Equality of vectors: equality of the first [n] coordinates. *)
Definition veq (n : nat) (a b : vec) : Prop := forall j, (j < n)%nat -> a j = b j.

Definition dot (n : nat) (a b : vec) : R := sum n (fun j => a j * b j).
Definition norm (n : nat) (a : vec) : R := sqrt (dot n a a).

Section Dim.
Variable n : nat.

Lemma dot_ext a a' b b' : veq n a a' -> veq n b b' -> dot n a b = dot n a' b'.
Proof. intros Ha Hb. apply sum_ext; intros j Hj. now rewrite Ha, Hb. Qed.

Lemma norm_ext a b : veq n a b -> norm n a = norm n b.
Proof. intros H. unfold norm. now rewrite (dot_ext a b a b). Qed.

Lemma dot_comm a b : dot n a b = dot n b a.
Proof. apply sum_ext; intros; apply Rmult_comm. Qed.

Lemma dot_add_l a b c : dot n (vadd a b) c = dot n a c + dot n b c.
Proof. unfold dot; rewrite <- sum_plus; apply sum_ext; intros; unfold vadd; lra. Qed.

Lemma dot_sub_l a b c : dot n (vsub a b) c = dot n a c - dot n b c.
Proof. unfold dot; rewrite <- sum_minus; apply sum_ext; intros; unfold vsub; lra. Qed.

Lemma dot_scal_l k a c : dot n (vscal k a) c = k * dot n a c.
Proof. unfold dot; rewrite <- sum_scal; apply sum_ext; intros; unfold vscal; lra. Qed.

Lemma dot_sub_r a b c : dot n a (vsub b c) = dot n a b - dot n a c.
Proof. rewrite dot_comm, dot_sub_l, (dot_comm b), (dot_comm c); reflexivity. Qed.

Lemma dot_scal_r k a c : dot n a (vscal k c) = k * dot n a c.
Proof. rewrite dot_comm, dot_scal_l, (dot_comm c); reflexivity. Qed.

Lemma dot_sum_l N f c : dot n (vsum N f) c = sum N (fun i => dot n (f i) c).
Proof.
  unfold dot, vsum. rewrite <- sum_swap.
  apply sum_ext; intros j _. symmetry; apply sum_scal_r.
Qed.

Lemma dot_self_nonneg a : 0 <= dot n a a.
Proof. apply sum_nonneg; intros; apply Rle_0_sqr. Qed.

Lemma norm_nonneg a : 0 <= norm n a.
Proof. apply sqrt_pos. Qed.

(** The norm squared is the dot product of a vector with itself. *)
Lemma norm_sqr a : (norm n a)² = dot n a a.
Proof. apply Rsqr_sqrt, dot_self_nonneg. Qed.

Lemma norm_le_iff a b : dot n a a <= dot n b b <-> norm n a <= norm n b.
Proof.
  split; intros H.
  - now apply sqrt_le_1_alt.
  - rewrite <- !norm_sqr. apply Rsqr_incr_1; auto using norm_nonneg.
Qed.

Lemma norm_0 : norm n vzero = 0.
Proof.
  unfold norm, dot, vzero. rewrite (sum_ext _ _ (fun _ => 0)) by (intros; lra).
  rewrite sum_0; apply sqrt_0.
Qed.

Lemma norm_pos_iff a : 0 < norm n a <-> ~ veq n a vzero.
Proof.
  split.
  - intros H E. rewrite (norm_ext _ _ E), norm_0 in H. lra.
  - intros H. destruct (Rle_lt_or_eq_dec _ _ (norm_nonneg a)) as [|E]; [assumption|].
    exfalso; apply H; intros j Hj; unfold vzero.
    assert (Hs : dot n a a = 0) by (rewrite <- norm_sqr, <- E; unfold Rsqr; lra).
    assert (a j * a j <= dot n a a)
      by (apply (sum_ge_term n (fun j => a j * a j)); [intros; apply Rle_0_sqr | assumption]).
    apply Rsqr_0_uniq. generalize (Rle_0_sqr (a j)). unfold Rsqr; lra.
Qed.

Lemma norm_scal k a : norm n (vscal k a) = Rabs k * norm n a.
Proof.
  unfold norm. rewrite dot_scal_l, dot_scal_r, <- Rmult_assoc.
  rewrite sqrt_mult_alt by apply Rle_0_sqr.
  change (k * k) with (Rsqr k). now rewrite sqrt_Rsqr_abs.
Qed.

(** Cauchy-Schwarz inequality, in squared form and with absolute value. *)
Lemma cauchy_schwarz_sqr a b : (dot n a b)² <= dot n a a * dot n b b.
Proof.
  pose proof (sum_cauchy_schwarz n (fun _ => 1) a b) as H.
  unfold dot, Rsqr in *.
  rewrite (sum_ext n (fun i => 1 * a i * b i) (fun j => a j * b j)) in H by (intros; lra).
  rewrite (sum_ext n (fun i => 1 * (a i * a i)) (fun j => a j * a j)) in H by (intros; lra).
  rewrite (sum_ext n (fun i => 1 * (b i * b i)) (fun j => b j * b j)) in H by (intros; lra).
  apply H; intros; lra.
Qed.

Lemma cauchy_schwarz a b : Rabs (dot n a b) <= norm n a * norm n b.
Proof.
  rewrite <- (Rabs_pos_eq (norm n a * norm n b))
    by (apply Rmult_le_pos; apply norm_nonneg).
  apply Rsqr_le_abs_0. rewrite Rsqr_mult, !norm_sqr. apply cauchy_schwarz_sqr.
Qed.

Lemma dot_le_norms a b : dot n a b <= norm n a * norm n b.
Proof. eapply Rle_trans; [apply Rle_abs | apply cauchy_schwarz]. Qed.

(** Triangle inequality. *)
Lemma norm_sub_le a b : norm n (vsub a b) <= norm n a + norm n b.
Proof.
  assert (Ha := norm_nonneg a). assert (Hb := norm_nonneg b).
  apply Rsqr_incr_0_var; [|lra].
  rewrite norm_sqr, dot_sub_l, !dot_sub_r, (dot_comm b a), <- !norm_sqr.
  assert (H := cauchy_schwarz a b). assert (H1 := Rle_abs (- dot n a b)). rewrite Rabs_Ropp in H1.
  unfold Rsqr. lra.
Qed.

Lemma norm_add_le a b : norm n (vadd a b) <= norm n a + norm n b.
Proof.
  rewrite (norm_ext (vadd a b) (vsub a (vscal (-1) b)))
    by (intros j _; unfold vadd, vsub, vscal; ring).
  eapply Rle_trans; [apply norm_sub_le|].
  rewrite norm_scal, Rabs_left by lra. lra.
Qed.

Lemma norm_vsum_le N f : norm n (vsum N f) <= sum N (fun i => norm n (f i)).
Proof.
  induction N as [|N IH]; simpl.
  - rewrite (norm_ext (vsum 0 f) vzero), norm_0 by (intros j _; reflexivity). lra.
  - rewrite (norm_ext (vsum (S N) f) (vadd (vsum N f) (f N))) by (intros j _; reflexivity).
    eapply Rle_trans; [apply norm_add_le|]. lra.
Qed.

End Dim.
