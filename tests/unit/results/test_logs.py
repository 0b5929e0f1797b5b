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
    log = fj.read_log(written(tmp_path, f"{header}\n1,0,180,1,60,2,500,3\n2,10,90,2,30,3,100,4\n"), ROBOT)
    assert log.known == ("q", "v", "tau")
    assert np.allclose(log.t, [0.0, 0.01])
    assert np.allclose(log.q, [[np.pi, 1.0], [np.pi / 2, 2.0]])
    assert np.allclose(log.v, [[2 * np.pi, 2.0], [np.pi, 3.0]])
    assert np.allclose(log.tau, [[0.5, 3000.0], [0.1, 4000.0]])
    assert log.period == pytest.approx(0.01) and not log.differenced


def test_sliding_joints_have_lengths_and_forces(tmp_path):
    log = fj.read_log(written(tmp_path, "t;q1 [mm];v1 [m/s];tau1 [N]\n0;5;1;2\n1;6;1;2\n"), SLIDER)
    assert np.allclose(log.q[:, 0], [0.005, 0.006])
    with pytest.raises(fj.InputError, match=r"the unit of 'q1 \[deg\]' is none of m, mm, cm"):
        fj.read_log(written(tmp_path, "t,q1 [deg]\n0,5\n1,6\n"), SLIDER)


def test_lost_samples_and_differences(tmp_path):
    rows = ["t,q1,q2,tau1,tau2", *(f"{0.1 * k:g},{k * k},{2 * k},0,0" for k in range(6))]
    rows[4] = rows[4].replace("9,6", ",6")
    log = fj.read_log(written(tmp_path, "\n".join(rows)), ROBOT)
    assert np.isnan(log.q[3, 0]) and log.q[3, 1] == 6.0
    assert log.differenced == ("v",)
    assert np.allclose(log.v[1:-1, 1], 20.0)
    assert np.isclose(log.v[1, 0], (4 - 0) / 0.2)
    assert np.isnan(log.v[[0, 2, 4, 5], 0]).all(), "neighbours of a lost sample, and the ends"


def test_simulations_come_back(tmp_path):
    robot = fj.load("vsa_3r").without_drives().with_drives([fj.ElasticDrive(800.0, fj.Motor(0.4))] * 3)
    motion = fj.RestToRest(np.zeros(3), np.ones(3), 0.05)
    run = fj.simulate(robot, fj.FeedforwardPD(robot, [100.0, 10.0]), motion, check=False)
    fj.write_results(run, tmp_path / "log.csv")
    fj.write_results(run, tmp_path / "log.npz")
    for name in ("log.csv", "log.npz"):
        log = fj.read_log(tmp_path / name, robot)
        assert log.known == ("q", "v", "theta", "theta_v", "tau")
        for field in log.known:
            assert np.array_equal(getattr(log, field), getattr(run, field))
        assert np.array_equal(log.t, run.t)


def test_parquet_and_matrices(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    table = {"t [s]": [0.0, 1.0], "q1 [deg]": [180.0, 90.0], "q2": [1.0, 2.0], "comment": ["a", "b"]}
    write_table(pyarrow.table(table), tmp_path / "log.parquet")
    log = fj.read_log(tmp_path / "log.parquet", ROBOT)
    assert np.allclose(log.q, [[np.pi, 1.0], [np.pi / 2, 2.0]])
    np.savez(tmp_path / "log.npz", **{"t": [0.0, 1.0], "q [deg]": [[180.0, 90.0], [0.0, 1.0]], "text": np.array("x")})
    assert np.allclose(fj.read_log(tmp_path / "log.npz", ROBOT).q, np.deg2rad([[180.0, 90.0], [0.0, 1.0]]))


def test_rigid_joints_need_no_motors_of_their_own(tmp_path):
    text = "t,q1,q2,v1,v2,theta_v1,tau_e1,tau1,tau2\n0,1,2,3,4,5,6,7,8\n1,1,2,3,4,5,6,7,8\n"
    log = fj.read_log(written(tmp_path, text), MIXED)
    assert log.theta_v[0].tolist() == [5.0, 4.0] and log.tau_e[0].tolist() == [6.0, 8.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a header and at least one sample"),
        ("t,q1,q2\n", "a header and at least one sample"),
        ("q1,q2\n1,2\n3,4\n", "no column 't'; there are q1, q2"),
        ("t,q1\n0,1\n1,2\n", f"q is missing for {SECOND}; give a column such as q.{SECOND}"),
        ("t,a,b\n0,1,2\n1,2,3\n", f"no column is named after a joint of arm; there are t, a, b.*q.{FIRST} or q1"),
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
        fj.read_log(written(tmp_path, text), ROBOT)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(fj.InputError, match=r"ends in \.csv, \.npz, \.parquet"):
        fj.read_log(written(tmp_path, "t", "log.txt"), ROBOT)
    with pytest.raises(fj.InputError, match="there is no such file"):
        fj.read_log(tmp_path / "none.csv", ROBOT)
    (tmp_path / "log.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(fj.InputError, match="not a text file"):
        fj.read_log(tmp_path / "log.csv", ROBOT)
    (tmp_path / "log.npz").write_bytes(b"PK not a zip")
    with pytest.raises(fj.InputError, match="not an NPZ file"):
        fj.read_log(tmp_path / "log.npz", ROBOT)
    np.savez(tmp_path / "log.npz", t=[0.0, 1.0], q=np.zeros((2, 3)))
    with pytest.raises(fj.InputError, match=r"q has shape \(2, 3\); it must be \(m, 2\)"):
        fj.read_log(tmp_path / "log.npz", ROBOT)
    (tmp_path / "log.parquet").write_bytes(b"PAR1 not")
    with pytest.raises(fj.InputError, match="Parquet"):
        fj.read_log(tmp_path / "log.parquet", ROBOT)


def test_a_batch_of_runs_is_no_log(tmp_path):
    start = fj.JointState(*np.zeros((4, 2, ROBOT.n)))
    batch = fj.simulate(ROBOT, fj.OpenLoop(ROBOT), np.zeros(ROBOT.motor_count), 0.003, start=start, check=False)
    fj.write_results(batch, tmp_path / "runs.csv")
    with pytest.raises(fj.InputError, match="several runs in it, by 'run'"):
        fj.read_log(tmp_path / "runs.csv", ROBOT)
