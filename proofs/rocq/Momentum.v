(** * SGD with momentum on unseen labels

    From a zero buffer, with the same step size, decay and momentum beta at
    every step, on any batches, with c = 1 - eta lambda:
      |D_T| <= c^T sqrt((c + beta)/c) |D_0|            [momentum_decoupled],
    decay beside the gradient;
      |D_T| <= rho^T sqrt(a (a(1+beta) - 4 beta)/(a^2 - 4 beta)) |D_0|
                                                       [momentum_coupled],
    torch's SGD, rho the larger root of z^2 - a z + beta, a = 1 + beta -
    eta lambda; and with Nesterov's momentum, rho the larger root of
    z^2 - (1 + beta) c z + beta c,                     [nesterov].
    All three are [Lyapunov.v] with their own roots. *)

From Coq Require Import Reals Lra Lia Arith.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances OneStep Lyapunov.
From Collapse Require Runs.
Local Open Scope R_scope.

Record momentum_run := Momentum {
  trained :> Runs.training;
  step_size : R;
  weight_decay : R;
  momentum : R;
  curvature : R
}.

(** torch takes no negative momentum. *)
Record momentum_ok (r : momentum_run) : Prop := {
  trained_ok : Runs.training_ok r;
  momentum_nonneg : 0 <= momentum r
}.

Inductive kind := Coupled | Decoupled | Nesterov.

Section Rule.
Variables (k : kind) (r : momentum_run).

(** Step t from given rows, for its gradient and for M. *)
Definition from (t : nat) (W : model) : step :=
  Step (Runs.dim r) (Runs.labels r) W (Runs.batches r t) (Runs.row_u r) (Runs.row_v r)
    (step_size r) (weight_decay r) (curvature r) 0 0.

Definition slope (w g : vec) : vec :=
  match k with Decoupled => g | _ => vadd g (vscal (weight_decay r) w) end.

Definition next_buffer (w b g : vec) : vec := vadd (vscal (momentum r) b) (slope w g).

Definition next_row (w b g : vec) : vec :=
  let after := next_buffer w b g in
  match k with
  | Coupled => vsub w (vscal (step_size r) after)
  | Decoupled =>
      vsub (vscal (1 - step_size r * weight_decay r) w) (vscal (step_size r) after)
  | Nesterov =>
      vsub w (vscal (step_size r) (vadd (slope w g) (vscal (momentum r) after)))
  end.

(** Rows and buffers before step t. *)
Fixpoint state (t : nat) : model * model :=
  match t with
  | O => (Runs.first_rows r, fun _ => vzero)
  | S t' =>
      let (W, B) := state t' in
      let g := gradient (Runs.dim r) (Runs.labels r) (Runs.batches r t') W in
      (fun i => next_row (W i) (B i) (g i), fun i => next_buffer (W i) (B i) (g i))
  end.

Definition at_step (t : nat) : step := from t (fst (state t)).

(** D_t, the difference of the buffers, and M D_t. *)
Definition D (t : nat) : vec := wdiff (fst (state t)) (Runs.row_u r) (Runs.row_v r).
Definition B (t : nat) : vec := wdiff (snd (state t)) (Runs.row_u r) (Runs.row_v r).
Definition y (t : nat) : vec := operator (at_step t) (D t).

Definition distance_at (t : nat) : R := norm (Runs.dim r) (D t).

(** ** Hypotheses *)

Definition hyp_unseen : Prop :=
  forall t, (t < Runs.steps r)%nat -> Steps.hyp_unseen (at_step t).
Definition hyp_nonnegative_step : Prop := 0 <= step_size r.
Definition hyp_curvature : Prop :=
  forall t, (t < Runs.steps r)%nat -> trace (at_step t) <= curvature r.
Definition hyp_some_momentum : Prop := 0 < momentum r.

(** ** One step on the differences *)

Hypothesis ok : momentum_ok r.

Lemma at_step_ok t : (t < Runs.steps r)%nat -> step_ok (at_step t).
Proof. intros Ht. destruct ok as [[Hp Hb] _]. split; [now apply Hb | exact Hp]. Qed.

Hypothesis unseen_labels : hyp_unseen.

Let pull t j :
  (t < Runs.steps r)%nat ->
  gradient (Runs.dim r) (Runs.labels r) (Runs.batches r t) (fst (state t)) (Runs.row_u r) j
  - gradient (Runs.dim r) (Runs.labels r) (Runs.batches r t) (fst (state t)) (Runs.row_v r) j
  = y t j.
Proof. intros Ht. exact (gradient_difference (at_step t) (at_step_ok t Ht) j (unseen_labels t Ht)).
Qed.

Definition decayed (t : nat) : vec :=
  match k with Decoupled => y t | _ => vadd (y t) (vscal (weight_decay r) (D t)) end.

Lemma buffer_step t j :
  (t < Runs.steps r)%nat -> B (S t) j = momentum r * B t j + decayed t j.
Proof.
  intros Ht. assert (E := pull t j Ht). unfold decayed, B, wdiff, vsub in *. simpl.
  unfold D, wdiff. destruct (state t) as [W Bu]. simpl in *.
  unfold next_buffer, slope. destruct k; unfold vadd, vscal, vsub; rewrite <- E; ring.
Qed.

Lemma row_step t j :
  (t < Runs.steps r)%nat ->
  D (S t) j = match k with
  | Coupled => D t j - step_size r * B (S t) j
  | Decoupled => (1 - step_size r * weight_decay r) * D t j - step_size r * B (S t) j
  | Nesterov => D t j - step_size r * (decayed t j + momentum r * B (S t) j)
  end.
Proof.
  intros Ht. assert (E := pull t j Ht). unfold decayed, B, D, wdiff, vsub in *. simpl.
  destruct (state t) as [W Bu]. simpl in *.
  unfold next_row, next_buffer, slope. destruct k; unfold vadd, vscal, vsub; try rewrite <- E; ring.
Qed.

(** ** The function of [Lyapunov.v] *)

Variables (r1 r2 N1 N2 e1 e2 f1 f2 : R).
Let E t : vec := fun j => e1 * D t j + e2 * B t j.
Let F t : vec := fun j => f1 * D t j + f2 * B t j.

Hypothesis eta_nonneg : hyp_nonnegative_step.
Hypothesis T_bound : hyp_curvature.
Hypothesis output_D : r1 - r2 = N1 * e1 - N2 * f1.
Hypothesis output_B : 0 = N1 * e2 - N2 * f2.
Hypothesis moves_E : forall t, (t < Runs.steps r)%nat ->
  moved (Runs.dim r) (step_size r) r1 (E t) (E (S t)) (y t).
Hypothesis moves_F : forall t, (t < Runs.steps r)%nat ->
  moved (Runs.dim r) (step_size r) r2 (F t) (F (S t)) (y t).

Lemma follows_run :
  follows (Runs.dim r) r1 r2 N1 N2 (step_size r) (curvature r) D E F y (Runs.steps r).
Proof.
  split; trivial.
  - intros t _ j _. unfold E, F. rewrite output_D.
    replace (N1 * (e1 * D t j + e2 * B t j) - N2 * (f1 * D t j + f2 * B t j))
      with ((N1 * e1 - N2 * f1) * D t j + (N1 * e2 - N2 * f2) * B t j) by ring.
    rewrite <- output_B. ring.
  - intros t Ht. rewrite dot_comm. apply form_nonneg, coefficient_nonneg, at_step_ok, Ht.
  - intros t Ht. rewrite (dot_comm _ (D t)).
    assert (H := at_step_ok t Ht).
    apply Rle_trans with (trace (at_step t) * dot (Runs.dim r) (y t) (D t)).
    + apply (form_sqr_le (Runs.dim r) _ (coefficient (at_step t)) _); [|apply Rle_refl].
      apply coefficient_nonneg, H.
    + apply Rmult_le_compat_r; [|now apply T_bound].
      apply form_nonneg, coefficient_nonneg, H.
Qed.

Lemma first_value :
  V (Runs.dim r) N1 N2 (E 0%nat) (F 0%nat)
  = (N1 * e1 ^ 2 + N2 * f1 ^ 2) * dot (Runs.dim r) (D 0%nat) (D 0%nat).
Proof.
  assert (HB : forall j, B 0%nat j = 0).
  { intros j. unfold B, wdiff, vsub. simpl. unfold vzero. ring. }
  unfold V.
  rewrite (dot_ext _ (E 0%nat) (vscal e1 (D 0%nat)) (E 0%nat) (vscal e1 (D 0%nat)))
    by (intros j _; unfold E, vscal; rewrite HB; ring).
  rewrite (dot_ext _ (F 0%nat) (vscal f1 (D 0%nat)) (F 0%nat) (vscal f1 (D 0%nat)))
    by (intros j _; unfold F, vscal; rewrite HB; ring).
  rewrite !dot_scal_l, !dot_scal_r. ring.
Qed.

Lemma run_bound C :
  0 <= r2 -> r2 < r1 -> 0 <= N1 -> 0 <= N2 ->
  step_size r * curvature r * (N1 * (r1 - r2) + 2 * r1 * N2) <= 2 * r1 * (r1 - r2) ^ 2 ->
  (N1 + N2) * (N1 * e1 ^ 2 + N2 * f1 ^ 2) = C ^ 2 * (r1 - r2) ^ 2 -> 0 <= C ->
  distance_at (Runs.steps r) <= r1 ^ Runs.steps r * C * distance_at 0.
Proof.
  intros H2 H1 HN1 HN2 Hroom HC HC0.
  apply (run_norm (Runs.dim r) r1 r2 N1 N2 (step_size r) (curvature r) H2 H1 HN1 HN2
           eta_nonneg Hroom D E F y (Runs.steps r) (N1 * e1 ^ 2 + N2 * f1 ^ 2) C).
  - exact follows_run.
  - exact first_value.
  - exact HC.
  - exact HC0.
Qed.

End Rule.

(** ** Decay beside the gradient: the roots are c and beta *)

Definition decay (r : momentum_run) : R := 1 - step_size r * weight_decay r.

Module Beside.
Definition hyp_real_roots (r : momentum_run) : Prop := momentum r < decay r.
Definition hyp_step_size (r : momentum_run) : Prop :=
  step_size r * curvature r * (decay r + momentum r) <= 2 * (decay r - momentum r) ^ 2.
End Beside.

Theorem momentum_decoupled r :
  momentum_ok r -> hyp_unseen Decoupled r -> hyp_nonnegative_step r ->
  hyp_curvature Decoupled r -> Beside.hyp_real_roots r -> Beside.hyp_step_size r ->
  distance_at Decoupled r (Runs.steps r)
  <= decay r ^ Runs.steps r * (sqrt (decay r + momentum r) / sqrt (decay r))
     * distance_at Decoupled r 0.
Proof.
  intros ok Hu He HT Hr Hs. assert (Hb := momentum_nonneg r ok).
  unfold Beside.hyp_real_roots, Beside.hyp_step_size in *.
  assert (Hc : 0 < decay r) by lra.
  assert (Hq : 0 < sqrt (decay r)) by now apply sqrt_lt_R0.
  apply (run_bound Decoupled r ok (decay r) (momentum r) (decay r) (momentum r)
           (1 - momentum r / decay r) (- step_size r * momentum r / decay r) 0 (- step_size r));
    try lra; trivial.
  - field. lra.
  - field. lra.
  - intros t Ht j _. rewrite (row_step _ _ ok Hu _ _ Ht), (buffer_step _ _ ok Hu _ _ Ht).
    unfold decayed. fold (decay r). field. lra.
  - intros t Ht j _. rewrite (row_step _ _ ok Hu _ _ Ht), (buffer_step _ _ ok Hu _ _ Ht).
    unfold decayed. ring.
  - apply Rmult_le_compat_l with (r := decay r) in Hs; [|lra]. lra.
  - unfold Rdiv. rewrite Rpow_mult_distr.
    replace (sqrt (decay r + momentum r) ^ 2) with (decay r + momentum r)
      by (simpl; rewrite Rmult_1_r, sqrt_sqrt; lra).
    replace ((/ sqrt (decay r)) ^ 2) with (/ decay r)
      by (simpl; rewrite Rmult_1_r, <- Rinv_mult, sqrt_sqrt; lra).
    field. lra.
  - apply Rmult_le_pos; [apply sqrt_pos | now apply Rlt_le, Rinv_0_lt_compat].
Qed.

(** ** Decay in the gradient: the roots of z^2 - a z + beta *)

Definition mean_root (r : momentum_run) : R := 1 + momentum r - step_size r * weight_decay r.

Module Within.
Definition hyp_real_roots (r : momentum_run) : Prop := 2 * sqrt (momentum r) < mean_root r.
Definition hyp_step_size (r : momentum_run) : Prop :=
  step_size r * curvature r * mean_root r <= 2 * (mean_root r ^ 2 - 4 * momentum r).
Definition spread (r : momentum_run) : R := sqrt (mean_root r ^ 2 - 4 * momentum r).
End Within.

Theorem momentum_coupled r :
  momentum_ok r -> hyp_unseen Coupled r -> hyp_nonnegative_step r ->
  hyp_curvature Coupled r -> Within.hyp_real_roots r -> Within.hyp_step_size r ->
  distance_at Coupled r (Runs.steps r)
  <= ((mean_root r + Within.spread r) / 2) ^ Runs.steps r
     * (sqrt (mean_root r) * sqrt (mean_root r * (1 + momentum r) - 4 * momentum r)
        / Within.spread r)
     * distance_at Coupled r 0.
Proof.
  intros ok Hu He HT Hr Hs. assert (Hb := momentum_nonneg r ok).
  unfold Within.hyp_real_roots, Within.hyp_step_size, Within.spread in *.
  set (a := mean_root r) in *. set (b := momentum r) in *.
  assert (Hz := sqrt_pos b). assert (Ez : sqrt b * sqrt b = b) by now apply sqrt_sqrt.
  set (z := sqrt b) in *.
  assert (Ha : 0 < a) by lra.
  assert (Hd : 0 < a ^ 2 - 4 * b) by (rewrite <- Ez; nra).
  assert (Hl : 0 <= a * (1 + b) - 4 * b).
  { rewrite <- Ez. assert (0 <= (a - 2 * z) * (1 + z * z)) by (apply Rmult_le_pos; nra).
    assert (0 <= 2 * z * (1 - z) ^ 2) by (apply Rmult_le_pos; [lra | apply pow2_ge_0]). nra. }
  assert (Hg := sqrt_lt_R0 _ Hd).
  assert (Eg : sqrt (a ^ 2 - 4 * b) * sqrt (a ^ 2 - 4 * b) = a ^ 2 - 4 * b)
    by (apply sqrt_sqrt; lra).
  set (g := sqrt (a ^ 2 - 4 * b)) in *.
  set (r1 := (a + g) / 2). set (r2 := (a - g) / 2).
  assert (Esum : r1 + r2 = 1 + b - step_size r * weight_decay r)
    by (unfold r1, r2, a, mean_root, b; field).
  assert (Eprod : r1 * r2 = b) by (unfold r1, r2; nra).
  assert (Egap : r1 - r2 = g) by (unfold r1, r2; field).
  assert (H1 : 0 < r1) by (unfold r1; lra).
  assert (H2 : 0 <= r2).
  { apply Rmult_le_reg_l with (1 := H1). rewrite Eprod. lra. }
  apply (run_bound Coupled r ok r1 r2 r1 r2 (1 - r2) (- step_size r * r2)
           (1 - r1) (- step_size r * r1)); trivial; try lra.
  - intros t Ht j _. rewrite (row_step _ _ ok Hu _ _ Ht), (buffer_step _ _ ok Hu _ _ Ht).
    unfold decayed, vadd, vscal. fold b. rewrite <- Eprod.
    replace (weight_decay r * D Coupled r t j) with (D Coupled r t j * weight_decay r) by ring.
    assert (Ew : step_size r * weight_decay r = 1 + r1 * r2 - r1 - r2) by lra.
    replace (step_size r * (r1 * r2 * B Coupled r t j
              + (y Coupled r t j + D Coupled r t j * weight_decay r)))
      with (step_size r * r1 * r2 * B Coupled r t j + step_size r * y Coupled r t j
            + D Coupled r t j * (step_size r * weight_decay r)) by ring.
    replace (- step_size r * r2 * (r1 * r2 * B Coupled r t j
              + (y Coupled r t j + D Coupled r t j * weight_decay r)))
      with (- r2 * (step_size r * r1 * r2 * B Coupled r t j + step_size r * y Coupled r t j
            + D Coupled r t j * (step_size r * weight_decay r))) by ring.
    rewrite Ew. ring.
  - intros t Ht j _. rewrite (row_step _ _ ok Hu _ _ Ht), (buffer_step _ _ ok Hu _ _ Ht).
    unfold decayed, vadd, vscal. fold b. rewrite <- Eprod.
    assert (Ew : step_size r * weight_decay r = 1 + r1 * r2 - r1 - r2) by lra.
    replace (step_size r * (r1 * r2 * B Coupled r t j
              + (y Coupled r t j + weight_decay r * D Coupled r t j)))
      with (step_size r * r1 * r2 * B Coupled r t j + step_size r * y Coupled r t j
            + D Coupled r t j * (step_size r * weight_decay r)) by ring.
    replace (- step_size r * r1 * (r1 * r2 * B Coupled r t j
              + (y Coupled r t j + weight_decay r * D Coupled r t j)))
      with (- r1 * (step_size r * r1 * r2 * B Coupled r t j + step_size r * y Coupled r t j
            + D Coupled r t j * (step_size r * weight_decay r))) by ring.
    rewrite Ew. ring.
  - rewrite Egap.
    replace (r1 * g + 2 * r1 * r2) with (r1 * a) by (unfold r1, r2; field).
    replace (g ^ 2) with (a ^ 2 - 4 * b) by (simpl; lra).
    apply Rmult_le_compat_l with (r := r1) in Hs; [|lra]. lra.
  - unfold Rdiv. rewrite !Rpow_mult_distr, Egap.
    replace (sqrt a ^ 2) with a by (simpl; rewrite Rmult_1_r, sqrt_sqrt; lra).
    replace (sqrt (a * (1 + b) - 4 * b) ^ 2) with (a * (1 + b) - 4 * b)
      by (simpl; rewrite Rmult_1_r, sqrt_sqrt; lra).
    replace (a * (a * (1 + b) - 4 * b) * (/ g) ^ 2 * g ^ 2)
      with (a * (a * (1 + b) - 4 * b)) by (field; lra).
    rewrite <- Eprod. assert (Ea : a = r1 + r2) by (unfold r1, r2; field). rewrite Ea. ring.
  - apply Rmult_le_pos; [apply Rmult_le_pos; apply sqrt_pos | now apply Rlt_le, Rinv_0_lt_compat].
Qed.

(** ** Nesterov's momentum: the roots of z^2 - (1 + beta) c z + beta c *)

Module Ahead.
Definition hyp_real_roots (r : momentum_run) : Prop :=
  4 * momentum r < (1 + momentum r) ^ 2 * decay r.
Definition spread (r : momentum_run) : R :=
  sqrt (((1 + momentum r) * decay r) ^ 2 - 4 * momentum r * decay r).
Definition larger (r : momentum_run) : R := ((1 + momentum r) * decay r + spread r) / 2.
Definition smaller (r : momentum_run) : R := ((1 + momentum r) * decay r - spread r) / 2.
(** N(z) = (1 + beta) z - beta. *)
Definition at_root (r : momentum_run) (z : R) : R := (1 + momentum r) * z - momentum r.
Definition hyp_step_size (r : momentum_run) : Prop :=
  step_size r * curvature r
    * (at_root r (larger r) * spread r + 2 * larger r * at_root r (smaller r))
  <= 2 * larger r * spread r ^ 2.
Definition factor (r : momentum_run) : R :=
  sqrt ((1 + momentum r) ^ 2 * decay r - 2 * momentum r)
  * sqrt (decay r * (1 + momentum r ^ 2) - 2 * momentum r)
  / spread r.
End Ahead.

Theorem nesterov r :
  momentum_ok r -> hyp_unseen Nesterov r -> hyp_nonnegative_step r ->
  hyp_curvature Nesterov r -> hyp_some_momentum r -> Ahead.hyp_real_roots r ->
  Ahead.hyp_step_size r ->
  distance_at Nesterov r (Runs.steps r)
  <= Ahead.larger r ^ Runs.steps r * Ahead.factor r * distance_at Nesterov r 0.
Proof.
  intros ok Hu He HT Hm Hr Hs.
  unfold hyp_some_momentum, Ahead.hyp_real_roots, Ahead.hyp_step_size, Ahead.factor, Ahead.larger,
    Ahead.smaller, Ahead.at_root, Ahead.spread in *.
  set (b := momentum r) in *. set (c := decay r) in *.
  assert (Hc : 0 < c).
  { apply Rmult_lt_reg_l with ((1 + b) ^ 2); [apply pow_lt; lra|]. lra. }
  set (room := (1 + b) ^ 2 * c - 4 * b) in *.
  assert (Hroom : 0 < room) by (unfold room; lra).
  assert (Hd : 0 < ((1 + b) * c) ^ 2 - 4 * b * c).
  { replace (((1 + b) * c) ^ 2 - 4 * b * c) with (c * room) by (unfold room; ring).
    now apply Rmult_lt_0_compat. }
  assert (Hg := sqrt_lt_R0 _ Hd).
  assert (Eg : sqrt (((1 + b) * c) ^ 2 - 4 * b * c) * sqrt (((1 + b) * c) ^ 2 - 4 * b * c)
               = c * room).
  { rewrite sqrt_sqrt by lra. unfold room. ring. }
  set (g := sqrt (((1 + b) * c) ^ 2 - 4 * b * c)) in *.
  set (r1 := ((1 + b) * c + g) / 2) in *. set (r2 := ((1 + b) * c - g) / 2) in *.
  set (N1 := (1 + b) * r1 - b) in *. set (N2 := (1 + b) * r2 - b) in *.
  assert (Egap : r1 - r2 = g) by (unfold r1, r2; field).
  assert (Esum : r1 + r2 = (1 + b) * c) by (unfold r1, r2; field).
  assert (Eprod : r1 * r2 = b * c).
  { replace (r1 * r2) with ((((1 + b) * c) ^ 2 - g * g) / 4) by (unfold r1, r2; field).
    rewrite Eg. unfold room. field. }
  assert (H1 : 0 < r1) by (unfold r1; nra).
  assert (H2 : 0 <= r2).
  { apply Rmult_le_reg_l with (1 := H1). rewrite Eprod. nra. }
  assert (EN1 : N1 = (room + 2 * b + (1 + b) * g) / 2) by (unfold N1, r1, room; field).
  assert (HN1 : 0 < N1) by (rewrite EN1; nra).
  assert (EN : N1 * N2 = b ^ 2).
  { replace (N1 * N2) with ((1 + b) ^ 2 * (r1 * r2) - b * (1 + b) * (r1 + r2) + b ^ 2)
      by (unfold N1, N2; ring).
    rewrite Eprod, Esum. ring. }
  assert (HN2 : 0 < N2).
  { apply Rmult_lt_reg_l with (1 := HN1). rewrite EN, Rmult_0_r. now apply pow_lt. }
  assert (Eboth : N1 + N2 = room + 2 * b).
  { replace (N1 + N2) with ((1 + b) * (r1 + r2) - 2 * b) by (unfold N1, N2; ring).
    rewrite Esum. unfold room. ring. }
  assert (Hl : 0 <= c * (1 + b ^ 2) - 2 * b).
  { apply Rmult_le_reg_l with ((1 + b) ^ 2); [apply pow_lt; lra|].
    replace ((1 + b) ^ 2 * (c * (1 + b ^ 2) - 2 * b))
      with (room * (1 + b ^ 2) + 2 * b * (1 - b) ^ 2) by (unfold room; ring).
    rewrite Rmult_0_r. apply Rplus_le_le_0_compat; apply Rmult_le_pos;
      [lra | generalize (pow2_ge_0 b); lra | lra | apply pow2_ge_0]. }
  assert (Hroot : forall x, x = r1 \/ x = r2 -> x ^ 2 = c * ((1 + b) * x - b)).
  { intros x [-> | ->].
    - replace (r1 ^ 2) with (r1 * (r1 + r2) - r1 * r2) by ring. rewrite Esum, Eprod. ring.
    - replace (r2 ^ 2) with (r2 * (r1 + r2) - r1 * r2) by ring. rewrite Esum, Eprod. ring. }
  assert (Ew : step_size r * weight_decay r = 1 - c) by (unfold c, decay; ring).
  assert (moves : forall x N, N <> 0 -> N = (1 + b) * x - b -> x ^ 2 = c * ((1 + b) * x - b) ->
    forall t, (t < Runs.steps r)%nat ->
    moved (Runs.dim r) (step_size r) x
      (fun j => (x - b) / N * D Nesterov r t j + - step_size r * b ^ 2 / N * B Nesterov r t j)
      (fun j => (x - b) / N * D Nesterov r (S t) j
                + - step_size r * b ^ 2 / N * B Nesterov r (S t) j)
      (y Nesterov r t)).
  { intros x N HN EqN Hx t Ht j _.
    rewrite (row_step _ _ ok Hu _ _ Ht), (buffer_step _ _ ok Hu _ _ Ht).
    unfold decayed, vadd, vscal. fold b.
    set (d := D Nesterov r t j). set (w := B Nesterov r t j). set (z := y Nesterov r t j).
    apply Rmult_eq_reg_l with N; [|exact HN].
    replace (N * ((x - b) / N * (d - step_size r * (z + weight_decay r * d
                + b * (b * w + (z + weight_decay r * d))))
              + - step_size r * b ^ 2 / N * (b * w + (z + weight_decay r * d))))
      with ((x - b) * d - ((x - b) * (1 + b) + b ^ 2) * (step_size r * weight_decay r) * d
            - ((x - b) * (1 + b) + b ^ 2) * (step_size r * z) - x * b ^ 2 * (step_size r * w))
      by (field; exact HN).
    replace (N * (x * ((x - b) / N * d + - step_size r * b ^ 2 / N * w) - step_size r * z))
      with (x * (x - b) * d - x * b ^ 2 * (step_size r * w) - N * (step_size r * z))
      by (field; exact HN).
    rewrite Ew, EqN.
    replace (x * (x - b) * d) with ((x ^ 2 - b * x) * d) by ring. rewrite Hx. ring. }
  apply (run_bound Nesterov r ok r1 r2 N1 N2 ((r1 - b) / N1) (- step_size r * b ^ 2 / N1)
           ((r2 - b) / N2) (- step_size r * b ^ 2 / N2)); trivial; try lra.
  - field. lra.
  - field. lra.
  - apply moves; [lra | reflexivity | apply Hroot; now left].
  - apply moves; [lra | reflexivity | apply Hroot; now right].
  - rewrite Egap. exact Hs.
  - rewrite Egap. unfold Rdiv. rewrite !Rpow_mult_distr.
    replace (sqrt ((1 + b) ^ 2 * c - 2 * b) ^ 2) with (room + 2 * b)
      by (rewrite pow2_sqrt; unfold room in *; lra).
    replace (sqrt (c * (1 + b ^ 2) - 2 * b) ^ 2) with (c * (1 + b ^ 2) - 2 * b)
      by (now rewrite pow2_sqrt).
    replace ((room + 2 * b) * (c * (1 + b ^ 2) - 2 * b) * (/ g) ^ 2 * g ^ 2)
      with ((room + 2 * b) * (c * (1 + b ^ 2) - 2 * b)) by (field; lra).
    rewrite Eboth. f_equal.
    apply Rmult_eq_reg_l with (N1 * N2);
      [|apply Rgt_not_eq; apply Rmult_lt_0_compat; assumption].
    transitivity (N2 * (r1 - b) ^ 2 + N1 * (r2 - b) ^ 2); [field; lra|].
    rewrite EN.
    replace (N2 * (r1 - b) ^ 2 + N1 * (r2 - b) ^ 2)
      with ((1 + b) * (r1 * r2 * (r1 + r2) - 4 * b * (r1 * r2) + b ^ 2 * (r1 + r2))
            - b * ((r1 + r2) ^ 2 - 2 * (r1 * r2) - 2 * b * (r1 + r2) + 2 * b ^ 2))
      by (unfold N1, N2; ring).
    rewrite Esum, Eprod. ring.
  - apply Rmult_le_pos; [apply Rmult_le_pos; apply sqrt_pos | now apply Rlt_le, Rinv_0_lt_compat].
Qed.

(** ** The hypotheses can be met *)

Definition small_momentum (beta : R) : momentum_run :=
  Momentum (Runs.Training 1 3 one_row (fun _ => one_example 1) 0 1 1) (1 / 100) 1 beta (1 / 2).

Section Small.
Variables (k : kind) (beta : R).
Hypothesis beta_nonneg : 0 <= beta.

Lemma small_momentum_ok : momentum_ok (small_momentum beta).
Proof.
  split; [|exact beta_nonneg]. split; simpl; intros; [apply first_pair_ok | apply one_example_ok].
Qed.

Lemma small_momentum_unseen : hyp_unseen k (small_momentum beta).
Proof. intros t _. split; apply one_example_unseen; simpl; lia. Qed.

Lemma small_momentum_curvature : hyp_curvature k (small_momentum beta).
Proof.
  intros t _. set (W := fst (state k (small_momentum beta) t)).
  set (s := Step 1 3 W (one_example 1) 0 1 (1 / 100) 1 (1 / 2) 1 0).
  change (trace s <= 1 / 2).
  apply Rle_trans with ((radius s)² / 2); [|simpl; unfold Rsqr; lra].
  apply trace_le_radius.
  - split; [apply one_example_ok | apply first_pair_ok].
  - intros i _. simpl. rewrite norm_1. rewrite Rabs_R1. lra.
Qed.

Lemma small_momentum_apart : 0 < distance_at k (small_momentum beta) 0.
Proof.
  unfold distance_at, D, wdiff, vsub, small_momentum, one_row. simpl.
  rewrite norm_1. simpl. rewrite Rminus_0_r, Rabs_R1. lra.
Qed.

End Small.

Example momentum_decoupled_met : exists r,
  momentum_ok r /\ hyp_unseen Decoupled r /\ hyp_nonnegative_step r /\ hyp_curvature Decoupled r
  /\ Beside.hyp_real_roots r /\ Beside.hyp_step_size r
  /\ 0 < momentum r /\ 0 < step_size r * weight_decay r /\ 0 < distance_at Decoupled r 0.
Proof.
  exists (small_momentum (1 / 2)). conjuncts;
    first [ apply small_momentum_ok; lra | apply small_momentum_unseen
          | apply small_momentum_curvature | apply small_momentum_apart
          | unfold hyp_nonnegative_step, Beside.hyp_real_roots, Beside.hyp_step_size, decay;
            simpl; lra ].
Qed.

Example momentum_coupled_met : exists r,
  momentum_ok r /\ hyp_unseen Coupled r /\ hyp_nonnegative_step r /\ hyp_curvature Coupled r
  /\ Within.hyp_real_roots r /\ Within.hyp_step_size r
  /\ 0 < momentum r /\ 0 < step_size r * weight_decay r /\ 0 < distance_at Coupled r 0.
Proof.
  assert (E : sqrt (1 / 4) = 1 / 2).
  { replace (1 / 4) with ((1 / 2) * (1 / 2)) by field. apply sqrt_square. lra. }
  exists (small_momentum (1 / 4)). conjuncts;
    first [ apply small_momentum_ok; lra | apply small_momentum_unseen
          | apply small_momentum_curvature | apply small_momentum_apart
          | unfold hyp_nonnegative_step, Within.hyp_real_roots, Within.hyp_step_size, mean_root;
            simpl; try rewrite E; lra ].
Qed.

Example nesterov_met : exists r,
  momentum_ok r /\ hyp_unseen Nesterov r /\ hyp_nonnegative_step r /\ hyp_curvature Nesterov r
  /\ hyp_some_momentum r /\ Ahead.hyp_real_roots r /\ Ahead.hyp_step_size r
  /\ 0 < step_size r * weight_decay r /\ 0 < distance_at Nesterov r 0.
Proof.
  exists (small_momentum (1 / 4)). conjuncts;
    first [ apply small_momentum_ok; lra | apply small_momentum_unseen
          | apply small_momentum_curvature | apply small_momentum_apart
          | unfold hyp_nonnegative_step, hyp_some_momentum, Ahead.hyp_real_roots, decay;
            simpl; lra | idtac ].
  unfold Ahead.hyp_step_size, Ahead.larger, Ahead.smaller, Ahead.at_root, Ahead.spread, decay.
  simpl.
  set (q := _ - 4 * (1 / 4) * (1 - 1 / 100 * 1)).
  assert (Hq : 1 / 2 < q < 3 / 5) by (unfold q; lra).
  assert (Hg := sqrt_lt_R0 q ltac:(lra)).
  assert (Eg := sqrt_sqrt q ltac:(lra)).
  set (g := sqrt q) in *.
  assert (G1 : 7 / 10 < g) by nra. assert (G2 : g < 4 / 5) by nra.
  nra.
Qed.
