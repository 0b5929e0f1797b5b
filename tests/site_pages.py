"""The built manual in headless Chromium, wide and narrow; `make test-long` runs it after `make docs`.

    python tests/site_pages.py --output pictures

Every page on a wide screen, and one or two of each section on a narrow one, must load without an error on the console,
without a request that leaves the machine and without scrolling sideways, and all its images must be drawn.  Typing into
the search and pressing Enter opens the page that one looks for.
"""

from __future__ import annotations

import argparse
import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from PIL import Image

from support.browser import Browser, chromium

ROOT = Path(__file__).parent.parent
SIZES = {"wide": (1280, 900), "narrow": (390, 844)}
PICTURED = (
    *("index", "start/first-torques", "how-to/index", "how-to/tune-motor-pd", "concepts/smoothness", "urdf", "gallery"),
    *("reference/control", "reference/command-line", "reference/file-formats", "papers/002/index", "performance"),
    "notebooks/tune_sea_joint",
)
BROKEN = "[...document.images].filter(x => x.complete && !x.naturalWidth).map(x => x.src)"
SEARCHING = 3.0  # s until results are there
WIDTH = "document.documentElement.scrollWidth"
QUERIES = {
    "feedback linearization that survives": "how-to/feedback-linearization.html",
    "inverse_dynamics_along": "reference/flexjoint.html",
    "which stiffness": "how-to/which-stiffness.html",
}  # the first page that is found


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder, without a line per request."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Address of a server of the files in a folder."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()


def check_page(browser: Browser, address: str, width: int) -> list[str]:
    """What is wrong with a page."""
    browser.forget().open(address)
    browser.wait(lambda: browser.run("document.readyState") == "complete", "the page to load")
    found = [f"error: {x}" for x in browser.errors] + [f"request to {x}" for x in browser.outside]
    found += [f"no image: {x}" for x in browser.run(BROKEN)]
    if (needed := int(browser.run(WIDTH))) > width:
        found.append(f"is {needed} pixels wide, on a screen of {width}")
    return found


def check_search(browser: Browser, address: str) -> list[str]:
    """Queries that lead elsewhere."""
    found = []
    for query, wanted in QUERIES.items():
        browser.open(f"{address}/index.html")
        browser.wait(lambda: browser.run("document.readyState") == "complete", "the page to load")
        browser.click_text("Search")
        browser.wait(lambda: browser.run("document.activeElement !== document.body"), "the search to open")
        browser.call("Input.insertText", text=query)
        browser.settle(SEARCHING)
        for kind in ("keyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13)
        browser.settle(SEARCHING)
        if wanted not in (shown := str(browser.run("location.href"))):
            found.append(f"the search for '{query}' opens {shown}, not {wanted}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, default=ROOT / "site", help="the built site")
    parser.add_argument("--output", type=Path, help="folder for pictures")
    parser.add_argument("--only", default="", help="pages whose paths contain this word")
    given = parser.parse_args()
    if chromium() is None:
        sys.exit("chromium is not installed: apt-get install chromium")
    pages = [path.relative_to(given.site) for path in sorted(given.site.rglob("*.html")) if path.name != "404.html"]
    failed = 0
    with served(given.site) as address:
        for size, (width, height) in SIZES.items():
            with Browser(width, height) as browser:
                if size == "wide" and not given.only:
                    searched = check_search(browser, address)
                    failed += bool(searched)
                    print(*searched, sep="\n", end="\n" if searched else "", flush=True)
                for page in (x for x in pages if given.only in str(x)):
                    name = str(page.with_suffix(""))
                    if size == "narrow" and name not in PICTURED:
                        continue
                    found = check_page(browser, f"{address}/{page}", width)
                    failed += bool(found)
                    print(*(f"{size} {page}: {x}" for x in found), sep="\n", end="\n" if found else "", flush=True)
                    if given.output and name in PICTURED:
                        given.output.mkdir(parents=True, exist_ok=True)
                        file = given.output / f"{name.replace('/', '-')}-{size}.png"
                        Image.fromarray(browser.picture().astype("uint8")).save(file)
    print(f"{len(pages)} pages; {failed} of them, or the search, with mistakes")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
