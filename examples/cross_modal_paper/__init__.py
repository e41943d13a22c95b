"""The experiments of paper 5, cross-modal ranking by BPRHML, in parts."""
