"""Coupled transmissions as data: what is refused, files, parameters, and robots made from robots."""

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.drives import CoupledTransmission
from support.evaluate import evaluate

T = [[1.0, 1.0], [1.0, -1.0]]
ARM = fj.load("kuka_lwr")
WRIST = ARM.replace(transmissions=[CoupledTransmission(["joint6", "joint7"], T)])
VARIABLE = fj.load("vsa_3r")


@pytest.mark.parametrize(
    ("robot", "groups", "message"),
    [
        (ARM, [CoupledTransmission(["joint6", "elbow"], T)], "unknown joint 'elbow'; the moving joints are: joint1"),
        (ARM, [CoupledTransmission(["joint6", "tool_mount"], T)], "'tool_mount' is fixed, but in a transmission"),
        (ARM, [CoupledTransmission("joint6", T)], "the joints of a transmission are 'joint6': give a list"),
        (ARM, [CoupledTransmission([], [])], "give a list of names"),
        (ARM, [CoupledTransmission(["joint6", "joint6"], T)], "has a joint twice"),
        (ARM, [*WRIST.transmissions, CoupledTransmission(["joint7"], [[2.0]])], "'joint7' is in two coupled"),
        (ARM, [CoupledTransmission(["joint6", "joint7"], [[1.0, 1.0]])], "give 2 x 2 numbers, a row per motor"),
        (ARM, [CoupledTransmission(["joint6", "joint7"], [["1", 0], [0, 1]])], "give 2 x 2 numbers"),
        (ARM, [CoupledTransmission(["joint6", "joint7"], [[1.0, np.nan], [0.0, 1.0]])], "every number must be finite"),
        (ARM, [CoupledTransmission(["joint6", "joint7"], [[ca.SX.sym("x"), 1.0], [0.0, 1.0]])], "give 2 x 2 numbers"),
        (ARM, [CoupledTransmission(["joint6", "joint7"], [[True, 1.0], [0.0, 1.0]])], "give 2 x 2 numbers"),
        (ARM, [CoupledTransmission(["joint6", "joint7"], [[1.0, 2.0], [2.0, 4.0]])], "cannot be inverted.*is inf"),
        (ARM, [CoupledTransmission(["joint6", "joint7"], [[1.0, 1.0], [1.0, 1.0 + 1e-7]])], "at most 1e\\+06"),
        (ARM, [CoupledTransmission(["joint6", "joint7"], T, "gear")], "are at 'gear': choose 'motor' or 'joint'"),
        (ARM, "wrist", "one of the transmissions is 'w'"),
        (ARM, 3, "the transmissions are 3: give a list of drives.CoupledTransmission"),
        (VARIABLE, [CoupledTransmission([x.name for x in VARIABLE.joints[:2]], T)], "has variable stiffness, but is"),
        (fj.load("hua_3r"), [CoupledTransmission(["joint2", "joint3"], T)], "springs at 'joint3' but none at 'joint2'"),
    ],
)  # fmt: skip
def test_refused(robot, groups, message):
    with pytest.raises(fj.RobotError, match=message):
        robot.replace(transmissions=groups)


def test_a_follower_is_refused():
    fingers = [
        fj.Link("a", fj.Joint("lead", "prismatic"), mass=1.0, inertia=0.01 * np.eye(3)),
        fj.Link("b", fj.Joint("follow", "prismatic", mimic=fj.robot.Mimic("lead")), mass=1.0, inertia=0.01 * np.eye(3)),
    ]
    with pytest.raises(fj.RobotError, match="'follow' follows another joint"):
        fj.Robot("gripper", fingers, transmissions=[CoupledTransmission(["lead", "follow"], T)])


def test_scaled_rows_and_columns_are_no_bad_condition():
    """Gear ratios per motor, and joints in rad beside joints in m."""
    scaled = CoupledTransmission(["joint6", "joint7"], np.diag([1e-4, 1e4]) @ np.array(T))
    assert ARM.replace(transmissions=[scaled]).transmission_joints == ((5, 6),)


def test_files_and_equality(tmp_path):
    joint_side = ARM.replace(transmissions=[CoupledTransmission(["joint6", "joint7"], T, "joint")])
    for robot in (WRIST, joint_side):
        fj.write_robot(robot, tmp_path / "wrist.toml")
        assert fj.load(tmp_path / "wrist.toml") == robot
    assert WRIST != joint_side != ARM
    text = (tmp_path / "wrist.toml").read_text()
    for wrong, message in (
        (text.replace("joints = ", "joint = "), "transmission 1: unknown key 'joint'; did you mean 'joints'"),
        (text.replace('springs = "joint"', 'springs = "gear"'), 'transmission 1: springs must be one of "motor"'),
        (text.replace("matrix = [[1.0, 1.0], [1.0, -1.0]]", "matrix = [1.0]"), "transmission 1: matrix must be a list"),
    ):
        (tmp_path / "wrong.toml").write_text(wrong)
        with pytest.raises(fj.RobotError, match=message):
            fj.load(tmp_path / "wrong.toml")


def test_robots_made_from_robots():
    assert WRIST.rigid().transmissions == WRIST.transmissions
    assert WRIST.without_drives().transmissions == ()
    assert WRIST.without_friction().without_spring_damping().transmissions == WRIST.transmissions
    with pytest.raises(fj.RobotError, match="springs at 'joint6' but none at 'joint7'"):
        WRIST.with_drives([*(joint.drive for joint in ARM.joints[:6]), None])


def test_free_matrix():
    """The matrix as symbols: the torque, and its derivative, are those of other numbers."""
    path = "transmissions.0.matrix.*"
    symbols = fj.robot.symbols(WRIST, path)[path]
    free = WRIST.with_symbols({path: symbols})
    stack = np.random.default_rng(0).normal(size=(5, 7))
    other = np.array([[1.0, 0.5], [-0.3, 2.0]])
    import casadi as ca

    for algorithm, arrays in ((fj.inverse_dynamics, stack), (fj.forward_dynamics, stack)):
        for robot, changed in ((free, WRIST), (free_rigid(symbols, path), WRIST.rigid())):
            given = arrays if any(changed.compliant) or algorithm is fj.inverse_dynamics else arrays[:3]
            inputs = [ca.SX.sym("x", 7) for _ in given]
            value = algorithm(robot, *inputs)
            value = value[0] if isinstance(value, tuple) else value
            found = np.array(ca.Function("f", [symbols, *inputs], [value])(other.ravel(), *given))[:, 0]
            numbers = changed.replace(transmissions=[CoupledTransmission(["joint6", "joint7"], other)])
            expected = evaluate(algorithm, numbers, *given)
            expected = expected[0] if isinstance(expected, tuple) else expected
            assert np.allclose(found, expected, rtol=1e-9, atol=1e-9)


def free_rigid(symbols, path):
    return WRIST.rigid().with_symbols({path: symbols})


def test_modes_and_linear_models():
    """Frequencies of a wrist from the Hessian of its spring energy, and the outputs of a linear model."""
    q = np.linspace(-0.5, 0.5, 7)
    K = np.array([joint.drive.spring.curve(0.0).stiffness for joint in ARM.joints], dtype=float)
    whole = np.eye(7)
    whole[5:, 5:] = T
    span = np.hstack([-whole, np.eye(7)])
    M = evaluate(fj.mass_matrix, WRIST, q, motors=True)
    squares = np.sort(np.linalg.eigvals(np.linalg.solve(M, span.T @ np.diag(K) @ span)).real)[-7:]
    assert np.allclose(fj.control.joint_modes(WRIST, q).frequencies[-7:] ** 2, squares, rtol=1e-9)
    assert np.allclose(fj.analysis.joint_eigenfrequencies(WRIST, q) ** 2, squares, rtol=1e-9)
    model = fj.analysis.linearize(WRIST, q)
    named = dict(zip(model.states, model.system(outputs="deflection.joint7")[2][0]))
    assert {name: x for name, x in named.items() if x} == {"q.joint6": -1.0, "q.joint7": 1.0, "theta.joint7": 1.0}
    tau = evaluate(fj.inverse_dynamics, WRIST, q, *np.zeros((4, 7)))
    assert np.allclose(model.A, fj.analysis.linearize(WRIST, q, tau).A, atol=1e-9), "the torque that holds it"


def test_rest():
    """Gravity is borne by the springs of the group, and motor PD control holds it there."""
    q = np.linspace(-0.4, 0.4, 7)
    state = fj.simulation.at_rest(WRIST, q)
    tau = evaluate(fj.inverse_dynamics, WRIST, q, *np.zeros((4, 7)))
    found = evaluate(fj.forward_dynamics, WRIST, *state, tau)
    assert np.max(np.abs(found.a)) < 1e-8
    assert np.max(np.abs(found.theta_a)) < 1e-8
    law = fj.control.MotorPD(WRIST, [1000.0, 50.0])
    _, torque = law((), [q], state)
    assert np.allclose(torque, tau, atol=1e-10)
