(* Theorem 9: choices, the cross-entropy of a softmax. ln is 0 at 0 in this library, so that 0 ln 0 = 0. *)
From Certificates Require Import Sums Losses.

Definition probabilities (n : nat) (p : vector) : Prop := (forall x, (x < n)%nat -> 0 <= p x) /\ sum n p = 1.

(* Theorem 9. *)
Theorem choices n (p s : vector) : probabilities n p ->
  sum n (fun x => p x * s x) - sum n (fun x => p x * ln (p x)) <= ln (sum n (fun x => exp (s x))).
Proof.
  intros [pos one]. set (Z := sum n (fun x => exp (s x))).
  assert (hn : (0 < n)%nat) by (destruct n; [simpl in one; lra|lia]).
  assert (hZ : 0 < Z).
  { apply Rlt_le_trans with (exp (s O)); [apply exp_pos|].
    apply (sum_term n (fun x => exp (s x))); [assumption|]. intros; apply Rlt_le, exp_pos. }
  assert (terms : sum n (fun x => p x * (s x - ln (p x) - ln Z)) <= sum n (fun x => / Z * exp (s x) - p x)).
  { apply sum_le; intros x hx. pose proof (Rinv_0_lt_compat Z hZ) as iZ. pose proof (exp_pos (s x)) as ex.
    destruct (Req_dec (p x) 0) as [->|nz]; [pose proof (Rmult_lt_0_compat _ _ iZ ex); lra|].
    assert (px : 0 < p x) by (specialize (pos x hx); lra).
    assert (ipx : 0 < / p x) by (apply Rinv_0_lt_compat; assumption).
    pose proof (ln_line (exp (s x) * (/ p x * / Z))) as g.
    rewrite ln_mult, ln_exp, ln_mult, !ln_Rinv in g; auto; [|apply Rmult_lt_0_compat; assumption].
    specialize (g ltac:(apply Rmult_lt_0_compat; [assumption|apply Rmult_lt_0_compat; assumption])).
    apply (Rmult_le_compat_l (p x)) in g; [|lra].
    replace (p x * (exp (s x) * (/ p x * / Z) - 1)) with (/ Z * exp (s x) - p x) in g by (field; lra). lra. }
  rewrite (sum_minus n (fun x => / Z * exp (s x))), sum_scale, one in terms. fold Z in terms.
  replace (/ Z * Z - 1) with 0 in terms by (field; lra).
  rewrite (sum_ext n _ (fun x => p x * s x - p x * ln (p x) - ln Z * p x)) in terms by (intros; ring).
  rewrite !sum_minus, sum_scale, one in terms. lra.
Qed.

(* One query, or one trial of listed choices: n candidates of distances d, of which the first m are the chosen. *)
Definition part (n m : nat) (tau : R) (d : vector) : R :=
  ln (sum n (fun x => exp (- d x / tau))) + / INR m * sum m (fun i => d i / tau).

(* Theorem 9: the logarithm is at least s_i for each of the chosen, and so at least their mean. *)
Theorem part_nonneg n m tau d : (0 < m <= n)%nat -> 0 <= part n m tau d.
Proof.
  intros hm. unfold part. set (L := ln (sum n (fun x => exp (- d x / tau)))).
  assert (least : forall i, (i < m)%nat -> - d i / tau <= L).
  { intros i hi. rewrite <- (ln_exp (- d i / tau)). unfold L.
    assert (le : exp (- d i / tau) <= sum n (fun x => exp (- d x / tau))).
    { apply (sum_term n (fun x => exp (- d x / tau))); [lia|]. intros; apply Rlt_le, exp_pos. }
    destruct le as [lt|eq]; [apply Rlt_le, ln_increasing; [apply exp_pos|assumption]|rewrite eq; lra]. }
  assert (0 < INR m) by (apply lt_0_INR; lia).
  assert (mean : sum m (fun i => - d i / tau) <= INR m * L) by (rewrite <- sum_const; apply sum_le; assumption).
  rewrite (sum_ext m _ (fun i => -1 * (d i / tau))) in mean by (intros; unfold Rdiv; ring). rewrite sum_scale in mean.
  apply Rmult_le_reg_l with (INR m); [assumption|].
  rewrite Rmult_plus_distr_l, <- Rmult_assoc, Rinv_r by lra. lra.
Qed.

(* Theorem 9 for a risk: T parts of weights u = c c_q, probabilities a, and d_tx = <E_tx, M>. *)
Theorem choices_risk d k T (n m : nat -> nat) tau (u : nat -> R) (a : nat -> vector) (E : nat -> nat -> matrix) M :
  (forall t, (t < T)%nat -> 0 <= u t /\ probabilities (n t) (a t)) ->
  let v := sum T (fun t => u t * sum (n t) (fun x => - (a t x * ln (a t x)))) in
  let S := fun i j => sum T (fun t => u t / tau *
    (sum (n t) (fun x => a t x * E t x i j) - / INR (m t) * sum (m t) (fun x => E t x i j))) in
  v - ip d k S M <= sum T (fun t => u t * part (n t) (m t) tau (fun x => ip d k (E t x) M)).
Proof.
  intros hyp v S. unfold S.
  rewrite (ip_sum d k T (fun t => u t / tau) (fun t i j =>
    sum (n t) (fun x => a t x * E t x i j) - / INR (m t) * sum (m t) (fun x => E t x i j))).
  unfold v. rewrite <- sum_minus. apply sum_le; intros t ht. destruct (hyp t ht) as [hu hp].
  set (D := fun x => ip d k (E t x) M).
  assert (lin : ip d k (fun i j => sum (n t) (fun x => a t x * E t x i j) - / INR (m t) * sum (m t) (fun x => E t x i j)) M
    = sum (n t) (fun x => a t x * D x) - / INR (m t) * sum (m t) D).
  { rewrite (ip_ext d k _ (fun i j => 1 * sum (n t) (fun x => a t x * E t x i j)
      + - / INR (m t) * sum (m t) (fun x => 1 * E t x i j)) M M); auto.
    - rewrite ip_lin, ip_sum, (ip_sum d k (m t) (fun _ => 1)). unfold D.
      rewrite (sum_ext (m t) (fun x => 1 * _) (fun x => ip d k (E t x) M)) by (intros; ring). ring.
    - intros. rewrite sum_scale. ring. }
  rewrite lin. unfold part. pose proof (choices (n t) (a t) (fun x => - D x / tau) hp) as g. cbv beta in g.
  rewrite (sum_ext (n t) (fun x => a t x * (- D x / tau)) (fun x => - / tau * (a t x * D x))) in g
    by (intros; unfold Rdiv; ring).
  rewrite (sum_ext (n t) (fun x => - (a t x * ln (a t x))) (fun x => -1 * (a t x * ln (a t x)))) by (intros; ring).
  rewrite (sum_ext (m t) (fun i => D i / tau) (fun i => / tau * D i)) by (intros; unfold Rdiv; ring).
  rewrite sum_scale in g. rewrite !sum_scale. fold D.
  change (fun x => exp (- ip d k (E t x) M / tau)) with (fun x => exp (- D x / tau)).
  set (L := ln _) in *. unfold Rdiv. apply (Rmult_le_compat_l (u t)) in g; [|assumption]. lra.
Qed.
