"""Every MJCF with joints in two packages of models: read and compared with MuJoCo, or refused with a reason.

    python tests/mjcf_packages.py                  # downloads the packages into a temporary folder
    python tests/mjcf_packages.py --models FOLDER  # with a folder of MJCF files per package

Prints the table of docs/mjcf.md.  Fails if a file ends in an error that is not ours, or if the torque, the mass matrix
or a pose of a body differs from MuJoCo's by more than 1e-12 of the largest value.  Free joints are locked and the file
is read again.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import mujoco

import flexjoint as fj
from flexjoint.formats import MjcfRobot, read_mjcf
from flexjoint.formats.mjcf.compiled import compiled
from flexjoint.formats.mjcf.source import read_source
from support.mjcf_models import compare
from support.model_packages import Packages, Row, table

PACKAGES = Packages(("robosuite", "genesis-world"), "*.xml", ("nothing moves", "not MJCF"))
FREE = re.compile(r"joint '([^']+)' is floating")
TOLERANCE = 1e-12


def read(path: Path) -> tuple[MjcfRobot, list[str]]:
    """The robot of a file, and the free joints that had to be locked."""
    locked: list[str] = []
    while True:
        try:
            return read_mjcf(path, locked=locked), locked
        except fj.RobotError as error:
            found = FREE.search(str(error))
            if found is None or found[1] in locked:
                raise
            locked.append(found[1])


def judged(path: Path) -> Row | None:
    """What comes of a file; None if it is no MJCF."""
    data = path.read_bytes()
    if b"<mujoco" not in data:
        return None
    name = str(path)
    try:
        found, locked = read(path)
    except fj.FlexjointError as error:
        return Row(name, "", "refused: " + str(error).removeprefix(str(path)).lstrip(",: "))
    except Exception as error:
        return Row(name, "", f"{type(error).__name__}: {error}", True)
    try:
        model, by = mujoco.MjModel.from_xml_path(name), ""
    except ValueError:
        model, by = compiled(read_source(data, name), lambda *_: None).model, "; without its missing files"
    errors = compare(model, found.robot, found.root)
    unused = sum(x.level == "unused" for x in found.report)
    note = f"{unused} not used" if unused else "all used"
    held = f"; locked: {', '.join(locked[:2])}{' ...' * (len(locked) > 2)}" if locked else ""
    numbers = ", ".join(f"{x:.0e}" for x in errors)
    return Row(name, str(found.robot.n), f"{numbers}; {note}{held}{by}", not errors.worst < TOLERANCE)


if __name__ == "__main__":
    sys.exit(table(__doc__, "MuJoCo", PACKAGES, judged))
