"""First values of friction velocities: the best of a grid, since the equations are not linear in them.

The motor equation of a joint alone, with all its other parameters free, is solved for each pair (v_c, v_s).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..types import FloatArray
from .equations import Equations, JointEquations
from .parameters import Unknowns

CROSSINGS = (0.004, 0.012, 0.035, 0.1, 0.3)  # v_c over the rms speed
FALLS = (2.5, 6.0, 15.0)  # v_s over v_c


def friction_start(measured: Sequence[Equations], values: FloatArray) -> FloatArray:
    """The values with the best friction velocities of a grid."""
    found = values.copy()
    equations = max(measured, key=lambda x: x.recording.count)
    unknowns = equations.unknowns
    for i in range(equations.robot.n):
        k, s = unknowns.at(i, "log_velocity"), unknowns.at(i, "log_stribeck")
        if k is None:
            continue
        speed = float(np.sqrt(np.mean(equations.signals.motor[1][:, i] ** 2)))
        if speed <= 0:
            continue
        guesses = [(found[k], None if s is None else found[s])]
        for share in CROSSINGS:
            v_c = np.log(share * speed)
            guesses += [(v_c, None)] if s is None else [(v_c, v_c + np.log(fall)) for fall in FALLS]
        costs, rows = [], equations.motor_equation(i, found)
        for v_c, v_s in guesses:
            trial = found.copy()
            trial[k] = v_c
            if s is not None:
                trial[s] = v_s
            whole = rows.copy()
            equations.add_dry_friction(i, whole, trial, *rows.channels)
            costs.append(cost(whole.equations(i, trial, unknowns), trial, unknowns))
        found[k], best = guesses[int(np.argmin(costs))]
        if s is not None:
            found[s] = best
    return found


def cost(rows: JointEquations, values: FloatArray, unknowns: Unknowns) -> float:
    """Least sum of squares of the motor equation of a joint over all parameters but the friction velocities."""
    free = [j for j, k in enumerate(rows.places) if not unknowns.parameters[k].kind.startswith("log")]
    A, y = rows.columns[:, 0, free], rows.residual[:, 0]
    used = np.any(A != 0, axis=0)
    A, y = A[:, used], y - A[:, used] @ values[[rows.places[j] for j, there in zip(free, used) if there]]
    A, y = np.concatenate([A.real, A.imag]), np.concatenate([y.real, y.imag])
    scale = np.sqrt(np.sum(A * A, axis=0))
    normal = (A.T @ A) / scale / scale[:, None] + 1e-12 * np.eye(len(scale))
    moment = (A.T @ y) / scale
    solution = -np.linalg.solve(normal, moment)
    rise = unknowns.at(rows.joint, "rise")
    places = [rows.places[j] for j, there in zip(free, used) if there]
    if rise is not None and solution[places.index(rise)] < 0:
        return float(y @ y)  # friction that grows at the onset of motion is no Stribeck effect
    return float(y @ y + solution @ moment)
