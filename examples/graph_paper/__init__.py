"""The experiments of paper 3, distance metrics from large graphs with random projections, in parts."""
