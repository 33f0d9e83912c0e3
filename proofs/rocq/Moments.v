(** * The moments of AdamW

    For one entry of a gradient g_0, g_1, ... with moments m, v from zero, and
    U_t = m_hat/(sqrt v_hat + eps) after t + 1 gradients, s = b1^2/b2 < 1:
      |U_t| <= C_t                                             [update_le]
      C_t <= C = (1 - b1)/sqrt((1 - b2)(1 - s))                [most_le]
      |U_t| <= C_t G/(G + C_t eps)  where all |g_i| <= G       [damped_le]
    and, for two entries with a g_i <= g'_i <= b g_i, 0 < a <= 1 <= b, g >= 0,
      (a/b) U_t <= U'_t,  (a/b) U'_t <= U_t                    [alike]. *)

From Coq Require Import Reals Lra Lia.
Local Open Scope R_scope.

Section Betas.
Variables b1 b2 eps : R.
Hypothesis b1_range : 0 <= b1 < 1.
Hypothesis b2_range : 0 < b2 < 1.
Hypothesis eps_pos : 0 < eps.

Definition share : R := b1 ^ 2 / b2.

Fixpoint first (g : nat -> R) (t : nat) : R :=
  match t with O => 0 | S t' => b1 * first g t' + (1 - b1) * g t' end.

Fixpoint second (g : nat -> R) (t : nat) : R :=
  match t with O => 0 | S t' => b2 * second g t' + (1 - b2) * (g t') ^ 2 end.

Definition mean (g : nat -> R) (t : nat) : R := first g (S t) / (1 - b1 ^ S t).
Definition root (g : nat -> R) (t : nat) : R := sqrt (second g (S t) / (1 - b2 ^ S t)).
Definition update (g : nat -> R) (t : nat) : R := mean g t / (root g t + eps).

(** C_t after t + 1 gradients, and C. *)
Definition most (t : nat) : R :=
  (1 - b1) / (1 - b1 ^ S t)
  * sqrt ((1 - share ^ S t) * (1 - b2 ^ S t) / ((1 - share) * (1 - b2))).
Definition limit : R := (1 - b1) / sqrt ((1 - b2) * (1 - share)).

(** ** Powers *)

Lemma power_below x t : 0 <= x < 1 -> 1 - x <= 1 - x ^ S t.
Proof.
  intros H. assert (0 <= x ^ t <= 1).
  { split; [apply pow_le; lra|]. rewrite <- (pow1 t). apply pow_incr. lra. }
  simpl. nra.
Qed.

Lemma mu_pos t : 0 < 1 - b1 ^ S t.
Proof. assert (H := power_below b1 t b1_range). lra. Qed.

Lemma nu_pos t : 0 < 1 - b2 ^ S t.
Proof. assert (H := power_below b2 t ltac:(lra)). lra. Qed.

Lemma second_nonneg g t : 0 <= second g t.
Proof.
  induction t as [|t IH]; simpl; [lra|].
  assert (H := pow2_ge_0 (g t)). simpl in H. apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra.
Qed.

Lemma root_nonneg g t : 0 <= root g t.
Proof. apply sqrt_pos. Qed.

Lemma root_square g t : root g t ^ 2 = second g (S t) / (1 - b2 ^ S t).
Proof.
  apply pow2_sqrt. apply Rmult_le_pos;
    [apply second_nonneg | apply Rlt_le, Rinv_0_lt_compat, nu_pos].
Qed.

(** ** The first moment against the second *)

Hypothesis share_below : b1 ^ 2 < b2.

Lemma share_range : 0 <= share < 1.
Proof.
  unfold share. split.
  - apply Rmult_le_pos; [apply pow2_ge_0 | apply Rlt_le, Rinv_0_lt_compat; lra].
  - apply Rmult_lt_reg_r with b2; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

Lemma theta_pos t : 0 < 1 - share ^ S t.
Proof. assert (H := power_below share t share_range). assert (H1 := share_range). lra. Qed.

Lemma share_times : share * b2 = b1 ^ 2.
Proof. unfold share. field. lra. Qed.

Lemma moments g t :
  first g (S t) ^ 2 * ((1 - share) * (1 - b2))
  <= (1 - b1) ^ 2 * (1 - share ^ S t) * second g (S t).
Proof.
  assert (Hs := share_range). assert (E := share_times).
  induction t as [|t IH].
  - simpl. apply Req_le. ring.
  - assert (Ht := theta_pos t).
    change (first g (S (S t))) with (b1 * first g (S t) + (1 - b1) * g (S t)).
    change (second g (S (S t))) with (b2 * second g (S t) + (1 - b2) * g (S t) ^ 2).
    change (share ^ S (S t)) with (share * share ^ S t).
    set (f := first g (S t)) in *. set (v := second g (S t)) in *. set (x := g (S t)).
    set (th := 1 - share ^ S t) in *.
    replace (1 - share * share ^ S t) with (1 - share + share * th) by (unfold th; ring).
    (* one more gradient leaves a square *)
    assert (Hsq : 0 <= (1 - b2) / (th * b2) * ((1 - share) * b2 * f - (1 - b1) * b1 * th * x) ^ 2).
    { apply Rmult_le_pos; [|apply pow2_ge_0].
      apply Rmult_le_pos; [lra | apply Rlt_le, Rinv_0_lt_compat, Rmult_lt_0_compat; lra]. }
    assert (H1 : 0 <= (b1 ^ 2 + (1 - share) * b2 / th)
                 * ((1 - b1) ^ 2 * th * v - f ^ 2 * ((1 - share) * (1 - b2)))).
    { apply Rmult_le_pos; [|lra]. apply Rplus_le_le_0_compat; [apply pow2_ge_0|].
      apply Rmult_le_pos; [apply Rmult_le_pos; lra | now apply Rlt_le, Rinv_0_lt_compat]. }
    assert (K : (1 - b1) ^ 2 * (1 - share + share * th) * (b2 * v + (1 - b2) * x ^ 2)
      - (b1 * f + (1 - b1) * x) ^ 2 * ((1 - share) * (1 - b2))
      = (b1 ^ 2 + (1 - share) * b2 / th)
          * ((1 - b1) ^ 2 * th * v - f ^ 2 * ((1 - share) * (1 - b2)))
        + (1 - b2) / (th * b2) * ((1 - share) * b2 * f - (1 - b1) * b1 * th * x) ^ 2).
    { unfold share. field. lra. }
    lra.
Qed.

Lemma most_pos t : 0 < most t.
Proof.
  assert (Hs := share_range). unfold most. apply Rmult_lt_0_compat.
  - apply Rdiv_lt_0_compat; [lra | apply mu_pos].
  - apply sqrt_lt_R0, Rdiv_lt_0_compat; apply Rmult_lt_0_compat;
      first [apply theta_pos | apply nu_pos | lra].
Qed.

Lemma most_square t :
  most t ^ 2 = ((1 - b1) / (1 - b1 ^ S t)) ^ 2
               * ((1 - share ^ S t) * (1 - b2 ^ S t) / ((1 - share) * (1 - b2))).
Proof.
  assert (Hs := share_range). unfold most. rewrite Rpow_mult_distr, pow2_sqrt; [reflexivity|].
  apply Rlt_le, Rdiv_lt_0_compat; apply Rmult_lt_0_compat;
    first [apply theta_pos | apply nu_pos | lra].
Qed.

Lemma limit_pos : 0 < limit.
Proof.
  assert (Hs := share_range). unfold limit. apply Rdiv_lt_0_compat; [lra|].
  apply sqrt_lt_R0, Rmult_lt_0_compat; lra.
Qed.

Lemma mean_le_root g t : Rabs (mean g t) <= most t * root g t.
Proof.
  assert (Hs := share_range). assert (Hm := mu_pos t). assert (Hn := nu_pos t).
  rewrite <- (Rabs_pos_eq (most t * root g t))
    by (apply Rmult_le_pos; [apply Rlt_le, most_pos | apply root_nonneg]).
  apply Rsqr_le_abs_0. rewrite !Rsqr_pow2, Rpow_mult_distr, most_square, root_square.
  assert (H := moments g t). unfold mean.
  set (mu := 1 - b1 ^ S t) in *. set (nu := 1 - b2 ^ S t) in *. set (th := 1 - share ^ S t) in *.
  set (f := first g (S t)) in *. set (v := second g (S t)) in *.
  assert (Hd : 0 < (1 - share) * (1 - b2)) by (apply Rmult_lt_0_compat; lra).
  apply Rmult_le_reg_r with (mu ^ 2 * ((1 - share) * (1 - b2))).
  { apply Rmult_lt_0_compat; [apply pow_lt; lra | exact Hd]. }
  replace ((f / mu) ^ 2 * (mu ^ 2 * ((1 - share) * (1 - b2))))
    with (f ^ 2 * ((1 - share) * (1 - b2))) by (field; lra).
  replace (((1 - b1) / mu) ^ 2 * (th * nu / ((1 - share) * (1 - b2))) * (v / nu)
           * (mu ^ 2 * ((1 - share) * (1 - b2))))
    with ((1 - b1) ^ 2 * th * v) by (field; lra).
  exact H.
Qed.

Lemma most_le t : most t <= limit.
Proof.
  assert (Hs := share_range). assert (Hm := mu_pos t). assert (Hn := nu_pos t).
  apply Rsqr_incr_0_var; [|apply Rlt_le, limit_pos].
  rewrite !Rsqr_pow2, most_square.
  assert (Hd : 0 < (1 - b2) * (1 - share)) by (apply Rmult_lt_0_compat; lra).
  assert (El : limit ^ 2 = (1 - b1) ^ 2 / ((1 - b2) * (1 - share))).
  { unfold limit, Rdiv. rewrite Rpow_mult_distr, pow_inv, pow2_sqrt; lra. }
  rewrite El.
  set (X := b1 ^ S t) in *. set (Y := b2 ^ S t) in *.
  assert (HY : 0 < Y) by (apply pow_lt; lra).
  assert (EX : share ^ S t = X ^ 2 / Y).
  { unfold share, X, Y, Rdiv. rewrite Rpow_mult_distr, pow_inv, <- !pow_mult.
    now rewrite Nat.mul_comm. }
  rewrite EX.
  apply Rmult_le_reg_r with ((1 - X) ^ 2 * ((1 - b2) * (1 - share))).
  { apply Rmult_lt_0_compat; [apply pow_lt; lra | exact Hd]. }
  replace (((1 - b1) / (1 - X)) ^ 2 * ((1 - X ^ 2 / Y) * (1 - Y) / ((1 - share) * (1 - b2)))
           * ((1 - X) ^ 2 * ((1 - b2) * (1 - share))))
    with ((1 - b1) ^ 2 * ((1 - X ^ 2 / Y) * (1 - Y))) by (field; lra).
  replace ((1 - b1) ^ 2 / ((1 - b2) * (1 - share)) * ((1 - X) ^ 2 * ((1 - b2) * (1 - share))))
    with ((1 - b1) ^ 2 * (1 - X) ^ 2) by (field; lra).
  apply Rmult_le_compat_l; [apply pow2_ge_0|].
  assert (H : 0 <= (Y - X) ^ 2 / Y)
    by (apply Rmult_le_pos; [apply pow2_ge_0 | now apply Rlt_le, Rinv_0_lt_compat]).
  assert (K : (1 - X) ^ 2 - (1 - X ^ 2 / Y) * (1 - Y) = (Y - X) ^ 2 / Y) by (field; lra).
  lra.
Qed.

(** A quotient m/(r + eps) with |m| <= C r. *)
Lemma quotient_le m r C : 0 <= r -> 0 < C -> Rabs m <= C * r -> Rabs (m / (r + eps)) <= C.
Proof.
  intros Hr HC H. unfold Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (r + eps)) by lra.
  apply Rmult_le_reg_r with (r + eps); [lra|].
  rewrite Rmult_assoc, Rinv_l by lra. nra.
Qed.

Lemma update_le g t : Rabs (update g t) <= most t.
Proof. apply quotient_le; [apply root_nonneg | apply most_pos | apply mean_le_root]. Qed.

Lemma update_le_limit g t : Rabs (update g t) <= limit.
Proof. apply Rle_trans with (1 := update_le g t), most_le. Qed.

(** ** Gradients of at most G *)

Lemma mean_le g t G : (forall i, (i <= t)%nat -> Rabs (g i) <= G) -> Rabs (mean g t) <= G.
Proof.
  intros H.
  assert (HG : 0 <= G) by (apply Rle_trans with (2 := H 0%nat ltac:(lia)); apply Rabs_pos).
  assert (B : forall i, (i <= S t)%nat -> Rabs (first g i) <= G * (1 - b1 ^ i)).
  { induction i as [|i IH]; intros Hi; simpl; [rewrite Rabs_R0; lra|].
    apply Rle_trans with (Rabs (b1 * first g i) + Rabs ((1 - b1) * g i)); [apply Rabs_triang|].
    rewrite !Rabs_mult, (Rabs_pos_eq b1), (Rabs_pos_eq (1 - b1)) by lra.
    assert (H1 := IH ltac:(lia)). assert (H2 := H i ltac:(lia)).
    assert (b1 * Rabs (first g i) <= b1 * (G * (1 - b1 ^ i))) by (apply Rmult_le_compat_l; lra).
    assert ((1 - b1) * Rabs (g i) <= (1 - b1) * G) by (apply Rmult_le_compat_l; lra). lra. }
  assert (Hm := mu_pos t). unfold mean, Rdiv.
  rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (1 - b1 ^ S t)) by lra.
  apply Rmult_le_reg_r with (1 - b1 ^ S t); [lra|].
  rewrite Rmult_assoc, Rinv_l by lra. rewrite Rmult_1_r. apply B. lia.
Qed.

Definition damped (C G : R) : R := C * G / (G + C * eps).

Lemma damped_quotient m r C G :
  0 <= r -> 0 < C -> 0 <= G -> Rabs m <= C * r -> Rabs m <= G ->
  Rabs (m / (r + eps)) <= damped C G.
Proof.
  intros Hr HC HG H1 H2. assert (He : 0 < C * eps) by now apply Rmult_lt_0_compat.
  unfold damped, Rdiv. rewrite Rabs_mult, Rabs_inv, (Rabs_pos_eq (r + eps)) by lra.
  apply Rmult_le_reg_r with ((r + eps) * (G + C * eps)).
  { apply Rmult_lt_0_compat; lra. }
  replace (Rabs m * / (r + eps) * ((r + eps) * (G + C * eps))) with (Rabs m * (G + C * eps))
    by (field; lra).
  replace (C * G * / (G + C * eps) * ((r + eps) * (G + C * eps))) with (C * G * (r + eps))
    by (field; lra).
  assert (G * Rabs m <= G * (C * r)) by (apply Rmult_le_compat_l; lra).
  assert (C * eps * Rabs m <= C * eps * G) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Lemma damped_le g t G :
  (forall i, (i <= t)%nat -> Rabs (g i) <= G) -> Rabs (update g t) <= damped (most t) G.
Proof.
  intros H. apply damped_quotient;
    [apply root_nonneg | apply most_pos | | apply mean_le_root | now apply mean_le].
  apply Rle_trans with (2 := H 0%nat ltac:(lia)); apply Rabs_pos.
Qed.

Lemma damped_le_limit g t G :
  (forall i, (i <= t)%nat -> Rabs (g i) <= G) -> Rabs (update g t) <= damped limit G.
Proof.
  intros H. apply damped_quotient;
    [apply root_nonneg | apply limit_pos | | | now apply mean_le].
  - apply Rle_trans with (2 := H 0%nat ltac:(lia)); apply Rabs_pos.
  - apply Rle_trans with (1 := mean_le_root g t).
    apply Rmult_le_compat_r; [apply root_nonneg | apply most_le].
Qed.

(** ** Two entries whose gradients are alike *)

Lemma first_nonneg g t : (forall i, (i < t)%nat -> 0 <= g i) -> 0 <= first g t.
Proof.
  induction t as [|t IH]; intros H; simpl; [lra|].
  apply Rplus_le_le_0_compat; apply Rmult_le_pos; try lra; [apply IH | apply H]; intros; try lia.
  apply H. lia.
Qed.

Lemma first_le g h k t :
  (forall i, (i < t)%nat -> k * g i <= h i) -> k * first g t <= first h t.
Proof.
  induction t as [|t IH]; intros H; simpl; [lra|].
  assert (H1 : k * first g t <= first h t) by (apply IH; intros; apply H; lia).
  assert (H2 := H t ltac:(lia)).
  assert (b1 * (k * first g t) <= b1 * first h t) by (apply Rmult_le_compat_l; lra).
  assert ((1 - b1) * (k * g t) <= (1 - b1) * h t) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Lemma second_le g h k t :
  (forall i, (i < t)%nat -> (k * g i) ^ 2 <= h i ^ 2) -> k ^ 2 * second g t <= second h t.
Proof.
  induction t as [|t IH]; intros H; cbn [second]; [lra|].
  assert (H1 : k ^ 2 * second g t <= second h t) by (apply IH; intros; apply H; lia).
  assert (H2 := H t ltac:(lia)). rewrite Rpow_mult_distr in H2.
  assert (b2 * (k ^ 2 * second g t) <= b2 * second h t) by (apply Rmult_le_compat_l; lra).
  assert ((1 - b2) * (k ^ 2 * g t ^ 2) <= (1 - b2) * h t ^ 2)
    by (apply Rmult_le_compat_l; lra). lra.
Qed.

Lemma root_le g h k t :
  0 <= k -> (forall i, (i <= t)%nat -> (k * g i) ^ 2 <= h i ^ 2) -> k * root g t <= root h t.
Proof.
  intros Hk H. apply Rsqr_incr_0_var; [|apply root_nonneg].
  rewrite !Rsqr_pow2, Rpow_mult_distr, !root_square.
  assert (H1 : k ^ 2 * second g (S t) <= second h (S t))
    by (apply second_le; intros; apply H; lia).
  unfold Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [|exact H1].
  apply Rlt_le, Rinv_0_lt_compat, nu_pos.
Qed.

(** k m_g <= m_h and r_h <= l r_g, with k, l > 0 and l >= 1: then (k/l) U_g <= U_h. *)
Lemma alike g h k l t :
  0 < k -> 1 <= l -> (forall i, (i <= t)%nat -> 0 <= g i) ->
  (forall i, (i <= t)%nat -> k * g i <= h i) ->
  (forall i, (i <= t)%nat -> (h i) ^ 2 <= (l * g i) ^ 2) ->
  k / l * update g t <= update h t.
Proof.
  intros Hk Hl Hg Hm Hr.
  assert (Hmu := mu_pos t).
  assert (M : k * mean g t <= mean h t).
  { unfold mean, Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r.
    - now apply Rlt_le, Rinv_0_lt_compat.
    - apply first_le; intros; apply Hm; lia. }
  assert (M0 : 0 <= mean g t).
  { apply Rmult_le_pos;
    [apply first_nonneg; intros; apply Hg; lia | now apply Rlt_le, Rinv_0_lt_compat]. }
  assert (Rg := root_nonneg g t). assert (Rh := root_nonneg h t).
  assert (Rr : root h t <= l * root g t).
  { apply Rmult_le_reg_l with (/ l); [apply Rinv_0_lt_compat; lra|].
    replace (/ l * (l * root g t)) with (root g t) by (field; lra).
    apply root_le; [apply Rlt_le, Rinv_0_lt_compat; lra|]. intros i Hi.
    replace (g i ^ 2) with ((/ l) ^ 2 * (l * g i) ^ 2) by (field; lra).
    rewrite Rpow_mult_distr. apply Rmult_le_compat_l; [apply pow2_ge_0 | now apply Hr]. }
  unfold update.
  apply Rmult_le_reg_r with (l * (root g t + eps) * (root h t + eps)).
  { repeat apply Rmult_lt_0_compat; lra. }
  replace (k / l * (mean g t / (root g t + eps)) * (l * (root g t + eps) * (root h t + eps)))
    with (k * mean g t * (root h t + eps)) by (field; lra).
  replace (mean h t / (root h t + eps) * (l * (root g t + eps) * (root h t + eps)))
    with (mean h t * (l * (root g t + eps))) by (field; lra).
  apply Rmult_le_compat; [apply Rmult_le_pos; lra | lra | exact M | nra].
Qed.

End Betas.
