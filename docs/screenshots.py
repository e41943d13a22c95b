"""Pictures of the site for its gallery, by a Chromium: a certificate proven on its page, and the table of records.

``python docs/screenshots.py docs/_build/html`` writes ``docs/certificate.png`` and ``docs/records.png``. Needs
``pip install -e '.[docs-check]'``, the site, and Python for browsers (``python docs/in_browser.py``).
"""

from __future__ import annotations

import argparse
import functools
import http.server
import tempfile
import threading
from pathlib import Path
from typing import Any

import check_pages

import convexmetric as cm

HERE = Path(__file__).resolve().parent
#: Milliseconds that a proof may take.
PATIENCE = 240_000
LEAVE_OUT = "table => [...table.tBodies[0].rows].forEach(row => row.lastElementChild.innerText.trim() || row.remove())"


def certificate(page: Any, address: str) -> None:
    """Prove a certificate of an instance on the page, and take what it says."""
    instance = cm.bench.load_instance("ranking-auc-wine-c1")
    with tempfile.TemporaryDirectory() as folder:
        written, problem = Path(folder) / "wine.npz", instance.problem()
        cm.write_certificate(written, problem, solution=cm.solve(problem), title=instance.title)
        page.goto(f"{address}/in-browser.html")
        page.set_input_files("#prover input", str(written))
        page.wait_for_selector("#prover[data-code]", timeout=PATIENCE)
        page.locator("#prover").screenshot(path=HERE / "certificate.png")


def records(page: Any, address: str) -> None:
    """Take the records that were moved: rows without a holder are left out."""
    page.goto(f"{address}/instances.html")
    table = page.locator("section:has(> h2:has-text('Records')) table").first
    table.evaluate(LEAVE_OUT)
    table.screenshot(path=HERE / "records.png")


def main() -> None:
    """Serve the site to a Chromium, and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path, help="folder of the built site")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=parser.parse_args().site)
    from playwright.sync_api import sync_playwright

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        chromium = playwright.chromium.launch(executable_path=check_pages.browser_path())
        page = chromium.new_page(viewport={"width": 700, "height": 1200}, color_scheme="light")
        for picture in (certificate, records):
            picture(page, f"http://127.0.0.1:{server.server_port}")
        server.shutdown()


if __name__ == "__main__":
    main()
