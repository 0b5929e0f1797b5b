"""Comparison of rotor models: motor torques of four or five models along the same trajectory.

    no rotors   rigid joints; each rotor is part of the link that carries it and does not spin
    armature    the same plus the reflected inertia B q'' per joint, as in rigid-body libraries
    geared      rigid joints in the complete model, M + S + Sᵀ + B; only for robots with springs
    Spong       the joints as they are; rotors only by B, links without the axial rotor inertia  [Spong]
    complete    the joints as they are, all couplings  [Hoepler (2)-(5)], [Hua (30)]; the reference

Friction of joints and motors is the same in all models.  With springs the complete model needs a smooth trajectory, and
it refuses some robots (docs/rotors.md).  Then all joints are compared as rigid, which needs accelerations only, and
`notes` has the reason.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import finite, positive, whole
from ..drives import Motor
from ..dynamics.along import inverse_dynamics_along
from ..dynamics.inverse import inverse_dynamics, needed_order
from ..dynamics.recursion.bodies import bodies, inertia_on, link_frames
from ..dynamics.requirements import constant_stiffness, require
from ..errors import InputError
from ..html import table
from ..robot import Joint, Robot
from ..spatial import ca
from ..trajectory import Trajectory, require_smoothness
from ..types import FloatArray
from .torque_table import MAX_SAMPLES, difference

REFERENCE = "complete"
SPEEDS = (0.5, 0.7, 1.0, 1.4, 2.0)
SAMPLES = 1001
TOLERANCE = 0.01


@dataclass(frozen=True, eq=False, repr=False)
class RotorComparison:
    """Motor torques of each rotor model along a trajectory, and growth of their errors with speed.

    Args:
        robot: The robot in the complete model.
        t: Times of the m samples, (m,), s.
        torques: Motor torques (m, n) by model, from the simplest to the complete one, Nm or N.
        speeds: The s speed factors of the trajectory, (s,).
        growth: Largest error per speed and joint, (s, n), by model, Nm or N.
        peaks: Largest torque of the complete model per speed and joint, (s, n), Nm or N.
        tolerance: Largest error of a sufficient model, relative to the peak torque.
        notes: Remarks, such as why all joints are compared as rigid.
    """

    robot: Robot
    t: FloatArray
    torques: dict[str, FloatArray]
    speeds: FloatArray
    growth: dict[str, FloatArray]
    peaks: FloatArray
    tolerance: float = TOLERANCE
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<RotorComparison {self.verdict}>"

    def _repr_html_(self) -> str:
        relative = self.relative
        rows = [
            [joint.name, f"{self.peak[i]:.4g}", *(percent(float(relative[model][i])) for model in self.simpler)]
            for i, joint in enumerate(self.robot.joints)
        ]
        return table(rows, ["joint", "peak torque, Nm or N", *self.simpler], caption=self.verdict)

    @property
    def simpler(self) -> list[str]:
        """Names of all models except the complete one."""
        return list(self.growth)

    @property
    def errors(self) -> dict[str, FloatArray]:
        """Torque of each simpler model minus that of the complete one, (m, n), Nm or N."""
        return {model: difference(self.torques[model], self.torques[REFERENCE]) for model in self.simpler}

    @property
    def largest(self) -> dict[str, FloatArray]:
        """Largest absolute error per joint, (n,), by model, Nm or N."""
        return dict(zip(self.simpler, largest_of(list(self.errors.values()))))

    @property
    def peak(self) -> FloatArray:
        """Largest absolute torque per joint in the complete model, (n,), Nm or N."""
        return largest_of([self.torques[REFERENCE]])[0]

    @property
    def relative(self) -> dict[str, FloatArray]:
        """Largest error per joint as a share of its peak torque, (n,), by model."""
        return {model: share(x, self.peak) for model, x in self.largest.items()}

    def exponents(self, model: str) -> FloatArray:
        """Exponent p per joint with which the error grows as speedᵖ, (n,); NaN where there is no error."""
        error = self.growth[model]
        there = np.all(error > 0, axis=0)
        powers = np.polyfit(np.log(self.speeds), np.log(np.where(there, error, 1.0)), 1)[0]
        return np.where(there, powers, np.nan)

    @property
    def verdict(self) -> str:
        """The simplest sufficient model, in one line."""
        names = [joint.name for joint in self.robot.joints]
        worst = {model: (float(x.max()), names[int(x.argmax())]) for model, x in self.relative.items()}
        enough = next((model for model in self.simpler if worst[model][0] <= self.tolerance), None)
        if enough is None:
            best = min(self.simpler, key=lambda model: worst[model][0])
            return (
                f"{self.robot.name}: use the complete model; the best simpler model, '{best}', errs by up to "
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
    """Errors of simpler rotor models (no rotors, armature, Spong) against the complete one along a trajectory.

    Args:
        robot: A robot whose motors have an inertia; one motor per joint.
        trajectory: Motion of the links.
        speeds: Factors by which the trajectory is also run faster or slower, at least two; default 0.5 to 2.
        samples: Along the trajectory; default 1001.
        tolerance: Largest error of a sufficient model, relative to the peak torque; default 0.01.
        gear_ratio: Assumed for motors of which only the reflected inertia is known; by default none.

    Returns:
        A RotorComparison; its `verdict` names the simplest sufficient model.

    Raises:
        InputError: No motor has an inertia, a gear ratio is missing, or an option is out of range.

    Example:
        >>> import flexjoint as fj
        >>> motion = fj.trajectory.RestToRest([0.0] * 3, [0.8] * 3, 1.0)
        >>> fj.analysis.compare_rotor_models(fj.load("hua_3r"), motion).simpler
        ['no rotors', 'armature', 'geared', 'Spong']
    """
    name = "compare_rotor_models"
    factors, samples = checked_speeds(speeds), whole(name, "samples", samples, least=2, largest=MAX_SAMPLES)
    tolerance = positive(name, "tolerance", tolerance, ", such as 0.01")
    compared, notes = comparable(complete(robot, gear_ratio), trajectory)
    models = rotor_models(compared)
    t = np.linspace(0.0, trajectory.duration, samples)

    def torques(speed: float) -> dict[str, FloatArray]:
        return {name: torques_along(model, trajectory.scaled(1 / speed), t / speed) for name, model in models.items()}

    found = [torques(speed) for speed in factors]
    simpler = [name for name in models if name != REFERENCE]
    growth = {name: largest_of([difference(x[name], x[REFERENCE]) for x in found]) for name in simpler}
    peaks = largest_of([x[REFERENCE] for x in found])
    return RotorComparison(compared, t, torques(1.0), factors, growth, peaks, tolerance, notes)


# The models -------------------------------------------------------------------------------------------------------


def rotor_models(robot: Robot) -> dict[str, Robot]:
    """The robot in each model by name, from the simplest to the complete one."""
    rigid = rotors_lumped(robot.rigid())
    models = {
        "no rotors": with_motors(rigid, inertia=0.0, gear_ratio=None),
        "armature": with_motors(rigid, gear_ratio=None),
    }
    if any(robot.compliant):
        models["geared"] = robot.rigid()
    return {**models, "Spong": robot.with_fidelity("spong"), REFERENCE: robot}


def rotors_lumped(robot: Robot) -> Robot:
    """The robot with each rotor as a rigid part of the link that carries it."""
    links = []
    for link, body, frame in zip(robot.links, bodies(robot), link_frames(robot)):
        m, h, Sigma = (np.array(ca.DM(x)) for x in inertia_on(frame._replace(R=frame.R.T), body.inertia))
        if m.item():
            com = h / m
            central = Sigma - m * com @ com.T
            link = dataclasses.replace(
                link, mass=m.item(), com=com[:, 0], inertia=np.trace(central) * np.eye(3) - central
            )
        links.append(link)
    return robot.replace(links=links, rotors_in_links=True, fidelity="spong", allow_unphysical=True)


def with_motors(robot: Robot, **changes: Any) -> Robot:
    """The robot with the given fields of all motors replaced."""

    def changed(motor: Motor) -> Motor:
        return dataclasses.replace(motor, **changes)

    def driven(joint: Joint) -> Joint:
        drive: Any = joint.drive
        return dataclasses.replace(joint, drive=drive and dataclasses.replace(drive, motor=changed(drive.motor)))

    return robot.replace(links=[dataclasses.replace(link, joint=driven(link.joint)) for link in robot.links])


def complete(robot: Robot, gear_ratio: float | None = None) -> Robot:
    """The robot in the complete model, with `gear_ratio` for motors that have none."""
    require("compare_rotor_models", robot, constant_stiffness("robot.rigid() or springs that are not variable"))
    links = list(robot.links)
    if not any(link.joint.drive and link.joint.drive.motors[0].inertia for link in links):
        raise InputError(f"compare_rotor_models: no motor of {robot.name} has an inertia; there is nothing to compare")
    for i, link in enumerate(links):
        drive: Any = link.joint.drive
        if drive and drive.motor.inertia and drive.motor.gear_ratio is None:
            if gear_ratio is None:
                raise InputError(
                    f"compare_rotor_models: the motor of joint '{link.joint.name}' has a reflected inertia but no gear "
                    "ratio; give the gear ratio in the robot file, or one for all such motors, gear_ratio="
                )
            drive = dataclasses.replace(drive, motor=dataclasses.replace(drive.motor, gear_ratio=gear_ratio))
            links[i] = dataclasses.replace(link, joint=dataclasses.replace(link.joint, drive=drive))
    return robot.replace(links=links, fidelity="complete")


def torques_along(robot: Robot, trajectory: Trajectory, t: FloatArray) -> FloatArray:
    """Motor torques (times, n) along a trajectory; damped springs start from rest equilibrium."""
    if any(robot.damped):
        return inverse_dynamics_along(robot, trajectory, t).tau
    return inverse_dynamics(robot, *trajectory(t, needed_order(robot)))


def comparable(robot: Robot, trajectory: Trajectory) -> tuple[Robot, tuple[str, ...]]:
    """The robot and no note; with rigid joints and the reason if springs do not allow the complete model."""
    try:
        require_smoothness(trajectory, robot=robot)
        torques_along(robot, trajectory, np.zeros(1))  # raises InputError for such springs
        return robot, ()
    except InputError as reason:
        if not any(robot.compliant):
            raise
        stiff = robot.rigid()
        require_smoothness(trajectory, robot=stiff)
        return stiff, (f"all joints are compared as rigid: {reason}",)


# Numbers ----------------------------------------------------------------------------------------------------------


def checked_speeds(speeds: Sequence[float]) -> FloatArray:
    """The speed factors as an array; raises InputError unless they are two or more positive numbers."""
    found = finite("compare_rotor_models", "speeds", speeds)
    if found.ndim != 1 or len(set(found.tolist())) < 2 or not np.all(found > 0):
        raise InputError(f"compare_rotor_models: speeds are {list(speeds)}; give two or more positive numbers")
    return found


def largest_of(curves: Sequence[FloatArray]) -> FloatArray:
    """Largest absolute value per curve and joint, (s, n), of s curves (m, n)."""
    return np.abs(np.array(curves)).max(axis=1)


def share(part: FloatArray, whole: FloatArray) -> FloatArray:
    """part/whole, 0 where part is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(part > 0, part / whole, 0.0)


def percent(x: float) -> str:
    """The share as a percentage with two significant digits."""
    return "<0.01 %" if 0 < x < 1e-4 else f"{100 * x:.2g} %" if x < 0.995 else f"{100 * x:.0f} %"
