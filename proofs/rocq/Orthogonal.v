(** * What no feature sees

    The part of D along a direction z that is orthogonal to all features only
    decays:
      <z, D_T> = prod_t (1 - eta_t lambda_t) <z, D_0>      [no_decay_orthogonal],
    for any two rows, seen or not.  Without decay it never changes. *)

From Coq Require Import Reals Lra Lia Arith.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances Runs.
Local Open Scope R_scope.

Record probe_run := Probe { probed :> run; probe : vec }.

Definition hyp_orthogonal (r : probe_run) : Prop :=
  forall t, (t < steps r)%nat -> forall i, (i < size (batches r t))%nat ->
    dot (dim r) (probe r) (feature (batches r t) i) = 0.

(** <z, D_t>. *)
Definition along (r : probe_run) (t : nat) : R :=
  dot (dim r) (probe r) (wdiff (state r t) (row_u r) (row_v r)).

(** A gradient lies in the span of the features. *)
Lemma gradient_orthogonal n K B W z k :
  (forall i, (i < size B)%nat -> dot n z (feature B i) = 0) -> dot n z (gradient n K B W k) = 0.
Proof.
  intros H. rewrite dot_comm. unfold gradient. rewrite dot_sum_l.
  rewrite (sum_ext _ _ (fun _ => 0)); [apply sum_0|].
  intros i Hi. rewrite dot_scal_l, dot_comm, H by assumption. ring.
Qed.

Lemma along_step (r : probe_run) t :
  (t < steps r)%nat -> hyp_orthogonal r ->
  along r (S t) = (1 - step_sizes r t * decays r t) * along r t.
Proof.
  intros Ht H. unfold along. simpl state. unfold wdiff. rewrite !dot_sub_r.
  assert (E : forall k, dot (dim r) (probe r) (next_rows (step_from r t (state r t)) k)
    = (1 - step_sizes r t * decays r t) * dot (dim r) (probe r) (state r t k)).
  { intros k. unfold next_rows, descend. simpl.
    rewrite dot_sub_r, dot_scal_r, dot_comm with (b := vadd _ _), dot_add_l, dot_scal_l.
    rewrite (dot_comm _ (gradient _ _ _ _ _)), gradient_orthogonal by (now apply H).
    rewrite (dot_comm _ (state r t k)). ring. }
  rewrite !E. ring.
Qed.

Theorem no_decay_orthogonal (r : probe_run) :
  training_ok r -> hyp_orthogonal r ->
  along r (steps r) = prod (steps r) (fun t => 1 - step_sizes r t * decays r t) * along r 0.
Proof.
  intros _ H.
  assert (G : forall T, (T <= steps r)%nat ->
    along r T = prod T (fun t => 1 - step_sizes r t * decays r t) * along r 0).
  { induction T as [|T IH]; intros HT; [simpl; ring|].
    rewrite along_step by (trivial; lia). rewrite IH by lia. simpl. ring. }
  now apply G.
Qed.

Example no_decay_orthogonal_met : exists r : probe_run,
  training_ok r /\ hyp_orthogonal r /\ along r 0 = 1 /\ steps r = 2%nat.
Proof.
  exists (Probe (halving 1) (fun _ => 1)). conjuncts; [apply halving_ok | | | reflexivity].
  - intros t _ i _. simpl. rewrite dot_1. ring.
  - unfold along. simpl. rewrite dot_1. unfold wdiff, vsub, one_row. simpl. ring.
Qed.
