"""Loops of hysteresis, flights through a gap and balances of energy with solutions in closed form."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexjoint as fj
from flexjoint.drives import BoucWen, Dahl

T, SIGMA, K, M, B = 2.0, 500.0, 300.0, 0.4, 0.1


def slider(**gear):
    """A mass on a horizontal rail behind a spring: M q'' = τ_e, B θ'' = τ − τ_e."""
    drive = fj.ElasticDrive(K, fj.Motor(B), **gear)
    link = fj.Link("cart", fj.Joint("rail", "prismatic", drive=drive), mass=M)
    return fj.Robot("slider", (link,), gravity=(0.0, 0.0, 0.0), allow_unphysical=True)


def evaluated(law, name, z, phi_v):
    """A function of a law, in numbers."""
    return float(getattr(law, name)(z, phi_v))


def released(robot, phi, duration, **options):
    """Both bodies at rest, the spring deflected."""
    start = fj.JointState(*np.array([[0.0], [0.0], [phi], [0.0]]))
    return fj.simulate(robot, fj.control.OpenLoop(robot), [0.0], duration, start=start, **options)


def test_dahl_between_reversals():
    """dz/dφ = (σ/T) (1 − s z) with s = sign φ': z = s + (z₀ − s) exp(−s σ (φ − φ₀)/T), whatever the motion in time."""
    run = released(slider(hysteresis=Dahl(T, SIGMA)), 0.03, 0.4, period=2e-5)
    phi, phi_v, z = (x[:, 0] for x in (run.theta - run.q, run.theta_v - run.v, run.more["hysteresis"]))
    turns = [0, *np.flatnonzero(np.diff(np.sign(phi_v[1:]))) + 2, len(phi)]
    assert len(turns) > 6
    for first, last in pairwise(turns):
        piece, s = slice(first + 1, last - 1), np.sign(phi_v[(first + last) // 2])
        z0, phi0 = z[first + 1], phi[first + 1]
        wanted = s + (z0 - s) * np.exp(-s * SIGMA * (phi[piece] - phi0) / T)
        assert np.max(np.abs(z[piece] - wanted)) < 1e-10
    assert np.max(np.abs(z)) > 0.9


@pytest.mark.parametrize("amplitude", [0.002, 0.02])
def test_area_of_dahls_loop(amplitude):
    """A wide enough loop settles to z = ±tanh(σA/T) at its ends and loses 4T (A − (T/σ) tanh(σA/T)) per cycle."""
    law = Dahl(T, SIGMA)

    def flow(t, x):
        z, phi_v = x[0], amplitude * np.cos(t)
        return [evaluated(law, "rate", z, phi_v), evaluated(law, "dissipation", z, phi_v)]

    cycles = np.pi / 2 + 2 * np.pi * np.arange(40)
    found = solve_ivp(flow, (0, cycles[-1]), [0.0, 0.0], "DOP853", cycles[-2:], rtol=1e-10, atol=1e-11, max_step=0.2)
    end = np.tanh(SIGMA * amplitude / T)
    assert found.y[0, -1] == pytest.approx(end, abs=1e-7)
    assert found.y[1, -1] - found.y[1, -2] == pytest.approx(4 * T * (amplitude - T / SIGMA * end), rel=1e-6)


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.0, 5.0])
@pytest.mark.parametrize("reversal", [1.0, 1.7, 2.0, 3.0])
def test_what_the_numbers_mean(exponent, reversal):
    """σ is the first slope, T the last torque, `reversal` the slope after it; nothing ever gives energy."""
    law = BoucWen(T, SIGMA, exponent, reversal)
    assert evaluated(law, "rate", 0.0, 1.0) == pytest.approx(SIGMA / T, rel=1e-14)
    assert evaluated(law, "rate", 1.0, 1.0) == pytest.approx(0.0, abs=1e-12)
    assert evaluated(law, "rate", 1.0, -1.0) == pytest.approx(-reversal * SIGMA / T, rel=1e-14)
    steepest = max(T * evaluated(law, "rate", z, x) / x for z in np.linspace(-1, 1, 41) for x in (-1.0, 1.0))
    assert law.steepest == pytest.approx(steepest, rel=1e-14)
    assert min(evaluated(law, "dissipation", z, x) for z in np.linspace(-1, 1, 41) for x in (-1.0, 1.0)) > -1e-15


def test_dahl_is_a_case_of_bouc_and_wen():
    pairs = [(z, x) for z in (-0.9, 0.0, 0.4) for x in (-2.0, 0.0, 3.0)]
    one, other = ([evaluated(law, "slip", *x) for x in pairs] for law in (Dahl(T, SIGMA), BoucWen(T, SIGMA, 1.0, 2.0)))
    assert one == other


@pytest.mark.parametrize("integrator, tolerance", [("runge_kutta", 1e-6), ("midpoint", 1e-4)])
def test_flights_through_a_gap(integrator, tolerance):
    """Contact for half a period of √(K/μ), flight through the gap at a constant rate: the cycle takes their sum."""
    gap, beyond, mu = 0.01, 0.02, M * B / (M + B)
    omega = np.sqrt(K / mu)
    cycle = 2 * np.pi / omega + 2 * gap / (omega * beyond)
    run = released(slider(backlash=gap), gap / 2 + beyond, 1.01 * cycle, period=cycle / 1000, integrator=integrator)
    phi, phi_v = run.theta[1000, 0] - run.q[1000, 0], run.theta_v[1000, 0] - run.v[1000, 0]
    assert abs(phi - gap / 2 - beyond) < tolerance * beyond and abs(phi_v) < 10 * tolerance * omega * beyond
    flight = run.theta[:, 0] - run.q[:, 0]
    assert np.array_equal(run.more["spring_torque"][:, 0] == 0, np.abs(flight) <= gap / 2)


ARM = fj.random_robot(3, 21, prismatic=0.3)
LOSSY = ARM.with_drives(
    [
        fj.ElasticDrive(300.0, fj.Motor(0.5), hysteresis=Dahl(T, 400.0), backlash=2e-3),
        fj.RigidDrive(fj.Motor(0.2)),
        fj.ElasticDrive(200.0, fj.Motor(0.5), hysteresis=BoucWen(1.0, 300.0, 2.0)),
    ]
)


def test_energy():
    """Kinetic, gravity's, elastic and lost energy together grow by the work of the motors, to the order of steps."""
    start, tau, left = fj.JointState(*np.random.default_rng(2).uniform(-0.5, 0.5, (4, 3))), np.array([2.0, -1, 1.5]), []
    start = start._replace(theta=start.q + 0.01 * start.theta)
    for substeps in (1, 4):
        run = fj.simulate(LOSSY, fj.control.OpenLoop(LOSSY), tau, 0.5, period=1e-3, substeps=substeps, start=start)
        q, v, theta, theta_v = run.states
        laws = {i: LOSSY.joints[i].drive.hysteresis for i in LOSSY.hysteretic}
        stored = sum(law.torque**2 / (2 * law.stiffness) * run.more["hysteresis"][:, i] ** 2 for i, law in laws.items())
        lost = run.more["dissipated"]
        energy = fj.kinetic_energy(LOSSY, q, v, theta_v, motors=True) + fj.gravity_energy(LOSSY, q)
        energy += fj.dynamics.spring_energy(LOSSY, q, theta) + stored + lost.sum(axis=1) - (theta - theta[0]) @ tau
        left.append(np.max(np.abs(energy - energy[0])))
        assert np.min(np.diff(lost, axis=0)) > -1e-15 and lost[-1, 0] > 0.05 and lost[-1, 1] == 0 and lost[-1, 2] > 0.01
    assert left[0] < 1e-3 and left[0] / left[1] > 0.6 * 4**2
