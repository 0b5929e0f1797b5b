"""Links and motors of robots with variable stiffness, over (q, θ), against automatic differentiation of the energy.

Spong's model: the axial inertia of a rotor counts with its own angle only, so that the links have none of it.
"""

from functools import cached_property

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from support.errors import relative_error
from support.evaluate import evaluate
from support.kinematics import symbolic_poses
from support.lagrange import kinetic, potential, rate, smooth_friction

MOTOR = fj.Motor(0.5, 0.3)
SPRINGS = fj.springs.CubicSpring(40.0, 200.0), fj.springs.CubicSpring(60.0, 100.0)


def rotor(inertia, carrier=None):
    place = {} if carrier is None else {"carrier": carrier, "axis": (0.6, 0.0, 0.8), "position": (0.1, 0.2, 0.0)}
    return fj.Motor.from_rotor(inertia, 4.0, viscous_friction=0.2, mass=0.3, transverse_inertia=5e-3, **place)


def variable(motor_1, motor_2, damping=0.0):
    return fj.drives.AntagonisticDrive(*SPRINGS, motor_1, motor_2, damping)


CHAIN = fj.random_robot(3, 7, prismatic=0.0, friction=True)
ROBOTS = {
    "vsa_3r": fj.load("vsa_3r"),
    "every drive": CHAIN.with_drives(
        [variable(MOTOR, fj.Motor(0.8), 1.5), fj.RigidDrive(MOTOR), fj.ElasticDrive(90.0, MOTOR)]
    ),
    "rotors in the links": CHAIN.with_drives(
        [variable(rotor(2e-3), rotor(1e-3, "link1")), fj.ElasticDrive(90.0, MOTOR), variable(rotor(1e-3), rotor(1e-3))]
    ),
}


@pytest.fixture(params=ROBOTS)
def case(request):
    return Energies(ROBOTS[request.param])


def motors(robot):
    """Motor and joint of every motor, in the order of `motor_names`."""
    drives = [robot.joints[i].drive for i in robot.motor_joints]
    return [(drive.motors[k >= robot.n], i) for k, (drive, i) in enumerate(zip(drives, robot.motor_joints))]


class Energies:
    """Lagrange's equations over y = (q, θ of motors behind springs)."""

    def __init__(self, robot):
        self.robot, n = robot, robot.n
        self.behind = list(robot.motors_behind_springs)
        self.y, self.dy, self.ddy = (ca.SX.sym(name, n + len(self.behind)) for name in ("y", "dy", "ddy"))
        q, v = ca.SX.sym("q", n), ca.SX.sym("v", n)
        links = ca.Function("T", [q, v], [kinetic(robot, q, v) - self.spinning_along(q, v)])
        self.T = links(self.y[:n], self.dy[:n])
        for k, (motor, i) in enumerate(motors(robot)):
            speed = self.dy[n + self.behind.index(k)] if k in self.behind else self.dy[i]
            self.T += motor.inertia * speed**2 / 2
        gravity = ca.Function("V", [q], [potential(robot, q)])
        self.V = gravity(self.y[:n])

    def spinning_along(self, q, v):
        """½ Σ I_axial (a·ω)² of the rotors that the links contain."""
        robot, energy = self.robot, 0
        poses, moving = symbolic_poses(robot, q), [k for k, link in enumerate(robot.links) if link.joint.moves]
        for k, (motor, i) in enumerate(motors(robot)):
            carrier = robot.carrier(moving[i], int(k >= robot.n))
            if motor.gear_ratio is None or carrier < 0:
                continue
            axis = robot.links[moving[i]].joint.rotation[:, 2] if motor.axis is None else np.array(motor.axis)
            W = poses[carrier][:3, :3].T @ rate(poses[carrier], [q, v])[:3, :3]
            omega = ca.vertcat(W[2, 1], W[0, 2], W[1, 0])
            energy += motor.axial_inertia * ca.dot(omega, ca.DM(axis)) ** 2 / 2
        return energy

    def value(self, expression, y, dy, ddy=None):
        f = ca.Function("f", [self.y, self.dy, self.ddy], [ca.densify(expression)])
        found = np.array(f(y, dy, np.zeros(len(y)) if ddy is None else ddy))
        return found[:, 0] if found.shape[1] == 1 and found.shape[0] > 1 else found

    @cached_property
    def M(self):
        return ca.hessian(self.T, self.dy)[0]

    @property
    def bias(self):
        return rate(ca.gradient(self.T, self.dy), [self.y, self.dy]) - ca.gradient(self.T, self.y)

    def coordinates(self, links, of_motors):
        return np.concatenate([links, of_motors[self.behind]])


def state(robot, seed):
    rng = np.random.default_rng(seed)
    return [*rng.normal(size=(2, robot.n)), *rng.normal(size=(2, robot.motor_count))]


def over(case, pair):
    """LinksAndMotors over the coordinates; rigid motors have nothing of their own."""
    rigid = [k for k in range(case.robot.motor_count) if k not in case.behind]
    assert not np.any(pair.motors[rigid])
    return case.coordinates(pair.links, pair.motors)


def test_inertia_and_momentum(case):
    robot = case.robot
    q, v, theta, theta_v = state(robot, 1)
    y, dy = case.coordinates(q, theta), case.coordinates(v, theta_v)
    M = case.value(case.M, y, dy)
    assert relative_error(evaluate(fj.mass_matrix, robot, q, motors=True), M) < 1e-13
    rate_of_M = case.value(rate(case.M, [case.y, case.dy]), y, dy)
    assert relative_error(evaluate(fj.mass_matrix_rate, robot, q, v, motors=True), rate_of_M) < 1e-12
    energy = evaluate(fj.kinetic_energy, robot, q, v, theta_v, motors=True)
    assert relative_error(energy, case.value(case.T, y, dy)) < 1e-13
    p = evaluate(fj.generalized_momentum, robot, q, v, theta_v, motors=True)
    assert relative_error(over(case, p), M @ dy) < 1e-13


def test_coriolis(case):
    robot = case.robot
    q, v, theta, theta_v = state(robot, 2)
    y, dy = case.coordinates(q, theta), case.coordinates(v, theta_v)
    c = case.value(case.bias, y, dy)
    gradient = evaluate(fj.coriolis_transpose_product, robot, q, v, theta_v, motors=True)
    assert relative_error(over(case, gradient), case.value(ca.gradient(case.T, case.y), y, dy)) < 1e-12
    product = evaluate(fj.coriolis_product, robot, q, v, theta_v, v, theta_v, motors=True)
    assert relative_error(over(case, product), c) < 1e-12
    C = evaluate(fj.coriolis_matrix, robot, q, v, theta_v, motors=True)
    assert C.shape == (len(y), len(y))
    assert relative_error(C @ dy, c) < 1e-12
    assert relative_error(C + C.T, case.value(rate(case.M, [case.y, case.dy]), y, dy)) < 1e-12


def loads(robot, q, v, theta, theta_v):
    """Torques of springs and dampers on the links, and on every motor."""
    on_links, on_motors = np.zeros(robot.n), np.zeros(robot.motor_count)
    for i, joint in enumerate(robot.joints):
        places = [k for k, j in enumerate(robot.motor_joints) if j == i]
        springs = {1: [getattr(joint.drive, "spring", None)], 2: list(SPRINGS)}[len(places)]
        if robot.name == "vsa_3r":
            springs = [joint.drive.spring_1, joint.drive.spring_2]
        for k, spring in zip(places, springs):
            if spring is not None:
                damping = joint.drive.damping * (theta_v[k] - v[i])
                on_motors[k] = float(spring.curve(theta[k] - q[i]).torque) + damping
                on_links[i] += on_motors[k]
    return on_links, on_motors


def test_forces_and_accelerations(case):
    robot = case.robot
    q, v, theta, theta_v = state(robot, 3)
    _, _, tau, theta_a = state(robot, 4)
    a = state(robot, 5)[0]
    y, dy, ddy = case.coordinates(q, theta), case.coordinates(v, theta_v), case.coordinates(a, theta_a)
    on_links, on_motors = loads(robot, q, v, theta, theta_v)
    friction = np.array([float(smooth_friction(joint, x)) for joint, x in zip(robot.joints, v)])
    at_motors = np.array([float(smooth_friction(motor, x)) for (motor, _), x in zip(motors(robot), theta_v)])
    rigid = [k for k in range(robot.motor_count) if k not in case.behind]
    friction[rigid] += [float(smooth_friction(robot.joints[i].drive.motor, v[i])) for i in rigid]
    needed = case.value(case.bias + case.M @ case.ddy + ca.gradient(case.V, case.y), y, dy, ddy)
    found = evaluate(fj.dynamics.generalized_forces, robot, q, v, theta, theta_v, a, theta_a)
    assert relative_error(found.tau_e, needed[: robot.n] + friction) < 1e-12
    expected = (on_motors + at_motors)[case.behind] + needed[robot.n :]
    assert relative_error(found.tau[case.behind], expected) < 1e-12
    # M y'' = forces − c − g
    driving = on_links.copy()
    driving[rigid] += tau[rigid]
    forces = np.concatenate([driving - friction, (tau - on_motors - at_motors)[case.behind]])
    rest = case.value(case.bias + ca.gradient(case.V, case.y), y, dy)
    expected = np.linalg.solve(case.value(case.M, y, dy), forces - rest)
    moved = evaluate(fj.forward_dynamics, robot, q, v, theta, theta_v, tau)
    assert relative_error(case.coordinates(moved.a, moved.theta_a), expected) < 1e-11


@pytest.mark.parametrize("name", ROBOTS)
def test_the_complete_model_is_refused_when_the_robot_is_made(name):
    with pytest.raises(fj.RobotError, match=r"two motors and variable stiffness.*no complete model.*'spong'"):
        ROBOTS[name].with_fidelity("complete")
