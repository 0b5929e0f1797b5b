"""Command `fit`: a trajectory against all limits, and its shortest duration."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer

from .app import BAD_INPUT, CURRENT, command
from .command_result import CommandResult
from .parameters import StiffnessName, ToolWrench, TrajectoryName
from .robot_options import RobotArgument, without_gear_losses
from .tables import Table

if TYPE_CHECKING:
    from ..trajectory import Feasibility, FittedDuration


@command()
def fit(
    robot: RobotArgument,
    trajectory: TrajectoryName,
    samples: Annotated[int, typer.Option(help="Samples of the motion; peaks between them are found too.")] = 1001,
    wrench: ToolWrench = None,
    stiffness: StiffnessName = None,
) -> CommandResult:
    """Find the shortest duration of a trajectory under all limits.

    Shows also which limits the trajectory exceeds as it is, and what would cure each; with --strict the exit code is
    then 2.
    """
    from ..trajectory import check_feasibility, fit_duration, load_stiffness, load_trajectory

    robot = without_gear_losses(robot, "inverse dynamics")
    motion = load_trajectory(trajectory, robot)
    held = None if stiffness is None else load_stiffness(stiffness, robot, motion.duration)
    options = {"stiffness": held, "wrench": wrench, "samples": samples}
    fitted = fit_duration(robot, motion, **options)  # type: ignore[arg-type]
    found = check_feasibility(robot, motion, **options)  # type: ignore[arg-type]
    data = {
        "robot": robot.name,
        "given_duration_s": motion.duration,
        "limits": list(found.limits),
        "violations": [asdict(x) for x in found.violations],
        "duration_s": fitted.duration,
        "factor": fitted.factor,
        "active": [asdict(x) for x in fitted.active],
    }
    result = CommandResult(lines(found, fitted), data)
    if found.feasible or not CURRENT.get().strict:
        return result
    many = f"{len(found.violations)} limit{'s' * (len(found.violations) != 1)}"
    return replace(
        result, code=BAD_INPUT, trouble=f"the trajectory exceeds {many} as it is; --strict makes it an error"
    )


def lines(found: Feasibility, fitted: FittedDuration) -> list[str | Table]:
    """The trajectory as it is, then the shortest duration."""
    from ..trajectory.limits import instant, violation_table

    shown: list[str | Table] = [f"{found.robot}: compared with limits of {', '.join(found.limits)}"]
    if found.feasible:
        shown.append(f"no limit is exceeded in {found.duration:g} s")
    else:
        shown.append(replace(violation_table(found.violations), title=f"limits exceeded in {found.duration:g} s"))
    shown.append(f"shortest duration: {fitted.duration:.7g} s, {fitted.factor:.4g} times the given one; it reaches:")
    rows = [[x.quantity, x.joint, f"{x.value:.4g} {x.unit}", instant(x.at)] for x in fitted.active]
    shown.append(Table(["quantity", "joint", "limit", "at"], rows))
    return shown
