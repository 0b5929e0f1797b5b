"""Drives with two motors: what a design of one's own must be, and what is refused."""

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj

MOTOR = fj.Motor(1.0)


@dataclass(frozen=True)
class Cams(fj.drives.VariableStiffnessDrive):
    """U = f(φ_1 + φ_2) + f(φ_1 − φ_2), f = ½ K x² + ¼ K_c x⁴; `power` makes it another one."""

    K: float
    Kc: float
    motor_1: fj.Motor = MOTOR
    motor_2: fj.Motor = MOTOR
    power: int = 4

    ranges: ClassVar = ((-0.7, 0.7), (0.01, 0.7))
    follows: ClassVar = False

    def energy(self, phi_1, phi_2):
        return sum(self.K / 2 * x**2 + self.Kc / 4 * x**self.power for x in (phi_1 + phi_2, phi_1 - phi_2))


class Backwards(fj.drives.LeverDrive):
    stiffens: ClassVar = -1
    gain = fj.drives.VariableStiffnessDrive.gain


class Stiffer(Cams):
    def energy(self, phi_1, phi_2):
        return 2 * super().energy(phi_1, phi_2)


class Erf(Cams):
    def energy(self, phi_1, phi_2):
        return super().energy(phi_1, phi_2) + phi_1 * ca.erf(phi_1)


def arm(drive):
    return fj.Robot("arm", (fj.Link("arm", fj.Joint("elbow", drive=drive), mass=1.0, inertia=np.eye(3)),))


def test_a_design_with_a_function_that_no_kernel_has():
    with pytest.raises(fj.RobotError, match=r"drive Erf of joint 'elbow' uses erf, which no kernel has; write it with"):
        arm(Erf(100.0, 300.0))


def test_derivatives_of_an_energy():
    """τ_1, τ_2, σ, A and second derivatives of a lever by hand."""
    drive = fj.drives.LeverDrive(7e4, 0.1, 0.02, 0.2, MOTOR, MOTOR)
    x, y, k = 0.3, 0.04, 7e4
    r, s, c = 0.14, np.sin(0.6), np.cos(0.6)
    found = drive.at(ca.SX(x), ca.SX(y))
    number = lambda z: np.array(ca.DM(z))  # noqa: E731
    assert number(found.tau_1) == pytest.approx(k * r**2 * s / 2)
    assert number(found.tau_2) == pytest.approx(k * r * np.sin(x) ** 2)
    assert number(found.tau_e) == number(found.tau_1)
    assert number(found.sigma) == pytest.approx(k * r**2 * c)
    assert np.allclose(number(found.A[0]), [k * r**2 * c, k * r * s])
    assert np.allclose(number(found.A[1]), [-2 * k * r**2 * s, 2 * k * r * c])
    assert np.allclose(number(found.bends[0]), [[-2 * k * r**2 * s, 2 * k * r * c], [2 * k * r * c, k * s]])
    assert np.allclose(number(found.bends[1]), [[-4 * k * r**2 * c, -4 * k * r * s], [-4 * k * r * s, 2 * k * c]])
    assert number(found.det) == pytest.approx(2 * k**2 * r**3)


def test_a_design_of_ones_own_is_searched_for():
    """10⁴ torques and stiffnesses, many out of reach: solved or refused, on the side of the fold that co-contracts."""
    drive, robot = Cams(200.0, 700.0), arm(Cams(200.0, 700.0))
    assert fj.dynamics.deflection_steps(robot) == (40,)
    rng = np.random.default_rng(0)
    rest = np.zeros((4, 10_000, 1))
    q = rng.uniform(-np.pi, np.pi, (10_000, 1))
    a = rng.uniform(-300.0, 300.0, (10_000, 1))
    sigma = rng.uniform(300.0, 2500.0, (10_000, 1))
    finite = np.empty(10_000, dtype=bool)
    found = fj.motor_motion(robot, q, rest[0], a, *rest[:2], stiffness=[sigma, *rest[:2]], finite=finite)
    tau_e = a[:, 0] * 1.0  # no gravity torque: the centre of mass is on the axis
    assert 0.2 < finite.mean() < 0.95
    phi_1, phi_2 = found.deflection[finite].T
    x, y = phi_1 + phi_2, phi_1 - phi_2
    f1, f2 = (lambda z: 200 * z + 700 * z**3), (lambda z: 200 + 2100 * z**2)
    assert np.all(abs(f1(x) + f1(y) - tau_e[finite]) <= 1e-12 * (abs(f1(x)) + abs(f1(y)) + abs(tau_e[finite])))
    assert np.all(abs(f2(x) + f2(y) - sigma[finite, 0]) <= 1e-12 * sigma[finite, 0])
    assert np.all(x * y < 200 / 2100)
    band = fj.dynamics.feasible_stiffness(robot, tau_e[:, None])
    inside = (sigma > band.lower * 1.001) & (sigma < band.upper * 0.999)
    assert np.all(finite[inside[:, 0]])
    assert not np.any(finite & ~((sigma > band.lower * 0.999) & (sigma < band.upper * 1.001))[:, 0])
    assert drive.gain > 0.5


def test_designs_that_cannot_set_the_stiffness():
    with pytest.raises(fj.RobotError, match=r"'elbow'.*singular"):
        arm(Cams(200.0, 700.0, power=2))
    with pytest.raises(fj.RobotError, match=r"'elbow'.*`stiffens`"):
        arm(Backwards(7e4, 0.1, 0.02, 0.2, MOTOR, MOTOR))
    with pytest.raises(fj.RobotError, match="greatest damping"):
        arm(fj.drives.LeverDrive(7e4, 0.1, 0.02, 0.2, MOTOR, MOTOR, greatest_damping=-1.0))


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((0.0, 0.1, 0.02, 0.2), "spring is 0.0"),
        ((7e4, 0.3, 0.02, 0.2), "0.3 m must lie between"),
        ((7e4, 0.1, 0.1, 0.1), "must differ"),
        ((7e4, 0.1, np.nan, 0.2), "least_arm is nan"),
        ((True, 0.1, 0.02, 0.2), "spring is True"),
    ],
)
def test_levers_that_are_none(numbers, words):
    with pytest.raises(fj.RobotError, match=words):
        fj.drives.LeverDrive(*numbers, MOTOR, MOTOR)


def test_a_lever_takes_any_real_numbers():
    given = fj.drives.LeverDrive(np.float32(70000), 1, np.int64(1), 2, MOTOR, MOTOR)
    assert given == fj.drives.LeverDrive(7e4, 1.0, 1.0, 2.0, MOTOR, MOTOR)
    assert type(given.spring) is float


def test_the_code_of_a_design_tells_robots_apart():
    same = arm(Cams(200.0, 700.0))
    assert same == arm(Cams(200, 700))
    assert same != arm(Stiffer(200.0, 700.0)) and same != arm(Cams(200.0, 700.0, power=6))
    assert type("Cams", (Stiffer,), {})(200.0, 700.0).plain() != Cams(200.0, 700.0).plain()


def test_levers_in_files(tmp_path):
    drive = fj.drives.LeverDrive(7e4, 0.1, 1 / 30, 0.2, fj.Motor(0.3), fj.Motor(0.7, 0.1), 0.2, 900.0, 1.5)
    table = fj.springs.TabulatedSpring([-0.3, -0.1, 0.1, 0.4], [-30.0, -8.0, 8.0, 60.0])
    robot = fj.random_robot(3, 0).with_drives([drive, fj.ElasticDrive(table, MOTOR), None])
    fj.write_robot(robot, tmp_path / "robot.toml")
    assert fj.formats.read_robot(tmp_path / "robot.toml") == robot
    with pytest.raises(fj.RobotError, match="no form in robot files"):
        fj.write_robot(arm(Cams(200.0, 700.0)), tmp_path / "robot.toml")
