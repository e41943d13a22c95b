(* Theorem 12: conic programs, minimise x'Px/2 + q'x + c0 over x with b - A x in K. A dual point that is feasible but for some
   columns bounds them; near an approximate one there is one that is feasible exactly; and so it is with points. *)
From Coq Require Import List.
From Certificates Require Import Sums Spectra Determinants Slopes Cones.

(* The verified solve: B is near an inverse of N, E = I - B N. *)
Definition error (n : nat) (B N : matrix) : matrix := fun i j => scaled_identity 1 i j - mul n B N i j.
Definition radius (n : nat) (B N : matrix) (c y : vector) : R :=
  vector_norm n (apply_to n B (fun i => c i - dot n (N i) y)) / (1 - norm n n (error n B N)).

Lemma vector_norm_ext n x y : (forall i, (i < n)%nat -> x i = y i) -> vector_norm n x = vector_norm n y.
Proof. intros h. unfold vector_norm, dot. f_equal. apply sum_ext; intros. rewrite h by assumption. reflexivity. Qed.

Lemma vector_norm_plus n x y : vector_norm n (fun i => x i + y i) <= vector_norm n x + vector_norm n y.
Proof.
  pose proof (sqrt_pos _ : 0 <= vector_norm n x) as px. pose proof (sqrt_pos _ : 0 <= vector_norm n y) as py.
  unfold vector_norm at 1. rewrite <- (sqrt_square (vector_norm n x + vector_norm n y)) by lra. apply sqrt_le_1_alt.
  rewrite dot_plus, !(dot_comm n (fun i => x i + y i)), !dot_plus, (dot_comm n y x).
  pose proof (cauchy_vector n x y) as c.
  pose proof (sqrt_sqrt _ (dot_self n x)) as sx. pose proof (sqrt_sqrt _ (dot_self n y)) as sy.
  unfold vector_norm in *. lra.
Qed.

Lemma vector_norm_apply n X y : vector_norm n (apply_to n X y) <= norm n n X * vector_norm n y.
Proof.
  unfold vector_norm, norm. rewrite <- sqrt_mult_alt by apply ip_self. apply sqrt_le_1_alt.
  unfold ip. rewrite <- sum_scale_r. apply sum_le; intros i hi. apply cauchy_dot.
Qed.

(* y = E y + B N y. *)
Lemma split_error n B N y i : (i < n)%nat -> y i = apply_to n (error n B N) y i + apply_to n B (apply_to n N y) i.
Proof.
  intros hi.
  assert (e : apply_to n B (apply_to n N y) i = sum n (fun j => mul n B N i j * y j)).
  { unfold apply_to, mul. rewrite (sum_ext n _ (fun k => sum n (fun j => B i k * N k j * y j))).
    - rewrite sum_swap. apply sum_ext; intros. apply sum_scale_r.
    - intros. rewrite <- sum_scale. apply sum_ext; intros; ring. }
  rewrite e. unfold apply_to, error, dot. rewrite <- sum_plus, (sum_only n _ i hi).
  - unfold scaled_identity. rewrite Nat.eqb_refl. ring.
  - intros j hj ne. unfold scaled_identity. destruct (Nat.eqb_spec i j); [congruence|ring].
Qed.

Lemma near_solution n B N c y y' : norm n n (error n B N) < 1 -> (forall i, (i < n)%nat -> dot n (N i) y = c i) ->
  vector_norm n (fun i => y i - y' i) <= radius n B N c y'.
Proof.
  intros small solved. set (e := fun i => y i - y' i). set (g := fun i => c i - dot n (N i) y').
  assert (same : forall i, (i < n)%nat -> apply_to n N e i = g i).
  { intros i hi. unfold apply_to, g, e. rewrite <- solved by assumption. unfold dot. rewrite <- sum_minus.
    apply sum_ext; intros; ring. }
  assert (h : vector_norm n e <= norm n n (error n B N) * vector_norm n e + vector_norm n (apply_to n B g)).
  { rewrite (vector_norm_ext n e (fun i => apply_to n (error n B N) e i + apply_to n B (apply_to n N e) i)) at 1
      by (intros; apply split_error; assumption).
    refine (Rle_trans _ _ _ (vector_norm_plus n _ _) _). apply Rplus_le_compat; [apply vector_norm_apply|].
    apply Req_le, vector_norm_ext. intros i hi. apply sum_ext; intros j hj. rewrite same by assumption. reflexivity. }
  unfold radius. fold g. apply Rmult_le_reg_r with (1 - norm n n (error n B N)); [lra|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(* N has nothing in its kernel, and so n singular values that are positive. *)
Lemma kernel_zero n B N y : norm n n (error n B N) < 1 -> (forall i, (i < n)%nat -> dot n (N i) y = 0) -> dot n y y = 0.
Proof.
  intros small zero. pose proof (near_solution n B N (fun _ => 0) y (fun _ => 0) small zero) as h.
  replace (radius n B N (fun _ => 0) (fun _ => 0)) with 0 in h.
  2:{ unfold radius. replace (vector_norm n _) with 0; [field; lra|]. symmetry. unfold vector_norm.
    replace (dot n _ _) with 0; [apply sqrt_0|]. symmetry. apply sum_zero; intros i hi.
    unfold apply_to, dot. rewrite sum_zero; [ring|]. intros j hj. rewrite (sum_zero n (fun k => N j k * 0)); intros; ring. }
  rewrite (vector_norm_ext n _ y) in h by (intros; ring).
  pose proof (sqrt_sqrt _ (dot_self n y)) as s. pose proof (sqrt_pos (dot n y y)) as p. unfold vector_norm in h. nra.
Qed.

Lemma solvable n B N c : norm n n (error n B N) < 1 -> exists y, forall i, (i < n)%nat -> dot n (N i) y = c i.
Proof.
  intros small. destruct (singular_values n n N) as [r [sigma [u [v [hu [hv [pos hN]]]]]]].
  assert (image : forall y i, (i < n)%nat -> dot n (N i) y = sum r (fun t => sigma t * dot n (v t) y * u t i)).
  { intros y i hi. transitivity (dot n (fun j => sum r (fun t => sigma t * u t i * v t j)) y).
    - apply sum_ext; intros j hj. rewrite hN by assumption. f_equal. apply sum_ext; intros; ring.
    - rewrite (dot_sum n r (fun t => sigma t * u t i)). apply sum_ext; intros; ring. }
  assert (er : r = n).
  { pose proof (orthonormal_few n r v hv). destruct (Nat.eq_dec r n) as [|ne]; [assumption|exfalso].
    destruct (sum_positive n (fun j => 1 - sum r (fun t => v t j * v t j))) as [j [hj p]].
    - rewrite (squares_sum n r v hv). apply Rlt_Rminus, lt_INR. lia.
    - rewrite <- (rest_square n r v j hv hj) in p.
      pose proof (kernel_zero n B N (rest r v j) small) as z. rewrite z in p; [lra|]. intros i hi.
      rewrite image by assumption. apply sum_zero; intros t ht. rewrite rest_orthogonal by assumption. ring. }
  subst r.
  assert (positive : forall t, (t < n)%nat -> 0 < sigma t).
  { intros t ht. destruct (Rle_lt_or_eq_dec 0 (sigma t) (pos t ht)) as [|zero]; [assumption|exfalso].
    assert (one : dot n (v t) (v t) = 1) by (rewrite hv, Nat.eqb_refl; auto).
    rewrite (kernel_zero n B N (v t) small) in one; [lra|]. intros i hi. rewrite image by assumption.
    apply sum_zero; intros s hs. rewrite hv by assumption. destruct (Nat.eqb_spec s t) as [->|]; [rewrite <- zero|]; ring. }
  exists (fun j => sum n (fun t => dot n c (u t) / sigma t * v t j)). intros i hi. rewrite image by assumption.
  rewrite (expand n u c i hu hi). apply sum_ext; intros t ht.
  rewrite (dot_comm n (v t)), (dot_sum n n (fun s => dot n c (u s) / sigma s)), (sum_only n _ t ht).
  - rewrite hv, Nat.eqb_refl by assumption. pose proof (positive t ht). field. lra.
  - intros s hs ne. rewrite hv by assumption. destruct (Nat.eqb_spec s t); [congruence|ring].
Qed.

(* Theorem 12: every equation has a solution, near whatever solves it nearly. *)
Theorem verified_solve n B N : norm n n (error n B N) < 1 -> forall c, exists y,
  (forall i, (i < n)%nat -> dot n (N i) y = c i) /\
  forall y', vector_norm n (fun i => y i - y' i) <= radius n B N c y'.
Proof.
  intros small c. destruct (solvable n B N c small) as [y hy]. exists y. split; [assumption|].
  intros y'. apply near_solution; assumption.
Qed.

(* What a vector f, moved by w o (X y), makes with g, and how far it is from where another y moves it. *)
Lemma dot_moved p k (g f w : vector) (X : matrix) y :
  dot p g (fun l => f l + w l * dot k (X l) y) = dot p g f + sum k (fun j => sum p (fun l => g l * w l * X l j) * y j).
Proof.
  rewrite dot_plus. f_equal. unfold dot. rewrite (sum_ext p _ (fun l => sum k (fun j => g l * w l * X l j * y j))).
  - rewrite sum_swap. apply sum_ext; intros. apply sum_scale_r.
  - intros l hl. rewrite <- Rmult_assoc, <- sum_scale. apply sum_ext; intros; ring.
Qed.

Lemma moved_near k (f w : vector) (X : matrix) y y' r l : vector_norm k (fun i => y i - y' i) <= r ->
  Rabs (f l + w l * dot k (X l) y - (f l + w l * dot k (X l) y')) <= Rabs (w l) * vector_norm k (X l) * r.
Proof.
  intros h. replace (_ - _) with (w l * dot k (X l) (fun i => y i - y' i)).
  2:{ replace (dot k (X l) (fun i => y i - y' i)) with (dot k (X l) y - dot k (X l) y'); [ring|].
    unfold dot. rewrite <- sum_minus. apply sum_ext; intros; ring. }
  rewrite Rabs_mult, Rmult_assoc. apply Rmult_le_compat_l; [apply Rabs_pos|].
  refine (Rle_trans _ _ _ (cauchy_abs k _ _) _). apply Rmult_le_compat_l; [apply sqrt_pos|assumption].
Qed.

(* Theorem 12, an equation made exact: near v there is a v1 with G'v1 = target, p numbers and k equations. With spreads W
   and any D without zeros it is v + W H u for H = W G D, where H'H u = D (target - G'v). In the letters w = W W and
   y = D u that is v + w o (G y), where G' w G y = target - G'v. *)
Section Near.
  Variables (p k : nat) (G : matrix) (v W target D : vector).
  Definition scaled : matrix := fun l j => W l * G l j * D j.
  Definition system : matrix := fun i j => sum p (fun l => scaled l i * scaled l j).
  Definition missing : vector := fun j => D j * (target j - sum p (fun l => G l j * v l)).
  Definition moved (u : vector) : vector := fun l => v l + W l * dot k (scaled l) u.
  Definition within (B : matrix) (u v1 : vector) : Prop := forall l, (l < p)%nat ->
    Rabs (v1 l - moved u l) <= Rabs (W l) * vector_norm k (scaled l) * radius k B system missing u.

  Theorem near B u : (forall j, (j < k)%nat -> D j <> 0) -> norm k k (error k B system) < 1 ->
    exists v1, within B u v1 /\ forall j, (j < k)%nat -> sum p (fun l => G l j * v1 l) = target j.
  Proof.
    intros hD small. destruct (verified_solve k B system small missing) as [u1 [solved close]]. exists (moved u1). split.
    - intros l hl. apply moved_near, close.
    - intros j hj. specialize (solved j hj). unfold missing in solved.
      change (dot p (fun l => G l j) (moved u1) = target j). unfold moved. rewrite dot_moved.
      apply Rmult_eq_reg_l with (D j); [|apply hD; assumption]. rewrite Rmult_plus_distr_l, <- sum_scale.
      replace (sum k _) with (dot k (system j) u1); [rewrite solved; unfold dot; ring|].
      apply sum_ext; intros i hi. unfold system. rewrite <- Rmult_assoc, <- sum_scale. f_equal. apply sum_ext; intros.
      unfold scaled. ring.
  Qed.
End Near.

Section Program.
  Variables (n : nat) (P : matrix) (q : vector) (c0 : R) (A : matrix) (b : vector) (K : list cone).
  Let m := rows K.

  Definition value (x : vector) : R := / 2 * quad n P x + dot n q x + c0.
  Definition feasible (x : vector) : Prop := all in_cone K (fun j => b j - dot n (A j) x).
  (* P h + q + A'z. *)
  Definition residual (h z : vector) : vector := fun i => dot n (P i) h + q i + dot m (fun j => A j i) z.
  Definition dual_value (h z : vector) : R := - dot m b z - / 2 * quad n P h + c0.

  Hypothesis formed : Forall well_formed K.
  Hypothesis P_sym : sym n P.
  Hypothesis P_psd : psd n P.

  (* Theorem 12, whatever is left of the equation. *)
  Lemma duality h z x : all in_dual K z -> feasible x -> dual_value h z + dot n (residual h z) x <= value x.
  Proof.
    intros hz hx. pose proof (dual_product K z _ formed hz hx) as cone. fold m in cone.
    pose proof (quad_difference n P x h P_sym) as square. pose proof (P_psd (fun i => x i - h i)) as convex.
    assert (product : dot m z (fun j => b j - dot n (A j) x) = dot m b z - dot n (fun i => dot m (fun j => A j i) z) x).
    { transitivity (dot m b z - sum m (fun j => z j * dot n (A j) x)).
      - unfold dot at 1 3. rewrite <- sum_minus. apply sum_ext; intros; ring.
      - f_equal. rewrite <- dot_sum. apply sum_ext; intros i hi. f_equal. apply sum_ext; intros; ring. }
    assert (linear : dot n (residual h z) x =
      dot n (apply_to n P h) x + dot n q x + dot n (fun i => dot m (fun j => A j i) z) x).
    { assert (add : forall f g k, dot n (fun i => f i + g i + k i) x = dot n f x + dot n g x + dot n k x).
      { intros. unfold dot. rewrite <- !sum_plus. apply sum_ext; intros; ring. }
      apply add. }
    unfold value, dual_value. lra.
  Qed.

  (* Theorem 12: weak duality. *)
  Theorem weak_duality h z x : (forall i, (i < n)%nat -> residual h z i = 0) -> all in_dual K z -> feasible x ->
    - dot m b z - / 2 * quad n P h + c0 <= value x.
  Proof.
    intros exact hz hx. pose proof (duality h z x hz hx) as g. unfold dual_value in g.
    replace (dot n (residual h z) x) with 0 in g; [lra|]. symmetry. apply sum_zero; intros i hi.
    rewrite exact by assumption. ring.
  Qed.

  (* Theorem 12, split: the equation holds in all columns but the first u. *)
  Theorem weak_duality_split u h z x : (u <= n)%nat -> (forall i, (u <= i < n)%nat -> residual h z i = 0) ->
    all in_dual K z -> feasible x -> dot u (residual h z) x - dot m b z - / 2 * quad n P h + c0 <= value x.
  Proof.
    intros hu exact hz hx. pose proof (duality h z x hz hx) as g. unfold dual_value in g.
    replace (dot n (residual h z) x) with (dot u (residual h z) x) in g; [lra|].
    unfold dot. replace n with (u + (n - u))%nat at 1 by lia. rewrite sum_add, (sum_zero (n - u)); [ring|].
    intros i hi. rewrite exact by lia. ring.
  Qed.

  (* Omega(M), the infimum over points of which the first columns are the triangle of M, and its slope. *)
  Definition values (u : nat) (fixed : vector) (t : R) : Prop :=
    exists x, feasible x /\ (forall i, (i < u)%nat -> x i = fixed i) /\ t = value x.

  Theorem conic_slope d h z M fixed omega : (column d d <= n)%nat -> sym d M ->
    (forall i j, (j <= i < d)%nat -> fixed (entry d i j) = M i j) -> is_glb (values (column d d) fixed) omega ->
    (forall i, (column d d <= i < n)%nat -> residual h z i = 0) -> all in_dual K z ->
    ip d d (halves d (residual h z)) M - (dot m b z + / 2 * quad n P h - c0) <= omega.
  Proof.
    intros hu hs hM [_ greatest] exact hz. apply greatest. intros t [x [hx [same ->]]].
    pose proof (weak_duality_split (column d d) h z x hu exact hz hx) as g.
    replace (dot (column d d) (residual h z) x) with (ip d d (halves d (residual h z)) M) in g; [lra|].
    transitivity (dot (column d d) (residual h z) fixed); [|apply sum_ext; intros; rewrite same by assumption; reflexivity].
    rewrite triangles. apply ip_ext; auto. intros i j hi hj. unfold symmetric. rewrite hM by lia.
    destruct (Nat.le_ge_cases i j).
    - rewrite Nat.max_r, Nat.min_l by assumption. apply hs; assumption.
    - rewrite Nat.max_l, Nat.min_r by assumption. reflexivity.
  Qed.

  (* The same with the weights of a diagonal metric in the first columns. *)
  Theorem conic_slope_diagonal d h z (w : matrix) omega : (d <= n)%nat -> is_glb (values d (fun i => w i O)) omega ->
    (forall i, (d <= i < n)%nat -> residual h z i = 0) -> all in_dual K z ->
    ip d 1 (fun i _ => residual h z i) w - (dot m b z + / 2 * quad n P h - c0) <= omega.
  Proof.
    intros hu [_ greatest] exact hz. apply greatest. intros t [x [hx [same ->]]].
    pose proof (weak_duality_split d h z x hu exact hz hx) as g.
    replace (dot d (residual h z) x) with (ip d 1 (fun i _ => residual h z i) w) in g; [lra|].
    apply sum_ext; intros i hi. simpl. rewrite same by assumption. ring.
  Qed.

  (* The equation made exact: with spreads w and w_h, N y = -(P h + q + A'z) for the columns from u on, k of them, moves h and
     z to where it holds. *)
  Section Dual.
    Variables (u k : nat) (h z w w_h : vector).
    Definition dual_system : matrix := fun i j =>
      sum n (fun l => P (u + i)%nat l * w_h l * P l (u + j)%nat) + sum m (fun l => A l (u + i)%nat * w l * A l (u + j)%nat).
    Definition moved_z (y : vector) : vector := fun l => z l + w l * dot k (fun j => A l (u + j)%nat) y.
    Definition moved_h (y : vector) : vector := fun l => h l + w_h l * dot k (fun j => P l (u + j)%nat) y.

    Theorem exact_dual y : (forall i, (i < k)%nat -> dot k (dual_system i) y = - residual h z (u + i)%nat) ->
      forall i, (i < k)%nat -> residual (moved_h y) (moved_z y) (u + i)%nat = 0.
    Proof.
      intros solved i hi. specialize (solved i hi). unfold residual, moved_h, moved_z in *.
      rewrite (dot_moved n k _ h w_h (fun l j => P l (u + j)%nat)), (dot_moved m k _ z w (fun l j => A l (u + j)%nat)).
      assert (e : dot k (dual_system i) y =
        sum k (fun j => sum n (fun l => P (u + i)%nat l * w_h l * P l (u + j)%nat) * y j) +
        sum k (fun j => sum m (fun l => A l (u + i)%nat * w l * A l (u + j)%nat) * y j)).
      { rewrite <- sum_plus. apply sum_ext; intros; unfold dual_system; ring. }
      rewrite e in solved. lra.
    Qed.
  End Dual.

  (* The same by the theorem above: z and h below it are one vector of m + n numbers, A and P one matrix, without the first u
     columns. *)
  Definition below (u : nat) : matrix := fun l j => joined m (fun i => A i (u + j)%nat) (fun i => P i (u + j)%nat) l.

  Theorem dual_near u k v W D B y : (u + k <= n)%nat -> let G := below u in let target := fun j => - q (u + j)%nat in
    (forall j, (j < k)%nat -> D j <> 0) -> norm k k (error k B (system (m + n) G W D)) < 1 ->
    exists v1, within (m + n) k G v W target D B y v1 /\
      forall j, (j < k)%nat -> residual (fun i => v1 (m + i)%nat) v1 (u + j)%nat = 0.
  Proof.
    intros hk G target hD small. destruct (near (m + n) k G v W target D B y hD small) as [v1 [close exact]].
    exists v1. split; [assumption|]. intros j hj. specialize (exact j hj). rewrite sum_add in exact.
    unfold G, below, joined, target in exact. unfold residual. rewrite (sum_ext m _ (fun l => A l (u + j)%nat * v1 l)) in exact.
    2:{ intros l hl. rewrite ltb_low by assumption. reflexivity. }
    rewrite (sum_ext n _ (fun l => P (u + j)%nat l * v1 (m + l)%nat)) in exact; [unfold dot; lra|].
    intros l hl. rewrite ltb_high, (P_sym (u + j)%nat l) by lia. replace (m + l - m)%nat with l by lia. reflexivity.
  Qed.

  (* Theorem 12, what a file proves: L bounds the program if all that is within the radii is a dual point of value L or more. *)
  Theorem proven_bound v W D B y L : let G := below 0 in let target := fun j => - q j in
    (forall j, (j < n)%nat -> D j <> 0) -> norm n n (error n B (system (m + n) G W D)) < 1 ->
    (forall v1, within (m + n) n G v W target D B y v1 ->
      all in_dual K v1 /\ L <= - dot m b v1 - / 2 * quad n P (fun i => v1 (m + i)%nat) + c0) ->
    forall x, feasible x -> L <= value x.
  Proof.
    intros G target hD small good x hx.
    destruct (dual_near 0 n v W D B y (le_n n) hD small) as [v1 [close exact]]. destruct (good v1 close) as [hz hL].
    refine (Rle_trans _ _ _ hL _). apply weak_duality; assumption.
  Qed.

  (* The same of a function of the first u entries: a slope and a constant of one dual point within the radii. *)
  Theorem proven_slope u v W D B y : (u <= n)%nat -> let G := below u in let target := fun j => - q (u + j)%nat in
    (forall j, (j < n - u)%nat -> D j <> 0) -> norm (n - u) (n - u) (error (n - u) B (system (m + n) G W D)) < 1 ->
    (forall v1, within (m + n) (n - u) G v W target D B y v1 -> all in_dual K v1) ->
    exists v1, within (m + n) (n - u) G v W target D B y v1 /\ let h := fun i => v1 (m + i)%nat in
      forall x, feasible x -> dot u (residual h v1) x - dot m b v1 - / 2 * quad n P h + c0 <= value x.
  Proof.
    intros hu G target hD small good. destruct (dual_near u (n - u) v W D B y ltac:(lia) hD small) as [v1 [close exact]].
    exists v1. split; [assumption|]. intros h x hx. apply weak_duality_split; auto. intros i hi.
    replace i with (u + (i - u))%nat by lia. apply exact. lia.
  Qed.
End Program.

(* Theorem 12, points: of k equalities, rows e of A, with spreads w, N y = b_e - A_e x moves x to where they hold. *)
Section Point.
  Variables (n k : nat) (A : matrix) (b : vector) (e : nat -> nat) (x w : vector).
  Definition point_system : matrix := fun i j => sum n (fun l => A (e i) l * w l * A (e j) l).
  Definition moved_x (y : vector) : vector := fun l => x l + w l * dot k (fun j => A (e j) l) y.

  Theorem exact_point y : (forall i, (i < k)%nat -> dot k (point_system i) y = b (e i) - dot n (A (e i)) x) ->
    forall i, (i < k)%nat -> dot n (A (e i)) (moved_x y) = b (e i).
  Proof.
    intros solved i hi. unfold moved_x. rewrite (dot_moved n k _ x w (fun l j => A (e j) l)).
    change (sum k _) with (dot k (point_system i) y). rewrite solved by assumption. ring.
  Qed.
End Point.

(* The same by the theorem above, of the first k rows, where the first u entries of x are fixed and p move. *)
Theorem point_near u p k (A : matrix) (b fixed x W D : vector) B y :
  let G := fun l j => A j (u + l)%nat in let target := fun j => b j - dot u (A j) fixed in
  (forall j, (j < k)%nat -> D j <> 0) -> norm k k (error k B (system p G W D)) < 1 ->
  exists x1, within p k G x W target D B y x1 /\ forall j, (j < k)%nat -> b j - dot (u + p) (A j) (joined u fixed x1) = 0.
Proof.
  intros G target hD small. destruct (near p k G x W target D B y hD small) as [x1 [close exact]].
  exists x1. split; [assumption|]. intros j hj. specialize (exact j hj). unfold target in exact.
  replace (dot (u + p) (A j) (joined u fixed x1)) with (dot u (A j) fixed + sum p (fun l => G l j * x1 l)); [lra|].
  unfold dot. rewrite sum_add. f_equal; apply sum_ext; intros l hl; unfold joined.
  - rewrite ltb_low by assumption. reflexivity.
  - rewrite ltb_high. unfold G. f_equal. f_equal. lia.
Qed.
