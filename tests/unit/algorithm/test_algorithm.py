"""What callers see: shapes, batches, `out`, errors, SX, threads, the memory of kernels."""

import dataclasses
import gc
import math
import pickle
import re
import resource
import threading
import weakref

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.algorithm import algorithm as api
from support.errors import relative_error
from support.evaluate import evaluate

RIGID = fj.random_robot(3, 1, prismatic=0.4, fixed=0.5, name="rigid")
ELASTIC = fj.random_robot(3, 2, prismatic=0.0, elastic=0.3, name="elastic")
LWR = fj.load("kuka_lwr").without_drives()


@pytest.fixture
def motion():
    return np.random.default_rng(0).normal(size=(3, RIGID.n))


@pytest.fixture
def batch():
    return np.random.default_rng(1).normal(size=(3, 8, RIGID.n))


def reference(algorithm, robot, *arrays, **options):
    """The value by CasADi's own virtual machine."""
    return evaluate(algorithm.function, robot, *arrays, **options)


# Values and shapes ------------------------------------------------------------------------------------------


def test_robots_are_of_the_kinds_these_tests_need():
    assert {joint.kind.name for joint in RIGID.joints} == {"revolute", "prismatic"}
    assert RIGID.joints[0].kind.name == "revolute"
    assert len(RIGID.links) > RIGID.n
    assert sum(ELASTIC.compliant) == 1


@pytest.mark.parametrize(
    ("algorithm", "count", "shape", "options"),
    [
        (fj.inverse_dynamics, 3, (3,), {}),
        (fj.forward_dynamics, 3, (3,), {}),
        (fj.bias_torque, 2, (3,), {}),
        (fj.coriolis_torque, 2, (3,), {}),
        (fj.gravity_torque, 1, (3,), {}),
        (fj.mass_matrix, 1, (3, 3), {}),
        (fj.generalized_momentum, 2, (3,), {}),
        (fj.kinetic_energy, 2, (), {}),
        (fj.gravity_energy, 1, (), {}),
        (fj.jacobian, 1, (6, 3), {}),
        (fj.jacobian, 1, (6, 3), {"link": "link2"}),
        (fj.joint_wrenches, 3, (len(RIGID.links), 6), {}),
        (fj.torque_derivatives, 3, (1, 3), {}),
        (fj.torque_derivatives, 5, (3, 3), {"order": 2}),
        (fj.jacobian_derivatives, 2, (2, 6, 3), {}),
        (fj.jacobian_derivatives, 3, (3, 6, 3), {"order": 2}),
    ],
    ids=lambda x: x.__name__ if isinstance(x, fj.algorithm.Algorithm) else None,
)
def test_value_and_shape(algorithm, count, shape, options):
    arrays = np.random.default_rng(2).normal(size=(count, 3))
    found = algorithm(RIGID, *arrays, **options)
    assert isinstance(found, np.ndarray) and found.dtype == np.float64
    assert found.shape == shape
    expected = reference(algorithm, RIGID, *arrays, **options)
    assert relative_error(found, np.reshape(expected, shape)) < 1e-13


def test_named_results():
    q, v = np.random.default_rng(3).normal(size=(2, 3))
    pose, momentum = fj.forward_kinematics(RIGID, q), fj.spatial_momentum(RIGID, q, v)
    assert type(pose) is fj.dynamics.Pose and type(momentum) is fj.dynamics.SpatialMomentum
    assert (pose.rotation.shape, pose.position.shape) == ((3, 3), (3,))
    assert (momentum.linear.shape, momentum.angular.shape) == ((3,), (3,))
    expected = reference(fj.forward_kinematics, RIGID, q)
    np.testing.assert_allclose(pose.rotation, expected.rotation, atol=1e-15)
    np.testing.assert_allclose(pose.position, expected.position, atol=1e-15)


def test_a_matrix_is_stored_by_rows():
    """CasADi stores columns; a Jacobian shows which."""
    q = np.array([0.3, -0.4, 0.5])
    J = fj.jacobian(RIGID, q)
    assert J.flags.c_contiguous
    assert np.array_equal(J[:3, 0], fj.jacobian(RIGID, q)[:3, 0]) and not np.allclose(J[0], J[:3, 0])
    np.testing.assert_allclose(J, reference(fj.jacobian, RIGID, q), atol=1e-15)


# Batches ------------------------------------------------------------------------------------------------------


def test_batch_is_row_by_row_bit_for_bit(batch):
    found = fj.inverse_dynamics(RIGID, *batch)
    assert found.shape == (8, 3)
    rows = [fj.inverse_dynamics(RIGID, *batch[:, b]) for b in range(8)]
    assert np.array_equal(found, rows)


def test_leading_dimensions_broadcast(batch):
    q, v, a = batch
    one = fj.inverse_dynamics(RIGID, q, v[0], a[0])
    assert np.array_equal(one, [fj.inverse_dynamics(RIGID, x, v[0], a[0]) for x in q])
    grid = fj.inverse_dynamics(RIGID, q[:, None], v[None, :4], a[0])
    assert grid.shape == (8, 4, 3)
    assert np.array_equal(grid[5, 2], fj.inverse_dynamics(RIGID, q[5], v[2], a[0]))


def test_a_batch_of_one_and_of_none(batch):
    assert fj.inverse_dynamics(RIGID, *batch[:, :1]).shape == (1, 3)
    assert fj.inverse_dynamics(RIGID, *batch[:, :0]).shape == (0, 3)
    assert fj.mass_matrix(RIGID, batch[0, :0]).shape == (0, 3, 3)


def test_batches_of_stacks_and_named_results(batch):
    stack = np.random.default_rng(4).normal(size=(5, 8, 3))
    tau = fj.torque_derivatives(RIGID, *stack, order=2)
    assert tau.shape == (3, 8, 3)
    assert np.array_equal(tau[:, 6], fj.torque_derivatives(RIGID, *stack[:, 6], order=2))
    pose = fj.forward_kinematics(RIGID, batch[0])
    assert (pose.rotation.shape, pose.position.shape) == ((8, 3, 3), (8, 3))
    assert np.array_equal(pose.rotation[3], fj.forward_kinematics(RIGID, batch[0, 3]).rotation)
    assert fj.kinetic_energy(RIGID, *batch[:2]).shape == (8,)


def test_batch_through_strides(batch):
    q = np.asfortranarray(batch[0])
    assert np.array_equal(fj.gravity_torque(RIGID, q), fj.gravity_torque(RIGID, batch[0]))
    assert np.array_equal(fj.gravity_torque(RIGID, batch[0][::-2]), fj.gravity_torque(RIGID, batch[0])[::-2])


# Arguments ----------------------------------------------------------------------------------------------------


def test_lists_integers_and_other_floats():
    expected = fj.inverse_dynamics(RIGID, np.array([1.0, 2.0, 3.0]), np.zeros(3), np.ones(3))
    given = ([1, 2, 3], (0, 0, 0), np.ones(3, dtype=np.float32))
    assert np.array_equal(fj.inverse_dynamics(RIGID, *given), expected)
    assert np.array_equal(fj.inverse_dynamics(RIGID, np.array([1, 2, 3]), np.zeros(3, bool), [1.0, 1, 1]), expected)


def test_strided_and_read_only_inputs(motion):
    expected = fj.inverse_dynamics(RIGID, *motion)
    wide = np.zeros((3, 6))
    wide[:, ::2] = motion
    assert np.array_equal(fj.inverse_dynamics(RIGID, *wide[:, ::2]), expected)
    motion.flags.writeable = False
    assert np.array_equal(fj.inverse_dynamics(RIGID, *motion), expected)
    swapped = motion.astype(">f8")
    assert np.array_equal(fj.inverse_dynamics(RIGID, *swapped), expected)


def test_arrays_by_keyword(motion):
    q, v, a = motion
    expected = fj.inverse_dynamics(RIGID, q, v, a)
    assert np.array_equal(fj.inverse_dynamics(RIGID, a=a, q=q, v=v), expected)
    assert np.array_equal(fj.inverse_dynamics(RIGID, q, a=a, v=v), expected)
    assert np.array_equal(fj.inverse_dynamics(RIGID, q, v, a=a, out=np.empty(3)), expected)


def test_inputs_are_left_alone(motion):
    before = motion.copy()
    fj.inverse_dynamics(RIGID, *motion)
    assert np.array_equal(motion, before)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([0, 0], [0, 0, 0], [0, 0, 0]), r"q has shape \(2,\), it must be \(\.\.\., 3\)"),
        (([0, 0, 0], [0, 0, 0, 0], [0, 0, 0]), r"v has shape \(4,\)"),
        (([0, 0, 0], [0, 0, 0], 1.0), r"a has shape \(\)"),
        (([0, 0, 0], ["x", "y", "z"], [0, 0, 0]), r"v has dtype"),
        (([0, 0, 0], [0, 0, 0], [0j, 0j, 0j]), r"a has dtype complex128"),
        (([0, 0, 0], [0, 0, 0], None), r"a has dtype object"),
        (([0, 0, 0], [[0, 0, 0], [0, 0]], [0, 0, 0]), r"v is no regular array"),
        ((np.zeros((2, 3)), np.zeros((3, 3)), np.zeros(3)), r"do not broadcast \(q: \(2,\), v: \(3,\), a: \(\)\)"),
        (([0, 0, 0], [0, 0, 0]), r"missing: a"),
        ((), r"missing: q, v, a"),
    ],
)
def test_wrong_arrays(arrays, message):
    with pytest.raises(fj.InputError, match=message):
        fj.inverse_dynamics(RIGID, *arrays)


def test_wrong_calls(motion):
    q, v, a = motion
    with pytest.raises(fj.InputError, match="first argument is the robot"):
        fj.inverse_dynamics(q, v, a)
    with pytest.raises(fj.InputError, match="takes 1 arrays, 2 were given"):
        fj.mass_matrix(RIGID, q, v)
    with pytest.raises(fj.InputError, match="no keyword speed; it knows stiffness, wrenches, base, warm_start, out"):
        fj.inverse_dynamics(RIGID, q, v, a, speed=v)
    with pytest.raises(fj.InputError, match=r"missing: q$"):
        fj.inverse_dynamics(RIGID, v=v, a=a)
    with pytest.raises(fj.RobotError, match="no link 'hand'"):
        fj.jacobian(RIGID, q, link="hand")
    with pytest.raises(fj.InputError, match="order is -1"):
        fj.torque_derivatives(RIGID, q, v, a, order=-1)
    with pytest.raises(fj.InputError, match="order 2 needs q and its first 4 derivatives, 2 derivatives were given"):
        fj.torque_derivatives(RIGID, q, v, a, order=2)
    with pytest.raises(fj.InputError, match="jacobian_derivatives of order 1"):
        fj.jacobian_derivatives(RIGID, q)
    with pytest.raises(fj.InputError, match="compile takes an algorithm"):
        fj.compile(np.sin, RIGID)
    with pytest.raises(fj.InputError, match=r"takes 3 arrays \(q, v, a\), 2 were given"):
        fj.compile(fj.inverse_dynamics, RIGID)(q, v)


def test_too_few_derivatives_names_the_elastic_joint(motion):
    name = ELASTIC.joints[ELASTIC.compliant.index(True)].name
    with pytest.raises(fj.InputError, match=f"joint '{name}' is elastic .* 4 derivatives, 2 derivatives were given"):
        fj.inverse_dynamics(ELASTIC, *motion)


def test_more_derivatives_than_needed_are_not_used(motion):
    rng = np.random.default_rng(5)
    expected = fj.inverse_dynamics(RIGID, *motion)
    assert np.array_equal(fj.inverse_dynamics(RIGID, *motion, *rng.normal(size=(2, 3))), expected)


# Forms --------------------------------------------------------------------------------------------------------


def test_drives_decide_what_a_call_takes(motion):
    q, v, tau = motion
    assert isinstance(fj.forward_dynamics(RIGID, q, v, tau), np.ndarray)
    assert type(fj.forward_dynamics(ELASTIC, q, v, q, v, tau)) is fj.dynamics.Accelerations
    needs = "forward_dynamics needs q, v, theta, theta_v, tau for 'elastic', whose joint .* is elastic"
    for arrays, named, missing in (((q, v), {"theta_v": v, "tau": tau}, "theta"), ((q, v, tau), {}, "theta_v, tau")):
        with pytest.raises(fj.InputError, match=f"{needs}; missing: {missing}$"):
            fj.forward_dynamics(ELASTIC, *arrays, **named)
    takes = "forward_dynamics takes q, v, tau for 'rigid', which has no springs"
    with pytest.raises(fj.InputError, match=f"{takes}; 5 arrays were given"):
        fj.forward_dynamics(RIGID, q, v, q, v, tau)
    with pytest.raises(fj.InputError, match=f"{takes}; surplus: theta, theta_v"):
        fj.forward_dynamics(RIGID, q, v, theta=q, theta_v=v, tau=tau)
    with pytest.raises(fj.InputError, match="forward_dynamics: tau given twice, by position and by keyword"):
        fj.forward_dynamics(RIGID, q, v, tau, tau=tau)


def test_options_decide_what_a_call_takes(motion):
    q, v, theta_v = motion
    plain = fj.generalized_momentum(ELASTIC, q, v)
    over_all = fj.generalized_momentum(ELASTIC, q, v, theta_v, motors=True)
    assert np.array_equal(fj.generalized_momentum(ELASTIC, q, v, motors=False), plain)
    M = fj.mass_matrix(ELASTIC, q, motors=True)
    behind = list(ELASTIC.motors_behind_springs)
    assert M.shape == (3 + len(behind),) * 2
    assert relative_error(M[:3] @ np.concatenate([v, theta_v[behind]]), over_all.links) < 1e-14
    assert relative_error(M[3:] @ np.concatenate([v, theta_v[behind]]), over_all.motors[behind]) < 1e-14
    with pytest.raises(fj.InputError, match="needs q, v, theta_v for 'elastic', with motors=True; missing: theta_v"):
        fj.generalized_momentum(ELASTIC, q, v, motors=True)
    with pytest.raises(fj.InputError, match="motors must be True or False, not 1"):
        fj.mass_matrix(ELASTIC, q, motors=1)
    kernel = fj.compile(fj.generalized_momentum, ELASTIC, motors=True)
    assert [x.name for x in kernel.inputs] == ["q", "v", "theta_v"]
    assert [x.name for x in kernel.outputs] == ["links", "motors"]


VSA = fj.load("vsa_3r")


def test_keyword_arrays():
    """A stack and single arrays, by keyword and in compiled kernels; the motors of a robot by their names."""
    rest, sigma = np.zeros((5, 3)), [np.full(3, 1000.0), np.zeros(3), np.zeros(3)]
    tau = fj.inverse_dynamics(VSA, *rest, stiffness=sigma)
    assert tau.shape == (6,)
    kernel = fj.compile(fj.inverse_dynamics, VSA, stiffness=3)
    assert [x.name for x in kernel.inputs[5:]] == ["stiffness[0]", "stiffness[1]", "stiffness[2]"]
    assert np.array_equal(kernel(*rest, *sigma), tau) and kernel.outputs[0].labels == VSA.motor_names
    assert fj.inverse_dynamics(VSA, *rest, stiffness=np.array(sigma)).shape == (6,)
    for wrong, message in (
        (None, "stiffness is missing: joint 'joint1' has variable stiffness"),
        (sigma[:2], "stiffness has 2 arrays: joint 'joint1'"),
        (1000.0, r"stiffness must be a stack \[x, x', ...\] of arrays"),
    ):
        with pytest.raises(fj.InputError, match=message):
            fj.inverse_dynamics(VSA, *rest, stiffness=wrong)
    with pytest.raises(fj.InputError, match="stiffness must be the length of the stack here, not True"):
        fj.compile(fj.inverse_dynamics, VSA, stiffness=True)
    with pytest.raises(fj.InputError, match="warm_start must be True here"):
        fj.compile(fj.inverse_dynamics, VSA, stiffness=3, warm_start=6)


def test_motors_of_variable_stiffness_are_coordinates(motion):
    """[[M, 0], [0, B]] with both motors of each joint."""
    M = fj.mass_matrix(VSA, motion[0], motors=True)
    inertias = [x for k in (0, 1) for x in (joint.drive.motors[k].inertia for joint in VSA.joints)]
    assert np.array_equal(M[:3, :3], fj.mass_matrix(VSA, motion[0]))
    assert np.array_equal(M[3:, 3:], np.diag(inertias)) and not np.any(M[:3, 3:])
    theta_v = np.arange(6.0)
    energy = fj.kinetic_energy(VSA, *motion[:2], theta_v, motors=True)
    speeds = np.concatenate([motion[1], theta_v])
    assert relative_error(energy, speeds @ M @ speeds / 2) < 1e-14


# Groups -------------------------------------------------------------------------------------------------------


def test_wrenches_and_base(motion):
    rng = np.random.default_rng(6)
    w, (omega, alpha, acceleration) = rng.normal(size=6), rng.normal(size=(3, 3))
    base = fj.BaseMotion([omega, alpha], [acceleration])
    found = fj.inverse_dynamics(RIGID, *motion, wrenches={RIGID.tool: [w]}, base=base)
    expected = reference(fj.inverse_dynamics, RIGID, *motion, wrenches={RIGID.tool: [w]}, base=base)
    assert relative_error(found, expected) < 1e-13
    by_dict = fj.inverse_dynamics(RIGID, *motion, wrenches={RIGID.tool: w[None]}, base=base._asdict())
    assert np.array_equal(by_dict, found)
    assert not np.allclose(found, fj.inverse_dynamics(RIGID, *motion))
    counts = {"wrenches": {RIGID.tool: 1}, "base": {"angular_velocity": 2, "acceleration": 1}}
    kernel = fj.compile(fj.inverse_dynamics, RIGID, **counts)
    assert np.array_equal(kernel(*motion, w, omega, alpha, acceleration), found)


def test_a_batch_of_wrenches(motion):
    w = np.random.default_rng(7).normal(size=(8, 6))
    found = fj.bias_torque(RIGID, *motion[:2], wrenches={"link1": [w]})
    assert np.array_equal(found[3], fj.bias_torque(RIGID, *motion[:2], wrenches={"link1": [w[3]]}))


def test_no_group_is_the_plain_call(motion):
    assert np.array_equal(
        fj.inverse_dynamics(RIGID, *motion, wrenches=None, base=None), fj.inverse_dynamics(RIGID, *motion)
    )
    assert np.array_equal(fj.inverse_dynamics(RIGID, *motion, wrenches={}), fj.inverse_dynamics(RIGID, *motion))


@pytest.mark.parametrize(
    ("group", "value", "error", "message"),
    [
        ("wrenches", {"hand": [np.zeros(6)]}, fj.RobotError, "no link 'hand'"),
        ("wrenches", {"link1": np.zeros(6)}, fj.InputError, r"wrenches\['link1'\] must be a stack"),
        ("wrenches", {"link1": []}, fj.InputError, r"wrenches\['link1'\] must be a stack"),
        ("wrenches", {"link1": np.array(5.0)}, fj.InputError, r"wrenches\['link1'\] must be a stack"),
        ("wrenches", {"link1": [np.zeros(3)]}, fj.InputError, r"wrenches\.link1\[0\] has shape \(3,\)"),
        ("wrenches", [np.zeros(6)], fj.InputError, "wrenches must map names to stacks"),
        ("base", np.zeros(3), fj.InputError, "base must map names to stacks"),
        ("base", {"acceleration": [np.zeros(3)]}, fj.InputError, r"base\.angular_velocity needs 2 entries"),
        ("base", fj.BaseMotion([np.zeros(3)], [np.zeros(3)]), fj.InputError, r"base\.angular_velocity needs 2"),
    ],
)
def test_wrong_groups(motion, group, value, error, message):
    with pytest.raises(error, match=message):
        fj.inverse_dynamics(RIGID, *motion, **{group: value})


def test_elastic_joints_need_derivatives_of_the_wrench():
    stack = np.zeros((5, 3))
    with pytest.raises(fj.InputError, match="the wrench on 'link1' needs its first 2 derivatives"):
        fj.inverse_dynamics(ELASTIC, *stack, wrenches={"link1": [np.zeros(6)]})


# out= ---------------------------------------------------------------------------------------------------------


def test_out_is_returned_and_filled(motion):
    expected, out = fj.inverse_dynamics(RIGID, *motion), np.full(3, 7.0)
    assert fj.inverse_dynamics(RIGID, *motion, out=out) is out
    assert np.array_equal(out, expected)
    kernel = fj.compile(fj.inverse_dynamics, RIGID)
    out[:] = 7.0
    assert kernel(*motion, out=out) is out
    assert np.array_equal(out, expected)


def test_out_of_a_batch_of_stacks_and_of_named_results(batch):
    stack = np.random.default_rng(8).normal(size=(5, 8, 3))
    out = np.empty((3, 8, 3))
    assert fj.torque_derivatives(RIGID, *stack, order=2, out=out) is out
    assert np.array_equal(out, fj.torque_derivatives(RIGID, *stack, order=2))
    R, p = np.empty((3, 3)), np.empty(3)
    pose = fj.forward_kinematics(RIGID, batch[0, 0], out=(R, p))
    assert type(pose) is fj.dynamics.Pose and pose.rotation is R and pose.position is p
    assert np.array_equal(p, fj.forward_kinematics(RIGID, batch[0, 0]).position)


def test_out_that_is_not_contiguous(motion, batch):
    expected = fj.inverse_dynamics(RIGID, *motion)
    wide = np.full(6, 7.0)
    fj.inverse_dynamics(RIGID, *motion, out=wide[::2])
    assert np.array_equal(wide[::2], expected) and np.all(wide[1::2] == 7.0)
    fortran = np.empty((8, 3), order="F")
    assert fj.inverse_dynamics(RIGID, *batch, out=fortran) is fortran
    assert np.array_equal(fortran, fj.inverse_dynamics(RIGID, *batch))


def test_out_that_overlaps_an_input(motion, batch):
    expected = fj.inverse_dynamics(RIGID, *motion)
    for k in range(3):
        copy = motion.copy()
        fj.inverse_dynamics(RIGID, *copy, out=copy[k])
        assert np.array_equal(copy[k], expected)
    for start in range(7):  # partly over one or two of the inputs
        memory = np.concatenate([motion.ravel(), np.zeros(3)])
        fj.inverse_dynamics(RIGID, *memory[:9].reshape(3, 3), out=memory[start : start + 3])
        assert np.array_equal(memory[start : start + 3], expected)
    expected = fj.inverse_dynamics(RIGID, *batch)
    copy = batch.copy()
    fj.inverse_dynamics(RIGID, *copy, out=copy[1])
    assert np.array_equal(copy[1], expected)
    flipped = batch.copy()
    fj.inverse_dynamics(RIGID, *flipped, out=flipped[2][::-1])
    assert np.array_equal(flipped[2][::-1], expected)


def read_only():
    out = np.zeros(3)
    out.flags.writeable = False
    return out


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.zeros(4), r"out must be a float64 array of shape \(3,\), not float64 \(4,\)"),
        (np.zeros((1, 3)), r"not float64 \(1, 3\)"),
        (np.zeros(3, dtype=np.float32), r"not float32 \(3,\)"),
        (np.zeros(3, dtype=int), r"not int64 \(3,\)"),
        ([0.0, 0.0, 0.0], r"not list"),
        (read_only(), "out is read-only"),
    ],
)
def test_wrong_out(motion, out, message):
    with pytest.raises(fj.InputError, match=message):
        fj.inverse_dynamics(RIGID, *motion, out=out)


def test_wrong_number_of_outs(motion):
    with pytest.raises(fj.InputError, match="out must be 2 arrays, not 3"):
        fj.forward_kinematics(RIGID, motion[0], out=(np.zeros(3),) * 3)


# Results that are not finite ----------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(("array", "element"), [("q", 0), ("v", 1), ("a", 2)])
def test_a_single_call_raises_and_names_the_input(motion, array, element, bad):
    motion["qva".index(array), element] = bad
    joint = RIGID.joints[element].name
    message = re.escape(f"{array}[{element}] ({joint}) is {bad}")
    with pytest.raises(fj.NonFiniteError, match=message):
        fj.inverse_dynamics(RIGID, *motion)
    out = np.zeros(3)
    kernel = fj.compile(fj.inverse_dynamics, RIGID)
    for call in (lambda: fj.inverse_dynamics(RIGID, *motion, out=out), lambda: kernel(*motion.tolist(), out=out)):
        out[:] = 0.0
        with pytest.raises(fj.NonFiniteError, match=message):
            call()
        assert np.all(np.isnan(out))


def test_a_huge_angle_is_named(motion):
    motion[0, 0] = -1e12
    with pytest.raises(fj.NonFiniteError, match=rf"q\[0\] \({RIGID.joints[0].name}\) is -1e\+12 rad: sine and cosine"):
        fj.inverse_dynamics(RIGID, *motion)


def test_an_overflow_is_named(motion):
    motion[1, 2] = 1e300
    with pytest.raises(fj.NonFiniteError, match=rf"overflowed; the largest input is v\[2\] \({RIGID.joints[2].name}\)"):
        fj.inverse_dynamics(RIGID, *motion)


def test_an_error_leaves_the_next_call_alone(motion):
    expected = fj.inverse_dynamics(RIGID, *motion)
    with pytest.raises(fj.NonFiniteError):
        fj.inverse_dynamics(RIGID, motion[0], motion[1], np.full(3, np.nan))
    assert np.array_equal(fj.inverse_dynamics(RIGID, *motion), expected)


def test_a_nonfinite_wrench_is_named(motion):
    w = np.zeros(6)
    w[4] = np.nan
    with pytest.raises(fj.NonFiniteError, match=r"wrenches\.link2\[0\]\[4\] is nan"):
        fj.inverse_dynamics(RIGID, *motion, wrenches={"link2": [w]})


def test_a_batch_marks_only_its_bad_rows(batch):
    expected = fj.inverse_dynamics(RIGID, *batch)
    batch[0, 2, 1], batch[1, 5, 0], batch[2, 7, 2] = np.nan, np.inf, -np.inf
    found = fj.inverse_dynamics(RIGID, *batch)
    bad = np.isin(np.arange(8), [2, 5, 7])
    assert np.all(np.isnan(found[bad]))
    assert np.array_equal(found[~bad], expected[~bad])
    one = fj.inverse_dynamics(RIGID, *batch[:, 2:3])
    assert one.shape == (1, 3) and np.all(np.isnan(one))


def test_a_batch_marks_all_outputs_of_its_bad_rows(batch):
    q = batch[0]
    q[3, 0] = np.nan
    pose = fj.forward_kinematics(RIGID, q)
    assert np.all(np.isnan(pose.rotation[3])) and np.all(np.isnan(pose.position[3]))
    assert np.all(np.isfinite(np.delete(pose.rotation, 3, axis=0)))
    stack = np.zeros((4, 8, 3))
    stack[3, 1, 1] = np.inf
    tau = fj.torque_derivatives(RIGID, *stack, order=1)
    assert np.all(np.isnan(tau[:, 1])) and np.all(np.isfinite(np.delete(tau, 1, axis=1)))


# SX -----------------------------------------------------------------------------------------------------------


def test_symbols_in_expressions_out(motion):
    q, v, a = (ca.SX.sym(name, 3) for name in "qva")
    tau = fj.inverse_dynamics(RIGID, q, v, a)
    assert isinstance(tau, ca.SX) and tau.shape == (3, 1)
    found = np.ravel(ca.Function("tau", [q, v, a], [tau])(*motion).full())
    assert relative_error(found, fj.inverse_dynamics(RIGID, *motion)) < 1e-13
    assert isinstance(fj.forward_kinematics(RIGID, q), fj.dynamics.Pose)
    assert [type(x) for x in fj.torque_derivatives(RIGID, q, v, a)] == [ca.SX]


def test_expressions_compose(motion):
    """Forward after inverse dynamics, in one expression, with a constant array among the symbols."""
    q, a = ca.SX.sym("q", 3), ca.SX.sym("a", 3)
    v = ca.SX(motion[1])
    round_trip = fj.forward_dynamics(RIGID, q, v, fj.inverse_dynamics(RIGID, q, v, a))
    found = np.ravel(ca.Function("a", [q, a], [round_trip])(motion[0], motion[2]).full())
    np.testing.assert_allclose(found, motion[2], rtol=1e-12)


def test_what_is_differentiated_composes_too(motion):
    """d/dt of M and J along q(s), q' = dq/ds s', from expressions in s where others have symbols."""
    s = ca.SX.sym("s")
    q, v = ca.sin(s * ca.DM(motion[0])), motion[0] * ca.cos(s * ca.DM(motion[0]))
    for function, rate in (
        (fj.mass_matrix, fj.mass_matrix_rate(RIGID, q, v)),
        (fj.jacobian, fj.jacobian_derivatives(RIGID, q, v)[1]),
    ):
        wanted = ca.jacobian(ca.vec(function(RIGID, q)), s)
        error = ca.Function("error", [s], [ca.norm_inf(ca.vec(rate) - wanted)])
        assert float(error(0.7)) < 1e-13
    constant = fj.mass_matrix_rate(RIGID, motion[0], ca.SX(motion[1]))
    np.testing.assert_allclose(ca.DM(constant).full(), fj.mass_matrix_rate(RIGID, *motion[:2]), rtol=1e-12, atol=1e-14)


# The memory of kernels ------------------------------------------------------------------------------------------


def test_robots_back_and_forth(motion):
    """The last kernel is remembered by the robot's identity: every change of robot must be seen."""
    heavy = RIGID.replace(links=[dataclasses.replace(x, mass=2 * x.mass) for x in RIGID.links], name="heavy")
    light, both = fj.inverse_dynamics(RIGID, *motion), fj.inverse_dynamics(heavy, *motion)
    assert not np.allclose(light, both)
    lwr = np.random.default_rng(9).normal(size=(3, 7))
    seven = fj.inverse_dynamics(LWR, *lwr)
    for robot, arrays, expected in 3 * [(RIGID, motion, light), (heavy, motion, both), (LWR, lwr, seven)]:
        for _ in range(2):
            assert np.array_equal(fj.inverse_dynamics(robot, *arrays), expected)
            assert np.array_equal(fj.inverse_dynamics(robot, *arrays, out=np.empty(robot.n)), expected)
    with pytest.raises(fj.InputError, match=r"q has shape \(3,\)"):
        fj.inverse_dynamics(LWR, *motion)


def test_a_wrench_is_not_forgotten_after_a_plain_call(motion):
    """A call with keywords must not be answered by the kernel of the plain call, nor the other way round."""
    wrench = {"link3": [np.arange(6.0)]}
    for _ in range(3):
        plain = fj.inverse_dynamics(RIGID, *motion)
        loaded = fj.inverse_dynamics(RIGID, *motion, wrenches=wrench)
        assert not np.allclose(plain, loaded)
    assert fj.torque_derivatives(RIGID, *motion).shape == (1, 3)
    assert fj.torque_derivatives(RIGID, *motion, *motion[:1], order=1).shape == (2, 3)
    assert fj.torque_derivatives(RIGID, *motion, *motion[:1]).shape == (1, 3)


def test_equal_robots_share_a_kernel():
    again = fj.random_robot(3, 1, prismatic=0.4, fixed=0.5, name="rigid")
    assert again is not RIGID
    assert fj.compile(fj.inverse_dynamics, again) is fj.compile(fj.inverse_dynamics, RIGID)
    assert fj.compile(fj.inverse_dynamics, RIGID.rigid()) is fj.compile(fj.inverse_dynamics, RIGID)
    assert fj.compile(fj.inverse_dynamics, RIGID.with_gravity([0, 0, 1])) is not fj.compile(fj.inverse_dynamics, RIGID)


@pytest.mark.usefixtures("frozen_heap")
def test_a_robot_that_died_is_not_mistaken_for_another():
    """Robots made and dropped one after the other reuse addresses; each must get its own answer."""
    q = np.array([0.7])
    for k in range(30):
        robot = pendulum(1.0 + k)
        assert fj.gravity_torque(robot, q) == pytest.approx((1.0 + k) * 9.81 * 0.5 * math.sin(0.7), rel=1e-14)
        del robot
        gc.collect()


def pendulum(mass):
    """Turns about the base's y axis; its mass sits half a metre below it."""
    joint = fj.Joint("hinge", rotation=np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]).T)
    z = joint.rotation.T @ [0.0, 0.0, 1.0]
    inertia = 0.01 * np.eye(3)
    return fj.Robot("pendulum", (fj.Link("rod", joint, mass=mass, com=-0.5 * z, inertia=inertia),))


@pytest.mark.usefixtures("frozen_heap")
def test_the_kernels_kept_are_bounded(monkeypatch):
    monkeypatch.setattr(api, "KERNELS_KEPT", 3)
    algorithm = fj.algorithm.Algorithm(fj.gravity_torque.__wrapped__, "tau")
    q = np.array([0.3])
    first = fj.compile(algorithm, pendulum(1.0))
    for mass in (2.0, 3.0):
        algorithm(pendulum(mass), q)
    assert fj.compile(algorithm, pendulum(1.0)) is first  # used again: now the youngest
    dropped = weakref.ref(fj.compile(algorithm, pendulum(2.0)))
    for mass in (4.0, 5.0, 6.0):
        algorithm(pendulum(mass), q)
    gc.collect()
    assert len(algorithm._kernels) == 3
    assert dropped() is None
    np.testing.assert_allclose(first(q), 9.81 * 0.5 * math.sin(0.3), rtol=1e-14)  # a kernel in hand stays valid


def test_threads_share_a_kernel():
    rng = np.random.default_rng(10)
    inputs = rng.normal(size=(4, 3, 200, 3))
    expected = [fj.inverse_dynamics(RIGID, *x) for x in inputs]
    failures = []

    def work(k):
        out = np.empty(3)
        for repeat in range(10):
            if not np.array_equal(fj.inverse_dynamics(RIGID, *inputs[k]), expected[k]):
                failures.append((k, repeat))
            for row in range(200):
                fj.inverse_dynamics(RIGID, *inputs[k][:, row], out=out)
                if not np.array_equal(out, expected[k][row]):
                    failures.append((k, repeat, row))

    run_threads(work, 4)
    assert failures == []


def test_threads_share_the_first_compilation():
    """Several threads ask for kernels not yet there, of several robots."""
    robots = [pendulum(10.0 + k) for k in range(3)]
    found = {}

    def work(k):
        found[k] = [float(fj.gravity_energy(robots[(k + j) % 3], np.array([0.4]))) for j in range(3)]

    run_threads(work, 4)
    for k in range(4):
        expected = [-(10.0 + (k + j) % 3) * 9.81 * 0.5 * math.cos(0.4) for j in range(3)]
        np.testing.assert_allclose(found[k], expected, rtol=1e-14)


def run_threads(work, count):
    threads = [threading.Thread(target=work, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.usefixtures("frozen_heap")
@pytest.mark.parametrize("kind", ["allocating", "out", "named", "error", "batch"])
def test_calls_do_not_leak(motion, kind):
    out = np.empty(3)
    bad = np.full(3, np.nan)
    rows = np.zeros((4, 3))

    def failing():
        try:
            fj.inverse_dynamics(RIGID, motion[0], motion[1], bad)
        except fj.NonFiniteError:
            return
        raise AssertionError("a NaN passed")

    call, count = {
        "allocating": (lambda: fj.inverse_dynamics(RIGID, *motion), 100_000),
        "out": (lambda: fj.inverse_dynamics(RIGID, *motion, out=out), 100_000),
        "named": (lambda: fj.forward_kinematics(RIGID, motion[0]), 50_000),
        "error": (failing, 10_000),
        "batch": (lambda: fj.inverse_dynamics(RIGID, *motion[:2], rows), 10_000),
    }[kind]
    for _ in range(1000):
        call()
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(count):
        call()
    gc.collect()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 2000  # kB; a leak of one array or one reference tuple a call would be thousands


# Descriptions -------------------------------------------------------------------------------------------------


def test_kernel_describes_itself():
    kernel = fj.compile(fj.inverse_dynamics, RIGID)
    assert [x.name for x in kernel.inputs] == ["q", "v", "a"]
    assert [x.shape for x in kernel.outputs] == [(3,)]
    assert kernel.inputs[0].labels == tuple(joint.name for joint in RIGID.joints)
    assert "rad" in kernel.inputs[1].unit
    assert kernel.operations > 0 and kernel.compile_time > 0 and kernel.code_size > 0
    assert "inverse_dynamics of rigid(q[3], v[3], a[3])" in repr(kernel)
    assert "define i64 @kernel" in kernel.ir
    assert "ret" in kernel.assembly


def test_algorithms_look_like_functions():
    assert fj.inverse_dynamics.__name__ == "inverse_dynamics"
    assert "Motor torque" in fj.inverse_dynamics.__doc__
    assert repr(fj.mass_matrix).startswith("<algorithm mass_matrix(robot")


def test_show_config(capsys):
    text = fj.show_config()
    assert capsys.readouterr().out.strip() == text
    for word in ("flexjoint", "numpy", "casadi", "llvmlite", "LLVM", "calls:"):
        assert word in text


def test_outputs_must_not_overlap():
    R = np.zeros((3, 3))
    with pytest.raises(fj.InputError, match="overlap"):
        fj.forward_kinematics(RIGID, np.zeros(3), out=(R, R[0]))
    with pytest.raises(fj.InputError, match="out must be 2 arrays, not int"):
        fj.forward_kinematics(RIGID, np.zeros(3), out=3)


@pytest.mark.parametrize(
    "keywords", [{"arrays": 1}, {"arrays": 2.5}, {"wrenches": ["link1"]}, {"wrenches": {"link1": 0}}, {"ordr": 2}]
)
def test_compile_refuses_what_it_cannot_mean(keywords):
    with pytest.raises(fj.InputError, match="inverse_dynamics"):
        fj.compile(fj.inverse_dynamics, RIGID, **keywords)


def test_symbolic_arguments_of_wrong_size():
    q = ca.SX.sym("q", 4)
    with pytest.raises(fj.InputError, match=r"q has shape \(4, 1\)"):
        fj.mass_matrix(RIGID, q)


@pytest.mark.parametrize(
    ("v", "wrench", "message"),
    [
        (np.zeros(2), np.zeros(6), r"v has shape \(2, 1\), as SX it must be \(3, 1\)"),
        (np.zeros((4, 3)), np.zeros(6), r"v has shape \(4, 3\)"),
        (["a", "b", "c"], np.zeros(6), "v is list; give SX, or numbers beside it"),
        (ca.MX.sym("v", 3), np.zeros(6), "v is MX; give SX, or numbers beside it"),
        (np.zeros(3), ca.SX.sym("w", 5), r"wrenches.link1\[0\] has shape \(5, 1\)"),
    ],
)
def test_what_stands_beside_symbols(v, wrench, message):
    q = ca.SX.sym("q", 3)
    with pytest.raises(fj.InputError, match=message):
        fj.inverse_dynamics(RIGID, q, v, q, wrenches={"link1": [wrench]})


def test_a_robot_without_moving_joints():
    robot = fj.Robot("post", (fj.Link("post", fj.Joint("bolt", "fixed"), mass=1.0, inertia=np.eye(3)),))
    none = np.empty(0)
    assert fj.mass_matrix(robot, none).shape == (0, 0)
    for result in (
        fj.inverse_dynamics(robot, none, none, none),
        fj.forward_dynamics(robot, none, none, none),
        fj.generalized_momentum(robot, none, none),
    ):
        assert result.shape == (0,)
    assert fj.kinetic_energy(robot, none, none) == 0.0


def test_algorithms_and_kernels_survive_pickling():
    assert pickle.loads(pickle.dumps(fj.mass_matrix)) is fj.mass_matrix
    kernel = fj.compile(fj.mass_matrix, RIGID)
    q = np.array([0.1, 0.2, 0.3])
    assert np.array_equal(pickle.loads(pickle.dumps(kernel))(q), kernel(q))
