(** * Runs of AdamW

    From zero moments, on any batches: no update of step T exceeds C_T in any
    entry, and the largest entry of D stays within a ball,
      |D_T| <= P |D_0| + (2C/lambda)(1 - P), P = prod (1 - eta_t lambda)
                                                              [adamw_ball];
    with gradients of at most G both are smaller              [adamw_eps].
    In an entry whose feature is never negative, rows u and v are updated
    alike, |U_u - U_v| <= C_T (1 - exp(-omega)), omega the range of
    <D_t, x_i>, 0 included                                    [constant_sign].
    The cosine of two rows can reach 1 with the rows apart
                                              [cosine_implies_collapse]. *)

From Coq Require Import Reals Lra Lia Arith.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances OneStep Moments.
From Collapse Require Runs.
Local Open Scope R_scope.

Record adam_run := AdamRun {
  trained :> Runs.training;
  sizes : nat -> R;
  weight_decay : R;
  beta1 : R;
  beta2 : R;
  epsilon : R;
  gradient_bound : R
}.

(** What torch asks of betas and eps; at least one step, and one entry. *)
Record adam_run_ok (r : adam_run) : Prop := {
  trained_ok : Runs.training_ok r;
  beta1_range : 0 <= beta1 r < 1;
  beta2_range : 0 < beta2 r < 1;
  epsilon_pos : 0 < epsilon r;
  some_steps : (0 < Runs.steps r)%nat;
  some_entries : (0 < Runs.dim r)%nat
}.

(** ** The run *)

Section Rule.
Variable r : adam_run.

(** The gradient at step t from given rows. *)
Definition gradient_at (t : nat) (W : model) : model :=
  gradient (Runs.dim r) (Runs.labels r) (Runs.batches r t) W.

(** Rows before step t, and the gradients of all steps before it. *)
Fixpoint state (t : nat) : model * (nat -> model) :=
  match t with
  | O => (Runs.first_rows r, fun _ _ => vzero)
  | S t' =>
      let (W, G) := state t' in
      let G' := fun i => if Nat.eq_dec i t' then gradient_at t' W else G i in
      (fun k j => (1 - sizes r t' * weight_decay r) * W k j
         - sizes r t' * update (beta1 r) (beta2 r) (epsilon r) (fun i => G' i k j) t', G')
  end.

Definition rows_at (t : nat) : model := fst (state t).

(** The gradient of step t, and its update. *)
Definition g (t : nat) : model := gradient_at t (rows_at t).
Definition U (t : nat) : model := fun k j =>
  update (beta1 r) (beta2 r) (epsilon r) (fun i => g i k j) t.

Definition D (t : nat) : vec := wdiff (rows_at t) (Runs.row_u r) (Runs.row_v r).

Definition decay_at (t : nat) : R := 1 - sizes r t * weight_decay r.

(** C_T and C. *)
Definition largest_update : R := most (beta1 r) (beta2 r) (Runs.steps r - 1).
Definition any_update : R := limit (beta1 r) (beta2 r).

End Rule.

(** The gradients that the state carries are those of the steps. *)
Lemma state_gradients r t i : (i < t)%nat -> snd (state r t) i = g r i.
Proof.
  induction t as [|t IH]; intros Hi; [lia|].
  unfold g, rows_at in *. simpl. destruct (state r t) as [W G] eqn:E. simpl in *.
  destruct (Nat.eq_dec i t) as [->|Hne]; [now rewrite E | apply IH; lia].
Qed.

Lemma first_ext b1 h h' t : (forall i, (i < t)%nat -> h i = h' i) -> first b1 h t = first b1 h' t.
Proof.
  induction t as [|t IH]; intros H; simpl; [reflexivity|].
  rewrite IH, (H t); auto with arith.
Qed.

Lemma second_ext b2 h h' t :
  (forall i, (i < t)%nat -> h i = h' i) -> second b2 h t = second b2 h' t.
Proof.
  induction t as [|t IH]; intros H; cbn [second]; [reflexivity|].
  rewrite IH, (H t); auto with arith.
Qed.

Lemma update_ext b1 b2 eps h h' t :
  (forall i, (i <= t)%nat -> h i = h' i) -> update b1 b2 eps h t = update b1 b2 eps h' t.
Proof.
  intros H. unfold update, mean, root.
  rewrite (first_ext b1 h h'), (second_ext b2 h h'); auto with arith.
Qed.

Lemma rows_step r t k j :
  rows_at r (S t) k j = decay_at r t * rows_at r t k j - sizes r t * U r t k j.
Proof.
  assert (H : U r t k j = update (beta1 r) (beta2 r) (epsilon r)
    (fun i => (if Nat.eq_dec i t then gradient_at r t (fst (state r t)) else snd (state r t) i) k j)
      t).
  { apply update_ext. intros i Hi. destruct (Nat.eq_dec i t) as [->|Hne]; [reflexivity|].
    rewrite state_gradients by lia. reflexivity. }
  rewrite H. unfold rows_at, decay_at. simpl. destruct (state r t) as [W G]. reflexivity.
Qed.

(** ** Hypotheses *)

Definition hyp_betas (r : adam_run) : Prop := beta1 r ^ 2 < beta2 r.
Definition hyp_some_decay (r : adam_run) : Prop := weight_decay r <> 0.
Definition hyp_nonnegative_step (r : adam_run) : Prop :=
  forall t, (t < Runs.steps r)%nat -> 0 <= sizes r t.
Definition hyp_decay_at_most_one (r : adam_run) : Prop :=
  forall t, (t < Runs.steps r)%nat -> sizes r t * weight_decay r <= 1.
Definition hyp_gradient_bound (r : adam_run) : Prop :=
  forall t j, (t < Runs.steps r)%nat -> (j < Runs.dim r)%nat ->
    Rabs (g r t (Runs.row_u r) j) <= gradient_bound r
    /\ Rabs (g r t (Runs.row_v r) j) <= gradient_bound r.
Definition hyp_unseen (r : adam_run) : Prop :=
  forall t, (t < Runs.steps r)%nat ->
    unseen (Runs.batches r t) (Runs.row_u r) /\ unseen (Runs.batches r t) (Runs.row_v r).
(** In the first entry no feature is negative. *)
Definition hyp_constant_sign (r : adam_run) : Prop :=
  forall t i, (t < Runs.steps r)%nat -> (i < size (Runs.batches r t))%nat ->
    0 <= feature (Runs.batches r t) i 0%nat.

(** ** The ball *)

(** The largest absolute entry. *)
Fixpoint largest (n : nat) (z : vec) : R :=
  match n with O => 0 | S m => Rmax (largest m z) (Rabs (z m)) end.

Lemma largest_nonneg n z : 0 <= largest n z.
Proof.
  induction n as [|n IH]; simpl; [lra|]. apply Rle_trans with (1 := IH), Rmax_l.
Qed.

Lemma largest_above n z j : (j < n)%nat -> Rabs (z j) <= largest n z.
Proof.
  induction n as [|n IH]; intros Hj; [lia|]. simpl.
  destruct (Nat.eq_dec j n) as [->|Hne]; [apply Rmax_r|].
  apply Rle_trans with (2 := Rmax_l _ _). apply IH. lia.
Qed.

Lemma largest_lub n z b : 0 <= b -> (forall j, (j < n)%nat -> Rabs (z j) <= b) -> largest n z <= b.
Proof.
  intros Hb. induction n as [|n IH]; intros H; simpl; [exact Hb|].
  apply Rmax_lub; [apply IH; auto with arith | apply H; lia].
Qed.

Lemma ball_of_updates r K :
  hyp_some_decay r -> hyp_nonnegative_step r -> hyp_decay_at_most_one r -> 0 <= K ->
  (forall t j, (t < Runs.steps r)%nat -> (j < Runs.dim r)%nat ->
     Rabs (U r t (Runs.row_u r) j) <= K /\ Rabs (U r t (Runs.row_v r) j) <= K) ->
  largest (Runs.dim r) (D r (Runs.steps r))
  <= Runs.prod (Runs.steps r) (decay_at r) * largest (Runs.dim r) (D r 0)
     + 2 * K / weight_decay r * (1 - Runs.prod (Runs.steps r) (decay_at r)).
Proof.
  intros Hl He Hd HK HU.
  assert (B : forall t, (t <= Runs.steps r)%nat -> forall j, (j < Runs.dim r)%nat ->
    Rabs (D r t j) <= Runs.prod t (decay_at r) * largest (Runs.dim r) (D r 0)
      + 2 * K / weight_decay r * (1 - Runs.prod t (decay_at r))).
  { induction t as [|t IH]; intros Ht j Hj.
    - simpl. assert (H := largest_above _ (D r 0) j Hj).
      replace (1 * largest (Runs.dim r) (D r 0) + 2 * K / weight_decay r * (1 - 1))
        with (largest (Runs.dim r) (D r 0)) by (field; exact Hl). exact H.
    - specialize (IH ltac:(lia) j Hj). specialize (He t ltac:(lia)). specialize (Hd t ltac:(lia)).
      destruct (HU t j ltac:(lia) Hj) as [Hu Hv].
      assert (Hc : 0 <= decay_at r t) by (unfold decay_at; lra).
      assert (E : D r (S t) j = decay_at r t * D r t j
                    - sizes r t * (U r t (Runs.row_u r) j - U r t (Runs.row_v r) j)).
      { unfold D, wdiff, vsub. rewrite !rows_step. ring. }
      rewrite E. cbn [Runs.prod].
      set (P := Runs.prod t (decay_at r)) in *. set (d := D r t j) in *.
      set (a := U r t (Runs.row_u r) j) in *. set (b := U r t (Runs.row_v r) j) in *.
      set (c := decay_at r t) in *.
      assert (Ec : sizes r t = (1 - c) / weight_decay r) by (unfold c, decay_at; field; exact Hl).
      apply Rle_trans with (c * Rabs d + sizes r t * (2 * K)).
      + apply Rle_trans with (Rabs (c * d) + Rabs (- (sizes r t * (a - b)))).
        * unfold Rminus at 1. apply Rabs_triang.
        * rewrite Rabs_Ropp, !Rabs_mult, (Rabs_pos_eq c), (Rabs_pos_eq (sizes r t)) by assumption.
          assert (Rabs (a - b) <= 2 * K).
          { unfold Rminus. apply Rle_trans with (1 := Rabs_triang a (- b)). rewrite Rabs_Ropp.
            lra. }
          assert (sizes r t * Rabs (a - b) <= sizes r t * (2 * K))
            by (apply Rmult_le_compat_l; assumption). lra.
      + apply Rle_trans with (c * (P * largest (Runs.dim r) (D r 0)
                                   + 2 * K / weight_decay r * (1 - P)) + sizes r t * (2 * K)).
        * apply Rplus_le_compat_r, Rmult_le_compat_l; assumption.
        * apply Req_le. rewrite Ec. field. exact Hl. }
  apply largest_lub; [|intros j Hj; now apply B].
  destruct (Nat.eq_dec (Runs.dim r) 0) as [E|Hn].
  - (* no entries: both sides are of no entry, and the ball is not negative *)
    assert (Q : forall t, (t <= Runs.steps r)%nat ->
      0 <= Runs.prod t (decay_at r) * largest (Runs.dim r) (D r 0)
           + 2 * K / weight_decay r * (1 - Runs.prod t (decay_at r))).
    { induction t as [|t IH]; intros Ht.
      - simpl. replace (1 * largest (Runs.dim r) (D r 0) + 2 * K / weight_decay r * (1 - 1))
          with (largest (Runs.dim r) (D r 0)) by (field; exact Hl). apply largest_nonneg.
      - specialize (IH ltac:(lia)). cbn [Runs.prod].
        assert (Hc : 0 <= decay_at r t) by (specialize (Hd t ltac:(lia)); unfold decay_at; lra).
        assert (Ec : sizes r t = (1 - decay_at r t) / weight_decay r)
          by (unfold decay_at; field; exact Hl).
        assert (Hs := He t ltac:(lia)).
        set (P := Runs.prod t (decay_at r)) in *. set (c := decay_at r t) in *.
        replace (P * c * largest (Runs.dim r) (D r 0) + 2 * K / weight_decay r * (1 - P * c))
          with (c * (P * largest (Runs.dim r) (D r 0) + 2 * K / weight_decay r * (1 - P))
                + sizes r t * (2 * K)) by (rewrite Ec; field; exact Hl).
        apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra. }
    now apply Q.
  - apply Rle_trans with (Rabs (D r (Runs.steps r) 0%nat)); [apply Rabs_pos|].
    apply B; lia.
Qed.

(** The largest of the last updates of rows u and v. *)
Definition last_update (r : adam_run) : R :=
  Rmax (largest (Runs.dim r) (U r (Runs.steps r - 1) (Runs.row_u r)))
       (largest (Runs.dim r) (U r (Runs.steps r - 1) (Runs.row_v r))).

Definition ball (r : adam_run) (K : R) : R :=
  Runs.prod (Runs.steps r) (decay_at r) * largest (Runs.dim r) (D r 0)
  + 2 * K / weight_decay r * (1 - Runs.prod (Runs.steps r) (decay_at r)).

Theorem adamw_ball r :
  adam_run_ok r -> hyp_betas r -> hyp_some_decay r -> hyp_nonnegative_step r ->
  hyp_decay_at_most_one r ->
  last_update r <= largest_update r
  /\ largest (Runs.dim r) (D r (Runs.steps r)) <= ball r (any_update r).
Proof.
  intros [_ H1 H2 He _ _] Hb Hl Hn Hd. split.
  - assert (Hm := most_pos (beta1 r) (beta2 r) H1 H2 Hb (Runs.steps r - 1)).
    apply Rmax_lub; apply largest_lub; try (apply Rlt_le, Hm);
      intros j _; now apply update_le.
  - apply ball_of_updates; trivial.
    + apply Rlt_le, limit_pos; assumption.
    + intros t j _ _. split; now apply update_le_limit.
Qed.

Theorem adamw_eps r :
  adam_run_ok r -> hyp_betas r -> hyp_some_decay r -> hyp_nonnegative_step r ->
  hyp_decay_at_most_one r -> hyp_gradient_bound r ->
  last_update r <= damped (epsilon r) (largest_update r) (gradient_bound r)
  /\ largest (Runs.dim r) (D r (Runs.steps r))
     <= ball r (damped (epsilon r) (any_update r) (gradient_bound r)).
Proof.
  intros [_ H1 H2 He Hs Hn0] Hb Hl Hn Hd Hg.
  assert (HG : 0 <= gradient_bound r).
  { destruct (Hg 0%nat 0%nat Hs Hn0) as [H _]. apply Rle_trans with (2 := H), Rabs_pos. }
  set (G := gradient_bound r) in *.
  assert (pos : forall C, 0 < C -> 0 <= damped (epsilon r) C G).
  { intros C HC. unfold damped. apply Rmult_le_pos; [apply Rmult_le_pos; lra|].
    assert (0 < C * epsilon r) by now apply Rmult_lt_0_compat.
    apply Rlt_le, Rinv_0_lt_compat. lra. }
  split.
  - assert (Hm := most_pos (beta1 r) (beta2 r) H1 H2 Hb (Runs.steps r - 1)).
    apply Rmax_lub; apply largest_lub; try (now apply pos); intros j Hj;
      apply damped_le; trivial; intros i Hi; destruct (Hg i j ltac:(lia) Hj); unfold G; lra.
  - apply ball_of_updates; trivial.
    + apply pos, limit_pos; assumption.
    + intros t j Ht Hj. split; apply damped_le_limit; trivial; intros i Hi;
        destruct (Hg i j ltac:(lia) Hj); unfold G; lra.
Qed.

(** ** An entry of constant sign *)

Definition logit_gap (r : adam_run) (t i : nat) : R :=
  dot (Runs.dim r) (D r t) (feature (Runs.batches r t) i).

Section Sign.
Variable r : adam_run.
Hypothesis ok : adam_run_ok r.
Hypothesis unseen_labels : hyp_unseen r.
Hypothesis signs : hyp_constant_sign r.

Let n := Runs.dim r.
Let K := Runs.labels r.

Lemma labels_positive : (0 < K)%nat.
Proof. destruct ok as [[[Hu _ _] _] _ _ _ _ _]. unfold K. lia. Qed.

(** The gradient of an unseen row in an entry is a mean of its probabilities. *)
Lemma unseen_gradient t k j :
  (t < Runs.steps r)%nat -> unseen (Runs.batches r t) k ->
  g r t k j = sum (size (Runs.batches r t)) (fun i =>
    weight (Runs.batches r t) i * softmax n K (rows_at r t) (feature (Runs.batches r t) i) k
    * feature (Runs.batches r t) i j).
Proof.
  intros Ht Hk. destruct ok as [[_ Hb] _ _ _ _ _]. destruct (Hb t Ht) as [_ Ha _ _].
  unfold g, gradient_at, gradient, vsum. apply sum_ext; intros i Hi. unfold vscal.
  destruct (Rle_lt_or_eq_dec _ _ (Ha i Hi)) as [H|<-]; [|ring].
  unfold indicator. destruct (Nat.eq_dec _ k) as [E|_]; [now elim (Hk i Hi H)|].
  unfold n, K. ring.
Qed.

(** p_v = p_u exp(-d). *)
Lemma softmax_ratio t i :
  softmax n K (rows_at r t) (feature (Runs.batches r t) i) (Runs.row_v r)
  = softmax n K (rows_at r t) (feature (Runs.batches r t) i) (Runs.row_u r)
    * exp (- logit_gap r t i).
Proof.
  unfold softmax, logit_gap, D, wdiff. rewrite dot_sub_l. fold n.
  change (dot n (rows_at r t (Runs.row_u r)) (feature (Runs.batches r t) i))
    with (logit n (rows_at r t) (feature (Runs.batches r t) i) (Runs.row_u r)).
  change (dot n (rows_at r t (Runs.row_v r)) (feature (Runs.batches r t) i))
    with (logit n (rows_at r t) (feature (Runs.batches r t) i) (Runs.row_v r)).
  set (zu := logit _ _ _ (Runs.row_u r)). set (zv := logit _ _ _ (Runs.row_v r)).
  replace (exp zv) with (exp zu * exp (- (zu - zv)))
    by (rewrite <- exp_plus; f_equal; ring).
  unfold Rdiv. ring.
Qed.

Variables low high : R.
Hypothesis low_sign : low <= 0.
Hypothesis high_sign : 0 <= high.
Hypothesis in_range : forall t i, (t < Runs.steps r)%nat -> (i < size (Runs.batches r t))%nat ->
  low <= logit_gap r t i <= high.

Let a := exp (- high).
Let b := exp (- low).

Lemma term_nonneg t i k :
  (t < Runs.steps r)%nat -> (i < size (Runs.batches r t))%nat ->
  0 <= weight (Runs.batches r t) i
       * softmax n K (rows_at r t) (feature (Runs.batches r t) i) k
       * feature (Runs.batches r t) i 0%nat.
Proof.
  intros Ht Hi. destruct ok as [[_ Hb] _ _ _ _ _]. destruct (Hb t Ht) as [_ Ha _ _].
  apply Rmult_le_pos; [apply Rmult_le_pos; [now apply Ha|]|now apply signs].
  apply Rlt_le, softmax_pos, labels_positive.
Qed.

Lemma g_nonneg t k :
  (t < Runs.steps r)%nat -> unseen (Runs.batches r t) k -> 0 <= g r t k 0%nat.
Proof.
  intros Ht Hk. rewrite (unseen_gradient t k 0 Ht Hk). apply sum_nonneg; intros i Hi.
  now apply term_nonneg.
Qed.

Lemma g_between t :
  (t < Runs.steps r)%nat ->
  a * g r t (Runs.row_u r) 0%nat <= g r t (Runs.row_v r) 0%nat <= b * g r t (Runs.row_u r) 0%nat.
Proof.
  intros Ht. destruct (unseen_labels t Ht) as [Hu Hv].
  rewrite (unseen_gradient t _ 0 Ht Hu), (unseen_gradient t _ 0 Ht Hv), <- !sum_scal.
  split; apply sum_le; intros i Hi; rewrite softmax_ratio;
    assert (Hp := term_nonneg t i (Runs.row_u r) Ht Hi); destruct (in_range t i Ht Hi) as [H1 H2].
  - assert (E : a <= exp (- logit_gap r t i)).
    { unfold a. destruct H2 as [H2|H2]; [apply Rlt_le, exp_increasing; lra | rewrite H2; lra]. }
    set (w := weight _ _) in *. set (p := softmax _ _ _ _ _) in *. set (x := feature _ _ _) in *.
    replace (a * (w * p * x)) with (w * p * x * a) by ring.
    replace (w * (p * exp (- logit_gap r t i)) * x) with (w * p * x * exp (- logit_gap r t i))
      by ring.
    now apply Rmult_le_compat_l.
  - assert (E : exp (- logit_gap r t i) <= b).
    { unfold b. destruct H1 as [H1|H1]; [apply Rlt_le, exp_increasing; lra | rewrite H1; lra]. }
    set (w := weight _ _) in *. set (p := softmax _ _ _ _ _) in *. set (x := feature _ _ _) in *.
    replace (b * (w * p * x)) with (w * p * x * b) by ring.
    replace (w * (p * exp (- logit_gap r t i)) * x) with (w * p * x * exp (- logit_gap r t i))
      by ring.
    now apply Rmult_le_compat_l.
Qed.

Hypothesis betas : hyp_betas r.

Lemma updates_alike :
  Rabs (U r (Runs.steps r - 1) (Runs.row_u r) 0%nat - U r (Runs.steps r - 1) (Runs.row_v r) 0%nat)
  <= largest_update r * (1 - exp (- (high - low))).
Proof.
  assert (Hok := ok). destruct Hok as [_ H1 H2 He Hs _].
  set (T := (Runs.steps r - 1)%nat).
  set (x := U r T (Runs.row_u r) 0%nat). set (y := U r T (Runs.row_v r) 0%nat).
  assert (Ha : 0 < a) by apply exp_pos.
  assert (Hb : 0 < b) by apply exp_pos.
  assert (Ha1 : a <= 1).
  { unfold a. rewrite <- exp_0.
    destruct high_sign as [H|H]; [apply Rlt_le, exp_increasing; lra|rewrite <- H].
    rewrite Ropp_0. lra. }
  assert (Hb1 : 1 <= b).
  { unfold b. rewrite <- exp_0.
    destruct low_sign as [H|H]; [apply Rlt_le, exp_increasing; lra|rewrite H].
    rewrite Ropp_0. lra. }
  assert (Eab : exp (- (high - low)) = a / b).
  { unfold a, b, Rdiv. rewrite <- exp_Ropp, <- exp_plus. f_equal. ring. }
  assert (gu : forall i, (i <= T)%nat -> 0 <= g r i (Runs.row_u r) 0%nat)
    by (intros i Hi; apply g_nonneg;
      [unfold T in *; lia | apply unseen_labels; unfold T in *; lia]).
  assert (gv : forall i, (i <= T)%nat -> 0 <= g r i (Runs.row_v r) 0%nat)
    by (intros i Hi; apply g_nonneg;
      [unfold T in *; lia | apply unseen_labels; unfold T in *; lia]).
  assert (gb : forall i, (i <= T)%nat ->
    a * g r i (Runs.row_u r) 0%nat <= g r i (Runs.row_v r) 0%nat <= b * g r i (Runs.row_u r) 0%nat)
    by (intros i Hi; apply g_between; unfold T in *; lia).
  assert (UV : a / b * x <= y).
  { apply alike; trivial.
    - intros i Hi. destruct (gb i Hi). lra.
    - intros i Hi. destruct (gb i Hi) as [_ H]. assert (H0 := gv i Hi). apply pow_incr. lra. }
  assert (VU : a / b * y <= x).
  { replace (a / b) with (/ b / / a) by (field; lra). apply alike; trivial.
    - now apply Rinv_0_lt_compat.
    - rewrite <- Rinv_1. apply Rinv_le_contravar; lra.
    - intros i Hi. destruct (gb i Hi) as [_ H].
      apply Rmult_le_reg_l with b; [exact Hb|]. rewrite <- Rmult_assoc, Rinv_r by lra. lra.
    - intros i Hi. destruct (gb i Hi) as [H _]. assert (H0 := gu i Hi).
      apply pow_incr. split; [exact H0|].
      apply Rmult_le_reg_l with a; [exact Ha|]. rewrite <- Rmult_assoc, Rinv_r by lra. lra. }
  assert (Xm := update_le (beta1 r) (beta2 r) (epsilon r) H1 H2 He betas
                  (fun i => g r i (Runs.row_u r) 0%nat) T).
  assert (Ym := update_le (beta1 r) (beta2 r) (epsilon r) H1 H2 He betas
                  (fun i => g r i (Runs.row_v r) 0%nat) T).
  fold (U r T (Runs.row_u r) 0%nat) in Xm. fold (U r T (Runs.row_v r) 0%nat) in Ym.
  change (Rabs x <= largest_update r) in Xm. change (Rabs y <= largest_update r) in Ym.
  rewrite Eab. set (q := a / b) in *.
  assert (Hq : 0 <= 1 - q).
  { unfold q. apply Rmult_le_reg_r with b; [exact Hb|].
    replace ((1 - a / b) * b) with (b - a) by (field; lra). lra. }
  assert (Hx := Rle_trans _ _ _ (Rle_abs x) Xm). assert (Hy := Rle_trans _ _ _ (Rle_abs y) Ym).
  assert ((1 - q) * x <= (1 - q) * largest_update r) by now apply Rmult_le_compat_l.
  assert ((1 - q) * y <= (1 - q) * largest_update r) by now apply Rmult_le_compat_l.
  apply Rabs_le. lra.
Qed.

End Sign.

(** omega: any number that is at least the range, 0 included, will do. *)
Theorem constant_sign r :
  adam_run_ok r -> hyp_unseen r -> hyp_betas r -> hyp_constant_sign r ->
  forall low high, low <= 0 <= high ->
  (forall t i, (t < Runs.steps r)%nat -> (i < size (Runs.batches r t))%nat ->
     low <= logit_gap r t i <= high) ->
  Rabs (U r (Runs.steps r - 1) (Runs.row_u r) 0%nat - U r (Runs.steps r - 1) (Runs.row_v r) 0%nat)
  <= largest_update r * (1 - exp (- (high - low))).
Proof. intros ok Hu Hb Hc low high [Hl Hh] H. now apply updates_alike. Qed.

(** ** Cosine and distance *)

Section Cosine.
Variable r : adam_run.

Let u t := rows_at r t (Runs.row_u r).
Let v t := rows_at r t (Runs.row_v r).
Let T := Runs.steps r.

(** |u||v|, and |u||v|(1 - cos). *)
Definition norms (t : nat) : R := norm (Runs.dim r) (u t) * norm (Runs.dim r) (v t).
Definition lacking (t : nat) : R := norms t - dot (Runs.dim r) (u t) (v t).
Definition uneven (t : nat) : R := (norm (Runs.dim r) (u t) - norm (Runs.dim r) (v t)) ^ 2.

Definition hyp_nonzero_rows : Prop := 0 < norms 0 /\ 0 < norms T.
Definition hyp_norms_do_not_grow : Prop := norms T <= norms 0.
Definition hyp_unequal_norms : Prop :=
  uneven T * lacking 0 * norms T <= uneven 0 * lacking T * norms 0.

(** |D_T|^2 (1 - cos_0) <= |D_0|^2 (1 - cos_T), times the four lengths. *)
Definition cosine_implies_collapse_bound : Prop :=
  dot (Runs.dim r) (D r T) (D r T) * lacking 0 * norms T
  <= dot (Runs.dim r) (D r 0) (D r 0) * lacking T * norms 0.

Lemma cosine_law t : dot (Runs.dim r) (D r t) (D r t) = uneven t + 2 * lacking t.
Proof.
  unfold uneven, lacking, norms. fold (u t) (v t).
  assert (Hu := norm_sqr (Runs.dim r) (u t)). assert (Hv := norm_sqr (Runs.dim r) (v t)).
  change (D r t) with (vsub (u t) (v t)).
  rewrite dot_sub_l, !dot_sub_r, (dot_comm _ (v t) (u t)), <- Hu, <- Hv. unfold Rsqr. ring.
Qed.

Lemma lacking_nonneg t : 0 <= lacking t.
Proof. unfold lacking, norms. assert (H := dot_le_norms (Runs.dim r) (u t) (v t)). lra. Qed.

End Cosine.

Theorem cosine_implies_collapse_mended r :
  adam_run_ok r -> hyp_nonzero_rows r -> hyp_norms_do_not_grow r -> hyp_unequal_norms r ->
  cosine_implies_collapse_bound r.
Proof.
  intros _ _ Hn He. unfold cosine_implies_collapse_bound. rewrite !cosine_law.
  assert (H0 := lacking_nonneg r 0). assert (HT := lacking_nonneg r (Runs.steps r)).
  unfold hyp_norms_do_not_grow, hyp_unequal_norms in *.
  assert (lacking r 0 * lacking r (Runs.steps r) * norms r (Runs.steps r)
          <= lacking r 0 * lacking r (Runs.steps r) * norms r 0)
    by (apply Rmult_le_compat_l; [now apply Rmult_le_pos | exact Hn]). lra.
Qed.

(** One step, one feature x = 1, w_u = l, w_v = -l, the target's row 0, l = ln 2; betas 1/2,
    eps = 1/7, eta = 10 l, no decay: the rows go to -7 l and -6 l, on one side of 0. *)
Definition onward : adam_run :=
  AdamRun (Runs.Training 1 3
    (fun k _ => if Nat.eq_dec k 0 then ln 2 else if Nat.eq_dec k 1 then - ln 2 else 0)
    (fun _ => one_example 1) 0 1 1)
    (fun _ => 10 * ln 2) 0 (1 / 2) (1 / 2) (1 / 7) 0.

Lemma onward_ok : adam_run_ok onward.
Proof.
  split; simpl; try lra; try lia.
  split; simpl; intros; [apply first_pair_ok | apply one_example_ok].
Qed.

Lemma onward_softmax k :
  (k < 2)%nat ->
  softmax 1 3 (rows_at onward 0) (fun _ => 1) k = if Nat.eq_dec k 0 then 4 / 7 else 1 / 7.
Proof.
  intros Hk. unfold softmax, partition, logit. cbn [sum]. rewrite !dot_1. unfold rows_at. simpl.
  assert (E : exp (ln 2) = 2) by (apply exp_ln; lra).
  assert (E' : exp (- ln 2) = / 2) by (rewrite exp_Ropp, E; lra).
  destruct k as [|[|k]]; try lia; simpl; rewrite ?Rmult_1_r, ?E, ?E', ?exp_0; field.
Qed.

Lemma onward_gradient k :
  (k < 2)%nat -> g onward 0 k 0%nat = if Nat.eq_dec k 0 then 4 / 7 else 1 / 7.
Proof.
  intros Hk. unfold g, gradient_at, gradient, vsum, vscal. simpl.
  change (fun _ : nat => 1) with (fun _ : nat => 1).
  rewrite (onward_softmax k Hk). unfold indicator.
  destruct k as [|[|k]]; try lia; simpl; field.
Qed.

Lemma half_update x : 0 < x -> update (1 / 2) (1 / 2) (1 / 7) (fun _ => x) 0 = x / (x + 1 / 7).
Proof.
  intros Hx. unfold update, mean, root. simpl.
  replace ((1 / 2 * 0 + (1 - 1 / 2) * (x * (x * 1))) / (1 - 1 / 2 * 1)) with (x * x) by field.
  rewrite sqrt_square by lra. field. lra.
Qed.

Lemma onward_rows k :
  (k < 2)%nat -> rows_at onward 1 k 0%nat = if Nat.eq_dec k 0 then -7 * ln 2 else -6 * ln 2.
Proof.
  intros Hk. rewrite rows_step. unfold U, decay_at.
  assert (E : update (beta1 onward) (beta2 onward) (epsilon onward) (fun i => g onward i k 0%nat) 0
    = (if Nat.eq_dec k 0 then 4 / 7 else 1 / 7)
      / ((if Nat.eq_dec k 0 then 4 / 7 else 1 / 7) + 1 / 7)).
  { rewrite (update_ext _ _ _ _ (fun _ => if Nat.eq_dec k 0 then 4 / 7 else 1 / 7)).
    - simpl. apply half_update. destruct (Nat.eq_dec k 0); lra.
    - intros i Hi. replace i with 0%nat by lia. now apply onward_gradient. }
  rewrite E. unfold rows_at. simpl. destruct k as [|[|k]]; try lia; simpl; field.
Qed.

Theorem cosine_implies_collapse :
  ~ (forall r, adam_run_ok r -> hyp_nonzero_rows r -> cosine_implies_collapse_bound r).
Proof.
  intros H.
  assert (Hl : 0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (R0 : forall k, (k < 2)%nat ->
    rows_at onward 0 k 0%nat = if Nat.eq_dec k 0 then ln 2 else - ln 2).
  { intros k Hk. unfold rows_at. simpl. destruct k as [|[|k]]; simpl; try lia; reflexivity. }
  assert (N0 : norms onward 0 = ln 2 * ln 2).
  { unfold norms. change (Runs.dim onward) with 1%nat. rewrite !norm_1.
    change (Runs.row_u onward) with 0%nat. change (Runs.row_v onward) with 1%nat.
    rewrite !R0 by lia. simpl. rewrite Rabs_Ropp, !Rabs_pos_eq by lra. ring. }
  assert (N1 : norms onward 1 = 42 * (ln 2 * ln 2)).
  { unfold norms. change (Runs.dim onward) with 1%nat. rewrite !norm_1.
    change (Runs.row_u onward) with 0%nat. change (Runs.row_v onward) with 1%nat.
    rewrite !onward_rows by lia. simpl. rewrite !Rabs_left by lra. ring. }
  assert (Hll : 0 < ln 2 * ln 2) by now apply Rmult_lt_0_compat.
  assert (B : cosine_implies_collapse_bound onward).
  { apply H; [apply onward_ok|]. split; [rewrite N0; lra|].
    change (Runs.steps onward) with 1%nat. rewrite N1. lra. }
  unfold cosine_implies_collapse_bound in B. change (Runs.steps onward) with 1%nat in B.
  unfold lacking in B. rewrite N0, N1 in B. unfold D, wdiff in B.
  change (Runs.dim onward) with 1%nat in B. rewrite !dot_1 in B.
  change (Runs.row_u onward) with 0%nat in B. change (Runs.row_v onward) with 1%nat in B.
  unfold vsub in B. rewrite !R0, !onward_rows in B by lia. simpl in B.
  assert (0 < (ln 2 * ln 2) * (ln 2 * ln 2)) by now apply Rmult_lt_0_compat.
  assert (0 < (ln 2 * ln 2) * ((ln 2 * ln 2) * (ln 2 * ln 2))) by now apply Rmult_lt_0_compat.
  nra.
Qed.

(** ** The hypotheses can be met *)

Definition small_run (bound : R) : adam_run :=
  AdamRun (Runs.Training 1 3 one_row (fun _ => one_example 1) 0 1 1)
    (fun _ => 1 / 4) (1 / 2) (1 / 2) (1 / 2) 1 bound.

(** A bound on its gradients. *)
Definition enough : R :=
  Rabs (g (small_run 0) 0 0%nat 0%nat) + Rabs (g (small_run 0) 0 1%nat 0%nat).

Lemma small_run_ok bound : adam_run_ok (small_run bound).
Proof.
  split; simpl; try lra; try lia.
  split; simpl; intros; [apply first_pair_ok | apply one_example_ok].
Qed.

Lemma small_run_bound : hyp_gradient_bound (small_run enough).
Proof.
  intros t j Ht Hj. simpl in *. replace t with 0%nat by lia. replace j with 0%nat by lia.
  change (g (small_run enough) 0) with (g (small_run 0) 0). unfold enough.
  assert (H0 := Rabs_pos (g (small_run 0) 0 0%nat 0%nat)).
  assert (H1 := Rabs_pos (g (small_run 0) 0 1%nat 0%nat)). split; lra.
Qed.

Local Ltac meets :=
  conjuncts;
  first [ apply small_run_ok | apply small_run_bound
        | intros t Ht; split; apply one_example_unseen; simpl; lia
        | intros t i _ _; simpl; lra
        | intros t _; simpl; lra
        | unfold hyp_betas, hyp_some_decay, small_run; simpl; lra ].

Example adamw_ball_met : exists r,
  adam_run_ok r /\ hyp_betas r /\ hyp_some_decay r /\ hyp_nonnegative_step r
  /\ hyp_decay_at_most_one r.
Proof. exists (small_run 0). meets. Qed.

Example adamw_eps_met : exists r,
  adam_run_ok r /\ hyp_betas r /\ hyp_some_decay r /\ hyp_nonnegative_step r
  /\ hyp_decay_at_most_one r /\ hyp_gradient_bound r.
Proof. exists (small_run enough). meets. Qed.

Example constant_sign_met : exists r,
  adam_run_ok r /\ hyp_unseen r /\ hyp_betas r /\ hyp_constant_sign r.
Proof. exists (small_run 0). meets. Qed.

Example cosine_implies_collapse_met : exists r, adam_run_ok r /\ hyp_nonzero_rows r.
Proof.
  exists onward. split; [apply onward_ok|].
  assert (Hl : 0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (0 < ln 2 * ln 2) by now apply Rmult_lt_0_compat.
  split; unfold norms; change (Runs.dim onward) with 1%nat; rewrite !norm_1;
    change (Runs.row_u onward) with 0%nat; change (Runs.row_v onward) with 1%nat.
  - unfold rows_at. simpl. rewrite Rabs_Ropp, !Rabs_pos_eq by lra. lra.
  - change (Runs.steps onward) with 1%nat. rewrite !onward_rows by lia. simpl.
    rewrite !Rabs_left by lra. nra.
Qed.
