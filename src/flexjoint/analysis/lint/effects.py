"""Parameters of links that no torque depends on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...dynamics import inverse_dynamics
from ...errors import listed
from ...file_limits import skipped
from ...findings import Finding
from ...robot import Robot, symbols
from ...robot.parameters import select
from ...spatial import ca

SAMPLES = 4
NEGLIGIBLE = 1e-12  # of the greatest derivative with respect to a parameter of the same kind
SHOWN = 10


def effect_findings(robot: Robot) -> Iterator[Finding]:
    """Masses, centres of mass and inertias that enter no torque at random motions of the robot with rigid joints."""
    if reason := skipped("checked_joints", robot.n):
        yield Finding("note", "effects", "", reason)
    elif idle := idle_parameters(robot) if robot.n else []:
        yield Finding(
            "note",
            "effects",
            idle[0].partition(".")[0],
            f"no torque depends on {listed(idle, most=SHOWN)}",
            "they cannot be identified from torques, and wrong ones do no harm with a fixed base",
        )


def idle_parameters(robot: Robot) -> list[str]:
    """Paths of the numbers of links with mass whose derivative is zero in all torques."""
    stiff = robot.rigid().without_friction().with_fidelity("spong")
    paths = [f"{link.name}.{what}" for link in stiff.links if link.mass for what in ("mass", "com", "inertia")]
    chosen = symbols(stiff, paths)
    p = ca.vertcat(*chosen.values())
    q, v, a = (ca.SX.sym(name, stiff.n) for name in ("q", "v", "a"))
    torque = inverse_dynamics(stiff.with_symbols(chosen), q, v, a)
    torque = torque[0] if isinstance(torque, tuple) else torque
    slope = ca.Function("slope", [p, q, v, a], [ca.jacobian(torque, p)])
    values = np.concatenate([np.ravel(select(stiff, path).value) for path in paths])
    random = np.random.default_rng(0)
    size = sum(np.abs(np.array(slope(values, *random.normal(size=(3, stiff.n))))) for _ in range(SAMPLES))
    largest = np.max(size, axis=0)
    names = [name for path in paths for name in select(stiff, path).elements]
    idle = {name for name, size in zip(names, largest) if size <= NEGLIGIBLE * np.max(largest)}
    found = []
    for path in paths:
        elements = select(stiff, path).elements
        found += [path] if idle.issuperset(elements) else [x for x in elements if x in idle]
    return found
