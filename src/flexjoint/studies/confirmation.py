"""Tells samples whose integrator failed from samples whose control failed, by simulating them again with shorter steps.

The period of the controller stays, so what a shorter step changes is the integrator's doing.  The step is halved until
it passes twice in succession, or fails four times: a step that is far too long, for a stiff contact say, fails at its
half too.  None of these steps may exceed half the stability limit of the linearized robot.  What they agree on is what
the robot does:

| the study says | shorter steps say | outcome |
|---|---|---|
| failed, its step was stable | failed | control failed |
| failed | passed | integrator failed |
| passed | failed | integrator failed |
| the step was too long | anything | integrator failed |
| anything | the model gives no finite number, or they do not agree | integrator failed, unknown what the robot does |

A model that gives no finite number: a state of less than `CALM` left all bounds within one period, though its torque
was at most `SUDDEN` times what it had been.  Control that fails grows first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..checks import whole
from ..errors import InputError, shown
from ..results.columns import Column
from ..simulation.result import Simulation
from ..simulation.simulate import simulate
from ..types import FloatArray
from .block_run import cores
from .error_summary import ERRORS, error_summary
from .experiment import slices
from .loop_setup import batch_rows
from .monte_carlo import MonteCarlo
from .sample_columns import CONTROL_FAILED, INTEGRATOR_FAILED, OUTCOME, PASSED, SampleColumns
from .sample_table import SampleTable

OWNER = "confirm_outcomes"
CALM = 1e3  # rad, m, rad/s, m/s
SUDDEN = 100
SURE = 0.5  # of the longest stable step
UNKNOWN, GOOD, BAD, NO_NUMBER = -1, 0, 1, 2  # what a run says of its sample
AGREEING = np.array([1, 3, 0, 0])  # halvings that must agree with the run before, by what they say


@dataclass(frozen=True, eq=False, repr=False)
class ConfirmedOutcomes:
    """Outcomes of the samples of a study, decided by shorter steps.

    Args:
        study: The study.
        outcome: "passed", "control failed" or "integrator failed", (s,).
        reason: Why, as text, (s,); "" if a sample passed.
        robot_fails: What the robot does with a step that is short enough, (s,): 0 passes, 1 fails, -1 unknown.
        refined: Factor by which the step was shortened, (s,); 1 where it was not.
        errors: `largest`, `rms`, `final`, (s, n), `ended` and `joint`, (s,), with that step.
    """

    study: MonteCarlo
    outcome: np.ndarray
    reason: np.ndarray
    robot_fails: np.ndarray
    refined: np.ndarray
    errors: Mapping[str, np.ndarray]

    def __repr__(self) -> str:
        counts = [f"{np.count_nonzero(self.outcome == x)} {x}" for x in (PASSED, CONTROL_FAILED, INTEGRATOR_FAILED)]
        return f"<ConfirmedOutcomes of {self.study.robot.name}: {', '.join(counts)}>"

    def sample_columns(self) -> SampleColumns:
        """Columns of the samples as the robot behaves: errors of shorter steps, integrator failed only if unknown.

        `summarize`, `quantiles` and `failure_probability` take these.
        """
        own = SampleColumns.of(self.study)
        found, joints = dict(own.columns), self.study.robot.joints
        for kind in ERRORS:
            found |= {f"{kind}.{x.name}": self.errors[kind][:, i] for i, x in enumerate(joints)}
        names = np.array(["", *(x.name for x in joints)])
        found |= {"ended": self.errors["ended"], "diverged": names[self.errors["joint"] + 1]}
        said = np.array([PASSED, CONTROL_FAILED, INTEGRATOR_FAILED])
        return SampleColumns(found | {OUTCOME: said[self.robot_fails]}, own.units, self.study.limit)

    def columns(self) -> list[Column]:
        """Columns of a file: those of the study, and outcome, reason, robot_fails and refined."""
        more = {name: getattr(self, name) for name in ("outcome", "reason", "robot_fails", "refined")}
        return [*SampleTable(self.study).columns(), *(Column(name, "", x) for name, x in more.items())]

    def arrays(self) -> dict[str, Any]:
        """The columns by name."""
        return {column.name: column.values for column in self.columns()}


class Trial(NamedTuple):
    """Runs of some samples with shorter steps: what each says, (m,), and its errors."""

    says: np.ndarray
    errors: dict[str, np.ndarray]


def confirm_outcomes(
    study: MonteCarlo,
    controller: Any,
    reference: Any,
    duration: float | None = None,
    *,
    seed: int = 0,
    every: bool = False,
    finest: int = 64,
    threads: int | None = None,
    progress: Callable[[int], Any] = lambda samples: None,
    **options: Any,
) -> ConfirmedOutcomes:
    """Outcomes of a study, decided by simulating its failed samples again with shorter steps.

    Args:
        study: What `monte_carlo` returned.
        controller, reference, duration, seed: Those of the study.
        every: Whether samples that passed are simulated again too; by default only those that failed.
        finest: Largest factor by which a step is shortened, a power of two; default 64.
        threads: Number of threads; default all cores.
        progress: Called with the number of samples that were decided; by default nothing.
        options: Those of the study: period, substeps, sensors and so on.

    Returns:
        ConfirmedOutcomes, which `failure_probability`, `quantiles` and `summarize` take.

    Raises:
        InputError: An argument is out of range, or is not that of the study: a sample is not reproduced.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> law = fj.control.FeedforwardPD(robot, [400.0, 40.0])
        >>> motion = fj.trajectory.RestToRest([0.0] * 3, [0.4, -0.3, 0.2], 0.05)
        >>> study = fj.studies.monte_carlo(robot, law, motion, samples=8, vary={"payload": "0..1"}, limit=0.1)
        >>> fj.studies.confirm_outcomes(study, law, motion)
        <ConfirmedOutcomes of hua_3r: 3 passed, 5 control failed, 0 integrator failed>
    """
    if not isinstance(study, MonteCarlo):
        raise InputError(f"{OWNER}: study is {shown(study)}; give what monte_carlo returns")
    whole(OWNER, "finest", finest, least=2)
    if finest & (finest - 1):
        raise InputError(f"{OWNER}: finest is {finest}; it must be a power of two: 2, 4, 8, ...")
    count = cores() if threads is None else whole(OWNER, "threads", threads, least=1)
    given = {**options, "check": False, "threads": count, "seed": seed}
    trial = Trials(study, (controller, reference, duration), given)
    says = np.where(study.diverged | beyond(study.largest, study.limit), BAD, GOOD)
    original, stiff = says.copy(), study.integrator_failed
    says[stiff] = UNKNOWN
    suspects = np.arange(says.size) if every else np.flatnonzero(study.failed)
    trial.check_reproduced(suspects[:1])
    errors = {name: getattr(study, name).copy() for name in (*ERRORS, "ended", "joint")}
    refined, first = np.ones(says.size, dtype=int), first_factors(study)
    pending, factor = suspects, 2
    decided = np.isin(np.arange(says.size), suspects, invert=True)
    agreed = np.zeros(says.size, dtype=int)  # how often in succession
    while pending.size and factor <= finest:
        rows = pending[first[pending] <= factor]
        if rows.size:
            found = trial.run(rows, factor)
            agreed[rows] = np.where(found.says == says[rows], agreed[rows] + 1, 0)
            decided[rows] = agreed[rows] >= AGREEING[found.says]
            says[rows], refined[rows] = found.says, factor
            for name, x in found.errors.items():
                errors[name][rows] = x
            progress(int(decided[rows].sum()))
        pending, factor = pending[~decided[pending]], 2 * factor
    fails = np.where(decided & (says != NO_NUMBER), says, UNKNOWN)
    outcome = np.where(fails == original, np.array([PASSED, CONTROL_FAILED])[original], INTEGRATOR_FAILED)
    outcome = np.where(stiff, INTEGRATOR_FAILED, outcome)
    texts = np.array(reasons(study, original, says, decided))
    return ConfirmedOutcomes(study, outcome, texts, fails, refined, errors)


def first_factors(study: MonteCarlo) -> np.ndarray:
    """First factor, a power of two, that makes the step of each sample surely stable, (s,); 2 at least."""
    ratio = study.step / (SURE * study.longest_step)  # 0 where the limit is infinite
    return np.asarray(2 ** np.ceil(np.log2(np.maximum(ratio, 2.0))).astype(int))


def reasons(study: MonteCarlo, original: np.ndarray, says: np.ndarray, decided: np.ndarray) -> list[str]:
    """Why a sample has its outcome, in words."""
    joints, found = study.robot.joints, []
    for k, (before, now) in enumerate(zip(original, says)):
        stiff, joint = study.stiff_joint[k], study.joint[k]
        verb = f"{joints[joint].name} diverges" if joint >= 0 else "the error exceeds the limit"
        if now == NO_NUMBER:
            text = "the model gives no finite number"
        elif stiff >= 0:
            text = f"step too long for {joints[stiff].name}: stable up to {study.longest_step[k]:.3g} s"
        elif not decided[k]:
            text = "shorter steps do not agree"
        elif before != now:
            text = f"{verb} only with this step" if before == BAD else "fails with a shorter step"
        else:
            text = verb if before == BAD else ""
        found.append(text)
    return found


def beyond(largest: FloatArray, limit: float | None) -> np.ndarray:
    """Mask of the samples with an error above the limit, (s,)."""
    return np.zeros(len(largest), dtype=bool) if limit is None else np.max(largest, axis=1) > limit


class Trials(NamedTuple):
    """A study whose samples are simulated again.

    Args:
        study: The study.
        task: Controller, reference and duration.
        options: Of `simulate`.
    """

    study: MonteCarlo
    task: tuple[Any, Any, float | None]
    options: Mapping[str, Any]

    def run(self, rows: np.ndarray, factor: int) -> Trial:
        """Samples in these rows with a step that is shorter by a factor."""
        steps = max(round(self.study.ended.max() / self.study.step), 1)
        parts = [
            self.batch(rows[part], factor)
            for part in slices(rows.size, batch_rows(self.study.robot, steps))
        ]
        says, errors = zip(*parts)
        return Trial(np.concatenate(says), {name: np.concatenate([x[name] for x in errors]) for name in errors[0]})

    def batch(self, rows: np.ndarray, factor: int) -> Trial:
        """Samples that fit into memory."""
        study, (controller, reference, duration) = self.study, self.task
        free = dict(zip(study.names, study.parameters[rows].T))
        given = {**self.options, "free": free, "row": study.samples[rows], **self.shorter(factor)}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".* diverged; joint .*", UserWarning)
            run = simulate(study.robot, controller, reference, duration, **given)
        errors = error_summary(run)
        failed = run.diverged | beyond(errors["largest"], study.limit)
        return Trial(np.where(no_number(run), NO_NUMBER, np.where(failed, BAD, GOOD)), errors)

    def shorter(self, factor: int) -> dict[str, Any]:
        """Options of a shorter step: more substeps; in continuous time, where a period is a step, a shorter period."""
        if self.options.get("hold", True):
            return {"substeps": self.options.get("substeps", 1) * factor}
        return {"period": self.study.step / factor}

    def check_reproduced(self, rows: np.ndarray) -> None:
        """Raise InputError if a sample has other errors than in the study, so that controller or options are others."""
        for row in rows:
            again = self.batch(np.array([row]), 1).errors["largest"][0]
            if not np.array_equal(again, self.study.largest[row]):
                raise InputError(
                    f"{OWNER}: sample {self.study.samples[row]} is not reproduced: its largest errors were "
                    f"{self.study.largest[row].tolist()}, now they are {again.tolist()}; give controller, reference, "
                    "duration, seed and options of the study"
                )


def no_number(run: Simulation) -> np.ndarray:
    """Mask of the runs whose model gave no finite number, (rows,): calm until a period in which it left all bounds."""
    found = np.zeros(len(run.joint), dtype=bool)
    for row in np.flatnonzero(run.diverged):
        k = int(run.periods[row])
        state = max(float(np.abs(x[row, k]).max()) for x in (run.q, run.v, run.theta, run.theta_v))
        before = float(np.abs(run.tau[row, :k]).max(initial=0.0))
        found[row] = k > 0 and state < CALM and float(np.abs(run.tau[row, k]).max()) <= SUDDEN * before
    return found
