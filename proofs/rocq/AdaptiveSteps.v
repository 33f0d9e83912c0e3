(** * Steps of adaptive optimisers

    AdamW's first step, w+ = (1 - eta lambda) w - eta g/(|g| + eps) entry by
    entry, can drive unseen rows apart at any step size [adamw_contraction];
    where the update points along D it contracts [adamw_contraction_mended].
    The update increases with the gradient, with slope at most 1/eps [slope]:
      eps |A|^2 + lambda D.MD <= R.MD                  [adamw_stationary],
    so unseen rows are equal where AdamW is at rest, and its flow goes
    downhill on the loss with a barrier                [adamw_flow].
    With one preconditioner P for both rows |D+|_P <= (1 - eta lambda)|D|_P
                                                   [shared_preconditioner]. *)

From Coq Require Import Reals Lra Lia Arith.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances OneStep.
Local Open Scope R_scope.

(** ** The update of an entry *)

Definition update_of (eps g : R) : R := g / (Rabs g + eps).

Section Update.
Variable eps : R.
Hypothesis eps_pos : 0 < eps.
Let f := update_of eps.

Lemma update_pos x : 0 <= x -> f x = x / (x + eps).
Proof. intros H. unfold f, update_of. now rewrite Rabs_pos_eq. Qed.

Lemma update_opp x : f (- x) = - f x.
Proof.
  unfold f, update_of. rewrite Rabs_Ropp. assert (H := Rabs_pos x). field. lra.
Qed.

Lemma update_gap_pos a b :
  0 <= b <= a -> 0 <= f a - f b /\ eps * (f a - f b) <= a - b.
Proof.
  intros H. rewrite !update_pos by lra.
  assert (Hp : 0 < (a + eps) * (b + eps)) by (apply Rmult_lt_0_compat; lra).
  assert (E : a / (a + eps) - b / (b + eps) = eps * (a - b) / ((a + eps) * (b + eps)))
    by (field; lra).
  rewrite E. split.
  - apply Rmult_le_pos; [apply Rmult_le_pos; lra | now apply Rlt_le, Rinv_0_lt_compat].
  - apply Rmult_le_reg_r with (1 := Hp). unfold Rdiv.
    replace (eps * (eps * (a - b) * / ((a + eps) * (b + eps))) * ((a + eps) * (b + eps)))
      with (eps * eps * (a - b)) by (field; lra).
    assert (eps * eps <= (a + eps) * (b + eps)) by nra. nra.
Qed.

Lemma update_gap a b : b <= a -> 0 <= f a - f b /\ eps * (f a - f b) <= a - b.
Proof.
  intros H.
  assert (f0 : f 0 = 0) by (unfold f, update_of; rewrite Rabs_R0; field; lra).
  destruct (Rle_or_lt 0 b) as [Hb|Hb]; [apply update_gap_pos; lra|].
  destruct (Rle_or_lt a 0) as [Ha|Ha].
  - destruct (update_gap_pos (- b) (- a)) as [H1 H2]; [lra|].
    rewrite !update_opp in *. lra.
  - destruct (update_gap_pos a 0) as [H1 H2]; [lra|].
    destruct (update_gap_pos (- b) 0) as [H3 H4]; [lra|].
    rewrite update_opp, f0 in *. lra.
Qed.

Lemma slope a b : eps * (f a - f b) ^ 2 <= (f a - f b) * (a - b).
Proof.
  destruct (Rle_or_lt b a) as [H|H].
  - destruct (update_gap a b H) as [H1 H2]. nra.
  - destruct (update_gap b a) as [H1 H2]; [lra|]. nra.
Qed.

End Update.

(** ** AdamW's first step *)

Record adam_step := Adam { base :> step; epsilon : R }.

Record adam_ok (s : adam_step) : Prop := {
  base_ok : step_ok s;
  epsilon_pos : 0 < epsilon s
}.

(** The gradient of the loss, without the decay. *)
Definition plain (s : step) : model := gradient (dim s) (labels s) (data s) (rows s).

Definition update (s : adam_step) : model := fun k j => update_of (epsilon s) (plain s k j).

Definition adam_rows (s : adam_step) : model := fun k =>
  vsub (vscal (decay s) (rows s k)) (vscal (step_size s) (update s k)).

Definition adam_difference (s : adam_step) : vec := wdiff (adam_rows s) (row_u s) (row_v s).

(** A, the difference of the updates, and R = lambda D + A. *)
Definition pair_update (s : adam_step) : vec := wdiff (update s) (row_u s) (row_v s).

Definition residual (s : adam_step) : vec :=
  vadd (vscal (weight_decay s) (difference s)) (pair_update s).

Lemma adam_split s j :
  adam_difference s j = decay s * difference s j - step_size s * pair_update s j.
Proof.
  unfold adam_difference, adam_rows, pair_update, difference, wdiff, vsub, vscal. ring.
Qed.

Definition hyp_step_size (s : adam_step) : Prop :=
  step_size s * (2 * weight_decay s + curvature s / epsilon s) <= 2.

Definition hyp_downhill (s : adam_step) : Prop :=
  0 <= dot (dim s) (difference s) (pair_update s).

Definition hyp_bounded_update (s : adam_step) : Prop :=
  epsilon s * dot (dim s) (pair_update s) (pair_update s)
  <= curvature s * dot (dim s) (difference s) (pair_update s).

Definition adamw_contraction_bound (s : adam_step) : Prop :=
  norm (dim s) (adam_difference s) <= decay s * norm (dim s) (difference s).

Theorem adamw_contraction_mended (s : adam_step) :
  adam_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s -> hyp_step_size s ->
  hyp_downhill s -> hyp_bounded_update s -> adamw_contraction_bound s.
Proof.
  intros [ok He] _ Hn HT Hs Hd Hb. unfold adamw_contraction_bound.
  unfold hyp_step_size, hyp_downhill, hyp_bounded_update, hyp_nonnegative_step, hyp_curvature in *.
  assert (H0 := trace_nonneg s ok).
  set (eps := epsilon s) in *. set (eta := step_size s) in *. set (T := curvature s) in *.
  assert (Hq : 0 <= T / eps).
  { apply Rmult_le_pos; [lra | now apply Rlt_le, Rinv_0_lt_compat]. }
  assert (Hr : eta * (T / eps) <= 2 * decay s) by (unfold decay; fold eta; lra).
  assert (Hc : 0 <= decay s).
  { assert (0 <= eta * (T / eps)) by now apply Rmult_le_pos. lra. }
  apply Rsqr_incr_0_var; [|apply Rmult_le_pos; [exact Hc | apply norm_nonneg]].
  rewrite Rsqr_mult, !norm_sqr.
  rewrite (dot_ext _ _ (vsub (vscal (decay s) (difference s)) (vscal eta (pair_update s)))
             _ (vsub (vscal (decay s) (difference s)) (vscal eta (pair_update s))))
    by (intros j _; apply adam_split).
  rewrite dot_sub_l, !dot_sub_r, !dot_scal_l, !dot_scal_r,
    (dot_comm _ (pair_update s) (difference s)).
  set (da := dot _ (difference s) (pair_update s)) in *.
  set (aa := dot _ (pair_update s) (pair_update s)) in *.
  assert (Ha : aa <= T / eps * da).
  { apply Rmult_le_reg_l with (1 := He).
    replace (eps * (T / eps * da)) with (T * da) by (field; lra). exact Hb. }
  assert (eta * (eta * aa) <= eta * (eta * (T / eps * da)))
    by (apply Rmult_le_compat_l; [exact Hn | apply Rmult_le_compat_l; [exact Hn | exact Ha]]).
  assert (eta * (da * (eta * (T / eps))) <= eta * (da * (2 * decay s)))
    by (apply Rmult_le_compat_l; [exact Hn | apply Rmult_le_compat_l; [exact Hd | exact Hr]]).
  unfold Rsqr. lra.
Qed.

(** Three labels, x_1 = (1, 1) and x_2 = (-1, -2) with weights 3/5 and 2/5 and
    target 2, w_u = (l, 0), w_v = (-l, l), l = ln 2, and eps = eta = 1/20.  The
    gradients are (1/5, 1/10) and (1/20, -1/20), the updates (4/5, 2/3) and
    (1/2, -1/2): their difference (3/10, 7/6) points against D = (2l, -l). *)
Definition apart : adam_step :=
  Adam (Step 2 3
    (fun k j => if Nat.eq_dec k 0 then if Nat.eq_dec j 0 then ln 2 else 0
                else if Nat.eq_dec k 1 then if Nat.eq_dec j 0 then - ln 2 else ln 2 else 0)
    (Batch 2
       (fun i j => if Nat.eq_dec i 0 then 1 else if Nat.eq_dec j 0 then -1 else -2)
       (fun i => if Nat.eq_dec i 0 then 3 / 5 else 2 / 5) (fun _ => 2%nat))
    0 1 (1 / 20) 0 2 0 0) (1 / 20).

Lemma apart_ok : adam_ok apart.
Proof.
  split; [split; [split|apply first_pair_ok] | simpl; lra]; simpl; intros.
  - lia.
  - destruct (Nat.eq_dec i 0); lra.
  - lra.
  - lia.
Qed.

Lemma apart_unseen : hyp_unseen apart.
Proof. split; intros i _ _ E; simpl in E; congruence. Qed.

Lemma apart_curvature : hyp_curvature apart.
Proof.
  unfold hyp_curvature, trace, coefficient. change (size (data apart)) with 2%nat.
  change (dim apart) with 2%nat. unfold dot. cbn [sum]. simpl.
  assert (H0 := mean_le_half _ (base_ok _ apart_ok) 0).
  assert (H1 := mean_le_half _ (base_ok _ apart_ok) 1).
  simpl in *. lra.
Qed.

Lemma apart_softmax_0 k :
  (k < 2)%nat ->
  softmax 2 3 (rows apart) (feature (data apart) 0%nat) k = if Nat.eq_dec k 0 then 1 / 2 else 1 / 4.
Proof.
  intros Hk. unfold softmax, partition, logit, dot. cbn [sum].
  assert (E : exp (ln 2) = 2) by (apply exp_ln; lra).
  destruct k as [|[|k]]; try lia; simpl;
    repeat match goal with |- context [exp ?x] =>
      first [ replace x with (ln 2) by ring; rewrite E | replace x with 0 by ring; rewrite exp_0 ]
    end; field.
Qed.

Lemma apart_softmax_1 k :
  (k < 2)%nat ->
  softmax 2 3 (rows apart) (feature (data apart) 1%nat) k = 1 / 4.
Proof.
  intros Hk. unfold softmax, partition, logit, dot. cbn [sum].
  assert (E : exp (- ln 2) = / 2) by (rewrite exp_Ropp, exp_ln; lra).
  destruct k as [|[|k]]; try lia; simpl;
    repeat match goal with |- context [exp ?x] =>
      first [ replace x with (- ln 2) by ring; rewrite E | replace x with 0 by ring; rewrite exp_0 ]
    end; field.
Qed.

Lemma apart_gradient k j :
  (k < 2)%nat -> (j < 2)%nat ->
  plain apart k j
  = if Nat.eq_dec k 0 then if Nat.eq_dec j 0 then 1 / 5 else 1 / 10
    else if Nat.eq_dec j 0 then 1 / 20 else -1 / 20.
Proof.
  intros Hk Hj. unfold plain, gradient, vsum, vscal.
  change (size (data apart)) with 2%nat. change (dim apart) with 2%nat.
  change (labels apart) with 3%nat. cbn [sum].
  rewrite apart_softmax_0, apart_softmax_1 by assumption. unfold indicator.
  destruct k as [|[|k]]; destruct j as [|[|j]]; try lia; simpl; field.
Qed.

Theorem adamw_contraction :
  ~ (forall s : adam_step,
       adam_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s -> hyp_step_size s ->
       adamw_contraction_bound s).
Proof.
  intros H.
  assert (H1 : adamw_contraction_bound apart).
  { apply H; [apply apart_ok | apply apart_unseen | | apply apart_curvature |].
    - unfold hyp_nonnegative_step; simpl; lra.
    - unfold hyp_step_size; simpl; lra. }
  unfold adamw_contraction_bound in H1. change (dim apart) with 2%nat in H1.
  assert (Hc : decay apart = 1) by (unfold decay; simpl; ring).
  rewrite Hc, Rmult_1_l in H1. apply norm_le_iff in H1.
  unfold dot in H1. cbn [sum] in H1. rewrite !adam_split, Hc in H1.
  unfold pair_update, wdiff, vsub, update in H1.
  change (row_u apart) with 0%nat in H1. change (row_v apart) with 1%nat in H1.
  rewrite !apart_gradient in H1 by lia.
  change (step_size apart) with (1 / 20) in H1. change (epsilon apart) with (1 / 20) in H1.
  unfold difference, wdiff, vsub in H1. simpl in H1. unfold update_of in H1.
  rewrite (Rabs_pos_eq (1 / 5)), (Rabs_pos_eq (1 / 10)), (Rabs_pos_eq (1 / 20)) in H1 by lra.
  rewrite (Rabs_left (-1 / 20)) in H1 by lra.
  assert (Hl : 0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
  replace (1 / 5 / (1 / 5 + 1 / 20)) with (4 / 5) in H1 by field.
  replace (1 / 10 / (1 / 10 + 1 / 20)) with (2 / 3) in H1 by field.
  replace (1 / 20 / (1 / 20 + 1 / 20)) with (1 / 2) in H1 by field.
  replace (-1 / 20 / (- (-1 / 20) + 1 / 20)) with (- (1 / 2)) in H1 by field.
  nra.
Qed.

(** ** At rest, and downhill *)

Theorem adamw_stationary (s : adam_step) :
  adam_ok s -> hyp_unseen s ->
  epsilon s * dot (dim s) (pair_update s) (pair_update s)
  + weight_decay s * dot (dim s) (difference s) (operator s (difference s))
  <= dot (dim s) (residual s) (operator s (difference s)).
Proof.
  intros [ok He] Hu. unfold residual. rewrite dot_add_l, dot_scal_l.
  assert (epsilon s * dot (dim s) (pair_update s) (pair_update s)
          <= dot (dim s) (pair_update s) (operator s (difference s))); [|lra].
  unfold dot. rewrite <- sum_scal. apply sum_le; intros j Hj.
  rewrite <- (gradient_difference s ok j Hu).
  assert (H := slope (epsilon s) He (plain s (row_u s) j) (plain s (row_v s) j)).
  unfold pair_update, wdiff, vsub, update, plain in *. lra.
Qed.

(** The velocity of AdamW with settled moments, and the derivative along it of
    the loss plus eps times the barrier h(s) = -|s| - ln(1 - lambda|s|)/lambda,
    whose derivative is h'(s) = lambda s/(1 - |lambda s|). *)
Definition velocity (s : adam_step) (k j : nat) : R :=
  - (weight_decay s * rows s k j) - update s k j.

Definition slope_of_H (s : adam_step) (k j : nat) : R :=
  plain s k j
  + epsilon s * (weight_decay s * rows s k j) / (1 - Rabs (weight_decay s * rows s k j)).

Definition descent_rate (s : adam_step) : R :=
  - sum (labels s) (fun k => sum (dim s) (fun j => slope_of_H s k j * velocity s k j)).

Definition hyp_inside_ball (s : adam_step) : Prop :=
  forall k j, (k < labels s)%nat -> (j < dim s)%nat -> Rabs (weight_decay s * rows s k j) < 1.

Theorem adamw_flow (s : adam_step) :
  adam_ok s -> hyp_inside_ball s ->
  epsilon s * sum (labels s) (fun k => sum (dim s) (fun j => velocity s k j ^ 2))
  <= descent_rate s.
Proof.
  intros [_ He] Hb. unfold descent_rate.
  replace (- sum (labels s) (fun k => sum (dim s) (fun j => slope_of_H s k j * velocity s k j)))
    with (sum (labels s) (fun k => -1 * sum (dim s) (fun j => slope_of_H s k j * velocity s k j)))
    by (rewrite sum_scal; ring).
  rewrite <- sum_scal. apply sum_le; intros k Hk.
  rewrite <- !sum_scal. apply sum_le; intros j Hj.
  specialize (Hb k j Hk Hj). unfold slope_of_H, velocity, update.
  set (g := plain s k j). set (w := weight_decay s * rows s k j) in *.
  set (eps := epsilon s) in *.
  set (b := - (eps * w / (1 - Rabs w))).
  assert (Fb : update_of eps b = - w).
  { unfold update_of, b. rewrite Rabs_Ropp.
    assert (Ea : Rabs (eps * w / (1 - Rabs w)) = eps * Rabs w / (1 - Rabs w)).
    { unfold Rdiv.
      rewrite !Rabs_mult, (Rabs_pos_eq eps), Rabs_inv, (Rabs_pos_eq (1 - Rabs w)); lra. }
    rewrite Ea. assert (H := Rabs_pos w). field. lra. }
  assert (H := slope eps He g b). rewrite Fb in H.
  unfold b in H. unfold Rdiv in *. nra.
Qed.

(** ** One preconditioner for both rows *)

Record preconditioned_step := Preconditioned { plain_step :> step; preconditioner : vec }.

Record preconditioned_ok (s : preconditioned_step) : Prop := {
  plain_ok : step_ok s;
  preconditioner_pos : forall j, (j < dim s)%nat -> 0 < preconditioner s j
}.

Definition preconditioned_rows (s : preconditioned_step) : model := fun k j =>
  decay s * rows s k j - step_size s * (plain s k j / preconditioner s j).

(** |z|_P = sqrt (sum_j P_j z_j^2). *)
Definition length (s : preconditioned_step) (z : vec) : R :=
  sqrt (sum (dim s) (fun j => preconditioner s j * (z j)²)).

Definition difference_after (s : preconditioned_step) : vec :=
  wdiff (preconditioned_rows s) (row_u s) (row_v s).

Module Shared.
(** T bounds tr P^-1 M. *)
Definition trace (s : preconditioned_step) : R :=
  sum (size (data s)) (fun i =>
    coefficient s i
    * sum (dim s) (fun j => (feature (data s) i j)² / preconditioner s j)).
Definition hyp_curvature (s : preconditioned_step) : Prop := trace s <= curvature s.
End Shared.

Theorem shared_preconditioner (s : preconditioned_step) :
  preconditioned_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> Shared.hyp_curvature s ->
  Steps.hyp_step_size s ->
  length s (difference_after s) <= decay s * length s (difference s).
Proof.
  intros [ok HP] Hu He HT Hs.
  set (root := fun j => sqrt (preconditioner s j)).
  assert (Hroot : forall j, (j < dim s)%nat -> 0 < root j)
    by (intros j Hj; now apply sqrt_lt_R0, HP).
  assert (Hsq : forall j, (j < dim s)%nat -> root j * root j = preconditioner s j)
    by (intros j Hj; apply sqrt_sqrt, Rlt_le, HP, Hj).
  set (wide := fun z : vec => (fun j => root j * z j) : vec).
  set (xs := fun i : nat => (fun j => feature (data s) i j / root j) : vec).
  assert (Elength : forall z, length s z = norm (dim s) (wide z)).
  { intros z. unfold length, norm, dot, wide. f_equal. apply sum_ext; intros j Hj.
    rewrite <- (Hsq j Hj). unfold Rsqr. ring. }
  rewrite !Elength.
  rewrite (norm_ext _ _ (fmap (dim s) (size (data s)) (coefficient s) xs (decay s) (step_size s)
                           (wide (difference s)))).
  - apply map_upper with (T := curvature s).
    + apply coefficient_nonneg, ok.
    + apply Rle_trans with (2 := HT). apply Req_le. unfold Shared.trace.
      apply sum_ext; intros i _. f_equal. unfold dot, xs. apply sum_ext; intros j Hj.
      rewrite <- (Hsq j Hj). assert (H := Hroot j Hj). unfold Rsqr. field. lra.
    + exact He.
    + unfold Steps.hyp_step_size, decay in *. lra.
  - intros j Hj. assert (H := Hroot j Hj).
    assert (E := gradient_difference s ok j Hu).
    unfold fmap, wide, difference_after, wdiff, vsub, vscal, preconditioned_rows, plain in *.
    assert (Ef : form (dim s) (size (data s)) (coefficient s) xs
                   (fun j => root j * difference s j) j
                 = operator s (difference s) j / root j).
    { unfold operator, form, vsum, vscal, Rdiv. rewrite <- sum_scal_r.
      apply sum_ext; intros i _. unfold xs at 2.
      replace (dot (dim s) (fun j0 => root j0 * difference s j0) (xs i))
        with (dot (dim s) (difference s) (feature (data s) i)).
      - unfold Rdiv. ring.
      - apply sum_ext; intros l Hl. unfold xs. assert (Hr := Hroot l Hl). field. lra. }
    rewrite Ef, <- E, <- (Hsq j Hj). unfold difference, wdiff, vsub. field. lra.
Qed.

(** ** The hypotheses can be met *)

Definition small_adam : adam_step := Adam (small 1 (1 / 4) (1 / 2)) 1.

Lemma small_adam_ok : adam_ok small_adam.
Proof. split; [apply small_ok | simpl; lra]. Qed.

Local Ltac meets :=
  conjuncts;
  first [ apply small_adam_ok | apply small_unseen | apply small_curvature; lra
        | apply Rlt_le_trans with (1 := Rlt_0_1); right; symmetry; apply small_distance
        | unfold hyp_nonnegative_step, hyp_step_size, small_adam, small, Rsqr; simpl; lra ].

Example adamw_contraction_met : exists s : adam_step,
  adam_ok s /\ hyp_unseen s /\ hyp_nonnegative_step s /\ hyp_curvature s /\ hyp_step_size s
  /\ 0 < step_size s * weight_decay s /\ 0 < norm (dim s) (difference s).
Proof. exists small_adam. meets. Qed.

Example adamw_stationary_met : exists s : adam_step,
  adam_ok s /\ hyp_unseen s
  /\ 0 < step_size s * weight_decay s /\ 0 < norm (dim s) (difference s).
Proof. exists small_adam. meets. Qed.

Example adamw_flow_met : exists s : adam_step,
  adam_ok s /\ hyp_inside_ball s
  /\ 0 < step_size s * weight_decay s /\ 0 < norm (dim s) (difference s).
Proof.
  exists small_adam. conjuncts;
    first [ apply small_adam_ok
          | apply Rlt_le_trans with (1 := Rlt_0_1); right; symmetry; apply small_distance
          | idtac ].
  - intros k j _ _. simpl. unfold one_row. destruct (Nat.eq_dec k 0).
    + rewrite Rabs_pos_eq; lra.
    + rewrite Rmult_0_r, Rabs_R0. lra.
  - simpl. lra.
Qed.

Example shared_preconditioner_met : exists s : preconditioned_step,
  preconditioned_ok s /\ hyp_unseen s /\ hyp_nonnegative_step s /\ Shared.hyp_curvature s
  /\ Steps.hyp_step_size s
  /\ 0 < step_size s * weight_decay s /\ 0 < norm (dim s) (difference s).
Proof.
  exists (Preconditioned (small 1 (1 / 2) 1) (fun _ => 1)). conjuncts.
  - split; [apply small_ok | intros; simpl; lra].
  - apply small_unseen.
  - unfold hyp_nonnegative_step; simpl; lra.
  - unfold Shared.hyp_curvature, Shared.trace.
    apply Rle_trans with (2 := small_curvature 1 (1 / 2) 1 ltac:(lra)). apply Req_le.
    unfold trace. apply sum_ext; intros i _. unfold coefficient, mean. simpl. f_equal.
    unfold dot. simpl. unfold Rsqr. field.
  - unfold Steps.hyp_step_size, small, Rsqr; simpl; lra.
  - simpl. lra.
  - apply Rlt_le_trans with (1 := Rlt_0_1); right; symmetry; apply small_distance.
Qed.
