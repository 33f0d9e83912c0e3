(** * A function that momentum makes smaller

    Two combinations E and F of the differences of rows and of buffers go to
      E+ = r1 E - eta y,   F+ = r2 F - eta y,   (r1 - r2) D = N1 E - N2 F
    with y = M D.  Where y.y <= T D.y and
      eta T (N1 (r1 - r2) + 2 r1 N2) <= 2 r1 (r1 - r2)^2
    the function V = N1 |E|^2 + N2 |F|^2 satisfies V+ <= r1^2 V [descent],
    and (r1 - r2)^2 |D|^2 <= (N1 + N2) V [length_below].  Over a run
      (r1 - r2)^2 |D_t|^2 <= (N1 + N2) r1^(2t) V_0  [run_below]. *)

From Coq Require Import Reals Lra Lia.
From Collapse Require Import Sums Vectors.
Local Open Scope R_scope.

Section Lyapunov.
Variables (n : nat) (r1 r2 N1 N2 eta T : R).
Hypothesis r2_nonneg : 0 <= r2.
Hypothesis roots_apart : r2 < r1.
Hypothesis N1_nonneg : 0 <= N1.
Hypothesis N2_nonneg : 0 <= N2.
Hypothesis eta_nonneg : 0 <= eta.
Hypothesis room : eta * T * (N1 * (r1 - r2) + 2 * r1 * N2) <= 2 * r1 * (r1 - r2) ^ 2.

Definition V (E F : vec) : R := N1 * dot n E E + N2 * dot n F F.

Definition output (D E F : vec) : Prop :=
  forall j, (j < n)%nat -> (r1 - r2) * D j = N1 * E j - N2 * F j.

Definition moved (r : R) (E E' y : vec) : Prop :=
  forall j, (j < n)%nat -> E' j = r * E j - eta * y j.

Lemma moved_square r E E' y :
  moved r E E' y ->
  dot n E' E' = r ^ 2 * dot n E E - 2 * r * eta * dot n E y + eta ^ 2 * dot n y y.
Proof.
  intros H.
  rewrite (dot_ext n E' (vsub (vscal r E) (vscal eta y)) E' (vsub (vscal r E) (vscal eta y)))
    by (intros j Hj; unfold vsub, vscal; now apply H).
  rewrite dot_sub_l, !dot_sub_r, !dot_scal_l, !dot_scal_r, (dot_comm n y E). ring.
Qed.

Lemma output_along D E F z :
  output D E F -> (r1 - r2) * dot n D z = N1 * dot n E z - N2 * dot n F z.
Proof.
  intros H. rewrite <- !dot_scal_l, <- dot_sub_l.
  apply dot_ext; intros j Hj; [|reflexivity]. unfold vsub, vscal. now apply H.
Qed.

Lemma descent D E F E' F' y :
  output D E F -> moved r1 E E' y -> moved r2 F F' y ->
  0 <= dot n D y -> dot n y y <= T * dot n D y ->
  V E' F' <= r1 ^ 2 * V E F.
Proof.
  intros HO HE HF Hq Hy. unfold V.
  rewrite (moved_square _ _ _ _ HE), (moved_square _ _ _ _ HF).
  assert (Hd := output_along _ _ _ y HO).
  assert (Hs := dot_self_nonneg n (vadd (vscal (r1 - r2) F) (vscal eta y))).
  assert (E1 : dot n (vadd (vscal (r1 - r2) F) (vscal eta y))
                     (vadd (vscal (r1 - r2) F) (vscal eta y))
    = (r1 - r2) ^ 2 * dot n F F + 2 * (r1 - r2) * eta * dot n F y + eta ^ 2 * dot n y y).
  { rewrite dot_add_l, !(dot_comm n _ (vadd _ _)), !dot_add_l, !dot_scal_l, !dot_scal_r,
      (dot_comm n y F). ring. }
  rewrite E1 in Hs. clear E1.
  set (e := dot n E E) in *. set (f := dot n F F) in *.
  set (ey := dot n E y) in *. set (fy := dot n F y) in *.
  set (yy := dot n y y) in *. set (dy := dot n D y) in *.
  assert (Hg : 0 < r1 - r2) by lra.
  set (g := r1 - r2) in *.
  assert (HN : N1 * ey = g * dy + N2 * fy) by lra.
  assert (A : 0 <= N2 * (r1 + r2) * (g ^ 2 * f + 2 * g * eta * fy + eta ^ 2 * yy))
    by (apply Rmult_le_pos; [apply Rmult_le_pos; lra | exact Hs]).
  assert (W : 0 <= N1 * g + 2 * r1 * N2)
    by (apply Rplus_le_le_0_compat; repeat apply Rmult_le_pos; lra).
  assert (B : 0 <= eta * (eta * (N1 * g + 2 * r1 * N2) * (T * dy - yy)))
    by (repeat apply Rmult_le_pos; lra).
  assert (C : 0 <= eta * (dy * (2 * r1 * g ^ 2 - eta * T * (N1 * g + 2 * r1 * N2))))
    by (repeat apply Rmult_le_pos; lra).
  apply Rmult_le_reg_l with (1 := Hg).
  assert (Hr : r1 = r2 + g) by (unfold g; ring).
  assert (K : g * (r1 ^ 2 * (N1 * e + N2 * f))
    - g * (N1 * (r1 ^ 2 * e - 2 * r1 * eta * ey + eta ^ 2 * yy)
           + N2 * (r2 ^ 2 * f - 2 * r2 * eta * fy + eta ^ 2 * yy))
    = N2 * (r1 + r2) * (g ^ 2 * f + 2 * g * eta * fy + eta ^ 2 * yy)
      + eta * (eta * (N1 * g + 2 * r1 * N2) * (T * dy - yy))
      + eta * (dy * (2 * r1 * g ^ 2 - eta * T * (N1 * g + 2 * r1 * N2)))).
  { replace (g * (N1 * (r1 ^ 2 * e - 2 * r1 * eta * ey + eta ^ 2 * yy)
           + N2 * (r2 ^ 2 * f - 2 * r2 * eta * fy + eta ^ 2 * yy)))
      with (g * (N1 * r1 ^ 2 * e - 2 * r1 * eta * (N1 * ey) + N1 * eta ^ 2 * yy
           + N2 * (r2 ^ 2 * f - 2 * r2 * eta * fy + eta ^ 2 * yy))) by ring.
    rewrite HN, Hr. ring. }
  lra.
Qed.

Lemma length_below D E F :
  output D E F -> (r1 - r2) ^ 2 * dot n D D <= (N1 + N2) * V E F.
Proof.
  intros HO.
  assert (H1 := output_along _ _ _ D HO). assert (H2 := output_along _ _ _ E HO).
  assert (H3 := output_along _ _ _ F HO).
  assert (Hs := dot_self_nonneg n (vadd E F)).
  assert (E1 : dot n (vadd E F) (vadd E F) = dot n E E + 2 * dot n E F + dot n F F).
  { rewrite dot_add_l, !(dot_comm n _ (vadd _ _)), !dot_add_l, (dot_comm n F E). ring. }
  rewrite E1 in Hs. unfold V.
  rewrite (dot_comm n E D), (dot_comm n F D) in H1. rewrite (dot_comm n F E) in H2.
  assert (0 <= N1 * N2 * (dot n E E + 2 * dot n E F + dot n F F))
    by (apply Rmult_le_pos; [now apply Rmult_le_pos | exact Hs]).
  assert (K : (r1 - r2) ^ 2 * dot n D D
    = N1 ^ 2 * dot n E E - 2 * N1 * N2 * dot n E F + N2 ^ 2 * dot n F F).
  { replace ((r1 - r2) ^ 2 * dot n D D) with ((r1 - r2) * ((r1 - r2) * dot n D D)) by ring.
    rewrite H1.
    replace ((r1 - r2) * (N1 * dot n D E - N2 * dot n D F))
      with (N1 * ((r1 - r2) * dot n D E) - N2 * ((r1 - r2) * dot n D F)) by ring.
    rewrite H2, H3. ring. }
  lra.
Qed.

(** ** Runs *)

Variables (D E F y : nat -> vec).

Record follows (steps : nat) : Prop := {
  follows_output : forall t, (t <= steps)%nat -> output (D t) (E t) (F t);
  follows_E : forall t, (t < steps)%nat -> moved r1 (E t) (E (S t)) (y t);
  follows_F : forall t, (t < steps)%nat -> moved r2 (F t) (F (S t)) (y t);
  follows_sign : forall t, (t < steps)%nat -> 0 <= dot n (D t) (y t);
  follows_bound : forall t, (t < steps)%nat -> dot n (y t) (y t) <= T * dot n (D t) (y t)
}.

Lemma V_below steps t :
  follows steps -> (t <= steps)%nat -> V (E t) (F t) <= (r1 ^ t) ^ 2 * V (E 0%nat) (F 0%nat).
Proof.
  intros H. induction t as [|t IH]; intros Ht; [simpl; lra|].
  apply Rle_trans with (r1 ^ 2 * V (E t) (F t)).
  - apply (descent (D t) _ _ _ _ (y t)); destruct H; auto with arith.
  - replace ((r1 ^ S t) ^ 2) with (r1 ^ 2 * (r1 ^ t) ^ 2) by (simpl; ring).
    rewrite Rmult_assoc. apply Rmult_le_compat_l; [apply pow2_ge_0 | apply IH; lia].
Qed.

Lemma run_below steps :
  follows steps ->
  (r1 - r2) ^ 2 * dot n (D steps) (D steps)
  <= (N1 + N2) * ((r1 ^ steps) ^ 2 * V (E 0%nat) (F 0%nat)).
Proof.
  intros H. apply Rle_trans with ((N1 + N2) * V (E steps) (F steps)).
  - apply length_below, H; lia.
  - apply Rmult_le_compat_l; [lra | apply (V_below steps); [exact H | lia]].
Qed.

(** In lengths: what the first and the last step cost is the factor C. *)
Lemma run_norm steps (first C : R) :
  follows steps ->
  V (E 0%nat) (F 0%nat) = first * dot n (D 0%nat) (D 0%nat) ->
  (N1 + N2) * first = C ^ 2 * (r1 - r2) ^ 2 -> 0 <= C ->
  norm n (D steps) <= r1 ^ steps * C * norm n (D 0%nat).
Proof.
  intros H H0 HC Cpos.
  assert (Hr : 0 <= r1 ^ steps) by (apply pow_le; lra).
  apply Rsqr_incr_0_var.
  2:{ apply Rmult_le_pos; [now apply Rmult_le_pos | apply norm_nonneg]. }
  rewrite Rsqr_mult, !norm_sqr.
  assert (Hg : 0 < (r1 - r2) ^ 2) by (apply pow_lt; lra).
  apply Rmult_le_reg_l with (1 := Hg).
  apply Rle_trans with (1 := run_below steps H). rewrite H0.
  apply Req_le. unfold Rsqr.
  replace ((N1 + N2) * ((r1 ^ steps) ^ 2 * (first * dot n (D 0%nat) (D 0%nat))))
    with ((N1 + N2) * first * ((r1 ^ steps) ^ 2 * dot n (D 0%nat) (D 0%nat))) by ring.
  rewrite HC. ring.
Qed.

End Lyapunov.
