(* What each theorem assumes: nothing but what the real numbers of the standard library are built on (check.sh). *)
From Certificates Require Sums Spectra Determinants Losses Shares Slopes Choices Cones Programs Rankings.

Print Assumptions Spectra.eigenvalues.
Print Assumptions Spectra.singular_values.

Print Assumptions Determinants.det_roots.

Print Assumptions Losses.hinge_slope.
Print Assumptions Losses.absolute_slope.
Print Assumptions Losses.squared_slope.
Print Assumptions Losses.hard_slope.
Print Assumptions Losses.logistic_slope.
Print Assumptions Losses.itakura_saito_slope.
Print Assumptions Losses.negative_log_slope.
Print Assumptions Losses.negative_root_slope.
Print Assumptions Losses.exponential_slope.
Print Assumptions Losses.box_supremum.
Print Assumptions Losses.box_infinite.
Print Assumptions Losses.box_slope.
Print Assumptions Losses.box_above.
Print Assumptions Losses.box_above_attained.
Print Assumptions Losses.boxes.
Print Assumptions Losses.further_boxes.
Print Assumptions Losses.slope.
Print Assumptions Losses.loss_nonneg.
Print Assumptions Losses.distance.
Print Assumptions Losses.distance_diagonal.
Print Assumptions Losses.similarity.
Print Assumptions Losses.similarity_symmetric.
Print Assumptions Losses.comparisons.
Print Assumptions Losses.logistic_lists.

Print Assumptions Shares.share.
Print Assumptions Shares.share_below.
Print Assumptions Shares.dual_psd.
Print Assumptions Shares.dual_blocks.
Print Assumptions Shares.dual_diagonal.
Print Assumptions Shares.parts.
Print Assumptions Shares.rows_of_files.
Print Assumptions Shares.all_matrices.
Print Assumptions Shares.kappa_enough.
Print Assumptions Shares.worst_parts.
Print Assumptions Shares.greedy_attains.
Print Assumptions Shares.shown_psd.
Print Assumptions Shares.rescaled_psd.

Print Assumptions Slopes.zero.
Print Assumptions Slopes.trace.
Print Assumptions Slopes.trace_diagonal.
Print Assumptions Slopes.frobenius.
Print Assumptions Slopes.squared_frobenius.
Print Assumptions Slopes.entrywise.
Print Assumptions Slopes.trace_norm_diagonal.
Print Assumptions Slopes.trace_norm.
Print Assumptions Slopes.trace_norm_above.
Print Assumptions Slopes.log_det.
Print Assumptions Slopes.log_det_diagonal.
Print Assumptions Slopes.budget.
Print Assumptions Slopes.hard_budget.
Print Assumptions Slopes.spectral_bound.
Print Assumptions Slopes.row_norms.
Print Assumptions Slopes.inverse_trace.
Print Assumptions Slopes.inverse_trace_value.
Print Assumptions Slopes.sum_of_regularizers.
Print Assumptions Slopes.gram_form.
Print Assumptions Slopes.other_form.
Print Assumptions Slopes.singular_norm.
Print Assumptions Slopes.singular_norm_rows.
Print Assumptions Slopes.largest_singular.
Print Assumptions Slopes.singular_norm_above.

Print Assumptions Choices.choices.
Print Assumptions Choices.part_nonneg.
Print Assumptions Choices.choices_risk.

Print Assumptions Cones.triangles.
Print Assumptions Cones.dual_second_order.
Print Assumptions Cones.dual_semidefinite.
Print Assumptions Cones.dual_exponentials.
Print Assumptions Cones.exponentials_closure.
Print Assumptions Cones.dual_powers.
Print Assumptions Cones.dual_cone.
Print Assumptions Cones.exponentials_by_logs.
Print Assumptions Cones.dual_exponentials_by_logs.
Print Assumptions Cones.powers_by_logs.
Print Assumptions Cones.dual_powers_by_logs.
Print Assumptions Cones.dual_product.

Print Assumptions Programs.verified_solve.
Print Assumptions Programs.near.
Print Assumptions Programs.weak_duality.
Print Assumptions Programs.weak_duality_split.
Print Assumptions Programs.conic_slope.
Print Assumptions Programs.conic_slope_diagonal.
Print Assumptions Programs.exact_dual.
Print Assumptions Programs.dual_near.
Print Assumptions Programs.proven_bound.
Print Assumptions Programs.proven_slope.
Print Assumptions Programs.exact_point.
Print Assumptions Programs.point_near.

Print Assumptions Rankings.hinges.
Print Assumptions Rankings.ranking_of_scores.
Print Assumptions Rankings.scores_of_ranking.
Print Assumptions Rankings.auc_hinges.
Print Assumptions Rankings.worst_rankings.
Print Assumptions Rankings.perfect_scores.
Print Assumptions Rankings.largest_sorted.
Print Assumptions Rankings.sums_of_slopes.
Print Assumptions Rankings.weighted_rankings.
Print Assumptions Rankings.lists.
Print Assumptions Rankings.lists_of_hinges.
Print Assumptions Rankings.lists_of_rankings.
