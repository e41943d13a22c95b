(* Theorems 6, 8, 10 and 11: shares and slopes, parts, all matrices, worst parts. K is any set of matrices. Where a risk
   or a regularizer is infinite nothing is to be shown, so that K may be read as the metrics of K at which F is finite. *)
From Certificates Require Import Sums.

Definition dual (d k : nat) (K : matrix -> Prop) (Y : matrix) : Prop := forall M, K M -> 0 <= ip d k Y M.

(* A = theta S - G. *)
Definition share_of (theta : R) (S G : matrix) : matrix := fun i j => theta * S i j - G i j.

Section Share.
  Variables (d k : nat) (K : matrix -> Prop) (Rk Omega : matrix -> R) (G : matrix) (c0 : R).
  Variables (S P : matrix) (v e theta : R).

  Definition F (M : matrix) : R := Rk M + ip d k G M + Omega M + c0.

  Hypothesis dual_point : forall M, K M -> v - ip d k S M <= Rk M.
  Hypothesis share_range : 0 <= theta <= 1.
  Hypothesis share_sign : (forall M, K M -> 0 <= Rk M) \/ theta = 1.
  Hypothesis in_dual : dual d k K (sub P (share_of theta S G)).

  Lemma share_at M : K M -> ip d k P M - e <= Omega M -> theta * v - e + c0 <= F M.
  Proof.
    intros hM slope. pose proof (dual_point M hM) as risk. pose proof (in_dual M hM) as cone. rewrite ip_sub in cone.
    replace (ip d k (share_of theta S G) M) with (theta * ip d k S M - ip d k G M) in cone.
    2:{ rewrite <- ip_scale, <- ip_sub. reflexivity. }
    unfold F. destruct share_sign as [sign| ->]; [specialize (sign M hM)|]; nra.
  Qed.

  (* Theorem 6. *)
  Theorem share : (forall M, K M -> ip d k P M - e <= Omega M) -> forall M, K M -> theta * v - e + c0 <= F M.
  Proof. intros slope M hM. apply share_at; auto. Qed.

  (* Theorem 6 where the slope is one of metrics M with F(M) <= U, as that of a quadratic form that may lack convexity:
     a metric with F(M) <= U is enough for all others, be there an optimum or not. *)
  Theorem share_below U M1 : K M1 -> F M1 <= U -> (forall M, K M -> F M <= U -> ip d k P M - e <= Omega M) ->
    forall M, K M -> theta * v - e + c0 <= F M.
  Proof.
    intros h1 hU slope M hM. destruct (Rle_or_lt (F M) U) as [le|lt]; [apply share_at; auto|].
    apply Rlt_le, Rle_lt_trans with U; [|assumption]. apply Rle_trans with (F M1); [|assumption]. apply share_at; auto.
  Qed.
End Share.

(* The cones of section 2, and matrices in their duals. *)
Definition psd_cone (d : nat) (M : matrix) : Prop := sym d M /\ psd d M.
Definition block_cone (d : nat) (blocks : nat -> nat) (M : matrix) : Prop :=
  psd_cone d M /\ forall i j, (i < d)%nat -> (j < d)%nat -> blocks i <> blocks j -> M i j = 0.
Definition diagonal_cone (d : nat) (w : matrix) : Prop := forall i, (i < d)%nat -> 0 <= w i O.
Definition between_blocks_zero (blocks : nat -> nat) (Y : matrix) : matrix :=
  fun i j => if Nat.eqb (blocks i) (blocks j) then Y i j else 0.

Theorem dual_psd d Y : psd d Y -> dual d d (psd_cone d) Y.
Proof. intros h M [hs hp]. apply psd_ip; assumption. Qed.

Theorem dual_blocks d blocks Y : psd d (between_blocks_zero blocks Y) -> dual d d (block_cone d blocks) Y.
Proof.
  intros h M [[hs hp] zero]. replace (ip d d Y M) with (ip d d (between_blocks_zero blocks Y) M); [apply psd_ip; assumption|].
  apply sum_ext; intros i hi. apply sum_ext; intros j hj. unfold between_blocks_zero.
  destruct (Nat.eqb_spec (blocks i) (blocks j)); [reflexivity|]. rewrite zero by assumption. ring.
Qed.

Theorem dual_diagonal d Y : (forall i, (i < d)%nat -> 0 <= Y i O) -> dual d 1 (diagonal_cone d) Y.
Proof.
  intros h w hw. apply sum_nonneg; intros i hi. simpl. rewrite Rplus_0_l. apply Rmult_le_pos; auto.
Qed.

(* Theorem 8. *)
Theorem parts d k (K : matrix -> Prop) n (Rk : nat -> matrix -> R) (v : nat -> R) (S : nat -> matrix) :
  (forall t, (t < n)%nat -> forall M, K M -> v t - ip d k (S t) M <= Rk t M) ->
  forall M, K M -> sum n v - ip d k (fun i j => sum n (fun t => S t i j)) M <= sum n (fun t => Rk t M).
Proof.
  intros h M hM. rewrite (ip_ext d k _ (fun i j => sum n (fun t => 1 * S t i j)) M M); auto.
  2:{ intros. apply sum_ext; intros; ring. }
  rewrite (ip_sum d k n (fun _ => 1)), <- sum_minus. apply sum_le; intros t ht. pose proof (h t ht M hM). lra.
Qed.

(* Theorem 8, the upper bound: with every row in exactly one file, file of row q, the files sum to the risk. *)
Theorem rows_of_files files rows (file : nat -> nat) (row : nat -> R) :
  (forall q, (q < rows)%nat -> (file q < files)%nat) ->
  sum files (fun t => sum rows (fun q => if Nat.eqb (file q) t then row q else 0)) = sum rows row.
Proof.
  intros h. rewrite sum_swap. apply sum_ext; intros q hq. rewrite (sum_only files _ (file q)); auto.
  - rewrite Nat.eqb_refl. reflexivity.
  - intros t ht ne. destruct (Nat.eqb_spec (file q) t); [congruence|reflexivity].
Qed.

(* Theorem 10: nothing is dual to the whole space but 0, and P = A. The same holds of the symmetric matrices. *)
Theorem all_matrices d k (K : matrix -> Prop) Rk Omega G c0 S v e theta :
  (forall W, K W -> v - ip d k S W <= Rk W) -> 0 <= theta <= 1 -> (forall W, K W -> 0 <= Rk W) \/ theta = 1 ->
  (forall W, K W -> ip d k (share_of theta S G) W - e <= Omega W) ->
  forall W, K W -> theta * v - e + c0 <= F d k Rk Omega G c0 W.
Proof.
  intros risk range sign slope. apply (share d k K Rk Omega G c0 S (share_of theta S G)); auto.
  intros W hW. rewrite ip_sub. lra.
Qed.

(* Theorem 11. Weights of parts, as section 2.2 has them. *)
Definition weights (n : nat) (kappa : R) (w : vector) : Prop :=
  (forall q, (q < n)%nat -> 0 <= w q <= kappa) /\ sum n w = 1.

(* kappa = 1 / max(1, s n) is enough. *)
Theorem kappa_enough n s : (0 < n)%nat -> 0 <= s <= 1 -> 1 <= INR n * (1 / Rmax 1 (s * INR n)).
Proof.
  intros hn hs. assert (1 <= INR n) by (apply (le_INR 1); lia).
  assert (pos : 0 < Rmax 1 (s * INR n)) by (pose proof (Rmax_l 1 (s * INR n)); lra).
  assert (Rmax 1 (s * INR n) <= INR n) by (apply Rmax_lub; nra).
  apply Rmult_le_reg_r with (Rmax 1 (s * INR n)); [assumption|]. field_simplify; lra.
Qed.

(* Small weights are raised to weights of sum 1, all by the same share of what they lack of kappa. *)
Lemma raise n kappa (omega : vector) : 1 <= INR n * kappa ->
  (forall q, (q < n)%nat -> 0 <= omega q <= kappa) -> sum n omega <= 1 ->
  exists w, weights n kappa w /\ forall q, (q < n)%nat -> omega q <= w q.
Proof.
  intros hk ho hs. set (lack := INR n * kappa - sum n omega).
  destruct (Req_dec lack 0) as [z|nz].
  - exists omega. split; [split; [assumption|unfold lack in z; lra]|intros; lra].
  - assert (pos : 0 < lack) by (unfold lack in *; lra).
    set (t := (1 - sum n omega) / lack).
    assert (ht : 0 <= t) by (unfold t; apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; assumption]).
    assert (ht1 : t <= 1).
    { apply Rmult_le_reg_r with lack; [assumption|]. unfold t. field_simplify; [|lra]. unfold lack. lra. }
    exists (fun q => omega q + t * (kappa - omega q)). split; [split|].
    + intros q hq. specialize (ho q hq). nra.
    + rewrite sum_plus, sum_scale, sum_minus, sum_const. fold lack. unfold t. field. lra.
    + intros q hq. specialize (ho q hq). nra.
Qed.

(* Theorem 11: what is at least n sum w_q R_q for all weights w, as the worst parts are, is at least the bound. *)
Theorem worst_parts d k (K : matrix -> Prop) n kappa (Rk : nat -> matrix -> R) (omega : vector) v S (worst : matrix -> R) :
  1 <= INR n * kappa ->
  (forall q M, (q < n)%nat -> K M -> 0 <= Rk q M) ->
  (forall q, (q < n)%nat -> 0 <= omega q <= kappa) -> sum n omega <= 1 ->
  (forall M, K M -> v - ip d k S M <= sum n (fun q => INR n * omega q * Rk q M)) ->
  (forall M w, K M -> weights n kappa w -> INR n * sum n (fun q => w q * Rk q M) <= worst M) ->
  forall M, K M -> v - ip d k S M <= worst M.
Proof.
  intros hk sign ho hs risk max M hM. destruct (raise n kappa omega hk ho hs) as [w [hw above]].
  apply Rle_trans with (sum n (fun q => INR n * omega q * Rk q M)); [auto|].
  apply Rle_trans with (INR n * sum n (fun q => w q * Rk q M)); [|auto].
  rewrite <- sum_scale. apply sum_le; intros q hq. rewrite <- Rmult_assoc.
  apply Rmult_le_compat_r; auto. apply Rmult_le_compat_l; [apply pos_INR|auto].
Qed.

(* Theorem 11, the greedy weights: kappa for the largest parts, and the next one what is left of 1. Parts descend. *)
Definition greedy (kappa : R) : vector := fun q => Rmin 1 (INR (S q) * kappa) - Rmin 1 (INR q * kappa).

Lemma greedy_sum kappa m : 0 <= kappa -> sum m (greedy kappa) = Rmin 1 (INR m * kappa).
Proof.
  intros hk. induction m.
  - simpl. rewrite Rmult_0_l, Rmin_right; lra.
  - simpl sum. rewrite IHm. unfold greedy. ring.
Qed.

Lemma greedy_weights n kappa : 0 <= kappa -> 1 <= INR n * kappa -> weights n kappa (greedy kappa).
Proof.
  intros hk hn. split.
  - intros q hq. unfold greedy. rewrite S_INR. pose proof (Rmult_le_pos (INR q) kappa (pos_INR q) hk).
    unfold Rmin; destruct (Rle_dec _ _), (Rle_dec _ _); lra.
  - rewrite greedy_sum, Rmin_left; lra.
Qed.

Theorem greedy_attains n kappa (Rk : vector) w : 0 <= kappa -> 1 <= INR n * kappa ->
  (forall i j, (i <= j < n)%nat -> Rk j <= Rk i) -> weights n kappa w ->
  sum n (fun q => w q * Rk q) <= sum n (fun q => greedy kappa q * Rk q).
Proof.
  intros hk hn order [range one]. destruct (greedy_weights n kappa hk hn) as [_ one'].
  assert (gain : 0 <= sum n (fun q => (greedy kappa q - w q) * Rk q)).
  { apply abel; auto.
    - intros m hm. rewrite sum_minus, greedy_sum by assumption. apply Rmin_case.
      + rewrite <- one. enough (0 <= sum n w - sum m w) by lra. apply prefix_le; [assumption|]. intros; apply range; assumption.
      + enough (sum m w <= INR m * kappa) by lra. rewrite <- sum_const. apply sum_le; intros. apply range; lia.
    - rewrite sum_minus. lra. }
  rewrite (sum_ext n _ (fun q => greedy kappa q * Rk q - w q * Rk q)) in gain by (intros; ring).
  rewrite sum_minus in gain. lra.
Qed.

(* How semidefiniteness is shown: K = e I + C C' + E, the norm of E at most e. *)
Theorem shown_psd n m (K C E : matrix) e : norm n n E <= e ->
  (forall i j, (i < n)%nat -> (j < n)%nat -> K i j = scaled_identity e i j + sum m (fun t => C i t * C j t) + E i j) ->
  psd n K.
Proof.
  intros hE hK x. rewrite quad_ip.
  rewrite (ip_ext n n K (fun i j => 1 * (1 * scaled_identity e i j + 1 * sum m (fun t => C i t * C j t)) + 1 * E i j)
    _ (fun i j => x i * x j)); auto.
  - rewrite !ip_lin, <- !quad_ip, quad_identity, (quad_gram n m (fun t i => C i t)).
    assert (square : 0 <= sum m (fun t => dot n (fun i => C i t) x * dot n (fun i => C i t) x)).
    { apply sum_nonneg; intros. apply Rle_0_sqr. }
    pose proof (quad_norm n E x) as h. pose proof (dot_self n x).
    assert (- quad n E x <= Rabs (quad n E x)) by (rewrite <- Rabs_Ropp; apply Rle_abs). nra.
  - intros. rewrite hK by assumption. ring.
Qed.

(* ... and D K D, with a diagonal D that has no zero, is positive semidefinite if and only if K is. *)
Theorem rescaled_psd n K (D : vector) : (forall i, (i < n)%nat -> D i <> 0) ->
  psd n (fun i j => D i * K i j * D j) <-> psd n K.
Proof.
  intros hD. split; intros h x.
  - specialize (h (fun i => x i / D i)). refine (Rle_trans _ _ _ h _). apply Req_le.
    apply sum_ext; intros i hi. apply sum_ext; intros j hj. field. split; auto.
  - specialize (h (fun i => D i * x i)). refine (Rle_trans _ _ _ h _). apply Req_le.
    apply sum_ext; intros i hi. apply sum_ext; intros j hj. ring.
Qed.
