"""Logs of robots: names, units, lost samples, and what is refused."""

import numpy as np
import pytest

import flexjoint as fj

ROBOT = fj.random_robot(2, 1, prismatic=0.0, name="arm")
FIRST, SECOND = (joint.name for joint in ROBOT.joints)
SLIDER = fj.random_robot(1, 3, prismatic=1.0, name="slider")
MIXED = ROBOT.with_drives([fj.ElasticDrive(500.0, fj.Motor(0.1)), fj.RigidDrive(fj.Motor(0.1))])


def written(tmp_path, text, name="log.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_names_and_units(tmp_path):
    header = f"note,time [ms],q.{FIRST} [deg],{SECOND}.q [rad],v1 [rpm],v_2,tau_1 [mNm],tau2 [kNm]"
    log = fj.logs.read_log(written(tmp_path, f"{header}\n1,0,180,1,60,2,500,3\n2,10,90,2,30,3,100,4\n"), ROBOT)
    assert log.known == ("q", "v", "tau")
    assert np.allclose(log.t, [0.0, 0.01])
    assert np.allclose(log.q, [[np.pi, 1.0], [np.pi / 2, 2.0]])
    assert np.allclose(log.v, [[2 * np.pi, 2.0], [np.pi, 3.0]])
    assert np.allclose(log.tau, [[0.5, 3000.0], [0.1, 4000.0]])
    assert log.period == pytest.approx(0.01) and not log.differenced


def test_sliding_joints_have_lengths_and_forces(tmp_path):
    log = fj.logs.read_log(written(tmp_path, "t;q1 [mm];v1 [m/s];tau1 [N]\n0;5;1;2\n1;6;1;2\n"), SLIDER)
    assert np.allclose(log.q[:, 0], [0.005, 0.006])
    with pytest.raises(fj.InputError, match=r"the unit of 'q1 \[deg\]' is none of m, mm, cm"):
        fj.logs.read_log(written(tmp_path, "t,q1 [deg]\n0,5\n1,6\n"), SLIDER)


def test_lost_samples_and_differences(tmp_path):
    rows = ["t,q1,q2,tau1,tau2", *(f"{0.1 * k:g},{k * k},{2 * k},0,0" for k in range(6))]
    rows[4] = rows[4].replace("9,6", ",6")
    log = fj.logs.read_log(written(tmp_path, "\n".join(rows)), ROBOT)
    assert np.isnan(log.q[3, 0]) and log.q[3, 1] == 6.0
    assert log.differenced == ("v",)
    assert np.allclose(log.v[1:-1, 1], 20.0)
    assert np.isclose(log.v[1, 0], (4 - 0) / 0.2)
    assert np.isnan(log.v[[0, 2, 4, 5], 0]).all(), "neighbours of a lost sample, and the ends"


def test_simulations_come_back(tmp_path):
    robot = fj.load("vsa_3r").without_drives().with_drives([fj.ElasticDrive(800.0, fj.Motor(0.4))] * 3)
    motion = fj.trajectory.RestToRest(np.zeros(3), np.ones(3), 0.05)
    run = fj.simulate(robot, fj.control.FeedforwardPD(robot, [100.0, 10.0]), motion, check=False)
    fj.results.write_results(run, tmp_path / "log.csv")
    fj.results.write_results(run, tmp_path / "log.npz")
    for name in ("log.csv", "log.npz"):
        log = fj.logs.read_log(tmp_path / name, robot)
        assert log.known == ("q", "v", "theta", "theta_v", "tau")
        for field in log.known:
            assert np.array_equal(getattr(log, field), getattr(run, field))
        assert np.array_equal(log.t, run.t)


def test_parquet_and_matrices(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    table = {"t [s]": [0.0, 1.0], "q1 [deg]": [180.0, 90.0], "q2": [1.0, 2.0], "comment": ["a", "b"]}
    write_table(pyarrow.table(table), tmp_path / "log.parquet")
    log = fj.logs.read_log(tmp_path / "log.parquet", ROBOT)
    assert np.allclose(log.q, [[np.pi, 1.0], [np.pi / 2, 2.0]])
    np.savez(tmp_path / "log.npz", **{"t": [0.0, 1.0], "q [deg]": [[180.0, 90.0], [0.0, 1.0]], "text": np.array("x")})
    assert np.allclose(fj.logs.read_log(tmp_path / "log.npz", ROBOT).q, np.deg2rad([[180.0, 90.0], [0.0, 1.0]]))


def test_rigid_joints_need_no_motors_of_their_own(tmp_path):
    text = "t,q1,q2,v1,v2,theta_v1,tau_e1,tau1,tau2\n0,1,2,3,4,5,6,7,8\n1,1,2,3,4,5,6,7,8\n"
    log = fj.logs.read_log(written(tmp_path, text), MIXED)
    assert log.theta_v[0].tolist() == [5.0, 4.0] and log.tau_e[0].tolist() == [6.0, 8.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a header and at least one sample"),
        ("t,q1,q2\n", "a header and at least one sample"),
        ("q1,q2\n1,2\n3,4\n", "no column 't'; there are q1, q2"),
        ("t,q1\n0,1\n1,2\n", f"q is missing for {SECOND}; give a column such as q.{SECOND}"),
        ("t,a,b\n0,1,2\n1,2,3\n", f"no column has the name of a joint of arm; there are t, a, b.*q.{FIRST} or q1"),
        ("t,q1,q2\n0,1,x\n1,1,2\n", "sample 1 of 'q2' is 'x', not a number"),
        ("t,q1,q2\n0,1\n1,1,2\n", "sample 1 has 2 cells, the header 3"),
        ("t,q1,q2,q1\n0,1,2,3\n1,2,3,4\n", "two columns 'q1'"),
        (f"t,q1,q2,q.{FIRST}\n0,1,2,3\n1,2,3,4\n", f"two columns for q of '{FIRST}'"),
        ("t [h],q1,q2\n0,1,2\n1,2,3\n", r"the unit of 't \[h\]' is none of s, ms"),
        ("t,q1,q2\n0,1,2\n", r"t has shape \(1,\); a log has the times of at least two"),
    ],
)
def test_bad_files_are_refused(tmp_path, text, message):
    with pytest.raises(fj.InputError, match=message):
        fj.logs.read_log(written(tmp_path, text), ROBOT)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(fj.InputError, match=r"ends in \.csv, .*\.npz, \.parquet"):
        fj.logs.read_log(written(tmp_path, "t", "log.xls"), ROBOT)
    with pytest.raises(fj.InputError, match="there is no such file"):
        fj.logs.read_log(tmp_path / "none.csv", ROBOT)
    (tmp_path / "log.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(fj.InputError, match="not a text file"):
        fj.logs.read_log(tmp_path / "log.csv", ROBOT)
    (tmp_path / "log.npz").write_bytes(b"PK not a zip")
    with pytest.raises(fj.InputError, match="not an NPZ file"):
        fj.logs.read_log(tmp_path / "log.npz", ROBOT)
    np.savez(tmp_path / "log.npz", t=[0.0, 1.0], q=np.zeros((2, 3)))
    with pytest.raises(fj.InputError, match=r"q has shape \(2, 3\); it must be \(m, 2\)"):
        fj.logs.read_log(tmp_path / "log.npz", ROBOT)
    (tmp_path / "log.parquet").write_bytes(b"PAR1 not")
    with pytest.raises(fj.InputError, match="Parquet"):
        fj.logs.read_log(tmp_path / "log.parquet", ROBOT)


def test_a_batch_of_runs_is_no_log(tmp_path):
    start = fj.JointState(*np.zeros((4, 2, ROBOT.n)))
    batch = fj.simulate(ROBOT, fj.control.OpenLoop(ROBOT), np.zeros(ROBOT.motor_count), 0.003, start=start, check=False)
    fj.results.write_results(batch, tmp_path / "runs.csv")
    with pytest.raises(fj.InputError, match="the file has several runs, by 'run'"):
        fj.logs.read_log(tmp_path / "runs.csv", ROBOT)


# Logs as people have them -----------------------------------------------------------------------------------------

T = 0.01 * np.arange(30)
Q, V = np.column_stack([np.sin(T), 0.5 * T]), np.column_stack([np.cos(T), 0 * T + 0.5])
TAU = np.column_stack([T, -T])


def table(header, *columns, mark=",", time=T):
    rows = zip(time, *(np.atleast_2d(x.T)[i] for x in columns for i in range(x.shape[1])))
    return "\n".join([header, *(mark.join(f"{x:.12g}" for x in row) for row in rows)]) + "\n"


@pytest.mark.parametrize(
    "header",
    [
        "t,q1,q2,dq1,dq2,tau1,tau2",
        "t,q0,q1,dq0,dq1,tau0,tau1",
        "t,q_0,q_1,qdot_0,qdot_1,tau_m_0,tau_m_1",
        "t,q[0],q[1],dq[0],dq[1],tau[0],tau[1]",
        "Time (s),state.q[0],state.q[1],state.dq[0] [rad/s],state.dq[1],tau[0],tau[1]",
        f"time_s,q_{FIRST},q_{SECOND},{FIRST}.dq,dq.{SECOND},tau1,tau2",
    ],
)
def test_names_of_other_people(tmp_path, header):
    log = fj.logs.read_log(written(tmp_path, table(header, Q, V, TAU)), ROBOT)
    assert log.known == ("q", "v", "tau") and log.ignored == ()
    for found, wanted in zip((log.t, log.q, log.v, log.tau), (T, Q, V, TAU)):
        assert np.allclose(found, wanted, rtol=1e-11)


def test_joint_torque_sensors(tmp_path):
    log = fj.logs.read_log(written(tmp_path, table("t,q1,q2,dq1,dq2,tau_J1,tau_J2", Q, V, TAU)), ROBOT)
    assert log.known == ("q", "v", "tau_e") and np.allclose(log.tau_e, TAU) and log.sensors == (True, True)


def test_spreadsheets(tmp_path):
    text = table("t;q1;q2;v1;v2;tau1;tau2", Q, V, TAU, mark=";").replace(".", ",").replace("\n", "\r\n")
    path = tmp_path / "log.csv"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert np.allclose(fj.logs.read_log(path, ROBOT).q, Q, rtol=1e-11)


def test_libfranka(tmp_path):
    """Its own names; the header has q_d twice, and the time is ms without saying so."""
    more = "q_d[0], q_d[1],tau_J[0], tau_J[1],tau_ext_hat_filtered[0], tau_ext_hat_filtered[1],q_d[0], q_d[1]"
    header = f"duration, success rate, q[0], q[1],dq[0], dq[1],{more}"
    path = written(tmp_path, table(header, 0 * T[:, None] + 1, Q, V, Q, TAU, TAU, Q, time=1e3 * T))
    log = fj.logs.read_log(path, ROBOT)
    assert log.known == ("q", "v", "tau_e") and np.allclose(log.t, T) and np.allclose(log.tau_e, TAU)
    assert log.commands == ("reference",) and np.allclose(log.reference, Q)
    assert log.ignored == ("success rate", *(f"{x}[{k}]" for x in ("tau_ext_hat_filtered", "q_d") for k in (0, 1)))
    with pytest.raises(fj.InputError, match="'duration' has no unit"):  # seconds cannot fit the velocities
        fj.logs.read_log(written(tmp_path, table(header, 0 * T[:, None] + 1, Q, V, Q, TAU, TAU, Q)), ROBOT)


def test_arrays_of_libfranka(tmp_path):
    np.savez(tmp_path / "log.npz", time=1e3 * T, q=Q, dq=V, tau_J=TAU, tau_J_d=TAU, names=np.array(["a"]))
    log = fj.logs.read_log(tmp_path / "log.npz", ROBOT, time_unit="ms")
    assert log.known == ("q", "v", "tau_e") and np.array_equal(log.v, V) and log.ignored == ("names",)
    assert np.array_equal(log.tau_d, TAU)


def test_columns_may_be_said(tmp_path):
    path = written(tmp_path, table("t,time,pos1,pos2,effort1,effort2", T[:, None] + 7.0, Q, TAU))
    with pytest.raises(fj.InputError, match="both 't' and 'time' may be the time; say which with --columns t=t "):
        fj.logs.read_log(path, ROBOT)
    log = fj.logs.read_log(path, ROBOT, columns={"t": "time", "q": "pos", "tau": "effort"})
    assert log.t[0] == 7.0 and np.allclose(log.q, Q) and np.allclose(log.tau, TAU) and log.ignored == ("t",)
    with pytest.raises(fj.InputError, match="no columns 'force' for tau"):
        fj.logs.read_log(path, ROBOT, columns={"t": "t", "q": "pos", "tau": "force"})
    with pytest.raises(fj.InputError, match="columns are given for 'torque'; it must be one of t, q, v"):
        fj.logs.read_log(path, ROBOT, columns={"torque": "effort"})
    commanded = written(tmp_path, table("t,q1,q2,tau_J1,tau_J2", Q, TAU))
    assert fj.logs.read_log(commanded, ROBOT, columns={"tau": "tau_J"}).known == ("q", "v", "tau")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("t,q0,q1,q2,tau1,tau2", "numbered from 0, and 'q2' is one too many"),
        ("t,v1,v2,dq1,q1,q2", f"two columns for v of '{FIRST}', 'v1' and 'dq1'; .*--columns v=dq "),
        ("t,t,q1,q2,v1,v2", "two columns 't'; remove or rename"),
        ("t,timestamp,q1,q2,v1,v2", "both 't' and 'timestamp' may be the time"),
        ("t,a1,a2,b1,b2,c", "no column has the name of a joint"),
    ],
)
def test_what_could_be_meant_in_two_ways_is_asked_back(tmp_path, header, message):
    with pytest.raises(fj.InputError, match=message):
        fj.logs.read_log(written(tmp_path, table(header, Q, V, T[:, None])), ROBOT)


def test_a_joint_whose_name_is_part_of_another_quantity(tmp_path):
    robot = fj.Robot("r", (fj.Link("a", fj.Joint("J1"), "base", 1.0, [0.1, 0, 0], np.diag([0.1, 0.1, 0.1])),))
    path = written(tmp_path, table("t,q_J1,tau_J1", Q[:, :1], TAU[:, :1]))
    with pytest.raises(fj.InputError, match="'tau_J1' may be tau of 'J1' or tau_e number 1; say what tau is called"):
        fj.logs.read_log(path, robot)
    assert fj.logs.read_log(path, robot, columns={"tau_e": "tau_J"}).known == ("q", "v", "tau_e")
    assert fj.logs.read_log(path, robot, columns={"tau": "tau"}).known == ("q", "v", "tau")


def test_numbers_without_a_header_are_refused(tmp_path):
    text = table("t,q1,q2", Q).split("\n", 1)[1]
    with pytest.raises(fj.InputError, match="the first line has no names"):
        fj.logs.read_log(written(tmp_path, text), ROBOT)


@pytest.mark.parametrize(("scale", "unit"), [(1e3, "ms"), (1e6, "us"), (1e9, "ns")])
@pytest.mark.parametrize("velocities", [True, False])
def test_times_in_other_units_are_asked_back(tmp_path, scale, unit, velocities):
    columns = [Q, V] if velocities else [Q]
    header = "t,q1,q2,v1,v2" if velocities else "t,q1,q2"
    path = written(tmp_path, table(header, *columns, time=scale * T))
    said = f"'t' has no unit, .* apart; {'positions change' if velocities else 'robots are sampled more'}"
    with pytest.raises(fj.InputError, match=rf"{said}.*'t \[{unit}\]', or say --time-unit {unit}"):
        fj.logs.read_log(path, ROBOT)
    assert np.allclose(fj.logs.read_log(path, ROBOT, time_unit=unit).t, T)
    assert np.allclose(fj.logs.read_log(path, ROBOT, time_unit="s").t, scale * T)
    with pytest.raises(fj.InputError, match="must be one of s, ms"):
        fj.logs.read_log(path, ROBOT, time_unit="hours")


def test_velocities_show_that_slow_samples_are_seconds(tmp_path):
    slow = table("t,q1,q2,v1,v2", np.column_stack([np.sin(T), 0.5 * T]), V / 100, time=100 * T)
    assert fj.logs.read_log(written(tmp_path, slow), ROBOT).period == pytest.approx(1.0)
    noisy = Q + np.where(np.arange(30) == 11, 6283.0, 0.0)[:, None]
    assert fj.logs.read_log(written(tmp_path, table("t,q1,q2,v1,v2", noisy, V)), ROBOT).period == pytest.approx(0.01)


def test_bad_stamps_make_no_velocities(tmp_path):
    regular = 0.01 * np.arange(90)
    t = np.where(np.arange(90) < 40, regular, regular - 0.25)
    t[10] = 1e9
    text = table("t,q1,q2", np.column_stack([regular, 0.5 * regular]), time=t)
    log = fj.logs.read_log(written(tmp_path, text), ROBOT)
    assert np.flatnonzero(np.isnan(log.v[:, 1])).tolist() == [0, 9, 11, 39, 40, 89]
    assert np.allclose(log.v[~np.isnan(log.v[:, 1]), 1], 0.5)
