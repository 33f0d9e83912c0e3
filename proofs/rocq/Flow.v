(** * Gradient flow

    For rows that follow the negative gradient,
      lambda |D|^2 <= -(1/2) d/dt |D|^2 <= (lambda + T) |D|^2   [gradient_flow],
    with no condition on a step size; [flow_rate] says that the middle term is
    that derivative.  Hence |D(t)| <= exp(-lambda t) |D(0)|    [flow_distance]. *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances OneStep Gradients.
Local Open Scope R_scope.

(** -(1/2) d/dt |D|^2 = <D, grad_u - grad_v> with the decay. *)
Definition rate (s : step) : R :=
  dot (dim s) (difference s)
    (vsub (decayed_gradient s (row_u s)) (decayed_gradient s (row_v s))).

Lemma rate_form s :
  step_ok s -> hyp_unseen s ->
  rate s = weight_decay s * dot (dim s) (difference s) (difference s)
           + dot (dim s) (operator s (difference s)) (difference s).
Proof.
  intros ok Hs. unfold rate.
  assert (E : veq (dim s)
    (vsub (decayed_gradient s (row_u s)) (decayed_gradient s (row_v s)))
    (vadd (vscal (weight_decay s) (difference s)) (operator s (difference s)))).
  { intros j _. unfold decayed_gradient, vsub, vadd.
    rewrite <- (gradient_difference s ok j Hs). unfold vscal, difference, wdiff, vsub. ring. }
  rewrite (dot_ext _ _ _ _ _ (fun j _ => eq_refl) E).
  now rewrite dot_comm, dot_add_l, dot_scal_l.
Qed.

Theorem gradient_flow s :
  step_ok s -> hyp_unseen s -> hyp_curvature s ->
  weight_decay s * dot (dim s) (difference s) (difference s) <= rate s
  /\ rate s <= (weight_decay s + curvature s) * dot (dim s) (difference s) (difference s).
Proof.
  intros ok Hs HT. rewrite rate_form by assumption.
  assert (H0 := form_nonneg (dim s) (size (data s)) (coefficient s) (feature (data s))
                  (coefficient_nonneg s ok) (difference s)).
  assert (H1 := form_le (dim s) (size (data s)) (coefficient s) (feature (data s)) (curvature s)
                  (coefficient_nonneg s ok) HT (difference s)).
  fold (operator s (difference s)) in H0, H1. lra.
Qed.

(** ** Along the flow *)

Section Flow.
Variables (at_time : R -> step) (n : nat) (u v : nat).

(** A head whose rows u and v follow the negative gradient; the batch may change. *)
Record flows : Prop := {
  flow_dim : forall t, dim (at_time t) = n;
  flow_u : forall t, row_u (at_time t) = u;
  flow_v : forall t, row_v (at_time t) = v;
  flow_derive : forall t j, (j < n)%nat ->
    is_derive (fun s => difference (at_time s) j) t
      (- (decayed_gradient (at_time t) u j - decayed_gradient (at_time t) v j))
}.

Hypothesis flow : flows.

Lemma flow_rate t :
  is_derive (fun s => dot n (difference (at_time s)) (difference (at_time s))) t
    (-2 * rate (at_time t)).
Proof.
  unfold rate, dot. rewrite <- sum_scal, flow_dim by assumption.
  apply is_derive_sum. intros j Hj.
  assert (H := flow_derive flow t j Hj).
  unfold vsub at 1. rewrite (flow_u flow), (flow_v flow).
  set (g := decayed_gradient (at_time t) u j - decayed_gradient (at_time t) v j) in *.
  replace (-2 * (difference (at_time t) j * g))
    with (plus (mult (- g) (difference (at_time t) j)) (mult (difference (at_time t) j) (- g)))
    by (unfold plus, mult; simpl; ring).
  apply (is_derive_mult (fun s => difference (at_time s) j) (fun s => difference (at_time s) j));
    [exact H | exact H | intros; apply Rmult_comm].
Qed.

Variable lambda : R.
Hypothesis decays : forall t, weight_decay (at_time t) = lambda.
Hypothesis good : forall t, step_ok (at_time t) /\ hyp_unseen (at_time t).

Theorem flow_distance t :
  0 <= t ->
  norm n (difference (at_time t)) <= exp (- (lambda * t)) * norm n (difference (at_time 0)).
Proof.
  intros Ht.
  set (q := fun s => dot n (difference (at_time s)) (difference (at_time s))).
  (* e^(2 lambda t) |D|^2 does not rise *)
  assert (H : exp (2 * lambda * t) * q t <= q 0).
  { destruct (Rle_lt_or_eq_dec _ _ Ht) as [H0|<-].
    2:{ rewrite Rmult_0_r, exp_0. lra. }
    set (f' := fun s => exp (2 * lambda * s) * (2 * lambda * q s - 2 * rate (at_time s))).
    destruct (MVT_cor2 (fun s => exp (2 * lambda * s) * q s) f' 0 t H0) as (c & Hc & _).
    - intros c _. apply is_derive_Reals.
      assert (Hq := flow_rate c). fold q in Hq.
      assert (Hexp : is_derive (fun s => exp (2 * lambda * s)) c
        (2 * lambda * exp (2 * lambda * c)))
        by (auto_derive; [trivial | ring]).
      replace (f' c) with (plus (mult (2 * lambda * exp (2 * lambda * c)) (q c))
                             (mult (exp (2 * lambda * c)) (-2 * rate (at_time c))))
        by (unfold f', plus, mult; simpl; ring).
      apply (is_derive_mult (fun s => exp (2 * lambda * s)) q);
        [exact Hexp | exact Hq | intros; apply Rmult_comm].
    - rewrite Rmult_0_r, exp_0, Rmult_1_l, Rminus_0_r in Hc.
      destruct (good c) as [ok Hs].
      assert (Hr := rate_form _ ok Hs). rewrite decays, (flow_dim flow) in Hr. fold (q c) in Hr.
      assert (Hf := form_nonneg (dim (at_time c)) (size (data (at_time c)))
                      (coefficient (at_time c)) (feature (data (at_time c)))
                      (coefficient_nonneg _ ok) (difference (at_time c))).
      rewrite (flow_dim flow) in Hf. unfold operator in Hr. rewrite (flow_dim flow) in Hr.
      assert (f' c <= 0).
      { unfold f'. assert (He := exp_pos (2 * lambda * c)). nra. }
      nra. }
  apply Rsqr_incr_0_var;
    [|apply Rmult_le_pos; [apply Rlt_le, exp_pos | apply norm_nonneg]].
  rewrite Rsqr_mult, !norm_sqr. fold (q t) (q 0).
  apply Rmult_le_reg_l with (exp (2 * lambda * t)); [apply exp_pos|].
  apply Rle_trans with (1 := H). unfold Rsqr.
  rewrite <- !Rmult_assoc, <- !exp_plus.
  replace (2 * lambda * t + - (lambda * t) + - (lambda * t)) with 0 by ring.
  rewrite exp_0. lra.
Qed.

End Flow.

Example gradient_flow_met : exists s,
  step_ok s /\ hyp_unseen s /\ hyp_curvature s
  /\ 0 < weight_decay s /\ norm (dim s) (difference s) = 1.
Proof.
  exists (small 1 (1 / 2) 1). conjuncts;
    [apply small_ok | apply small_unseen | apply small_curvature; lra | simpl; lra
    | apply small_distance].
Qed.
