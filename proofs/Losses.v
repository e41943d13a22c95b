(* Theorem 5 and the table of losses of section 2.2.

   A loss is infinite where [finite] does not hold; nothing is to be shown there. ln is 0 at 0 in this library, so that
   0 ln 0 = 0 as in the specification. *)
From Certificates Require Import Sums.

Lemma exp_line x : 1 + x <= exp x.
Proof. destruct (Req_dec x 0) as [->|h]; [rewrite exp_0; lra|]. apply Rlt_le, exp_ineq1; assumption. Qed.

Lemma ln_line x : 0 < x -> ln x <= x - 1.
Proof. intros h. pose proof (exp_line (ln x)). rewrite exp_ln in *; lra. Qed.

Definition H (a : R) : R := - a * ln a - (1 - a) * ln (1 - a).

(* h(r) of Itakura and Saito, and its r. *)
Definition ratio (mu s : R) : R := if Rlt_dec 0 mu then Rmin 1 (s / mu) else Rmax 1 (s / mu).
Definition h (r : R) : R := r - ln r - 1.

(* The table, row by row. *)
Inductive loss := hinge | absolute | squared | logistic | hard | itakura_saito | negative_log | negative_root.

Definition l (k : loss) (mu s : R) : R :=
  match k with
  | hinge => Rmax 0 (mu - s)
  | absolute => Rabs (mu - s)
  | squared => (mu - s) * (mu - s)
  | logistic => ln (1 + exp (- s))
  | hard => 0
  | itakura_saito => h (ratio mu s)
  | negative_log => - ln s
  | negative_root => - sqrt s
  end.

Definition finite (k : loss) (mu s : R) : Prop :=
  match k with
  | hard => mu <= s
  | itakura_saito => mu <> 0 /\ 0 < ratio mu s
  | negative_log => 0 < s
  | negative_root => 0 <= s
  | _ => True
  end.

Definition box (k : loss) (mu a : R) : Prop :=
  match k with
  | hinge | logistic => 0 <= a <= 1
  | absolute => -1 <= a <= 1
  | squared => True
  | hard => 0 <= a
  | itakura_saito => 0 <= a /\ 0 < 1 + mu * a
  | negative_log | negative_root => 0 < a
  end.

Definition v (k : loss) (mu a : R) : R :=
  match k with
  | hinge | absolute | hard => mu * a
  | squared => mu * a - a * a / 4
  | logistic => H a
  | itakura_saito => ln (1 + mu * a)
  | negative_log => 1 + ln a
  | negative_root => -1 / (4 * a)
  end.

(* Theorem 5, hinge. *)
Theorem hinge_slope mu s a : box hinge mu a -> v hinge mu a - a * s <= l hinge mu s.
Proof. simpl; intros. unfold Rmax; destruct (Rle_dec 0 (mu - s)); nra. Qed.

(* Theorem 5, absolute. *)
Theorem absolute_slope mu s a : box absolute mu a -> v absolute mu a - a * s <= l absolute mu s.
Proof. simpl; intros. unfold Rabs; destruct (Rcase_abs (mu - s)); nra. Qed.

(* Theorem 5, squared. *)
Theorem squared_slope mu s a : box squared mu a -> v squared mu a - a * s <= l squared mu s.
Proof. simpl; intros. pose proof (Rle_0_sqr (mu - s - a / 2)) as q. unfold Rsqr in q. lra. Qed.

(* Theorem 5, hard. *)
Theorem hard_slope mu s a : finite hard mu s -> box hard mu a -> v hard mu a - a * s <= l hard mu s.
Proof. simpl; intros. nra. Qed.

Lemma H_ends : H 0 = 0 /\ H 1 = 0.
Proof. unfold H. replace (1 - 1) with 0 by ring. replace (1 - 0) with 1 by ring. rewrite ln_1. split; ring. Qed.

(* Theorem 5, logistic: ln x <= x - 1 at the two probabilities over a and 1 - a. *)
Theorem logistic_slope mu s a : box logistic mu a -> v logistic mu a - a * s <= l logistic mu s.
Proof.
  simpl; intros b. pose proof (exp_pos (- s)) as pos. set (e := exp (- s)) in *.
  assert (hs : s = - ln e) by (unfold e; rewrite ln_exp; lra).
  destruct (Req_dec a 0) as [->|n0].
  { rewrite (proj1 H_ends). assert (0 < ln (1 + e)); [|lra]. rewrite <- ln_1. apply ln_increasing; lra. }
  destruct (Req_dec a 1) as [->|n1].
  { rewrite (proj2 H_ends), hs. assert (ln e < ln (1 + e)) by (apply ln_increasing; lra). lra. }
  assert (0 < a < 1) by lra. unfold H.
  assert (0 < a * (1 + e)) by nra. assert (0 < (1 - a) * (1 + e)) by nra.
  assert (p : 0 < e / (a * (1 + e))) by (apply Rdiv_lt_0_compat; lra).
  assert (q : 0 < 1 / ((1 - a) * (1 + e))) by (apply Rdiv_lt_0_compat; lra).
  pose proof (ln_line _ p) as A. pose proof (ln_line _ q) as B. unfold Rdiv in A at 1. unfold Rdiv in B at 1.
  rewrite ln_mult, ln_Rinv, ln_mult in A; try (apply Rinv_0_lt_compat); try lra.
  rewrite ln_mult, ln_Rinv, ln_mult, ln_1 in B; try (apply Rinv_0_lt_compat); try lra.
  assert (one : a * (e / (a * (1 + e)) - 1) + (1 - a) * (1 / ((1 - a) * (1 + e)) - 1) = 0) by (field; lra).
  rewrite hs. nra.
Qed.

(* Theorem 5, Itakura-Saito. *)
Theorem itakura_saito_slope mu s a :
  finite itakura_saito mu s -> box itakura_saito mu a -> v itakura_saito mu a - a * s <= l itakura_saito mu s.
Proof.
  simpl. unfold h. intros [nz pos] [ha hy]. set (r := ratio mu s) in *.
  assert (near : mu * a * r <= a * s).
  { assert (e : a * s = mu * a * (s / mu)) by (field; assumption). rewrite e. unfold r, ratio.
    destruct (Rlt_dec 0 mu).
    - apply Rmult_le_compat_l; [nra|apply Rmin_r].
    - assert (mu * a <= 0) by nra. pose proof (Rmax_r 1 (s / mu)). nra. }
  assert (0 < (1 + mu * a) * r) by (apply Rmult_lt_0_compat; assumption).
  pose proof (ln_line ((1 + mu * a) * r) ltac:(assumption)) as g. rewrite ln_mult in g by assumption. lra.
Qed.

(* Theorem 5, negative log. *)
Theorem negative_log_slope mu s a :
  finite negative_log mu s -> box negative_log mu a -> v negative_log mu a - a * s <= l negative_log mu s.
Proof.
  simpl; intros. assert (0 < a * s) by (apply Rmult_lt_0_compat; assumption).
  pose proof (ln_line (a * s) ltac:(assumption)) as g. rewrite ln_mult in g by assumption. lra.
Qed.

(* Theorem 5, negative root. *)
Theorem negative_root_slope mu s a :
  finite negative_root mu s -> box negative_root mu a -> v negative_root mu a - a * s <= l negative_root mu s.
Proof.
  simpl; intros hs ha. pose proof (sqrt_sqrt s hs) as square. set (r := sqrt s) in *.
  assert (e : 4 * a * (a * s - r - -1 / (4 * a)) = (2 * a * r - 1) * (2 * a * r - 1)) by (rewrite <- square; field; lra).
  pose proof (Rle_0_sqr (2 * a * r - 1)) as q. unfold Rsqr in q. rewrite <- e in q.
  assert (0 <= a * s - r - -1 / (4 * a)); [|lra]. apply Rmult_le_reg_l with (4 * a); lra.
Qed.

(* Theorem 5: every row. *)
Theorem slope k mu s a : finite k mu s -> box k mu a -> v k mu a - a * s <= l k mu s.
Proof.
  destruct k; intros; [apply hinge_slope|apply absolute_slope|apply squared_slope|apply logistic_slope|apply hard_slope
    |apply itakura_saito_slope|apply negative_log_slope|apply negative_root_slope]; assumption.
Qed.

(* No loss is negative but the last two. *)
Theorem loss_nonneg k mu s : k <> negative_log -> k <> negative_root -> finite k mu s -> 0 <= l k mu s.
Proof.
  destruct k; simpl; intros; try congruence; try lra.
  - apply Rmax_l.
  - apply Rabs_pos.
  - apply Rle_0_sqr.
  - pose proof (exp_pos (- s)). rewrite <- ln_1. apply Rlt_le, ln_increasing; lra.
  - unfold h. pose proof (ln_line (ratio mu s)) as g. intuition lra.
Qed.

(* Distances are linear in M: d_ab = <e_ab, M>, with (a - b)(a - b)' in all cones but the last two. On the diagonal
   metrics are matrices of one column. *)
Definition e (a b : vector) : matrix := fun i j => (a i - b i) * (a j - b j).
Definition e_diagonal (a b : vector) : matrix := fun i _ => (a i - b i) * (a i - b i).
Definition e_all (q x : vector) : matrix := fun i j => - (q i * x j).
Definition e_symmetric (q x : vector) : matrix := fun i j => - ((q i * x j + q j * x i) / 2).

Theorem distance d a b M : quad d M (fun i => a i - b i) = ip d d (e a b) M.
Proof. rewrite quad_ip. apply ip_comm. Qed.

Theorem distance_diagonal d a b (w : vector) :
  quad d (fun i j => if Nat.eqb i j then w i else 0) (fun i => a i - b i) = ip d 1 (e_diagonal a b) (fun i _ => w i).
Proof.
  apply sum_ext; intros i hi. rewrite (sum_only d _ i hi).
  - rewrite Nat.eqb_refl. unfold e_diagonal. simpl. ring.
  - intros j hj ne. destruct (Nat.eqb_spec i j); [congruence|ring].
Qed.

Theorem similarity d k q x W :
  - sum d (fun i => sum k (fun j => q i * W i j * x j)) = ip d k (e_all q x) W.
Proof.
  replace (- _) with (-1 * sum d (fun i => sum k (fun j => q i * W i j * x j))) by ring.
  unfold ip. rewrite <- sum_scale. apply sum_ext; intros i hi. rewrite <- sum_scale. apply sum_ext; intros j hj.
  unfold e_all. ring.
Qed.

Theorem similarity_symmetric d q x W : sym d W ->
  - sum d (fun i => sum d (fun j => q i * W i j * x j)) = ip d d (e_symmetric q x) W.
Proof.
  intros hs. rewrite similarity.
  assert (swap : ip d d (e_all q x) W = ip d d (fun i j => - (q j * x i)) W).
  { unfold ip, e_all. rewrite sum_swap. apply sum_ext; intros i hi. apply sum_ext; intros j hj. rewrite (hs j i); auto. }
  transitivity (/ 2 * ip d d (e_all q x) W + / 2 * ip d d (fun i j => - (q j * x i)) W); [rewrite <- swap; field|].
  rewrite <- ip_lin. apply ip_ext; intros; auto. unfold e_all, e_symmetric. field.
Qed.

(* Theorem 5 for a risk of comparisons: T of them, each with its loss, mu, weight and slope, and s_t(M) = <E_t, M>. *)
Theorem comparisons d k T (loss_of : nat -> loss) (mu weight a : nat -> R) (E : nat -> matrix) M :
  (forall t, (t < T)%nat -> 0 <= weight t /\ box (loss_of t) (mu t) (a t) /\ finite (loss_of t) (mu t) (ip d k (E t) M)) ->
  let S := fun i j => sum T (fun t => weight t * a t * E t i j) in
  sum T (fun t => weight t * v (loss_of t) (mu t) (a t)) - ip d k S M <=
  sum T (fun t => weight t * l (loss_of t) (mu t) (ip d k (E t) M)).
Proof.
  intros hyp S. unfold S. rewrite (ip_sum d k T (fun t => weight t * a t)), <- sum_minus. apply sum_le; intros t ht.
  destruct (hyp t ht) as [hw [hb hf]]. pose proof (slope _ _ _ _ hf hb). nra.
Qed.

(* Theorem 5 for logistic losses over the lists of a query: distances x of p near and z of f far items, slopes a_ij, and
   r and c their sums over j and over i. *)
Theorem logistic_lists p f (x z : vector) (a : matrix) :
  (forall i j, (i < p)%nat -> (j < f)%nat -> 0 <= a i j <= 1) ->
  let r := fun i => sum f (fun j => a i j) in
  let c := fun j => sum p (fun i => a i j) in
  sum p (fun i => sum f (fun j => H (a i j))) - (sum f (fun j => c j * z j) - sum p (fun i => r i * x i)) <=
  sum p (fun i => sum f (fun j => ln (1 + exp (- (z j - x i))))).
Proof.
  intros hb r c.
  assert (far : sum f (fun j => c j * z j) = sum p (fun i => sum f (fun j => a i j * z j))).
  { rewrite sum_swap. apply sum_ext; intros j hj. unfold c. rewrite <- sum_scale_r. apply sum_ext; intros; ring. }
  assert (near : sum p (fun i => r i * x i) = sum p (fun i => sum f (fun j => a i j * x i))).
  { apply sum_ext; intros i hi. unfold r. rewrite <- sum_scale_r. apply sum_ext; intros; ring. }
  rewrite far, near, <- sum_minus, <- sum_minus. apply sum_le; intros i hi.
  rewrite <- sum_minus, <- sum_minus. apply sum_le; intros j hj.
  pose proof (logistic_slope 0 (z j - x i) (a i j) (hb i j hi hj)) as g. simpl in g. lra.
Qed.
