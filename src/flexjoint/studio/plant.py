"""The simulated robot, with springs and payload from the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..robot import Robot
from .settings import DAMPING, STIFFNESS


def plant_of(robot: Robot) -> Robot:
    """The robot with damping in all springs and a payload, whose numbers can then be free in a kernel."""
    return (robot.with_spring_damping(1.0) if any(robot.compliant) else robot).with_payload(0.0)


def free_parameters(plant: Robot, values: Mapping[str, float]) -> dict[str, Any]:
    """The numbers of the plant that are inputs of its kernel, by path or pattern, for values of the settings."""
    found: dict[str, Any] = {}
    for end in (STIFFNESS, DAMPING):
        if own := [x for name, x in values.items() if name.endswith(f".{end}")]:
            found[f"*.{end}"] = own
    return {**found, f"{plant.links[-1].name}.mass": values["payload"]}


def changed_robot(robot: Robot, values: Mapping[str, float], payload: bool = True) -> Robot:
    """The robot with stiffness, damping and payload of the settings."""
    drives: list[Any] = []
    for joint in robot.joints:
        keys = {"stiffness": f"{joint.name}.{STIFFNESS}", "damping": f"{joint.name}.{DAMPING}"}
        changes = {key: values[x] for key, x in keys.items() if x in values}
        drives.append(replace(joint.drive, **changes) if changes else joint.drive)  # type: ignore[type-var]
    changed = robot.with_drives(drives) if any(robot.compliant) else robot
    return changed.with_payload(values["payload"]) if payload and values["payload"] > 0 else changed
