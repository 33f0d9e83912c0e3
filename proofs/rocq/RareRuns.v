(** * Rare labels over a run

    With constant decay lambda and targets u or v of batch mass at most f,
      |D_T| <= P |D_0| + (r f / lambda) (1 - P),  P = prod_t (1 - eta_t lambda)
                                                        [rare_labels_run]. *)

From Coq Require Import Reals Lra Lia Arith.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances RareLabels Runs.
Local Open Scope R_scope.

(** The largest of the first T terms, and at least 0. *)
Fixpoint most (T : nat) (f : nat -> R) : R :=
  match T with O => 0 | S t => Rmax (most t f) (f t) end.

Lemma most_nonneg T f : 0 <= most T f.
Proof. induction T as [|T IH]; simpl; [lra|]. eapply Rle_trans; [exact IH | apply Rmax_l]. Qed.

Lemma most_ge T f t : (t < T)%nat -> f t <= most T f.
Proof.
  induction T as [|T IH]; intros Ht; [lia|]. simpl.
  destruct (Nat.eq_dec t T) as [->|]; [apply Rmax_r|].
  eapply Rle_trans; [apply IH; lia | apply Rmax_l].
Qed.

(** The largest batch mass of the targets u and v; masses are at least 0. *)
Definition largest_mass (s : steady_run) : R :=
  most (steps s) (fun t => target_mass (at_step s t)).

Definition hyp_some_decay (s : steady_run) : Prop := weight_decay s <> 0.

Theorem rare_labels_run (s : steady_run) :
  training_ok s -> hyp_nonnegative_step s -> Runs.hyp_radius s -> hyp_curvature s ->
  hyp_step_size s -> hyp_some_decay s ->
  distance_at s (steps s)
  <= prod (steps s) (fun t => 1 - sizes s t * weight_decay s) * distance_at s 0
     + radius s * largest_mass s / weight_decay s
       * (1 - prod (steps s) (fun t => 1 - sizes s t * weight_decay s)).
Proof.
  intros ok He Hr HT Hc Hl. unfold hyp_some_decay in Hl.
  set (P := fun T => prod T (fun t => 1 - sizes s t * weight_decay s)).
  set (f := largest_mass s). set (l := weight_decay s) in *.
  assert (G : forall T, (T <= steps s)%nat ->
    distance_at s T <= P T * distance_at s 0 + radius s * f / l * (1 - P T)).
  { induction T as [|T IH]; intros HTs; [unfold P; simpl; lra|].
    assert (Hlt : (T < steps s)%nat) by lia. specialize (IH ltac:(lia)).
    rewrite distance_after.
    eapply Rle_trans;
      [apply (rare_labels (at_step s T) (at_step_ok s ok T Hlt) (He T Hlt) (Hr T Hlt) (HT T Hlt)
                (Hc T Hlt))|].
    change (norm (Steps.dim (at_step s T)) (difference (at_step s T))) with (distance_at s T).
    assert (Hd := decay_nonneg s ok T He HT Hc Hlt). cbn [step_sizes decays as_run] in Hd.
    change (decay (at_step s T)) with (1 - sizes s T * weight_decay s).
    change (step_size (at_step s T)) with (sizes s T).
    change (Steps.radius (at_step s T)) with (radius s).
    fold l in Hd |- *.
    assert (Hm : target_mass (at_step s T) <= f)
      by (apply (most_ge (steps s) (fun t => target_mass (at_step s t))); assumption).
    assert (Hr0 : 0 <= radius s).
    { destruct (training_batch s ok T Hlt) as [Hn _ _ _].
      apply Rle_trans with (2 := Hr T Hlt 0%nat Hn), norm_nonneg. }
    assert (He0 : 0 <= sizes s T) by exact (He T Hlt).
    assert (H1 : sizes s T * radius s * target_mass (at_step s T) <= sizes s T * radius s * f)
      by (apply Rmult_le_compat_l; [now apply Rmult_le_pos | exact Hm]).
    assert (H2 : (1 - sizes s T * l) * distance_at s T
                 <= (1 - sizes s T * l) * (P T * distance_at s 0 + radius s * f / l * (1 - P T)))
      by now apply Rmult_le_compat_l.
    change (P (S T)) with (P T * (1 - sizes s T * l)).
    replace (P T * (1 - sizes s T * l) * distance_at s 0
             + radius s * f / l * (1 - P T * (1 - sizes s T * l)))
      with ((1 - sizes s T * l) * (P T * distance_at s 0 + radius s * f / l * (1 - P T))
            + sizes s T * radius s * f) by (field; exact Hl).
    lra. }
  now apply G.
Qed.

(** Met by two steps in which u is a target of the whole batch. *)
Definition rare_run : steady_run :=
  Steady (Training 1 3 one_row (fun _ => Batch 1 (fun _ _ => 1) (fun _ => 1) (fun _ => 0%nat))
            0 1 2)
    (fun _ => 1 / 2) 1 (1 / 2) 1 (1 / 2) 1 1.

Lemma rare_run_ok : training_ok rare_run.
Proof. split; [apply first_pair_ok | intros; split; simpl; intros; try lra; lia]. Qed.

Lemma rare_run_radius : Runs.hyp_radius rare_run.
Proof. intros t _ i _. simpl. rewrite norm_1, Rabs_R1. lra. Qed.

Example rare_labels_run_met : exists s : steady_run,
  training_ok s /\ hyp_nonnegative_step s /\ Runs.hyp_radius s /\ hyp_curvature s
  /\ hyp_step_size s /\ hyp_some_decay s /\ steps s = 2%nat.
Proof.
  exists rare_run. conjuncts; [apply rare_run_ok | | apply rare_run_radius | | | | reflexivity].
  - intros t _. unfold Steps.hyp_nonnegative_step; simpl. lra.
  - intros t Ht.
    eapply Rle_trans; [apply (trace_le_radius _ (at_step_ok rare_run rare_run_ok t Ht)
                                (rare_run_radius t Ht))|].
    unfold Rsqr; simpl. lra.
  - intros t _. unfold Steps.hyp_step_size; simpl. lra.
  - unfold hyp_some_decay; simpl. lra.
Qed.
