"""The component of a simulated robot: from motor torques to its state a period later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithm.algorithm import parameter_array
from ..checks import positive, whole
from ..compiler.ir.program import Array
from ..control.base import TORQUE_UNITS, UNITS, torque_array
from ..control.open_loop import OpenLoop
from ..errors import InputError, listed, shown
from ..robot import Robot, a_robot
from ..robot.parameters import select_all, with_symbols
from ..simulation.closed_loop import ClosedLoop, advanced
from ..simulation.equilibrium import at_rest
from ..simulation.integrators import INTEGRATORS
from ..simulation.plant import COMPONENTS, GEAR_UNITS, Plant, PlantState
from ..spatial import ca, sx
from ..types import Expression
from .component import Columns, Component

ELASTIC, ELASTIC_V = "theta_elastic", "theta_elastic_v"  # motors behind springs


def plant_component(
    robot: Robot,
    period: float = 1e-3,
    *,
    q: ArrayLike | None = None,
    stiffness: ArrayLike | None = None,
    integrator: str = "runge_kutta",
    substeps: int = 1,
    wrenches: Sequence[str] = (),
    free: Sequence[str] = (),
) -> Component:
    """A simulated robot as a component: one step per period under held motor torques.

    Its state are the free coordinates: positions and velocities `q`, `v` of the links and `theta_elastic`,
    `theta_elastic_v` of the motors behind springs, and of gears with hysteresis their own.  The motor of a rigid joint
    moves with its link and is not among them.

    Args:
        robot: Any robot that `simulate` takes.
        period: Time between two steps, s; default 1e-3.
        q: Link positions (n,) at the beginning, rad or m, held at rest by motors and springs; default 0.
        stiffness: Of joints with two motors at the beginning, Nm/rad or N/m; needed if there are such joints.
        integrator: One of those of `simulate`; default "runge_kutta".
        substeps: Integration steps per period; default 1.
        wrenches: Links on which forces and moments (6,) in base coordinates act, as inputs `wrench_<link>`; default
            none.
        free: Parameters of the robot that may change at run time, by paths or patterns; default none.

    Returns:
        A Component with the input `tau` (motors,) and the outputs `q`, `v` (n,), `theta`, `theta_v` (motors,) and
        `tau_e` (n,), the torques on the links, all at the end of the period.

    Raises:
        InputError: A link, a path or an integrator does not exist, or numbers are out of range.

    Example:
        >>> import flexjoint as fj
        >>> plant = fj.deployment.plant_component(fj.load("kuka_lwr"))
        >>> state, found = plant.step(plant.start(), {"tau": [0.0] * 7})
        >>> found["q"].shape
        (7,)
    """
    a_robot("plant_component", robot)
    positive("plant_component", "period", period)
    whole("plant_component", "substeps", substeps, 1)
    if integrator not in INTEGRATORS:
        raise InputError(f"plant_component: integrator is {shown(integrator)}; it must be one of {listed(INTEGRATORS)}")
    if unknown := [x for x in wrenches if x not in {link.name for link in robot.links}]:
        raise InputError(f"plant_component: there is no link {listed(unknown)} in {robot.name}")
    chosen = select_all(robot, tuple(free))
    loop = ClosedLoop(robot, OpenLoop(robot), period, integrator, substeps)
    begin = at_rest(robot, np.zeros(robot.n) if q is None else q, stiffness)
    behind = list(robot.motors_behind_springs)
    initial = {"q": begin.q, "v": begin.v, ELASTIC: begin.theta[behind], ELASTIC_V: begin.theta_v[behind]}
    state = free_arrays(robot)
    inputs = [torque_array(robot), *(Array(f"wrench_{x}", (6,), "N, Nm", COMPONENTS) for x in wrenches)]
    gears = [x for x in state if x.name in GEAR_UNITS]

    def plant_of(parameters: Columns, given: Columns) -> Plant:
        pairs = [(path, parameters[x.path][k]) for x in chosen for k, path in enumerate(x.elements)]
        contact: Any = (lambda t, now: {x: given[f"wrench_{x}"] for x in wrenches}) if wrenches else None
        return Plant(with_symbols(robot, dict(pairs)) if pairs else robot, contact)

    def law(before: Columns, given: Columns, parameters: Columns) -> tuple[Columns, Columns]:
        plant = plant_of(parameters, given)
        now = complete_state(plant, before)
        after = advanced(loop, plant, sx(0), now, lambda stage, state: given["tau"])
        return free_columns(plant, after), observed(plant, after, given["tau"])

    def rates(now: Columns, given: Columns, parameters: Columns) -> tuple[Columns, Columns]:
        plant = plant_of(parameters, given)
        state = complete_state(plant, now)
        acceleration = plant.acceleration(sx(0), state, given["tau"])
        n, (_, w) = robot.n, plant.coordinates(state)
        found = {"q": w[:n], ELASTIC: w[n:], "v": acceleration[:n], ELASTIC_V: acceleration[n:]}
        slipping = plant.gear_rates(plant.gears(state), w) if robot.hysteretic else sx([])
        h = len(robot.hysteretic)
        found |= {"z": slipping[:h], "dissipated": slipping[h:]}  # empty without hysteresis
        return found, observed(plant, state, given["tau"])

    return Component(
        name=robot.name,
        robot=robot,
        period=period,
        state=tuple(state),
        initial=tuple(initial.get(x.name, np.zeros(x.shape)) for x in state),
        parameters=tuple(map(parameter_array, chosen)),
        nominal=tuple(np.asarray(x.value, dtype=float) for x in chosen),
        inputs=tuple(inputs),
        outputs=(*motion_arrays(robot), *gears),
        law=law,
        rates=rates,
    )


def free_arrays(robot: Robot) -> list[Array]:
    """The state of a plant as arrays: links, motors behind springs, and gears with hysteresis."""
    links = tuple(x.name for x in robot.joints)
    motors = tuple(robot.motor_names[k] for k in robot.motors_behind_springs)
    gears = tuple(robot.joints[i].name for i in robot.hysteretic)
    labels = {"q": links, "v": links, ELASTIC: motors, ELASTIC_V: motors, "z": gears, "dissipated": gears}
    units = {**UNITS, ELASTIC: UNITS["theta"], ELASTIC_V: UNITS["theta_v"], **GEAR_UNITS}
    return [Array(name, (len(x),), units[name], x) for name, x in labels.items() if x]


def motion_arrays(robot: Robot) -> list[Array]:
    """Motion of all links and motors, and the torques on the links, as arrays."""
    links, motors = tuple(x.name for x in robot.joints), robot.motor_names
    labels = {"q": links, "v": links, "theta": motors, "theta_v": motors, "tau_e": links}
    units = {**UNITS, **TORQUE_UNITS}
    return [Array(name, (len(x),), units[name], x) for name, x in labels.items()]


def complete_state(plant: Plant, columns: Columns) -> PlantState:
    """The state of a plant from its free coordinates."""
    x = ca.vertcat(*(columns[name] for name in ("q", ELASTIC) if name in columns))
    w = ca.vertcat(*(columns[name] for name in ("v", ELASTIC_V) if name in columns))
    gears = ca.vertcat(columns["z"], columns["dissipated"]) if "z" in columns else None
    return plant.state(x, w, gears)


def free_columns(plant: Plant, state: PlantState) -> Columns:
    """The free coordinates of a state by name."""
    (x, w), n = plant.coordinates(state), plant.robot.n
    found = {"q": x[:n], "v": w[:n], ELASTIC: x[n:], ELASTIC_V: w[n:]}
    return found | gear_columns(state)


def gear_columns(state: PlantState) -> Columns:
    """The states of gears with hysteresis by name."""
    return {} if state.z is None else {"z": state.z, "dissipated": state.dissipated}


def observed(plant: Plant, state: PlantState, tau: Expression) -> Columns:
    """What a step gives: the motion, the torques on the links, and the states of gears."""
    motion = {"q": state.q, "v": state.v, "theta": state.theta, "theta_v": state.theta_v}
    return motion | gear_columns(state) | {"tau_e": plant.joint_torques(state, tau)}
