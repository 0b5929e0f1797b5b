"""Options that the commands of `flexjoint study` share, and the task that they describe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from .completion import controllers as known_controllers, integrators, trajectories
from .parameters import key_values

if TYPE_CHECKING:
    from ..robot import Robot

ControllerName = Annotated[
    str,
    typer.Option(
        help="One of {controllers}; 'flexjoint controllers' lists the numbers they take.",
        autocompletion=known_controllers,
    ),
]
TrajectoryOption = Annotated[
    str, typer.Option(help="A .toml, .csv or .npz file, or '{kind = ..., ...}'.", autocompletion=trajectories)
]
Stiffness = Annotated[
    str | None, typer.Option(help="Stiffness of joints with two motors: a number, or as --trajectory.")
]
Gains = Annotated[str, typer.Option(help="Gains of the controller in order, such as 1000,60.")]
Poles = Annotated[str, typer.Option(help="One real closed-loop pole, 1/s, for controllers with poles.")]
Vary = Annotated[
    list[str],
    typer.Option(
        help="Varied parameter: '*.drive.stiffness=10%', link1.mass=-20%..20%, payload=0..3; may be repeated."
    ),
]
Of = Annotated[
    str,
    typer.Option(
        help="Figure of merit: largest, rms or final error, the largest over the joints; largest.JOINT of one joint."
    ),
]
OfOrFailed = Annotated[
    str,
    typer.Option(
        help="Figure of merit: largest, rms or final error, the largest over the joints; largest.JOINT of one joint; "
        "failed: failures."
    ),
]
Limit = Annotated[float | None, typer.Option(help="Error, rad or m, above which a sample fails.")]
Confidence = Annotated[float, typer.Option(help="Confidence of the intervals.")]
Seed = Annotated[int, typer.Option(help="Seed of the samples and of the noise.")]
SensorOption = Annotated[
    list[str] | None,
    typer.Option(help="Property of the sensors: torque_noise=0.05, torque_rates=differenced; may be repeated."),
]
Period = Annotated[float, typer.Option(help="Sampling period of the controller, s.")]
Duration = Annotated[float | None, typer.Option(help="Duration, s; default that of the trajectory.")]
Integrator = Annotated[
    str, typer.Option(help="Integrator: runge_kutta, euler or midpoint.", autocompletion=integrators)
]
Substeps = Annotated[int, typer.Option(help="Integration steps per period.")]
Threads = Annotated[int | None, typer.Option(help="Threads; default all cores.")]
TableFile = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Table to write: .csv, .npz or .parquet; - is CSV on standard output."),
]


class RunOptions(NamedTuple):
    """How each run is simulated, shared by the commands that simulate."""

    stiffness: Stiffness = None
    sensor: SensorOption = None
    period: Period = 1e-3
    duration: Duration = None
    integrator: Integrator = "runge_kutta"
    substeps: Substeps = 1
    seed: Seed = 0
    threads: Threads = None


class StudyTask(NamedTuple):
    """What a study simulates.

    Args:
        robot: The robot.
        trajectory, stiffness: Texts of these options.
        duration: Of a run, s, or None.
        vary: Variation by path.
        options: Options of `simulate`, and of, limit, seed and threads.
    """

    robot: Robot
    trajectory: str
    stiffness: str | None
    duration: float | None
    vary: dict[str, str]
    options: dict[str, Any]

    @classmethod
    def of(cls, robot: Robot, trajectory: str, vary: list[str], run: RunOptions, **options: Any) -> StudyTask:
        """The task of options as they were typed; `options` are of and limit."""
        from .simulate import chosen_sensors

        varied = key_values("--vary", vary, "'*.drive.stiffness=10%'")
        options |= {name: getattr(run, name) for name in ("period", "integrator", "substeps", "seed", "threads")}
        options["sensors"] = chosen_sensors(run.sensor or [])
        return cls(robot, trajectory, run.stiffness, run.duration, varied, options)

    def reference(self, law: Any) -> Any:
        """The trajectory, with the stiffness for a controller that tracks it."""
        from .simulate import loaded_reference

        return loaded_reference(law, self.robot, self.trajectory, self.stiffness)

    @property
    def keywords(self) -> dict[str, Any]:
        """Keyword arguments of the study."""
        return {**self.options, "vary": self.vary}
