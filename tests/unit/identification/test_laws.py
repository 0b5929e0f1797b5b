"""Springs that are not linear and friction by direction: forms against the laws of robots, and estimates on a bench."""

import dataclasses

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.dynamics.drivetrain.friction import friction as friction_jet
from flexjoint.identification.dry_friction import dry_friction, mean_dry_friction
from flexjoint.identification.equations import Equations
from flexjoint.identification.parameters import unknowns
from flexjoint.identification.recordings import recordings
from flexjoint.identification.signals import Signals
from flexjoint.identification.spring_shapes import SpringShape
from flexjoint.spatial import ca
from support.identification import bench, multisine, rough_bench, simulated

PHI = np.linspace(-0.05, 0.05, 41)
CUBIC = fj.springs.CubicSpring(250.0, 1.5e5)
PIECEWISE = fj.springs.PiecewiseSpring([0.0, 0.015, 0.03], [250.0, 300.0, 500.0])
ASYMMETRIC = fj.drives.Friction(
    0.8, 1.2, 0.05, static=1.7, stribeck_velocity=0.25,
    backward=fj.drives.Friction(0.5, 0.9, static=1.2, stribeck_velocity=0.25),
)  # fmt: skip


@pytest.mark.parametrize("spring", [CUBIC, PIECEWISE])
def test_forms_are_those_of_the_spring_laws(spring):
    cubic = isinstance(spring, fj.springs.CubicSpring)
    shape = SpringShape("cubic") if cubic else SpringShape("piecewise", spring.deflections)
    numbers = [spring.stiffness, spring.cubic] if cubic else spring.stiffnesses
    curve = spring.curve(PHI)
    assert np.allclose(sum(k * x for k, x in zip(numbers, shape.shapes(PHI))), curve.torque, rtol=1e-12, atol=1e-12)
    assert np.allclose(sum(k * x for k, x in zip(numbers, shape.slopes(PHI))), curve.stiffness, rtol=1e-12)
    assert shape.spring(dict(zip(shape.kinds, numbers))) == spring


def law_of(x):
    """A Friction from values by kind."""
    v_s = np.exp(x["log_stribeck"])
    sides = [
        fj.drives.Friction(
            x[f"viscous{y}"], x[f"coulomb{y}"], static=x[f"coulomb{y}"] + x[f"rise{y}"], stribeck_velocity=v_s
        )
        for y in ("", "_backward")
    ]
    return dataclasses.replace(sides[0], velocity=np.exp(x["log_velocity"]), backward=sides[1])


def test_columns_of_friction_are_derivatives_of_the_law():
    v = np.linspace(-0.6, 0.6, 31)
    x = {"viscous": 0.8, "coulomb": 1.2, "log_velocity": np.log(0.05), "rise": 0.5, "log_stribeck": np.log(0.2)}
    x |= {"viscous_backward": 0.5, "coulomb_backward": 0.9, "rise_backward": 0.3}

    def torque(values):
        motor = fj.Motor(1.0, friction=law_of(values))
        return np.array([float(ca.DM(friction_jet([motor], [ca.SX(y)], 0)[0])) for y in v])

    columns = dry_friction(v, x)
    assert set(columns) == set(x)
    for kind, column in columns.items():
        ahead, behind = (torque(x | {kind: x[kind] + s * 1e-5}) for s in (1, -1))
        assert np.allclose(column, (ahead - behind) / 2e-5, atol=1e-8), kind


@pytest.mark.parametrize("acceleration", [2.0, 9.0, 18.0, 200.0])
def test_means_of_friction_are_its_integrals_over_a_period(acceleration):
    v, h, v_c = np.linspace(-0.3, 0.3, 601), 1e-3, 0.03
    a = np.full_like(v, acceleration)
    found = mean_dry_friction(v, a, h, {"coulomb": 1.0, "log_velocity": np.log(v_c)})["coulomb"]
    ends = [np.log(np.cosh((v + s * a * h / 2) / v_c)) for s in (1, -1)]  # the integral of tanh
    r = acceleration * h / v_c  # errors of Gauss' rule, of eight midpoints, and of one far from zero
    most = (4.1 * r**4 / 4320 if r < 0.4 else 0.77 * (r / 8) ** 2 / 24) + 4e-4 * r**2 / 24
    assert np.allclose(found, (ends[0] - ends[1]) * v_c / (a * h), rtol=0, atol=most)


def near(one, name, true, most):
    """Whether an estimate lies within four deviations, and these are a small part of it."""
    x = one[name]
    return abs(x.value - true) < 4 * x.deviation and x.deviation < most * abs(true) and x.verdict == "identified"


@pytest.fixture(scope="module")
def cubic_log():
    return simulated(bench(CUBIC), multisine(0.8, 0, 20.0, count=30), 5, 0.05)[1]


def test_a_cubic_spring_is_recognised_and_estimated(cubic_log, tmp_path):
    one = fj.identification.identify(rough_bench(), cubic_log, delay=0.0)
    assert one.passed
    assert near(one, "hinge.drive.stiffness.stiffness", 250.0, 0.005)
    assert near(one, "hinge.drive.stiffness.cubic", 1.5e5, 0.005)
    one.write_drives(tmp_path / "bench.drives.toml")
    fj.write_robot(rough_bench(), tmp_path / "bench.toml")
    assert fj.load(tmp_path / "bench.toml", drives=tmp_path / "bench.drives.toml") == one.robot


def test_a_linear_spring_that_is_asked_for_is_noticed(cubic_log):
    one = fj.identification.identify(rough_bench(), cubic_log, delay=0.0, spring="linear")
    assert not one.passed
    assert any("stiffens" in x.what for x in one.scores if x.asked)


def test_output_error_has_the_same_laws(cubic_log):
    one = fj.identification.identify(rough_bench(), cubic_log, delay=0.0, method="output_error")
    assert near(one, "hinge.drive.stiffness.stiffness", 250.0, 0.001)
    assert near(one, "hinge.drive.stiffness.cubic", 1.5e5, 0.001)


def test_a_piecewise_spring_and_friction_by_direction_are_estimated():
    log = simulated(bench(PIECEWISE, law=ASYMMETRIC), multisine(0.8, 0, 20.0, count=30), 8, 0.05)[1]
    form = fj.springs.PiecewiseSpring(PIECEWISE.deflections, [400.0] * 3)
    one = fj.identification.identify(bench(form, 0.0, 0.2, fj.drives.Friction(viscous=0.5)), log, delay=0.0)
    assert one.passed
    for k, true in enumerate(PIECEWISE.stiffnesses):
        assert near(one, f"hinge.drive.stiffness.stiffnesses.{k}", true, 0.01)
    path = "hinge.drive.motor.friction"
    for name, most in (("viscous", 0.002), ("coulomb", 0.01), ("static", 0.01)):
        assert near(one, f"{path}.{name}", getattr(ASYMMETRIC, name), most), name
        assert near(one, f"{path}.backward.{name}", getattr(ASYMMETRIC.backward, name), most), name
    assert one.robot.joints[0].drive.motor.friction.backward.viscous == one[f"{path}.backward.viscous"].value


def test_a_law_that_is_not_estimated_is_named(cubic_log):
    stiff = bench(fj.springs.HardeningSpring(300.0, 0.2), 0.0, 0.2, fj.drives.Friction(viscous=0.5))
    one = fj.identification.identify(stiff, cubic_log, delay=0.0)
    assert any("HardeningSpring of hinge is not estimated" in x for x in one.notes)
    with pytest.raises(fj.InputError, match="spring is 'soft'"):
        fj.identification.identify(rough_bench(), cubic_log, spring="soft")


def test_a_torque_follows_small_changes_of_its_delay(cubic_log):
    part = recordings(cubic_log, None)[0]
    what = unknowns(rough_bench(), ("viscous",), "known", True, False, True)
    near, exact = (Equations(Signals(rough_bench(), part, "known"), what) for _ in range(2))
    before, after = near.torque(0, 1e-3)[0], near.torque(0, 1e-3 + 1.9e-6)[0]
    errors, changes = np.abs(after - exact.torque(0, 1e-3 + 1.9e-6)[0]), np.abs(after - before)
    assert errors.max() < 0.02 * changes.max()  # (2π 50 Hz 1 ms)²/6, of central differences
