(* Finite sums, inner products, norms and positive semidefinite matrices: what the theorems need of linear algebra.

   A vector is a function nat -> R of which the first n values count, a matrix a function nat -> nat -> R of which the
   first d rows and k columns do. Indices begin at 0 here, at 1 in the specification. *)
From Coq Require Export Reals Lra Lia Bool Arith.
Open Scope R_scope.

Definition vector := nat -> R.
Definition matrix := nat -> nat -> R.

Fixpoint sum (n : nat) (f : nat -> R) : R :=
  match n with O => 0 | S m => sum m f + f m end.

Lemma sum_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> sum n f = sum n g.
Proof. induction n; intros h; simpl; [reflexivity|]. rewrite IHn, (h n); auto. Qed.

Lemma sum_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> sum n f <= sum n g.
Proof. induction n; intros h; simpl; [lra|]. apply Rplus_le_compat; auto. Qed.

Lemma sum_zero n f : (forall i, (i < n)%nat -> f i = 0) -> sum n f = 0.
Proof. induction n; intros h; simpl; [lra|]. rewrite IHn, (h n); auto; lra. Qed.

Lemma sum_nonneg n f : (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= sum n f.
Proof. intros h. apply Rle_trans with (sum n (fun _ => 0)); [apply Req_le; symmetry; apply sum_zero|apply sum_le]; auto. Qed.

Lemma sum_plus n f g : sum n (fun i => f i + g i) = sum n f + sum n g.
Proof. induction n; simpl; [|rewrite IHn]; lra. Qed.

Lemma sum_minus n f g : sum n (fun i => f i - g i) = sum n f - sum n g.
Proof. induction n; simpl; [|rewrite IHn]; lra. Qed.

Lemma sum_scale n c f : sum n (fun i => c * f i) = c * sum n f.
Proof. induction n; simpl; [|rewrite IHn]; lra. Qed.

Lemma sum_scale_r n c f : sum n (fun i => f i * c) = sum n f * c.
Proof. induction n; simpl; [|rewrite IHn]; lra. Qed.

Lemma sum_const n c : sum n (fun _ => c) = INR n * c.
Proof. induction n; [simpl; lra|]. rewrite S_INR. simpl. rewrite IHn. lra. Qed.

Lemma sum_swap n m (f : nat -> nat -> R) :
  sum n (fun i => sum m (fun j => f i j)) = sum m (fun j => sum n (fun i => f i j)).
Proof.
  induction n; simpl; [symmetry; apply sum_zero; auto|].
  rewrite IHn, <- sum_plus. reflexivity.
Qed.

Lemma sum_add n m f : sum (n + m) f = sum n f + sum m (fun i => f (n + i)%nat).
Proof. induction m; [rewrite Nat.add_0_r; simpl; lra|]. rewrite Nat.add_succ_r. simpl. rewrite IHm. lra. Qed.

(* One term of a sum, and a sum with one term. *)
Lemma sum_term n f i : (i < n)%nat -> (forall j, (j < n)%nat -> 0 <= f j) -> f i <= sum n f.
Proof.
  induction n; intros hi h; [lia|]. simpl.
  assert (0 <= sum n f) by (apply sum_nonneg; auto).
  destruct (Nat.eq_dec i n) as [->|ne]; [lra|].
  assert (f i <= sum n f) by (apply IHn; auto; lia).
  assert (0 <= f n) by auto. lra.
Qed.

Lemma sum_only n f i : (i < n)%nat -> (forall j, (j < n)%nat -> j <> i -> f j = 0) -> sum n f = f i.
Proof.
  induction n; intros hi h; [lia|]. simpl.
  destruct (Nat.eq_dec i n) as [->|ne].
  - rewrite sum_zero; [lra|]. intros j hj. apply h; lia.
  - rewrite IHn, (h n); auto; try lia; lra.
Qed.

Lemma prefix_le n m f : (m <= n)%nat -> (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= sum n f - sum m f.
Proof.
  intros hm h. induction hm as [|n hm IH]; [lra|]. simpl. pose proof (h n ltac:(lia)). specialize (IH ltac:(auto)). lra.
Qed.

(* Summation by parts, after Abel: against a descending x, no prefix of a being negative. *)
Lemma abel n a x : (forall i j, (i <= j < n)%nat -> x j <= x i) -> (forall m, (m <= n)%nat -> 0 <= sum m a) ->
  sum n a = 0 -> 0 <= sum n (fun i => a i * x i).
Proof.
  intros order prefix total.
  assert (step : forall m, (S m <= n)%nat -> x m * sum (S m) a <= sum (S m) (fun i => a i * x i)).
  { induction m; intros hm; [simpl; lra|].
    change (x (S m) * (sum (S m) a + a (S m)) <= sum (S m) (fun i => a i * x i) + a (S m) * x (S m)).
    specialize (IHm ltac:(lia)). pose proof (prefix (S m) ltac:(lia)). pose proof (order m (S m) ltac:(lia)). nra. }
  destruct n; [simpl; lra|]. specialize (step n (le_n _)). rewrite total in step. lra.
Qed.

Definition dot (n : nat) (x y : vector) : R := sum n (fun i => x i * y i).
Definition ip (d k : nat) (X Y : matrix) : R := sum d (fun i => sum k (fun j => X i j * Y i j)).
Definition quad (n : nat) (M : matrix) (x : vector) : R := sum n (fun i => sum n (fun j => x i * M i j * x j)).
Definition tr (n : nat) (M : matrix) : R := sum n (fun i => M i i).
Definition sub (X Y : matrix) : matrix := fun i j => X i j - Y i j.
Definition scaled_identity (c : R) : matrix := fun i j => if Nat.eqb i j then c else 0.
Definition unit_vector (i : nat) : vector := fun j => if Nat.eqb j i then 1 else 0.

Definition sym (n : nat) (M : matrix) : Prop := forall i j, (i < n)%nat -> (j < n)%nat -> M i j = M j i.
Definition psd (n : nat) (M : matrix) : Prop := forall x, 0 <= quad n M x.
Definition pd (n : nat) (M : matrix) : Prop := forall x, (exists i, (i < n)%nat /\ x i <> 0) -> 0 < quad n M x.

Lemma all_zero n (x : vector) : (forall i, (i < n)%nat -> x i = 0) \/ exists i, (i < n)%nat /\ x i <> 0.
Proof.
  induction n; [left; intros; lia|]. destruct IHn as [z|[i [hi nz]]]; [|right; exists i; split; [lia|assumption]].
  destruct (Req_dec (x n) 0) as [zn|nz]; [left|right; exists n; split; [lia|assumption]].
  intros i hi. destruct (Nat.eq_dec i n) as [->|ne]; [assumption|apply z; lia].
Qed.

Lemma pd_psd n M : pd n M -> psd n M.
Proof.
  intros h x. destruct (all_zero n x) as [z|nz]; [|apply Rlt_le, h; assumption].
  apply Req_le. symmetry. apply sum_zero; intros i hi. apply sum_zero; intros j hj. rewrite (z i hi). ring.
Qed.

Lemma ip_ext d k X X' Y Y' :
  (forall i j, (i < d)%nat -> (j < k)%nat -> X i j = X' i j) ->
  (forall i j, (i < d)%nat -> (j < k)%nat -> Y i j = Y' i j) -> ip d k X Y = ip d k X' Y'.
Proof. intros hx hy. apply sum_ext; intros i hi. apply sum_ext; intros j hj. rewrite hx, hy; auto. Qed.

Lemma ip_comm d k X Y : ip d k X Y = ip d k Y X.
Proof. apply sum_ext; intros i hi. apply sum_ext; intros j hj. ring. Qed.

Lemma ip_lin d k a b X Y Z : ip d k (fun i j => a * X i j + b * Y i j) Z = a * ip d k X Z + b * ip d k Y Z.
Proof.
  unfold ip. rewrite <- !sum_scale, <- sum_plus. apply sum_ext; intros i hi.
  rewrite <- !sum_scale, <- sum_plus. apply sum_ext; intros j hj. ring.
Qed.

Lemma ip_sub d k X Y Z : ip d k (sub X Y) Z = ip d k X Z - ip d k Y Z.
Proof.
  transitivity (1 * ip d k X Z + -1 * ip d k Y Z); [|ring].
  rewrite <- ip_lin. apply ip_ext; intros; unfold sub; ring.
Qed.

Lemma ip_scale d k c X Y : ip d k (fun i j => c * X i j) Y = c * ip d k X Y.
Proof.
  transitivity (c * ip d k X Y + 0 * ip d k X Y); [|ring].
  rewrite <- ip_lin. apply ip_ext; intros; ring.
Qed.

(* A matrix that is a sum of multiples: how S is made of the matrices e. *)
Lemma ip_sum d k n (a : nat -> R) (E : nat -> matrix) M :
  ip d k (fun i j => sum n (fun t => a t * E t i j)) M = sum n (fun t => a t * ip d k (E t) M).
Proof.
  induction n; simpl.
  - apply sum_zero; intros i hi. apply sum_zero; intros j hj. ring.
  - rewrite <- IHn. transitivity (1 * ip d k (fun i j => sum n (fun t => a t * E t i j)) M + a n * ip d k (E n) M); [|ring].
    rewrite <- ip_lin. apply ip_ext; intros; ring.
Qed.

Lemma ip_identity n c M : ip n n (scaled_identity c) M = c * tr n M.
Proof.
  unfold ip, tr, scaled_identity. rewrite <- sum_scale. apply sum_ext; intros i hi.
  rewrite (sum_only n _ i hi); [rewrite Nat.eqb_refl; ring|].
  intros j hj ne. destruct (Nat.eqb_spec i j); [congruence|ring].
Qed.

Lemma quad_ip n M x : quad n M x = ip n n M (fun i j => x i * x j).
Proof. apply sum_ext; intros i hi. apply sum_ext; intros j hj. ring. Qed.

Lemma quad_ext n M x y : (forall i, (i < n)%nat -> x i = y i) -> quad n M x = quad n M y.
Proof. intros h. apply sum_ext; intros i hi. apply sum_ext; intros j hj. rewrite !h; auto. Qed.

Lemma quad_sub n X Y x : quad n (sub X Y) x = quad n X x - quad n Y x.
Proof. rewrite !quad_ip. apply ip_sub. Qed.

Lemma quad_identity n c x : quad n (scaled_identity c) x = c * dot n x x.
Proof. rewrite quad_ip, ip_identity. reflexivity. Qed.

(* x'(sum of a_t e_t)x for a matrix of products f_t f_t': the sum of a_t (f_t.x)^2. *)
Lemma quad_outer n (f x : vector) : quad n (fun i j => f i * f j) x = dot n f x * dot n f x.
Proof.
  unfold quad. transitivity (sum n (fun i => f i * x i * dot n f x)).
  - apply sum_ext; intros i hi. unfold dot. rewrite <- sum_scale. apply sum_ext; intros j hj. ring.
  - apply sum_scale_r.
Qed.

Lemma quad_gram n m (F : nat -> vector) x :
  quad n (fun i j => sum m (fun k => F k i * F k j)) x = sum m (fun k => dot n (F k) x * dot n (F k) x).
Proof.
  rewrite quad_ip.
  rewrite (ip_ext n n _ (fun i j => sum m (fun k => 1 * (F k i * F k j))) _ (fun i j => x i * x j)).
  - rewrite (ip_sum n n m (fun _ => 1) (fun k i j => F k i * F k j)). apply sum_ext; intros k hk.
    rewrite <- quad_ip, quad_outer. ring.
  - intros. apply sum_ext; intros; ring.
  - auto.
Qed.

Lemma ip_gram n m Y (F : nat -> vector) :
  ip n n Y (fun i j => sum m (fun k => F k i * F k j)) = sum m (fun k => quad n Y (F k)).
Proof.
  rewrite ip_comm, (ip_ext n n _ (fun i j => sum m (fun k => 1 * (F k i * F k j))) _ Y).
  - rewrite (ip_sum n n m (fun _ => 1) (fun k i j => F k i * F k j)). apply sum_ext; intros k hk.
    rewrite quad_ip, ip_comm. ring.
  - intros. apply sum_ext; intros; ring.
  - auto.
Qed.

(* Cauchy and Schwarz. *)
Lemma discriminant a b c : (forall t, 0 <= a + 2 * t * b + t * t * c) -> 0 <= c -> b * b <= a * c.
Proof.
  intros h hc. destruct (Req_dec c 0) as [->|ne].
  - destruct (Req_dec b 0) as [->|nb]; [lra|].
    specialize (h (- (a + 1) / (2 * b))). replace (a + 2 * (- (a + 1) / (2 * b)) * b + _ * 0) with (-1) in h by (field; lra).
    lra.
  - specialize (h (- b / c)). replace (a + 2 * (- b / c) * b + _) with ((a * c - b * b) / c) in h by (field; lra).
    assert (0 < c) by lra. assert (0 <= (a * c - b * b) / c * c) by (apply Rmult_le_pos; lra).
    replace ((a * c - b * b) / c * c) with (a * c - b * b) in * by (field; lra). lra.
Qed.

Lemma dot_self n x : 0 <= dot n x x.
Proof. apply sum_nonneg; intros. apply Rle_0_sqr. Qed.

Lemma dot_lin n a b x y z : dot n (fun i => a * x i + b * y i) z = a * dot n x z + b * dot n y z.
Proof. unfold dot. rewrite <- !sum_scale, <- sum_plus. apply sum_ext; intros; ring. Qed.

Lemma dot_plus n x y z : dot n x (fun i => y i + z i) = dot n x y + dot n x z.
Proof. unfold dot. rewrite <- sum_plus. apply sum_ext; intros; ring. Qed.

Lemma dot_comm n x y : dot n x y = dot n y x.
Proof. apply sum_ext; intros; ring. Qed.

Lemma ip_self d k X : 0 <= ip d k X X.
Proof. apply sum_nonneg; intros. apply dot_self. Qed.

Lemma cauchy_dot n x y : dot n x y * dot n x y <= dot n x x * dot n y y.
Proof.
  apply discriminant; [intros t|apply dot_self].
  replace (_ + _ + _) with (dot n (fun i => 1 * x i + t * y i) (fun i => 1 * x i + t * y i)); [apply dot_self|].
  rewrite dot_lin, (dot_comm n x), (dot_comm n y), !dot_lin, (dot_comm n y x). ring.
Qed.

Lemma cauchy d k X Y : ip d k X Y * ip d k X Y <= ip d k X X * ip d k Y Y.
Proof.
  apply discriminant; [intros t|apply ip_self].
  replace (_ + _ + _) with (ip d k (fun i j => 1 * X i j + t * Y i j) (fun i j => 1 * X i j + t * Y i j)); [apply ip_self|].
  rewrite ip_lin, (ip_comm d k X), (ip_comm d k Y), !ip_lin, (ip_comm d k Y X). ring.
Qed.

Definition norm (d k : nat) (X : matrix) : R := sqrt (ip d k X X).

Lemma le_product a b c : 0 <= a -> 0 <= b -> c * c <= a * a * (b * b) -> c <= a * b.
Proof. intros ha hb h. assert (0 <= a * b) by (apply Rmult_le_pos; lra). apply Rnot_lt_le; intros g. nra. Qed.

Lemma cauchy_norm d k X Y : ip d k X Y <= norm d k X * norm d k Y.
Proof.
  apply le_product; try apply sqrt_pos. unfold norm. rewrite !sqrt_sqrt by apply ip_self. apply cauchy.
Qed.

Lemma quad_norm n X x : Rabs (quad n X x) <= norm n n X * dot n x x.
Proof.
  assert (up : forall Y, norm n n Y = norm n n X -> quad n Y x <= norm n n X * dot n x x).
  { intros Y e. rewrite quad_ip. refine (Rle_trans _ _ _ (cauchy_norm _ _ _ _) _). rewrite e. apply Req_le. f_equal.
    unfold norm. rewrite <- quad_ip, quad_outer. apply sqrt_square, dot_self. }
  apply Rabs_le. split; [|auto]. pose proof (up (fun i j => -1 * X i j)) as h.
  rewrite quad_ip, ip_scale, <- quad_ip in h. enough (-1 * quad n X x <= norm n n X * dot n x x) by lra.
  apply h. unfold norm. f_equal. apply sum_ext; intros. apply sum_ext; intros. ring.
Qed.

(* The last row of a positive semidefinite matrix as a pivot: what is left of the form is that of the Schur complement. *)
Definition schur (n : nat) (M : matrix) : matrix := fun i j => M i j - M n i * M n j / M n n.

Lemma quad_last n M x : sym (S n) M ->
  quad (S n) M x = quad n M x + 2 * x n * dot n (M n) x + x n * x n * M n n.
Proof.
  intros hs. unfold quad at 1. simpl. rewrite sum_plus.
  rewrite (sum_ext n (fun i => x i * M i n * x n) (fun i => x n * (M n i * x i))).
  2:{ intros i hi. rewrite (hs i n) by lia. ring. }
  rewrite (sum_ext n (fun j => x n * M n j * x j) (fun i => x n * (M n i * x i))) by (intros; ring).
  rewrite !sum_scale. unfold quad, dot. ring.
Qed.

Lemma pivot n M x : sym (S n) M -> 0 < M n n ->
  quad (S n) M x = quad n (schur n M) x + (M n n * x n + dot n (M n) x) * (M n n * x n + dot n (M n) x) / M n n.
Proof.
  intros hs pos. rewrite quad_last by assumption.
  replace (quad n (schur n M) x) with (quad n M x - dot n (M n) x * dot n (M n) x / M n n); [field; lra|].
  change (schur n M) with (sub M (fun i j => M n i * M n j / M n n)). rewrite quad_sub. f_equal.
  rewrite quad_ip.
  rewrite (ip_ext n n _ (fun i j => / M n n * (M n i * M n j)) _ (fun i j => x i * x j)); auto; [|intros; unfold Rdiv; ring].
  rewrite ip_scale, <- quad_ip, quad_outer. unfold Rdiv. ring.
Qed.

Lemma schur_sym n M : sym (S n) M -> sym n (schur n M).
Proof. intros hs i j hi hj. unfold schur. rewrite (hs i j) by lia. unfold Rdiv. ring. Qed.

(* The last coordinate at which the square is zero. *)
Definition completed (n : nat) (M : matrix) (x : vector) : vector :=
  fun i => if Nat.ltb i n then x i else - dot n (M n) x / M n n.

Lemma completed_same n M x i : (i < n)%nat -> completed n M x i = x i.
Proof. intros hi. apply Nat.ltb_lt in hi. unfold completed. rewrite hi. reflexivity. Qed.

Lemma completed_quad n M x : sym (S n) M -> 0 < M n n -> quad (S n) M (completed n M x) = quad n (schur n M) x.
Proof.
  intros hs pos. rewrite pivot by assumption. rewrite (quad_ext n _ _ x) by apply completed_same.
  replace (dot n (M n) (completed n M x)) with (dot n (M n) x).
  2:{ apply sum_ext; intros. rewrite completed_same; auto. }
  unfold completed. rewrite Nat.ltb_irrefl. field. lra.
Qed.

Lemma schur_psd n M : sym (S n) M -> 0 < M n n -> psd (S n) M -> psd n (schur n M).
Proof. intros hs pos hp x. rewrite <- completed_quad by assumption. apply hp. Qed.

Lemma schur_pd n M : sym (S n) M -> 0 < M n n -> pd (S n) M -> pd n (schur n M).
Proof.
  intros hs pos hd x [i [hi nz]]. rewrite <- completed_quad by assumption. apply hd. exists i.
  rewrite completed_same by assumption. split; [lia|assumption].
Qed.

Lemma quad_unit n M i : (i < n)%nat -> quad n M (unit_vector i) = M i i.
Proof.
  intros hi. unfold quad. rewrite (sum_only n _ i hi); [rewrite (sum_only n _ i hi)|].
  - unfold unit_vector. rewrite Nat.eqb_refl. ring.
  - intros j hj ne. unfold unit_vector. destruct (Nat.eqb_spec j i); [congruence|ring].
  - intros j hj ne. apply sum_zero; intros. unfold unit_vector. destruct (Nat.eqb_spec j i); [congruence|ring].
Qed.

Lemma psd_diagonal n M i : (i < n)%nat -> psd n M -> 0 <= M i i.
Proof. intros hi hp. rewrite <- (quad_unit n M i hi). apply hp. Qed.

(* A zero pivot: the last row is zero. *)
Lemma zero_row n M i : sym (S n) M -> psd (S n) M -> M n n = 0 -> (i < n)%nat -> M n i = 0.
Proof.
  intros hs hp zero hi. enough (M n i * M n i <= M i i * 0) by nra. apply discriminant; [intros t|lra].
  pose proof (hp (fun j => if Nat.ltb j n then unit_vector i j else t)) as h. rewrite quad_last in h by assumption.
  rewrite Nat.ltb_irrefl, zero in h. rewrite (quad_ext n M _ (unit_vector i)), quad_unit in h; auto.
  - unfold dot in h. rewrite (sum_only n _ i hi) in h.
    + apply Nat.ltb_lt in hi. rewrite hi in h. unfold unit_vector in h. rewrite Nat.eqb_refl in h. lra.
    + intros j hj ne. apply Nat.ltb_lt in hj. rewrite hj. unfold unit_vector. destruct (Nat.eqb_spec j i); [congruence|ring].
  - intros j hj. apply Nat.ltb_lt in hj. rewrite hj. reflexivity.
Qed.

(* A positive semidefinite matrix is F'F with a triangular F, found by pivoting from the last row on. *)
Lemma gram n : forall M, sym n M -> psd n M -> exists F : nat -> vector,
  (forall i j, (i < n)%nat -> (j < n)%nat -> M i j = sum n (fun k => F k i * F k j)) /\
  (forall k i, (k < i < n)%nat -> F k i = 0) /\
  (pd n M -> forall k, (k < n)%nat -> 0 < F k k).
Proof.
  induction n; intros M hs hp; [exists (fun _ _ => 0); repeat split; intros; lia|].
  assert (hm : 0 <= M n n) by (apply psd_diagonal with (S n); [lia|assumption]).
  (* N is what the pivot leaves, a its row divided by its root. *)
  assert (left : exists N a, sym n N /\ psd n N /\ (pd (S n) M -> pd n N /\ 0 < a n) /\
    (forall i j, (i < n)%nat -> (j < n)%nat -> M i j = N i j + a i * a j) /\ forall i, (i <= n)%nat -> M n i = a n * a i).
  { destruct (Req_dec (M n n) 0) as [zero|nz].
    - exists M, (fun _ => 0). split; [|split; [|split; [|split]]].
      + intros i j hi hj. apply hs; lia.
      + intros x. pose proof (hp (fun i => if Nat.ltb i n then x i else 0)) as h. rewrite quad_last in h by assumption.
        rewrite Nat.ltb_irrefl in h. rewrite (quad_ext n M _ x) in h; [lra|].
        intros i hi. apply Nat.ltb_lt in hi. rewrite hi. reflexivity.
      + intros hd. exfalso. pose proof (hd (unit_vector n)) as h. rewrite quad_unit in h by lia. enough (0 < M n n) by lra.
        apply h. exists n. unfold unit_vector. rewrite Nat.eqb_refl. split; [lia|lra].
      + intros. ring.
      + intros i hi. rewrite Rmult_0_l. destruct (Nat.eq_dec i n) as [->|ne]; [assumption|apply zero_row; auto; lia].
    - assert (pos : 0 < M n n) by lra. pose proof (sqrt_lt_R0 _ pos) as root. pose proof (sqrt_sqrt _ hm) as square.
      exists (schur n M), (fun i => M n i / sqrt (M n n)). split; [|split; [|split; [|split]]].
      + apply schur_sym; assumption.
      + apply schur_psd; assumption.
      + intros hd. split; [apply schur_pd; assumption|apply Rdiv_lt_0_compat; assumption].
      + intros i j hi hj. unfold schur. rewrite <- square at 1. field. lra.
      + intros i hi. rewrite <- square at 1. field. lra. }
  destruct left as [N [a [sN [pN [dN [entry last]]]]]]. destruct (IHn N sN pN) as [F [hF [tri diag]]].
  exists (fun k i => if Nat.ltb k n then (if Nat.ltb i n then F k i else 0) else a i). repeat split.
  - intros i j hi hj. simpl. rewrite Nat.ltb_irrefl. destruct (Nat.ltb_spec i n) as [li|gi], (Nat.ltb_spec j n) as [lj|gj].
    + rewrite entry, hF by assumption. f_equal. apply sum_ext; intros k hk. apply Nat.ltb_lt in hk. rewrite hk. reflexivity.
    + assert (j = n) by lia; subst j. rewrite (hs i n), last by lia.
      rewrite sum_zero; [ring|]. intros k hk. destruct (Nat.ltb_spec k n); [ring|lia].
    + assert (i = n) by lia; subst i. rewrite last by lia.
      rewrite sum_zero; [ring|]. intros k hk. destruct (Nat.ltb_spec k n); [ring|lia].
    + assert (i = n) by lia; subst i. rewrite last by lia.
      rewrite sum_zero; [ring|]. intros k hk. destruct (Nat.ltb_spec k n); [ring|lia].
  - intros k i hk. destruct (Nat.ltb_spec k n); [|lia]. destruct (Nat.ltb_spec i n); auto. apply tri; lia.
  - intros hd k hk. destruct (dN hd) as [d1 d2]. destruct (Nat.ltb_spec k n); [auto|].
    assert (k = n) by lia; subst k. assumption.
Qed.

(* The cone of positive semidefinite matrices is its own dual. *)
Lemma psd_ip n Y M : psd n Y -> sym n M -> psd n M -> 0 <= ip n n Y M.
Proof.
  intros hy hs hm. destruct (gram n M hs hm) as [F [hF _]].
  rewrite (ip_ext n n Y Y M (fun i j => sum n (fun k => F k i * F k j))); auto.
  rewrite ip_gram. apply sum_nonneg; intros. apply hy.
Qed.

(* Orthonormal vectors, and Bessel's inequality. *)
Definition orthonormal (n r : nat) (u : nat -> vector) : Prop :=
  forall i j, (i < r)%nat -> (j < r)%nat -> dot n (u i) (u j) = if Nat.eqb i j then 1 else 0.

Lemma dot_sum n r (a : nat -> R) (u : nat -> vector) x :
  dot n (fun j => sum r (fun i => a i * u i j)) x = sum r (fun i => a i * dot n (u i) x).
Proof.
  unfold dot. transitivity (sum n (fun j => sum r (fun i => a i * (u i j * x j)))).
  - apply sum_ext; intros j hj. rewrite <- sum_scale_r. apply sum_ext; intros; ring.
  - rewrite sum_swap. apply sum_ext; intros i hi. apply sum_scale.
Qed.

Lemma bessel n r u x : orthonormal n r u -> sum r (fun i => dot n (u i) x * dot n (u i) x) <= dot n x x.
Proof.
  intros h. set (a := fun i => dot n (u i) x). set (q := fun j => sum r (fun i => a i * u i j)).
  assert (uq : forall i, (i < r)%nat -> dot n (u i) q = a i).
  { intros i hi. rewrite dot_comm. unfold q. rewrite dot_sum, (sum_only r _ i hi).
    - rewrite h, Nat.eqb_refl by assumption. ring.
    - intros j hj ne. rewrite h by assumption. destruct (Nat.eqb_spec j i); [congruence|ring]. }
  pose proof (dot_self n (fun j => 1 * x j + -1 * q j)) as g.
  rewrite dot_lin, (dot_comm n x), (dot_comm n q), !dot_lin in g.
  assert (qx : dot n q x = sum r (fun i => a i * a i)) by (unfold q; rewrite dot_sum; reflexivity).
  assert (qq : dot n q q = sum r (fun i => a i * a i)).
  { unfold q at 1. rewrite dot_sum. apply sum_ext; intros. rewrite uq; auto. }
  rewrite (dot_comm n x q), qx, qq in g. fold a. change (sum r (fun i => a i * a i) <= dot n x x). lra.
Qed.

(* Of orthonormal vectors there are no more than coordinates. *)
Lemma orthonormal_few n r u : orthonormal n r u -> (r <= n)%nat.
Proof.
  intros h. apply INR_le. replace (INR r) with (sum r (fun i => dot n (u i) (u i))).
  2:{ rewrite <- (Rmult_1_r (INR r)), <- sum_const. apply sum_ext; intros i hi. rewrite h, Nat.eqb_refl; auto. }
  rewrite <- (Rmult_1_r (INR n)), <- sum_const. unfold dot. rewrite sum_swap. apply sum_le; intros j hj.
  assert (pick : forall x, dot n x (unit_vector j) = x j).
  { intros x. unfold dot. rewrite (sum_only n _ j hj); unfold unit_vector; [rewrite Nat.eqb_refl; ring|].
    intros i hi ne. destruct (Nat.eqb_spec i j); [congruence|ring]. }
  pose proof (bessel n r u (unit_vector j) h) as g. rewrite pick in g. unfold unit_vector in g at 3.
  rewrite Nat.eqb_refl in g. refine (Rle_trans _ _ _ _ g). apply Req_le, sum_ext; intros i hi. rewrite pick. reflexivity.
Qed.

(* Over orthonormal vectors a positive semidefinite form sums to at most its trace. *)
Lemma psd_trace n r u N : orthonormal n r u -> sym n N -> psd n N -> sum r (fun i => quad n N (u i)) <= tr n N.
Proof.
  intros hu hs hp. destruct (gram n N hs hp) as [F [hF _]].
  apply Rle_trans with (sum n (fun k => dot n (F k) (F k))).
  - rewrite (sum_ext r _ (fun i => sum n (fun k => dot n (F k) (u i) * dot n (F k) (u i)))).
    + rewrite sum_swap. apply sum_le; intros k hk.
      refine (Rle_trans _ _ _ _ (bessel n r u (F k) hu)). apply Req_le, sum_ext; intros i hi. rewrite dot_comm. reflexivity.
    + intros i hi. rewrite <- quad_gram. apply sum_ext; intros a ha. apply sum_ext; intros b hb. rewrite hF by assumption.
      reflexivity.
  - apply Req_le. unfold dot, tr. rewrite sum_swap. apply sum_ext; intros i hi. rewrite hF by assumption. reflexivity.
Qed.
