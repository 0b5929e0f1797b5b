"""Deflections of antagonistic springs: solved on the right branch or refused, next to singularities too.

The laws are written again here, in NumPy.  A solution is judged by the equations it must solve; whether there is one,
and which, by walking along the curve of constant torque in small steps from strong co-contraction down.
"""

from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import flexjoint as fj
from flexjoint.compiler import pipeline
from flexjoint.compiler.ir.program import Array
from flexjoint.compiler.ir.scan import tracing
from flexjoint.compiler.pipeline import trace
from flexjoint.dynamics.drivetrain.equilibrium import closed_form, operating_points
from flexjoint.dynamics.drivetrain.solution_curve import SINGULAR
from support.marks import some_long

COUNT = 100_000
MOTOR = fj.Motor(1.0)
POINTS = ((0.0, 0.1, 0.3, 0.6), (300.0, 400.0, 900.0, 2000.0))


class Law(NamedTuple):
    """A spring, and torque, stiffness and its slope by hand; defined between two deflections.

    `subtracted` is a torque that the law takes from itself, K/b of K/b e^(bφ) − K/b: its rounding is in every result.
    """

    spring: fj.springs.Spring
    torque: object
    stiffness: object
    slope: object
    lower: float = -1.0
    upper: float = 1.0
    subtracted: float = 0.0


def cubic(K, c):
    spring = fj.springs.CubicSpring(K, c)
    return Law(spring, lambda x: K * x + c * x**3, lambda x: K + 3 * c * x**2, lambda x: 6 * c * x)


def exponential(K, b):
    k = lambda x: K * np.exp(b * x)  # noqa: E731
    torque = lambda x: K / b * np.expm1(b * x)  # noqa: E731
    return Law(fj.springs.ExponentialSpring(K, b), torque, k, lambda x: b * k(x), subtracted=K / abs(b))


def quadratic(K, s):
    edge = -K / s
    ends = (max(-1.0, edge), 1.0) if s > 0 else (-1.0, min(1.0, edge))
    spring = fj.springs.QuadraticSpring(K, s)
    return Law(spring, lambda x: K * x + s * x**2 / 2, lambda x: K + s * x, lambda x: s + 0 * x, *ends)


def hardening(K, limit):
    c = 2 * limit / np.pi
    k = lambda x: K / np.cos(x / c) ** 2  # noqa: E731
    slope = lambda x: 2 * k(x) * np.tan(x / c) / c  # noqa: E731
    return Law(fj.springs.HardeningSpring(K, limit), lambda x: K * c * np.tan(x / c), k, slope, -limit, limit)


def table():
    """Stiffness by interpolation; torque, its integral, by the trapezoidal rule between the points."""
    x, k = map(np.array, POINTS)
    at = np.concatenate([[0.0], np.cumsum(np.diff(x) * (k[1:] + k[:-1]) / 2)])
    stiffness = lambda phi: np.interp(abs(phi), x, k)  # noqa: E731

    def torque(phi):
        j = np.searchsorted(x, abs(phi), side="right") - 1
        return np.sign(phi) * (at[j] + (abs(phi) - x[j]) * (k[j] + stiffness(phi)) / 2)

    def slope(phi):
        slopes = np.append(np.diff(k) / np.diff(x), 0.0)
        return np.sign(phi) * slopes[np.searchsorted(x, abs(phi), side="right") - 1]

    return Law(fj.springs.PiecewiseSpring(*POINTS), torque, stiffness, slope)


def spline(K, c):
    """Points of a cubic and a wave, by SciPy's spline."""
    phi = np.linspace(-0.9, 0.9, 13)
    tau = K * phi + c * phi**3 + K / 30 * np.sin(5 * phi)
    curve = CubicSpline(phi, tau)
    return Law(fj.springs.TabulatedSpring(phi, tau), curve, curve.derivative(1), curve.derivative(2), -0.9, 0.9, K / 5)


@dataclass(frozen=True)
class Sinh(fj.springs.Spring):
    """A law of one's own without an inverse."""

    K: float

    def torque(self, phi):
        return self.K / 4 * (ca.exp(2 * phi) - ca.exp(-2 * phi))


def searched_for(K):
    torque, k = lambda x: K / 2 * np.sinh(2 * x), lambda x: K * np.cosh(2 * x)
    return Law(Sinh(K), torque, k, lambda x: 2 * K * np.sinh(2 * x), subtracted=K / 4)


def linear(K):
    return Law(fj.springs.LinearSpring(K), lambda x: K * x, lambda x: K + 0 * x, lambda x: 0 * x)


PAIRS = {
    "equal cubic": (cubic(400.0, 2000.0), cubic(400.0, 2000.0)),
    "cubic": (cubic(400.0, 2000.0), cubic(300.0, 5000.0)),
    "steep cubic": (cubic(10.0, 1e5), cubic(20.0, 1e5)),
    "exponential": (exponential(200.0, 10.0), exponential(225.0, -9.0)),
    "quadratic": (quadratic(300.0, 1000.0), quadratic(350.0, -1500.0)),
    "hardening": (hardening(400.0, 0.5), hardening(300.0, 0.4)),
    "table": (table(), table()),
    "tabulated": (spline(300.0, 900.0), spline(200.0, 1500.0)),
    "without inverses": (searched_for(300.0), searched_for(400.0)),
    "exponential, one way": (exponential(200.0, 10.0), exponential(225.0, 4.0)),
    "cubic and exponential": (cubic(400.0, 2000.0), exponential(225.0, -9.0)),
    "cubic and linear": (cubic(400.0, 2000.0), linear(300.0)),
}
FEWER = {"without inverses": 2000}  # a search in a search, for each
LONG = ("cubic and linear", "equal cubic", "hardening", "steep cubic", "table")
each = pytest.mark.parametrize("name", some_long([*PAIRS], *LONG))


def drive_of(name):
    return fj.drives.AntagonisticDrive(*(law.spring for law in PAIRS[name]), MOTOR, MOTOR)


def robot_of(name):
    joint = fj.Joint("elbow", drive=drive_of(name))
    return fj.Robot("arm", (fj.Link("arm", joint, mass=1.0, inertia=np.eye(3)),))


@pytest.fixture(scope="module")
def solver():
    """(name, τ_e, σ) -> φ_1, φ_2 by a kernel, made once a pair."""
    kernels = {}

    def solve(name, tau_e, sigma):
        if name not in kernels:
            x = [ca.SX.sym(key) for key in ("tau_e", "sigma")]
            with tracing() as definitions:
                (pair,) = operating_points([drive_of(name)], [x[0]], [x[1]])
            inputs = [(Array(key, ()), symbol) for key, symbol in zip(("tau_e", "sigma"), x)]
            phi = ca.vertcat(pair.phi_1, pair.phi_2)
            kernels[name] = pipeline.compile(trace("deflections", inputs, [(Array("phi", (2,)), phi)], definitions))
        return kernels[name](tau_e, sigma).T

    return solve


def quantities(name, phi_1, phi_2):
    """τ_e, σ, det A, and the sizes of what τ_e is the sum of."""
    one, two = PAIRS[name]
    t, k, z = ((getattr(one, x)(phi_1), getattr(two, x)(phi_2)) for x in ("torque", "stiffness", "slope"))
    return t[0] + t[1], k[0] + k[1], k[0] * z[1] - k[1] * z[0], abs(t[0]) + abs(t[1])


def assert_solved(name, phi, tau_e, sigma):
    """A residual of 1e-12, φ_1 ≥ φ_2 and the sign of the determinant."""
    torque, stiffness, det, size = quantities(name, *phi)
    assert np.all(abs(stiffness - sigma) <= 1e-12 * sigma)
    rounding = 4 * np.finfo(float).eps * sum(law.subtracted for law in PAIRS[name])
    assert np.all(abs(torque - tau_e) <= 1e-12 * (size + abs(tau_e)) + rounding)
    assert np.all(phi[0] >= phi[1])
    assert np.all(det < 0)


def deflections_within(name, rng, count=None):
    """Deflections of all sizes, φ_1 ≥ φ_2."""
    one, two = PAIRS[name]
    count = count or FEWER.get(name, COUNT)
    size = rng.choice([1.0, 0.3, 0.1, 0.01], (2, count))
    phi_1 = np.clip(size[0] * rng.uniform(-0.5, 0.99, count), 0.99 * one.lower, 0.99 * one.upper)
    phi_2 = np.clip(size[1] * rng.uniform(-0.99, 0.5, count), 0.99 * two.lower, 0.99 * two.upper)
    return phi_1, np.minimum(phi_1, phi_2)


@each
def test_what_deflections_give_is_solved_for(name, solver):
    """Torque and stiffness of deflections on the branch: they are found again, to rounding times the condition."""
    rng = np.random.default_rng(0)
    phi_1, phi_2 = deflections_within(name, rng)
    apart = (phi_1 > 1e-3) & (phi_2 < -1e-3)  # here the determinant is negative whatever the law
    phi = np.array([phi_1, phi_2])[:, apart]
    tau_e, sigma, det, size = quantities(name, *phi)
    phi = phi[:, det < -2 * SINGULAR * sigma**2]
    tau_e, sigma, det, size = quantities(name, *phi)
    assert phi.shape[1] > 0.2 * phi_1.size
    found = solver(name, tau_e, sigma)
    assert not np.any(np.isnan(found))
    assert_solved(name, found, tau_e, sigma)
    if name != "table":  # whose branches meet: where a slope is 0, or jumps, there are others
        k = [law.stiffness(x) for law, x in zip(PAIRS[name], phi)]
        z = [law.slope(x) for law, x in zip(PAIRS[name], phi)]
        noise = 1e-12 * np.array(  # A⁻¹ of errors in τ_e and σ
            [abs(z[1]) * size + k[1] * sigma, abs(z[0]) * size + k[0] * sigma]
        )
        assert np.all(abs(found - phi) <= noise / abs(det) + 1e-15)


@each
def test_solved_or_refused(name, solver):
    """Random torques and stiffnesses, most of them out of reach: never a wrong answer."""
    rng = np.random.default_rng(1)
    phi = deflections_within(name, rng)
    tau_e, sigma, _, _ = quantities(name, *phi)
    tau_e, sigma = rng.permutation(tau_e) * rng.uniform(0.2, 2, tau_e.size), sigma * rng.uniform(0.2, 2, sigma.size)
    found = solver(name, tau_e, sigma)
    solved = ~np.isnan(found[0])
    assert np.array_equal(np.isnan(found[0]), np.isnan(found[1]))
    assert 0.02 < np.mean(solved) < 0.98
    assert_solved(name, found[:, solved], tau_e[solved], sigma[solved])
    for broken in (np.nan, np.inf, -np.inf, 0.0, -500.0, 1e300):
        assert np.all(np.isnan(solver(name, tau_e[:100], np.full(100, broken))))


@each
def test_next_to_singularities(name, solver):
    """Deflections as close to φ_1 = φ_2 as they can be, and all the way to where the determinant is 0."""
    rng = np.random.default_rng(2)
    phi_1, _ = deflections_within(name, rng)
    tau_e, sigma, _, _ = quantities(name, phi_1, phi_1 - 10.0 ** rng.uniform(-17, -2, phi_1.size))
    good = np.isfinite(sigma) & (sigma > 0)
    tau_e, sigma = tau_e[good], sigma[good]
    found = solver(name, tau_e, sigma)
    solved = ~np.isnan(found[0])
    assert_solved(name, found[:, solved], tau_e[solved], sigma[solved])


def test_equal_cubic_springs_at_both_singularities(solver):
    """The ends of the branch in closed form: φ_1 = φ_2, and the fold φ_1 φ_2 = K/(3 K_c)."""
    K, Kc = 400.0, 2000.0
    phi_fold = np.sqrt(K / (3 * Kc))
    for phi in (0.0, 0.05, 0.2, 0.999 * phi_fold):  # end at φ_1 = φ_2, along σ
        tau_e, least = 2 * (K * phi + Kc * phi**3), 2 * (K + 3 * Kc * phi**2)
        above = least * (1 + np.array([1e-8, 1e-3, 0.1, 1.0]))
        assert not np.any(np.isnan(solver("equal cubic", np.full(4, tau_e), above)[:, 1:]))
        assert np.all(np.isnan(solver("equal cubic", np.full(3, tau_e), least * (1 - np.array([1e-14, 1e-8, 0.1])))))
    for phi_1 in (0.3, 0.5, 0.9):  # end at the fold
        phi_2 = K / (3 * Kc) / phi_1
        tau_e, least, det, _ = quantities("equal cubic", phi_1, phi_2)
        assert abs(det) < 1e-9 * least**2
        assert least == pytest.approx(3 * np.cbrt(Kc * tau_e**2), rel=1e-13)
        above = solver("equal cubic", np.full(3, tau_e), least * (1 + np.array([1e-6, 1e-3, 0.1])))
        assert not np.any(np.isnan(above))
        assert np.all(above[0] * above[1] < K / (3 * Kc)), "the other side of the fold"
        assert np.all(np.isnan(solver("equal cubic", np.full(3, tau_e), least * (1 - np.array([1e-9, 1e-6, 0.1])))))


def walk(name, tau_e, steps=20_000):
    """σ and φ_1 along the curve of constant torque, from co-contraction to the end of the branch.

    The steps are small for both springs.
    """
    grids = [np.linspace(law.lower, law.upper, steps + 2)[1:-1] for law in PAIRS[name]]
    torques = [law.torque(grid) for law, grid in zip(PAIRS[name], grids)]
    curve = []
    for a, b in ((0, 1), (1, 0)):
        left = tau_e - torques[a]
        within = (left > torques[b][0]) & (left < torques[b][-1])
        pair = [grids[a][within], np.interp(left[within], torques[b], grids[b])]
        curve.append(np.array(pair if a == 0 else pair[::-1]))
    phi_1, phi_2 = (points := np.concatenate(curve, axis=1))[:, np.argsort(-points[0])]
    _, sigma, det, _ = quantities(name, phi_1, phi_2)
    over = np.flatnonzero((phi_1 < phi_2) | (det > 0))
    return sigma[: over[0] if over.size else None], phi_1[: over[0] if over.size else None]


@each
def test_the_branch_is_that_of_co_contraction(name, solver):
    """What a walk along the branch meets is found, and nothing else; and it is the band of feasible stiffness."""
    rng = np.random.default_rng(3)
    phi = deflections_within(name, rng, 40)
    torques = quantities(name, *(0.7 * x for x in phi))[0]
    bands = fj.dynamics.feasible_stiffness(robot_of(name), torques[:, None])
    for tau_e, lower, upper in zip(torques, bands.lower[:, 0], bands.upper[:, 0]):
        sigma, phi_1 = walk(name, tau_e)
        assert lower == pytest.approx(sigma.min(), rel=2e-3)
        assert upper >= 0.99 * sigma.max()
        wanted = rng.uniform(sigma.min() * 1.001, min(sigma.max(), 20 * sigma.min()), 20)
        expected = np.interp(wanted, sigma[::-1], phi_1[::-1])
        found = solver(name, np.full(20, tau_e), wanted)
        assert np.allclose(found[0], expected, atol=2e-3)
        assert np.all(np.isnan(solver(name, np.full(20, tau_e), rng.uniform(0.3, 0.998, 20) * sigma.min())))


def test_which_pairs_have_closed_forms():
    closed = {name for name in PAIRS if closed_form(drive_of(name))}
    assert closed == {"equal cubic", "exponential", "exponential, one way"}


def test_joints_without_a_choice_have_no_band():
    robot = fj.load("vsa_3r")
    drives = [joint.drive for joint in robot.joints]
    mixed = robot.with_drives([drives[0], None, fj.ElasticDrive(500.0, MOTOR)])
    band = fj.dynamics.feasible_stiffness(mixed, np.zeros((4, 3)))
    assert band.lower.shape == (4, 3)
    assert np.allclose(band.lower[:, 0], 800.0)
    assert np.all(np.isnan(band.lower[:, 1:])) and np.all(np.isnan(band.upper[:, 1:]))
    assert np.all(np.isnan(fj.dynamics.feasible_stiffness(mixed, [1e9, 0.0, 0.0]).lower))


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("springs", "words"),
    [
        ((fj.springs.LinearSpring(300.0), fj.springs.LinearSpring(500.0)), ["'elbow'", "singular", "that stiffens"]),
        ((fj.springs.CubicSpring(300.0, 0.0), fj.springs.LinearSpring(500.0)), ["'elbow'", "singular"]),
        (
            (fj.springs.ExponentialSpring(200.0, 10.0), fj.springs.ExponentialSpring(300.0, 10.0)),
            ["singular", "different rates"],
        ),
        ((fj.springs.ExponentialSpring(200.0, -10.0), fj.springs.ExponentialSpring(300.0, 10.0)), ["exchange them"]),
        ((fj.springs.QuadraticSpring(200.0, -100.0), fj.springs.QuadraticSpring(300.0, 100.0)), ["exchange them"]),
        ((fj.springs.CubicSpring(300.0, 10.0), 500.0), ["'elbow'", "500.0", "give a Spring"]),
    ],
)
def test_pairs_that_cannot_set_the_stiffness(springs, words):
    with pytest.raises(fj.RobotError) as error:
        fj.Robot("arm", (fj.Link("arm", fj.Joint("elbow", drive=fj.drives.AntagonisticDrive(*springs, MOTOR, MOTOR))),))
    for word in words:
        assert word in str(error.value)


def test_laws_of_another_reach():
    """Beyond 1 rad nothing is looked for, unless the law says so: closed forms and searches alike."""

    class Tendon(fj.springs.CubicSpring):
        reach = 3.0

    def drive(law, share):
        return fj.drives.AntagonisticDrive(law(40.0, 200.0), law(40.0 * share, 200.0), MOTOR, MOTOR)

    phi = 1.3, -1.2
    for share in (1.0, 1.5):
        tau_e = sum(K * x + 200 * x**3 for K, x in zip((40.0, 40.0 * share), phi))
        sigma = 40 * (1 + share) + sum(600 * x**2 for x in phi)
        near, far = (
            operating_points([drive(law, share)], [ca.SX(tau_e)], [ca.SX(sigma)])[0]
            for law in (fj.springs.CubicSpring, Tendon)
        )
        found = [float(ca.evalf(x)) for x in far[:2]]
        assert np.allclose(found, phi, rtol=1e-13)
        assert np.isnan(float(ca.evalf(near.phi_1)))
