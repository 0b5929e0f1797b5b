"""An experiment: a robot under a controller, with numbers that may change from run to run without another kernel.

Stiffness, damping, payload, gains, noise and a push are inputs of the kernel of the run.  They change the robot; the
controller and the residual keep the model they were made with, as real ones would.
"""

from __future__ import annotations

import copy
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..checks import finite, positive, whole
from ..control.base import Controller, JointState
from ..errors import FlexjointError, FlexjointWarning, InputError
from ..formats import DriveFile
from ..observers import JointTorqueResidual
from ..robot import Robot, a_robot, numeric
from ..simulation.equilibrium import resting
from ..simulation.push import Push
from ..simulation.result import Simulation
from ..simulation.sensors import Sensors
from ..simulation.simulate import simulate
from ..trajectory.base import Trajectory
from ..trajectory.files import load_stiffness, load_trajectory
from ..trajectory.motion_and_stiffness import MotionAndStiffness
from ..types import FloatArray
from ..viewer.labels import label
from ..viewer.statics import configuration
from .adjustable import Adjustable
from .controllers import built_in, first_numbers, made, preferred, registered, unsuited
from .detection import WATCH, Detection, first_detection
from .figures import write_figures
from .motions import AMPLITUDE, MOTIONS, goal_of, motion_text
from .plant import changed_robot, free_parameters, plant_of
from .script import write_script
from .settings import (
    LONGEST,
    Setting,
    drive_settings,
    gain_settings,
    middle_stiffness,
    stiffness_setting,
    surrounding_settings,
)
from .stability import StabilityLimits, enough_substeps, limits_of, stable_numbers, stable_range_of

CUTOFF = 50.0  # rad/s, of the residual
MOST_PERIODS = 50_000  # of a run
NOISES = ("link_noise", "motor_noise", "velocity_noise", "torque_noise")


class Task(NamedTuple):
    """The arguments of `simulate`."""

    robot: Robot
    controller: Controller
    reference: Any
    duration: float
    options: Mapping[str, Any]


class Experiment(Adjustable):
    """A robot, a controller and a motion, with `settings` that `set` changes and `run` simulates.

    Args:
        robot: Any robot with a link; the model of controller and residual.
        controller: Name of a registered controller that suits the robot; by default one that does.
        motion: "rest to rest", "sinusoid" or "filtered step"; or a file or text that `load_trajectory` reads.
        numbers: Of the controller, one each for all joints: its gains, or a pole; by default sizes that suit the robot.
        stiffness: That joints with two motors shall have, Nm/rad or N/m; by default between their limits.
        q: Where a named motion begins, (n,), rad or m; by default 0, or the middle of limits that exclude it.
        period: Of the controller, s; default 1e-3.
        substeps: Of the integrator per period; by default enough for the stiffest setting, at most 16.
        seed: Of the noise; default 0.

    Attributes:
        result: The last run that ended well; None before the first.
        notes: What is not possible with this robot, a sentence each.

    Raises:
        InputError: An argument is wrong, or the controller does not suit the robot.

    Example:
        >>> import flexjoint as fj
        >>> experiment = fj.studio.Experiment(fj.load("hua_3r"), "motor_pd")
        >>> experiment.set("payload", 0.5)
        >>> experiment.set("*.drive.stiffness", 80.0)
        >>> experiment.run()
        <Simulation of hua_3r under MotorPD: 2001 samples, 2 s>
    """

    def __init__(
        self,
        robot: Robot,
        controller: str | None = None,
        motion: str = MOTIONS[0],
        *,
        numbers: Sequence[float] | None = None,
        stiffness: float | None = None,
        q: ArrayLike | None = None,
        period: float = 1e-3,
        substeps: int | None = None,
        seed: int = 0,
    ) -> None:
        self.robot = numeric("Experiment", a_robot("Experiment", robot))
        self.model = robot.without_gear_losses() if any(robot.gear_losses) else robot
        self.period, self.seed = positive("Experiment", "period", period), whole("Experiment", "seed", seed)
        self.q = configuration(robot, q)
        self.result: Simulation | None = None
        self._rest: tuple[FloatArray, JointState] | None = None
        self.push_direction = (0.0, 0.0, -1.0)
        self.notes: list[str] = []
        self.plant = plant_of(robot)
        self._sigma = self._first_stiffness(stiffness)
        given = [*drive_settings(self.model, self.q, self._sigma), *surrounding_settings(self.model, self.q)]
        self._fixed = {x.name: x for x in given}
        self._values: dict[str, float] = {x.name: x.value for x in given}
        self.controllers = unsuited(self.model, self.q, self.period)
        self.settings: dict[str, Setting] = {}
        self.substeps = 1 if substeps is None else whole("Experiment", "substeps", substeps, least=1)
        self._choose(preferred(self.robot, self.controllers) if controller is None else controller, motion, numbers)
        if substeps is None:
            self.substeps = enough_substeps(self)
        if numbers is None:
            self._scale_numbers()

    def __repr__(self) -> str:
        what = f"{label(self.robot.name)} under {self.controller_name}"
        return f"<Experiment with {what}: {len(self.settings)} settings>"

    def copy(self) -> Experiment:
        """Another experiment with the same choices, numbers and result."""
        found = copy.copy(self)
        found._values, found.notes = dict(self._values), list(self.notes)
        return found

    # Choices ----------------------------------------------------------------------------------------------------------

    def choose_controller(self, name: str, numbers: Sequence[float] | None = None) -> None:
        """Take another controller; the next run makes its kernel.

        Args:
            name: A registered name, see `controllers`, which says "" for those that suit the robot.
            numbers: Its gains or pole; by default sizes that suit the robot.
        """
        self._choose(name, self.motion, numbers)
        if numbers is None:
            self._scale_numbers()

    def choose_motion(self, motion: str) -> None:
        """Take another motion: a name, a file or a text, as for the class."""
        self._choose(self.controller_name, motion, self.numbers)

    def _choose(self, name: str, motion: str, numbers: Sequence[float] | None) -> None:
        registered(name)
        if reason := self.controllers.get(name, ""):
            raise InputError(reason)
        given = first_numbers(name, self.model, self.q) if numbers is None else [float(x) for x in numbers]
        law = made(name, self.model, given, self.period)
        built = built_in(name, self.model, given, self.period)
        settings = dict(self._fixed)
        if motion in MOTIONS:
            settings["amplitude"] = Setting("amplitude", "amplitude", "°", "motion", 1.0, 90.0, AMPLITUDE)
            settings["duration"] = Setting("duration", "duration", "s", "motion", 0.2, LONGEST, 2.0)
        if law.width > self.robot.n:  # it follows a stiffness too
            settings["stiffness"] = stiffness_setting(self.robot, self._sigma)
        settings |= {x.name: x for x in gain_settings(self.robot, registered(name), given, built)}
        values = {x.name: self._values.get(x.name, x.value) for x in settings.values()}
        values |= {x.name: x.value for x in settings.values() if x.group == "control"}
        before = self.__dict__.copy()
        self.controller_name, self.motion, self._first = name, motion, given
        self.settings, self._values = settings, values
        try:
            self.reference()
        except FlexjointError:
            self.__dict__.update(before)
            raise

    def _scale_numbers(self) -> None:
        """Scale the initial numbers of the controller until the loop is stable, if it is not."""
        found = stable_numbers(self)
        if found is None:
            self.notes.append(f"{self.controller_name} is unstable with every number tried: see the limits")
        elif found != self.numbers:
            self._choose(self.controller_name, self.motion, found)

    # Numbers ----------------------------------------------------------------------------------------------------------

    def set_push_direction(self, direction: ArrayLike) -> None:
        """Change the direction of the push, a vector (3,) other than 0 in base coordinates."""
        given = finite("set_push_direction", "direction", direction)
        size = float(np.linalg.norm(given)) if given.shape == (3,) else 0.0
        if not size > 0:
            raise InputError("set_push_direction: direction must be three numbers that are not all 0")
        self.push_direction = tuple((given / size).tolist())

    @property
    def numbers(self) -> list[float]:
        """The numbers of the controller, in the order of its registration."""
        return self.numbers_with(self._values)

    def numbers_with(self, values: Mapping[str, float]) -> list[float]:
        """The numbers of the controller for given values of the settings."""
        names = [x.name for x in registered(self.controller_name).numbers]
        return [values.get(name, first) for name, first in zip(names, self._first)]

    @property
    def free(self) -> dict[str, Any]:
        """The parameters of the plant that are inputs of its kernel, by path or pattern."""
        return free_parameters(self.plant, self._values)

    @property
    def push(self) -> Push:
        """The push on the tool."""
        force = [self["push.force"] * x for x in self.push_direction]
        return Push(self.plant.tool, force, self["push.time"], self["push.duration"])  # type: ignore[arg-type]

    @property
    def controller(self) -> Controller:
        """The controller with its numbers; its model is the robot as it was given."""
        return made(self.controller_name, self.model, self.numbers, self.period)

    @cached_property
    def residual(self) -> JointTorqueResidual | None:
        """The residual of the links; None, and a note, if the robot cannot have one."""
        try:
            return JointTorqueResidual(self.model, CUTOFF, CUTOFF, period=self.period)
        except FlexjointError as error:
            self.notes.append(f"no residual: {error}")
            return None

    @property
    def motion_source(self) -> str:
        """The motion as a file or text that `load_trajectory` reads."""
        if self.motion not in MOTIONS:
            return self.motion
        amplitude = math.radians(self["amplitude"])
        return motion_text(self.motion, self.model, self.q, amplitude, self["duration"])

    def reference(self) -> Trajectory:
        """What the controller follows."""
        motion = load_trajectory(self.motion_source, self.model)
        if "stiffness" not in self.settings:
            return motion
        return MotionAndStiffness(motion, load_stiffness(self["stiffness"], self.model, motion.duration))

    # Runs -------------------------------------------------------------------------------------------------------------

    def task(self) -> Task:
        """The arguments of `simulate` for the settings as they are."""
        reference = self.reference()
        duration = min(reference.duration if self.motion not in MOTIONS else self["duration"], LONGEST)
        if duration / self.period > MOST_PERIODS:
            raise InputError(
                f"a run of {duration:g} s has {duration / self.period:.3g} periods; at most {MOST_PERIODS} are run"
            )
        options: dict[str, Any] = {"period": self.period, "substeps": self.substeps, "free": self.free}
        options |= {"contact": self.push, "sensors": Sensors(), "noise": {name: self[name] for name in NOISES}}
        options |= {"observers": {WATCH: self.residual}} if self.residual else {}
        return Task(self.plant, self.controller, reference, duration, {**options, "seed": self.seed, "check": False})

    def run(self) -> Simulation:
        """Simulate with the settings as they are; `result` keeps the run if it ends well.

        Raises:
            InputError: The settings do not fit together.
            NonFiniteError: The controller or the residual was not finite.
        """
        task = self.task()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FlexjointWarning)
            found = simulate(*task[:4], **task.options, start=self._start(task))
        if not found.diverged:
            self.result = found
        return found

    def _start(self, task: Task) -> JointState:
        """Default start of a run, at rest; cached, because it takes long for joints with two motors."""
        first = np.asarray(task.reference(np.zeros(()), 0))[0]
        if self._rest is None or not np.array_equal(self._rest[0], first):
            self._rest = first, resting(self.plant, task.controller, first)
        return self._rest[1]

    def detection(self, run: Simulation | None = None) -> Detection | None:
        """The first time a residual exceeds the threshold; None if none does.

        Args:
            run: A run of this experiment; by default the last one that ended well.
        """
        chosen = self.result if run is None else run
        return None if chosen is None else first_detection(chosen, self["threshold"])

    # Stability --------------------------------------------------------------------------------------------------------

    def limits(self) -> StabilityLimits:
        """Limits of the settings as they are, at rest at the beginning of the reference."""
        return limits_of(self)

    def stable_range(self, name: str) -> tuple[float, float]:
        """Stable interval of a setting within its range, other settings unchanged; NaN if the loop is unstable now.

        Args:
            name: Of a setting of the groups robot and control; or a pattern: then relative to the `scale` of each.
        """
        return stable_range_of(self, self._known(name), relative=name not in self.settings)

    # Files ------------------------------------------------------------------------------------------------------------

    def changed_robot(self, payload: bool = True) -> Robot:
        """The robot with stiffness, damping and payload as they are set.

        Args:
            payload: Whether it holds the payload; default True.
        """
        return changed_robot(self.robot, self._values, payload)

    def write_drives(self, path: str | os.PathLike[str]) -> None:
        """Write a drive file with stiffness and damping as they are set, for `load(robot, drives=path)`.

        Args:
            path: x.drives.toml; an existing file is replaced.
        """
        DriveFile.new(self.changed_robot(payload=False)).write(path)

    def write_script(self, path: str | os.PathLike[str]) -> None:
        """Write Python that repeats the run with the settings as they are, bit for bit, without other files.

        Args:
            path: x.py; an existing file is replaced.
        """
        write_script(self, path)

    def write_figures(self, folder: str | os.PathLike[str], stem: str = "studio") -> list[Path]:
        """Write figures of the last run that ended well: the motion, and the residual with its threshold.

        Args:
            folder: An existing folder.
            stem: How the names of the files begin; default "studio".

        Returns:
            The files, .png.
        """
        return write_figures(self, folder, stem)

    # Inside -----------------------------------------------------------------------------------------------------------

    def _first_stiffness(self, given: float | None) -> FloatArray:
        """Stiffness of the joints with two motors, (n,); 0 at others."""
        if not any(self.robot.variable_stiffness):
            if given is not None:
                raise InputError("Experiment: stiffness belongs to robots with two motors per joint")
            return np.zeros(self.robot.n)
        if given is not None:
            return np.where(self.robot.variable_stiffness, positive("Experiment", "stiffness", given), 0.0)
        goal = goal_of(self.model, self.q, math.radians(AMPLITUDE))
        return middle_stiffness(self.model, np.linspace(self.q, goal, 9))
