"""Every controller on robots it does not know exactly: `python -m benchmarks.uncertainty`, as in docs/control.md.

All link masses and stiffnesses of the 7R LWR are off by 20 %, up or down at random: 62 robots, all up, and all down.
2 s of motion through up to 0.6 rad, then 2 s at rest.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import flexjoint as fj

ROBOTS, ROWS = 64, 16
OFF = 0.2
GOAL = np.array([0.5, -0.4, 0.3, 0.6, -0.2, 0.4, 0.1])
LWR = fj.load("kuka_lwr")
RIGID = LWR.rigid()
D = np.array([5.0, 5.0, 5.0, 5.0, 2.0, 1.0, 0.5])


def laws() -> list[tuple[str, fj.Robot, Any, float]]:
    """What it is, the robot it acts on, the law, the period."""
    two, four = fj.control.gains_from_poles([-20.0] * 2), fj.control.gains_from_poles([-20.0] * 4)
    return [
        ("`MotorPD`, 2000, 100", LWR, fj.control.MotorPD(LWR, [2000.0, 100.0]), 1e-4),
        (
            "`FullStateFeedback`, 2000, 100, 1, 0.002",
            LWR,
            fj.control.FullStateFeedback(LWR, [2000.0, 100.0, 1.0, 0.002]),
            1e-4,
        ),
        (
            "`StructurePreserving`, 2000, 100, up to 5",
            LWR,
            fj.control.StructurePreserving(LWR, [2000.0, 100.0, D]),
            1e-4,
        ),
        ("`FeedforwardPD`, 2000, 100", LWR, fj.control.FeedforwardPD(LWR, [2000.0, 100.0]), 1e-4),
        ("`FeedbackLinearization`, poles at −20", LWR, fj.control.FeedbackLinearization(LWR, four, 1e-4), 1e-4),
        ("`ComputedTorque`, poles at −20, on the springs", LWR, fj.control.ComputedTorque(RIGID, two), 1e-4),
        ("`PassivityControl`, 20, 40, on the springs", LWR, fj.control.PassivityControl(RIGID, 20.0, 40.0), 1e-4),
        ("`ComputedTorque`, poles at −20, rigid robot", RIGID, fj.control.ComputedTorque(RIGID, two), 1e-3),
        ("`PassivityControl`, 20, 40, rigid robot", RIGID, fj.control.PassivityControl(RIGID, 20.0, 40.0), 1e-3),
        (
            "`AdaptiveControl`, 20, 40, 0.1, rigid robot",
            RIGID,
            fj.control.AdaptiveControl(RIGID, 20.0, 40.0, 0.1, 1e-3, RIGID),
            1e-3,
        ),
    ]


def varied(robot: fj.Robot) -> dict[str, np.ndarray]:
    """The first robot is the one the law knows, then all parameters up, all down, and a mix."""
    masses = [f"{link.name}.mass" for link in robot.links if link.mass]
    stiffnesses = [f"{joint.name}.drive.stiffness" for joint in robot.joints] if any(robot.compliant) else []
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (ROBOTS + 1, 14))
    signs[:3] = np.array([[0.0], [1.0], [-1.0]])
    known = fj.robot.robot_parameters(robot)
    return {path: known[path].value * (1 + OFF * signs[:, k]) for k, path in enumerate([*masses, *stiffnesses])}


def study() -> Table:
    table = Table("law", "largest error, rad", "at the end", "exact model: largest", "at the end", "diverged")
    motion = fj.trajectory.RestToRest(np.zeros(7), GOAL, 2.0)
    for name, robot, law, period in track(laws(), transient=True):
        free, found = varied(robot), []
        for first in range(0, ROBOTS + 1, ROWS):
            rows = {path: x[first : first + ROWS] for path, x in free.items()}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run = fj.simulate(robot, law, motion, 4.0, period=period, free=rows, check=False, threads=2)
            errors = np.abs(run.q - run.reference)
            found.append(np.stack([np.nanmax(errors, axis=(1, 2)), np.max(errors[:, -1], axis=1), run.diverged]))
        largest, final, diverged = np.concatenate(found, axis=1)
        lost = int(diverged[1:].sum())
        cells = [f"{x[1:].max():.2g}" if not lost else "" for x in (largest, final)]
        table.add_row(name, *cells, f"{largest[0]:.2g}", f"{final[0]:.2g}", f"{lost} of {ROBOTS}")
    return table


if __name__ == "__main__":
    Console(width=140).print(study())
