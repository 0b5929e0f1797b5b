"""Feedback linearization of the complete model against Lagrange's equations of robots whose rotors are bodies.

The motion [T_0, ... T_r] that the law has in mind begins with T_0 = q, measured.  If along the flow of robot and
controller T_k' = T_(k+1) at every state, T_k is the k-th derivative of q, and T_r the command.  The flow of the robot
comes from automatic differentiation of the energies of links and rotors, so no recursion of ours is in it.
"""

import dataclasses
from math import factorial

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexjoint as fj
from flexjoint.dynamics.dynamic_extension import extended_motion
from support.evaluate import evaluate
from support.explicit_plant import Plant
from support.marks import some_long
from support.rotors import lbr, with_random_rotors

SCALES = 0.1 * 60.0 ** np.arange(12)  # of the derivatives: the robots oscillate at 12 to 130 rad/s


class Law:
    """The law in continuous time, and the motion it has in mind, through CasADi; constant wrenches {link: w} on it."""

    def __init__(self, robot, wrenches=None):
        order = fj.dynamics.chain_length(robot)
        loads = {link: [ca.SX(w), *[ca.SX.zeros(6)] * order] for link, w in (wrenches or {}).items()} or None
        self.size = fj.dynamics.extension_size(robot)
        n = robot.n
        state = [ca.SX.sym(name, n) for name in ("q", "v", "theta", "theta_v")]
        z, command = ca.SX.sym("z", self.size), ca.SX.sym("w", n)
        motion = ca.vertcat(*extended_motion(robot, *state, z, loads))
        given = [*state, command, z] if self.size else [*state, command]
        found = fj.feedback_linearization(robot, *given, **({"wrenches": loads} if loads else {}))
        tau, rate = found if self.size else (found, ca.SX.zeros(0, 1))
        x, way = ca.vertcat(*state, z), ca.SX.sym("way", 4 * n + self.size)
        self.torque = ca.Function("law", [x, command], [tau, rate])
        self.motion = ca.Function("motion", [x, way], [motion, ca.jtimes(motion, x, way)])


def flow(robot, plant, law, x, command):
    """Time derivative of robot and controller, x = (q, v, θ, θ', extension)."""
    n = robot.n
    q, v, theta, theta_v = x[: 4 * n].reshape(4, n)
    tau, rate = (np.array(y)[:, 0] for y in law.torque(x, command))
    a, theta_a = plant(q, v, theta, theta_v, tau)
    return np.concatenate([v, a, theta_v, theta_a, rate])


def chain(n, seed=0, prismatic=0.0, tree=False, **keywords):
    robot = fj.random_robot(n, 11 + n + seed, prismatic=prismatic, tree=tree, friction=True)
    return with_random_rotors(robot, n + seed, **keywords)


def with_drives(robot, change):
    return robot.with_drives([change(joint.drive) for joint in robot.joints])


def on_base(drive):
    return dataclasses.replace(drive, motor=dataclasses.replace(drive.motor, carrier="base"))


def hardening(drive):
    return fj.ElasticDrive(fj.springs.CubicSpring(drive.stiffness, 4e3), drive.motor)


ROBOTS = {  # with the order of the chains and the size of the controller
    "one joint": (chain(1, elastic=1.0), 4, 0),
    "orthogonal 2R": (lbr(2, stiffness=50.0), 4, 0),
    "motors on the base": (with_drives(chain(3, elastic=1.0), on_base), 4, 0),
    "general 2R": (chain(2, elastic=1.0), 6, 4),
    "general 3R": (chain(3, elastic=1.0), 8, 12),
    "general 4R": (chain(4, elastic=1.0), 10, 24),
    "orthogonal 4R": (lbr(4, stiffness=50.0), 7, 12),
    "cubic springs": (with_drives(chain(3, elastic=1.0), hardening), 8, 12),
    "tree": (chain(4, 5, tree=True, elastic=1.0), 6, 8),
    "prismatic": (chain(3, prismatic=0.5, elastic=1.0), 6, 6),
    "motors anywhere": (chain(4, 7, tree=True, prismatic=0.2, elastic=0.7, carriers="any"), 6, 10),
    "rigid joints": (chain(4, 3, elastic=0.5), 4, 6),
}


def state_of(robot, stack):
    """(q, v, θ, θ', extension) on a motion: states at which every derivative has the size of those of the stack."""
    moved = evaluate(fj.motor_motion, robot, *stack)
    held = evaluate(fj.dynamics.extension_state, robot, *stack) if fj.dynamics.extension_size(robot) else []
    return np.concatenate([np.ravel(x) for x in (*stack[:2], moved.theta, moved.theta_v, held)])


REPEATED = ("general 3R", "general 4R", "motors anywhere", "orthogonal 4R")


@pytest.mark.parametrize("name", some_long([*ROBOTS, "wrench"], *REPEATED))
def test_derivatives_of_the_motion(name):
    robot, order, size = ROBOTS.get(name, ROBOTS["general 2R"])
    wrenches = {"link2": np.array([3.0, -5.0, 2.0, 0.4, -0.3, 0.6])} if name == "wrench" else None
    r, law, plant = fj.dynamics.chain_length(robot), Law(robot, wrenches), Plant(robot, wrenches)
    assert (r, law.size) == (order, size)
    rng = np.random.default_rng(1)
    for _ in range(3):
        stack = rng.normal(size=(r + 2, robot.n)) * SCALES[: r + 2, None]
        x, command = state_of(robot, stack[:-1]), stack[r]
        T, rates = (np.array(y).reshape(r, -1) for y in law.motion(x, flow(robot, plant, law, x, command)))
        assert np.array_equal(T[0], x[: robot.n])
        for rate, expected in zip(rates, [*T[1:], command]):
            assert np.max(np.abs(rate - expected)) < 1e-9 * np.max(np.abs(expected))


def test_a_constant_command_gives_polynomials():
    """q = Σ T_k tᵏ/k! + command tʳ/r!, integrated by SciPy."""
    robot, r, _ = ROBOTS["general 2R"]
    law, plant = Law(robot), Plant(robot)
    stack = np.random.default_rng(2).normal(size=(r + 1, robot.n)) * SCALES[: r + 1, None]
    x, T = state_of(robot, stack), 0.05
    T_0 = np.array(law.motion(x, 0 * x)[0]).reshape(r, -1)
    found = solve_ivp(
        lambda t, x: flow(robot, plant, law, x, stack[r]), (0.0, T), x, method="DOP853", rtol=1e-12, atol=1e-13
    )
    way = [y * T**k / factorial(k) for k, y in enumerate([*T_0, stack[r]])]
    assert np.max(np.abs(found.y[: robot.n, -1] - sum(way))) < 1e-8 * np.max(np.abs(sum(way[1:])))
    assert np.max(np.abs(way[r])) > 1e-3 * np.max(np.abs(sum(way[1:])))  # the command counts


# The controller -----------------------------------------------------------------------------------------------------


def period_by_scipy(robot, plant, controller, memory, x, reference):
    """Memory of the controller and state (q, v, θ, θ') a period later, the torque held."""
    n = robot.n
    memory, tau = controller(memory, reference, fj.JointState(*x.reshape(4, n)))

    def moving(_, x):
        q, v, theta, theta_v = x.reshape(4, n)
        a, theta_a = plant(q, v, theta, theta_v, tau)
        return np.concatenate([v, a, theta_v, theta_a])

    found = solve_ivp(moving, (0.0, controller.period), x, method="DOP853", rtol=1e-11, atol=1e-12)
    return memory, found.y[:, -1]


@pytest.mark.long
def test_tracking_in_simulate():
    """`simulate` against SciPy, off the reference at first; the error decays with the poles."""
    robot, r, _ = ROBOTS["general 2R"]
    h, n, periods = 5e-4, robot.n, 200
    controller = fj.control.FeedbackLinearization(robot, fj.control.gains_from_poles([-30.0 - k for k in range(r)]), h)
    reference = fj.trajectory.Sinusoid([0.3, -0.2], [0.4, 0.5], [0.5, 0.7])
    rest = fj.motor_motion(robot, *reference(0.0, order=r))
    start = fj.JointState(*reference(0.0)[:2], rest.theta, rest.theta_v)._replace(q=reference(0.0)[0] + 1e-2)
    run = fj.simulate(robot, controller, reference, 1.0, start=start, substeps=4)
    plant, x = Plant(robot), np.concatenate(start)
    memory = controller.start(reference(0.0, order=r))
    for k in range(periods):
        memory, x = period_by_scipy(robot, plant, controller, memory, x, reference(k * h, order=r))
    q, v, theta, theta_v = x.reshape(4, n)
    for one, other in ((run.q, q), (run.v, v), (run.theta, theta), (run.theta_v, theta_v)):
        assert np.max(np.abs(one[periods] - other)) < 1e-7 * np.max(np.abs(other))
    errors = np.max(np.abs(run.q - reference(run.t)[0]), axis=1)
    assert np.max(errors) > 1e-2
    assert errors[-1] < 1e-4  # what holding the torque for a period leaves


def test_the_period_limit():
    """Modes of one period of the nonlinear loop at rest, by central differences, on both sides of the limit."""
    robot, r, size = ROBOTS["general 2R"]
    plant, q = Plant(robot), np.array([0.3, -0.4])
    gains, still = fj.control.gains_from_poles([-10.0 - k for k in range(r)]), [q, *np.zeros((r, robot.n))]
    limit = fj.control.sampling_period_limit(robot, q, gains)
    rest = np.concatenate([q, 0 * q, fj.motor_motion(robot, *still).theta, 0 * q, np.zeros(size)])
    grows = []
    for h in (0.98 * limit, 1.02 * limit):
        controller = fj.control.FeedbackLinearization(robot, gains, h)

        def ahead(x, controller=controller):
            memory = fj.control.ExtensionState(x[4 * robot.n :])
            (held,), y = period_by_scipy(robot, plant, controller, memory, x[: 4 * robot.n], still)
            return np.concatenate([y, held])

        steps = np.diag([1e-5] * 4 * robot.n + [1e-2] * size)
        J = np.array([(ahead(rest + d) - ahead(rest - d)) / (2 * d.max()) for d in steps]).T
        grows.append(np.max(np.abs(np.linalg.eigvals(J))))
    assert grows[0] < 1 < grows[1]
