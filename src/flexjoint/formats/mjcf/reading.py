"""MJCF files as robots, through MuJoCo's own compiler.

Links are MuJoCo's bodies with their names and frames, q is its qpos, and the world is the base.  Everything that
carries dynamics and is not used is in the report.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...checks import is_number
from ...errors import InputError, quoted, shown, warn
from ...numerics import product
from ...robot import Limits, Robot
from ...robot.model import unused
from ...types import FloatArray
from ..loading import GEOMETRY, READERS, REPORTS
from ..report import Finding, Note, notes, summary
from ..toml import path_text, read_bytes
from ..tree.assembly import (
    COULOMB_VELOCITY,
    assembled,
    by_link,
    has_coulomb_friction,
    link_names,
    moving_names,
    with_tool,
)
from ..tree.choice import Locked, Tree, chosen_tree, followers_locked, locked_values
from ..tree.records import Geometry, JointData, LinkData
from ..urdf.packages import Packages
from ..urdf.reading import load_urdf
from ..xml import parse_xml
from .actuation import Disabled, actuated, disabled, note_actuators, note_tendons
from .bodies import links_and_joints, rotation, world_rotation
from .compiled import Compiled, compiled
from .constraints import check_constraints, with_followers
from .geometry import geometry_of
from .report import note_unused
from .source import WHAT, read_source

WORLD = "world"  # MuJoCo's name of what does not move


class MjcfRobot(NamedTuple):
    """A robot from an MJCF file, with the report and the geometry of the file.

    Attributes:
        robot: the `Robot`.
        report: `Finding`s in the order of the file: unused entries that affect dynamics, entries that are probably
            wrong, and chosen defaults.
        geometry: geoms with their poses in the body frames, by body.
        root: name of the body that is the base.
        names: names of the links in the robot, by those of bodies in the file.
    """

    robot: Robot
    report: tuple[Finding, ...]
    geometry: dict[str, tuple[Geometry, ...]]
    root: str
    names: dict[str, str]


def read_mjcf(
    path: str | os.PathLike[str],
    *,
    locked: Locked = None,
    root: str | None = None,
    tip: str | None = None,
    tool: str | None = None,
    coulomb_velocity: float = COULOMB_VELOCITY,
) -> MjcfRobot:
    """The robot in an MJCF file, with a report of what was not used.

    Args:
        path: path of the file, `x.xml` or `x.mjcf`; files that it includes are read too.
        locked: joints that do not move: positions by name, in rad or m, or names, for 0.  Default none.
        root: name of the body that is the base, held in the pose of the file.  Default the world.
        tip: name of a body; only the chain from the root to it, with bodies fixed to the chain, is read.  Default all.
        tool: name of the tool, a body or a site.  Default `tip`, or the last body.
        coulomb_velocity: v_c of the friction F tanh(v/v_c), which MJCF does not give, in rad/s or m/s.  Default 0.01.

    Returns:
        MjcfRobot(robot, report, geometry, root, names).

    Raises:
        RobotError: MuJoCo is not installed, the file is wrong, or has what is not modelled; the message names the line.
        InputError: an option names a body or joint that does not exist.

    Example:
        >>> import flexjoint as fj
        >>> text = '''<mujoco model="pendulum"><worldbody><body name="arm">
        ...   <joint name="hinge" axis="0 1 0" armature="0.1"/>
        ...   <inertial pos="0.3 0 0" mass="2" diaginertia="0.01 0.02 0.02"/></body></worldbody></mujoco>'''
        >>> _ = open("pendulum.xml", "w").write(text)
        >>> fj.formats.read_mjcf("pendulum.xml").robot
        Robot('pendulum', R, 1 rigid, 1 link, tool 'arm')
    """
    place = path_text(path, WHAT)
    data = read_bytes(place, WHAT, limit="xml_bytes")
    return parse_mjcf(*(data, place), locked=locked, root=root, tip=tip, tool=tool, coulomb_velocity=coulomb_velocity)


@READERS.register(".xml")
@READERS.register(".mjcf")
def load_mjcf(
    path: str,
    *,
    locked: Locked = None,
    root: str | None = None,
    tip: str | None = None,
    tool: str | None = None,
    packages: Packages = None,
) -> Robot:
    """The robot in an MJCF file, or in a URDF that is named .xml; warns once if entries are not used."""
    if parse_xml(read_bytes(path, WHAT, limit="xml_bytes"), quoted(path), "MJCF").tag == "robot":
        return load_urdf(path, locked=locked, root=root, tip=tip, tool=tool, packages=packages)
    if packages is not None:
        raise InputError(f"{quoted(path)}: packages is an option of URDF files; leave it out")
    found = read_mjcf(path, locked=locked, root=root, tip=tip, tool=tool)
    REPORTS[found.robot], GEOMETRY[found.robot] = found.report, by_link(found.geometry, found.names)
    if message := summary(quoted(path), found.report):
        warn(message)
    return found.robot


def parse_mjcf(
    data: bytes,
    place: str,
    *,
    locked: Locked = None,
    root: str | None = None,
    tip: str | None = None,
    tool: str | None = None,
    coulomb_velocity: float = COULOMB_VELOCITY,
) -> MjcfRobot:
    """The robot described by the contents of an MJCF file; see `read_mjcf`."""
    if not is_number(coulomb_velocity) or not 0 < coulomb_velocity < np.inf:
        raise InputError(f"coulomb_velocity is {shown(coulomb_velocity)}: give a positive number, in rad/s or m/s")
    source = read_source(data, place)
    label = source.place
    report, note = notes(label)
    found = compiled(source, note)
    off = disabled(found.model)
    links, joints = links_and_joints(found)
    links, joints = with_site(found, links, joints, tool)
    held: dict[str, float] = {}
    if not off.equality:
        joints, held = with_followers(found, joints, note)
    fixed_at = followers_locked(joints, {**held, **locked_values(locked, joints, label)})
    tree = chosen_tree(links, list(joints.values()), fixed_at, root, tip, label, note)
    moving = moving_names(tree, fixed_at)
    if not off.equality:
        check_constraints(found, tree, moving, note)
    for i, x in enumerate(tree.joints):
        if x.name in moving:
            tree.joints[i] = actuated(found, x, off, note)
    name = source.top.attributes.get("model") or Path(place).stem or "robot"
    robot = assembled(name, tree, links, fixed_at, gravity(found, tree, off, note), coulomb_velocity, label, note)
    robot = with_tool(robot, tool or tip or last_moving(robot), tree, label)
    if has_coulomb_friction(robot):
        reason = f"dry friction acts as F tanh(v/{coulomb_velocity:g}): MJCF has no velocity scale"
        note(source.top, "<joint frictionloss>", reason, "chosen")
    note_flags(found, off, note)
    note_actuators(found, note)
    note_tendons(found, note)
    note_unused(source.top, note)
    report.sort(key=lambda x: (x.file, x.line))
    geometry = geometry_of(found, {tree.root, *(x.child for x in tree.joints)})
    return MjcfRobot(robot, tuple(report), geometry, tree.root, link_names(tree, lambda *_: None, links))


def with_site(
    found: Compiled, links: Mapping[str, LinkData], joints: Mapping[str, JointData], tool: str | None
) -> tuple[dict[str, LinkData], dict[str, JointData]]:
    """Links and joints with a frame for the tool if it is a site."""
    model = found.model
    sites = {model.site(i).name: i for i in range(model.nsite)}
    if tool in links or tool not in sites or not tool:
        return dict(links), dict(joints)
    i = sites[tool]
    body = found.names["body"][model.site_bodyid[i]]
    element = links[body].element
    link = LinkData(tool, element, 0.0, np.zeros(3), np.zeros((3, 3)))
    pose = (np.array(model.site_pos[i]), rotation(model.site_quat[i]), np.array([0.0, 0.0, 1.0]))
    joint = JointData(unused(f"{tool}_site", joints), element, "fixed", body, tool, *pose, Limits(), 0.0, 0.0)
    return {**links, tool: link}, {**joints, joint.name: joint}


def last_moving(robot: Robot) -> str:
    """The last link that moves: bodies fixed to the world may stand behind it in the file."""
    moving: set[int] = set()
    for i, (link, parent) in enumerate(zip(robot.links, robot.parents)):
        if link.joint.moves or parent in moving:
            moving.add(i)
    return robot.links[max(moving)].name


def gravity(found: Compiled, tree: Tree, off: Disabled, note: Note) -> FloatArray:
    """Gravity in the frame of the root, in the pose of the file."""
    if off.gravity:
        return np.zeros(3)
    g = np.array(found.model.opt.gravity)
    R = world_rotation(found, tree.root) if tree.root in found.names["body"] else np.eye(3)
    turned = product(R.T, g)
    if np.any(turned != g):
        numbers = " ".join(f"{x:.4g}" for x in turned)
        reason = f"gravity is {numbers} m/s² in the frame of '{tree.root}', in the pose of the file"
        note(found.source.top, "<option gravity>", reason, "chosen")
    return turned


def note_flags(found: Compiled, off: Disabled, note: Note) -> None:
    """Report what the options of MuJoCo switch off: it is off here too."""
    names = [name for name, value in off._asdict().items() if value]
    for element in found.source.top.walk():
        if element.tag == "flag":
            for name in names:
                note(element, f"<flag {name}>", "switched off, here too", "chosen")
            names = []
