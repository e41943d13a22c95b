"""The statement written out, for a conic solver: one call, one point."""

from benchmark_utils.solving import LibrarySolver


class Solver(LibrarySolver):
    """One call of a conic solver."""

    name = "conic"
    sampling_strategy = "run_once"
    parameters = {"solver": ["clarabel", "scs"]}  # noqa: RUF012
    tol = 1e-6

    def skip(self, problem):
        skipped, reason = super().skip(problem)
        if not skipped:
            # Whether it can be written out is known when it is.
            try:
                problem.statement()
            except Exception as error:
                skipped, reason = True, str(error)
        return skipped, reason

    def warm_up(self):
        pass

    def run(self, _):
        self.solved()
