"""Compare two checkouts: `python -m benchmarks.against OTHER`, run from the folder of this one.

The benchmarks of both run in turn, each in its own process with its own sources, and the shortest time of each row
counts.  Rows are matched by section and name.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

Key = tuple[str, str]
SECTIONS = ("7R LWR", "batches", "rollouts")


def times(checkout: Path, sections: list[str]) -> dict[Key, float]:
    """Time per execution of each row, in s, measured once in a new process."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    with tempfile.TemporaryDirectory() as folder:
        only = [word for section in sections for word in ("--only", section)]
        command = [sys.executable, "-m", "benchmarks", "--quick", "--output", folder, *only]
        subprocess.run(command, cwd=checkout, env=environment, check=True, capture_output=True)
        (found,) = Path(folder).glob("*.json")
        rows = json.loads(found.read_text())["rows"]
    return {(row["section"], f"{row['name']}, {row['peer_name']}"): row["ours"] for row in rows}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.against", description=__doc__)
    parser.add_argument("other", type=Path, help="folder of the other checkout, with its C extension built in place")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--only", action="append", default=[], help="a section of rows; may be given several times")
    arguments = parser.parse_args()
    sections = arguments.only or list(SECTIONS)
    best: list[dict[Key, float]] = [{}, {}]
    for _ in track(range(arguments.turns), "measuring"):
        for found, checkout in zip(best, (Path.cwd(), arguments.other)):
            for key, time in times(checkout, sections).items():
                found[key] = min(time, found.get(key, time))
    ours, other = best
    table = Table("section", "row", "here, ns", "other, ns", "here / other")
    for key in ours:
        if key in other:
            figures = f"{1e9 * ours[key]:.1f}", f"{1e9 * other[key]:.1f}", f"{ours[key] / other[key]:.3f}"
            table.add_row(*key, *figures)
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
