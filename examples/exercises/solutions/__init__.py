"""Solutions of the exercises. Try first."""
