"""Search for gains over a grid that are best for uncertain robots, with the same robots for all gains."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import finite, whole
from ..control.base import Controller
from ..errors import InputError, listed, shown, warn
from ..html import table
from ..results.columns import Column
from ..robot import Robot
from ..tables import quantity
from ..types import FloatArray
from .error_summary import merit_text
from .experiment import Evaluation, Experiment, Progress
from .intervals import CONFIDENCE, level_text, probability_interval, quantile_interval, share

OWNER = "gain_search"
FAILURES = "failures"
MOST_POINTS = 100_000


@dataclass(frozen=True, eq=False, repr=False)
class GainSearch:
    """A robust objective over a grid of gains.

    Args:
        robot: The robot whose parameters vary.
        of: The figure of merit.
        unit: Its unit, "" without one.
        grid: Values of each gain by name.
        level: Level of the quantile that is the objective; None if it is the failure probability.
        quantile: Quantile of the figure of merit, one axis per gain; infinite where too many runs diverge, NaN where
            the search was interrupted before.
        low, high: Confidence interval of the objective, like `quantile`.
        failures: Share of failures, like `quantile`.
        samples: Number of robots, the same for all gains.
        unknown: Number of them whose step is too long; they were left out.
        confidence: Of the intervals.
    """

    robot: Robot
    of: str
    unit: str
    grid: Mapping[str, FloatArray]
    level: float | None
    quantile: FloatArray
    low: FloatArray
    high: FloatArray
    failures: FloatArray
    samples: int
    unknown: int
    confidence: float

    def __repr__(self) -> str:
        ending = "" if self.complete else ", complete=False"
        return f"<GainSearch over {self.quantile.size} gains: {self.paste} is best, {self.text}{ending}>"

    def _repr_html_(self) -> str:
        rows = [[f"{x:.5g}" for x in row] for row in zip(*(column.values for column in self.columns()))]
        return table(rows[:20], [column.name for column in self.columns()], caption=f"{self.paste}: {self.text}")

    @property
    def objective(self) -> FloatArray:
        """What is made small, one axis per gain."""
        return self.failures if self.level is None else self.quantile

    @property
    def aim(self) -> str:
        """The objective in words."""
        return (
            "failure probability"
            if self.level is None
            else f"{level_text(self.level)} quantile of the {merit_text(self.of)}"
        )

    @property
    def order(self) -> np.ndarray:
        """Places in the flattened grid, the best gains first; the other number decides among equal objectives."""
        other = self.quantile if self.level is None else self.failures
        return np.lexsort([other.ravel(), self.objective.ravel()])  # NaN last

    @property
    def place(self) -> tuple[int, ...]:
        """Place of the best gains in the grid."""
        return tuple(int(x) for x in np.unravel_index(self.order[0], self.objective.shape))

    @property
    def best(self) -> dict[str, float]:
        """The best gains by name."""
        return {name: float(values[k]) for (name, values), k in zip(self.grid.items(), self.place)}

    @property
    def paste(self) -> str:
        """The best gains as keyword arguments, ready to paste."""
        return ", ".join(f"{name}={value!r}" for name, value in self.best.items())

    @property
    def text(self) -> str:
        """The objective of the best gains, with its interval, in words."""
        x, low, high = (float(array[self.place]) for array in (self.objective, self.low, self.high))
        best = quantity(x, "" if self.level is None else self.unit, 4)
        return f"{self.aim} {best} ({quantity(low, digits=4)} to {quantity(high, digits=4)})"

    @property
    def edges(self) -> list[str]:
        """Names of gains whose best value is at an end of the grid, beyond which there may be better ones."""
        pairs = zip(self.grid.items(), self.place)
        return [name for (name, values), k in pairs if len(values) > 1 and k in (0, len(values) - 1)]

    @property
    def complete(self) -> bool:
        """Whether all gains were tried; False after an interruption."""
        return not np.any(np.isnan(self.failures))

    def columns(self) -> list[Column]:
        """Columns of a file: one row per set of gains."""
        points = np.meshgrid(*self.grid.values(), indexing="ij")
        found = [Column(name, "", x.ravel()) for name, x in zip(self.grid, points)]
        level = "quantile" if self.level is None else f"quantile_{100 * self.level:g}"
        numbers = {level: self.quantile, "failures": self.failures, "objective_low": self.low}
        numbers |= {"objective_high": self.high}
        return found + [Column(name, self.unit if name == level else "", x.ravel()) for name, x in numbers.items()]

    def arrays(self) -> dict[str, Any]:
        """The columns by name."""
        return {column.name: column.values for column in self.columns()}


def gain_search(
    robot: Robot,
    controller: Callable[..., Controller],
    reference: Any,
    duration: float | None = None,
    *,
    grid: Mapping[str, Sequence[float]],
    samples: int,
    vary: Mapping[str, str],
    of: Any = "largest",
    objective: float | str = 0.95,
    limit: float | None = None,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    threads: int | None = None,
    progress: Progress = lambda runs: None,
    **options: Any,
) -> GainSearch:
    """A robust objective for every point of a grid of gains, with the same robots and the same noise for all of them.

    Args:
        robot: The nominal robot.
        controller: Function from the gains, by name, to a controller:
            lambda K_P, K_D: fj.control.FeedforwardPD(robot, [K_P, K_D]).
        reference: A Trajectory or a constant, as for `simulate`.
        duration: Of a run, s; default that of the reference.
        grid: Values of each gain by name; all combinations are tried.
        samples: Number of robots.
        vary: Variation by path or pattern of parameters, as for `monte_carlo`; the robots are those of `monte_carlo`.
        of: Figure of merit, larger is worse, as for `worst_case`; default "largest".
        objective: Level of the quantile of the figure of merit that is made small, default 0.95; or "failures": the
            probability of a failure, and the 0.95 quantile among gains with equally many failures.
        limit: Error above which a run fails, rad or m; by default only divergence is a failure.
        seed: Of the samples and the noise; default 0.
        confidence: Of the intervals; default 0.95.
        threads: Number of threads; default all cores.
        progress: Called with the number of runs after each batch; by default nothing.
        options: Further options of `simulate`, such as period, sensors or contact.

    Returns:
        A GainSearch.  After Ctrl-C it has the gains that were finished.

    Raises:
        InputError: An argument is out of range, or the step is too long for every robot.

    Gains that make the loop unstable are not refused: their runs diverge, so they fail.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> motion = fj.trajectory.RestToRest([0.0] * 3, [0.4, -0.3, 0.2], 0.05)
        >>> law = lambda K_P, K_D: fj.control.FeedforwardPD(robot, [K_P, K_D])
        >>> grid = {"K_P": [200.0, 400.0], "K_D": [20.0, 40.0]}
        >>> fj.studies.gain_search(robot, law, motion, grid=grid, samples=8, vary={"payload": "0..1"}).best
        {'K_P': 400.0, 'K_D': 40.0}
    """
    count = whole(OWNER, "samples", samples, least=1)
    confidence = share(OWNER, "confidence", confidence)
    level = None if objective == FAILURES else share(OWNER, "objective", objective)
    values = checked_grid(grid)
    points = [dict(zip(values, x)) for x in itertools.product(*(x.tolist() for x in values.values()))]
    laws = [made(controller, point) for point in points]
    experiment = Experiment.of(
        OWNER, robot, laws[0], reference, duration,
        vary=vary, of=of, limit=limit, seed=seed, threads=threads, options=options,
    )  # fmt: skip
    drawn = experiment.plan.variations.draw(experiment.plan.seed, 0, count)
    found: list[Evaluation] = []
    try:
        for law in laws:
            found.append(experiment.run(drawn, np.arange(count), controller=law, progress=progress))
            if np.all(found[0].unknown):
                raise InputError(f"{OWNER}: {experiment.too_long(found[0])}")
    except KeyboardInterrupt:
        if not found:
            raise
        warn(f"{OWNER} was interrupted after {len(found)} of {len(laws)} gains: better ones may exist")
    experiment.warn_of_steps(found[0], "they were left out for all gains")
    rows = [judged(x, level, confidence) for x in found]
    rows += [(np.nan,) * 4] * (len(points) - len(rows))
    quantile, low, high, failures = np.array(rows).T.reshape(4, *(len(x) for x in values.values()))
    merit, lost = experiment.merit, int(found[0].unknown.sum())
    varied, arrays = experiment.plan.variations.robot, (quantile, low, high, failures)
    return GainSearch(varied, merit.name, merit.unit, values, level, *arrays, count, lost, confidence)


def judged(found: Evaluation, level: float | None, confidence: float) -> tuple[float, ...]:
    """Quantile, interval of the objective, and share of failures, of the runs whose step is short enough."""
    known = ~found.unknown
    quantile = quantile_interval(found.merit[known], 0.95 if level is None else level, confidence)
    failures = probability_interval(int(found.failed[known].sum()), int(known.sum()), confidence)
    objective = failures if level is None else quantile
    return quantile.value, objective.low, objective.high, failures.value


def checked_grid(grid: Any) -> dict[str, FloatArray]:
    """Values of each gain by name, each once."""
    if not isinstance(grid, Mapping) or not grid or not all(isinstance(x, str) for x in grid):
        raise InputError(f"{OWNER}: grid is {shown(grid)}; give values by name, such as {{'K_P': [100.0, 200.0]}}")
    values = {name: np.atleast_1d(finite(OWNER, f"grid[{name!r}]", x)) for name, x in grid.items()}
    for name, x in values.items():
        if x.ndim != 1 or not x.size or np.unique(x).size != x.size:
            raise InputError(f"{OWNER}: grid[{name!r}] is {shown(x.tolist())}; give a list of values, each once")
    size = int(np.prod([x.size for x in values.values()]))
    if size > MOST_POINTS:
        raise InputError(f"{OWNER}: the grid has {size} points; the largest has {MOST_POINTS}")
    return values


def made(controller: Any, point: Mapping[str, float]) -> Controller:
    """The controller with these gains."""
    if not callable(controller) or isinstance(controller, Controller):
        what = "lambda K_P, K_D: fj.control.FeedforwardPD(robot, [K_P, K_D])"
        raise InputError(f"{OWNER}: controller is {shown(controller)}; give a function from the gains to it: {what}")
    try:
        law = controller(**point)
    except TypeError as error:
        names = listed(point)
        raise InputError(f"{OWNER}: controller does not take the gains {names} of the grid: {error}") from error
    if not isinstance(law, Controller):
        raise InputError(f"{OWNER}: controller gave {shown(law)}; it must return a Controller")
    return law
