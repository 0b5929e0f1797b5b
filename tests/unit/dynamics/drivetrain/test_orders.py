"""The structural pass: permanent zeros, orders, elimination, and what is refused."""

import dataclasses
from itertools import pairwise

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.dynamics.drivetrain.orders import link_equations
from support.evaluate import evaluate
from support.rotors import coaxial, lbr, with_random_rotors


def general(n, stiffness=1e4):
    return coaxial(fj.random_robot(n, 1, prismatic=0.0), stiffness=stiffness)


@pytest.mark.parametrize("n", range(1, 8))
def test_general_axes_need_2n(n):
    orders = fj.dynamics.derivative_orders(general(n))
    assert [joint.differentiations for joint in orders.joints] == [2 * (i + 1) for i in range(n)]
    assert [joint.motion for joint in orders.joints] == [2 * (n - i) + 2 for i in range(n)]
    assert orders.motion == 2 * n + 2
    assert orders.elimination == tuple(reversed(range(n)))


@pytest.mark.parametrize("n", range(3, 12))
def test_orthogonal_coaxial_axes_need_n_plus_1(n):
    orders = fj.dynamics.derivative_orders(lbr(n))
    assert orders.differentiations == n + 1
    assert [joint.motion for joint in orders.joints] == [n - i + 3 for i in range(n)]


def test_the_lwr_needs_8():
    """Neither the 14 of general axes nor the 12 of the paper; one rotation that is not snapped makes it 14 again."""
    assert fj.dynamics.derivative_orders(coaxial(fj.load("kuka_lwr"))).differentiations == 8


@pytest.mark.parametrize("robot", [general(3, 1.0), lbr(3, 1.0), lbr(4, 1.0)], ids=["general", "lbr_3", "lbr_4"])
def test_orders_are_those_of_the_torques(robot):
    """τ_i depends on derivatives up to the order said, and is not even given more."""
    orders = fj.dynamics.derivative_orders(robot)
    stack = [ca.SX.sym(f"q{k}", robot.n) for k in range(orders.motion + 1)]
    tau = fj.inverse_dynamics(robot, *stack)
    numbers = np.random.default_rng(1).normal(size=(orders.motion + 1, robot.n))
    for i, joint in enumerate(orders.joints):
        for k in range(joint.motion, orders.motion + 1):
            slope = ca.Function("f", stack, [ca.jacobian(tau[i], stack[k])])(*numbers)
            assert (np.max(np.abs(np.array(slope))) > 1e-9) == (k == joint.motion), (i, k)


@pytest.mark.parametrize("robot", [general(5), lbr(6)], ids=["general", "lbr"])
def test_couplings_depend_on_the_joints_between(robot):
    """S_ij(q_{i+1} ... q_{j−1}) for motors on the parent link, and nothing below the diagonal  [Hoepler (31)]."""
    q = ca.SX.sym("q", robot.n)
    S = fj.dynamics.rotor_coupling(robot, q)
    zeros = []
    for i in range(robot.n):
        for j in range(robot.n):
            entry = ca.densify(ca.SX(S[i, j]))
            found = {k for k, x in enumerate(ca.which_depends(entry, q, 1, False)) if x} if entry.nnz() else set()
            assert found <= set(range(i + 1, j)), (i, j)
            if entry.is_zero():
                zeros.append((i, j))
    assert {(i, j) for i in range(robot.n) for j in range(i + 1)} <= set(zeros)
    orders = fj.dynamics.derivative_orders(robot)
    for i in range(robot.n):
        assert {j for j in range(robot.n) if (i, j) not in zeros} == set(orders.joints[i].accelerations)


def test_zeros_are_exact_not_small():
    """A coupling of 1e-12 is one; a product of general rotations that cancels in floats is not a zero either."""
    tilted = lbr(3)
    axis = np.array([0.0, -1.0, 1e-12])
    drives = [joint.drive for joint in tilted.joints]
    motor = fj.Motor.from_rotor(1e-4, 100.0, axis=axis / np.linalg.norm(axis), position=(0, 0, 0))
    tilted = tilted.with_drives([drives[0], fj.ElasticDrive(1e4, motor), drives[2]])
    assert fj.dynamics.derivative_orders(lbr(3)).joints[0].accelerations == (2,)
    assert 1 in fj.dynamics.derivative_orders(tilted).joints[0].accelerations


@pytest.mark.parametrize("seed", range(6))
def test_graph_agrees_with_numbers(seed):
    """θ_j'' and θ_j' are in link equation i just where random states show them."""
    base = fj.random_robot(6, seed, tree=True, fixed=0.3, orthogonal=True, prismatic=0.2)
    robot = on_axes(base, seed)
    contained = link_equations(robot)
    q, v = np.random.default_rng(seed).normal(size=(2, robot.n))
    S = evaluate(fj.dynamics.rotor_coupling, robot, q)
    for j in range(robot.n):
        C = evaluate(fj.dynamics.rotor_torque, robot, q, v, np.eye(robot.n)[j])
        for i in range(robot.n):
            expected = 2 if abs(S[i, j]) > 1e-9 else 1 if abs(C[i]) > 1e-9 else 0
            assert contained[i].get(j, 0) == expected, (i, j)


def on_axes(robot, seed):
    """Rotors on any link, along one of its axes."""
    rng = np.random.default_rng(seed)
    names = ["base", *(link.name for link in robot.links)]
    motors = [
        fj.Motor.from_rotor(
            0.1, 5.0, axis=np.eye(3)[rng.integers(3)], position=(0, 0, 0), carrier=str(rng.choice(names))
        )
        for _ in robot.joints
    ]
    bare = robot.replace(fidelity="complete", rotors_in_links=False)
    return bare.with_drives([fj.ElasticDrive(100.0, motor) for motor in motors])


# What is refused ----------------------------------------------------------------------------------------------------


def two_arms(**carriers):
    """Two arms of two joints, axes z and x, motors where told: carriers={joint: (link, axis)}."""
    quarter = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    links = []
    for arm in "ab":
        for k in (1, 2):
            name, parent = f"{arm}{k}", "base" if k == 1 else f"{arm}1"
            link, axis = carriers.get(name, (parent, (0.0, 0.0, 1.0)))
            motor = fj.Motor.from_rotor(0.1, 5.0, carrier=link, axis=axis, position=(0, 0, 0))
            joint = fj.Joint(f"j{name}", rotation=quarter if k == 2 else np.eye(3), position=[0.1, 0.2, 0.3],
                             drive=fj.ElasticDrive(100.0, motor))  # fmt: skip
            links.append(fj.Link(name, joint, parent, 1.0, [0.1, 0.0, 0.1], np.diag([0.1, 0.1, 0.1])))
    return fj.Robot("two arms", tuple(links), fidelity="complete", rotors_in_links=False)


def stack_of(robot, order):
    return np.random.default_rng(2).normal(size=(order + 1, robot.n))


def test_arms_that_carry_each_other_are_refused_by_name():
    robot = two_arms(a2=("b2", (0.0, 0.0, 1.0)), b2=("a2", (0.0, 0.0, 1.0)))
    with pytest.raises(fj.InputError, match=r"'ja2' -> 'jb2' -> 'ja2'.*internal dynamics.*spong"):
        fj.dynamics.derivative_orders(robot)
    with pytest.raises(fj.InputError, match="no finite inverse dynamics"):
        fj.inverse_dynamics(robot, *stack_of(robot, 6))
    assert "no finite inverse dynamics" in fj.explain_orders(robot)
    assert fj.dynamics.derivative_orders(robot.with_fidelity("spong")).motion == 4


@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (1.0, 0.0, 0.0)])
def test_a_rotor_on_its_own_link_is_a_cycle_even_where_its_coupling_is_zero(axis):
    robot = two_arms(a2=("a2", axis))
    S = evaluate(fj.dynamics.rotor_coupling, robot, np.ones(4))
    assert (S[1, 1] != 0) == (axis[2] != 0)
    with pytest.raises(fj.InputError, match="motor of 'ja2' is in its own link equation"):
        fj.dynamics.derivative_orders(robot)


def test_an_arm_may_carry_the_other():
    robot = two_arms(a2=("b2", (0.0, 0.0, 1.0)), a1=("b2", (0.0, 1.0, 0.0)))
    orders = fj.dynamics.derivative_orders(robot)
    assert orders.elimination.index(1) < orders.elimination.index(3)
    check_consistency(robot, orders)


def test_an_equation_may_come_before_that_of_the_link_it_carries():
    """jb2 needs ja2, ja2 needs jb1: jb1 is solved before jb2, although b1 carries b2."""
    z = (0.0, 0.0, 1.0)
    robot = two_arms(a2=("b2", z), b1=("a2", z), b2=("base", z))
    orders = fj.dynamics.derivative_orders(robot)
    order = [robot.joints[i].name for i in orders.elimination]
    assert order.index("jb1") < order.index("ja2") < order.index("jb2")
    check_consistency(robot, orders)


def check_consistency(robot, orders):
    """The motion found satisfies the equations of `generalized_forces`, and its derivatives are derivatives."""
    stack = [ca.SX.sym(f"q{k}", robot.n) for k in range(orders.motion + 2)]
    motion = fj.motor_motion(robot, *stack[:-1])
    numbers = stack_of(robot, orders.motion + 1)

    def value(x):
        return np.array(ca.Function("f", stack, [ca.densify(x)])(*numbers)).ravel()

    def rate(x):
        return sum((ca.jtimes(x, a, b) for a, b in pairwise(stack)), ca.SX.zeros(robot.n))

    q, v, a = numbers[:3]
    theta, theta_v, theta_a, deflection, _, _, tau_e, tau = map(value, motion)
    assert np.allclose(value(rate(motion.theta)), theta_v, rtol=1e-12, atol=1e-13)
    assert np.allclose(value(rate(motion.theta_v)), theta_a, rtol=1e-12, atol=1e-13)
    forces = evaluate(fj.dynamics.generalized_forces, robot, q, v, theta, theta_v, a, theta_a)
    assert np.allclose(theta - q, deflection, rtol=1e-12, atol=1e-14)
    springs = [float(joint.drive.spring.curve(x).torque) for joint, x in zip(robot.joints, deflection)]
    assert np.allclose(forces.tau_e, springs, rtol=1e-11, atol=1e-12)
    assert np.allclose(tau_e, springs, rtol=1e-11, atol=1e-12)
    assert np.allclose(forces.tau, tau, rtol=1e-10, atol=1e-10)


# Beyond the paper -----------------------------------------------------------------------------------------------------


def test_springs_and_friction_of_any_kind():
    """Cubic and hardening springs, tanh friction on both sides, in a tree, equations differentiated six times."""
    tree = fj.random_robot(4, 29, tree=True, prismatic=0.25, friction=True)
    robot = with_random_rotors(tree, 8, elastic=1.0)
    laws = [
        fj.springs.CubicSpring(200.0, 500.0),
        fj.springs.HardeningSpring(300.0, 0.7),
        fj.springs.LinearSpring(150.0),
        fj.springs.CubicSpring(90.0, 50.0),
    ]
    dry = {"coulomb_friction": 0.3, "coulomb_velocity": 2.0}
    motors = [dataclasses.replace(joint.drive.motor, **dry) for joint in robot.joints]
    robot = robot.with_drives([fj.ElasticDrive(law, motor) for law, motor in zip(laws, motors)])
    links = [dataclasses.replace(link, joint=dataclasses.replace(link.joint, **dry)) for link in robot.links]
    robot = robot.replace(links=links)
    orders = fj.dynamics.derivative_orders(robot)
    assert orders.differentiations == 6
    check_consistency(robot, orders)


def test_a_piecewise_spring_has_two_derivatives():
    robot = general(2)
    drives = [
        robot.joints[0].drive,
        fj.ElasticDrive(fj.springs.PiecewiseSpring((0.0, 0.1), (100.0, 200.0)), robot.joints[1].drive.motor),
    ]
    with pytest.raises(fj.InputError, match=r"joint2.*PiecewiseSpring|link2_joint.*PiecewiseSpring"):
        fj.inverse_dynamics(robot.with_drives(drives), *stack_of(robot, 6))
    fj.inverse_dynamics(robot.with_drives(drives[::-1]), *stack_of(robot, 6))


def test_too_few_derivatives_are_named():
    with pytest.raises(fj.InputError, match=r"first 10 derivatives, 4 derivatives were given; explain_orders"):
        fj.inverse_dynamics(coaxial(fj.load("kuka_lwr")), *stack_of(lbr(7), 4))


def test_kernels_for_a_turning_base_expect_what_it_needs():
    robot = lbr(2)
    assert [fj.dynamics.derivative_orders(robot, x).motion for x in (False, True)] == [4, 5]
    kernel = fj.compile(fj.inverse_dynamics, robot, base={"angular_velocity": 5, "acceleration": 4})
    assert [x.name for x in kernel.inputs[:7]] == ["q", "v", "a", "q3", "q4", "q5", "base.angular_velocity[0]"]


def test_explanation(capsys):
    text = fj.explain_orders(coaxial(fj.load("kuka_lwr")))
    assert text in capsys.readouterr().out
    lines = text.splitlines()
    assert lines[0] == "kuka_lwr, complete model"
    assert " ".join(lines[3].split()) == "joint2 elastic link1 joint4 joint5 joint6 joint7 joint3 2 q … q⁽⁹⁾"
    assert lines[-1] == "inverse dynamics: q and its first 10 derivatives"
    assert fj.explain_orders(fj.load("kuka_lwr")).endswith("q and its first 4 derivatives")
    assert fj.explain_orders(fj.load("kuka_lwr").rigid()).endswith("q and its first 2 derivatives")


def test_what_holds_for_spong_alone_refuses_the_complete_model():
    robot, x = lbr(3), np.zeros(3)
    for call in (
        lambda: fj.torque_derivatives(robot, x, x, x),
        lambda: fj.bias_torque(robot, x, x),
        lambda: fj.joint_wrenches(robot, x, x, x),
    ):
        with pytest.raises(fj.InputError, match=r"complete model of 'lbr_3'.*'joint1'.*spong"):
            call()
