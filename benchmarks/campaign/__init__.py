"""The campaign against the checker of certificates: problems, mutations, exact judges and workers with limits.

There are two exact judges, since neither does the other's work: ``second_checker`` of the tests proves bounds from the
hints in a file and knows no optimum, while ``exact`` takes the problem apart into a convex function of one number, of
which it finds the optimum without any hint, and makes the hints of extreme files from it.
"""
