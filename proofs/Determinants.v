(* Determinants, by expansion along the first column, as far as theorem 7 needs them: that of a triangular matrix times any
   other is the product of its diagonal times that of the other. *)
From Certificates Require Import Sums.

Definition mul (n : nat) (X Y : matrix) : matrix := fun i j => sum n (fun t => X i t * Y t j).
Definition transpose (X : matrix) : matrix := fun i j => X j i.
Definition upper (n : nat) (X : matrix) : Prop := forall i j, (i < n)%nat -> (j < i)%nat -> X i j = 0.
Definition lower (n : nat) (X : matrix) : Prop := forall i j, (j < n)%nat -> (i < j)%nat -> X i j = 0.
Fixpoint product (n : nat) (f : nat -> R) : R := match n with O => 1 | S m => product m f * f m end.

Definition minor (i : nat) (X : matrix) : matrix := fun r c => X (if Nat.ltb r i then r else S r) (S c).
Fixpoint det (n : nat) (X : matrix) : R :=
  match n with O => 1 | S m => sum (S m) (fun i => (-1) ^ i * X i O * det m (minor i X)) end.

Lemma det_ext n : forall X Y, (forall i j, (i < n)%nat -> (j < n)%nat -> X i j = Y i j) -> det n X = det n Y.
Proof.
  induction n; intros X Y h; [reflexivity|]. apply sum_ext; intros i hi. rewrite h by lia. f_equal.
  apply IHn; intros r c hr hc. apply h; [destruct (Nat.ltb_spec r i)|]; lia.
Qed.

(* Linear in every row: X has the row i that a times that of Y and b times that of Z make, and all share the others. *)
Lemma det_row n : forall i a b X Y Z, (i < n)%nat ->
  (forall r c, (r < n)%nat -> (c < n)%nat -> r <> i -> X r c = Y r c /\ X r c = Z r c) ->
  (forall c, (c < n)%nat -> X i c = a * Y i c + b * Z i c) -> det n X = a * det n Y + b * det n Z.
Proof.
  induction n; intros i a b X Y Z hi other row; [lia|].
  cbn [det]. rewrite <- !sum_scale, <- sum_plus. apply sum_ext; intros t ht.
  destruct (Nat.eq_dec t i) as [->|ne].
  - assert (same : det n (minor i X) = det n (minor i Y) /\ det n (minor i X) = det n (minor i Z)).
    { split; apply det_ext; intros r c hr hc; apply other; destruct (Nat.ltb_spec r i); lia. }
    destruct same as [e1 e2]. rewrite row, <- e1, <- e2 by lia. ring.
  - destruct (other t O ht ltac:(lia) ne) as [e1 e2].
    rewrite (IHn (if Nat.ltb i t then i else (i - 1)%nat) a b (minor t X) (minor t Y) (minor t Z)).
    + rewrite <- e1, <- e2. ring.
    + destruct (Nat.ltb_spec i t); lia.
    + intros r c hr hc nr. apply other; try lia; destruct (Nat.ltb_spec r t), (Nat.ltb_spec i t); lia.
    + intros c hc. unfold minor. destruct (Nat.ltb_spec i t) as [lt|ge].
      * destruct (Nat.ltb_spec i t); [|lia]. apply row. lia.
      * destruct (Nat.ltb_spec (i - 1) t); [lia|]. replace (S (i - 1)) with i by lia. apply row. lia.
Qed.

Lemma sum_two n f i : (S i < n)%nat -> (forall j, (j < n)%nat -> j <> i -> j <> S i -> f j = 0) -> sum n f = f i + f (S i).
Proof.
  intros hi h. rewrite (sum_ext n f (fun j => (if Nat.eqb j i then f j else 0) + (if Nat.eqb j i then 0 else f j))).
  - rewrite sum_plus, (sum_only n _ i), (sum_only n _ (S i)); try lia.
    + rewrite Nat.eqb_refl. destruct (Nat.eqb_spec (S i) i); [lia|reflexivity].
    + intros j hj ne. destruct (Nat.eqb_spec j i); [reflexivity|apply h; assumption].
    + intros j hj ne. destruct (Nat.eqb_spec j i); [contradiction|reflexivity].
  - intros j hj. destruct (Nat.eqb j i); ring.
Qed.

(* Zero where two rows are equal: neighbours first. *)
Lemma det_neighbours n : forall i X, (S i < n)%nat -> (forall c, (c < n)%nat -> X i c = X (S i) c) -> det n X = 0.
Proof.
  induction n; intros i X hi eq; [lia|]. cbn [det]. rewrite (sum_two (S n) _ i hi).
  - rewrite (det_ext n (minor (S i) X) (minor i X)).
    + rewrite eq by lia. simpl. ring.
    + intros r c hr hc. unfold minor. destruct (Nat.ltb_spec r i), (Nat.ltb_spec r (S i)); try lia; auto.
      replace r with i by lia. apply eq. lia.
  - intros t ht n1 n2. rewrite (IHn (if Nat.ltb i t then i else (i - 1)%nat) (minor t X)); [ring| |].
    + destruct (Nat.ltb_spec i t); lia.
    + intros c hc. unfold minor. destruct (Nat.ltb_spec i t) as [lt|ge].
      * destruct (Nat.ltb_spec i t), (Nat.ltb_spec (S i) t); try lia. apply eq. lia.
      * replace (S (i - 1)) with i by lia. destruct (Nat.ltb_spec (i - 1) t), (Nat.ltb_spec i t); try lia.
        replace (S (i - 1)) with i by lia. apply eq. lia.
Qed.

Definition with_rows (i : nat) (a b : vector) (X : matrix) : matrix :=
  fun r => if Nat.eqb r i then a else if Nat.eqb r (S i) then b else X r.

Lemma det_swap n i a b X : (S i < n)%nat -> det n (with_rows i a b X) = - det n (with_rows i b a X).
Proof.
  intros hi. set (s := fun c => 1 * a c + 1 * b c).
  assert (twice : forall x, det n (with_rows i x x X) = 0).
  { intros x. apply (det_neighbours n i); [assumption|]. intros c hc. unfold with_rows.
    rewrite Nat.eqb_refl. destruct (Nat.eqb_spec (S i) i); [lia|]. rewrite Nat.eqb_refl. reflexivity. }
  assert (first : forall y, det n (with_rows i s y X) = 1 * det n (with_rows i a y X) + 1 * det n (with_rows i b y X)).
  { intros y. apply (det_row n i); [lia| |].
    - intros r c hr hc ne. unfold with_rows. destruct (Nat.eqb_spec r i); [contradiction|]. split; reflexivity.
    - intros c hc. unfold with_rows. rewrite Nat.eqb_refl. reflexivity. }
  assert (second : forall x, det n (with_rows i x s X) = 1 * det n (with_rows i x a X) + 1 * det n (with_rows i x b X)).
  { intros x. apply (det_row n (S i)); [lia| |].
    - intros r c hr hc ne. unfold with_rows. destruct (Nat.eqb_spec r i), (Nat.eqb_spec r (S i));
        try contradiction; split; reflexivity.
    - intros c hc. unfold with_rows. destruct (Nat.eqb_spec (S i) i); [lia|]. rewrite Nat.eqb_refl. reflexivity. }
  pose proof (twice s) as z. rewrite first, !second, !twice in z. lra.
Qed.

Lemma det_equal n gap : forall i X, (i + S gap < n)%nat ->
  (forall c, (c < n)%nat -> X i c = X (i + S gap)%nat c) -> det n X = 0.
Proof.
  induction gap; intros i X hi eq.
  - apply (det_neighbours n i); [lia|]. intros c hc. rewrite eq by assumption. f_equal. lia.
  - set (j := (i + S gap)%nat). rewrite (det_ext n X (with_rows j (X j) (X (S j)) X)).
    + rewrite det_swap by lia. rewrite (IHgap i); [ring|lia|]. intros c hc. unfold with_rows. fold j.
      destruct (Nat.eqb_spec i j), (Nat.eqb_spec i (S j)); try lia. rewrite Nat.eqb_refl, eq by assumption. f_equal. lia.
    + intros r c hr hc. unfold with_rows. destruct (Nat.eqb_spec r j) as [->|]; [reflexivity|].
      destruct (Nat.eqb_spec r (S j)) as [->|]; reflexivity.
Qed.

Definition with_row (i : nat) (a : vector) (X : matrix) : matrix := fun r => if Nat.eqb r i then a else X r.

Lemma det_copy n i t X : (i < n)%nat -> (t < n)%nat -> det n (with_row i (X t) X) = if Nat.eqb t i then det n X else 0.
Proof.
  intros hi ht. destruct (Nat.eqb_spec t i) as [->|ne].
  - apply det_ext; intros r c hr hc. unfold with_row. destruct (Nat.eqb_spec r i) as [->|]; reflexivity.
  - destruct (Nat.lt_ge_cases t i).
    + apply (det_equal n (i - t - 1) t); [lia|]. intros c hc. replace (t + S (i - t - 1))%nat with i by lia.
      unfold with_row. rewrite Nat.eqb_refl. destruct (Nat.eqb_spec t i); [contradiction|reflexivity].
    + apply (det_equal n (t - i - 1) i); [lia|]. intros c hc. replace (i + S (t - i - 1))%nat with t by lia.
      unfold with_row. rewrite Nat.eqb_refl. destruct (Nat.eqb_spec t i); [contradiction|reflexivity].
Qed.

(* A row that is combined of all rows counts with its own coefficient. *)
Lemma det_combination n i (c : vector) X : (i < n)%nat ->
  det n (with_row i (fun j => sum n (fun t => c t * X t j)) X) = c i * det n X.
Proof.
  intros hi.
  assert (partly : forall l, (l <= n)%nat -> det n (with_row i (fun j => sum l (fun t => c t * X t j)) X) =
    sum l (fun t => c t * if Nat.eqb t i then det n X else 0)).
  { induction l; intros hl.
    - rewrite (det_row n i 0 0 _ X X hi); [simpl; ring| |].
      + intros r s hr hs ne. unfold with_row. destruct (Nat.eqb_spec r i); [contradiction|split; reflexivity].
      + intros s hs. unfold with_row. rewrite Nat.eqb_refl. simpl. ring.
    - simpl sum at 2. rewrite <- IHl, <- det_copy by lia.
      rewrite (det_row n i 1 (c l) _ (with_row i (fun j => sum l (fun t => c t * X t j)) X) (with_row i (X l) X) hi); [ring| |].
      + intros r s hr hs ne. unfold with_row. destruct (Nat.eqb_spec r i); [contradiction|split; reflexivity].
      + intros s hs. unfold with_row. rewrite Nat.eqb_refl. simpl. ring. }
  rewrite partly by lia. rewrite (sum_only n _ i hi).
  - rewrite Nat.eqb_refl. reflexivity.
  - intros t ht ne. destruct (Nat.eqb_spec t i); [contradiction|ring].
Qed.

(* Row by row, upwards for lower triangular matrices ... *)
Lemma det_lower_mul n L Y : lower n L -> det n (mul n L Y) = product n (fun i => L i i) * det n Y.
Proof.
  intros hL.
  assert (stage : forall m, (m <= n)%nat ->
    det n (fun r => if Nat.ltb r m then Y r else mul n L Y r) * product m (fun i => L i i) = det n (mul n L Y)).
  { induction m; intros hm.
    - simpl. rewrite Rmult_1_r. apply det_ext; intros; reflexivity.
    - rewrite <- IHm by lia. set (X := fun r => if Nat.ltb r (S m) then Y r else mul n L Y r).
      rewrite (det_ext n (fun r => if Nat.ltb r m then Y r else mul n L Y r)
        (with_row m (fun j => sum n (fun t => L m t * X t j)) X)).
      + rewrite (det_combination n m (L m)) by lia. simpl. ring.
      + intros r c hr hc. unfold with_row. destruct (Nat.eqb_spec r m) as [->|ne].
        * rewrite Nat.ltb_irrefl. apply sum_ext; intros t ht. unfold X. destruct (Nat.ltb_spec t (S m)); [reflexivity|].
          rewrite (hL m t) by lia. ring.
        * unfold X. destruct (Nat.ltb_spec r m), (Nat.ltb_spec r (S m)); try lia; reflexivity. }
  rewrite <- (stage n (le_n n)), Rmult_comm. f_equal. apply det_ext; intros i j hi hj.
  apply Nat.ltb_lt in hi. rewrite hi. reflexivity.
Qed.

(* ... and downwards for upper ones. *)
Lemma det_upper_mul n U Y : upper n U -> det n (mul n U Y) = product n (fun i => U i i) * det n Y.
Proof.
  intros hU.
  assert (stage : forall m, (m <= n)%nat ->
    det n (fun r => if Nat.ltb r m then mul n U Y r else Y r) = product m (fun i => U i i) * det n Y).
  { induction m; intros hm.
    - simpl. rewrite Rmult_1_l. apply det_ext; intros; reflexivity.
    - set (X := fun r => if Nat.ltb r m then mul n U Y r else Y r) in *.
      rewrite (det_ext n _ (with_row m (fun j => sum n (fun t => U m t * X t j)) X)).
      + rewrite (det_combination n m (U m)), IHm by lia. simpl. ring.
      + intros r c hr hc. unfold with_row. destruct (Nat.eqb_spec r m) as [->|ne].
        * destruct (Nat.ltb_spec m (S m)); [|lia]. apply sum_ext; intros t ht. unfold X.
          destruct (Nat.ltb_spec t m); [|reflexivity].
          rewrite (hU m t) by lia. ring.
        * unfold X. destruct (Nat.ltb_spec r m), (Nat.ltb_spec r (S m)); try lia; reflexivity. }
  rewrite <- (stage n (le_n n)). apply det_ext; intros i j hi hj. apply Nat.ltb_lt in hi. rewrite hi. reflexivity.
Qed.

Lemma det_identity n : det n (scaled_identity 1) = 1.
Proof.
  induction n; [reflexivity|]. cbn [det]. rewrite (sum_only (S n) _ O); [|lia|].
  - rewrite (det_ext n (minor 0 (scaled_identity 1)) (scaled_identity 1)); [rewrite IHn; unfold scaled_identity; simpl; ring|].
    intros. reflexivity.
  - intros j hj ne. unfold scaled_identity. destruct (Nat.eqb_spec j 0); [contradiction|ring].
Qed.

Lemma det_lower n L : lower n L -> det n L = product n (fun i => L i i).
Proof.
  intros hL. rewrite <- (Rmult_1_r (product n _)), <- (det_identity n), <- det_lower_mul by assumption.
  apply det_ext; intros i j hi hj. unfold mul, scaled_identity. rewrite (sum_only n _ j hj).
  - rewrite Nat.eqb_refl. ring.
  - intros t ht ne. destruct (Nat.eqb_spec t j); [contradiction|ring].
Qed.

Lemma mul_assoc n X Y Z i j : mul n (mul n X Y) Z i j = mul n X (mul n Y Z) i j.
Proof.
  unfold mul. rewrite (sum_ext n _ (fun t => sum n (fun s => X i s * Y s t * Z t j))).
  - rewrite sum_swap. apply sum_ext; intros s hs. rewrite <- sum_scale. apply sum_ext; intros; ring.
  - intros t ht. symmetry. apply sum_scale_r.
Qed.

(* The determinant of (T0'T0)(G G') for upper triangular matrices T0 and G. *)
Theorem det_roots n T0 G M : upper n T0 -> upper n G ->
  (forall i j, (i < n)%nat -> (j < n)%nat -> M i j = mul n G (transpose G) i j) ->
  det n (mul n (mul n (transpose T0) T0) M) =
  product n (fun i => T0 i i) * (product n (fun i => T0 i i) * (product n (fun i => G i i) * product n (fun i => G i i))).
Proof.
  intros h0 hG hM.
  rewrite (det_ext n _ (mul n (transpose T0) (mul n T0 (mul n G (transpose G))))).
  - rewrite det_lower_mul, det_upper_mul, det_upper_mul, det_lower; try assumption; [reflexivity| |].
    + intros i j hj hij. apply hG; assumption.
    + intros i j hj hij. apply h0; assumption.
  - intros i j hi hj. rewrite mul_assoc. apply sum_ext; intros t ht. f_equal. apply sum_ext; intros s hs. f_equal.
    apply hM; assumption.
Qed.
