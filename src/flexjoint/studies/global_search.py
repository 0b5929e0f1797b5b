"""The largest value of a function on the unit cube, by batches: differential evolution, then a pattern search.

Differential evolution [Storn] moves every point of a population by differences of others, and keeps what is larger.
Points outside are moved to the boundary, where extremes of uncertain parameters often lie.  The pattern search then
looks in both directions along every axis, and halves its step where nothing is larger.  Only additions, products and
comparisons decide: the path is the same on every processor if the values are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..types import FloatArray

POPULATION, GENERATIONS = (16, 128), 30  # least and most points, as many as give so many generations
SHARE = 0.7  # of the evaluations for the population
LONGEST, SHORTEST = 0.1, 1e-4  # steps of the pattern search
Function = Callable[[FloatArray], FloatArray]


class Found(NamedTuple):
    """The largest value, where it is, and how it was found.

    Args:
        point: (d,), in [0, 1].
        value: Its value.
        history: Largest value after so many evaluations, (k, 2).
        interrupted: Whether the search ended by Ctrl-C.
    """

    point: FloatArray
    value: float
    history: FloatArray
    interrupted: bool


class Search:
    """Counts evaluations and keeps the best point."""

    def __init__(self, function: Function, evaluations: int):
        self.function, self.left = function, evaluations
        self.point, self.value, self.done = np.zeros(0), -np.inf, 0
        self.history: list[tuple[int, float]] = []

    def __call__(self, points: FloatArray) -> FloatArray:
        """Values of as many of the points as evaluations are left."""
        points = points[: self.left]
        values = self.function(points) if len(points) else np.zeros(0)
        self.left -= len(points)
        self.done += len(points)
        if values.size and (values.max() > self.value or not self.point.size):
            k = int(values.argmax())
            self.point, self.value = points[k].copy(), float(values[k])
        self.history.append((self.done, self.value))
        return values


def maximize(function: Function, dimensions: int, evaluations: int, seed: int) -> Found:
    """The largest value of a function on the unit cube.

    Args:
        function: From points (m, d) to values (m,); -inf where a point is not allowed.
        dimensions: d.
        evaluations: Of the function, at most.
        seed: Of the random numbers.
    """
    search = Search(function, evaluations)
    interrupted = False
    try:
        evolve(search, dimensions, evaluations - int(SHARE * evaluations), seed)
        refine(search)
    except KeyboardInterrupt:
        interrupted = True
        if not search.done:
            raise
    return Found(search.point, search.value, np.array(search.history), interrupted)


def evolve(search: Search, d: int, keep: int, seed: int) -> None:
    """Differential evolution until `keep` evaluations are left."""
    generator = np.random.Generator(np.random.Philox(key=seed, counter=2 << 128))
    size = int(np.clip((search.left - keep) // GENERATIONS, *POPULATION))
    points = generator.random((size, d))
    values = search(points)
    points = points[: len(values)]
    while search.left - len(points) >= keep and len(points) >= 4:
        others = np.argsort(generator.random((len(points), len(points))), axis=1)[:, :3]
        x, y, z = (points[others[:, k]] for k in range(3))
        factor = 0.5 + 0.5 * generator.random((len(points), 1))
        toward = generator.random((len(points), 1)) < 0.5  # half of them start from the best point
        moved = np.where(toward, search.point, x) + factor * (y - z)
        taken = generator.random(points.shape) < 0.9
        taken[np.arange(len(points)), generator.integers(d, size=len(points))] = True
        trials = np.clip(np.where(taken, moved, points), 0.0, 1.0)
        found = search(trials)
        better = np.flatnonzero(found >= values[: len(found)])
        points[better], values[better] = trials[better], found[better]


def refine(search: Search) -> None:
    """Pattern search from the best point until its step is short or no evaluation is left."""
    step, d = LONGEST, len(search.point)
    while step >= SHORTEST and search.left:
        before, value = search.point, search.value
        around = np.clip(before + step * np.vstack([np.eye(d), -np.eye(d)]), 0.0, 1.0)
        around = around[np.any(around != before, axis=1)]
        found = search(around)
        gains = np.where(found > value, found - value, 0.0) if np.isfinite(value) else np.zeros(len(found))
        if np.count_nonzero(gains) > 1:  # all that help, at once
            both = np.clip(before + np.sum(around[: len(found)][gains > 0] - before, axis=0), 0.0, 1.0)
            search(both[None])
        if search.value == value:
            step /= 2
