"""What the paper prints."""

#: Table 2: k-nearest-neighbour error in percent. Logistic regression is not in it.
ERRORS = {
    "MLR-AUC": {"balance-scale": 7.9, "ionosphere": 12.3, "wdbc": 2.7, "wine": 1.4, "isolet": 4.5},
    "MLR-P@k": {"balance-scale": 8.2, "ionosphere": 12.3, "wdbc": 2.9, "wine": 1.5, "isolet": 4.5},
    "MLR-MAP": {"balance-scale": 6.9, "ionosphere": 12.3, "wdbc": 2.6, "wine": 1.0, "isolet": 5.5},
    "MLR-MRR": {"balance-scale": 8.2, "ionosphere": 12.1, "wdbc": 2.6, "wine": 1.5, "isolet": 4.5},
    "MLR-NDCG": {"balance-scale": 8.2, "ionosphere": 11.9, "wdbc": 2.9, "wine": 1.6, "isolet": 4.4},
    "LMNN": {"balance-scale": 8.8, "ionosphere": 11.7, "wdbc": 2.4, "wine": 1.7, "isolet": 4.7},
    "Logistic": {},
    "NCA": {"balance-scale": 4.6, "ionosphere": 11.7, "wdbc": 2.6, "wine": 2.7, "isolet": 10.8},
    "MLCC": {"balance-scale": 5.5, "ionosphere": 12.6, "wdbc": 2.1, "wine": 1.1, "isolet": 4.4},
    "Euclidean": {"balance-scale": 10.3, "ionosphere": 15.3, "wdbc": 3.1, "wine": 3.1, "isolet": 8.1},
}

#: Table 4: AUC, MAP, MRR on the test interval; CPU seconds and batches of cuts.
MATCHINGS = {
    "MLR-AUC": (0.612, 0.445, 0.466, 232, 7),
    "MLR-MAP": (0.624, 0.453, 0.474, 2053, 23),
    "MLR-MRR": (0.616, 0.448, 0.469, 809, 17),
    "SVM-MAP": (0.614, 0.447, 0.467, 4968, 36),
    "Euclidean": (0.522, 0.394, 0.414, None, None),
}
