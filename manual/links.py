"""Check of the built site: every link and anchor exists, every image has alternative text, and no page requests
anything from elsewhere."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from .pages import ROOT

SITE = ROOT / "site"
REQUESTING = {"script", "img", "source", "iframe", "video", "audio", "embed"}  # tags with src
FETCHING = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch", "prefetch", "manifest"}
IN_STYLES = re.compile(r"""(?:url\(\s*['"]?|@import\s+['"])((?:https?:)?//[^'")\s]+)""")


class Page(HTMLParser):
    """Anchors, links, requested resources and images without alternative text of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.resources: set[str] = set()
        self.unnamed: list[str] = []
        text = path.read_text(encoding="utf-8")
        self.resources |= {*IN_STYLES.findall(text)}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called for every tag."""
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[key] for key in ("id", "name") if key in found}
        if tag == "a" and "href" in found:
            self.links.add(found["href"])
        if tag == "link" and FETCHING & {*found.get("rel", "").split()}:
            self.resources.add(found.get("href", ""))
        if tag in REQUESTING and "src" in found:
            self.resources.add(found["src"])
        if tag == "img" and not found.get("alt", "").strip():
            self.unnamed.append(found.get("src", ""))


@cache
def page_at(path: Path) -> Page:
    return Page(path)


def mistakes(site: Path = SITE) -> list[str]:
    """What is wrong in a built site, one line each."""
    found = []
    for path in sorted(site.rglob("*.html")):
        if path.name == "404.html":  # its links start at the root of a server
            continue
        page = page_at(path)
        where = path.relative_to(site)
        found += [f"{where}: an image needs alternative text: {x}" for x in page.unnamed]
        for target in sorted(page.links | page.resources):
            parts = urlsplit(target)
            if parts.scheme in ("http", "https") or target.startswith("//"):
                if target in page.resources:
                    found.append(f"{where}: requests {target}, which is elsewhere")
            elif parts.scheme not in ("mailto", "data", "javascript"):
                found += dead(site, path, unquote(parts.path), unquote(parts.fragment), target)
    for path in sorted(site.rglob("*.css")):
        outside = IN_STYLES.findall(path.read_text(encoding="utf-8"))
        found += [f"{path.relative_to(site)}: requests {x}, which is elsewhere" for x in outside]
    return found


def dead(site: Path, source: Path, path: str, anchor: str, target: str) -> list[str]:
    """Whether a link within the site leads nowhere."""
    where = source.relative_to(site)
    place = (source.parent / path).resolve() if path else source
    place = place / "index.html" if place.is_dir() else place
    if not place.exists():
        return [f"{where}: dead link: {target}"]
    if anchor and place.suffix == ".html" and anchor not in page_at(place).anchors and not anchor.startswith("__"):
        return [f"{where}: no such anchor: {target}"]
    return []
