"""`view`: a robot in the browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from ..checks import positive
from ..errors import InputError, listed, quoted
from ..formats import Geometry, file_geometry
from ..robot import Robot, a_robot
from .motion import motions_of, with_wrenches
from .server import HOST
from .shapes import CHOICES
from .statics import configuration
from .viewer import Viewer


def view(
    robot: Robot,
    motion: Any = None,
    *,
    q: ArrayLike | None = None,
    magnify: float = 1.0,
    speed: float = 1.0,
    wrenches: Mapping[str, ArrayLike] | None = None,
    stiffness: Any = None,
    geometry: Mapping[str, Sequence[Geometry]] | None = None,
    bodies: str = "visual",
    radians: bool = False,
    host: str = HOST,
    port: int | None = None,
) -> Viewer:
    """A robot in the browser: links solid, motors as a ghost, sliders for the joints, playback of motions.

    Without a motion the sliders pose the robot, and the motors hold it at rest.  The server listens on this machine
    alone.

    Args:
        robot: Any robot with a link.
        motion: A run or batch of `simulate`, a log, a detection report, a trajectory, a `Motion` from `read_motion`,
            or a list of up to nine, which stand side by side; none by default.
        q: First configuration, (n,), rad or m; by default 0, or the middle of limits that exclude it.
        magnify: Factor of the deflection, the motors are drawn at q + magnify (θ − q); default 1.
        speed: Of playback, relative to real time; default 1.
        wrenches: Known forces and moments by link, (6,) or (samples, 6), base coordinates, drawn as arrows; default
            none.
        stiffness: Of joints with variable stiffness at rest, Nm/rad or N/m; default the middle of what they can have.
        geometry: Shapes and meshes by link; by default those of the robot's file, see `formats.file_geometry`.
        bodies: "visual" or "collision" geometry, or "capsules" from the joints alone; default "visual".
        radians: Sliders in rad instead of degrees; default False.
        host: 127.0.0.1 or localhost; others are refused.
        port: By default the first free one from 8080 on; 0 for any.

    Returns:
        A running Viewer; `with view(...) as viewer:` stops it at the end.

    Raises:
        InputError: viser is not installed, an argument is wrong, or the motion does not belong to the robot.

    Example:
        >>> import flexjoint as fj
        >>> with fj.viewer.view(fj.load("kuka_lwr"), port=0) as viewer:  # doctest: +SKIP
        ...     viewer.pose([0.0, 0.5, 0.0, 1.0, 0.0, 0.5, 0.0], load=50.0)
    """
    a_robot("view", robot)
    if bodies not in CHOICES:
        raise InputError(f"view: bodies is {quoted(bodies)!r}; it must be one of {listed(CHOICES)}")
    factor, pace = positive("view", "magnify", magnify), positive("view", "speed", speed)
    motions = [] if motion is None else motions_of(robot, motion)
    if wrenches:
        motions = [with_wrenches(x, wrenches) for x in motions]
    return Viewer(
        robot,
        motions,
        geometry=file_geometry(robot) if geometry is None else geometry,
        bodies=bodies,
        q=configuration(robot, q),
        magnify=factor,
        speed=pace,
        stiffness=stiffness,
        radians=radians,
        host=host,
        port=port,
    )
