"""The controller of [EJNEA sec. IV] in closed loop, which the paper leaves out: poles, sensors, noise, wrong models.

Feedback linearization from every sensor set of [EJNEA sec. II-B] follows the motion of Fig. 1 with two sets of poles:
four equal ones, which show it at its worst, and tuned ones, which show it at its best.  Beside it stands the simpler
use of EJNEA: feedforward of the nominal torque, with a PD controller on the motors.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from flexjoint import FlexjointWarning, Robot
from flexjoint.control import Controller, FeedbackLinearization, FeedforwardPD, JointState, gains_from_poles
from flexjoint.dynamics.inertia import mass_matrix
from flexjoint.dynamics.links import gravity_torque
from flexjoint.robot.parameters import select
from flexjoint.simulation import Sensors, at_rest, simulate
from flexjoint.trajectory import Trajectory
from flexjoint.types import FloatArray

from .report import BLACK, BLUE, GREEN, RED, Claim, Drawings, Grid, verdict

SENSOR_SETS = {"q theta": "q, θ", "q tau_e": "q, τ_e", "theta tau_e": "θ, τ_e"}
FEEDFORWARD = "feedforward and PD"
LOOP_PERIOD = 1e-4  # s
POLE, DAMPING = 100.0, 0.8  # 1/s, bandwidth of both pole sets; damping ratio of the tuned ones
PD = np.array([2000.0, 100.0])  # Nm/rad, Nm s/rad
OFFSET = np.deg2rad(1.0)  # rad, initial error in continuous time
NOISE: dict[str, Any] = {"link_noise": 5e-6, "motor_noise": 1e-7, "torque_noise": 1e-3}  # rad, rad, Nm
ERRORS = (0.0, 0.002, 0.005, 0.02, 0.05, 0.2)  # of all masses and of all stiffnesses
SIGNS = ((1, 1), (1, -1), (-1, 1), (-1, -1))  # of masses and stiffnesses


class Loop(NamedTuple):
    """A controller in closed loop.

    Args:
        noisy: Largest error of each link, °, with noise (n,); NaN without a run.
        wrong: Largest link error, °, per model error and signs (len(ERRORS), len(SIGNS)); infinite if a run diverges.
        exact: Link errors, rad, of the exact model without noise (m, n).
    """

    noisy: FloatArray
    wrong: FloatArray
    exact: FloatArray

    def text(self, k: int) -> str:
        """Largest error of one model error as text."""
        lost = int(np.isinf(self.wrong[k]).sum())
        return f"{lost} of {len(SIGNS)} diverge" if lost else f"{self.wrong[k].max():.2g}"

    @property
    def diverges(self) -> float:
        """Smallest model error with a run that diverges; infinite without one."""
        return min((x for x, row in zip(ERRORS, self.wrong) if np.isinf(row).any()), default=np.inf)


def pole_sets(robot: Robot, motion: Trajectory) -> dict[str, FloatArray]:
    """Gains by name: four equal poles per joint, and tuned ones, half of them at the frequency of its spring."""
    M = mass_matrix(robot.without_drives(), motion(motion.duration / 2, 0)[0])
    drives: list[Any] = [joint.drive for joint in robot.joints]
    K, B = (np.array(x) for x in ([d.stiffness for d in drives], [d.motor.inertia for d in drives]))
    frequency = np.sqrt(K * np.diag(np.linalg.inv(M)) + K / B)
    fast = frequency * complex(-DAMPING, math.sqrt(1 - DAMPING**2))
    tuned = [[-POLE, -POLE, x, x.conjugate()] for x in fast]
    return {"equal poles": gains_from_poles([-POLE] * 4), "tuned poles": gains_from_poles(tuned)}


def closed_loops(robot: Robot, motion: Trajectory) -> dict[tuple[str, str], Loop]:
    """All loops along a motion, by poles and sensor set; `FEEDFORWARD` is that of the torque of EJNEA, with a PD."""
    sensors = Sensors(velocities="differenced", torque_rates="differenced", **NOISE)
    loops = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlexjointWarning)  # runs that diverge are part of the result
        for poles, gains in pole_sets(robot, motion).items():
            for measured in SENSOR_SETS:
                controller = FeedbackLinearization(robot, gains, LOOP_PERIOD, measured)
                noisy = simulate(robot, controller, motion, sensors=sensors, check=False).error
                worst = np.rad2deg(np.abs(noisy).max(axis=0))
                loops[poles, measured] = Loop(worst, *wrong_models(robot, controller, motion))
        rigid = wrong_models(robot, FeedforwardPD(robot, PD), motion)
        loops[FEEDFORWARD, ""] = Loop(np.full(robot.n, np.nan), *rigid)
    return loops


def wrong_models(robot: Robot, controller: Controller, motion: Trajectory) -> tuple[FloatArray, FloatArray]:
    """Errors `wrong` and `exact` of a Loop: the controller on robots that differ from its model."""
    worst, exact = [], np.zeros(0)
    q, signs = motion(0.0, order=0)[0], np.array(SIGNS, dtype=float).T[..., None]
    for off in ERRORS:  # one by one, since the records of all runs together would take 0.6 GB
        mass, stiffness = 1 + off * signs
        values = {"*.mass": mass * select(robot, "*.mass").value}
        values["*.drive.stiffness"] = stiffness * select(robot, "*.drive.stiffness").value
        theta = q + mass * gravity_torque(robot, q) / values["*.drive.stiffness"]  # at rest, as these robots are
        start = JointState(*np.broadcast_arrays(q, 0 * q, theta, 0 * q))
        runs = simulate(robot, controller, motion, period=LOOP_PERIOD, start=start, free=values, check=False)
        exact = exact if exact.size else runs.error[0].copy()
        worst.append(np.where(runs.diverged, np.inf, np.rad2deg(np.nanmax(np.abs(runs.error), axis=(1, 2)))))
    return np.array(worst), exact


def decay_gap(robot: Robot, motion: Trajectory, duration: float = 0.2) -> float:
    """Largest difference, °, of the errors after a wrong start to those of four equal poles, in continuous time.

    With e' = e'' = e''' = 0 at first and x = POLE t, e = e_0 exp(−x) (1 + x + x²/2 + x³/6).
    """
    start = at_rest(robot, motion(0.0, order=0)[0] + OFFSET)
    controller = FeedbackLinearization(robot, gains_from_poles([-POLE] * 4), LOOP_PERIOD, "theta tau_e")
    run = simulate(robot, controller, motion, duration, start=start, hold=False, check=False)
    x = POLE * run.t
    expected = -OFFSET * np.exp(-x) * (1 + x + x**2 / 2 + x**3 / 6)
    return float(np.rad2deg(np.abs(run.error - expected[:, None]).max()))


def loop_claims(loops: Mapping[tuple[str, str], Loop], decay: float) -> list[Claim]:
    """Claims of sections II-B and IV."""
    equal = [loops["equal poles", x] for x in SENSOR_SETS]
    spread = float(np.rad2deg(np.ptp([x.exact for x in equal], axis=0).max()))
    link, motor, torque = NOISE.values()
    computed = math.hypot(motor, torque / 1000.0)
    return [
        Claim(
            "The controller tracks with exponential stability (13)",
            "no number",
            f"An error of {np.rad2deg(OFFSET):g}° decays with the chosen poles to {decay:.0e}° in continuous time",
            verdict(decay < 1e-6),
        ),
        Claim(
            "q, q', τ_e, τ_e' follow from any two of q, θ, τ_e (sec. II-B)",
            "no number",
            f"The three sensor sets give the same motion to {spread:.0e}°",
            verdict(spread < 1e-6),
        ),
        Claim(
            "q computed from θ and τ_e may be preferable to a measured q, depending on the accuracy (sec. II-B)",
            "no number",
            f"With noise of {link:g} rad (q), {motor:g} rad (θ) and {torque:g} Nm (τ_e) the computed q has a standard "
            f"deviation of {computed:.1e} rad",
            verdict(computed < link),
        ),
    ]


def loop_additions(loops: Mapping[tuple[str, str], Loop]) -> list[tuple[str, str]]:
    """Results of the closed loop that the paper leaves out for lack of space."""
    tuned, equal = ([loops[poles, x] for x in SENSOR_SETS] for poles in ("tuned poles", "equal poles"))

    def divergence(loops: Sequence[Loop]) -> str:
        return ", ".join(
            f"from {100 * x.diverges:g} % on with {label}" if np.isfinite(x.diverges) else f"never with {label}"
            for x, label in zip(loops, SENSOR_SETS.values())
        )

    best, worst = tuned[1].noisy, equal[0].noisy
    some, last = len(ERRORS) // 2, f"{100 * ERRORS[-1]:g} %"
    return [
        (
            f"Largest tracking error, exact model, sampled every {1e3 * LOOP_PERIOD:g} ms",
            f"{max(x.wrong[0].max() for x in equal):.1g}° with equal, {max(x.wrong[0].max() for x in tuned):.1g}° with "
            "tuned poles.",
        ),
        (
            "The same with noisy sensors, at the last joint",
            f"{worst[-1]:.2g}° at worst (equal poles, q and θ measured), {best[-1]:.1g}° at best (tuned poles, q and "
            "τ_e measured).",
        ),
        ("Equal poles, masses and stiffnesses off", f"Runs diverge {divergence(equal)}."),
        ("Tuned poles, masses and stiffnesses off", f"Runs diverge {divergence(tuned)}."),
        (
            f"Errors at masses and stiffnesses off by {100 * ERRORS[some]:g} %, q and τ_e measured",
            f"{equal[1].text(some)}° with equal, {tuned[1].text(some)}° with tuned poles.",
        ),
        (
            "Feedforward of the torque of EJNEA and a PD controller on the motors",
            f"Largest error at {last}: {loops[FEEDFORWARD, ''].text(-1)}°.",
        ),
    ]


def wrong_model_grid(loops: Mapping[tuple[str, str], Loop]) -> Grid:
    """Table of the largest errors on wrong models."""
    names = [f"{poles}{': ' * bool(x)}{SENSOR_SETS.get(x, '')}" for poles, x in loops]
    rows = [[f"{100 * off:g} %", *(x.text(k) for x in loops.values())] for k, off in enumerate(ERRORS)]
    return Grid("largest_errors_of_wrong_models_in_degrees", ["masses and stiffnesses off by", *names], rows)


def loop_figure(drawings: Drawings, loops: Mapping[tuple[str, str], Loop]) -> None:
    """Figure of tracking errors with noise, and over the error of the model."""
    figure, (left, right) = drawings.panels(2, 6.2, 5.0)
    colours = dict(zip(SENSOR_SETS, (BLUE, GREEN, RED)))
    joints, percent = np.arange(1, 8), 100 * np.array(ERRORS[1:])
    for (poles, measured), loop in loops.items():
        tuned, colour = poles != "equal poles", colours.get(measured, BLACK)
        label = f"{poles}{': ' * bool(measured)}{SENSOR_SETS.get(measured, '')}".replace("τ_e", "τ$_e$")
        at = joints + 0.2 * (list(colours).index(measured) - 1) if measured else joints
        face = colour if tuned else "none"
        if measured:
            left.plot(at, loop.noisy, "o", color=colour, ms=5, mfc=face, label=label)
        errors = loop.wrong[1:].max(axis=1)
        stable = np.isfinite(errors)
        dashes = {"theta tau_e": ":", "q theta": "--"}.get(measured, "-")
        marker = "s" if tuned else "o"
        right.plot(percent[stable], errors[stable], marker + dashes, color=colour, ms=5, mfc=face, label=label)
    left.set(title="with noise, exact model", xlabel="joint", ylabel="largest |q$_d$ − q|, °", yscale="log")
    left.set_xticks(joints)
    right.set(title="wrong model, no noise", xlabel="masses and stiffnesses off by, %", xscale="log", yscale="log")
    right.set(ylabel="largest |q$_d$ − q|, °", xlim=(0.15, 27.0))
    right.set_xticks(percent)
    right.xaxis.set_major_formatter("{x:g}")
    right.minorticks_off()
    caption = (
        f"Open symbols: all poles at −{POLE:g}/s, the controller at its worst. Filled: half of the poles moved to the "
        "frequencies of the joints. A curve ends where a run diverges."
    )
    drawings.save(figure, "closed_loop", "feedback linearization along the motion of Fig. 1", caption)
