"""A robot under control."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import app, clean_errors

if TYPE_CHECKING:
    from ..robot import Robot
    from ..simulation import Simulation


@app.command()
@clean_errors
def simulate(
    robot: Annotated[str, typer.Argument(help="A built-in robot or a robot file.")],
    controller: Annotated[str, typer.Option(help="Such as motor_pd, feedback_linearization, computed_torque.")],
    trajectory: Annotated[str, typer.Option(help="A file (.toml, .csv, .npz) or a text {kind = ..., ...}.")],
    gains: Annotated[str, typer.Option(help="Of laws with gains, in their order, such as 1000,60.")] = "",
    poles: Annotated[str, typer.Option(help="Of laws with poles: one real pole, in 1/s, for all.")] = "",
    period: Annotated[float, typer.Option(help="Between samples of the controller, in s.")] = 1e-3,
    duration: Annotated[float | None, typer.Option(help="In s; by default that of the trajectory.")] = None,
    integrator: Annotated[str, typer.Option(help="runge_kutta, euler or midpoint.")] = "runge_kutta",
    substeps: Annotated[int, typer.Option(help="Steps of the integrator a period.")] = 1,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A .csv or .npz file to write.")] = None,
    check: Annotated[bool, typer.Option(help="Refuse what is unstable by too long a period or step.")] = True,
) -> None:
    """Simulate a robot under a controller along a trajectory, and show how well it follows."""
    import flexjoint as fj

    if output is not None and output.suffix not in (".csv", ".npz"):
        raise fj.InputError(f"--output is {output}; it must end in .csv or .npz")
    model = fj.load(robot)
    law = named_controller(controller, model, gains, poles, period)
    motion = fj.load_trajectory(trajectory, model)
    options = {"integrator": integrator, "substeps": substeps, "check": check, "period": period}
    run = fj.simulate(model, law, motion, duration, **options)  # type: ignore[arg-type]
    print_run(run)
    if output is not None:
        (run.to_csv if output.suffix == ".csv" else run.to_npz)(output)
        typer.echo(f"written to {output}")


def named_controller(name: str, robot: Robot, gains: str, poles: str, period: float) -> Any:
    """A controller from its name in snake case, with gains, or with one pole as often as it has integrators."""
    import flexjoint as fj

    by_gains: dict[str, Any] = {
        "motor_pd": fj.MotorPD,
        "full_state_feedback": fj.FullStateFeedback,
        "structure_preserving": fj.StructurePreserving,
        "feedforward_pd": fj.FeedforwardPD,
        "mixed_inverse_dynamics": fj.MixedInverseDynamics,
    }
    by_poles = ("computed_torque", "feedback_linearization")
    if name not in (*by_gains, *by_poles):
        raise fj.InputError(f"no controller '{name}'; there are {', '.join((*by_gains, *by_poles))}")
    text, what = (gains, "--gains") if name in by_gains else (poles, "--poles")
    try:
        numbers = [float(x) for x in text.split(",")]
    except ValueError:
        raise fj.InputError(f"{name} takes {what}, numbers with commas between them, not {text!r}") from None
    if name in by_gains:
        return by_gains[name](robot, numbers)
    if len(numbers) != 1:
        raise fj.InputError(f"--poles takes one number, not {text!r}")
    if name == "computed_torque":
        return fj.ComputedTorque(robot.rigid(), fj.gains_from_poles(numbers * 2))
    return fj.FeedbackLinearization(robot, fj.gains_from_poles(numbers * fj.chain_length(robot)), period)


def print_run(run: Simulation) -> None:
    """Errors and torques of each joint."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    table = Table("joint", "largest error", "error at the end", "largest torque")
    errors, torques = np.abs(run.q - run.reference), np.nanmax(np.abs(run.tau), axis=0)
    for i, joint in enumerate(run.robot.joints):
        turning = joint.kind == "revolute"
        cells = [f"{x:.3g} {'rad' if turning else 'm'}" for x in (np.nanmax(errors[:, i]), errors[-1, i])]
        table.add_row(joint.name, *cells, f"{torques[i]:.3g} {'Nm' if turning else 'N'}")
    Console().print(f"{run.robot.name}: {len(run.t) - 1} periods of {run.period:g} s")
    Console().print(table)
