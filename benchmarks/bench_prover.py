"""Seconds of a proof in a browser, beside those of the same checker in Python.

python benchmarks/bench_prover.py [--site docs/_build/html]

Certificates of wine (AUC, C = 1, solved to 1e-6) and of the first 1,500 digits (AUC, C = 1, to 0.1) are proven here,
and then on the page of the built site in Chromium. *Proof* are the seconds that the verdict prints, the median of
three; *loading* are those of Python and NumPy in the browser, from a server on this machine.
"""

import argparse
import functools
import http.server
import importlib.util
import re
import statistics
import sys
import tempfile
import threading
from pathlib import Path

from environment import add_threads_option, limit_threads, surroundings
from tables import markdown

import convexmetric as cm

ROOT = Path(__file__).resolve().parents[1]
REPEATS, PATIENCE = 3, 600


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *said):
        pass


def certificates(folder):
    from sklearn.datasets import load_digits

    X, y = (array[:1500] for array in load_digits(return_X_y=True))
    digits = cm.RankingProblem.from_labels(cm.datasets.preprocess(X, ["zscore"]), y, measure="auc", C=1.0)
    wine = cm.bench.load_instance("ranking-auc-wine-c1").problem()
    for name, problem, tol in (("wine", wine, 1e-6), ("digits", digits, 0.1)):
        path = folder / f"{name}.npz"
        cm.write_certificate(path, problem, solution=cm.solve(problem, tol=tol))
        yield path


def in_browser(playwright, site, path, chromium):
    """The text of the verdict, and the seconds of loading."""
    handler = functools.partial(Quiet, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=chromium)
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/in-browser.html")
        page.set_input_files("#prover input", str(path))
        page.wait_for_selector("#prover[data-code]", timeout=1000 * PATIENCE)
        said = page.text_content("#prover pre"), page.text_content("#prover .versions")
        browser.close()
        server.shutdown()
    return said


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, default=ROOT / "docs/_build/html")
    add_threads_option(parser)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    print(surroundings(), "\n")
    sys.path.insert(0, str(ROOT / "docs"))
    from check_pages import browser_path

    there = (arguments.site / "_static/certificates.zip").exists() and browser_path() is not None
    if not there or importlib.util.find_spec("playwright") is None:
        print("left out: it needs make docs with Python for browsers, Chromium, and pip install '.[docs-check]'")
        return
    from playwright.sync_api import sync_playwright

    rows = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        for path in certificates(Path(folder)):
            verdicts = [cm.verify(path) for _ in range(REPEATS)]
            said = [in_browser(playwright, arguments.site, path, browser_path()) for _ in range(REPEATS)]
            same = {re.sub(r" \(\S+ s\)$", "", text) for text in [*map(str, verdicts), *(text for text, _ in said)]}
            own = [float(re.search(r"\((\S+) s\)$", text)[1]) for text, _ in said]
            loading = [float(re.search(r"loaded in (\S+) s", versions)[1]) for _, versions in said]
            rows.append(
                [
                    path.stem,
                    f"{path.stat().st_size / 1e6:.2f}",
                    "yes" if len(same) == 1 else "NO",
                    *(f"{statistics.median(of):.2f}" for of in ([v.seconds for v in verdicts], own, loading)),
                ]
            )
    print(
        markdown(["certificate", "MB", "same verdict", "proof here, s", "proof in the browser, s", "loading, s"], rows)
    )
    print("\n" + said[0][1])


if __name__ == "__main__":
    main()
