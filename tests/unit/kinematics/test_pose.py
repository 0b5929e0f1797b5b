"""Poses against SciPy's rotations, tables of files, and what is refused."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import flexjoint as fj
from flexjoint.formats.toml import Table
from flexjoint.kinematics import Pose, parse_pose, read_pose
from flexjoint.spatial import rotation_vector

rng = np.random.default_rng(3)
P = rng.normal(size=(200, 3))


def test_quaternions_are_in_the_order_w_x_y_z():
    q = rng.normal(size=(200, 4)) * np.geomspace(1e-8, 1e8, 200)[:, None]
    pose = Pose.from_quaternion(P, q)
    np.testing.assert_allclose(pose.rotation, Rotation.from_quat(q, scalar_first=True).as_matrix(), atol=2e-15)
    expected = Rotation.from_matrix(pose.rotation).as_quat(canonical=True, scalar_first=True)
    np.testing.assert_allclose(pose.quaternion, expected, atol=1e-15)


def test_angles_are_roll_pitch_yaw():
    rpy = rng.uniform(-3, 3, (200, 3))
    pose = Pose.from_rpy(P, rpy)
    np.testing.assert_allclose(pose.rotation, Rotation.from_euler("xyz", rpy).as_matrix(), atol=2e-15)
    np.testing.assert_allclose(Pose.from_rpy(P, pose.rpy).rotation, pose.rotation, atol=2e-15)
    degrees = Pose.from_rpy(P, np.rad2deg(rpy), degrees=True)
    np.testing.assert_allclose(degrees.rotation, pose.rotation, atol=3e-15)


def test_axis_and_angle_and_rotation_vectors():
    axis, angle = rng.normal(size=(200, 3)), rng.uniform(-np.pi, np.pi, 200)
    unit = axis / np.linalg.norm(axis, axis=1)[:, None]
    expected = Rotation.from_rotvec(unit * angle[:, None])
    pose = Pose.from_axis_angle(P, axis, angle)
    np.testing.assert_allclose(pose.rotation, expected.as_matrix(), atol=2e-15)
    np.testing.assert_allclose(rotation_vector(pose.rotation), expected.as_rotvec(), atol=1e-13)
    tiny = Rotation.from_rotvec(1e-9 * unit)
    np.testing.assert_allclose(rotation_vector(tiny.as_matrix()), 1e-9 * unit, atol=1e-24)
    assert not rotation_vector(np.eye(3)).any()


def test_quarter_turns_are_exact():
    turned = Pose.from_rpy([0, 0, 0], [180, 90, -90], degrees=True).rotation
    assert turned.tolist() == [[0, -1, 0], [0, 0, 1], [-1, 0, 0]]
    assert Pose.from_axis_angle([0, 0, 0], [0, 0, 2], 90, degrees=True).rotation[:2, :2].tolist() == [[0, -1], [1, 0]]


def test_frames_in_frames():
    a = Pose.from_rpy(P, rng.normal(size=(200, 3)))
    b = Pose.from_rpy([0.1, 0.2, 0.3], [0.4, 0.5, 0.6])
    np.testing.assert_allclose((a @ b).matrix, a.matrix @ b.matrix, atol=2e-15)
    np.testing.assert_allclose(a.inverse().matrix, np.linalg.inv(a.matrix), atol=2e-15)
    np.testing.assert_array_equal(Pose.from_matrix(a.matrix)[3:5].matrix, a.matrix[3:5])
    assert (a @ Pose([1, 0, 0])).rotation is None and len(a[:7]) == 7 and a.shape == (200,)


def test_a_rounded_rotation_is_made_orthonormal():
    R = Rotation.random(50, rng=rng).as_matrix()
    pose = Pose(P[:50], R.round(7))
    error = np.einsum("kji,kjl->kil", pose.rotation, pose.rotation) - np.eye(3)
    assert np.max(np.abs(error)) < 1e-15 and np.max(np.abs(pose.rotation - R)) < 1e-6
    assert not pose.rotation.flags.writeable


@pytest.mark.parametrize(
    ("text", "rpy_deg"),
    [
        ("{position = [0.4, 0, 0.5], rpy_deg = [180, 0, 0]}", [180, 0, 0]),
        ("{position = [0.4, 0, 0.5], rpy = [0.1, 0.2, 0.3]}", np.rad2deg([0.1, 0.2, 0.3])),
        ("{position = [0.4, 0, 0.5], quaternion = [0, 2, 0, 0]}", [180, 0, 0]),
        ("{position = [0.4, 0, 0.5], axis = [0, 0, 3], angle_deg = 30}", [0, 0, 30]),
        ("{position = [0.4, 0, 0.5], axis = [1, 0, 0], angle = 0.5}", [np.rad2deg(0.5), 0, 0]),
        ("{position = [0.4, 0, 0.5], rotation = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]}", [0, 0, 90]),
    ],
)
def test_tables(text, rpy_deg):
    pose = parse_pose(text)
    assert pose.position.tolist() == [0.4, 0.0, 0.5]
    np.testing.assert_allclose(np.rad2deg(pose.rpy), rpy_deg, atol=1e-12)


def test_a_position_alone_leaves_the_orientation_open():
    pose = read_pose(Table({"position": [1, 2, 3], "link": "hand"}, "place"), others=("link",))
    assert pose.rotation is None and repr(pose) == "Pose(position=[1, 2, 3])"
    with pytest.raises(fj.InputError, match="this pose has no orientation"):
        _ = pose.quaternion


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{position = [1, 2]}", "pose: position must be three numbers"),
        ("{rpy = [0, 0, 0]}", "pose: the key 'position' is missing"),
        ("{position = [1, 2, nan]}", "pose: position is .* every number must be finite"),
        ("{position = [1, 2, 3], quaternion = [0, 0, 0, 0]}", "pose: a quaternion is zero"),
        ("{position = [1, 2, 3], quaternion = [1, 0, 0]}", "pose: quaternion must be four numbers"),
        ("{position = [1, 2, 3], rpy = [0, 0, 0], rpy_deg = [0, 0, 0]}", "rpy and rpy_deg are both given"),
        ("{position = [1, 2, 3], rpy = [0, 0, 0], quaternion = [1, 0, 0, 0]}", "quaternion and rpy are both given"),
        ("{position = [1, 2, 3], rpy = [0, 0, 1e300]}", "pose: rpy is 1e.300 rad; the largest angle"),
        ("{position = [1, 2, 3], angle = 1}", "pose: angle needs axis beside it"),
        ("{position = [1, 2, 3], axis = [0, 0, 1]}", "pose: the key 'angle' is missing"),
        ("{position = [1, 2, 3], axis = [0, 0, 0], angle = 1}", "pose: an axis is zero"),
        ("{positon = [1, 2, 3]}", "unknown key 'positon'; did you mean 'position'"),
        ("{position = [1, 2, 3], rotation = [[1, 0, 0], [0, 1, 0], [0, 0, -1]]}", "pose: rotation mirrors space"),
        ("{position = [1, 2, 3], rotation = [[1, 0, 0], [0, 1, 0.1], [0, 0, 1]]}", "pose: rotation is no rotation"),
        ("[1, 2, 3]", "pose must be a text such as"),
    ],
)
def test_wrong_tables_are_named(text, message):
    with pytest.raises(fj.InputError, match=message):
        parse_pose(text)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Pose([1, 2]), r"position has shape \(2,\); it must be \(..., 3\)"),
        (lambda: Pose([1, 2, np.inf]), "every number must be finite"),
        (lambda: Pose(np.zeros((4, 3)), np.tile(np.eye(3), (5, 1, 1))), "one rotation for all positions"),
        (lambda: Pose([0, 0, 0], np.eye(4)), r"rotation has shape \(4, 4\)"),
        (lambda: Pose.from_matrix(np.eye(4).T + np.eye(4, k=-3)), "is it transposed"),
        (lambda: Pose.from_matrix(np.eye(3)), r"matrix has shape \(3, 3\)"),
        (lambda: Pose([0, 0, 0])[0], "no parts to choose from"),
    ],
)
def test_wrong_arrays_are_named(make, message):
    with pytest.raises(fj.InputError, match=message):
        make()
