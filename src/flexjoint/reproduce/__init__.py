"""Reproduction of papers: figures, and published against computed values.

There is one module per paper, `paper_000.py` and so on.  Its function `run(folder, say)` writes the figures and returns
a Report, which becomes `report.md` and `report.html`.  A new module is found by its name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from ..errors import InputError
from .report import PaperFigure as PaperFigure, Report as Report, write_report

PAPER = re.compile(r"paper_(\d+)")
PAPERS = {found[1]: found[0] for x in iter_modules(__path__) if (found := PAPER.fullmatch(x.name))}  # modules by number


def reproduce(paper: str, folder: str | os.PathLike[str], say: Callable[[str], Any] = lambda _: None) -> Report:
    """Reproduce a paper: write its figures and tables to a folder.

    Args:
        paper: Number of the paper, such as "000".
        folder: Where files are written; it is created if it does not exist.
        say: Called with the name of each step when it starts; by default nothing.

    Returns:
        The Report, with tables, notes and the files written.

    Raises:
        InputError: There is no such paper, or the folder is a file.
    """
    if paper not in PAPERS:
        raise InputError(f"no paper '{paper}'; there are {', '.join(PAPERS)}")
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise InputError(f"{place} is not a folder")
    place.mkdir(parents=True, exist_ok=True)
    report = import_module(f".{PAPERS[paper]}", __package__).run(place, say)
    return report._replace(files=(*(x.path for x in report.figures), *write_report(report, place, python_code(paper))))


def python_code(paper: str) -> str:
    """Python that reproduces a paper."""
    return f"from flexjoint.reproduce import reproduce\n\nreport = reproduce({paper!r}, 'out')\nprint(report.title)\n"
