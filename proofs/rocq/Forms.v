(** * A step against a positive semidefinite form

    [form D] is the vector M D = sum_i c_i <D, x_i> x_i.  For coefficients
    c_i >= 0 with tr M = sum_i c_i |x_i|^2 <= T, the map D+ = c D - eta M D
    obeys
      |D+| <= max (|c|, |c - eta T|) |D|    always            [map_factor],
      |D+| <= c |D|    if 0 <= eta and eta T <= 2 c            [map_upper],
      |D+| >= (c - eta T) |D|    if 0 <= eta                   [map_lower].
    Every upper and lower bound on a step rests on these three. *)

From Coq Require Import Reals Lra Lia.
From Collapse Require Import Sums Vectors.
Local Open Scope R_scope.

Section Form.
Variables (n N : nat) (coef : nat -> R) (xs : nat -> vec) (T : R).

Definition form (D : vec) : vec := vsum N (fun i => vscal (coef i * dot n D (xs i)) (xs i)).

Hypothesis coef_nonneg : forall i, (i < N)%nat -> 0 <= coef i.
Hypothesis trace_le : sum N (fun i => coef i * dot n (xs i) (xs i)) <= T.

Lemma dot_form D z :
  dot n (form D) z = sum N (fun i => coef i * dot n D (xs i) * dot n (xs i) z).
Proof.
  unfold form. rewrite dot_sum_l. apply sum_ext; intros i _. apply dot_scal_l.
Qed.

(** <y, D> = sum_i c_i <D, x_i>^2 *)
Lemma form_quadratic D : dot n (form D) D = sum N (fun i => coef i * (dot n D (xs i))²).
Proof.
  rewrite dot_form. apply sum_ext; intros i _.
  rewrite (dot_comm n (xs i)). unfold Rsqr; ring.
Qed.

Lemma form_nonneg D : 0 <= dot n (form D) D.
Proof.
  rewrite form_quadratic. apply sum_nonneg; intros.
  apply Rmult_le_pos; [auto | apply Rle_0_sqr].
Qed.

(** sum_i c_i <z, x_i>^2 <= T |z|^2, by Cauchy-Schwarz for each i *)
Lemma form_le D : dot n (form D) D <= T * dot n D D.
Proof.
  rewrite form_quadratic.
  apply Rle_trans with (sum N (fun i => coef i * dot n (xs i) (xs i)) * dot n D D).
  - rewrite <- sum_scal_r. apply sum_le; intros i Hi.
    rewrite Rmult_assoc. apply Rmult_le_compat_l; [auto|].
    rewrite Rmult_comm. apply cauchy_schwarz_sqr.
  - apply Rmult_le_compat_r; [apply dot_self_nonneg | assumption].
Qed.

Lemma trace_nonneg : 0 <= T.
Proof.
  apply Rle_trans with (2 := trace_le). apply sum_nonneg; intros.
  apply Rmult_le_pos; [auto | apply dot_self_nonneg].
Qed.

(** |y|^2 <= T <y, D> *)
Lemma form_sqr_le D : dot n (form D) (form D) <= T * dot n (form D) D.
Proof.
  set (y := form D).
  destruct (Rle_lt_or_eq_dec _ _ (dot_self_nonneg n y)) as [Hy|Hy].
  2:{ rewrite <- Hy. apply Rmult_le_pos; [apply trace_nonneg | apply form_nonneg]. }
  assert (Hcs : (dot n y y)² <= dot n y D * (T * dot n y y)).
  { unfold y at 1. rewrite dot_form.
    eapply Rle_trans; [now apply sum_cauchy_schwarz|]. cbv beta.
    rewrite <- (form_quadratic D). fold y.
    apply Rmult_le_compat_l; [apply form_nonneg|].
    rewrite (sum_ext _ _ (fun i => coef i * (dot n y (xs i))²))
      by (intros; now rewrite (dot_comm n (xs i))).
    rewrite <- form_quadratic. apply form_le. }
  apply Rmult_le_reg_r with (dot n y y); [assumption|].
  unfold Rsqr in Hcs. lra.
Qed.

(** |M D| <= T |D| *)
Lemma form_norm_le D : norm n (form D) <= T * norm n D.
Proof.
  apply Rsqr_incr_0_var.
  2:{ apply Rmult_le_pos; [apply trace_nonneg | apply norm_nonneg]. }
  rewrite Rsqr_mult, !norm_sqr.
  apply Rle_trans with (1 := form_sqr_le D).
  unfold Rsqr. rewrite Rmult_assoc.
  apply Rmult_le_compat_l; [apply trace_nonneg | apply form_le].
Qed.

(** ** The map *)

Definition fmap (c eta : R) (D : vec) : vec := vsub (vscal c D) (vscal eta (form D)).

Lemma fmap_sqr c eta D :
  dot n (fmap c eta D) (fmap c eta D) =
  c² * dot n D D - 2 * c * eta * dot n (form D) D + eta² * dot n (form D) (form D).
Proof.
  unfold fmap.
  rewrite !dot_sub_l, !dot_sub_r, !dot_scal_l, !dot_scal_r, (dot_comm n D (form D)).
  unfold Rsqr. ring.
Qed.

Theorem map_factor c eta D :
  norm n (fmap c eta D) <= Rmax (Rabs c) (Rabs (c - eta * T)) * norm n D.
Proof.
  set (f := Rmax (Rabs c) (Rabs (c - eta * T))).
  assert (Hf : 0 <= f) by (eapply Rle_trans; [apply Rabs_pos | apply Rmax_l]).
  rewrite <- (Rabs_pos_eq f) by assumption.
  rewrite <- norm_scal. apply norm_le_iff.
  rewrite fmap_sqr, dot_scal_l, dot_scal_r.
  assert (Hc : c² <= f²).
  { apply Rsqr_le_abs_1. rewrite (Rabs_pos_eq f) by assumption. apply Rmax_l. }
  assert (Hd : (c - eta * T)² <= f²).
  { apply Rsqr_le_abs_1. rewrite (Rabs_pos_eq f) by assumption. apply Rmax_r. }
  assert (Hy := form_sqr_le D). assert (Hq := form_nonneg D). assert (Hl := form_le D).
  assert (HD := dot_self_nonneg n D).
  set (q := dot n (form D) D) in *. set (yy := dot n (form D) (form D)) in *.
  set (dd := dot n D D) in *.
  assert (H1 : eta² * yy <= eta² * (T * q))
    by (apply Rmult_le_compat_l; [apply Rle_0_sqr | assumption]).
  assert (H2 : c² * dd <= f² * dd) by now apply Rmult_le_compat_r.
  assert (H3 : (c - eta * T)² * dd <= f² * dd) by now apply Rmult_le_compat_r.
  destruct (Rle_or_lt (eta * (eta * T - 2 * c)) 0) as [Hs|Hs].
  - assert (q * (eta * (eta * T - 2 * c)) <= 0) by nra. unfold Rsqr in *; nra.
  - assert (q * (eta * (eta * T - 2 * c)) <= (T * dd) * (eta * (eta * T - 2 * c)))
      by (apply Rmult_le_compat_r; lra).
    unfold Rsqr in *; nra.
Qed.

Theorem map_upper c eta D :
  0 <= eta -> eta * T <= 2 * c -> norm n (fmap c eta D) <= c * norm n D.
Proof.
  intros He HT. assert (H0 := trace_nonneg).
  assert (H : 0 <= eta * T) by now apply Rmult_le_pos.
  eapply Rle_trans; [apply map_factor|].
  apply Rmult_le_compat_r; [apply norm_nonneg|].
  apply Rmax_lub; [rewrite Rabs_pos_eq; lra|].
  apply Rabs_le. lra.
Qed.

Theorem map_lower c eta D :
  0 <= eta -> (c - eta * T) * norm n D <= norm n (fmap c eta D).
Proof.
  intros He.
  destruct (Rle_lt_or_eq_dec _ _ (norm_nonneg n D)) as [HD|HD].
  2:{ rewrite <- HD, Rmult_0_r. apply norm_nonneg. }
  apply Rmult_le_reg_r with (norm n D); [assumption|].
  apply Rle_trans with (dot n (fmap c eta D) D); [|apply dot_le_norms].
  unfold fmap. rewrite dot_sub_l, !dot_scal_l.
  rewrite Rmult_assoc. change (norm n D * norm n D) with (norm n D)².
  rewrite norm_sqr.
  assert (eta * dot n (form D) D <= eta * (T * dot n D D))
    by (apply Rmult_le_compat_l; [assumption | apply form_le]).
  lra.
Qed.

End Form.
