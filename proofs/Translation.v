(* Theorems 13 to 20: a conic program as its user's library makes it. Its quadratic term need not be symmetric, equations
   may follow from others, or leave points no room, what lacks convexity by rounding may be charged, and right-hand sides
   may be known within radii only. The last theorems say what a file proves of it. *)
From Coq Require Import List.
From Certificates Require Import Sums Spectra Determinants Slopes Cones Programs.

(* Theorem 13. *)
Definition average (P : matrix) : matrix := fun i j => (P i j + P j i) / 2.

Theorem averages n P x : quad n P x = quad n (average P) x.
Proof.
  assert (turned : quad n P x = quad n (fun i j => P j i) x).
  { unfold quad. rewrite sum_swap. apply sum_ext; intros i hi. apply sum_ext; intros j hj. ring. }
  assert (both : quad n (average P) x = / 2 * quad n P x + / 2 * quad n (fun i j => P j i) x).
  { rewrite !quad_ip, <- ip_lin. apply ip_ext; auto. intros. unfold average. field. }
  lra.
Qed.

(* What a file holds of a system of equations, and a checker finds: those that follow, with their relations; pivots; the
   equations that remain, all by their numbers; values and spreads of unknowns, both zero for those of pivots and a spread of
   zero for what is held; and for the solve of what remains scales of equations, an inverse and a solution. None of it is
   trusted. *)
Record steps := {
  followers : nat; follow : nat -> nat; relation : matrix;
  pivots : nat; pivot_equation : nat -> nat; pivot_unknown : nat -> nat;
  remaining : nat; remaining_equation : nat -> nat;
  near_value : vector; spread : vector;
  scale : vector; inverse : matrix; guess : vector }.

Lemma named f (F : nat -> nat) i : (exists k, (k < f)%nat /\ i = F k) \/ forall k, (k < f)%nat -> i <> F k.
Proof.
  induction f as [|f [[k [hk e]]|other]]; [right; intros; lia|left; exists k; auto|].
  destruct (Nat.eq_dec i (F f)) as [e|ne]; [left; exists f; auto|right].
  intros k hk. destruct (Nat.eq_dec k f) as [->|]; [assumption|apply other; lia].
Qed.

Section System.
  Variables (r s : nat) (M : matrix) (t : vector) (o : steps).

  Definition solves (y : vector) (i : nat) : Prop := dot s (M i) y = t i.

  (* Relations W with W'M = 0 and W't = 0. *)
  Definition related : Prop := forall k, (k < followers o)%nat ->
    (forall l, (l < s)%nat -> sum r (fun i => relation o i k * M i l) = 0) /\ sum r (fun i => relation o i k * t i) = 0 /\
    (follow o k < r)%nat /\ relation o (follow o k) k <> 0 /\
    forall l, (l < followers o)%nat -> l <> k -> relation o (follow o l) k = 0.

  (* Theorem 14. *)
  Theorem rows_that_follow y : related ->
    (forall i, (i < r)%nat -> (forall k, (k < followers o)%nat -> i <> follow o k) -> solves y i) ->
    forall i, (i < r)%nat -> solves y i.
  Proof.
    intros hW others i hi. destruct (named (followers o) (follow o) i) as [[k [hk ->]]|other]; [|apply others; assumption].
    destruct (hW k hk) as [hM [ht [_ [nz alone]]]]. set (missed := fun i => dot s (M i) y - t i).
    assert (zero : sum r (fun i => relation o i k * missed i) = 0).
    { transitivity (dot s (fun l => sum r (fun i => relation o i k * M i l)) y - sum r (fun i => relation o i k * t i)).
      - rewrite dot_sum, <- sum_minus. apply sum_ext; intros; unfold missed; ring.
      - rewrite ht. unfold dot. rewrite sum_zero; [ring|]. intros l hl. rewrite hM by assumption. ring. }
    rewrite (sum_only r _ (follow o k) hi) in zero.
    - apply Rmult_integral in zero. unfold solves, missed in *. destruct zero; [contradiction|lra].
    - intros j hj ne. destruct (named (followers o) (follow o) j) as [[l [hl ->]]|other].
      + rewrite alone; [ring|assumption|congruence].
      + unfold missed. rewrite (others j hj other). ring.
  Qed.

  (* Pivots, and what they leave of an equation. *)
  Definition pivoted : Prop := forall k, (k < pivots o)%nat -> (pivot_unknown o k < s)%nat /\
    M (pivot_equation o k) (pivot_unknown o k) <> 0 /\
    forall l, (l < pivots o)%nat -> l <> k -> M (pivot_equation o k) (pivot_unknown o l) = 0.

  Definition multiple (i k : nat) : R := M i (pivot_unknown o k) / M (pivot_equation o k) (pivot_unknown o k).
  Definition reduced : matrix := fun i l => M i l - sum (pivots o) (fun k => multiple i k * M (pivot_equation o k) l).
  Definition reduced_side : vector := fun i => t i - sum (pivots o) (fun k => multiple i k * t (pivot_equation o k)).

  (* The unknowns of pivots are found; in y they are zero, which is not needed. *)
  Definition found (y : vector) (k : nat) : R :=
    (t (pivot_equation o k) - dot s (M (pivot_equation o k)) y) / M (pivot_equation o k) (pivot_unknown o k).
  Definition filled (y : vector) : vector := fun l =>
    y l + sum (pivots o) (fun k => if Nat.eqb l (pivot_unknown o k) then found y k else 0).

  Lemma dot_filled y i : pivoted ->
    dot s (M i) (filled y) = dot s (M i) y + sum (pivots o) (fun k => M i (pivot_unknown o k) * found y k).
  Proof.
    intros hp. unfold filled. rewrite dot_plus. f_equal. unfold dot.
    rewrite (sum_ext s _ (fun l => sum (pivots o) (fun k => M i l * if Nat.eqb l (pivot_unknown o k) then found y k else 0)))
      by (intros; rewrite <- sum_scale; reflexivity).
    rewrite sum_swap. apply sum_ext; intros k hk. destruct (hp k hk) as [hu _].
    rewrite (sum_only s _ (pivot_unknown o k) hu); [rewrite Nat.eqb_refl; reflexivity|].
    intros l hl ne. destruct (Nat.eqb_spec l (pivot_unknown o k)); [contradiction|ring].
  Qed.

  (* Theorem 15. *)
  Theorem elimination y : pivoted -> (forall k, (k < pivots o)%nat -> solves (filled y) (pivot_equation o k)) /\
    forall i, dot s (reduced i) y = reduced_side i -> solves (filled y) i.
  Proof.
    intros hp. unfold solves. split.
    - intros k hk. destruct (hp k hk) as [_ [nz alone]]. rewrite dot_filled by assumption. rewrite (sum_only _ _ k hk).
      + unfold found. field. assumption.
      + intros l hl ne. rewrite alone by assumption. ring.
    - intros i hi. rewrite dot_filled by assumption.
      assert (e : dot s (reduced i) y =
        dot s (M i) y - sum (pivots o) (fun k => multiple i k * dot s (M (pivot_equation o k)) y)).
      { rewrite <- dot_sum. unfold dot, reduced. rewrite <- sum_minus. apply sum_ext; intros; ring. }
      rewrite e in hi. unfold reduced_side in hi.
      replace (sum (pivots o) (fun k => M i (pivot_unknown o k) * found y k))
        with (sum (pivots o) (fun k => multiple i k * t (pivot_equation o k)) -
          sum (pivots o) (fun k => multiple i k * dot s (M (pivot_equation o k)) y)); [lra|].
      rewrite <- sum_minus. apply sum_ext; intros k hk. destruct (hp k hk) as [_ [nz _]]. unfold multiple, found.
      field. assumption.
  Qed.

  (* An equation of unknowns alone that are held, at values that satisfy it. *)
  Definition settled (i : nat) : Prop := dot s (M i) (near_value o) = t i /\ forall l, (l < s)%nat ->
    spread o l <> 0 \/ (exists k, (k < pivots o)%nat /\ l = pivot_unknown o k) -> M i l = 0.

  (* There are no other equations. *)
  Definition accounted : Prop := forall i, (i < r)%nat ->
    (exists k, (k < followers o)%nat /\ i = follow o k) \/ (exists k, (k < pivots o)%nat /\ i = pivot_equation o k) \/
    (exists j, (j < remaining o)%nat /\ i = remaining_equation o j) \/ settled i.

  Theorem system_solved y : related -> pivoted -> accounted ->
    (forall j, (j < remaining o)%nat -> dot s (reduced (remaining_equation o j)) y = reduced_side (remaining_equation o j)) ->
    (forall l, (l < s)%nat -> spread o l = 0 -> y l = near_value o l) -> forall i, (i < r)%nat -> solves (filled y) i.
  Proof.
    intros hW hp hall solved held. apply rows_that_follow; [assumption|]. intros i hi other.
    destruct (elimination y hp) as [pivot rest]. destruct (hall i hi) as [[k [hk e]]|[[k [hk ->]]|[[j [hj ->]]|[value free]]]].
    - contradiction (other k hk e).
    - apply pivot; assumption.
    - apply rest, solved; assumption.
    - unfold solves. rewrite dot_filled, <- value by assumption.
      rewrite (sum_zero (pivots o)), Rplus_0_r.
      + apply sum_ext; intros l hl. destruct (Req_dec (spread o l) 0) as [z|nz]; [rewrite held by assumption; reflexivity|].
        rewrite free by auto. ring.
      + intros k hk. destruct (hp k hk) as [hu _]. rewrite free; [ring|assumption|right; exists k; auto].
  Qed.

  (* By the verified solve there is such a y, near the values of the file. *)
  Let G : matrix := fun l j => reduced (remaining_equation o j) l.
  Let target : vector := fun j => reduced_side (remaining_equation o j).
  Definition verified : Prop := (forall j, (j < remaining o)%nat -> scale o j <> 0) /\
    norm (remaining o) (remaining o) (error (remaining o) (inverse o) (system s G (spread o) (scale o))) < 1.
  Definition inside (y : vector) : Prop :=
    within s (remaining o) G (near_value o) (spread o) target (scale o) (inverse o) (guess o) y.

  Theorem system_near : related -> pivoted -> accounted -> verified ->
    exists y, inside y /\ forall i, (i < r)%nat -> solves (filled y) i.
  Proof.
    intros hW hp hall [hD small].
    destruct (near s (remaining o) G (near_value o) (spread o) target (scale o) (inverse o) (guess o) hD small)
      as [y [close exact]].
    exists y. split; [assumption|]. apply system_solved; try assumption.
    intros l hl z. specialize (close l hl). unfold moved in close. rewrite z, Rabs_R0, !Rmult_0_l, Rplus_0_r in close.
    apply abs_within in close. lra.
  Qed.
End System.

(* Theorem 14, examples. A row that is a sum of multiples of others, with its side, *)
Theorem combination s r (M : matrix) (t c : vector) i y : (forall l, (l < s)%nat -> M i l = sum r (fun j => c j * M j l)) ->
  t i = sum r (fun j => c j * t j) -> (forall j, (j < r)%nat -> c j <> 0 -> solves s M t y j) -> solves s M t y i.
Proof.
  intros hM ht others. unfold solves in *. rewrite ht.
  transitivity (dot s (fun l => sum r (fun j => c j * M j l)) y).
  - apply sum_ext; intros l hl. rewrite hM by assumption. reflexivity.
  - rewrite dot_sum. apply sum_ext; intros j hj. destruct (Req_dec (c j) 0) as [->|nz]; [ring|].
    rewrite others by assumption. reflexivity.
Qed.

(* and two opposite inequalities: neither has room, so that the one is tight and the other follows. *)
Theorem opposite n (A : matrix) (b : vector) c i k x : 0 < c -> (forall l, (l < n)%nat -> A k l = - c * A i l) ->
  b k = - c * b i -> 0 <= b i - dot n (A i) x -> 0 <= b k - dot n (A k) x ->
  b i - dot n (A i) x = 0 /\ b k - dot n (A k) x = 0.
Proof.
  intros hc hA hb hi hk. assert (e : dot n (A k) x = - c * dot n (A i) x).
  { unfold dot. rewrite <- sum_scale. apply sum_ext; intros l hl. rewrite hA by assumption. ring. }
  rewrite e, hb in *. split; nra.
Qed.

(* Points and dual points that are zero, block by block. *)
Lemma power_zero a : power a 0 = 0.
Proof. unfold power. destruct (Rlt_dec 0 0); lra. Qed.

Lemma norm_zero n : vector_norm n (fun _ => 0) = 0.
Proof. unfold vector_norm, dot. rewrite sum_zero by (intros; ring). apply sqrt_0. Qed.

Theorem zero_inside c : in_cone c (fun _ => 0).
Proof.
  destruct c; simpl; intros; try (rewrite norm_zero); try lra.
  - intros x. apply Req_le. symmetry. apply sum_zero; intros. apply sum_zero; intros. unfold symmetric. ring.
  - rewrite Rabs_R0, power_zero. lra.
Qed.

(* Theorem 16. A block of which no row has a multiplier is well where it is, and so is a nonnegative row; *)
Theorem no_multiplier c : in_dual c (fun _ => 0).
Proof.
  destruct c; simpl; intros; try (rewrite norm_zero); try lra; auto.
  - intros x. apply Req_le. symmetry. apply sum_zero; intros. apply sum_zero; intros. unfold halves, symmetric.
    destruct (Nat.eqb _ _); field.
  - rewrite Rabs_R0. pose proof (power_nonneg alpha (0 / alpha)). pose proof (power_nonneg (1 - alpha) (0 / (1 - alpha))).
    split; [|split]; try lra. apply Rmult_le_pos; assumption.
Qed.

(* s with zeros in some places. *)
Definition masked (zero : nat -> bool) (s : vector) : vector := fun i => if zero i then 0 else s i.

Theorem no_multipliers n zero z : in_dual (nonnegative n) z -> in_dual (nonnegative n) (masked zero z).
Proof. simpl. intros h i hi. unfold masked. destruct (zero i); [lra|auto]. Qed.

(* a variable without a cost that stands in such rows alone makes the equation 0 = 0. *)
Theorem idle n (P : matrix) (q : vector) (A : matrix) K h z i : (forall j, (j < rows K)%nat -> z j = 0 \/ A j i = 0) ->
  q i = 0 -> (forall l, (l < n)%nat -> P i l = 0) -> residual n P q A K h z i = 0.
Proof.
  intros hA hq hP. unfold residual. rewrite hq. unfold dot. rewrite (sum_zero n), (sum_zero (rows K)); [ring| |].
  - intros j hj. destruct (hA j hj) as [-> | ->]; ring.
  - intros l hl. rewrite hP by assumption. ring.
Qed.

(* Theorem 17. Rows that are known to be zero are as well as zero. *)
Lemma entry_below n i j : (j <= i < n)%nat -> (entry n i j < column n n)%nat.
Proof.
  intros h. assert (up : forall k, (S j <= k)%nat -> (column n (S j) <= column n k)%nat).
  { induction 1; simpl in *; lia. }
  specialize (up n ltac:(lia)). unfold entry. simpl in up. lia.
Qed.

Lemma in_cone_ext c s s' : (forall i, (i < size c)%nat -> s i = s' i) -> in_cone c s -> in_cone c s'.
Proof.
  destruct c; simpl; intros e h; try (intros i hi; rewrite <- e by assumption; auto); try (rewrite <- !e by lia; exact h).
  - rewrite <- e by lia. rewrite (vector_norm_ext n _ (fun i => s (S i))); [exact h|]. intros. rewrite e by lia. reflexivity.
  - intros x. rewrite (quad_ip n _ x), (ip_ext n n _ (symmetric n s) _ (fun i j => x i * x j)), <- quad_ip; auto.
    intros i j hi hj. symmetry. apply e, entry_below. lia.
Qed.

Theorem tight_rows K zero : forall s, (forall i, (i < rows K)%nat -> zero i = true -> s i = 0) ->
  all in_cone K (masked zero s) -> all in_cone K s.
Proof.
  enough (ext : forall s s', (forall i, (i < rows K)%nat -> s i = s' i) -> all in_cone K s -> all in_cone K s').
  { intros s hs. apply ext. intros i hi. unfold masked. specialize (hs i hi). destruct (zero i); [rewrite hs; auto|reflexivity]. }
  induction K as [|c L IH]; intros s s' e; simpl in *; [auto|]. intros [h1 h2]. split.
  - apply in_cone_ext with s; [|assumption]. intros. apply e. lia.
  - apply IH with (fun i => s (size c + i)%nat); [|assumption]. intros. apply e. lia.
Qed.

(* Of a matrix rows and columns that are zero may be left out: the others have the numbers kept j, j < k. *)
Lemma sum_kept n k (kept : nat -> nat) f : (forall j, (j < k)%nat -> (kept j < n)%nat) ->
  (forall i j, (i < k)%nat -> (j < k)%nat -> kept i = kept j -> i = j) ->
  (forall i, (i < n)%nat -> (forall j, (j < k)%nat -> i <> kept j) -> f i = 0) -> sum n f = sum k (fun j => f (kept j)).
Proof.
  intros low once zero. transitivity (sum n (fun i => sum k (fun j => if Nat.eqb i (kept j) then f i else 0))).
  - apply sum_ext; intros i hi. destruct (named k kept i) as [[j [hj e]]|other].
    + rewrite (sum_only k _ j hj); [rewrite e, Nat.eqb_refl; reflexivity|]. intros l hl ne.
      destruct (Nat.eqb_spec i (kept l)); [exfalso; apply ne, once; congruence|reflexivity].
    + rewrite sum_zero; [auto|]. intros j hj. destruct (Nat.eqb_spec i (kept j)); [contradiction (other j hj)|reflexivity].
  - rewrite sum_swap. apply sum_ext; intros j hj. rewrite (sum_only n _ (kept j) (low j hj));
      [rewrite Nat.eqb_refl; reflexivity|]. intros i hi ne. destruct (Nat.eqb_spec i (kept j)); [contradiction|reflexivity].
Qed.

Theorem zero_rows_left_out n k (kept : nat -> nat) X : (forall j, (j < k)%nat -> (kept j < n)%nat) ->
  (forall i j, (i < k)%nat -> (j < k)%nat -> kept i = kept j -> i = j) ->
  (forall i l, (i < n)%nat -> (l < n)%nat -> (forall j, (j < k)%nat -> i <> kept j) -> X i l = 0 /\ X l i = 0) ->
  psd k (fun i j => X (kept i) (kept j)) -> psd n X.
Proof.
  intros low once zero h x. unfold quad. rewrite (sum_kept n k kept _ low once).
  - rewrite (sum_ext k _ (fun i => sum k (fun j => x (kept i) * X (kept i) (kept j) * x (kept j)))).
    + apply (h (fun j => x (kept j))).
    + intros i hi. rewrite (sum_kept n k kept); auto. intros l hl other.
      destruct (zero l (kept i) hl (low i hi) other) as [_ ->]. ring.
  - intros i hi other. apply sum_zero; intros l hl. destruct (zero i l hi hl other) as [-> _]. ring.
Qed.

(* Theorem 18. *)
Definition charged (P : matrix) (e : vector) : matrix := fun i j => average P i j + if Nat.eqb i j then e i else 0.

Lemma charged_sym n P e : sym n (charged P e).
Proof.
  intros i j _ _. unfold charged, average. destruct (Nat.eqb_spec i j) as [->|ne]; [rewrite Nat.eqb_refl; reflexivity|].
  destruct (Nat.eqb_spec j i); [congruence|]. field.
Qed.

Lemma charged_quad n P e x : quad n (charged P e) x = quad n P x + sum n (fun j => e j * (x j * x j)).
Proof.
  rewrite (averages n P x), !quad_ip.
  rewrite (ip_ext n n _ (fun i j => 1 * average P i j + 1 * (if Nat.eqb i j then e i else 0)) _ (fun i j => x i * x j)); auto.
  2:{ intros. unfold charged. ring. }
  rewrite ip_lin, !Rmult_1_l. f_equal. apply sum_ext; intros i hi. rewrite (sum_only n _ i hi).
  - rewrite Nat.eqb_refl. reflexivity.
  - intros j hj ne. destruct (Nat.eqb_spec i j); [congruence|ring].
Qed.

Section Charges.
  Variables (n : nat) (P : matrix) (q : vector) (c0 : R) (A : matrix) (b : vector) (K : list cone) (e beta : vector).
  Let m := rows K.
  Let S := charged P e.
  Definition cost : R := / 2 * sum n (fun j => e j * (beta j * beta j)).
  Definition bounded : Prop := forall x, feasible n A b K x -> forall j, (j < n)%nat -> 0 < e j -> Rabs (x j) <= beta j.

  Hypothesis formed : Forall well_formed K.
  Hypothesis S_psd : psd n S.
  Hypothesis e_nonneg : forall j, (j < n)%nat -> 0 <= e j.
  Hypothesis within_beta : bounded.

  Lemma charge_paid x : feasible n A b K x -> value n S q c0 x - cost <= value n P q c0 x.
  Proof.
    intros hx. unfold value, cost, S. rewrite charged_quad.
    assert (g : sum n (fun j => e j * (x j * x j)) <= sum n (fun j => e j * (beta j * beta j))); [|lra].
    apply sum_le; intros j hj. destruct (e_nonneg j hj) as [pos| <-]; [|lra].
    pose proof (abs_within _ _ (within_beta x hx j hj pos)). apply Rmult_le_compat_l; nra.
  Qed.

  Theorem charges u h z x : (u <= n)%nat -> (forall i, (u <= i < n)%nat -> residual n S q A K h z i = 0) ->
    all in_dual K z -> feasible n A b K x ->
    dot u (residual n S q A K h z) x - dot m b z - / 2 * quad n S h + c0 - cost <= value n P q c0 x.
  Proof.
    intros hu exact hz hx. pose proof (charge_paid x hx).
    pose proof (weak_duality_split n S q c0 A b K formed (charged_sym n P e) S_psd u h z x hu exact hz hx) as g.
    unfold m. lra.
  Qed.
End Charges.

(* How the sizes of variables are bounded: lines, what one says of each of its terms, and what that says of a variable. *)
Theorem second_order_lines n s i : in_cone (second_order n) s -> (i < n)%nat -> 0 <= s O - s (S i) /\ 0 <= s O + s (S i).
Proof.
  simpl. intros hs hi. enough (Rabs (s (S i)) <= s O) by (pose proof (abs_within (s (S i)) (s O)); lra).
  refine (Rle_trans _ _ _ _ hs). apply Rsqr_incr_0; [|apply Rabs_pos|apply sqrt_pos].
  unfold vector_norm. rewrite <- Rsqr_abs, Rsqr_sqrt by apply dot_self.
  apply (sum_term n (fun j => s (S j) * s (S j)) i hi). intros. apply Rle_0_sqr.
Qed.

Theorem left_for_a_term n (y : vector) c (least : vector) i : (i < n)%nat -> sum n y <= c ->
  (forall j, (j < n)%nat -> j <> i -> least j <= y j) -> y i <= c - sum n (fun j => if Nat.eqb j i then 0 else least j).
Proof.
  intros hi total low.
  enough (sum n (fun j => if Nat.eqb j i then y i else least j) <= sum n y /\
    sum n (fun j => if Nat.eqb j i then y i else least j) = y i + sum n (fun j => if Nat.eqb j i then 0 else least j)) by lra.
  split.
  - apply sum_le; intros j hj. destruct (Nat.eqb_spec j i) as [->|ne]; [lra|auto].
  - transitivity (sum n (fun j => if Nat.eqb j i then y i else 0) + sum n (fun j => if Nat.eqb j i then 0 else least j)).
    + rewrite <- sum_plus. apply sum_ext; intros j hj. destruct (Nat.eqb j i); ring.
    + f_equal. rewrite (sum_only n _ i hi); [rewrite Nat.eqb_refl; reflexivity|].
      intros j hj ne. destruct (Nat.eqb_spec j i); [contradiction|reflexivity].
Qed.

Theorem left_for_a_variable a x c : a * x <= c -> (0 < a -> x <= c / a) /\ (a < 0 -> c / a <= x).
Proof.
  intros h. split; intros ha.
  - apply Rmult_le_reg_l with a; [assumption|]. replace (a * (c / a)) with c by (field; lra). assumption.
  - apply Rmult_le_reg_l with (- a); [lra|]. replace (- a * (c / a)) with (- c) by (field; lra). lra.
Qed.

Theorem least_of_a_term a x low high : low <= x <= high -> (0 <= a -> a * low <= a * x) /\ (a <= 0 -> a * high <= a * x).
Proof. intros h. split; intros ha; nra. Qed.

(* Theorem 19. Right-hand sides b' within radii of b: what is proven holds of the programs of all of them. *)
Definition around (m : nat) (b rho b' : vector) : Prop := forall i, (i < m)%nat -> Rabs (b' i - b i) <= rho i.

Theorem radii_above n P q c0 A b K rho x : (forall b', around (rows K) b rho b' -> feasible n A b' K x) ->
  forall b' least, around (rows K) b rho b' -> is_glb (values n P q c0 A b' K 0 x) least -> least <= value n P q c0 x.
Proof. intros h b' least hb [low _]. apply low. exists x. split; [auto|split; [intros; lia|reflexivity]]. Qed.

Lemma dot_around m b rho b' z : around m b rho b' -> dot m b' z <= dot m b z + dot m rho (fun i => Rabs (z i)).
Proof.
  intros hb. unfold dot. rewrite <- sum_plus. apply sum_le; intros i hi.
  pose proof (Rle_abs ((b' i - b i) * z i)) as g. rewrite Rabs_mult in g.
  pose proof (Rmult_le_compat_r _ _ _ (Rabs_pos (z i)) (hb i hi)). lra.
Qed.

(* With the charges of theorem 18, or none, and columns left out of the equation. *)
Theorem radii_below n P q c0 A b K rho e beta u h z b' x : let m := rows K in let S := charged P e in
  Forall well_formed K -> psd n S -> (forall j, (j < n)%nat -> 0 <= e j) -> around m b rho b' -> bounded n A b' K e beta ->
  (u <= n)%nat -> (forall i, (u <= i < n)%nat -> residual n S q A K h z i = 0) -> all in_dual K z -> feasible n A b' K x ->
  dot u (residual n S q A K h z) x - dot m b z - dot m rho (fun i => Rabs (z i)) - / 2 * quad n S h + c0 - cost n e beta
    <= value n P q c0 x.
Proof.
  intros m S formed hS he hb hbeta hu exact hz hx. pose proof (dot_around m b rho b' z hb).
  pose proof (charges n P q c0 A b' K e beta formed hS he hbeta u h z x hu exact hz hx) as g. fold m S in g. lra.
Qed.

(* What they are for: a form y'Sy that is stated by a factor, |F y|^2, m rows, is off by a number within a radius. *)
Theorem factor_off n m S (F : nat -> vector) E beta y :
  (forall i j, (i < n)%nat -> (j < n)%nat -> Rabs (S i j - sum m (fun k => F k i * F k j)) <= E i j) ->
  (forall j, (j < n)%nat -> Rabs (y j) <= beta j) ->
  Rabs (sum m (fun k => dot n (F k) y * dot n (F k) y) - quad n S y) <= quad n E beta.
Proof.
  intros hE hy. rewrite <- quad_gram, <- quad_sub. set (D := sub _ S).
  assert (each : forall i j, (i < n)%nat -> (j < n)%nat -> Rabs (y i * D i j * y j) <= beta i * E i j * beta j).
  { intros i j hi hj. rewrite !Rabs_mult. assert (hD : Rabs (D i j) <= E i j).
    { unfold D, sub. rewrite Rabs_minus_sym. apply hE; assumption. }
    apply Rmult_le_compat; auto using Rabs_pos; [|apply Rmult_le_compat; auto using Rabs_pos].
    apply Rmult_le_pos; apply Rabs_pos. }
  apply Rabs_le. split; [apply Ropp_le_cancel; rewrite Ropp_involutive|];
    [replace (- quad n D y) with (quad n (fun i j => -1 * D i j) y) by (rewrite !quad_ip, ip_scale; ring)|];
    apply sum_le; intros i hi; apply sum_le; intros j hj; pose proof (abs_within _ _ (each i j hi hj)); lra.
Qed.

Theorem factor_below n m S (F : nat -> vector) eta y : let G := fun i j => sum m (fun k => F k i * F k j) in
  let square := sum m (fun k => dot n (F k) y * dot n (F k) y) in
  psd n (sub S G) -> psd n (sub (fun i j => eta * G i j) (sub S G)) -> 0 <= quad n S y - square <= eta * square.
Proof.
  intros G square low high. specialize (low y). specialize (high y). rewrite !quad_sub in *.
  rewrite (quad_ip n (fun i j => eta * G i j)), ip_scale, <- quad_ip in high. unfold G in *. rewrite quad_gram in *.
  fold square in low, high. lra.
Qed.

(* The beta may be those of points that are off by a radius at most, if it is more than what these are then found to be off
   by: so is every point of a convex set C, if one point of it is. A first one on the way that is not would be off by just
   the radius. There are k forms, off by D. *)
Fixpoint largest_of (k : nat) (f : nat -> R -> R) (t : R) : R :=
  match k with O => 0 | S p => Rmax (largest_of p f t) (f p t) end.

Lemma largest_of_le k f t c : 0 <= c -> largest_of k f t <= c <-> forall i, (i < k)%nat -> f i t <= c.
Proof.
  intros hc. induction k as [|k IH]; simpl; [split; [intros; lia|auto]|]. split.
  - intros h i hi. destruct (Nat.eq_dec i k) as [->|ne].
    + exact (Rle_trans _ _ _ (Rmax_r _ _) h).
    + apply IH; [exact (Rle_trans _ _ _ (Rmax_l _ _) h)|lia].
  - intros h. apply Rmax_lub; [apply IH|]; auto.
Qed.

Lemma largest_of_lt k f t c : 0 < c -> (forall i, (i < k)%nat -> f i t < c) -> largest_of k f t < c.
Proof. intros hc h. induction k; simpl; [assumption|]. apply Rmax_lub_lt; auto. Qed.

Lemma continuous_largest k f : (forall i, continuity (f i)) -> continuity (largest_of k f).
Proof.
  intros h. induction k as [|k IH]; simpl; [apply continuity_const; intros ? ?; reflexivity|].
  assert (e : forall t, / 2 * (largest_of k f t + f k t + Rabs (largest_of k f t - f k t)) = Rmax (largest_of k f t) (f k t)).
  { intros t. unfold Rmax, Rabs. destruct (Rle_dec _ _), (Rcase_abs _); lra. }
  intros t. apply (continuity_pt_locally_ext _ _ 1 t Rlt_0_1 (fun y _ => e y)). apply continuity_pt_scal with (a := / 2).
  apply continuity_pt_plus; [apply continuity_pt_plus; [apply IH|apply h]|].
  apply (continuity_pt_comp (fun s => largest_of k f s - f k s) Rabs); [|apply Rcontinuity_abs].
  apply continuity_pt_minus; [apply IH|apply h].
Qed.

Lemma continuous_sum n (f : nat -> R -> R) : (forall i, continuity (f i)) -> continuity (fun t => sum n (fun i => f i t)).
Proof.
  intros h. induction n; simpl; [apply continuity_const; intros ? ?; reflexivity|].
  apply (continuity_plus (fun t => sum n (fun i => f i t)) (f n)); auto.
Qed.

Theorem radii_enough n k (C : vector -> Prop) (D : nat -> matrix) rho x0 x :
  (forall x y t, C x -> C y -> 0 <= t <= 1 -> C (fun i => x i + t * (y i - x i))) ->
  (forall x, C x -> (forall i, (i < k)%nat -> Rabs (quad n (D i) x) <= rho i) ->
    forall i, (i < k)%nat -> Rabs (quad n (D i) x) < rho i) ->
  C x0 -> (forall i, (i < k)%nat -> Rabs (quad n (D i) x0) <= rho i) ->
  C x -> forall i, (i < k)%nat -> Rabs (quad n (D i) x) < rho i.
Proof.
  intros convex less h0 start hx. apply less; [assumption|].
  assert (pos : forall i, (i < k)%nat -> 0 < rho i).
  { intros i hi. exact (Rle_lt_trans _ _ _ (Rabs_pos _) (less x0 h0 start i hi)). }
  set (way := fun t j => x0 j + t * (x j - x0 j)). set (f := fun i t => Rabs (quad n (D i) (way t)) * / rho i).
  assert (share : forall i t, (i < k)%nat -> f i t <= 1 <-> Rabs (quad n (D i) (way t)) <= rho i).
  { intros i t hi. specialize (pos i hi). unfold f. split; intros h.
    - apply (Rmult_le_compat_r (rho i)) in h; [|lra]. rewrite Rmult_assoc, Rinv_l in h by lra. lra.
    - apply Rmult_le_reg_r with (rho i); [assumption|]. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (ends : forall i t y, (forall j, (j < n)%nat -> way t j = y j) -> quad n (D i) (way t) = quad n (D i) y).
  { intros. apply quad_ext. assumption. }
  assert (cont : continuity (fun t => largest_of k f t - 1)).
  { apply continuity_minus; [|apply continuity_const; intros ? ?; reflexivity]. apply continuous_largest. intros i.
    apply (continuity_mult (fun t => Rabs (quad n (D i) (way t))) (fun _ => / rho i));
      [|apply continuity_const; intros ? ?; reflexivity].
    apply (continuity_comp (fun t => quad n (D i) (way t)) Rabs); [|apply Rcontinuity_abs].
    apply continuous_sum; intros a. apply continuous_sum; intros b. unfold way. reg. }
  destruct (Rle_dec (largest_of k f 1) 1) as [le|gt].
  - intros i hi. rewrite <- (ends i 1) by (intros; unfold way; ring). apply share; [assumption|].
    revert i hi. apply largest_of_le; [lra|assumption].
  - exfalso. assert (le : largest_of k f 0 <= 1).
    { apply largest_of_le; [lra|]. intros i hi. apply share; [assumption|].
      rewrite (ends i 0 x0) by (intros; unfold way; ring). auto. }
    destruct (IVT_cor _ 0 1 cont) as [t [ht zero]]; [lra|nra|].
    assert (all_t : forall i, (i < k)%nat -> Rabs (quad n (D i) (way t)) <= rho i).
    { intros i hi. apply share; [assumption|]. revert i hi. apply largest_of_le; lra. }
    assert (lt : largest_of k f t < 1); [|lra]. apply largest_of_lt; [lra|]. intros i hi. specialize (pos i hi).
    pose proof (less (way t) (convex x0 x t h0 hx ht) all_t i hi). unfold f.
    apply Rmult_lt_reg_r with (rho i); [assumption|]. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(* Theorem 20. Elimination without pivoting, after k steps. *)
Fixpoint eliminated (M : matrix) (k : nat) : matrix :=
  match k with O => M | S p => fun i j => eliminated M p i j - eliminated M p p i * eliminated M p p j / eliminated M p p p end.

Theorem eliminated_psd n M : sym n M -> (forall k, (k < n)%nat -> let N := eliminated M k in
  0 < N k k \/ N k k = 0 /\ forall j, (k < j < n)%nat -> N k j = 0) -> psd n M.
Proof.
  intros hs hN.
  enough (step : forall p, (p <= n)%nat -> sym n (eliminated M p) /\
    (forall i j, (i < p)%nat -> (j < n)%nat -> eliminated M p i j = 0) /\
    forall x, quad n (eliminated M p) x <= quad n M x).
  { intros x. destruct (step n (le_n n)) as [_ [zero below]]. refine (Rle_trans _ _ _ _ (below x)). apply Req_le. symmetry.
    apply sum_zero; intros i hi. apply sum_zero; intros j hj. rewrite zero by assumption. ring. }
  induction p as [|p IH]; intros hp; [split; [exact hs|split; [intros; lia|intros; apply Rle_refl]]|].
  destruct IH as [sN [zero below]]; [lia|]. specialize (hN p ltac:(lia)). simpl in hN |- *.
  set (N := eliminated M p) in *.
  (* A row without a pivot is zero, and nothing changes. *)
  assert (row : 0 < N p p \/ N p p = 0 /\ forall j, (j < n)%nat -> N p j = 0).
  { destruct hN as [pos|[z beside]]; [left; assumption|right]. split; [assumption|]. intros j hj.
    destruct (lt_eq_lt_dec j p) as [[lt|e]|gt]; [rewrite sN by lia; apply zero; lia|subst; assumption|apply beside; lia]. }
  split; [|split].
  - intros i j hi hj. rewrite (sN i j) by assumption. unfold Rdiv. ring.
  - intros i j hi hj. destruct (Nat.eq_dec i p) as [->|ne].
    + destruct row as [pos|[_ z]]; [field; lra|]. rewrite !z by lia. unfold Rdiv. ring.
    + rewrite (zero i j), (sN p i), (zero i p) by lia. unfold Rdiv. ring.
  - intros x. refine (Rle_trans _ _ _ _ (below x)).
    change (quad n (sub N (fun i j => N p i * N p j / N p p)) x <= quad n N x). rewrite quad_sub.
    enough (0 <= quad n (fun i j => N p i * N p j / N p p) x) by lra. destruct row as [pos|[_ z]].
    + rewrite quad_ip, (ip_ext n n _ (fun i j => / N p p * (N p i * N p j)) _ (fun i j => x i * x j)); auto;
        [|intros; unfold Rdiv; ring].
      rewrite ip_scale, <- quad_ip, quad_outer. apply Rmult_le_pos; [|apply Rle_0_sqr].
      apply Rlt_le, Rinv_0_lt_compat. assumption.
    + apply Req_le. symmetry. apply sum_zero; intros i hi. apply sum_zero; intros j hj. rewrite !z by assumption.
      unfold Rdiv. ring.
Qed.

(* What a file proves. Equations of points are rows of A, numbered E, among them all that are held to be zero, and have no
   radius; the first u entries of x are given, and p are found. *)
Theorem proven_point u p r P q c0 A b K rho (E : nat -> nat) (zero : nat -> bool) fixed (o : steps) U :
  let M := fun i l => A (E i) (u + l)%nat in let t := fun i => b (E i) - dot u (A (E i)) fixed in
  (forall i, (i < rows K)%nat -> zero i = true -> rho i = 0 /\ exists k, (k < r)%nat /\ i = E k) ->
  related r (u + p) (fun i => A (E i)) (fun i => b (E i)) o ->
  pivoted p M o -> accounted r p M t o -> verified p M o ->
  (forall y, inside p M t o y -> let x := joined u fixed (filled p M t o y) in
    (forall b', around (rows K) b rho b' -> all in_cone K (masked zero (fun i => b' i - dot (u + p) (A i) x))) /\
    value (u + p) P q c0 x <= U) ->
  exists c, (forall b', around (rows K) b rho b' -> values (u + p) P q c0 A b' K u fixed c) /\ c <= U.
Proof.
  intros M t only hW hp hall hv good.
  assert (split : forall i y, dot (u + p) (A i) (joined u fixed y) =
    dot u (A i) fixed + dot p (fun l => A i (u + l)%nat) y).
  { intros i y. unfold dot. rewrite sum_add. unfold joined. f_equal; apply sum_ext; intros l hl.
    - rewrite ltb_low by assumption. reflexivity.
    - rewrite ltb_high. replace (u + l - u)%nat with l by lia. reflexivity. }
  assert (own : related r p M t o).
  { intros k hk. destruct (hW k hk) as [hM [ht more]]. split; [|split; [|assumption]].
    - intros l hl. apply hM. lia.
    - unfold t. rewrite (sum_ext r _ (fun i => relation o i k * b (E i) - relation o i k * dot u (A (E i)) fixed))
        by (intros; ring).
      rewrite sum_minus, ht, <- (dot_sum u r (fun i => relation o i k) (fun i => A (E i))).
      unfold dot. rewrite sum_zero; [ring|]. intros l hl. rewrite hM by lia. ring. }
  destruct (system_near r p M t o own hp hall hv) as [y [close exact]]. destruct (good y close) as [hx hU].
  set (x := joined u fixed (filled p M t o y)) in *. exists (value (u + p) P q c0 x). split; [|assumption].
  intros b' hb. exists x. split; [|split; [|reflexivity]].
  - apply tight_rows with zero; [|apply hx; assumption]. intros i hi hz. destruct (only i hi hz) as [none [k [hk e]]].
    specialize (hb i hi). rewrite none in hb. apply abs_within in hb. subst i.
    specialize (exact k hk). unfold solves, M, t in exact. unfold x. rewrite split. unfold M, t in *. lra.
  - intros i hi. unfold x, joined. rewrite ltb_low by assumption. reflexivity.
Qed.

(* Equations of dual points are the columns from u on, unknowns z and h below it, and S is the term with its charges. *)
Section Dual.
  Variables (u n : nat) (P : matrix) (q : vector) (c0 : R) (A : matrix) (b : vector) (K : list cone).
  Variables (rho e beta : vector) (o : steps).
  Let m := rows K.
  Let S := charged P e.
  Let M : matrix := fun i => joined m (fun l => A l (u + i)%nat) (S (u + i)%nat).
  Let t : vector := fun i => - q (u + i)%nat.
  Let dual_point (y : vector) : vector := filled (m + n) M t o y.

  Hypothesis some : (u <= n)%nat.
  Hypothesis formed : Forall well_formed K.
  Hypothesis S_psd : psd n S.
  Hypothesis e_nonneg : forall j, (j < n)%nat -> 0 <= e j.
  Hypothesis within_beta : forall b', around m b rho b' -> bounded n A b' K e beta.
  Hypothesis hW : related (n - u) (m + n) M t o.
  Hypothesis hp : pivoted (m + n) M o.
  Hypothesis hall : accounted (n - u) (m + n) M t o.
  Hypothesis hv : verified (m + n) M o.

  Theorem proven_dual_slope : (forall y, inside (m + n) M t o y -> all in_dual K (dual_point y)) ->
    exists y, inside (m + n) M t o y /\ let z := dual_point y in let h := fun i => z (m + i)%nat in
      forall b' x, around m b rho b' -> feasible n A b' K x -> dot u (residual n S q A K h z) x - dot m b z
        - dot m rho (fun i => Rabs (z i)) - / 2 * quad n S h + c0 - cost n e beta <= value n P q c0 x.
  Proof.
    intros good. destruct (system_near (n - u) (m + n) M t o hW hp hall hv) as [y [close exact]].
    exists y. split; [assumption|]. intros z h b' x hb hx. apply radii_below with b'; auto; [|apply good; assumption].
    intros i hi. specialize (exact (i - u)%nat ltac:(lia)). unfold solves in exact.
    change (filled (m + n) M t o y) with z in exact.
    assert (split : forall k, dot (m + n) (M k) z = dot m (fun l => A l (u + k)%nat) z + dot n (S (u + k)%nat) h).
    { intros k. unfold dot. rewrite sum_add. f_equal; apply sum_ext; intros l hl; unfold M, joined.
      - rewrite ltb_low by assumption. reflexivity.
      - rewrite ltb_high. replace (m + l - m)%nat with l by lia. reflexivity. }
    rewrite split in exact. unfold t in exact. replace (u + (i - u))%nat with i in exact by lia.
    unfold residual. unfold m, S in exact. lra.
  Qed.
End Dual.

Theorem proven_dual_bound n P q c0 A b K rho e beta (o : steps) L : let m := rows K in let S := charged P e in
  let M := fun i => joined m (fun l => A l i) (S i) in let t := fun i => - q i in
  Forall well_formed K -> psd n S -> (forall j, (j < n)%nat -> 0 <= e j) ->
  (forall b', around m b rho b' -> bounded n A b' K e beta) ->
  related n (m + n) M t o -> pivoted (m + n) M o -> accounted n (m + n) M t o -> verified (m + n) M o ->
  (forall y, inside (m + n) M t o y -> let z := filled (m + n) M t o y in
    all in_dual K z /\ L <= - dot m b z - dot m rho (fun i => Rabs (z i)) - / 2 * quad n S (fun i => z (m + i)%nat) + c0
      - cost n e beta) ->
  forall b' x, around m b rho b' -> feasible n A b' K x -> L <= value n P q c0 x.
Proof.
  intros m S M t formed hS he hb hW hp hall hv good b' x around_b hx.
  destruct (proven_dual_slope 0 n P q c0 A b K rho e beta o) as [y [close h]]; auto; try lia.
  - rewrite Nat.sub_0_r. assumption.
  - rewrite Nat.sub_0_r. assumption.
  - intros y close. apply good. assumption.
  - destruct (good y close) as [_ hL]. specialize (h b' x around_b hx). unfold dot at 1 in h. simpl in h.
    subst M t S m. simpl in hL. lra.
Qed.
