"""How many additions and multiplications each algorithm costs: no change goes unannounced.

After a change that is meant: python tests/golden/test_operation_counts.py, and say why in the commit.
"""

import json
from pathlib import Path

import pytest

import flexjoint as fj
from support.marks import some_long
from support.paper_robots import PAPER_ROBOTS

GOLDEN = Path(__file__).with_name("operation_counts.json")
ROBOTS = {
    **{name: fj.load(name).with_fidelity("spong") for name in PAPER_ROBOTS},  # rotors: test_rotor_counts.py
    "chain_6": fj.random_robot(6, 1, prismatic=0.3, elastic=0.5, friction=True),
    "orthogonal_12": fj.random_robot(12, 2, prismatic=0.2, orthogonal=True),
    "tree_9": fj.random_robot(9, 3, prismatic=0.3, tree=True, fixed=0.4),
    "chain_30": fj.random_robot(30, 4, prismatic=0.2),
}
ALGORITHMS = {
    "inverse_dynamics": (fj.inverse_dynamics, {}),
    "inverse_dynamics, wrench": (fj.inverse_dynamics, {"wrenches": 3}),
    "motor_motion": (fj.motor_motion, {}),
    "torque_derivatives, order 0": (fj.torque_derivatives, {"order": 0}),
    "torque_derivatives, order 2": (fj.torque_derivatives, {"order": 2}),
    "torque_derivatives, order 4": (fj.torque_derivatives, {"order": 4}),
    "joint_wrenches": (fj.joint_wrenches, {}),
    "bias_torque": (fj.bias_torque, {}),
    "coriolis_torque": (fj.coriolis_torque, {}),
    "gravity_torque": (fj.gravity_torque, {}),
    "mass_matrix": (fj.mass_matrix, {}),
    "forward_dynamics, rigid joints": (fj.forward_dynamics, {}),
    "forward_dynamics": (fj.forward_dynamics, {}),
    "link_motion": (fj.dynamics.link_motion, {}),
    "linearizing_control": (fj.control.laws.linearizing_control, {}),
    "modified_newton_euler": (fj.dynamics.modified_newton_euler, {}),
    "modified_newton_euler, 0001": (fj.dynamics.modified_newton_euler, {"variant": "0001"}),
    "coriolis_product": (fj.coriolis_product, {}),
    "coriolis_transpose_product": (fj.coriolis_transpose_product, {}),
    "coriolis_matrix": (fj.coriolis_matrix, {}),
    "mass_matrix_rate": (fj.mass_matrix_rate, {}),
    "base_regressor": (fj.base_regressor, {}),
    "passivity_torque": (fj.control.laws.passivity_torque, {}),
    "adaptive_torque": (fj.control.laws.adaptive_torque, {}),
    "generalized_momentum": (fj.generalized_momentum, {}),
    "spatial_momentum": (fj.spatial_momentum, {}),
    "kinetic_energy": (fj.kinetic_energy, {}),
    "gravity_energy": (fj.gravity_energy, {}),
    "forward_kinematics": (fj.forward_kinematics, {}),
    "jacobian": (fj.jacobian, {}),
    "jacobian_derivatives": (fj.jacobian_derivatives, {}),
    "pose_derivatives, order 4": (fj.dynamics.pose_derivatives, {"order": 4}),
}
LONG = ("inverse_dynamics", "mass_matrix", "forward_dynamics", "coriolis_product", "generalized_momentum", "jacobian")
VARIABLE_STIFFNESS = {
    "inverse_dynamics, variable stiffness": (fj.inverse_dynamics, {"stiffness": 3}),
    "feedback_linearization, variable stiffness": (fj.feedback_linearization, {"stiffness_command": True}),
    "forward_dynamics, variable stiffness": (fj.forward_dynamics, {}),
    "motion_and_stiffness_control": (
        fj.control.laws.motion_and_stiffness_control,
        {"tracking": {"reference": 5, "gains": 4, "stiffness": 3, "stiffness_gains": 2, "limits": 1}},
    ),
}


def operations(algorithm, robot, options):
    options = dict(options)
    if algorithm in (fj.control.laws.passivity_torque, fj.control.laws.adaptive_torque):  # of rigid joints only
        robot = robot.rigid()
    if algorithm is fj.control.laws.linearizing_control:
        length = fj.dynamics.chain_length(robot)
        options["tracking"] = {"reference": length + 1, "gains": length}
    if "wrenches" in options:
        options["wrenches"] = {robot.tool: options["wrenches"]}
    program, _ = algorithm.trace(robot, algorithm.structure(robot, **options))
    return program.operations


def counted(name):
    """Counts of one robot; of a long chain those of the algorithms that are called for one."""
    robot = ROBOTS[name]
    wanted = [key for key in ALGORITHMS if robot.n <= 12 or key in LONG]
    bare = robot.without_drives() if any(robot.variable_stiffness) else robot
    chosen = {key: bare.rigid() if "rigid" in key else bare for key in wanted}
    counts = {key: operations(ALGORITHMS[key][0], chosen[key], ALGORITHMS[key][1]) for key in wanted}
    more = VARIABLE_STIFFNESS if any(robot.variable_stiffness) else {}
    return counts | {key: operations(algorithm, robot, options) for key, (algorithm, options) in more.items()}


LONG = ("chain_30", "dlr_lbr2", "dlr_lwr3", "hua_3r", "orthogonal_12")


@pytest.mark.parametrize("name", some_long([*ROBOTS], *LONG))
def test_operation_counts(name):
    golden = json.loads(GOLDEN.read_text())
    assert set(golden) == set(ROBOTS)
    assert counted(name) == golden[name], "if meant: python tests/golden/test_operation_counts.py"


@pytest.mark.parametrize(
    ("algorithm", "robot", "most"),
    [
        (fj.inverse_dynamics, fj.load("kuka_lwr").without_drives(), 500),
        (fj.inverse_dynamics, fj.load("kuka_lwr"), 1960),
        (fj.forward_dynamics, fj.load("kuka_lwr").without_drives(), 935),
        (fj.feedback_linearization, fj.load("kuka_lwr"), 2968),
        (fj.coriolis_product, fj.load("kuka_lwr").without_drives(), 500),
        (fj.coriolis_transpose_product, fj.load("kuka_lwr").without_drives(), 300),
    ],
    ids=["rigid", "elastic", "forward", "feedback linearization", "two velocities", "transpose"],
)
def test_bounds(algorithm, robot, most):
    options = {"measured": "q tau_e"} if algorithm is fj.feedback_linearization else {}
    assert operations(algorithm, robot, options) <= most


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps({name: counted(name) for name in ROBOTS}, indent=2) + "\n")
