"""Cartesian motions in files.

    kind = "line"          # to (a pose), or by (x, y, z)
    kind = "arc"           # via (a point) and to; or centre, axis, angle, and orientation at the end by `to` or turning
    kind = "pose_spline"   # poses (a list); times or duration
    kind = "cartesian"     # segments: lines, arcs and {dwell = 0.5}; `blend` rounds the corner behind a segment, in m

All start at `start`, joint positions, or at `from`, a pose found by inverse kinematics.  A pose is a table
{position = [0.4, 0, 0.5], rpy_deg = [180, 0, 0]}, see `kinematics.read_pose`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...dynamics.recursion.kinematics import forward_kinematics
from ...errors import InputError
from ...file_limits import spend
from ...formats.toml import Table
from ...kinematics import Pose, read_pose
from ...robot import Joint
from ...types import FloatArray
from ..base import Trajectory
from ..joined import Joined
from ..kinds import KINDS, MotionTable, kind
from ..rest_to_rest import RestToRest
from .arc import Arc
from .blended_path import BlendedPath
from .line import Line
from .motion import CartesianMotion
from .path import CartesianPath
from .pose_spline import PoseSpline
from .task import ROWS

BLEND_SMOOTHNESS = 4  # at least, where the robot does not need more
TIMING = ("duration", "law", "speed", "acceleration", "angular_speed", "angular_acceleration", "smoothness")
FRAME = ("from", "link", "frame", "orientation", "base", "hold", "limits")
POSITIONS = ("start", "posture")
LINE = ("to", "by")
ARC = ("via", "to", "centre", "axis", "angle", "angle_deg", "turning")


@kind("line", positions=POSITIONS, others=(*LINE, *TIMING, *FRAME))
def read_line(table: MotionTable) -> Trajectory:
    """The motion along a line."""
    reader = Reader(table)
    return reader.motion(line(reader.table, reader.begin), reader.start, reader.timing())


@kind("arc", positions=POSITIONS, others=(*ARC, *TIMING, *FRAME))
def read_arc(table: MotionTable) -> Trajectory:
    """The motion along an arc."""
    reader = Reader(table)
    return reader.motion(arc(reader.table, reader.begin), reader.start, reader.timing())


@kind("pose_spline", positions=POSITIONS, others=("poses", "times", "duration", "smoothness", *FRAME))
def read_pose_spline(table: MotionTable) -> Trajectory:
    """The motion along a spline through poses; the pose of `start` comes first."""
    reader = Reader(table)
    table.only_one("times", "duration")
    times = table.array("times", "a list of times") if "times" in table.data else np.array(table.number("duration"))
    poses = [reader.begin]
    for i, one in enumerate(table.tables("poses")):
        poses.append(read_pose(Table(one, f"{table.place}, pose {i + 1}", table.error)))
    if times.ndim == 1 and len(times) == len(poses) - 1:
        times = np.concatenate([[0.0], times])  # those of the poses in the file
    return reader.motion(PoseSpline(poses, times, table.smoothness()), reader.start, {})


@kind("cartesian", positions=POSITIONS, others=("segments", *TIMING, *FRAME))
def read_segments(table: MotionTable) -> Trajectory:
    """The motion along several segments, at rest at every corner that is not rounded."""
    reader = Reader(table)
    runs = list(reader.runs())
    whole = sum(run.length for run in runs if isinstance(run, CartesianPath))
    timing = reader.timing()
    start = reader.start
    pieces: list[Trajectory] = []
    for run in runs:
        if isinstance(run, float):
            if start is None:
                raise InputError(f"{table.place}: a dwell before the first movement needs `start`, joint positions")
            pieces.append(RestToRest(start, start, run, table.smoothness()))
            continue
        share = {"duration": timing["duration"] * run.length / whole} if "duration" in timing else {}
        pieces.append(reader.motion(run, start, {**timing, **share}))
        start = pieces[-1].derivatives(np.array(pieces[-1].duration), 0)[0]
    return pieces[0] if len(pieces) == 1 else Joined(tuple(pieces))


class Reader:
    """A table of a Cartesian motion: where it starts, and what is common to all kinds."""

    def __init__(self, table: MotionTable) -> None:
        if table.joints.stiffnesses or table.joints.pose:
            raise InputError(f'{table.place}: kind = "{table.data["kind"]}" is a motion of the joints of a robot')
        self.table, self.robot = table, table.joints.robot
        posed = {key: read_pose(table.table(key)) for key in ("from", "frame", "base") if key in table.data}
        start = table.written("start")
        self.start: FloatArray | None = table.per_joint("start") if start in table.data else None
        hold = table.texts("hold", "a list of joint names") if "hold" in table.data else ()
        link = self.robot.links[self.robot.link_index(table.text("link", self.robot.tool))].name
        self.options: dict[str, Any] = {
            "link": link,
            "frame": posed.get("frame"),
            "orientation": table.choice("orientation", ROWS, "full"),
            "base": posed.get("base"),
            "hold": hold,
            "limits": table.flag("limits", True),
            "posture": table.per_joint("posture") if table.written("posture") in table.data else None,
        }
        self.begin = posed["from"] if "from" in posed else self.pose_of_start()

    def pose_of_start(self) -> Pose:
        """Where the frame is at `start`."""
        if self.start is None:
            raise InputError(
                f"{self.table.place}: give start (or start_deg), the joint positions at the start of the path, or "
                "from, its first pose"
            )
        found = forward_kinematics(self.robot, self.start, link=self.options["link"])
        pose, frame, base = Pose(found.position, found.rotation), self.options["frame"], self.options["base"]
        if frame is not None:
            pose = pose @ (frame if frame.rotation is not None else Pose(frame.position, np.eye(3)))
        return pose if base is None else base @ pose

    def timing(self) -> dict[str, Any]:
        """The keys of the time law, as arguments of CartesianMotion."""
        table = self.table
        numbers = [key for key in TIMING if key in table.data and key not in ("law", "smoothness")]
        found: dict[str, Any] = {key: table.number(key) for key in numbers}
        if "smoothness" in table.data:
            found["smoothness"] = table.smoothness()
        if "law" in table.data:
            inner = table.table("law")
            chosen = KINDS[inner.choice("kind", sorted(KINDS))]
            inner.allow(chosen.all_keys(degrees=False))
            column = replace(table.joints, joints=[Joint("share", "prismatic")], pose=True)  # type: ignore[arg-type]
            found["law"] = chosen.read(
                MotionTable(inner.data, inner.place, inner.error, joints=column, folder=table.folder)
            )
        return found

    def motion(self, path: CartesianPath, start: FloatArray | None, timing: dict[str, Any]) -> Trajectory:
        return CartesianMotion(self.robot, path, start, **timing, **self.options)

    def runs(self) -> Iterator[CartesianPath | float]:
        """Paths between two rests, and dwells, in s."""
        begin, run, deviations = self.begin, list[CartesianPath](), list[float]()
        smoothness = max(BLEND_SMOOTHNESS, self.table.joints.order - 1)
        tables = self.table.tables("segments")
        for i, one in enumerate(tables):
            table = Table(one, f"{self.table.place}, segment {i + 1}", self.table.error)
            if "dwell" in table.data:
                table.allow(("dwell",))
                yield table.number("dwell")
                continue
            is_arc = any(key in table.data for key in ARC if key != "to")
            table.allow((*(ARC if is_arc else LINE), "blend"))
            run.append((arc if is_arc else line)(table, begin))
            begin = run[-1].last_pose
            if "blend" in table.data:
                if i + 1 == len(tables) or "dwell" in tables[i + 1]:
                    raise InputError(f"{table.place}: blend rounds the corner to the next segment, but none follows")
                deviations.append(table.number("blend"))
                continue
            yield run[0] if len(run) == 1 else BlendedPath(tuple(run), tuple(deviations), smoothness)
            run, deviations = [], []


def line(table: Table, begin: Pose) -> Line:
    """The line in a table."""
    table.only_one("to", "by")
    if "by" in table.data:
        return Line(begin, Pose(begin.position + table.vector("by")))
    return Line(begin, read_pose(required(table, "to", "a pose {position = [x, y, z], ...}, or by = [x, y, z]")))


def arc(table: Table, begin: Pose) -> Arc:
    """The arc in a table: through a point, or about an axis."""
    turning = table.flag("turning", False)
    if "via" in table.data:
        for key in ("centre", "axis", "angle", "angle_deg"):
            table.only_one("via", key)
        goal = read_pose(required(table, "to", "a pose {position = [x, y, z], ...}"))
        return Arc.through(begin, table.vector("via"), goal, turning)
    if "to" in table.data:
        raise InputError(
            f"{table.place}: an arc with `to` needs via = [x, y, z], a point on it; or give centre, axis and angle"
        )
    key = "angle_deg" if "angle_deg" in table.data else "angle"
    table.number(key)  # required
    found = Arc(begin, table.vector("centre"), table.vector("axis"), table.radians("angle", 0.0), turning=turning)
    spend("turns", math.ceil(abs(found.angle) / (2 * math.pi)), table.place, "make fewer turns")
    return found


def required(table: Table, key: str, expected: str) -> Table:
    """A table inside another that must be there."""
    if key not in table.data:
        raise table.wrong(key, expected)
    return table.table(key)
