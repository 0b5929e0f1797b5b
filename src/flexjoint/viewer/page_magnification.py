"""Slider that magnifies deflections in a page without a server: marks in the scene, and the script that reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files as resources
from typing import TYPE_CHECKING, Any

import numpy as np

from ..robot import Robot
from ..types import FloatArray

if TYPE_CHECKING:
    import viser

    from .viewer import Viewer

MARK = 987654.0  # first coordinate of a mark, as in magnification.html
ROOT, CLOCK = -1, -2  # marks that stand for no link
PICTURE = 1e-3  # m that the clock moves from one picture to the next


@contextmanager
def marked(viewer: Viewer, server: viser.ViserServer) -> Iterator[list[Any]]:
    """Mark the ghosts of the motors while a page is recorded; yields the clocks, nodes that hold the frame number."""
    nodes, clocks = [], []
    for run in range(max(1, len(viewer.motions))):
        root = f"/run{run}/motors"
        clocks.append(server.scene.add_frame(f"{root}/clock", show_axes=False))
        places = {f"{root}/mark": ROOT, f"{root}/clock/mark": CLOCK}
        places |= {f"{root}/{link}/mark": link for link in range(len(viewer.robot.links))}
        for place, link in places.items():
            nodes.append(server.scene.add_mesh_simple(place, mark_at(run, link), np.array([[0, 1, 2]])))
    try:
        yield clocks
    finally:
        for node in (*nodes, *clocks):
            node.remove()


def mark_at(run: int, link: int) -> FloatArray:
    """An invisible triangle, without area, whose coordinates identify a run and a link."""
    return np.tile([MARK, float(run), float(link)], (3, 1))


def count_picture(clocks: list[Any], k: int) -> None:
    """Write the number k of the frame into the clocks."""
    for clock in clocks:
        clock.position = (PICTURE * k, 0.0, 0.0)


def with_slider(page: str, robot: Robot, magnify: float, q: list[FloatArray], deflection: list[FloatArray]) -> str:
    """The page with the slider.

    Args:
        page: HTML of viser.
        robot: The robot.
        magnify: The first factor.
        q: Positions of the links in all pictures, (pictures, n) per run, rad or m.
        deflection: Undeflected minus actual positions, the same.
    """
    runs = [{"q": rounded(x), "deflection": rounded(y)} for x, y in zip(q, deflection)]
    data = json.dumps({"magnify": magnify, "links": link_table(robot), "runs": runs}, separators=(",", ":"))
    template = resources("flexjoint.viewer").joinpath("magnification.html").read_text(encoding="utf-8")
    head, opening, rest = page.partition("<head>")
    return head + opening + template.replace('"DATA"', data) + rest if opening else page


def link_table(robot: Robot) -> list[dict[str, Any]]:
    """Motion of each link, for the script: its frame in its parent's (4 × 4, columns first), axis, and coordinate."""
    moving = {x.link: x for x in robot.moving_joints}
    found = []
    for i, link in enumerate(robot.links):
        frame = np.eye(4)
        frame[:3, :3], frame[:3, 3] = link.joint.rotation, link.joint.position
        parent = next((k for k, x in enumerate(robot.links) if x.name == link.parent), -1)
        entry: dict[str, Any] = {"parent": parent, "frame": rounded(frame.T.ravel(), 9), "coordinate": -1}
        if i in moving:
            joint, turn = moving[i], link.joint.kind.motion
            entry |= {"coordinate": joint.coordinate, "ratio": joint.ratio, "offset": joint.offset}
            entry |= {"axis": rounded(link.joint.axis, 9), "turn": float(turn[0]), "slide": float(turn[1])}
        found.append(entry)
    return found


def rounded(values: FloatArray, digits: int = 6) -> list[Any]:
    """Numbers for a page."""
    return np.round(values, digits).tolist()
