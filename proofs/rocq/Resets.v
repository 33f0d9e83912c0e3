(** * Redrawing unseen rows every S steps

    Rows u and v that are redrawn together every S steps, at least d apart,
    stay q^S d apart at all times, q = 1 - eta (lambda + T)         [reset].
    Redrawn one at a time, v half a period after u, they need not: a fresh
    row can be drawn where the other one has moved to     [staggered_reset]. *)

From Coq Require Import Reals Lra Lia Arith Bool.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances OneStep Runs.
Local Open Scope R_scope.

Record reset_run := Reset {
  trained :> training;
  fresh_u : nat -> vec;
  fresh_v : nat -> vec;
  step_size : R;
  weight_decay : R;
  curvature : R;
  distance : R;  (* d *)
  period : nat  (* S *)
}.

Record reset_ok (r : reset_run) : Prop := {
  reset_training : training_ok r;
  reset_period : (1 <= period r)%nat
}.

(** ** The run; [late]: v is redrawn half a period, rounded up, after u *)

Definition shift (r : reset_run) (late : bool) : nat :=
  if late then ((period r + 1) / 2)%nat else 0%nat.

(** Whether a row is redrawn before step t, for a row that is late by [lag]. *)
Definition drawn (r : reset_run) (lag t : nat) : bool :=
  (lag <? t)%nat && ((t - lag) mod period r =? 0)%nat.

Definition redraw (r : reset_run) (late : bool) (t : nat) (W : model) : model := fun k =>
  if Nat.eq_dec k (row_u r) then (if drawn r 0 t then fresh_u r t else W k)
  else if Nat.eq_dec k (row_v r) then (if drawn r (shift r late) t then fresh_v r t else W k)
  else W k.

Definition step_on (r : reset_run) (t : nat) (W : model) : step :=
  Step (dim r) (labels r) W (batches r t) (row_u r) (row_v r)
    (step_size r) (weight_decay r) (curvature r) (curvature r) (curvature r).

(** The rows before step t, fresh ones included. *)
Fixpoint reset_state (r : reset_run) (late : bool) (t : nat) : model :=
  match t with
  | O => first_rows r
  | S t' => redraw r late t (next_rows (step_on r t' (reset_state r late t')))
  end.

Definition at_step (r : reset_run) (late : bool) (t : nat) : step :=
  step_on r t (reset_state r late t).

(** The values that rows u and v were given last, before step t. *)
Fixpoint last_u (r : reset_run) (t : nat) : vec :=
  match t with
  | O => first_rows r (row_u r)
  | S t' => if drawn r 0 t then fresh_u r t else last_u r t'
  end.

Fixpoint last_v (r : reset_run) (late : bool) (t : nat) : vec :=
  match t with
  | O => first_rows r (row_v r)
  | S t' => if drawn r (shift r late) t then fresh_v r t else last_v r late t'
  end.

(** q. *)
Definition factor (r : reset_run) : R := 1 - step_size r * (weight_decay r + curvature r).

(** ** Hypotheses *)

Definition hyp_unseen (late : bool) (r : reset_run) : Prop :=
  forall t, (t < steps r)%nat -> Steps.hyp_unseen (at_step r late t).

Definition hyp_curvature (late : bool) (r : reset_run) : Prop :=
  forall t, (t < steps r)%nat -> Steps.hyp_curvature (at_step r late t).

Definition hyp_nonnegative_step (r : reset_run) : Prop := 0 <= step_size r.

Definition hyp_factor (r : reset_run) : Prop := 0 <= factor r <= 1.

Definition hyp_drawn_apart (late : bool) (r : reset_run) : Prop :=
  forall t, (t < steps r)%nat -> distance r <= norm (dim r) (vsub (last_u r t) (last_v r late t)).

(** q^S d <= |D| before and after every step. *)
Definition stays_apart (late : bool) (r : reset_run) : Prop :=
  forall t, (t < steps r)%nat ->
    factor r ^ period r * distance r <= norm (dim r) (difference (at_step r late t))
    /\ factor r ^ period r * distance r <= norm (dim r) (next_difference (at_step r late t)).

(** ** Redrawn together *)

Lemma mod_next S t : (1 <= S)%nat -> ((t + 1) mod S <> 0 -> (t + 1) mod S = t mod S + 1)%nat.
Proof.
  intros HS H. assert (Hm := Nat.mod_upper_bound t S ltac:(lia)).
  assert (Ht := Nat.div_mod t S ltac:(lia)).
  destruct (Nat.eq_dec (t mod S + 1) S) as [E|E].
  - exfalso. apply H. symmetry. apply (Nat.mod_unique _ _ (t / S + 1)); nia.
  - symmetry. apply (Nat.mod_unique _ _ (t / S)); lia.
Qed.

(** Powers of a factor between 0 and 1 fall. *)
Lemma pow_falls q a b : 0 <= q <= 1 -> (a <= b)%nat -> q ^ b <= q ^ a.
Proof.
  intros Hq H. induction H as [|b H IH]; [lra|]. simpl.
  assert (0 <= q ^ b) by now apply pow_le. nra.
Qed.

Section Together.
Variable r : reset_run.
Hypothesis ok : reset_ok r.
Hypothesis Hs : hyp_unseen false r.
Hypothesis HT : hyp_curvature false r.
Hypothesis He : hyp_nonnegative_step r.
Hypothesis Hq : hyp_factor r.
Hypothesis Hd : hyp_drawn_apart false r.
Hypothesis d_pos : 0 < distance r.

Lemma reset_step_ok t : (t < steps r)%nat -> step_ok (at_step r false t).
Proof.
  destruct ok as [[Hp Hb] _]. intros Ht. split; [now apply Hb | apply Hp].
Qed.

Lemma step_below t :
  (t < steps r)%nat ->
  factor r * norm (dim r) (difference (at_step r false t))
  <= norm (dim r) (next_difference (at_step r false t)).
Proof.
  intros Ht.
  apply (lower_bound (at_step r false t) (reset_step_ok t Ht) (Hs t Ht) He (HT t Ht)).
Qed.

(** D before step t + 1: that of fresh rows, or what the step has left. *)
Lemma redrawn t :
  wdiff (reset_state r false (S t)) (row_u r) (row_v r)
  = if drawn r 0 (S t) then vsub (last_u r (S t)) (last_v r false (S t))
    else next_difference (at_step r false t).
Proof.
  destruct ok as [[[_ _ Huv] _] _].
  cbn [reset_state last_u last_v]. unfold wdiff, redraw.
  destruct (Nat.eq_dec (row_u r) (row_u r)) as [_|H]; [|congruence].
  destruct (Nat.eq_dec (row_v r) (row_u r)) as [H|_]; [congruence|].
  destruct (Nat.eq_dec (row_v r) (row_v r)) as [_|H]; [|congruence].
  change (shift r false) with 0%nat.
  destruct (drawn r 0 (S t)); reflexivity.
Qed.

Lemma apart_before t :
  (t < steps r)%nat ->
  factor r ^ (t mod period r) * distance r
  <= norm (dim r) (wdiff (reset_state r false t) (row_u r) (row_v r)).
Proof.
  destruct ok as [_ HS].
  induction t as [|t IH]; intros Ht.
  - rewrite Nat.mod_small by lia. simpl pow. rewrite Rmult_1_l. apply (Hd 0%nat Ht).
  - rewrite redrawn. unfold drawn. rewrite Nat.sub_0_r. change (0 <? S t)%nat with true. cbv [andb].
    destruct (Nat.eqb_spec (S t mod period r) 0) as [E|E].
    + rewrite E. simpl pow. rewrite Rmult_1_l. apply (Hd (S t) Ht).
    + specialize (IH ltac:(lia)).
      rewrite <- Nat.add_1_r in E. rewrite <- Nat.add_1_r, mod_next, Nat.add_1_r by assumption.
      eapply Rle_trans; [|apply step_below; lia]. simpl pow. rewrite Rmult_assoc.
      apply Rmult_le_compat_l; [apply Hq | exact IH].
Qed.

Lemma together : stays_apart false r.
Proof.
  destruct ok as [_ HS]. intros t Ht. assert (H := apart_before t Ht).
  assert (Hm := Nat.mod_upper_bound t (period r) ltac:(lia)).
  assert (Hb := step_below t Ht).
  split.
  - eapply Rle_trans; [|exact H]. apply Rmult_le_compat_r; [lra|].
    apply pow_falls; [exact Hq | lia].
  - eapply Rle_trans; [|exact Hb].
    apply Rle_trans with (factor r * (factor r ^ (t mod period r) * distance r)).
    + rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|].
      change (factor r * factor r ^ (t mod period r)) with (factor r ^ S (t mod period r)).
      apply pow_falls; [exact Hq | lia].
    + apply Rmult_le_compat_l; [apply Hq | exact H].
Qed.

End Together.

Theorem reset (r : reset_run) :
  reset_ok r -> hyp_unseen false r -> hyp_curvature false r -> hyp_nonnegative_step r ->
  hyp_factor r -> hyp_drawn_apart false r -> stays_apart false r.
Proof.
  intros ok Hs HT He Hq Hd.
  destruct (Rlt_or_le 0 (distance r)) as [H|H]; [now apply together|].
  (* with d <= 0 nothing is asked *)
  assert (H0 : factor r ^ period r * distance r <= 0).
  { assert (0 <= factor r ^ period r) by (apply pow_le, Hq). nra. }
  intros t _. split; eapply Rle_trans;
    [exact H0 | apply norm_nonneg | exact H0 | apply norm_nonneg].
Qed.

(** ** Redrawn one at a time

    No features, every step halves every row, S = 2.  Row u is drawn as 2
    before step 2 and is 1 before step 3, where v is drawn as 1. *)

Definition meeting : reset_run :=
  Reset (Training 1 3 one_row (fun _ => one_example 0) 0 1 4)
    (fun _ _ => 2) (fun _ _ => 1) (1 / 2) 1 0 1 2.

Lemma meeting_ok : reset_ok meeting.
Proof.
  split; [split; [apply first_pair_ok | intros; apply one_example_ok] | simpl; lia].
Qed.

Lemma meeting_unseen late : hyp_unseen late meeting.
Proof. intros t _. split; apply one_example_unseen; simpl; lia. Qed.

Lemma meeting_curvature late : hyp_curvature late meeting.
Proof.
  intros t _. unfold Steps.hyp_curvature, trace, coefficient. simpl. rewrite dot_1. lra.
Qed.

Lemma meeting_step : hyp_nonnegative_step meeting.
Proof. unfold hyp_nonnegative_step; simpl. lra. Qed.

Lemma meeting_factor : hyp_factor meeting.
Proof. unfold hyp_factor, factor; simpl. lra. Qed.

Lemma meeting_apart late : hyp_drawn_apart late meeting.
Proof.
  intros t Ht. simpl in Ht. cbn [meeting dim trained distance]. rewrite norm_1.
  assert (E : t = 0%nat \/ t = 1%nat \/ t = 2%nat \/ t = 3%nat) by lia.
  unfold vsub. destruct late; destruct E as [-> | [-> | [-> | ->]]]; simpl; unfold one_row; simpl;
    rewrite Rabs_pos_eq; lra.
Qed.

(** Without features a step halves every row. *)
Lemma halved t W k : next_rows (step_on meeting t W) k 0%nat = / 2 * W k 0%nat.
Proof.
  unfold next_rows, descend, gradient, vsub, vscal, vadd, vsum, step_on, meeting. simpl. field.
Qed.

Lemma rows_meet : difference (at_step meeting true 3) 0%nat = 0.
Proof.
  unfold difference, wdiff, vsub.
  change (rows (at_step meeting true 3)) with (reset_state meeting true 3).
  change (Steps.row_u (at_step meeting true 3)) with 0%nat.
  change (Steps.row_v (at_step meeting true 3)) with 1%nat.
  change (reset_state meeting true 3 0%nat)
    with (next_rows (step_on meeting 2 (reset_state meeting true 2)) 0%nat).
  rewrite halved. change (reset_state meeting true 2 0%nat 0%nat) with 2.
  change (reset_state meeting true 3 1%nat 0%nat) with 1. lra.
Qed.

Theorem staggered_reset :
  ~ (forall r : reset_run,
       reset_ok r -> hyp_unseen true r -> hyp_curvature true r -> hyp_nonnegative_step r ->
       hyp_factor r -> hyp_drawn_apart true r -> stays_apart true r).
Proof.
  intros H.
  destruct (H meeting meeting_ok (meeting_unseen true) (meeting_curvature true) meeting_step
              meeting_factor (meeting_apart true) 3%nat) as [H1 _]; [simpl; lia|].
  cbn [meeting dim trained] in H1. rewrite norm_1, rows_meet, Rabs_R0 in H1.
  unfold factor in H1. simpl in H1. lra.
Qed.

Example reset_met : exists r : reset_run,
  reset_ok r /\ hyp_unseen false r /\ hyp_curvature false r /\ hyp_nonnegative_step r
  /\ hyp_factor r /\ hyp_drawn_apart false r /\ distance r = 1 /\ steps r = 4%nat.
Proof.
  exists meeting. conjuncts;
    [apply meeting_ok | apply meeting_unseen | apply meeting_curvature | apply meeting_step
    | apply meeting_factor | apply meeting_apart | reflexivity | reflexivity].
Qed.

Example staggered_reset_met : exists r : reset_run,
  reset_ok r /\ hyp_unseen true r /\ hyp_curvature true r /\ hyp_nonnegative_step r
  /\ hyp_factor r /\ hyp_drawn_apart true r /\ distance r = 1 /\ steps r = 4%nat.
Proof.
  exists meeting. conjuncts;
    [apply meeting_ok | apply meeting_unseen | apply meeting_curvature | apply meeting_step
    | apply meeting_factor | apply meeting_apart | reflexivity | reflexivity].
Qed.
