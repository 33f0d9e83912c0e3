(** * Values of statements, for the comparison with the library

    [agrees P v] says that the statement P has the values v: the two sides of
    each inequality or equation in it, or the margin, upper side minus lower
    side, of each inequality.  A value is exact ([Is]) or known to 2^-30
    ([Near]).  Read by the comparison, not part of the development. *)

From Coq Require Import Reals Lra Lia Arith List.
From Interval Require Import Tactic.
From Collapse Require LogMean.
Import ListNotations.
Local Open Scope R_scope.

(** ** Instances *)

Definition row (l : list R) (j : nat) : R := nth j l 0.
Definition rows_of (l : list (list R)) (k : nat) : nat -> R := row (nth k l nil).
Definition labels_of (l : list nat) (i : nat) : nat := nth i l 0%nat.
Definition flags_of (l : list bool) (i : nat) : bool := nth i l false.

(** ** Values *)

Inductive number := Is (x : R) | Near (x : R).

Definition has (v : number) (x : R) : Prop :=
  match v with
  | Is y => x = y
  | Near y => Rabs (x - y) <= / 1073741824
  end.

Inductive values :=
| Sides (l r : number)
| Margin (m : number)
| Both (a b : values)
| Each (l : list values).

Inductive agrees : Prop -> values -> Prop :=
| sides_le l r v w : has v l -> has w r -> agrees (l <= r) (Sides v w)
| sides_eq (l r : R) v w : has v l -> has w r -> agrees (l = r) (Sides v w)
| margin_le l r v : has v (r - l) -> agrees (l <= r) (Margin v)
| margin_lt l r v : has v (r - l) -> agrees (l < r) (Margin v)
| agrees_and P Q v w : agrees P v -> agrees Q w -> agrees (P /\ Q) (Both v w)
| agrees_if (P Q : Prop) v : P -> agrees Q v -> agrees (P -> Q) v
| agrees_each n (P : nat -> Prop) vs :
    length vs = n ->
    (forall i, (i < n)%nat -> agrees (P i) (nth i vs (Each nil))) ->
    agrees (forall i, (i < n)%nat -> P i) (Each vs)
| agrees_pairs n m (P : nat -> nat -> Prop) vs :
    length vs = n ->
    (forall i, (i < n)%nat ->
       agrees (forall j, (j < m i)%nat -> P i j) (nth i vs (Each nil))) ->
    agrees (forall i j, (i < n)%nat -> (j < m i)%nat -> P i j) (Each vs).

(** ** Numbers *)

Lemma Rmax_abs a b : Rmax a b = (a + b + Rabs (a - b)) / 2.
Proof. unfold Rmax, Rabs. destruct (Rle_dec a b), (Rcase_abs (a - b)); lra. Qed.

Lemma Rmin_abs a b : Rmin a b = (a + b - Rabs (a - b)) / 2.
Proof. unfold Rmin, Rabs. destruct (Rle_dec a b), (Rcase_abs (a - b)); lra. Qed.

Lemma mean_of_different a b : a <> b -> LogMean.logmean a b = (a - b) / (ln a - ln b).
Proof.
  intros H. unfold LogMean.logmean. destruct (Req_EM_T a b); [contradiction|reflexivity].
Qed.

Lemma mean_of_same a : LogMean.logmean a a = a.
Proof. unfold LogMean.logmean. destruct (Req_EM_T a a); [reflexivity|contradiction]. Qed.

(** Everything is computed but real numbers. *)
Ltac computed :=
  lazy -[Rplus Rmult Ropp Rinv Rdiv Rminus exp ln sqrt Rabs Rmax Rmin IZR Rle Rlt not
         LogMean.logmean].

Ltac enclosed :=
  lazymatch goal with
  | |- (_ < _)%R => apply Rminus_lt
  | |- (Rabs _ <= / _)%R => idtac
  | |- (_ <= _)%R => apply Rminus_le
  end;
  first [interval | interval with (i_prec 100)].

(** A term of rational operations on numbers that have names. *)
Ltac rational t :=
  lazymatch t with
  | context [exp _] => fail
  | context [ln _] => fail
  | context [sqrt _] => fail
  | context [Rmax _ _] => fail
  | context [Rmin _ _] => fail
  | context [LogMean.logmean _ _] => fail
  | _ => idtac
  end.

(** A name for a number, of which an enclosure is then all that is known. *)
Ltac named x :=
  let H := fresh "H" in
  let e := fresh "e" in
  interval_intro x with (i_prec 90) as H; revert H; generalize x; intros e H.

(** Names for all but rational operations, from the inside: terms that stand
    in many places are enclosed once. *)
Ltac opened :=
  repeat match goal with
  | |- context [exp ?t] => rational t; named (exp t)
  | |- context [sqrt ?t] => rational t; named (sqrt t)
  | |- context [ln ?t] => rational t; named (ln t)
  | |- context [Rmax ?a ?b] =>
      rational a; rational b;
      first [ rewrite (Rmax_left a b) by enclosed
            | rewrite (Rmax_right a b) by enclosed
            | rewrite (Rmax_abs a b) ]
  | |- context [Rmin ?a ?b] =>
      rational a; rational b;
      first [ rewrite (Rmin_left a b) by enclosed
            | rewrite (Rmin_right a b) by enclosed
            | rewrite (Rmin_abs a b) ]
  | |- context [LogMean.logmean ?a ?a] => rewrite (mean_of_same a)
  | |- context [LogMean.logmean ?a ?b] =>
      rational a; rational b;
      rewrite (mean_of_different a b)
        by (first [apply Rlt_not_eq; enclosed | apply not_eq_sym, Rlt_not_eq; enclosed]);
      named ((a - b) / (ln a - ln b))
  end.

Ltac absolute :=
  repeat match goal with
  | |- context [Rabs ?x] => unfold Rabs at 1; destruct (Rcase_abs x)
  end.

(** An inequality or equation between closed terms. *)
Ltac exactly := first [lra | solve [absolute; lra] | solve [field; lra]].
Ltac calculated := computed; first [exactly | opened; enclosed].

(** What a number is. *)
Ltac valued :=
  lazymatch goal with
  | |- has (Is _) _ => computed; exactly
  | |- has (Near _) _ => computed; opened; enclosed
  end.

(** [i], known to be below a number, is each number below it. *)
Ltac cases i H :=
  destruct i as [|i]; [clear H | first [exfalso; lia | cases i H]].

Ltac bounded := match goal with H : (?i < _)%nat |- _ => is_var i; vm_compute in H; cases i H end.

Ltac measured :=
  cbv beta;
  lazymatch goal with
  | |- agrees (_ /\ _) (Both _ _) => apply agrees_and; measured
  | |- agrees (_ <= _) (Sides _ _) => apply sides_le; valued
  | |- agrees (_ = _) (Sides _ _) => apply sides_eq; valued
  | |- agrees (_ <= _) (Margin _) => apply margin_le; valued
  | |- agrees (_ < _) (Margin _) => apply margin_lt; valued
  | |- agrees (forall i j : nat, _ -> _ -> _) (Each _) =>
      apply agrees_pairs; [reflexivity | intros ? ?; bounded; cbn [nth]; measured]
  | |- agrees (forall i : nat, _ -> _) (Each _) =>
      apply agrees_each; [reflexivity | intros ? ?; bounded; cbn [nth]; measured]
  | |- agrees (_ -> _) _ => apply agrees_if; [calculated | measured]
  end.

(** ** Truths *)

Ltac holds :=
  repeat first [progress intro; try bounded | split];
  first [ match goal with
          | |- (_ < _)%nat => vm_compute; lia
          | |- (_ <= _)%nat => vm_compute; lia
          end
        | lia | discriminate | congruence | calculated
        | match goal with i : nat |- _ => destruct i as [|[|[|i]]]; calculated end
        | exfalso; match goal with H : _ |- _ => lazy in H; first [discriminate | lra | lia] end ].

(** The hypothesis [H] cannot be. *)
Ltac refuted H :=
  let T := type of H in
  lazymatch T with
  | forall i : nat, _ =>
      first [ let h := fresh in assert (h := H 0%nat); refuted h
            | let h := fresh in assert (h := H 1%nat); refuted h
            | let h := fresh in assert (h := H 2%nat); refuted h ]
  | ?A -> ?B =>
      let h := fresh in assert (h : A) by (solve [vm_compute; lia | calculated]);
      specialize (H h); refuted H
  | ~ ?A => apply H; solve [reflexivity | vm_compute; lia | calculated]
  | (_ <= _)%R => revert H; apply Rlt_not_le; calculated
  | (_ < _)%R => revert H; apply Rle_not_lt; calculated
  | @eq R ?a ?b =>
      revert H; first [apply Rlt_not_eq; calculated | apply not_eq_sym, Rlt_not_eq; calculated]
  | (_ < _)%nat => vm_compute in H; lia
  | (_ <= _)%nat => vm_compute in H; lia
  | _ /\ _ =>
      let a := fresh in let b := fresh in destruct H as [a b]; first [refuted a | refuted b]
  | _ => destruct H; match goal with h : _ |- False => refuted h end
  end.
