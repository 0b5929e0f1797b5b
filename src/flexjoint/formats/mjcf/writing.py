"""Robots as MJCF, the format of MuJoCo, with their motors and springs.

Every elastic joint has two joints in MuJoCo, the link's with the position q and the motor's with the position θ, and a
fixed tendon of length θ − q as its spring.  MuJoCo's equations of motion are then those of the robot, in the same
coordinates: docs/mjcf-export.md shows what becomes of every part, and how to read and step the model.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np
from numpy.typing import ArrayLike

from ...atomic import replacing
from ...checks import finite, is_number
from ...errors import InputError, RobotError, listed, quoted, shown, warn
from ...robot import Robot, numeric
from ...types import FloatArray
from ..loading import file_geometry
from ..toml import path_text
from ..tree.records import Geometry
from .document import IMPEDANCE, Difference as Difference, Document, check_writable, numbers, undeflected_row
from .export_bodies import write_bodies
from .export_drives import Coulomb, write_drives
from .export_geometry import write_geometry


class MujocoState(NamedTuple):
    """A state in MuJoCo as one of the robot: q, v (..., n) of the links, theta, theta_v (..., motors) of the motors."""

    q: FloatArray
    v: FloatArray
    theta: FloatArray
    theta_v: FloatArray


@dataclass(frozen=True, eq=False)
class MjcfModel:
    """A robot as MJCF.

    Attributes:
        text: contents of the XML file.
        report: a `Difference` for everything that MuJoCo does not have, or has otherwise.
        joints: names of MuJoCo's joints in the order of qpos and qvel.
        robot: the robot.

    Example:
        >>> import flexjoint as fj
        >>> model = fj.formats.mjcf_model(fj.load("hua_3r"))
        >>> model.joints
        ('joint1', 'joint2', 'joint3', 'joint3.motor')
        >>> qpos, qvel = model.to_mujoco([0.1, 0.2, 0.3], theta=[0.0, 0.0, 0.35])
        >>> qpos.tolist()
        [0.1, 0.2, 0.3, 0.35]
    """

    text: str = field(repr=False)
    report: tuple[Difference, ...]
    joints: tuple[str, ...]
    robot: Robot = field(repr=False)
    _forward: FloatArray = field(repr=False)  # qpos = _forward (q, θ) + _offset
    _offset: FloatArray = field(repr=False)
    _backward: FloatArray = field(repr=False)  # (q, θ) = _backward qpos

    def to_mujoco(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        theta: ArrayLike | None = None,
        theta_v: ArrayLike | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """qpos and qvel (..., nq) of a state.

        Args:
            q, v: position and velocity of the links, (..., n), in rad or m; v is 0 by default.
            theta, theta_v: the same of the motors, (..., motors); by default those without deflected springs.  At
                rigid joints they are ignored.

        Raises:
            InputError: an array has a wrong shape or is not finite.
        """
        n, m = self.robot.n, self.robot.motor_count
        found = []
        for (name, x), (other, y), offset in (
            (("q", q), ("theta", theta), self._offset),
            (("v", np.zeros(n) if v is None else v), ("theta_v", theta_v), 0.0),
        ):
            links = shaped("to_mujoco", name, x, n)
            motors = undeflected(self.robot, links) if y is None else shaped("to_mujoco", other, y, m)
            shape = np.broadcast_shapes(links.shape[:-1], motors.shape[:-1])
            parts = [np.broadcast_to(links, (*shape, n)), np.broadcast_to(motors, (*shape, m))]
            found.append(np.concatenate(parts, axis=-1) @ self._forward.T + offset)
        return found[0], found[1]

    def from_mujoco(self, qpos: ArrayLike, qvel: ArrayLike) -> MujocoState:
        """The state (q, v, theta, theta_v) of qpos and qvel (..., nq); at rigid joints theta is q, or T q.

        Raises:
            InputError: an array has a wrong shape or is not finite.
        """
        n, nq = self.robot.n, len(self.joints)
        x, w = (shaped("from_mujoco", *y, nq) @ self._backward.T for y in (("qpos", qpos), ("qvel", qvel)))
        return MujocoState(x[..., :n], w[..., :n], x[..., n:], w[..., n:])


def mjcf_model(
    robot: Robot,
    *,
    timestep: float = 1e-3,
    home: ArrayLike | None = None,
    limits: bool = True,
    coulomb: Coulomb = "frictionloss",
    geometry: Mapping[str, Sequence[Geometry]] | None = None,
    contacts: bool = False,
    folder: str | os.PathLike[str] | None = None,
) -> MjcfModel:
    """A robot as MJCF with motors, springs and a report of what MuJoCo cannot express.

    Args:
        robot: any robot.
        timestep: step of MuJoCo's Runge-Kutta integrator, in s; 1e-3 by default.
        home: q of the keyframe `home`, (n,); by default 0, or the nearest position within the limits.
        limits: whether limits of position and effort are written, which MuJoCo enforces; True by default.
        coulomb: what Coulomb friction becomes: "frictionloss", dry friction (default), or "none".
        geometry: bodies of the links to draw, `Geometry` by link; by default those of the file that the robot was
            loaded from, {} for none.
        contacts: whether collision geometry touches; False by default, as in `simulate`.
        folder: folder of the XML file, to which meshes below it are relative; by default paths are absolute.

    Returns:
        `MjcfModel`: the text, the report, and functions for qpos and qvel.

    Raises:
        InputError: an argument is wrong.
        RobotError: a name cannot be written in XML, or a chain has more links than MuJoCo reads.

    Example:
        >>> import flexjoint as fj
        >>> model = fj.formats.mjcf_model(fj.load("kuka_lwr"))
        >>> model.report, len(model.joints)
        ((), 14)
    """
    robot = numeric("mjcf_model", robot)
    if not is_number(timestep) or not 0 < timestep < np.inf:
        raise InputError(f"mjcf_model: timestep is {shown(timestep)}: give a positive number, in s")
    if coulomb not in ("frictionloss", "none"):
        raise InputError(f'mjcf_model: coulomb is {shown(coulomb)}: give "frictionloss" or "none"')
    check_writable(robot)
    document = Document(robot)
    write_bodies(document)
    write_drives(document, coulomb, limits)
    place = None if folder is None else path_text(folder, "folder", InputError)
    write_geometry(document, file_geometry(robot) if geometry is None else geometry, contacts, place)
    for equality in document.sections["equality"]:
        equality.set("solimp", IMPEDANCE)
        equality.set("solref", numbers([2 * timestep, 1.0]))
    names = tuple(document.order)
    size = robot.n + robot.motor_count
    forward = np.array([document.positions[name][0] for name in names]).reshape(len(names), size)
    offset = np.array([document.positions[name][1] for name in names])
    model = MjcfModel("", tuple(document.differences), names, robot, forward, offset, backward(robot, names, forward))
    at = nearest_to_zero(robot) if home is None else shaped("mjcf_model", "home", home, robot.n)
    SubElement(document.sections["keyframe"], "key", name="home", qpos=numbers(model.to_mujoco(at)[0]))
    return replace(model, text=file_text(document, timestep))


def write_mjcf(
    robot: Robot,
    path: str | os.PathLike[str],
    *,
    timestep: float = 1e-3,
    home: ArrayLike | None = None,
    limits: bool = True,
    coulomb: Coulomb = "frictionloss",
    geometry: Mapping[str, Sequence[Geometry]] | None = None,
    contacts: bool = False,
) -> MjcfModel:
    """Write a robot as MJCF for MuJoCo, with motors and springs.

    MuJoCo is not needed.  The write is atomic: after an error, an existing file is unchanged.

    Args:
        robot: any robot.
        path: path of the file, `x.xml`.
        timestep, home, limits, coulomb, geometry, contacts: as in `mjcf_model`.

    Returns:
        `MjcfModel` with the report, and functions for qpos and qvel.

    Raises:
        InputError: an argument is wrong.
        RobotError: a name cannot be written in XML, or the file cannot be written.

    Warns:
        FlexjointWarning: a part of the dynamics is missing or approximate; `report` says what, and why.

    Example:
        >>> import flexjoint as fj
        >>> fj.formats.write_mjcf(fj.load("kuka_lwr"), "lwr.xml").joints[-1]
        'joint7.motor'
    """
    place = path_text(path, "MJCF file (.xml)")
    model = mjcf_model(
        robot,
        timestep=timestep,
        home=home,
        limits=limits,
        coulomb=coulomb,
        geometry=geometry,
        contacts=contacts,
        folder=os.path.dirname(place) or ".",
    )
    if message := summary(robot, model.report):
        warn(message)
    try:
        with replacing(place) as file:
            file.write(model.text.encode())
    except OSError as error:
        raise RobotError(f"{quoted(place)}: the model cannot be written: {error.strerror}") from error
    return model


def summary(robot: Robot, report: Iterable[Difference]) -> str:
    """One line about dynamics that are missing or approximate; empty if there are none."""
    found = dict.fromkeys(f"{x.what} ({x.level})" for x in report if x.level != "noted")
    if not found:
        return ""
    return f"{robot.name}: the model for MuJoCo differs from the robot: {listed(found, most=6)}; its report says why"


# Parts of the model -------------------------------------------------------------------------------------------------


def file_text(document: Document, timestep: float) -> str:
    """The XML file."""
    root = Element("mujoco", model=document.robot.name)
    SubElement(root, "compiler", angle="radian", inertiafromgeom="false")
    gravity = numbers(document.robot.gravity)
    SubElement(root, "option", timestep=numbers([timestep]), gravity=gravity, integrator="RK4")
    root.extend(x for tag, x in document.sections.items() if len(x) or tag == "worldbody")
    indent(root)
    return tostring(root, encoding="unicode") + "\n"


def backward(robot: Robot, names: Sequence[str], forward: FloatArray) -> FloatArray:
    """(q, θ) from qpos: (n + motors, nq)."""
    n, m = robot.n, robot.motor_count
    found = np.zeros((n + m, len(names)))
    for i, joint in enumerate(robot.joints):
        found[i, names.index(joint.name)] = 1.0
    for k, i in enumerate(robot.motor_joints):
        if robot.compliant[i]:
            (place,) = np.flatnonzero(forward[:, n + k])
            found[n + k, place] = 1.0 / forward[place, n + k]
        else:
            joints, row = undeflected_row(robot, i)
            found[n + k] = np.sum([x * found[j] for j, x in zip(joints, row)], axis=0)
    return found


def undeflected(robot: Robot, q: FloatArray) -> FloatArray:
    """Positions of the motors (..., motors) while no spring is deflected; 0 of those that set a stiffness alone."""
    found = np.zeros((*q.shape[:-1], robot.motor_count))
    for k, i in enumerate(robot.motor_joints):
        if k < robot.n or getattr(robot.joints[i].drive, "follows", True):
            joints, row = undeflected_row(robot, i)
            found[..., k] = sum(x * q[..., j] for j, x in zip(joints, row))
    return found


def nearest_to_zero(robot: Robot) -> FloatArray:
    """0 per coordinate, or the nearest position within its limits."""
    return np.array([min(max(0.0, x.lower), x.upper) for x in robot.joint_limits])


def shaped(owner: str, name: str, value: ArrayLike, size: int) -> FloatArray:
    """Finite numbers of shape (..., size)."""
    found = finite(owner, name, value)
    if found.shape[-1:] != (size,):
        raise InputError(f"{owner}: {name} has shape {found.shape}; it must be (..., {size})")
    return found
