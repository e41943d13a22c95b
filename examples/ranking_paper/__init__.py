"""The experiments of McFee & Lanckriet (2010), one file each; ``metric_learning_to_rank_tables.py`` runs them."""
