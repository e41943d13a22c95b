"""Pages that run Python, as Chromium shows them from a server on this machine, with no other host to be found."""

import functools
import http.server
import re
import shutil
import threading

import check_pages
import course
import in_browser
import pytest

#: Seconds within which a browser has to answer.
PATIENCE = 240


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *said):
        pass


def markup(page):
    """The markup of a page of docs, as the site has it."""
    (path,) = in_browser.HERE.glob(f"{page}.*")
    text = path.read_text(encoding="utf-8").replace(".. exercises::", "\n".join(course.editors()))
    found = re.findall(r"```\{raw\} html\n(.*?)```|\.\. raw:: html\n\n((?: +.*\n|\n)+)", text, re.DOTALL)
    style = '<link rel="stylesheet" href="_static/site.css">'
    return f"<!doctype html><meta charset=utf-8><title>{page}</title>{style}{''.join(map(''.join, found))}"


def serving(folder, *pages):
    """Serve a site of some pages, and yield its address."""
    if not in_browser.RUNTIME.is_dir():
        pytest.skip(f"no Python for browsers in {in_browser.RUNTIME}: python docs/in_browser.py")
    for page in pages:
        (folder / f"{page}.html").write_text(markup(page), encoding="utf-8")
    shutil.copytree(in_browser.HERE / "_static", folder / "_static")
    in_browser.serve(folder / "_static")
    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def opening(address):
    """Open a page in Chromium, which finds no other host; yield it and the addresses and errors that came."""
    playwright = pytest.importorskip("playwright.sync_api")
    if check_pages.browser_path() is None:
        pytest.skip("no Chromium")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(
            executable_path=check_pages.browser_path(),
            args=["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
        )
        context, asked = chromium.new_context(), []
        context.on("request", lambda request: asked.append(request.url))
        window = context.new_page()
        window.on("pageerror", lambda error: asked.append(f"error: {error}"))
        window.goto(address)
        yield window, asked
        chromium.close()
