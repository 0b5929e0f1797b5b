"""What is drawn of one motion: the links, the motors as a ghost, the reference, marks and arrows, as nodes of viser.

Nodes are named by numbers, never by names from files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..plots.figures import MOTOR, REFERENCE
from ..robot import Robot
from ..spatial import rotation_rpy
from ..types import FloatArray
from .labels import label
from .link_poses import LinkPoses, quaternions
from .shapes import LINK, Bodies, shrunk

if TYPE_CHECKING:
    import viser

Colour = tuple[int, int, int]
AXIS, COM, RESIDUAL, FORCE = (60, 60, 60), (0, 158, 115), (204, 40, 60), (130, 30, 150)
GHOST, SHADOW = 0.4, 0.3  # opacity of the motors and of the reference
SHRINK = 0.004  # by which these are smaller, relative to the size of the robot
MARKS = ("axes", "frames", "centres of mass", "joint names")
BACKGROUND = 238  # grey
ARROW = 0.35  # length of the longest arrow, relative to the size of the robot


def rgb(text: str) -> Colour:
    """A colour such as #D55E00."""
    red, green, blue = (int(text[k : k + 2], 16) for k in (1, 3, 5))
    return red, green, blue


class Arm:
    """One copy of the robot's bodies.

    Args:
        scene: Of the server.
        root: Name of the node above it.
        bodies: What is drawn.
        links: Number of links.
        colour: Of all bodies; by default their own.
        opacity: None for solid bodies.
    """

    def __init__(
        self,
        scene: viser.SceneApi,
        root: str,
        bodies: Bodies,
        links: int,
        colour: Colour | None = None,
        opacity: float | None = None,
    ) -> None:
        self.root = scene.add_frame(root, show_axes=False)
        size = bodies.size
        self.frames = [
            scene.add_frame(f"{root}/{i}", show_axes=False, axes_length=0.12 * size, axes_radius=0.006 * size)
            for i in range(links)
        ]
        self.parts = []
        for k, (link, mesh) in enumerate(bodies.bodies):
            if link < 0 and opacity is not None:
                continue  # the base does not move: no ghost of it
            place = f"{root}/base{k}" if link < 0 else f"{root}/{link}/{k}"
            # a ghost is a little smaller, so that it hides inside the links while no spring is deflected
            vertices = mesh.vertices if opacity is None else shrunk(mesh, SHRINK * size)
            self.parts.append(
                scene.add_mesh_simple(
                    *(place, vertices, mesh.faces),
                    color=colour or mesh.colour or LINK,
                    opacity=opacity,
                    cast_shadow=opacity is None,
                    receive_shadow=opacity is None,
                    side="front" if opacity is not None else "double",
                )
            )

    def show(self, position: FloatArray, wxyz: FloatArray) -> None:
        """Move the links to poses, (links, 3) and (links, 4)."""
        for frame, p, w in zip(self.frames, position, wxyz):
            frame.position, frame.wxyz = p, w


class RunScene:
    """The nodes of one motion.

    Args:
        server: The viser server.
        number: Of the motion, from 0.
        robot: The robot.
        bodies: What is drawn of it.
        offset: Position of its base, (3,), m.
        title: Written above the base, for several motions side by side; "" for none.
    """

    def __init__(
        self, server: viser.ViserServer, number: int, robot: Robot, bodies: Bodies, offset: FloatArray, title: str = ""
    ) -> None:
        self.robot, self.size, self.offset = robot, bodies.size, np.asarray(offset, dtype=float)
        scene, root, count = server.scene, f"/run{number}", len(robot.links)
        lengths: dict[str, Any] = {"axes_length": 0.2 * bodies.size, "axes_radius": 0.008 * bodies.size}
        self.root = scene.add_frame(root, show_axes=False, **lengths)
        self.root.position = self.offset
        self.links = Arm(scene, f"{root}/links", bodies, count)
        self.motors = Arm(scene, f"{root}/motors", bodies, count, rgb(MOTOR), GHOST)
        self.reference = Arm(scene, f"{root}/reference", bodies, count, rgb(REFERENCE), SHADOW)
        self.marks = {name: self._marks(scene, f"{root}/links", name) for name in MARKS}
        self.arrows = {
            name: self._add_arrows(scene, f"{root}/arrows{k}", np.array([[[0.0, 0, 0], [0, 0, 1e-3]]]), colour)
            for k, (name, colour) in enumerate((("residual", RESIDUAL), ("force", FORCE)))
        }
        if title:
            at = (0.0, 0.0, -0.08 * bodies.size)
            scene.add_label(f"{root}/title", label(title), position=at, anchor="top-center")
        for name in MARKS:
            self.set_mark(name, False)

    def _marks(self, scene: viser.SceneApi, root: str, name: str) -> list[Any]:
        """Nodes of one kind of mark, in the frames of the links."""
        robot, size = self.robot, self.size
        found: list[Any] = []
        heaviest = max((link.mass for link in robot.links), default=0.0) or 1.0
        for i, link in enumerate(robot.links):
            place, joint = f"{root}/{i}/{MARKS.index(name)}mark", link.joint
            if name == "axes" and joint.moves:
                ends = np.array([[-0.1 * size * joint.axis, 0.1 * size * joint.axis]])
                found.append(self._add_arrows(scene, place, ends, AXIS, 0.4))
            elif name == "frames":
                found.append(self.links.frames[i])
            elif name == "centres of mass" and link.mass:
                radius = 0.035 * size * (link.mass / heaviest) ** (1 / 3)
                found.append(scene.add_icosphere(place, radius, COM, position=link.com, cast_shadow=False))
            elif name == "joint names" and joint.moves:
                found.append(scene.add_label(place, label(joint.name), position=0.11 * size * joint.axis))
        return found

    def _add_arrows(
        self, scene: viser.SceneApi, place: str, points: FloatArray, colour: Colour, width: float = 1.0
    ) -> Any:
        widths = {"shaft_radius": 0.011, "head_radius": 0.026, "head_length": 0.06}
        thick: dict[str, Any] = {name: width * x * self.size for name, x in widths.items()}
        return scene.add_arrows(place, points, colour, **thick)

    def set_mark(self, name: str, shown: bool) -> None:
        """Show or hide a kind of mark."""
        for node in self.marks[name]:
            if name == "frames":
                node.show_axes = shown
            else:
                node.visible = shown
        if name == "frames":
            self.root.show_axes = shown

    def move_base(self, pose: FloatArray | None) -> None:
        """Move the base to x, y, z, roll, pitch, yaw, (6,); None for a base at rest."""
        if pose is not None:
            self.root.position = self.offset + pose[:3]
            self.root.wxyz = quaternions(rotation_rpy(*(float(x) for x in pose[3:])))

    def show_arrows(self, name: str, points: Sequence[FloatArray] | FloatArray) -> None:
        """Draw arrows from point to point, (arrows, 2, 3), m; those too short to see are left out."""
        node, given = self.arrows[name], np.asarray(points, dtype=float).reshape(-1, 2, 3)
        long = given[np.linalg.norm(given[:, 1] - given[:, 0], axis=-1) > 0.01 * self.size]
        node.visible = bool(len(long))
        if len(long):
            node.points = long.astype(np.float32)

    def residual_arrows(self, poses: LinkPoses, residual: FloatArray, largest: float) -> FloatArray:
        """Arrows along the joint axes as long as the residuals (n,), (joints, 2, 3); `largest` has the full length."""
        found = []
        for joint in self.robot.moving_joints:
            if not joint.follows:
                start = poses.position[joint.link]
                length = ARROW * self.size * residual[joint.coordinate] / (largest or 1.0)
                found.append([start, start + length * (poses.rotation[joint.link] @ joint.joint.axis)])
        return np.array(found).reshape(-1, 2, 3)

    def force_arrow(self, poses: LinkPoses, link: str | None, force: FloatArray, largest: float) -> FloatArray:
        """The arrow of a force (3,) that ends at a link's origin, (2, 3); `largest` has the full length."""
        end = poses.position[self.robot.link_index(link)]
        return np.array([end - ARROW * self.size * np.asarray(force) / (largest or 1.0), end])


def draw_floor(server: viser.ViserServer, width: float, size: float, height: float) -> Any:
    """A floor with a grid of 1, 2 or 5 times a power of ten, on grey, so that white robots stand out."""
    server.scene.set_background_image(np.full((2, 2, 3), BACKGROUND, dtype=np.uint8))
    cell = 10.0 ** np.floor(np.log10(size / 2))
    cell *= next(x for x in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0) if size / (x * cell) <= 12)
    return server.scene.add_grid(
        *("/floor", 5 * size + width, 5 * size + width),
        cell_size=float(cell),
        section_size=float(5 * cell),
        position=(0.0, 0.0, height),
        cell_color=(215, 215, 215),
        section_color=(170, 170, 170),
        fade_distance=float(6 * size + 2 * width),
        shadow_opacity=0.15,
    )
