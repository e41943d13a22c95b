"""The judging of solvers of the user's own, from a process that runs none of their code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from convexmetric.arguments import is_real
from convexmetric.audits.verdict import projected
from convexmetric.bench.anytime import Watch
from convexmetric.bench.lines import Line
from convexmetric.bench.processes import START_UP, Beside
from convexmetric.bench.records import Run
from convexmetric.certificates import certify, relative_gap
from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem
from convexmetric.risks.dual_points import dual_from_arrays

#: Seconds of judging that are always allowed; beyond them judging may take as long as the solver itself.
FREE_SECONDS = 1.0
#: Seconds that sending a message may take in addition to those of its bytes, and bytes sent per second.
SENDING, A_SECOND = 1e-3, 5e8
#: Seconds of others after which the time limit is moved.
TELL_EVERY = 0.05
#: Bytes of a dual point, at most.
MOST_DUAL = 2**30
#: Iterations that a solver may say that it made, at most.
MOST_ITERATIONS = 2**53
#: Endings that a solver may report, before its clock starts and afterwards.
BEFORE, AFTER = ("unsupported", "error"), ("limit", "stalled", "error")


def judged(problem: MetricProblem, beside: Beside, watch: Watch) -> Run:
    """Judge the solver in the process next to this one, from its first message to its last."""
    judge: Judge | None = None
    said: dict[str, Any]
    try:
        said, _ = beside.line.receive()
        if said.get("kind") == "ready":
            judge = Judge(problem, watch, said.get("own") is True, beside.processor_seconds)
            said = judge.follow(beside.line)
        beside.look(said.get("peak"))
        beside.line.send({})
    except EOFError:
        said = {"status": "error", "message": beside.died()}
    except Exception as error:
        # What a stranger shows may end an evaluation in any way.
        said = {"status": "error", "message": f"{type(error).__name__}: {error}"}
    message, status = str(said.get("message", "")), str(said.get("status"))
    if judge is None:
        return replace(watch.asked, status=status if status in BEFORE else "error", message=message)
    return judge.verdict(status if status in AFTER else "error", message, said.get("iterations"))


class Judge:
    """Judge of a solver in another process: recomputes the objectives of its metrics, by its own clock.

    The lower bound is that of the library; a solver with bounds of its ``own`` shows a dual point with its metric, and
    both are certified anew. The solver's own claims do not count.

    Every metric is judged while that takes no longer than the solver itself (and a second); after that, only the first
    one after each time of the grid, and the last one. Neither the solver's clock nor the time limit runs meanwhile.

    The solver's seconds are those between an answer and the arrival of what it shows next. It may say that it took
    less, for what sending and waiting for a processor take: no less than the ``processor`` seconds of its process, but
    for :data:`SENDING` and the time of its bytes, and by no more than the time limit in all.
    """

    def __init__(
        self, problem: MetricProblem, watch: Watch, own: bool = False, processor: Callable[[], float] = lambda: np.inf
    ) -> None:
        self.problem, self.watch, self.own = problem, watch, own
        self.upper, self.lower = np.inf, -np.inf if own else watch.bound
        self.shown, self.seconds, self.judging, self.outside, self.ended = 0, 0.0, 0.0, 0.0, False
        self._pending: tuple[float, Mapping[str, np.ndarray]] | None = None
        self._said, self._told, self._excused = 0.0, 0.0, 0.0
        self._processor, self._used = processor, 0.0
        self._start = self._resumed = perf_counter()

    def arrived(self, said: Any, size: int = 0) -> float:
        """Return the solver's seconds when a message of ``size`` bytes arrives that claims a number of them."""
        window, most = perf_counter() - self._resumed, self.watch.asked.max_seconds
        claim = said if is_real(said) and np.isfinite(said) else self._said + window
        used = self._processor() - self._used if self._used < np.inf else np.inf
        least = min(window, used) - SENDING - size / A_SECOND if self._excused < most else window
        taken = min(max(claim - self._said, least, 0.0), window)
        self._said, self._excused = claim, self._excused + window - taken
        self.seconds += taken
        return self.seconds

    def follow(self, line: Line) -> dict[str, Any]:
        """Start the clock, and judge all that the solver shows; returns its last message.

        Raises
        ------
        InputError
            If it sends anything else.
        EOFError
            If it ends without a last message.
        """
        most = self.problem.cone.zeros().nbytes + (MOST_DUAL if self.own else 0)
        self.watch.channel.start()
        self._start, said, more = perf_counter(), {"kind": "ready"}, True
        while said.get("kind") in ("ready", "shown"):
            self._used = self._processor()
            line.send({"more": more})
            self._resumed = perf_counter()
            said, arrays = line.receive(most)
            if said.get("kind") == "shown":
                more = self.show(said.get("seconds"), arrays)
        if said.get("kind") != "ended":
            raise InputError("it sent a message of a kind that is not known")
        self.arrived(said.get("seconds"))
        self.finish()
        return said

    def show(self, said: Any, arrays: Mapping[str, np.ndarray]) -> bool:
        """Judge a metric that arrives, or store it until the next one; return whether the solver is to go on."""
        now = self.arrived(said, sum(array.nbytes for array in arrays.values()))
        if "M" not in arrays:
            raise InputError("it sent no metric")
        if not self.ended:
            self.shown += 1
            if self.judging > now + FREE_SECONDS and not self.watch.due(now):
                self._pending = now, arrays
            else:
                self._judge(now, arrays)
            # A solver with bounds of its own ends by itself, and its last metric counts.
            self.ended = not self.own and (self.ended or now >= self.watch.asked.max_seconds)
        self._tell()
        return not self.ended

    def finish(self) -> None:
        """Judge the last metric, if that was not done, and note the end."""
        if self._pending is not None:
            self._judge(*self._pending)
        if self.upper < np.inf:
            self.watch.note(self.seconds, self.shown, self.upper, self.lower, self.own)

    def _judge(self, now: float, arrays: Mapping[str, np.ndarray]) -> None:
        self._pending, start = None, perf_counter()
        self.watch.channel.extend(START_UP)
        try:
            self._evaluate(arrays)
        finally:
            self.judging += perf_counter() - start
            self._tell(-START_UP)
        gap = self.watch.note(now, self.shown, self.upper, self.lower, self.own)
        self.ended = gap <= self.watch.asked.tol

    def _evaluate(self, arrays: Mapping[str, np.ndarray]) -> None:
        M = self.problem.metric(arrays["M"])
        dual = dual_from_arrays({name: array for name, array in arrays.items() if name != "M"})
        if self.own and dual is not None:
            found = certify(self.problem, M, dual)
            self.upper, self.lower = min(self.upper, found.upper_bound), max(self.lower, found.lower_bound)
            return
        M, smallest, inside = projected(self.problem, M)
        self.outside = self.outside if inside else max(self.outside, -smallest)
        value = self.problem.value(M)
        self.upper = value if value < self.upper else self.upper

    def _tell(self, more: float = 0.0) -> None:
        """Add to the time limit what was not the solver's own time, and more."""
        others = perf_counter() - self._start - self.seconds - self._told
        if more or others > TELL_EVERY:
            self._told += others
            self.watch.channel.extend(others + more)

    def verdict(self, status: str, message: str, iterations: object) -> Run:
        """The run as it was judged, whatever the solver says of its status; its own iterations only it can count."""
        asked = self.watch.asked
        if self.shown == 0:
            status, message = "error", message or "it showed no metric: return, yield or record one"
        elif status != "error" and relative_gap(self.upper, self.lower) <= asked.tol:
            status = "optimal"
        elif status != "error" and self.seconds >= asked.max_seconds:
            status = "limit"
        if self.outside > 0.0 and not message:
            message = f"projected: smallest eigenvalue {-self.outside:.2g}"
        told = self.own and type(iterations) is int and 0 <= iterations < MOST_ITERATIONS
        count: Any = iterations if told else self.shown
        return self.watch.run(self.seconds, count, self.upper, self.lower, status, message)
