"""The Viewer: a robot in the browser, posed by hand or along recorded motions."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import finite, positive
from ..errors import InputError, listed, quoted
from ..formats import Geometry
from ..robot import Robot
from ..types import FloatArray
from .camera import place_camera
from .controls import Controls, Panel
from .frames import MotionFrames, frames_of
from .labels import label
from .link_poses import all_link_poses
from .motion import Motion
from .motor_positions import undeflected_links
from .playback import Playback
from .recording import check_page_path, record_page
from .scene import MARKS, RunScene
from .server import HOST, start_server, stop_server
from .shapes import robot_bodies
from .statics import Statics, configuration

FRAME = 1 / 30  # s between two pictures
GRACE = 3.0  # s after which a page that is gone counts as closed
SWITCHES = ("motors", "reference", "base", "arrows", *MARKS)


class Viewer:
    """A robot in the browser; `view` makes it.  Every control of the page calls one of these methods.

    Attributes:
        robot: The robot.
        motions: What is played, a `Motion` each; empty for a robot that is posed by hand.
        url: Address of the page.
        missing: What could not be drawn, and notes about the motions, a sentence each.
    """

    def __init__(
        self,
        robot: Robot,
        motions: Sequence[Motion],
        *,
        geometry: Mapping[str, Sequence[Geometry]],
        bodies: str,
        q: FloatArray,
        magnify: float,
        speed: float,
        stiffness: Any,
        radians: bool,
        host: str,
        port: int | None,
        panel: Panel | None = None,
    ) -> None:
        self.robot, self.motions = robot, list(motions)
        self._lock, self._stopped = threading.RLock(), threading.Event()
        self._magnify, self._load, self._q = magnify, 0.0, q
        self._shown = dict.fromkeys(SWITCHES, False) | {"motors": True, "base": True, "arrows": True}
        self._statics = Statics(robot, stiffness)
        drawn = robot_bodies(robot, geometry, bodies)
        self.missing = (*drawn.missing, *(f"{x.title}: {note}" for x in self.motions for note in x.notes))
        self._frames = [MotionFrames(motion, magnify) for motion in self.motions]
        self._playback = Playback([x.t for x in self.motions], speed) if self.motions else None
        self._posing = not self.motions
        self._server = start_server(host, port)
        try:
            self._draw(drawn, q)
            self._controls = Controls(self, self._server, radians, panel)
            self.refresh()
        except BaseException:
            stop_server(self._server)
            raise
        self._seen = 0.0  # when a page was last open
        threading.Thread(target=self._run, daemon=True).start()

    def __repr__(self) -> str:
        what = f"{len(self.motions)} motions" if self.motions else "posed by hand"
        return f"<Viewer of {label(self.robot.name)}, {what}, {self.url}>"

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Address of the page, on this machine alone."""
        return f"http://{HOST}:{self._server.get_port()}"

    # What is shown ------------------------------------------------------------------------------------------------

    @property
    def q(self) -> FloatArray:
        """Positions of the links that are shown, (n,), of the first motion."""
        if self._posing or self._playback is None:
            return self._q.copy()
        return self.motions[0].q[self._playback.sample(0)].copy()

    @property
    def theta(self) -> FloatArray | None:
        """Positions of the motors that are shown, (motors,); None where they are not known."""
        if self._posing or self._playback is None:
            return self._statics.theta(self._q, self._load)
        theta = self.motions[0].theta
        return None if theta is None else theta[self._playback.sample(0)].copy()

    def deflections(self) -> tuple[FloatArray, FloatArray] | None:
        """Positions of the links that are shown, and undeflected minus actual ones, (runs, n) each; None if unknown."""
        if self._posing or self._playback is None:
            theta = self._statics.theta(self._q, self._load)
            if theta is None:
                return None
            return self._q[None], (undeflected_links(self.robot, theta) - self._q)[None]
        rows = [self._playback.sample(k) for k in range(len(self.motions))]
        found = [motion.deflection for motion in self.motions]
        if any(x is None for x in found):
            return None
        q = np.array([motion.q[k] for motion, k in zip(self.motions, rows)])
        return q, np.array([x[k] for x, k in zip(found, rows) if x is not None])

    def replace_motions(self, motions: Sequence[Motion], old: bool = False) -> None:
        """Show other motions of the same robot, as many as before, at the same time.

        Args:
            motions: What to show, a `Motion` each.
            old: Whether the curves are marked as old, because something newer could not be shown; default False.
        """
        if len(motions) != len(self.motions) or any(x.robot.n != self.robot.n for x in motions):
            raise InputError(f"replace_motions: give {len(self.motions)} motions of a robot with {self.robot.n} joints")
        with self._lock:
            playback = self._require_motion("replace_motions")
            if self.stopped:
                return
            if not old:
                self.motions = list(motions)
                self._frames = [MotionFrames(motion, self._magnify) for motion in self.motions]
                playback.replace([x.t for x in self.motions])
            self._controls.show_motion(old)
            self.refresh()

    def pose(self, q: ArrayLike, load: float | None = None) -> None:
        """Show a configuration; the motors hold it at rest under gravity and the load.

        Args:
            q: Positions of the links, (n,), rad or m.
            load: Force on the tool along gravity, N; by default as before.
        """
        at = configuration(self.robot, q)
        force = self._load if load is None else float(finite("pose", "load", load))
        with self._lock:
            if self._playback is not None:
                self._playback.playing = False
            self._q, self._load, self._posing = at, force, True
            self.refresh()

    def seek(self, t: float) -> None:
        """Show the motions at a time, s, and stop there."""
        with self._lock:
            playback = self._require_motion("seek")
            playback.playing = False
            playback.seek(float(finite("seek", "t", t)))
            self._posing = False
            self.refresh()

    def play(self, speed: float | None = None) -> None:
        """Play the motions from the time shown, again and again.

        Args:
            speed: Relative to real time; by default as before.
        """
        with self._lock:
            playback = self._require_motion("play")
            if speed is not None:
                playback.speed = positive("play", "speed", speed)
            self._posing, playback.playing = False, True
            self._controls.refresh()

    def pause(self) -> None:
        """Stop at the time shown."""
        with self._lock:
            if self._playback is not None:
                self._playback.playing = False
            self._controls.refresh()

    @property
    def playing(self) -> bool:
        """Whether the motions are played."""
        return self._playback is not None and self._playback.playing

    @property
    def t(self) -> float:
        """The time shown, s; 0 without a motion."""
        return 0.0 if self._playback is None else self._playback.t

    @property
    def playback(self) -> Playback | None:
        """The clock; None without a motion."""
        return self._playback

    @property
    def statics(self) -> Statics:
        """What holds the robot still while it is posed by hand."""
        return self._statics

    @property
    def load(self) -> float:
        """Force on the tool along gravity while the robot is posed by hand, N."""
        return self._load

    @property
    def magnify(self) -> float:
        """Factor of the deflection: the motors are drawn at q + magnify (θ − q)."""
        return self._magnify

    @magnify.setter
    def magnify(self, factor: float) -> None:
        with self._lock:
            self._magnify = positive("view", "magnify", factor)
            for frames in self._frames:
                frames.set_magnify(self._magnify)
            self.refresh()

    def switch(self, name: str, shown: bool = True) -> None:
        """Show or hide motors, reference, base, arrows, axes, frames, centres of mass or joint names."""
        if name not in SWITCHES:
            raise InputError(f"switch: there is no {quoted(name)!r}; there are {listed(SWITCHES)}")
        with self._lock:
            self._shown[name] = bool(shown)
            if name in MARKS:
                for scene in self._scenes:
                    scene.set_mark(name, bool(shown))
            self.refresh()

    def shown(self, name: str) -> bool:
        """Whether something is switched on, see `switch`."""
        return self._shown[name]

    # Life ---------------------------------------------------------------------------------------------------------

    def write_html(self, path: str | os.PathLike[str], frames: float = 25.0) -> None:
        """Write a self-contained page of what is shown, which needs no server and no network.

        Args:
            path: .html file.
            frames: Per second of a motion; default 25.
        """
        place = check_page_path(path)
        with self._lock:
            record_page(self, self._server, place, positive("write_html", "frames", frames))

    def wait(self, duration: float | None = None, until_closed: bool = False) -> None:
        """Wait until the viewer is stopped.

        Args:
            duration: At most so long, s; by default without end.
            until_closed: Return when the last page has been closed; default False.
        """
        end = None if duration is None else time.monotonic() + positive("wait", "duration", duration)
        while not self._stopped.wait(0.1 if end is None else min(0.1, max(0.0, end - time.monotonic()))):
            if end is not None and time.monotonic() >= end:
                return
            if until_closed and self._seen and time.monotonic() - self._seen > GRACE:
                return

    def stop(self) -> None:
        """End the server; the page then shows that it is gone."""
        with self._lock:  # no picture is being drawn
            if not self._stopped.is_set():
                self._stopped.set()
                stop_server(self._server)

    @property
    def stopped(self) -> bool:
        """Whether the server has ended."""
        return self._stopped.is_set()

    # Inside -------------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Draw what is to be shown now."""
        with self._lock:
            if not self.stopped:
                self._draw_now()

    def _draw_now(self) -> None:
        with self._server.atomic():
            for k, scene in enumerate(self._scenes):
                if self._posing or self._playback is None:
                    self._show_pose(scene)
                else:
                    self._show_sample(scene, self._frames[k], self._playback.sample(k))
            self._floor.visible = self._shown["base"]
            self._controls.refresh()

    def _show_pose(self, scene: RunScene) -> None:
        theta = self._statics.theta(self._q, self._load)
        ghost = None if theta is None else self._q + self._magnify * (undeflected_links(self.robot, theta) - self._q)
        both = frames_of(self.robot, np.stack([self._q, self._q if ghost is None else ghost]))
        for arm, position, wxyz in zip((scene.links, scene.motors), *both):
            arm.show(position, wxyz)
        scene.motors.root.visible = self._shown["motors"] and ghost is not None
        scene.reference.root.visible = False
        arrows = []
        if self._load and self._shown["arrows"]:
            force, greatest = self._statics.wrench(self._load)[:3], self._statics.greatest_load
            arrows.append(scene.force_arrow(all_link_poses(self.robot, self._q), None, force, greatest))
        scene.show_arrows("force", arrows)
        scene.show_arrows("residual", [])

    def _show_sample(self, scene: RunScene, frames: MotionFrames, k: int) -> None:
        motion = frames.motion
        ghosts = (scene.motors, frames.motors, "motors"), (scene.reference, frames.reference, "reference")
        scene.links.show(frames.links.position[k], frames.links.wxyz[k])
        for arm, found, name in ghosts:
            arm.root.visible = found is not None and self._shown[name]
            if found is not None and self._shown[name]:
                arm.show(found.position[k], found.wxyz[k])
        scene.move_base(None if motion.base is None else motion.base[k])
        forces = [(link, wrench[k]) for link, wrench in motion.wrenches.items()]
        if motion.contact is not None and motion.exceeds(k):
            forces.append((self.robot.tool, motion.contact[k]))
        along: Any = []
        turned: Any = []
        if self._shown["arrows"] and (forces or motion.residual is not None):
            poses = all_link_poses(self.robot, motion.q[k])
            along = [scene.force_arrow(poses, link, wrench[:3], frames.largest_force) for link, wrench in forces]
            if motion.residual is not None:
                turned = scene.residual_arrows(poses, np.nan_to_num(motion.residual[k]), frames.largest_residual)
        scene.show_arrows("force", along)
        scene.show_arrows("residual", turned)

    def _draw(self, drawn: Any, q: FloatArray) -> None:
        """Make all nodes, and place the camera."""
        count, size = max(1, len(self.motions)), drawn.size
        apart = 1.6 * size
        self._scenes = [
            RunScene(
                *(self._server, k, self.robot, drawn, np.array([0.0, apart * (k - (count - 1) / 2), 0.0])),
                title=self.motions[k].title if count > 1 else "",
            )
            for k in range(count)
        ]
        width = apart * (count - 1)
        configurations = np.concatenate([q[None], *(motion.q for motion in self.motions)])
        points = frames_of(self.robot, configurations).position.reshape(-1, 3)
        self._floor = place_camera(self._server, points, width, size)

    def _run(self) -> None:
        """Advance the clock until the viewer stops."""
        last = time.monotonic()
        while not self._stopped.wait(FRAME):
            now = time.monotonic()
            try:
                if self._server.get_clients():
                    self._seen = now
                if self.playing and self._playback is not None:
                    with self._lock:
                        self._playback.advance(min(now - last, 0.5))
                        self.refresh()
            except Exception:
                if self._stopped.is_set():
                    return
                raise
            last = now

    def _require_motion(self, what: str) -> Playback:
        if self._playback is None:
            raise InputError(f"{what}: there is no motion; give one to view, or use pose(q)")
        return self._playback
