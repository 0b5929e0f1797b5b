"""Simulations as tables: one row per sample, the runs of a batch one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dynamics.moving_base import POSE, POSE_UNITS
from ..simulation.dataset import GEARS, LINKS, MOTORS, common_unit, last_dimension
from ..simulation.moving_base import BASE_POSE
from ..simulation.result import Simulation
from .columns import Column


@dataclass(frozen=True, eq=False)
class SimulationTable:
    """One run or a batch as a table that `write_table` takes."""

    run: Simulation

    def columns(self) -> list[Column]:
        """Columns of a file: the number of the run in a batch, t, then one column per quantity and joint or motor."""
        run, batch = self.run, self.run.q.shape[:-2]
        names, kinds = run.robot.motor_names, run.robot.motor_kinds  # first motors have the order of the joints
        count = max(1, int(np.prod(batch)))
        numbers = [np.repeat(x.ravel(), run.t.size) for x in np.indices(batch)]
        labels = ["run"] if len(batch) == 1 else [f"run_{k}" for k in range(len(batch))]
        found = [Column(label, "", x) for label, x in zip(labels, numbers)]
        found.append(Column("t", "s", np.tile(run.t, count)))
        for name in (*LINKS, *MOTORS):
            values = getattr(run, name)
            columns = values.reshape(-1, values.shape[-1]).T
            found += [
                Column(f"{name}.{label}", common_unit(run.units[name], [kind]), x)
                for label, kind, x in zip(names, kinds, columns)
            ]
        wanted = np.tile(run.reference, (count, 1))
        followed = [*names[: wanted.shape[1]], *map(str, range(len(names) + 1, wanted.shape[1] + 1))]
        found += [Column(f"reference.{label}", "", x) for label, x in zip(followed, wanted.T)]
        labels_along = {"joint": names[: run.robot.n], "motor": names, "pose": POSE}
        for name, values in run.more.items():
            columns = values.reshape(-1, values.shape[-1]).T
            own = labels_along.get(last_dimension(name), [str(k) for k in range(1, len(columns) + 1)])
            units = POSE_UNITS if name == BASE_POSE else [""] * len(columns)
            if name in GEARS:
                units = [common_unit(GEARS[name][0], [kind]) for kind in kinds[: len(columns)]]
            found += [Column(f"{name}.{label}", unit, x) for label, unit, x in zip(own, units, columns)]
        return found

    def arrays(self) -> dict[str, Any]:
        """Arrays by name, with the names of joints and motors and the provenance."""
        run = self.run
        arrays = {name: getattr(run, name) for name in ("t", *LINKS, *MOTORS, "reference", "periods", "joint")}
        names = {
            "joints": np.array([joint.name for joint in run.robot.joints]),
            "motors": np.array(run.robot.motor_names),
        }
        about = {"robot": run.robot.name, "digest": run.robot.digest, "period": run.period, **run.provenance}
        return {**arrays, **run.more, **names, **about}
