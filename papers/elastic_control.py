"""The control law of [EJNEA sec. IV] in closed loop, which the paper leaves out: sensor sets, noise and wrong models.

Every sensor set of [EJNEA sec. II-B] follows the motion of Fig. 1 with perfect sensors, with noise, and on robots whose
masses and stiffnesses the law does not know exactly.  Beside it stands the simpler use of EJNEA: feedforward of the
nominal torque, with a PD law on the motors.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flexjoint.control import FeedbackLinearization, FeedforwardPD, gains_from_poles
from flexjoint.control.base import Controller, JointState
from flexjoint.dynamics.links import gravity_torque
from flexjoint.errors import FlexjointWarning
from flexjoint.robot import Robot
from flexjoint.robot.parameters import select
from flexjoint.simulation import Sensors, Simulation, at_rest, simulate
from flexjoint.trajectory import Trajectory
from flexjoint.types import FloatArray

from .report import BLACK, BLUE, GREEN, RED, Claim, Grid, PaperFigure, new_figures, saved, verdict

SENSOR_SETS = {"q theta": "q, θ", "q tau_e": "q, τ_e", "theta tau_e": "θ, τ_e"}
COLOURS = {"q theta": BLUE, "q tau_e": GREEN, "theta tau_e": RED}
FEEDFORWARD = "feedforward and PD"
PERIOD = 1e-4  # s
POLE = -100.0  # rad/s
PD = np.array([2000.0, 100.0])  # Nm/rad, Nm s/rad
OFFSET = np.deg2rad(1.0)  # rad, initial error in continuous time
NOISE: dict[str, Any] = {"link_noise": 5e-6, "motor_noise": 1e-7, "torque_noise": 1e-3}  # rad, rad, Nm
ERRORS = (0.0, 0.002, 0.005, 0.02, 0.05, 0.2)  # of all masses and of all stiffnesses
SIGNS = ((1, 1), (1, -1), (-1, 1), (-1, -1))  # of masses and stiffnesses


class WrongModels(NamedTuple):
    """A law on robots that differ from its model.

    Args:
        errors: Largest link errors, °, per model error and signs (len(ERRORS), len(SIGNS)); infinite if a run diverges.
        exact: Link errors, rad, of the exact model (m, n).
    """

    errors: FloatArray
    exact: FloatArray

    @property
    def largest(self) -> FloatArray:
        """Over the signs (len(ERRORS),)."""
        return self.errors.max(axis=1)

    def text(self, k: int) -> str:
        """Of one model error."""
        lost = int(np.isinf(self.errors[k]).sum())
        if not lost:
            return f"{self.largest[k]:.2g}"
        return f"{lost} of {len(SIGNS)} diverge" if k else "diverges"


class Loops(NamedTuple):
    """What the closed loops gave.

    Args:
        noisy: By sensor set the run with noise.
        wrong: By sensor set, and for the feedforward, the runs with perfect sensors and wrong models.
        decay: Largest difference, °, to the closed form of the errors, in continuous time.
    """

    noisy: Mapping[str, Simulation]
    wrong: Mapping[str, WrongModels]
    decay: float

    @property
    def spread(self) -> float:
        """Largest difference between the link positions of two sensor sets, °."""
        runs = np.array([self.wrong[measured].exact for measured in SENSOR_SETS])
        return float(np.rad2deg(np.ptp(runs, axis=0).max()))

    def errors(self, noise: bool) -> dict[str, FloatArray]:
        """By sensor set the largest error of each link (n,), °, with or without noise."""
        runs = {x: self.noisy[x].error if noise else self.wrong[x].exact for x in SENSOR_SETS}
        return {measured: np.rad2deg(np.abs(error).max(axis=0)) for measured, error in runs.items()}

    @property
    def deviations(self) -> tuple[float, float]:
        """Standard deviations of q, rad: measured, and computed from θ and τ_e  [EJNEA (7)]."""
        run = self.noisy["theta tau_e"]
        stiffness = np.array([joint.drive.stiffness for joint in run.robot.joints])  # type: ignore[union-attr]
        computed = run.more["measured.theta"] - run.more["measured.tau_e"] / stiffness
        return float(np.std(run.more["measured.q"] - run.q)), float(np.std(computed - run.q))


def law(robot: Robot, measured: str) -> FeedbackLinearization:
    """The law of section IV for a sensor set."""
    return FeedbackLinearization(robot, gains_from_poles([POLE] * 4), PERIOD, measured)


def closed_loops(robot: Robot, motion: Trajectory) -> Loops:
    """Simulate all loops along a motion."""
    sensors = Sensors(velocities="differenced", torque_rates="differenced", **NOISE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlexjointWarning)  # runs that diverge are part of the result
        noisy, wrong = {}, {}
        for measured in SENSOR_SETS:
            controller = law(robot, measured)
            noisy[measured] = simulate(robot, controller, motion, sensors=sensors, check=False)
            wrong[measured] = wrong_models(robot, controller, motion)
        wrong[FEEDFORWARD] = wrong_models(robot, FeedforwardPD(robot, PD), motion)
    return Loops(noisy, wrong, decay_gap(robot, motion))


def wrong_models(robot: Robot, controller: Controller, motion: Trajectory) -> WrongModels:
    """The law on robots that differ from its model: all masses and all stiffnesses too large or too small."""
    worst, exact = [], None
    q, signs = motion(0.0, order=0)[0], np.array(SIGNS, dtype=float).T[..., None]
    for off in ERRORS:  # one by one, since the records of all runs together would take 0.6 GB
        mass, stiffness = 1 + off * signs
        free = {"*.mass": mass * select(robot, "*.mass").value}
        free["*.drive.stiffness"] = stiffness * select(robot, "*.drive.stiffness").value
        theta = q + mass * gravity_torque(robot, q) / free["*.drive.stiffness"]  # at rest, as these robots are
        start = JointState(*np.broadcast_arrays(q, 0 * q, theta, 0 * q))
        runs = simulate(robot, controller, motion, period=PERIOD, start=start, free=free, check=False)
        exact = runs.error[0] if exact is None else exact
        worst.append(np.where(runs.diverged, np.inf, np.rad2deg(np.nanmax(np.abs(runs.error), axis=(1, 2)))))
    assert exact is not None
    return WrongModels(np.array(worst), exact.copy())


def decay_gap(robot: Robot, motion: Trajectory, duration: float = 0.2) -> float:
    """Largest difference, °, of the errors after a wrong start to those of four poles, in continuous time.

    With e' = e'' = e''' = 0 at first and x = −POLE t, e = e_0 exp(−x) (1 + x + x²/2 + x³/6).
    """
    start = at_rest(robot, motion(0.0, order=0)[0] + OFFSET)
    run = simulate(robot, law(robot, "theta tau_e"), motion, duration, start=start, hold=False, check=False)
    x = -POLE * run.t
    expected = -OFFSET * np.exp(-x) * (1 + x + x**2 / 2 + x**3 / 6)
    return float(np.rad2deg(np.abs(run.error - expected[:, None]).max()))


# Claims, table, figure -----------------------------------------------------------------------------------------------


def control_claims(loops: Loops) -> list[Claim]:
    """Claims of sections II-B and IV."""
    tracked = max(x.max() for x in loops.errors(noise=False).values())
    noisy, (measured_q, computed_q) = loops.errors(noise=True), loops.deviations
    texts = [f"{x[:-1].max():.2g}° and {x[-1]:.2g}° from {SENSOR_SETS[measured]}" for measured, x in noisy.items()]
    return [
        Claim(
            "the law tracks with exponential stability (13)",
            "no result for lack of space",
            f"in continuous time errors of 1° decay with the chosen poles, to {loops.decay:.0e}°; sampled every "
            f"{1e3 * PERIOD:g} ms the LWR follows the motion of Fig. 1 to {tracked:.1g}°",
            verdict(loops.decay < 1e-6 and tracked < 1e-2),
        ),
        Claim(
            "q, q', τ_e, τ_e' come from any two of q, θ, τ_e (sec. II-B)",
            "no number",
            f"the three sensor sets give the same motion to {loops.spread:.0e}°",
            verdict(loops.spread < 1e-6),
        ),
        Claim(
            "q computed from θ and τ_e may be preferable to a measured q, depending on the accuracy (sec. II-B)",
            "no number",
            f"{noise_text()}: standard deviation {measured_q:.1e} rad measured, {computed_q:.1e} computed. Tracking "
            "gains where τ_e is measured, not computed from q and θ: largest errors of joints 1 to 6 and of joint 7 "
            f"{', '.join(texts)}",
            verdict(computed_q < measured_q),
        ),
        Claim(
            "the law on robots that differ from its model",
            "not considered",
            wrong_text(loops.wrong),
            "limits its use",
        ),
    ]


def noise_text() -> str:
    """The accuracy of the sensors."""
    link, motor, torque = NOISE.values()
    return f"noise of {link:g} rad (q), {motor:g} rad (θ), {torque:g} Nm (τ_e), rates by differences"


def wrong_text(wrong: Mapping[str, WrongModels]) -> str:
    """From which model error on each law diverges; of a law that does not, the error at the largest model error."""
    texts = []
    for name, found in wrong.items():
        lost = [100 * x for x, y in zip(ERRORS, found.largest) if np.isinf(y)]
        end = f"diverges from {lost[0]:g} % on" if lost else f"{found.largest[-1]:.2g}° at {100 * ERRORS[-1]:g} %"
        texts.append(f"{SENSOR_SETS.get(name, name)}: {end}")
    return "masses and stiffnesses off by up to 20 %: " + "; ".join(texts)


def control_grids(loops: Loops) -> list[Grid]:
    """Tables of tracking errors: per joint and sensor set, and of wrong models."""
    sets = list(SENSOR_SETS.values())
    errors = np.array([*loops.errors(noise=False).values(), *loops.errors(noise=True).values()]).T
    headings = ["joint", *(f"{x}, °" for x in sets), *(f"{x} with noise, °" for x in sets)]
    rows = [[str(i + 1), *(f"{x:.2g}" for x in row)] for i, row in enumerate(errors)]
    names = [*sets, FEEDFORWARD]
    off = [[f"{100 * x:g}", *(found.text(k) for found in loops.wrong.values())] for k, x in enumerate(ERRORS)]
    return [
        Grid("tracking_errors", headings, rows),
        Grid("wrong_models", ["masses and stiffnesses off by, %", *(f"{x}, °" for x in names)], off),
    ]


def control_figure(folder: Path, loops: Loops) -> PaperFigure:
    """Figure of tracking errors with noise, and over the error of the model."""
    figure, (left, right) = new_figures(2, 7.0, 4.0)
    exact, noisy = loops.errors(noise=False), loops.errors(noise=True)
    joints = np.arange(1, len(exact["q theta"]) + 1)
    labels = {name: text.replace("τ_e", "$τ_e$") for name, text in SENSOR_SETS.items()}
    for k, (measured, label) in enumerate(labels.items()):
        colour, place = COLOURS[measured], joints + 0.18 * (k - 1)
        left.plot(place, exact[measured], "o", color=colour, ms=4, mfc="none", label=f"{label}, exact")
        left.plot(place, noisy[measured], "o", color=colour, ms=4, label=f"{label}, noise")
    left.set(title="Largest error per joint", xlabel="joint", ylabel="$|q_d - q|$, °", yscale="log")
    left.set_xticks(joints)
    styles: Sequence[tuple[str, Any]] = [*COLOURS.items(), (FEEDFORWARD, BLACK)]
    percent = 100 * np.array(ERRORS[1:])
    for name, colour in styles:
        errors = loops.wrong[name].largest[1:]
        stable = np.isfinite(errors)
        label = f"{labels.get(name, name)}, wrong model"
        right.plot(percent[stable], errors[stable], "s-", color=colour, ms=4, label=label)
    right.set(title="Largest error, wrong model", xlabel="masses and stiffnesses off by, %", xscale="log", yscale="log")
    right.set(ylabel="$|q_d - q|$, °", xlim=(0.15, 27.0))
    right.set_xticks(percent)
    right.xaxis.set_major_formatter("{x:g}")
    right.minorticks_off()
    caption = (
        "Tracking of the motion of Fig. 1 by feedback linearization from each sensor set. Left: with perfect sensors "
        f"the three sets coincide (circles, drawn side by side); dots: {noise_text()}. Right: all masses and all "
        "stiffnesses differ from the model by the same share, up or down; a curve ends where a run diverges."
    )
    return saved(figure, folder / "closed_loop.png", caption)
