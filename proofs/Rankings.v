(* Theorems 1 to 4: hinges and rankings over the lists of a query.

   A ranking of p near and f far items is three things: the order of the near items from the top, that of the far items, and
   for the i-th near item from the top the number b_i of far items above it, which ascends. *)
From Certificates Require Import Sums.

Fixpoint count (n : nat) (I : nat -> bool) : nat :=
  match n with O => O | S m => (count m I + if I m then 1 else 0)%nat end.
Definition over (n : nat) (I : nat -> bool) (r : vector) : R := sum n (fun i => if I i then r i else 0).
Definition ascending (n : nat) (x : vector) : Prop := forall i j, (i <= j < n)%nat -> x i <= x j.
Definition descending (n : nat) (x : vector) : Prop := forall i j, (i <= j < n)%nat -> x j <= x i.

Lemma count_sum n I : INR (count n I) = over n I (fun _ => 1).
Proof.
  unfold over. induction n; [reflexivity|]. simpl count. rewrite plus_INR, IHn. simpl. destruct (I n); simpl; ring.
Qed.

Lemma count_le n I : (count n I <= n)%nat.
Proof. induction n; simpl; [lia|]. destruct (I n); lia. Qed.

Lemma sum_first n k f : (k <= n)%nat -> sum n (fun i => if Nat.ltb i k then f i else 0) = sum k f.
Proof.
  intros h. induction h as [|n h IH].
  - apply sum_ext; intros i hi. apply Nat.ltb_lt in hi. rewrite hi. reflexivity.
  - simpl. rewrite IH. destruct (Nat.ltb_spec n k); [lia|ring].
Qed.

Lemma abel_ascending n a x : ascending n x -> (forall m, (m <= n)%nat -> sum m a <= 0) -> sum n a = 0 ->
  0 <= sum n (fun i => a i * x i).
Proof.
  intros order prefix total. rewrite (sum_ext n _ (fun i => (-1 * a i) * (- x i))) by (intros; ring).
  apply abel.
  - intros i j h. specialize (order i j h). lra.
  - intros m hm. rewrite sum_scale. specialize (prefix m hm). lra.
  - rewrite sum_scale, total. ring.
Qed.

(* Of k entries the sum is at most that of the k largest, and at least that of the k least. *)
Lemma top n I x : descending n x -> over n I x <= sum (count n I) x.
Proof.
  intros order. rewrite <- (sum_first n) by apply count_le. set (k := count n I).
  assert (gain : 0 <= sum n (fun i => ((if Nat.ltb i k then 1 else 0) - (if I i then 1 else 0)) * x i)).
  { apply abel; [assumption| |].
    - intros m hm. rewrite sum_minus. change (sum m (fun i => if I i then 1 else 0)) with (over m I (fun _ => 1)).
      destruct (Nat.le_ge_cases m k).
      + rewrite (sum_ext m _ (fun _ => 1)), sum_const.
        * rewrite <- count_sum, Rmult_1_r. pose proof (le_INR _ _ (count_le m I)). lra.
        * intros i hi. destruct (Nat.ltb_spec i k); [reflexivity|lia].
      + rewrite sum_first, sum_const by assumption. unfold k. rewrite count_sum.
        pose proof (prefix_le n m (fun i => if I i then 1 else 0) hm) as p.
        specialize (p ltac:(intros a ha; cbv beta; destruct (I a); lra)). unfold over. lra.
    - rewrite sum_minus, sum_first, sum_const by apply count_le. unfold k. rewrite count_sum. unfold over. ring. }
  rewrite (sum_ext n _ (fun i => (if Nat.ltb i k then x i else 0) - (if I i then x i else 0))) in gain.
  - rewrite sum_minus in gain. unfold over. lra.
  - intros i hi. destruct (Nat.ltb i k), (I i); ring.
Qed.

Lemma bottom n I x : ascending n x -> sum (count n I) x <= over n I x.
Proof.
  intros order. pose proof (top n I (fun i => -1 * x i)) as h. rewrite sum_scale in h. unfold over in *.
  rewrite (sum_ext n _ (fun i => -1 * (if I i then x i else 0))), sum_scale in h by (intros a ha; cbv beta; destruct (I a); ring).
  enough (-1 * sum n (fun i => if I i then x i else 0) <= -1 * sum (count n I) x) by lra.
  apply h. intros i j hij. specialize (order i j hij). lra.
Qed.

(* Permutations of the first n numbers, with their inverse. *)
Definition perm (n : nat) (p q : nat -> nat) : Prop :=
  forall i, (i < n)%nat -> (p i < n)%nat /\ (q i < n)%nat /\ p (q i) = i /\ q (p i) = i.

Lemma perm_id n : perm n (fun i => i) (fun i => i).
Proof. intros i hi. auto. Qed.

Lemma sum_perm n p q f : perm n p q -> sum n (fun i => f (p i)) = sum n f.
Proof.
  intros h. transitivity (sum n (fun i => sum n (fun j => if Nat.eqb j (p i) then f j else 0))).
  - apply sum_ext; intros i hi. rewrite (sum_only n _ (p i)); [rewrite Nat.eqb_refl; reflexivity|apply h; assumption|].
    intros j hj ne. destruct (Nat.eqb_spec j (p i)); [congruence|reflexivity].
  - rewrite sum_swap. apply sum_ext; intros j hj. destruct (h j hj) as [_ [hq [inv _]]].
    rewrite (sum_only n _ (q j)); [rewrite inv, Nat.eqb_refl; reflexivity|assumption|].
    intros i hi ne. destruct (Nat.eqb_spec j (p i)) as [eq|]; [|reflexivity].
    exfalso. apply ne. rewrite eq. symmetry. apply h. assumption.
Qed.

(* The first m of a permuted list are m of its entries. *)
Lemma sum_prefix_perm n p q m f : perm n p q -> (m <= n)%nat ->
  sum m (fun i => f (p i)) = over n (fun j => Nat.ltb (q j) m) f.
Proof.
  intros h hm. rewrite <- (sum_first n m) by assumption. unfold over.
  rewrite <- (sum_perm n p q (fun j => if Nat.ltb (q j) m then f j else 0) h).
  apply sum_ext; intros i hi. destruct (h i hi) as [_ [_ [_ inv]]]. cbv beta. rewrite inv. reflexivity.
Qed.

Lemma count_prefix_perm n p q m : perm n p q -> (m <= n)%nat -> count n (fun j => Nat.ltb (q j) m) = m.
Proof.
  intros h hm. apply INR_eq. rewrite count_sum, <- (sum_prefix_perm n p q m (fun _ => 1) h hm), sum_const. ring.
Qed.

Lemma count_perm n p q I : perm n p q -> count n (fun i => I (p i)) = count n I.
Proof.
  intros h. apply INR_eq. rewrite !count_sum. exact (sum_perm n p q (fun i => if I i then 1 else 0) h).
Qed.

Lemma count_le_count n I J : (forall i, (i < n)%nat -> I i = true -> J i = true) -> (count n I <= count n J)%nat.
Proof.
  induction n; intros h; simpl; [lia|]. specialize (IHn ltac:(auto)). pose proof (h n ltac:(lia)) as g.
  destruct (I n); [rewrite g by reflexivity; lia|destruct (J n); lia].
Qed.

(* The number of z below t, and sorting. *)
Definition below (f : nat) (z : vector) (t : R) : nat := count f (fun j => if Rlt_dec (z j) t then true else false).

Lemma count_all n I : (forall i, (i < n)%nat -> I i = true) -> count n I = n.
Proof. induction n; intros h; simpl; [reflexivity|]. rewrite IHn, h; auto; lia. Qed.

Lemma below_iff f z t : ascending f z -> forall j, (j < f)%nat -> (j < below f z t)%nat <-> z j < t.
Proof.
  unfold below. induction f; intros order j hj; [lia|].
  assert (order' : ascending f z) by (intros i k h; apply order; lia).
  simpl. destruct (Rlt_dec (z f) t) as [lt|ge].
  - rewrite count_all.
    + split; [intros _|lia]. pose proof (order j f ltac:(lia)). lra.
    + intros i hi. destruct (Rlt_dec (z i) t); [reflexivity|]. pose proof (order i f ltac:(lia)). lra.
  - rewrite Nat.add_0_r. destruct (Nat.eq_dec j f) as [->|ne]; [|apply IHf; [assumption|lia]].
    pose proof (count_le f (fun j => if Rlt_dec (z j) t then true else false)). split; [lia|lra].
Qed.

Lemma below_le f z t t' : t <= t' -> (below f z t <= below f z t')%nat.
Proof.
  intros h. apply count_le_count. intros j hj. destruct (Rlt_dec (z j) t), (Rlt_dec (z j) t'); auto; try discriminate.
  exfalso. lra.
Qed.

Lemma sortable n x : exists p q, perm n p q /\ ascending n (fun i => x (p i)).
Proof.
  induction n as [|n [p [q [h order]]]].
  - exists (fun i => i), (fun i => i). split; [apply perm_id|intros i j hij; lia].
  - set (k := below n (fun i => x (p i)) (x n)).
    assert (hk : (k <= n)%nat) by apply count_le.
    pose proof (below_iff n (fun i => x (p i)) (x n) order) as split_at. fold k in split_at. simpl in split_at.
    exists (fun i => if Nat.ltb i k then p i else if Nat.eqb i k then n else p (i - 1)%nat).
    exists (fun j => if Nat.eqb j n then k else if Nat.ltb (q j) k then q j else S (q j)).
    split.
    + intros i hi. destruct (Nat.ltb_spec i k) as [a|a]; [|destruct (Nat.eqb_spec i k) as [b|b]].
      * destruct (h i ltac:(lia)) as [h1 [h2 [h3 h4]]].
        destruct (Nat.eqb_spec i n); [lia|]. destruct (Nat.eqb_spec (p i) n); [lia|]. rewrite h4.
        destruct (Nat.ltb_spec i k); [|lia].
        destruct (Nat.ltb_spec (q i) k) as [c|c].
        -- destruct (Nat.ltb_spec (q i) k); [|lia]. repeat split; auto; lia.
        -- destruct (Nat.ltb_spec (S (q i)) k); [lia|]. destruct (Nat.eqb_spec (S (q i)) k); [lia|].
           replace (S (q i) - 1)%nat with (q i) by lia. repeat split; auto; lia.
      * subst i. rewrite Nat.eqb_refl. destruct (Nat.eqb_spec k n) as [e|e].
        -- destruct (Nat.ltb_spec k k); [lia|]. rewrite Nat.eqb_refl. repeat split; lia.
        -- destruct (h k ltac:(lia)) as [h1 [h2 [h3 h4]]].
           destruct (Nat.ltb_spec (q k) k) as [c|c].
           ++ destruct (Nat.ltb_spec (q k) k); [|lia]. repeat split; auto; lia.
           ++ destruct (Nat.ltb_spec (S (q k)) k); [lia|]. destruct (Nat.eqb_spec (S (q k)) k); [lia|].
              replace (S (q k) - 1)%nat with (q k) by lia. repeat split; auto; lia.
      * destruct (h (i - 1)%nat ltac:(lia)) as [h1 [h2 [h3 h4]]].
        destruct (Nat.eqb_spec (p (i - 1)%nat) n); [lia|]. rewrite h4. destruct (Nat.ltb_spec (i - 1) k); [lia|].
        replace (S (i - 1)) with i by lia.
        destruct (Nat.eqb_spec i n) as [e|e].
        -- destruct (Nat.ltb_spec k k); [lia|]. rewrite Nat.eqb_refl. repeat split; auto; lia.
        -- destruct (h i ltac:(lia)) as [g1 [g2 [g3 g4]]].
           destruct (Nat.ltb_spec (q i) k) as [c|c].
           ++ destruct (Nat.ltb_spec (q i) k); [|lia]. repeat split; auto; lia.
           ++ destruct (Nat.ltb_spec (S (q i)) k); [lia|]. destruct (Nat.eqb_spec (S (q i)) k); [lia|].
              replace (S (q i) - 1)%nat with (q i) by lia. repeat split; auto; lia.
    + intros i j hij. simpl.
      destruct (Nat.ltb_spec i k) as [a|a]; [|destruct (Nat.eqb_spec i k) as [b|b]];
      (destruct (Nat.ltb_spec j k) as [c|c]; [|destruct (Nat.eqb_spec j k) as [d|d]]); try lia; try lra.
      * apply (order i j). lia.
      * apply Rlt_le, split_at; lia.
      * apply (order i (j - 1)%nat). lia.
      * apply Rnot_lt_le. intros g. apply split_at in g; lia.
      * apply (order (i - 1)%nat (j - 1)%nat). lia.
Qed.

(* Theorem 1: hinges. *)
Lemma hinge_sum f z t : ascending f z ->
  sum f (fun j => Rmax 0 (t - z j)) = INR (below f z t) * t - sum (below f z t) z.
Proof.
  intros order. set (m := below f z t). assert (hm : (m <= f)%nat) by apply count_le.
  rewrite <- (sum_first f m z hm).
  replace (INR m * t) with (sum f (fun j => if Nat.ltb j m then t else 0)).
  2:{ rewrite (sum_first f m (fun _ => t) hm). apply sum_const. }
  rewrite <- sum_minus. apply sum_ext; intros j hj. pose proof (below_iff f z t order j hj) as iff. fold m in iff.
  destruct (Nat.ltb_spec j m) as [lt|ge]; destruct (Rlt_dec (z j) t) as [l|g].
  - rewrite Rmax_right; lra.
  - exfalso. apply g, iff. assumption.
  - exfalso. apply iff in l. lia.
  - rewrite Rmax_left; lra.
Qed.

Theorem hinges p f mu x z : ascending f z ->
  sum p (fun i => sum f (fun j => Rmax 0 (mu + x i - z j))) =
  sum p (fun i => let t := mu + x i in let m := below f z t in INR m * t - sum m z).
Proof. intros order. apply sum_ext; intros i hi. apply hinge_sum. assumption. Qed.

(* Rankings, and what R maximizes over them. *)
Record ranking := { near : nat -> nat; near' : nat -> nat; far : nat -> nat; far' : nat -> nat; b : nat -> nat }.
Definition counts (p f : nat) (b : nat -> nat) : Prop :=
  (forall i j, (i <= j < p)%nat -> (b i <= b j)%nat) /\ forall i, (i < p)%nat -> (b i <= f)%nat.
Definition valid (p f : nat) (y : ranking) : Prop := perm p (near y) (near' y) /\ perm f (far y) (far' y) /\ counts p f (b y).

(* That is what a ranking of the p + f items is. Scores, of near items kn and of far ones kf, order them, the highest first:
   near items in the order of theirs, far items in the order of theirs, b_i far items above the i-th near one from the top ... *)
Theorem ranking_of_scores p f (kn kf : vector) : exists y, valid p f y /\
  descending p (fun i => kn (near y i)) /\ descending f (fun j => kf (far y j)) /\
  (forall i, (i < p)%nat -> b y i = count f (fun j => if Rlt_dec (kn (near y i)) (kf j) then true else false)) /\
  forall i j, (i < p)%nat -> (j < f)%nat -> (j < b y i)%nat <-> kn (near y i) < kf (far y j).
Proof.
  destruct (sortable p (fun i => - kn i)) as [s [s' [hs os]]]. destruct (sortable f (fun j => - kf j)) as [t [t' [ht ot]]].
  set (c := fun i => below f (fun j => - kf (t j)) (- kn (s i))).
  exists {| near := s; near' := s'; far := t; far' := t'; b := c |}.
  split; [split; [exact hs|split; [exact ht|split]]|split; [|split; [|split]]]; simpl.
  - intros i j hij. apply below_le. exact (os i j hij).
  - intros i hi. apply count_le.
  - intros i j hij. specialize (os i j hij). simpl in os. lra.
  - intros i j hij. specialize (ot i j hij). simpl in ot. lra.
  - intros i hi. rewrite <- (count_perm f t t') by assumption. unfold c, below.
    apply Nat.le_antisymm; apply count_le_count; intros j hj;
      destruct (Rlt_dec (- kf (t j)) (- kn (s i))), (Rlt_dec (kn (s i)) (kf (t j))); auto; try discriminate; exfalso; lra.
  - intros i j hi hj. pose proof (below_iff f (fun j => - kf (t j)) (- kn (s i)) ot j hj) as iff. fold (c i) in iff.
    rewrite iff. simpl. lra.
Qed.

(* ... and each comes from scores that are all different. *)
Theorem scores_of_ranking p f y : valid p f y -> exists kn kf : vector,
  (forall i j, (i < j < p)%nat -> kn (near y j) < kn (near y i)) /\
  (forall i j, (i < j < f)%nat -> kf (far y j) < kf (far y i)) /\
  forall i j, (i < p)%nat -> (j < f)%nat ->
    ((j < b y i)%nat -> kn (near y i) < kf (far y j)) /\ ((b y i <= j)%nat -> kf (far y j) < kn (near y i)).
Proof.
  intros [hn [hf [order _]]]. set (small := fun i => INR i / (2 * INR (S p))).
  exists (fun i => / 2 - INR (b y (near' y i)) - small (near' y i)), (fun j => - INR (far' y j)).
  assert (pos : 0 < INR (S p)) by (apply lt_0_INR; lia).
  assert (range : forall i, (i < p)%nat -> 0 <= small i < / 2).
  { intros i hi. unfold small. split.
    - apply Rmult_le_pos; [apply pos_INR|]. apply Rlt_le, Rinv_0_lt_compat. lra.
    - apply Rmult_lt_reg_r with (2 * INR (S p)); [lra|]. field_simplify; [|lra]. apply lt_INR. lia. }
  assert (inverse : forall i, (i < p)%nat -> near' y (near y i) = i) by (intros i hi; apply hn; assumption).
  assert (inverse' : forall j, (j < f)%nat -> far' y (far y j) = j) by (intros j hj; apply hf; assumption).
  split; [|split].
  - intros i j hij. rewrite !inverse by lia. pose proof (le_INR _ _ (order i j ltac:(lia))).
    enough (small i < small j) by lra. unfold small, Rdiv. apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat; lra|].
    apply lt_INR. lia.
  - intros i j hij. rewrite !inverse' by lia. apply Ropp_lt_contravar, lt_INR. lia.
  - intros i j hi hj. rewrite inverse, inverse' by assumption. specialize (range i hi). split; intros h.
    + apply (le_INR (S j)) in h. rewrite S_INR in h. lra.
    + apply le_INR in h. lra.
Qed.

Definition Delta (p : nat) (g : nat -> nat -> R) (b : nat -> nat) : R := 1 - sum p (fun i => g i (b i)).
(* The sum over the pairs (i, j) in I(y), near i below far j. *)
Definition over_pairs (p : nat) (y : ranking) (h : nat -> nat -> R) : R :=
  sum p (fun i => sum (b y i) (fun j => h (near y i) (far y j))).
Definition maximand (p f : nat) (g : nat -> nat -> R) (x z : vector) (y : ranking) : R :=
  Delta p g (b y) - 2 / (INR p * INR f) * over_pairs p y (fun i j => z j - x i).
Definition is_max (p f : nat) (h : ranking -> R) (most : R) : Prop :=
  (forall y, valid p f y -> h y <= most) /\ exists y, valid p f y /\ h y = most.

Definition auc (p f : nat) (i b : nat) : R := (INR f - INR b) / (INR p * INR f).

Lemma sizes_pos p f : (0 < p)%nat -> (0 < f)%nat -> 0 < 2 / (INR p * INR f).
Proof. intros. apply Rdiv_lt_0_compat; [lra|]. apply Rmult_lt_0_compat; apply lt_0_INR; assumption. Qed.

(* Theorem 1: AUC is a sum of hinges of margin 1/2. *)
Lemma auc_maximand p f x z y : (0 < p)%nat -> (0 < f)%nat ->
  maximand p f (auc p f) x z y = 2 / (INR p * INR f) * over_pairs p y (fun i j => / 2 + x i - z j).
Proof.
  intros hp hf. assert (0 < INR p) by (apply lt_0_INR; assumption). assert (0 < INR f) by (apply lt_0_INR; assumption).
  unfold maximand, Delta, over_pairs, auc.
  rewrite (sum_ext p (fun i => sum (b y i) (fun j => / 2 + _ - _))
    (fun i => / 2 * INR (b y i) - sum (b y i) (fun j => z (far y j) - x (near y i)))).
  2:{ intros i hi. rewrite (sum_ext (b y i) _ (fun j => / 2 - (z (far y j) - x (near y i)))) by (intros; ring).
      rewrite sum_minus, sum_const. ring. }
  rewrite (sum_ext p (fun i => (INR f - INR (b y i)) / _)
    (fun i => / (INR p * INR f) * (INR f - INR (b y i)))) by (intros; unfold Rdiv; ring).
  rewrite sum_scale, !sum_minus, sum_const, sum_scale. field. lra.
Qed.

Theorem auc_hinges p f x z : (0 < p)%nat -> (0 < f)%nat ->
  is_max p f (maximand p f (auc p f) x z)
    (2 / (INR p * INR f) * sum p (fun i => sum f (fun j => Rmax 0 (/ 2 - (z j - x i))))).
Proof.
  intros hp hf. pose proof (sizes_pos p f hp hf) as pos. split.
  - intros y [hn [hfar [_ hb]]]. rewrite auc_maximand by assumption. apply Rmult_le_compat_l; [lra|].
    rewrite <- (sum_perm p (near y) (near' y)) by assumption. apply sum_le; intros i hi.
    rewrite <- (sum_perm f (far y) (far' y)) by assumption.
    rewrite <- (sum_first f (b y i)) by auto. apply sum_le; intros j hj.
    set (u := / 2 - (z (far y j) - x (near y i))). pose proof (Rmax_l 0 u). pose proof (Rmax_r 0 u).
    destruct (Nat.ltb j (b y i)); unfold u in *; lra.
  - destruct (sortable p x) as [s [s' [hs ox]]]. destruct (sortable f z) as [t [t' [ht oz]]].
    exists {| near := s; near' := s'; far := t; far' := t'; b := fun i => below f (fun j => z (t j)) (/ 2 + x (s i)) |}.
    split; [split; [|split; [|split]]|]; simpl; auto.
    + intros i j hij. apply below_le. specialize (ox i j hij). simpl in ox. lra.
    + intros i hi. apply count_le.
    + rewrite auc_maximand by assumption. f_equal. unfold over_pairs. simpl.
      rewrite <- (sum_perm p s s' (fun i => sum f (fun j => Rmax 0 (/ 2 - (z j - x i)))) hs). apply sum_ext; intros i hi.
      rewrite <- (sum_perm f t t' (fun j => Rmax 0 (/ 2 - (z j - x (s i)))) ht).
      rewrite (sum_ext f _ (fun j => Rmax 0 (/ 2 + x (s i) - z (t j)))) by (intros; f_equal; lra).
      rewrite (hinge_sum f (fun j => z (t j)) _ oz), sum_minus, sum_const. reflexivity.
Qed.

(* Theorem 2: worst rankings. *)
Lemma prefix_perm n p q x m : perm n p q -> ascending n x -> (m <= n)%nat -> sum m x <= sum m (fun i => x (p i)).
Proof.
  intros h order hm. rewrite (sum_prefix_perm n p q m x h hm).
  pose proof (bottom n (fun j => Nat.ltb (q j) m) x order) as g. rewrite (count_prefix_perm n p q m h hm) in g. exact g.
Qed.

(* The rearrangement inequality. *)
Lemma rearrangement n p q x c : perm n p q -> ascending n x -> ascending n c ->
  sum n (fun i => c i * x (p i)) <= sum n (fun i => c i * x i).
Proof.
  intros h ox oc. assert (gain : 0 <= sum n (fun i => (x i - x (p i)) * c i)).
  { apply abel_ascending; [assumption| |].
    - intros m hm. rewrite sum_minus. pose proof (prefix_perm n p q x m h ox hm). lra.
    - rewrite sum_minus, (sum_perm n p q x h). ring. }
  rewrite (sum_ext n _ (fun i => c i * x i - c i * x (p i))), sum_minus in gain by (intros; ring). lra.
Qed.

Definition sorted (c : nat -> nat) : ranking :=
  {| near := fun i => i; near' := fun i => i; far := fun j => j; far' := fun j => j; b := c |}.

Definition cost (p f : nat) (g : nat -> nat -> R) (x z : vector) (i b : nat) : R :=
  g i b + 2 / (INR p * INR f) * sum b (fun j => z j - x i).
Fixpoint least (m : nat) (h : nat -> R) : R := match m with O => h O | S l => Rmin (least l h) (h (S l)) end.
Fixpoint V (c : nat -> nat -> R) (i m : nat) : R :=
  match i with O => 0 | S l => least m (fun m' => c l m' + V c l m') end.

Lemma least_le m h k : (k <= m)%nat -> least m h <= h k.
Proof.
  induction m; intros hk; simpl.
  - replace k with O by lia. lra.
  - destruct (Nat.eq_dec k (S m)) as [->|ne]; [apply Rmin_r|]. eapply Rle_trans; [apply Rmin_l|apply IHm; lia].
Qed.

Lemma least_is m h : exists k, (k <= m)%nat /\ least m h = h k.
Proof.
  induction m as [|m [k [hk e]]]; simpl.
  - exists O. auto.
  - apply Rmin_case; [exists k; split; [lia|assumption]|exists (S m); auto].
Qed.

Lemma V_le c p : forall m d, counts p m d -> V c p m <= sum p (fun i => c i (d i)).
Proof.
  induction p; intros m d [order hm]; simpl; [lra|].
  eapply Rle_trans; [apply (least_le m _ (d p)); apply hm; lia|].
  rewrite Rplus_comm. apply Rplus_le_compat_r, IHp. split; intros; apply order; lia.
Qed.

Lemma V_is c p : forall m, exists d, counts p m d /\ V c p m = sum p (fun i => c i (d i)).
Proof.
  induction p; intros m.
  - exists (fun _ => O). split; [split; intros; lia|reflexivity].
  - simpl. destruct (least_is m (fun m' => c p m' + V c p m')) as [k [hk ->]].
    destruct (IHp k) as [d [[order hd] ->]].
    exists (fun i => if Nat.ltb i p then d i else k). split; [split|].
    + intros i j hij. destruct (Nat.ltb_spec i p), (Nat.ltb_spec j p); try lia; [apply order; lia|apply hd; lia].
    + intros i hi. destruct (Nat.ltb_spec i p); [|assumption]. eapply Nat.le_trans; [apply hd|]; assumption.
    + rewrite Nat.ltb_irrefl, Rplus_comm. f_equal. apply sum_ext; intros i hi.
      apply Nat.ltb_lt in hi. rewrite hi. reflexivity.
Qed.

Lemma maximand_sorted p f g x z c : maximand p f g x z (sorted c) = 1 - sum p (fun i => cost p f g x z i (c i)).
Proof.
  unfold maximand, Delta, over_pairs, cost. simpl. rewrite sum_plus, sum_scale. ring.
Qed.

Theorem worst_rankings p f g x z : (0 < p)%nat -> (0 < f)%nat -> ascending p x -> ascending f z ->
  is_max p f (maximand p f g x z) (1 - V (cost p f g x z) p f).
Proof.
  intros hp hf ox oz. split.
  - intros y [hn [hfar hb]]. apply Rle_trans with (maximand p f g x z (sorted (b y))).
    + unfold maximand. simpl. pose proof (sizes_pos p f hp hf) as pos.
      enough (over_pairs p (sorted (b y)) (fun i j => z j - x i) <= over_pairs p y (fun i j => z j - x i)) by nra.
      unfold over_pairs. simpl.
      rewrite !(sum_ext p (fun i => sum (b y i) _) (fun i => sum (b y i) z - INR (b y i) * x i))
        by (intros; rewrite sum_minus, sum_const; reflexivity).
      rewrite (sum_ext p (fun i => sum (b y i) (fun j => z (far y j) - _))
        (fun i => sum (b y i) (fun j => z (far y j)) - INR (b y i) * x (near y i)))
        by (intros; rewrite sum_minus, sum_const; reflexivity).
      rewrite !sum_minus. destruct hb as [order hb].
      assert (one : sum p (fun i => sum (b y i) z) <= sum p (fun i => sum (b y i) (fun j => z (far y j)))).
      { apply sum_le; intros i hi. apply (prefix_perm f (far y) (far' y)); auto. }
      assert (two : sum p (fun i => INR (b y i) * x (near y i)) <= sum p (fun i => INR (b y i) * x i)).
      { apply (rearrangement p (near y) (near' y) x (fun i => INR (b y i))); auto.
        intros i j hij. apply le_INR. auto. }
      lra.
    + rewrite maximand_sorted. pose proof (V_le (cost p f g x z) p f (b y) hb). lra.
  - destruct (V_is (cost p f g x z) p f) as [d [hd e]]. exists (sorted d). split.
    + split; [apply perm_id|split; [apply perm_id|assumption]].
    + rewrite maximand_sorted, e. reflexivity.
Qed.

(* The measures of section 2.1 give the perfect ranking, b = 0, a score of 1. Items count from 0, so that i + 1 is their i,
   and h is their min(k, p). NDCG takes its discount for D, precision takes 1. *)
Definition map (p i b : nat) : R := INR (S i) / (INR p * INR (S i + b)).
Definition mrr (i b : nat) : R := if Nat.eqb i 0 then 1 / (1 + INR b) else 0.
Definition err (p i b : nat) : R := (/ 2) ^ S i / INR (S i + b) / sum p (fun t => (/ 2) ^ S t / INR (S t)).
Definition knn (h i b : nat) : R := if Nat.eqb i (h / 2) && Nat.ltb (i + b) h then 1 else 0.
Definition discounted (h : nat) (D : vector) (i b : nat) : R := if Nat.ltb (i + b) h then D (i + b)%nat / sum h D else 0.
(* "short": "printed". *)
Definition printed (p : nat) (g : nat -> nat -> R) (i b : nat) : R :=
  g i b + if Nat.eqb i 0 then 1 - sum p (fun i => g i O) else 0.

Lemma share_of_sum p f g : sum p f <> 0 -> (forall i, (i < p)%nat -> g i = f i / sum p f) -> sum p g = 1.
Proof.
  intros nz h. rewrite (sum_ext p g (fun i => / sum p f * f i)).
  - rewrite sum_scale. field. assumption.
  - intros i hi. rewrite h by assumption. unfold Rdiv. ring.
Qed.

Theorem perfect_scores p f h D : (0 < p)%nat -> (0 < f)%nat -> (0 < h <= p)%nat -> sum h D <> 0 ->
  sum p (fun i => auc p f i O) = 1 /\ sum p (fun i => map p i O) = 1 /\ sum p (fun i => mrr i O) = 1 /\
  sum p (fun i => err p i O) = 1 /\ sum p (fun i => knn h i O) = 1 /\ sum p (fun i => discounted h D i O) = 1 /\
  forall g, sum p (fun i => printed p g i O) = 1.
Proof.
  intros hp hf hh nz. assert (pp : 0 < INR p) by (apply lt_0_INR; assumption).
  assert (fp : 0 < INR f) by (apply lt_0_INR; assumption). assert (hd : (h / 2 < h)%nat) by (apply Nat.div_lt; lia).
  repeat split.
  - rewrite (sum_ext p _ (fun _ => / INR p)), sum_const; [field; lra|]. intros i hi. unfold auc. simpl. field. lra.
  - rewrite (sum_ext p _ (fun _ => / INR p)), sum_const; [field; lra|]. intros i hi. unfold map. rewrite Nat.add_0_r.
    assert (0 < INR (S i)) by (apply lt_0_INR; lia). field. lra.
  - rewrite (sum_only p _ O hp); [unfold mrr; simpl; field|]. intros j hj ne. unfold mrr.
    destruct (Nat.eqb_spec j 0); [congruence|reflexivity].
  - apply (share_of_sum p (fun t => (/ 2) ^ S t / INR (S t))).
    + assert (pos : forall t, 0 < (/ 2) ^ S t / INR (S t)).
      { intros t. apply Rdiv_lt_0_compat; [apply pow_lt; lra|apply lt_0_INR; lia]. }
      pose proof (sum_term p (fun t => (/ 2) ^ S t / INR (S t)) O hp (fun t _ => Rlt_le _ _ (pos t))) as one.
      specialize (pos O). cbv beta in one. lra.
    + intros i hi. unfold err. rewrite Nat.add_0_r. reflexivity.
  - rewrite (sum_only p _ (h / 2)%nat); [|lia|].
    + unfold knn. rewrite Nat.add_0_r, Nat.eqb_refl. destruct (Nat.ltb_spec (h / 2) h); [reflexivity|lia].
    + intros j hj ne. unfold knn. destruct (Nat.eqb_spec j (h / 2)); [congruence|reflexivity].
  - rewrite (sum_ext p _ (fun i => if Nat.ltb i h then D i / sum h D else 0)).
    + rewrite (sum_first p h (fun i => D i / sum h D)) by lia. apply (share_of_sum h D); auto.
    + intros i hi. unfold discounted. rewrite Nat.add_0_r. reflexivity.
  - intros g. unfold printed. rewrite sum_plus, (sum_only p (fun i => if Nat.eqb i 0 then _ else 0) O hp).
    + rewrite Nat.eqb_refl. ring.
    + intros j hj ne. destruct (Nat.eqb_spec j 0); [congruence|reflexivity].
Qed.

(* "The sum of the k largest of r is at most B": of any k of them. In descending order it is the sum of the first k. *)
Definition largest_at_most (n : nat) (r : vector) (k : nat) (B : R) : Prop := forall I, count n I = k -> over n I r <= B.

Theorem largest_sorted n p q r k B : perm n p q -> descending n (fun i => r (p i)) -> (k <= n)%nat ->
  largest_at_most n r k B <-> sum k (fun i => r (p i)) <= B.
Proof.
  intros h order hk. split.
  - intros hB. rewrite (sum_prefix_perm n p q k r h hk). apply hB. apply (count_prefix_perm n p q); assumption.
  - intros hB I hI. refine (Rle_trans _ _ _ _ hB). unfold over. rewrite <- (sum_perm n p q _ h).
    change (over n (fun i => I (p i)) (fun i => r (p i)) <= sum k (fun i => r (p i))).
    replace k with (count n (fun i => I (p i))); [apply top; assumption|].
    rewrite <- hI. apply (count_perm n p q). assumption.
Qed.

(* Theorem 3: sums of slopes. The integral over levels is a finite sum over the sorted values of t and z. *)
Definition reached (s t : R) : R := if Rle_dec s t then 1 else 0.

Lemma levels L s : ascending (S L) s -> forall k, (k <= L)%nat ->
  s k = s O + sum L (fun l => (s (S l) - s l) * reached (s (S l)) (s k)).
Proof.
  induction L; intros order k hk.
  - replace k with O by lia. simpl. ring.
  - simpl sum. destruct (Nat.eq_dec k (S L)) as [->|ne].
    + assert (e : reached (s (S L)) (s (S L)) = 1) by (unfold reached; destruct (Rle_dec _ _); lra). rewrite e.
      assert (all : forall m, (m <= S L)%nat -> s m = s O + sum m (fun l => (s (S l) - s l) * reached (s (S l)) (s (S L)))).
      { induction m; intros hm; [simpl; ring|]. simpl sum. rewrite <- Rplus_assoc, <- IHm by lia.
        assert (r1 : reached (s (S m)) (s (S L)) = 1).
        { unfold reached. destruct (Rle_dec _ _) as [|no]; [reflexivity|]. exfalso. apply no, order. lia. }
        rewrite r1. ring. }
      pose proof (all (S L) (le_n _)) as g. simpl sum in g. rewrite e in g. exact g.
    + rewrite (IHL ltac:(intros i j h; apply order; lia) k ltac:(lia)) at 1.
      enough ((s (S L) - s L) * reached (s (S L)) (s k) = 0) by lra.
      unfold reached. destruct (Rle_dec _ _) as [le|]; [|ring].
      pose proof (order k L ltac:(lia)). pose proof (order L (S L) ltac:(lia)).
      replace (s (S L)) with (s L) by lra. ring.
Qed.

Lemma sum_le_levels p f (t z r c : vector) (n L : nat) s (rank_t rank_z : nat -> nat) :
  ascending (S L) s ->
  (forall i, (i < p)%nat -> (rank_t i <= L)%nat /\ t i = s (rank_t i)) ->
  (forall j, (j < f)%nat -> (rank_z j <= L)%nat /\ z j = s (rank_z j)) ->
  (forall j, (j < f)%nat -> 0 <= c j) -> sum p r = sum f c ->
  (forall k, (0 < k <= p)%nat -> largest_at_most p r k (sum f (fun j => Rmin (c j) (INR k)))) ->
  sum p (fun i => r i * t i) - sum f (fun j => c j * z j) <= sum p (fun i => sum f (fun j => Rmax 0 (t i - z j))).
Proof.
  intros order ht hz hc total largest.
  set (w := fun l => s (S l) - s l). set (T := fun i l => reached (s (S l)) (t i)). set (Z := fun j l => reached (s (S l)) (z j)).
  assert (et : forall i, (i < p)%nat -> t i = s O + sum L (fun l => w l * T i l)).
  { intros i hi. destruct (ht i hi) as [hk e]. unfold T. rewrite e. apply levels; assumption. }
  assert (ez : forall j, (j < f)%nat -> z j = s O + sum L (fun l => w l * Z j l)).
  { intros j hj. destruct (hz j hj) as [hk e]. unfold Z. rewrite e. apply levels; assumption. }
  assert (left : sum p (fun i => r i * t i) - sum f (fun j => c j * z j) =
    sum L (fun l => w l * (sum p (fun i => r i * T i l) - sum f (fun j => c j * Z j l)))).
  { rewrite (sum_ext p _ (fun i => s O * r i + sum L (fun l => w l * (r i * T i l)))).
    2:{ intros i hi. rewrite et at 1 by assumption. rewrite Rmult_plus_distr_l, <- sum_scale.
        f_equal; [ring|]. apply sum_ext; intros; ring. }
    rewrite (sum_ext f (fun j => c j * z j) (fun j => s O * c j + sum L (fun l => w l * (c j * Z j l)))).
    2:{ intros j hj. rewrite ez at 1 by assumption. rewrite Rmult_plus_distr_l, <- sum_scale.
        f_equal; [ring|]. apply sum_ext; intros; ring. }
    rewrite !sum_plus, !sum_scale, (sum_swap p L), (sum_swap f L), total.
    rewrite (sum_ext L (fun l => w l * (_ - _))
      (fun l => sum p (fun i => w l * (r i * T i l)) - sum f (fun j => w l * (c j * Z j l)))).
    - rewrite sum_minus. ring.
    - intros l hl. rewrite !sum_scale. ring. }
  assert (right : sum p (fun i => sum f (fun j => Rmax 0 (t i - z j))) =
    sum L (fun l => w l * sum p (fun i => T i l * sum f (fun j => 1 - Z j l)))).
  { rewrite (sum_ext L _ (fun l => sum p (fun i => sum f (fun j => w l * (T i l * (1 - Z j l)))))).
    2:{ intros l hl. rewrite <- sum_scale. apply sum_ext; intros i hi. rewrite <- !sum_scale. apply sum_ext; intros; ring. }
    rewrite (sum_swap L p). apply sum_ext; intros i hi. rewrite (sum_swap L f). apply sum_ext; intros j hj.
    destruct (Rle_or_lt (t i) (z j)) as [le|lt].
    - rewrite Rmax_left by lra. symmetry. apply sum_zero; intros l hl.
      unfold T, Z, reached. destruct (Rle_dec (s (S l)) (t i)), (Rle_dec (s (S l)) (z j)); try lra; ring.
    - rewrite Rmax_right by lra. rewrite et, ez by assumption.
      rewrite (sum_ext L (fun l => w l * (T i l * (1 - Z j l))) (fun l => w l * T i l - w l * Z j l)).
      + rewrite sum_minus. ring.
      + intros l hl. unfold T, Z, reached. destruct (Rle_dec (s (S l)) (t i)), (Rle_dec (s (S l)) (z j)); try lra; ring. }
  rewrite left, right. apply sum_le; intros l hl.
  apply Rmult_le_compat_l; [pose proof (order l (S l) ltac:(lia)); unfold w; lra|].
  (* The level: I are the near items that reach it, J the far ones that do not. *)
  set (I := fun i => if Rle_dec (s (S l)) (t i) then true else false).
  assert (eI : forall i, T i l = if I i then 1 else 0) by (intros; unfold T, I, reached; destruct (Rle_dec _ _); reflexivity).
  set (k := count p I).
  assert (hk : sum p (fun i => T i l * sum f (fun j => 1 - Z j l)) = sum f (fun j => INR k * (1 - Z j l))).
  { rewrite sum_scale. unfold k. rewrite count_sum. unfold over. rewrite <- sum_scale_r.
    apply sum_ext; intros. rewrite eI. ring. }
  assert (hr : sum p (fun i => r i * T i l) = over p I r).
  { apply sum_ext; intros. rewrite eI. destruct (I i); ring. }
  rewrite hk, hr.
  assert (le : over p I r <= sum f (fun j => Rmin (c j) (INR k))).
  { destruct (Nat.eq_dec k 0) as [z0|nz].
    - assert (zero : over p I r = 0).
      { apply sum_zero; intros i hi. destruct (I i) eqn:e; [|reflexivity]. exfalso.
        assert (one : 1 <= INR (count p I)).
        { rewrite count_sum. unfold over. replace 1 with (if I i then 1 else 0) at 1 by (rewrite e; reflexivity).
          apply (sum_term p (fun i => if I i then 1 else 0)); [assumption|]. intros a ha; cbv beta; destruct (I a); lra. }
        fold k in one. rewrite z0 in one. simpl in one. lra. }
      rewrite zero, z0. apply sum_nonneg; intros. simpl. apply Rmin_glb; [auto|lra].
    - apply largest; [split; [lia|apply count_le]|reflexivity]. }
  enough (sum f (fun j => Rmin (c j) (INR k)) <= sum f (fun j => c j * Z j l) + sum f (fun j => INR k * (1 - Z j l))) by lra.
  rewrite <- sum_plus. apply sum_le; intros j hj. unfold Z, reached. destruct (Rle_dec _ _).
  - pose proof (Rmin_l (c j) (INR k)). lra.
  - pose proof (Rmin_r (c j) (INR k)). lra.
Qed.

Theorem sums_of_slopes p f mu (x z r c : vector) :
  (forall j, (j < f)%nat -> 0 <= c j) -> sum p r = sum f c ->
  (forall k, (0 < k <= p)%nat -> largest_at_most p r k (sum f (fun j => Rmin (c j) (INR k)))) ->
  mu * sum p r + sum p (fun i => r i * x i) - sum f (fun j => c j * z j) <=
  sum p (fun i => sum f (fun j => Rmax 0 (mu + x i - z j))).
Proof.
  intros hc total largest. set (t := fun i => mu + x i).
  replace (mu * sum p r + sum p (fun i => r i * x i)) with (sum p (fun i => r i * t i)).
  2:{ rewrite <- sum_scale, <- sum_plus. apply sum_ext; intros; unfold t; ring. }
  set (w := fun a => if Nat.ltb a p then t a else z (a - p)%nat).
  destruct (p + f)%nat as [|L] eqn:size.
  { assert (p = O) by lia. assert (f = O) by lia. subst. simpl. lra. }
  destruct (sortable (S L) w) as [s [s' [hs order]]].
  apply (sum_le_levels p f t z r c O L (fun l => w (s l)) s' (fun j => s' (p + j)%nat)); auto.
  - intros i hi. destruct (hs i ltac:(lia)) as [_ [h1 [h2 _]]]. split; [lia|]. rewrite h2. unfold w.
    apply Nat.ltb_lt in hi. rewrite hi. reflexivity.
  - intros j hj. destruct (hs (p + j)%nat ltac:(lia)) as [_ [h1 [h2 _]]]. split; [lia|]. rewrite h2. unfold w.
    destruct (Nat.ltb_spec (p + j) p); [lia|]. f_equal. lia.
Qed.

(* Theorem 4: weighted rankings. *)
Definition majorised (n : nat) (r c : vector) : Prop :=
  sum n r = sum n c /\ forall k B, (k <= n)%nat -> largest_at_most n c k B -> largest_at_most n r k B.

Lemma majorised_descending n p q z c d : perm n p q -> ascending n (fun i => z (p i)) -> descending n d -> majorised n c d ->
  sum n (fun j => d j * z (p j)) <= sum n (fun j => c j * z j).
Proof.
  intros h oz od [total largest]. rewrite <- (sum_perm n p q (fun j => c j * z j) h).
  assert (gain : 0 <= sum n (fun j => (c (p j) - d j) * z (p j))).
  { apply (abel_ascending n (fun j => c (p j) - d j) (fun j => z (p j))); [assumption| |].
    - intros m hm. rewrite sum_minus, (sum_prefix_perm n p q m c h hm).
      enough (over n (fun j => Nat.ltb (q j) m) c <= sum m d) by lra.
      apply (largest m (sum m d) hm); [|apply (count_prefix_perm n p q); assumption].
      intros I hI. rewrite <- hI. apply top. assumption.
    - rewrite sum_minus, (sum_perm n p q c h). lra. }
  rewrite (sum_ext n _ (fun j => c (p j) * z (p j) - d j * z (p j))), sum_minus in gain by (intros; ring). lra.
Qed.

Lemma over_complement n I r : over n I r = sum n r - over n (fun i => negb (I i)) r.
Proof. unfold over. rewrite <- sum_minus. apply sum_ext; intros i hi. destruct (I i); simpl; ring. Qed.

Lemma count_complement n I : count n (fun i => negb (I i)) = (n - count n I)%nat.
Proof.
  induction n; [reflexivity|]. simpl count. rewrite IHn. pose proof (count_le n I).
  destruct (I n); cbn [negb]; lia.
Qed.

Lemma majorised_ascending n p q x r a : perm n p q -> ascending n (fun i => x (p i)) -> ascending n a -> majorised n r a ->
  sum n (fun i => r i * x i) <= sum n (fun i => a i * x (p i)).
Proof.
  intros h ox oa [total largest]. rewrite <- (sum_perm n p q (fun i => r i * x i) h).
  assert (gain : 0 <= sum n (fun i => (a i - r (p i)) * x (p i))).
  { apply (abel_ascending n (fun i => a i - r (p i)) (fun i => x (p i))); [assumption| |].
    - intros m hm. rewrite sum_minus, (sum_prefix_perm n p q m r h hm), over_complement, total.
      enough (over n (fun i => negb (Nat.ltb (q i) m)) r <= sum n a - sum m a) by lra.
      apply (largest (n - m)%nat); [lia| |].
      + intros I hI. rewrite over_complement. pose proof (bottom n (fun i => negb (I i)) a oa) as g.
        rewrite count_complement, hI in g. replace (n - (n - m))%nat with m in g by lia. lra.
      + rewrite count_complement, (count_prefix_perm n p q) by assumption. reflexivity.
    - rewrite sum_minus, (sum_perm n p q r h). lra. }
  rewrite (sum_ext n _ (fun i => a i * x (p i) - r (p i) * x (p i))), sum_minus in gain by (intros; ring). lra.
Qed.

(* Pairs counted by far items in the place of near ones. *)
Lemma conjugate p f d (z : vector) : (forall i, (i < p)%nat -> (d i <= f)%nat) ->
  sum p (fun i => sum (d i) z) = sum f (fun j => INR (count p (fun i => Nat.ltb j (d i))) * z j).
Proof.
  intros h. rewrite (sum_ext p _ (fun i => sum f (fun j => if Nat.ltb j (d i) then z j else 0))).
  - rewrite sum_swap. apply sum_ext; intros j hj. rewrite count_sum. unfold over. rewrite <- sum_scale_r.
    apply sum_ext; intros i hi. destruct (Nat.ltb j (d i)); ring.
  - intros i hi. rewrite sum_first; auto.
Qed.

(* The weights and sums of a file count 2^-m; here they are divided by 2^m. [most] is the maximum over rankings, or
   anything above. The perfect ranking, b = 0, has a score of at most 1. *)
Theorem weighted_rankings p f g (x z r c : vector) T (w : vector) (d : nat -> nat -> nat) most :
  (0 < p)%nat -> (0 < f)%nat -> sum p (fun i => g i O) <= 1 ->
  (forall t, (t < T)%nat -> 0 <= w t) -> sum T w <= 1 -> (forall t, (t < T)%nat -> 0 < w t -> counts p f (d t)) ->
  majorised p r (fun i => sum T (fun t => w t * INR (d t i))) ->
  majorised f c (fun j => sum T (fun t => w t * INR (count p (fun i => Nat.ltb j (d t i))))) ->
  (forall y, valid p f y -> maximand p f g x z y <= most) ->
  sum T (fun t => w t * (1 - sum p (fun i => g i (d t i)))) +
    2 / (INR p * INR f) * (sum p (fun i => r i * x i) - sum f (fun j => c j * z j)) <= most.
Proof.
  intros hp hf perfect hw one hd mr mc hmost. pose proof (sizes_pos p f hp hf) as pos.
  set (u := 2 / (INR p * INR f)) in *.
  destruct (sortable p x) as [s [s' [hs ox]]]. destruct (sortable f z) as [q [q' [hq oz]]].
  assert (sign : 0 <= most).
  { apply Rle_trans with (maximand p f g x z (sorted (fun _ => O))).
    - unfold maximand, Delta, over_pairs. simpl. rewrite (sum_zero p (fun i => 0)) by reflexivity. fold u. lra.
    - apply hmost. split; [apply perm_id|split; [apply perm_id|]]. split; simpl; intros; lia. }
  assert (same : forall t h k, (t < T)%nat -> (counts p f (d t) -> h = k) -> w t * h = w t * k).
  { intros t h k ht e. destruct (Req_dec (w t) 0) as [->|nz]; [ring|]. rewrite e; [reflexivity|].
    apply hd; [assumption|]. specialize (hw t ht). lra. }
  set (X := fun i => x (s i)). set (Z := fun j => z (q j)).
  assert (each : sum T (fun t => w t * (1 - sum p (fun i => g i (d t i)) -
    u * (sum p (fun i => sum (d t i) Z) - sum p (fun i => INR (d t i) * X i)))) <= most).
  { apply Rle_trans with (sum T (fun t => most * w t)); [|rewrite sum_scale; nra].
    apply sum_le; intros t ht. rewrite (Rmult_comm most).
    destruct (Req_dec (w t) 0) as [->|nz]; [lra|]. apply Rmult_le_compat_l; [auto|].
    refine (Rle_trans _ _ _ _ (hmost {| near := s; near' := s'; far := q; far' := q'; b := d t |} _)).
    - unfold maximand, Delta, over_pairs. simpl. fold u. apply Req_le. f_equal. f_equal.
      rewrite <- sum_minus. apply sum_ext; intros i hi. rewrite sum_minus, sum_const. reflexivity.
    - split; [exact hs|split; [exact hq|]]. simpl. apply hd; [assumption|]. specialize (hw t ht). lra. }
  set (bb := fun i => sum T (fun t => w t * INR (d t i))) in *.
  set (cc := fun j => sum T (fun t => w t * INR (count p (fun i => Nat.ltb j (d t i))))) in *.
  assert (near_sum : sum T (fun t => w t * sum p (fun i => INR (d t i) * X i)) = sum p (fun i => bb i * X i)).
  { rewrite (sum_ext T _ (fun t => sum p (fun i => w t * INR (d t i) * X i))).
    - rewrite sum_swap. apply sum_ext; intros i hi. unfold bb. rewrite <- sum_scale_r. apply sum_ext; intros; ring.
    - intros t ht. rewrite <- sum_scale. apply sum_ext; intros; ring. }
  assert (far_sum : sum T (fun t => w t * sum p (fun i => sum (d t i) Z)) = sum f (fun j => cc j * Z j)).
  { rewrite (sum_ext T _ (fun t => sum f (fun j => w t * INR (count p (fun i => Nat.ltb j (d t i))) * Z j))).
    - rewrite sum_swap. apply sum_ext; intros j hj. unfold cc. rewrite <- sum_scale_r. apply sum_ext; intros; ring.
    - intros t ht. rewrite (same t _ (sum f (fun j => INR (count p (fun i => Nat.ltb j (d t i))) * Z j)) ht).
      + rewrite <- sum_scale. apply sum_ext; intros; ring.
      + intros [_ hb]. apply conjugate. assumption. }
  assert (ob : ascending p bb).
  { intros i j hij. apply sum_le; intros t ht. destruct (Req_dec (w t) 0) as [->|nz]; [lra|].
    apply Rmult_le_compat_l; [auto|]. apply le_INR, (hd t ht); [specialize (hw t ht); lra|assumption]. }
  assert (oc : descending f cc).
  { intros i j hij. apply sum_le; intros t ht. apply Rmult_le_compat_l; [auto|]. apply le_INR, count_le_count.
    intros k hk. rewrite !Nat.ltb_lt. lia. }
  pose proof (majorised_ascending p s s' x r bb hs ox ob mr) as near_le.
  pose proof (majorised_descending f q q' z c cc hq oz oc mc) as far_le.
  fold X in near_le. fold Z in far_le. change (fun i => bb i * x (s i)) with (fun i => bb i * X i) in near_le.
  change (fun j => cc j * z (q j)) with (fun j => cc j * Z j) in far_le.
  rewrite (sum_ext T _ (fun t => w t * (1 - sum p (fun i => g i (d t i))) -
    u * (w t * sum p (fun i => sum (d t i) Z) - w t * sum p (fun i => INR (d t i) * X i)))) in each by (intros; ring).
  rewrite sum_minus, sum_scale, sum_minus, near_sum, far_sum in each. nra.
Qed.

(* The dual points of lists, sums and rankings, for a risk: S sums over queries, items j far and i near,
   a_q (sum of c_j e_qj - sum of r_i e_qi). *)
Section Lists.
  Variables (d k n : nat) (p f : nat -> nat) (near_e far_e : nat -> nat -> matrix) (r c : nat -> vector) (M : matrix).
  Let x (q i : nat) : R := ip d k (near_e q i) M.
  Let z (q j : nat) : R := ip d k (far_e q j) M.
  Definition S_lists (a : nat -> R) : matrix := fun i j => sum n (fun q => a q *
    (sum (f q) (fun l => c q l * far_e q l i j) - sum (p q) (fun m => r q m * near_e q m i j))).

  Theorem lists (a v Rq : nat -> R) :
    (forall q, (q < n)%nat -> v q + a q * (sum (p q) (fun i => r q i * x q i) - sum (f q) (fun j => c q j * z q j)) <= Rq q) ->
    sum n v - ip d k (S_lists a) M <= sum n Rq.
  Proof.
    intros h. unfold S_lists. rewrite (ip_sum d k n a (fun q i j =>
      sum (f q) (fun l => c q l * far_e q l i j) - sum (p q) (fun m => r q m * near_e q m i j))), <- sum_minus.
    apply sum_le; intros q hq. specialize (h q hq).
    change (fun i j => sum (f q) (fun l => c q l * far_e q l i j) - sum (p q) (fun m => r q m * near_e q m i j))
      with (sub (fun i j => sum (f q) (fun l => c q l * far_e q l i j)) (fun i j => sum (p q) (fun m => r q m * near_e q m i j))).
    rewrite ip_sub, !ip_sum. unfold x, z in h. lra.
  Qed.

  Theorem lists_of_hinges (u : nat -> R) mu :
    (forall q, (q < n)%nat -> 0 <= u q /\ (forall j, (j < f q)%nat -> 0 <= c q j) /\ sum (p q) (r q) = sum (f q) (c q) /\
      forall l, (0 < l <= p q)%nat -> largest_at_most (p q) (r q) l (sum (f q) (fun j => Rmin (c q j) (INR l)))) ->
    sum n (fun q => u q * (mu * sum (p q) (r q))) - ip d k (S_lists u) M <=
    sum n (fun q => u q * sum (p q) (fun i => sum (f q) (fun j => Rmax 0 (mu - (z q j - x q i))))).
  Proof.
    intros h. apply lists. intros q hq. destruct (h q hq) as [hu [hc [total largest]]].
    pose proof (sums_of_slopes (p q) (f q) mu (x q) (z q) (r q) (c q) hc total largest) as g.
    rewrite (sum_ext (p q) (fun i => sum (f q) (fun j => Rmax 0 (mu - (z q j - x q i))))
      (fun i => sum (f q) (fun j => Rmax 0 (mu + x q i - z q j)))).
    - apply (Rmult_le_compat_l (u q)) in g; [|assumption]. lra.
    - intros i hi. apply sum_ext; intros j hj. f_equal. ring.
  Qed.

  Theorem lists_of_rankings (C N : R) (cq : nat -> R) (g : nat -> nat -> nat -> R) (T : nat -> nat) (w : nat -> vector)
      (b : nat -> nat -> nat -> nat) (most : nat -> R) :
    0 < C -> 0 < N ->
    (forall q, (q < n)%nat -> 0 <= cq q /\ (0 < p q)%nat /\ (0 < f q)%nat /\ sum (p q) (fun i => g q i O) <= 1 /\
      (forall t, (t < T q)%nat -> 0 <= w q t /\ (0 < w q t -> counts (p q) (f q) (b q t))) /\ sum (T q) (w q) <= 1 /\
      majorised (p q) (r q) (fun i => sum (T q) (fun t => w q t * INR (b q t i))) /\
      majorised (f q) (c q) (fun j => sum (T q) (fun t => w q t * INR (count (p q) (fun i => Nat.ltb j (b q t i))))) /\
      forall y, valid (p q) (f q) y -> maximand (p q) (f q) (g q) (x q) (z q) y <= most q) ->
    sum n (fun q => C / N * cq q * sum (T q) (fun t => w q t * (1 - sum (p q) (fun i => g q i (b q t i))))) -
      ip d k (S_lists (fun q => 2 * C * cq q / (N * INR (p q) * INR (f q)))) M <=
    sum n (fun q => C / N * cq q * most q).
  Proof.
    intros hC hN h. apply lists. intros q hq.
    destruct (h q hq) as [hcq [hp [hf [perfect [hw [one [mr [mc hmost]]]]]]]].
    pose proof (weighted_rankings (p q) (f q) (g q) (x q) (z q) (r q) (c q) (T q) (w q) (b q) (most q) hp hf perfect
      (fun t ht => proj1 (hw t ht)) one (fun t ht => proj2 (hw t ht)) mr mc hmost) as e.
    apply (Rmult_le_compat_l (C / N * cq q)) in e.
    - refine (Rle_trans _ _ _ _ e). apply Req_le.
      assert (0 < INR (p q)) by (apply lt_0_INR; assumption). assert (0 < INR (f q)) by (apply lt_0_INR; assumption).
      field. lra.
    - apply Rmult_le_pos; [|assumption]. apply Rlt_le, Rdiv_lt_0_compat; assumption.
  Qed.
End Lists.
