(** * Many steps

    Over a run of T steps on changing batches,
      prod_t max(0, 1 - eta_t (lambda_t + T_t)) |D_0| <= |D_T|
        <= prod_t (1 - eta_t lambda_t) |D_0|                     [trajectory].
    In logarithms: how many steps are enough to bring the rows within eps
    [collapse_time], and how many are needed [collapse_time_needed].  If
    sum_t eta_t lambda_t has no bound, D_t tends to 0 [run_collapse]. *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances OneStep.
Local Open Scope R_scope.

(** The rows before the first step, and a batch for every step. *)
Record training := Training {
  dim : nat;
  labels : nat;
  first_rows : model;
  batches : nat -> batch;
  row_u : nat;
  row_v : nat;
  steps : nat
}.

Record run := Run {
  data :> training;
  step_sizes : nat -> R;
  decays : nat -> R;
  curvatures : nat -> R;
  radii : nat -> R;
  pbars : nat -> R
}.

(** Step t from given rows. *)
Definition step_from (r : run) (t : nat) (W : model) : step :=
  Step (dim r) (labels r) W (batches r t) (row_u r) (row_v r)
    (step_sizes r t) (decays r t) (curvatures r t) (radii r t) (pbars r t).

(** The rows before step t. *)
Fixpoint state (r : run) (t : nat) : model :=
  match t with
  | O => first_rows r
  | S t' => next_rows (step_from r t' (state r t'))
  end.

Definition at_step (r : run) (t : nat) : step := step_from r t (state r t).

(** D_t. *)
Definition distance_at (r : run) (t : nat) : R :=
  norm (dim r) (wdiff (state r t) (row_u r) (row_v r)).

Lemma distance_nonneg r t : 0 <= distance_at r t.
Proof. apply norm_nonneg. Qed.

Record training_ok (a : training) : Prop := {
  training_pair : pair_ok (labels a) (row_u a) (row_v a);
  training_batch : forall t, (t < steps a)%nat -> batch_ok (labels a) (batches a t)
}.

(** A run with one decay and one set of bounds for all steps; eps and m are
    a distance to be reached and a bound on the norms. *)
Record steady_run := Steady {
  trained :> training;
  sizes : nat -> R;
  weight_decay : R;
  curvature : R;
  radius : R;
  pbar : R;
  distance : R;  (* eps *)
  floor : R  (* m *)
}.

Coercion as_run (s : steady_run) : run :=
  Run s (sizes s) (fun _ => weight_decay s) (fun _ => curvature s)
    (fun _ => radius s) (fun _ => pbar s).

(** ** Hypotheses: those of a step, at each step *)

Definition each_step (H : step -> Prop) (r : run) : Prop :=
  forall t, (t < steps r)%nat -> H (at_step r t).

Definition hyp_unseen : run -> Prop := each_step Steps.hyp_unseen.
Definition hyp_nonnegative_step : run -> Prop := each_step Steps.hyp_nonnegative_step.
Definition hyp_curvature : run -> Prop := each_step Steps.hyp_curvature.
Definition hyp_step_size : run -> Prop := each_step Steps.hyp_step_size.
Definition hyp_radius : run -> Prop := each_step Steps.hyp_radius.

(** ** Products *)

Fixpoint prod (T : nat) (f : nat -> R) : R :=
  match T with O => 1 | S t => prod t f * f t end.

Lemma prod_nonneg T f : (forall t, (t < T)%nat -> 0 <= f t) -> 0 <= prod T f.
Proof.
  induction T as [|T IH]; intros H; simpl; [lra|].
  apply Rmult_le_pos; auto with arith.
Qed.

Lemma prod_pos T f : (forall t, (t < T)%nat -> 0 < f t) -> 0 < prod T f.
Proof.
  induction T as [|T IH]; intros H; simpl; [lra|].
  apply Rmult_lt_0_compat; auto with arith.
Qed.

Lemma prod_ext T f g : (forall t, (t < T)%nat -> f t = g t) -> prod T f = prod T g.
Proof.
  induction T as [|T IH]; intros H; simpl; [reflexivity|].
  rewrite IH, (H T); auto with arith.
Qed.

(** A product of positive factors is the exponential of a sum. *)
Lemma prod_exp T f :
  (forall t, (t < T)%nat -> 0 < f t) -> prod T f = exp (- sum T (fun t => - ln (f t))).
Proof.
  induction T as [|T IH]; intros H; simpl.
  - now rewrite Ropp_0, exp_0.
  - rewrite IH by auto with arith. rewrite Ropp_plus_distr, exp_plus, Ropp_involutive, exp_ln;
      auto with arith.
Qed.

Lemma one_minus_le_exp x : 1 - x <= exp (- x).
Proof. generalize (exp_ineq1_le (- x)). lra. Qed.

(** prod_t (1 - a_t) <= exp (- sum_t a_t). *)
Lemma prod_le_exp T a :
  (forall t, (t < T)%nat -> a t <= 1) ->
  prod T (fun t => 1 - a t) <= exp (- sum T a).
Proof.
  induction T as [|T IH]; intros H; simpl.
  - rewrite Ropp_0, exp_0. lra.
  - rewrite Ropp_plus_distr, exp_plus. apply Rmult_le_compat.
    + apply prod_nonneg. intros t Ht. assert (a t <= 1) by auto with arith. lra.
    + assert (a T <= 1) by (apply H; lia). lra.
    + apply IH; auto with arith.
    + apply one_minus_le_exp.
Qed.

(** ** A run between two products *)

Section Run.
Variable r : run.
Hypothesis ok : training_ok r.

Lemma at_step_ok t : (t < steps r)%nat -> step_ok (at_step r t).
Proof. intros Ht. split; [now apply (training_batch r ok) | apply (training_pair r ok)]. Qed.

Lemma distance_before t : distance_at r t = norm (dim r) (difference (at_step r t)).
Proof. reflexivity. Qed.

Lemma distance_after t : distance_at r (S t) = norm (dim r) (next_difference (at_step r t)).
Proof. reflexivity. Qed.

(** The decay factor of a step is at least 0. *)
Lemma decay_nonneg t :
  hyp_nonnegative_step r -> hyp_curvature r -> hyp_step_size r -> (t < steps r)%nat ->
  0 <= 1 - step_sizes r t * decays r t.
Proof.
  intros He HT Hc Ht. specialize (He t Ht). specialize (HT t Ht). specialize (Hc t Ht).
  unfold Steps.hyp_nonnegative_step, Steps.hyp_curvature, Steps.hyp_step_size in *. simpl in *.
  assert (H := Steps.trace_nonneg _ (at_step_ok t Ht)).
  assert (0 <= step_sizes r t * curvatures r t) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma run_above T :
  hyp_unseen r -> hyp_nonnegative_step r -> hyp_curvature r -> hyp_step_size r ->
  (T <= steps r)%nat ->
  distance_at r T <= prod T (fun t => 1 - step_sizes r t * decays r t) * distance_at r 0.
Proof.
  intros Hs He HT Hc. induction T as [|T IH]; intros Hle; [simpl; lra|].
  rewrite distance_after.
  assert (Hlt : (T < steps r)%nat) by lia.
  eapply Rle_trans;
    [apply (contraction (at_step r T) (at_step_ok T Hlt) (Hs T Hlt) (He T Hlt) (HT T Hlt)
      (Hc T Hlt))|].
  change (dim r) with (Steps.dim (at_step r T)). simpl prod.
  rewrite (Rmult_comm (prod T _)), Rmult_assoc. apply Rmult_le_compat_l.
  - now apply decay_nonneg.
  - apply IH. lia.
Qed.

Lemma run_below T (f : nat -> R) :
  hyp_unseen r -> hyp_nonnegative_step r -> hyp_curvature r ->
  (forall t, (t < steps r)%nat -> 0 <= f t) ->
  (forall t, (t < steps r)%nat ->
     f t = 0 \/ f t = 1 - step_sizes r t * (decays r t + curvatures r t)) ->
  (T <= steps r)%nat ->
  prod T f * distance_at r 0 <= distance_at r T.
Proof.
  intros Hs He HT Hf Hf2. induction T as [|T IH]; intros Hle; [simpl; lra|].
  assert (Hlt : (T < steps r)%nat) by lia.
  specialize (IH ltac:(lia)). simpl prod.
  rewrite (Rmult_comm (prod T f)), Rmult_assoc.
  apply Rle_trans with (f T * distance_at r T); [now apply Rmult_le_compat_l; [apply Hf|]|].
  rewrite distance_after, distance_before.
  destruct (Hf2 T Hlt) as [-> | ->].
  - rewrite Rmult_0_l. apply norm_nonneg.
  - apply (lower_bound (at_step r T) (at_step_ok T Hlt) (Hs T Hlt) (He T Hlt) (HT T Hlt)).
Qed.

End Run.

Theorem trajectory (r : run) :
  training_ok r -> hyp_unseen r -> hyp_nonnegative_step r -> hyp_curvature r -> hyp_step_size r ->
  distance_at r (steps r)
    <= prod (steps r) (fun t => 1 - step_sizes r t * decays r t) * distance_at r 0
  /\ prod (steps r) (fun t => Rmax 0 (1 - step_sizes r t * (decays r t + curvatures r t)))
     * distance_at r 0
     <= distance_at r (steps r).
Proof.
  intros ok Hs He HT Hc. split; [now apply run_above|].
  apply run_below; trivial; intros t _; [apply Rmax_l|].
  unfold Rmax. destruct (Rle_dec 0 _); auto.
Qed.

(** ** Times *)

Definition hyp_positive_factor (s : steady_run) : Prop :=
  forall t, (t < steps s)%nat -> 0 < 1 - sizes s t * weight_decay s.

Definition hyp_positive_distance (s : steady_run) : Prop := 0 < distance s.

(** Nothing is asked if D_0 = 0, where the logarithm is minus infinity. *)
Definition hyp_long_enough (s : steady_run) : Prop :=
  0 < distance_at s 0 ->
  ln (distance_at s 0 / distance s)
  <= sum (steps s) (fun t => - ln (1 - sizes s t * weight_decay s)).

Theorem collapse_time (s : steady_run) :
  training_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s -> hyp_step_size s ->
  hyp_positive_factor s -> hyp_positive_distance s -> hyp_long_enough s ->
  distance_at s (steps s) <= distance s.
Proof.
  intros ok Hs He HT Hc Hf Hd Hl.
  eapply Rle_trans; [now apply (run_above s ok)|]. cbn [step_sizes decays as_run].
  unfold hyp_positive_distance in Hd.
  destruct (Rle_lt_or_eq_dec _ _ (distance_nonneg s 0)) as [H0|H0].
  2:{ rewrite <- H0, Rmult_0_r. lra. }
  rewrite prod_exp by exact Hf. specialize (Hl H0).
  apply Rle_trans with (exp (- ln (distance_at s 0 / distance s)) * distance_at s 0).
  - apply Rmult_le_compat_r; [lra|]. apply exp_le. lra.
  - rewrite exp_Ropp, exp_ln by now apply Rdiv_lt_0_compat. right; field; lra.
Qed.

Definition hyp_positive_lower_factor (s : steady_run) : Prop :=
  forall t, (t < steps s)%nat -> 0 < 1 - sizes s t * (weight_decay s + curvature s).

Definition hyp_different_rows (s : steady_run) : Prop := 0 < distance_at s 0.

Definition hyp_reached (s : steady_run) : Prop := distance_at s (steps s) <= distance s.

Theorem collapse_time_needed (s : steady_run) :
  training_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s ->
  hyp_positive_lower_factor s -> hyp_different_rows s -> hyp_reached s ->
  ln (distance_at s 0 / distance s)
  <= sum (steps s) (fun t => - ln (1 - sizes s t * (weight_decay s + curvature s))).
Proof.
  intros ok Hs He HT Hf H0 Hr. unfold hyp_different_rows, hyp_reached in *.
  set (f := fun t => 1 - sizes s t * (weight_decay s + curvature s)).
  assert (H : prod (steps s) f * distance_at s 0 <= distance_at s (steps s)).
  { apply (run_below s ok); trivial; [intros t Ht; now apply Rlt_le, Hf | intros t _; now right]. }
  assert (Hp : 0 < prod (steps s) f) by now apply prod_pos.
  assert (Hq : 0 < prod (steps s) f * distance_at s 0) by now apply Rmult_lt_0_compat.
  rewrite (prod_exp _ f Hf) in *. set (m := sum (steps s) (fun t => - ln (f t))) in *.
  change (ln (distance_at s 0 / distance s) <= m). rewrite <- (ln_exp m).
  apply ln_le; [apply Rdiv_lt_0_compat; lra|].
  apply Rmult_le_reg_r with (exp (- m) * distance s); [nra|].
  replace (exp m * (exp (- m) * distance s)) with (exp m * exp (- m) * distance s) by ring.
  rewrite <- exp_plus, Rplus_opp_r, exp_0.
  replace (distance_at s 0 / distance s * (exp (- m) * distance s))
    with (exp (- m) * distance_at s 0) by (field; lra).
  lra.
Qed.

(** ** The limit *)

(** A run of another length. *)
Definition cut (r : run) (n : nat) : run :=
  Run (Training (dim r) (labels r) (first_rows r) (batches r) (row_u r) (row_v r) n)
    (step_sizes r) (decays r) (curvatures r) (radii r) (pbars r).

Lemma state_cut r n t : state (cut r n) t = state r t.
Proof. induction t as [|t IH]; [reflexivity|]. simpl. now rewrite IH. Qed.

(** D_t tends to 0 as soon as the accumulated decay has no bound. *)
Theorem run_collapse (r : run) :
  (forall n, training_ok (cut r n) /\ hyp_unseen (cut r n) /\ hyp_nonnegative_step (cut r n)
             /\ hyp_curvature (cut r n) /\ hyp_step_size (cut r n)) ->
  is_lim_seq (fun n => sum n (fun t => step_sizes r t * decays r t)) p_infty ->
  is_lim_seq (distance_at r) 0.
Proof.
  intros H Hdiv.
  apply is_lim_seq_le_le with
    (u := fun _ => 0)
    (w := fun n => exp (- sum n (fun t => step_sizes r t * decays r t)) * distance_at r 0).
  - intros n; split; [apply distance_nonneg|].
    destruct (H n) as (ok & Hs & He & HT & Hc).
    assert (Ha := run_above (cut r n) ok n Hs He HT Hc (le_n n)).
    unfold distance_at in Ha. rewrite !state_cut in Ha.
    eapply Rle_trans; [exact Ha|].
    apply Rmult_le_compat_r; [apply norm_nonneg|].
    apply prod_le_exp. intros t Ht. assert (Hd := decay_nonneg (cut r n) ok t He HT Hc Ht).
    simpl in Hd. lra.
  - apply is_lim_seq_const.
  - replace (Finite 0) with (Rbar_mult 0 (distance_at r 0)) by (simpl; f_equal; ring).
    apply is_lim_seq_scal_r.
    apply filterlim_comp with (G := Rbar_locally m_infty) (g := exp).
    + change
        (is_lim_seq (fun n => - sum n (fun t => step_sizes r t * decays r t)) (Rbar_opp p_infty)).
      now apply is_lim_seq_opp in Hdiv.
    + apply is_lim_exp_m.
Qed.

(** ** The hypotheses can be met: by two steps without features

    There eta lambda = 1/2, so that every step halves every row. *)

Definition halving (eps : R) : steady_run :=
  Steady (Training 1 3 one_row (fun _ => one_example 0) 0 1 2)
    (fun _ => 1 / 2) 1 0 0 (1 / 2) eps (1 / 8).

Lemma halving_ok eps : training_ok (halving eps).
Proof. split; [apply first_pair_ok | intros; apply one_example_ok]. Qed.

Lemma halving_unseen eps : hyp_unseen (halving eps).
Proof. intros t _. split; apply one_example_unseen; simpl; lia. Qed.

Lemma halving_step eps : hyp_nonnegative_step (halving eps).
Proof. intros t _. unfold Steps.hyp_nonnegative_step; simpl. lra. Qed.

Lemma halving_radius eps : hyp_radius (halving eps).
Proof. intros t _ i _. simpl. rewrite norm_1, Rabs_R0. lra. Qed.

Lemma halving_curvature eps : hyp_curvature (halving eps).
Proof.
  intros t Ht.
  apply Rle_trans with
    (1 := trace_le_radius _
            (at_step_ok (halving eps) (halving_ok eps) t Ht) (halving_radius eps t Ht)).
  unfold Rsqr; simpl. lra.
Qed.

Lemma halving_step_size eps : hyp_step_size (halving eps).
Proof. intros t _. unfold Steps.hyp_step_size; simpl. lra. Qed.

Lemma halving_first eps : distance_at (halving eps) 0 = 1.
Proof.
  unfold distance_at. simpl. rewrite norm_1. unfold wdiff, vsub, one_row. simpl.
  rewrite Rminus_0_r. apply Rabs_R1.
Qed.

Local Ltac halves :=
  first [ apply halving_ok | apply halving_unseen | apply halving_step | apply halving_curvature
        | apply halving_step_size | apply halving_first | reflexivity | idtac ].

Example trajectory_met : exists r : run,
  training_ok r /\ hyp_unseen r /\ hyp_nonnegative_step r /\ hyp_curvature r /\ hyp_step_size r
  /\ distance_at r 0 = 1 /\ steps r = 2%nat.
Proof.
  exists (halving 1). conjuncts;
    halves.
Qed.

Lemma halving_last eps : distance_at (halving eps) 2 <= 1 / 4.
Proof.
  eapply Rle_trans;
    [apply (run_above (halving eps) (halving_ok eps) 2 (halving_unseen eps) (halving_step eps)
              (halving_curvature eps) (halving_step_size eps) (le_n 2))|].
  rewrite halving_first. simpl. lra.
Qed.

Example collapse_time_met : exists s : steady_run,
  training_ok s /\ hyp_unseen s /\ hyp_nonnegative_step s /\ hyp_curvature s /\ hyp_step_size s
  /\ hyp_positive_factor s /\ hyp_positive_distance s /\ hyp_long_enough s
  /\ distance s < distance_at s 0.
Proof.
  exists (halving (1 / 4)). conjuncts;
    halves.
  - intros t _. simpl. lra.
  - unfold hyp_positive_distance; simpl. lra.
  - intros _. rewrite halving_first. simpl.
    replace (1 / (1 / 4)) with (/ (1 - 1 / 2 * 1) * / (1 - 1 / 2 * 1)) by field.
    rewrite ln_mult, !ln_Rinv; lra.
  - rewrite halving_first. simpl. lra.
Qed.

Example collapse_time_needed_met : exists s : steady_run,
  training_ok s /\ hyp_unseen s /\ hyp_nonnegative_step s /\ hyp_curvature s
  /\ hyp_positive_lower_factor s /\ hyp_different_rows s /\ hyp_reached s
  /\ distance s < distance_at s 0.
Proof.
  exists (halving (1 / 4)). conjuncts;
    halves.
  - intros t _. simpl. lra.
  - unfold hyp_different_rows. rewrite halving_first. lra.
  - apply halving_last.
  - rewrite halving_first. simpl. lra.
Qed.
