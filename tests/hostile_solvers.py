"""Files of strangers, for the tests of benchmarks: solvers that cheat, and that outlive their run."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

import convexmetric as cm
from convexmetric.solvers import Monitor, Solver

#: Whatever outlives its run, or gets code run elsewhere, writes here.
TRACE = Path(__file__).with_name("trace.txt")


def line():
    """The end of a line to another process that is open here."""
    found = [each for each in gc.get_objects() if isinstance(each, Connection) and not each.closed]
    return next(each for each in found if os.path.exists(f"/proc/self/fd/{each.fileno()}"))


def later():
    time.sleep(8.0)
    with TRACE.open("a", encoding="utf-8") as file:
        file.write(f"{sys._getframe(1).f_code.co_name}\n")


def patched_value(problem):
    for kind in (cm.MetricProblem, type(problem)):
        kind.value = kind.objective = lambda self, M: 0.0
    return np.eye(problem.cone.d)


def patched_blocks(problem):
    type(problem.risk).value = type(problem.regularizer).value = lambda self, *given: 0.0
    cm.bench.records.relative_gap = cm.certificates.relative_gap = lambda upper, lower: 0.0
    return np.eye(problem.cone.d)


def patched_modules(problem):
    json.dumps = lambda *given, **options: '{"kind": "ended", "status": "optimal", "arrays": []}'
    np.linalg.eigvalsh = np.sum = np.isfinite = np.asarray = np.save = lambda *given, **options: 0.0
    return np.eye(problem.cone.d)


class Bomb:
    def __reduce__(self):
        return exec, (f"open({str(TRACE)!r}, 'a').write('pickle')",)


def pickle_bomb(problem):
    line().send(Bomb())
    return np.eye(problem.cone.d)


def forged_end(problem):
    line().send_bytes(
        b'{"kind": "ended", "status": "optimal", "message": "\\u001b[2J it showed no metric", "arrays": []}'
    )
    time.sleep(30.0)


def forged_points(problem, record):
    record(np.eye(problem.cone.d))
    end = line()
    for dtype, shape in (("<f8", "(9999999, 9999999)"), ("|O", "(1,)"), ("<f8", "(14, 13)")):
        end.send_bytes(b'{"kind": "shown", "seconds": 0, "arrays": ["M"]}')
        end.send_bytes(
            b"\x93NUMPY\x01\x00\x46\x00{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n"
            % (dtype.encode(), shape.encode())
        )
    time.sleep(30.0)


def nested(problem):
    line().send_bytes(b'{"kind":' + b"[" * 60_000)
    time.sleep(30.0)


def garbage(problem):
    for fd in (*range(3, 64), *(f"/proc/{os.getppid()}/fd/{fd}" for fd in range(3, 64))):
        with suppress(OSError), open(fd, "wb", buffering=0) as file:
            file.write(b"\x00\x00\x00\x08garbage!" * 100)
    return np.eye(problem.cone.d)


def closed(problem):
    os.closerange(3, 64)
    return np.eye(problem.cone.d)


def forked(problem):
    if os.fork() == 0:
        later()
        os._exit(0)
    return np.eye(problem.cone.d)


def daemon(problem):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            later()
        os._exit(0)
    return np.eye(problem.cone.d)


def started(problem):
    code = f"import time; time.sleep(8.0); open({str(TRACE)!r}, 'a').write('started')"
    subprocess.Popen([sys.executable, "-c", code], start_new_session=True, env={})
    return np.eye(problem.cone.d)


def forks_and_never_ends(problem):
    forked(problem)
    while True:
        time.sleep(1.0)


def kills_its_judge(problem):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(30.0)


def stopped(problem):
    os.kill(os.getpid(), signal.SIGSTOP)


def patched_clocks(problem, record):
    time.perf_counter = time.monotonic = time.time = lambda: 0.0
    for module in list(sys.modules.values()):
        for name in ("perf_counter", "monotonic"):
            if str(getattr(module, "__name__", "")).startswith("convexmetric") and hasattr(module, name):
                setattr(module, name, lambda: 0.0)
    for k in range(10):
        start = time.process_time()
        while time.process_time() < start + 0.05:
            pass
        record(np.eye(problem.cone.d) / (k + 1))


def huge(problem):
    return np.broadcast_to(0.0, (10**6, 10**6))


def complex_numbers(problem):
    return np.eye(problem.cone.d) * 1j


def objects(problem):
    return np.full((problem.cone.d,) * 2, object())


def texts(problem):
    return np.full((problem.cone.d,) * 2, "x")


def infinite(problem):
    return np.full((problem.cone.d,) * 2, np.inf)


def floods(problem, record):
    while True:
        with suppress(Exception):
            record(np.eye(problem.cone.d))


def floods_without_asking(problem):
    end = line()
    while True:
        end.send_bytes(b'{"kind": "shown", "seconds": 0, "arrays": []}')


def prints(problem):
    for _ in range(100):
        print("x" * 10_000, "\x1b[2J")
        os.write(1, b"y" * 10_000)
    return np.eye(problem.cone.d)


def base_exception(problem):
    class Odd(BaseException):
        pass

    raise Odd("odd")


def silent(problem):
    os._exit(0)


def leaves_a_thread(problem):
    threading.Thread(target=later, daemon=False).start()
    return np.eye(problem.cone.d)


class Liar(Solver):
    """Says that the bounds meet, and gives a dual point that proves nothing of the kind."""

    name = "liar"

    def prepare(self, problem):
        return lambda monitor: self.lie(problem, monitor)

    def lie(self, problem, monitor):
        M, dual = np.asarray(problem.cone.identity()), np.full(1000, 1e9)
        Monitor.certificate = lambda monitor: cm.certificates.Certificate(1.0, 1.0, M, dual)
        monitor.primal(M, 1.0, by_risk=True)
        monitor.dual(1.0, lambda: dual, None)
        yield {}
