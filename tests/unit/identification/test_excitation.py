"""Exciting motions: condition numbers over Pinocchio's regressor, limits by dense sampling with Pinocchio, rest."""

import tomllib

import numpy as np
import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app
from flexjoint.identification import exciting_motion
from flexjoint.identification.excitation_search import Search
from flexjoint.identification.information import Information
from flexjoint.identification.motion_limits import LimitPenalty
from flexjoint.identification.resonance_motion import sines, spring_bands

pin = pytest.importorskip("pinocchio")

PANDA = fj.load("panda")


@pytest.fixture(scope="module")
def panda():
    return exciting_motion(PANDA, 10.0, iterations=15)


def pinocchio_condition(robot, motion, weights, samples=150):
    """Of Pinocchio's [regressor, v, tanh v, a] without dependent columns: condition, deviation and number of columns.

    Rows are divided by weights (n,).  The condition has columns of length 1; the deviation is the geometric mean
    of the parameters' standard deviations, up to a factor that does not depend on the choice of the columns.
    """
    model = fj.formats.to_pinocchio(robot.without_drives().without_friction())
    data = model.createData()
    t = motion.duration * np.arange(samples) / samples
    q, v, a = motion(t, 2)

    def matrix(q, v, a):
        links = np.array([pin.computeJointTorqueRegressor(model, data, *row).copy() for row in zip(q, v, a)])
        own = [np.einsum("mi,ij->mij", x, np.eye(robot.n)) for x in (v, np.tanh(v / 0.05), a)]
        return (np.concatenate([links, *own], axis=2) / weights[:, None]).reshape(len(q) * robot.n, -1)

    random = matrix(*np.random.default_rng(5).normal(size=(3, 200, robot.n)))
    independent = []  # of the columns before: pivots would depend on the processor, since many are equally long
    basis = np.zeros((len(random), 0))
    sizes = np.linalg.norm(random, axis=0)
    for k, column in enumerate((random / np.maximum(sizes, 1e-6 * sizes.max())).T):
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)
        if np.linalg.norm(rest) > 1e-6:
            independent.append(k)
            basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
    rank = len(independent)
    chosen = matrix(q, v, a)[:, independent]
    values = np.linalg.svd(chosen / np.linalg.norm(chosen, axis=0), compute_uv=False)
    deviation = np.exp(-np.sum(np.log(np.linalg.svd(chosen, compute_uv=False))) / rank)
    return values[0] / values[-1], deviation, rank


@pytest.mark.long
def test_it_tells_more_than_random_motions(panda):
    """By Pinocchio's regressor, whose columns are others.  The search raises the determinant, that is, lowers the mean
    deviation; the condition number follows, but not in proportion, and depends on the choice of the columns."""
    search = Search(PANDA, 7.5, 6, 0.1, 1.0)
    random = np.random.default_rng(1)
    motions = [search.fitted(search.start(random)) for _ in range(5)]
    weights = search.information.torques
    conditions, deviations, _ = zip(*(pinocchio_condition(PANDA, x, weights) for x in motions))
    condition, deviation, rank = pinocchio_condition(PANDA, panda.pieces["links"], weights)
    assert condition < 0.3 * np.median(conditions) and deviation < 0.6 * min(deviations)
    assert rank == len(panda.names) and "panda_joint1.motor_inertia" not in panda.names, "it is one with its link's"
    assert panda.condition < panda.random_condition and panda.deviation < 0.6


def test_the_regressor_is_that_of_pinocchio():
    """Spanned by the same columns."""
    information = Information(PANDA, np.ones((3, 7)))
    q, v, a = np.random.default_rng(2).normal(size=(3, 40, 7))
    model = fj.formats.to_pinocchio(PANDA.without_drives())
    data = model.createData()
    own = information.regressor(q, v, a) * information.torques[:, None]
    theirs = np.concatenate([pin.computeJointTorqueRegressor(model, data, *row).copy() for row in zip(q, v, a)])
    flat = own.reshape(280, -1)
    rest = theirs - flat @ np.linalg.lstsq(flat, theirs, rcond=None)[0]
    assert np.abs(rest).max() < 1e-9 * np.abs(theirs).max()


def test_it_keeps_all_limits_at_dense_samples(panda):
    """Motor torques of elastic joints from Pinocchio: τ_e = rnea, θ = q + τ_e/K, τ = τ_e + B θ'' with differences."""
    motion = panda.trajectory
    t = np.linspace(0.0, motion.duration, 40_001)
    q, v, a, jerk, _ = motion(t, 4)
    limits = PANDA.joint_limits
    for x, low, high in (
        (q, [x.lower for x in limits], [x.upper for x in limits]),
        (v, [-x.velocity for x in limits], [x.velocity for x in limits]),
        (a, [-x.acceleration for x in limits], [x.acceleration for x in limits]),
        (jerk, [-x.jerk for x in limits], [x.jerk for x in limits]),
    ):
        assert np.all(x >= low) and np.all(x <= high)
    model = fj.formats.to_pinocchio(PANDA.without_drives())
    data = model.createData()
    torque = np.array([pin.rnea(model, data, *row) for row in zip(q, v, a)])
    stiffness = np.array([joint.drive.stiffness for joint in PANDA.joints])
    inertia = np.array([joint.drive.motors[0].inertia for joint in PANDA.joints])
    deflection_a = np.gradient(np.gradient(torque / stiffness, t, axis=0), t, axis=0)
    motors = torque + inertia * (a + deflection_a)
    share = np.abs(motors[5:-5]) / np.array(PANDA.motor_efforts)
    assert share.max() < 1.0
    assert fj.trajectory.check_feasibility(PANDA, motion).feasible


def test_it_starts_and_ends_at_rest(panda):
    motion = panda.trajectory
    assert motion.duration == pytest.approx(10.0) and motion.smoothness >= 4
    ends = motion(np.array([0.0, motion.duration]), 4)
    largest = np.abs(motion(np.linspace(0.0, motion.duration, 2001), 4)).max(axis=(1, 2))
    assert np.abs(ends[1:]).max(axis=(1, 2)) == pytest.approx(np.zeros(4), abs=1e-9 * largest.max())
    assert np.allclose(ends[0, 0], ends[0, 1], atol=1e-12)


def test_the_springs_are_shaken_at_their_resonance(panda):
    """Energy of the deflections of the first part lies in the band of each joint; by FFT."""
    part = panda.pieces["springs"]
    bands = spring_bands(PANDA, part(0.0, 0)[0])
    t = np.linspace(0.0, part.duration, 4096, endpoint=False)
    q = part(t, 0)[0] - part.offset
    excited = [i for i in bands if np.ptp(q[:, i]) > 0]
    assert len(excited) >= 5 and any("panda_joint7" in x for x in panda.notes)
    for i in excited:
        power = np.abs(np.fft.rfft(q[:, i])) ** 2
        f = np.arange(power.size) / part.duration
        inside = (f > 0.5 * bands[i][0]) & (f < 1.3 * bands[i][1])
        assert power[inside].sum() > 0.98 * power.sum()


def test_windowed_sines_are_products():
    q = np.array([0.3, -0.2])
    motion = sines({1: [9, 13]}, np.array([0.0, 0.01]), q, 2.0)
    t = np.linspace(0.0, 2.0, 301)
    window = (1 - np.cos(np.pi * t)) ** 3 / 8
    wanted = window * 0.01 * (np.sin(9 * np.pi * t) + (9 / 13) ** 2 * np.sin(13 * np.pi * t))
    assert np.allclose(motion(t, 0)[0], q + np.outer(wanted, [0.0, 1.0]), atol=1e-15)


def test_gradients():
    """Of the information and of the limits, against differences along random directions."""
    search = Search(PANDA, 4.0, 5, 0.1, 1.0)
    random = np.random.default_rng(0)
    x, step = 2 * search.start(random).ravel(), 1e-6 * random.normal(size=7 * search.series.free)
    for weight in (0.0, 100.0):
        slope = search.value(x, weight)[1] @ step
        change = (search.value(x + step, weight)[0] - search.value(x - step, weight)[0]) / 2
        assert slope == pytest.approx(change, rel=2e-3)
    assert LimitPenalty(PANDA, 0.1, np.ones((5, 7)))(search.series.stack(x.reshape(7, -1)))[0] > 0, "limits count"


def test_the_same_seed_gives_the_same_motion():
    robot = fj.load("hua_3r")
    one, two, other = (exciting_motion(robot, 6.0, iterations=2, seed=seed).pieces["links"] for seed in (1, 1, 2))
    assert np.array_equal(one.amplitude, two.amplitude) and not np.array_equal(one.amplitude, other.amplitude)


def test_an_interrupted_search_returns_the_best_so_far(monkeypatch):
    calls = []
    whole = Search.value

    def interrupted(self, x, weight):
        calls.append(weight)
        if len(calls) > 20:
            raise KeyboardInterrupt
        return whole(self, x, weight)

    monkeypatch.setattr(Search, "value", interrupted)
    with pytest.warns(fj.FlexjointWarning, match="was interrupted: this is the best motion so far"):
        found = exciting_motion(fj.load("hua_3r"), 6.0)
    assert len(calls) == 21 and 0 < found.deviation <= 1


def test_files_come_back(tmp_path, panda):
    panda.write(tmp_path / "motion.toml")
    panda.write(tmp_path / "motion.csv")
    back = fj.trajectory.load_trajectory(tmp_path / "motion.toml", PANDA)
    t = np.linspace(0.0, 10.0, 101)
    assert np.array_equal(back(t, 4), panda.trajectory(t, 4))
    assert [x["kind"] for x in tomllib.loads((tmp_path / "motion.toml").read_text())["pieces"]] == ["sinusoid"] * 2
    sampled = fj.trajectory.load_trajectory(tmp_path / "motion.csv", PANDA)
    assert np.abs(sampled(t, 2)[0] - back(t, 2)[0]).max() < 1e-9
    log = fj.logs.read_log(tmp_path / "motion.csv", PANDA)
    assert log.known == ("q", "v") and len(log.ignored) == 7
    with pytest.raises(fj.InputError, match=r"ends in \.csv"):
        panda.write(tmp_path / "motion.txt")


def test_sliding_joints_and_other_robots():
    robot = fj.random_robot(3, 4, prismatic=0.5)
    found = exciting_motion(robot, 5.0, iterations=2, reach=0.4)
    q = found.trajectory(np.linspace(0, 5, 501), 0)[0]
    assert found.trajectory.duration == 5.0 and np.abs(q).max() <= 0.4 and "links" in repr(found._repr_html_())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"duration": -1.0}, "duration"),
        ({"harmonics": 3}, "harmonics"),
        ({"margin": 1.0}, "margin is 1.0; it must be a share from 0 to below 1"),
        ({"rate": 0.0}, "rate"),
        ({"iterations": -1}, "iterations"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(fj.InputError, match=message):
        exciting_motion(PANDA, **{"iterations": 0, **options})


def test_what_cannot_be_excited_is_refused():
    with pytest.raises(fj.InputError, match="vsa_3r has joints with variable stiffness"):
        exciting_motion(fj.load("vsa_3r"))
    weak = PANDA.with_drives([None] * 7)
    links = [fj.Link(**{**vars_of(x), "joint": weakened(x.joint)}) for x in weak.links]
    with pytest.raises(fj.InputError, match="the limits of panda leave no room for a motion"):
        exciting_motion(weak.replace(links=links), iterations=0)


def weakened(joint):
    from dataclasses import replace

    return replace(joint, limits=replace(joint.limits, effort=1e-3)) if joint.moves else joint


def vars_of(link):
    from dataclasses import fields

    return {x.name: getattr(link, x.name) for x in fields(link) if x.init}


def test_the_command(tmp_path):
    done = CliRunner().invoke(
        app, ["excite", "hua_3r", "--duration", "6", "--iterations", "2", "-o", str(tmp_path / "motion.csv")]
    )
    assert done.exit_code == 0 and "condition of the scaled regressor" in done.output
    assert fj.trajectory.load_trajectory(tmp_path / "motion.csv", fj.load("hua_3r")).duration == pytest.approx(6.0)
