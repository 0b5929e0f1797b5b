"""Search for the robot with the worst figure of merit within the ranges of the variations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import whole
from ..errors import InputError, warn
from ..html import table
from ..results.columns import Column
from ..robot import Robot
from ..robot.parameters import robot_parameters
from ..tables import quantity
from ..types import FloatArray
from .error_summary import merit_text
from .experiment import Evaluation, Experiment, Progress
from .global_search import maximize

OWNER = "worst_case"
DIVERGED = 1e200  # divided by 1 + time in s: above every figure of merit, and the sooner the worse


@dataclass(frozen=True, eq=False, repr=False)
class WorstCase:
    """The worst robot that was found.

    Args:
        robot: The robot whose parameters vary, with the payload as its last link if it varies.
        of: The figure of merit.
        unit: Its unit, "" without one.
        names: Paths of the varied numbers, d of them.
        parameters: Those of the worst robot (d,), in their units.
        nominal: Those of the nominal robot (d,).
        low, high: Ranges of the variations (d,); of a normal one up to three standard deviations.
        value: Figure of merit of the worst robot; infinite if it diverged.
        nominal_value: That of the nominal robot.
        joint: Joint that diverged, -1 if none did.
        ended: When the run of the worst robot ended, s.
        history: Number of runs, and the worst figure of merit until then, (k, 2).
        runs: Number of simulations.
        unknown: Number of them whose step was too long; they were left out.
        complete: False after an interruption.
        seed: Of the search, and of the noise of the sensors.
    """

    robot: Robot
    of: str
    unit: str
    names: tuple[str, ...]
    parameters: FloatArray
    nominal: FloatArray
    low: FloatArray
    high: FloatArray
    value: float
    nominal_value: float
    joint: int
    ended: float
    history: FloatArray
    runs: int
    unknown: int
    complete: bool
    seed: int

    def __repr__(self) -> str:
        return f"<WorstCase of {self.robot.name}: {self.text}{'' if self.complete else ', complete=False'}>"

    def _repr_html_(self) -> str:
        rows = [[x, f"{y:.5g}", f"{100 * z:.0f} %"] for x, y, z in zip(self.names, self.parameters, self.places)]
        return table(rows, ["parameter", "value", "place in its range"], caption=self.text)

    @property
    def text(self) -> str:
        """What was found, in a line."""
        found = f"{merit_text(self.of)} {quantity(self.value, self.unit, 4)}"
        if self.joint >= 0:
            found = f"{self.robot.joints[self.joint].name} diverged at {self.ended:.3g} s"
        nominal = quantity(self.nominal_value, self.unit, 4)
        return f"{found} in {self.runs} runs; the nominal robot has {nominal}"

    @property
    def free(self) -> dict[str, float]:
        """The worst robot as `simulate` takes it: simulate(worst.robot, ..., free=worst.free, seed=worst.seed, row=0).

        With the same controller, reference and options that run is bit-identical to the one that was found.
        """
        return dict(zip(self.names, self.parameters.tolist()))

    @property
    def places(self) -> FloatArray:
        """Where in its range each parameter is, (d,): 0 at its low end, 1 at its high end."""
        return np.asarray((self.parameters - self.low) / (self.high - self.low))

    def columns(self) -> list[Column]:
        """Columns of a file: one row per parameter."""
        known = robot_parameters(self.robot)
        units = [known[x if x in known else x.rsplit(".", 1)[0]].unit for x in self.names]
        found = [Column("parameter", "", np.array(self.names)), Column("unit", "", np.array(units))]
        return (
            found
            + [Column(x, "", getattr(self, x)) for x in ("nominal", "low", "high")]
            + [Column("worst", "", self.parameters)]
        )

    def arrays(self) -> dict[str, Any]:
        """The columns by name."""
        return {column.name: column.values for column in self.columns()}


def worst_case(
    robot: Robot,
    controller: Any,
    reference: Any,
    duration: float | None = None,
    *,
    runs: int,
    vary: Mapping[str, str],
    of: Any = "largest",
    limit: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = lambda runs: None,
    **options: Any,
) -> WorstCase:
    """The robot with the worst figure of merit within the ranges of the variations, by a seeded global search.

    Args:
        robot: The nominal robot, which the controller knows.
        controller: A Controller, or a function in Python, as for `simulate`.
        reference: A Trajectory or a constant, as for `simulate`.
        duration: Of a run, s; default that of the reference.
        runs: Number of simulations at most.
        vary: Variation by path or pattern of parameters, as for `monte_carlo`; of a normal one the range is three
            standard deviations to each side.
        of: Figure of merit, larger is worse: "largest" (default), "rms" or "final": this error, the largest over the
            joints; "largest.joint1" and so on: of one joint; or a function from a Simulation, a batch of runs, to one
            number per run.
        limit: Error above which a run fails, rad or m, for of="failed"; default none.
        seed: Of the search and the noise; default 0.  The same seed gives the same robot.
        threads: Number of threads; default all cores.
        progress: Called with the number of runs after each batch; by default nothing.
        options: Further options of `simulate`, such as period, sensors or contact.

    Returns:
        A WorstCase.  After Ctrl-C it is the worst robot until then.

    Raises:
        InputError: An argument is out of range, or the step is too long for every robot that was tried.

    The search is no proof: the worst robot is at least as bad as the one found.  A robot that diverges is worse than
    any other.  Robots whose step is too long are left out, with a warning.  All runs have the same noise.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> law = fj.control.FeedforwardPD(robot, [400.0, 40.0])
        >>> motion = fj.trajectory.RestToRest([0.0] * 3, [0.4, -0.3, 0.2], 0.05)
        >>> fj.studies.worst_case(robot, law, motion, runs=32, vary={"payload": "0..1"}).places.round(2)
        array([1.])
    """
    count = whole(OWNER, "runs", runs, least=8)
    experiment = Experiment.of(
        OWNER, robot, controller, reference, duration,
        vary=vary, of=of, limit=limit, seed=seed, threads=threads, options=options,
    )  # fmt: skip
    variations = experiment.plan.variations
    low, high = variations.ends
    nominal = np.concatenate([np.ravel(x.value) for x in variations.parameters])
    ours = experiment.run(nominal[None], check=True, progress=progress)
    tried: list[tuple[FloatArray, Evaluation]] = []

    def scores(u: FloatArray) -> FloatArray:
        values = np.clip(low + u * (high - low), low, high)
        tried.append((values, experiment.run(values, progress=progress)))
        return score(tried[-1][1])

    found = maximize(scores, len(nominal), count - 1, seed)
    every = Evaluation(*map(np.concatenate, zip(*(x for _, x in tried))))
    experiment.warn_of_steps(every, "they were left out of the search")
    if found.value == -np.inf:
        raise InputError(f"{OWNER}: {experiment.too_long(every)}")
    if found.interrupted:
        warn(f"{OWNER} was interrupted after {1 + every.merit.size} of {count} runs: a worse robot may exist")
    k = int(np.argmax(score(every)))
    history = np.add(found.history, [1.0, 0.0])  # the nominal robot came first
    history[history[:, 1] > np.sqrt(DIVERGED), 1] = np.inf
    return WorstCase(
        variations.robot, experiment.merit.name, experiment.merit.unit, variations.names,
        np.concatenate([x for x, _ in tried])[k], nominal, low, high, float(every.merit[k]), float(ours.merit[0]),
        int(every.joint[k]), float(every.ended[k]), history, 1 + every.merit.size, int(every.unknown.sum()),
        not found.interrupted, experiment.plan.seed,
    )  # fmt: skip


def score(found: Evaluation) -> FloatArray:
    """What the search makes large: the figure of merit, more if a run diverged early, -inf if its step is too long."""
    value = np.where(found.joint >= 0, DIVERGED / (1 + found.ended), found.merit)
    return np.where(found.unknown, -np.inf, value)
