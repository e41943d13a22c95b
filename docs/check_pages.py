"""Look at every page of the site in headless Chromium, without network: wide and narrow, light and dark.

    python docs/check_pages.py [docs/_build/html] [--chromium /usr/bin/chromium]

Names every page with TeX that was not set, a width that scrolls sideways, text that is hard to read on its ground, a
message of the console, or a request that fails, and ends with 1 if there is one.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

HERE = Path(__file__).resolve().parent
WIDTHS, SCHEMES, HEIGHT = (1280, 400), ("light", "dark"), 900
#: Contrast of text with its ground that WCAG 2 asks of large text.
LEAST_CONTRAST = 3.0
TEX = re.compile(
    r"\\[()\[\]]|\$\$|\\(?:frac|tfrac|sum|min|max|succeq|langle|rangle|mathrm|operatorname|begin|lambda)\b"
)

#: The text of a page that is no code.
PROSE = """() => {
  const copy = document.body.cloneNode(true);
  copy.querySelectorAll("pre, code, script, style, math, .highlight").forEach(part => part.remove());
  return copy.textContent;
}"""
#: Colours of texts and their grounds: of every kind of element once.
COLOURS = """() => {
  const ground = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!/, 0\\)$|transparent/.test(colour)) return colour;
    }
    return getComputedStyle(document.documentElement).backgroundColor;
  };
  const seen = new Map();
  for (const element of document.querySelectorAll("main *")) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.getClientRects().length) continue;
    const pair = [getComputedStyle(element).color, ground(element)];
    seen.set(pair.join(), [...pair, element.textContent.trim().slice(0, 40)]);
  }
  return [...seen.values()];
}"""


def raw_tex(prose: str) -> str | None:
    """The first TeX in a text, with what follows it."""
    found = TEX.search(prose)
    return None if found is None else prose[found.start() : found.start() + 40]


def contrast(ink: str, ground: str) -> float:
    """Contrast of two CSS colours, from 1 to 21, as WCAG 2 defines it."""
    lighter, darker = sorted((_luminance(ink), _luminance(ground)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    channels = [float(number) / 255.0 for number in re.findall(r"[\d.]+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def faults(page: Any) -> Iterator[str]:
    """What is wrong with an open page."""
    tex = raw_tex(page.evaluate(PROSE))
    if tex is not None:
        yield f"TeX that was not set: {tex!r}"
    wide = page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
    if wide > 1:
        yield f"scrolls sideways by {wide} pixels"
    for ink, ground, text in page.evaluate(COLOURS):
        if ink.startswith("rgb") and ground.startswith("rgb") and contrast(ink, ground) < LEAST_CONTRAST:
            yield f"{text!r} is {ink} on {ground}"


def check(root: Path, chromium: str) -> int:
    """The number of faults of all pages, each of which is printed."""
    from playwright.sync_api import sync_playwright

    paths = (path.relative_to(root) for path in root.rglob("*.html"))
    pages = sorted(path.as_posix() for path in paths if path.parts[0] not in ("_modules", "_static"))
    count = 0
    handler = partial(_Quiet, directory=str(root))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_playwright() as playwright:
        Thread(target=server.serve_forever, daemon=True).start()
        # Only this machine has a name.
        offline = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", offline])
        for scheme in SCHEMES:
            for width in WIDTHS:
                tab = browser.new_page(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme)
                said: list[str] = []
                tab.on("console", lambda message, said=said: said.extend(_worth_saying(message)))
                tab.on("requestfailed", lambda request, said=said: said.append(f"request failed: {request.url}"))
                for name in pages:
                    said.clear()
                    tab.goto(f"http://127.0.0.1:{server.server_port}/{name}")
                    for fault in [*said, *faults(tab)]:
                        print(f"{name} ({width} pixels, {scheme}): {fault}", flush=True)
                        count += 1
                tab.close()
        browser.close()
        server.shutdown()
    print(f"{len(pages)} pages, {len(WIDTHS) * len(SCHEMES)} times each: {count} faults")
    return count


def _worth_saying(message: Any) -> list[str]:
    return [f"console: {message.text}"] if message.type in ("error", "warning") else []


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


def main() -> int:
    """Check the pages of a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=Path, default=HERE / "_build" / "html")
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("chromium-browser"))
    options = parser.parse_args()
    if options.chromium is None:
        parser.error("no Chromium was found: apt-get install chromium, or name it by --chromium")
    if not (options.root / "index.html").exists():
        parser.error(f"no site in {options.root}: make docs")
    return int(check(options.root, options.chromium) > 0)


if __name__ == "__main__":
    sys.exit(main())
