"""The laws that `flexjoint simulate` knows, with the numbers they take.

To add one: a line in LAWS, with how it is made if not of the robot and its gains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .app import command
from .command_result import CommandResult
from .tables import Table

if TYPE_CHECKING:
    from ..robot import Robot


class Law(NamedTuple):
    """A controller: its class, what it is for, its gains in their order (the optional ones last), how it is made.

    Without gains it takes one pole.
    """

    python: str
    about: str
    robots: str
    gains: Sequence[str] = ()
    optional: int = 0
    make: Callable[[Robot, list[float], float], Any] | None = None

    @property
    def name(self) -> str:
        return next(name for name, law in LAWS.items() if law is self)

    @property
    def option(self) -> str:
        return "--gains" if self.gains else "--poles"

    @property
    def numbers(self) -> str:
        """What the option takes, as on the command line."""
        if not self.gains:
            return "POLE"
        needed = len(self.gains) - self.optional
        return ",".join(self.gains[:needed]) + "".join(f"[,{x}]" for x in self.gains[needed:])


def passivity(robot: Robot, numbers: list[Any], period: float) -> Any:
    import flexjoint as fj

    return fj.PassivityControl(robot.rigid(), *numbers)


def adaptive(robot: Robot, numbers: list[Any], period: float) -> Any:
    import flexjoint as fj

    bandwidth, damping, adaptation = numbers
    return fj.AdaptiveControl(robot.rigid(), bandwidth, damping, adaptation, period, robot.rigid())


def adaptive_mixed(robot: Robot, numbers: list[Any], period: float) -> Any:
    import flexjoint as fj

    return fj.AdaptiveMixedControl(robot, numbers[:-1], numbers[-1], period)  # type: ignore[arg-type]


def computed_torque(robot: Robot, pole: list[Any], period: float) -> Any:
    import flexjoint as fj

    return fj.ComputedTorque(robot.rigid(), fj.gains_from_poles(pole * 2))


def feedback_linearization(robot: Robot, pole: list[Any], period: float) -> Any:
    import flexjoint as fj

    return fj.FeedbackLinearization(robot, fj.gains_from_poles(pole * fj.chain_length(robot)), period)


def variable_stiffness(robot: Robot, pole: list[Any], period: float) -> Any:
    import flexjoint as fj

    return fj.VariableStiffnessTracking.from_poles(robot, pole * 4, pole * 2, period)


MIXED = ("K_P", "K_D", "MOTOR_K_P", "MOTOR_K_D")
ANY = "one motor per joint"
NEGLECTS = "rigid; springs are neglected"
LAWS = {
    "motor_pd": Law("MotorPD", "regulation: PD of the motors, gravity compensation", ANY, ("K_P", "K_D")),
    "full_state_feedback": Law(
        "FullStateFeedback", "regulation with feedback of joint torques", ANY, ("K_P", "K_D", "K_T", "K_S")
    ),
    "structure_preserving": Law(
        "StructurePreserving",
        "regulation with link damping D",
        "all joints with linear, undamped springs",
        ("K_P", "K_D", "D"),
    ),
    "feedforward_pd": Law("FeedforwardPD", "tracking: torque of the reference, PD of the motors", ANY, ("K_P", "K_D")),
    "passivity_control": Law(
        "PassivityControl", "passivity-based tracking", NEGLECTS, ("LAMBDA", "K_D", "K_P"), 1, passivity
    ),
    "adaptive_control": Law(
        "AdaptiveControl", "tracking that learns the inertia", NEGLECTS, ("LAMBDA", "K_D", "GAMMA"), 0, adaptive
    ),
    "mixed_inverse_dynamics": Law("MixedInverseDynamics", "tracking by inverse dynamics", ANY, MIXED),
    "adaptive_mixed_control": Law(
        "AdaptiveMixedControl", "the same, learns the inertia", ANY, (*MIXED, "GAMMA"), 0, adaptive_mixed
    ),
    "computed_torque": Law("ComputedTorque", "tracking by computed torque", NEGLECTS, make=computed_torque),
    "feedback_linearization": Law(
        "FeedbackLinearization", "tracking, the springs compensated exactly", ANY, make=feedback_linearization
    ),
    "variable_stiffness_tracking": Law(
        "VariableStiffnessTracking",
        "tracking of motion and stiffness (--stiffness)",
        "two motors per joint",
        make=variable_stiffness,
    ),
}


def named_controller(name: str, robot: Robot, gains: str, poles: str, period: float) -> Any:
    """A controller with gains, or with one pole as often as it has integrators."""
    import flexjoint as fj

    from ..formats.toml import suggestion

    if name not in LAWS:
        raise fj.InputError(
            f"no controller '{name}'; {suggestion(name, LAWS)}; 'flexjoint controllers' lists what they take"
        )
    law = LAWS[name]
    text, most = gains if law.gains else poles, max(1, len(law.gains))
    try:
        numbers = [float(x) for x in text.split(",")]
    except ValueError:
        numbers = []
    if not most - law.optional <= len(numbers) <= most:
        given = f"not {text!r}" if text else "which is missing"
        raise fj.InputError(f"{name} takes {law.option} {law.numbers}, {given}")
    return law.make(robot, numbers, period) if law.make else getattr(fj, law.python)(robot, numbers)


@command()
def controllers() -> CommandResult:
    """List the controllers of `simulate` and the numbers they take."""
    rows = [[law.name, f"{law.option} {law.numbers}", law.about, law.robots] for law in LAWS.values()]
    data = [
        {
            "name": law.name,
            "option": law.option,
            "numbers": list(law.gains) or ["POLE"],
            "optional": law.optional,
            "about": law.about,
            "robots": law.robots,
        }
        for law in LAWS.values()
    ]
    note = "Gains are in SI units, one for all joints; POLE is negative, in 1/s. Formulas: docs/control.md."
    return CommandResult(
        [Table(["controller", "takes", "what it does", "robots"], rows, note=note)], {"controllers": data}
    )
