"""The controllers of `flexjoint simulate`, by name, and the numbers they take.

Every controller registers itself in its own file in `control/`; this module reads the registry.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .app import command
from .command_result import CommandResult
from .tables import Table

if TYPE_CHECKING:
    from ..control import Controller, Registration
    from ..robot import Robot


def registrations() -> dict[str, Registration]:
    """The registered controllers by name, in alphabetical order."""
    from ..control import REGISTRY

    return {name: kind.registration for name, kind in sorted(REGISTRY.items()) if kind.registration is not None}


def registration(name: str) -> Registration:
    """How a controller is registered, with or without "+mid_period" behind its name.

    Raises:
        InputError: There is no such controller.
    """
    from ..control import MID_PERIOD
    from ..errors import InputError
    from ..formats.toml import suggestion

    known, plain = registrations(), name.removesuffix(MID_PERIOD)
    if plain not in known:
        raise InputError(
            f"no controller '{name}'; {suggestion(plain, known)}; 'flexjoint controllers' lists what they take"
        )
    return known[plain]


def option(law: Registration) -> str:
    """The option that takes the numbers of a controller."""
    return "--gains" if law.gains else "--poles"


def usage(law: Registration) -> str:
    """What to type for the numbers of a controller, such as --gains K_P,K_D."""
    names = [number.name for number in law.numbers]
    needed = len(names) - law.optional
    return f"{option(law)} {','.join(names[:needed])}" + "".join(f"[,{name}]" for name in names[needed:])


def named_controller(name: str, robot: Robot, gains: str, poles: str, period: float, measured: str = "") -> Controller:
    """The controller that --controller, --gains, --poles and --measured describe.

    Args:
        name: A registered name, with "+mid_period" behind it to evaluate the controller at mid-period.
        robot: The robot to control.
        gains: Text of --gains, such as "1000,60".
        poles: Text of --poles: one real pole, 1/s.
        period: Sampling period, s.
        measured: Text of --measured, such as "theta tau_e"; by default what the law reads by default.

    Raises:
        InputError: There is no such controller, its numbers are missing, too few or too many, or it has no choice of
            what it measures.
    """
    from ..control import MID_PERIOD, MidPeriod, registered_controller
    from ..errors import InputError

    law = registration(name)
    text, most = gains if law.gains else poles, len(law.numbers)
    try:
        values = [float(x) for x in text.split(",")]
    except ValueError:
        values = []
    if not most - law.optional <= len(values) <= most:
        given = f"not {text!r}" if text else "which is missing"
        raise InputError(f"{name} takes {usage(law)}, {given}")
    if not measured:
        return registered_controller(name, robot, values, period)
    made: Any = registered_controller(name.removesuffix(MID_PERIOD), robot, values, period)
    if not hasattr(made, "measured"):
        raise InputError(f"--measured belongs to feedback_linearization; {name} has one set of sensors")
    made = replace(made, measured=" ".join(measured.replace(",", " ").split()))
    return MidPeriod(made, period) if name.endswith(MID_PERIOD) else made


def compensated_controller(
    name: str, robot: Robot, gains: str, poles: str, period: float, measured: str, velocity: str, share: float
) -> Controller:
    """The controller with compensation of the robot's friction that --compensate-friction asks for.

    Args:
        velocity: "desired" or "measured".
        share: Part of the friction that is compensated.
        name, robot, gains, poles, period, measured: As in `named_controller`.

    Raises:
        InputError: As `named_controller`, and if the robot has no friction.
    """
    from ..control import MID_PERIOD, REGISTRY, FrictionCompensation
    from ..control.friction_compensation import VELOCITIES
    from ..errors import InputError

    if velocity not in VELOCITIES:
        raise InputError(f"--compensate-friction takes {' or '.join(VELOCITIES)}, not {velocity!r}")
    kind = REGISTRY.get(name.removesuffix(MID_PERIOD))
    contained = kind is not None and kind.contains_friction
    law = named_controller(name, robot.without_friction() if contained else robot, gains, poles, period, measured)
    return FrictionCompensation(law, velocity, share, robot)  # type: ignore[arg-type]


@command()
def controllers() -> CommandResult:
    """List the controllers of `simulate` and the numbers they take."""
    laws = registrations().values()
    rows = [[law.name, usage(law), law.summary, law.robots] for law in laws]
    data = [
        {
            "name": law.name,
            "option": option(law),
            "numbers": [number.name for number in law.numbers],
            "units": [number.unit for number in law.numbers],
            "meanings": [number.meaning for number in law.numbers],
            "optional": law.optional,
            "about": law.summary,
            "robots": law.robots,
        }
        for law in laws
    ]
    note = (
        "Gains are in SI units, one for all joints; POLE is negative, in 1/s. --json adds the unit and meaning of each "
        "number. Behind a name, +mid_period evaluates a tracking controller for the middle of its period. Formulas: "
        "docs/control.md."
    )
    table = Table(["controller", "takes", "what it does", "robots"], rows, note=note)
    return CommandResult([table], {"controllers": data})
