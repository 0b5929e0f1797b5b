"""Tables of what comes of the robot files of packages, for the scripts of `make test-long`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import flexjoint as fj


class Row(NamedTuple):
    """A file, what came of it, and whether that is a finding."""

    file: str
    joints: str
    result: str
    finding: bool = False


class Packages(NamedTuple):
    """Packages of models: their names, the files in them, and the reasons for refusing files that are counted."""

    names: Sequence[str]
    pattern: str
    counted: Sequence[str]


def installed(folder: Path, names: Sequence[str]) -> Path:
    """The packages below a folder, without what they depend on."""
    for name in names:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder / name), name]
        subprocess.run(command, check=True)
    return folder


def rows(models: Path, packages: Packages, judged: Callable[[Path], Row | None]) -> Iterator[Row]:
    """A row per file; files that are refused for a reason that is counted in one row per folder and reason."""
    for folder in sorted(x for x in models.iterdir() if x.is_dir()):
        counted: dict[str, int] = {}
        for path in sorted(folder.rglob(packages.pattern)):
            row = judged(path)
            if row is None:
                continue
            if any(x in row.result for x in packages.counted) and not row.finding:
                counted[row.result] = counted.get(row.result, 0) + 1
                continue
            parts = path.relative_to(models).parts
            yield row._replace(file="/".join([parts[0], *parts[-2:]]))
        yield from (Row(f"{folder.name}: {count} files", "", result) for result, count in counted.items())


def table(text: str | None, peer: str, packages: Packages, judged: Callable[[Path], Row | None]) -> int:
    """Print the table; 1 if there are findings or no files, else 0.  `text` is shown by --help."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, help="folder with a folder per package; they are installed by default")
    given = parser.parse_args()
    warnings.simplefilter("ignore", fj.FlexjointWarning)
    count = findings = 0
    with tempfile.TemporaryDirectory() as folder:
        print(f"| file | joints | torque, mass matrix, poses against {peer} |\n|---|---|---|")
        for row in rows(given.models or installed(Path(folder), packages.names), packages, judged):
            print(f"| {row.file} | {row.joints} | {row.result}{' **finding**' if row.finding else ''} |", flush=True)
            count, findings = count + 1, findings + row.finding
    if not count:
        print(f"no {packages.pattern} files below {given.models or packages.names}", file=sys.stderr)
    return 1 if findings or not count else 0
