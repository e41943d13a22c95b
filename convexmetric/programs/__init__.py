"""Programs in CVXPY: its late import, and what ``to_cvxpy`` returns."""
