"""The papers' results, computed anew.  One module a paper: its `run(folder, say)` writes figures and returns a Report.

To add one: `paper_00x.py`, its name in `PAPERS`, a test.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import InputError
from .report import Report, write_report

__all__ = ["PAPERS", "Report", "reproduce"]

PAPERS = {"000": "paper_000", "001": "paper_001", "002": "paper_002", "003": "paper_003", "004": "paper_004"}


def reproduce(paper: str, folder: str | os.PathLike[str], say: Callable[[str], Any] = lambda _: None) -> Report:
    """Write the figures and the table of a paper to a folder; `say` is told what is being done."""
    if paper not in PAPERS:
        raise InputError(f"no results of paper '{paper}'; there are those of {', '.join(PAPERS)}")
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise InputError(f"{place} is not a folder")
    place.mkdir(parents=True, exist_ok=True)
    report = import_module(f".{PAPERS[paper]}", __package__).run(place, say)
    return report._replace(files=(*report.files, *write_report(report, place)))
