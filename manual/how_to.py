"""The list of the pages of *How to*, from the tables of docs/how-to/index.md: one table per group."""

from __future__ import annotations

import re

from .pages import DOCS, STAGE

HEADING = re.compile(r"^\| *(?P<group>[^|\[\]`-]+?) *\| *\|$")
ROW = re.compile(r"^\| *\[(?P<title>[^\]]+)\]\((?P<page>[\w-]+\.md)\)")


def write_how_to() -> None:
    """Write `how-to/SUMMARY.md`, which the navigation reads; a page that no table names is listed at the end."""
    lines, listed = ["* [How to](index.md)"], {"index.md"}
    for line in (DOCS / "how-to" / "index.md").read_text().splitlines():
        if heading := HEADING.match(line):
            lines.append(f"* {heading['group'].capitalize()}")
        elif row := ROW.match(line):
            lines.append(f"    * [{row['title']}]({row['page']})")
            listed.add(row["page"])
    lines += [f"* [{x.stem}]({x.name})" for x in sorted((DOCS / "how-to").glob("*.md")) if x.name not in listed]
    (STAGE / "how-to" / "SUMMARY.md").write_text("\n".join(lines) + "\n")
