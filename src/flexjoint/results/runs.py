"""Simulations as tables: a row a time, the runs of a batch one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..simulation.dataset import LINKS, MOTORS, common_unit, motor_joints, motor_names
from ..simulation.result import Simulation
from .table import Column


@dataclass(frozen=True, eq=False)
class RunTable:
    """The columns of one or more runs."""

    run: Simulation

    def columns(self) -> list[Column]:
        """The number of the run in each dimension of a batch, t, then each quantity joint by joint."""
        run, batch = self.run, self.run.q.shape[:-2]
        joints, motors = [x.name for x in run.robot.joints], run.tau.shape[-1]
        kinds = [x.kind for x in run.robot.joints]
        behind = [kinds[i] for i in motor_joints(run.robot, motors)]
        count = max(1, int(np.prod(batch)))
        numbers = [np.repeat(x.ravel(), run.t.size) for x in np.indices(batch)]
        names = ["run"] if len(batch) == 1 else [f"run_{k}" for k in range(len(batch))]
        found = [Column(name, "", x) for name, x in zip(names, numbers)]
        found.append(Column("t", "s", np.tile(run.t, count)))
        for name in (*LINKS, *MOTORS):
            labels, of = (joints, kinds) if name in LINKS else (motor_names(run.robot, motors), behind)
            values = getattr(run, name).reshape(-1, len(labels))
            found += [
                Column(f"{name}.{label}", common_unit(run.units[name], [kind]), values[:, i])
                for i, (label, kind) in enumerate(zip(labels, of))
            ]
        wanted = np.tile(run.reference, (count, 1))
        return found + [Column(f"reference.{x}", "", wanted[:, i]) for i, x in enumerate(joints)]

    def arrays(self) -> dict[str, Any]:
        """All arrays of the simulation by name, with the names of joints and motors, and what they came from."""
        run = self.run
        arrays = {name: getattr(run, name) for name in ("t", *LINKS, *MOTORS, "reference", "periods", "joint")}
        names = {
            "joints": np.array([joint.name for joint in run.robot.joints]),
            "motors": np.array(motor_names(run.robot, run.tau.shape[-1])),
        }
        about = {"robot": run.robot.name, "digest": run.robot.digest, "period": run.period, **run.provenance}
        return {**arrays, **names, **about}
