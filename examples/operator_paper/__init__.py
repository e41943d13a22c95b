"""The experiments of paper 4, operator-valued large-margin classifiers, in parts."""
