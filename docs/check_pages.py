"""Look at every page of the built site as a reader does who has no network; ``make docs-check``.

Each page is opened from its file in Chromium, in light and in dark, 1,280 and 400 pixels wide. It may not show raw TeX,
scroll sideways or cut anything off, complain on the console, or ask for anything that is not beside it; text and
pictures have to stand out from their ground.

    python docs/check_pages.py docs/_build/html                    # all pages
    python docs/check_pages.py docs/_build/html index.html ...     # some of them
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

WIDTHS = (1280, 400)
SCHEMES = ("light", "dark")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
#: Contrast of text that WCAG 2.1 asks for at level AA, for large text and otherwise.
LARGE, SMALL = 3.0, 4.5

#: Milliseconds that a page may take to load: a busy machine is no finding.
PATIENCE = 180_000

# Commands, delimiters, and dollars around something that only a formula has.
TEX = re.compile(r"\\[A-Za-z]{2,}|\\[()\[\]]|\$\$|\$[^$\n]*[\\^_{][^$\n]*\$")

#: What a page shows: text outside of code, how far it scrolls, colours of text and what is below text and pictures.
READ_PAGE = r"""() => {
  const brush = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const known = new Map();
  const rgba = colour => {
    if (!known.has(colour)) {
      brush.clearRect(0, 0, 1, 1);
      brush.fillStyle = colour;
      brush.fillRect(0, 0, 1, 1);
      known.set(colour, [...brush.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(colour);
  };
  const sheet = document.body.appendChild(document.createElement("div"));
  sheet.style.backgroundColor = "Canvas";
  const canvas = rgba(getComputedStyle(sheet).backgroundColor);
  sheet.remove();
  const grounds = element => {
    const found = [];
    for (let e = element; e; e = e.parentElement) found.push(rgba(getComputedStyle(e).backgroundColor));
    return [...found, canvas];
  };
  const texts = [], prose = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim(), element = walker.currentNode.parentElement;
    if (!text || element.closest("script, style, noscript, template")) continue;
    if (!element.closest("code, pre, kbd")) prose.push(text);
    const box = element.getBoundingClientRect();
    if (box.width < 2 || !element.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    const style = getComputedStyle(element), size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.6 && style.fontWeight >= 700);
    texts.push({text: text.slice(0, 60), colour: rgba(style.color), grounds: grounds(element), large});
  }
  const pictures = [...document.querySelectorAll("main img")].filter(e => e.checkVisibility())
    .map(e => ({source: e.currentSrc, grounds: grounds(e), filter: getComputedStyle(e).filter}));
  const wide = [...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1)
    .map(e => e.tagName.toLowerCase() + "." + e.className).slice(0, 3);
  // What lies left of a box that scrolls, or beyond one that does not, cannot be seen at all; nobody scrolls listings.
  const cut = [...document.querySelectorAll("main :is(math, table, img, pre)")].filter(e => {
    if (!e.checkVisibility()) return false;
    let box = e.parentElement;
    while (box !== document.body && getComputedStyle(box).overflowX === "visible") box = box.parentElement;
    const [inner, outer] = [e.getBoundingClientRect(), box.getBoundingClientRect()];
    const hidden = ["hidden", "clip"].includes(getComputedStyle(box).overflowX);
    const scrolls = e.matches("pre") && e.scrollWidth > e.clientWidth + 1;
    return scrolls || inner.left + box.scrollLeft < outer.left - 1 || (hidden && inner.right > outer.right + 1);
  }).map(e => e.textContent.trim().slice(0, 40) || e.currentSrc);
  return {prose: prose.join("\n"), width: document.documentElement.scrollWidth, texts, pictures, wide, cut};
}"""


def raw_tex(text: str) -> list[str]:
    r"""Pieces of TeX in a text that should have none.

    >>> raw_tex(r"the cone \(M \succeq 0\), for $5 or $6")
    ['\\(', '\\succeq', '\\)']
    """
    return TEX.findall(text)


def over(top: list[float], below: list[float]) -> list[float]:
    """The colour seen where ``top``, with its alpha, lies on an opaque ``below``; red, green, blue from 0 to 255."""
    alpha = top[3] / 255
    return [alpha * a + (1 - alpha) * b for a, b in zip(top[:3], below[:3], strict=True)]


def ground_colour(grounds: list[list[float]]) -> list[float]:
    """What is seen of backgrounds that lie on each other, the innermost first and the window's last."""
    seen = grounds[-1][:3]
    for ground in reversed(grounds[:-1]):
        seen = over(ground, seen)
    return seen


def luminance(colour: list[float]) -> float:
    """Relative luminance of an sRGB colour (WCAG 2.1)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (c / 255 for c in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: list[float], second: list[float]) -> float:
    """Contrast of two opaque colours (WCAG 2.1): from 1, the same luminance, to 21, black on white."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@cache
def see_through(source: str) -> bool:
    """Whether the ground shows through a picture in a file."""
    from PIL import Image

    path = Path(unquote(urlsplit(source).path))
    if path.suffix == ".svg":
        return True
    with Image.open(path) as picture:
        return picture.convert("RGBA").getextrema()[3][0] < 255


def faint(shown: dict[str, Any]) -> Iterator[str]:
    """Texts and pictures of a page that do not stand out."""
    for text in shown["texts"]:
        ground = ground_colour(text["grounds"])
        ratio = contrast(over(text["colour"], ground), ground)
        if ratio < (LARGE if text["large"] else SMALL):
            yield f"contrast {ratio:.1f}: {text['text']!r}"
    for picture in shown["pictures"]:
        # Pictures are drawn for white paper.
        if luminance(ground_colour(picture["grounds"])) < 0.5 and see_through(picture["source"]):
            yield f"a picture that lets a dark ground through: {Path(picture['source']).name}"


def findings(shown: dict[str, Any], width: int) -> list[str]:
    """All that is wrong with what a page shows in a window of some width."""
    found = [f"raw TeX: {' '.join(tex[:5])}" for tex in [raw_tex(shown["prose"])] if tex]
    if shown["width"] > width:
        found.append(f"{shown['width']} pixels wide, at {', '.join(shown['wide'])}")
    found += [f"cut off: {what}" for what in shown["cut"]]
    # The same text in many places is one finding.
    return found + list(dict.fromkeys(faint(shown)))


def browser_path() -> str | None:
    """The Chromium that is installed, or the one that ``CHROMIUM`` names."""
    named = os.environ.get("CHROMIUM")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, BROWSERS)), None)


def check(pages: list[Path]) -> Iterator[str]:
    """What is wrong with pages, one line each."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=browser_path(),
            args=["--host-resolver-rules=MAP * ~NOTFOUND", "--allow-file-access-from-files"],
        )
        for scheme in SCHEMES:
            context = chromium.new_context(color_scheme=scheme, offline=True)
            context.set_default_timeout(PATIENCE)
            for number, path in enumerate(pages, 1):
                print(f"{scheme}, {number} of {len(pages)}: {path.name}", end="\x1b[K\r", file=sys.stderr, flush=True)
                yield from check_page(context, path, scheme)
            context.close()
        chromium.close()


def check_page(context: Any, path: Path, scheme: str) -> Iterator[str]:
    """What is wrong with one page."""
    page, trouble = context.new_page(), []
    page.on("console", lambda message: trouble.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("request", lambda request: None if is_local(request.url) else trouble.append(f"asks for {request.url}"))
    page.on("requestfailed", lambda request: trouble.append(f"not there: {request.url}"))
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    page.goto(path.resolve().as_uri(), wait_until="load")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for finding in findings(page.evaluate(READ_PAGE), width):
            yield f"{path} ({scheme}, {width}): {finding}"
    yield from (f"{path} ({scheme}): {line}" for line in dict.fromkeys(trouble))
    page.close()


def is_local(url: str) -> bool:
    """Whether a request stays on the reader's disk."""
    return urlsplit(url).scheme in ("file", "data", "blob", "about")


def main() -> int:
    """Check the pages named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path, help="folder of the built site")
    parser.add_argument("pages", nargs="*", help="pages in it; all if none is named")
    arguments = parser.parse_args()
    pages = [arguments.site / page for page in arguments.pages] or sorted(arguments.site.rglob("*.html"))
    pages = [page for page in pages if "_static" not in page.parts]
    if not pages:
        parser.error(f"no pages in {arguments.site}: make docs")
    if browser_path() is None:
        parser.error("no Chromium found: apt-get install chromium, or CHROMIUM=/path/to/it")
    found = 0
    for finding in check(pages):
        print(finding, flush=True)
        found += 1
    print(f"{len(pages)} pages, {found} findings")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
