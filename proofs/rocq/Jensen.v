(** * The loss alone bounds the curvature

    With CE = sum_i a_i (-ln p_{y_i}(x_i)),
      tr M <= r^2 (1 - exp(-CE)) / 2                 [curvature_from_loss],
    since L_i <= (p_u + p_v)/2 <= (1 - p_{y_i})/2, and by Jensen's inequality
    for the exponential function. *)

From Coq Require Import Reals Lra Lia Arith.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances.
Local Open Scope R_scope.

(** The loss of a batch, without the decay. *)
Definition cross_entropy (s : step) : R :=
  sum (size (data s)) (fun i =>
    weight (data s) i
    * - ln (softmax (dim s) (labels s) (rows s) (feature (data s) i) (target (data s) i))).

(** Jensen's inequality with weights whose sum is at most 1; the rest of the
    weight counts for probability 1. *)
Lemma jensen N (a p : nat -> R) :
  (forall i, (i < N)%nat -> 0 <= a i) -> sum N a <= 1 -> (forall i, (i < N)%nat -> 0 < p i) ->
  sum N (fun i => a i * (1 - p i)) <= 1 - exp (- sum N (fun i => a i * - ln (p i))).
Proof.
  intros Ha Ht Hp. set (m := - sum N (fun i => a i * - ln (p i))).
  assert (Hm : sum N (fun i => a i * ln (p i)) = m).
  { unfold m. rewrite (sum_ext N (fun i => a i * - ln (p i)) (fun i => -1 * (a i * ln (p i))))
      by (intros; ring).
    rewrite sum_scal. ring. }
  assert (He := exp_pos m).
  (* each p is above the tangent of exp at m *)
  assert (H : sum N (fun i => a i * (exp m * (1 - m)) + exp m * (a i * ln (p i)))
              <= sum N (fun i => a i * p i)).
  { apply sum_le; intros i Hi. specialize (Ha i Hi). specialize (Hp i Hi).
    assert (H1 := exp_ineq1_le (ln (p i) - m)).
    assert (H2 : exp m * exp (ln (p i) - m) = p i)
      by (rewrite <- exp_plus;
          replace (m + (ln (p i) - m)) with (ln (p i)) by ring; now apply exp_ln).
    assert (H3 : exp m * (1 + (ln (p i) - m)) <= p i).
    { apply Rle_trans with (exp m * exp (ln (p i) - m)); [apply Rmult_le_compat_l; lra | lra]. }
    replace (a i * (exp m * (1 - m)) + exp m * (a i * ln (p i)))
      with (a i * (exp m * (1 + (ln (p i) - m)))) by ring.
    now apply Rmult_le_compat_l. }
  rewrite sum_plus, sum_scal_r, sum_scal, Hm in H.
  rewrite (sum_ext N (fun i => a i * (1 - p i)) (fun i => a i - a i * p i)) by (intros; ring).
  rewrite sum_minus.
  (* exp m (1 - m) <= 1 *)
  assert (Hq : exp m * (1 - m) <= 1).
  { assert (H1 := exp_ineq1_le (- m)).
    assert (H2 : exp m * exp (- m) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
    apply Rle_trans with (exp m * exp (- m)); [apply Rmult_le_compat_l; lra | lra]. }
  assert (0 <= (1 - sum N a) * (1 - exp m * (1 - m))) by (apply Rmult_le_pos; lra).
  nra.
Qed.

Section Loss.
Variable s : step.
Hypothesis ok : step_ok s.

Let p i k := softmax (dim s) (labels s) (rows s) (feature (data s) i) k.

(** Three different labels have at most probability 1 together. *)
Lemma mean_le_rest i :
  (i < size (data s))%nat -> 0 < weight (data s) i -> hyp_unseen s ->
  mean s i <= (1 - p i (target (data s) i)) / 2.
Proof.
  intros Hi Hw [Hu Hv]. destruct ok as [[_ _ _ Hy] [Lu Lv Luv]].
  specialize (Hu i Hi Hw). specialize (Hv i Hi Hw). specialize (Hy i Hi).
  assert (H := lmean_bounds (dim s) _ (labels_pos s ok) (rows s) (row_u s) (row_v s)
    (feature (data s) i)).
  assert (H3 : p i (target (data s) i) + p i (row_u s) + p i (row_v s) <= 1).
  { assert (H1 : sum (labels s) (p i) = 1) by apply softmax_sum_1, (labels_pos s ok).
    set (y := target (data s) i) in *.
    set (f := fun k => if Nat.eq_dec k y then 0 else p i k).
    assert (Hf : p i (row_u s) + p i (row_v s) <= sum (labels s) f).
    { replace (p i (row_u s)) with (f (row_u s))
        by (unfold f; destruct (Nat.eq_dec (row_u s) y); [congruence | reflexivity]).
      replace (p i (row_v s)) with (f (row_v s))
        by (unfold f; destruct (Nat.eq_dec (row_v s) y); [congruence | reflexivity]).
      apply sum_ge_two; try assumption. intros k _. unfold f.
      destruct (Nat.eq_dec k y); [lra | apply Rlt_le, softmax_pos, (labels_pos s ok)]. }
    set (g := fun k => p i k - f k).
    assert (Hg : p i y <= sum (labels s) g).
    { replace (p i y) with (g y)
        by (unfold g, f; destruct (Nat.eq_dec y y); [lra | congruence]).
      apply sum_ge_term; [|assumption]. intros k _. unfold g, f.
      destruct (Nat.eq_dec k y); [|lra].
      assert (0 < p i k) by apply softmax_pos, (labels_pos s ok). lra. }
    unfold g in Hg. rewrite sum_minus in Hg. change (fun k => p i k) with (p i) in Hg. lra. }
  unfold mean, p in *. lra.
Qed.

End Loss.

Theorem curvature_from_loss s :
  step_ok s -> hyp_unseen s -> hyp_radius s ->
  trace s <= (radius s)² * (1 - exp (- cross_entropy s)) / 2.
Proof.
  intros ok Hs Hr. destruct (step_batch s ok) as [_ Ha Ht _].
  set (p := fun i => softmax (dim s) (labels s) (rows s) (feature (data s) i) (target (data s) i)).
  assert (Hp : forall i, 0 < p i) by (intros i; apply softmax_pos, (labels_pos s ok)).
  apply Rle_trans with ((radius s)² / 2 * sum (size (data s))
    (fun i => weight (data s) i * (1 - p i))).
  - rewrite <- sum_scal. apply sum_le; intros i Hi.
    destruct (Rle_lt_or_eq_dec _ _ (Ha i Hi)) as [Hw|Hw].
    2:{ unfold coefficient. rewrite <- Hw. lra. }
    unfold coefficient. rewrite Rmult_assoc.
    replace ((radius s)² / 2 * (weight (data s) i * (1 - p i)))
      with (weight (data s) i * ((1 - p i) / 2 * (radius s)²)) by field.
    apply Rmult_le_compat_l; [lra|].
    apply Rmult_le_compat; [apply Rlt_le, mean_pos, ok | apply dot_self_nonneg | |].
    + now apply mean_le_rest.
    + specialize (Hr i Hi). assert (H0 := norm_nonneg (dim s) (feature (data s) i)).
      rewrite <- norm_sqr. apply Rsqr_incr_1; lra.
  - assert (Hj := jensen (size (data s)) (weight (data s)) p Ha Ht (fun i _ => Hp i)).
    assert (0 <= (radius s)²) by apply Rle_0_sqr.
    change (cross_entropy s)
      with (sum (size (data s)) (fun i => weight (data s) i * - ln (p i))).
    nra.
Qed.

Example curvature_from_loss_met : exists s,
  step_ok s /\ hyp_unseen s /\ hyp_radius s /\ radius s = 1.
Proof.
  exists (small 1 (1 / 2) 1).
  conjuncts; [apply small_ok | apply small_unseen | apply small_radius; lra | reflexivity].
Qed.
