"""Every robot of three packages of URDFs with elastic joints, written as MJCF and compared in MuJoCo.

    python tests/mjcf_exports.py                  # installs the packages into a temporary folder
    python tests/mjcf_exports.py --models FOLDER  # that holds example-robot-data, frax and pybullet already

All joints get motors and springs.  At two random states and accelerations the forces that MuJoCo's mass matrix and
forces ask for are compared with the torques of the links from `inverse_dynamics` and the law of springs and motors,
relative to the largest force.  Fails if MuJoCo refuses a file, or if they differ by more than 1e-12 although the report
has no inertia that was changed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import mujoco
import numpy as np

import flexjoint as fj
from support.evaluate import evaluate
from support.model_packages import installed
from urdf_packages import PACKAGES, TOLERANCE

MOST_JOINTS = 60
STIFFNESS, INERTIA = 1000.0, 0.3


def difference(robot: fj.Robot, model: fj.formats.MjcfModel, made: mujoco.MjModel) -> float:
    """The largest relative difference of forces."""
    data, n, rng = mujoco.MjData(made), robot.n, np.random.default_rng(0)
    rest = model.to_mujoco(np.zeros(n))[0]
    unit = np.eye(2 * n)
    G = np.array([model.to_mujoco(x[:n], theta=x[n:])[0] - rest for x in unit]).T
    worst = 0.0
    for _ in range(2):
        q, v, a, theta, theta_v, theta_a = rng.normal(size=(6, n))
        data.qpos[:], data.qvel[:] = model.to_mujoco(q, v, theta, theta_v)
        mujoco.mj_forward(made, data)
        M = np.zeros((made.nv, made.nv))
        mujoco.mj_fullM(made, data, M)
        found = G.T @ (M @ (G @ np.concatenate([a, theta_a])) - data.qfrc_smooth)
        tau_e = STIFFNESS * (theta - q)
        bare = np.reshape(evaluate(fj.inverse_dynamics, robot.without_drives(), q, v, a), n)
        expected = np.concatenate([bare - tau_e, INERTIA * theta_a + tau_e])
        worst = max(worst, float(np.max(np.abs(found - expected)) / np.max(np.abs(expected))))
    return worst


def judged(path: Path) -> str:
    """What comes of a file, in a few words; findings begin with a capital letter."""
    try:
        robot = fj.load(path)
    except fj.FlexjointError:
        return "refused by flexjoint"
    if robot.n > MOST_JOINTS:
        return f"more than {MOST_JOINTS} joints"
    geometry = fj.formats.file_geometry(robot)
    drive = fj.ElasticDrive(STIFFNESS, fj.Motor(INERTIA))
    robot = robot.without_drives().with_drives([drive] * robot.n).without_friction()
    model = fj.formats.mjcf_model(robot, limits=False, geometry=geometry)
    try:
        made = mujoco.MjModel.from_xml_string(model.text)
    except ValueError as error:
        return f"Refused by MuJoCo: {path}: {' '.join(str(error).split())}"
    worst = difference(robot, model, made)
    if any(x.what == "inertia" for x in model.report):
        return "with an inertia that MuJoCo refuses, reported"
    return f"equal within {TOLERANCE:g}" if worst < TOLERANCE else f"Different by {worst:.1e}: {path}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, help="folder of the packages; they are installed by default")
    given = parser.parse_args()
    warnings.simplefilter("ignore", fj.FlexjointWarning)
    with tempfile.TemporaryDirectory() as folder:
        models = given.models.resolve() if given.models else installed(Path(folder), PACKAGES.names)
        os.chdir(folder)  # MuJoCo writes its log of warnings where it runs
        files = [path for package in PACKAGES.names for path in sorted((models / package).rglob("*.urdf"))]
        found = Counter(judged(path) for path in files if b"<inertial" in path.read_bytes())
    for text, count in sorted(found.items()):
        print(f"{count:5d} {text}")
    return 1 if any(text[0].isupper() for text in found) else 0


if __name__ == "__main__":
    sys.exit(main())
