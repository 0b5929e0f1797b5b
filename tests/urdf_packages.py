"""Every URDF with inertias in three packages of models: read and compared with Pinocchio, or refused with a reason.

    python tests/urdf_packages.py                  # installs the packages into a temporary folder
    python tests/urdf_packages.py --models FOLDER  # that holds example-robot-data, frax and pybullet already

Prints the table of docs/urdf.md.  Fails if a file ends in an error that is not ours, or if the torque, the mass matrix
or a pose of a link differs from Pinocchio's by more than 1e-12 of the largest value.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import flexjoint as fj
from flexjoint.formats import parse_urdf
from support.urdf_models import compare

PACKAGES = ("example-robot-data", "frax", "pybullet")
OBJECT = "nothing moves"  # in the reason for refusing an object: these are counted
TOLERANCE = 1e-12


class Row(NamedTuple):
    """A file, what came of it, and whether that is a finding."""

    file: str
    joints: str
    result: str
    finding: bool = False


def installed(folder: Path) -> Path:
    """The packages below a folder, without what they depend on."""
    for name in PACKAGES:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder / name), name]
        subprocess.run(command, check=True)
    return folder


def judged(path: Path) -> Row | None:
    """What comes of a file; None if it has no inertias."""
    data = path.read_bytes()
    if b"<inertial" not in data:
        return None
    name = str(path)
    try:
        found = parse_urdf(data, path.name)
    except fj.FlexjointError as error:
        reason, _, _ = str(error).removeprefix(path.name).lstrip(",: ").partition(" known are: ")
        return Row(name, "", f"refused: {reason.rstrip(';')}")
    except Exception as error:
        return Row(name, "", f"{type(error).__name__}: {error}", True)
    unused = sum(x.level == "unused" for x in found.report)
    text = data.decode(errors="replace").lstrip()
    try:
        errors = compare(text, found.robot, found.root)
    except ValueError as error:
        return Row(name, str(found.robot.n), f"read; Pinocchio refuses it: {str(error).splitlines()[0]}")
    note = f"{unused} not used" if unused else "all used"
    numbers = ", ".join(f"{x:.0e}" for x in errors)
    return Row(name, str(found.robot.n), f"{numbers}; {note}", not errors.worst < TOLERANCE)


def rows(models: Path) -> Iterator[Row]:
    """A row per file with inertias; objects without moving joints in one row per package and reason."""
    for package in PACKAGES:
        objects: dict[str, int] = {}
        for path in sorted((models / package).rglob("*.urdf")):
            row = judged(path)
            if row is None:
                continue
            if OBJECT in row.result and not row.finding:
                objects[row.result] = objects.get(row.result, 0) + 1
                continue
            parts = path.relative_to(models).parts
            yield row._replace(file="/".join([parts[0], *parts[-2:]]))
        yield from (Row(f"{package}: {count} objects", "", result) for result, count in objects.items())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, help="folder of the packages; they are installed by default")
    given = parser.parse_args()
    warnings.simplefilter("ignore", fj.FlexjointWarning)
    findings = 0
    with tempfile.TemporaryDirectory() as folder:
        print("| file | joints | torque, mass matrix, poses against Pinocchio |\n|---|---|---|")
        for row in rows(given.models or installed(Path(folder))):
            print(f"| {row.file} | {row.joints} | {row.result}{' **finding**' if row.finding else ''} |", flush=True)
            findings += row.finding
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
