"""Linear maps for retrieval, compared on held-out queries."""
