"""What the paper prints."""

#: Table 2: AUC on two graphs of Wikipedia pages, "Search Engine" and "Philosophy Concept".
WIKIPEDIA = {
    "A": (0.7297, 0.6935),
    "B": (0.6169, 0.5870),
    "C": (0.5817, 0.6808),
    "D": (0.6198, 0.6704),
    "E": (0.6952, 0.4832),
    "F": (0.6962, 0.6849),
    "G": (0.7909, 0.7264),
    "H": (0.5744, 0.6903),
    "I": (0.5984, 0.6966),
    "J": (0.3509, 0.4525),
    "L": (0.7939, 0.7174),
}

#: Table 4: mean AUC of three folds of phenotype variables.
PHENOTYPES = {
    "A": 0.7646,
    "E": 0.9639,
    "F": 0.8820,
    "G": 0.9433,
    "H": 0.7240,
    "I": 0.8876,
    "J": 0.7473,
    "K": 0.8996,
    "L": 0.9537,
}

#: Table 3: connected and disconnected pairs in training, and in testing, for each of three folds.
PAIRS = (
    (98_964, 2_824_398, 24_550, 705_686),
    (99_607, 2_823_755, 25_386, 704_850),
    (98_013, 2_825_349, 23_892, 706_344),
)
