"""[DeLuca]: C by Christoffel's symbols against Pinocchio, the filter by SciPy, and what `reproduce` writes."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexjoint as fj
from papers import paper_004, reproduce, rigid_runs, two_velocity_recursions
from support.errors import relative_error
from support.evaluate import evaluate
from support.pinocchio_model import pinocchio_coriolis

ROBOT = fj.load("dlr_lwr3")
STATE = np.random.default_rng(0).normal(size=(2, 7))


def test_three_ways_to_C():
    """Christoffel's is Pinocchio's; that of the sweeps has the same symmetric part and the same torque."""
    symbolic, sweeps, ours = (evaluate(way, ROBOT, *STATE) for way in paper_004.WAYS.values())
    C = pinocchio_coriolis(ROBOT, *STATE)
    assert relative_error(symbolic, C) < 1e-13
    assert relative_error(ours, C) < 1e-13
    assert relative_error(sweeps + sweeps.T, C + C.T) < 1e-13
    assert relative_error(sweeps @ STATE[1], C @ STATE[1]) < 1e-13


@pytest.mark.parametrize("written_out", [False, True])
def test_the_interpreter_computes_C(written_out):
    q, v = (ca.SX.sym(name, 7) for name in "qv")
    f = ca.Function("f", [q, v], [ca.densify(paper_004.by_christoffel(ROBOT, q, v))])
    seconds, C = paper_004.interpreted_time(f, STATE, written_out)
    assert seconds > 0 and relative_error(C, pinocchio_coriolis(ROBOT, *STATE)) < 1e-13


def test_vector_products(monkeypatch):
    calls = []
    monkeypatch.setattr(two_velocity_recursions, "cross", lambda a, b: calls.append(1) or ca.cross(a, b))
    paper_004.by_sweeps(ROBOT, *STATE)
    assert len(calls) == paper_004.vector_products(7) == 490 - 7


def test_residual_terms():
    """Both ways are the terms of (6), from functions tested elsewhere against Pinocchio."""
    bare = ROBOT.without_drives()
    p, g = evaluate(fj.mass_matrix, bare, STATE[0]) @ STATE[1], evaluate(fj.gravity_torque, bare, STATE[0])
    expected = np.concatenate([p, g, pinocchio_coriolis(ROBOT, *STATE).T @ STATE[1]])
    for way in (paper_004.residual_by_sweeps, paper_004.residual_terms):
        assert relative_error(evaluate(way, ROBOT, *STATE).ravel(), expected) < 1e-12


@pytest.mark.parametrize("variant", ["0001", "1110", "0000"])
def test_violations_in_floating_point(variant):
    size = paper_004.violation(ROBOT, variant)
    assert size < 1e-14 if variant in paper_004.SKEW else size > 1e-3


def test_the_filter():
    """Against the solution of r' = K (u − r) by SciPy, for a torque that is held and one that moves."""
    t = np.arange(0.0, 0.3, rigid_runs.PERIOD)
    held = np.where((t > 0.05) & (t < 0.1), 2.0, 0.0)[:, None]
    moving = np.sin(40 * t)[:, None]

    def u(s):
        return held[min(int(s / rigid_runs.PERIOD + 1e-9), len(t) - 1), 0] + np.sin(40 * s)

    K = rigid_runs.CUTOFF
    exact = solve_ivp(lambda s, r: K * (u(s) - r), (0.0, t[-1]), [0.0], t_eval=t, max_step=2e-4, rtol=1e-8)
    assert np.abs(rigid_runs.filtered(held, moving)[:, 0] - exact.y[0]).max() < 1e-3


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper_004, "CHAINS", ("RR", "RRR"))
        patch.setattr(paper_004, "LENGTHS", (2, 3, 4))
        patch.setattr(paper_004, "VARIANTS", ("0000", "0001", "0101", "1010", "1110"))
        return reproduce("004", folder), folder


def test_robots_with_the_matrix_of_christoffel():
    """C* by the printed sweeps against Pinocchio's C, which is Christoffel's."""
    for name, robot in paper_004.star_robots().items():
        gaps = []
        for q, v in paper_004.random_states(robot.n, 20):
            C, star = pinocchio_coriolis(robot, q, v), evaluate(two_velocity_recursions.by_sweeps, robot, q, v)
            gaps.append((np.abs(C - star).max(), np.abs(C).max()))
        largest, size = np.array(gaps).max(axis=0)
        assert paper_004.star_difference(robot) == pytest.approx(largest / size, rel=1e-9, abs=1e-14)
        assert (largest / size < 1e-14) == (name in ("planar 3R", "spatial 2R"))


def test_all_factorizations():
    """Between 1110 and 0001 lies Christoffel's: the distance is |s| times that of the printed sweeps."""
    line = paper_004.all_factorizations(ROBOT, members=5)
    q, v = paper_004.random_states(7, 1)[0]
    C, star = pinocchio_coriolis(ROBOT, q, v), evaluate(two_velocity_recursions.by_sweeps, ROBOT, q, v)
    assert np.allclose(line.distance, np.abs(line.s) * np.abs(star - C).max() / np.abs(C).max(), rtol=1e-10)
    assert line.freedom == 7 * 6 * 5 // 6 and max(x.max() for x in line.defects) < 1e-13


@pytest.mark.long
def test_the_report(report):
    found, folder = report
    verdicts = [claim.verdict for claim in found.claims]
    assert verdicts.count("reproduced") == 9 and "not reproduced" not in verdicts
    assert "0001 and 1110" in found.claims[0].here
    assert {path.name for path in found.files} == {
        "robot_dlr_lwr3.png",
        "figure_3_time_of_C.png",
        "sixteen_recursions.png",
        "all_factorizations.png",
        "passivity.png",
        "residual.png",
        "report.md",
        "report.html",
        "claims.csv",
        "added_here.csv",
        "elements_that_violate_22.csv",
        "operations_for_C_over_N.csv",
    }
    assert all((folder / path.name).stat().st_size > 50 for path in found.files)


@pytest.mark.long
def test_elements_of_two_and_three_joints(report):
    """None of 0001 and 1110, all 3 and 6 of the others."""
    rows = {name: (int(two), int(three)) for name, two, three in report[0].grids[0].rows}
    assert all(rows[name] == ((0, 0) if name in paper_004.SKEW else (3, 6)) for name in rows)
