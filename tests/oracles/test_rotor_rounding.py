"""What high orders lose to rounding: against 200-bit arithmetic, and under other units of time."""

import dataclasses

import mpmath
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.compiler.ir.reference import FloatArithmetic, MpmathArithmetic, interpret
from support.errors import recorded
from support.multiprecision import PRECISION, normwise_error
from support.rotors import with_random_rotors

ROBOT = with_random_rotors(fj.random_robot(4, 1, prismatic=0.0), 1, elastic=1.0)
FREQUENCIES = (0.1, 1.0, 30.0, 1000.0)  # rad/s
UNIT = 2.0**-6  # s: another unit of time


def program_of(robot):
    return fj.inverse_dynamics.trace(robot, fj.inverse_dynamics.structure(robot))[0]


def torque(program, stack):
    return np.array(interpret(program, [list(map(float, x)) for x in stack], FloatArithmetic())[0])


def sinusoid(omega, order, seed=0):
    rng = np.random.default_rng(seed)
    amplitude, phase = rng.uniform(0.5, 1.0, ROBOT.n), rng.uniform(0.0, 6.0, ROBOT.n)
    return np.array([amplitude * omega**k * np.sin(phase + k * np.pi / 2) for k in range(order + 1)])


@pytest.fixture(scope="module")
def program():
    return program_of(ROBOT)


def test_order_eight_in_200_bits(program):
    """Slow and fast motions: torques from 10 to 1e21 Nm, of which the fast ones are due to the highest orders."""
    orders = fj.dynamics.derivative_orders(ROBOT)
    assert orders.differentiations == 8
    for omega in FREQUENCIES:
        stack = sinusoid(omega, orders.motion)
        with mpmath.workprec(PRECISION):
            exact = interpret(program, [[mpmath.mpf(float(x)) for x in row] for row in stack], MpmathArithmetic())[0]
        tau = torque(program, stack)
        assert recorded(normwise_error(tau, exact)) < 2e-15
        assert recorded(max(normwise_error([x], [y]) for x, y in zip(tau, exact))) < 1e-13, "joint by joint"


def test_another_unit_of_time_changes_no_bit(program):
    """A factor Tᵏ on the derivatives of order k, T a power of two, with K, D and g to match: all terms of an equation
    grow by the same power of two.  So scaled derivatives would round as these do."""
    motors = [dataclasses.replace(x.drive.motor, viscous_friction=0.0) for x in ROBOT.joints]
    K = [joint.drive.stiffness for joint in ROBOT.joints]
    undamped = ROBOT.with_drives([fj.ElasticDrive(k, motor) for k, motor in zip(K, motors)])
    scaled = ROBOT.with_drives([fj.ElasticDrive(k * UNIT**2, motor) for k, motor in zip(K, motors)])
    scaled = scaled.with_gravity(UNIT**2 * ROBOT.gravity)
    stack = sinusoid(30.0, fj.dynamics.derivative_orders(ROBOT).motion)
    slow = np.array([x * UNIT**k for k, x in enumerate(stack)])
    tau = torque(program_of(undamped), stack)
    assert np.array_equal(torque(program_of(scaled), slow), UNIT**2 * tau)
    assert not np.array_equal(torque(program, stack), tau), "friction of the motors counts"
