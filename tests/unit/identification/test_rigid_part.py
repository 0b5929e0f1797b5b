"""The rigid part against SciPy's least squares over Pinocchio's regressor, from the same log."""

import numpy as np
import pinocchio as pin
import pytest
from scipy.linalg import lstsq

import flexjoint as fj
from support.identification import multisine
from support.marks import some_long
from support.pinocchio_model import pinocchio_model

NOISE = 0.02  # Nm


@pytest.fixture(scope="module", params=some_long(["hua_3r", "kuka_lwr"], "kuka_lwr"))
def robot(request):
    robot = fj.load(request.param)
    return robot.with_drives([fj.RigidDrive(fj.Motor(0.3 + 0.1 * i, viscous_friction=1.0 + i)) for i in range(robot.n)])


def log_of(robot, seed):
    """Positions, and torques measured at the times of the samples."""
    motion = multisine([0.9, 0.7, 0.9, 0.8, 1.0, 1.0, 1.2][: robot.n], seed, 20.0)
    t = np.arange(10_000) * 2e-3
    q, v, a = np.moveaxis(motion.derivatives(t, 2), 0, 0)
    exact = fj.inverse_dynamics(robot, q, v, a)
    noisy = exact + NOISE * np.random.default_rng(seed).normal(size=exact.shape)
    return fj.logs.Log(robot, t, q=q, tau=noisy), (q, v, a), exact


def columns(model, q, v, a):
    """Pinocchio's regressor, motor inertias and viscous friction, all joints of all samples below each other."""
    data = model.createData()
    rows = [
        np.hstack([pin.computeJointTorqueRegressor(model, data, *x), np.diag(x[2]), np.diag(x[1])])
        for x in zip(q, v, a)
    ]
    return np.concatenate(rows)


def test_base_parameters_predict_as_pinocchio_and_scipy(robot):
    log, motion, _ = log_of(robot, 1)
    rough = robot.with_drives([fj.RigidDrive(fj.Motor(0.2, viscous_friction=0.5))] * robot.n)
    found = fj.identification.identify(rough, log, held=False, delay=0.0, friction="viscous")
    model = pinocchio_model(robot)
    every = slice(None, None, 20)
    solution = lstsq(columns(model, *(x[every] for x in motion)), log.tau[every].ravel())[0]
    _, (q, v, a), exact = log_of(robot, 2)
    q, v, a, exact = (x[::50] for x in (q, v, a, exact))
    theirs = (columns(model, q, v, a) @ solution).reshape(-1, robot.n)
    bodies = [x for x in found.estimates if x.kind == "base"]
    ours = fj.base_regressor(robot, q, v, v, a) @ [x.value for x in bodies]
    for i, joint in enumerate(robot.joints):
        ours[:, i] += found[f"{joint.name}.drive.motor.inertia"].value * a[:, i]
        ours[:, i] += found[f"{joint.name}.drive.motor.friction.viscous"].value * v[:, i]
        ours[:, i] += found[f"{joint.name}.drive.torque_offset"].value
    spread = np.sqrt(np.mean(exact**2))
    assert np.sqrt(np.mean((theirs - exact) ** 2)) < 1e-3 * spread
    assert np.sqrt(np.mean((ours - exact) ** 2)) < 1e-3 * spread
    assert np.sqrt(np.mean((ours - theirs) ** 2)) < 1e-3 * spread
    assert found.passed
