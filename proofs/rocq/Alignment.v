(** * The cosine of two unseen rows along a run

    While both norms are at least m > 0,
      1 - cos(u_T, v_T) <= (prod_t (1 - eta_t lambda) |D_0|)^2 / (2 m^2)   [alignment].
    With the first norms in place of m this is false [alignment_without_norms],
    and true where the product of the norms does not fall
    [alignment_without_norms_mended].  If the distance tends to 0 and the norms
    stay up, the cosine tends to 1 [cosine_tends_to_1]. *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From Collapse Require Import Sums Vectors LogMean Softmax Forms Steps Instances OneStep Cosine Runs.
Local Open Scope R_scope.

(** The norm of row k before step t. *)
Definition norm_at (s : steady_run) (k t : nat) : R := norm (Runs.dim s) (state s t k).

(** 1 - cos(u_T, v_T). *)
Definition last_cosine_distance (s : steady_run) : R :=
  1 - cos_of (Runs.dim s) (state s (steps s) (row_u s)) (state s (steps s) (row_v s)).

(** (prod_t (1 - eta_t lambda) |D_0|)^2. *)
Definition decayed_square (s : steady_run) : R :=
  (prod (steps s) (fun t => 1 - sizes s t * weight_decay s) * distance_at s 0)².

Definition hyp_norms (s : steady_run) : Prop :=
  floor s <= norm_at s (row_u s) (steps s) /\ floor s <= norm_at s (row_v s) (steps s).

Definition hyp_positive_floor (s : steady_run) : Prop := 0 < floor s.

(** The bound with any positive number at most |u_T| |v_T|. *)
Lemma alignment_with (s : steady_run) (q : R) :
  training_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s -> hyp_step_size s ->
  0 < norm_at s (row_u s) (steps s) -> 0 < norm_at s (row_v s) (steps s) ->
  0 < q -> q <= norm_at s (row_u s) (steps s) * norm_at s (row_v s) (steps s) ->
  last_cosine_distance s <= decayed_square s / (2 * q).
Proof.
  intros ok Hs He HT Hc Hu Hv Hq0 Hq.
  assert (H := cosine (Vectors (Runs.dim s) (state s (steps s) (row_u s))
                         (state s (steps s) (row_v s))) (conj Hu Hv)).
  cbn [Cosine.dim first second] in H.
  eapply Rle_trans; [exact H|].
  assert (Ha := run_above s ok (steps s) Hs He HT Hc (le_n _)).
  cbn [step_sizes decays as_run] in Ha.
  assert (Hd := distance_nonneg s (steps s)).
  apply Rmult_le_compat; [apply Rle_0_sqr | | |].
  - apply Rlt_le, Rinv_0_lt_compat. fold (norm_at s (row_u s) (steps s)).
    fold (norm_at s (row_v s) (steps s)). apply Rmult_lt_0_compat; lra.
  - apply Rsqr_incr_1; [exact Ha | exact Hd |]. apply Rle_trans with (1 := Hd), Ha.
  - apply Rinv_le_contravar; [lra|]. fold (norm_at s (row_u s) (steps s)).
    fold (norm_at s (row_v s) (steps s)). lra.
Qed.

Theorem alignment (s : steady_run) :
  training_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s -> hyp_step_size s ->
  hyp_norms s -> hyp_positive_floor s ->
  last_cosine_distance s <= decayed_square s / (2 * floor s * floor s).
Proof.
  intros ok Hs He HT Hc [Hu Hv] Hm. unfold hyp_positive_floor in Hm.
  rewrite Rmult_assoc. apply alignment_with; trivial; try lra.
  - now apply Rmult_lt_0_compat.
  - apply Rmult_le_compat; lra.
Qed.

(** ** Without a bound on the norms *)

Definition hyp_nonzero_rows (s : steady_run) : Prop :=
  0 < norm_at s (row_u s) 0 * norm_at s (row_v s) 0
  /\ 0 < norm_at s (row_u s) (steps s) * norm_at s (row_v s) (steps s).

Definition hyp_norms_stay (s : steady_run) : Prop :=
  norm_at s (row_u s) 0 * norm_at s (row_v s) 0
  <= norm_at s (row_u s) (steps s) * norm_at s (row_v s) (steps s).

Definition alignment_without_norms_bound (s : steady_run) : Prop :=
  last_cosine_distance s
  <= decayed_square s / (2 * (norm_at s (row_u s) 0 * norm_at s (row_v s) 0)).

Lemma positive_factors a b : 0 <= a -> 0 <= b -> 0 < a * b -> 0 < a /\ 0 < b.
Proof.
  intros Ha Hb H. split; apply Rnot_le_lt; intros Hn.
  - replace a with 0 in H by lra. lra.
  - replace b with 0 in H by lra. lra.
Qed.

Theorem alignment_without_norms_mended (s : steady_run) :
  training_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s -> hyp_step_size s ->
  hyp_nonzero_rows s -> hyp_norms_stay s -> alignment_without_norms_bound s.
Proof.
  intros ok Hs He HT Hc [H0 HT0] Hn. unfold alignment_without_norms_bound.
  destruct (positive_factors _ _ (norm_nonneg _ _) (norm_nonneg _ _) HT0) as [Hu Hv].
  apply alignment_with; trivial.
Qed.

(** Two orthogonal rows and no features: a step with eta lambda = 1/2 halves
    both rows and leaves their cosine at 0. *)
Definition two_rows : model := fun k j => if Nat.eq_dec k j then 1 else 0.

Definition orthogonal_run : steady_run :=
  Steady (Training 2 3 two_rows (fun _ => one_example 0) 0 1 1)
    (fun _ => 1 / 2) 1 0 0 (1 / 2) 1 (1 / 2).

Lemma orthogonal_state k j : state orthogonal_run 1 k j = 1 / 2 * two_rows k j.
Proof.
  cbn [state orthogonal_run as_run data trained first_rows].
  unfold next_rows, step_from. cbn [step_size weight_decay rows Steps.dim Steps.labels Steps.data].
  unfold descend, gradient, vsub, vscal, vadd, vsum. simpl. field.
Qed.

Lemma orthogonal_ok : training_ok orthogonal_run.
Proof. split; [apply first_pair_ok | intros; apply one_example_ok]. Qed.

Lemma orthogonal_unseen : hyp_unseen orthogonal_run.
Proof. intros t _. split; apply one_example_unseen; simpl; lia. Qed.

Lemma orthogonal_step : hyp_nonnegative_step orthogonal_run.
Proof. intros t _. unfold Steps.hyp_nonnegative_step; simpl. lra. Qed.

Lemma orthogonal_radius : Runs.hyp_radius orthogonal_run.
Proof.
  intros t _ i _. simpl. unfold norm, dot. simpl.
  rewrite !Rmult_0_l, !Rplus_0_r, sqrt_0. lra.
Qed.

Lemma orthogonal_curvature : hyp_curvature orthogonal_run.
Proof.
  intros t Ht.
  eapply Rle_trans; [apply (trace_le_radius _ (at_step_ok orthogonal_run orthogonal_ok t Ht)
                              (orthogonal_radius t Ht))|].
  unfold Rsqr; simpl. lra.
Qed.

Lemma orthogonal_step_size : hyp_step_size orthogonal_run.
Proof. intros t _. unfold Steps.hyp_step_size; simpl. lra. Qed.

Lemma dot_2 a b : dot 2 a b = a 0%nat * b 0%nat + a 1%nat * b 1%nat.
Proof. unfold dot. simpl. ring. Qed.

Lemma orthogonal_first k : (k < 2)%nat -> norm_at orthogonal_run k 0 = 1.
Proof.
  intros Hk. unfold norm_at, norm. cbn [orthogonal_run Runs.dim trained]. rewrite dot_2.
  simpl. unfold two_rows.
  destruct k as [|[|k]]; simpl; [| |lia].
  - replace (1 * 1 + 0 * 0) with 1 by ring. apply sqrt_1.
  - replace (0 * 0 + 1 * 1) with 1 by ring. apply sqrt_1.
Qed.

Lemma orthogonal_last k : (k < 2)%nat -> norm_at orthogonal_run k 1 = 1 / 2.
Proof.
  intros Hk. unfold norm_at.
  rewrite (norm_ext _ _ (vscal (1 / 2) (state orthogonal_run 0 k)))
    by (intros j _; apply orthogonal_state).
  rewrite norm_scal. fold (norm_at orthogonal_run k 0). rewrite orthogonal_first by assumption.
  rewrite Rabs_pos_eq; lra.
Qed.

Lemma orthogonal_nonzero : hyp_nonzero_rows orthogonal_run.
Proof.
  split; cbn [orthogonal_run row_u row_v steps trained];
    [rewrite !orthogonal_first by lia | rewrite !orthogonal_last by lia]; lra.
Qed.

Theorem alignment_without_norms :
  ~ (forall s : steady_run,
       training_ok s -> hyp_unseen s -> hyp_nonnegative_step s -> hyp_curvature s ->
       hyp_step_size s -> hyp_nonzero_rows s -> alignment_without_norms_bound s).
Proof.
  intros H.
  specialize (H _ orthogonal_ok orthogonal_unseen orthogonal_step orthogonal_curvature
                orthogonal_step_size orthogonal_nonzero).
  unfold alignment_without_norms_bound, last_cosine_distance, decayed_square in H.
  cbn [orthogonal_run row_u row_v steps trained sizes weight_decay Runs.dim prod] in H.
  rewrite !orthogonal_first in H by lia.
  unfold cos_of in H. rewrite dot_2 in H.
  rewrite !orthogonal_state in H. unfold two_rows in H. simpl in H.
  assert (Hd : (distance_at orthogonal_run 0)² = 2).
  { unfold distance_at. rewrite norm_sqr.
    change (dot 2 (wdiff two_rows 0 1) (wdiff two_rows 0 1) = 2).
    rewrite dot_2. unfold wdiff, vsub, two_rows. simpl. ring. }
  change (distance_at (as_run orthogonal_run) 0) with (distance_at orthogonal_run 0) in H.
  unfold orthogonal_run in Hd.
  rewrite Rsqr_mult in H. unfold orthogonal_run in H. rewrite Hd in H. unfold Rsqr in H. lra.
Qed.

Example alignment_met : exists s : steady_run,
  training_ok s /\ hyp_unseen s /\ hyp_nonnegative_step s /\ hyp_curvature s /\ hyp_step_size s
  /\ hyp_norms s /\ hyp_positive_floor s /\ steps s = 1%nat.
Proof.
  exists orthogonal_run. conjuncts;
    [apply orthogonal_ok | apply orthogonal_unseen | apply orthogonal_step
    | apply orthogonal_curvature | apply orthogonal_step_size | | | reflexivity].
  - split; cbn [orthogonal_run row_u row_v steps trained floor];
      rewrite orthogonal_last by lia; lra.
  - unfold hyp_positive_floor; simpl. lra.
Qed.

Example alignment_without_norms_met : exists s : steady_run,
  training_ok s /\ hyp_unseen s /\ hyp_nonnegative_step s /\ hyp_curvature s /\ hyp_step_size s
  /\ hyp_nonzero_rows s /\ steps s = 1%nat.
Proof.
  exists orthogonal_run. conjuncts;
    [apply orthogonal_ok | apply orthogonal_unseen | apply orthogonal_step
    | apply orthogonal_curvature | apply orthogonal_step_size | apply orthogonal_nonzero
    | reflexivity].
Qed.

(** ** The limit *)

Theorem cosine_tends_to_1 n (u v : nat -> vec) m :
  0 < m -> (forall t, m <= norm n (u t) /\ m <= norm n (v t)) ->
  is_lim_seq (fun t => norm n (vsub (u t) (v t))) 0 ->
  is_lim_seq (fun t => cos_of n (u t) (v t)) 1.
Proof.
  intros Hm Hb Hlim.
  apply is_lim_seq_le_le with
    (u := fun t => 1 - norm n (vsub (u t) (v t)) * norm n (vsub (u t) (v t)) * / (2 * m²))
    (w := fun _ => 1).
  - intros t. destruct (Hb t) as [Hu Hv]. split; [|apply cos_le_1; lra].
    assert (Hp : m² <= norm n (u t) * norm n (v t)) by (apply Rmult_le_compat; lra).
    assert (Hm2 : 0 < m²) by (apply Rmult_lt_0_compat; assumption).
    assert (Hc := cosine (Vectors n (u t) (v t))
                    (conj (Rlt_le_trans _ _ _ Hm Hu) (Rlt_le_trans _ _ _ Hm Hv))).
    cbn [Cosine.dim first second] in Hc.
    assert ((norm n (vsub (u t) (v t)))² / (2 * norm n (u t) * norm n (v t))
            <= (norm n (vsub (u t) (v t)))² * / (2 * m²)).
    { apply Rmult_le_compat_l; [apply Rle_0_sqr|]. apply Rinv_le_contravar; lra. }
    unfold Rsqr in *. lra.
  - replace (Finite 1) with (Finite (1 - 0 * 0 * / (2 * m²))) by (f_equal; ring).
    apply is_lim_seq_minus'; [apply is_lim_seq_const|].
    apply is_lim_seq_mult'; [|apply is_lim_seq_const].
    now apply is_lim_seq_mult'.
  - apply is_lim_seq_const.
Qed.
