"""Logs of pendulums that another simulation made, as several recorders, slow ones and careless ones write them."""

from dataclasses import replace

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.logs import Log, check_log, estimate_delays, read_log, without_delays
from support.pendulums import motors, pendulums, swing

ROBOT = pendulums()
STEP = 2 * np.pi / 2**19  # rad, of the encoders
LATE = 3.4e-3  # s


@pytest.fixture(scope="module")
def run():
    found = swing()
    return found._replace(q=STEP * np.round(found.q / STEP))


def log_of(run, **more):
    return Log(ROBOT, run.t, **{"q": run.q, "theta": STEP * np.round(run.theta / STEP), **more})


def problems(log, level="error"):
    return [x for x in check_log(log) if x.level == level]


def test_delay_of_motor_positions(run):
    """The springs deflect by 30 mrad, which is no delay: the model and the accelerations explain it."""
    for delay in estimate_delays(log_of(run)):
        assert abs(delay.seconds) < 30e-6, delay
    assert not check_log(log_of(run))
    late = log_of(run, theta=motors(run.t - LATE)[0])
    for delay in estimate_delays(late):
        assert (delay.quantity, delay.relative_to) == ("theta", "q")
        assert abs(delay.seconds - LATE) < 30e-6, delay
    (found,) = problems(late, "warning")
    assert found.rule == "delays" and "--late theta=0.0034" in found.fix, found
    moved = without_delays(late, {"theta": LATE})
    inside = slice(10, -10)
    assert np.allclose(moved.theta[inside], run.theta[inside], rtol=0, atol=1e-8)
    assert moved.theta_v is None
    with pytest.raises(fj.InputError, match="the log has no 'tau'"):
        without_delays(late, {"tau": 0.1})


def test_damping_of_springs_is_no_certain_delay_of_the_sensors(run):
    """τ_e = K φ + D φ' is early by D/K = 1 and 0.4 ms."""
    (found,) = check_log(log_of(run, tau_e=run.tau_e))
    assert found.level == "note" and "as with springs that have damping" in found.reason, found


def rows(t, values, before=0, after=0):
    """Lines of a CSV file with empty cells before and after the values."""
    return [
        (s, f"{s:.7f}" + "," * before + "".join(f",{x:.12g}" for x in row) + "," * after) for s, row in zip(t, values)
    ]


def test_two_recorders_in_one_file(run, tmp_path):
    """Link encoders at 250 Hz by a clock that is 12.3 ms ahead, motor encoders at 1 kHz."""
    ahead = 12.3e-3
    lines = rows(run.t[::4] + ahead, run.q[::4], after=2) + rows(run.t, run.theta, before=2)
    path = tmp_path / "merged.csv"
    path.write_text("\n".join(["t,q1,q2,theta1,theta2", *(line for _, line in sorted(lines))]))
    log = read_log(path, ROBOT)
    assert log.interpolated == ("theta",) and log.t.size == run.t[::4].size
    known = np.all(np.isfinite(log.theta), axis=1)
    assert np.allclose(log.theta[known], motors(log.t[known])[0], rtol=0, atol=1e-8)
    (found,) = problems(log, "warning")
    assert found.rule == "delays", found
    for delay in estimate_delays(log):
        assert abs(delay.seconds + ahead) < 50e-6, delay
    corrected = read_log(path, ROBOT, late={"theta": -ahead})
    known = np.all(np.isfinite(corrected.theta), axis=1)
    assert np.count_nonzero(~known) < 10
    assert np.allclose(corrected.theta[known], motors(corrected.t[known] - ahead)[0], rtol=0, atol=1e-7)
    assert not problems(corrected, "warning")


def test_slow_channel_with_repeated_numbers(run):
    held = np.repeat(run.q[::4], 4, axis=0)[: len(run.q)]
    found = problems(log_of(run, q=held), "warning")
    assert "q has new numbers at every 4th sample only: it is sampled at 250 Hz" in found[0].reason, found
    coarse = 2 * np.pi / 2**10  # an encoder that repeats numbers when the joint is slow
    log = log_of(run, q=coarse * np.round(run.q / coarse))
    assert not any(x.rule == "samples" for x in check_log(log))


def test_motor_positions_of_other_joints_in_other_units_and_with_other_zeros(run):
    (found,) = problems(log_of(run, theta=run.theta[:, ::-1]))
    assert (
        found.rule == "order" and "theta are in another order than those of q, such as joint2, joint1" in found.reason
    )
    for factor, text in ((1 / (2 * np.pi), "theta is in turn"), (180 / np.pi, "theta is in deg")):
        for found in problems(log_of(run, theta=factor * run.theta)):
            assert found.rule == "motors" and text in found.reason, found
    assert len(problems(log_of(run, theta=run.theta / 6.28))) == 2
    (found,) = problems(log_of(run, theta=run.theta + np.array([0.0, 2 * np.pi])), "warning")
    assert "theta and q of joint2 have different zeros: on average theta is larger by 6.2" in found.reason, found


def test_positions_in_millimetres():
    slide = fj.random_robot(2, 1, prismatic=1.0, name="slides")
    t = 1e-3 * np.arange(3000)
    log = Log(slide, t, q=1e3 * np.column_stack([0.3 * np.sin(5 * t), 0.2 * np.cos(7 * t)]))
    (found,) = problems(log)
    assert "looks like mm, not m" in found.reason and "[mm]'" in found.fix, found


CAREFUL = "t,q1,q2,theta1,theta2\n0,1,2,3,4\n0.001,1.5,2.5,3.5,4.5\n0.002,2,3,4,5\n"
CARELESS = {
    "title.csv": "Recorder 7;run 3\nStation A\n\n" + CAREFUL,
    "units.csv": CAREFUL.replace("theta2\n", "theta2\n[s],(rad),rad,rad,rad\n"),
    "degrees.csv": "t;q1;q2;theta1;theta2\nms;deg;°;deg;deg\n"
    + "\n".join(
        ";".join(f"{x:.12g}".replace(".", ",") for x in (1e3 * t, *np.rad2deg([1 + s, 2 + s, 3 + s, 4 + s])))
        for t, s in ((0.0, 0.0), (0.001, 0.5), (0.002, 1.0))
    ),
    "greek.txt": CAREFUL.replace("theta", "θ").replace(",", "\t"),
    "clock.csv": CAREFUL.replace("\n0,", "\n2026-11-18T09:30:00.000,")
    .replace("\n0.001,", "\n2026-11-18T09:30:00.001,")
    .replace("\n0.002,", "\n2026-11-18T09:30:00.002,"),
    "turns.csv": "t,q1,q2,theta1 [turn],theta2 [revolutions]\n"
    + "\n".join(
        f"{t},{1 + s},{2 + s},{(3 + s) / (2 * np.pi):.15g},{(4 + s) / (2 * np.pi):.15g}"
        for t, s in ((0, 0), (0.001, 0.5), (0.002, 1.0))
    ),
}


@pytest.mark.parametrize("name", CARELESS)
def test_careless_files(name, tmp_path):
    (tmp_path / name).write_text(CARELESS[name])
    log = read_log(tmp_path / name, ROBOT)
    assert np.allclose(log.t - log.t[0], [0, 0.001, 0.002], rtol=0, atol=1e-6)
    assert np.allclose(log.q, [[1, 2], [1.5, 2.5], [2, 3]])
    assert np.allclose(log.theta, [[3, 4], [3.5, 4.5], [4, 5]])
    assert log.ignored == ()


def test_last_line_of_a_recorder_that_was_stopped(tmp_path):
    (tmp_path / "log.csv").write_text(CAREFUL + "0.003,2.5,3")
    with pytest.warns(fj.FlexjointWarning, match="the last line was cut off"):
        assert read_log(tmp_path / "log.csv", ROBOT).t.size == 3
    (tmp_path / "log.csv").write_text(CAREFUL + "0.003,2.5,3\n")
    with pytest.raises(fj.InputError, match="sample 4 has 3 cells"):
        read_log(tmp_path / "log.csv", ROBOT)


def test_arrays_with_samples_in_columns(run, tmp_path):
    np.savez(tmp_path / "log.npz", t=run.t[:, None], q=run.q.T, theta=run.theta)
    log = read_log(tmp_path / "log.npz", ROBOT)
    assert np.array_equal(log.t, run.t) and np.array_equal(log.q, run.q) and np.array_equal(log.theta, run.theta)


def test_stamps_without_digits_or_order(run, tmp_path):
    np.savez(tmp_path / "log.npz", t=(1.7e9 + run.t).astype(np.float32), q=run.q)
    with pytest.raises(
        fj.InputError, match="'t' has 1 different times in 8001 samples, so it was written with too few"
    ):
        read_log(tmp_path / "log.npz", ROBOT)
    mixed = np.random.default_rng(0).permutation(run.t.size)
    np.savez(tmp_path / "log.npz", t=run.t[mixed], q=run.q[mixed])
    with pytest.raises(fj.InputError, match=r"goes back [34][0-9]{3} times in 8001 samples; sort the samples by time"):
        read_log(tmp_path / "log.npz", ROBOT)


def test_lists_and_tables_of_parquet_files(run, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    ns = 1_700_000_000_000_000_000 + np.round(1e9 * run.t).astype(np.int64)
    states = [{"q": q, "theta": theta} for q, theta in zip(run.q.tolist(), run.theta.tolist())]
    columns = {"time": pa.array(ns, pa.timestamp("ns")), "state": states, "note": ["x"] * run.t.size}
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    log = read_log(tmp_path / "log.parquet", ROBOT)
    assert np.allclose(log.t - log.t[0], run.t, rtol=0, atol=1e-6)
    assert np.array_equal(log.q, run.q) and np.array_equal(log.theta, run.theta) and log.ignored == ("note",)


def test_currents_under_another_name(tmp_path):
    (tmp_path / "log.csv").write_text(CAREFUL.replace("theta1,theta2", "I1 [A],I2 [A]"))
    with pytest.raises(fj.InputError, match=r"not read are I1 \[A\], I2 \[A\]; .* --columns current=I "):
        read_log(tmp_path / "log.csv", ROBOT, torque_constant=2.0, gear_ratio=10.0)
    log = read_log(tmp_path / "log.csv", ROBOT, columns={"current": "I"}, torque_constant=2.0, gear_ratio=10.0)
    assert np.allclose(log.tau, [[60, 80], [70, 90], [80, 100]])


def test_repeated_stamps_cost_nothing(run):
    """A recorder that writes some samples twice: identification takes the same samples as without them."""
    twice = np.sort(np.concatenate([np.arange(run.t.size), np.arange(0, run.t.size, 50)]))
    log = log_of(run, tau_e=run.tau_e)
    more = replace(log, t=log.t[twice], **{name: getattr(log, name)[twice] for name in ("q", "theta", "tau_e")})
    one, other = (fj.identification.identify(ROBOT, x, links="known") for x in (log, more))
    assert other.values == one.values
    for name, K in (("joint1", 300.0), ("joint2", 500.0)):
        found = other[f"{name}.drive.stiffness"]
        assert abs(found.value - K) < 1e-3 * K, found
