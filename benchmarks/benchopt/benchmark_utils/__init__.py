"""What the solvers of this folder share; the name of the folder is benchopt's."""
