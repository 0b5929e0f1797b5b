"""Results of user functions that have the wrong size are refused with the size that is right, never broadcast."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj

ROBOT = fj.load("hua_3r")
PD = fj.control.MotorPD(ROBOT, [2000.0, 100.0])
MOTION = fj.trajectory.RestToRest(np.zeros(3), np.full(3, 0.1), 0.05)


@dataclass(frozen=True, eq=False)
class Estimator(fj.observers.Observer):
    robot: fj.Robot
    period: float
    size: int

    memory = ()

    @property
    def outputs(self):
        return {"theta": self.size}

    def start(self, measurement):
        return (), {"theta": np.zeros(self.size)}

    def law(self, state, measurement, torque):
        return (), {"theta": ca.SX.zeros(self.size)}


@pytest.mark.parametrize("size", [1, 2, 4])
def test_an_estimator_replaces_a_measurement_by_one_of_its_size(size):
    with pytest.raises(fj.InputError, match=f"{size} as the size of its output 'theta'.* of 3 numbers"):
        fj.simulate(ROBOT, PD, MOTION, 0.02, estimator=Estimator(ROBOT, 1e-3, size))


def user_class(base, **methods):
    return dataclass(frozen=True, eq=False)(type("User", (base,), methods))


@pytest.mark.parametrize("value", [lambda x: ca.vertcat(x, x), lambda x: ca.SX(0, 1), lambda x: None, lambda x: "x"])
@pytest.mark.parametrize("method", ["torque", "deflection"])
def test_a_spring_returns_one_number(method, value):
    methods = {"torque": lambda self, phi: 100 * phi, "deflection": lambda self, tau: tau / 100}
    with pytest.raises(fj.InputError, match=rf"User.{method} returned .* it must have shape \(\)"):
        user_class(fj.springs.Spring, **methods | {method: lambda self, x: value(x)})()


def test_the_slip_of_a_hysteresis_is_one_number():
    slipping = user_class(fj.drives.Dahl, slip=lambda self, z, phi_v: ca.vertcat(z, z))(2.0, 4000.0)
    with pytest.raises(fj.InputError, match=r"User.slip returned its result with shape"):
        slipping.rate(ca.SX.sym("z"), ca.SX.sym("v"))


@pytest.mark.parametrize("size", [1, 2, 4])
def test_commanded_dampers_and_trajectories_have_the_size_of_the_robot(size):
    damping = user_class(fj.control.MotorPD, damper_command=lambda self, measurement: ca.SX.zeros(size))
    with pytest.raises(fj.InputError, match=r"User.damper_command returned damping .* shape \(3,\)"):
        damping(ROBOT, [2000.0, 100.0]).checked_damper_command(None)
    shape = user_class(
        fj.trajectory.RestToRest, derivatives=lambda self, t, order: np.zeros((order + 1, *np.shape(t), size))
    )
    with pytest.raises(fj.InputError, match=r"User.derivatives returned an array of shape"):
        fj.simulate(ROBOT, PD, shape(np.zeros(3), np.ones(3), 1.0), 0.02)
