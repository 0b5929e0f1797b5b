"""Pages of the reproduced papers: claims, tables and figures as `python -m papers` writes them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

from .pages import ROOT, STAGE

PAPERS = ("000", "001", "002", "003", "004")
RESULTS = ROOT / "build" / "papers"  # kept: all five take three minutes; `make clean` removes them
FIGURE = re.compile(r"!\[[^\]]*\]\((?P<file>[^)]+)\)\n\n(?P<caption>[^\n]+)")


def write_papers() -> None:
    """Write a page per paper into the folder `papers`; a paper without results is reproduced first."""
    for paper in PAPERS:
        source, target = RESULTS / paper, STAGE / "papers" / paper
        if not (source / "report.md").exists():
            print(f"reproducing paper {paper} ...", flush=True)
            subprocess.run([sys.executable, "-m", "papers", paper, "--output", str(RESULTS)], check=True, cwd=ROOT)
        target.mkdir(parents=True, exist_ok=True)
        for figure in source.glob("*.png"):
            shutil.copy(figure, target)
        text = FIGURE.sub(described, (source / "report.md").read_text())
        (target / "index.md").write_text(text)


def described(figure: re.Match[str]) -> str:
    """A figure whose alternative text is the first sentence of its caption."""
    caption = figure["caption"]
    sentence = re.sub(r"^(Fig\. \S+ |Added here\. )", "", caption).split(". ")[0]
    return f"![{sentence.translate({ord('['): '(', ord(']'): ')'})}]({figure['file']})\n\n{caption}"
