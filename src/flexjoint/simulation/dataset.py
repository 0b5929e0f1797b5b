"""Simulations as xarray Datasets: named dimensions, coordinates, units and provenance; no dates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dynamics.moving_base import POSE
from ..errors import InputError
from ..robot import JointKind
from .moving_base import BASE_POSE

if TYPE_CHECKING:
    from .result import Simulation

LINKS, MOTORS = ("q", "v"), ("theta", "theta_v", "tau")
GEARS = {  # of gears with hysteresis or backlash: unit, meaning
    "spring_torque": ("Nm | N", "torque of the springs"),
    "hysteresis": ("1 | 1", "torque of the hysteresis relative to its greatest one"),
    "hysteresis_torque": ("Nm | N", "torque of the hysteresis"),
    "dissipated": ("J | J", "energy that the hysteresis has lost"),
}
MEANING = {
    "q": "positions of the links",
    "v": "velocities of the links",
    "theta": "positions of the motors, on the link side",
    "theta_v": "velocities of the motors, on the link side",
    "tau": "torques of the motors from this instant on, on the link side",
}
PACKAGES = ("flexjoint", "numpy", "casadi", "llvmlite")


def common_unit(unit: str, kinds: Sequence[JointKind]) -> str:
    """The unit that all joints have, out of "angular | linear", or both."""
    return " | ".join(dict.fromkeys(kind.unit(unit) for kind in kinds))


def last_dimension(name: str) -> str:
    """The last dimension of what sensors, actuators, observers and a moving base gave: joint, motor, or its own."""
    joints, motors = (*LINKS, "tau_e", "tau_e_v"), MOTORS
    own = {f"measured.{x}": "joint" for x in joints} | {f"measured.{x}": "motor" for x in motors}
    own |= {"command": "motor", "damping": "joint", BASE_POSE: "pose"} | dict.fromkeys(GEARS, "joint")
    return own.get(name, f"{name}_entry")


def described(name: str, kinds: Sequence[JointKind]) -> dict[str, str]:
    """Unit and meaning of what gears gave; nothing of other arrays."""
    if name not in GEARS:
        return {}
    unit, meaning = GEARS[name]
    return {"units": common_unit(unit, kinds), "long_name": meaning}


def dataset_of(run: Simulation) -> Any:
    """The xarray Dataset of a simulation."""
    from importlib.metadata import version  # 16 ms of every import of flexjoint if it stood above

    try:
        import xarray
    except ImportError:
        raise InputError("Datasets need xarray, which is not installed: pip install 'flexjoint[results]'") from None
    robot, batch = run.robot, run.q.shape[:-2]
    runs = ("run",) if len(batch) == 1 else tuple(f"run_{k}" for k in range(len(batch)))
    kinds = robot.motor_kinds[: robot.n]
    along = {"joint": kinds, "motor": robot.motor_kinds}

    def series(name: str, dimension: str) -> tuple[Any, ...]:
        unit = common_unit(run.units[name], along[dimension])
        return (*runs, "time", dimension), getattr(run, name), {"units": unit, "long_name": MEANING[name]}

    arrays: dict[str, Any] = {name: series(name, "joint") for name in LINKS}
    arrays |= {name: series(name, "motor") for name in MOTORS}
    followed = "joint" if run.reference.shape[-1] == robot.n else "reference_entry"
    arrays["reference"] = ("time", followed), run.reference, {"long_name": "what the controller shall follow"}
    for name, values in run.more.items():
        arrays[name] = (*runs, "time", last_dimension(name)), values, described(name, kinds)
    arrays["periods"] = runs, np.asarray(run.periods), {"units": "1", "long_name": "periods that went well"}
    arrays["diverged"] = runs, np.asarray(run.joint), {"long_name": "first joint to leave all bounds, or -1"}
    coordinates: dict[str, Any] = {
        "time": ("time", run.t, {"units": "s"}),
        "joint": [joint.name for joint in robot.joints],
        "motor": list(robot.motor_names),
        "kind": ("joint", [kind.name for kind in kinds]),
        **{name: np.arange(size) for name, size in zip(runs, batch)},
    }
    if BASE_POSE in run.more:
        coordinates["pose"] = list(POSE)
    about = {"robot": robot.name, "robot_digest": robot.digest, "period": run.period, **run.provenance}
    versions = {f"{name}_version": version(name) for name in PACKAGES}
    return xarray.Dataset(arrays, coordinates, {**about, **versions})
