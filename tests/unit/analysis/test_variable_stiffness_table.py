"""Tables of both motors: equations of a pendulum with two springs, columns of mixed robots, what is out of reach."""

from __future__ import annotations

import csv
import dataclasses

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.analysis import variable_stiffness_table as stiffness
from flexjoint.analysis.variable_stiffness_table import stiffness_table
from flexjoint.results import write_table
from support.errors import relative_error
from support.pendulum import GRAVITY, INERTIA, LEVER, MASS, pendulum
from support.runs import NAMES, PULLED

K, KC = 400.0, 2000.0
MOTION, STIFFEN = fj.trajectory.RestToRest([0.2], [1.4], 1.0), fj.trajectory.RestToRest([900.0], [1100.0], 0.7)
PAIR = fj.drives.AntagonisticDrive(
    fj.springs.CubicSpring(K, KC), fj.springs.CubicSpring(K, KC), fj.Motor(0.7, 0.2), fj.Motor(0.4)
)
VSA = fj.load("vsa_3r")


@pytest.mark.parametrize("block", [7, 8192])
def test_the_table_obeys_the_pendulums_equations(monkeypatch, block):
    """Springs bear J q'' + m g l cos q with the stiffness asked for; motors add B θ'' + D θ', by differences."""
    monkeypatch.setattr(stiffness, "BLOCK", block)
    done = []
    found = stiffness_table(pendulum(PAIR), MOTION, STIFFEN, 1e-3, progress=done.append)
    assert sum(done) == found.t.size == 1001 and max(done) <= block
    columns = {name: values[:, 0] for name, values in found.quantities().items()}
    q, _, a = MOTION(found.t, order=2)[..., 0]
    springs = {k: K * columns[f"phi_{k}"] + KC * columns[f"phi_{k}"] ** 3 for k in (1, 2)}
    tau_e = (INERTIA + MASS * LEVER**2) * a + MASS * GRAVITY * LEVER * np.cos(q)
    assert relative_error(springs[1] + springs[2], tau_e) < 1e-12 and relative_error(columns["tau_e"], tau_e) < 1e-12
    sigma = 2 * K + 3 * KC * (columns["phi_1"] ** 2 + columns["phi_2"] ** 2)
    assert relative_error(sigma, STIFFEN(found.t, order=0)[0, :, 0]) < 1e-12
    assert columns["sigma"][-1] == 1100.0, "after its end the stiffness stays"
    for k, motor in enumerate(PAIR.motors, 1):
        theta = columns[f"theta_{k}"]
        assert relative_error(theta, q + columns[f"phi_{k}"]) < 1e-14
        rate = np.gradient(theta, found.t, edge_order=2)
        torque = springs[k] + motor.inertia * np.gradient(rate, found.t) + motor.viscous_friction * rate
        inside = slice(5, 690)  # σ'' jumps at 0.7 s
        assert relative_error(columns[f"tau_{k}"][inside], torque[inside]) < 1e-4  # of differences at 1 ms


def test_damped_springs_are_followed_through_the_whole_motion(monkeypatch):
    """τ_1(φ_1) + τ_2(φ_2) + D (φ_1' + φ_2') = τ_e with the stiffness asked for, rates by differences."""
    monkeypatch.setattr(stiffness, "BLOCK", 7)
    found = stiffness_table(pendulum(dataclasses.replace(PAIR, damping=8.0)), MOTION, STIFFEN, 1e-3)
    phi = np.hstack([found.phi_1, found.phi_2])
    rate = np.gradient(phi.sum(axis=1), found.t, edge_order=2)
    springs = (K * phi + KC * phi**3).sum(axis=1)
    assert relative_error(springs + 8.0 * rate, found.tau_e[:, 0]) < 1e-5  # of differences at 1 ms
    assert relative_error(springs, found.tau_e[:, 0]) > 1e-3
    assert relative_error(2 * K + 3 * KC * (phi**2).sum(axis=1), found.sigma[:, 0]) < 1e-12


def test_what_can_be_reached_is_in_the_table():
    """Least at φ_1 = φ_2 = s/2: τ_e = K s + K_c s³/4, σ = 2K + 3/2 K_c s²."""
    found = stiffness_table(pendulum(PAIR), MOTION, STIFFEN, 0.1)
    for tau_e, lower, upper in zip(found.tau_e[:, 0], found.sigma_lower[:, 0], found.sigma_upper[:, 0]):
        s = np.roots([KC / 4, 0.0, K, -tau_e])
        s = s[np.isreal(s)].real[0]
        assert lower == pytest.approx(2 * K + 1.5 * KC * s**2, rel=1e-6)
        assert upper > 10 * lower


def test_only_joints_with_two_motors_have_columns_of_both(tmp_path):
    drives = [VSA.joints[0].drive, fj.ElasticDrive(500.0, fj.Motor(1.0)), fj.RigidDrive(fj.Motor(0.5))]
    mixed, motion = VSA.with_drives(drives), fj.trajectory.RestToRest(np.zeros(3), [0.4, 0.3, -0.2], 1.0)
    found = stiffness_table(mixed, motion, STIFFEN, 0.1, wrench=[0.0, 0.0, -5.0, 0.0, 0.0, 0.0])
    write_table(found, tmp_path / "x.csv")
    with open(tmp_path / "x.csv", newline="") as file:
        names = [header.split(" ")[0] for header in next(csv.reader(file))]
    assert [x for x in names if ".second" in x or "sigma" in x] == [
        *(f"{x}.joint1" for x in ("sigma", "sigma_lower", "sigma_upper")),
        *(f"{x}.joint1.second" for x in ("theta", "phi", "tau")),
    ]
    assert [x for x in names if x.startswith("tau.")] == [f"tau.{x}" for x in mixed.motor_names[:3]] + [
        "tau.joint1.second"
    ]
    assert relative_error(found.phi_1[:, 1], found.tau_e[:, 1] / 500.0) < 1e-14


def test_a_stiffness_out_of_reach_names_joint_time_and_range():
    low = fj.trajectory.RestToRest(np.full(3, 850.0), np.full(3, 805.0), 1.0)
    motion = fj.trajectory.RestToRest(np.zeros(3), np.zeros(3), 1.0)
    with pytest.raises(fj.NonFiniteError) as error:
        stiffness_table(VSA, motion, low, 0.01)
    tau_e = (6.7858 * 0.15 + 5.0894 * 0.45) * 9.81  # Table I, arm stretched out
    s = np.roots([KC / 4, 0.0, K, -tau_e])
    least = 2 * K + 1.5 * KC * s[np.isreal(s)].real[0] ** 2
    t = np.linspace(0.0, 1.0, 101)
    first = t[low(t, order=0)[0, :, 1] < least][0]
    for words in (f"at t = {first:g} s", "'joint2'", f"with {tau_e:g} on its link", f"reaches from {least:.2f}"):
        assert words in str(error.value)


@pytest.mark.parametrize(
    ("sigma", "words"),
    [
        (fj.trajectory.RestToRest([900.0], [900.0], 1.0), "1 columns; vsa_3r has 3 joints"),
        (fj.trajectory.RestToRest(np.full(3, 900.0), np.full(3, 950.0), 1.0, 0), "not smooth enough"),
    ],
)
def test_stiffnesses_that_do_not_fit_are_refused(sigma, words):
    with pytest.raises(fj.InputError, match=words):
        stiffness_table(VSA, fj.trajectory.RestToRest(np.zeros(3), np.ones(3), 1.0), sigma)


def test_units_of_a_pivot_that_slides():
    pivot, spring = (f"{name}.second" for name in NAMES)
    goal, sigma = (
        fj.trajectory.RestToRest([0.0, 0.0], [0.2, 0.1], 1.0),
        fj.trajectory.RestToRest([950.0] * 2, [1000.0] * 2, 1.0),
    )
    table = stiffness_table(PULLED, goal, sigma, 0.1, uncertain={"*.mass": "5%"})
    headers = [column.header for column in table.columns()]
    for name in (f"theta.{pivot} [m]", f"phi.{pivot} [m]", f"tau.{pivot} [N]", f"tau_bound.{pivot} [N]"):
        assert name in headers
    assert f"tau.{NAMES[0]} [Nm]" in headers and f"phi.{spring} [rad]" in headers
