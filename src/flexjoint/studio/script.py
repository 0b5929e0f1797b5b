"""Python that repeats the run of an experiment."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..atomic import replacing
from ..control.base import innermost
from ..control_characters import commands
from ..errors import InputError
from ..formats.writing import robot_text
from ..python_code import Code, call, script
from ..results.files import check_path

if TYPE_CHECKING:
    from .experiment import Experiment

ROBOT = '"""\\\n{text}"""'


def write_script(experiment: Experiment, path: str | os.PathLike[str]) -> None:
    """Write the script of an experiment; see `Experiment.write_script`."""
    place = check_path(path, (".py",), "a script")
    text = script_text(experiment)
    try:
        compile(text, "script", "exec")
    except (SyntaxError, ValueError) as error:  # it would be ours
        raise InputError(f"the script cannot be written: {error}") from error
    with replacing(place) as file:
        file.write(text.encode())


def script_text(experiment: Experiment) -> str:
    """The script: the robot as text, then calls of public functions."""
    task, robot = experiment.task(), experiment.robot
    plant = "robot.with_spring_damping(1.0).with_payload(0.0)" if any(robot.compliant) else "robot.with_payload(0.0)"
    model = Code("robot.without_gear_losses()" if experiment.model is not robot else "robot")
    law = f"fj.control.{type(innermost(task.controller)).__name__}.from_numbers"
    controller = call(law, Code("model"), experiment.numbers, experiment.period)
    if any(task.controller.times):
        controller = call("fj.control.MidPeriod", controller, experiment.period)
    push = experiment.push
    options: dict[str, Any] = dict(task.options)
    given = (push.force, push.time, push.duration)
    options["contact"] = call("fj.simulation.Push", Code("plant.tool"), *given)
    options["sensors"] = call("fj.simulation.Sensors")
    residual = experiment.residual
    if residual is not None:
        cutoffs = [float(x[0]) for x in (residual.link_cutoff, residual.motor_cutoff)]
        watch = call("fj.observers.JointTorqueResidual", Code("model"), *cutoffs, period=residual.period)
        options["observers"] = Code(f"{{'watch': {watch}}}")
    called = call("fj.simulate", Code("plant"), Code("controller"), Code("reference"), task.duration, **options)
    return script(
        [
            "# What the controller and the residual know",
            f"text = {quoted_text(robot_text(robot))}",
            "robot = fj.formats.parse_robot(text.encode(), 'robot')",
            f"model = {model}",
            "# What moves: damping and payload are given in free",
            f"plant = {plant}",
            f"controller = {controller}",
            *reference_lines(experiment),
            f"run = {called}",
            "print(run)",
            "# fj.plots.plot_simulation(run, 'run.png')",
            "# fj.viewer.view(plant, run).wait()",
        ]
    )


def reference_lines(experiment: Experiment) -> list[str]:
    """Statements that make the reference."""
    source = experiment.motion_source
    source = source if source.lstrip().startswith("{") else os.path.abspath(source)
    motion = call("fj.trajectory.load_trajectory", source, Code("model"))
    if "stiffness" not in experiment.settings:
        return [f"reference = {motion}"]
    stiffness = call("fj.trajectory.load_stiffness", experiment["stiffness"], Code("model"), Code("motion.duration"))
    both = call("fj.trajectory.MotionAndStiffness", Code("motion"), Code(stiffness))
    return [f"motion = {motion}", f"reference = {both}"]


def quoted_text(text: str) -> str:
    """A literal over several lines with this text; control characters are written as escapes."""
    escapes = {"\\": "\\\\", '"': '\\"'}

    def shown(character: str) -> str:
        if character == "\n":
            return character
        return character.encode("unicode_escape").decode() if commands(character) else escapes.get(character, character)

    if '"""' not in text and "\\" not in text and not any(commands(x) for x in text if x != "\n"):
        return ROBOT.format(text=text)
    return ROBOT.format(text="".join(map(shown, text)))
