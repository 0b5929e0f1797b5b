"""`serve`: an experiment in the browser.  Every control of the page calls one of the methods of a Studio."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import positive
from ..errors import FlexjointError, InputError, listed, quoted
from ..formats import Geometry, file_geometry
from ..robot import Robot
from ..simulation.result import Simulation
from ..viewer.labels import label
from ..viewer.motion import Motion, motions_of
from ..viewer.server import HOST
from ..viewer.shapes import CHOICES
from ..viewer.viewer import Viewer
from .experiment import Experiment
from .files import KINDS, checked_folder, write_files
from .panel import StudioPanel
from .worker import Worker

MOST_SHOWN = 1000  # samples of a run, more are thinned: poses of 2000 samples took 50 ms longer


def serve(
    experiment: Experiment | Robot,
    *,
    folder: str | os.PathLike[str] | None = None,
    magnify: float = 10.0,
    speed: float = 1.0,
    geometry: Mapping[str, Sequence[Geometry]] | None = None,
    bodies: str = "visual",
    radians: bool = False,
    host: str = HOST,
    port: int | None = None,
) -> Studio:
    """An experiment in the browser: sliders for its settings, curves, the robot in motion, stability limits.

    The server listens on this machine alone.

    Args:
        experiment: An Experiment; or a robot, for one with its defaults.
        folder: For the files that buttons write; by default none, and there are no such buttons.
        magnify: Factor of the deflection, see `viewer.view`; default 10.
        speed: Of playback, relative to real time; default 1.
        geometry, bodies: What is drawn of the links, see `viewer.view`.
        radians: Angles in rad instead of degrees; default False.
        host: 127.0.0.1 or localhost; others are refused.
        port: By default the first free one from 8080 on; 0 for any.

    Returns:
        A running Studio; `with serve(...) as studio:` stops it at the end.

    Raises:
        InputError: viser is not installed, an argument is wrong, or the first run diverges at once.

    Example:
        >>> import flexjoint as fj
        >>> with fj.studio.serve(fj.load("kuka_lwr"), port=0) as studio:  # doctest: +SKIP
        ...     studio.set("payload", 2.0)
        ...     studio.wait()
    """
    if bodies not in CHOICES:
        raise InputError(f"serve: bodies is {quoted(bodies)!r}; it must be one of {listed(CHOICES)}")
    given = Experiment(experiment) if isinstance(experiment, Robot) else experiment
    if not isinstance(given, Experiment):
        raise InputError(f"serve: experiment is {type(given).__name__}; give a Robot or an Experiment")
    shapes = file_geometry(given.robot) if geometry is None else geometry
    options: dict[str, Any] = {"geometry": shapes, "bodies": bodies, "radians": radians, "host": host, "port": port}
    options |= {"magnify": positive("serve", "magnify", magnify), "speed": positive("serve", "speed", speed)}
    return Studio(given, None if folder is None else checked_folder(folder), options)


class Studio:
    """A running page; `serve` makes it.

    Attributes:
        experiment: What is set and run, by one thread of the studio.
        viewer: The robot, its playback and the curves.
        folder: Where files are written; None for nowhere.
        trouble: Why the curves are those of an earlier run; "" if they are not.
        answer: Time from the last change to its curves, s.
        written: Files that were written.
    """

    def __init__(self, experiment: Experiment, folder: Path | None, options: Mapping[str, Any]) -> None:
        self.experiment, self.folder = experiment, folder
        self.written: list[Path] = []
        self.trouble, self.answer, self._asked = "", 0.0, time.monotonic()
        run = experiment.run()
        motion = motion_of(experiment, run)
        self._panel = StudioPanel(self)
        more: dict[str, Any] = {"q": experiment.q, "stiffness": None, "panel": self._panel.build}
        self.viewer = Viewer(experiment.robot, [motion], **options, **more)
        self._worker = Worker(self._run, self._look, self._failed)
        self._worker.do(lambda: None)
        self._worker.start()

    def __repr__(self) -> str:
        return f"<Studio of {label(self.experiment.robot.name)}, {self.url}>"

    def __enter__(self) -> Studio:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Address of the page, on this machine alone."""
        return self.viewer.url

    # What the controls call -------------------------------------------------------------------------------------------

    def set(self, name: str, value: float | ArrayLike) -> None:
        """Change a setting, see `Experiment.set`; the curves follow."""
        self._panel.follow(name, value)
        self._do(partial(self.experiment.set, name, value))

    def set_push_direction(self, direction: ArrayLike) -> None:
        """Change the direction of the push, see `Experiment.set_push_direction`."""
        self._do(partial(self.experiment.set_push_direction, direction))

    def choose_controller(self, name: str) -> None:
        """Take another controller; its kernel is made before the curves follow."""
        self._do(partial(self.experiment.choose_controller, name), f"making the kernel of {name}")

    def choose_motion(self, motion: str) -> None:
        """Take another motion."""
        self._do(partial(self.experiment.choose_motion, motion))

    def look(self) -> None:
        """Run again, and look for the limits again."""
        self._do(lambda: None)

    def write(self, kind: str) -> None:
        """Write a "drive file", "Python script" or "figures" into the folder, under a name that is not in use."""
        if self.folder is None:
            raise InputError("write: no folder was chosen; give folder= to serve")
        if kind not in KINDS:
            raise InputError(f"write: kind is {quoted(kind)!r}; it must be one of {listed(KINDS)}")
        folder = self.folder

        def write() -> None:
            files = write_files(self.experiment, folder, kind)
            self.written += files
            self._panel.say_written([x.name for x in files])

        self._do(write)

    def settle(self, seconds: float = 60.0, limits: bool = False) -> bool:
        """Wait until the curves, and with `limits` the stability limits, show all changes; False after a timeout."""
        return self._worker.settle(seconds, limits)

    def wait(self, duration: float | None = None, until_closed: bool = False) -> None:
        """Wait until the studio is stopped, see `Viewer.wait`."""
        self.viewer.wait(duration, until_closed)

    def stop(self) -> None:
        """End the server and its threads."""
        self._worker.stop()
        self.viewer.stop()

    # Inside -----------------------------------------------------------------------------------------------------------

    def _do(self, action: Any, message: str = "") -> None:
        self._asked = time.monotonic()
        if message:
            self._panel.say(message)
        self._worker.do(action)

    def _run(self) -> None:
        """Run with the current settings and show the result; if that fails, the curves stay, marked as old."""
        begin = time.perf_counter()
        try:
            run = self.experiment.run()
        except FlexjointError as error:
            self._show_old(str(error))
            return
        seconds = time.perf_counter() - begin
        if run.diverged:
            name = label(self.experiment.robot.joints[int(run.joint)].name)
            self._show_old(f"the run diverged: joint '{name}' left all bounds at {float(run.ended):.3g} s")
            return
        self.trouble = ""
        self.viewer.replace_motions([motion_of(self.experiment, run)])
        self.answer = time.monotonic() - self._asked
        self._panel.show_run(run, seconds)

    def _show_old(self, trouble: str) -> None:
        self.trouble = trouble
        self.viewer.replace_motions(self.viewer.motions, old=True)
        self._panel.show_trouble()

    def _look(self, changed: Any) -> None:
        """Look for stability limits of the settings as they are."""
        self._panel.show_limits(self.experiment.copy(), changed)

    def _failed(self, error: Exception) -> None:
        """Show an error of a change, a run or a file; the studio continues."""
        known = isinstance(error, FlexjointError | OSError)
        self._panel.say(str(error) if known else f"{type(error).__name__}: {error}", bad=True)


def motion_of(experiment: Experiment, run: Simulation) -> Motion:
    """A run as the viewer shows it, with the push and the threshold."""
    if run.diverged and run.t.size < 3:
        raise InputError(f"{label(experiment.robot.name)}: the run diverges at once; choose other numbers")
    motion = motions_of(experiment.plant, run)[0]
    motion = motion.rows(slice(None, None, max(1, len(motion.t) // MOST_SHOWN)))
    n, push = experiment.robot.n, experiment.push
    force = np.concatenate([push.force_at(motion.t), np.zeros((len(motion.t), 3))], axis=1)
    return replace(
        motion, robot=experiment.robot, threshold=np.full(n, experiment["threshold"]), wrenches={push.link: force}
    )
