"""What a simpler model of the rotors costs along a motion: torques of four or five models beside each other.

    no rotors   rigid joints; the rotors are part of the links that carry them and do not turn by themselves
    armature    the same, and B q'' at each joint: what rigid-body libraries have
    geared      rigid joints in the complete model, M + S + Sᵀ + B; only of robots with springs
    Spong       the joints as they are; of rotors B alone, the links without their axial inertia  [Spong]
    complete    the joints as they are, all couplings  [Hoepler (2)-(5)], [Hua (30)]: what the others are compared with

Friction of joints and motors is the same in all of them.  The complete model with springs needs a smooth motion, and
refuses some robots (docs/rotors.md); then all joints are compared as rigid ones, which needs accelerations alone, and
`notes` says why.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import finite, positive, whole
from ..drives import Motor
from ..dynamics.inverse import inverse_dynamics, needed_order
from ..dynamics.recursion.bodies import bodies
from ..dynamics.requirements import constant_stiffness, require
from ..errors import InputError
from ..robot import Robot
from ..spatial import ca
from ..trajectory import Trajectory, require_smoothness
from .torque_table import MAX_SAMPLES, difference

REFERENCE = "complete"
SPEEDS = (0.5, 0.7, 1.0, 1.4, 2.0)
SAMPLES = 1001
TOLERANCE = 0.01


@dataclass(frozen=True, eq=False)
class RotorComparison:
    """Torques of each model along a motion, (m, n), and how their errors grow with its speed.

    `torques` has the models from the simplest to the complete one.  `growth` has the largest error of each joint at
    each of `speeds`, multiples of the motion's own, and `peaks` the largest torque of the complete model, both (s, n).
    """

    robot: Robot
    t: np.ndarray
    torques: dict[str, np.ndarray]
    speeds: np.ndarray
    growth: dict[str, np.ndarray]
    peaks: np.ndarray
    tolerance: float = TOLERANCE
    notes: tuple[str, ...] = ()

    @property
    def simpler(self) -> list[str]:
        """The models but the complete one."""
        return list(self.growth)

    @property
    def errors(self) -> dict[str, np.ndarray]:
        """Torque of each simpler model less that of the complete one, (m, n)."""
        return {model: difference(self.torques[model], self.torques[REFERENCE]) for model in self.simpler}

    @property
    def largest(self) -> dict[str, np.ndarray]:
        """The largest error of each joint, (n,)."""
        return dict(zip(self.simpler, largest_of(list(self.errors.values()))))

    @property
    def peak(self) -> np.ndarray:
        """The largest torque of each joint in the complete model, (n,)."""
        return largest_of([self.torques[REFERENCE]])[0]

    @property
    def relative(self) -> dict[str, np.ndarray]:
        """The largest error of each joint, of its peak torque."""
        return {model: share(x, self.peak) for model, x in self.largest.items()}

    def exponents(self, model: str) -> np.ndarray:
        """p of each joint where its error grows with the speed as speedᵖ; NaN where there is none."""
        error = self.growth[model]
        there = np.all(error > 0, axis=0)
        powers = np.polyfit(np.log(self.speeds), np.log(np.where(there, error, 1.0)), 1)[0]
        return np.where(there, powers, np.nan)

    @property
    def verdict(self) -> str:
        """The simplest model that is good enough, in one line."""
        names = [joint.name for joint in self.robot.joints]
        worst = {model: (float(x.max()), names[int(x.argmax())]) for model, x in self.relative.items()}
        enough = next((model for model in self.simpler if worst[model][0] <= self.tolerance), None)
        if enough is None:
            best = min(self.simpler, key=lambda model: worst[model][0])
            return (
                f"{self.robot.name}: use the complete model; the best simpler one, '{best}', errs by up to "
                f"{percent(worst[best][0])} of the peak torque at joint '{worst[best][1]}' "
                f"({percent(self.tolerance)} allowed)"
            )
        fast = self.speeds.argmax()
        at_speed = float(share(self.growth[enough][fast], self.peaks[fast]).max())
        return (
            f"{self.robot.name}: '{enough}' is enough; it errs by up to {percent(worst[enough][0])} of the peak torque "
            f"at joint '{worst[enough][1]}' ({percent(self.tolerance)} allowed), and by {percent(at_speed)} at "
            f"{self.speeds[fast]:g} times the speed"
        )


def compare_rotor_models(
    robot: Robot,
    trajectory: Trajectory,
    *,
    speeds: Sequence[float] = SPEEDS,
    samples: int = SAMPLES,
    tolerance: float = TOLERANCE,
    gear_ratio: float | None = None,
) -> RotorComparison:
    """What no rotors, an armature or Spong's model in place of the complete one cost along a motion.

    `speeds` are those of further copies of the motion, as multiples of its own; `tolerance` is the part of the peak
    torque by which a model that is good enough may err.  `gear_ratio` is assumed for motors known by their reflected
    inertia alone.
    """
    name = "compare_rotor_models"
    factors, samples = checked_speeds(speeds), whole(name, "samples", samples, least=2, largest=MAX_SAMPLES)
    tolerance = positive(name, "tolerance", tolerance, ", such as 0.01")
    compared, notes = comparable(complete(robot, gear_ratio), trajectory)
    models = rotor_models(compared)
    order = max(map(needed_order, models.values()))
    t = np.linspace(0.0, trajectory.duration, samples)

    def torques(speed: float) -> dict[str, np.ndarray]:
        stack = trajectory.scaled(1 / speed)(t / speed, order)
        return {name: inverse_dynamics(model, *stack) for name, model in models.items()}

    found = [torques(speed) for speed in factors]
    simpler = [name for name in models if name != REFERENCE]
    growth = {name: largest_of([difference(x[name], x[REFERENCE]) for x in found]) for name in simpler}
    peaks = largest_of([x[REFERENCE] for x in found])
    return RotorComparison(compared, t, torques(1.0), factors, growth, peaks, tolerance, notes)


# The models -------------------------------------------------------------------------------------------------------


def rotor_models(robot: Robot) -> dict[str, Robot]:
    """The robot in each model, from the simplest to the complete one."""
    rigid = rotors_lumped(robot.rigid())
    models = {
        "no rotors": with_motors(rigid, inertia=0.0, gear_ratio=None),
        "armature": with_motors(rigid, gear_ratio=None),
    }
    if any(robot.compliant):
        models["geared"] = robot.rigid()
    return {**models, "Spong": robot.with_fidelity("spong"), REFERENCE: robot}


def rotors_lumped(robot: Robot) -> Robot:
    """Links that contain the whole rotors they carry, as one who knows of no rotors would have weighed them."""
    links = []
    for link, body in zip(robot.links, bodies(robot)):
        m, h, Sigma = (np.array(ca.DM(x)) for x in body.inertia)
        if m.item():
            com = h / m
            central = Sigma - m * com @ com.T
            link = dataclasses.replace(
                link, mass=m.item(), com=com[:, 0], inertia=np.trace(central) * np.eye(3) - central
            )
        links.append(link)
    return robot.replace(links=links, rotors_in_links=True, fidelity="spong", allow_unphysical=True)


def with_motors(robot: Robot, **changes: Any) -> Robot:
    """The robot with these fields of all its motors changed."""

    def changed(motor: Motor) -> Motor:
        return dataclasses.replace(motor, **changes)

    drives: list[Any] = [joint.drive for joint in robot.joints]
    return robot.with_drives([x and dataclasses.replace(x, motor=changed(x.motor)) for x in drives])


def complete(robot: Robot, gear_ratio: float | None = None) -> Robot:
    """The robot in the complete model, `gear_ratio` standing in where a motor has none."""
    require("compare_rotor_models", robot, constant_stiffness("robot.rigid() or springs that are not variable"))
    drives: list[Any] = [joint.drive for joint in robot.joints]
    if not any(drive and drive.motor.inertia for drive in drives):
        raise InputError(f"compare_rotor_models: no motor of {robot.name} has an inertia: there is nothing to compare")
    for i, drive in enumerate(drives):
        if drive and drive.motor.inertia and drive.motor.gear_ratio is None:
            if gear_ratio is None:
                raise InputError(
                    f"compare_rotor_models: the motor of joint '{robot.joints[i].name}' is known by its reflected "
                    "inertia alone; give its gear ratio in the robot file, or one to assume for all such motors, "
                    "gear_ratio="
                )
            drives[i] = dataclasses.replace(drive, motor=dataclasses.replace(drive.motor, gear_ratio=gear_ratio))
    return robot.with_drives(drives).with_fidelity("complete")


def comparable(robot: Robot, trajectory: Trajectory) -> tuple[Robot, tuple[str, ...]]:
    """The robot, or where the complete model cannot follow this motion with springs, with rigid joints, and why."""
    try:
        require_smoothness(trajectory, robot=robot)
        inverse_dynamics(robot, *trajectory(0.0, needed_order(robot)))  # refuses what springs it cannot have
        return robot, ()
    except InputError as reason:
        if not any(robot.compliant):
            raise
        stiff = robot.rigid()
        require_smoothness(trajectory, robot=stiff)
        return stiff, (f"all joints are compared as rigid ones: {reason}",)


# Numbers ----------------------------------------------------------------------------------------------------------


def checked_speeds(speeds: Sequence[float]) -> np.ndarray:
    found = finite("compare_rotor_models", "speeds", speeds)
    if found.ndim != 1 or len(set(found.tolist())) < 2 or not np.all(found > 0):
        raise InputError(f"compare_rotor_models: speeds are {list(speeds)}; give two or more positive numbers")
    return found


def largest_of(curves: Sequence[np.ndarray]) -> np.ndarray:
    """The largest absolute value of each joint in each of the curves, (s, n) from s times (m, n)."""
    return np.abs(np.array(curves)).max(axis=1)


def share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """part/whole, zero where both are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(part > 0, part / whole, 0.0)


def percent(x: float) -> str:
    """Two digits, or all that stand before the point."""
    return "<0.01 %" if 0 < x < 1e-4 else f"{100 * x:.2g} %" if x < 0.995 else f"{100 * x:.0f} %"
