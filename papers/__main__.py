"""Reproduce papers: `python -m papers 000 003`, by default all five."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import PAPERS, reproduce

parser = argparse.ArgumentParser(prog="python -m papers", description=__doc__)
parser.add_argument("papers", nargs="*", default=PAPERS, metavar="PAPER", help=f"of {', '.join(PAPERS)}; default all")
parser.add_argument("-o", "--output", type=Path, default=Path("out"), help="parent of one folder per paper")
options = parser.parse_args()
if unknown := sorted(set(options.papers) - set(PAPERS)):
    parser.error(f"no paper {', '.join(unknown)}; choose from {', '.join(PAPERS)}")
for paper in options.papers:
    print(f"paper {paper}", flush=True)
    reproduce(paper, options.output / paper, print)
    print(f"wrote {options.output / paper / 'report.html'}")
