"""Section V of [VSANEA]: its numbers from Lagrange's equations and the springs' laws written out, and the report."""

from __future__ import annotations

import math
import re

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import flexjoint as fj
from papers import paper_002, reproduce, stiffness_runs
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
    found = np.array(stiffness_runs.equations()(np.concatenate([q, v, theta, theta_v]), tau))[:, 0]
    a, theta_a = fj.forward_dynamics(ROBOT, q, v, theta, theta_v, tau)
    assert relative_error(found, np.concatenate([v, a, theta_v, theta_a])) < 1e-12
    assert np.allclose(
        stiffness_runs.State(q, v, theta, theta_v).stiffness,
        800 + 6000 * ((theta[:3] - q) ** 2 + (theta[3:] - q) ** 2),
    )


def test_random_motions_are_of_the_papers_kind(monkeypatch):
    monkeypatch.setattr(paper_002, "RANDOM_MOTIONS", 5)
    ratio = paper_002.random_peaks(ROBOT)
    start, goal = np.random.default_rng(0).uniform(-np.pi / 2, np.pi / 2, (2, 5, 1, 3))
    q = fj.trajectory.RestToRest(start[2, 0], goal[2, 0], 4.0)(np.linspace(0.0, 4.0, 101))
    low, high = (
        np.stack(pairs(ROBOT, fj.inverse_dynamics(ROBOT, *q, stiffness=[np.full(3, x), np.zeros(3), np.zeros(3)])))
        for x in (850.0, 1275.0)
    )
    assert ratio[2] == pytest.approx(np.min(abs(high).max(axis=1) / abs(low).max(axis=1)), rel=1e-9)


def largest_torque(sigma):
    """Largest |τ_e| on the circle of the deflections with this stiffness, by Brent's method  [VSANEA (29), (30)]."""
    R = math.sqrt((sigma - 2 * K) / (3 * KC))

    def torque(xi):
        phi = R * np.array([math.cos(xi), math.sin(xi)])
        return float((K * phi + KC * phi**3).sum())

    fits = [
        minimize_scalar(lambda x: -torque(x), bounds=ends, method="bounded") for ends in ((-1, 0.785), (0.785, 2.6))
    ]
    return max(torque(math.pi / 4), *(-fit.fun for fit in fits))


def test_the_bound_is_exact_up_to_4K_and_exceeded_beyond():
    bounds = paper_002.torque_bounds(ROBOT)
    expected = [largest_torque(sigma) for sigma in paper_002.STIFFNESSES]
    assert np.allclose(bounds.closed, expected, rtol=1e-9) and np.allclose(bounds.search, expected, rtol=1e-9)
    beyond = paper_002.STIFFNESSES > 4 * K
    assert np.all((bounds.closed > bounds.bound * (1 + 1e-3)) == beyond)
    assert paper_002.printed_bound(850.0) == pytest.approx(51.855, abs=5e-4)
    assert paper_002.exact_bound(850.0)[1] == pytest.approx(52.716, abs=5e-4)


def test_below_the_least_stiffness_there_is_no_solution():
    """Gravity of the stretched arm by hand: 0.15 m and 0.45 m to the centres of mass."""
    least, tau_e = paper_002.stiffness_limit(ROBOT)
    assert tau_e == pytest.approx(9.81 * (6.7858 * 0.15 + 5.0894 * 0.45), rel=1e-12)
    assert largest_torque(least - 0.1) < tau_e <= largest_torque(least)


@pytest.mark.long
def test_figures_and_tables_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr(paper_002, "RANDOM_MOTIONS", 20)
    monkeypatch.setattr(paper_002, "SAMPLES", SAMPLES)
    monkeypatch.setattr(paper_002, "SIZES", (2, 3, 4))
    monkeypatch.setattr(paper_002, "RUN_SAMPLES", 41)
    for module in (paper_002, stiffness_runs):
        monkeypatch.setattr(module, "PERIODS", (0.025, 0.05))
    report = reproduce("002", tmp_path)
    pictures = {x.name for x in report.files if x.suffix == ".png"}
    assert {f"figure_{k}.png" for k in range(1, 5)} < pictures and len(pictures) == 9
    assert all(path.stat().st_size > 0 for path in report.files)
    assert all(all(claim) for claim in report.claims)
    assert [x.verdict for x in report.claims if "torques of the ramp" in x.claim] == ["nearly", "nearly"]
    runs = [x for x in report.claims if re.search(r"realize motion|decoupled|\(19\)", x.claim)]
    assert [x.verdict for x in runs] == ["reproduced"] * 3
    assert max(largest(x.here) for x in runs) < 1e-8
    text = (tmp_path / "report.md").read_text()
    for expected in ("0.33 Nm apart, 1.3 %", "0.11 Nm apart", "52.716 Nm", "51.855 Nm", "800 Nm/rad"):
        assert expected in text
