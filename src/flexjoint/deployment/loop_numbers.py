"""Numbers of a loop that may change at run time: gains, thresholds, and numbers of the robot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..algorithm.algorithm import parameter_array
from ..compiler.ir.program import Array
from ..control.base import innermost
from ..robot.parameters import select_all
from ..spatial import sx
from ..types import Expression, FloatArray
from .component import Columns
from .free_numbers import detectors_in, with_free_numbers
from .loop_parts import Parts


class Numbers(NamedTuple):
    """The parameters of a loop: gains, thresholds, and numbers of the robot."""

    arrays: tuple[Array, ...]
    values: tuple[FloatArray, ...]
    gain_rows: tuple[str, ...]  # names of the rows of gains that are parameters
    folded: FloatArray  # the gains
    levels: dict[int, str]  # detectors by `id`, and the parameter of their thresholds
    paths: dict[str, tuple[str, ...]]  # elements of the robot's parameters

    @classmethod
    def of(cls, parts: Parts, free: Sequence[str], fold: bool) -> Numbers:
        laws = [x for x in (parts.controller, *parts.observers.values()) if x is not None]
        arrays: list[Array] = []
        values: list[FloatArray] = []
        gains = parts.controller.gains if parts.controller else np.zeros((0, 0))
        names: tuple[str, ...] = ()
        if parts.controller is not None and not fold:
            names = tuple(innermost(parts.controller).gain_names)
            if len(names) != len(gains) or len(set(names)) != len(names):
                names = tuple(f"gains{k}" for k in range(len(gains)))
            labels = tuple(joint.name for joint in parts.robot.joints)
            wide = gains.shape[1:] == (len(labels),)
            arrays += [Array(x, gains.shape[1:], "", labels if wide else ()) for x in names]
            values += [*gains]
        detectors = [x for law in laws for x in detectors_in(law)]
        levels: dict[int, str] = {}
        if not fold:
            for detector in detectors:
                name = "threshold" + (str(len(levels)) if len(detectors) > 1 else "")
                levels[id(detector)] = name
                labels = tuple(f"{x} {k + 1}" for x, y in detector.thresholds.items() for k in range(len(y)))
                arrays.append(Array(name, detector.level.shape, "Nm | N", labels))
                values.append(detector.level)
        chosen = select_all(parts.robot, tuple(free))
        arrays += [parameter_array(x) for x in chosen]
        values += [np.asarray(x.value, dtype=float) for x in chosen]
        return cls(tuple(arrays), tuple(values), names, gains, levels, {x.path: x.elements for x in chosen})

    def gains(self, parameters: Columns) -> list[Expression]:
        """The rows of gains."""
        return [parameters[x] for x in self.gain_rows] if self.gain_rows else [sx(x) for x in self.folded]

    def put_into(self, parts: Parts, parameters: Columns) -> Parts:
        """The laws with the parameters in place of their numbers."""
        if not self.levels and not self.paths:
            return parts
        numbers = {x: parameters[path][k] for path, elements in self.paths.items() for k, x in enumerate(elements)}
        levels = {key: parameters[name] for key, name in self.levels.items()}
        controller = None if parts.controller is None else with_free_numbers(parts.controller, numbers, levels)
        observers = {name: with_free_numbers(x, numbers, levels) for name, x in parts.observers.items()}
        return parts._replace(controller=controller, observers=observers)
