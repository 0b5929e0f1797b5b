"""Inverse kinematics of six robots against Pinocchio and pink: `python -m benchmarks.inverse_kinematics`.

Needs `pip install pin-pink daqp`.  All solve the same random poses to 1e-10 m and rad within the same limits, from at
most ATTEMPTS random starts per pose, in one thread.  The peers are

    CLIK    Pinocchio's example of closed-loop inverse kinematics in Python: log6, Jlog6, damped least squares with a
            full step, clipped at the limits
    pink    one QP per step with the limits as inequalities, frame tasks of gain 1, solved by DAQP

both with the damping of our steps, which falls with the error: with a constant one they need up to 2.4 times longer.

Each starts at random postures within the limits and ends an attempt after STEPS steps, or when the error has not fallen
by 1 % in STALLED steps.  Times are processor times per pose, solved or not.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.table import Table

import flexjoint as fj

from .peers import pinocchio_model  # puts tests/ on the path

from support.arms import arms, poses, random_postures  # isort: skip
from support.pinocchio_model import pinocchio_order  # isort: skip

TOLERANCE, ATTEMPTS, STEPS, STALLED = 1e-10, 100, 30, 5
DAMPING, LEAST_DAMPING = 0.01, 1e-12  # per squared error, and always


class Peer:
    """A robot in Pinocchio, its frames, and random starts within its limits."""

    def __init__(self, robot: fj.Robot, links: list[str], seed: int):
        self.model = pinocchio_model(robot)
        self.data = self.model.createData()
        self.links, self.frames = links, [self.model.getFrameId(link) for link in links]
        limits = [robot.joint_limits[k] for k in pinocchio_order(robot)]
        self.lower, self.upper = (np.array([getattr(x, name) for x in limits]) for name in ("lower", "upper"))
        self.model.lowerPositionLimit, self.model.upperPositionLimit = self.lower, self.upper
        self.generator = np.random.default_rng(seed)

    def solve(self, goals: list[pin.SE3]) -> bool:
        """Whether a start was found that leads to the goals."""
        for _ in range(ATTEMPTS):
            q = self.generator.uniform(self.lower, self.upper)
            best, since = np.inf, 0
            for _ in range(STEPS):
                q, error = self.step(q, goals)
                if error <= TOLERANCE:
                    return True
                best, since = (error, 0) if error < 0.99 * best else (best, since + 1)
                if since >= STALLED:
                    break
        return False

    def step(self, q: np.ndarray, goals: list[pin.SE3]) -> tuple[np.ndarray, float]:
        """The next posture, and the largest error at this one, m or rad."""
        raise NotImplementedError


class Clik(Peer):
    """Closed-loop inverse kinematics over Pinocchio."""

    def step(self, q: np.ndarray, goals: list[pin.SE3]) -> tuple[np.ndarray, float]:
        model, data = self.model, self.data
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        errors, rows, worst = [], [], 0.0
        for frame, goal in zip(self.frames, goals):
            missing = data.oMf[frame].actInv(goal)
            error = pin.log6(missing).vector
            worst = max(worst, float(np.linalg.norm(missing.translation)), float(np.linalg.norm(error[3:])))
            errors.append(error)
            rows.append(pin.Jlog6(missing.inverse()) @ pin.getFrameJacobian(model, data, frame, pin.LOCAL))
        J, e = np.vstack(rows), np.concatenate(errors)
        damping = DAMPING * (e @ e) + LEAST_DAMPING
        dq = J.T @ np.linalg.solve(J @ J.T + damping * np.eye(len(e)), e)
        return np.clip(q + dq, self.lower, self.upper), worst


class Pink(Peer):
    """Differential inverse kinematics by pink."""

    def __init__(self, robot: fj.Robot, links: list[str], seed: int):
        super().__init__(robot, links, seed)
        import pink

        self.pink = pink
        costs = {"position_cost": 1.0, "orientation_cost": 1.0, "gain": 1.0, "lm_damping": DAMPING}
        self.tasks = [pink.FrameTask(link, **costs) for link in links]
        self.limits = [pink.limits.ConfigurationLimit(self.model, config_limit_gain=1.0)]

    def step(self, q: np.ndarray, goals: list[pin.SE3]) -> tuple[np.ndarray, float]:
        configuration = self.pink.Configuration(self.model, self.data, q, copy_data=False)
        worst = 0.0
        for task, goal in zip(self.tasks, goals):
            task.set_target(goal)
            error = task.compute_error(configuration)
            worst = max(worst, float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:])))
        options = {"solver": "daqp", "damping": LEAST_DAMPING, "limits": self.limits, "safety_break": False}
        try:
            velocity = self.pink.solve_ik(configuration, self.tasks, 1.0, **options)
        except self.pink.exceptions.NoSolutionFound:
            return q, np.inf
        return np.clip(q + velocity, self.lower, self.upper), worst


def timed(function: Callable[[], float]) -> tuple[float, float]:
    """Processor time of a call, and its result."""
    started = time.process_time()
    share = function()
    return time.process_time() - started, share


def measured(robot: fj.Robot, count: int, pink_count: int) -> list[str]:
    """A row of the table."""
    targets = poses(robot, random_postures(robot, count, 0))
    links = [str(target.link) for target in targets]
    goals = [[pin.SE3(target.pose.matrix[k]) for target in targets] for k in range(count)]
    singles = [[fj.kinematics.Target(x.pose[k], x.link) for x in targets] for k in range(count)]
    fj.inverse_kinematics(robot, targets), fj.inverse_kinematics(robot, singles[0])  # compiles

    def ours() -> float:
        return float(np.mean(fj.inverse_kinematics(robot, targets, attempts=ATTEMPTS).solved))

    def one_by_one() -> float:
        return float(np.mean([fj.inverse_kinematics(robot, x, attempts=ATTEMPTS).solved for x in singles]))

    batch = min(timed(ours) for _ in range(5))
    times = {"batch": (batch[0] / count, batch[1])}
    single = timed(one_by_one)
    times["single"] = single[0] / count, single[1]
    for name, kind, some in (("CLIK", Clik, count), ("pink", Pink, pink_count)):
        peer = kind(robot, links, 1)
        spent, share = timed(lambda peer=peer, some=some: float(np.mean([peer.solve(x) for x in goals[:some]])))
        times[name] = spent / some, share
    shown = [f"{1e6 * spent:.1f} µs, {100 * share:.1f} %" for spent, share in times.values()]
    ratios = [f"{times[name][0] / times['batch'][0]:.0f}" for name in ("CLIK", "pink")]
    return [robot.name, str(robot.n), *shown, " / ".join(ratios)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.inverse_kinematics", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="poses per robot")
    parser.add_argument("--pink", type=int, default=1000, help="of these for pink")
    parser.add_argument("--only", action="append", help="name of a robot; may be given several times")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    table = Table("robot", "joints", "batch", "one by one", "CLIK", "pink", "CLIK, pink / batch")
    for name, robot in arms().items():
        if not options.only or name in options.only:
            table.add_row(*measured(robot, options.count, min(options.pink, options.count)))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
