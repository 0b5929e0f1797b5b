"""Python that repeats `flexjoint simulate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from ..python_code import Code, call
from .controllers import controller_code, mid_period_code
from .vibration import Shaping

REPLACE = "dataclasses.replace"


class Chosen(NamedTuple):
    """Options as they were typed: those of the controller, the trajectory, the stiffness, the base and the shaper."""

    numbers: str
    measured: str
    friction: str | None
    share: float
    trajectory: str
    stiffness: str | None
    base: str | None
    shaping: Shaping | None = None


def simulation_code(
    task: Any,
    options: dict[str, Any],
    chosen: Chosen,
    payload: float | None,
    wrench: Sequence[float] | None,
    known: bool,
) -> list[str]:
    """Statements after `robot = fj.load(...)`.

    Args:
        task: What was simulated: robot, controller, reference, duration.
        options: Those of `simulate` or `monte_carlo`.
        chosen: Options as they were typed.
        payload: Point mass at the tool, kg, or None.
        wrench: Constant wrench on the tool, or None.
        known: Whether the controller knows base, wrench and payload.
    """
    lines = [f"loaded = {call('robot.with_payload', payload)}"] if payload is not None else []
    loaded = Code("loaded" if payload is not None else "robot")
    lines += controller_lines(task, chosen, options["period"], loaded if known else Code("robot"), wrench, known)
    lines += reference_lines(chosen)
    lines += [chosen.shaping.code()] if chosen.shaping is not None else []
    given = dict(options)
    if chosen.base is not None:
        lines.append(f"base = {call('fj.trajectory.load_base', chosen.base, Code('robot'))}")
        given["base"] = Code("base")
    if wrench is not None:
        lines += ["import casadi as ca", f"wrench = ca.SX({list(wrench)})"]
        given["contact"] = Code("lambda t, state: {robot.tool: wrench}")
    if options["sensors"] is not None:
        given["sensors"] = sensors_code(options["sensors"])
    kinds = {"samples": "fj.studies.monte_carlo", "number": "fj.studies.simulate_sample"}
    name = next((x for key, x in kinds.items() if key in options), "fj.simulate")
    subject = [loaded, Code("controller"), Code("reference"), task.duration]
    return [*lines, f"result = {call(name, *subject, **given)}", "print(result)"]


def controller_lines(
    task: Any, chosen: Chosen, period: float, model: Code, wrench: Sequence[float] | None, known: bool
) -> list[str]:
    """Statements that make the controller: its numbers, what it measures and knows, and friction compensation."""
    from ..control.base import innermost

    law = innermost(task.controller)
    if any(task.robot.gear_losses):
        model = Code(f"{model}.without_gear_losses()")
    contained = chosen.friction is not None and law.contains_friction
    within = Code(f"{model}.without_friction()") if contained else model
    lines = [f"controller = {controller_code(law, chosen.numbers, period, within)}"]
    changes: dict[str, Any] = {}
    if chosen.measured:
        changes["measured"] = law.measured
    if known and wrench is not None:
        changes["wrenches"] = Code(f"{{robot.tool: {list(wrench)}}}")
    if known and chosen.base is not None:
        changes["base"] = True
    if changes:
        lines += ["import dataclasses", f"controller = {call(REPLACE, Code('controller'), **changes)}"]
    if any(task.controller.times):
        lines.append(f"controller = {mid_period_code(Code('controller'), period)}")
    if chosen.friction is not None:
        wrapped = (Code("controller"), chosen.friction, chosen.share, model)
        lines.append(f"controller = {call('fj.control.FrictionCompensation', *wrapped)}")
    return lines


def reference_lines(chosen: Chosen) -> list[str]:
    """Statements that make the reference."""
    motion = call("fj.trajectory.load_trajectory", chosen.trajectory, Code("robot"))
    if chosen.stiffness is None:
        return [f"reference = {motion}"]
    stiffness = call("fj.trajectory.load_stiffness", chosen.stiffness, Code("robot"), Code("motion.duration"))
    both = call("fj.trajectory.MotionAndStiffness", Code("motion"), Code("stiffness"))
    return [f"motion = {motion}", f"stiffness = {stiffness}", f"reference = {both}"]


def sensors_code(sensors: Any) -> Code:
    """Python for sensors, without the defaults."""
    given = {x.name: getattr(sensors, x.name) for x in fields(sensors)}
    changed = {x.name: given[x.name] for x in fields(sensors) if repr(given[x.name]) != repr(x.default)}
    return call("fj.simulation.Sensors", **changed)
