"""Joints of variable stiffness beside elastic and rigid ones, on random chains and trees.

The model they are held against is Lagrange's, from 4×4 poses, with springs and friction written here; higher
derivatives of motion and stiffness come from differentiating that model along its own vector field with CasADi.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from support.errors import relative_error
from support.evaluate import evaluate
from support.lagrange import lagrange, rate, smooth_friction, transmitted
from support.marks import long, some_long
from support.motors import from_deflections, paired_forward, paired_linearization, paired_motion, pairs

PAIRS = {
    "cubic": (fj.springs.CubicSpring(300.0, 900.0), fj.springs.CubicSpring(300.0, 900.0)),
    "unequal": (fj.springs.CubicSpring(300.0, 900.0), fj.springs.CubicSpring(200.0, 1500.0)),
    "exponential": (fj.springs.ExponentialSpring(200.0, 4.0), fj.springs.ExponentialSpring(150.0, -5.0)),
    "quadratic": (fj.springs.QuadraticSpring(300.0, 400.0), fj.springs.QuadraticSpring(350.0, -500.0)),
}


SPLINE = np.linspace(-0.9, 0.9, 5)
PAIRS["tabulated"] = tuple(
    fj.springs.TabulatedSpring(SPLINE, k * SPLINE + c * SPLINE**3) for k, c in ((300, 900), (250, 700))
)


@dataclass(frozen=True)
class Cams(fj.drives.VariableStiffnessDrive):
    """Two cams turned against each other by the second motor, as in the DLR FSJ: U = f(φ_1 + φ_2) + f(φ_1 − φ_2)."""

    K: float
    Kc: float
    motor_1: fj.Motor
    motor_2: fj.Motor
    ranges: ClassVar = ((-0.7, 0.7), (0.01, 0.7))
    follows: ClassVar = False

    def energy(self, phi_1, phi_2):
        return sum(self.K / 2 * x**2 + self.Kc / 4 * x**4 for x in (phi_1 + phi_2, phi_1 - phi_2))


def with_drives(robot, kinds):
    """Drives of the given kinds in turn, all motors with both kinds of friction."""
    rng = np.random.default_rng(0)

    def motor():
        inertia, viscous, coulomb = (float(x) for x in rng.uniform(0.2, 2.0, 3))
        return fj.Motor(inertia, viscous, coulomb, coulomb_velocity=0.5)

    def drive(kind):
        if kind in PAIRS:
            return fj.drives.AntagonisticDrive(*PAIRS[kind], motor(), motor())
        if kind == "lever":
            return fj.drives.LeverDrive(7e4, 0.1, 0.02, 0.2, motor(), motor())
        if kind == "cams":
            return Cams(200.0, 700.0, motor(), motor())
        single = {"spring": lambda: fj.ElasticDrive(250.0, motor()), "rigid": lambda: fj.RigidDrive(motor())}
        return single.get(kind, lambda: None)()

    return robot.with_drives([drive(kinds[i % len(kinds)]) for i in range(robot.n)])


CHAIN = fj.random_robot(3, 21, prismatic=0.4, friction=True)
TREE = fj.random_robot(4, 22, prismatic=0.3, tree=True, fixed=0.4, friction=True)
SPRINGS = {
    "cubic": with_drives(CHAIN, ["cubic"]),
    "three laws": with_drives(CHAIN, ["unequal", "exponential", "quadratic"]),
    "tabulated": with_drives(CHAIN, ["spring", "tabulated", "spring"]),
    "lever": with_drives(CHAIN, ["lever"]),
    "every design in a tree": with_drives(TREE, ["lever", "cams", "cubic", "cams"]),
    "with springs in a tree": with_drives(TREE, ["cubic", "spring", "unequal", "spring"]),
}
ROBOTS = {
    **SPRINGS,
    "every kind": with_drives(CHAIN, ["cubic", "rigid", "spring"]),
    "a lever and a rigid joint": with_drives(TREE, ["rigid", "lever", "spring", "exponential"]),
    "rigid in a tree": with_drives(TREE, ["unequal", "none", "exponential", "rigid"]),
}
LONG = ("three laws", "with springs in a tree")
each = pytest.mark.parametrize("robot", some_long(ROBOTS, *LONG))
each_with_springs = pytest.mark.parametrize("robot", some_long(SPRINGS, *LONG))


def law(spring, x):
    """Torque by hand; of splines through points of a cubic, which they are."""
    match spring:
        case fj.springs.CubicSpring(K, c):
            return K * x + c * x**3
        case fj.springs.ExponentialSpring(K, b):
            return K / b * (ca.exp(b * x) - 1)
        case fj.springs.QuadraticSpring(K, s):
            return K * x + s / 2 * x**2
        case fj.springs.TabulatedSpring():
            K, c = (300, 900) if spring == PAIRS["tabulated"][0] else (250, 700)
            return K * x + c * x**3
    raise TypeError(spring)


def energy(drive, x, y):
    """Of transmissions whose second motor works within, by hand."""
    if isinstance(drive, Cams):
        return drive.K * (x**2 + y**2) + drive.Kc / 2 * (x**4 + 6 * x**2 * y**2 + y**4)
    return drive.spring / 2 * (drive.arm + y) ** 2 * (1 - ca.cos(2 * x)) / 2


def apart(robot):
    """Which joints have a second motor that does not pull at the link."""
    return np.array([isinstance(joint.drive, Cams | fj.drives.LeverDrive) for joint in robot.joints])


def springs_of(robot, phi_1, phi_2):
    """Torques on both motors, on the link, and the stiffness of each joint; 0 where there is none."""
    columns = []
    for i, joint in enumerate(robot.joints):
        one, two, on_link, k = [ca.SX(0)] * 4
        if isinstance(joint.drive, fj.drives.AntagonisticDrive):
            one, two = (law(spring, x) for spring, x in zip(joint.drive.springs, (phi_1[i], phi_2[i])))
            on_link = one + two
            k = ca.gradient(one, phi_1)[i] + ca.gradient(two, phi_2)[i]
        elif apart(robot)[i]:
            U = energy(joint.drive, phi_1[i], phi_2[i])
            one, two = ca.gradient(U, phi_1)[i], ca.gradient(U, phi_2)[i]
            on_link, k = one, ca.gradient(one, phi_1)[i]
        elif isinstance(joint.drive, fj.ElasticDrive):
            on_link = one = joint.drive.stiffness * phi_1[i]
        columns.append([one, two, on_link, k])
    return [ca.vertcat(*x) for x in zip(*columns)]


def motor(joint, k):
    motors = joint.drive.motors if joint.drive else ()
    return motors[k] if k < len(motors) else None


def at_positions(robot, expression, phi, q, theta_1, theta_2):
    """With φ_1 = θ_1 − q and φ_2 = θ_2 − q, or θ_2 itself."""
    counted = ca.DM((~apart(robot)).astype(float))
    return ca.substitute(ca.substitute(expression, phi[0], theta_1 - q), phi[1], theta_2 - counted * q)


def model(robot, q, theta_1, theta_2, v, theta_1_v, theta_2_v, tau_1, tau_2):
    """q'', θ_1'', θ_2'' from M q'' + c + g + friction = τ_1 + τ_2 of the springs, B θ'' + friction + τ_k = τ."""
    a = ca.SX.sym("a", robot.n)
    asked = lagrange(robot, q, v, a)
    x = [ca.SX.sym("phi", robot.n) for _ in range(2)]
    one, two, on_link, _ = (at_positions(robot, e, x, q, theta_1, theta_2) for e in springs_of(robot, *x))
    damping = ca.DM([getattr(joint.drive, "damping", 0.0) for joint in robot.joints])
    counted = ca.DM((np.array(robot.variable_stiffness) & ~apart(robot)).astype(float))
    dampers = [damping * (theta_1_v - v), damping * counted * (theta_2_v - v)]
    one, two, on_link = one + dampers[0], two + dampers[1], on_link + dampers[0] + dampers[1]
    driving = ca.vertcat(*[on_link[i] if elastic else tau_1[i] for i, elastic in enumerate(robot.compliant)])
    found = ca.solve(ca.jacobian(asked, a), driving - ca.substitute(asked, a, 0 * a))
    turning = []
    for k, (torque, spring, velocity) in enumerate([(tau_1, one, theta_1_v), (tau_2, two, theta_2_v)]):
        motors = [motor(joint, k) if elastic else None for joint, elastic in zip(robot.joints, robot.compliant)]
        rest = [torque[i] - spring[i] - smooth_friction(m, velocity[i]) for i, m in enumerate(motors)]
        turning.append(ca.vertcat(*[r / m.inertia if m else 0 for r, m in zip(rest, motors)]))
    return found, *turning


def symbols(robot, names):
    return [ca.SX.sym(name, robot.n) for name in names.split()]


def value(expressions, symbols, numbers):
    found = ca.Function("f", symbols, [ca.densify(x) for x in expressions]).call([ca.DM(x) for x in numbers])
    return [np.array(x)[:, 0] for x in found]


def random_state(robot, seed=0):
    """q, v, φ_1, φ_2, φ_1', φ_2' with the motors well apart."""
    rng = np.random.default_rng(seed)
    phi = rng.uniform(0.2, 0.5, (2, robot.n)) * [[1], [-1]]
    phi[1] = np.where(apart(robot), -phi[1] - 0.1, phi[1])
    state = [*rng.normal(size=(2, robot.n)), *phi, *rng.normal(size=(2, robot.n))]
    for i, joint in enumerate(robot.joints):
        if isinstance(joint.drive, fj.drives.LeverDrive):  # of which 0.1 m is much
            state[3][i], state[5][i] = 0.1 * state[3][i], 0.1 * state[5][i]
        if isinstance(joint.drive, Cams):  # which are singular where φ_1² − φ_2² = K/(3 K_c)
            state[2][i] *= 0.5
    return state


def positions(robot, q, v, phi_1, phi_2, phi_1_v, phi_2_v):
    """q, θ_1, θ_2 and their rates."""
    counted = ~apart(robot)
    return [q, q + phi_1, counted * q + phi_2, v, v + phi_1_v, counted * v + phi_2_v]


def moved(robot, *arguments, **keywords):
    """By a kernel where loops would be long written out."""
    searched = any(fj.dynamics.deflection_steps(robot))
    call = paired_motion
    return call(robot, *arguments, **keywords) if searched else evaluate(call, robot, *arguments, **keywords)


# Forward dynamics -------------------------------------------------------------------------------------------------


@each
def test_accelerations_are_those_of_lagrange(robot):
    names = symbols(robot, "q theta_1 theta_2 v theta_1_v theta_2_v tau_1 tau_2")
    tau = np.random.default_rng(5).normal(size=(2, robot.n))
    numbers = [*positions(robot, *random_state(robot)), *tau]
    expected = value(model(robot, *names), names, numbers)
    found = evaluate(paired_forward, robot, *numbers)
    assert relative_error(found.a, expected[0]) < 1e-11
    assert relative_error(found.theta_1_a, np.where(robot.compliant, expected[1], expected[0])) < 1e-11
    assert relative_error(found.theta_2_a, expected[2]) < 1e-11


def test_damping_acts_forwards():
    """D φ' of both springs, by difference."""
    robot = SPRINGS["cubic"]
    drives = [joint.drive for joint in robot.joints]
    damped = robot.with_drives([fj.drives.AntagonisticDrive(*d.springs, *d.motors, damping=3.0) for d in drives])
    q, v, phi_1, phi_2, phi_1_v, phi_2_v = random_state(robot)
    state = [q, q + phi_1, q + phi_2, v, v + phi_1_v, v + phi_2_v, *np.zeros((2, robot.n))]
    without, found = (evaluate(paired_forward, x, *state) for x in (robot, damped))
    M = evaluate(fj.mass_matrix, robot, q)
    assert np.allclose(M @ (found.a - without.a), 3.0 * (phi_1_v + phi_2_v), rtol=1e-9)
    B = np.array([[motor.inertia for motor in drive.motors] for drive in drives]).T
    assert np.allclose(B[0] * (found.theta_1_a - without.theta_1_a), -3.0 * phi_1_v, rtol=1e-9)
    assert np.allclose(B[1] * (found.theta_2_a - without.theta_2_a), -3.0 * phi_2_v, rtol=1e-9)
    with pytest.raises(fj.InputError, match="damped"):
        paired_motion(damped, *np.zeros((8, robot.n)))
    with pytest.raises(fj.InputError, match=r"D = 3.*_along.*_step.*robot.without_spring_damping\(\)"):
        fj.inverse_dynamics(damped, *np.zeros((5, robot.n)), stiffness=list(np.zeros((3, robot.n))))
    assert damped.without_spring_damping() == robot


def test_commanded_damping_acts_forwards():
    """As much damping as is asked for, between 0 and what the damper has: the same as that of a drive damped so."""
    robot = with_drives(CHAIN, ["cubic", "lever", "spring"])
    drives = [joint.drive for joint in robot.joints]
    able = robot.with_drives([*(replace(x, greatest_damping=5.0) for x in drives[:2]), drives[2]])
    state = [*positions(robot, *random_state(robot)), *np.zeros((2, robot.n))]
    for asked, given in (([3.0, 4.0, 9.0], (3.0, 4.0)), ([7.0, -2.0, 9.0], (5.0, 0.0))):
        found = paired_forward(able, *state, damping=np.array(asked))
        damped = robot.with_drives([*(replace(x, damping=d) for x, d in zip(drives, given)), drives[2]])
        expected = paired_forward(damped, *state)
        assert np.allclose(found, expected, rtol=1e-12)
    without = paired_forward(able, *state)
    assert np.array_equal(without, paired_forward(robot, *state))
    assert not np.allclose(without, found)
    with pytest.raises(fj.InputError, match="damping has dtype object"):
        paired_forward(able, *state, damping={"command": [np.zeros(3)]})


# What the torques bring about ---------------------------------------------------------------------------------------


def brought_about(robot, state, tau):
    """q'' to q'''' and σ to σ'' of the model, from a state (q, v, φ_1, φ_2, φ_1', φ_2') and torques held constant."""
    x = symbols(robot, "q theta_1 theta_2 v theta_1_v theta_2_v tau_1 tau_2")
    q, theta_1, theta_2, v, theta_1_v, theta_2_v, _, _ = x
    accelerations = model(robot, *x)
    stacks = [[y, dy, a] for y, dy, a in zip((q, theta_1, theta_2), (v, theta_1_v, theta_2_v), accelerations)]
    motion = [accelerations[0]]
    phi = [ca.SX.sym("phi", robot.n) for _ in range(2)]
    sigma = [at_positions(robot, springs_of(robot, *phi)[3], phi, q, theta_1, theta_2)]
    for _ in range(2):
        motion.append(rate(motion[-1], *stacks))
        sigma.append(rate(sigma[-1], *stacks))
    return value([*motion, *sigma], x, [*positions(robot, *state), *tau])


@each_with_springs
def test_feedback_linearization_brings_about_its_commands(robot):
    """q'''' = v_q and σ'' = v_σ to 1e-9 max(|v|, 10³)."""
    rng = np.random.default_rng(7)
    state = random_state(robot)
    command, stiffness_command = rng.normal(size=(2, robot.n)) * [[100.0], [1000.0]]
    tau = evaluate(paired_linearization, robot, *state, command, stiffness_command)
    *_, snap, _, _, sigma_a = brought_about(robot, state, tau)
    for found, wanted in ((snap, command), (sigma_a, np.where(robot.variable_stiffness, stiffness_command, 0.0))):
        assert np.all(abs(found - wanted) <= 1e-9 * max(np.max(abs(wanted)), 1e3))
    assert np.all(tau.tau_2[~np.array(robot.variable_stiffness)] == 0)
    less = [x * 0.999 for x in tau]
    assert relative_error(brought_about(robot, state, less)[2], command) > 1e-3, "the torque must matter"


def damped(robot, values):
    """The robot with these dampings of its springs, in turn."""
    drives = [joint.drive for joint in robot.joints]
    return robot.with_drives([replace(x, damping=d) if d else x for x, d in zip(drives, [*values] * robot.n)])


HELD = {name: ROBOTS[name] for name in ("every kind", "a lever and a rigid joint", "rigid in a tree")} | {
    "a damped spring": damped(with_drives(CHAIN, ["cubic", "spring", "cams"]), [0.0, 4.0, 0.0]),
    "a damped pair": damped(with_drives(TREE, ["unequal", "rigid", "exponential"]), [5.0, 0.0, 0.0, 2.0]),
    "a damped lever": damped(with_drives(CHAIN, ["lever", "cubic", "spring"]), [7.0, 0.0, 3.0]),
    "all damped": damped(with_drives(CHAIN, ["cubic", "lever", "spring"]), [5.0, 6.0, 7.0]),
    "all damped, one rigid": damped(with_drives(CHAIN, ["cubic", "rigid", "spring"]), [5.0, 0.0, 7.0]),
}


def held_and_brought_about(robot, state, held, tau, top):
    """q'' to q'''' and σ'' by Lagrange, τ_e' of the springs from the model, held torques and `top` where they answer
    earlier; and by how much the springs and motors miss what is held."""
    degrees, length = np.array(fj.dynamics.relative_degree(robot)), fj.dynamics.chain_length(robot)
    x = symbols(robot, "q theta_1 theta_2 v theta_1_v theta_2_v tau_1 tau_2")
    q, theta_1, theta_2, v, theta_1_v, theta_2_v, *_ = x
    accelerations = model(robot, *x)
    stacks = [[y, dy, a] for y, dy, a in zip((q, theta_1, theta_2), (v, theta_1_v, theta_2_v), accelerations)]
    phi, motion = [ca.SX.sym("phi", robot.n) for _ in range(2)], [ca.SX.sym("x", robot.n) for _ in range(5)]
    torque = [ca.substitute(lagrange(robot, *motion[:3]), ca.vertcat(*motion[:3]), ca.vertcat(q, v, accelerations[0]))]
    sigma = [at_positions(robot, springs_of(robot, *phi)[3], phi, q, theta_1, theta_2)]
    for _ in range(2):
        torque.append(rate(torque[-1], *stacks))
        sigma.append(rate(sigma[-1], *stacks))
    numbers = value([accelerations[0], *torque, sigma[2]], x, [*positions(robot, *state), *tau])
    a, modelled, sigma_a = numbers[0], numbers[1:4], numbers[4]
    given = [np.where(degrees > 2 + k, modelled[k], y) for k, y in enumerate([*held, top][: length - 2])] + [top]
    missed = [np.where(degrees > 1 + k, modelled[k] - y, 0) for k, y in enumerate(given[:-1])]
    missed.append(np.where(degrees == length, modelled[length - 2] - top, 0))
    asked, found = [lagrange(robot, *motion[:3])], [*state[:2], a]
    for k in range(1, length - 1):
        asked.append(rate(asked[-1], motion))
        known = [*found, np.zeros(robot.n)]
        M, rest = (
            np.array(ca.Function("f", motion[: k + 3], [y])(*known))
            for y in (ca.jacobian(asked[k], motion[k + 2]), asked[k])
        )
        found.append(np.linalg.solve(M, given[k] - rest[:, 0]))
    return found, sigma_a, missed


REPEATED = ("a damped lever", "a damped spring", "all damped, one rigid")


@pytest.mark.parametrize("robot", some_long(HELD, *REPEATED))
def test_linearization_among_rigid_and_damped_joints(robot):
    """q'''' = v_q (q''' if all are damped) and σ'' = v_σ, with the torques of early joints held by the controller."""
    rng = np.random.default_rng(7)
    state, (command, stiffness_command) = random_state(robot), rng.normal(size=(2, robot.n)) * [[100.0], [1000.0]]
    held = rng.normal(size=(2, robot.n)) * [[20.0], [50.0]]
    arrays = from_deflections(robot, *state)
    if fj.dynamics.linearization.holds_torques(robot):
        arrays = [*arrays, *held, command]
        found = evaluate(fj.feedback_linearization, robot, *arrays, stiffness_command=stiffness_command)
        tau, top = found
    else:
        tau = evaluate(fj.feedback_linearization, robot, *arrays, command, stiffness_command=stiffness_command)
        top = np.zeros(robot.n)
        _, _, missed = held_and_brought_about(robot, state, held, pairs(robot, tau), top)
        top = missed[-1]  # what the springs give
    motion, sigma_a, missed = held_and_brought_about(robot, state, held, pairs(robot, tau), top)
    chosen = np.array(robot.variable_stiffness)
    assert np.all(abs(motion[-1] - command) <= 1e-9 * max(np.max(abs(command)), 1e3))
    assert np.all(abs(sigma_a - np.where(chosen, stiffness_command, 0.0)) <= 1e-9 * 1e4)
    assert all(np.all(abs(x) <= 1e-9 * max(1e3, np.max(abs(top)))) for x in missed)


@each_with_springs
def test_inverse_dynamics_brings_about_its_motion(robot):
    """The torques for the motion and stiffness that a state has, with any snap and stiffness acceleration."""
    rng = np.random.default_rng(8)
    state = random_state(robot, 1)
    a, jerk, _, sigma, sigma_v, _ = brought_about(robot, state, np.zeros((2, robot.n)))
    snap, sigma_a = rng.normal(size=(2, robot.n)) * [[100.0], [1000.0]]
    found = moved(robot, *state[:2], a, jerk, snap, sigma, sigma_v, sigma_a)
    chosen = np.array(robot.variable_stiffness)
    for name, expected in zip(("phi_1", "phi_2", "phi_1_v", "phi_2_v"), state[2:]):
        there = chosen if "2" in name else True
        assert relative_error(getattr(found, name), np.where(there, expected, 0.0)) < 1e-10, name
    a2, _, snap2, sigma2, _, sigma_a2 = brought_about(robot, state, (found.tau_1, found.tau_2))
    assert np.array_equal(a, a2) and np.array_equal(sigma, sigma2)
    assert np.all(abs(snap2 - snap) <= 1e-9 * 1e3)
    assert np.all(abs(sigma_a2 - np.where(chosen, sigma_a, 0.0)) <= 1e-9 * 1e4)


@each
def test_motions_obey_the_equations(robot):
    """With rigid joints and a wrench: springs bear the torque of Lagrange and its derivatives, motors the rest."""
    rng = np.random.default_rng(9)
    n, chosen = robot.n, np.array(robot.variable_stiffness)
    stack = rng.normal(size=(5, n)) * 0.5
    sigma = np.array([np.full(n, 900.0), *rng.normal(size=(2, n)) * 100])
    w = rng.normal(size=(3, 6))
    found = moved(robot, *stack, *sigma, wrenches={robot.tool: list(w)})

    q, wrench = [ca.SX.sym("q", n) for _ in range(5)], [ca.SX.sym("w", 6) for _ in range(3)]
    asked = [transmitted(robot, *q[:3], wrenches={robot.tool: wrench[0]})]
    for _ in range(2):
        asked.append(rate(asked[-1], q, wrench))
    tau_e = value(asked, [*q, *wrench], [*stack, *w])
    joints = [np.where(robot.compliant, tau_e[0], found.tau_1), *tau_e[1:]]
    for ours, theirs in zip((found.tau_e, found.tau_e_v, found.tau_e_a), joints):
        assert relative_error(ours, theirs) < 1e-11

    phi = [[ca.SX.sym("phi", n) for _ in range(3)] for _ in range(2)]
    one, two, on_link, stiffness = springs_of(robot, phi[0][0], phi[1][0])
    borne, soft = [on_link], [stiffness]
    for _ in range(2):
        borne.append(rate(borne[-1], *phi))
        soft.append(rate(soft[-1], *phi))
    there = [np.ones(n), chosen & ~apart(robot)]
    deflections = [
        [
            getattr(found, f"phi_{k}"),
            getattr(found, f"phi_{k}_v"),
            getattr(found, f"theta_{k}_a") - there[k - 1] * stack[2],
        ]
        for k in (1, 2)
    ]
    numbers = value([*borne, *soft, one, two], [*phi[0], *phi[1]], [*deflections[0], *deflections[1]])
    for k in range(3):
        assert relative_error(np.where(robot.compliant, numbers[k], tau_e[k]), tau_e[k]) < 1e-11
        assert relative_error(numbers[3 + k], np.where(chosen, sigma[k], 0.0)) < 1e-11
    for k, spring in enumerate(numbers[6:]):
        spring = np.where(robot.compliant, spring, tau_e[0] if k == 0 else 0.0)
        theta_v, theta_a = getattr(found, f"theta_{k + 1}_v"), getattr(found, f"theta_{k + 1}_a")
        motors = [motor(joint, k) for joint in robot.joints]
        rubbing = [float(ca.DM(ca.SX(smooth_friction(m, x)))) for m, x in zip(motors, theta_v)]
        inertia = np.array([m.inertia if m else 0.0 for m in motors])
        assert relative_error(getattr(found, f"tau_{k + 1}"), spring + inertia * theta_a + rubbing) < 1e-11
        assert np.array_equal(getattr(found, f"theta_{k + 1}"), there[k] * stack[0] + deflections[k][0])


# Along a trajectory ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kinds", [long(["unequal", "cams", "spring"]), ["cubic", "exponential", "lever"]])
def test_a_trajectory_follows_its_branch(kinds):
    """Step by step from the deflections of the step before: the same as the search finds anew each time."""
    robot = with_drives(fj.random_robot(3, 23, prismatic=0.0), kinds)
    motion = fj.trajectory.RestToRest([0.0, 0.2, -0.3], [0.8, -0.5, 0.4], 1.0)
    stiffness = fj.trajectory.RestToRest([900.0, 800.0, 700.0], [1300.0, 1200.0, 1100.0], 1.0)
    t = np.linspace(0.0, 1.0, 101)
    stack, sigma = motion(t)[:5], stiffness(t)[:3]
    anew = fj.motor_motion(robot, *stack, stiffness=list(sigma))
    kernel = fj.compile(fj.motor_motion, robot, stiffness=3, warm_start=True)
    phi = anew.deflection[0]
    for k in range(1, t.size):
        found = kernel(*stack[:, k], *sigma[:, k], phi)
        phi = found.deflection
        for ours, theirs in zip(found, anew):
            assert np.allclose(ours, theirs[k], rtol=1e-10, atol=1e-9 * np.max(abs(theirs)))
    steps = tuple(6 if kind in ("unequal", "cams") else 0 for kind in kinds)
    assert fj.dynamics.deflection_steps(robot, warm_start=True) == steps


def test_a_poor_start_is_refused_not_followed():
    """Too far away, or on the other side of a singularity: an error, and in a batch NaN, never another branch."""
    robot = with_drives(fj.random_robot(1, 23, prismatic=0.0), ["unequal"])
    rest, sigma = np.zeros((5, 1)), np.array([[900.0], [0.0], [0.0]])
    expected = fj.motor_motion(robot, *rest, stiffness=list(sigma))
    with pytest.raises(fj.NonFiniteError, match="6 steps from warm_start"):
        fj.motor_motion(robot, *rest, stiffness=list(sigma), warm_start=np.array([-0.5, 0.5]))
    rng = np.random.default_rng(0)
    start = rng.uniform(-1.0, 1.0, (2, 5000, 1))[..., 0].T.copy()
    stacks = [np.broadcast_to(x, (5000, 1)).copy() for x in (*rest, *sigma)]
    finite = np.empty(5000, dtype=bool)
    found = fj.motor_motion(robot, *stacks[:5], stiffness=stacks[5:], warm_start=start, finite=finite)
    assert 0.1 < finite.mean() < 0.9
    assert np.allclose(found.deflection[finite], expected.deflection)
    with pytest.raises(fj.InputError, match=r"warm_start has shape \(1,\), it must be \(..., 2\)"):
        fj.motor_motion(robot, *rest, stiffness=list(sigma), warm_start=np.zeros(1))


# Kernels ------------------------------------------------------------------------------------------------------------

VSA = fj.load("vsa_3r")


@pytest.mark.long
def test_joints_share_registers():
    """Drives that differ in numbers alone, four and three in a pack: as by CasADi, and as in a batch."""
    rng = np.random.default_rng(4)

    def drive(k):
        motors = [fj.Motor(float(x), 0.1, 0.2, 0.5) for x in rng.uniform(0.2, 1.0, 2)]
        springs = [fj.springs.CubicSpring(300.0 + 10 * k, 1500.0 + 100 * k)] * 2
        if k % 3 == 2:
            return fj.drives.LeverDrive(6e4 + 1e3 * k, 0.1 + 0.001 * k, 0.02, 0.3, *motors)
        return fj.drives.AntagonisticDrive(*springs, *motors, greatest_stiffness=1300.0 + k if k % 2 else np.inf)

    robot = fj.random_robot(10, 5).with_drives([drive(k) for k in range(9)] + [fj.ElasticDrive(500.0, fj.Motor(0.3))])
    stack, sigma = (
        0.2 * rng.normal(size=(5, 20, 10)),
        np.array([np.full((20, 10), 1200.0), *rng.normal(size=(2, 20, 10))]),
    )
    finite = np.empty(20, dtype=bool)
    rows = fj.motor_motion(robot, *stack, stiffness=list(sigma), finite=finite)
    four = [np.tile(x, (4, 1)) for x in (*stack, *sigma)]  # enough rows for code without packed values
    for x, y in zip(rows, fj.motor_motion(robot, *four[:5], stiffness=four[5:])):
        assert np.array_equal(np.tile(x, (4, 1)), y, equal_nan=True)
    assert finite.sum() > 5
    for k in np.flatnonzero(finite)[:3]:
        one = fj.motor_motion(robot, *stack[:, k], stiffness=list(sigma[:, k]))
        expected = evaluate(fj.motor_motion, robot, *stack[:, k], stiffness=list(sigma[:, k]))
        for name, x, y, z in zip(one._fields, one, rows, expected):
            assert np.array_equal(x, y[k]), name
            assert relative_error(x, z) < 1e-11, name


def test_rows_out_of_reach_are_nan_in_a_batch():
    """... and no other row, though one joint alone is out of reach."""
    rng = np.random.default_rng(0)
    stack, sigma = rng.normal(size=(5, 100, 3)) * 0.1, np.full((3, 100, 3), 1000.0)
    sigma[1:] = 0.0
    sigma[0, 17, 1] = 700.0
    finite = np.empty(100, dtype=bool)
    found = fj.inverse_dynamics(VSA, *stack, stiffness=list(sigma), finite=finite)
    assert np.flatnonzero(~finite).tolist() == [17]
    assert np.flatnonzero(np.isnan(found[:, :3]).any(axis=1)).tolist() == [17]


def message(call, *arguments, **keywords):
    with pytest.raises(fj.FlexjointError) as error:
        call(*arguments, **keywords)
    return str(error.value)


def test_errors_name_joint_and_range():
    rest = np.zeros((5, 3))
    sigma = np.array([[1000.0, 1000.0, 700.0], *np.zeros((2, 3))])
    text = message(fj.inverse_dynamics, VSA, *rest, stiffness=sigma)
    for words in ("'joint3'", "700 Nm/rad", "reaches from 801.", "to 12"):
        assert words in text
    sigma[0, 2] = 1e6
    assert "reaches from" in message(fj.motor_motion, VSA, *rest, stiffness=sigma)
    horizontal = fj.gravity_torque(VSA, np.zeros(3))
    sigma[0] = fj.dynamics.feasible_stiffness(VSA, horizontal).lower + 1e-12
    assert "cannot be set apart" in message(fj.motor_motion, VSA, *rest, stiffness=sigma)
    load = {"wrenches": {VSA.tool: [[0.0, 0.0, 1e5, 0.0, 0.0, 0.0], np.zeros(6), np.zeros(6)]}}
    sigma[0] = 1000.0
    assert "'joint2'" in (text := message(fj.motor_motion, VSA, *rest, stiffness=sigma, **load))
    assert "ask for less torque" in text
    equal = np.full(3, 0.1)
    text = message(paired_linearization, VSA, *rest[:2], equal, equal, *rest[:4])
    assert "'joint1'" in text and "0.1 and 0.1" in text and "singular" in text


@pytest.mark.parametrize(
    ("algorithm", "arrays", "instead"),
    [
        (fj.inverse_dynamics, [3] * 5, "stiffness=[sigma, sigma_v, sigma_a]"),
        (fj.motor_motion, [3] * 5, "stiffness=[sigma, sigma_v, sigma_a]"),
        (fj.feedback_linearization, [3, 3, 6, 6, 3], "stiffness_command=σ''"),
        (fj.control.laws.linearizing_control, [3, 3, 6, 6, 3, 3], "motion_and_stiffness_control"),
        (fj.dynamics.spring_torques, [3, 3, 6, 6], "motor_motion"),
        (fj.dynamics.link_state, [6, 6, 3, 3], "encoders on the links"),
        (fj.inverse_dynamics_step, [6, 3, 3, 1, 3, 3, 3, 3, 3], "stiffness=[sigma, sigma_v, sigma_a]"),
        (fj.control.joint_modes, [3], "ElasticDrive"),
    ],
)
def test_what_variable_stiffness_needs_is_named(algorithm, arrays, instead):
    text = message(algorithm, VSA, *(np.zeros(n) if n > 1 else np.array(0.0) for n in arrays))
    assert "'joint1'" in text and instead in text
    text = message(fj.forward_dynamics, VSA, *np.zeros((3, 3)))
    assert "needs q, v, theta, theta_v, tau for 'vsa_3r', whose joints have variable stiffness" in text


def test_rigid_joints_need_torques_held():
    robot = ROBOTS["every kind"]
    text = message(fj.feedback_linearization, robot, *np.zeros((2, 3)), *np.zeros((2, 4)), np.zeros(3))
    assert "needs q, v, theta, theta_v, tau_e, tau_e_v, command" in text and "the law holds of 'link2_joint'" in text


def test_free_parameters_and_derivatives():
    """∂τ/∂K_c of both springs by differences; with one of two equal springs free the search takes over."""
    rng = np.random.default_rng(3)
    stack, sigma = rng.normal(size=(5, 3)) * 0.3, np.array([np.full(3, 1000.0), *rng.normal(size=(2, 3)) * 50])
    paths = tuple(f"joint2.drive.spring_{k}.cubic" for k in (1, 2))
    kernel = fj.compile(fj.inverse_dynamics, VSA, free=paths, stiffness=3)
    nominal = fj.inverse_dynamics(VSA, *stack, stiffness=list(sigma))
    for found, expected in zip(np.split(kernel(*stack, *sigma, 2000.0, 2000.0), 2), np.split(nominal, 2)):
        assert relative_error(found, expected) < 1e-11
    derivatives = fj.compile(fj.inverse_dynamics, VSA, derivatives=[("tau", paths[0])], stiffness=3)
    exact = derivatives(*stack, *sigma)
    high, low = (kernel(*stack, *sigma, 2000.0 + h, 2000.0) for h in (0.05, -0.05))
    for motors in (slice(0, 3), slice(3, 6)):
        assert relative_error(exact[motors], (high - low)[motors] / 0.1) < 1e-6
