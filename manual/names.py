"""Reference of the Python names: one page per namespace, from the docstrings."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Mapping
from typing import Any

from .pages import ROOT, STAGE

sys.path.insert(0, str(ROOT / "tests"))
from support.public import PUBLIC, SPACES, TOP  # isort: skip

NOTE = """!!! note "Every algorithm also takes `out`, `finite` and `threads`"
    Algorithms are the functions that take arrays of states, such as `inverse_dynamics`. `out=` receives the result
    without an allocation, `finite=` a boolean per row, and `threads=` is the number of cores. Every array is
    `(..., n)`: leading dimensions are a batch.
"""


def write_names() -> None:
    """Write a page per namespace into the folder `reference`, and its list of pages."""
    folder = STAGE / "reference"
    folder.mkdir(exist_ok=True)
    pages = {"flexjoint": TOP}
    pages |= {f"flexjoint.{space}": names_of(space) for space in sorted(SPACES)}
    home = {id(thing): f"flexjoint.{name}" for name, thing in reversed(PUBLIC.items())}
    for space, names in pages.items():
        (folder / f"{space.removeprefix('flexjoint.')}.md").write_text(namespace_page(space, names, home))
    listed = "\n".join(f"| [`{space}`]({space.removeprefix('flexjoint.')}.md) | {summary(space)} |" for space in pages)
    overview = f"# Names in Python\n\n    import flexjoint as fj\n\n{NOTE}\n| namespace | |\n|---|---|\n{listed}\n"
    (folder / "names.md").write_text(overview)
    spaces = "\n".join(f"    * [{space}]({space.removeprefix('flexjoint.')}.md)" for space in pages)
    (folder / "SUMMARY.md").write_text(
        "* [Command line](command-line.md)\n* [File formats](file-formats.md)\n"
        f"* [Names in Python](names.md)\n{spaces}\n"
    )


def names_of(space: str) -> dict[str, Any]:
    """Public names of a namespace, by their last word."""
    inside = {name.rpartition("."): thing for name, thing in PUBLIC.items()}
    return {last: thing for (where, _, last), thing in inside.items() if where == space}


def namespace_page(space: str, names: Mapping[str, Any], home: Mapping[int, str]) -> str:
    """The page of a namespace: its own text, a table of its names, and the documentation of each.

    Args:
        space: Such as "flexjoint.control".
        names: What it exports.
        home: The one place where a thing is documented, by its id; the top level comes before the subpackages.
    """
    ordered = sorted(names.items(), key=lambda item: (not inspect.isclass(item[1]), item[0].lower()))
    ordered = [(name, thing) for name, thing in ordered if inspect.getdoc(thing) and not isinstance(thing, dict)]
    rows = "\n".join(f"| [`{name}`][{home[id(thing)]}] | {first_line(thing)} |" for name, thing in ordered)
    own = [name for name, thing in ordered if home[id(thing)] == f"{space}.{name}"]
    documented = "\n\n".join(f"::: {space}.{name}" for name in own)
    return f"# {space}\n\n{summary(space)}\n\n| name | |\n|---|---|\n{rows}\n\n{documented}\n"


def summary(space: str) -> str:
    """First paragraph of the docstring of a package."""
    text = inspect.getdoc(importlib.import_module(space)) or ""
    return " ".join(text.split("\n\n")[0].split())


def first_line(thing: Any) -> str:
    """First sentence or line of a docstring, safe in a table."""
    text = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    return text.replace("|", "\\|").replace("<", "&lt;")
