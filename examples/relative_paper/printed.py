"""What the paper prints."""

#: Table 1: percent of test triplets satisfied by the learned, the binary and the TF-IDF distance.
SATISFIED = {
    "university": (98.43, 67.88, 80.72),
    "topic": (75.40, 61.82, 55.57),
    "topic+": (79.67, 63.08, 55.06),
}
