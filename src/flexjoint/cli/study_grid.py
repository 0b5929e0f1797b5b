"""The option --grid of `study gains`: values of each gain of a controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .controllers import registration, usage
from .parameters import key_values

if TYPE_CHECKING:
    from ..control import Controller
    from ..robot import Robot

FORMS = "K_P=100,200,400, K_P=100..400:5 or K_P=100..1600:5:log"


def grid_values(controller: str, texts: list[str]) -> dict[str, list[float]]:
    """Values of each gain, in the order of the controller's numbers.

    Args:
        controller: A registered name.
        texts: Texts of --grid.

    Raises:
        InputError: There is no such controller or gain, a gain is missing, or its values cannot be read.
    """
    from ..errors import InputError

    law, given = registration(controller), key_values("--grid", texts, FORMS, "gain")
    names = [x.name for x in law.numbers]
    for name in given:
        if name not in names:
            raise InputError(f"--grid: {controller} has no gain '{name}'; it takes {usage(law)}")
    missing = [x for x in names[: len(names) - law.optional] if x not in given]
    taken = [x for x in names if x in given]
    if missing or taken != names[: len(taken)]:
        lost = missing or [x for x in names[: names.index(taken[-1])] if x not in given]
        raise InputError(
            f"--grid: {controller} takes {usage(law)}; give {lost[0]} too, as {lost[0]}=VALUE if it is fixed"
        )
    return {name: values_of(name, given[name]) for name in taken}


def values_of(name: str, text: str) -> list[float]:
    """Numbers of a text such as 100,200 or 100..400:5 or 100..1600:5:log."""
    import numpy as np

    from ..errors import InputError

    try:
        if ".." not in text:
            return [float(x) for x in text.split(",")]
        ends, count, *log = text.split(":")
        low, high = (float(x) for x in ends.split(".."))
        if log not in ([], ["log"]) or int(count) < 2 or not low < high or (log and low <= 0 < high):
            raise ValueError
        if not log:
            return np.linspace(low, high, int(count)).tolist()
        return [float(f"{np.sign(low) * x:.12g}") for x in np.geomspace(abs(low), abs(high), int(count))]
    except ValueError:
        raise InputError(f"--grid: {name} is {text!r}; give {FORMS}") from None


def grid_law(controller: str, robot: Robot, period: float) -> Callable[..., Controller]:
    """The function from gains by name to the controller."""

    def make(**gains: float) -> Any:
        from ..control import registered_controller

        return registered_controller(controller, robot, list(gains.values()), period)

    return make
