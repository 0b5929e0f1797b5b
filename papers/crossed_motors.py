"""A second reproduction of [Hua sec. IV, V]: crossed motor axes, S ≠ 0 at an elastic joint; and a moving base.

The arm of Table I hides the couplings, as the link equation of its elastic joint contains no other motor.  Here joint 2
is elastic too, and motor 3 sits on link 2 with its axis tilted by 45°: the link equation of joint 2 contains
S_23 θ_3''.  The controller follows the paper's motion with these couplings and without them, in continuous time, so
that V₂ can be compared with the integral of (52).  Then the base of the paper's own arm moves as a ship does, with the
controller that knows it and the one that does not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from flexjoint import ElasticDrive, Robot, load
from flexjoint.control import MixedInverseDynamics
from flexjoint.control.laws import mixed_lyapunov
from flexjoint.dynamics.drivetrain.rotors import rotor_coupling
from flexjoint.simulation import at_rest, simulate
from flexjoint.trajectory import Sinusoid, Trajectory

from .report import BLUE, GREEN, RED, Drawings

STIFFNESS, TILT = 300.0, np.pi / 4  # Nm/rad of joints 2 and 3; rad, of the axis of motor 3
GAINS = (373.33, 44.12, 40.0, 4.0)
START = np.array([0.0, 0.0, -0.4363])  # rad, as in the paper
DURATION, STEP = 1.5, 2e-4  # s
COUPLINGS = ("exact", "neglected")
SHIP = Sinusoid(np.array([0.1, 0.0, 0.2, 0.1, 0.05, 0.0]), np.array(0.5))  # m, rad; pose of the moving base
COLOURS, DASHES = (BLUE, RED, GREEN), ("-", "--", "-.")


def crossed_arm() -> Robot:
    """The arm of Table I with springs at joints 2 and 3; its motor 3 sits on link 2 and has a tilted axis."""
    robot = load("hua_3r")
    first, second, third = (joint.drive for joint in robot.joints)
    axis = [np.sin(TILT), 0.0, np.cos(TILT)]
    tilted = replace(third.motor, carrier="link2", position=[-0.05, 0.0, 0.0], axis=axis)  # type: ignore[union-attr]
    drives = [first, *(ElasticDrive(STIFFNESS, x) for x in (second.motor, tilted))]  # type: ignore[union-attr]
    return robot.replace(name="crossed_3r").with_drives(drives).with_fidelity("complete")


class Course(NamedTuple):
    """A run in continuous time: times (m,), errors (m, n), rad, V₂ (m,), J, and the integral of (52) from V₂(0)."""

    t: np.ndarray
    error: np.ndarray
    V: np.ndarray
    integral: np.ndarray

    @property
    def gap(self) -> np.ndarray:
        """|V₂ − integral of (52)| relative to V₂(0), (m,)."""
        return np.abs(self.V - self.integral) / self.V[0]


def crossed_courses(motion: Trajectory, duration: float = DURATION, step: float = STEP) -> dict[str, Course]:
    """Runs of the crossed arm with exact and with neglected couplings in the controller."""
    from scipy.integrate import cumulative_simpson

    robot, courses = crossed_arm(), {}
    for couplings in COUPLINGS:
        controller = MixedInverseDynamics(robot, np.array(GAINS), couplings=couplings)
        start = at_rest(robot, START)
        run = simulate(robot, controller, motion, duration, start=start, period=step, hold=False, check=False)
        tracking = {"reference": list(motion(run.t, order=controller.order)), "gains": list(controller.gains)}
        V, rate = mixed_lyapunov(robot, *run.states, tracking=tracking, couplings=couplings)
        V = np.asarray(V)
        courses[couplings] = Course(run.t, run.error, V, V[0] + cumulative_simpson(rate, x=run.t, initial=0.0))
    return courses


def base_errors(robot: Robot, motion: Trajectory, gains: Any, period: float) -> dict[str, np.ndarray]:
    """Errors (m, n), rad, on a moving base, by whether the controller knows it."""
    errors = {}
    for name, base in (("known", True), ("unknown", False)):
        controller = MixedInverseDynamics(robot, np.array(gains), base=base)
        start = at_rest(robot, motion(0.0, 0)[0])
        errors[name] = simulate(robot, controller, motion, start=start, period=period, base=SHIP, check=False).error
    return errors


def crossed_additions(courses: dict[str, Course], bases: dict[str, np.ndarray]) -> list[tuple[str, str]]:
    """Results of the second reproduction."""
    S = float(rotor_coupling(crossed_arm(), START)[1, 2])
    rows = [("Crossed motor axes: coupling in the link equation of elastic joint 2", f"S_23 = {S:.3g} kg m².")]
    for name, x in courses.items():
        end = np.rad2deg(np.abs(x.error[-1]).max())
        text = f"V₂ follows the integral of (52) to {x.gap.max():.0e} of V₂(0), and {end:.0e}° remain at {x.t[-1]:g} s."
        rows.append((f"The same, with couplings {name} in the controller", text))
    for name, error in bases.items():
        later = np.rad2deg(np.abs(error[len(error) // 2 :]).max())
        rows.append(
            (f"Base that moves as a ship does, {name} to the controller", f"Largest error {later:.1e}° after 5 s.")
        )
    return rows


def crossed_figures(
    drawings: Drawings, courses: dict[str, Course], bases: dict[str, np.ndarray], period: float
) -> None:
    """Figures of both runs."""
    figure, axes = drawings.panels(3, 4.8)
    for name, axis in zip(COUPLINGS, axes):
        for i, (colour, dashes) in enumerate(zip(COLOURS, DASHES)):
            error = np.rad2deg(np.abs(courses[name].error[:, i]))
            axis.semilogy(courses[name].t, error, dashes, color=colour, label=f"joint {i + 1}")
        axis.set(xlabel="time, s", ylabel="|q$_d$ − q|, °", xlim=(0.0, DURATION), ylim=(1e-6, 60.0))
        axis.set_title(f"couplings {name}", fontsize=10)
    for name, colour, dashes in zip(COUPLINGS, COLOURS, DASHES):
        x = courses[name]
        axes[2].semilogy(x.t[1:], np.maximum(x.gap[1:], 1e-17), dashes, color=colour, label=name)
    axes[2].set(xlabel="time, s", ylabel="fraction of V$_2$(0)", xlim=(0.0, DURATION))
    axes[2].set_title("|V$_2$ − integral of (52)|", fontsize=10)
    caption = (
        "With S θ'' and C_1 θ' in the controller V₂ falls as (52) says; without them (52) does not hold and an error "
        "remains."
    )
    drawings.save(figure, "crossed_motors", "crossed motor axes, controller with and without couplings", caption)

    figure, axes = drawings.panels(2)
    for (name, error), axis in zip(bases.items(), axes):
        for i, (colour, dashes) in enumerate(zip(COLOURS, DASHES)):
            t = period * np.arange(len(error))
            axis.semilogy(t, np.rad2deg(np.abs(error[:, i])), dashes, color=colour, lw=1, label=f"joint {i + 1}")
        axis.set(xlabel="time, s", ylabel="|q$_d$ − q|, °", xlim=(0.0, t[-1]), ylim=(1e-5, 20.0))
        axis.set_title(f"base {name} to the controller", fontsize=10)
    caption = "The base moves by 0.1 m and 0.2 m and turns by 6° and 3°, at 0.5 Hz; torques are held for 1 ms."
    drawings.save(figure, "moving_base", "the arm on a moving base", caption)
