(* Every symmetric matrix has an orthonormal basis of eigenvectors, and every matrix has singular values: what "eigenvalues"
   and "singular values" mean in theorems 7 and 10. *)
From Certificates Require Import Sums.

Definition spectral (n r : nat) (X : matrix) (x : vector) (u : nat -> vector) : Prop :=
  orthonormal n r u /\ forall i j, (i < n)%nat -> (j < n)%nat -> X i j = sum r (fun t => x t * (u t i * u t j)).
Definition singular (d k r : nat) (X : matrix) (sigma : vector) (u v : nat -> vector) : Prop :=
  orthonormal d r u /\ orthonormal k r v /\ (forall t, (t < r)%nat -> 0 <= sigma t) /\
  forall i j, (i < d)%nat -> (j < k)%nat -> X i j = sum r (fun t => sigma t * (u t i * v t j)).
Definition eigenvector (n : nat) (X : matrix) (c : R) (y : vector) : Prop :=
  forall i, (i < n)%nat -> dot n (X i) y = c * y i.

Lemma dot_unit n x j : (j < n)%nat -> dot n x (unit_vector j) = x j.
Proof.
  intros hj. unfold dot. rewrite (sum_only n _ j hj); unfold unit_vector; [rewrite Nat.eqb_refl; ring|].
  intros i hi ne. destruct (Nat.eqb_spec i j); [congruence|ring].
Qed.

Lemma quad_dot n X x y : sum n (fun i => sum n (fun j => x i * X i j * y j)) = dot n x (fun i => dot n (X i) y).
Proof. apply sum_ext; intros i hi. unfold dot. rewrite <- sum_scale. apply sum_ext; intros; ring. Qed.

Lemma symmetric_dot n X x y : sym n X -> dot n x (fun i => dot n (X i) y) = dot n y (fun i => dot n (X i) x).
Proof.
  intros hs. rewrite <- !quad_dot, sum_swap. apply sum_ext; intros i hi. apply sum_ext; intros j hj. rewrite (hs j i); auto. ring.
Qed.

(* A positive semidefinite matrix is above a multiple of the identity, or there is a vector at which its form is zero. *)
Lemma definite_or_kernel n : forall A, sym n A -> psd n A ->
  (exists c, 0 < c /\ forall x, c * dot n x x <= quad n A x) \/ exists x, 0 < dot n x x /\ quad n A x = 0.
Proof.
  induction n; intros A hs hp.
  - left. exists 1. split; [lra|]. intros x. unfold dot, quad. simpl. lra.
  - assert (hm : 0 <= A n n) by (apply psd_diagonal with (S n); [lia|assumption]).
    destruct (Req_dec (A n n) 0) as [zero|nz].
    + right. exists (unit_vector n). rewrite quad_unit, dot_unit by lia. unfold unit_vector. rewrite Nat.eqb_refl. lra.
    + assert (pos : 0 < A n n) by lra.
      destruct (IHn (schur n A) (schur_sym n A hs) (schur_psd n A hs pos hp)) as [[c [hc low]]|[x [hx zero]]].
      * left. set (m := A n n) in *. set (l := dot n (A n) (A n)). assert (hl : 0 <= l) by apply dot_self.
        set (g := 1 + 2 * l / (m * m)).
        assert (hg : 1 <= g).
        { unfold g, Rdiv. assert (0 < / (m * m)) by (apply Rinv_0_lt_compat; nra). nra. }
        exists (Rmin (c / g) (m / 2)). split; [apply Rmin_case; apply Rdiv_lt_0_compat; lra|]. intros x.
        rewrite (pivot n A x hs pos). fold m. set (L := dot n (A n) x). set (y := x n + L / m).
        replace ((m * x n + L) * (m * x n + L) / m) with (m * (y * y)) by (unfold y; field; lra).
        specialize (low x). pose proof (cauchy_dot n (A n) x) as cs. fold l L in cs. set (q := dot n x x) in *.
        assert (hq : 0 <= q) by apply dot_self. change (dot (S n) x x) with (q + x n * x n).
        assert (xn : x n * x n <= 2 * (y * y) + 2 * l / (m * m) * q).
        { assert (e : x n = y - L / m) by (unfold y; ring). rewrite e.
          assert (LL : L / m * (L / m) <= l / (m * m) * q).
          { replace (L / m * (L / m)) with (L * L * / (m * m)) by (field; lra).
            replace (l / (m * m) * q) with (l * q * / (m * m)) by (field; lra).
            apply Rmult_le_compat_r; [|assumption]. apply Rlt_le, Rinv_0_lt_compat. nra. }
          pose proof (Rle_0_sqr (y + L / m)) as s. unfold Rsqr in s.
          replace (2 * l / (m * m) * q) with (2 * (l / (m * m) * q)) by (field; lra).
          nra. }
        set (c' := Rmin (c / g) (m / 2)).
        assert (c' * g <= c).
        { apply Rle_trans with (c / g * g); [apply Rmult_le_compat_r; [lra|apply Rmin_l]|]. apply Req_le. field. lra. }
        assert (c' <= m / 2) by apply Rmin_r.
        assert (0 < c') by (unfold c'; apply Rmin_case; apply Rdiv_lt_0_compat; lra).
        assert (q + x n * x n <= g * q + 2 * (y * y)) by (unfold g; lra).
        assert (0 <= y * y) by apply Rle_0_sqr.
        apply Rle_trans with (c' * (g * q + 2 * (y * y))); [apply Rmult_le_compat_l; lra|]. nra.
      * right. exists (completed n A x). rewrite completed_quad by assumption. split; [|assumption].
        change (dot (S n) (completed n A x) (completed n A x))
          with (dot n (completed n A x) (completed n A x) + completed n A x n * completed n A x n).
        pose proof (Rle_0_sqr (completed n A x n)) as s. unfold Rsqr in s.
        replace (dot n (completed n A x) (completed n A x)) with (dot n x x); [lra|].
        apply sum_ext; intros. rewrite completed_same; auto.
Qed.

(* Where the form of a positive semidefinite matrix is zero, so is the image. *)
Lemma kernel n A x : sym n A -> psd n A -> quad n A x = 0 -> eigenvector n A 0 x.
Proof.
  intros hs hp zero i hi. set (b := dot n (A i) x).
  pose proof (discriminant 0 b (A i i)) as h.
  assert (e : forall t, quad n A (fun j => x j + t * unit_vector i j) = 0 + 2 * t * b + t * t * A i i).
  { intros t. unfold quad. rewrite quad_dot.
    transitivity (dot n (fun j => 1 * x j + t * unit_vector i j) (fun j => 1 * dot n (A j) x + t * dot n (A j) (unit_vector i))).
    - apply sum_ext; intros j hj. f_equal; [ring|].
      rewrite (dot_comm n (A j) x), (dot_comm n (A j) (unit_vector i)), <- dot_lin, dot_comm.
      apply sum_ext; intros; ring.
    - rewrite dot_lin, (dot_comm n x), (dot_comm n (unit_vector i)), !dot_lin.
      rewrite (dot_comm n (fun j => dot n (A j) x) x), (dot_comm n (fun j => dot n (A j) (unit_vector i)) x).
      rewrite (symmetric_dot n A x (unit_vector i) hs), (dot_comm n (unit_vector i)), (dot_comm n _ (unit_vector i)).
      rewrite (dot_comm n (unit_vector i)), !(dot_unit n _ i hi).
      unfold quad in zero. rewrite quad_dot in zero. rewrite zero. unfold b. ring. }
  assert (b * b <= 0 * A i i).
  { apply h; [intros t; rewrite <- e; apply hp|]. apply psd_diagonal with n; assumption. }
  nra.
Qed.

(* The largest eigenvalue: the least upper bound of the form on unit vectors. *)
Lemma largest_eigenvalue n X : (0 < n)%nat -> sym n X -> exists c y,
  0 < dot n y y /\ eigenvector n X c y /\ forall x, quad n X x <= c * dot n x x.
Proof.
  intros hn hs. set (values := fun t => exists x, dot n x x = 1 /\ quad n X x = t).
  destruct (completeness values) as [c [above below]].
  - exists (norm n n X). intros t [x [one <-]]. pose proof (quad_norm n X x) as h. rewrite one in h.
    pose proof (Rle_abs (quad n X x)). lra.
  - exists (quad n X (unit_vector 0)), (unit_vector 0). split; [|reflexivity]. rewrite dot_unit by assumption. reflexivity.
  - set (A := sub (scaled_identity c) X).
    assert (value : forall x, quad n A x = c * dot n x x - quad n X x).
    { intros x. unfold A. rewrite quad_sub, quad_identity. reflexivity. }
    assert (sA : sym n A).
    { intros i j hi hj. unfold A, sub, scaled_identity. rewrite (hs i j) by assumption. rewrite (Nat.eqb_sym i j). reflexivity. }
    assert (scaled : forall x, 0 < dot n x x -> exists t, values t /\ quad n X x = t * dot n x x).
    { intros x hx. pose proof (sqrt_lt_R0 _ hx) as root. pose proof (sqrt_sqrt _ (Rlt_le _ _ hx)) as square.
      set (s := sqrt (dot n x x)) in *. exists (quad n X x / dot n x x). split; [|field; lra].
      exists (fun i => / s * x i). split.
      - transitivity (/ s * / s * dot n x x); [unfold dot; rewrite <- sum_scale; apply sum_ext; intros; ring|].
        rewrite <- square. field. lra.
      - transitivity (/ s * / s * quad n X x); [|rewrite <- square; field; lra].
        unfold quad. rewrite <- sum_scale. apply sum_ext; intros i hi. rewrite <- sum_scale. apply sum_ext; intros; ring. }
    assert (pA : psd n A).
    { intros x. rewrite value. destruct (Rle_lt_or_eq_dec 0 _ (dot_self n x)) as [pos|zero].
      - destruct (scaled x pos) as [t [ht ->]]. specialize (above t ht). nra.
      - rewrite <- zero. pose proof (quad_norm n X x) as h. rewrite <- zero in h. pose proof (Rle_abs (quad n X x)). lra. }
    assert (most : forall x, quad n X x <= c * dot n x x) by (intros x; specialize (pA x); rewrite value in pA; lra).
    destruct (definite_or_kernel n A sA pA) as [[e [he low]]|[y [hy zero]]].
    + exfalso. enough (c <= c - e) by lra. apply below. intros t [x [one <-]]. specialize (low x). rewrite value, one in low. lra.
    + exists c, y. split; [assumption|split; [|assumption]]. intros i hi.
      pose proof (kernel n A y sA pA zero i hi) as k. unfold A, sub in k.
      assert (e : dot n (fun j => scaled_identity c i j - X i j) y = c * y i - dot n (X i) y).
      { transitivity (sum n (fun j => scaled_identity c i j * y j) - dot n (X i) y).
        { unfold dot. rewrite <- sum_minus. apply sum_ext; intros; ring. }
        rewrite (sum_only n (fun j => scaled_identity c i j * y j) i hi).
        - unfold scaled_identity. rewrite Nat.eqb_refl. reflexivity.
        - intros j hj ne. unfold scaled_identity. destruct (Nat.eqb_spec i j); [congruence|ring]. }
      change (dot n (fun j => scaled_identity c i j - X i j) y = 0 * y i) in k. lra.
Qed.

(* What is left of a unit vector along orthonormal ones. *)
Definition rest (r : nat) (u : nat -> vector) (j : nat) : vector := fun i => unit_vector j i - sum r (fun t => u t j * u t i).

Lemma rest_orthogonal n r u j t : orthonormal n r u -> (j < n)%nat -> (t < r)%nat -> dot n (u t) (rest r u j) = 0.
Proof.
  intros hu hj ht. transitivity (dot n (u t) (unit_vector j) - sum r (fun s => u s j * dot n (u s) (u t))).
  - rewrite <- dot_sum, (dot_comm n _ (u t)). unfold dot. rewrite <- sum_minus. apply sum_ext; intros; unfold rest; ring.
  - rewrite dot_unit by assumption. rewrite (sum_only r _ t ht).
    + rewrite hu, Nat.eqb_refl by assumption. ring.
    + intros s hs ne. rewrite hu by assumption. destruct (Nat.eqb_spec s t); [congruence|ring].
Qed.

Lemma rest_square n r u j : orthonormal n r u -> (j < n)%nat ->
  dot n (rest r u j) (rest r u j) = 1 - sum r (fun t => u t j * u t j).
Proof.
  intros hu hj. transitivity (dot n (unit_vector j) (rest r u j) - sum r (fun t => u t j * dot n (u t) (rest r u j))).
  - rewrite <- dot_sum. unfold dot. rewrite <- sum_minus. apply sum_ext; intros; unfold rest; ring.
  - rewrite (sum_zero r (fun t => u t j * dot n (u t) (rest r u j))).
    + rewrite dot_comm, dot_unit by assumption. unfold rest, unit_vector. rewrite Nat.eqb_refl. ring.
    + intros t ht. rewrite rest_orthogonal by assumption. ring.
Qed.

Lemma squares_sum n r u : orthonormal n r u -> sum n (fun j => 1 - sum r (fun t => u t j * u t j)) = INR n - INR r.
Proof.
  intros hu. rewrite sum_minus, sum_const, sum_swap, Rmult_1_r. f_equal.
  rewrite <- (Rmult_1_r (INR r)), <- sum_const. apply sum_ext; intros t ht.
  change (dot n (u t) (u t) = 1). rewrite hu, Nat.eqb_refl; auto.
Qed.

Lemma sum_positive n f : 0 < sum n f -> exists j, (j < n)%nat /\ 0 < f j.
Proof.
  induction n; simpl; intros h; [lra|]. destruct (Rlt_dec 0 (f n)) as [|no]; [exists n; auto|].
  destruct IHn as [j [hj pos]]; [lra|]. exists j; auto.
Qed.

(* A basis is complete: e_j is the sum of (u_t)_j u_t. *)
Lemma complete n u i j : orthonormal n n u -> (i < n)%nat -> (j < n)%nat -> unit_vector j i = sum n (fun t => u t j * u t i).
Proof.
  intros hu hi hj. enough (rest n u j i = 0) by (unfold rest in *; lra).
  assert (square : forall l, (l < n)%nat -> 0 <= 1 - sum n (fun t => u t l * u t l)).
  { intros l hl. rewrite <- (rest_square n n u l hu hl). apply dot_self. }
  pose proof (sum_term n (fun l => 1 - sum n (fun t => u t l * u t l)) j hj square) as small. cbv beta in small.
  rewrite (squares_sum n n u hu), <- (rest_square n n u j hu hj) in small.
  pose proof (sum_term n (fun l => rest n u j l * rest n u j l) i hi) as one. cbv beta in one.
  specialize (one ltac:(intros; apply Rle_0_sqr)).
  change (sum n (fun l => rest n u j l * rest n u j l)) with (dot n (rest n u j) (rest n u j)) in one. nra.
Qed.

Lemma expand n u (y : vector) j : orthonormal n n u -> (j < n)%nat -> y j = sum n (fun t => u t j * dot n y (u t)).
Proof.
  intros hu hj. rewrite <- (dot_unit n y j hj) at 1.
  transitivity (dot n y (fun i => sum n (fun t => u t j * u t i))).
  - apply sum_ext; intros i hi. rewrite <- complete by assumption. reflexivity.
  - rewrite dot_comm, dot_sum. apply sum_ext; intros t ht. rewrite dot_comm. reflexivity.
Qed.

(* One eigenvector after the other: those found are moved below all others. *)
Lemma eigenvectors n X : sym n X -> forall r, (r <= n)%nat -> exists x u, orthonormal n r u /\
  forall t, (t < r)%nat -> eigenvector n X (x t) (u t).
Proof.
  intros hs. induction r as [|r IH]; intros hr; [exists (fun _ => 0), (fun _ _ => 0); split; [intros i j; lia|intros; lia]|].
  destruct IH as [x [u [hu eig]]]; [lia|].
  set (B := norm n n X + 1). set (M := fun i j => X i j - sum r (fun t => (x t + B) * (u t i * u t j))).
  assert (sM : sym n M).
  { intros i j hi hj. unfold M. rewrite (hs i j) by assumption. f_equal. apply sum_ext; intros; ring. }
  assert (image : forall i y, (i < n)%nat -> dot n (M i) y = dot n (X i) y - sum r (fun t => (x t + B) * u t i * dot n (u t) y)).
  { intros i y hi. rewrite <- (dot_sum n r (fun t => (x t + B) * u t i)). unfold dot. rewrite <- sum_minus.
    apply sum_ext; intros j hj. unfold M. rewrite Rmult_minus_distr_r. f_equal. f_equal. apply sum_ext; intros; ring. }
  assert (moved : forall t, (t < r)%nat -> eigenvector n M (- B) (u t)).
  { intros t ht i hi. rewrite image, (eig t ht i hi) by assumption. rewrite (sum_only r _ t ht).
    - rewrite hu, Nat.eqb_refl by assumption. ring.
    - intros s hs' ne. rewrite hu by assumption. destruct (Nat.eqb_spec s t); [congruence|ring]. }
  destruct (largest_eigenvalue n M ltac:(lia) sM) as [c [y [hy [ey most]]]].
  assert (big : - B < c).
  { destruct (sum_positive n (fun j => 1 - sum r (fun t => u t j * u t j))) as [j [hj pos]].
    - rewrite (squares_sum n r u hu). apply Rlt_Rminus, lt_INR. lia.
    - rewrite <- (rest_square n r u j hu hj) in pos. set (z := rest r u j) in *.
      assert (e : quad n M z = quad n X z).
      { unfold quad. rewrite !quad_dot. apply sum_ext; intros i hi. f_equal. rewrite image by assumption.
        rewrite sum_zero; [ring|]. intros t ht. unfold z. rewrite rest_orthogonal by assumption. ring. }
      specialize (most z). rewrite e in most. pose proof (quad_norm n X z) as h.
      assert (- quad n X z <= Rabs (quad n X z)) by (rewrite <- Rabs_Ropp; apply Rle_abs). unfold B. nra. }
  assert (orth : forall t, (t < r)%nat -> dot n (u t) y = 0).
  { intros t ht.
    assert (image_of : forall z w a, eigenvector n M a w -> dot n z (fun i => dot n (M i) w) = a * dot n z w).
    { intros z w a h. unfold dot at 1. rewrite (sum_ext n _ (fun i => a * (z i * w i))); [apply sum_scale|].
      intros i hi. rewrite h by assumption. ring. }
    pose proof (symmetric_dot n M (u t) y sM) as e. rewrite (image_of _ _ _ ey), (image_of _ _ _ (moved t ht)) in e.
    rewrite (dot_comm n y) in e. nra. }
  assert (ex : eigenvector n X c y).
  { intros i hi. rewrite <- ey, image by assumption. rewrite sum_zero; [ring|]. intros t ht. rewrite orth by assumption. ring. }
  pose proof (sqrt_lt_R0 _ hy) as root. pose proof (sqrt_sqrt _ (Rlt_le _ _ hy)) as square. set (s := sqrt (dot n y y)) in *.
  exists (fun t => if Nat.eqb t r then c else x t), (fun t => if Nat.eqb t r then fun i => / s * y i else u t).
  assert (scale : forall z, dot n (fun i => / s * y i) z = / s * dot n y z).
  { intros z. unfold dot. rewrite <- sum_scale. apply sum_ext; intros; ring. }
  split.
  - intros i j hi hj. destruct (Nat.eqb_spec i r) as [ei|ni], (Nat.eqb_spec j r) as [ej|nj].
    + subst. rewrite Nat.eqb_refl, scale, dot_comm, scale, <- square. field. lra.
    + rewrite scale, dot_comm, orth by lia. destruct (Nat.eqb_spec i j); [lia|ring].
    + rewrite dot_comm, scale, dot_comm, orth by lia. destruct (Nat.eqb_spec i j); [lia|ring].
    + apply hu; lia.
  - intros t ht i hi. destruct (Nat.eqb_spec t r) as [e|ne]; [|apply eig; [lia|assumption]].
    rewrite dot_comm, scale, dot_comm, ex by assumption. ring.
Qed.

Theorem eigenvalues n X : sym n X -> exists x u, spectral n n X x u.
Proof.
  intros hs. destruct (eigenvectors n X hs n (le_n n)) as [x [u [hu eig]]]. exists x, u. split; [assumption|].
  intros i j hi hj. rewrite (expand n u (X i) j hu hj). apply sum_ext; intros t ht. rewrite eig by assumption. ring.
Qed.

(* The terms of a sum that are chosen, as a sum of their own. *)
Lemma chosen n (I : nat -> bool) : exists r (p : nat -> nat),
  (forall t, (t < r)%nat -> (p t < n)%nat /\ I (p t) = true) /\
  (forall s t, (s < r)%nat -> (t < r)%nat -> p s = p t -> s = t) /\
  forall f, sum n (fun t => if I t then f t else 0) = sum r (fun t => f (p t)).
Proof.
  induction n as [|n [r [p [range [inj e]]]]].
  - exists O, (fun t => t). repeat split; intros; try lia.
  - destruct (I n) eqn:In.
    + exists (S r), (fun t => if Nat.ltb t r then p t else n). repeat split.
      * destruct (Nat.ltb_spec t r); [destruct (range t ltac:(assumption)); lia|lia].
      * destruct (Nat.ltb_spec t r); [apply range; assumption|assumption].
      * intros s t hs ht. destruct (Nat.ltb_spec s r), (Nat.ltb_spec t r); intros eq.
        -- apply inj; assumption.
        -- destruct (range s ltac:(assumption)). lia.
        -- destruct (range t ltac:(assumption)). lia.
        -- lia.
      * intros f. simpl. rewrite In, Nat.ltb_irrefl, e. f_equal. apply sum_ext; intros t ht.
        apply Nat.ltb_lt in ht. rewrite ht. reflexivity.
    + exists r, p. repeat split; auto.
      * destruct (range t ltac:(assumption)). lia.
      * apply range; assumption.
      * intros f. simpl. rewrite In, e. ring.
Qed.

Theorem singular_values d k X : exists r sigma u v, singular d k r X sigma u v.
Proof.
  set (A := fun i j => sum d (fun l => X l i * X l j)).
  assert (sA : sym k A) by (intros i j hi hj; apply sum_ext; intros; ring).
  destruct (eigenvectors k A sA k (le_n k)) as [x [v [hv eig]]].
  set (w := fun t l => dot k (X l) (v t)).
  (* The images of the eigenvectors are orthogonal, of squares x. *)
  assert (gramian : forall s t, (s < k)%nat -> (t < k)%nat -> dot d (w s) (w t) = x t * if Nat.eqb s t then 1 else 0).
  { intros s t hs ht. rewrite <- hv by assumption. transitivity (dot k (v s) (fun i => dot k (A i) (v t))).
    - transitivity (sum d (fun l => dot k (v s) (fun i => X l i * dot k (X l) (v t)))).
      + apply sum_ext; intros l hl. change (dot k (X l) (v t)) with (w t l). generalize (w t l); intros a.
        unfold w. rewrite dot_comm. unfold dot. rewrite <- sum_scale_r. apply sum_ext; intros; ring.
      + unfold dot at 1. rewrite sum_swap. apply sum_ext; intros i hi.
        rewrite sum_scale. f_equal. unfold A. symmetry. apply (dot_sum k d (fun l => X l i) X).
    - unfold dot at 1. rewrite (sum_ext k _ (fun i => x t * (v s i * v t i))), sum_scale; [reflexivity|].
      intros i hi. rewrite eig by assumption. ring. }
  assert (nonneg : forall t, (t < k)%nat -> 0 <= x t).
  { intros t ht. pose proof (gramian t t ht ht) as g. rewrite Nat.eqb_refl in g. pose proof (dot_self d (w t)). lra. }
  destruct (chosen k (fun t => if Rlt_dec 0 (x t) then true else false)) as [r [p [range [inj total]]]].
  assert (pos : forall t, (t < r)%nat -> (p t < k)%nat /\ 0 < x (p t)).
  { intros t ht. destruct (range t ht) as [h1 h2]. split; [assumption|].
    destruct (Rlt_dec 0 (x (p t))); [assumption|discriminate]. }
  exists r, (fun t => sqrt (x (p t))), (fun t l => / sqrt (x (p t)) * w (p t) l), (fun t => v (p t)).
  repeat split.
  - intros s t hs ht. destruct (pos s hs) as [ps xs], (pos t ht) as [pt xt].
    transitivity (/ sqrt (x (p s)) * / sqrt (x (p t)) * dot d (w (p s)) (w (p t))).
    { unfold dot. rewrite <- sum_scale. apply sum_ext; intros; ring. }
    rewrite gramian by assumption. destruct (Nat.eqb_spec s t) as [->|ne].
    + rewrite Nat.eqb_refl. rewrite <- (sqrt_sqrt (x (p t))) at 3 by lra. pose proof (sqrt_lt_R0 _ xt). field. lra.
    + destruct (Nat.eqb_spec (p s) (p t)) as [eq|]; [exfalso; apply ne, inj; assumption|ring].
  - intros s t hs ht. destruct (pos s hs) as [ps xs], (pos t ht) as [pt xt]. rewrite hv by assumption.
    destruct (Nat.eqb_spec s t) as [->|ne]; [rewrite Nat.eqb_refl; reflexivity|].
    destruct (Nat.eqb_spec (p s) (p t)) as [eq|]; [exfalso; apply ne, inj; assumption|reflexivity].
  - intros t ht. apply sqrt_pos.
  - intros i j hi hj. rewrite (expand k v (X i) j hv hj).
    transitivity (sum k (fun t => if (if Rlt_dec 0 (x t) then true else false) then v t j * w t i else 0)).
    + apply sum_ext; intros t ht. fold (w t i). destruct (Rlt_dec 0 (x t)) as [|no]; [reflexivity|].
      assert (z : dot d (w t) (w t) = 0).
      { rewrite gramian, Nat.eqb_refl by assumption. pose proof (nonneg t ht). nra. }
      pose proof (sum_term d (fun l => w t l * w t l) i hi) as one. cbv beta in one.
      specialize (one ltac:(intros; apply Rle_0_sqr)). change (sum d (fun l => w t l * w t l)) with (dot d (w t) (w t)) in one.
      replace (w t i) with 0 by nra. ring.
    + rewrite total. apply sum_ext; intros t ht. destruct (pos t ht) as [_ xt]. pose proof (sqrt_lt_R0 _ xt). field. lra.
Qed.
