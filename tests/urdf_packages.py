"""Every URDF with inertias in three packages of models: read and compared with Pinocchio, or refused with a reason.

    python tests/urdf_packages.py                  # installs the packages into a temporary folder
    python tests/urdf_packages.py --models FOLDER  # that holds example-robot-data, frax and pybullet already

Prints the table of docs/urdf.md.  Fails if a file ends in an error that is not ours, or if the torque, the mass matrix
or a pose of a link differs from Pinocchio's by more than 1e-12 of the largest value.  Fails also if a robot that is
written as URDF and drive file does not come back bit-identical, or if the torque of the robot that `from_pinocchio`
makes of Pinocchio's model, or of ours, differs by more than that.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import pinocchio as pin

import flexjoint as fj
from flexjoint.formats import UrdfRobot, from_pinocchio, parse_urdf, to_pinocchio, write_urdf
from support.errors import relative_error
from support.evaluate import evaluate
from support.model_packages import Packages, Row, table
from support.urdf_models import compare

PACKAGES = Packages(("example-robot-data", "frax", "pybullet"), "*.urdf", ("nothing moves",))
TOLERANCE = 1e-12


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
    try:
        lost = lost_in_exchange(found, text)
    except fj.FlexjointError as error:
        lost = str(error)
    if lost:
        return Row(name, str(found.robot.n), lost, True)
    numbers = ", ".join(f"{x:.0e}" for x in errors)
    return Row(name, str(found.robot.n), f"{numbers}; {note}", not errors.worst < TOLERANCE)


def lost_in_exchange(found: UrdfRobot, text: str) -> str:
    """What goes wrong between URDF, drive file and Pinocchio; "" if nothing does."""
    robot = found.robot
    links = {link.name for link in robot.links} | {found.root}
    geometry = {name: x for name, x in found.geometry.items() if name in links}
    with tempfile.TemporaryDirectory() as folder:
        urdf, drives = f"{folder}/x.urdf", f"{folder}/x.drives.toml"
        lost = write_urdf(robot, urdf, drives, root=found.root, geometry=geometry)
        back = fj.load(urdf, drives=drives)
    if lost or back != robot:
        return f"written as URDF: not the same robot, {lost}"
    plain = robot.without_drives().without_friction()
    joined = to_pinocchio(plain, mimic=False)
    models = [pin.buildModelFromXML(text), joined] if not robot.followers else [joined]
    rates = np.random.default_rng(robot.n).normal(size=(3, len(robot.moving_joints)))
    free = plain.replace(links=[x if x.joint.mimic is None else without_mimic(x) for x in plain.links])
    expected = dict(zip([x.name for x in free.joints], evaluate(fj.inverse_dynamics, free, *rates)))
    for model in models:
        other = from_pinocchio(model).without_drives().without_friction()
        order = [[x.name for x in free.joints].index(x.name) for x in other.joints if x.name in expected]
        if len(order) != other.n:  # joints that our reader has left out
            continue
        tau = evaluate(fj.inverse_dynamics, other, *rates[:, order]).ravel()
        error = relative_error(tau, np.ravel([expected[x.name] for x in other.joints]))
        if not error < TOLERANCE:
            return f"from_pinocchio: torque differs by {error:.0e}"
    return ""


def without_mimic(link: fj.Link) -> fj.Link:
    return dataclasses.replace(link, joint=dataclasses.replace(link.joint, mimic=None))


if __name__ == "__main__":
    sys.exit(table(__doc__, "Pinocchio", PACKAGES, judged))
