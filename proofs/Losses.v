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

(* The box of slopes between low and high, of which None is infinite; what a in it make of a t at most, at t where that is
   finite; and the point of the box that is next to x. *)
Definition in_box (low high : option R) (a : R) : Prop :=
  match low with Some x => x <= a | None => True end /\ match high with Some x => a <= x | None => True end.
Definition bounded (low high : option R) (t : R) : Prop := (low = None -> 0 <= t) /\ (high = None -> t <= 0).
Definition sigma (low high : option R) (t : R) : R :=
  match low, high with
  | Some x, Some y => Rmax (x * t) (y * t)
  | Some x, None => x * t
  | None, Some y => y * t
  | None, None => 0
  end.
Definition clip (low high : option R) (x : R) : R :=
  let y := match high with Some b => Rmin x b | None => x end in match low with Some a => Rmax a y | None => y end.

(* The table, row by row. *)
Inductive loss := hinge | absolute | squared | logistic | hard | itakura_saito | negative_log | negative_root
  | exponential | box_of (low high : option R) (kappa : R).

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
  | exponential => exp (mu - s)
  | box_of low high kappa => if Req_EM_T kappa 0 then sigma low high (mu - s) else
      let a := clip low high ((mu - s) / kappa) in a * (mu - s) - kappa * (a * a) / 2
  end.

Definition finite (k : loss) (mu s : R) : Prop :=
  match k with
  | hard => mu <= s
  | itakura_saito => mu <> 0 /\ 0 < ratio mu s
  | negative_log => 0 < s
  | negative_root => 0 <= s
  | box_of low high kappa => kappa = 0 -> bounded low high (mu - s)
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
  | exponential => 0 <= a
  | box_of low high kappa => 0 <= kappa /\ in_box low high a
  end.

Definition v (k : loss) (mu a : R) : R :=
  match k with
  | hinge | absolute | hard => mu * a
  | squared => mu * a - a * a / 4
  | logistic => H a
  | itakura_saito => ln (1 + mu * a)
  | negative_log => 1 + ln a
  | negative_root => -1 / (4 * a)
  | exponential => a * (mu + 1 - ln a)
  | box_of low high kappa => mu * a - kappa * (a * a) / 2
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

(* Theorem 5, exponential. *)
Theorem exponential_slope mu s a : box exponential mu a -> v exponential mu a - a * s <= l exponential mu s.
Proof.
  simpl; intros ha. destruct (Req_dec a 0) as [->|nz]; [pose proof (exp_pos (mu - s)); lra|].
  replace (exp (mu - s)) with (a * exp (mu - s - ln a)).
  - pose proof (exp_line (mu - s - ln a)). nra.
  - rewrite <- (exp_ln a) at 1 by lra. rewrite <- exp_plus. f_equal. ring.
Qed.

(* Boxes: a t is at most sigma(t), for one a equal to it, and the point next to x makes the most of a x - a^2 / 2. *)
Lemma sigma_above low high a t : in_box low high a -> bounded low high t -> a * t <= sigma low high t.
Proof.
  intros [h1 h2] [g1 g2]. destruct low as [x|], high as [y|]; simpl.
  - destruct (Rle_or_lt 0 t).
    + apply Rle_trans with (y * t); [apply Rmult_le_compat_r; assumption|apply Rmax_r].
    + apply Rle_trans with (x * t); [nra|apply Rmax_l].
  - specialize (g2 eq_refl). nra.
  - specialize (g1 eq_refl). nra.
  - specialize (g1 eq_refl). specialize (g2 eq_refl). replace t with 0 by lra. lra.
Qed.

Lemma sigma_attained low high a t : in_box low high a -> bounded low high t ->
  exists b, in_box low high b /\ b * t = sigma low high t.
Proof.
  unfold in_box. intros h [g1 g2]. destruct low as [x|], high as [y|]; simpl in *.
  - unfold Rmax. destruct (Rle_dec (x * t) (y * t)); [exists y|exists x]; lra.
  - exists x. lra.
  - exists y. lra.
  - exists a. specialize (g1 eq_refl). specialize (g2 eq_refl). split; [assumption|]. replace t with 0 by lra. ring.
Qed.

Lemma clip_in low high a x : in_box low high a -> in_box low high (clip low high x).
Proof.
  intros [h1 h2]. unfold in_box, clip. destruct low as [b|], high as [c|]; split; trivial.
  - apply Rmax_l.
  - apply Rmax_lub; [lra|apply Rmin_r].
  - apply Rmax_l.
  - apply Rmin_r.
Qed.

Lemma clip_next low high a x : in_box low high a -> (x - clip low high x) * (a - clip low high x) <= 0.
Proof.
  intros [h1 h2]. unfold clip, Rmax, Rmin. destruct low as [b|], high as [c|]; repeat destruct (Rle_dec _ _); nra.
Qed.

Lemma clip_most low high kappa a t : 0 < kappa -> in_box low high a ->
  let c := clip low high (t / kappa) in a * t - kappa * (a * a) / 2 <= c * t - kappa * (c * c) / 2.
Proof.
  intros hk ha c. pose proof (clip_next low high a (t / kappa) ha) as g. fold c in g.
  assert (e : t = kappa * (t / kappa)) by (field; lra). rewrite e. set (x := t / kappa) in *. clear e.
  assert (0 <= kappa * ((a - c) * (a - c) / 2 - (x - c) * (a - c))); [|lra].
  apply Rmult_le_pos; [lra|]. pose proof (Rle_0_sqr (a - c)) as q. unfold Rsqr in q. lra.
Qed.

(* Theorem 5, box: what the loss is the supremum of, and that nothing bounds these where it is not finite. *)
Definition box_values (low high : option R) (kappa mu s y : R) : Prop :=
  exists a, in_box low high a /\ y = a * (mu - s) - kappa * (a * a) / 2.

Theorem box_supremum low high kappa mu s : 0 <= kappa -> (exists a, in_box low high a) ->
  finite (box_of low high kappa) mu s -> is_lub (box_values low high kappa mu s) (l (box_of low high kappa) mu s).
Proof.
  simpl. intros hk [a0 h0] hf. set (t := mu - s) in *. destruct (Req_EM_T kappa 0) as [->|nz].
  - specialize (hf eq_refl). split.
    + intros y [a [ha ->]]. fold t. pose proof (sigma_above _ _ _ _ ha hf). lra.
    + intros c hc. destruct (sigma_attained _ _ _ _ h0 hf) as [a [ha <-]]. apply hc. exists a.
      split; [assumption|]. fold t. field.
  - split.
    + intros y [a [ha ->]]. fold t. apply clip_most; [lra|assumption].
    + intros c hc. apply hc. exists (clip low high (t / kappa)). split; [eapply clip_in; eassumption|reflexivity].
Qed.

Theorem box_infinite low high kappa mu s : (exists a, in_box low high a) -> ~ finite (box_of low high kappa) mu s ->
  forall c, exists y, box_values low high kappa mu s y /\ c < y.
Proof.
  simpl. intros [a0 [h1 h2]] nf c. set (t := mu - s) in *. destruct (Req_dec kappa 0) as [->|nz]; [|exfalso; apply nf; easy].
  assert (far : forall a, in_box low high a -> c < a * t -> exists y, box_values low high 0 mu s y /\ c < y).
  { intros a ha hc. exists (a * t). split; [exists a; split; [assumption|fold t; lra]|assumption]. }
  destruct low as [x|], high as [y|].
  - exfalso. apply nf. split; discriminate.
  - destruct (Rle_or_lt t 0) as [le|lt]; [exfalso; apply nf; split; [discriminate|trivial]|].
    apply (far (Rmax a0 (c / t + 1))).
    + split; [apply Rle_trans with a0; [assumption|apply Rmax_l]|trivial].
    + apply Rlt_le_trans with ((c / t + 1) * t); [field_simplify; lra|apply Rmult_le_compat_r; [lra|apply Rmax_r]].
  - destruct (Rle_or_lt 0 t) as [le|lt]; [exfalso; apply nf; split; [trivial|discriminate]|].
    apply (far (Rmin a0 (c / t - 1))).
    + split; [trivial|apply Rle_trans with a0; [apply Rmin_l|assumption]].
    + apply Rlt_le_trans with ((c / t - 1) * t); [field_simplify; lra|]. pose proof (Rmin_r a0 (c / t - 1)). nra.
  - destruct (Rtotal_order t 0) as [lt|[eq|gt]].
    + apply (far (c / t - 1)); [split; trivial|]. field_simplify; lra.
    + exfalso. apply nf. split; intros _; lra.
    + apply (far (c / t + 1)); [split; trivial|]. field_simplify; lra.
Qed.

Theorem box_slope low high kappa mu s a : finite (box_of low high kappa) mu s -> box (box_of low high kappa) mu a ->
  v (box_of low high kappa) mu a - a * s <= l (box_of low high kappa) mu s.
Proof.
  intros hf [hk ha]. destruct (box_supremum low high kappa mu s hk (ex_intro _ a ha) hf) as [above _].
  refine (Rle_trans _ _ _ _ (above (a * (mu - s) - kappa * (a * a) / 2) _)); [simpl; lra|].
  exists a. split; [assumption|reflexivity].
Qed.

(* Theorem 5, box, from above: any b will do at which sigma is finite, and one b attains the loss. *)
Theorem box_above low high kappa mu s b : 0 < kappa -> (exists a, in_box low high a) -> bounded low high b ->
  l (box_of low high kappa) mu s <= sigma low high b + (mu - s - b) * (mu - s - b) / (2 * kappa).
Proof.
  simpl. intros hk [a0 h0] hb. destruct (Req_EM_T kappa 0); [lra|]. set (t := mu - s).
  set (a := clip low high (t / kappa)). pose proof (clip_in low high a0 (t / kappa) h0) as ha. fold a in ha.
  pose proof (sigma_above low high a b ha hb) as g.
  assert (0 <= (kappa * a - (t - b)) * (kappa * a - (t - b)) / (2 * kappa)) as q.
  { apply Rmult_le_pos; [apply Rle_0_sqr|]. apply Rlt_le, Rinv_0_lt_compat. lra. }
  replace (_ / (2 * kappa)) with (kappa * (a * a) / 2 - a * (t - b) + (t - b) * (t - b) / (2 * kappa)) in q by (field; lra).
  lra.
Qed.

Theorem box_above_attained low high kappa mu s : 0 < kappa -> (exists a, in_box low high a) ->
  let b := mu - s - kappa * clip low high ((mu - s) / kappa) in
  bounded low high b /\ l (box_of low high kappa) mu s = sigma low high b + (mu - s - b) * (mu - s - b) / (2 * kappa).
Proof.
  simpl. intros hk [a0 h0]. destruct (Req_EM_T kappa 0); [lra|]. set (t := mu - s). set (x := t / kappa).
  assert (e : t = kappa * x) by (unfold x; field; lra).
  set (a := clip low high x). set (b := t - kappa * a). assert (eb : b = kappa * (x - a)) by (unfold b; rewrite e; ring).
  assert (hb : bounded low high b).
  { rewrite eb. unfold a, clip. split; intros ->.
    - destruct high as [z|]; [pose proof (Rmin_l x z)|]; nra.
    - destruct low as [y|]; [pose proof (Rmax_r y x)|]; nra. }
  pose proof (sigma_above low high a b (clip_in low high a0 x h0) hb) as above.
  destruct (sigma_attained low high a0 b h0 hb) as [c [hc hs]]. pose proof (clip_next low high c x hc) as next. fold a in next.
  assert (hab : a * b = sigma low high b) by (rewrite eb in *; nra).
  split; [assumption|]. rewrite <- hab. replace (t - b) with (kappa * a) by (unfold b; ring). unfold b. field. lra.
Qed.

(* Theorem 5, box: rows of the table that are boxes, and other losses of the field that are. *)
Theorem boxes mu s :
  l hinge mu s = l (box_of (Some 0) (Some 1) 0) mu s /\
  l absolute mu s = l (box_of (Some (-1)) (Some 1) 0) mu s /\
  l squared mu s = l (box_of None None (/ 2)) mu s /\
  (finite hard mu s <-> finite (box_of (Some 0) None 0) mu s) /\ l hard mu s = l (box_of (Some 0) None 0) mu s.
Proof.
  simpl. destruct (Req_EM_T 0 0) as [_|]; [|contradiction]. destruct (Req_EM_T (/ 2) 0); [lra|].
  unfold bounded, clip, Rabs, Rmax. repeat split; try (intros; discriminate); try lra.
  - repeat destruct (Rle_dec _ _); lra.
  - destruct (Rcase_abs _); repeat destruct (Rle_dec _ _); lra.
  - intros h. destruct (h eq_refl) as [_ g]. specialize (g eq_refl). lra.
Qed.

Theorem further_boxes mu s (a delta tau : R) : 0 <= delta -> let t := mu - s in
  a * t = l (box_of (Some a) (Some a) 0) mu s /\
  Rmax 0 t * Rmax 0 t = l (box_of (Some 0) None (/ 2)) mu s /\
  (if Rle_dec (Rabs t) delta then t * t / 2 else delta * Rabs t - delta * delta / 2) =
    l (box_of (Some (- delta)) (Some delta) 1) mu s /\
  Rmax ((tau - 1) * t) (tau * t) = l (box_of (Some (tau - 1)) (Some tau) 0) mu s.
Proof.
  simpl. intros hd. destruct (Req_EM_T 0 0) as [_|]; [|contradiction]. destruct (Req_EM_T (/ 2) 0); [lra|].
  destruct (Req_EM_T 1 0); [lra|]. set (t := mu - s). unfold clip, Rabs. repeat split.
  - rewrite Rmax_left; lra.
  - replace (t / / 2) with (2 * t) by field. unfold Rmax. repeat destruct (Rle_dec _ _); lra.
  - replace (t / 1) with t by field. unfold Rmax, Rmin. destruct (Rcase_abs t); repeat destruct (Rle_dec _ _); try lra;
      try (replace t with delta by lra; lra); try (replace t with (- delta) by lra; lra).
Qed.

(* Theorem 5: every row. *)
Theorem slope k mu s a : finite k mu s -> box k mu a -> v k mu a - a * s <= l k mu s.
Proof.
  destruct k; intros; [apply hinge_slope|apply absolute_slope|apply squared_slope|apply logistic_slope|apply hard_slope
    |apply itakura_saito_slope|apply negative_log_slope|apply negative_root_slope|apply exponential_slope
    |apply box_slope]; assumption.
Qed.

(* No loss is negative but the negative logarithm and root, and those with a box that does not have zero. *)
Definition not_negative (k : loss) : Prop :=
  match k with negative_log | negative_root => False | box_of low high kappa => 0 <= kappa /\ in_box low high 0 | _ => True end.

Theorem loss_nonneg k mu s : not_negative k -> finite k mu s -> 0 <= l k mu s.
Proof.
  intros hk hf. destruct k; try contradiction.
  8: { pose proof (box_slope _ _ _ mu s 0 hf hk) as g. unfold v in g. lra. }
  all: simpl in *; try lra.
  - apply Rmax_l.
  - apply Rabs_pos.
  - apply Rle_0_sqr.
  - pose proof (exp_pos (- s)). rewrite <- ln_1. apply Rlt_le, ln_increasing; lra.
  - unfold h. pose proof (ln_line (ratio mu s)) as g. intuition lra.
  - apply Rlt_le, exp_pos.
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
