"""Kill one solve again and again with SIGKILL; it must end where an undisturbed one ends.

python benchmarks/kill_test.py [--kills 20] [--measure map] [--C 100] [--data breast-cancer]

Every run is the same call in a process of its own with the same checkpoint file, killed after a random time until it
has been killed often enough; then it may finish.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCRIPT = """
import sys
import convexmetric as cm
data = cm.datasets.load({data!r})
X = cm.datasets.preprocess(data.X, ["zscore"])
problem = cm.RankingProblem.from_labels(X, data.y, measure={measure!r}, C={C!r})
solution = cm.solve(problem, solver="cutting-planes", checkpoint={path!r})
print(repr(solution.lower_bound), repr(solution.upper_bound), solution.iterations)
"""


def run(arguments, path, seconds=None):
    """One process, killed after some seconds of solving; its output if it finished."""
    script = SCRIPT.format(data=arguments.data, measure=arguments.measure, C=arguments.C, path=path)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=os.environ)
    if seconds is not None:
        file = Path(path) if path else None
        before = file.stat().st_mtime_ns if file and file.exists() else 0
        # Imports take seconds, in which there is nothing to lose: the clock starts with the first file written.
        while process.poll() is None and not (file and file.exists() and file.stat().st_mtime_ns != before):
            time.sleep(0.001)
        time.sleep(seconds)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
    output = process.communicate()[0]
    return output if process.returncode == 0 else None


def main():
    """Print the bounds of the undisturbed and of the killed solve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--measure", default="map")
    parser.add_argument("--C", type=float, default=100.0)
    parser.add_argument("--data", default="breast-cancer")
    parser.add_argument("--longest", type=float, default=0.4, help="seconds of solving before a kill, at most")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    whole = run(arguments, None)
    print("undisturbed:", whole.strip())
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "state.npz")
        killed = 0
        output = None
        while output is None:
            again = killed < arguments.kills
            output = run(arguments, path, random.uniform(0.0, arguments.longest) if again else None)
            killed += output is None
        print(f"killed {killed} times:", output.strip())
    (lower, upper, _), (one, other, _) = (map(float, text.split()) for text in (whole, output))
    agree = lower <= other and one <= upper
    print("the intervals overlap" if agree else "THE INTERVALS DO NOT OVERLAP")
    raise SystemExit(not agree or killed < arguments.kills)


if __name__ == "__main__":
    main()
