"""Published designs of variable stiffness: torque and stiffness against their formulas, files, and what is refused."""

from dataclasses import replace

import casadi as ca
import mpmath as mp
import numpy as np
import pytest

import flexjoint as fj
from support.marks import some_long

MOTORS = fj.Motor(0.02), fj.Motor(0.01)
Sinh, FourBar = fj.springs.SinhSpring, fj.springs.FourBarSpring
QBMOVE = fj.drives.AntagonisticDrive(Sinh(6.7 * 0.022, 6.7), Sinh(7.0 * 0.0216, 7.0), *MOTORS)
EQUAL = fj.drives.AntagonisticDrive(Sinh(2.0, 5.0), Sinh(2.0, 5.0), *MOTORS)
VSA_II = fj.drives.AntagonisticDrive(FourBar(5.0, 3.0), FourBar(5.0, 3.0), *MOTORS)
MACCEPA = fj.drives.MaccepaDrive(3000.0, 0.03, 0.12, 0.01, 0.005, 0.08, *MOTORS)


def sinh_pair(drive, x, y):
    """τ = k_1 sinh(a_1 φ_1) + k_2 sinh(a_2 φ_2), U = Σ k/a (cosh(aφ) − 1)."""
    numbers = [(mp.mpf(s.stiffness) / s.rate, mp.mpf(s.rate), z) for s, z in zip(drive.springs, (x, y))]
    return sum(k / a * (mp.cosh(a * z) - 1) for k, a, z in numbers), [k * mp.sinh(a * z) for k, a, z in numbers]


def four_bars(drive, x, y):
    beta = lambda C, z: mp.asin(C * mp.sin(z / 2)) - z / 2  # noqa: E731
    springs = [(s.torsion, s.ratio, z) for s, z in zip(drive.springs, (x, y))]
    torques = [2 * k * beta(C, z) * mp.diff(lambda u, C=C: beta(C, u), z) for k, C, z in springs]
    return sum(k * beta(C, z) ** 2 for k, C, z in springs), torques


def maccepa(drive, x, y):
    """κ B C sin α (1 + (P − |C − B|)/√(B² + C² − 2BC cos α)), and the tension of the spring on the drum."""
    k, B, C, P = drive.spring, mp.mpf(drive.lever), mp.mpf(drive.pin), drive.drum * y
    A = mp.sqrt(B**2 + C**2 - 2 * B * C * mp.cos(x))
    tension = k * (A - abs(C - B) + P)
    return tension**2 / (2 * k), [k * B * C * mp.sin(x) * (1 + (P - abs(C - B)) / A), drive.drum * tension]


DESIGNS = {
    "qbmove": (QBMOVE, sinh_pair),
    "equal springs": (EQUAL, sinh_pair),
    "VSA-II": (VSA_II, four_bars),
    "MACCEPA": (MACCEPA, maccepa),
}
each = pytest.mark.parametrize(("drive", "formula"), DESIGNS.values(), ids=DESIGNS.keys())


def on_link(drive, formula, x, y):
    one, two = formula(drive, x, y)[1]
    return one + drive.c * two


def stiffness(drive, formula, x, y):
    """−∂τ_e/∂q: both deflections change with q, or the first alone."""
    return mp.diff(lambda q: on_link(drive, formula, x + q, y + drive.c * q), 0)


def arm(drive):
    return fj.Robot("arm", (fj.Link("arm", fj.Joint("elbow", drive=drive), mass=1.0, inertia=np.eye(3)),))


@each
def test_torque_stiffness_and_energy_by_published_formulas(drive, formula):
    phi = [ca.SX.sym("phi") for _ in range(2)]
    point = drive.at(*phi)
    f = ca.Function("f", phi, [drive.energy(*phi), point.tau_1, point.tau_2, point.tau_e, point.sigma, *point.A])
    rng = np.random.default_rng(0)
    for x, y in rng.uniform(0.05, 0.95, (20, 2)):
        x, y = (a + u * (b - a) for (a, b), u in zip(drive.ranges, (x, y)))
        found = [np.array(z).ravel() for z in f(x, y)]
        with mp.workdps(30):
            at = mp.mpf(x), mp.mpf(y)
            energy, (one, two) = formula(drive, *at)
            sigma = stiffness(drive, formula, *at)
            slopes = [mp.diff(lambda *z: on_link(drive, formula, *z), at, k) for k in ((1, 0), (0, 1))]
        expected = [energy, one, two, one + drive.c * two, sigma]
        for ours, theirs in zip(found, expected):
            assert ours[0] == pytest.approx(float(theirs), rel=1e-12, abs=1e-13)
        assert np.allclose(found[5], [float(z) for z in slopes], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("drive", "formula"), some_long(DESIGNS, "VSA-II"))
def test_inverse_dynamics_finds_its_deflections(drive, formula):
    """At accelerations and stiffnesses within reach: torque and stiffness of the formulas are those asked for."""
    robot, rng = arm(drive), np.random.default_rng(1)
    assert fj.dynamics.deflection_steps(robot) == ((0,) if drive is EQUAL else (40,))
    lower, upper = (float(x[0]) for x in fj.dynamics.stiffness_range(robot))
    sigma = rng.uniform(1.2 * lower, min(0.8 * upper, 8 * lower), (8, 1))
    band = fj.dynamics.feasible_torque(robot, sigma)
    tau_e = rng.uniform(-0.5, 0.5, (8, 1)) * (band.upper - band.lower) / 2
    rest = np.zeros((8, 1))
    found = fj.motor_motion(robot, rest, rest, tau_e, rest, rest, stiffness=[sigma, rest, rest])
    assert np.allclose(found.tau_e, tau_e, rtol=1e-12, atol=1e-12)
    for k in range(8):
        at = [mp.mpf(float(x)) for x in found.deflection[k]]
        assert float(on_link(drive, formula, *at)) == pytest.approx(tau_e[k, 0], rel=1e-9, abs=1e-10)
        assert float(stiffness(drive, formula, *at)) == pytest.approx(sigma[k, 0], rel=1e-9)


@each
def test_designs_go_through_files(drive, formula, tmp_path):
    robot = arm(drive)
    fj.write_robot(robot, tmp_path / "arm.toml")
    assert fj.load(tmp_path / "arm.toml") == robot


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lever": 0.12}, "lever and pin are both 0.12"),
        ({"least_pretension": 0.08}, "must be below greatest_pretension"),
        ({"drum": 0.0}, "drum is 0"),
        ({"greatest_angle": 4.0}, "below pi"),
    ],
)
def test_maccepas_that_are_none(change, words):
    with pytest.raises(fj.RobotError, match=words):
        replace(MACCEPA, **change)


def test_the_range_of_a_maccepa_is_no_parameter():
    robot = fj.random_robot(1, 1, prismatic=0.0).with_drives([MACCEPA])
    assert {x.rpartition(".")[2] for x in fj.robot.robot_parameters(robot) if x.count(".") == 2 and ".drive." in x} == {
        "spring",
        "lever",
        "pin",
        "drum",
    }
