(** * Bounds on the eigenvalues of M from both sides

    Where D.(M - m)(mm - M)D >= 0, as it is if all eigenvalues of M lie
    between m and mm,
      |D+| <= (1 - eta (lambda + m)) |D|              [spectral_sandwich]
    for eta (2 lambda + m + mm) <= 2. *)

From Coq Require Import Reals Lra Lia Arith.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances OneStep.
Local Open Scope R_scope.

Record spectral_step := Spectral { base :> step; lowest : R; highest : R }.

Definition hyp_between (s : spectral_step) : Prop :=
  let D := difference s in let MD := operator s D in
  0 <= (lowest s + highest s) * dot (dim s) D MD - dot (dim s) MD MD
       - lowest s * highest s * dot (dim s) D D.

Definition hyp_ordered (s : spectral_step) : Prop := lowest s <= highest s.

Definition hyp_step_size (s : spectral_step) : Prop :=
  step_size s * (2 * weight_decay s + lowest s + highest s) <= 2.

(** m |D|^2 <= D.MD, from |MD|^2 |D|^2 >= (D.MD)^2. *)
Lemma form_at_least (d q y lo hi : R) :
  0 < d -> q² <= d * y -> 0 <= (lo + hi) * q - y - lo * hi * d -> lo <= hi -> lo * d <= q.
Proof.
  intros Hd Hc Hb Ho. destruct (Rle_or_lt (lo * d) q) as [H|H]; [assumption|exfalso].
  assert (0 <= (q - lo * d) * (hi * d - q)) by (unfold Rsqr in *; nra).
  assert (0 < hi * d - q) by nra. nra.
Qed.

Theorem spectral_sandwich (s : spectral_step) :
  step_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_between s -> hyp_ordered s ->
  hyp_step_size s ->
  norm (dim s) (next_difference s)
  <= (1 - step_size s * (weight_decay s + lowest s)) * norm (dim s) (difference s).
Proof.
  intros ok Hs He Hb Ho Hc. rewrite next_is_fmap by assumption.
  unfold hyp_between, hyp_ordered, hyp_step_size, hyp_nonnegative_step in *. cbv zeta in Hb.
  set (f := 1 - step_size s * (weight_decay s + lowest s)).
  assert (Hf : 0 <= f) by (unfold f; nra).
  rewrite <- (Rabs_pos_eq f) by assumption.
  rewrite <- norm_scal. apply norm_le_iff.
  rewrite fmap_sqr, dot_scal_l, dot_scal_r.
  assert (Hq : (dot (dim s) (difference s) (operator s (difference s)))²
               <= dot (dim s) (difference s) (difference s)
                  * dot (dim s) (operator s (difference s)) (operator s (difference s)))
    by apply cauchy_schwarz_sqr.
  fold (operator s (difference s)).
  rewrite (dot_comm _ (operator s (difference s)) (difference s)).
  set (q := dot (dim s) (difference s) (operator s (difference s))) in *.
  set (y := dot (dim s) (operator s (difference s)) (operator s (difference s))) in *.
  assert (Hd := dot_self_nonneg (dim s) (difference s)).
  set (d := dot (dim s) (difference s) (difference s)) in *.
  set (e := step_size s) in *. unfold decay. fold e.
  assert (Hy : e² * y <= e² * ((lowest s + highest s) * q - lowest s * highest s * d))
    by (apply Rmult_le_compat_l; [apply Rle_0_sqr | lra]).
  assert (Hl : lowest s * d <= q).
  { destruct (Rle_lt_or_eq_dec _ _ Hd) as [H|H]; [now apply form_at_least with y (highest s)|].
    rewrite <- H in *. unfold Rsqr in Hq. nra. }
  assert (Hk : 0 <= e * (2 * (1 - e * weight_decay s) - e * (lowest s + highest s)))
    by (apply Rmult_le_pos; lra).
  assert (0 <= (q - lowest s * d) *
    (e * (2 * (1 - e * weight_decay s) - e * (lowest s + highest s))))
    by (apply Rmult_le_pos; lra).
  unfold f, Rsqr in *. nra.
Qed.

(** Met with m = 0 and mm = tr M. *)
Example spectral_sandwich_met : exists s : spectral_step,
  step_ok s /\ hyp_unseen s /\ hyp_nonnegative_step s /\ hyp_between s /\ hyp_ordered s
  /\ hyp_step_size s /\ norm (dim s) (difference s) = 1 /\ 0 < highest s.
Proof.
  set (b := small 1 (1 / 2) 1).
  assert (Ht : 0 < trace b) by apply small_trace_pos.
  assert (Hu : trace b <= 1 / 2).
  { apply Rle_trans with (1 := small_curvature 1 (1 / 2) 1 Rle_0_1).
    unfold small, Rsqr; simpl. lra. }
  exists (Spectral b 0 (trace b)). conjuncts;
    [apply small_ok | apply small_unseen | | | | | apply small_distance | exact Ht].
  - unfold hyp_nonnegative_step; simpl. lra.
  - unfold hyp_between. cbv zeta. cbn [lowest highest base]. rewrite (dot_comm _ (difference b)).
    assert (H := form_sqr_le (dim b) (size (data b)) (coefficient b) (feature (data b)) (trace b)
                   (coefficient_nonneg b (small_ok 1 (1 / 2) 1)) (Rle_refl _) (difference b)).
    unfold operator. lra.
  - unfold hyp_ordered. simpl lowest. simpl highest. lra.
  - unfold hyp_step_size. simpl base. simpl lowest. simpl highest.
    change (step_size b) with (1 / 2). change (weight_decay b) with 1. lra.
Qed.
