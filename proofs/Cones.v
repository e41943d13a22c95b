(* Theorem 12, cones: the blocks of a conic program, of which each has the points s and the dual points z, and that every
   dual point has a product with every point that is not negative. *)
From Coq Require Import List.
From Certificates Require Import Sums Losses.

(* The triangle i >= j of a symmetric matrix, column by column: where column j begins, and where the entry (i, j) is. *)
Fixpoint column (n j : nat) : nat := match j with O => O | S k => (column n k + (n - k))%nat end.
Definition entry (n i j : nat) : nat := (column n j + (i - j))%nat.
Definition symmetric (n : nat) (s : vector) : matrix := fun i j => s (entry n (Nat.max i j) (Nat.min i j)).
Definition halves (n : nat) (z : vector) : matrix := fun i j =>
  if Nat.eqb i j then symmetric n z i j else symmetric n z i j / 2.

Lemma sum_columns n k f : sum (column n k) f = sum k (fun j => sum (n - j) (fun t => f (column n j + t)%nat)).
Proof. induction k; [reflexivity|]. simpl. rewrite sum_add, IHk. reflexivity. Qed.

(* The product of two triangles is that of the matrices, with halves off the diagonal of one of them. *)
Theorem triangles n z s : dot (column n n) z s = ip n n (halves n z) (symmetric n s).
Proof.
  set (T := fun i j => if Nat.leb j i then z (entry n i j) * s (entry n i j) else 0).
  assert (lower : dot (column n n) z s = sum n (fun i => sum n (fun j => T i j))).
  { unfold dot. rewrite sum_columns, (sum_swap n n T). apply sum_ext; intros j hj.
    replace n with (j + (n - j))%nat at 2 by lia. rewrite sum_add, (sum_zero j), Rplus_0_l.
    - apply sum_ext; intros t ht. unfold T, entry. destruct (Nat.leb_spec j (j + t)); [|lia].
      replace (j + t - j)%nat with t by lia. reflexivity.
    - intros i hi. unfold T. destruct (Nat.leb_spec j i); [lia|reflexivity]. }
  transitivity (sum n (fun i => sum n (fun j => / 2 * T i j + / 2 * T j i))).
  - rewrite (sum_ext n _ (fun i => / 2 * sum n (fun j => T i j) + / 2 * sum n (fun j => T j i))).
    + rewrite sum_plus, !sum_scale, <- (sum_swap n n T), <- lower. field.
    + intros. rewrite sum_plus, !sum_scale. reflexivity.
  - apply sum_ext; intros i hi. apply sum_ext; intros j hj. unfold T, halves, symmetric.
    destruct (Nat.eqb_spec i j) as [->|ne]; [rewrite Nat.max_id, Nat.min_id, Nat.leb_refl; field|].
    destruct (Nat.leb_spec j i), (Nat.leb_spec i j); try lia.
    + rewrite Nat.max_l, Nat.min_r by lia. field.
    + rewrite Nat.max_r, Nat.min_l by lia. field.
Qed.

Lemma symmetric_sym n s : sym n (symmetric n s).
Proof. intros i j _ _. unfold symmetric. rewrite Nat.max_comm, Nat.min_comm. reflexivity. Qed.

(* x to the power a, 0 at 0. *)
Definition power (a x : R) : R := if Rlt_dec 0 x then exp (a * ln x) else 0.

Inductive cone := zeros (n : nat) | nonnegative (n : nat) | second_order (n : nat) | semidefinite (n : nat)
  | exponentials | powers (alpha : R).

Definition size (c : cone) : nat :=
  match c with
  | zeros n | nonnegative n => n
  | second_order n => S n
  | semidefinite n => column n n
  | exponentials | powers _ => 3
  end.

Definition well_formed (c : cone) : Prop := match c with powers alpha => 0 < alpha < 1 | _ => True end.

Definition vector_norm (n : nat) (x : vector) : R := sqrt (dot n x x).

Definition in_cone (c : cone) (s : vector) : Prop :=
  match c with
  | zeros n => forall i, (i < n)%nat -> s i = 0
  | nonnegative n => forall i, (i < n)%nat -> 0 <= s i
  | second_order n => vector_norm n (fun i => s (S i)) <= s O
  | semidefinite n => psd n (symmetric n s)
  | exponentials => 0 < s 1%nat /\ s 1%nat * exp (s O / s 1%nat) <= s 2%nat \/ s 1%nat = 0 /\ s O <= 0 /\ 0 <= s 2%nat
  | powers alpha => 0 <= s O /\ 0 <= s 1%nat /\ Rabs (s 2%nat) <= power alpha (s O) * power (1 - alpha) (s 1%nat)
  end.

Definition in_dual (c : cone) (z : vector) : Prop :=
  match c with
  | zeros n => True
  | nonnegative n => forall i, (i < n)%nat -> 0 <= z i
  | second_order n => vector_norm n (fun i => z (S i)) <= z O
  | semidefinite n => psd n (halves n z)
  | exponentials => z O < 0 /\ - z O * exp (z 1%nat / z O - 1) <= z 2%nat \/ z O = 0 /\ 0 <= z 1%nat /\ 0 <= z 2%nat
  | powers alpha => 0 <= z O /\ 0 <= z 1%nat /\
      Rabs (z 2%nat) <= power alpha (z O / alpha) * power (1 - alpha) (z 1%nat / (1 - alpha))
  end.

Lemma dot_first n x y : dot (S n) x y = x O * y O + dot n (fun i => x (S i)) (fun i => y (S i)).
Proof. unfold dot. change (S n) with (1 + n)%nat. rewrite sum_add. simpl. ring. Qed.

Lemma cauchy_vector n x y : dot n x y <= vector_norm n x * vector_norm n y.
Proof. apply le_product; try apply sqrt_pos. unfold vector_norm. rewrite !sqrt_sqrt by apply dot_self. apply cauchy_dot. Qed.

Lemma cauchy_abs n x y : Rabs (dot n x y) <= vector_norm n x * vector_norm n y.
Proof.
  apply Rabs_le. split; [|apply cauchy_vector]. pose proof (cauchy_vector n (fun i => -1 * x i) y) as c.
  replace (dot n (fun i => -1 * x i) y) with (-1 * dot n x y) in c
    by (unfold dot; rewrite <- sum_scale; apply sum_ext; intros; ring).
  replace (vector_norm n (fun i => -1 * x i)) with (vector_norm n x) in c; [lra|].
  unfold vector_norm. f_equal. apply sum_ext; intros; ring.
Qed.

Theorem dual_second_order n z s : in_dual (second_order n) z -> in_cone (second_order n) s -> 0 <= dot (S n) z s.
Proof.
  simpl. intros hz hs. rewrite dot_first. set (u := fun i => z (S i)) in *. set (x := fun i => s (S i)) in *.
  pose proof (Rmult_le_compat _ _ _ _ (sqrt_pos _ : 0 <= vector_norm n u) (sqrt_pos _ : 0 <= vector_norm n x) hz hs).
  pose proof (cauchy_abs n u x) as c. pose proof (Rle_abs (- dot n u x)) as low. rewrite Rabs_Ropp in low. lra.
Qed.

Theorem dual_semidefinite n z s : in_dual (semidefinite n) z -> in_cone (semidefinite n) s -> 0 <= dot (column n n) z s.
Proof. simpl. intros hz hs. rewrite triangles. apply psd_ip; auto. apply symmetric_sym. Qed.

Theorem dual_exponentials z s : in_dual exponentials z -> in_cone exponentials s -> 0 <= dot 3 z s.
Proof.
  simpl. unfold dot. simpl. generalize (z O) (z 1%nat) (z 2%nat) (s O) (s 1%nat) (s 2%nat). intros u v' w x y t hz hs.
  destruct hz as [[hu hw]|[-> [hv hw]]].
  - assert (pos : 0 < exp (v' / u - 1)) by apply exp_pos.
    destruct hs as [[hy ht]|[-> [hx ht]]].
    + assert (g : - u * exp (v' / u - 1) * (y * exp (x / y)) <= w * t).
      { apply Rmult_le_compat; try assumption; [nra|]. pose proof (exp_pos (x / y)). nra. }
      replace (- u * exp (v' / u - 1) * (y * exp (x / y))) with (- u * y * exp (v' / u - 1 + x / y)) in g
        by (rewrite exp_plus; ring).
      pose proof (exp_line (v' / u - 1 + x / y)) as line. apply (Rmult_le_compat_l (- u * y)) in line; [|nra].
      replace (- u * y * (1 + (v' / u - 1 + x / y))) with (- v' * y - u * x) in line by (field; lra). lra.
    + assert (0 <= w) by nra. nra.
  - destruct hs as [[hy ht]|[-> [hx ht]]]; [|nra]. assert (0 <= t) by (pose proof (exp_pos (x / y)); nra). nra.
Qed.

(* Of the exponential cone the points with y = 0 are those that the others come near to: it is a closure. *)
Lemma exponentials_bipolar s : (forall z, in_dual exponentials z -> 0 <= dot 3 z s) -> in_cone exponentials s.
Proof.
  intros h. assert (each : forall u v w, in_dual exponentials (fun i => match i with O => u | 1%nat => v | _ => w end) ->
    0 <= u * s O + v * s 1%nat + w * s 2%nat).
  { intros u v w hz. specialize (h _ hz). unfold dot in h. simpl in h. lra. }
  simpl in each. assert (hy : 0 <= s 1%nat) by (specialize (each 0 1 0); lra).
  assert (ht : 0 <= s 2%nat) by (specialize (each 0 0 1); lra).
  (* The dual point of a level c. *)
  assert (level : forall c, exp c * s O <= exp c * (c - 1) * s 1%nat + s 2%nat).
  { intros c. pose proof (exp_pos c). specialize (each (- exp c) (exp c * (c - 1)) 1).
    enough (0 <= - exp c * s O + exp c * (c - 1) * s 1%nat + 1 * s 2%nat) by lra. apply each. left. split; [lra|].
    replace (exp c * (c - 1) / - exp c - 1) with (- c) by (field; lra).
    rewrite Ropp_involutive, <- exp_plus. replace (c + - c) with 0 by ring. rewrite exp_0. lra. }
  simpl. destruct (Rle_lt_or_eq_dec 0 _ hy) as [pos|zero]; [left|right].
  - split; [assumption|]. specialize (level (s O / s 1%nat)).
    replace (exp (s O / s 1%nat) * (s O / s 1%nat - 1) * s 1%nat)
      with (exp (s O / s 1%nat) * s O - exp (s O / s 1%nat) * s 1%nat) in level by (field; lra). lra.
  - split; [lra|split; [|assumption]]. apply Rnot_lt_le; intros hx. specialize (level (s 2%nat / s O)).
    pose proof (exp_line (s 2%nat / s O)) as line. apply (Rmult_le_compat_r (s O)) in line; [|lra].
    replace ((1 + s 2%nat / s O) * s O) with (s O + s 2%nat) in line by (field; lra). rewrite <- zero in level. lra.
Qed.

Theorem exponentials_closure s : in_cone exponentials s <-> forall eps, 0 < eps -> exists t,
  0 < t 1%nat /\ t 1%nat * exp (t O / t 1%nat) <= t 2%nat /\ forall i, (i < 3)%nat -> Rabs (t i - s i) <= eps.
Proof.
  split.
  - intros hs eps he. simpl in hs. destruct hs as [[hy hz]|[hy [hx hz]]].
    + exists s. repeat split; auto. intros. rewrite Rminus_eq_0, Rabs_R0. lra.
    + exists (fun i => match i with O => s O | 1%nat => eps | _ => s 2%nat + eps end). split; [assumption|].
      assert (small : exp (s O / eps) <= 1).
      { rewrite <- exp_0. assert (ie : 0 < / eps) by (apply Rinv_0_lt_compat; assumption).
        assert (s O / eps <= 0) as [lt|eq] by (unfold Rdiv; nra); [apply Rlt_le, exp_increasing; assumption|rewrite eq; lra]. }
      split; [nra|]. intros i hi. destruct i as [|[|[|]]]; try lia; unfold Rabs; destruct (Rcase_abs _); lra.
  - intros close. apply exponentials_bipolar. intros z hz. apply Rnot_lt_le; intros neg.
    set (size := Rabs (z O) + Rabs (z 1%nat) + Rabs (z 2%nat)).
    assert (hsize : 0 <= size) by (repeat apply Rplus_le_le_0_compat; apply Rabs_pos).
    set (eps := - dot 3 z s / (size + 1)). assert (he : 0 < eps) by (apply Rdiv_lt_0_compat; lra).
    destruct (close eps he) as [t [ty [tz near]]].
    pose proof (dual_exponentials z t hz (or_introl (conj ty tz))) as p.
    assert (each : forall i, (i < 3)%nat -> z i * t i <= z i * s i + Rabs (z i) * eps).
    { intros i hi. pose proof (Rle_abs (z i * (t i - s i))) as a. rewrite Rabs_mult in a.
      pose proof (Rmult_le_compat_l _ _ _ (Rabs_pos (z i)) (near i hi)). lra. }
    pose proof (each 0%nat ltac:(lia)). pose proof (each 1%nat ltac:(lia)). pose proof (each 2%nat ltac:(lia)).
    assert (total : - dot 3 z s = eps * (size + 1)) by (unfold eps; field; lra).
    unfold dot in p, total. simpl in p, total. unfold size in total. nra.
Qed.

Lemma power_nonneg a x : 0 <= power a x.
Proof. unfold power. destruct (Rlt_dec 0 x); [apply Rlt_le, exp_pos|lra]. Qed.

Lemma power_mult a x y : 0 <= x -> 0 <= y -> power a (x * y) = power a x * power a y.
Proof.
  intros hx hy. destruct hx as [hx|<-]; [|unfold power; rewrite Rmult_0_l; destruct (Rlt_dec 0 0); lra].
  destruct hy as [hy|<-]; [|unfold power; rewrite Rmult_0_r; destruct (Rlt_dec 0 0); lra].
  unfold power. pose proof (Rmult_lt_0_compat x y hx hy).
  destruct (Rlt_dec 0 x); [|lra]. destruct (Rlt_dec 0 y); [|lra]. destruct (Rlt_dec 0 (x * y)); [|lra].
  rewrite ln_mult, <- exp_plus by assumption. f_equal. ring.
Qed.

(* The weighted means, arithmetic and geometric. *)
Lemma means a p q : 0 < a < 1 -> 0 <= p -> 0 <= q -> power a p * power (1 - a) q <= a * p + (1 - a) * q.
Proof.
  intros ha hp hq. assert (0 <= a * p + (1 - a) * q) by nra.
  unfold power. destruct (Rlt_dec 0 p) as [pp|]; [|rewrite Rmult_0_l; assumption].
  destruct (Rlt_dec 0 q) as [pq|]; [|rewrite Rmult_0_r; assumption]. rewrite <- exp_plus.
  set (L := a * ln p + (1 - a) * ln q). pose proof (exp_pos L).
  assert (each : forall x, 0 < x -> exp L * (1 + (ln x - L)) <= x).
  { intros x hx. rewrite <- (exp_ln x) at 2 by assumption. replace (ln x) with (L + (ln x - L)) at 2 by ring.
    rewrite exp_plus. apply Rmult_le_compat_l; [lra|apply exp_line]. }
  pose proof (each p pp) as ep. pose proof (each q pq) as eq.
  apply (Rmult_le_compat_l a) in ep; [|lra]. apply (Rmult_le_compat_l (1 - a)) in eq; [|lra].
  replace (exp L) with (a * (exp L * (1 + (ln p - L))) + (1 - a) * (exp L * (1 + (ln q - L)))) at 1; [lra|].
  unfold L. ring.
Qed.

Theorem dual_powers alpha z s : 0 < alpha < 1 -> in_dual (powers alpha) z -> in_cone (powers alpha) s -> 0 <= dot 3 z s.
Proof.
  intros ha. simpl. unfold dot. simpl. generalize (z O) (z 1%nat) (z 2%nat) (s O) (s 1%nat) (s 2%nat).
  intros u v' w x y t [hu [hv hw]] [hx [hy ht]].
  assert (0 <= u / alpha) by (apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; lra]).
  assert (0 <= v' / (1 - alpha)) by (apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; lra]).
  pose proof (Rmult_le_compat _ _ _ _ (Rabs_pos w) (Rabs_pos t) hw ht) as g. rewrite <- Rabs_mult in g.
  replace (_ * _ * (_ * _)) with (power alpha (u / alpha * x) * power (1 - alpha) (v' / (1 - alpha) * y)) in g.
  2:{ rewrite !power_mult by assumption. ring. }
  pose proof (means alpha (u / alpha * x) (v' / (1 - alpha) * y) ha ltac:(nra) ltac:(nra)) as m.
  replace (alpha * _ + _) with (u * x + v' * y) in m by (field; lra).
  pose proof (Rle_abs (- (w * t))) as low. rewrite Rabs_Ropp in low. lra.
Qed.

Theorem dual_cone c z s : well_formed c -> in_dual c z -> in_cone c s -> 0 <= dot (size c) z s.
Proof.
  destruct c; intros hc hz hs.
  - apply sum_nonneg; intros i hi. rewrite hs by assumption. lra.
  - apply sum_nonneg; intros i hi. apply Rmult_le_pos; auto.
  - apply dual_second_order; assumption.
  - apply dual_semidefinite; assumption.
  - apply dual_exponentials; assumption.
  - apply (dual_powers alpha); assumption.
Qed.

(* How points of these two are shown, by logarithms. *)
Theorem exponentials_by_logs s : 0 < s 1%nat -> 0 < s 2%nat -> s O <= s 1%nat * ln (s 2%nat / s 1%nat) ->
  in_cone exponentials s.
Proof.
  intros hy hz h. left. split; [assumption|]. assert (0 < s 2%nat / s 1%nat) by (apply Rdiv_lt_0_compat; assumption).
  assert (le : exp (s O / s 1%nat) <= s 2%nat / s 1%nat).
  { rewrite <- (exp_ln (s 2%nat / s 1%nat)) by assumption.
    assert (s O / s 1%nat <= ln (s 2%nat / s 1%nat)) as [lt|eq]; [|apply Rlt_le, exp_increasing; assumption|rewrite eq; lra].
    apply Rmult_le_reg_l with (s 1%nat); [assumption|].
    replace (s 1%nat * (s O / s 1%nat)) with (s O) by (field; lra). assumption. }
  apply (Rmult_le_compat_l (s 1%nat)) in le; [|lra]. replace (s 1%nat * (s 2%nat / s 1%nat)) with (s 2%nat) in le by (field; lra).
  assumption.
Qed.

Lemma abs_within x c : Rabs x <= c -> - c <= x <= c.
Proof. unfold Rabs. destruct (Rcase_abs x); lra. Qed.

(* A dual point (u, v, w) is one for which (u - v, -u, w) is in the cone itself; so the dual cone is a closure, too. *)
Definition turned (z : vector) : vector := fun i => match i with O => z O - z 1%nat | 1%nat => - z O | _ => z 2%nat end.

Theorem dual_exponentials_turned z : in_dual exponentials z <-> in_cone exponentials (turned z).
Proof.
  assert (e : z O < 0 -> z 1%nat / z O - 1 = (z O - z 1%nat) / - z O) by (intros; field; lra).
  simpl. split; (intros [[h1 h2]|[h1 [h2 h3]]]; [left|right; repeat split; lra]).
  - rewrite e in h2 by assumption. split; [lra|assumption].
  - rewrite e by lra. split; [lra|assumption].
Qed.

Theorem dual_exponentials_closure z : in_dual exponentials z <-> forall eps, 0 < eps -> exists t,
  t O < 0 /\ - t O * exp (t 1%nat / t O - 1) <= t 2%nat /\ forall i, (i < 3)%nat -> Rabs (t i - z i) <= eps.
Proof.
  rewrite dual_exponentials_turned, exponentials_closure. split; intros h eps he.
  - destruct (h (eps / 2)) as [s [hy [hs near]]]; [lra|].
    exists (fun i => match i with O => - s 1%nat | 1%nat => - s 1%nat - s O | _ => s 2%nat end). split; [lra|split].
    + replace ((- s 1%nat - s O) / - s 1%nat - 1) with (s O / s 1%nat) by (field; lra). lra.
    + pose proof (abs_within _ _ (near 0%nat ltac:(lia))) as n0. pose proof (abs_within _ _ (near 1%nat ltac:(lia))) as n1.
      pose proof (abs_within _ _ (near 2%nat ltac:(lia))) as n2.
      simpl in n0, n1, n2. intros i hi. apply Rabs_le. destruct i as [|[|[|]]]; try lia; lra.
  - destruct (h (eps / 2)) as [t [hu [ht near]]]; [lra|].
    exists (turned t). simpl. split; [lra|split].
    + replace ((t O - t 1%nat) / - t O) with (t 1%nat / t O - 1) by (field; lra). assumption.
    + pose proof (abs_within _ _ (near 0%nat ltac:(lia))) as n0. pose proof (abs_within _ _ (near 1%nat ltac:(lia))) as n1.
      pose proof (abs_within _ _ (near 2%nat ltac:(lia))) as n2.
      intros i hi. apply Rabs_le. destruct i as [|[|[|]]]; try lia; simpl; lra.
Qed.

Theorem powers_by_logs alpha s c : 0 < s O -> 0 < s 1%nat -> 0 < c -> Rabs (s 2%nat) <= c ->
  ln c <= alpha * ln (s O) + (1 - alpha) * ln (s 1%nat) -> in_cone (powers alpha) s.
Proof.
  intros hx hy hc hz h. simpl. repeat split; try lra. apply Rle_trans with c; [assumption|]. unfold power.
  destruct (Rlt_dec 0 (s O)); [|lra]. destruct (Rlt_dec 0 (s 1%nat)); [|lra]. rewrite <- exp_plus, <- (exp_ln c) by assumption.
  destruct h as [lt|eq]; [apply Rlt_le, exp_increasing; assumption|rewrite eq; lra].
Qed.

Theorem dual_powers_scaled alpha z : 0 <= z O -> 0 <= z 1%nat ->
  in_cone (powers alpha) (fun i => match i with O => z O / alpha | 1%nat => z 1%nat / (1 - alpha) | _ => z 2%nat end) ->
  in_dual (powers alpha) z.
Proof. intros hu hv [_ [_ h]]. repeat split; assumption. Qed.

(* Products of cones: a list of blocks, one behind the other. *)
Fixpoint rows (K : list cone) : nat := match K with nil => O | c :: L => (size c + rows L)%nat end.
Fixpoint all (member : cone -> vector -> Prop) (K : list cone) (s : vector) : Prop :=
  match K with nil => True | c :: L => member c s /\ all member L (fun i => s (size c + i)%nat) end.

Theorem dual_product K : forall z s, Forall well_formed K -> all in_dual K z -> all in_cone K s -> 0 <= dot (rows K) z s.
Proof.
  induction K as [|c L IH]; intros z s hK hz hs; [simpl; unfold dot; simpl; lra|].
  inversion hK; subst. destruct hz as [z1 z2], hs as [s1 s2].
  assert (e : dot (rows (c :: L)) z s =
    dot (size c) z s + dot (rows L) (fun i => z (size c + i)%nat) (fun i => s (size c + i)%nat)).
  { unfold dot. simpl. rewrite sum_add. reflexivity. }
  rewrite e. pose proof (dual_cone c z s ltac:(assumption) z1 s1).
  pose proof (IH (fun i => z (size c + i)%nat) (fun i => s (size c + i)%nat) ltac:(assumption) z2 s2). lra.
Qed.
