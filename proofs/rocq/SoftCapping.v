(** * Soft-capped logits

    With logits phi(z) = cap tanh(z/cap), the gradient by z is
    h(z)/Z - [target], h(z) = exp(phi z) phi'(z).  h rises up to the capped
    logit sqrt(cap^2 + 1) - 1 and falls beyond it.  A step contracts while the
    logits of u and v stay below  [soft_capping, soft_capping_unbounded_mended];
    beyond, it can drive rows apart  [soft_capping_unbounded]. *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances OneStep LossSteps
  Gradients.
Local Open Scope R_scope.

(** ** One logit *)

Section Cap.
Variable cap : R.
Hypothesis cap_pos : 0 < cap.

Definition phi (z : R) : R := cap * tanh (z / cap).
Definition slope (z : R) : R := 1 - (tanh (z / cap))².
Definition h (z : R) : R := exp (phi z) * slope z.

(** phi'^2 + phi'', so that h' = exp(phi) bend. *)
Definition bend (z : R) : R := (slope z)² - 2 * tanh (z / cap) * slope z / cap.

(** 1 + 1/(2 cap^2). *)
Definition steepness : R := 1 + / (2 * cap²).

Lemma tanh_square_lt_1 x : (tanh x)² < 1.
Proof.
  assert (Hp := exp_pos x). assert (Hm := exp_pos (- x)).
  unfold tanh, sinh, cosh, Rsqr.
  replace ((exp x - exp (- x)) / 2 / ((exp x + exp (- x)) / 2)
           * ((exp x - exp (- x)) / 2 / ((exp x + exp (- x)) / 2)))
    with (1 - 4 * (exp x * exp (- x)) / ((exp x + exp (- x)) * (exp x + exp (- x))))
      by (field; lra).
  assert (0 < 4 * (exp x * exp (- x)) / ((exp x + exp (- x)) * (exp x + exp (- x)))).
  { apply Rdiv_lt_0_compat; [|apply Rmult_lt_0_compat; lra].
    assert (0 < exp x * exp (- x)) by now apply Rmult_lt_0_compat. lra. }
  lra.
Qed.

Lemma slope_pos z : 0 < slope z.
Proof. unfold slope. generalize (tanh_square_lt_1 (z / cap)). lra. Qed.

Lemma is_derive_tanh x : is_derive tanh x (1 - (tanh x)²).
Proof.
  unfold tanh, sinh, cosh, Rsqr. assert (Hp := exp_pos x). assert (Hm := exp_pos (- x)).
  auto_derive; [lra|]. field. lra.
Qed.

Lemma is_derive_scaled z : is_derive (fun z => tanh (z / cap)) z (slope z / cap).
Proof.
  replace (slope z / cap) with (scal (/ cap) (1 - (tanh (z / cap))²))
    by (unfold slope, scal, Rdiv; simpl; unfold mult; simpl; ring).
  apply (is_derive_comp tanh (fun z => z / cap)).
  - apply is_derive_tanh.
  - auto_derive; [trivial | field; lra].
Qed.

Lemma is_derive_phi z : is_derive phi z (slope z).
Proof.
  unfold phi. replace (slope z) with (cap * (slope z / cap)) by (field; lra).
  apply (is_derive_scal (fun z => tanh (z / cap))), is_derive_scaled.
Qed.

Lemma is_derive_exp_phi z : is_derive (fun z => exp (phi z)) z (h z).
Proof.
  replace (h z) with (scal (slope z) (exp (phi z)))
    by (unfold h, scal; simpl; unfold mult; simpl; ring).
  apply (is_derive_comp exp phi);
    [apply is_derive_Reals, derivable_pt_lim_exp | apply is_derive_phi].
Qed.

Lemma is_derive_slope z : is_derive slope z (- (2 * tanh (z / cap) * slope z / cap)).
Proof.
  unfold slope at 1.
  replace (- (2 * tanh (z / cap) * slope z / cap))
    with (minus 0 (plus (mult (slope z / cap) (tanh (z / cap)))
      (mult (tanh (z / cap)) (slope z / cap))))
    by (unfold minus, plus, opp, mult; simpl; field; lra).
  apply (is_derive_minus (fun _ => 1)); [apply (@is_derive_const R_AbsRing R_NormedModule)|].
  unfold Rsqr.
  apply (is_derive_mult (fun z => tanh (z / cap)) (fun z => tanh (z / cap)));
    [apply is_derive_scaled | apply is_derive_scaled | intros; apply Rmult_comm].
Qed.

Lemma is_derive_h z : is_derive h z (exp (phi z) * bend z).
Proof.
  unfold h.
  replace (exp (phi z) * bend z)
    with (plus (mult (h z) (slope z))
            (mult (exp (phi z)) (- (2 * tanh (z / cap) * slope z / cap))))
    by (unfold plus, mult, bend, h, Rsqr; simpl; field; lra).
  apply (is_derive_mult (fun z => exp (phi z)) slope);
    [apply is_derive_exp_phi | apply is_derive_slope | intros; apply Rmult_comm].
Qed.

(** A polynomial identity in t = tanh(z/cap). *)
Lemma bend_le z : bend z <= steepness.
Proof.
  unfold bend, steepness, slope. set (t := tanh (z / cap)).
  assert (Ht : t² < 1) by apply tanh_square_lt_1.
  assert (E : 1 + / (2 * cap²) - ((1 - t²)² - 2 * t * (1 - t²) / cap)
              = (t²)² * (1 + 2 * (1 - t²)) + 2 * (t * (1 - t²) + / (2 * cap))²)
    by (unfold Rsqr; field; lra).
  assert (0 <= (t²)² * (1 + 2 * (1 - t²))) by (apply Rmult_le_pos; [apply Rle_0_sqr | lra]).
  assert (0 <= (t * (1 - t²) + / (2 * cap))²) by apply Rle_0_sqr.
  lra.
Qed.

Definition edge : R := sqrt (cap² + 1) - 1.

Lemma bend_nonneg z : phi z <= edge -> 0 <= bend z.
Proof.
  unfold phi, edge, bend, slope. set (t := tanh (z / cap)). intros He.
  assert (Ht : t² < 1) by apply tanh_square_lt_1.
  assert (Ht1 : -1 < t) by (unfold Rsqr in Ht; nra).
  set (q := sqrt (cap² + 1)) in *.
  assert (Hq : q * q = cap² + 1).
  { apply sqrt_sqrt. assert (0 <= cap²) by apply Rle_0_sqr. lra. }
  assert (Hq0 : 0 <= q) by apply sqrt_pos.
  assert (Hqc : cap <= q) by (unfold Rsqr in Hq; nra).
  (* (cap t + 1)^2 <= cap^2 + 1 *)
  assert (H1 : 0 <= (q - (cap * t + 1)) * (q + (cap * t + 1))) by (apply Rmult_le_pos; nra).
  assert (H2 : 0 <= cap * (1 - t²) - 2 * t).
  { unfold Rsqr in *. assert (0 <= cap * (cap * (1 - t * t) - 2 * t)) by nra. nra. }
  replace ((1 - t²)² - 2 * t * (1 - t²) / cap)
    with ((1 - t²) * (cap * (1 - t²) - 2 * t) * / cap) by (unfold Rsqr; field; lra).
  apply Rmult_le_pos; [|now apply Rlt_le, Rinv_0_lt_compat].
  apply Rmult_le_pos; lra.
Qed.

(** The mean value theorem, as it is used here. *)
Lemma mean_value (f f' : R -> R) a b :
  a < b -> (forall z, is_derive f z (f' z)) -> exists c, a < c < b /\ f b - f a = f' c * (b - a).
Proof.
  intros Hab H. destruct (MVT_cor2 f f' a b Hab) as (c & Hc & Hc1).
  - intros c _. apply is_derive_Reals, H.
  - now exists c.
Qed.

Lemma phi_rises a b : a <= b -> phi a <= phi b.
Proof.
  intros Hab. destruct (Rle_lt_or_eq_dec _ _ Hab) as [H| ->]; [|lra].
  destruct (mean_value phi slope a b H is_derive_phi) as (c & _ & Hc).
  assert (Hs := slope_pos c). nra.
Qed.

Lemma h_rises a b : a <= b -> phi b <= edge -> h a <= h b.
Proof.
  intros Hab Hb. destruct (Rle_lt_or_eq_dec _ _ Hab) as [H| ->]; [|lra].
  destruct (mean_value h _ a b H is_derive_h) as (c & Hc & E).
  assert (Hp : phi c <= edge) by (eapply Rle_trans; [apply (phi_rises c b); lra | exact Hb]).
  assert (0 <= exp (phi c) * bend c)
    by (apply Rmult_le_pos; [apply Rlt_le, exp_pos | now apply bend_nonneg]).
  nra.
Qed.

(** exp(phi) is convex below the edge: it lies above its tangent at b. *)
Lemma tangent a b : a <= b -> phi b <= edge -> exp (phi b) - exp (phi a) <= (b - a) * h b.
Proof.
  intros Hab Hb. destruct (Rle_lt_or_eq_dec _ _ Hab) as [H| ->]; [|lra].
  destruct (mean_value (fun z => exp (phi z)) h a b H is_derive_exp_phi) as (c & Hc & E).
  cbv beta in E. assert (Hh : h c <= h b) by (apply h_rises; lra). nra.
Qed.

(** h(b) - h(a) <= (1 + 1/(2 cap^2)) (b - a) (exp(phi a) + exp(phi b))/2. *)
Lemma h_gap a b :
  a <= b -> phi b <= edge ->
  h b - h a <= steepness * (b - a) * ((exp (phi a) + exp (phi b)) / 2).
Proof.
  intros Hab Hb. destruct (Rle_lt_or_eq_dec _ _ Hab) as [H| ->]; [|right; ring].
  set (Q := fun z => steepness * (z - a) * ((exp (phi a) + exp (phi z)) / 2) - (h z - h a)).
  set (Q' := fun z => steepness * ((exp (phi a) + exp (phi z)) / 2)
                      + steepness * (z - a) * (h z / 2) - exp (phi z) * bend z).
  assert (HQ : forall z, is_derive Q z (Q' z)).
  { intros z. unfold Q.
    replace (Q' z)
      with (minus (plus (mult steepness ((exp (phi a) + exp (phi z)) / 2))
                     (mult (steepness * (z - a)) (h z / 2)))
              (exp (phi z) * bend z))
      by (unfold Q', minus, plus, opp, mult; simpl; ring).
    apply (is_derive_minus (fun z => steepness * (z - a) * ((exp (phi a) + exp (phi z)) / 2))
             (fun z => h z - h a)).
    - apply (is_derive_mult (fun z => steepness * (z - a))
      (fun z => (exp (phi a) + exp (phi z)) / 2)).
      + auto_derive; [trivial | ring].
      + replace (h z / 2) with (scal (/ 2) (plus 0 (h z)))
          by (unfold scal, plus; simpl; unfold mult; simpl; field).
        apply is_derive_ext_R with (fun z => / 2 * (exp (phi a) + exp (phi z)));
          [intros; field|].
        apply (is_derive_scal (fun z => exp (phi a) + exp (phi z))).
        apply (is_derive_plus (fun _ => exp (phi a)));
          [apply (@is_derive_const R_AbsRing R_NormedModule) | apply is_derive_exp_phi].
      + intros; apply Rmult_comm.
    - replace (exp (phi z) * bend z) with (minus (exp (phi z) * bend z) 0)
        by (unfold minus, plus, opp; simpl; ring).
      apply (is_derive_minus h);
        [apply is_derive_h | apply (@is_derive_const R_AbsRing R_NormedModule)]. }
  destruct (mean_value Q Q' a b H HQ) as (c & Hc & E).
  assert (E0 : Q a = 0) by (unfold Q; ring).
  assert (Hp : phi c <= edge) by (eapply Rle_trans; [apply (phi_rises c b); lra | exact Hb]).
  assert (Hk : 0 < steepness).
  { unfold steepness. assert (0 < / (2 * cap²)); [|lra].
    apply Rinv_0_lt_compat. assert (0 < cap²) by now apply Rlt_0_sqr, Rgt_not_eq. lra. }
  assert (H0 : 0 <= Q' c).
  { unfold Q'. assert (Hb1 := bend_le c). assert (He := exp_pos (phi c)).
    assert (Ht := tangent a c ltac:(lra) Hp).
    assert (exp (phi c) * bend c <= exp (phi c) * steepness) by (apply Rmult_le_compat_l; lra).
    assert (0 <= steepness * ((c - a) * h c - (exp (phi c) - exp (phi a))))
      by (apply Rmult_le_pos; lra).
    lra. }
  assert (0 <= Q b) by (rewrite E0 in E; nra).
  unfold Q in *. lra.
Qed.

(** Both signs of b - a: the quotient of h lies between 0 and the mean of exp(phi). *)
Definition quotient (a b : R) : R := if Req_EM_T a b then 0 else (h a - h b) / (a - b).

Lemma quotient_spec a b : h a - h b = quotient a b * (a - b).
Proof.
  unfold quotient. destruct (Req_EM_T a b) as [->|H]; [ring|]. field. lra.
Qed.

Lemma quotient_bounds a b :
  phi a <= edge -> phi b <= edge ->
  0 <= quotient a b <= steepness * ((exp (phi a) + exp (phi b)) / 2).
Proof.
  intros Ha Hb. assert (Hea := exp_pos (phi a)). assert (Heb := exp_pos (phi b)).
  assert (Hk : 0 < / (2 * cap²)).
  { apply Rinv_0_lt_compat. assert (0 < cap²) by now apply Rlt_0_sqr, Rgt_not_eq. lra. }
  unfold quotient. destruct (Req_EM_T a b) as [->|H].
  - split; [lra|]. apply Rmult_le_pos; [unfold steepness; lra | lra].
  - destruct (Rtotal_order a b) as [Hab|[->|Hab]]; [|congruence|].
    + replace ((h a - h b) / (a - b)) with ((h b - h a) / (b - a)) by (field; lra).
      assert (H1 := h_rises a b ltac:(lra) Hb). assert (H2 := h_gap a b ltac:(lra) Hb).
      split; [apply Rdiv_le_0_compat; lra|]. apply Rle_div_l; lra.
    + assert (H1 := h_rises b a ltac:(lra) Ha). assert (H2 := h_gap b a ltac:(lra) Ha).
      split; [apply Rdiv_le_0_compat; lra|]. apply Rle_div_l; lra.
Qed.

End Cap.

(** ** The step *)

Record capped_step := CappedStep { base :> step; cap : R }.

Record capped_ok (s : capped_step) : Prop := {
  capped_base : step_ok s;
  cap_positive : 0 < cap s
}.

Definition z (s : capped_step) (i k : nat) : R :=
  logit (dim s) (rows s) (feature (data s) i) k.

Definition normaliser (s : capped_step) (i : nat) : R :=
  sum (labels s) (fun k => exp (phi (cap s) (z s i k))).

(** p_k of the capped logits. *)
Definition capped_softmax (s : capped_step) (i k : nat) : R :=
  exp (phi (cap s) (z s i k)) / normaliser s i.

(** The derivative of an example's loss by <w_k, x_i>. *)
Definition capped_residual (s : capped_step) (i k : nat) : R :=
  (capped_softmax s i k - indicator (target (data s) i) k) * slope (cap s) (z s i k).

Definition capped_next (s : capped_step) : vec :=
  pair_after s (rows_gradient (data s) (capped_residual s)).

(** (1 + 1/(2 cap^2)) sum_i a_i (p_u + p_v)/2 |x_i|^2. *)
Definition capped_trace (s : capped_step) : R :=
  sum (size (data s)) (fun i =>
    weight (data s) i
    * (steepness (cap s)
       * ((capped_softmax s i (row_u s) + capped_softmax s i (row_v s)) / 2))
    * dot (dim s) (feature (data s) i) (feature (data s) i)).

Definition hyp_curvature (s : capped_step) : Prop := capped_trace s <= curvature s.

Definition hyp_monotone (s : capped_step) : Prop :=
  forall i, (i < size (data s))%nat ->
    phi (cap s) (z s i (row_u s)) <= edge (cap s)
    /\ phi (cap s) (z s i (row_v s)) <= edge (cap s).

Lemma normaliser_pos (s : capped_step) i : step_ok s -> 0 < normaliser s i.
Proof. intros ok. apply sum_pos; [apply labels_pos, ok|]. intros; apply exp_pos. Qed.

(** c_i with g_iu - g_iv = c_i <D, x_i>. *)
Definition capped_coefficient (s : capped_step) (i : nat) : R :=
  quotient (cap s) (z s i (row_u s)) (z s i (row_v s)) / normaliser s i.

Lemma capped_gap (s : capped_step) i :
  step_ok s -> hyp_unseen s -> (i < size (data s))%nat -> weight (data s) i <> 0 ->
  capped_residual s i (row_u s) - capped_residual s i (row_v s)
  = capped_coefficient s i * dot (dim s) (difference s) (feature (data s) i).
Proof.
  intros ok [Hu Hv] Hi Hw. unfold capped_residual. rewrite !(unseen_indicator s i) by assumption.
  assert (Hn := normaliser_pos s i ok).
  replace (dot (dim s) (difference s) (feature (data s) i)) with (z s i (row_u s) - z s i (row_v s))
    by (unfold z, logit, difference, wdiff; now rewrite dot_sub_l).
  unfold capped_coefficient.
  replace (quotient (cap s) (z s i (row_u s)) (z s i (row_v s)) / normaliser s i
           * (z s i (row_u s) - z s i (row_v s)))
    with (quotient (cap s) (z s i (row_u s)) (z s i (row_v s))
          * (z s i (row_u s) - z s i (row_v s)) / normaliser s i) by (field; lra).
  rewrite <- quotient_spec. unfold capped_softmax, h. field. lra.
Qed.

Lemma capped_contracts (s : capped_step) :
  capped_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s -> hyp_step_size s ->
  hyp_monotone s ->
  norm (dim s) (capped_next s) <= decay s * norm (dim s) (difference s).
Proof.
  intros [ok Hcap] Hs He HT Hc Hm. destruct (step_batch s ok) as [_ Ha _ _].
  assert (Hb : forall i, (i < size (data s))%nat ->
    0 <= capped_coefficient s i
      <= steepness (cap s) * ((capped_softmax s i (row_u s) + capped_softmax s i (row_v s)) / 2)).
  { intros i Hi. destruct (Hm i Hi) as [Hmu Hmv]. assert (Hn := normaliser_pos s i ok).
    destruct (quotient_bounds (cap s) Hcap _ _ Hmu Hmv) as [H0 H1].
    unfold capped_coefficient, capped_softmax. split; [apply Rdiv_le_0_compat; lra|].
    apply Rle_div_l; [exact Hn|]. eapply Rle_trans; [exact H1|]. right; field; lra. }
  apply pair_contracts with (capped_coefficient s) (curvature s); trivial.
  - intros i Hi Hw. now apply capped_gap.
  - intros i Hi. apply Rmult_le_pos; [now apply Ha | now apply Hb].
  - eapply Rle_trans; [|exact HT]. apply sum_le; intros i Hi.
    apply Rmult_le_compat_r; [apply dot_self_nonneg|].
    apply Rmult_le_compat_l; [now apply Ha | now apply Hb].
Qed.

Theorem soft_capping (s : capped_step) :
  capped_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s -> hyp_step_size s ->
  hyp_monotone s ->
  norm (dim s) (capped_next s) <= decay s * norm (dim s) (difference s).
Proof. exact (capped_contracts s). Qed.

(** ** Whatever the logits *)

Definition soft_capping_unbounded_bound (s : capped_step) : Prop :=
  norm (dim s) (capped_next s) <= decay s * norm (dim s) (difference s).

Theorem soft_capping_unbounded_mended (s : capped_step) :
  capped_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s -> hyp_step_size s ->
  hyp_monotone s -> soft_capping_unbounded_bound s.
Proof. exact (capped_contracts s). Qed.

(** cap 1, x = 1, w_u = ln(19)/2 and w_v = w_2 = 0: tanh w_u = 9/10, so that
    h(w_u) < 1 = h(0). *)
Definition half_ln_19 : R := ln 19 / 2.

Definition beyond : capped_step :=
  CappedStep
    (Step 1 3 (fun k _ => if Nat.eq_dec k 0 then half_ln_19 else 0) (one_example 1)
       0 1 1 0 (3 / 4) 1 (1 / 2))
    1.

Lemma half_ln_19_pos : 0 < half_ln_19.
Proof.
  unfold half_ln_19. assert (0 < ln 19) by (rewrite <- ln_1; apply ln_increasing; lra). lra.
Qed.

Lemma tanh_half_ln_19 : tanh half_ln_19 = 9 / 10.
Proof.
  assert (E : exp half_ln_19 * exp half_ln_19 = 19).
  { rewrite <- exp_plus. unfold half_ln_19. replace (ln 19 / 2 + ln 19 / 2) with (ln 19) by field.
    apply exp_ln; lra. }
  assert (Hp := exp_pos half_ln_19).
  unfold tanh, sinh, cosh. rewrite exp_Ropp. set (y := exp half_ln_19) in *.
  replace ((y - / y) / 2 / ((y + / y) / 2)) with ((y * y - 1) / (y * y + 1)) by (field; nra).
  rewrite E. field.
Qed.

Lemma tanh_at_0 : tanh 0 = 0.
Proof. unfold tanh. rewrite sinh_0. unfold Rdiv. ring. Qed.

Lemma h_beyond : h 1 half_ln_19 < h 1 0.
Proof.
  unfold h, slope, phi. rewrite !Rdiv_1, tanh_half_ln_19, tanh_at_0.
  rewrite !Rmult_1_l, exp_0. assert (He : exp (9 / 10) <= 3).
  { eapply Rle_trans; [|apply exp_le_3]. apply exp_le. lra. }
  unfold Rsqr. lra.
Qed.

Lemma beyond_ok : capped_ok beyond.
Proof. split; [split; [apply one_example_ok | apply first_pair_ok] | simpl; lra]. Qed.

Lemma beyond_unseen : hyp_unseen beyond.
Proof. split; apply one_example_unseen; simpl; lia. Qed.

Lemma beyond_curvature : hyp_curvature beyond.
Proof.
  unfold hyp_curvature, capped_trace.
  change (size (data beyond)) with 1%nat. change (dim beyond) with 1%nat. cbn [sum].
  rewrite dot_1. change (feature (data beyond) 0%nat 0%nat) with 1.
  change (weight (data beyond) 0%nat) with 1. change (cap beyond) with 1.
  change (row_u beyond) with 0%nat. change (row_v beyond) with 1%nat.
  change (curvature beyond) with (3 / 4).
  assert (H : capped_softmax beyond 0 0 + capped_softmax beyond 0 1 <= 1).
  { unfold capped_softmax, normaliser. change (labels beyond) with 3%nat. cbn [sum].
    set (a := exp (phi _ (z beyond 0 0))). set (b := exp (phi _ (z beyond 0 1))).
    set (c := exp (phi _ (z beyond 0 2))).
    assert (0 < a) by apply exp_pos. assert (0 < b) by apply exp_pos.
    assert (0 < c) by apply exp_pos.
    replace (a / (0 + a + b + c) + b / (0 + a + b + c)) with ((a + b) / (a + b + c))
      by (field; lra).
    apply Rle_div_l; lra. }
  unfold steepness, Rsqr. lra.
Qed.

Theorem soft_capping_unbounded :
  ~ (forall s : capped_step,
       capped_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s ->
       hyp_step_size s -> soft_capping_unbounded_bound s).
Proof.
  intros H.
  assert (H1 : soft_capping_unbounded_bound beyond).
  { apply H; [apply beyond_ok | apply beyond_unseen | | apply beyond_curvature |].
    - unfold hyp_nonnegative_step; simpl; lra.
    - unfold hyp_step_size; simpl; lra. }
  unfold soft_capping_unbounded_bound in H1. change (dim beyond) with 1%nat in H1.
  assert (Hd : difference beyond 0%nat = half_ln_19)
    by (unfold difference, wdiff, vsub; simpl; ring).
  assert (Hn := normaliser_pos beyond 0 (capped_base _ beyond_ok)).
  assert (Zu : z beyond 0 0 = half_ln_19) by (unfold z, logit; simpl; rewrite dot_1; ring).
  assert (Zv : z beyond 0 1 = 0) by (unfold z, logit; simpl; rewrite dot_1; ring).
  assert (E : capped_next beyond 0%nat = half_ln_19
    + (h 1 0 - h 1 half_ln_19) / normaliser beyond 0).
  { unfold capped_next. rewrite pair_after_split. unfold rows_gradient, vsum, vscal.
    change (size (data beyond)) with 1%nat. cbn [sum].
    change (row_u beyond) with 0%nat. change (row_v beyond) with 1%nat.
    unfold capped_residual, capped_softmax. rewrite Zu, Zv, Hd.
    change (cap beyond) with 1. unfold h, decay, indicator. simpl. field. lra. }
  rewrite !norm_1, E, Hd in H1. assert (Hp := half_ln_19_pos). assert (Hh := h_beyond).
  assert (0 < (h 1 0 - h 1 half_ln_19) / normaliser beyond 0) by (apply Rdiv_lt_0_compat; lra).
  rewrite !Rabs_pos_eq in H1 by lra. unfold decay in H1. simpl in H1. lra.
Qed.

(** ** The hypotheses can be met: at the logits 0 *)

Definition flat : capped_step :=
  CappedStep
    (Step 2 3 (fun k j => if Nat.eq_dec k j then 1 else 0)
       (Batch 1 (fun _ j => if Nat.eq_dec j 2 then 1 else 0) (fun _ => 1) (fun _ => 2%nat))
       0 1 (1 / 2) 1 0 1 (1 / 2))
    1.

Lemma flat_logit i k : z flat i k = 0.
Proof. unfold z, logit, dot. simpl. ring. Qed.

Lemma flat_ok : capped_ok flat.
Proof. split; [split; [split; simpl; intros; try lra; lia | apply first_pair_ok] | simpl; lra]. Qed.

Example soft_capping_met : exists s : capped_step,
  capped_ok s /\ hyp_unseen s /\ hyp_nonnegative_step s /\ hyp_curvature s /\ hyp_step_size s
  /\ hyp_monotone s /\ 0 < weight_decay s.
Proof.
  exists flat. conjuncts; [apply flat_ok | | | | | | simpl; lra].
  - split; intros i _ _ E; simpl in E; congruence.
  - unfold hyp_nonnegative_step; simpl; lra.
  - unfold hyp_curvature, capped_trace. change (size (data flat)) with 1%nat. cbn [sum].
    replace (dot (dim flat) (feature (data flat) 0%nat) (feature (data flat) 0%nat)) with 0
      by (unfold dot; simpl; ring).
    change (curvature flat) with 0. lra.
  - unfold hyp_step_size; simpl; lra.
  - intros i _. rewrite !flat_logit. change (cap flat) with 1.
    assert (E : phi 1 0 = 0) by (unfold phi; rewrite Rdiv_1, tanh_at_0; ring).
    rewrite E. unfold edge, Rsqr. assert (1 <= sqrt (1 * 1 + 1)).
    { rewrite <- sqrt_1 at 1. apply sqrt_le_1_alt. lra. }
    lra.
Qed.

Example soft_capping_unbounded_met : exists s : capped_step,
  capped_ok s /\ hyp_unseen s /\ hyp_nonnegative_step s /\ hyp_curvature s /\ hyp_step_size s
  /\ 0 < step_size s.
Proof.
  exists beyond. conjuncts;
    [apply beyond_ok | apply beyond_unseen | | apply beyond_curvature | | simpl; lra].
  - unfold hyp_nonnegative_step; simpl; lra.
  - unfold hyp_step_size; simpl; lra.
Qed.
