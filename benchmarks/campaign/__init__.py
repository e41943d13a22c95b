"""The campaign against the checker of certificates: problems, mutations, exact judges and workers with limits."""
