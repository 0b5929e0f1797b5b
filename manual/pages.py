"""Pages of the repository, copied to where Zensical reads them.

docs/ becomes the root; other files that a page links to (ARCHITECTURE.md, examples, figures of benchmarks) are copied
beside it under their own paths, and links follow.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
STAGE = ROOT / "build" / "manual"
AROUND = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")  # further pages
LINK = re.compile(r"(?<=\]\()(?P<path>[^()\s#:]+)(?P<anchor>#[^()\s]*)?(?=\))")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def staged(path: Path) -> Path:
    """Where a file of the repository stands among the pages."""
    if path.is_relative_to(DOCS):
        return STAGE / path.relative_to(DOCS)
    inside = path.relative_to(ROOT)
    return STAGE / (str(inside).lower() if path.suffix == ".md" else inside)


def copy_pages() -> None:
    """Copy docs/ and the further pages into an empty folder, with the files of the repository that they link to."""
    shutil.rmtree(STAGE, ignore_errors=True)
    shutil.copytree(DOCS, STAGE)
    for page in [*sorted(DOCS.rglob("*.md")), *(ROOT / name for name in AROUND)]:
        staged(page).write_text(with_links(page))


def with_links(page: Path) -> str:
    """The text of a page with links that hold where it is copied to."""

    def moved(link: re.Match[str]) -> str:
        target = (page.parent / link["path"]).resolve()
        if not target.is_relative_to(ROOT) or not target.exists():
            return link[0]  # the check of the built site reports it
        place = staged(target)
        if target.is_file() and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(target, place)
        return os.path.relpath(place, staged(page).parent) + (link["anchor"] or "")

    text = page.read_text()
    kept = [x.span() for x in CODE.finditer(text)]
    return LINK.sub(lambda x: x[0] if any(a <= x.start() < b for a, b in kept) else moved(x), text)
