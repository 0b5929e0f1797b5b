"""Springs through measured points, against SciPy's splines."""

import casadi as ca
import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq

import flexjoint as fj
from flexjoint.springs.base import evaluated

PHI = np.array([-0.5, -0.3, -0.1, 0.0, 0.1, 0.25, 0.5])
TABLES = {
    "uneven": (PHI, 300 * PHI + 900 * PHI**3 + 3 * np.sin(9 * PHI)),
    "steep": (np.linspace(-0.2, 0.4, 20), 20 * np.sinh(12 * np.linspace(-0.2, 0.4, 20))),
    "softening": (np.linspace(-0.5, 0.5, 9), 80 * np.tanh(3 * np.linspace(-0.5, 0.5, 9))),
    "four points": (np.array([0.0, 0.1, 0.2, 0.4]), np.array([0.0, 10.0, 25.0, 80.0])),
}
each = pytest.mark.parametrize("phi, tau", TABLES.values(), ids=TABLES.keys())


@each
def test_it_is_the_spline_through_the_points(phi, tau):
    spring, curve = fj.springs.TabulatedSpring(phi, tau), CubicSpline(phi, tau)
    x = np.concatenate([np.linspace(phi[0], phi[-1], 2001), phi])
    found = [spring.curve(x).torque, *(evaluated(lambda y, k=k: spring.gradients(y, 3)[k], x) for k in range(3))]
    for k, ours in enumerate(found[:3]):
        assert np.allclose(ours, curve(x, k), rtol=0, atol=1e-11 * np.max(abs(curve(x, k))))
    between = ~np.isin(x, phi)  # at points η jumps
    assert np.allclose(found[3][between], curve(x[between], 3), rtol=0, atol=1e-9 * np.max(abs(curve(x, 3))))
    assert np.array_equal(spring.curve(phi).torque[:-1], tau[:-1])


@each
def test_the_inverse_is_found_in_the_steps_counted(phi, tau):
    """To rounding, at 10⁵ torques; with one step less it is not, so that the count means something."""
    spring, curve = fj.springs.TabulatedSpring(phi, tau), CubicSpline(phi, tau)
    asked = np.concatenate([np.linspace(tau[0], tau[-1], 100_000), tau])
    found = evaluated(spring.deflection, asked)
    noise = 8 * np.finfo(float).eps * np.max(abs(tau)) / curve(found, 1) + 4 * np.finfo(float).eps
    assert np.all(abs(curve(found) - asked) <= noise * curve(found, 1))
    for t in np.linspace(tau[0], tau[-1], 7)[1:-1]:
        exact = brentq(lambda x: curve(x) - t, phi[0], phi[-1], xtol=1e-15)  # noqa: B023
        assert evaluated(spring.deflection, t) == pytest.approx(exact, abs=1e-13)
    assert 2 <= spring.steps <= 8
    fewer = fj.springs.TabulatedSpring(phi, tau)
    object.__setattr__(fewer, "steps", 1)
    assert np.max(abs(curve(evaluated(fewer.deflection, asked)) - asked)) > 1e-4


def test_nothing_beyond_the_points():
    spring = fj.springs.TabulatedSpring(PHI, 300 * PHI)
    assert np.all(np.isnan(spring.curve([-0.51, 0.5001]).torque))
    assert np.all(np.isnan(evaluated(spring.deflection, [-150.1, 150.1])))
    assert spring.reach == 0.5


def test_a_fit_of_noisy_values_increases():
    rng = np.random.default_rng(0)
    phi = rng.uniform(-0.5, 0.5, 400)
    law = lambda x: 300 * x + 900 * x**3  # noqa: E731
    noisy = law(phi) + 8 * rng.normal(size=400)
    spring = fj.springs.TabulatedSpring.fit(phi, noisy, points=9)
    x = np.linspace(-0.48, 0.48, 200)
    assert np.all(spring.curve(x).stiffness > 0)
    assert np.max(abs(spring.curve(x).torque - law(x))) < 5.0
    order = np.argsort(phi)
    with pytest.raises(fj.RobotError, match=r"must increase.*TabulatedSpring\.fit"):
        fj.springs.TabulatedSpring(phi[order], noisy[order])
    exact = fj.springs.TabulatedSpring.fit(phi, law(phi), points=6)
    assert np.allclose(exact.curve(x).torque, law(x), atol=1e-9)


@pytest.mark.parametrize(
    ("phi", "tau", "words"),
    [
        ([0, 1, 2], [0, 1, 2], "3 deflections and 3 torques; give 4 or more"),
        ([0, 1, 2, 3], [0, 1, 2], "4 deflections and 3 torques"),
        ([0, 1, 1, 2], [0, 1, 2, 3], "must increase"),
        ([0.1, 0.2, 0.3, 0.4], [1, 2, 3, 4], "with 0 among them"),
        ([-1, 0, 1, 2], [0, 1, np.nan, 2], "finite"),
        ([-1, 0, 1, 2], [0, 1, 0.5, 2], "between the deflections 0 and 1 the stiffness falls to"),
    ],
)
def test_what_is_refused(phi, tau, words):
    with pytest.raises(fj.RobotError, match=words):
        fj.springs.TabulatedSpring(phi, tau)


def test_an_elastic_joint_with_points_of_a_cubic_is_that_with_the_cubic():
    x = np.linspace(-0.6, 0.6, 5)
    motor = fj.Motor(0.7)
    robot = fj.random_robot(2, 3)
    rng = np.random.default_rng(1)
    stack = 0.3 * rng.normal(size=(5, 50, 2))
    spring = fj.springs.TabulatedSpring(x, 300 * x + 900 * x**3)
    found, expected = (
        fj.inverse_dynamics(robot.with_drives([fj.ElasticDrive(law, motor)] * 2), *stack)
        for law in (spring, fj.springs.CubicSpring(300.0, 900.0))
    )
    assert np.allclose(found, expected, rtol=1e-11, atol=1e-11)


def test_torques_may_be_free():
    x = np.linspace(-0.6, 0.6, 5)
    drive = fj.ElasticDrive(fj.springs.TabulatedSpring(x, 300 * x), fj.Motor(1.0))
    arm = fj.Robot("arm", (fj.Link("arm", fj.Joint("elbow", drive=drive), mass=1.0, inertia=np.eye(3)),))
    kernel = fj.compile(fj.motor_motion, arm, free=("elbow.drive.stiffness.torques",))
    state = [np.array([0.3]), *np.zeros((4, 1))]
    tau = 200 * x + 900 * x**3
    expected = fj.motor_motion(
        arm.with_drives([fj.ElasticDrive(fj.springs.TabulatedSpring(x, tau), fj.Motor(1.0))]), *state
    )
    assert np.allclose(kernel(*state, tau).deflection, expected.deflection, rtol=1e-13)


def test_all_numbers_but_its_deflections_may_be_free():
    x = np.linspace(-0.6, 0.6, 5)
    drive = fj.ElasticDrive(fj.springs.TabulatedSpring(x, 300 * x), fj.Motor(1.0))
    arm = fj.Robot(
        "arm", (fj.Link("arm", fj.Joint("elbow", drive=drive), mass=1.0, com=[0.1, 0, 0], inertia=np.eye(3)),)
    )
    state = [np.array([0.3]), *np.ones((4, 1))]
    kernel = fj.compile(fj.inverse_dynamics, arm, free="*")
    assert np.allclose(kernel(*state, *kernel.nominal), fj.inverse_dynamics(arm, *state), rtol=1e-13)
    with pytest.raises(fj.InputError, match=r"no parameter .*did you mean elbow.drive.stiffness.torques"):
        fj.compile(fj.inverse_dynamics, arm, free="elbow.drive.stiffness.deflections")


def test_it_is_written_as_sx():
    phi = ca.SX.sym("phi")
    spring = fj.springs.TabulatedSpring(PHI, 300 * PHI)
    assert ca.symvar(spring.torque(phi))[0].name() == "phi"
