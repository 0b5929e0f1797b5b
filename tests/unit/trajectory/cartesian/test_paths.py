"""Cartesian paths: derivatives against multiprecision differences, corners, and what is refused."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import flexjoint as fj
from support.multiprecision_paths import differences, exponential, geodesic, numbers, pose

Pose, Line, Arc, PoseSpline = fj.kinematics.Pose, fj.trajectory.Line, fj.trajectory.Arc, fj.trajectory.PoseSpline
A = Pose.from_rpy([0.4, 0.0, 0.5], [3.0, 0.2, 0.0])
B = Pose.from_rpy([0.5, 0.2, 0.4], [2.0, 0.4, 1.0])
C = Pose.from_rpy([0.3, 0.4, 0.4], [1.0, 0.9, 1.0])
VIA = np.array([0.45, 0.35, 0.5])
AXIS = np.array([0.2, 1.0, -0.3])


def on_line(s):
    share = s / mp.norm(numbers(B.position - A.position))
    return pose(geodesic(A.rotation, B.rotation, share), numbers(A.position) + share * numbers(B.position - A.position))


def on_turning_arc(s):
    axis, arm = numbers(AXIS) / mp.norm(numbers(AXIS)), numbers(A.position) - numbers(VIA)
    radius = mp.norm(arm - axis * (arm.T * axis)[0])
    turn = exponential(AXIS, -s / radius)
    return pose(turn * numbers(A.rotation), numbers(VIA) + turn * arm)


@pytest.mark.parametrize(
    ("path", "formula"),
    [(Line(A, B), on_line), (Arc(A, VIA, AXIS, -2.0, turning=True), on_turning_arc)],
    ids=["line", "arc"],
)
def test_derivatives_against_multiprecision_differences(path, formula):
    with mp.workdps(60):
        for share in (0.0, 0.37, 1.0):
            for found, wanted in zip(path(path.length * share, 4), differences(formula, path.length * share)):
                assert np.max(np.abs(found - wanted)) < 2e-14 * max(1.0, np.max(np.abs(wanted)))


@pytest.mark.parametrize("via", [VIA, np.array([0.9, 0.5, 0.3])], ids=["less", "more than half a circle"])
def test_an_arc_passes_through_its_points_at_constant_distance_and_speed(via):
    arc = Arc.through(B, via, C)
    s = np.linspace(0.0, arc.length, 20001)
    p = arc.pose(s).position
    assert np.min(np.linalg.norm(p - via, axis=1)) < 1e-4 * arc.length
    a, b, c = (np.linalg.norm(x - y) for x, y in ((B.position, via), (via, C.position), (B.position, C.position)))
    area = np.linalg.norm(np.cross(via - B.position, C.position - B.position)) / 2
    assert np.allclose(np.linalg.norm(arc(s, 2)[2][..., 3], axis=1), 4 * area / (a * b * c), rtol=1e-12)  # curvature
    assert np.allclose(np.linalg.norm(arc(s, 1)[1][..., 3], axis=1), 1.0, rtol=1e-13)
    for found, wanted in ((arc.first_pose, B), (arc.last_pose, C)):
        assert np.allclose(found.matrix, wanted.matrix, atol=2e-15)


def test_a_pose_spline_passes_through_its_poses_at_rest():
    spline = PoseSpline([A, B, C, A], [0.0, 1.0, 1.8, 3.0], smoothness=4)
    for t, passed in zip([0.0, 1.0, 1.8, 3.0], [A, B, C, A]):
        assert np.allclose(spline.pose(t).matrix, passed.matrix, atol=1e-14)
    assert np.max(np.abs(spline(np.array([0.0, 3.0]), 4)[1:])) < 1e-12
    step = 1e-7
    jump = np.abs(spline(1.0 + step, 4)[:5] - spline(1.0 - step, 4)[:5]).max(axis=(1, 2))
    size = np.abs(spline(np.linspace(0, 3, 301), 5)).max(axis=(1, 2, 3))
    assert np.all(jump <= 2.1 * step * size[1:])


@pytest.mark.parametrize(
    "path",
    [PoseSpline([A, B, C, A], [0.0, 1.0, 1.8, 3.0]), Line(A, B).then(Arc.through(B, VIA, C), deviation=0.03)],
    ids=["spline", "corner"],
)
def test_each_derivative_is_that_of_the_one_before_where_quaternions_are_no_unit_ones(path):
    """By the integral between breaks, Gauss-Legendre."""
    breaks = [*path.spline.times] if path.timed else [x.at + k * x.reach for x in path.corners for k in (-1, 0, 1)]
    edges = np.union1d(np.linspace(0.0, path.length, 121), breaks)
    x, w = np.polynomial.legendre.leggauss(12)
    half = np.diff(edges)[:, None] / 2
    stack = path.derivatives(edges, 0)[0]
    assert np.max(np.abs(np.linalg.norm(stack[:, 3:], axis=1) - 1.0)) > 1e-6
    inside, ends = path(edges[:-1, None] + half * (1 + x), 4), path(edges, 3)
    rise = np.einsum("kij...,ij->ki...", inside[1:], half * w)
    for k in range(4):
        assert np.max(np.abs(np.diff(ends[k], axis=0) - rise[k])) < 1e-11 * np.max(np.abs(inside[k + 1]))


def test_a_pose_spline_does_not_depend_on_the_frames():
    """... neither of the base nor of the tool: T(s) made of G poses H is G T(s) H in its orientation."""
    G, H = Pose.from_rpy([0.1, 0.7, -0.3], [0.4, 1.2, 2.0]), Pose.from_rpy([0, 0, 0], [1.0, -0.6, 0.3])
    t = np.linspace(0.0, 2.0, 41)
    times = [0.0, 0.9, 2.0]
    plain, moved = PoseSpline([A, B, C], times).pose(t), PoseSpline([G @ x @ H for x in (A, B, C)], times).pose(t)
    assert np.max(np.abs((G @ plain @ H).matrix - moved.matrix)) < 1e-14


# Corners ------------------------------------------------------------------------------------------------------------


def test_a_corner_between_lines_deviates_by_the_closed_form():
    """c r |d₂ − d₁| at the corner, c = ∫ of the smooth step over its first half; by quadrature of its definition."""
    a, b, c = [0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.3, 0.2, 0.1]
    path = fj.trajectory.BlendedPath((Line(a, b), Line(b, c)), 0.01, smoothness=4)

    def weight(x):
        return mp.quad(lambda u: (1 - u * u) ** 3, [-1, x]) / mp.quad(lambda u: (1 - u * u) ** 3, [-1, 1])

    half = mp.quad(weight, [-1, 0])
    d = np.array([0.0, 0.2, 0.1]) / np.hypot(0.2, 0.1) - [1.0, 0.0, 0.0]
    corner = path.corners[0]
    wanted = float(half) * corner.reach * np.linalg.norm(d)
    assert np.linalg.norm(path.pose(corner.at).position - b) == pytest.approx(wanted, rel=1e-12)
    assert wanted <= path.deviations[0] <= 0.01 < 1.003 * wanted


@pytest.mark.parametrize("deviation", [0.002, 0.02, 0.5])
def test_corners_are_smooth_and_stay_within_their_deviation(deviation):
    pieces = Line(A, B), Arc.through(B, VIA, C), Line(C, A)
    path = fj.trajectory.BlendedPath(pieces, deviation)
    assert path.length == pytest.approx(sum(x.length for x in pieces))
    step = 1e-7
    for corner, before, after in zip(path.corners, pieces, pieces[1:]):
        assert corner.reach <= 0.5 * min(before.length, after.length)
        for s in (corner.at - corner.reach, corner.at + corner.reach):
            jump = np.abs(path(s + step, 4) - path(s - step, 4)).max(axis=(1, 2))
            near = np.abs(path(s + np.linspace(-step, step, 5), 5)).max(axis=(1, 2, 3))
            assert np.all(jump <= 2.1 * step * near[1:] + 1e-12)
    s = np.linspace(0.0, path.length, 40001)
    ends = np.cumsum([x.length for x in pieces])
    sharp = np.concatenate(
        [
            x.pose(np.clip(s[(s >= e - x.length) & (s < e)] - (e - x.length), 0, x.length)).position
            for x, e in zip(pieces, ends)
        ]
    )
    apart = np.linalg.norm(path.pose(s).position[: len(sharp)] - sharp, axis=1)
    assert np.max(apart) <= min(deviation, np.max(path.deviations))


# What is refused ----------------------------------------------------------------------------------------------------

HALF_TURN = Pose(B.position, A.rotation @ np.diag([1.0, -1.0, -1.0]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Line(A, A), r"Line: it ends where it starts, at \[0.4, 0.0, 0.5\]"),
        (lambda: Line(A, HALF_TURN), "Line: .* differ by 180 degrees.*give a pose between"),
        (lambda: Line(A, [0.1, np.nan, 0.2]), "every number must be finite"),
        (lambda: Line(A, "there"), "Line: goal is 'there'; give a Pose"),
        (lambda: Line(A, Pose([A.position, B.position])), "Line: goal holds 2 poses; give one"),
        (
            lambda: Arc.through(A, (A.position + B.position) / 2, B),
            "Arc: .* lie on a straight line: move `via`, or use a",
        ),
        (lambda: Arc.through(A, A.position, B), "Arc: the start and `via` are the same point"),
        (lambda: Arc.through(A, VIA, A), "the start and the goal are the same point.*full circle give centre"),
        (lambda: Arc.through(A, [0.1, np.inf, 0], B), "Arc: via is .*every number must be finite"),
        (lambda: Arc(A, A.position, AXIS, 1.0), "lies on the axis, so the radius is 0"),
        (lambda: Arc(A, VIA, AXIS, 0.0), "Arc: it has no length: angle is 0 rad"),
        (lambda: Arc(A, VIA, [0, 0, 0], 1.0), "Arc: axis is zero"),
        (lambda: Arc(A, VIA, AXIS, 1.0, B.rotation, turning=True), "`rotation` or `turning=True`, not both"),
        (
            lambda: PoseSpline([A, B, C], [0.0, 1.0, 1.0]),
            r"PoseSpline: times\[2\] = 1.0 does not come after times\[1\]",
        ),
        (lambda: PoseSpline([A, A], 2.0), "PoseSpline: poses 0 and 1 are equal.*give `times`"),
        (lambda: PoseSpline([A, HALF_TURN], 2.0), "PoseSpline: poses 1 and 2 differ by 180 degrees"),
        (lambda: PoseSpline([A], 2.0), "PoseSpline: poses must be two or more"),
        (lambda: PoseSpline([A, B], [0.0, 1.0], smoothness=99), "PoseSpline: smoothness is 99"),
        (lambda: Line(A, B).then(Line(A, C), deviation=0.1), "path 1 and path 2 do not meet: the positions are 0.2449"),
        (lambda: Line(A, B).then(Line(B, C), deviation=-1), "BlendedPath: deviation is -1.0"),
        (lambda: Line(A, B).then(PoseSpline([B, C], 1.0), deviation=0.1), "PoseSpline cannot be rounded"),
        (lambda: Line(A, B)(-0.1), "Line: s must lie between 0 and 0.244949"),
    ],
)
def test_contradictions_are_named(make, message):
    with pytest.raises(fj.InputError, match=message):
        make()
