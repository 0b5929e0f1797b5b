"""Links and motors of robots with variable stiffness, over (q, θ), against automatic differentiation of the energy.

Spong's model: the axial inertia of a rotor counts with its own angle only, so that the links have none of it.
"""

from functools import cached_property

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

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
        if isinstance(joint.drive, fj.drives.LeverDrive):
            phi = theta[places[0]] - q[i], theta[places[1]]
            on_motors[places] = [float(x) for x in joint.drive.torques(*map(ca.DM, phi))]
            on_links[i] += on_motors[places[0]]
            continue
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


# Complete rotors ------------------------------------------------------------------------------------------------------


class Bodies(Energies):
    """The same with every rotor a body of its own: a pose on its carrier, turned by η θ."""

    def __init__(self, robot):
        self.robot, n = robot, robot.n
        self.behind = list(robot.motors_behind_springs)
        self.y, self.dy, self.ddy = (ca.SX.sym(name, n + len(self.behind)) for name in ("y", "dy", "ddy"))
        q, v = self.y[:n], self.dy[:n]
        links = [ca.SX.sym(name, n) for name in ("q", "v")]
        self.T = ca.Function("T", links, [kinetic(robot, *links)])(q, v)
        self.V = ca.Function("V", links[:1], [potential(robot, links[0])])(q)
        poses, moving = symbolic_poses(robot, links[0]), [k for k, link in enumerate(robot.links) if link.joint.moves]
        gravity = ca.DM([*robot.gravity, 0.0])
        for k, (motor, i) in enumerate(motors(robot)):
            carrier = robot.carrier(moving[i], int(k >= n))
            joint = robot.links[moving[i]].joint
            axis = joint.rotation[:, 2] if motor.axis is None else np.array(motor.axis)
            x = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
            x /= np.linalg.norm(x)
            mount = np.eye(4)
            mount[:3, :3] = np.column_stack([x, np.cross(axis, x), axis])
            mount[:3, 3] = joint.position if motor.position is None else motor.position
            holder = ca.Function("P", links[:1], [poses[carrier]])(q) if carrier >= 0 else ca.DM.eye(4)
            angle = motor.gear_ratio * (self.y[n + self.behind.index(k)] if k in self.behind else self.y[i])
            c, s = ca.cos(angle), ca.sin(angle)
            turned = ca.vertcat(ca.horzcat(c, -s, 0, 0), ca.horzcat(s, c, 0, 0), ca.DM.eye(4)[2:, :])
            pose, half = holder @ mount @ turned, motor.axial_inertia / 2
            J = ca.diag(ca.DM([half, half, motor.transverse_inertia - half, motor.mass]))  # ∫ (r, 1)(r, 1)ᵀ dm
            dP = rate(pose, [self.y, self.dy])
            self.T += ca.trace(dP @ J @ dP.T) / 2
            self.V -= motor.mass * ca.dot(gravity, pose[:, 3])


def heavy(seed, carrier=None):
    """A rotor whose axis is in general position on the parent link or another."""
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    where = {"axis": axis / np.linalg.norm(axis), "position": rng.uniform(-0.1, 0.1, 3), "carrier": carrier}
    inertia, ratio = float(rng.uniform(0.01, 0.03)), float(rng.choice([-1, 1]) * rng.uniform(3, 6))
    return fj.Motor.from_rotor(inertia, ratio, viscous_friction=0.2, mass=0.4, transverse_inertia=0.02, **where)


def complete(n, seed, drives, **more):
    robot = fj.random_robot(n, seed, friction=True, **more)
    return robot.replace(fidelity="complete", rotors_in_links=False).with_drives(drives)


LEVER = fj.drives.LeverDrive(7e3, 0.1, 0.02, 0.2, heavy(4), heavy(5))
COMPLETE = {
    "antagonistic, in a tree with a prismatic joint": complete(
        4,
        37,
        [
            variable(heavy(1), heavy(2, "base")),
            fj.RigidDrive(heavy(3)),
            variable(heavy(6), heavy(7)),
            fj.ElasticDrive(90.0, heavy(8)),
        ],
        tree=True,
        prismatic=0.4,
    ),
    "levers in a chain": complete(3, 5, [LEVER, fj.ElasticDrive(300.0, heavy(9)), LEVER], prismatic=0.0),
    "pairs in general position": complete(
        3, 2, [variable(heavy(10 + k), heavy(20 + k)) for k in range(3)], prismatic=0.0
    ),
}


@pytest.fixture(params=COMPLETE)
def bodies(request):
    return Bodies(COMPLETE[request.param])


def test_complete_inertia_and_momentum(bodies):
    test_inertia_and_momentum(bodies)


def test_complete_coriolis(bodies):
    test_coriolis(bodies)
    robot = bodies.robot
    q, v, theta, theta_v = state(robot, 2)
    y, dy = bodies.coordinates(q, theta), bodies.coordinates(v, theta_v)
    S = evaluate(fj.dynamics.rotor_coupling, robot, q)[:, bodies.behind]
    assert relative_error(S, bodies.value(bodies.M, y, dy)[: robot.n, robot.n :]) < 1e-12


def test_complete_forces_and_accelerations(bodies):
    test_forces_and_accelerations(bodies)


def motion_and_stiffness(robot):
    """[q, q', ...] and [σ, σ', ...] at t, of polynomials."""
    rng = np.random.default_rng(0)
    order, soft = fj.dynamics.derivative_orders(robot).motion, fj.dynamics.derivative_orders(robot).joints
    width = max([2, *(x.differentiations for x, two in zip(soft, robot.variable_stiffness) if two)])
    q = [np.polynomial.Polynomial(x) for x in rng.uniform(-0.3, 0.3, (robot.n, 5))]
    sigma = [np.polynomial.Polynomial([220.0, *x]) for x in rng.uniform(-5.0, 5.0, (robot.n, 4))]

    def at(t):
        return [
            np.array([[p.deriv(k)(t) if k else p(t) for p in x] for k in range(m + 1)])
            for x, m in ((q, order), (sigma, width))
        ]

    return at


def test_complete_inverse_and_forward_dynamics(bodies):
    """The torques of inverse dynamics give the accelerations of the motion, to ours and to the bodies."""
    robot = bodies.robot
    stack, sigma = motion_and_stiffness(robot)(0.2)
    found = fj.motor_motion(robot, *stack, stiffness=sigma)
    assert relative_error(fj.inverse_dynamics(robot, *stack, stiffness=sigma), found.tau) < 1e-14
    moved = fj.forward_dynamics(robot, *stack[:2], found.theta, found.theta_v, found.tau)
    assert relative_error(moved.a, stack[2]) < 1e-12
    assert relative_error(moved.theta_a, found.theta_a) < 1e-12


@pytest.mark.parametrize("name", ["antagonistic, in a tree with a prismatic joint", "levers in a chain"])
def test_complete_motion_is_that_of_the_bodies(name):
    """SciPy integrates links and rotors under the torques of inverse dynamics."""
    robot = COMPLETE[name]
    case, at = Bodies(robot), motion_and_stiffness(robot)
    n, m = robot.n, robot.motor_count
    terms = ca.Function("f", [case.y, case.dy], [case.M, case.bias + ca.gradient(case.V, case.y)])
    rigid = [k for k in range(m) if k not in case.behind]
    stack, sigma = at(0.0)
    kernel = fj.compile(fj.motor_motion, robot, len(stack), stiffness=len(sigma))
    begin = kernel(*stack, *sigma)
    start = np.concatenate([case.coordinates(stack[0], begin.theta), case.coordinates(stack[1], begin.theta_v)])

    def rates(t, x):
        y, dy = np.split(x, 2)
        stack, sigma = at(t)
        tau = kernel(*stack, *sigma).tau
        theta, theta_v = np.zeros((2, m))
        theta[case.behind], theta_v[case.behind] = y[n:], dy[n:]
        theta[rigid], theta_v[rigid] = y[rigid], dy[rigid]
        on_links, on_motors = loads(robot, y[:n], dy[:n], theta, theta_v)
        friction = np.array([float(smooth_friction(joint, x)) for joint, x in zip(robot.joints, dy[:n])])
        at_motors = np.array([float(smooth_friction(motor, x)) for (motor, _), x in zip(motors(robot), theta_v)])
        on_links[rigid] += tau[rigid] - at_motors[rigid]
        M, rest = terms(y, dy)
        forces = np.concatenate([on_links - friction, (tau - on_motors - at_motors)[case.behind]])
        return np.concatenate([dy, np.linalg.solve(np.array(M), forces - np.array(rest)[:, 0])])

    run = solve_ivp(rates, (0.0, 0.1), start, method="DOP853", rtol=1e-10, atol=1e-11)
    end = fj.motor_motion(robot, *at(0.1)[0], stiffness=at(0.1)[1])
    assert np.max(np.abs(run.y[: case.y.numel(), -1] - case.coordinates(at(0.1)[0][0], end.theta))) < 1e-8


@pytest.mark.parametrize("name", COMPLETE)
def test_complete_robots_in_files_and_simulation(name, tmp_path):
    """A robot file keeps both rotors of a joint; a robot let go keeps its energy but for friction."""
    robot = COMPLETE[name]
    fj.write_robot(robot, tmp_path / "robot.toml")
    assert fj.load(tmp_path / "robot.toml").digest == robot.digest
    free = robot.without_friction()
    start = fj.simulation.at_rest(free, np.full(free.n, 0.05), 200.0)._replace(v=np.full(free.n, 0.2))
    law = fj.control.OpenLoop(free)
    run = fj.simulate(free, law, np.zeros(free.motor_count), 0.2, start=start, period=2e-4, check=False)
    stored = [
        fj.kinetic_energy(free, run.q[k], run.v[k], run.theta_v[k], motors=True)
        + fj.gravity_energy(free, run.q[k])
        + fj.dynamics.spring_energy(free, run.q[k], run.theta[k])
        for k in (0, -1)
    ]
    assert np.max(np.abs(run.theta[-1] - run.theta[0])) > 1e-3
    assert abs(stored[1] - stored[0]) < 1e-10 * abs(stored[0])


def test_what_the_complete_model_refuses():
    motor = fj.Motor(0.5)
    pair = fj.drives.AntagonisticDrive(*SPRINGS, heavy(1), motor)
    with pytest.raises(fj.RobotError, match="needs the gear ratio of the second motor of joint 'link1_joint'"):
        complete(1, 1, [pair], prismatic=0.0)
    own = complete(2, 3, [variable(heavy(1), heavy(2, "link1")), fj.RigidDrive(heavy(3))], prismatic=0.0)
    moved = fj.forward_dynamics(own, *np.zeros((2, 2)), *np.zeros((2, 3)), np.zeros(3))
    assert np.all(np.isfinite(moved.a))
    with pytest.raises(fj.InputError, match="the motor of 'link1_joint' is in its own link equation"):
        fj.inverse_dynamics(own, *np.zeros((5, 2)), stiffness=np.full((3, 2), 200.0))
    arm = COMPLETE["pairs in general position"]
    with pytest.raises(fj.InputError, match=r"no law for that is known here; use robot\.with_fidelity"):
        fj.feedback_linearization(arm, *np.zeros((2, 3)), *np.zeros((2, 6)), np.zeros(3), stiffness_command=np.zeros(3))
    with pytest.raises(fj.InputError, match=r"stiffness has 3 arrays.*its first 6 derivatives"):
        fj.inverse_dynamics(arm, *np.zeros((9, 3)), stiffness=np.full((3, 3), 200.0))
