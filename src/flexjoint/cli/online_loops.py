"""Controllers, observers and detectors of `export-c` and `export-fmu`, as the command line names them.

--observer joint_torque,link_cutoff=30,motor_cutoff=30 --detector momentum,cutoff=30,threshold=5
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from .completion import controllers as known_controllers, trajectories
from .controllers import named_controller

if TYPE_CHECKING:
    from ..control import Controller
    from ..deployment import Component
    from ..observers import Observer
    from ..robot import Robot

KINDS = {
    "momentum": "MomentumResidual",
    "joint_torque": "JointTorqueResidual",
    "motor_encoder": "MotorEncoderResidual",
    "link": "LinkResidual",
    "energy": "EnergyResidual",
    "spring_torque": "SpringTorqueObserver",
    "friction": "FrictionObserver",
    "extended_state": "ExtendedStateObserver",
}
ESTIMATORS = {
    "filtered": "FilteredDerivative",
    "kalman": "KalmanDifferentiator",
    "extended_state": "ExtendedStateObserver",
}
REACTIONS = {"stop": "Stop", "zero_gravity": "ZeroGravity", "reflex": "Reflex"}
DETECTOR = ("threshold", "release", "confirmation")


class LoopOptions(NamedTuple):
    """The options of a loop, shared by the commands that export one."""

    controller: Annotated[
        str, typer.Option(help="A controller, one of those of simulate.", autocompletion=known_controllers)
    ] = ""
    gains: Annotated[str, typer.Option(help="Gains of the controller in order, such as 1000,60.")] = ""
    poles: Annotated[str, typer.Option(help="One real closed-loop pole, 1/s, for controllers with poles.")] = ""
    measured: Annotated[str, typer.Option(help="What feedback_linearization reads, such as 'q tau_e'.")] = ""
    estimator: Annotated[
        str,
        typer.Option(
            help="Velocities for the controller: filtered,cutoff=500 or kalman,noise=1e-5,process_noise=1; or all it "
            "reads from motor encoders: extended_state,encoder_step=6e-6,spring_noise=1000,external_noise=20."
        ),
    ] = ""
    observer: Annotated[
        list[str] | None,
        typer.Option(help="A residual or observer with its numbers, such as momentum,cutoff=30; may be repeated."),
    ] = None
    detector: Annotated[
        list[str] | None,
        typer.Option(help="A residual with alarms, such as momentum,cutoff=30,threshold=5; may be repeated."),
    ] = None
    reaction: Annotated[
        str, typer.Option(help="What follows an alarm: stop,damping=20, zero_gravity or reflex,gain=2,damping=5.")
    ] = ""
    trajectory: Annotated[
        str,
        typer.Option(
            help="Motion inside the code, as --trajectory of simulate; default an input.", autocompletion=trajectories
        ),
    ] = ""
    period: Annotated[float, typer.Option(help="Time between two steps, s.")] = 1e-3
    patience: Annotated[
        float | None, typer.Option(help="Time without usable samples before the torque is zero, s; default 10 periods.")
    ] = None
    fold: Annotated[bool, typer.Option("--fold", help="Gains and thresholds are constants of the code.")] = False
    no_limits: Annotated[
        bool, typer.Option("--no-limits", help="No limits of torque, torque rate, position and velocity in the code.")
    ] = False
    free: Annotated[
        list[str] | None, typer.Option(help="Parameter that may change at run time, such as tool.mass; repeat.")
    ] = None

    @property
    def given(self) -> bool:
        """Whether there is anything to run."""
        return bool(self.controller or self.observer or self.detector)


def loop_of(robot: Robot, options: LoopOptions, stamps: bool = True) -> Component:
    """The component that the options describe."""
    from .. import control, deployment
    from ..errors import InputError
    from ..trajectory import load_trajectory

    law: Controller | None = None
    if options.controller:
        numbers = (options.gains, options.poles, options.period, options.measured)
        law = named_controller(options.controller, robot, *numbers)
    observers: dict[str, Observer] = {}
    for text in options.observer or ():
        add(observers, text, observer_of(robot, "--observer", text, options.period))
    detectors = {text: detector_of(robot, text, options.period) for text in options.detector or ()}
    if options.reaction:
        if law is None or len(detectors) != 1:
            raise InputError("--reaction belongs to one --controller and one --detector")
        kind, values = words("--reaction", options.reaction, REACTIONS)
        reaction = made("--reaction", getattr(control, REACTIONS[kind]), values, robot=robot)
        law = control.Guarded(law, detectors.popitem()[1], reaction)
    for text, detector in detectors.items():
        add(observers, text, detector)
    return deployment.online_loop(
        law,
        estimator=estimator_of(robot, options) if options.estimator else None,
        observers=observers,
        period=options.period,
        free=options.free or (),
        fold=options.fold,
        patience=options.patience,
        trajectory=load_trajectory(options.trajectory, robot) if options.trajectory else None,
        stamps=stamps,
        limits=not options.no_limits,
    )


def add(observers: dict[str, Observer], text: str, observer: Observer) -> None:
    """Add an observer under the name of its kind; a second one of the kind is numbered."""
    kind = text.partition(",")[0]
    observers[next(x for x in (kind, *(f"{kind}{k}" for k in range(2, 100))) if x not in observers)] = observer


def words(option: str, text: str, kinds: Sequence[str] | dict[str, str]) -> tuple[str, dict[str, str]]:
    """Kind and numbers of a text such as momentum,cutoff=30."""
    from ..errors import InputError
    from .parameters import key_values

    kind, *rest = text.split(",")
    if kind not in kinds:
        raise InputError(f"{option} is {text!r}; it must begin with one of {', '.join(kinds)}")
    return kind, key_values(option, rest, f"{kind},cutoff=30", "name") if rest else {}


def made(option: str, kind: Any, texts: dict[str, str], **known: Any) -> Any:
    """An object of a dataclass from texts of its fields."""
    from ..errors import InputError

    asked = [x for x in fields(kind) if x.init and x.name not in known]
    names = [x.name for x in asked]
    values: dict[str, Any] = {}
    for name, text in texts.items():
        if name not in names:
            raise InputError(f"{option}: there is no {name!r}; there are {', '.join(names)}")
        try:
            values[name] = {"true": True, "false": False}.get(text) if text in ("true", "false") else float(text)
        except ValueError:
            raise InputError(f"{option}: {name} is {text!r}; it must be a number") from None
    try:
        return kind(**known, **values)
    except TypeError:
        missing = [x.name for x in asked if x.name not in values and x.default is MISSING]
        raise InputError(f"{option}: give {', '.join(f'{x}=...' for x in missing)}") from None


def observer_of(robot: Robot, option: str, text: str, period: float, leave: Sequence[str] = ()) -> Any:
    """The observer of --observer, --detector or --estimator; `leave` are words of the detector around it."""
    from .. import observers

    kind, values = words(option, text, KINDS)
    numbers = {name: x for name, x in values.items() if name.partition(".")[0] not in leave}
    return made(option, getattr(observers, KINDS[kind]), numbers, robot=robot, period=period)


def detector_of(robot: Robot, text: str, period: float) -> Any:
    """The detector of --detector: threshold=5 for all channels, or threshold.link=5 for one."""
    from .. import observers
    from ..errors import InputError

    residual = observer_of(robot, "--detector", text, period, DETECTOR)
    _, values = words("--detector", text, KINDS)
    own = {name: x for name, x in values.items() if name.partition(".")[0] in DETECTOR}
    try:
        levels = {name: float(own.pop(name)) for name in [*own] if name.partition(".")[0] == "threshold"}
    except ValueError:
        raise InputError(f"--detector is {text!r}; a threshold is a number, Nm or N") from None
    if not levels:
        raise InputError(f"--detector is {text!r}; give threshold=..., Nm or N, or threshold.CHANNEL=...")
    every = levels.pop("threshold", None)
    thresholds = {} if every is None else dict.fromkeys(residual.channels, every)
    thresholds |= {name.partition(".")[2]: x for name, x in levels.items()}
    return made("--detector", observers.Detector, own, residual=residual, thresholds=thresholds)


def estimator_of(robot: Robot, options: LoopOptions) -> Observer:
    """The estimator of --estimator."""
    from .. import observers

    kind, values = words("--estimator", options.estimator, ESTIMATORS)
    if kind == "extended_state":
        return observer_of(robot, "--estimator", options.estimator, options.period)
    filtered = made("--estimator", getattr(observers, ESTIMATORS[kind]), values, period=options.period)
    return observers.VelocityEstimator(robot, filtered)


def component_summary(component: Component) -> str:
    """A component in one line."""
    size = sum(x.size for x in component.state)
    return f"{component.name}: {component.kernel.operations} operations and {size} numbers of state per step"


def component_data(component: Component) -> dict[str, Any]:
    """A component for programs."""

    def described(arrays: Sequence[Any]) -> list[dict[str, Any]]:
        return [{"name": x.name, "shape": x.shape, "unit": x.unit, "entries": x.labels} for x in arrays]

    parts = {x: described(getattr(component, x)) for x in ("state", "parameters", "inputs", "outputs")}
    numbers = {"period_s": component.period, "operations": component.kernel.operations}
    return {"component": component.name, **numbers, **parts}
