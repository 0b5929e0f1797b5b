"""Controllers of stiff arms with complete rotors: `python -m benchmarks.stiff_arms`, as in docs/stiff-arms.md.

`--mid-period` prints the table of docs/control.md instead: errors of several controllers with and without `MidPeriod`.
All joints move from 0.1 to 1.1 rad in 2 s.  Of nine robots the first is that of the controller; masses and stiffnesses
of the others are 2 % larger or smaller at random.  Errors are those of the links, the largest over joints and time.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from rich.console import Console
from rich.table import Table

import flexjoint as fj
from flexjoint.control.base import ControllerWrapper, LawResult
from flexjoint.dynamics import motor_motion

RESULTS = Path(__file__).parent / "results"
PERIODS = (1e-3, 5e-4, 1e-4)
STEP = 62.5e-6  # s, of the integrator: the fastest mode of the LBR has 2600 rad/s
OFF, ROBOTS = 0.02, 8
REACH = 1.0  # rad: a larger error counts as divergence
NUDGE = 1e-9  # rad


def lbr() -> fj.Robot:
    return fj.load("dlr_lbr2").with_fidelity("complete")


def lwr() -> fj.Robot:
    """`kuka_lwr` with motors on the joint axes and the parent links; the gear ratio 100 is chosen."""
    robot = fj.load("kuka_lwr")
    drives = []
    for joint in robot.joints:
        motor = fj.Motor.from_rotor(joint.drive.motor.inertia / 100.0**2, 100.0)
        drives.append(dataclasses.replace(joint.drive, motor=motor))
    return robot.with_drives(drives).with_fidelity("complete")


ROBOTS_BY_NAME: dict[str, Callable[[], fj.Robot]] = {"dlr_lbr2": lbr, "kuka_lwr, coaxial motors": lwr}


@dataclass(frozen=True, eq=False, repr=False)
class AroundReference(ControllerWrapper):
    """A controller with a simpler model, on the motion and the torque that the complete model has on the reference.

    Motor positions of the reference are shifted to those of the simpler model, and the difference of both torques is
    added: without errors the torque is that of the complete model, and feedback is that of the simpler model.

    Args:
        controller: The controller, such as FeedbackLinearization in Spong's model.
        complete: The robot with complete rotors.
        lead: Time by which the torque is ahead, s: half a period, or 0.
    """

    controller: fj.control.Controller
    complete: fj.Robot
    lead: float = 0.0

    @property
    def gains(self) -> Any:
        return self.controller.gains

    @property
    def order(self) -> int:
        return max(self.controller.order, fj.dynamics.chain_length(self.complete))

    @property
    def times(self) -> tuple[float, ...]:
        return self.lead, 0.0

    def law(self, gains: Any, state: Any, reference: Any, measurement: Any) -> LawResult:
        ahead, now = reference[: self.order + 1], reference[self.order + 1 :]
        inner = motor_motion.function(self.controller.robot, *ahead)
        outer, here = (motor_motion.function(self.complete, *x) for x in (ahead, now))
        there, here = [*ahead[:2], inner.theta, inner.theta_v], [*now[:2], here.theta, here.theta_v]
        moved = fj.JointState(*(x + (b - a) for x, a, b in zip(measurement, here, there)))
        after, tau = self.controller.law(gains, state, ahead[: self.controller.order + 1], moved)
        return after, tau + (outer.tau - inner.tau)


@dataclass(frozen=True, eq=False, repr=False)
class OnMotors(AroundReference):
    """The same for a controller of rigid joints, which reads the motors in place of the links."""

    def law(self, gains: Any, state: Any, reference: Any, measurement: Any) -> LawResult:
        ahead, now = reference[: self.order + 1], reference[self.order + 1 :]
        outer, here = (motor_motion.function(self.complete, *x) for x in (ahead, now))
        q, v = measurement.theta + (ahead[0] - here.theta), measurement.theta_v + (ahead[1] - here.theta_v)
        rigid = [self.controller.law(gains, state, ahead[:3], fj.JointState(*x, *x))[1] for x in ((q, v), ahead[:2])]
        return state, rigid[0] + (outer.tau - rigid[1])


def controllers(robot: fj.Robot, h: float) -> dict[str, Any]:
    """The controllers by name, for the complete robot and a period."""
    spong, rigid, control = robot.with_fidelity("spong"), robot.rigid(), fj.control
    linearizing = control.FeedbackLinearization(spong, control.gains_from_poles([-50.0] * 4), h)
    feedforward, simpler = (control.FeedforwardPD(x, [2000.0, 100.0]) for x in (robot, spong))
    stiffer = control.FeedforwardPD(robot, [10000.0, 400.0])
    on_motors = control.ComputedTorque(rigid, control.gains_from_poles([-40.0] * 2))
    return {
        "Spong's linearization": linearizing,
        "Spong's linearization around the complete reference": AroundReference(linearizing, robot),
        "Spong's linearization around the complete reference, mid-period": AroundReference(linearizing, robot, h / 2),
        "Spong's feedforward + PD": simpler,
        "Spong's feedforward + PD, mid-period": control.MidPeriod(simpler, h),
        "complete feedforward + PD": feedforward,
        "complete feedforward + PD, mid-period": control.MidPeriod(feedforward, h),
        "complete feedforward + PD, 10000, 400, mid-period": control.MidPeriod(stiffer, h),
        "rigid linearization on the motors, mid-period": OnMotors(on_motors, robot, h / 2),
    }


def varied(robot: fj.Robot) -> dict[str, np.ndarray]:
    """Values (9,) of masses and stiffnesses; the first robot is the nominal one."""
    paths = [f"{x.name}.mass" for x in robot.links if x.mass] + [f"{x.name}.drive.stiffness" for x in robot.joints]
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (ROBOTS + 1, len(paths)))
    signs[0] = 0.0
    known = fj.robot.robot_parameters(robot)
    return {path: known[path].value * (1 + OFF * signs[:, k]) for k, path in enumerate(paths)}


def errors(robot: fj.Robot, law: Any, h: float) -> tuple[float | None, float | None]:
    """The largest error with the exact model and among the others, rad; None if a run leaves the reference."""
    motion = fj.trajectory.RestToRest(np.full(7, 0.1), np.full(7, 1.1), 2.0, smoothness=9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"period": h, "substeps": round(h / STEP), "check": False}
        run = fj.simulate(robot, law, motion, 2.5, free=varied(robot), **options)
    largest = np.where(run.diverged, np.inf, np.abs(run.error).max(axis=(1, 2)))
    found = largest[0], largest[1:].max()
    return tuple(float(x) if x < REACH else None for x in found)  # type: ignore[return-value]


def sensitivity(law: Any) -> tuple[float, int]:
    """The largest change of a torque per position, Nm/rad, at rest at 0.6 rad, and the number of operations."""
    stack = [np.full(7, 0.6), *np.zeros((law.order, 7))]
    reference = stack * len(law.times)
    rest = fj.motor_motion(getattr(law, "complete", law.robot), *[*stack, *np.zeros((10, 7))][:11])
    point = np.stack([stack[0], stack[1], rest.theta, stack[1]])
    state, slopes = law.start(reference), []
    for i in range(7):
        for field in (0, 2):
            sides = [point.copy(), point.copy()]
            for x, sign in zip(sides, (1, -1)):
                x[field, i] += sign * NUDGE
            tau = [law(state, reference, fj.JointState(*x))[1] for x in sides]
            slopes.append(np.abs(tau[0] - tau[1]).max() / (2 * NUDGE))
    return max(slopes), law._kernel.operations


def measure(file: Path) -> None:
    """All figures of the page, robot by robot; those that the file has are kept."""
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    for name, make in ROBOTS_BY_NAME.items():
        if name in found:
            continue
        robot, rows = make(), {}
        for label, law in controllers(robot, PERIODS[0]).items():
            slope, operations = sensitivity(law)
            rows[label] = {"Nm/rad": slope, "operations": operations, "errors": {}}
        poles = fj.control.gains_from_poles([-50.0] * fj.dynamics.chain_length(robot))
        extended = fj.control.FeedbackLinearization(robot, poles, PERIODS[0])
        slope, operations = sensitivity(extended)
        rows["dynamic extension"] = {"Nm/rad": slope, "operations": operations, "errors": {}}
        for h in PERIODS:
            for label, law in controllers(robot, h).items():
                rows[label]["errors"][f"{h:g}"] = errors(robot, law, h)
                print(name, h, label, rows[label]["errors"][f"{h:g}"], flush=True)
        found[name] = rows
        file.write_text(json.dumps(found, indent=1) + "\n")


def against_the_period() -> Table:
    """The largest errors of controllers, held and at mid-period, over the period."""
    hua, arm, complete, control = fj.load("hua_3r"), fj.load("kuka_lwr"), lbr(), fj.control
    rigid, poles = hua.rigid(), control.gains_from_poles([-20.0] * 2)
    periods = (1e-3, 5e-4, 2.5e-4)
    laws: dict[str, Callable[[float], Any]] = {
        "`hua_3r`, rigid: `ComputedTorque`": lambda h: control.ComputedTorque(rigid, poles),
        "`hua_3r`: `MixedInverseDynamics`": lambda h: control.MixedInverseDynamics(hua, [390.0, 56.0, 1400.0, 58.0]),
        "`hua_3r`: `FeedbackLinearization`": lambda h: control.FeedbackLinearization.from_numbers(hua, [-20.0], h),
        "`kuka_lwr`: `FeedforwardPD`": lambda h: control.FeedforwardPD(arm, [2000.0, 100.0]),
        "`dlr_lbr2`, complete rotors: `FeedforwardPD`": lambda h: control.FeedforwardPD(complete, [2000.0, 100.0]),
    }
    result = Table("controller", *(f"{kind}, {1e3 * h:g} ms" for kind in ("held", "mid-period") for h in periods))
    for name, law in laws.items():
        found: list[float] = []
        for middle in (False, True):
            for h in periods:
                made = control.MidPeriod(law(h), h) if middle else law(h)
                n, smoothness = made.robot.n, max(3, made.order - 1)
                motion = fj.trajectory.RestToRest(np.full(n, 0.1), np.full(n, 1.1), 2.0, smoothness=smoothness)
                run = fj.simulate(made.robot, made, motion, period=h, substeps=round(h / STEP))
                found.append(np.abs(run.error).max())
        result.add_row(name, *(f"{x:.1e}" for x in found))
    return result


# Table and figure -----------------------------------------------------------------------------------------------------


def shown(error: float | None) -> str:
    return "diverges" if error is None else f"{error:.1e}"


def table(found: dict[str, Any], name: str) -> Table:
    heads = [f"{kind}, {1e3 * h:g} ms" for kind in ("exact", "2 %") for h in PERIODS]
    result = Table("controller", *heads, "Nm/rad", "operations", title=f"{name}: largest error, rad")
    for label, row in found[name].items():
        cells = [shown(row["errors"][f"{h:g}"][k]) if row["errors"] else "" for k in (0, 1) for h in PERIODS]
        result.add_row(label.strip(), *cells, f"{row['Nm/rad']:.1e}", str(row["operations"]))
    return result


def plot(found: dict[str, Any], path: Path) -> None:
    """A row per robot: errors over the period with the exact model, and at two periods with 2 % of model errors."""
    figure = Figure(figsize=(13, 7.5), layout="constrained")
    axes = figure.subplots(2, 2, width_ratios=(1, 1))
    for (left, right), (name, rows) in zip(axes, found.items()):
        measured = {label: values for label, values in rows.items() if values["errors"]}
        for j, (label, values) in enumerate(measured.items()):
            line = "-" if "mid-period" in label else "--"
            style = {"color": f"C{j}", "linestyle": line, "marker": "osD^v<>PX"[j % 9]}
            points = [(1e3 * h, values["errors"][f"{h:g}"][0]) for h in PERIODS]
            points = [(h, error) for h, error in points if error is not None]
            left.loglog(*(np.transpose(points) if points else ([], [])), **style)
            for h, fill in ((PERIODS[0], "full"), (PERIODS[-1], "none")):
                error = values["errors"][f"{h:g}"][1]
                if error is not None:
                    marker = {"fillstyle": fill, "markersize": 7 if fill == "full" else 12}
                    right.semilogx(error, j, linestyle="", color=style["color"], marker=style["marker"], **marker)
            if all(values["errors"][f"{h:g}"][1] is None for h in PERIODS):
                right.text(1.2e-4, j, "leaves the motion at every period", va="center", fontsize=8, color=f"C{j}")
        left.set_title(f"{name}: exact model", fontsize=10)
        left.set_ylabel("largest link error, rad")
        left.set_xticks([1e3 * h for h in PERIODS], [f"{1e3 * h:g}" for h in PERIODS])
        left.grid(True, which="major", alpha=0.4)
        right.set_title(f"{name}: masses and stiffnesses off by 2 %", fontsize=10)
        right.set_yticks(range(len(measured)), measured, fontsize=8)
        for tick, j in zip(right.get_yticklabels(), range(len(measured))):
            tick.set_color(f"C{j}")
        right.set_xlim(1e-4, 3e-3)
        right.set_ylim(len(measured) - 0.5, -0.5)
        right.xaxis.set_minor_formatter(NullFormatter())
        right.grid(True, which="both", axis="x", alpha=0.4)
    axes[-1][0].set_xlabel("period, ms")
    axes[-1][1].set_xlabel("largest link error, rad; filled: period 1 ms, open: 0.1 ms")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.stiff_arms", description=__doc__)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of figure and JSON")
    parser.add_argument("--plot-only", action="store_true", help="only read the JSON of an earlier run")
    parser.add_argument("--mid-period", action="store_true", help="print the table of docs/control.md")
    arguments = parser.parse_args()
    if arguments.mid_period:
        Console(width=150).print(against_the_period())
        return
    file = arguments.output / "stiff_arms.json"
    if not arguments.plot_only:
        measure(file)
    found = json.loads(file.read_text())
    plot(found, arguments.output / "stiff_arms.png")
    for name in found:
        Console(width=150).print(table(found, name))


if __name__ == "__main__":
    main()
