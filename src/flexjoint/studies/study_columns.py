"""Columns of tables of samples: parameters, errors per joint, the end of each run, and why it failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ..robot import Robot
from ..robot.parameters import robot_parameters
from ..simulation.result import Simulation
from ..simulation.step_limit import StepLimits
from .block_files import Block
from .error_summary import ERRORS, error_summary

ENDINGS = {"ended": "s", "diverged": "", "integrator_failed": "", "longest_step": "s"}

TEXTS = ("diverged", "integrator_failed")  # names of joints


def error_arrays(run: Simulation, limits: StepLimits) -> dict[str, np.ndarray]:
    """Errors and endings of a batch of runs, as the fields of `MonteCarlo`; a run without a batch counts for all."""
    found = error_summary(run)
    found = {name: np.broadcast_to(x, (limits.joint.size, *x.shape[1:])) for name, x in found.items()}
    return found | {"longest_step": limits.longest, "stiff_joint": limits.joint}


def error_columns(robot: Robot, arrays: dict[str, Any]) -> Block:
    """The same as columns: `largest.joint1`, ..., `ended`, and names of joints in `diverged`, `integrator_failed`."""
    names = np.array(["", *(joint.name for joint in robot.joints)])
    found = {f"{kind}.{x.name}": arrays[kind][:, i] for kind in ERRORS for i, x in enumerate(robot.joints)}
    found |= {"ended": arrays["ended"], "diverged": names[np.asarray(arrays["joint"], dtype=int) + 1]}
    found |= {"integrator_failed": names[np.asarray(arrays["stiff_joint"], dtype=int) + 1]}
    return found | {"longest_step": arrays["longest_step"]}


def error_units(robot: Robot) -> dict[str, str]:
    """Units of these columns by name."""
    return {f"{kind}.{x.name}": x.kind.unit("rad | m") for kind in ERRORS for x in robot.joints} | ENDINGS


def parameter_units(robot: Robot, paths: Sequence[str]) -> dict[str, str]:
    """Units of parameters by path, also of single elements of a parameter."""
    known = robot_parameters(robot)
    return {x: known[x if x in known else x.rsplit(".", 1)[0]].unit for x in paths}


def arrays_of(robot: Robot, block: Block) -> dict[str, np.ndarray]:
    """Fields of `MonteCarlo` from columns."""
    number = {"": -1, **{joint.name: i for i, joint in enumerate(robot.joints)}}
    found = {kind: stacked([block[f"{kind}.{x.name}"] for x in robot.joints]) for kind in ERRORS}
    found |= {"ended": block["ended"], "longest_step": block["longest_step"]}
    for field, column in (("joint", "diverged"), ("stiff_joint", "integrator_failed")):
        texts, places = np.unique(block[column], return_inverse=True)
        found[field] = np.array([number[str(x)] for x in texts], dtype=int)[places]
    return found


def stacked(columns: list[np.ndarray]) -> np.ndarray:
    """Columns (s,) side by side, (s, number of columns)."""
    return np.stack(columns, axis=1)


def require_distinct(columns: list[str], owner: str) -> None:
    """Raise InputError if two columns would have the same name."""
    doubled = [name for k, name in enumerate(columns) if name in columns[:k]]
    if doubled:
        raise InputError(f"{owner}: two columns would be called '{doubled[0]}'; rename the link or joint")
