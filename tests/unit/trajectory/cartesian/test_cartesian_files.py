"""Cartesian motions from files: each kind is what its class gives, and what is wrong is named with its place."""

from __future__ import annotations

import numpy as np
import pytest

import flexjoint as fj

PANDA = fj.load("panda")
START = np.deg2rad([0.0, -30.0, 0.0, -120.0, 0.0, 90.0, 45.0])
FIRST = fj.forward_kinematics(PANDA, START)
FIRST_POSE = fj.kinematics.Pose(FIRST.position, FIRST.rotation)
AT = "start_deg = [0, -30, 0, -120, 0, 90, 45]"
T = fj.trajectory
GOAL = fj.kinematics.Pose.from_rpy([0.4, 0.2, 0.5], [180, 0, 0], degrees=True)
ABOUT = "centre = [0.4, 0, 0.5], axis = [0, 1, 0]"
MIDDLE, LAST = [0.4, 0.1, 0.5], [0.4, 0.2, 0.5]
TO = "to = {position = [0.4, 0.2, 0.5], rpy_deg = [180, 0, 0]}"


def load(text):
    return T.load_trajectory(f"{{{text}}}", PANDA)


def made(path, start=START, **options):
    return T.CartesianMotion(PANDA, path, start, **options)


def through():
    return T.Arc.through(FIRST, [0.5, 0.1, 0.5], GOAL)


def about(angle):
    return T.Arc(FIRST, [0.4, 0.0, 0.5], [0, 1, 0], angle, turning=True)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f'kind = "line", {TO}, {AT}, duration = 2', lambda: made(T.Line(FIRST, GOAL), duration=2.0)),
        (
            f'kind = "line", by = [0, 0.2, 0], {AT}, speed = 0.2, acceleration = 1, orientation = "z"',
            lambda: made(
                T.Line(FIRST, FIRST.position + np.array([0, 0.2, 0])), speed=0.2, acceleration=1.0, orientation="z"
            ),
        ),
        (
            f'kind = "line", {TO}, {AT}, law = {{kind = "trapezoid", goal = 1, duration = 2}}, hold = ["panda_joint3"]',
            lambda: made(T.Line(FIRST, GOAL), law=T.SmoothTrapezoid([0.0], [1.0], 2.0), hold=["panda_joint3"]),
        ),
        (
            f'kind = "line", by = [0, 0, -0.1], frame = {{position = [0, 0, 0.1]}}, {AT}, duration = 2, smoothness = 5',
            lambda: made(
                T.Line(
                    FIRST_POSE @ fj.kinematics.Pose([0, 0, 0.1], np.eye(3)),
                    (FIRST_POSE @ fj.kinematics.Pose([0, 0, 0.1])).position - [0, 0, 0.1],
                ),
                frame=fj.kinematics.Pose([0, 0, 0.1]),
                duration=2.0,
                smoothness=5,
            ),
        ),
        (f'kind = "arc", via = [0.5, 0.1, 0.5], {TO}, {AT}, duration = 2', lambda: made(through(), duration=2.0)),
        (
            f'kind = "arc", {ABOUT}, angle_deg = 90, turning = true, {AT}, duration = 2',
            lambda: made(about(np.pi / 2), duration=2.0),
        ),
        (
            f'kind = "pose_spline", poses = [{{position = {MIDDLE}}}, {{position = {LAST}}}], times = [1, 2], {AT}',
            lambda: made(T.PoseSpline([FIRST_POSE, *map(fj.kinematics.Pose, (MIDDLE, LAST))], [0, 1, 2])),
        ),
        (
            f'kind = "cartesian", segments = [{{{TO}, blend = 0.02}}, {{by = [0, 0, -0.2]}}], {AT}, duration = 2',
            lambda: made(
                T.Line(FIRST, GOAL).then(T.Line(GOAL, GOAL.position - [0, 0, 0.2]), deviation=0.02), duration=2.0
            ),
        ),
    ],
    ids=["line", "by", "law", "frame", "arc", "about", "spline", "blend"],
)
def test_a_table_is_what_its_class_gives(text, wanted):
    found, expected = load(text), wanted()
    assert isinstance(found, T.CartesianMotion)
    assert (found.duration, found.smoothness) == (expected.duration, expected.smoothness)
    t = found.duration * np.linspace(0.0, 1.0, 7)
    assert np.max(np.abs(found(t)[0] - expected(t)[0])) < 1e-9


def test_segments_stop_at_sharp_corners_and_wait():
    segments = "[{by = [0, 0.2, 0]}, {dwell = 0.5}, {by = [0, 0, -0.2]}]"
    found = load(f'kind = "cartesian", segments = {segments}, {AT}, duration = 3')
    assert found.duration == pytest.approx(3.5)
    q = found(np.array([1.5, 1.75, 2.0]))
    assert np.max(np.abs(q[0] - q[0, 0])) < 1e-12 and np.max(np.abs(q[1:4])) < 1e-9
    corner = fj.forward_kinematics(PANDA, q[0, 0]).position
    assert np.allclose(corner, FIRST.position + np.array([0, 0.2, 0]), atol=1e-12)


def test_a_first_pose_in_place_of_joint_positions():
    found = load(
        'kind = "line", from = {position = [0.4, 0, 0.5], rpy_deg = [180, 0, 0]}, by = [0, 0.2, 0], duration = 2'
    )
    assert np.allclose(fj.forward_kinematics(PANDA, found(0.0, 0)[0]).position, [0.4, 0.0, 0.5], atol=1e-12)


def test_a_file_on_disk(tmp_path):
    path = tmp_path / "line.toml"
    path.write_text(
        'kind = "line"\nstart_deg = [0, -30, 0, -120, 0, 90, 45]\nduration = 2\n[to]\nposition = [0.4, 0.2, 0.5]\n'
    )
    assert T.load_trajectory(path, PANDA).duration == 2.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('kind = "line", by = [0, 0.2, 0], duration = 2', "trajectory: give start .*or from, its first pose"),
        (f'kind = "line", {AT}, duration = 2', "the key 'to' is missing: give a pose"),
        (f'kind = "line", {TO}, by = [0, 0, 1], {AT}, duration = 2', "to and by are both given"),
        (f'kind = "line", {TO}, {AT}', "give `duration`, `speed` with `acceleration`, or `law`"),
        (f'kind = "line", {TO}, {AT}, duration = 2, speed = 1', "duration and speed are both given"),
        (f'kind = "line", too = {{}}, {AT}, duration = 2', "unknown key 'too'; did you mean 'to'"),
        (
            f'kind = "line", to = {{position = [0.4, 0]}}, {AT}, duration = 2',
            "trajectory, to: position must be three numbers",
        ),
        (f'kind = "line", by = [0, nan, 0], {AT}, duration = 2', "every number must be finite"),
        (f'kind = "line", {TO}, {AT}, duration = 2, orientation = "up"', 'orientation must be one of "full"'),
        (f'kind = "arc", {TO}, {AT}, duration = 2', "an arc with `to` needs via"),
        (f'kind = "arc", centre = [0, 0, 0], axis = [0, 0, 1], {AT}, duration = 2', "the key 'angle' is missing"),
        (
            f'kind = "arc", via = [0.5, 0, 0], centre = [0, 0, 0], {TO}, {AT}, duration = 2',
            "via and centre are both given",
        ),
        (f'kind = "pose_spline", poses = [], {AT}, duration = 2', "poses must be one"),
        (
            f'kind = "pose_spline", poses = [{{position = [0.4, 0, 0.5]}}], times = [0], {AT}',
            r"times\[1\] = 0.0 does not",
        ),
        (
            f'kind = "cartesian", segments = [{{{TO}, blend = 0.1}}], {AT}, duration = 2',
            "segment 1: blend rounds the corner",
        ),
        (f'kind = "cartesian", segments = [{{to = 3}}], {AT}, duration = 2', "segment 1: to must be a table"),
        (
            f'kind = "line", {TO}, {AT}, law = {{kind = "rest_to_rest", goal = 2, duration = 2}}',
            "the law reaches from 0 to 2",
        ),
    ],
)
def test_what_is_wrong_is_named(text, message):
    with pytest.raises(fj.InputError, match=message):
        load(text)


def test_no_motion_of_a_base_or_a_stiffness():
    with pytest.raises(fj.InputError, match='kind = "line" is a motion of the joints of a robot'):
        T.load_base('{kind = "line", by = [0, 0, 1], start = 0, duration = 2}', PANDA)
