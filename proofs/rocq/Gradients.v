(** * [gradient] is the gradient of the loss

    For every direction V of the rows, the derivative of
      t |-> loss (W + t V),
      loss W = sum_i a_i (-ln p_{y_i}(x_i)) + (lambda/2) sum_k |w_k|^2,
    at t = 0 is sum_k <gradient_k + lambda w_k, V_k>   [loss_derivative]:
    the step of [Steps.v] descends this loss. *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From Collapse Require Import Sums Vectors LogMean Softmax Steps.
Local Open Scope R_scope.

(** [is_derive_ext] for real functions, which fixes the type that [ring] needs. *)
Lemma is_derive_ext_R (f g : R -> R) (t d : R) :
  (forall s, f s = g s) -> is_derive f t d -> is_derive g t d.
Proof. exact (is_derive_ext f g t d). Qed.

Lemma is_derive_sum n (f : nat -> R -> R) (d : nat -> R) (t : R) :
  (forall i, (i < n)%nat -> is_derive (f i) t (d i)) ->
  is_derive (fun s => sum n (fun i => f i s)) t (sum n d).
Proof.
  induction n as [|n IH]; intros H; simpl.
  - apply (@is_derive_const R_AbsRing R_NormedModule).
  - apply (is_derive_plus (fun s => sum n (fun i => f i s)) (f n)); auto with arith.
Qed.

(** A sum against an indicator picks one term. *)
Lemma sum_indicator K y f :
  (y < K)%nat -> sum K (fun k => indicator y k * f k) = f y.
Proof.
  assert (Z : forall m, (m <= y)%nat -> sum m (fun k => indicator y k * f k) = 0).
  { intros m Hm. rewrite (sum_ext m _ (fun _ => 0)); [apply sum_0|].
    intros k Hk. unfold indicator. destruct (Nat.eq_dec y k); [lia | ring]. }
  induction K as [|K IH]; intros Hy; [lia|]. simpl.
  unfold indicator at 2. destruct (Nat.eq_dec y K) as [->|Hne].
  - rewrite Z by lia. ring.
  - rewrite IH by lia. ring.
Qed.

Section Loss.
Variables (n K : nat).
Hypothesis K_pos : (0 < K)%nat.

Definition loss (B : batch) (lambda : R) (W : model) : R :=
  sum (size B) (fun i => weight B i * - ln (softmax n K W (feature B i) (target B i)))
  + lambda / 2 * sum K (fun k => dot n (W k) (W k)).

(** The rows W + t V. *)
Definition shift (W V : model) (t : R) : model := fun k => vadd (W k) (vscal t (V k)).

Lemma logit_shift W V t x k :
  logit n (shift W V t) x k = logit n W x k + t * dot n (V k) x.
Proof. unfold logit, shift. now rewrite dot_add_l, dot_scal_l. Qed.

Lemma derive_logit W V x k :
  is_derive (fun t => logit n (shift W V t) x k) 0 (dot n (V k) x).
Proof.
  apply is_derive_ext_R with (fun t => logit n W x k + t * dot n (V k) x).
  - intros t. symmetry. apply logit_shift.
  - auto_derive; [trivial | ring].
Qed.

Lemma shift_0 W V x k : logit n (shift W V 0) x k = logit n W x k.
Proof. rewrite logit_shift. ring. Qed.

Lemma derive_partition W V x :
  is_derive (fun t => partition n K (shift W V t) x) 0
    (sum K (fun k => exp (logit n W x k) * dot n (V k) x)).
Proof.
  apply is_derive_sum. intros k _.
  apply is_derive_ext_R with (fun t => exp (logit n W x k + t * dot n (V k) x)).
  - intros t. now rewrite logit_shift.
  - auto_derive; [trivial|]. rewrite Rmult_0_l, Rplus_0_r. ring.
Qed.

Lemma derive_ln_partition W V x :
  is_derive (fun t => ln (partition n K (shift W V t) x)) 0
    (sum K (fun k => softmax n K W x k * dot n (V k) x)).
Proof.
  assert (Hp := partition_pos n K K_pos W x).
  assert (E : partition n K (shift W V 0) x = partition n K W x)
    by (apply sum_ext; intros; now rewrite shift_0).
  replace (sum K (fun k => softmax n K W x k * dot n (V k) x))
    with (sum K (fun k => exp (logit n W x k) * dot n (V k) x) * / partition n K W x).
  - apply (is_derive_comp ln (fun t => partition n K (shift W V t) x)).
    + rewrite E. apply is_derive_Reals, derivable_pt_lim_ln, Hp.
    + apply derive_partition.
  - rewrite <- sum_scal_r. apply sum_ext; intros. unfold softmax. field. lra.
Qed.

Lemma derive_nll W V x y :
  (y < K)%nat ->
  is_derive (fun t => - ln (softmax n K (shift W V t) x y)) 0
    (sum K (fun k => (softmax n K W x k - indicator y k) * dot n (V k) x)).
Proof.
  intros Hy.
  apply is_derive_ext_R with
    (fun t => ln (partition n K (shift W V t) x) - logit n (shift W V t) x y).
  - intros t. rewrite ln_softmax by assumption. ring.
  - replace (sum K (fun k => (softmax n K W x k - indicator y k) * dot n (V k) x))
      with (sum K (fun k => softmax n K W x k * dot n (V k) x) - dot n (V y) x).
    2:{ rewrite <- (sum_indicator K y (fun k => dot n (V k) x) Hy), <- sum_minus.
        apply sum_ext; intros; ring. }
    apply (is_derive_minus (fun t => ln (partition n K (shift W V t) x))
             (fun t => logit n (shift W V t) x y)).
    + apply derive_ln_partition.
    + apply derive_logit.
Qed.

Lemma derive_penalty W V :
  is_derive (fun t => sum K (fun k => dot n (shift W V t k) (shift W V t k))) 0
    (sum K (fun k => 2 * dot n (W k) (V k))).
Proof.
  apply is_derive_sum. intros k _.
  apply is_derive_ext_R with
    (fun t => dot n (W k) (W k) + 2 * t * dot n (W k) (V k) + t * t * dot n (V k) (V k)).
  - intros t. unfold shift.
    rewrite dot_add_l, dot_scal_l, !(dot_comm n _ (vadd _ _)), !dot_add_l, !dot_scal_l.
    rewrite (dot_comm n (V k) (W k)). ring.
  - auto_derive; [trivial | ring].
Qed.

Theorem loss_derivative B lambda W V :
  (forall i, (i < size B)%nat -> (target B i < K)%nat) ->
  is_derive (fun t => loss B lambda (shift W V t)) 0
    (sum K (fun k => dot n (vadd (gradient n K B W k) (vscal lambda (W k))) (V k))).
Proof.
  intros Hy.
  replace (sum K (fun k => dot n (vadd (gradient n K B W k) (vscal lambda (W k))) (V k)))
    with (sum (size B) (fun i => weight B i *
            sum K (fun k => (softmax n K W (feature B i) k - indicator (target B i) k)
                            * dot n (V k) (feature B i)))
          + lambda / 2 * sum K (fun k => 2 * dot n (W k) (V k))).
  - unfold loss.
    apply (is_derive_plus
      (fun t => sum (size B) (fun i =>
          weight B i * - ln (softmax n K (shift W V t) (feature B i) (target B i))))
      (fun t => lambda / 2 * sum K (fun k => dot n (shift W V t k) (shift W V t k)))).
    + apply is_derive_sum. intros i Hi.
      apply (is_derive_scal (fun t => - ln (softmax n K (shift W V t) (feature B i) (target B i)))).
      apply derive_nll; auto.
    + apply is_derive_scal, derive_penalty.
  - rewrite (sum_ext (size B) _ (fun i => sum K (fun k => weight B i *
      ((softmax n K W (feature B i) k - indicator (target B i) k) * dot n (V k) (feature B i)))))
      by (intros; now rewrite sum_scal).
    rewrite sum_swap, <- sum_scal, <- sum_plus. apply sum_ext; intros k _.
    unfold gradient. rewrite dot_add_l, dot_scal_l, dot_sum_l. f_equal.
    + apply sum_ext; intros. rewrite dot_scal_l, (dot_comm n (V k)). ring.
    + field.
Qed.

End Loss.
