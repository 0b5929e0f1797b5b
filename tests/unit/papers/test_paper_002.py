"""Section V of [VSANEA]: its numbers from Lagrange's equations and the springs' laws written out, and the report."""

from __future__ import annotations

import csv
import math
import re

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from papers import paper_002, reproduce, stiffness_cost, stiffness_plant, stiffness_runs
from support.errors import relative_error
from support.lagrange import rate, transmitted
from support.motors import pairs

ROBOT = fj.load("vsa_3r")
K, KC = 400.0, 2000.0
B, D = np.array([3.20, 3.05, 1.98]), 1e-4  # Table I
DURATION, SAMPLES = 4.0, 801


def ramp(first, last, degree, t):
    """[σ, σ', σ''] of the polynomial of degree 3 or 5 between two values, by hand."""
    x, T, step = t / DURATION, DURATION, last - first
    s, ds, dds = {
        3: (3 * x**2 - 2 * x**3, 6 * x - 6 * x**2, 6 - 12 * x),
        5: (
            10 * x**3 - 15 * x**4 + 6 * x**5,
            30 * x**2 - 60 * x**3 + 30 * x**4,
            60 * x - 180 * x**2 + 120 * x**3,
        ),
    }[degree]
    return [np.tile(y[:, None], 3) for y in (first + step * s, step * ds / T, step * dds / T**2)]


@pytest.fixture(scope="module")
def links():
    """Times, q' and q'' of the motion, and τ_e with two derivatives: a Lagrangian made of 4×4 poses, no recursion."""
    q = [ca.SX.sym(f"q{k}", 3) for k in range(5)]
    tau = [transmitted(ROBOT, *q[:3])]
    for _ in range(2):
        tau.append(rate(tau[-1], q))
    t = np.linspace(0.0, DURATION, SAMPLES)
    x = t / DURATION
    rise = np.polynomial.Polynomial([0, 0, 0, 0, 35, -84, 70, -20])
    stack = [np.outer(rise.deriv(k)(x) / DURATION**k, paper_002.GOAL) for k in range(5)]
    found = ca.Function("links", q, tau).map(SAMPLES)(*(y.T for y in stack))
    return t, stack[1], stack[2], [np.array(y).T for y in found]


def motors(links, sigma):
    """Torques and speeds (m, 2, n) of both motors: Newton's method on (14), then (17)-(23) as they stand."""
    _, v, a, tau_e = links
    phi = np.sqrt((sigma[0] - 2 * K) / (6 * KC)) * np.array([1.0, -1.0])[:, None, None]
    for _ in range(50):
        A, miss = (
            np.array([K + 3 * KC * phi**2, 6 * KC * phi]),
            np.array([(K * phi + KC * phi**3).sum(axis=0) - tau_e[0], (K + 3 * KC * phi**2).sum(axis=0) - sigma[0]]),
        )
        phi = phi - solve(A, miss)
    assert np.max(np.abs(miss)) < 1e-10 * 1e3 and np.all(phi[0] > phi[1])
    phi_v = solve(A, np.array([tau_e[1], sigma[1]]))
    beta = [tau_e[2] - (6 * KC * phi * phi_v**2).sum(axis=0), sigma[2] - (6 * KC * phi_v**2).sum(axis=0)]
    phi_a = solve(A, np.array(beta))
    tau = B * (phi_a + a) + D * (phi_v + v) + K * phi + KC * phi**3
    return np.moveaxis(tau, 0, 1), np.moveaxis(phi_v + v, 0, 1)


def solve(A, b):
    """A (2, 2, m, n), b (2, m, n)."""
    return np.moveaxis(np.linalg.solve(np.moveaxis(A, (0, 1), (2, 3)), np.moveaxis(b, 0, 2)[..., None])[..., 0], 2, 0)


def ours(first, last, degree=3):
    return paper_002.trial(ROBOT, first, last, smoothness=(degree - 1) // 2, samples=SAMPLES)


@pytest.mark.parametrize(("first", "last"), paper_002.TESTS.values(), ids=paper_002.TESTS)
def test_torques_and_energies_of_the_three_tests(links, first, last):
    torques, speeds = motors(links, ramp(first, last, 3, links[0]))
    found = ours(first, last)
    assert relative_error(found.torques, torques) < 1e-11 and relative_error(found.speeds, speeds) < 1e-11
    assert relative_error(found.motors.tau_e, links[3][0]) < 1e-12
    dt = DURATION / (SAMPLES - 1)
    weights = np.full(SAMPLES, dt)
    weights[[0, -1]] /= 2
    assert relative_error(found.effort, np.tensordot(weights, torques**2, 1)) < 1e-11
    assert relative_error(found.work, np.tensordot(weights, np.abs(torques * speeds), 1)) < 1e-10


def test_ends_coincide_only_with_a_smoother_stiffness(links):
    """At rest the ramp differs by B A⁻¹ (0, σ'')."""
    sigma_a = 6 * 425.0 / 16.0
    for first, sample, wanted, tolerance in ((850.0, 0, 0.33, 0.005), (1275.0, -1, 0.11, 0.005)):
        constant = ours(first, first)
        gap = paper_002.gap(ours(850.0, 1275.0), constant, sample)
        phi = math.sqrt((first - 2 * K) / (6 * KC))  # joint 1 bears no torque at rest
        by_hand = B[0] * sigma_a / (12 * KC * phi)
        assert gap.torque == pytest.approx(by_hand, rel=1e-10)
        assert gap.torque == pytest.approx(wanted, abs=tolerance)
        torques, _ = motors(links, ramp(first, first, 3, links[0]))
        assert gap.ratio == pytest.approx(by_hand / np.min(abs(torques[sample, :, 0])), rel=1e-9)
        assert paper_002.gap(ours(850.0, 1275.0, 5), constant, sample).torque < 1e-12


def largest(text):
    """The largest number written with an exponent."""
    return max(float(x) for x in re.findall(r"\d+e-\d+", text))


def test_the_lagrangian_model_accelerates_as_the_library_says():
    rng = np.random.default_rng(0)
    q, v, theta, theta_v, tau = (rng.normal(size=n) for n in (3, 3, 6, 6, 6))
    found = np.array(stiffness_plant.equations()(np.concatenate([q, v, theta, theta_v]), tau))[:, 0]
    a, theta_a = fj.forward_dynamics(ROBOT, q, v, theta, theta_v, tau)
    assert relative_error(found, np.concatenate([v, a, theta_v, theta_a])) < 1e-12
    assert np.allclose(
        stiffness_plant.State(q, v, theta, theta_v).stiffness,
        800 + 6000 * ((theta[:3] - q) ** 2 + (theta[3:] - q) ** 2),
    )


def test_random_motions_are_of_the_papers_kind(monkeypatch):
    monkeypatch.setattr(paper_002, "RANDOM_MOTIONS", 5)
    found = paper_002.random_ratios(ROBOT)
    start, goal = np.random.default_rng(0).uniform(-np.pi / 2, np.pi / 2, (2, 5, 1, 3))
    q = fj.trajectory.RestToRest(start[2, 0], goal[2, 0], 4.0)(np.linspace(0.0, 4.0, 101))
    low, high = (
        np.stack(pairs(ROBOT, fj.inverse_dynamics(ROBOT, *q, stiffness=[np.full(3, x), np.zeros(3), np.zeros(3)])))
        for x in (850.0, 1275.0)
    )
    assert found.peaks[2] == pytest.approx(np.min(abs(high).max(axis=1) / abs(low).max(axis=1)), rel=1e-9)
    assert found.efforts[2] == pytest.approx(np.sum(high**2) / np.sum(low**2), rel=1e-9)


@pytest.mark.long
def test_figures_and_tables_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr(paper_002, "RANDOM_MOTIONS", 20)
    monkeypatch.setattr(paper_002, "SAMPLES", SAMPLES)
    monkeypatch.setattr(stiffness_cost, "SIZES", (2, 3, 4))
    monkeypatch.setattr(stiffness_cost, "load", lambda name: ROBOT)
    for name, value in (("PERIODS", (0.05, 0.1)), ("RUN_SAMPLES", 41)):
        monkeypatch.setattr(paper_002, name, value)
    monkeypatch.setattr(stiffness_runs, "PERIODS", (0.05, 0.1))
    report = reproduce("002", tmp_path)
    assert {f"figure_{k}" for k in range(1, 8)} == {x.name[:8] for x in report.files if x.suffix == ".png"}
    assert all(path.stat().st_size > 0 for path in report.files)
    with open(tmp_path / "claims.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(len(row) == 4 and all(row.values()) for row in rows)
    verdicts = [row["verdict"] for row in rows if "torques of the ramp" in row["claim"]]
    assert verdicts == ["nearly", "nearly"]
    text = (tmp_path / "report.md").read_text()
    by_claim = {row["claim"].split(" ")[0]: row["here"] for row in rows}
    assert largest(by_claim["(19)"]) < 1e-8
    errors = [largest(row["here"]) for row in rows if "realize motion" in row["claim"] or "decoupled" in row["claim"]]
    assert max(errors) < 1e-8
    runs = [row["verdict"] for row in rows if re.search(r"realize motion|decoupled|\(19\)", row["claim"])]
    assert runs == ["reproduced"] * 3
    for expected in ("0.33 Nm apart, 1.3 %", "0.11 Nm apart", "52.716 Nm", "51.855 Nm", "2K = 800"):
        assert expected in text
