"""Parameters drawn at random for each sample; every number is independent.

    10%          normal about the nominal value with that standard deviation, truncated at three of them
    -20%..20%    uniform between these deviations from the nominal value
    0..3         uniform between these values

Sample k depends on the seed and on k only: Philox [Salmon] with the seed as its key and k in its counter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..numerics import normal_quantile
from ..robot import Robot
from ..robot.parameters import Parameter, impossible, select_all
from ..types import FloatArray

CUT = 3.0  # standard deviations
BELOW_CUT = 0.0013498980316300946  # probability of a value below −CUT
PAYLOAD = "payload"


class Spread(NamedTuple):
    """A distribution on an interval.

    Args:
        low, high: Ends of the interval.
        relative: Whether the ends are deviations relative to the nominal value.
        normal: A truncated normal distribution about the middle, else uniform.
    """

    low: float
    high: float
    relative: bool
    normal: bool = False

    def ends(self, nominal: float) -> tuple[float, float]:
        """Ends of the interval about a nominal value."""
        return (nominal * (1 + self.low), nominal * (1 + self.high)) if self.relative else (self.low, self.high)

    def values(self, u: FloatArray, nominal: FloatArray) -> FloatArray:
        """Quantiles of the distribution for numbers u in (0, 1)."""
        if self.normal:
            x = normal_quantile(BELOW_CUT + u * (1 - 2 * BELOW_CUT)) * (self.high / CUT)
        else:
            x = self.low + u * (self.high - self.low)
        return nominal * (1 + x) if self.relative else x


def spread(path: str, text: Any) -> Spread:
    """The distribution that a text such as 10%, -20%..20% or 0..3 describes."""
    ends = str(text).replace(" ", "").split("..")
    relative = [x.endswith("%") for x in ends]
    try:
        numbers = [float(x.removesuffix("%")) / (100 if share else 1) for x, share in zip(ends, relative)]
    except ValueError:
        numbers = []
    normal = len(numbers) == 1
    if (
        not 1 <= len(numbers) <= 2
        or len(set(relative)) > 1
        or (normal and not relative[0])
        or not np.isfinite(numbers).all()
    ):
        raise InputError(
            f"{path}={text}: a variation is 10% (normal, with that standard deviation), -20%..20% or 0..3 (uniform)"
        )
    if normal:
        if not 0 < numbers[0] * CUT < 1:
            raise InputError(
                f"{path}={text}: a standard deviation must be between 0% and 33%, or values could change their sign"
            )
        return Spread(-CUT * numbers[0], CUT * numbers[0], True, True)
    low, high = numbers
    if not low < high or (relative[0] and low <= -1):
        raise InputError(f"{path}={text}: the first end must be below the second, and above -100%")
    return Spread(low, high, relative[0])


class Variations(NamedTuple):
    """Parameters that vary.

    Args:
        robot: The robot; with a payload as its last link if that varies.
        parameters: The parameters.
        spreads: Their distributions.
    """

    robot: Robot
    parameters: tuple[Parameter, ...]
    spreads: tuple[Spread, ...]

    @classmethod
    def of(cls, robot: Robot, vary: Mapping[str, Any]) -> Variations:
        """Variations by path or pattern; `payload` is the mass of one more body, a point at the tool.

        Raises:
            InputError: A path matches nothing, or a distribution is not possible for its parameter.
        """
        if not isinstance(vary, Mapping) or not vary:
            raise InputError("vary must map paths of parameters to variations, such as {'*.drive.stiffness': '10%'}")
        spreads = tuple(spread(path, text) for path, text in vary.items())
        varied = robot.with_payload(0.0) if PAYLOAD in vary else robot
        paths = tuple(f"{varied.links[-1].name}.mass" if path == PAYLOAD else path for path in vary)
        parameters = select_all(varied, paths)
        for parameter, each in zip(parameters, spreads):
            if each.relative and not np.any(parameter.value):
                raise InputError(f"{parameter.path} is 0; vary it between values, such as 0..1, not in percent")
            for path, nominal in parameter.numbers.items():
                for x in each.ends(nominal):
                    if reason := impossible(path, x):
                        raise InputError(f"{path} would reach {x:g}; {reason}")
        return cls(varied, parameters, spreads)

    @property
    def names(self) -> tuple[str, ...]:
        """Path of every number that varies."""
        return tuple(path for parameter in self.parameters for path in parameter.elements)

    def draw(self, seed: int, first: int, last: int) -> FloatArray:
        """Parameters of samples first, ..., last − 1, one row per sample."""
        u = np.empty((last - first, len(self.names)))
        for row, sample in zip(u, range(first, last)):
            np.random.Generator(np.random.Philox(key=seed, counter=sample << 128)).random(out=row)
        return self.values(u)

    def values(self, u: FloatArray) -> FloatArray:
        """Parameters whose distributions are below them with the probabilities u in (0, 1), (rows, numbers)."""
        nominal = [np.ravel(parameter.value) for parameter in self.parameters]
        parts = np.split(u, np.cumsum([x.size for x in nominal])[:-1], axis=1)
        return np.hstack([each.values(x, value) for each, x, value in zip(self.spreads, parts, nominal)])

    @property
    def ends(self) -> FloatArray:
        """Least and largest value of every number, (2, numbers)."""
        pairs = [
            each.ends(x) for each, parameter in zip(self.spreads, self.parameters) for x in parameter.numbers.values()
        ]
        return np.array(pairs).T

    def free(self, values: FloatArray) -> dict[str, FloatArray]:
        """Rows of parameters as `simulate` takes them, by path."""
        parts = np.split(values, np.cumsum([x.value.size for x in self.parameters])[:-1], axis=1)
        return {x.path: part.reshape(-1, *x.value.shape) for x, part in zip(self.parameters, parts)}
