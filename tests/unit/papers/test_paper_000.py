"""Section V of [EJNEA]: its numbers from Lagrange's equations and closed forms, and what `reproduce` writes."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.dynamics.recursion.articulated_body import by_articulated_bodies
from flexjoint.dynamics.recursion.composite_bodies import Factors, by_factorization, factorize, solve
from papers import elastic_control, paper_000, reproduce
from papers.operation_counts import Counts, Growth, counts, operations
from support.errors import relative_error
from support.lagrange import rate, transmitted
from support.pinocchio_model import pinocchio_mass_matrix

ROBOT = fj.load("kuka_lwr")
K = np.array([joint.drive.stiffness for joint in ROBOT.joints])
B = np.array([joint.drive.motor.inertia for joint in ROBOT.joints])
MOTION = paper_000.chosen_motion()


# The motion -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lagrangian():
    """τ_e and τ_e'' of the links along the motion, by automatic differentiation of a Lagrangian made of 4×4 poses."""
    q = [ca.SX.sym(f"q{k}", 7) for k in range(5)]
    tau_e = transmitted(ROBOT, *q[:3])
    model = ca.Function("model", q, [tau_e, rate(rate(tau_e, q), q)])
    stack = MOTION(np.linspace(0.0, 4.0, 401))
    return stack, *(np.array(x).T for x in model.map(401)(*(x.T for x in stack)))


def test_peak_speeds_are_those_of_the_paper():
    """A polynomial of degree 7 is 35/16 times faster at half time than on average."""
    speeds = np.rad2deg(35 / 16 * np.abs(MOTION.goal - MOTION.start) / 4.0)
    assert sorted(speeds.round(9)) == [90, 95, 100, 105, 110, 115, 120]
    assert relative_error(np.rad2deg(np.abs(MOTION(2.0, order=1)[1])), speeds) < 1e-14


def test_the_motion_stays_within_the_joint_ranges():
    """±170° and ±120° in turn; joints 1 and 2 of the LWR 4+ turn at 110 °/s at most."""
    q, v = np.rad2deg(MOTION(np.linspace(0.0, 4.0, 401), order=1))
    assert np.all(np.abs(q).max(axis=0) <= [170, 120, 170, 120, 170, 120, 170])
    assert np.all(np.abs(v).max(axis=0)[:2] <= 110 + 1e-9)


def test_deflections_reach_three_degrees(lagrangian):
    _, tau_e, _ = lagrangian
    deflection = np.rad2deg(np.abs(tau_e / K).max(axis=0))
    assert deflection.max() == pytest.approx(3.0, abs=0.2)
    assert deflection.argmax() == 1


def test_differences_to_rigid_joints_are_as_the_report_says(lagrangian):
    """τ − τ_r = B K⁻¹ τ_e''  [EJNEA (2), (11)]: 2 to 5 % of the peak torque at joints 1, 3 and 4 only."""
    stack, tau_e, tau_e_a = lagrangian
    difference = B / K * tau_e_a
    torque = tau_e + B * stack[2] + difference
    ratio = 100 * np.abs(difference).max(axis=0) / np.abs(torque).max(axis=0)
    assert [i + 1 for i, x in enumerate(ratio) if 2 < x < 5] == [1, 3, 4]
    assert all(ratio[4:] < 0.7)
    shown = paper_000.peaks(torque, torque - difference, tau_e / K)
    assert relative_error(shown.difference, ratio) < 1e-13
    table = paper_000.motor_table(ROBOT, MOTION, paper_000.PERIOD, rigid=True)
    assert relative_error(table.tau, torque) < 1e-12
    assert relative_error(table.tau - table.tau_rigid, difference) < 1e-11


def test_the_rigid_limit(lagrangian):
    """τ − τ_rigid = B K⁻¹ τ_e'' for every K: in proportion to 1/K."""
    stack, tau_e, tau_e_a = lagrangian
    limit = paper_000.rigid_limit(ROBOT, MOTION)
    at = slice(None, None, 10)  # the same 41 times
    rigid = np.abs((tau_e + B * stack[2])[at]).max(axis=0)
    expected = np.abs(B / K * tau_e_a[at]).max(axis=0) / rigid
    assert relative_error(limit[0], expected) < 1e-11
    assert np.allclose(limit * paper_000.FACTORS[:, None], expected, rtol=1e-3)
    assert paper_000.limit_claim(limit).verdict == "reproduced"


def test_joint_7_cannot_differ_by_two_percent():
    """Its link is symmetric about its axis: τ_e = I_zz ω_z', which the spring passes with B/K d²/dt² only.

    Over all motions found by search the ratio stays near I_zz ω_z''' / (K q''), two orders below 2 %.
    """
    last = ROBOT.links[6]
    assert np.allclose(last.com[:2], 0.0) and last.inertia[0, 0] == last.inertia[1, 1]
    q = [ca.SX.sym(f"q{k}", 7) for k in range(3)]
    pose = fj.forward_kinematics(ROBOT.without_drives(), q[0], link=last.name)
    R = pose.rotation
    spin = ca.vertcat(*[rate(R[:, 1], q).T @ R[:, 0]])  # −ω_z of the body
    model = ca.Function("model", q, [-last.inertia[2, 2] * rate(spin, q), transmitted(ROBOT, *q)[6]])
    x = np.random.default_rng(0).normal(size=(3, 7))
    by_symmetry, by_lagrange = (float(value) for value in model(*x))
    assert abs(by_symmetry - by_lagrange) < 1e-12 * abs(by_lagrange)


def test_random_motions_are_of_the_papers_kind():
    motions = paper_000.random_motions((50, 7), np.random.default_rng(1))
    speeds = np.rad2deg(np.abs(motions.speed))
    assert speeds.min() >= 90 and speeds.max() <= 120
    ends = np.rad2deg([motions.start, motions.start + 64 / 35 * motions.speed])
    assert np.all(np.abs(ends) <= np.array([170, 120, 170, 120, 170, 120, 170]) + 1e-9)
    assert np.ptp(ends[0], axis=0).min() > 50
    single = fj.trajectory.RestToRest(motions.start[3], motions.start[3] + 64 / 35 * motions.speed[3], 4.0)
    stack = single(np.linspace(0.0, 4.0, 101))
    tau, stiff = fj.inverse_dynamics(ROBOT, *stack), fj.inverse_dynamics(ROBOT.rigid(), *stack)
    ratio = 100 * np.abs(tau - stiff).max(axis=0) / np.abs(tau).max(axis=0)
    assert relative_error(motions.peaks(ROBOT).difference[3], ratio) < 1e-9


def test_the_other_reading_mirrors_two_centres_of_mass():
    """In DH frames 1 and 5 only y changes its sign."""
    for i, (link, other) in enumerate(zip(ROBOT.links, paper_000.other_reading(ROBOT).links)):
        moved = np.array(other.com) - np.array(link.com)
        y = {0: 0.087777, 4: 0.11165}.get(i, 0.0)
        assert np.allclose(moved, [0.0, 0.0, -2 * y], atol=1e-15)


def test_the_symbolic_model_agrees():
    gap = paper_000.lagrangian_gap(ROBOT, MOTION, samples=5)
    assert gap.difference < 1e-13
    assert gap.recursion < gap.lagrangian


@pytest.mark.parametrize("n", [2, 4])
def test_chains_of_increasing_complexity_agree_with_poses(n):
    """Sliding joints among them; the model is made of 4×4 poses, not of energies of ours."""
    robot, motion = paper_000.chain(n), paper_000.sweeping(paper_000.chain(n))
    q = [ca.SX.sym(f"q{k}", n) for k in range(5)]
    tau_e = transmitted(robot, *q[:3])
    model = ca.Function("model", q, [tau_e, rate(rate(tau_e, q), q)])
    stack = motion(np.linspace(0.0, 4.0, 9))
    load, curve = (np.array(x).T for x in model.map(9)(*(x.T for x in stack)))
    inertia, stiffness = (
        np.array([getattr(joint.drive, name) for joint in robot.joints]) for name in ("motor", "stiffness")
    )
    friction = np.array([motor.viscous_friction for motor in inertia])
    inertia = np.array([motor.inertia for motor in inertia])
    assert not np.any(friction)
    expected = load + inertia * (stack[2] + curve / stiffness)
    assert relative_error(fj.inverse_dynamics(robot, *stack), expected) < 1e-12
    gap = paper_000.lagrangian_gap(robot, motion, samples=5)
    assert gap.difference < 1e-13 and len(gap.joints) == n
    assert n < 4 or "P" in gap.joints


# The closed loop --------------------------------------------------------------------------------------------------

ARM = fj.random_robot(2, 5, prismatic=0.0, name="arm").with_drives(
    [fj.ElasticDrive(400.0, fj.Motor(0.5)), fj.ElasticDrive(250.0, fj.Motor(0.3))]
)
SHORT = fj.trajectory.RestToRest([0.3, -0.6], [0.8, 0.1], 0.3)


@pytest.fixture(scope="module")
def loops():
    """Closed loops of a small robot, sampled slowly."""
    small = {"LOOP_PERIOD": 1e-3, "POLE": 25.0, "ERRORS": (0.0, 0.1)}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in small.items():
            patch.setattr(elastic_control, name, value)
        yield elastic_control.closed_loops(ARM, SHORT)


def test_tuned_poles_are_those_of_the_springs():
    """Where spring i alone acts, φ'' = −(M⁻¹_ii + 1/B) K φ: its eigenvalues by a matrix of states."""
    gains = elastic_control.pole_sets(ROBOT, MOTION)["tuned poles"]
    M = pinocchio_mass_matrix(ROBOT, MOTION(2.0, 0)[0])
    for i in (1, 6):
        unit = np.eye(7)[i]
        a, b = np.linalg.solve(M, unit)[i] * K[i], K[i] / B[i]
        states = np.zeros((4, 4))  # of q_i, θ_i and their velocities
        states[0, 2] = states[1, 3] = 1.0
        states[2, :2], states[3, :2] = [-a, a], [b, -b]
        frequency = np.abs(np.linalg.eigvals(states)).max()
        poles = np.roots([1.0, *gains[::-1, i]])
        oscillating = np.abs(poles.imag) > 1e-3 * np.abs(poles)
        fast, slow = poles[oscillating], poles[~oscillating]
        assert np.allclose(np.abs(fast), frequency, rtol=1e-6) and np.allclose(-fast.real / np.abs(fast), 0.8)
        assert np.allclose(slow, -100.0, rtol=1e-4)


@pytest.mark.long
def test_wrong_models_are_other_robots(loops):
    """Robots with other masses and springs, made one by one, under the controller of the nominal one."""
    gains = fj.control.gains_from_poles([-25.0] * 4)
    for measured, k in (("q tau_e", 1), ("theta tau_e", 2)):
        mass, stiffness = elastic_control.SIGNS[k]
        controller = fj.control.FeedbackLinearization(ARM, gains, 1e-3, measured)
        links = [replace(x, mass=(1 + 0.1 * mass) * x.mass) for x in ARM.links]
        drives = [replace(j.drive, stiffness=(1 + 0.1 * stiffness) * j.drive.stiffness) for j in ARM.joints]
        robot = ARM.replace(links=links).with_drives(drives)
        start = fj.simulation.at_rest(robot, SHORT.start)
        run = fj.simulate(robot, controller, SHORT, start=start, check=False)
        error = loops["equal poles", measured].wrong[1, k]
        assert np.rad2deg(np.abs(run.error).max()) == pytest.approx(error, rel=1e-6)
    assert all(np.isfinite(x.exact).all() for x in loops.values())


@pytest.mark.long
def test_sensor_sets_agree_and_errors_decay(loops, monkeypatch):
    monkeypatch.setattr(elastic_control, "POLE", 25.0)
    claims = elastic_control.loop_claims(loops, elastic_control.decay_gap(ARM, SHORT))
    assert [x.verdict for x in claims] == ["reproduced"] * 3


def test_runs_that_diverge_are_reported():
    errors = np.array([[0.1] * 4, [0.2, np.inf, 0.3, np.inf]])
    loop = elastic_control.Loop(np.zeros(1), errors, np.zeros((1, 2)))
    assert [loop.text(k) for k in range(2)] == ["0.1", "2 of 4 diverge"]
    assert loop.diverges == elastic_control.ERRORS[1]


# Operations -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def counted():
    """All parts of two chains, of longer ones the mass matrix; recursions are lines, as a test below confirms."""
    short, seven = (counts(chain(n)) for n in (4, 7))
    found = {4: short, 7: seven}
    for n in (10, 11, 12, 13):
        slopes = [(y - x) // 3 for x, y in zip(short, seven)]
        program, _ = fj.mass_matrix.trace(chain(n), fj.mass_matrix.structure(chain(n)))
        found[n] = Counts(*(y + (n - 7) * k for y, k in zip(seven, slopes)))._replace(crba=program.operations)
    return found


def chain(n):
    return fj.random_robot(n, seed=1, prismatic=0.0, elastic=1.0)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_factorization_and_solution_take_as_many_operations_as_counted(n):
    parents = list(range(-1, n - 1))
    below = n * (n - 1) // 2

    def factors(x):
        place = iter(range(x.numel()))
        L, D = factorize([{j: x[next(place)] for j in range(i + 1)} for i in range(n)], parents)
        return ca.vertcat(*D, *[value for row in L for value in row.values()])

    def solution(x, d, b):
        place = iter(range(below))
        L = [{j: x[next(place)] for j in range(i)} for i in range(n)]
        return solve(Factors(L, [d[i] for i in range(n)]), parents, b)

    expected = Counts(n, *[0] * 8)
    assert operations(factors, n * (n + 1) // 2) == expected.factorization
    assert operations(solution, max(below, 1), n, n) == expected.solution


def test_forward_dynamics_is_the_sum_of_its_parts(counted):
    links = chain(4).without_drives()
    assert operations(lambda *x: by_factorization(links, *x), 4, 4, 4) == counted[4].forward


def test_growth_foretells_longer_chains(counted):
    growth = Growth(counted)
    robot = chain(18)
    for algorithm, part in (
        (fj.mass_matrix, "crba"),
        (fj.torque_derivatives, "ejnea2"),
        (fj.inverse_dynamics, "ejnea"),
    ):
        program, _ = algorithm.trace(robot, algorithm.structure(robot))
        assert program.operations == getattr(growth(18), part)
    aba = operations(lambda *x: by_articulated_bodies(chain(10).without_drives(), *x), 10, 10, 10)
    assert aba == growth(10).aba
    assert abs(growth.exponent("ejnea", 1000) - 1) < 1e-3
    assert abs(growth.exponent("crba", 1000) - 2) < 0.1
    assert abs(growth.exponent("factorization", 1000) - 3) < 1e-2
    assert growth.first(lambda c: c.n >= 23) == 23


def test_counts_that_are_no_polynomial_are_noticed(counted):
    wrong = {**counted, 7: counted[7]._replace(ejnea=counted[7].ejnea + 1)}
    with pytest.raises(ValueError, match="ejnea"):
        Growth(wrong)


# The report ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_figures_and_tables_are_written(counted, loops, tmp_path, monkeypatch):
    monkeypatch.setattr(paper_000, "closed_loops", lambda robot, motion: loops)
    monkeypatch.setattr(paper_000, "decay_gap", lambda robot, motion: 1e-10)
    monkeypatch.setattr(paper_000, "loop_figure", lambda drawings, loops: None)
    known = {"kuka_lwr": counts(ROBOT), **{f"random_{n}_1": x for n, x in counted.items()}}
    monkeypatch.setattr(paper_000, "counts", lambda robot: known[robot.name])
    monkeypatch.setattr(paper_000, "SIZES", tuple(counted))
    monkeypatch.setattr(paper_000, "RANDOM_MOTIONS", 60)
    monkeypatch.setattr(paper_000, "COMPLEXITY", (1, 3))
    monkeypatch.setattr(elastic_control, "ERRORS", (0.0, 0.1))
    steps = []
    report = reproduce("000", tmp_path / "new" / "folder", steps.append)
    assert steps and all(path.stat().st_size > 0 for path in report.files)
    names = {path.name for path in report.files}
    assert {f"figure_{k}" for k in range(1, 6)} <= {name[:8] for name in names}
    assert {"report.md", "report.html", "claims.csv", "added_here.csv", "increasing_complexity.csv"} <= names
    assert {"robot_kuka_lwr.png", "growth.png", "differences_by_joint.png", "rigid_limit.png"} <= names
    outcomes = {x.here[-7:]: x.verdict for x in report.claims if "of the peak torque (Fig. 5)" in x.claim}
    assert list(outcomes.values()) == ["reproduced", "not reproduced", "out of reach"]
    text = (tmp_path / "new" / "folder" / "report.md").read_text()
    for expected in ("2.81° at joint 2", "33.258 µs", "O(N³)", "N = 10", "1955"):
        assert expected in text
    assert all(all(row) for row in report.claims)
