(** * Where unseen rows come to rest

    One feature x of norm r; k unseen rows, all at -(z/r^2) x, beside S seen
    rows.  The pull <x, grad_u> of the loss with its decay is a positive
    factor times an expression in z that vanishes at rest  [equilibrium]:
      r^2/S - lambda (z e^z + (k/S) z),   S = sum_s exp <w_s, x>,
      r^2 - lambda Z z e^z,               Z the normaliser,
      K r^2 - lambda (s e^s + (K-1) s),   s = K z, one seen row, trained too.
    Without decay nothing rests: the pull is then positive  [no_rest]. *)

From Coq Require Import Reals Lra Lia Arith.
From Collapse Require Import Sums Vectors LogMean Softmax Steps Instances.
Local Open Scope R_scope.

Record rest := Rest {
  dim : nat;
  seen : nat;
  seen_rows : nat -> vec;
  point : vec;  (* x *)
  weight_decay : R;
  level : R;  (* z *)
  unseen : nat  (* k *)
}.

Record rest_ok (e : rest) : Prop := {
  some_seen : (1 <= seen e)%nat;
  some_unseen : (1 <= unseen e)%nat
}.

Definition square (e : rest) : R := dot (dim e) (point e) (point e).

Definition unseen_row (e : rest) : vec := vscal (- (level e / square e)) (point e).

(** The head of the unseen rows and the given seen ones, and a batch of x with a seen target. *)
Definition rows_with (e : rest) (given : nat -> vec) : model := fun j =>
  if (j <? unseen e)%nat then unseen_row e else given (j - unseen e)%nat.

Definition at_point (e : rest) : batch :=
  Batch 1 (fun _ => point e) (fun _ => 1) (fun _ => unseen e).

(** <x, grad_u>, from the gradient of the loss. *)
Definition pull (e : rest) (count : nat) (given : nat -> vec) : R :=
  let W := rows_with e given in
  dot (dim e) (point e)
    (vadd (gradient (dim e) (unseen e + count) (at_point e) W 0)
      (vscal (weight_decay e) (W 0%nat))).

Definition exponential_sum (e : rest) : R :=
  sum (seen e) (fun i => exp (dot (dim e) (seen_rows e i) (point e))).

Definition normaliser (e : rest) : R :=
  exponential_sum e + INR (unseen e) * exp (- level e).

Definition hyp_nonzero_feature (e : rest) : Prop := 0 < square e.

Section Rest.
Variable e : rest.
Hypothesis ok : rest_ok e.
Hypothesis nonzero : hyp_nonzero_feature e.

Lemma inner_unseen : dot (dim e) (unseen_row e) (point e) = - level e.
Proof.
  unfold unseen_row. rewrite dot_scal_l. fold (square e). field.
  unfold hyp_nonzero_feature in nonzero. lra.
Qed.

Lemma row_0 given : rows_with e given 0%nat = unseen_row e.
Proof.
  unfold rows_with. destruct ok as [_ Hk].
  destruct (Nat.ltb_spec 0 (unseen e)); [reflexivity | lia].
Qed.

Lemma partition_split count given :
  partition (dim e) (unseen e + count) (rows_with e given) (point e)
  = INR (unseen e) * exp (- level e)
    + sum count (fun i => exp (dot (dim e) (given i) (point e))).
Proof.
  unfold partition. rewrite sum_split. f_equal.
  - rewrite <- sum_const. apply sum_ext; intros j Hj. unfold logit, rows_with.
    destruct (Nat.ltb_spec j (unseen e)); [|lia]. now rewrite inner_unseen.
  - apply sum_ext; intros j _. unfold logit, rows_with.
    destruct (Nat.ltb_spec (unseen e + j) (unseen e)); [lia|].
    do 3 f_equal. lia.
Qed.

(** The pull is p_u r^2 - lambda z. *)
Lemma pull_value count given :
  pull e count given
  = exp (- level e)
    / (INR (unseen e) * exp (- level e)
       + sum count (fun i => exp (dot (dim e) (given i) (point e)))) * square e
    - weight_decay e * level e.
Proof.
  unfold pull. rewrite dot_comm, dot_add_l, dot_scal_l, row_0, inner_unseen.
  unfold gradient. rewrite dot_sum_l. simpl sum. rewrite dot_scal_l. fold (square e).
  unfold softmax. rewrite partition_split. unfold logit. rewrite row_0, inner_unseen.
  unfold indicator. destruct ok as [_ Hk].
  destruct (Nat.eq_dec (unseen e) 0); [lia|]. simpl. ring.
Qed.

Lemma sum_exp_pos count given :
  (1 <= count)%nat -> 0 < sum count (fun i => exp (dot (dim e) (given i) (point e))).
Proof. intros H. apply sum_pos; [lia|]. intros; apply exp_pos. Qed.

End Rest.

Theorem equilibrium e :
  rest_ok e -> hyp_nonzero_feature e ->
  let z := level e in
  let k := INR (unseen e) in
  let S := exponential_sum e in
  let Z := normaliser e in
  let s := (k + 1) * z in
  pull e (seen e) (seen_rows e)
    = S * exp (- z) / Z * (square e / S - weight_decay e * (z * exp z + k * z / S))
  /\ pull e (seen e) (seen_rows e)
    = exp (- z) / Z * (square e - weight_decay e * Z * z * exp z)
  /\ pull e 1 (fun _ => vscal (- k) (unseen_row e))
    = ((k + 1) * square e - weight_decay e * (s * exp s + k * s)) / ((k + 1) * (k + exp s)).
Proof.
  intros ok nonzero z k S Z s. unfold hyp_nonzero_feature in nonzero.
  assert (HS : 0 < S) by (apply sum_exp_pos; apply ok).
  assert (Hk : 0 < k) by (apply lt_0_INR; destruct ok; lia).
  assert (He := exp_pos (- z)).
  assert (Hz : exp z * exp (- z) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  assert (HZ : 0 < Z) by (unfold Z, normaliser; fold S z k; nra).
  assert (E : pull e (seen e) (seen_rows e) = exp (- z) / Z * square e - weight_decay e * z).
  { rewrite pull_value by assumption. fold S z k. unfold Z, normaliser. fold S z k.
    f_equal. f_equal. f_equal. unfold S, exponential_sum. ring. }
  assert (EZ : Z = S + k * exp (- z)) by reflexivity.
  assert (Hexp : exp z = / exp (- z))
    by (rewrite exp_Ropp, Rinv_involutive; [reflexivity | apply Rgt_not_eq, exp_pos]).
  repeat split.
  - rewrite E, EZ, Hexp. field. rewrite <- EZ. repeat split; lra.
  - rewrite E, Hexp. field. split; lra.
  - rewrite pull_value by assumption. fold z k. simpl sum. rewrite Rplus_0_l.
    rewrite dot_scal_l, inner_unseen by assumption. fold z.
    replace (- k * - z) with (s + - z) by (unfold s; ring). rewrite exp_plus.
    assert (Hs := exp_pos s).
    unfold s at 2 4. field. repeat split; nra.
Qed.

(** Without decay the pull is positive at every level. *)
Theorem no_rest e :
  rest_ok e -> hyp_nonzero_feature e -> weight_decay e = 0 ->
  0 < pull e (seen e) (seen_rows e).
Proof.
  intros ok nonzero H0. rewrite pull_value by assumption. rewrite H0, Rmult_0_l, Rminus_0_r.
  apply Rmult_lt_0_compat; [|exact nonzero].
  assert (He := exp_pos (- level e)).
  assert (Hk : 0 < INR (unseen e)) by (apply lt_0_INR; destruct ok; lia).
  assert (HS := sum_exp_pos e (seen e) (seen_rows e) (some_seen e ok)).
  apply Rdiv_lt_0_compat; [exact He | nra].
Qed.

Example equilibrium_met : exists e, rest_ok e /\ hyp_nonzero_feature e /\ 0 < level e.
Proof.
  exists (Rest 1 1 (fun _ _ => 1) (fun _ => 1) 1 1 2). conjuncts.
  - split; simpl; lia.
  - unfold hyp_nonzero_feature, square; simpl. rewrite dot_1. lra.
  - simpl. lra.
Qed.
