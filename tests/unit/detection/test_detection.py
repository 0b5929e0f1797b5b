"""DetectionReport in logs: what happened in a simulation is found, when, and where nothing could be told is said."""

import casadi as ca
import numpy as np
import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app
from flexjoint.detection.detection import stretches
from flexjoint.logs import Log
from flexjoint.plots.detections import plot_detections
from flexjoint.results import write_table

BEGIN, END, FORCE = 0.6, 0.7, 20.0
RIGID = fj.random_robot(2, 1, prismatic=0.0, name="rigid").with_drives([fj.RigidDrive(fj.Motor(0.3))] * 2)
ELASTIC = RIGID.with_drives([fj.ElasticDrive(800.0, fj.Motor(0.3))] * 2).replace(name="elastic")
MOTION = fj.trajectory.Sinusoid([0.3, 0.4], [0.5, 0.7], duration=1.2)


def strike(t, state):
    on = ca.logic_and(t > BEGIN, t < END)
    return {
        "link2": on * ca.sin(np.pi * (t - BEGIN) / (END - BEGIN)) ** 2 * ca.SX([FORCE, FORCE, FORCE, 1.0, 1.0, 1.0])
    }


def simulated(robot):
    """A collision, and from 0.9 to 1.1 s 2 Nm too little at motor 1; with noise of the sensors."""
    law = fj.control.FeedforwardPD(robot, [200.0, 20.0])
    faulty = fj.simulation.FaultyActuators(law, bias=[-2.0, 0.0], begin=0.9, end=1.1)
    run = fj.simulate(robot, faulty, MOTION, contact=strike)
    rng = np.random.default_rng(0)
    noisy = {x: getattr(run, x) + 1e-4 * rng.normal(size=run.q.shape) for x in ("v", "theta_v")}
    tau = faulty.commanded(MOTION(run.t, law.order), run.states)
    return Log(robot, run.t, run.q, noisy["v"], run.theta, noisy["theta_v"], None, tau)


@pytest.fixture(scope="module")
def rigid():
    return simulated(RIGID)


@pytest.fixture(scope="module")
def elastic():
    return simulated(ELASTIC)


def test_a_rigid_robot(rigid):
    """Both events in one residual, within some 10 ms of their beginning; the fault at joint 1 alone."""
    found = fj.detection.detect(rigid, quiet=(0.05, 0.55), cutoff=100.0)
    first, second = found.detections
    assert BEGIN < first.begin < BEGIN + 0.03 and END - 0.02 < first.end < END + 0.1
    assert {event.entry for event in first.events} == {0, 1}
    assert 0.9 < second.begin < 0.92 and 1.1 < second.end < 1.15
    assert [event.entry for event in second.events] == [0]
    assert second.events[0].peak == pytest.approx(-2.0, rel=0.02)
    assert found.blind == []


@pytest.mark.parametrize("quiet", [(5,), 5, "ab", (None, 1), (0, 1, 2), (np.nan, 1.0), (10**400, 1), (1.0, 0.5)])
def test_a_quiet_part_is_two_times(rigid, quiet):
    with pytest.raises(fj.InputError, match=r"quiet is .*; give two times in s, such as \(0\.0, 2\.5\)"):
        fj.detection.detect(rigid, quiet=quiet)
    with pytest.raises(fj.InputError, match=r"log is 'log.csv'; give a Log"):
        fj.detection.detect("log.csv", quiet=quiet)


def test_a_robot_with_springs(elastic):
    """The collision shows at links, the fault at the motor: they are told apart."""
    found = fj.detection.detect(elastic, quiet=(0.05, 0.55), cutoff=100.0)
    first, second = found.detections
    assert {event.channel for event in first.events} == {"link"} and BEGIN < first.begin < BEGIN + 0.03
    assert [(event.channel, event.entry) for event in second.events] == [("motor", 0)]
    assert second.events[0].peak == pytest.approx(-2.0, rel=0.02)


def test_torque_sensors_are_used_where_they_are(elastic):
    springs = 800.0 * (elastic.theta - elastic.q)
    sensed = Log(ELASTIC, elastic.t, elastic.q, elastic.v, None, elastic.theta_v, springs, elastic.tau)
    found, other = (fj.detection.detect(log, thresholds=0.5, cutoff=100.0) for log in (sensed, elastic))
    assert found.residual.sensors and not other.residual.sensors
    for name in ("link", "motor"):
        assert np.abs(found.outputs[name] - other.outputs[name]).max() < 1e-9


def test_motor_encoders_alone(elastic):
    log = Log(ELASTIC, elastic.t, theta=elastic.theta, theta_v=elastic.theta_v, tau=elastic.tau)
    found = fj.detection.detect(log, thresholds=3.0, cutoff=60.0)
    assert isinstance(found.residual, fj.observers.MotorEncoderResidual) and "settling" in found.blind[0].why
    assert BEGIN < found.detections[0].begin < BEGIN + 0.05


def test_joint_torque_sensors_without_motors(elastic):
    """q, v and tau_e alone: the residual of the links, as if the motors had been logged too; faults of motors hide."""
    springs = 800.0 * (elastic.theta - elastic.q)
    log = Log(ELASTIC, elastic.t, elastic.q, elastic.v, tau_e=springs)
    found = fj.detection.detect(log, thresholds=0.5, cutoff=100.0)
    assert isinstance(found.residual, fj.observers.LinkResidual)
    assert [{event.channel for event in x.events} for x in found.detections] == [{"link"}]
    whole = fj.detection.detect(elastic, thresholds=0.5, cutoff=100.0)
    assert np.abs(found.outputs["link"] - whole.outputs["link"]).max() < 1e-9
    with_motors = Log(ELASTIC, elastic.t, elastic.q, elastic.v, None, elastic.theta_v, springs, elastic.tau)
    chosen = fj.detection.detect(with_motors, thresholds=0.5, cutoff=100.0, residual="link")
    assert isinstance(chosen.residual, fj.observers.LinkResidual)
    assert np.array_equal(chosen.outputs["link"], found.outputs["link"])
    without_theta = Log(ELASTIC, elastic.t, elastic.q, elastic.v, None, None, springs, elastic.tau)
    assert isinstance(fj.detection.detect(without_theta, thresholds=0.5).residual, fj.observers.LinkResidual)
    with pytest.raises(fj.InputError, match="for the link residual needs q, v, tau_e; tau_e is missing"):
        fj.detection.detect(elastic, thresholds=0.5, residual="link")
    with pytest.raises(fj.InputError, match="residual is 'all'; it must be 'best' or 'link'"):
        fj.detection.detect(elastic, thresholds=0.5, residual="all")


def test_torque_sensors_of_a_rigid_robot_see_no_rotors(rigid):
    """Between motor and link a sensor sees the torque less what turns the rotor, 0.3 kg m²."""
    acceleration = np.gradient(rigid.q, rigid.t, axis=0)
    acceleration = np.gradient(acceleration, rigid.t, axis=0)
    log = Log(RIGID, rigid.t, rigid.q, rigid.v, tau_e=rigid.tau - 0.3 * acceleration)
    found = fj.detection.detect(log, thresholds=1.0, cutoff=100.0)
    whole = fj.detection.detect(rigid, thresholds=1.0, cutoff=100.0, held=False)
    assert isinstance(found.residual, fj.observers.LinkResidual) and found.residual.robot.joints[0].drive is None
    assert np.abs(found.outputs["link"] - whole.outputs["residual"])[50:550].max() < 0.05


def test_a_calibration_must_have_the_same_columns(rigid):
    with pytest.raises(fj.InputError, match="the calibration has no tau; log the same"):
        fj.detection.detect(rigid, calibration=Log(RIGID, rigid.t, rigid.q, rigid.v))


def test_the_link_that_was_struck(rigid):
    found = fj.detection.detect(rigid, quiet=(0.05, 0.55), cutoff=100.0)
    assert [found.struck(x) for x in found.detections] == [["link2"], ["link1"]]


def test_blindness_is_told(rigid):
    lost = rigid.q.copy()
    lost[200:230, 1] = np.nan
    kept = np.r_[:400, 500:1201]
    arrays = [x[kept] for x in (rigid.t, lost, rigid.v, rigid.theta, rigid.theta_v)]
    found = fj.detection.detect(Log(RIGID, *arrays, None, rigid.tau[kept]), thresholds=1.0)
    first, second = found.blind
    assert (first.begin, first.end) == pytest.approx((0.199, 0.231)) and first.samples == 31
    assert first.why == "gap, invalid"
    assert (second.begin, second.end) == pytest.approx((0.399, 0.501)) and second.why == "gap"


def test_thresholds(rigid):
    """From another log, from a part of the log, or given; the least is a part of the torque."""
    quiet = fj.detection.detect(rigid, quiet=(0.25, 0.55), per_hour=3600.0).thresholds["residual"]
    arrays = [x[250:551] for x in (rigid.t, rigid.q, rigid.v, rigid.theta, rigid.theta_v)]
    part = Log(RIGID, *arrays, None, rigid.tau[250:551])
    other = fj.detection.detect(rigid, calibration=part, per_hour=3600.0)
    level, largest = other.thresholds["residual"], np.abs(other.outputs["residual"][300:551]).max(axis=0)
    assert np.all(level > 1.2 * largest) and np.all(level < 4 * largest)
    assert np.allclose(quiet, 1e-3 * np.abs(rigid.tau).max(axis=0)), "the start of the log takes large torques"
    given = fj.detection.detect(rigid, thresholds={"residual": [1.0, 2.0]})
    assert given.thresholds["residual"].tolist() == [1.0, 2.0]
    assert np.all((np.abs(given.outputs["residual"]) <= [1.0, 2.0]) | (given.outputs["residual_alarm"] == 1.0))


def test_bad_requests_are_refused(rigid, elastic):
    with pytest.raises(fj.InputError, match="thresholds are needed"):
        fj.detection.detect(rigid)
    with pytest.raises(fj.InputError, match="only one of them"):
        fj.detection.detect(rigid, thresholds=1.0, quiet=(0, 1))
    with pytest.raises(fj.InputError, match="0 samples from 7 to 8 s"):
        fj.detection.detect(rigid, quiet=(7.0, 8.0))
    with pytest.raises(fj.InputError, match="calibration is a log of elastic, not of rigid"):
        fj.detection.detect(rigid, calibration=elastic)
    with pytest.raises(fj.InputError, match="motor torques tau are not in the log"):
        fj.detection.detect(Log(RIGID, rigid.t, rigid.q, rigid.v), thresholds=1.0)
    with pytest.raises(fj.InputError, match="theta, theta_v are missing"):
        fj.detection.detect(Log(ELASTIC, elastic.t, elastic.q, elastic.v, tau=elastic.tau), thresholds=1.0)


def test_stretches():
    assert stretches(np.array([1, 1, 0, 1, 0, 0, 1], dtype=bool)) == [(0, 1), (3, 3), (6, 6)]
    assert stretches(np.zeros(3, dtype=bool)) == []


def test_the_command(rigid, tmp_path):
    fj.write_robot(RIGID, tmp_path / "robot.toml")
    columns = np.column_stack([rigid.t, rigid.q, rigid.v, rigid.tau])
    columns[300, 2] = np.nan
    names = [joint.name for joint in RIGID.joints]
    header = ",".join(["t [s]", *(f"{x}.{name}" for x in ("q", "v", "tau") for name in names)])
    np.savetxt(tmp_path / "log.csv", columns, delimiter=",", header=header, comments="")
    made = [str(tmp_path / "found.csv"), str(tmp_path / "found.png")]
    arguments = ["detect", str(tmp_path / "robot.toml"), str(tmp_path / "log.csv")]
    options = ["--quiet-part", "0.05:0.55", "--cutoff", "100", "-o", made[0], "--plot", made[1]]
    done = CliRunner(env={"COLUMNS": "160"}).invoke(app, [*arguments, *options])
    assert done.exit_code == 0, done.output
    assert "detections: 2" in done.output and "blind: 0.002 s, 1 samples" in done.output
    assert "collision, load or actuator" in done.output and "invalid" in done.output
    back = np.genfromtxt(made[0], delimiter=",", names=True)
    assert back.size == len(rigid.t) and np.nanmax(np.abs(back[back.dtype.names[1]])) > 1.0
    assert (tmp_path / "found.png").read_bytes()[:4] == b"\x89PNG"
    for wrong, message in (
        (["--quiet-part", "5"], "it must be two times"),
        (["--quiet-part", "3:1"], "must come after"),
        ([], "give one of --threshold, --quiet-part"),
    ):
        failed = CliRunner().invoke(app, [*arguments, *wrong])
        assert failed.exit_code == 2 and message in " ".join(failed.stderr.split())


def test_the_command_with_a_log_of_other_people(elastic, tmp_path):
    """Milliseconds, names of libfranka, decimal commas; what is not used is listed."""
    fj.write_robot(ELASTIC, tmp_path / "robot.toml")
    springs = 800.0 * (elastic.theta - elastic.q)
    columns = np.column_stack([1e3 * elastic.t, elastic.q, elastic.v, springs, springs])
    header = ";".join(["time", *(f"{x}{i}" for x in ("q", "dq", "tau_J", "other") for i in range(2))])
    rows = "\r\n".join(";".join(f"{x:.9g}" for x in row) for row in columns)
    (tmp_path / "log.csv").write_text(header + "\r\n" + rows.replace(".", ","), encoding="utf-8-sig", newline="")
    arguments = ["detect", str(tmp_path / "robot.toml"), str(tmp_path / "log.csv"), "--threshold", "0.5"]
    asked = CliRunner().invoke(app, arguments)
    assert asked.exit_code == 2 and "--time-unit ms" in " ".join(asked.stderr.split())
    done = CliRunner(env={"COLUMNS": "160"}).invoke(app, [*arguments, "--time-unit", "ms", "--cutoff", "100"])
    assert done.exit_code == 0, done.output
    assert "LinkResidual" in done.output and "ignored columns: other0, other1" in done.output
    assert "detections: 1" in done.output and "largest residual: " in done.output
    other = CliRunner(env={"COLUMNS": "160"}).invoke(
        app, [*arguments, "--time-unit", "ms", "--columns", "tau_e=other", "--residual", "link"]
    )
    assert other.exit_code == 0 and "ignored columns: tau_J0, tau_J1" in other.output
    wrong = CliRunner().invoke(app, [*arguments, "--columns", "torque"])
    assert wrong.exit_code == 2 and "give QUANTITY=NAME, such as t=stamp,tau=effort" in " ".join(wrong.stderr.split())
    refused = CliRunner().invoke(app, [*arguments[:-1], "inf", "--time-unit", "ms"])
    assert refused.exit_code == 2 and "nothing is ever detected" in " ".join(refused.stderr.split())


def test_files(rigid, tmp_path):
    found = fj.detection.detect(rigid, thresholds=1.0)
    write_table(found, tmp_path / "found.npz")
    with np.load(tmp_path / "found.npz") as arrays:
        assert np.array_equal(arrays["residual"], found.outputs["residual"]) and np.array_equal(arrays["t"], rigid.t)
        assert arrays["joints"].tolist() == [joint.name for joint in RIGID.joints]
        assert arrays["residual_threshold"].tolist() == [1.0, 1.0]
    with pytest.raises(fj.InputError, match="ends in"):
        write_table(found, tmp_path / "found.txt")


def test_plots_with_blind_stretches(elastic, tmp_path):
    lost = elastic.q.copy()
    lost[300:400] = np.nan
    arrays = (elastic.t, lost, elastic.v, elastic.theta, elastic.theta_v, None, elastic.tau)
    figure = plot_detections(fj.detection.detect(Log(ELASTIC, *arrays), thresholds=0.5), tmp_path / "found.png")
    titles = ["residual of the link, Nm", "residual of the motor, Nm"]
    assert [axis.get_title() for axis in figure.axes[:2]] == titles and len(figure.axes) == 4
    assert [x.get_text() for x in figure.legends[0].get_texts()] == ["residual", "threshold", "alarm", "blind"]
    assert (tmp_path / "found.png").stat().st_size > 10_000


PENDULUM = fj.Robot(
    "pendulum", (fj.Link("bob", fj.Joint("pivot"), "base", 2.0, [0.5, 0, 0], np.diag([0.01, 0.02, 0.02])),)
)


def pendulum_log(count=100, **changes):
    """At rest below gravity along z, which no torque has to hold."""
    t = np.arange(count) / 100
    return Log(PENDULUM, **{"t": t, "q": 0 * t[:, None], "v": 0 * t[:, None], "tau": 0 * t[:, None], **changes})


def test_a_quiet_part_that_teaches_nothing_is_refused():
    """An exact zero would give a detector that never raises an alarm, and does not say so."""
    with pytest.raises(fj.InputError, match="torque of 'pivot' are zero, so that no threshold can be learnt"):
        fj.detection.detect(pendulum_log(), quiet=(0.0, 0.9))


def test_a_residual_of_zero_takes_its_threshold_from_the_torque():
    """And a torque that nothing explains, later, is found."""
    tau = np.where(np.arange(200) < 160, 0.0, 4.0)[:, None]
    found = fj.detection.detect(pendulum_log(200, tau=tau), quiet=(0.0, 1.5))
    assert found.thresholds["residual"].tolist() == [4e-3]
    assert [x.begin for x in found.detections] == [1.61]


def test_stamps_that_are_missing():
    """Blind stretches and events lie between the stamps that are there."""
    t = np.arange(100) / 100
    t[[0, 10, 99]] = np.nan
    found = fj.detection.detect(pendulum_log(t=t), thresholds=1.0)
    assert [(x.begin, x.end) for x in found.blind] == [(0.01, 0.03), (0.09, 0.12), (0.98, 0.98)]
    assert np.all(np.isfinite(found.t)) and found.t[10] == 0.09
    assert len(plot_detections(found).axes) == 1


@pytest.mark.parametrize("wrong", [np.inf, np.nan, -1.0, 0.0, {"residual": [np.inf]}])
def test_thresholds_that_detect_nothing_are_refused(wrong):
    with pytest.raises(fj.InputError, match=r"nothing is ever detected|every number must be positive"):
        fj.detection.detect(pendulum_log(), thresholds=wrong)


def test_samples_that_run_backwards():
    with pytest.raises(fj.InputError, match="no sample of the log is later than the one before it"):
        fj.detection.detect(pendulum_log(t=-np.arange(100.0)), thresholds=1.0)


def test_wrong_signs_and_units_are_named():
    """By `check_log`, for the log and for the calibration."""
    robot = fj.load("hua_3r").without_drives().without_friction()
    t = np.arange(2000) * 5e-3
    q = np.sin(np.outer(t, [1.0, 1.3, 0.7]))
    v = np.cos(np.outer(t, [1.0, 1.3, 0.7])) * [1.0, 1.3, 0.7]
    tau = fj.gravity_torque(robot, q)
    good = fj.logs.Log(robot, t, q=q, v=v, tau=tau)
    with pytest.warns(fj.FlexjointWarning, match="detect: the log: tau of .* has the opposite sign"):
        fj.detection.detect(fj.logs.Log(robot, t, q=q, v=v, tau=-tau), thresholds=1.0)
    text = "detect: the calibration: v of .* has the opposite sign"
    with pytest.warns(fj.FlexjointWarning, match=text), pytest.raises(fj.InputError, match="the model does not fit"):
        fj.detection.detect(good, calibration=fj.logs.Log(robot, t, q=q, v=-v, tau=tau))
