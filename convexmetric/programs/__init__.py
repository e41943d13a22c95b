"""Programs in CVXPY: its lazy import, and the class that ``to_cvxpy`` returns."""
