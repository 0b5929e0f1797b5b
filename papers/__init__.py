"""Reproductions of the five papers: figures, and published beside computed values.

Each paper is one module, `paper_000.py` and so on; its function `run(folder, say)` writes the figures and returns a
Report.  `python -m papers 000` runs one, `make papers` all five.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from .report import Report, write_report

PAPERS = [x.name.removeprefix("paper_") for x in iter_modules(__path__) if x.name.startswith("paper_")]


def reproduce(paper: str, folder: Path, say: Callable[[str], Any] = lambda _: None) -> Report:
    """Reproduce a paper: write its figures, tables and pages.

    Args:
        paper: Number of the paper, such as "000".
        folder: Destination of the files; created if missing.
        say: Function called with the name of each step; by default nothing is called.

    Returns:
        The Report with the paths of its files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    report: Report = import_module(f"{__name__}.paper_{paper}").run(folder, say)
    return report._replace(files=(*(x.path for x in report.figures), *write_report(report, folder)))
