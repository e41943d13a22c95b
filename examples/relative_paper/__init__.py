"""The experiments of Schultz & Joachims (2003), in parts."""
