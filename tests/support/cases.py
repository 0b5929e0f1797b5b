"""Reference cases: robots and solutions computed without any Newton-Euler recursion.

The family of a case is the first part of its name; the tests of a family take all of its cases.  Those that end in
their joints, `_RP4`, come from 4×4 poses as power series in time, rotors as bodies, in 220 bits.

`robot`: standard DH, `type` R/P a joint, alpha, a, d, th (the offset the variable adds to), m, com and I (central,
DH frame i), D (viscous friction of the link), B, K, g.  Where a case has `rotors`, m, com and I are the links
without them.  `D[k][b]` is the k-th derivative of q in state b, `S[k][b]` of the stiffness.  `springs`: the laws of two
antagonistic springs a joint, the solution being that with φ_1 ≥ φ_2.  Compare max|x − ref| / max|ref| with `tol_rel`.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import numpy as np

from flexjoint.drives import AntagonisticDrive, ElasticDrive, Motor
from flexjoint.formats.dh import from_dh
from flexjoint.robot import Robot
from flexjoint.springs import CubicSpring, ExponentialSpring

CASES = Path(__file__).parent.parent / "data" / "cases"


def case_names(family: str = "") -> list[str]:
    return sorted(path.stem for path in CASES.glob(f"{family}*.json"))


def load_case(name: str) -> dict[str, Any]:
    """Numbers and nested lists as arrays, in `robot` too; texts and the list of rotors as they are."""
    return _arrays(json.loads((CASES / f"{name}.json").read_text()))


def robot_of_case(case: dict[str, Any], **options: Any) -> Robot:
    """The case's links; an ElasticDrive where K and B are positive, or the springs given.  `options` go to from_dh."""
    data = case["robot"]
    n = len(data["type"])
    K, B = data.get("K", np.zeros(n)), data.get("B", np.zeros(n))
    drives = [ElasticDrive(float(k), Motor(float(b))) if k > 0 and b > 0 else None for k, b in zip(K, B)]
    if "springs" in case:
        drives = [antagonistic_drive(data, i, law) for i, law in enumerate(ast.literal_eval(case["springs"]))]
    given = {
        "kinds": data["type"],
        "mass": data["m"],
        "com": data["com"],
        "inertia": data["I"],
        "viscous_friction": data["D"],
        "drives": drives,
        "gravity": data["g"],
    }
    alpha = data["alpha"]
    if "casa" in data:  # cosines and sines of alpha, exact
        alpha = np.arctan2(data["casa"][:, 1], data["casa"][:, 0])
    return from_dh(data["name"], alpha, data["a"], data["d"], data["th"], **{**given, **options})


def antagonistic_drive(data: dict[str, Any], joint: int, law: Any) -> AntagonisticDrive:
    """("cubic", ((K, K_c), ...)), or ("exp", ((a, b), ...)): a (e^(bφ) − 1) and its mirror image, a (1 − e^(−bφ))."""
    kind, numbers = law
    motors = [Motor(float(data[f"B{k}"][joint]), float(data[f"Dm{k}"][joint])) for k in (1, 2)]
    if kind == "cubic":
        springs = [CubicSpring(*x) for x in numbers]
    else:
        springs = [ExponentialSpring(a * b, sign * b) for (a, b), sign in zip(numbers, (1, -1))]
    return AntagonisticDrive(*springs, *motors)


def _arrays(table: dict[str, Any]) -> dict[str, Any]:
    return {key: _array(value) for key, value in table.items()}


def _array(value: Any) -> Any:
    if isinstance(value, dict):
        return _arrays(value)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [_arrays(item) for item in value]
    return np.array(value) if isinstance(value, list) else value
