(* Theorem 7 and the table of regularizers of sections 2.3 and 4, the upper bound of trace norms, and what theorem 10 says
   of singular values. Every row reads <P, M> - e <= Omega(M). On the diagonal, M is a matrix of one column (k = 1).

   Eigenvalues x_i and singular values sigma_i are those of any sum of x_i u_i u_i' or of sigma_i u_i v_i' with orthonormal
   vectors; Spectra.v proves that there is one. *)
From Certificates Require Import Sums Spectra Determinants Losses Shares.

Definition sizes (r : nat) (x : vector) : R := sum r (fun t => Rabs (x t)).

(* Theorem 7, zero. *)
Theorem zero d k M : ip d k (fun _ _ => 0) M - 0 <= 0.
Proof. unfold ip. rewrite sum_zero; [lra|]. intros. apply sum_zero; intros; ring. Qed.

(* Theorem 7, trace. *)
Theorem trace d lambda M : ip d d (scaled_identity lambda) M - 0 <= lambda * tr d M.
Proof. rewrite ip_identity. lra. Qed.

(* Theorem 7, trace on the diagonal: lambda times the sum of the weights. *)
Theorem trace_diagonal d lambda w : ip d 1 (fun _ _ => lambda) w - 0 <= lambda * sum d (fun i => w i O).
Proof. unfold ip. simpl. rewrite <- sum_scale. apply Req_le. rewrite Rminus_0_r. apply sum_ext; intros; ring. Qed.

Lemma prior d k P M M0 : ip d k P M - ip d k P M0 = ip d k P (sub M M0).
Proof. rewrite !(ip_comm d k P), ip_sub. reflexivity. Qed.

(* Theorem 7, frobenius. *)
Theorem frobenius d k lambda P M0 M : norm d k P <= lambda -> ip d k P M - ip d k P M0 <= lambda * norm d k (sub M M0).
Proof.
  intros h. rewrite prior. refine (Rle_trans _ _ _ (cauchy_norm _ _ _ _) _).
  apply Rmult_le_compat_r; [apply sqrt_pos|assumption].
Qed.

(* Theorem 7, squared frobenius. *)
Theorem squared_frobenius d k lambda P M0 M : 0 < lambda ->
  ip d k P M - (ip d k P P / (2 * lambda) + ip d k P M0) <= lambda / 2 * ip d k (sub M M0) (sub M M0).
Proof.
  intros h. set (X := sub M M0). pose proof (prior d k P M M0) as e. fold X in e.
  pose proof (ip_self d k (fun i j => lambda * X i j + -1 * P i j)) as q.
  rewrite ip_lin, (ip_comm d k X), (ip_comm d k P), !ip_lin, (ip_comm d k X P) in q.
  replace (lambda / 2 * ip d k X X) with (lambda * lambda * ip d k X X * / (2 * lambda)) by (field; lra).
  replace (ip d k P M - _) with ((2 * lambda * ip d k P X - ip d k P P) * / (2 * lambda)).
  - apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|lra].
  - rewrite <- e. field. lra.
Qed.

(* Theorem 7, entrywise: [counts i j] says whether the entry does, always or off the diagonal alone. *)
Theorem entrywise d k lambda (counts : nat -> nat -> bool) P M0 M :
  (forall i j, (i < d)%nat -> (j < k)%nat -> if counts i j then Rabs (P i j) <= lambda else P i j = 0) ->
  ip d k P M - ip d k P M0 <=
  lambda * sum d (fun i => sum k (fun j => if counts i j then Rabs (M i j - M0 i j) else 0)).
Proof.
  intros h. rewrite prior, <- sum_scale. apply sum_le; intros i hi. rewrite <- sum_scale. apply sum_le; intros j hj.
  specialize (h i j hi hj). unfold sub. destruct (counts i j); [|rewrite h; lra].
  apply Rle_trans with (Rabs (P i j) * Rabs (M i j - M0 i j)); [rewrite <- Rabs_mult; apply Rle_abs|].
  apply Rmult_le_compat_r; [apply Rabs_pos|assumption].
Qed.

(* Theorem 7, trace norm on the diagonal. *)
Theorem trace_norm_diagonal d lambda P M0 M : (forall i, (i < d)%nat -> Rabs (P i O) <= lambda) ->
  ip d 1 P M - ip d 1 P M0 <= lambda * sum d (fun i => Rabs (M i O - M0 i O)).
Proof.
  intros h. refine (Rle_trans _ _ _ (entrywise d 1 lambda (fun _ _ => true) P M0 M _) _).
  - intros i j hi hj. assert (j = O) by lia; subst. auto.
  - simpl. apply Req_le. f_equal. apply sum_ext; intros; ring.
Qed.

Lemma ip_spectral n r X x u Y : spectral n r X x u -> ip n n Y X = sum r (fun t => x t * quad n Y (u t)).
Proof.
  intros [_ h]. rewrite ip_comm, (ip_ext n n X (fun i j => sum r (fun t => x t * (u t i * u t j))) Y Y); auto.
  rewrite (ip_sum n n r x (fun t i j => u t i * u t j)). apply sum_ext; intros. rewrite quad_ip, (ip_comm n n Y). reflexivity.
Qed.

(* Theorem 7, trace norm: x are the eigenvalues of M - M0. *)
Theorem trace_norm n r lambda P M0 M x u : spectral n r (sub M M0) x u ->
  psd n (sub (scaled_identity lambda) P) -> psd n (fun i j => scaled_identity lambda i j + P i j) ->
  ip n n P M - ip n n P M0 <= lambda * sizes r x.
Proof.
  intros hx below above. rewrite prior, (ip_spectral n r _ x u) by assumption. unfold sizes. rewrite <- sum_scale.
  apply sum_le; intros t ht. specialize (below (u t)). specialize (above (u t)).
  rewrite quad_sub, quad_identity in below.
  replace (quad n (fun i j => scaled_identity lambda i j + P i j) (u t))
    with (quad n (scaled_identity lambda) (u t) + quad n P (u t)) in above.
  2:{ rewrite !quad_ip. rewrite <- (Rmult_1_l (ip n n (scaled_identity _) _)), <- (Rmult_1_l (ip n n P _)), <- ip_lin.
      apply ip_ext; intros; ring. }
  rewrite quad_identity in above. destruct hx as [hu _]. rewrite hu, Nat.eqb_refl in above, below by assumption.
  unfold Rabs; destruct (Rcase_abs (x t)); nra.
Qed.

(* The upper bound of the trace norm, for N and N - X positive semidefinite. *)
Theorem trace_norm_above n r X N x u : spectral n r X x u -> sym n N -> sym n X -> psd n N -> psd n (sub N X) ->
  sizes r x <= 2 * tr n N - tr n X.
Proof.
  intros [hu hX] sN sX pN pD.
  assert (value : forall t, (t < r)%nat -> x t = quad n X (u t)).
  { intros t ht. rewrite quad_ip, ip_comm.
    rewrite (ip_spectral n r X x u) by (split; assumption). rewrite (sum_only r _ t ht).
    - rewrite quad_outer, hu, Nat.eqb_refl by assumption. ring.
    - intros s hs ne. rewrite quad_outer, hu by assumption. destruct (Nat.eqb_spec t s); [congruence|ring]. }
  pose proof (psd_trace n r u N hu sN pN) as tN.
  assert (tD : sum r (fun t => quad n (sub N X) (u t)) <= tr n (sub N X)).
  { apply psd_trace; auto. intros i j hi hj. unfold sub. rewrite (sN i j), (sX i j); auto. }
  replace (tr n (sub N X)) with (tr n N - tr n X) in tD by (unfold tr, sub; rewrite sum_minus; reflexivity).
  apply Rle_trans with (sum r (fun t => quad n N (u t) + quad n (sub N X) (u t))); [|rewrite sum_plus; lra].
  apply sum_le; intros t ht. pose proof (pN (u t)). pose proof (pD (u t)) as p. rewrite quad_sub in *.
  rewrite (value t ht). unfold Rabs; destruct (Rcase_abs _); lra.
Qed.

(* Theorem 7, log det. *)
Definition root (n : nat) (T : matrix) : Prop := upper n T /\ forall i, (i < n)%nat -> 0 < T i i.

Lemma product_pos n f : (forall i, (i < n)%nat -> 0 < f i) -> 0 < product n f.
Proof. induction n; intros h; simpl; [lra|]. apply Rmult_lt_0_compat; auto. Qed.

Lemma product_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> product n f = product n g.
Proof. induction n; intros h; simpl; [reflexivity|]. rewrite IHn, (h n); auto. Qed.

Lemma ln_product n f : (forall i, (i < n)%nat -> 0 < f i) -> ln (product n f) = sum n (fun i => ln (f i)).
Proof.
  induction n; intros h; simpl; [apply ln_1|]. rewrite ln_mult, IHn; auto. apply product_pos; auto.
Qed.

(* M = G G' with a triangular G, and <Q, M> is the sum of the squares of T G, of which the diagonal is enough. *)
Theorem log_det n lambda T0 T M : 0 <= lambda -> root n T0 -> root n T -> sym n M -> pd n M ->
  let H := mul n (transpose T0) T0 in
  let P := fun i j => lambda * sub H (mul n (transpose T) T) i j in
  ip n n P M - 2 * lambda * sum n (fun i => ln (T0 i i) - ln (T i i)) <=
  lambda * (ip n n H M - ln (det n (mul n H M)) - INR n).
Proof.
  intros hl [u0 p0] [ut pt] hs hd H P.
  destruct (gram n M hs (pd_psd n M hd)) as [f [hf [tri diag]]]. specialize (diag hd).
  set (G := fun i k => f k i). assert (uG : upper n G) by (intros i j hi hij; apply tri; lia).
  assert (key : 2 * sum n (fun i => ln (T i i)) + 2 * sum n (fun i => ln (G i i)) <=
    ip n n (mul n (transpose T) T) M - INR n).
  { rewrite (ip_ext n n _ (mul n (transpose T) T) M (fun i j => sum n (fun k => f k i * f k j))); auto.
    rewrite ip_gram. rewrite <- (Rmult_1_r (INR n)), <- sum_const, <- sum_minus, <- !sum_scale, <- sum_plus.
    apply sum_le; intros k hk.
    change (mul n (transpose T) T) with (fun i j => sum n (fun t => T t i * T t j)). rewrite quad_gram.
    assert (diagonal : dot n (T k) (f k) = T k k * G k k).
    { unfold dot. rewrite (sum_only n _ k hk); [reflexivity|]. intros i hi ne.
      destruct (Nat.lt_ge_cases i k); [rewrite ut by lia; ring|rewrite tri by lia; ring]. }
    pose proof (sum_term n (fun t => dot n (T t) (f k) * dot n (T t) (f k)) k hk) as one. cbv beta in one.
    rewrite diagonal in one. specialize (one ltac:(intros; apply Rle_0_sqr)).
    pose proof (pt k hk) as p1. pose proof (diag k hk : 0 < G k k) as p2.
    assert (p : 0 < T k k * G k k) by (apply Rmult_lt_0_compat; assumption).
    pose proof (ln_line (T k k * G k k * (T k k * G k k)) (Rmult_lt_0_compat _ _ p p)) as g.
    rewrite (ln_mult (T k k * G k k)), (ln_mult (T k k)) in g by assumption. lra. }
  unfold P. rewrite ip_scale, ip_sub.
  pose proof (product_pos n (fun i => T0 i i) p0) as q0. pose proof (product_pos n (fun i => G i i) diag) as qG.
  unfold H at 3. rewrite (det_roots n T0 G M u0 uG hf).
  rewrite !ln_mult by (repeat apply Rmult_lt_0_compat; assumption).
  rewrite (ln_product n (fun i => T0 i i) p0), (ln_product n (fun i => G i i) diag), sum_minus.
  apply (Rmult_le_compat_l lambda) in key; [|assumption]. lra.
Qed.

(* Theorem 7, log det on the diagonal. *)
Definition diagonal (w : vector) : matrix := fun i j => if Nat.eqb i j then w i else 0.

Theorem log_det_diagonal d lambda (T0 T w : vector) : 0 <= lambda ->
  (forall i, (i < d)%nat -> 0 < T0 i /\ 0 < T i /\ 0 < w i) ->
  sum d (fun i => lambda * (T0 i - T i) * w i) - lambda * sum d (fun i => ln (T0 i) - ln (T i)) <=
  lambda * (sum d (fun i => T0 i * w i) - ln (det d (mul d (diagonal T0) (diagonal w))) - INR d).
Proof.
  intros hl h.
  assert (low : forall x, lower d (diagonal x)).
  { intros x i j hj hij. unfold diagonal. destruct (Nat.eqb_spec i j); [lia|reflexivity]. }
  rewrite det_lower_mul, det_lower by apply low. unfold diagonal.
  rewrite (product_ext d _ T0), (product_ext d (fun i => if Nat.eqb i i then w i else 0) w)
    by (intros; rewrite Nat.eqb_refl; reflexivity).
  rewrite ln_mult, !ln_product by (try apply product_pos; intros i hi; destruct (h i hi) as [? [? ?]]; assumption).
  rewrite <- (Rmult_1_r (INR d)), <- sum_const, <- sum_plus, <- !sum_minus, <- !sum_scale, <- sum_minus.
  apply sum_le; intros i hi. destruct (h i hi) as [h0 [ht hw]].
  pose proof (ln_line (T i * w i) (Rmult_lt_0_compat _ _ ht hw)) as g. rewrite ln_mult in g by assumption.
  apply (Rmult_le_compat_l lambda) in g; [|assumption]. lra.
Qed.

(* Theorem 7, budget with a weight. *)
Theorem budget d k kappa b t A M : 0 <= t <= kappa ->
  ip d k (fun i j => t * A i j) M - t * b <= kappa * Rmax 0 (ip d k A M - b).
Proof. intros h. rewrite ip_scale. unfold Rmax; destruct (Rle_dec _ _); nra. Qed.

(* Theorem 7, budget without a weight: Omega is 0 where it is finite. *)
Theorem hard_budget d k b t A M : 0 <= t -> ip d k A M <= b -> ip d k (fun i j => t * A i j) M - t * b <= 0.
Proof. intros h hb. rewrite ip_scale. nra. Qed.

(* Theorem 7, spectral bound: Omega is 0 where U - M is positive semidefinite. P = Y'Y, Y with r rows. *)
Theorem spectral_bound d r Y U M : psd d (sub U M) ->
  let P := mul r (transpose Y) Y in ip d d P M - ip d d P U <= 0.
Proof.
  intros h P. enough (0 <= ip d d (sub U M) P) by (rewrite ip_sub, !(ip_comm d d _ P) in *; lra).
  unfold P, mul, transpose. rewrite ip_gram. apply sum_nonneg; intros. apply h.
Qed.

(* Theorem 7, row norms. *)
Theorem row_norms d lambda Q M : sym d M -> (forall i, (i < d)%nat -> sqrt (dot d (Q i) (Q i)) <= lambda) ->
  ip d d (fun i j => (Q i j + Q j i) / 2) M - 0 <= lambda * sum d (fun i => sqrt (dot d (M i) (M i))).
Proof.
  intros hs h.
  assert (e : ip d d (fun i j => (Q i j + Q j i) / 2) M = ip d d Q M).
  { assert (swap : ip d d (fun i j => Q j i) M = ip d d Q M).
    { unfold ip. rewrite sum_swap. apply sum_ext; intros i hi. apply sum_ext; intros j hj. rewrite (hs j i); auto. }
    transitivity (/ 2 * ip d d Q M + / 2 * ip d d (fun i j => Q j i) M); [|rewrite swap; field].
    rewrite <- ip_lin. apply ip_ext; intros; auto. field. }
  rewrite e, Rminus_0_r, <- sum_scale. apply sum_le; intros i hi. change (dot d (Q i) (M i) <= lambda * sqrt (dot d (M i) (M i))).
  apply Rle_trans with (sqrt (dot d (Q i) (Q i)) * sqrt (dot d (M i) (M i))).
  - apply le_product; try apply sqrt_pos. rewrite !sqrt_sqrt by apply dot_self. apply cauchy_dot.
  - apply Rmult_le_compat_r; [apply sqrt_pos|auto].
Qed.

(* Theorem 7, inverse trace: Omega is lambda times the infimum of tr N over N for which [[M, C'], [C, N]] is positive
   semidefinite, C with r rows. *)
Definition block (d : nat) (M C N : matrix) : matrix := fun i j =>
  if Nat.ltb i d then if Nat.ltb j d then M i j else C (j - d)%nat i
  else if Nat.ltb j d then C (i - d)%nat j else N (i - d)%nat (j - d)%nat.
Definition joined (d : nat) (x y : vector) : vector := fun i => if Nat.ltb i d then x i else y (i - d)%nat.
Definition is_glb (E : R -> Prop) (m : R) : Prop := (forall t, E t -> m <= t) /\ forall b, (forall t, E t -> b <= t) -> b <= m.
Definition traces (d r : nat) (C M : matrix) (t : R) : Prop :=
  exists N, sym r N /\ psd (d + r) (block d M C N) /\ t = tr r N.

Lemma ltb_low d i : (i < d)%nat -> Nat.ltb i d = true.
Proof. apply Nat.ltb_lt. Qed.

Lemma ltb_high d i : Nat.ltb (d + i) d = false.
Proof. apply Nat.ltb_ge. lia. Qed.

Lemma quad_block d r M C N x y : quad (d + r) (block d M C N) (joined d x y) =
  quad d M x + 2 * sum r (fun i => y i * dot d (C i) x) + quad r N y.
Proof.
  assert (minus : forall i, (d + i - d = i)%nat) by (intros; lia).
  transitivity (sum d (fun i => sum d (fun j => x i * M i j * x j) + sum r (fun j => y j * (C j i * x i))) +
    sum r (fun i => y i * dot d (C i) x + sum r (fun j => y i * N i j * y j))).
  - unfold quad. rewrite sum_add. f_equal; apply sum_ext; intros i hi; rewrite sum_add; unfold joined, block.
    + f_equal; apply sum_ext; intros j hj; rewrite ?ltb_high, ?ltb_low, ?minus by assumption; ring.
    + f_equal; [unfold dot; rewrite <- sum_scale|]; apply sum_ext; intros j hj;
        rewrite ?ltb_high, ?ltb_low, ?minus by assumption; ring.
  - rewrite !sum_plus, (sum_swap d r). unfold quad.
    rewrite (sum_ext r (fun j => sum d (fun i => y j * (C j i * x i))) (fun i => y i * dot d (C i) x)); [ring|].
    intros. apply sum_scale.
Qed.

Lemma inverse_trace_at d r Y C N M : psd (d + r) (block d M C N) ->
  2 * ip r d Y C - ip d d (mul r (transpose Y) Y) M <= tr r N.
Proof.
  intros h. rewrite (ip_comm d d). unfold mul, transpose. rewrite ip_gram. unfold ip, tr.
  rewrite <- sum_scale, <- sum_minus. apply sum_le; intros i hi.
  specialize (h (joined d (fun j => -1 * Y i j) (unit_vector i))). rewrite quad_block, quad_unit in h by assumption.
  rewrite (sum_only r _ i hi) in h.
  2:{ intros j hj ne. unfold unit_vector. destruct (Nat.eqb_spec j i); [congruence|ring]. }
  unfold unit_vector in h. rewrite Nat.eqb_refl in h.
  replace (dot d (C i) (fun j => -1 * Y i j)) with (-1 * sum d (fun j => Y i j * C i j)) in h.
  2:{ rewrite <- sum_scale. apply sum_ext; intros; ring. }
  replace (quad d M (fun j => -1 * Y i j)) with (quad d M (Y i)) in h.
  2:{ apply sum_ext; intros a ha. apply sum_ext; intros b hb. ring. }
  lra.
Qed.

Theorem inverse_trace d r lambda Y C M m : 0 <= lambda -> is_glb (traces d r C M) m ->
  let P := fun i j => - lambda * mul r (transpose Y) Y i j in
  ip d d P M - (- 2 * lambda * ip r d Y C) <= lambda * m.
Proof.
  intros hl [_ greatest] P. unfold P. rewrite ip_scale.
  assert (2 * ip r d Y C - ip d d (mul r (transpose Y) Y) M <= m); [|nra].
  apply greatest. intros t [N [_ [h ->]]]. apply inverse_trace_at; assumption.
Qed.

(* Theorem 7, inverse trace: where M has an inverse, Omega is lambda <M^-1, C'C>. *)
Theorem inverse_trace_value d r C M Inv : sym d M -> psd d M ->
  (forall i j, (i < d)%nat -> (j < d)%nat -> mul d M Inv i j = scaled_identity 1 i j) ->
  is_glb (traces d r C M) (ip d d Inv (mul r (transpose C) C)).
Proof.
  intros hs hp inv. set (u := fun g : vector => fun i => dot d (Inv i) g).
  assert (back : forall g i, (i < d)%nat -> dot d (M i) (u g) = g i).
  { intros g i hi. rewrite dot_comm. unfold u.
    transitivity (sum d (fun j => scaled_identity 1 i j * g j)).
    - transitivity (sum d (fun j => mul d M Inv i j * g j)); [|apply sum_ext; intros; rewrite inv by assumption; reflexivity].
      unfold dot, mul. rewrite (sum_ext d _ (fun k => sum d (fun j => M i k * Inv k j * g j))).
      + rewrite sum_swap. apply sum_ext; intros j hj. rewrite sum_scale_r. reflexivity.
      + intros k hk. rewrite <- sum_scale_r. apply sum_ext; intros; ring.
    - unfold scaled_identity. rewrite (sum_only d _ i hi); [rewrite Nat.eqb_refl; ring|].
      intros j hj ne. destruct (Nat.eqb_spec i j); [congruence|ring]. }
  assert (form : forall g k, dot d k (u g) = dot d (u k) g).
  { intros g k. transitivity (dot d (fun i => dot d (M i) (u k)) (u g)).
    - apply sum_ext; intros i hi. rewrite back by assumption. reflexivity.
    - rewrite dot_comm, (symmetric_dot d M (u g) (u k) hs). apply sum_ext; intros i hi. rewrite back by assumption. reflexivity. }
  set (N := fun a b => dot d (C a) (u (C b))).
  assert (value : tr r N = ip d d Inv (mul r (transpose C) C)).
  { unfold mul, transpose. rewrite ip_gram. apply sum_ext; intros a ha. unfold N, u, quad. rewrite quad_dot. reflexivity. }
  split.
  - intros t [N' [_ [h ->]]]. pose proof (inverse_trace_at d r (fun a => u (C a)) C N' M h) as g.
    refine (Rle_trans _ _ _ _ g). rewrite <- value, (ip_comm d d). unfold mul, transpose. rewrite ip_gram.
    unfold ip, tr. rewrite <- sum_scale, <- sum_minus. apply Req_le, sum_ext; intros a ha.
    change (dot d (C a) (u (C a)) = 2 * dot d (u (C a)) (C a) - quad d M (u (C a))).
    unfold quad. rewrite quad_dot.
    replace (dot d (u (C a)) (fun i => dot d (M i) (u (C a)))) with (dot d (u (C a)) (C a)); [rewrite (dot_comm d (C a)); ring|].
    apply sum_ext; intros i hi. rewrite back by assumption. reflexivity.
  - intros b hb. apply hb. exists N. split; [|split; [|symmetry; exact value]].
    + intros a c ha hc. unfold N. rewrite form, dot_comm. reflexivity.
    + intros z. set (y := fun i => z (d + i)%nat). rewrite (quad_ext (d + r) _ z (joined d z y)).
      2:{ intros i hi. unfold joined, y. destruct (Nat.ltb_spec i d); [reflexivity|]. f_equal. lia. }
      rewrite quad_block. set (g := fun j => sum r (fun a => y a * C a j)).
      replace (sum r (fun i => y i * dot d (C i) z)) with (dot d g z) by (unfold g; rewrite dot_sum; reflexivity).
      replace (quad r N y) with (dot d g (u g)).
      2:{ unfold quad. rewrite quad_dot. unfold g at 1. rewrite dot_sum. apply sum_ext; intros a ha. f_equal.
        rewrite (form g (C a)), (dot_comm d _ g). unfold g. rewrite dot_sum, dot_comm. apply sum_ext; intros c hc.
        unfold N. rewrite (form (C c) (C a)), (dot_comm d (C c)). ring. }
      pose proof (hp (fun i => z i + u g i)) as q.
      replace (quad d M (fun i => z i + u g i)) with (quad d M z + 2 * dot d g z + dot d g (u g)) in q; [assumption|].
      transitivity (dot d (fun i => z i + u g i) (fun i => dot d (M i) z + g i)).
      * assert (cross : dot d (u g) (fun i => dot d (M i) z) = dot d g z).
        { rewrite (symmetric_dot d M (u g) z hs), dot_comm. apply sum_ext; intros i hi. rewrite back by assumption. reflexivity. }
        rewrite (dot_plus d _ (fun i => dot d (M i) z) g), !(dot_comm d (fun i => z i + u g i)), !dot_plus.
        rewrite !(dot_comm d (fun i => dot d (M i) z)), cross. unfold quad. rewrite quad_dot. ring.
      * unfold quad. rewrite quad_dot. apply sum_ext; intros i hi. rewrite dot_plus, back by assumption. reflexivity.
Qed.

(* Theorem 7, sum. *)
Theorem sum_of_regularizers d k n (P : nat -> matrix) (e : nat -> R) (Omega : nat -> matrix -> R) M :
  (forall t, (t < n)%nat -> ip d k (P t) M - e t <= Omega t M) ->
  ip d k (fun i j => sum n (fun t => P t i j)) M - sum n e <= sum n (fun t => Omega t M).
Proof.
  intros h. rewrite (ip_ext d k _ (fun i j => sum n (fun t => 1 * P t i j)) M M); auto.
  2:{ intros. apply sum_ext; intros; ring. }
  rewrite (ip_sum d k n (fun _ => 1)), <- sum_minus. apply sum_le; intros t ht. specialize (h t ht). lra.
Qed.

(* Quadratic forms, of diagonal metrics w: <L z, w> less z'Lz/2 and what convexity may lack. *)
Definition apply_to (n : nat) (L : matrix) (z : vector) : vector := fun i => sum n (fun j => L i j * z j).

Lemma quad_bilinear n L x y : sum n (fun i => sum n (fun j => x i * L i j * y j)) = dot n x (apply_to n L y).
Proof. apply sum_ext; intros i hi. unfold apply_to. rewrite <- sum_scale. apply sum_ext; intros; ring. Qed.

Lemma quad_difference n L w z : sym n L ->
  / 2 * quad n L w = dot n (apply_to n L z) w - / 2 * quad n L z + / 2 * quad n L (fun i => w i - z i).
Proof.
  intros hs.
  assert (cross : dot n z (apply_to n L w) = dot n w (apply_to n L z)).
  { rewrite <- !quad_bilinear, sum_swap. apply sum_ext; intros i hi. apply sum_ext; intros j hj. rewrite (hs j i); auto. ring. }
  assert (e : quad n L (fun i => w i - z i) =
    quad n L w - dot n w (apply_to n L z) - dot n z (apply_to n L w) + quad n L z).
  { unfold quad. rewrite <- !quad_bilinear, <- !sum_minus, <- sum_plus. apply sum_ext; intros i hi.
    rewrite <- !sum_minus, <- sum_plus. apply sum_ext; intros; ring. }
  rewrite e, cross, (dot_comm n (apply_to n L z)). field.
Qed.

(* Theorem 7, quadratic form, gram of A: L = (A'A) o (A'A), A with m rows. *)
Theorem gram_form n m (A : matrix) (w z : vector) :
  let L := fun i j => let g := sum m (fun a => A a i * A a j) in g * g in
  dot n (apply_to n L z) w - / 2 * quad n L z <= / 2 * quad n L w.
Proof.
  intros L.
  assert (hs : sym n L).
  { intros i j hi hj. unfold L. rewrite (sum_ext m (fun a => A a i * A a j) (fun a => A a j * A a i)) by (intros; ring).
    reflexivity. }
  rewrite (quad_difference n L w z hs). enough (0 <= quad n L (fun i => w i - z i)) by lra.
  set (x := fun i => w i - z i).
  assert (e : forall i j, L i j = sum m (fun a => sum m (fun b => (A a i * A b i) * (A a j * A b j)))).
  { intros i j. unfold L. simpl. rewrite <- sum_scale. apply sum_ext; intros a ha.
    rewrite <- sum_scale_r. apply sum_ext; intros; ring. }
  assert (square : quad n L x = sum m (fun a => quad n (fun i j => sum m (fun b => (A a i * A b i) * (A a j * A b j))) x)).
  { rewrite quad_ip, (ip_ext n n L (fun i j => sum m (fun a => 1 * sum m (fun b => (A a i * A b i) * (A a j * A b j))))
      _ (fun i j => x i * x j)); auto.
    - rewrite (ip_sum n n m (fun _ => 1) (fun a i j => sum m (fun b => (A a i * A b i) * (A a j * A b j)))).
      apply sum_ext; intros. rewrite quad_ip. ring.
    - intros. rewrite e. apply sum_ext; intros; ring. }
  rewrite square. apply sum_nonneg; intros a ha. rewrite (quad_gram n m (fun b i => A a i * A b i)).
  apply sum_nonneg; intros. apply Rle_0_sqr.
Qed.

(* Theorem 7, quadratic form, squared points or matrix: L has no negative entry, L + lack I is positive semidefinite, and
   l is at most the diagonal on rows that are not zero, [full]; R is not negative, G absent, and F(w) - c0 <= U - c0. *)
Definition over_rows (n : nat) (full : nat -> bool) (x : vector) : R := sum n (fun i => if full i then x i * x i else 0).

Theorem other_form n (L : matrix) (full : nat -> bool) lack least U (w z : vector) risk :
  sym n L -> (forall i j, (i < n)%nat -> (j < n)%nat -> 0 <= L i j) ->
  (forall i j, (i < n)%nat -> (j < n)%nat -> full i = false -> L i j = 0) ->
  0 < least -> (forall i, (i < n)%nat -> full i = true -> least <= L i i) ->
  0 <= lack -> psd n (fun i j => L i j + scaled_identity lack i j) ->
  (forall i, (i < n)%nat -> 0 <= w i) -> 0 <= risk -> risk + / 2 * quad n L w <= U ->
  dot n (apply_to n L z) w - (/ 2 * quad n L z + lack * (2 * Rmax U 0 / least + over_rows n full z)) <= / 2 * quad n L w.
Proof.
  intros hs entries empty hl diagonal hk hp hw hr hU.
  set (x := fun i => if full i then w i - z i else 0).
  assert (same : quad n L (fun i => w i - z i) = quad n L x).
  { apply sum_ext; intros i hi. apply sum_ext; intros j hj. unfold x. destruct (full i) eqn:fi; [destruct (full j) eqn:fj|].
    - reflexivity.
    - rewrite (hs i j), (empty j i) by assumption. ring.
    - rewrite (empty i j) by assumption. ring. }
  assert (lower : - lack * dot n x x <= quad n L x).
  { pose proof (hp x) as p. rewrite quad_ip in p.
    rewrite (ip_ext n n _ (fun i j => 1 * L i j + 1 * scaled_identity lack i j) _ (fun i j => x i * x j)) in p; auto.
    2:{ intros; ring. }
    rewrite ip_lin, <- !quad_ip, quad_identity in p. lra. }
  assert (split : dot n x x <= 2 * over_rows n full w + 2 * over_rows n full z).
  { unfold dot, over_rows. rewrite <- !sum_scale, <- sum_plus. apply sum_le; intros i hi. unfold x. destruct (full i); [|lra].
    pose proof (Rle_0_sqr (w i + z i)) as q. unfold Rsqr in q. lra. }
  assert (small : over_rows n full w <= 2 * Rmax U 0 / least).
  { apply Rmult_le_reg_l with least; [assumption|].
    replace (least * (2 * Rmax U 0 / least)) with (2 * Rmax U 0) by (field; lra).
    apply Rle_trans with (quad n L w); [|pose proof (Rmax_l U 0); lra].
    unfold over_rows. rewrite <- sum_scale. apply sum_le; intros i hi.
    apply Rle_trans with (w i * L i i * w i).
    - destruct (full i) eqn:fi; [|rewrite (empty i i) by assumption; lra].
      specialize (diagonal i hi fi). specialize (hw i hi). nra.
    - apply (sum_term n (fun j => w i * L i j * w j) i hi). intros j hj.
      apply Rmult_le_pos; [apply Rmult_le_pos|]; auto. }
  rewrite (quad_difference n L w z hs), same. nra.
Qed.

(* Theorem 10: with singular values, lambda^2 I - A'A positive semidefinite is enough ... *)
Definition outer (u v : vector) : matrix := fun i j => u i * v j.

Lemma ip_outer d k u v A : ip d k (outer u v) A = dot d u (fun i => dot k (A i) v).
Proof. apply sum_ext; intros i hi. unfold dot. rewrite <- sum_scale. apply sum_ext; intros; unfold outer; ring. Qed.

Lemma ip_outer_transpose d k u v A : ip d k (outer u v) A = ip k d (outer v u) (transpose A).
Proof. unfold ip. rewrite sum_swap. apply sum_ext; intros. apply sum_ext; intros. unfold outer, transpose. ring. Qed.

Lemma ip_outers d k u v a b : ip d k (outer u v) (outer a b) = dot d u a * dot k v b.
Proof.
  rewrite ip_outer. unfold dot at 1 3. rewrite <- sum_scale_r. apply sum_ext; intros i hi.
  transitivity (u i * (a i * dot k v b)); [|ring]. f_equal. unfold dot. rewrite <- sum_scale.
  apply sum_ext; intros; unfold outer; ring.
Qed.

Lemma ip_singular d k r A X sigma u v : singular d k r X sigma u v ->
  ip d k A X = sum r (fun t => sigma t * ip d k (outer (u t) (v t)) A).
Proof.
  intros [_ [_ [_ h]]]. rewrite ip_comm, (ip_ext d k X (fun i j => sum r (fun t => sigma t * outer (u t) (v t) i j)) A A); auto.
  apply (ip_sum d k r sigma (fun t => outer (u t) (v t))).
Qed.

Lemma outer_small d k lambda A u v : 0 <= lambda -> dot d u u = 1 -> dot k v v = 1 ->
  psd k (sub (scaled_identity (lambda * lambda)) (mul d (transpose A) A)) -> ip d k (outer u v) A <= lambda.
Proof.
  intros hl hu hv hp. specialize (hp v). rewrite quad_sub, quad_identity, hv in hp.
  change (mul d (transpose A) A) with (fun i j => sum d (fun t => A t i * A t j)) in hp. rewrite quad_gram in hp.
  pose proof (cauchy_dot d u (fun i => dot k (A i) v)) as c. rewrite hu, <- ip_outer in c.
  change (dot d (fun i => dot k (A i) v) _) with (sum d (fun t => dot k (A t) v * dot k (A t) v)) in c.
  rewrite <- (Rmult_1_r lambda). apply le_product; lra.
Qed.

Theorem singular_norm d k r lambda A M0 M sigma u v : singular d k r (sub M M0) sigma u v -> 0 <= lambda ->
  psd k (sub (scaled_identity (lambda * lambda)) (mul d (transpose A) A)) ->
  ip d k A M - ip d k A M0 <= lambda * sum r sigma.
Proof.
  intros h hl hp. rewrite prior, (ip_singular d k r A _ sigma u v h). destruct h as [hu [hv [pos _]]].
  rewrite <- sum_scale. apply sum_le; intros t ht. rewrite Rmult_comm. apply Rmult_le_compat_r; auto.
  apply outer_small; auto; [rewrite hu|rewrite hv]; auto; rewrite Nat.eqb_refl; reflexivity.
Qed.

(* ... and so is A A' in the place of A'A. *)
Theorem singular_norm_rows d k r lambda A M0 M sigma u v : singular d k r (sub M M0) sigma u v -> 0 <= lambda ->
  psd d (sub (scaled_identity (lambda * lambda)) (mul k A (transpose A))) ->
  ip d k A M - ip d k A M0 <= lambda * sum r sigma.
Proof.
  intros h hl hp. rewrite prior, (ip_singular d k r A _ sigma u v h). destruct h as [hu [hv [pos _]]].
  rewrite <- sum_scale. apply sum_le; intros t ht. rewrite Rmult_comm. apply Rmult_le_compat_r; auto.
  rewrite ip_outer_transpose. apply outer_small; auto; [rewrite hv|rewrite hu]; auto; rewrite Nat.eqb_refl; reflexivity.
Qed.

(* Theorem 10: the largest singular value is at most lambda if and only if lambda^2 I - A'A is positive semidefinite. *)
Theorem largest_singular d k r lambda A sigma u v : singular d k r A sigma u v -> 0 <= lambda ->
  (forall t, (t < r)%nat -> sigma t <= lambda) <->
  psd k (sub (scaled_identity (lambda * lambda)) (mul d (transpose A) A)).
Proof.
  intros [hu [hv [pos hA]]] hl.
  assert (value : forall x, quad k (mul d (transpose A) A) x =
    sum r (fun t => sigma t * sigma t * (dot k (v t) x * dot k (v t) x))).
  { intros x. change (mul d (transpose A) A) with (fun i j => sum d (fun t => A t i * A t j)). rewrite quad_gram.
    set (y := fun t => sigma t * dot k (v t) x).
    assert (image : forall i, (i < d)%nat -> dot k (A i) x = sum r (fun t => y t * u t i)).
    { intros i hi. transitivity (dot k (fun j => sum r (fun t => sigma t * u t i * v t j)) x).
      - apply sum_ext; intros j hj. rewrite hA by assumption. f_equal. apply sum_ext; intros; ring.
      - rewrite (dot_sum k r (fun t => sigma t * u t i)). apply sum_ext; intros; unfold y; ring. }
    transitivity (dot d (fun i => sum r (fun t => y t * u t i)) (fun i => sum r (fun t => y t * u t i))).
    - apply sum_ext; intros i hi. rewrite image by assumption. reflexivity.
    - rewrite dot_sum. apply sum_ext; intros t ht. rewrite dot_comm, dot_sum, (sum_only r _ t ht).
      + rewrite hu, Nat.eqb_refl by assumption. unfold y. ring.
      + intros s hs ne. rewrite hu by assumption. destruct (Nat.eqb_spec s t); [congruence|ring]. }
  split.
  - intros h x. rewrite quad_sub, quad_identity, value.
    pose proof (bessel k r v x hv) as b. apply (Rmult_le_compat_l (lambda * lambda)) in b; [|nra].
    rewrite <- sum_scale in b.
    enough (sum r (fun t => sigma t * sigma t * (dot k (v t) x * dot k (v t) x)) <=
      sum r (fun t => lambda * lambda * (dot k (v t) x * dot k (v t) x))) by lra.
    apply sum_le; intros t ht. apply Rmult_le_compat_r; [apply Rle_0_sqr|]. specialize (pos t ht). specialize (h t ht). nra.
  - intros h t ht. specialize (h (v t)). rewrite quad_sub, quad_identity, value in h. rewrite (sum_only r _ t ht) in h.
    + rewrite hv, Nat.eqb_refl in h by assumption. specialize (pos t ht). nra.
    + intros s hs ne. rewrite hv by assumption. destruct (Nat.eqb_spec s t); [congruence|ring].
Qed.

(* The squares of the coordinates of all columns along orthonormal vectors. *)
Lemma bessel_columns d r n u A : orthonormal d n u ->
  sum n (fun t => sum r (fun l => dot d (u t) (fun i => A i l) * dot d (u t) (fun i => A i l))) <= ip d r A A.
Proof.
  intros hu. rewrite sum_swap. unfold ip. rewrite (sum_swap d r). apply sum_le; intros l hl.
  exact (bessel d n u (fun i => A i l) hu).
Qed.

(* Theorem 10, the upper bound: X = A B' + E, A and B with r columns. *)
Theorem singular_norm_above d k r n X A B E sigma u v : singular d k n X sigma u v ->
  (forall i j, (i < d)%nat -> (j < k)%nat -> X i j = mul r A (transpose B) i j + E i j) ->
  sum n sigma <= / 2 * ip d r A A + / 2 * ip k r B B + sqrt (INR (Nat.min d k)) * norm d k E.
Proof.
  intros h hX. pose proof h as [hu [hv _]].
  set (a := fun t l => dot d (u t) (fun i => A i l)). set (b := fun t l => dot k (v t) (fun j => B j l)).
  set (y := fun t => ip d k (outer (u t) (v t)) E).
  assert (value : forall t, (t < n)%nat -> sigma t = sum r (fun l => a t l * b t l) + y t).
  { intros t ht. transitivity (ip d k (outer (u t) (v t)) X).
    - rewrite (ip_singular d k n _ X sigma u v h), (sum_only n _ t ht).
      + rewrite ip_outers, hu, hv, Nat.eqb_refl by assumption. ring.
      + intros s hs ne. rewrite ip_outers, hu by assumption. destruct (Nat.eqb_spec s t); [congruence|ring].
    - unfold y. rewrite !(ip_comm d k (outer (u t) (v t))).
      rewrite (ip_ext d k X (fun i j => 1 * sum r (fun l => 1 * outer (fun i => A i l) (fun j => B j l) i j) + 1 * E i j)
        (outer (u t) (v t)) (outer (u t) (v t))); auto.
      + rewrite ip_lin, (ip_sum d k r (fun _ => 1) (fun l => outer (fun i => A i l) (fun j => B j l))), !Rmult_1_l. f_equal.
        apply sum_ext; intros l hl. rewrite ip_comm, ip_outers. unfold a, b. ring.
      + intros i j hi hj. rewrite hX by assumption. rewrite !Rmult_1_l. f_equal. apply sum_ext; intros.
        unfold outer, transpose. ring. }
  assert (rest : sum n y <= sqrt (INR (Nat.min d k)) * norm d k E).
  { apply le_product; try apply sqrt_pos. unfold norm. rewrite !sqrt_sqrt by (try apply pos_INR; apply ip_self).
    pose proof (cauchy_dot n (fun _ => 1) y) as c.
    replace (dot n (fun _ => 1) y) with (sum n y) in c by (apply sum_ext; intros; ring).
    replace (dot n (fun _ => 1) (fun _ => 1)) with (INR n) in c by (unfold dot; rewrite sum_const; ring).
    refine (Rle_trans _ _ _ c _). apply Rmult_le_compat; [apply pos_INR|apply dot_self| |].
    - apply le_INR. apply Nat.min_glb; [exact (orthonormal_few d n u hu)|exact (orthonormal_few k n v hv)].
    - apply Rle_trans with (sum n (fun t => sum d (fun i => dot k (v t) (E i) * dot k (v t) (E i)))).
      + apply sum_le; intros t ht. unfold y. rewrite ip_outer.
        pose proof (cauchy_dot d (u t) (fun i => dot k (E i) (v t))) as s. rewrite hu, Nat.eqb_refl, Rmult_1_l in s by assumption.
        refine (Rle_trans _ _ _ s _). apply Req_le, sum_ext; intros i hi. rewrite (dot_comm k (E i)). reflexivity.
      + rewrite sum_swap. apply sum_le; intros i hi. exact (bessel k n v (E i) hv). }
  rewrite (sum_ext n sigma (fun t => sum r (fun l => a t l * b t l) + y t)) by assumption. rewrite sum_plus.
  apply Rplus_le_compat; [|exact rest].
  pose proof (bessel_columns d r n u A hu) as sa. pose proof (bessel_columns k r n v B hv) as sb.
  fold a b in sa, sb.
  apply Rle_trans with (sum n (fun t => / 2 * sum r (fun l => a t l * a t l) + / 2 * sum r (fun l => b t l * b t l))).
  - apply sum_le; intros t ht. rewrite <- !sum_scale, <- sum_plus. apply sum_le; intros l hl.
    pose proof (Rle_0_sqr (a t l - b t l)) as q. unfold Rsqr in q. lra.
  - rewrite sum_plus, !sum_scale. change (sum n (fun t => sum r (fun l => a t l * a t l)) <= ip d r A A) in sa.
    change (sum n (fun t => sum r (fun l => b t l * b t l)) <= ip k r B B) in sb. lra.
Qed.
